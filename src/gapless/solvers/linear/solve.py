"""Which algorithm for which problem, what to do where one stalls, and the finish of every fit.

    smooth losses                   Newton: its system is small one way or the other, or solved by conjugate gradients;
                                    first coordinate descent where features are many and sparse
    hinge, small                    interior point, then the active-set polish
    hinge, sparse                   coordinate descent; semismooth Newton where its passes do not pay
    hinge, wide                     coordinate descent; interior point or semismooth Newton where its passes do not pay
    hinge, n >> d                   semismooth Newton; interior point where that stalls

The choice is made from shapes alone, so that equal problems go equal ways.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from gapless._runtime.written import written
from gapless.problems.constant import best_constant, best_constants
from gapless.problems.linear import LinearProblem
from gapless.problems.multinomial import Multinomial
from gapless.rows import is_sparse
from gapless.rows.shape import n_stored
from gapless.solvers.descent.as_solver import DESCENTS, gradient_fit
from gapless.solvers.linear import interior_point as ipm
from gapless.solvers.linear.active_set import active_set
from gapless.solvers.linear.coordinate_descent import coordinate_descent
from gapless.solvers.linear.newton import newton
from gapless.solvers.linear.newton_softmax import newton_softmax
from gapless.solvers.linear.semismooth_newton import semismooth
from gapless.solvers.loop import SMALL, Ended, Interruption, Loop, Stop
from gapless.solvers.newton_system import DIRECT
from gapless.solvers.solution import Event, Solution, Status

SOLVERS = ("coordinate_descent", "semismooth", "interior_point", "newton")
#: Passes of coordinate descent that cost as much as semismooth Newton's whole way on sparse rows.
AFFORDABLE = 20
#: Rows for each column below which a band of semismooth Newton holds too many of them, and below which a few passes come first.
WIDE, SQUARE = 3.5, 12
#: c |x|^2 up to which the penalty rules the curvature, so that conjugate gradients end after an iteration or two; and columns
#: up to which their products pay, because a vector of that length stays near the core.
WEAK, NEAR = 0.05, 1 << 15
#: Relative gap from which the active sets are worth guessing.
TIGHT = 1e-11
#: By what share of P the best constant must be better than the point of a fit that was stopped: more than rounding.
LEAST_GAIN = 1e-9


class NotForThisLoss(ValueError):
    """The forced solver cannot minimise this loss."""


def solve(
    problem: LinearProblem,
    stop: Stop,
    *,
    solver: str = "auto",
    start: tuple[np.ndarray, np.ndarray] | None = None,
    callback: Callable[[Event], None] | None = None,
    interruption: Interruption | None = None,
    seed: int = 0,
    order: np.ndarray | None = None,
    schedule: Any = None,
) -> Solution:
    """The best point found within ``stop``, and how it was found.

    ``start`` is (theta, u) of an earlier fit; ``order`` a first order of the examples that does not depend on theirs;
    ``schedule`` the rates of a descent.
    """
    loop = Loop(stop, callback=callback, interruption=interruption)
    used: list[str] = []
    # Overflow on the way is found by looking at the gap; it is no news to the user.
    with np.errstate(all="ignore"):
        try:
            _record_start(problem, loop, start)
            for name, run in _plan(problem, loop, solver, start, seed, order, schedule):
                used.append(name)
                run()
                if loop.relative_gap <= stop.relative_gap or loop.n_iter >= stop.passes:
                    break
        except Ended:
            pass
        except KeyboardInterrupt:
            loop.interrupt()
        except (FloatingPointError, np.linalg.LinAlgError):
            loop.status = loop.status or "stalled"
        if not problem.loss.smooth and loop.status in (None, "converged") and solver not in DESCENTS:
            used += _polish(problem, loop)
        return _finish(problem, loop, "+".join(dict.fromkeys(used)) or "start")


def solve_multinomial(
    problem: Multinomial,
    stop: Stop,
    *,
    solver: str = "auto",
    start: tuple[np.ndarray, np.ndarray] | None = None,
    callback: Callable[[Event], None] | None = None,
    interruption: Interruption | None = None,
    seed: int = 0,
    order: np.ndarray | None = None,
    schedule: Any = None,
) -> Solution:
    """The same for softmax: Newton's method, unless a descent is forced."""
    loop = Loop(stop, callback=callback, interruption=interruption)
    zero = np.zeros((problem.K, problem.d + 1))
    used = "start"
    with np.errstate(all="ignore"):
        try:
            # Equal scores: no share is moved, D(0) = 0 needs no data.
            primal = problem.primal(zero)
            loop.record(zero, np.zeros((problem.n, problem.K)), primal, 0.0, ends=False)
            if not np.isfinite(problem.norms2).all():
                loop.end("not_finite")
            if start is not None:
                primal = problem.primal(start[0])
                loop.record(start[0], start[1], primal, problem.dual(start[1], primal), ends=False)
            if stop.passes == 0:
                loop.end("max_iter")
            begin = None if start is None else start[0]
            if solver in DESCENTS:
                used = solver
                gradient_fit(problem, loop, solver, begin, seed=seed, order=order, schedule=schedule)
            else:
                used = "newton"
                newton_softmax(problem, loop, begin)
        except Ended:
            pass
        except KeyboardInterrupt:
            loop.interrupt()
        except (FloatingPointError, np.linalg.LinAlgError):
            loop.status = loop.status or "stalled"
        U = np.zeros((problem.n, problem.K)) if loop.best_u is None else loop.best_u
        if _constant_is_better(problem, loop):
            assert loop.best_theta is not None
            own = problem.dual_from_primal(loop.best_theta)
            U = own if problem.dual(own, loop.best_primal) > loop.best_dual else U
    theta = zero if loop.best_theta is None else loop.best_theta
    status: Status = loop.status or ("max_iter" if loop.n_iter >= stop.passes else "stalled")
    return Solution(theta, U, status, loop.n_iter, loop.seconds, used, loop.history)


