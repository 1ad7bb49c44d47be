"""Judges a certificate of kind "gradient"."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..arithmetic.compare import above, at_most, between, capped, equal
from ..arithmetic.rounding import UNIT
from ..document import number, read_arrays
from ..errors import CertificateError
from ..linear.case import Rigour
from ..linear.recompute import row_weights
from ..rows import as_rows
from ..statement import same_data, statement_claims, unused
from ..verdict import Claim, Verdict
from .document import NUMBERS, array_forms
from .figures import Columns, Found, Model, columns_of, figures
from .proof import prove

#: Two honest computations of a decrement may differ by this many times the judge's bound on its rounding.
ROUNDING_FACTOR = 8.0
#: ... and by this part of it, for inverses of matrices; by no more than the second number, however they are conditioned.
PART, MOST_PART = 1e-6, 0.1
#: No enclosure of the loss, and no room for it, is wider than this share of the loss of a model that answers nothing.
SHARE = 1e-6
#: ... of its square root: a decrement beyond proves nothing.
DECREMENT_SHARE = 1e-3


def check(
    document: dict[str, Any], arrays: Mapping[str, Any], X: Any, y: Any, sample_weight: Any, rigorous: Rigour
) -> Verdict:
    """Judge the certificate; the verdict and the errors are those of ``judge.check``."""
    if rigorous == "exact":
        raise CertificateError("rigorous='exact' is not offered where there is no penalty; rigorous=True proves bounds")
    rows = as_rows(X)
    read = read_arrays(document, arrays, array_forms(document))
    coef, intercept = (read[name].astype(np.float64) for name in ("coef", "intercept"))
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
        K = len(document["classes"]["values"])
        if K > 2:  # what all scores have in common changes nothing, and is left out of every figure and every room
            coef, intercept = coef - coef[0], intercept - intercept[0]
        model = Model(rows, index, c, coef, intercept, K, offset)
        try:
            columns = columns_of(model, block["rank"], document["dtype"])
            figure = figures(model, columns)
            _figure_claims(claims, block, columns, figure, float(c.sum()) * math.log(K))
            if rigorous:
                bounds.append(prove(model, columns, figure))
        except np.linalg.LinAlgError:
            claims.append(Claim("figures", "recomputed", None, False, "they overflow"))
    else:
        claims.append(Claim("figures", "recomputed", None, False, "from the data"))
    _status_claims(claims, block)
    return Verdict(claims, unused(document), bounds, "proved bounds, float64" if rigorous else "float64")


def bound(lam: float, reach: float, loss: float) -> float:
    """min(F, lam^2 psi(reach)), F alone where reach >= 1 proves nothing."""
    if not reach < 1.0:
        return loss
    return min(loss, lam * lam * min(1.0, 0.5 + reach / (6.0 * (1.0 - reach))))


def _figure_claims(claims: list[Claim], block: dict[str, Any], columns: Columns, found: Found, null: float) -> None:
    values = {name: number(block[name]) for name in NUMBERS}
    loss, lam, reach, excess = (values[name] for name in ("loss", "decrement", "reach", "excess"))
    narrow = at_most(found.loss.up, found.loss.low, SHARE * null)
    holds = narrow and between(loss, found.loss.low, found.loss.up, capped(4.0 * found.room, null, SHARE))
    claims.append(Claim("loss", loss, 0.5 * found.loss.low + 0.5 * found.loss.up, holds))
    rank = block["rank"]
    if rank is not None:
        note = f"between {columns.sure} and {columns.most}"
        claims.append(Claim("rank", rank, None, between(rank, columns.sure, columns.most), note))
    if block["status"] == "infeasible":
        claims.append(Claim("separates", "all rows", found.margin, above(found.margin, 0.0), "the smallest margin"))
    part = PART + capped(ROUNDING_FACTOR * found.loose, 1.0, MOST_PART)
    room = ROUNDING_FACTOR * found.delta
    if not above(1.0, reach):
        # Nothing is claimed but what holds of every model; a decrement, where there is one, is the model's.
        unknown = math.isnan(lam) or not math.isfinite(found.lam)
        known = not math.isfinite(lam) if unknown else equal(lam, found.lam, room + part * found.lam)
        claims.append(Claim("decrement", lam, found.lam, known, "nan: not known"))
        wanted = found.rho * found.lam
        known = reach == math.inf if unknown else equal(reach, wanted, 3.0 * (part * wanted + found.rho * room))
        claims.append(Claim("reach", reach, wanted, known and reach >= 1.0, "1 or more proves nothing"))
        claims.append(Claim("excess", excess, loss, excess == loss, "the loss itself"))
        return
    # No decrement is larger than the square root of what it bounds: rooms beyond that prove nothing.
    room = float(capped(room, math.sqrt(null), DECREMENT_SHARE))
    claims.append(Claim("decrement", lam, found.lam, equal(lam, found.lam, room + part * found.lam)))
    # Reach and excess are bounds, and a fit adds its rounding to them: upwards there is room for all of it.
    wide = ROUNDING_FACTOR * found.delta if math.isfinite(found.delta) else room
    least, most = max(0.0, found.lam - room) * (1.0 - part), (found.lam + wide) * (1.0 + part)
    low, high = found.rho * least * (1.0 - part), found.rho * most * (1.0 + part)
    claims.append(Claim("reach", reach, found.rho * found.lam, between(reach, low, high)))
    low, high = bound(least, min(low, 1.0), loss), bound(most, high, loss)
    claims.append(Claim("excess", excess, bound(found.lam, found.rho * found.lam, loss), between(excess, low, high)))


def _status_claims(claims: list[Claim], block: dict[str, Any]) -> None:
    """Relative excess and status follow from the certificate's own figures."""
    values = {name: number(block[name]) for name in NUMBERS}
    loss, excess, relative = values["loss"], values["excess"], values["relative_excess"]
    expected = excess / loss if loss != 0.0 else 0.0
    claims.append(Claim("relative excess", relative, expected, equal(relative, expected, 8.0 * UNIT * abs(expected))))
    holds = between(values["rounding"], 0.0, excess)
    claims.append(Claim("rounding", values["rounding"], excess, holds, "is part of the excess"))
    reached = above(1.0, values["reach"]) and at_most(relative, number(block["tol"]))
    wanted = "converged" if reached else "not converged"
    claims.append(Claim("status", block["status"], wanted, (block["status"] == "converged") == reached))
