"""Linear classifiers: one subproblem, of one class against the rest or of all classes, solved on distinct rows and certified on
all."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gapless import losses
from gapless._runtime.backend import card_in_use
from gapless.backends.choose import linear_problem, multinomial_problem, on_host
from gapless.backends.numpy.linear_classes import newton_of_classes, suits_all_at_once
from gapless.backends.numpy.linear_libsvm import libsvm_of_classes, suits_libsvm
from gapless.certificates.subproblem import Subproblem, certify
from gapless.problems.constant import separate_equal_constants
from gapless.problems.linear import LinearProblem
from gapless.problems.multinomial import Multinomial
from gapless.solvers.linear.solve import solve, solve_multinomial
from gapless.solvers.linear.warm_restart import KeptCurvature, solve_from_neighbour
from gapless.solvers.solution import Event, Solution

from .frame import Frame
from .hard_margin import fit_hard_margin
from .linear_encode import LinearRequest, LinearRows


@dataclass(frozen=True, eq=False)
class LinearSubproblemFit:
    """The outcome of one subproblem: lines of coefficients, dual points and scores, and its claim."""

    coef: np.ndarray
    intercept: np.ndarray
    dual: np.ndarray
    scores: np.ndarray
    claim: Subproblem
    history: list[Event]
    combined: np.ndarray | None = None  # sum u x, with the constant feature last


def solve_classes_at_once(request: LinearRequest, data: LinearRows, frame: Frame) -> dict[int, Solution]:
    """Solve small problems in one go where there is a way: the solutions of the classes that converged."""
    positives = data.labels.positives
    fresh = data.shared is None and math.isfinite(request.C) and request.solver == "auto" and card_in_use() is None
    if not fresh or request.loss not in ("hinge", "squared_hinge"):
        return {}
    hinge = request.loss == "hinge"
    if not hinge and len(positives) <= 2:
        return {}
    _, small = _build_class(request, data, 0)
    stop = frame.share_time()
    suited = suits_libsvm(small, stop) if hinge else suits_all_at_once(small, len(positives))
    if not suited or _read_start(data, small.d, len(positives)) is not None:
        return {}
    index = data.index if data.groups is None else data.index[data.groups.first]
    signs = np.where(index[:, None] == np.array(positives), 1.0, -1.0)
    if hinge:
        return libsvm_of_classes(small, signs, data.order, stop, data.watch)
    return newton_of_classes(small, signs, stop, data.watch)


def fit_class(
    request: LinearRequest, data: LinearRows, k: int, frame: Frame, solved: Solution | None = None
) -> LinearSubproblemFit:
    """Fit class k against the rest, or certify what is ``solved``."""
    n_problems = len(data.labels.positives)
    if math.isinf(request.C):
        return LinearSubproblemFit(**fit_hard_margin(request, data, k, frame.share_time(k, n_problems)))
    positive = data.labels.positives[k]
    problem, small = _build_class(request, data, k)
    kept = None
    if data.shared is not None and data.start is not None:
        kept = data.shared.setdefault((k, "curvature"), KeptCurvature())
    solution = solved or _solve_class(request, data, k, small, problem, kept, frame)
    if n_problems > 1 and solution.status != "converged":
        theta = separate_equal_constants(problem, solution.theta)
        solution = solution if theta is solution.theta else replace(solution, theta=theta, scores=None)
    combined = solution.combined if data.groups is None else None
    if combined is None and solved is not None and data.groups is None:
        combined = problem.combine(solution.u)  # feasible already
    if combined is None:
        u = problem.repair(data.expand(solution.u))
        if kept is not None and data.groups is None and np.array_equal(u, solution.u):
            combined = kept.combined
        solution = replace(solution, u=u)
    w, b = problem.split(solution.theta)
    returned = np.append(w, b).astype(request.dtype)
    theta = problem.join(returned[:-1], float(returned[-1]))
    z = solution.scores if data.groups is None and np.array_equal(theta, solution.theta) else None
    z = problem.scores(theta) if z is None else z
    combined = problem.combine(solution.u) if combined is None else combined
    tol = request.stop.relative_gap
    claim = certify(problem, solution, tol=tol, theta=theta, positive=positive, scores=z, combined=combined)
    return LinearSubproblemFit(
        returned[None, :-1],
        returned[-1:],
        on_host(solution.u)[None, :],
        on_host(z)[None, :],
        claim,
        solution.history,
        combined,
    )


def reached(request: LinearRequest, data: LinearRows, k: int, so_far: tuple[Any, Any, Any] | None) -> Solution:
    """Class k as far as it is solved; at zero where it was not begun."""
    _, small = _build_class(request, data, k)
    if so_far is None:
        theta = np.zeros(small.d + 1)
        return Solution(theta, small.zero_dual(), "interrupted", 0, 0.0, "start", [])
    theta, u, loop = so_far
    u = small.dual_from_primal(theta) if u is None else u.copy()
    return Solution(theta, u, "interrupted", loop.n_iter, loop.seconds, "checkpoint", loop.history)


def _build_class(request: LinearRequest, data: LinearRows, k: int) -> tuple[LinearProblem, LinearProblem]:
    """The problem on all rows, and on distinct rows."""
    positive, loss = data.labels.positives[k], losses.BY_NAME[request.loss]

    def build(X: Any, index: np.ndarray, c: np.ndarray) -> LinearProblem:
        y = np.where(index == positive, np.int8(1), np.int8(-1))
        built = linear_problem().build(X, y, c, loss, request.offset.kind, request.offset.scale)
        known = data.of_rows.get(X.shape[0])  # the lengths of the rows are the same for every class
        if known is None:
            built.R2  # noqa: B018
            known = {name: built.__dict__[name] for name in ("norms2", "R2") if name in built.__dict__}
            data.of_rows[X.shape[0]] = known
        built.__dict__.update(known)
        return built

    problem = data.build_shared((k, "all"), data.cost.c, lambda: build(data.X, data.index, data.cost.c))
    if data.groups is None:
        return problem, problem
    return problem, data.build_shared((k, "small"), data.groups.c, lambda: build(*data.take_distinct()))


def _solve_class(
    request: LinearRequest,
    data: LinearRows,
    k: int,
    small: LinearProblem,
    problem: LinearProblem,
    kept: KeptCurvature | None,
    frame: Frame,
) -> Solution:
    """Solve the problem on distinct rows; a path, which has ``kept`` derivatives, goes on from its neighbour."""
    n_problems = len(data.labels.positives)
    predicted = kept is not None and getattr(data.start, "guessed", False) and kept.can_predict(small)
    earlier = None if predicted else _read_start(data, problem.d, n_problems)
    start = None
    if earlier is not None:
        coef, intercept, dual = earlier
        theta = problem.join(coef[k], float(intercept[k]))
        u = problem.dual_from_primal(theta) if dual is None else problem.repair(dual[k])
        start = theta, data.gather(u)
    stop = frame.share_time(k, n_problems)
    options: dict[str, Any] = {"watch": data.watch, "seed": request.seed, "order": data.order}
    if kept is not None:
        ready = getattr(data.start, "ready", False)
        return solve_from_neighbour(small, stop, start, ready=ready, curvature=kept, **options)
    return solve(small, stop, solver=request.solver, start=start, schedule=request.schedule, **options)


def fit_all_classes(
    request: LinearRequest, data: LinearRows, frame: Frame, so_far: tuple[Any, Any, Any] | None = None
) -> LinearSubproblemFit:
    """Fit all classes at once, by softmax; or certify what is reached ``so_far``."""
    K = data.labels.n_classes

    def build(X: Any, index: np.ndarray, c: np.ndarray) -> Multinomial:
        return multinomial_problem().build(X, index, c, K, request.offset.kind, request.offset.scale)

    problem = data.build_shared("all", data.cost.c, lambda: build(data.X, data.index, data.cost.c))
    earlier = _read_start(data, problem.d, K)
    small = problem
    if data.groups is not None:
        small = data.build_shared("small", data.groups.c, lambda: build(*data.take_distinct()))
    start = None
    if earlier is not None:
        coef, intercept, dual = earlier
        theta = problem.join(coef, intercept)
        U = problem.dual_from_primal(theta) if dual is None else problem.repair(dual.T)
        start = theta, small.repair(data.gather(U))
    if so_far is None:
        options = {"seed": request.seed, "order": data.order, "schedule": request.schedule, "watch": data.watch}
        solution = solve_multinomial(small, frame.share_time(), solver=request.solver, start=start, **options)  # type: ignore[arg-type]
    else:
        theta, U, loop = so_far
        U = small.dual_from_primal(theta) if U is None else U
        solution = Solution(theta, U, "interrupted", loop.n_iter, loop.seconds, "checkpoint", loop.history)
    solution = replace(solution, u=problem.repair(data.expand(solution.u)))
    W, b = problem.split(solution.theta)
    W, b = W.astype(request.dtype), b.astype(request.dtype)
    theta = problem.join(W, b)
    Z = problem.scores(theta)
    combined = problem.combine(solution.u)
    claim = certify(
        problem, solution, tol=request.stop.relative_gap, theta=theta, positive=None, scores=Z, combined=combined
    )
    return LinearSubproblemFit(
        W, b, np.ascontiguousarray(solution.u.T), np.ascontiguousarray(Z.T), claim, solution.history, combined
    )


def _read_start(data: LinearRows, d: int, lines: int) -> tuple[np.ndarray, np.ndarray, np.ndarray | None] | None:
    """Coefficients, intercepts and, where the rows are as many as now, dual points of the fit to resume from."""
    if data.start is None:
        return None
    arrays = getattr(data.start, "certificate_", data.start).arrays
    if arrays["coef"].shape != (lines, d):
        return None
    dual = arrays.get("dual")  # a fit without a penalty has none
    same_rows = dual is not None and dual.shape[1] == data.cost.n_rows
    return arrays["coef"], arrays["intercept"], data.cost.take(dual.T).T if same_rows else None
