"""Active sets for the hard margin of a few rows: from nearly optimal to machine precision, in finitely many steps.

    maximise over alpha >= 0    sum alpha - 1/2 |sum alpha y x|^2      subject to  sum alpha y = 0 (free offset)

A set F of affinely independent rows is held on the margin: the shortest w with y f = 1 on F, and its multipliers nu.
Where all are positive, the row that violates its margin most joins F; where some are not, alpha moves towards nu until one
is 0, and that row leaves.  A row that depends on F cannot be held with it: then alpha moves along the dependency, which
leaves w as it is and lifts the sum, until another row leaves; if none ever does, the dependency proves that nothing
separates the rows.  (Wolfe's nearest point, 1976, and Goldfarb and Idnani, 1983, in one.)

The rows are at hand (V: an orthogonal factorisation, errors grow with the condition) or only their inner products (Gram: a
Cholesky factor and refinement, errors of the order of its condition).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cholesky, qr, solve_triangular
from scipy.linalg.lapack import dpstrf

from gapless.numbers import UNIT


class ActiveSetPoint(NamedTuple):
    """alpha in the scale of the hard margin (y f = 1), the offset, and how it ended.

    "optimal", "infeasible" (alpha is then a dependency: alpha >= 0, sum alpha = 1, sum alpha y x = 0), or "stalled".
    """

    alpha: np.ndarray
    b: float
    status: str


def solve_active_set(
    V: np.ndarray | None,
    gram: np.ndarray | None,
    y: np.ndarray,
    free: bool,
    alpha: np.ndarray,
    held: np.ndarray,
    scores: Callable[[np.ndarray], np.ndarray],
    tick: Callable[[], None],
) -> ActiveSetPoint:
    """Solve from a feasible ``alpha`` and the rows ``held`` on the margin at first; ``scores(u)`` are <w, x> for w = sum u x."""
    y = y.astype(float)
    pair = held[:2]  # with a free offset one of each class
    held = _drop_dependent(V, gram, held, free)
    if free and abs(y[held].sum()) == held.size:
        held = pair
        if V is not None and np.array_equal(V[pair[0]], V[pair[1]]):
            return ActiveSetPoint(_make_feasible(alpha, y, pair, True) / 2.0, 0.0, "infeasible")
    alpha = _make_feasible(alpha, y, held, free)
    # A row depends on the held rows where its part outside their span has at most this share of its length. Inner products give
    # the square of that length only.
    dependent = 1e-11 if V is not None else 1e-7
    refused = np.zeros(y.size, dtype=bool)
    b, best = 0.0, -np.inf
    for _ in range(20 + 10 * y.size):
        tick()
        try:
            faces = _ActiveFaces(V, gram, y, held, free, scores)
            nu, b = faces.solve()
        except LinAlgError:
            return ActiveSetPoint(alpha, b, "stalled")
        if nu.min() < -1e-12 * nu.max():
            held = _move_towards(alpha, held, nu, refused)
            continue
        alpha = np.zeros(y.size)
        alpha[held] = np.maximum(nu, 0.0)
        margins = y * (scores(alpha * y) + b)
        value = float(alpha.sum())
        if not np.isfinite(value) or value < best * (1.0 - 1e-9):
            return ActiveSetPoint(alpha, b, "stalled")
        best = max(best, value)
        waiting = np.where(refused, np.inf, margins)
        waiting[held] = np.inf
        j = int(np.argmin(waiting))
        if waiting[j] >= 1.0 - 256.0 * UNIT * max(1.0, float(np.abs(margins[held]).max()), abs(b), faces.reach):
            return ActiveSetPoint(alpha, b, "optimal")
        apart, along = faces.measure_dependence(j)
        if apart > dependent:
            held = np.append(held, j)
            continue
        falling = np.flatnonzero(along < -1e-12 * np.abs(along).max(initial=1.0))
        if falling.size == 0:
            ray = np.zeros(y.size)
            ray[held], ray[j] = np.maximum(along, 0.0), 1.0
            return ActiveSetPoint(ray / ray.sum(), b, "infeasible")
        t = alpha[held[falling]] / -along[falling]
        first, step = int(falling[np.argmin(t)]), float(t.min())
        alpha[held] = np.maximum(alpha[held] + step * along, 0.0)
        alpha[j], alpha[held[first]] = step, 0.0
        held = np.append(np.delete(held, first), j)
    return ActiveSetPoint(alpha, b, "stalled")


def _move_towards(alpha: np.ndarray, held: np.ndarray, nu: np.ndarray, refused: np.ndarray) -> np.ndarray:
    """Move alpha towards nu, in place, until some of it is 0; returns the rows that are still held."""
    now = alpha[held]
    falling = nu < 0.0
    room = np.where(falling, now / np.where(falling, now - nu, 1.0), np.inf)
    t = min(1.0, float(room.min()))
    moved = now + t * (nu - now)
    leaves = falling & (room <= t * (1.0 + 1e-12))
    if t == 0.0 and held[-1] in held[leaves] and now[-1] == 0.0:
        refused[held[-1]] = True  # the violation of this row was rounding
    moved[leaves] = 0.0
    alpha[held] = np.maximum(moved, 0.0)
    return held[~leaves]


def _make_feasible(alpha: np.ndarray, y: np.ndarray, held: np.ndarray, free: bool) -> np.ndarray:
    """Set alpha to 0 outside the held rows, and scale the classes to equal sums where the offset is free."""
    out = np.zeros(alpha.size)
    out[held] = np.maximum(alpha[held], 1e-12 * float(alpha.max()))
    if free:
        for side in (y > 0, y < 0):
            out[side] /= max(float(out[side].sum()), 1e-300)
    return out


def _drop_dependent(V: np.ndarray | None, gram: np.ndarray | None, held: np.ndarray, free: bool) -> np.ndarray:
    """Drop held rows that depend on other held rows; with a free offset the first row is the origin."""
    origin = held[:1] if free else held[:0]
    others = held[1:] if free else held
    if others.size == 0:
        return held
    if V is not None:
        C = V[others] - V[origin[0]] if free else V[others]
        size = np.sqrt(np.einsum("ij,ij->i", C, C))
        C = C[size > 0.0] / size[size > 0.0][:, None]
        others = others[size > 0.0]
        if others.size == 0:
            return origin if free else held[:1]
        R, order = qr(C.T, mode="r", pivoting=True, check_finite=False)
        pivots = np.abs(np.diag(R[: min(R.shape)]))
        return np.append(origin, others[order[: int((pivots > 1e-9).sum())]])
    inner = _centred_products(gram, others, origin)
    scale = 1.0 / np.sqrt(np.maximum(np.diag(inner), 1e-300))
    _, order, rank, _ = dpstrf(inner * scale[:, None] * scale[None, :], tol=1e-11, lower=1)
    return np.append(origin, others[order[:rank] - 1])


def _centred_products(
    gram: np.ndarray | None, rows: np.ndarray, origin: np.ndarray, columns: np.ndarray | None = None
) -> np.ndarray:
    """Inner products of rows and columns as seen from the origin, if there is one."""
    assert gram is not None
    columns = rows if columns is None else columns
    inner = gram[np.ix_(rows, columns)]
    if origin.size:
        o = origin[0]
        inner = inner - gram[rows, o][:, None] - gram[o, columns][None, :] + gram[o, o]
    return inner


class _ActiveFaces:
    """The shortest w with f(x_i) = y_i on the held rows (Wolfe's corral).

    With a free offset the first row is the origin: c_i = x_i - x_0, t_i = y_i - y_0; otherwise c = x and t = y.
    """

    def __init__(
        self,
        V: np.ndarray | None,
        gram: np.ndarray | None,
        y: np.ndarray,
        held: np.ndarray,
        free: bool,
        scores: Callable[[np.ndarray], np.ndarray],
    ) -> None:
        self.V, self.gram, self.y, self.held, self.free, self.scores = V, gram, y, held, free, scores
        self.origin = held[:1] if free else held[:0]
        self.others = held[1:] if free else held
        self.targets = y[self.others] - y[held[0]] if free else y[held]
        self.reach = 1.0
        if self.others.size == 0:
            return
        if V is not None:
            C = V[self.others] - V[held[0]] if free else V[held]
            if C.shape[0] > C.shape[1]:
                raise LinAlgError("more rows than columns cannot be independent")
            self.Q, self.R = qr(C.T, mode="economic", check_finite=False)
        else:
            inner = _centred_products(gram, self.others, self.origin)
            self.R = cholesky(inner, check_finite=False)

    def _backsolve(self, right: np.ndarray) -> np.ndarray:
        half = solve_triangular(self.R, right, trans="T", check_finite=False)
        return solve_triangular(self.R, half, check_finite=False)

    def _full(self, u: np.ndarray) -> np.ndarray:
        """Multipliers of all rows from those of the others: with a free offset they sum to 0."""
        out = np.zeros(self.y.size)
        out[self.others] = u
        if self.free:
            out[self.held[0]] = -u.sum()
        return out

    def solve(self) -> tuple[np.ndarray, float]:
        """The multipliers alpha of the held rows, and the offset."""
        if self.others.size == 0:
            raise LinAlgError("one row alone has no margin")
        u = self._backsolve(self.targets)
        for _ in range(2):
            z = self.scores(self._full(u))
            residual = self.targets - (z[self.others] - z[self.held[0]] if self.free else z[self.others])
            u = u + self._backsolve(residual)
        full = self._full(u)
        z = self.scores(full)
        self.reach = float(np.abs(z).max())
        b = float(np.mean(self.y[self.held] - z[self.held])) if self.free else 0.0
        return full[self.held] * self.y[self.held], b

    def measure_dependence(self, j: int) -> tuple[float, np.ndarray]:
        """The distance of row j from the span of the held rows, relative to its length, and the change of alpha with alpha_j."""
        if self.V is not None:
            c = self.V[j] - self.V[self.held[0]] if self.free else self.V[j]
            inside = self.Q.T @ c
            size = float(np.linalg.norm(c))
            apart = float(np.linalg.norm(c - self.Q @ inside)) / max(size, 1e-300) if size > 0.0 else 0.0
            share = solve_triangular(self.R, inside, check_finite=False)
        else:
            one = np.array([j])
            cross = _centred_products(self.gram, self.others, self.origin, one)[:, 0]
            own = float(_centred_products(self.gram, one, self.origin)[0, 0])
            half = solve_triangular(self.R, cross, trans="T", check_finite=False)
            apart = float(np.sqrt(max(0.0, own - half @ half) / max(own, 1e-300))) if own > 0.0 else 0.0
            share = solve_triangular(self.R, half, check_finite=False)
        step = -share if not self.free else np.append(share.sum() - 1.0, -share)
        return apart, step * self.y[j] * self.y[self.held]
