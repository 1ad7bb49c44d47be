"""Least squares, with or without a penalty, several targets on the same rows.

    minimise  F(W, b) = sum_i s_i |y_i - W'x_i - b|^2 + sum_k alpha_k |w_k|^2          s_i: the weight of a row

The optimum is where the residuals r = y - Xw - b are orthogonal to the columns: X'Sr = alpha w, and 1'Sr = 0 with an
offset.  `orthogonality` says how far from that a model is, without units: the largest cosine between the residuals and a
column (about its mean, where there is an offset).  With alpha > 0 this is 2 alpha times the problem of `linear_erm` with
the squared loss and c_i = s_i / alpha, which has a dual and a gap; without penalty there is none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gapless import rows as R
from gapless._threads import map_threads
from gapless.problems._lazy import lazy
from gapless.problems.linear_erm import UNIT, gamma
from gapless.rows.moments import Columns, columns, residuals

#: A column that varies by less than this part of its length is constant up to rounding.
CONSTANT = 2.0**-44


@dataclass(frozen=True, eq=False)
class LeastSquares:
    """Rows X, targets Y (n, K), weights s > 0 (None: ones), penalties alpha (K,), and whether there is an offset."""

    rows: R.Rows
    Y: np.ndarray
    s: np.ndarray | None
    alpha: np.ndarray
    offset: bool
    n_jobs: int | None = None

    @classmethod
    def build(
        cls, X: Any, Y: np.ndarray, s: np.ndarray | None, alpha: np.ndarray, offset: bool, n_jobs: int | None = None
    ) -> LeastSquares:
        return cls(R.as_rows(X, 1.0 if offset else 0.0), Y, s, np.asarray(alpha, float), offset, n_jobs)

    @property
    def n(self) -> int:
        return self.Y.shape[0]

    @property
    def d(self) -> int:
        return R.n_features(self.rows)

    @property
    def K(self) -> int:
        return self.Y.shape[1]

    @lazy
    def mass(self) -> float:
        """sum_i s_i"""
        return float(self.n) if self.s is None else float(self.s.sum())

    @lazy
    def columns(self) -> Columns:
        return columns(self.rows, self.s)

    @lazy
    def mean_y(self) -> np.ndarray:
        return self.Y.mean(axis=0) if self.s is None else self.s @ self.Y / self.mass

    def sums(self, squares: np.ndarray) -> np.ndarray:
        """sum_i s_i of each column of ``squares`` (n, K)."""
        return squares.sum(axis=0) if self.s is None else self.s @ squares

    # -- at a model (W (d, K), b (K,)) ---------------------------------------------------------------------------

    def residuals(
        self, W: np.ndarray, b: np.ndarray, tick: Callable[[], None] | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """R (n, K), and half of minus the gradient: (X - mean)'SR - alpha W, then 1'SR (0 without an offset).

        The last ones are kept: what a solver has measured need not be computed again to be certified.
        """
        kept = self.__dict__.get("_kept")
        if kept is not None and np.array_equal(kept[0], W) and np.array_equal(kept[1], b):
            return kept[2], kept[3]
        centre = self.columns.mean if self.offset else np.zeros(self.d)
        left, gradient = residuals(self.rows, self.s, self.Y, W, b, centre, self.n_jobs, tick)
        gradient[:-1] -= self.alpha * W
        if not self.offset:
            gradient[-1] = 0.0
        self.__dict__["_kept"] = (W.copy(), b.copy(), left, gradient)
        return left, gradient

    def centred_residuals(
        self, W: np.ndarray, tick: Callable[[], None] | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """R and the gradient at W with its best offset, from centred columns; and a bound on the error of R."""
        size = self.columns
        centre, b = (size.mean, self.mean_y) if self.offset else (np.zeros(self.d), np.zeros(self.K))
        left, gradient = residuals(self.rows, self.s, self.Y, W, b, centre, self.n_jobs, tick, centred=True)
        gradient[:-1] -= self.alpha * W
        gradient[-1] = 0.0
        terms = (size.centred if self.offset else size.raw) @ np.abs(W)
        length = np.sqrt(self.sums(self.Y * self.Y))
        return left, gradient, gamma(self.d + 4) * terms + 2.0 * gamma(2) * length

    def scales(self) -> np.ndarray:
        """The length of each column, about its mean where there is an offset; never below rounding."""
        size = self.columns
        return np.maximum(size.centred, CONSTANT * size.raw) if self.offset else size.raw

    def orthogonality(self, left: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """The largest |x_j'Sr - alpha w_j| / (|x_j| |r|) of each target; with an offset also |1'Sr| / (|1| |r|)."""
        scale = np.append(self.scales(), np.sqrt(self.mass))[:, None] * np.sqrt(self.sums(left * left))
        return np.divide(np.abs(gradient), scale, out=np.zeros_like(gradient), where=scale > 0).max(axis=0)

    def residual_error(self, W: np.ndarray, b: np.ndarray, unit: float = 0.0) -> np.ndarray:
        """A bound on |computed r - exact r| of each target; ``unit`` allows for a rounding of the model as well."""
        terms = self.columns.raw @ np.abs(W) + np.abs(b) * np.sqrt(self.mass)
        length = np.sqrt(self.sums(self.Y * self.Y))
        return (unit + gamma(self.d + 4)) * terms + 2.0 * gamma(2) * length

    def orthogonality_error(self, left: np.ndarray, error: np.ndarray) -> np.ndarray:
        """What rounding alone may make of an orthogonality of 0: everything, where the fit is exact."""
        size = np.sqrt(self.sums(left * left))
        part = np.divide(error, size, out=np.zeros_like(error), where=size > 0)
        return np.minimum(2.0 * part + 4.0 * gamma(1024 + self.n / 512), 2.0)

    # -- the gap, for alpha > 0 ------------------------------------------------------------------------------------

    def dual_point(self, k: int, left: np.ndarray) -> np.ndarray:
        """u = c r with the mean of r taken out where the offset is free, so that sum u = 0."""
        r = left[:, k]
        u = r - (r.mean() if self.s is None else float(self.s @ r) / self.mass) if self.offset else r.copy()
        if self.s is not None:
            u *= self.s
        u /= self.alpha[k]
        return u

    def gap(self, k: int, w: np.ndarray, b: float, u: np.ndarray) -> Gap:
        """P and D of target k as in `linear_erm`, with c = s / alpha, in pieces of rows: memory does not grow with them.

        The bound on the rounding is that of `LinearERM.rounding`, for the squared loss.
        """
        alpha, free, d = float(self.alpha[k]), self.offset, self.d
        theta = np.append(w, b if free else 0.0)
        length = float(np.linalg.norm(theta))

        def piece(start: int) -> tuple[np.ndarray, np.ndarray, float, float]:
            stop = min(self.n, start + PIECE)
            rows, y, v = R.part(self.rows, start, stop), self.Y[start:stop, k], u[start:stop]
            c = np.full(stop - start, 1.0 / alpha) if self.s is None else self.s[start:stop] / alpha
            r = y - R.scores(rows, theta)
            norms2 = R.norms2(rows)
            norms = np.sqrt(norms2) * (1.0 + 1e-12)
            error = gamma(d + 3) * norms * length
            size = np.abs(v)
            bent = 0.5 * v * v / c
            sums = (
                0.5 * (c * r * r).sum(), (c * error * (np.abs(r) + error)).sum(), (v * y - bent).sum(),
                (size * np.abs(y) + bent).sum(), size.sum(), v.sum(), size @ norms, v @ y, bent.sum(),
            )  # fmt: skip
            return np.array(sums), R.combine(rows, v), float(norms2.max(initial=0.0)), float(np.abs(y).max(initial=0.0))

        starts = range(0, self.n, PIECE)
        parts = map_threads(piece, starts, self.n_jobs)
        totals = np.sum([part[0] for part in parts], axis=0).tolist()
        loss, slopes, terms, sizes, total, sum_u, lengths, linear, bent = totals
        combined = np.sum([part[1] for part in parts], axis=0)[:-1]
        top, target = max(part[2] for part in parts), max(part[3] for part in parts)
        square = float(combined @ combined)
        primal = 0.5 * float(w @ w) + loss
        dual = terms - 0.5 * square
        sums = gamma(min(self.n, 512) + 64 + len(starts))
        room = slopes + (sums + 16 * UNIT) * (loss + sizes + total) + gamma(d + 3) * 0.5 * (float(w @ w) + square)
        off = gamma(min(self.n, R.BLOCK) + self.n / R.BLOCK + 2) * lengths
        room += off * (square**0.5 + 0.5 * off)
        if free:
            reach = max(0.0, top - 1.0) + 8.0 * UNIT * top
            bound = (target + np.sqrt(2.0 * max(primal, 0.0) * reach)) * (1.0 + 1e-12)
            dual -= bound * abs(sum_u)
            room += bound * 64 * UNIT * total + 1e-11 * bound * abs(sum_u)
        curve = square + 2.0 * bent
        stretch = min(1.0, max(0.0, linear / curve)) if curve > 0.0 else 1.0
        return Gap(float(primal), float(dual), float(room * (1.0 + 1e-10)), stretch)


#: Rows that are looked at together for a gap.
PIECE = 1 << 17


class Gap(NamedTuple):
    """Primal, dual, a bound on the rounding in their difference; and the t in [0, 1] for which t u has the largest D."""

    primal: float
    dual: float
    rounding: float
    stretch: float
