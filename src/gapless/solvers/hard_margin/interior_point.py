"""Interior point for the largest margin of a few rows: 10 to 30 steps, whether a hyperplane separates them or not.

    minimise over w, b, rho    1/2 |w|^2 - rho     subject to  y_i (<w, x_i> + b) - rho = s_i >= 0

with multipliers alpha >= 0.  The conditions are w = sum alpha y x, sum alpha = 1, sum alpha y = 0 (free offset) and
alpha_i s_i = 0: the two nearest points of the hulls of the classes.  Unlike the hard margin, whose scale is fixed by
y f >= 1, this always has a solution: rho = |w|^2 > 0, or 0 where nothing separates, and then alpha is the witness.

Mehrotra's predictor and corrector.  Eliminating s and alpha leaves a system of size d + 2, eliminating s and w one of size
n + 2; the smaller one is factored.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

#: |sum alpha y x| as a share of the longest row's length at which the rows count as not separable.
TOUCHING_SHARE = 1e-11


class NearestPoints(NamedTuple):
    """The multipliers of the hulls' nearest points, and bounds on the largest margin.

    sum alpha = 1 and sum alpha y = 0 up to rounding; ``slack`` is y f - rho of each row.
    """

    alpha: np.ndarray
    slack: np.ndarray
    upper: float
    lower: float
    size: float  #: length of the longest row

    @property
    def touching(self) -> bool:
        """Whether no hyperplane separates the rows, as far as float64 can tell."""
        return self.upper <= TOUCHING_SHARE * self.size


def find_nearest_points(
    V: np.ndarray | None,
    gram: np.ndarray | None,
    y: np.ndarray,
    free: bool,
    tick: Callable[[], None],
    start: np.ndarray | None = None,
) -> NearestPoints:
    """Solve for the rows V (with the constant feature of a penalised offset), or for their inner products ``gram``."""
    m = y.size
    system = _ColumnSystem(V, y, free) if V is not None and V.shape[1] < m else _InnerProductSystem(V, gram, y, free)
    alpha = _starting_alpha(y, free, start)
    margins = system.margins(alpha)  # y <w, x>, w = sum alpha y x
    eta = system.offset(margins)  # (b, rho) or (rho,)
    slack = np.maximum(system.slack(margins, eta), 0.0)
    size = float(np.sqrt(system.longest))
    slack += 0.1 * max(float(slack.mean()), float(np.abs(margins).max()), 1e-30 * size)
    # close: relative distance of the bounds on the margin at which the active sets are known well enough
    most_steps, close = 80, 1e-8
    stale, least, best = 0, np.inf, NearestPoints(alpha, slack, np.inf, -np.inf, size)
    for _ in range(most_steps):
        tick()
        margins = system.margins(alpha)
        square = system.square(alpha, margins)
        upper = float(np.sqrt(max(square, 0.0))) / float(alpha.sum())
        lower = system.certain(margins, square)
        if not np.isfinite(upper):
            break
        if lower > best.lower or upper < 0.5 * best.upper:
            best = NearestPoints(alpha, slack, upper, lower, size)
        mu = float(alpha @ slack) / m
        left = mu * m / max(square, 1e-300)
        # Where the hulls just touch, mu and |w|^2 fall together, and slowly.
        stale = stale + 1 if mu > 0.9 * least else 0
        least = min(least, mu)
        if lower >= (1.0 - close) * upper or upper <= TOUCHING_SHARE * size or stale >= 6 or left <= 0.01 * close:
            break
        try:
            system.factor(alpha, slack)
            da, ds, de = system.step(alpha, slack, eta, margins, -alpha * slack)
            reach = min(_longest_step(alpha, da), _longest_step(slack, ds), 1.0)
            aim = float((alpha + reach * da) @ (slack + reach * ds)) / m
            centre = min(1.0, max(0.0, aim / mu)) ** 3 * mu
            da, ds, de = system.step(alpha, slack, eta, margins, centre - alpha * slack - da * ds)
        except (LinAlgError, FloatingPointError):
            break
        along = min(1.0, 0.99 * min(_longest_step(alpha, da), _longest_step(slack, ds)))
        if not np.isfinite(along) or not np.all(np.isfinite(da)):
            break
        alpha = np.maximum(alpha + along * da, 1e-300)
        slack = np.maximum(slack + along * ds, 1e-300)
        eta = eta + along * de
    return best._replace(alpha=best.alpha / best.alpha.sum())


def _starting_alpha(y: np.ndarray, free: bool, start: np.ndarray | None) -> np.ndarray:
    """Equal multipliers, or seven parts of ``start`` and three parts of these: all are above 0."""
    alpha = np.where(y > 0, 0.5 / max(1, int((y > 0).sum())), 0.5 / max(1, int((y < 0).sum())))
    if not free:
        alpha = np.full(y.size, 1.0 / y.size)
    if start is None or not start.any():
        return alpha
    return 0.7 * start / start.sum() + 0.3 * alpha


def _longest_step(x: np.ndarray, dx: np.ndarray) -> float:
    """The longest step that keeps x >= 0."""
    falling = dx < 0.0
    return float(np.min(-x[falling] / dx[falling])) if falling.any() else np.inf


class _NewtonSystem:
    """The part of the Newton system that needs margins only. eta = (b, rho) with a free offset, else (rho,)."""

    def __init__(self, y: np.ndarray, free: bool) -> None:
        self.y, self.free = y.astype(float), free
        ones = np.ones(y.size)
        #: slack = margins + border @ eta
        self.border = np.column_stack([self.y, -ones]) if free else -ones[:, None]
        self.wanted = np.array([0.0, -1.0]) if free else np.array([-1.0])

    def offset(self, margins: np.ndarray) -> np.ndarray:
        """b and rho for which the smallest margin is largest."""
        if not self.free:
            return np.array([float(margins.min())])
        plus, minus = float(margins[self.y > 0].min()), float(margins[self.y < 0].min())
        return np.array([0.5 * (minus - plus), 0.5 * (plus + minus)])

    def slack(self, margins: np.ndarray, eta: np.ndarray) -> np.ndarray:
        return margins + self.border @ eta

    def certain(self, margins: np.ndarray, square: float) -> float:
        """The margin of w with its best offset."""
        return float(self.offset(margins)[-1]) / max(float(np.sqrt(max(square, 0.0))), 1e-300)


class _ColumnSystem(_NewtonSystem):
    """More rows than columns: theta = (w, eta) is the unknown, with (H + A'DA) step = right, A = (yx, border)."""

    def __init__(self, V: np.ndarray, y: np.ndarray, free: bool) -> None:
        super().__init__(y, free)
        self.signed = V * self.y[:, None]
        self.A = np.column_stack([self.signed, self.border])
        self.longest = float(np.einsum("ij,ij->i", V, V).max())
        self.ridge = np.append(np.ones(V.shape[1]), np.zeros(self.border.shape[1]))

    def margins(self, alpha: np.ndarray) -> np.ndarray:
        self.w = self.signed.T @ alpha
        return self.signed @ self.w

    def square(self, alpha: np.ndarray, margins: np.ndarray) -> float:
        return float(self.w @ self.w)

    def factor(self, alpha: np.ndarray, slack: np.ndarray) -> None:
        self.weight = alpha / slack
        matrix = (self.A * self.weight[:, None]).T @ self.A
        matrix[np.diag_indices_from(matrix)] += self.ridge
        self.matrix, self.scale, self.cholesky = _cholesky(matrix)

    def step(self, alpha, slack, eta, margins, change):  # type: ignore[no-untyped-def]
        h = slack - self.slack(margins, eta) + change / alpha
        right = self.A.T @ (self.weight * h)
        # w = sum alpha yx holds always; the residuals are those of sum alpha y = 0 and of sum alpha = 1.
        right[-eta.size :] += self.border.T @ alpha - self.wanted
        step = _solve_refined(self.matrix, self.scale, self.cholesky, right)
        da = self.weight * (h - self.A @ step)
        return da, (change - slack * da) / alpha, step[-eta.size :]


class _InnerProductSystem(_NewtonSystem):
    """As many columns as rows, or more: alpha is the unknown, with (Q + E) d_alpha + border d_eta = right, E = s / alpha."""

    def __init__(self, V: np.ndarray | None, gram: np.ndarray | None, y: np.ndarray, free: bool) -> None:
        super().__init__(y, free)
        self.signed = None if V is None else V * self.y[:, None]
        inner = gram * np.outer(self.y, self.y) if self.signed is None else self.signed @ self.signed.T
        self.inner = inner
        self.longest = float(np.diag(inner).max())

    def margins(self, alpha: np.ndarray) -> np.ndarray:
        if self.signed is None:
            return self.inner @ alpha
        self.w = self.signed.T @ alpha
        return self.signed @ self.w

    def square(self, alpha: np.ndarray, margins: np.ndarray) -> float:
        return float(alpha @ margins) if self.signed is None else float(self.w @ self.w)

    def factor(self, alpha: np.ndarray, slack: np.ndarray) -> None:
        self.ratio = slack / alpha
        matrix = self.inner.copy()
        matrix[np.diag_indices_from(matrix)] += self.ratio
        self.matrix, self.scale, self.cholesky = _cholesky(matrix)
        self.lifted = _solve_refined(self.matrix, self.scale, self.cholesky, self.border)
        self.schur = self.border.T @ self.lifted

    def step(self, alpha, slack, eta, margins, change):  # type: ignore[no-untyped-def]
        h = slack - self.slack(margins, eta) + change / alpha
        base = _solve_refined(self.matrix, self.scale, self.cholesky, h)
        de = np.linalg.solve(self.schur, self.border.T @ (base + alpha) - self.wanted)
        da = base - self.lifted @ de
        return da, (change - slack * da) / alpha, de


def _cholesky(matrix: np.ndarray):  # type: ignore[no-untyped-def]
    """The matrix with a unit diagonal, the scale that makes it so, and a factor of it, shifted where it must be."""
    scale = 1.0 / np.sqrt(np.maximum(np.diag(matrix), 1e-300))
    matrix = matrix * scale[:, None] * scale[None, :]
    shift = 0.0
    while True:
        try:
            shifted = matrix if shift == 0.0 else matrix + shift * np.eye(matrix.shape[0])
            return matrix, scale, cho_factor(shifted, lower=True, check_finite=False)
        except LinAlgError:
            shift = max(1e-15, 10.0 * shift)
            if shift > 1e-3:
                raise


def _solve_refined(matrix: np.ndarray, scale: np.ndarray, cholesky, right: np.ndarray) -> np.ndarray:  # type: ignore[no-untyped-def]
    """Solve with the factor, and refine twice with the matrix."""
    scale = scale if right.ndim == 1 else scale[:, None]
    right = right * scale
    x = cho_solve(cholesky, right, check_finite=False)
    for _ in range(2):
        x = x + cho_solve(cholesky, right - matrix @ x, check_finite=False)
    return x * scale
