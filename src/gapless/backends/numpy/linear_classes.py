"""The problems of one class against the rest, all at once: Newton's method for the squared hinge on small data.

    minimise  P_k(w, b) = 1/2 |w|^2 + sum_i c_i max(0, 1 - s_ik (<w, x_i> + b))^2        for every class k, s_ik = +1 or -1

The rows are the same for all classes, and so one product of matrices gives the scores of all classes, one their gradients and,
where columns are few, one their second derivatives. A fit of many classes on small data otherwise is mostly calls.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gapless.numbers import relative_gap
from gapless.problems.linear import LinearProblem
from gapless.rows.in_numpy import by_numpy
from gapless.rows.shape import take_dense
from gapless.solvers.line_search import find_step_length
from gapless.solvers.linear.newton import offset_ridge
from gapless.solvers.loop import Loop, Stop, Watch
from gapless.solvers.solution import Event, Solution


def suits_all_at_once(problem: LinearProblem, classes: int) -> bool:
    """Whether numpy computes here, the matrices of all classes are small, and second derivatives by columns the cheaper ones."""
    most, m = 2_000_000, problem.d + 1  # numbers: 16 MB
    small = problem.n * classes <= most and m * m * classes <= most and 2 * m <= problem.n
    return small and by_numpy(problem.rows)


def newton_of_classes(problem: LinearProblem, signs: np.ndarray, stop: Stop, watch: Watch) -> dict[int, Solution]:
    """The solutions of the classes that converged, by their number; ``signs`` (n, K) has +1 for the rows of a class, else -1."""
    most_steps = 24  # as many as Newton's method takes before it goes through smaller costs
    loop = Loop(stop, watch)
    found: dict[int, Solution] = {}
    with np.errstate(all="ignore"), loop.catch_end():
        classes = _Classes(problem, signs)
        for steps in range(min(most_steps, stop.passes) + 1):
            loop.tick()
            duals, points = classes.bound_optima(stop.relative_gap)
            for at, k in enumerate(classes.live.tolist()):
                primal, dual = float(classes.primal[at]), float(duals[at])
                past = classes.history[k]
                best = (min(primal, past[-1].primal), max(dual, past[-1].dual)) if past else (primal, max(dual, 0.0))
                past.append(Event(steps, loop.seconds, *best))
                if watch.callback is not None:
                    watch.callback(past[-1])
                if relative_gap(primal, dual) <= stop.relative_gap:
                    theta, z = classes.theta[:, at].copy(), np.ascontiguousarray(classes.Z[:, at])
                    u = np.ascontiguousarray(points[:, at])
                    found[k] = Solution(theta, u, "converged", steps, loop.seconds, "newton", past, scores=z)
            classes.keep(np.array([k not in found for k in classes.live.tolist()], bool))
            if not classes.live.size:
                break
            classes.take_steps()
    return found


class _Classes:
    """The classes that have not converged: theta (d + 1, K), scores, losses and gradients of all of them."""

    def __init__(self, problem: LinearProblem, signs: np.ndarray) -> None:
        self.problem, self.signs, self.c = problem, signs, problem.c[:, None]
        n, m = problem.n, problem.d + 1
        self.A = take_dense(problem.rows, np.arange(n))
        self.pairs = np.triu_indices(m)
        few_columns = 10  # up to which the products of all rows cost less than a choice of rows for every class
        self.products = self.A[:, self.pairs[0]] * self.A[:, self.pairs[1]] if m <= few_columns else None
        self.roots = np.sqrt(2.0 * self.c)
        self.ridge = np.ones((m, 1))
        self.live = np.arange(signs.shape[1])
        self.history: list[list[Event]] = [[] for _ in self.live]
        self.theta = np.zeros((m, self.live.size))
        if problem.free:
            self.ridge[-1] = 0.0
            self.theta[-1] = problem.c @ signs / problem.c.sum()  # the best offsets for w = 0
        self.look()

    def look(self) -> None:
        """Scores, hinges, losses and gradients at theta."""
        self.Z = self.A @ self.theta
        self.short = np.maximum(0.0, 1.0 - self.signs * self.Z)
        heavy = self.c * self.short
        self.primal = 0.5 * (self.ridge * self.theta**2).sum(axis=0) + np.einsum("ik,ik->k", heavy, self.short)
        self.alpha = np.multiply(heavy, 2.0, out=heavy)
        self.gradient = self.ridge * self.theta - self.A.T @ (self.signs * self.alpha)

    def bound_optima(self, tolerance: float) -> tuple[np.ndarray, np.ndarray]:
        """Lower bounds of the optima, and the dual points u that give them; -inf for classes that are far from theirs."""
        near = 0.5 * (self.ridge * self.gradient**2).sum(axis=0) <= 2.0 * tolerance * self.primal
        duals, u = np.full(near.size, -np.inf), np.empty((0, 0))
        if not near.any():
            return duals, u
        alpha = self.alpha
        if self.problem.free:  # onto sum u = 0, by the rows of the sign that has too much
            missing = np.einsum("ik,ik->k", self.signs, alpha)
            falls = self.signs * missing > 0.0
            total = np.where(falls, alpha, 0.0).sum(axis=0)
            part = np.divide(np.abs(missing), total, out=np.zeros_like(total), where=total > 0.0)
            alpha = np.where(falls, alpha * (1.0 - np.minimum(part, 1.0)), alpha)
        u = self.signs * alpha
        combined = self.A.T @ u
        value = (alpha * (1.0 - 0.25 * alpha / self.c)).sum(axis=0) - 0.5 * (self.ridge * combined**2).sum(axis=0)
        if self.problem.free:
            bounds = np.array([self.problem.offset_bound(float(primal)) for primal in self.primal])
            value -= bounds * np.abs(u.sum(axis=0))
        return np.where(near, value, duals), u

    def keep(self, chosen: np.ndarray) -> None:
        """Go on with these classes alone."""
        if chosen.all():
            return
        self.live, self.signs = self.live[chosen], self.signs[:, chosen]
        for name in ("theta", "Z", "short", "alpha", "gradient"):
            setattr(self, name, getattr(self, name)[:, chosen])
        self.primal = self.primal[chosen]

    def take_steps(self) -> None:
        """Newton's step of every class, or the share of it at which the slope along it is nearly zero."""
        enough = 0.5  # the share to which the slope has to fall, as for one class
        step = self._newton_steps()
        before, Z, slope = self.theta, self.Z, (self.gradient * step).sum(axis=0)
        self.theta = before + step
        self.look()
        after = (self.gradient * step).sum(axis=0)
        far = np.flatnonzero(~(np.abs(after) <= enough * np.abs(slope)))
        if far.size:
            along = self.A @ step[:, far]
            for place, k in enumerate(far.tolist()):
                t = self._search(k, before[:, k], step[:, k], Z[:, k], along[:, place], float(slope[k]))
                self.theta[:, k] = before[:, k] + t * step[:, k]
            self.look()

    def _search(
        self, k: int, theta: np.ndarray, step: np.ndarray, z: np.ndarray, along: np.ndarray, start: float
    ) -> float:
        ridge, s = self.ridge[:, 0], self.signs[:, k]
        linear, square = float((ridge * theta) @ step), float((ridge * step) @ step)
        heavy, pull = self.problem.c * along, s * along

        def slope_and_curvature(t: float) -> tuple[float, float]:
            short = np.maximum(0.0, 1.0 - s * z - t * pull)
            slope = -2.0 * float((heavy * s) @ short)
            return linear + t * square + slope, square + 2.0 * float((heavy * along)[short > 0.0].sum())

        return find_step_length(slope_and_curvature, start=start)

    def _newton_steps(self) -> np.ndarray:
        m, weights = self.theta.shape[0], np.where(self.short > 0.0, 2.0 * self.c, 0.0)
        H = np.empty((self.live.size, m, m))
        if self.products is not None:
            sums = self.products.T @ weights
            H[:, self.pairs[0], self.pairs[1]] = sums.T
            H[:, self.pairs[1], self.pairs[0]] = sums.T
        else:
            for k in range(self.live.size):
                inside = np.flatnonzero(weights[:, k])
                part = self.A[inside]
                part *= self.roots[inside]
                np.matmul(part.T, part, out=H[k])
        ridge = np.tile(self.ridge[:, 0], (self.live.size, 1))
        if self.problem.free:
            ridge[:, -1] = [offset_ridge(float(total)) for total in weights.sum(axis=0)]
        diagonal = np.einsum("kii->ki", H)
        diagonal += ridge
        scale = 1.0 / np.sqrt(np.maximum(diagonal, 1e-300))
        H *= scale[:, :, None]
        H *= scale[:, None, :]
        right: Any = (-self.gradient.T * scale)[:, :, None]
        return (np.linalg.solve(H, right)[:, :, 0] * scale).T
