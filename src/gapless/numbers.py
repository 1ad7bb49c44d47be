"""Rounding in float64, and the relative size of a gap. The judge has these for itself, on purpose."""

from __future__ import annotations

import numpy as np

#: The unit roundoff of float64: one operation is off by at most this share of its result.
UNIT = 2.0**-53


def gamma(m: float) -> float:
    """Higham's bound on the relative error of a sum of m products, in any order."""
    return m * UNIT / (1.0 - m * UNIT)


def length_of(vector: np.ndarray) -> float:
    """|v|, also of numbers whose squares are below the smallest float: a bound on rounding must not vanish with them."""
    found = float(np.linalg.norm(vector))
    if found > 1e-140 or not found < np.inf:
        return found
    top = float(np.abs(vector).max(initial=0.0))
    return top * float(np.linalg.norm(np.asarray(vector) / top)) if top > 0.0 else 0.0


def relative_gap(primal: float, dual: float, gap: float | None = None) -> float:
    """gap / max(|primal|, |dual|), 0 where both are 0; its sign is kept."""
    gap = primal - dual if gap is None else gap
    scale = max(abs(primal), abs(dual))
    return 0.0 if scale == 0.0 else gap / scale
