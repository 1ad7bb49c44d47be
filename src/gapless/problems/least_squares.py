"""Least squares, with or without a penalty, several targets on the same rows.

    minimise  F(W, b) = sum_i s_i |y_i - W'x_i - b|^2 + sum_k alpha_k |w_k|^2          s_i: the weight of a row

The optimum is where the residuals r = y - Xw - b are orthogonal to the columns: X'Sr = alpha w, and 1'Sr = 0 with an
offset.  `orthogonality` says how far from that a model is, without units: the largest cosine between the residuals and a
column (about its mean, where there is an offset).  With alpha > 0 this is 2 alpha times the problem of `linear` with
the squared loss and c_i = s_i / alpha, which has a dual and a gap; without penalty there is none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gapless import rows as R
from gapless._compile.jit import compiled
from gapless._runtime.cached import lazy
from gapless._runtime.threads import map_threads, run_in_parts
from gapless.numbers import UNIT, gamma, length_of
from gapless.problems.examples.over_targets import OverTargets
from gapless.rows.second_moments import Columns, Sizes, columns, residuals, sized_residuals

#: A column that varies by less than this part of its length is constant up to rounding.
CONSTANT = 2.0**-44
#: The sums of a gap are taken over 131,072 rows at a time; the bound on their rounding counts these parts.
GAP_ROWS = 1 << 17
#: Sums over some rows: those of `_Sums` and two more, X'u, the largest |x|^2, the largest |y|.
Piece = tuple[np.ndarray, np.ndarray, float, float]


@dataclass(frozen=True, eq=False)
class LeastSquares(OverTargets):
    """Rows X, targets Y (n, K), weights s > 0 (None: ones), penalties alpha (K,), and whether there is an offset.

    ``look`` raises where X is not finite, and is to be called where a sum is not, or before none is made; None: X is finite.
    ``common`` (K,) is what was taken from the targets, and belongs to the offset b of the model; None: nothing.
    """

    rows: R.Rows
    Y: np.ndarray
    s: np.ndarray | None
    alpha: np.ndarray
    offset: bool
    n_jobs: int | None = None
    look: Callable[[], None] | None = None
    common: np.ndarray | None = None

    @classmethod
    def build(
        cls,
        X: Any,
        Y: np.ndarray,
        s: np.ndarray | None,
        alpha: np.ndarray,
        offset: bool,
        n_jobs: int | None = None,
        look: Callable[[], None] | None = None,
        common: np.ndarray | None = None,
    ) -> LeastSquares:
        # Kernels are compiled once more for arrays that cannot be written to.
        Y = Y if Y.flags.writeable else Y.copy()
        s = s if s is None or s.flags.writeable else s.copy()
        return cls(R.as_rows(X, 1.0 if offset else 0.0), Y, s, np.asarray(alpha, float), offset, n_jobs, look, common)

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
        kept = self._kept
        if kept is not None and np.array_equal(kept.W, W) and np.array_equal(kept.b, b):
            return kept.left, kept.gradient
        centre, sizes = self.columns.mean if self.offset else np.zeros(self.d), None
        if self.K == 1 and self.n > 0 and R.is_dense(self.rows):
            theta = np.append(W[:, 0], b)
            r, total, sizes = sized_residuals(self.rows, self.s, self.Y[:, 0], theta, centre, tick)
            left, gradient = r[:, None], total[:, None]
        else:
            left, gradient = residuals(self.rows, self.s, self.Y, W, b, centre, self.n_jobs, tick)
        products = gradient[:, 0].copy()
        gradient[:-1] -= self.alpha * W
        if not self.offset:
            gradient[-1] = 0.0
        self.__dict__["_measured"] = _Kept(W.copy(), b.copy(), left, gradient, products, sizes)
        return left, gradient

    @property
    def _kept(self) -> _Kept | None:
        return self.__dict__.get("_measured")

    def rss(self, left: np.ndarray) -> np.ndarray:
        """sum_i s_i r_i^2 of each target."""
        kept = self._kept
        if kept is not None and kept.left is left and kept.sizes is not None:
            return np.array([kept.sizes.rss])
        return self.sums(left * left)

    @lazy
    def length(self) -> np.ndarray:
        """The root of sum_i s_i y_i^2 of each target."""
        return np.sqrt(self._of_targets[0])

    @property
    def tss(self) -> np.ndarray:
        """sum_i s_i (y_i - mean)^2 of each target."""
        return self._of_targets[1]

    @property
    def largest(self) -> np.ndarray:
        """The largest |y| of each target, with its common part."""
        return self._of_targets[2]

    @property
    def varying(self) -> tuple[np.ndarray, np.ndarray]:
        """Sum of squares and largest value of each target: about its mean and its first value, if there is an offset."""
        return (self.tss, self._of_targets[3]) if self.offset else (self._of_targets[0], self.largest)

    @lazy
    def _of_targets(self) -> np.ndarray:
        starts = range(0, self.n, GAP_ROWS)
        parts = np.zeros((max(1, len(starts)), 4, self.K))

        def part(p: int) -> None:
            stop = min(self.n, starts[p] + GAP_ROWS)
            Y, s = self.Y[starts[p] : stop], None if self.s is None else self.s[starts[p] : stop]
            for k, squares in enumerate((Y * Y, (Y - self.mean_y) ** 2)):
                parts[p, k] = squares.sum(axis=0) if s is None else s @ squares
            parts[p, 2] = np.abs(Y if self.common is None else Y + self.common).max(axis=0)
            parts[p, 3] = np.abs(Y - self.Y[0]).max(axis=0) if self.offset else parts[p, 2]

        run_in_parts(part, len(starts))
        return np.vstack([parts[:, :2].sum(axis=0), parts[:, 2:].max(axis=0)])

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
        return left, gradient, gamma(self.d + 4) * terms + 2.0 * gamma(2) * self.length

    def scales(self) -> np.ndarray:
        """The length of each column, about its mean where there is an offset; never below rounding."""
        size = self.columns
        return np.maximum(size.centred, CONSTANT * size.raw) if self.offset else size.raw

    def orthogonality(self, left: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """The largest |x_j'Sr - alpha w_j| / (|x_j| |r|) of each target; with an offset also |1'Sr| / (|1| |r|)."""
        size = self.columns
        # A constant column is the offset once more, and what is left of it about its mean is rounding.
        told = (
            (size.centred > CONSTANT * size.raw)[:, None] | (self.alpha > 0.0)
            if self.offset
            else size.raw[:, None] > 0.0
        )
        lengths = np.vstack(
            [np.where(told, self.scales()[:, None], 0.0), np.full((1, told.shape[1]), np.sqrt(self.mass))]
        )
        scale = lengths * np.sqrt(self.rss(left))
        return np.divide(np.abs(gradient), scale, out=np.zeros_like(gradient), where=scale > 0).max(axis=0)

    def residual_error(self, W: np.ndarray, b: np.ndarray, unit: float = 0.0) -> np.ndarray:
        """A bound on |computed r - exact r| of each target; ``unit`` allows for a rounding of the model as well."""
        terms = self.columns.raw @ np.abs(W) + np.abs(b) * np.sqrt(self.mass)
        common = 0.0 if self.common is None else np.abs(self.common)  # with which the offset is rounded
        return (unit + gamma(self.d + 4)) * terms + unit * common * np.sqrt(self.mass) + 2.0 * gamma(2) * self.length

    def orthogonality_error(self, left: np.ndarray, error: np.ndarray) -> np.ndarray:
        """What rounding alone may make of an orthogonality of 0: everything, where the fit is exact."""
        size = np.sqrt(self.rss(left))
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
        """P and D of target k as in `linear`, with c = s / alpha, in pieces of rows: memory does not grow with them.

        The bound on the rounding is that of `LinearProblem.rounding`, for the squared loss.
        """
        return self.gap_of(w, self.gap_pieces(k, w, b, u))

    def gap_pieces(self, k: int, w: np.ndarray, b: float, u: np.ndarray) -> list[Piece]:
        """The sums of `gap`, over some rows each."""
        alpha, d = float(self.alpha[k]), self.d
        theta = np.append(w, b if self.offset else 0.0)
        length = length_of(theta)

        def piece(start: int) -> Piece:
            stop = min(self.n, start + GAP_ROWS)
            rows, y, v = R.slice_rows(self.rows, start, stop), self.Y[start:stop, k], u[start:stop]
            c = np.full(stop - start, 1.0 / alpha) if self.s is None else self.s[start:stop] / alpha
            r = y - R.scores(rows, theta)
            norms2 = R.norms2(rows)
            norms = np.sqrt(norms2) * (1.0 + 1e-12)
            error = gamma(d + 3) * norms * length
            size = np.abs(v)
            bent = 0.5 * v * v / c
            sums = (
                0.5 * (c * r * r).sum(), (v * y - bent).sum(), (size * np.abs(y) + bent).sum(), size.sum(), v.sum(),
                v @ y, bent.sum(), (c * error * (np.abs(r) + error)).sum(), size @ norms,
            )  # fmt: skip
            return np.array(sums), R.combine(rows, v), float(norms2.max(initial=0.0)), float(np.abs(y).max(initial=0.0))

        starts = range(0, self.n, GAP_ROWS)
        return list(map_threads(piece, starts, self.n_jobs))

    def gap_of(self, w: np.ndarray, parts: list[Piece]) -> Gap:
        """P and D from the sums over all rows."""
        *totals, slopes, lengths = np.sum([part[0] for part in parts], axis=0).tolist()
        combined = np.sum([part[1] for part in parts], axis=0)[:-1]
        top, target = max(part[2] for part in parts), max(part[3] for part in parts)
        off = gamma(min(self.n, R.BLOCK_ROWS) + self.n / R.BLOCK_ROWS + 2) * lengths
        return self._assembled(w, combined, _Sums(*totals), slopes, off, top, target, len(parts))

    def own_gap(self, k: int, w: np.ndarray, b: float) -> tuple[Gap, np.ndarray] | None:
        """`gap` at the point whose residuals were measured last, with their own `dual_point`; the data is not read again.

        X'Sr is known from there, about the columns' means m: with q = mean of r, alpha X'u = (X - m)'Sr + error, where
        |error| <= gamma(rows added up) sum s |r| (|x| + |m|) for the sums and for u, and |q| sum s |error of m| for m.
        """
        kept = self._kept
        if kept is None or kept.sizes is None or not (np.array_equal(kept.W[:, k], w) and kept.b[k] == b):
            return None
        alpha, size, d = float(self.alpha[k]), kept.sizes, self.d
        mean = float(kept.products[-1]) / self.mass if self.offset else 0.0
        u, parts = self._own_sums(k, kept.left[:, k], mean)
        totals = _Sums(*parts[:, :7].sum(axis=0).tolist())
        length = length_of(np.append(w, b))
        error = gamma(d + 3) * length * (1.0 + 1e-12)
        slopes = error * (size.products + error * size.squares) / alpha
        away = length_of(self.columns.mean) if self.offset else 0.0
        off = gamma(min(self.n, R.BLOCK_ROWS) + self.n / R.BLOCK_ROWS + 16) * (size.products + away * size.residuals)
        off += gamma(self.n + 64) * 2.0 * abs(mean) * (size.lengths + away * self.mass)
        off *= (1.0 + 1e-12) / alpha
        combined = kept.products[:-1] / alpha
        return self._assembled(w, combined, totals, slopes, off, size.top, float(parts[:, 7].max()), len(parts)), u

    def _own_sums(self, k: int, r: np.ndarray, mean: float) -> tuple[np.ndarray, np.ndarray]:
        """u = c (r - mean) of target k; in pieces of rows the sums of `_Sums` and the largest |y|."""
        u, s = np.empty(self.n), np.empty(0) if self.s is None else self.s
        y, alpha = self.Y[:, k], float(self.alpha[k])
        starts = range(0, self.n, GAP_ROWS)
        parts = np.zeros((len(starts), 8))
        run_in_parts(
            lambda p: _gap_sums(r, y, s, alpha, mean, u, starts[p], min(self.n, starts[p] + GAP_ROWS), parts[p]),
            len(starts),
        )
        return u, parts

    def _assembled(
        self,
        w: np.ndarray,
        combined: np.ndarray,
        sums: _Sums,
        slopes: float,
        off: float,
        top: float,
        target: float,
        parts: int,
    ) -> Gap:
        """P, D and the bound on their rounding; ``slopes`` is its part in the loss, ``off`` that in X'u."""
        square = float(combined @ combined)
        primal = 0.5 * float(w @ w) + sums.loss
        dual = sums.terms - 0.5 * square
        rounding = gamma(min(self.n, 512) + 64 + parts + GAP_ROWS / 512)
        room = slopes + (rounding + 16 * UNIT) * (sums.loss + sums.sizes + sums.total)
        room += gamma(self.d + 3) * 0.5 * (float(w @ w) + square)
        room += off * (square**0.5 + 0.5 * off)
        if self.offset:
            reach = max(0.0, top - 1.0) + 8.0 * UNIT * top
            bound = (target + np.sqrt(2.0 * max(primal, 0.0) * reach)) * (1.0 + 1e-12)
            dual -= bound * abs(sums.sum_u)
            room += bound * 64 * UNIT * sums.total + 1e-11 * bound * abs(sums.sum_u)
        curve = square + 2.0 * sums.bent
        stretch = min(1.0, max(0.0, sums.linear / curve)) if curve > 0.0 else 1.0
        return Gap(float(primal), float(dual), float(room * (1.0 + 1e-10)), stretch)


