"""Gap-safe labels of kernel machines: which variables are at 0, and which at their bound, at every optimum.

w = sum u phi exactly, so that |w - w*|^2 <= P - D (`judge.labels`), and f*_i lies within |phi_i| sqrt(gap) of f_i.  The free
scalars are not held by the gap.  They are best for the optimal scores, so they lie between the smallest best ones for the
largest kinks that these allow and the largest for the smallest: a weighted quantile only rises with its values.
"""

from __future__ import annotations

import numpy as np

from ..arithmetic.rounding import down, up
from ..linear.offset import best_between


def safe_sides(
    low: np.ndarray,
    high: np.ndarray,
    at: np.ndarray,
    sign: np.ndarray,
    tau: np.ndarray,
    c: np.ndarray,
    totals: tuple[float, ...],
) -> np.ndarray:
    """+1: h > 0, hence beta = c at every optimum; -1: h < 0, hence beta = 0; 0: open.

    ``low`` and ``high`` enclose the scores of all points at the optimum; ``totals`` are those of the equalities.
    """
    k_low = down(sign * tau - high[at])
    k_high = up(sign * tau - low[at])
    h_low, h_high = np.empty(sign.size), np.empty(sign.size)
    if len(totals) == 1:
        wanted = float(c[sign > 0].sum()) - totals[0]
        b_low, b_high = best_between(k_low, k_high, c, wanted)
        below, above = down(k_low - b_high), up(k_high - b_low)
        h_low, h_high = np.where(sign > 0, below, -above), np.where(sign > 0, above, -below)
    else:
        for side, share in ((sign > 0, 0.5 * (totals[1] + totals[0])), (sign < 0, 0.5 * (totals[1] - totals[0]))):
            if not side.any():
                continue
            flip = sign[side][0] < 0
            first = -k_high[side] if flip else k_low[side]
            last = -k_low[side] if flip else k_high[side]
            v_low, v_high = best_between(first, last, c[side], float(c[side].sum()) - share)
            h_low[side], h_high[side] = down(first - v_high), up(last - v_low)
    return (h_low > 0.0).astype(np.int8) - (h_high < 0.0).astype(np.int8)
