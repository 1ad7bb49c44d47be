"""Which variables of a kernel machine are at 0, and which at their bound, at every optimum: proved from enclosed scores.

The free scalars are not held by the gap. They are best for the scores of the optimum, and a weighted quantile only rises with its
values: they lie between the smallest for the lowest kinks and the largest for the highest. The judge proves the same in its own
way (`judge.kernel.labels`).
"""

from __future__ import annotations

import numpy as np

from gapless.numbers import UNIT
from gapless.problems.kernel import quantile_interval


def prove_sides(
    low: np.ndarray, high: np.ndarray, sign: np.ndarray, tau: np.ndarray, c: np.ndarray, totals: tuple[float, ...]
) -> np.ndarray:
    """+1: h > 0, hence beta = c at every optimum; -1: h < 0, hence beta = 0; 0: open.

    ``low`` and ``high`` enclose the scores at every optimum, ``totals`` are those of the equalities (`problems.kernel`).
    """
    kinks = np.nextafter(sign * tau - high, -np.inf), np.nextafter(sign * tau - low, np.inf)
    h = np.empty((2, sign.size))
    if len(totals) == 1:
        b = _enclose_quantile(*kinks, c, float(c[sign > 0].sum()) - totals[0])
        apart = kinks[0] - b[1], kinks[1] - b[0]
        h[0], h[1] = np.where(sign > 0, apart[0], -apart[1]), np.where(sign > 0, apart[1], -apart[0])
    else:
        for side, total in ((1.0, 0.5 * (totals[1] + totals[0])), (-1.0, 0.5 * (totals[1] - totals[0]))):
            part = sign == side
            if part.any():
                first, last = (kinks[0][part], kinks[1][part]) if side > 0 else (-kinks[1][part], -kinks[0][part])
                v = _enclose_quantile(first, last, c[part], float(c[part].sum()) - total)
                h[0, part], h[1, part] = first - v[1], last - v[0]
    below, above = np.nextafter(h[0], -np.inf), np.nextafter(h[1], np.inf)
    return (below > 0.0).astype(np.int8) - (above < 0.0).astype(np.int8)


def _enclose_quantile(low: np.ndarray, high: np.ndarray, c: np.ndarray, wanted: float) -> tuple[float, float]:
    """An interval that holds every best scalar for all kinks between ``low`` and ``high``."""
    total = float(c.sum())
    slack = 8.0 * UNIT * (c.size + 8) * total
    smallest = -np.inf if wanted <= slack else quantile_interval(low, c, wanted)[0]
    return smallest, np.inf if wanted >= total - slack else quantile_interval(high, c, wanted)[1]
