"""Which algorithm for which problem, what to do where one stalls, and the finish of every fit.

    smooth losses                   Newton: its system is small one way or the other, or solved by conjugate gradients;
                                    first coordinate descent where features are many and sparse
    hinge, small and wide           interior point
    hinge, sparse                   coordinate descent; semismooth Newton where its passes do not pay
    hinge, wide                     coordinate descent; interior point or semismooth Newton where its passes do not pay
    hinge, n >> d                   semismooth Newton; interior point where that stalls

After the hinge's solvers the active sets are guessed and solved for, where that costs at most a fifth of the fit.

The choice is made from shapes alone, so that equal problems go equal ways.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from gapless._runtime.written import written
from gapless.problems.constant import Constant, best_constant, best_constants
from gapless.problems.linear import LinearProblem
from gapless.problems.multinomial import Multinomial
from gapless.solvers.descent.as_solver import DESCENTS, gradient_fit
from gapless.solvers.linear.active_set import active_set, affordable_work
from gapless.solvers.linear.coordinate_descent import coordinate_descent
from gapless.solvers.linear.interior_point import can_solve, interior_point
from gapless.solvers.linear.newton import newton
from gapless.solvers.linear.newton_softmax import newton_softmax
from gapless.solvers.linear.semismooth_newton import semismooth
from gapless.solvers.linear.thresholds import LINEAR_THRESHOLDS as LIMITS
from gapless.solvers.loop import SMALL_FIT_VALUES, Ended, Loop, Stop, Watch
from gapless.solvers.newton_system import FACTORED_COLUMNS
from gapless.solvers.solution import Solution, Status

#: The solvers that can be asked for, and what they ask of a loss's fact `smooth`; None: nothing.
SOLVERS = {"coordinate_descent": None, "semismooth": False, "interior_point": False, "newton": True}
#: A solver's name, and what runs it.
Step = tuple[str, Callable[[], None]]


class NotForThisLoss(ValueError):
    """The forced solver cannot minimise this loss."""


class Wishes(NamedTuple):
    """What the caller wants of a solve besides the problem."""

    solver: str
    start: tuple[np.ndarray, np.ndarray] | None  #: theta and u
    seed: int
    order: np.ndarray | None
    schedule: Any


def solve(
    problem: LinearProblem,
    stop: Stop,
    *,
    solver: str = "auto",
    start: tuple[np.ndarray, np.ndarray] | None = None,
    watch: Watch = Watch(),
    seed: int = 0,
    order: np.ndarray | None = None,
    schedule: Any = None,
) -> Solution:
    """The best point found within ``stop``, and how it was found.

    ``start`` is (theta, u) of an earlier fit; ``order`` a first order of the examples that does not depend on theirs;
    ``schedule`` the rates of a descent.
    """
    loop = Loop(stop, watch)
    loop.order = order
    used: list[str] = []
    # Overflow on the way is found by looking at the gap; it is no news to the user.
    with np.errstate(all="ignore"):
        with loop.catch_end():
            _record_start(problem, loop, start)
            for name, run in _plan(problem, loop, Wishes(solver, start, seed, order, schedule)):
                if _has_no_way(problem, name):
                    continue
                used.append(name)
                run()
                if loop.relative_gap <= stop.relative_gap or loop.n_iter >= stop.passes:
                    break
        if not problem.loss.smooth and loop.status in (None, "converged") and solver not in DESCENTS:
            used += _polish(problem, loop, used)
        return _finish(problem, loop, "+".join(dict.fromkeys(used)) or "start")


def solve_multinomial(
    problem: Multinomial,
    stop: Stop,
    *,
    solver: str = "auto",
    start: tuple[np.ndarray, np.ndarray] | None = None,
    watch: Watch = Watch(),
    seed: int = 0,
    order: np.ndarray | None = None,
    schedule: Any = None,
) -> Solution:
    """The same for softmax: Newton's method, unless a descent is forced."""
    loop = Loop(stop, watch)
    used = "start"
    with np.errstate(all="ignore"):
        with loop.catch_end():
            _record_multinomial_start(problem, loop, start)
            begin = None if start is None else start[0]
            if solver in DESCENTS:
                used = solver
                gradient_fit(problem, loop, solver, begin, seed=seed, order=order, schedule=schedule)
            else:
                used = "newton"
                newton_softmax(problem, loop, begin)
        theta = np.zeros((problem.K, problem.d + 1))
        U = problem.zero_dual() if loop.best_u is None else loop.best_u
        if _take_better_constant(partial(best_constants, problem), loop):
            assert loop.best_theta is not None
            own = problem.dual_from_primal(loop.best_theta)
            U = own if problem.dual(own, loop.best_primal) > loop.best_dual else U
    theta = theta if loop.best_theta is None else loop.best_theta
    return Solution(theta, U, _final_status(loop), loop.n_iter, loop.seconds, used, loop.history)


