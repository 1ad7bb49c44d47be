"""How far a score that was computed in single precision can be from the exact one.

    f_i = sum_j v_j exp(t_ij),      t_ij = <x_i, 2 gamma z_j> - gamma |x_i|^2 - gamma |z_j|^2 = -gamma |x_i - z_j|^2

With k columns and u = 2^-24, a t that BLAS summed in any order from rounded factors is off by at most (1 + u)^(k + 5) - 1 of the
sum of its terms' sizes, and that sum is at most 2 gamma |x|^2 + 2 gamma |z|^2.  exp is within two units in the last place,
v was rounded, and the terms are summed 64 at a time before float64 takes over.  With a = 2.2 (k + 5) u gamma |.|^2 of a row
(small: else nothing is said) and B = 76 u for the rest,

    |computed f_i - f_i| <= sum_j |v_j| K_ij (B + a_i + a_j) = sum_j K_ij (B + a_j) |v_j| + a_i sum_j K_ij |v_j|,

two sums beside that of the score, where K may be the computed values: each is as good as its own bound.  Counted bits have
exact t and a rounded table: a = 0.  Of scores that are sums of updates the bounds add up; scores divided by r have theirs
divided by r.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gapless.kernels.rbf import RBF

UNIT = 2.0**-24
#: Two units in the last place of exp, v's rounding, a product and 64 sums, and what the products of all these add.
REST = 76 * UNIT
#: Above it e^a is not 1 + a any more.
LARGEST = 0.02
#: Values below e^-87 count as e^-87, and products may vanish.
SMALLEST = 1e-30


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

    def weights(self, columns: np.ndarray, v: np.ndarray) -> np.ndarray:
        """What values of these columns are multiplied by in the two sums: (B + a)|v| and |v|."""
        assert self.sizes is not None
        size = np.abs(v)
        return np.stack([(REST + self.sizes[columns]) * size, size])

    def bound(self, off: np.ndarray, moved: float) -> np.ndarray:
        """What scores are off by at most, from the two sums (a column each) and the sum of all |v|."""
        assert self.sizes is not None
        return 1.01 * (off[:, 0] + self.sizes * off[:, 1]) + SMALLEST * moved


UNKNOWN = Rates(None)
