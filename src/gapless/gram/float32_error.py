"""How far a score that was computed in single precision can be from the exact one.

    f_i = sum_j v_j exp(t_ij),      t_ij = <x_i, 2 gamma z_j> - gamma |x_i|^2 - gamma |z_j|^2 = -gamma |x_i - z_j|^2

The products are summed in order (`panels`), and with u = 2^-24 every step is off by u times the sum so far.  Since
2 |x_l z_l| <= x_l^2 + z_l^2, the sum of the first l is at most p_l(x) + p_l(z), where p_l is gamma times the squares of a row's
first l numbers; the last two steps, the factors' rounding and that of the products where they are not fused are 10 of the last p.
exp is within two units in the last place, v was rounded, and the terms are summed 64 at a time before float64 takes over.  With
a = 1.1 u (p_1 + ... + p_d + 10 p_d) of a row (small: else nothing is said) and B = 76 u for the rest,

    |computed f_i - f_i| <= sum_j |v_j| K_ij (B + a_i + a_j) = sum_j K_ij (B + a_j) |v_j| + a_i sum_j K_ij |v_j|,

where K may be the computed values: each is as good as its own bound.  Of 64 terms that are summed together and have one sign of
v, sum_j K_ij |v_j| is the size of their sum, and a_j is at most the largest of theirs: the bound costs nothing beside the score.
Counted bits have exact t and a rounded table: a = 0.  Of scores that are sums of updates the bounds add up; scores divided by r
have theirs divided by r.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gapless._runtime.threads import share
from gapless.kernels.rbf import RBF

UNIT = 2.0**-24
#: Two units in the last place of exp, v's rounding, a product and 64 sums, and what the products of all these add.
REST = 76 * UNIT
#: Above it e^a is not 1 + a any more.
LARGEST = 0.02
#: Terms that are summed before float64 takes over.
TERMS = 64
#: Values below e^-87 count as e^-87, and products may vanish.
SMALLEST = 1e-30


class TermGroups(NamedTuple):
    """Columns whose terms are summed together."""

    order: np.ndarray  #: all of them, group by group
    ends: np.ndarray  #: where in it each group ends
    rates: np.ndarray  #: B and the largest a of each group
    mixed: int  #: the group that has both signs, -1 where none has


@dataclass(frozen=True, eq=False)
class ErrorRates:
    """Of a Gaussian's rows; ``sizes`` are the a, None where nothing is said."""

    sizes: np.ndarray | None

    @classmethod
    def from_tiles(cls, kernel: Any, rows: np.ndarray) -> ErrorRates:
        """Rows as tiles have them, with -gamma |x|^2 in the last column but one."""
        if not isinstance(kernel, RBF) or rows.dtype != np.float32:
            return cls(None)
        d = rows.shape[1] - 2
        sizes = np.empty(rows.shape[0])
        chunk = 1024

        def fill(k: int) -> None:
            part = slice(k * chunk, (k + 1) * chunk)
            np.einsum("ij,ij,j->i", rows[part, :d], rows[part, :d], np.arange(d, 0.0, -1.0) + 10.0, out=sizes[part])

        share(fill, -(-sizes.size // chunk))
        sizes *= 1.1 * UNIT * kernel.gamma
        return cls(sizes if sizes.max(initial=0.0) <= LARGEST else None)

    @property
    def known(self) -> bool:
        return self.sizes is not None

    def group(self, columns: np.ndarray, v: np.ndarray, *, apart: bool) -> TermGroups:
        """These columns in groups of one sign of v each, but for one where they need not be ``apart``; like sizes together."""
        assert self.sizes is not None
        sizes, below = self.sizes[columns], v < 0.0
        order = np.lexsort((sizes, below))
        above = columns.size - int(np.count_nonzero(below))
        starts = np.arange(0, columns.size, TERMS)
        if apart and above % TERMS and above < columns.size:
            starts = np.sort(np.append(starts, above))
        rates = REST + np.maximum.reduceat(sizes[order], starts) if starts.size else np.zeros(0)
        mixed = above // TERMS if not apart and 0 < above < columns.size and above % TERMS else -1
        return TermGroups(order, np.append(starts[1:], columns.size), rates, mixed)

    def bound(self, off: np.ndarray, moved: float) -> np.ndarray:
        """What scores are off by at most, from sums over the groups (a column each): of their size times their rate, and of their
        size; and from the sum of all |v|."""
        assert self.sizes is not None
        return 1.01 * (off[:, 0] + self.sizes * off[:, 1]) + SMALLEST * moved


UNKNOWN_RATES = ErrorRates(None)