# -- the start ---------------------------------------------------------------------------------------------------


def _record_start(problem: LinearProblem, loop: Loop, start: tuple[np.ndarray, np.ndarray] | None) -> None:
    """Record zero, and the point where an earlier fit ended: there is always a point to return."""
    # No loss is below 0, so that D(0) = 0.
    loop.record(np.zeros(problem.d + 1), problem.zero_dual, problem.primal_at_zero(), 0.0, ends=False)
    if not np.isfinite(problem.R2):
        loop.end("not_finite")
    if start is not None:
        theta, u = start[0], problem.repair(start[1])
        primal = problem.primal(theta)
        loop.record(theta, u, primal, problem.dual(u, primal), ends=False)
        if loop.relative_gap <= loop.stop.relative_gap:
            loop.end("converged")
    if loop.stop.passes == 0:
        loop.end("max_iter")


def _record_multinomial_start(problem: Multinomial, loop: Loop, start: tuple[np.ndarray, np.ndarray] | None) -> None:
    """The same for softmax. Equal scores move no share, so that D(0) = 0 needs no data."""
    zero = np.zeros((problem.K, problem.d + 1))
    equal = float(np.sum(problem.class_weights)) * float(np.log(problem.K))
    loop.record(zero, problem.zero_dual(), equal, 0.0, ends=False)
    if not np.isfinite(problem.R2):
        loop.end("not_finite")
    if start is not None:
        primal = problem.primal(start[0])
        loop.record(start[0], start[1], primal, problem.dual(start[1], primal), ends=False)
    if loop.stop.passes == 0:
        loop.end("max_iter")


# -- the plan ----------------------------------------------------------------------------------------------------


def _plan(problem: LinearProblem, loop: Loop, wishes: Wishes) -> list[Step]:
    """The solvers to try, in order."""
    solver, seed, order = wishes.solver, wishes.seed, wishes.order
    theta, u = wishes.start if wishes.start is not None else (None, None)
    if solver in DESCENTS:
        schedule = wishes.schedule
        return [
            (solver, partial(gradient_fit, problem, loop, solver, theta, seed=seed, order=order, schedule=schedule))
        ]
    hinge = not problem.loss.smooth
    if hinge and _wants_polish(problem, loop):
        # The polish wants the gap near its floor.
        loop.stop = replace(loop.stop, relative_gap=min(LIMITS.polish_relative_gap, loop.stop.relative_gap))
    descend = partial(coordinate_descent, problem, loop, u, seed=seed, order=order)
    parts: dict[str, Callable[[], None]] = {
        "coordinate_descent": descend,
        "semismooth": partial(semismooth, problem, loop, u),
        "interior_point": partial(interior_point, problem, loop),
        "newton": partial(newton, problem, loop, theta),
    }
    if solver != "auto":
        if not can_minimise(solver, problem.loss):
            raise NotForThisLoss(f"solver={written(solver)} cannot minimise this loss")
        return [(solver, parts[solver])]
    if hinge:
        return _plan_hinge(problem, loop, descend, parts)
    # With a free offset passes settle for the logistic loss alone: its multipliers do in as many passes as the rest.
    settles = not problem.free or problem.loss.entropic
    if has_many_features(problem) and settles and theta is None and not _is_weak(problem):
        # Conjugate gradients would read the data more often than a few passes of this do.
        hasty = partial(descend, affordable=LIMITS.affordable_passes)
        return [("coordinate_descent", hasty), ("newton", lambda: newton(problem, loop, loop.best_theta))]
    return [(name, parts[name]) for name in ("newton", "coordinate_descent")]


