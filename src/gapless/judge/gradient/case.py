"""Judges a certificate of kind "gradient"."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from ..document import TIMES, newer_schema, number
from ..errors import CertificateError
from ..recompute import row_weights
from ..rounding import UNIT
from ..rows import as_rows
from ..statement import CHECKED, same_data, statement_claims
from ..verdict import Claim, Verdict
from .document import NUMBERS, array_forms, flaw
from .figures import Columns, Found, Model, columns_of, figures
from .proof import prove

#: Two honest computations of a decrement may differ by this many times the judge's bound on its rounding.
ROUNDING_FACTOR = 8.0
#: ... and by this part of it, for inverses of matrices.
PART = 1e-6


def check(
    document: Mapping[str, Any],
    arrays: Mapping[str, Any],
    X: Any,
    y: Any,
    sample_weight: Any = None,
    rigorous: bool | Literal["exact"] = False,
) -> Verdict:
    """Judge the certificate; the verdict and the errors are those of ``judge.check``."""
    if rigorous == "exact":
        raise ValueError("rigorous='exact' is not offered where there is no penalty; rigorous=True proves bounds")
    document = dict(document)
    newer = newer_schema(document)
    if newer:
        raise CertificateError(f"the certificate was {newer}")
    found = flaw(document)
    if found:
        raise CertificateError(f"the certificate cannot be read: {found}")
    rows = as_rows(X)
    coef, intercept = _arrays(document, arrays)
    index, weights = same_data(document, rows, y, sample_weight)
    claims = [Claim("data", "fingerprint", "fingerprint", True, "rows, labels and weights are those of the fit")]
    sound = statement_claims(claims, document, index, weights, penalty=False)
    problem, block = document["problem"], document["certificate"]
    offset = problem["offset"] == "free"
    finite = bool(np.isfinite(coef).all() and np.isfinite(intercept).all())
    claims.append(Claim("finite", "coef, intercept", None, finite, "" if finite else "not finite"))
    if not offset:
        claims.append(Claim("no offset", 0.0, None, not intercept.any(), "the intercept is 0"))
    c = row_weights(1.0, weights, np.array([number(w) for w in problem["class_weight"]]), index)
    weighty = bool(np.isfinite(c).all() and (c > 0).any())
    claims.append(Claim("row weights", "finite, not all 0", None, weighty))
    bounds: list[tuple[float, float, float]] = []
    if sound and finite and weighty:
        model = Model(rows, index, c, coef, intercept, len(document["classes"]["values"]), offset)
        with np.errstate(all="ignore"):
            columns = columns_of(model, block["rank"], document["dtype"])
            figure = figures(model, columns)
            _figure_claims(claims, block, columns, figure)
            if rigorous:
                bounds.append(prove(model, columns, figure))
    _status_claims(claims, block)
    claims = [claim._replace(holds=bool(claim.holds)) for claim in claims]
    return Verdict(claims, _unchecked(document), bounds, "proved bounds, float64" if rigorous else "float64")


def _arrays(document: dict[str, Any], arrays: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    out = []
    for name, (dtype, shape) in array_forms(document).items():
        try:
            array = np.asarray(arrays[name])
        except (KeyError, TypeError, ValueError):
            raise CertificateError(f"the certificate cannot be read: there is no array {name}") from None
        if array.dtype != np.dtype(dtype) or list(array.shape) != shape:
            raise CertificateError(
                f"the certificate cannot be read: {name} is {array.dtype} {array.shape}, "
                f"it should be {np.dtype(dtype)} {tuple(shape)}"
            )
        out.append(array.astype(np.float64))
    return out[0], out[1]


def bound(lam: float, reach: float, loss: float) -> float:
    """min(F, lam^2 psi(reach)), F alone where reach >= 1 proves nothing."""
    if not reach < 1.0:
        return loss
    return min(loss, lam * lam * min(1.0, 0.5 + reach / (6.0 * (1.0 - reach))))


def _figure_claims(claims: list[Claim], block: dict[str, Any], columns: Columns, found: Found) -> None:
    values = {name: number(block[name]) for name in NUMBERS}
    loss, lam, reach, excess = (values[name] for name in ("loss", "decrement", "reach", "excess"))
    holds = math.isfinite(loss) and found.loss.low - 4.0 * found.room <= loss <= found.loss.up + 4.0 * found.room
    claims.append(Claim("loss", loss, 0.5 * found.loss.low + 0.5 * found.loss.up, holds))
    rank = block["rank"]
    if rank is not None:
        note = f"between {columns.sure} and {columns.most}"
        claims.append(Claim("rank", rank, None, columns.sure <= rank <= columns.most, note))
    if block["status"] == "infeasible":
        claims.append(Claim("separates", "all rows", found.margin, found.margin > 0.0, "the smallest margin"))
    part = PART + min(0.5, ROUNDING_FACTOR * found.loose)
    room = ROUNDING_FACTOR * found.delta
    if not math.isnan(lam):  # nan: not known, and then reach cannot be below 1
        holds = abs(lam - found.lam) <= room + part * found.lam
        if math.isnan(found.lam):  # no curvature left in some direction: nothing may be built on it
            holds = not reach < 1.0
        claims.append(Claim("decrement", lam, found.lam, holds))
    if not reach < 1.0:
        # Nothing is claimed but what holds of every model.
        claims.append(Claim("reach", reach, found.rho * found.lam, reach >= 1.0, "1 or more proves nothing"))
        claims.append(Claim("excess", excess, loss, excess == loss, "the loss itself"))
        return
    least, most = max(0.0, found.lam - room) * (1.0 - part), (found.lam + room) * (1.0 + part)
    low, high = found.rho * least * (1.0 - part), found.rho * most * (1.0 + part)
    claims.append(Claim("reach", reach, found.rho * found.lam, not math.isnan(lam) and low <= reach <= high))
    low, high = bound(least, min(low, 1.0), loss), bound(most, high, loss)
    claims.append(Claim("excess", excess, bound(found.lam, found.rho * found.lam, loss), low <= excess <= high))


def _status_claims(claims: list[Claim], block: dict[str, Any]) -> None:
    """Relative excess and status follow from the certificate's own figures."""
    values = {name: number(block[name]) for name in NUMBERS}
    loss, excess, relative = values["loss"], values["excess"], values["relative_excess"]
    expected = excess / loss if loss > 0.0 else 0.0
    holds = abs(relative - expected) <= 8.0 * UNIT * abs(expected)
    claims.append(Claim("relative excess", relative, expected, holds))
    holds = 0.0 <= values["rounding"] <= excess
    claims.append(Claim("rounding", values["rounding"], excess, holds, "is part of the excess"))
    reached = values["reach"] < 1.0 and relative <= number(block["tol"])
    wanted = "converged" if reached else "not converged"
    claims.append(Claim("status", block["status"], wanted, (block["status"] == "converged") == reached))


def _unchecked(document: dict[str, Any]) -> list[str]:
    others = [str(name)[:40] for name in document["parameters"] if name not in CHECKED]
    listed = [
        *TIMES,
        "backend",
        "n_iter",
        "solver",
        "condition",
        "which ending, if neither converged nor infeasible",
    ]
    listed += ["version", "names of features"]
    if others:
        listed.append("parameters that do not change the optimum: " + ", ".join(others[:40]))
    return listed
