"""A quadratic model of many columns, without its matrix: coordinate descent with Anderson's extrapolation.

    minimise over w   1/2 sum_i h_i (z_i - z0_i)^2 + g' (w - w0) + l1 |w|_1 + l2/2 |w|^2,   w >= 0 where positive

Sweeps over the coefficients that are not 0 converge linearly; the combination of the last iterates with the least residual is
tried in their place, and kept where it is lower (Bertrand, Massias, "Anderson acceleration of coordinate descent", 2021).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gapless.problems.sparse.problem import SparseProblem
from gapless.solvers.sparse.quadratic import Charge, violation
from gapless.solvers.sparse.sweeps import sweep_columns
from gapless.solvers.sparse.thresholds import thresholds


class _Model:
    """The columns of the working set, and the gradient of the quadratic part as a vector over the rows."""

    def __init__(self, problem: SparseProblem, W: np.ndarray, h: np.ndarray, w: np.ndarray, g: np.ndarray) -> None:
        self.n = problem.n
        values, index, ends = problem.columns.compressed(W)
        self.columns = (values, index.astype(np.int32, copy=False), ends.astype(np.int64))
        self.mass = float(h.sum())
        self.h, self.start, self.g = h, w.copy(), g
        columns = np.repeat(np.arange(W.size), np.diff(self.columns[2]))
        self.of_column = columns
        weighted = values * h[self.columns[1]]
        self.means = np.zeros(W.size)
        if problem.free:
            self.means = np.bincount(columns, weighted, minlength=W.size) / self.mass
        squares = np.bincount(columns, weighted * values, minlength=W.size)
        self.diagonal = np.maximum(squares - self.mass * self.means**2, 0.0)
        self.diagonal[self.diagonal <= 1e-14 * squares] = 0.0

    def change(self, w: np.ndarray) -> tuple[np.ndarray, float]:
        """h times the change of the scores, and what the offset takes from each."""
        step = w - self.start
        values, index, _ = self.columns
        along = np.bincount(index, values * step[self.of_column], minlength=self.n)
        return self.h * along, float(self.means @ step)

    def gradient(self, r: np.ndarray, shift: float) -> np.ndarray:
        """The gradient of the quadratic part."""
        values, index, _ = self.columns
        return (
            self.g
            + np.bincount(self.of_column, values * r[index], minlength=self.g.size)
            - (shift * self.mass * self.means)
        )

    def value(self, w: np.ndarray, r: np.ndarray, shift: float, charge: Charge) -> float:
        """The model at w, without constants."""
        step, bent = w - self.start, r - shift * self.h
        inside = np.divide(bent * bent, self.h, out=np.zeros_like(bent), where=self.h > 0.0)
        return float(0.5 * inside.sum() + self.g @ step + charge.l1 * np.abs(w).sum() + 0.5 * charge.l2 * (w @ w))


def minimise_columns(
    problem: SparseProblem,
    W: np.ndarray,
    h: np.ndarray,
    w: np.ndarray,
    g: np.ndarray,
    charge: Charge,
    enough: float,
    tick: Callable[[], None],
) -> tuple[np.ndarray, int]:
    """The w that keeps the optimality conditions to within ``enough``, and the sweeps it took."""
    model = _Model(problem, W, h, w, g)
    w, r, shift = w.copy(), np.zeros(problem.n), np.zeros(1)
    everything, passes = np.arange(w.size), 0
    fixed = (h, model.means, model.diagonal, model.mass)
    for _ in range(thresholds.rounds):
        sweep_columns(model.columns, fixed, everything, w, r, shift, g, charge)
        passes += 1
        for _ in range(20):
            tick()
            S = np.flatnonzero(w)
            iterates = [w[S].copy()]
            for _ in range(thresholds.memory):
                sweep_columns(model.columns, fixed, S, w, r, shift, g, charge)
                iterates.append(w[S].copy())
            passes += thresholds.memory
            better = _extrapolated(iterates)
            if better is not None:
                trial = w.copy()
                trial[S] = np.maximum(better, 0.0) if charge.positive else better
                moved, of_offset = model.change(trial)
                if model.value(trial, moved, of_offset, charge) < model.value(w, r, shift[0], charge):
                    w, r, shift[0] = trial, moved, of_offset
            now = model.gradient(r, shift[0])
            if violation(w[S], now[S], charge) <= 0.5 * enough:
                break
        if violation(w, now, charge) <= enough:
            break
    return w, passes


def _extrapolated(iterates: list[np.ndarray]) -> np.ndarray | None:
    """The affine combination of iterates whose next step is shortest."""
    steps = np.diff(iterates, axis=0)
    K = steps @ steps.T
    size = float(np.trace(K))
    if not size > 0.0:
        return None
    try:
        weights = np.linalg.solve(K + 1e-12 * size * np.eye(len(K)), np.ones(len(K)))
    except np.linalg.LinAlgError:
        return None
    total = float(weights.sum())
    return None if total == 0.0 else np.asarray((weights / total) @ np.asarray(iterates[1:]))
