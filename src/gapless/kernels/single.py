"""How far a score that was computed in single precision can be from the exact one.

    f_i = sum_j v_j exp(t_ij),      t_ij = <x_i, 2 gamma z_j> - gamma |x_i|^2 - gamma |z_j|^2 = -gamma |x_i - z_j|^2

With k columns and u = 2^-24, a t that BLAS summed in any order from rounded factors is off by at most (1 + u)^(k + 5) - 1 of the
sum of its terms' sizes, and that sum is at most 2 gamma |x|^2 + 2 gamma |z|^2.  exp is within two units in the last place,
v was rounded, and the terms are summed 64 at a time before float64 takes over.  With a = 2.2 (k + 5) u gamma |.|^2 of a row
(small: else nothing is said) and B = 76 u for the rest,

    |computed f_i - f_i| <= sum_j |v_j| K_ij (B + a_i + a_j) = sum_j K_ij (B + a_j) |v_j| + a_i sum_j K_ij |v_j|,

where K may be the computed values: each is as good as its own bound.  The 64 terms that are summed together all have one sign of
v, so that sum_j K_ij |v_j| of them is the size of their sum, and a_j is at most the largest of theirs: the bound costs nothing
beside the score.  Counted bits have exact t and a rounded table: a = 0.  Of scores that are sums of updates the bounds add up;
scores divided by r have theirs divided by r.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

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


class Groups(NamedTuple):
    """Columns whose terms are summed together."""

    order: np.ndarray  #: all of them, group by group
    ends: np.ndarray  #: where in it each group ends
    rates: np.ndarray  #: B and the largest a of each group

    @property
    def places(self) -> np.ndarray:
        """Where they stand if every group has room for `TERMS`."""
        starts = np.concatenate(([0], self.ends[:-1]))
        group = np.repeat(np.arange(self.ends.size), self.ends - starts)
        return np.arange(self.order.size) - starts[group] + TERMS * group


@dataclass(frozen=True, eq=False)
class Rates:
    """Of a Gaussian's rows; ``sizes`` are the a, None where nothing is said."""

    sizes: np.ndarray | None

    @classmethod
    def of(cls, kernel: Any, rows: np.ndarray) -> Rates:
        """Rows as tiles have them, with -gamma |x|^2 in the last column but one."""
        if not isinstance(kernel, RBF) or rows.dtype != np.float32:
            return cls(None)
        k = rows.shape[1]
        sizes = -2.2 * (k + 5) * UNIT * rows[:, k - 2].astype(np.float64)
        return cls(sizes if sizes.max(initial=0.0) <= LARGEST else None)

    @property
    def known(self) -> bool:
        return self.sizes is not None

    def grouped(self, columns: np.ndarray, v: np.ndarray) -> Groups:
        """These columns in groups of one sign of v each, those with like sizes together."""
        assert self.sizes is not None
        sizes, below = self.sizes[columns], v < 0.0
        order = np.lexsort((sizes, below))
        above = columns.size - int(np.count_nonzero(below))
        runs = [np.arange(0, above, TERMS), np.arange(above, columns.size, TERMS)]
        ends = np.concatenate([np.append(run[1:], end) for run, end in zip(runs, (above, columns.size)) if run.size] or runs)
        return Groups(order, ends, REST + sizes[order[ends - 1]])

    def bound(self, off: np.ndarray, moved: float) -> np.ndarray:
        """What scores are off by at most, from sums over the groups (a column each): of their size times their rate, and of their
        size; and from the sum of all |v|."""
        assert self.sizes is not None
        return 1.01 * (off[:, 0] + self.sizes * off[:, 1]) + SMALLEST * moved


UNKNOWN = Rates(None)