def _record_start(problem: LinearProblem, loop: Loop, start: tuple[np.ndarray, np.ndarray] | None) -> None:
    """There is always a point to return: zero, or where an earlier fit ended."""
    # No loss is below 0, so that D(0) = 0.
    loop.record(np.zeros(problem.d + 1), lambda: np.zeros(problem.n), problem.primal_at_zero(), 0.0, ends=False)
    if not np.isfinite(problem.R2):
        loop.end("not_finite")
    if start is not None:
        _record_pair(problem, loop, start[0], problem.repair(start[1]))
        if loop.relative_gap <= loop.stop.relative_gap:
            loop.end("converged")
    if loop.stop.passes == 0:
        loop.end("max_iter")


def _record_pair(problem: LinearProblem, loop: Loop, theta: np.ndarray, u: np.ndarray) -> None:
    primal = problem.primal(theta)
    loop.record(theta, u, primal, problem.dual(u, primal), ends=False)


def _plan(
    problem: LinearProblem,
    loop: Loop,
    solver: str,
    start: tuple[np.ndarray, np.ndarray] | None,
    seed: int,
    order: np.ndarray | None,
    schedule: Any = None,
) -> list[tuple[str, Callable[[], None]]]:
    """The solvers to try, in order."""
    theta, u = start if start is not None else (None, None)
    if solver in DESCENTS:
        run = partial(gradient_fit, problem, loop, solver, theta, seed=seed, order=order, schedule=schedule)
        return [(solver, run)]
    hinge = not problem.loss.smooth
    small = problem.n * (problem.d + 1) <= SMALL
    if hinge and small:
        # The polish wants the gap near its floor; this is where a small fit spends its last few milliseconds.
        loop.stop = replace(loop.stop, relative_gap=min(TIGHT, loop.stop.relative_gap))
    parts: dict[str, Callable[[], None]] = {
        "coordinate_descent": partial(coordinate_descent, problem, loop, u, seed=seed, order=order),
        "semismooth": partial(semismooth, problem, loop, u),
        "interior_point": partial(ipm.interior_point, problem, loop),
        "newton": partial(newton, problem, loop, theta),
    }
    if solver != "auto":
        if (solver == "newton") is hinge and solver != "coordinate_descent":
            raise NotForThisLoss(f"solver={written(solver)} cannot minimise this loss")
        return [(solver, parts[solver])]
    many_features = _many_features(problem)
    weak = many_features and not problem.free and problem.d <= NEAR
    weak = weak and float(problem.c @ problem.norms2) <= WEAK * problem.n
    # With a free offset that is so for the logistic loss alone: its multipliers settle in as many passes as the rest.
    settles = not problem.free or problem.loss.entropic
    if not hinge and many_features and settles and theta is None and not weak:
        # Conjugate gradients would read the data more often than a few passes of this do.
        hasty = partial(coordinate_descent, problem, loop, seed=seed, order=order, affordable=AFFORDABLE)
        return [("coordinate_descent", hasty), ("newton", lambda: newton(problem, loop, loop.best_theta))]
    if not hinge:
        return [("newton", parts["newton"]), ("coordinate_descent", parts["coordinate_descent"])]
    if many_features:
        # Its passes are cheap, so it may go on for long without halving the gap; a free offset closes too slowly for that.
        patience = 400 if problem.free else 1000
        patient = partial(coordinate_descent, problem, loop, u, seed=seed, order=order, give_up=patience)
        return [("coordinate_descent", patient), ("semismooth", lambda: semismooth(problem, loop, loop.best_u))]
    if problem.n < (WIDE if is_sparse(problem.rows) else SQUARE) * problem.d and not small:
        return _wide(problem, loop, u, seed, order)
    if is_sparse(problem.rows) and not small:
        # Where a few passes will do, nothing is faster; where they will not, they were a good start for Newton.
        hasty = partial(coordinate_descent, problem, loop, u, seed=seed, order=order, affordable=AFFORDABLE)
        return [("coordinate_descent", hasty), ("semismooth", lambda: semismooth(problem, loop, loop.best_u))]
    names = ["interior_point", "semismooth"] if small else ["semismooth", "interior_point"]
    if not ipm.can_solve(problem):
        names = ["semismooth", "coordinate_descent"]
    return [(name, parts[name]) for name in names]