class _Kept(NamedTuple):
    """A model, its residuals and gradient, (X - mean)'S r and 1'S r of its first target, and their sizes, if known."""

    W: np.ndarray
    b: np.ndarray
    left: np.ndarray
    gradient: np.ndarray
    products: np.ndarray
    sizes: Sizes | None


class _Sums(NamedTuple):
    """Sums over the rows of c r^2 / 2, u y - u^2 / 2c, |u y| + u^2 / 2c, |u|, u, u y and u^2 / 2c."""

    loss: float
    terms: float
    sizes: float
    total: float
    sum_u: float
    linear: float
    bent: float


@compiled(vectorise=True)
def _gap_sums(r, y, s, alpha, mean, u, first, last, out):
    """u = c (r - mean), the sums of `_Sums` and the largest |y|."""
    c, w = np.empty(512), np.empty(512)
    for k in range(512):
        c[k] = 1.0 / alpha
    for start in range(first, last, 512):
        stop = min(last, start + 512)
        rs, ys, us = r[start:stop], y[start:stop], u[start:stop]
        if s.size > 0:
            for k in range(rs.size):
                c[k] = s[start + k] / alpha
        for k in range(rs.size):
            w[k] = c[k] * (rs[k] - mean)
        for k in range(rs.size):
            us[k] = w[k]
        loss = terms = sizes = total = sum_u = linear = bent = top = 0.0
        for k in range(rs.size):
            half = 0.5 * w[k] * w[k] / c[k]
            loss += c[k] * rs[k] * rs[k]
            product = w[k] * ys[k]
            terms += product - half
            sizes += abs(product) + half
            total += abs(w[k])
            sum_u += w[k]
            linear += product
            bent += half
            top = max(top, abs(ys[k]))
        out[0] += 0.5 * loss
        out[1] += terms
        out[2] += sizes
        out[3] += total
        out[4] += sum_u
        out[5] += linear
        out[6] += bent
        out[7] = max(out[7], top)


class Gap(NamedTuple):
    """Primal, dual, a bound on the rounding in their difference; and the t in [0, 1] for which t u has the largest D."""

    primal: float
    dual: float
    rounding: float
    stretch: float
