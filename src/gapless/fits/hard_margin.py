"""C = inf: the hard margin, or the proof that there is none; for one class against the rest, and for two classes and a kernel."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from gapless._runtime.clock import now
from gapless._runtime.written import written
from gapless.certificates.kernel import KERNEL_ROUNDING_SHARE, Pair
from gapless.certificates.separation import separability
from gapless.certificates.subproblem import certify, certify_values
from gapless.errors import NotSeparable
from gapless.gram.blocks import Gram
from gapless.problems.hard_margin import HardMargin
from gapless.problems.hard_margin_kernel import HardMarginFigures, stretch_to_margins
from gapless.solvers.hard_margin.gram import hard_margin_gram
from gapless.solvers.hard_margin.solve import solve_hard_margin
from gapless.solvers.loop import Stop, Watch
from gapless.solvers.solution import Solution


def fit_hard_margin(task: Any, data: Any, k: int, stop: Any) -> dict[str, Any]:
    """Fit class k against the rest: coefficients, dual point, scores, claim and history; NotSeparable with its witness."""
    positive = data.labels.positives[k]

    def build(X: Any, index: np.ndarray) -> HardMargin:
        y = np.where(index == positive, np.int8(1), np.int8(-1))
        return HardMargin.from_rows(X, y, task.offset.kind, task.offset.scale)

    problem = build(data.X, data.index)
    small = problem if data.groups is None else build(*data.take_distinct()[:2])
    solution = solve_hard_margin(small, stop, data.watch)
    if solution.status == "not_finite":
        raise ValueError(
            f"{task.estimator}(C=inf): the squares of the values of X overflow or vanish in float64, so that no margin can be "
            "computed. Scale the columns of X (StandardScaler, MaxAbsScaler)."
        )
    if solution.status in ("infeasible", "stalled") and not _keeps_margins(small, solution.theta):
        solution = _decide_exactly(task, data, k, small, solution)
    theta = solution.theta
    u = problem.repair(data.expand(solution.u))
    for _ in range(3):  # the coefficients, split from theta, must keep every margin, too
        w, b = problem.split(theta)
        theta = problem.join(w, b)
        if math.isfinite(problem.primal(theta)):
            break
        repaired = problem.stretch_to_feasible(theta)
        if repaired is None:
            break
        theta = repaired
    if not math.isfinite(problem.primal(theta)):
        # The constant model: the class of larger weight, its score the share by which it is larger.
        w, b = np.zeros(problem.d), float(np.average(problem.y, weights=data.cost.c)) if problem.rows.constant else 0.0
        theta = problem.join(w, b)
        u = np.zeros_like(u)  # a dual bound needs |b*| <= B, and B a point that keeps all margins
    z = problem.scores(theta)
    claim = certify(
        problem, replace(solution, u=u), tol=task.stop.relative_gap, theta=theta, positive=positive, scores=z
    )  # fmt: skip
    return {
        "coef": w[None, :].copy(), "intercept": np.array([b]), "dual": u[None, :], "scores": z[None, :], "claim": claim,
        "history": solution.history,
    }  # fmt: skip


def _keeps_margins(problem: HardMargin, theta: np.ndarray) -> bool:
    return math.isfinite(problem.primal(theta))


def _decide_exactly(task: Any, data: Any, k: int, small: HardMargin, solution: Solution) -> Solution:
    """Decide by exact arithmetic: NotSeparable, or the separating plane where the margin is too thin for floats."""
    started = now()
    positive, labels = data.labels.positives[k], data.labels
    # The proof is about the user's data: all rows, with labels that the user can pass to `verify`.
    y = labels.classes[labels.index] if labels.n_classes == 2 else labels.index == positive
    weights = None
    if data.cost.rows is not None:
        weights = data.weights * (data.class_weight[labels.index] > 0.0)
    found = separability(data.given, y, fit_intercept=task.offset.kind != "none", sample_weight=weights)
    if found.status != "complete":
        raise NotSeparable(_not_separable_message(task, labels, positive, found), found)
    theta = small.stretch_to_feasible(small.join(np.asarray(found.w), float(found.b)))
    if theta is None or not _keeps_margins(small, theta):
        raise ValueError(
            f"{task.estimator}(C=inf): the classes are separated, but by so thin a margin ({found.margin:.3g}) that float64 "
            "cannot keep it. Scale the columns of X, or use a large finite C."
        )
    u = np.zeros(small.n) if solution.status == "infeasible" else solution.u
    seconds = solution.seconds + now() - started
    return replace(
        solution, theta=theta, u=u, status="stalled", seconds=seconds, solver=solution.solver + "+separation"
    )


def _not_separable_message(task: Any, labels: Any, positive: int, found: Any) -> str:
    classes = labels.classes.tolist()
    two = len(classes) == 2
    what = f"{written(classes[0])} from {written(classes[1])}" if two else f"{written(classes[positive])} from the rest"
    y = "y" if two else f"y == {written(classes[positive])}"
    through = " through the origin" if task.offset.kind == "none" else ""
    return (
        f"{task.estimator}(C=inf): no hyperplane{through} separates {what} with a margin: multipliers of {found.rows.size} rows "
        f"prove it (error.rows, error.multipliers; verify(error.witness, X, {y}) checks them). Use a finite C."
    )


def fit_hard_margin_kernel(
    name: str, gram: Gram, y: np.ndarray, weights: np.ndarray, pair: tuple[int, int], stop: Stop,
    watch: Watch,
) -> tuple[HardMarginFigures, Pair]:  # fmt: skip
    """The point and its claim, or NotSeparable with its witness.

    A search that was stopped before it had a point returns a constant: the share by which the weight of one class is larger.
    """
    started = now()
    if y.size > 6_000:  # the factor of the kernel matrix of so many rows takes a minute
        raise MemoryError(
            f"{name}(C=inf) factors the matrix of {y.size} x {y.size} kernel values, {24.0 * y.size**2 / 2**30:.1f} GB. Use a "
            "large finite C."
        )
    every = np.arange(y.size)
    aim = replace(stop, relative_gap=min(stop.relative_gap, 1e-8))
    found = hard_margin_gram(gram.block(every, every), y, stop=aim, watch=watch)
    b = found.b if found.u.any() else float(np.average(y, weights=weights))
    best = stretch_to_margins(gram, y, found.u, b)
    ending = "stalled" if found.status == "converged" else found.status
    base = certify_values(
        best.primal, best.dual, tol=stop.relative_gap, ending=ending, rounding=best.rounding, n_iter=found.n_iter,
        seconds=now() - started, solver="hard_margin_gram", positive=pair[0], hard=True,
    )  # fmt: skip
    if not best.rounding <= KERNEL_ROUNDING_SHARE * max(abs(best.primal), abs(best.dual)):
        nan = math.nan
        base = replace(base, status="not_finite", primal=nan, dual=nan, gap=nan, relative_gap=nan)
    slack = float(np.maximum(0.0, 1.0 - y * (best.scores + best.b)).max(initial=0.0))
    return best, Pair(**base.__dict__, negative=pair[1], violation=slack)
