"""The hard margin where only inner products are known: a kernel, or a precomputed matrix K.

    minimise over u, b    1/2 u'Ku      subject to  y_i ((Ku)_i + b) >= 1,          w = sum_i u_i phi(x_i)

A positive semidefinite K is the Gram matrix of the rows of its own factor, K = LL' (Cholesky with pivots, which stops at the
rank), and `solve_hard_margin` takes rows.  P and D of the returned point are computed from K itself:  P = 1/2 u'Ku for u
stretched until every margin is kept, against D = sum alpha - 1/2 u'Ku for alpha = uy >= 0, sum u = 0 where the offset is free.

The witness where no hyperplane separates: alpha >= 0 with sum alpha = 1 (sum alpha y = 0 with a free offset) shows that no
margin is above sqrt(alpha'YKY alpha), since for |w| = 1 a margin m means m <= sum alpha y f = <w, sum alpha y phi> and that is at
most |sum alpha y phi|.
Inner products in float64 determine distances to about 1e-8 of the longest row only: thinner margins count as none.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.lapack import dpstrf

from gapless.errors import NotSeparable, short
from gapless.numbers import UNIT, gamma
from gapless.problems.hard_margin import HardMargin
from gapless.solvers.hard_margin.solve import solve_hard_margin
from gapless.solvers.loop import Stop, Watch


class GramMargin(NamedTuple):
    """f(x) = sum_i u_i k(x_i, x) + b keeps every margin; alpha is the dual point, and u = t alpha y its stretch by some t."""

    u: np.ndarray
    b: float
    alpha: np.ndarray
    support: np.ndarray  #: rows with alpha > 0
    primal: float
    dual: float
    rounding: float
    n_iter: int
    status: str = "converged"  #: how the solver ended

    @property
    def margin(self) -> float:
        """1/|w|"""
        return float(1.0 / np.sqrt(2.0 * self.primal))

    @property
    def relative_gap(self) -> float:
        return (self.primal - self.dual) / max(abs(self.primal), abs(self.dual))


class GramWitness(NamedTuple):
    """Positive ``multipliers`` of ``rows``, sum 1 (free offset: one half for each class): no margin is above ``margin``."""

    rows: np.ndarray
    multipliers: list[Fraction]
    margin: float


def hard_margin_gram(
    K: Any,
    y: Any,
    *,
    offset: str = "free",
    offset_scale: float = 1.0,
    stop: Stop | None = None,
    watch: Watch = Watch(),
) -> GramMargin:
    """The largest margin of rows with inner products K (symmetric, positive semidefinite) and signs y, both of which occur.

    Raises NotSeparable, with a GramWitness, where no hyperplane separates the classes, and ValueError where K is no Gram matrix.
    """
    K, y = np.asarray(K, dtype=np.float64), np.asarray(y, dtype=np.int8)
    n = y.size
    if K.shape != (n, n):
        raise ValueError(f"K has shape {K.shape}; {n} rows have {(n, n)} inner products")
    if not np.isfinite(K).all():
        raise ValueError("K holds values that are not finite")
    if set(np.unique(y).tolist()) != {-1, 1}:
        raise ValueError("y must hold both -1 and +1, and nothing else")
    inner = K + offset_scale**2 if offset == "penalised" else K
    free = offset == "free"
    L = _factorise(inner)
    problem = HardMargin.from_rows(L, y, "free" if free else "none")
    solution = solve_hard_margin(problem, stop or Stop(1e-8, 10_000), watch)
    with np.errstate(all="ignore"):
        if solution.status != "infeasible":
            found = _evaluate_by_matrix(inner, problem, solution.u, solution.n_iter, offset, offset_scale)
            if found is not None:
                return found._replace(status=solution.status)
            if solution.status in ("time_limit", "interrupted", "max_iter"):  # the larger class, and no margin is kept
                none = np.zeros(n)
                rows = np.zeros(0, np.int64)
                b = float(y.mean()) if free else 0.0
                return GramMargin(none, b, none, rows, np.inf, 0.0, 0.0, solution.n_iter, solution.status)
        _raise_not_separable(inner, problem, solution.u)
    raise AssertionError  # pragma: no cover


def _factorise(K: np.ndarray) -> np.ndarray:
    """L with K = LL' up to rounding."""
    top = float(np.diag(K).max(initial=0.0))
    if np.abs(K - K.T).max(initial=0.0) > 1e-12 * np.abs(K).max(initial=0.0):
        raise ValueError("K is not symmetric")
    if top <= 0.0:
        if K.any():
            raise ValueError("K is not positive semidefinite: its diagonal is not positive")
        return np.zeros((K.shape[0], 1))
    C, order, rank, _ = dpstrf(K, lower=1)
    L = np.empty((K.shape[0], rank))
    L[order - 1] = np.tril(C)[:, :rank]
    off = float(np.abs(L @ L.T - K).max())
    if off > 1e-10 * K.shape[0] * top:
        raise ValueError(
            f"K is not positive semidefinite: it differs by {short(off)} from the nearest such matrix found. A hard margin "
            "needs inner products."
        )
    return L