def _plan_hinge(
    problem: LinearProblem, loop: Loop, descend: Callable[..., None], parts: dict[str, Callable[[], None]]
) -> list[Step]:
    """The solvers of the hinge. ``descend`` is coordinate descent; the second solver goes on from the best point of the first."""
    small = _is_small(problem)
    go_on: Step = ("semismooth", lambda: semismooth(problem, loop, loop.best_u))
    hasty: Step = ("coordinate_descent", partial(descend, affordable=_affordable_passes(problem)))
    if has_many_features(problem):
        patience = LIMITS.patient_passes_free if problem.free else LIMITS.patient_passes
        return [("coordinate_descent", partial(descend, give_up=patience)), go_on]
    per_column = LIMITS.wide_rows_per_column if problem.sparse else LIMITS.square_rows_per_column
    if problem.n < per_column * problem.d and not small:
        # Few passes mostly do, and a step by matrices costs many of them.
        by_matrices: list[Step] = []
        if can_solve(problem):
            by_matrices = [("interior_point", lambda: interior_point(problem, loop, loop.best_u))]
        if problem.n >= LIMITS.wide_rows_per_column * problem.d:
            return [hasty, go_on, *by_matrices]
        # As many passes without progress as some steps of interior point cost.
        give_up = LIMITS.affordable_passes + min(problem.n, problem.d) // 10
        return [("coordinate_descent", partial(descend, give_up=give_up)), *by_matrices, go_on]
    if problem.sparse and not small:
        # Where a few passes will do, nothing is faster; where they will not, they were a good start for Newton.
        return [hasty, go_on]
    names = ["semismooth", "interior_point" if can_solve(problem) else "coordinate_descent"]
    wide = problem.n < LIMITS.wide_rows_per_column * problem.d
    if small and can_solve(problem) and (wide or _wants_polish(problem, loop)):
        names.reverse()
    return [(name, parts[name]) for name in names]


def _affordable_passes(problem: LinearProblem) -> float:
    """Passes of coordinate descent that cost as much as semismooth Newton's whole way, whose factors may cost many passes."""
    steps, side = 10.0, float(min(problem.n, problem.d + 1))
    factor, a_pass = 0.03 * side**3, 3.0 * problem.stored  # ns
    return max(LIMITS.affordable_passes, steps * factor / max(a_pass, 1.0))


def can_minimise(solver: str, loss: Any) -> bool:
    """Whether this one of `SOLVERS` is for this loss."""
    return SOLVERS[solver] in (None, loss.smooth)


def _is_small(problem: LinearProblem) -> bool:
    """So few values that a step costs little more than its calls."""
    return problem.n * (problem.d + 1) <= SMALL_FIT_VALUES


def _wants_polish(problem: LinearProblem, loop: Loop) -> bool:
    """So small a gap is asked for that the active sets have to be found, whatever that costs."""
    return _is_small(problem) and loop.stop.relative_gap <= LIMITS.polish_tolerance


def _is_weak(problem: LinearProblem) -> bool:
    """The penalty rules the curvature: conjugate gradients end after an iteration or two."""
    if problem.free or problem.d > LIMITS.near_columns:
        return False
    return problem.weigh_norms2(problem.c) <= LIMITS.weak_curvature * problem.n