def _many_features(problem: LinearProblem) -> bool:
    """Sparse, and too many columns for a matrix of them."""
    return is_sparse(problem.rows) and problem.d > DIRECT and problem.n > DIRECT


def passes_are_cheap(problem: LinearProblem) -> bool:
    """Whether a step of Newton's costs many passes over the data: by conjugate gradients, or with most rows in its band."""
    return _many_features(problem) or problem.n < WIDE * problem.d


def _wide(
    problem: LinearProblem, loop: Loop, u: np.ndarray | None, seed: int, order: np.ndarray | None
) -> list[tuple[str, Callable[[], None]]]:
    """Hinge on rows that are few for their columns: few passes mostly do, and a step by matrices costs many of them."""
    wide, direct = problem.n < WIDE * problem.d, ipm.can_solve(problem)
    options: dict[str, Any] = {"affordable": AFFORDABLE}
    if wide:  # some steps of interior point, counted in passes
        options = {"give_up": AFFORDABLE + min(problem.n, problem.d) // 10}
    first = partial(coordinate_descent, problem, loop, u, seed=seed, order=order, **options)
    newton_like = [("semismooth", lambda: semismooth(problem, loop, loop.best_u))]
    by_matrices = [("interior_point", lambda: ipm.interior_point(problem, loop, loop.best_u))] if direct else []
    return [("coordinate_descent", first), *(by_matrices + newton_like if wide else newton_like + by_matrices)]


def _polish(problem: LinearProblem, loop: Loop) -> list[str]:
    """To machine precision: always on small data, else where it costs at most a fifth of the fit, by count."""
    if loop.best_theta is None or loop.best_u is None:
        return []
    spent = 8.0 * loop.n_iter * n_stored(problem.pass_rows)
    small = problem.n * (problem.d + 1) <= SMALL
    before = loop.relative_gap
    status = loop.status
    try:
        active_set(problem, loop, loop.best_theta, loop.best_u, work=np.inf if small else 0.2 * spent)
    except Ended:
        loop.status = status
    return ["active_set"] if loop.relative_gap < before else []


def _constant_is_better(problem: LinearProblem | Multinomial, loop: Loop) -> bool:
    """Whether a fit that was stopped had found nothing better than the best constant, which then takes the place of its point."""
    if loop.status == "converged":
        return False
    constant = best_constants(problem) if isinstance(problem, Multinomial) else best_constant(problem)
    if constant is None or not constant.primal < loop.best_primal - LEAST_GAIN * abs(loop.best_primal):
        return False
    loop.best_theta, loop.best_primal, loop.best_scores = constant.theta, constant.primal, None
    return True


def _finish(problem: LinearProblem, loop: Loop, solver: str) -> Solution:
    if _constant_is_better(problem, loop):
        assert loop.best_theta is not None
        loop.best_scores = np.full(problem.n, problem.rows.constant * loop.best_theta[-1])
    theta, u, scores, combined = loop.best_theta, loop.best_u, loop.best_scores, loop.best_combined
    if theta is None or u is None:
        theta, u, scores, combined = np.zeros(problem.d + 1), np.zeros(problem.n), None, None
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
    status: Status = loop.status or ("max_iter" if loop.n_iter >= loop.stop.passes else "stalled")
    return Solution(theta, u, status, loop.n_iter, loop.seconds, solver, loop.history, scores, combined)