def _evaluate_by_matrix(
    K: np.ndarray, problem: HardMargin, u: np.ndarray, n_iter: int, offset: str, scale: float
) -> GramMargin | None:
    """P and D of the point, computed from K itself; None where some margin is not above 0."""
    y, n = problem.y, problem.n
    u = problem.repair(u)
    z = K @ u
    # t u is dual feasible for every t >= 0; this is the best t.
    square = float(u @ z)
    if square <= 0.0:
        return None
    u = problem.repair(u * (float(np.abs(u).sum()) / square))
    z = K @ u
    square, total = float(u @ z), float(np.abs(u).sum())
    b = problem.best_offset(z) if problem.free else 0.0
    hidden = gamma(n + 8) * (np.abs(K) @ np.abs(u) + abs(b))
    sure = float((y * (z + b) - hidden).min())
    if not sure > 0.0:
        return None
    t = (1.0 + 8.0 * UNIT) / sure
    error = gamma(2 * n + 8) * float(np.abs(u) @ (np.abs(K) @ np.abs(u)))
    primal, dual = 0.5 * t * t * square, total - 0.5 * square
    shift = b * t if problem.free else float(scale**2 * u.sum() * t) if offset == "penalised" else 0.0
    rounding = 0.5 * (t * t + 1.0) * error + gamma(n) * total
    return GramMargin(u * t, shift, np.abs(u), np.flatnonzero(u), primal, dual, rounding, n_iter)


def _raise_not_separable(K: np.ndarray, problem: HardMargin, u: np.ndarray) -> None:
    """Raise NotSeparable, with multipliers that sum to 1 without rounding."""
    free, y = problem.free, problem.y
    alpha = np.abs(problem.repair(u))
    grid = 2.0**50
    for side, share in (((y > 0), 0.5), ((y < 0), 0.5)) if free else ((y != 0, 1.0),):
        part = np.floor(alpha[side] / float(alpha[side].sum()) * share * grid)
        part[np.argmax(part)] += share * grid - float(part.sum())
        alpha[side] = part / grid
    signed = alpha * y
    square = float(signed @ (K @ signed)) + gamma(2 * y.size + 8) * float(alpha @ (np.abs(K) @ alpha))
    rows = np.flatnonzero(alpha)
    bound = float(np.sqrt(max(square, 0.0)) * (1.0 + 4.0 * UNIT))
    witness = GramWitness(rows, [Fraction(v) for v in alpha[rows].tolist()], bound)
    raise NotSeparable(
        f"no margin above {short(bound, 3, up=True)} separates the classes (the longest row has length "
        f"{short(float(np.sqrt(np.diag(K).max())), 3)}): multipliers of {rows.size} rows prove it. Use a finite C.",
        witness,
    )
