"""How far a score that was computed in single precision can be from the exact one.

    f_i = sum_j v_j exp(t_ij),      t_ij = <x_i, 2 gamma z_j> - gamma |x_i|^2 - gamma |z_j|^2 = -gamma |x_i - z_j|^2

The products are summed in order (`panels`), and with u = 2^-24 every step is off by u times the sum so far.  Since
2 |x_l z_l| <= x_l^2 + z_l^2, the sum of the first l is at most p_l(x) + p_l(z), where p_l is gamma times the squares of a row's
first l numbers; the last two steps, the factors' rounding and that of the products where they are not fused are 10 of the last p.
exp is within two units in the last place, v was rounded, and the terms are summed 64 at a time before float64 takes over.  With
a = 1.1 u (p_1 + ... + p_d + 10 p_d) of a row (at most 0.02, else no bound is given) and B = 76 u for the rest,

    |computed f_i - f_i| <= sum_j |v_j| K_ij (B + a_i + a_j) = sum_j K_ij (B + a_j) |v_j| + a_i sum_j K_ij |v_j|,

where K may be the computed values: each is as good as its own bound.  Of 64 terms that are summed together and have one sign of
v, sum_j K_ij |v_j| is the size of their sum, and a_j is at most the largest of theirs: the bound costs nothing beside the score.
Counted bits have exact t and a rounded table: a = 0.  The bounds of scores that are sums of updates add up; the bounds of scores
that are divided by r are divided by r.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gapless._runtime.threads import run_in_parts
from gapless.kernels.rbf import RBF

#: The unit roundoff of float32: one operation is off by at most this share of its result.
FLOAT32_UNIT = 2.0**-24
#: Terms that are summed in single precision before float64 takes over; also the rows of a panel (`panels`).
TERMS = 64


class TermGroups(NamedTuple):
    """Columns in groups whose terms are summed together."""

    order: np.ndarray  #: all columns, group by group
    ends: np.ndarray  #: the place in ``order`` where each group ends
    rates: np.ndarray  #: B and the largest a of each group
    mixed: int  #: the group that has both signs, -1 where none has


@dataclass(frozen=True, eq=False)
class ErrorRates:
    """The a of each of a Gaussian's rows; ``sizes`` is None where no bound is known."""

    sizes: np.ndarray | None = None

    @classmethod
    def from_sizes(cls, sizes: np.ndarray) -> ErrorRates:
        """No bound is known where some a is above 0.02: beyond it e^a is not 1 + a any more."""
        return cls(sizes if sizes.max(initial=0.0) <= 0.02 else None)

    @classmethod
    def from_tiles(cls, kernel: Any, rows: np.ndarray) -> ErrorRates:
        """Rows as tiles have them, with -gamma |x|^2 in the last column but one."""
        if not isinstance(kernel, RBF) or rows.dtype != np.float32:
            return cls()
        d = rows.shape[1] - 2
        sizes = np.empty(rows.shape[0])
        chunk = 1024

        def fill(k: int) -> None:
            part = slice(k * chunk, (k + 1) * chunk)
            np.einsum("ij,ij,j->i", rows[part, :d], rows[part, :d], np.arange(d, 0.0, -1.0) + 10.0, out=sizes[part])

        run_in_parts(fill, -(-sizes.size // chunk))
        sizes *= 1.1 * FLOAT32_UNIT * kernel.gamma
        return cls.from_sizes(sizes)

    @property
    def known(self) -> bool:
        return self.sizes is not None

    def group(self, columns: np.ndarray, v: np.ndarray, *, apart: bool) -> TermGroups:
        """The columns in groups of like sizes, each of one sign of v; unless they must be ``apart``, one group has both."""
        assert self.sizes is not None
        sizes, below = self.sizes[columns], v < 0.0
        order = np.lexsort((sizes, below))
        above = columns.size - int(np.count_nonzero(below))
        starts = np.arange(0, columns.size, TERMS)
        if apart and above % TERMS and above < columns.size:
            starts = np.sort(np.append(starts, above))
        # Two units in the last place of exp, v's rounding, a product and 64 sums, and the products of these errors.
        rest = 76 * FLOAT32_UNIT
        rates = rest + np.maximum.reduceat(sizes[order], starts) if starts.size else np.zeros(0)
        mixed = above // TERMS if not apart and 0 < above < columns.size and above % TERMS else -1
        return TermGroups(order, np.append(starts[1:], columns.size), rates, mixed)

    def bound(self, off: np.ndarray, moved: float) -> np.ndarray:
        """A bound on the errors of scores.

        The two columns of ``off`` are sums over the groups, of size times rate and of size; ``moved`` is the sum of all |v|.
        """
        assert self.sizes is not None
        smallest = 1e-30  # values below e^-87 count as e^-87, and products may vanish
        return 1.01 * (off[:, 0] + self.sizes * off[:, 1]) + smallest * moved
