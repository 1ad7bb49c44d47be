"""The last look at a certificate whose data are of odd scales: what the judge does not confirm is not claimed.

Bounds on rounding say what float64 does as long as products neither overflow nor vanish, and as long as sums keep all of
their terms.  Where sizes lie beyond that a fit asks the judge about its own document before it is handed out, and where the
judge refuses it the status is ``not_finite``: the model is there, and nothing is claimed.  Ordinary data are never asked
about: there a certificate that the judge refuses is a fault, and is to be seen.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
from scipy import sparse

from gapless import judge
from gapless.certificates.base import BaseCertificate
from gapless.encode.weights import check_sample_weight


def confirmed(certificate: Any, X: Any, y: Any, sample_weight: Any = None) -> Any:
    """The certificate as it is; where scales are odd and the judge refuses it, one that claims nothing.

    Parameters
    ----------
    certificate : what a fit is about to hand out
    X, y, sample_weight : its data, as they were given to the fit; X is an array or a sparse matrix
    """
    most_rows, most_values = 2_000, 1 << 20  # up to these the judge takes about a second
    n, d = X.shape
    if n > most_rows or n * d > most_values:
        return certificate
    weights = None if sample_weight is None else check_sample_weight(sample_weight, n)
    numbers = y if certificate.statement.get("classes") is None else None
    if not is_odd(X, numbers, weights) or _is_confirmed(certificate, X, y, weights):
        return certificate
    return without_claims(certificate)


def is_odd(X: Any, y: Any = None, weights: Any = None) -> bool:
    """Whether some sizes are beyond what bounds on rounding are made for.

    Parameters
    ----------
    X : rows; of each column its largest size counts, and how far it varies
    y : targets that are numbers, if any
    weights : weights of the rows, if any
    """
    if _is_odd(*_ends(X)):
        return True
    if y is not None and np.asarray(y).dtype.kind in "iuf" and _is_odd(*_ends(np.asarray(y))):
        return True
    return weights is not None and _is_unequal(weights)


def _ends(values: Any) -> tuple[np.ndarray, np.ndarray]:
    """The smallest and the largest value of each column."""
    ends = values.min(axis=0), values.max(axis=0)
    if sparse.issparse(values):
        ends = ends[0].toarray()[0], ends[1].toarray()[0]
    low, high = (np.atleast_1d(np.asarray(end, dtype=np.float64)) for end in ends)
    return low, high


def _is_odd(low: np.ndarray, high: np.ndarray) -> bool:
    """Whether columns between these ends are of very different sizes, or vary by next to nothing beside their size."""
    steady = 2.0**-26  # of squares about the mean no digit is left
    size, apart = np.maximum(high, -low), high - low
    return _is_unequal(size) or bool(((apart > 0.0) & (apart < steady * size)).any())


def _is_unequal(sizes: np.ndarray) -> bool:
    """Whether sizes are very far from 1, or from each other."""
    # The 16th power of the largest is a float: squares of sums of kernels of the fourth degree. Sizes further apart than the
    # other share no digits in sums of squares; a date in seconds beside a flag is nearer.
    largest, apart = 2.0**64, 2.0**32
    there = sizes[sizes > 0.0]
    if not there.size:
        return False
    least, most = float(there.min()), float(there.max())
    return most > largest or least < 1.0 / largest or most > apart * least


def _silent_parts(certificate: Any) -> list[bool]:
    """Of each problem, or of the only one, whether the fit itself has found that nothing is known."""
    parts = getattr(certificate, "subproblems", getattr(certificate, "targets", (certificate,)))
    gaps = [getattr(part, "relative_gap", None) for part in parts]
    return [part.status == "not_finite" and (gap is None or math.isnan(gap)) for part, gap in zip(parts, gaps)]


def _is_confirmed(certificate: BaseCertificate, X: Any, y: Any, weights: Any) -> bool:
    """Whether the judge accepts the document, plainly and rigorously, but for the parts that claim nothing."""
    silent = _silent_parts(certificate)
    if all(silent):
        return True
    of_silent = (*(f"[{k}] " for k, each in enumerate(silent) if each), "total ")
    document, arrays = certificate.document(), dict(certificate.arrays)
    rows = X.tocsr() if sparse.issparse(X) else X
    try:
        verdicts = [judge.check(document, arrays, rows, y, weights, rigorous) for rigorous in (False, True)]
    except judge.CertificateError as error:
        _pass_on(error.__cause__)
        return False
    false = [claim.name for verdict in verdicts for claim in verdict.failed]
    return all(verdicts) or (any(silent) and all(name.startswith(of_silent) for name in false))


def _pass_on(cause: BaseException | None) -> None:
    """Raise what neither the judge nor numpy raised: a signal handler did, while the judge was at work."""
    step = None if cause is None else cause.__traceback__
    while step is not None and step.tb_next is not None:
        step = step.tb_next
    if cause is not None and step is not None:
        raised_in = str(step.tb_frame.f_globals.get("__name__", "")).partition(".")[0]
        if raised_in not in ("gapless", "numpy"):
            raise cause


def without_claims(certificate: Any) -> Any:
    """The certificate, or a part of one, with the status ``not_finite`` and without its claims: NaN, or None, in their place.

    Parameters
    ----------
    certificate : a certificate of any family
    """
    figures = {"primal", "dual", "gap", "relative_gap", "orthogonality", "violation", "rss", "r2"}
    figures |= {"decrement", "excess", "relative_excess"}
    said: dict[str, Any] = {"status": "not_finite"}
    there = {each.name: getattr(certificate, each.name) for each in fields(certificate)}
    for name, value in there.items():
        if name in figures and isinstance(value, float):
            said[name] = np.nan
        elif name in ("bound", "radius", "margin") and "witness" in there:  # a perceptron's
            said[name] = None
        elif isinstance(value, Sequence) and value and hasattr(value[0], "status"):
            said[name] = tuple(map(without_claims, value))
    if "reason" in there:
        said["reason"] = "at these scales the judge does not confirm the figures, and nothing is claimed"
    return replace(certificate, **said)
