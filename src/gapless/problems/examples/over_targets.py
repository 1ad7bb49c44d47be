"""The verbs of least squares over rows in memory, but for residuals and gap; here a handle is an array. See `protocol`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gapless import rows as R
from gapless.rows.second_moments import Columns, centre_of, moments, triangle

Tick = Callable[[], None] | None


class OverTargets:
    """Rows with targets Y (n, K) and weights s, or None for ones."""

    one_by_one = True  #: a solver may visit the rows one by one, or write them out

    rows: R.Rows
    Y: np.ndarray
    s: np.ndarray | None
    n_jobs: int | None

    @property
    def n(self) -> int:
        return self.Y.shape[0]

    @property
    def d(self) -> int:
        return R.n_features(self.rows)

    @property
    def K(self) -> int:
        return self.Y.shape[1]

    @property
    def sparse(self) -> bool:
        return R.is_sparse(self.rows)

    def typical_row(self) -> np.ndarray:
        """A typical value of each column."""
        return centre_of(self.rows)

    def moments(self, centre: np.ndarray, centre_y: np.ndarray, tick: Tick = None) -> np.ndarray:
        """sum_i s_i t_i t_i' of t = (x - centre, y - centre_y, 1)."""
        return moments(self.rows, self.s, self.Y, centre, centre_y, self.n_jobs, tick)

    def triangle(
        self, centre: np.ndarray | None, centre_y: np.ndarray, scale: np.ndarray, tick: Tick = None
    ) -> np.ndarray:
        """R of the QR of (X - centre) / scale and Y - centre_y, rows times the root of their weight."""
        return triangle(self.rows, self.s, self.Y, centre, centre_y, scale, tick)

    def know_columns(self, size: Columns) -> None:
        """Keep the sizes of the columns, which the moments have told."""
        self.__dict__["columns"] = size

    # -- dual points ---------------------------------------------------------------------------------------------

    def zero_duals(self) -> np.ndarray:
        """(K, n), and u = 0 for each target."""
        return np.zeros((self.K, self.n))

    def put_dual(self, duals: np.ndarray | None, k: int, u: np.ndarray) -> np.ndarray:
        """``duals`` (K, n), None before the first, with the dual point of target k."""
        if self.K == 1:
            return u[None, :]
        duals = np.empty((self.K, self.n)) if duals is None else duals
        duals[k] = u
        return duals

    def stretched(self, u: np.ndarray, t: float) -> np.ndarray:
        """t u"""
        return u * t