def has_many_features(problem: LinearProblem) -> bool:
    """Sparse, and too many columns for a matrix of them."""
    return problem.sparse and problem.d > FACTORED_COLUMNS and problem.n > FACTORED_COLUMNS


def passes_are_cheap(problem: LinearProblem) -> bool:
    """A step of Newton's costs many passes over the data: by conjugate gradients, or with most rows in its band."""
    return has_many_features(problem) or problem.n < LIMITS.wide_rows_per_column * problem.d


# -- the end -----------------------------------------------------------------------------------------------------


def _has_no_way(problem: LinearProblem, name: str) -> bool:
    """Whether the rows do not answer what this solver asks: one by one, or by the verbs of interior point."""
    return (name == "coordinate_descent" and not problem.one_by_one) or (
        name == "interior_point" and problem.new_barrier is None
    )


def _polish(problem: LinearProblem, loop: Loop, used: list[str]) -> list[str]:
    """Go on to machine precision where it costs at most a fifth of the fit, by count."""
    if loop.best_theta is None or loop.best_u is None or problem.new_sets is None:
        return []
    if loop.settled:
        return ["active_set"]
    work = affordable_work(problem, loop)
    if "interior_point" in used:  # a matrix of all rows a step
        side = float(min(problem.n, problem.d + 1))
        matrix = side * side * (0.5 * max(problem.n, problem.d + 1) + side / 3.0)
        work += LIMITS.polish_share * loop.n_iter * matrix
    before, status = loop.relative_gap, loop.status
    if _wants_polish(problem, loop) or (_is_small(problem) and before > loop.stop.relative_gap):
        work = np.inf
    try:
        active_set(problem, loop, loop.best_theta, loop.best_u, work=work)
    except Ended:
        loop.status = status
    return ["active_set"] if loop.relative_gap < before else []


def _take_better_constant(best: Callable[[], Constant | None], loop: Loop) -> bool:
    """Put the ``best`` constant in the place of the best point, if the fit was stopped before it found a better one."""
    least_gain = 1e-9  # of P: more than rounding
    if loop.status == "converged" or loop.relative_gap <= loop.stop.relative_gap:
        return False
    constant = best()
    if constant is None or not constant.primal < loop.best_primal - least_gain * abs(loop.best_primal):
        return False
    loop.best_theta, loop.best_primal, loop.best_scores = constant.theta, constant.primal, None
    return True


def _final_status(loop: Loop) -> Status:
    return loop.status or ("max_iter" if loop.n_iter >= loop.stop.passes else "stalled")


def _finish(problem: LinearProblem, loop: Loop, solver: str) -> Solution:
    """The solution: the best primal and the best dual point, or a dual point made of the primal where that is better."""
    if _take_better_constant(partial(best_constant, problem), loop):
        assert loop.best_theta is not None
        loop.best_scores = problem.equal_scores(problem.constant * float(loop.best_theta[-1]))
    theta, u, scores, combined = loop.best_theta, loop.best_u, loop.best_scores, loop.best_combined
    if theta is None or u is None:
        theta, u, scores, combined = np.zeros(problem.d + 1), problem.zero_dual(), None, None
    if loop.status not in (None, "converged", "not_finite") or (loop.status == "not_finite" and solver in DESCENTS):
        # Stopped early, the dual point is often the worse half of the pair: the primal's own may be better.
        own = problem.scale_dual(problem.dual_from_primal(theta, scores))
        if problem.dual(own, loop.best_primal) > loop.best_dual:
            u, combined = own, None
    if problem.free and not problem.loss.smooth and scores is None:
        # Where the scores are known the offset is the best one for them already: see `coordinate_descent`.
        theta, near = theta.copy(), float(theta[-1])
        theta[-1] = 0.0
        theta[-1] = problem.best_offset(problem.scores(theta), near)
    return Solution(theta, u, _final_status(loop), loop.n_iter, loop.seconds, solver, loop.history, scores, combined)
