"""descend: gradient, stochastic, mini-batch and Newton's descent that can be watched.

    minimise f(theta), by    theta <- theta - rate_t * direction_t

f is a linear problem (`linear_risk`) or any differentiable function given with its gradient.  The compiled steps of
linear problems are in `steps`, which `engine` runs; line searches, Newton's method and functions go by `python_steps`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Literal, get_args

import numpy as np

from gapless._runtime.clock import now
from gapless._runtime.results import result
from gapless._runtime.threads import one_blas_thread
from gapless._runtime.written import written
from gapless.numbers import relative_gap
from gapless.problems.descent import LinearRisk
from gapless.solvers.descent.as_solver import steady_schedule
from gapless.solvers.descent.engine import Engine
from gapless.solvers.descent.functions import Function, RiskFunction
from gapless.solvers.descent.plan import (
    AVERAGES,
    DescentEnd,
    DescentPlan,
    as_objective,
    check_batch,
    read_betas,
    room_of_trace,
    start_of_function,
    start_of_risk,
)
from gapless.solvers.descent.python_steps import PythonSteps, as_break, timer
from gapless.solvers.descent.schedules import Schedule, as_schedule
from gapless.solvers.descent.trace import Descent, Trace
from gapless.solvers.descent.visits import as_visits
from gapless.solvers.loop import audible

Method = Literal["gd", "sgd", "minibatch", "newton", "momentum", "adam"]
METHODS = get_args(Method)


@result
@dataclass(frozen=True)
class Until:
    """Where a descent stops: after so many steps, epochs or seconds, at a gradient that short, or at a relative gap that small.

    Whatever comes first. The gradient and the gap are those of the whole objective; the stochastic methods look at
    the gap once an epoch, if one is given, and not at the gradient.

    Attributes
    ----------
    steps : most steps
    epochs : most passes over the data
    seconds : most seconds of work
    gradient : stop where the gradient is this short
    gap : stop where the relative gap is this small
    """

    steps: int | None = None
    epochs: float | None = None
    seconds: float | None = None
    gradient: float = 1e-8
    gap: float | None = None

    def __post_init__(self) -> None:
        if self.steps is not None and (
            not isinstance(self.steps, Integral) or isinstance(self.steps, bool) or self.steps < 0
        ):
            raise ValueError(f"steps must be an int in the range [0, inf) or None; got {written(self.steps)}")
        for name, least in (("epochs", 0.0), ("seconds", 0.0), ("gradient", 0.0), ("gap", 0.0)):
            value = getattr(self, name)
            if value is not None and not (
                isinstance(value, Real) and not isinstance(value, bool) and float(value) >= least
            ):
                raise ValueError(f"{name} must be a float in the range [0.0, inf)" + f"; got {written(value)}")

    def __str__(self) -> str:
        counts = {"steps": self.steps, "epochs": self.epochs, "seconds": self.seconds}
        limits = [f"{value:g} {name}" for name, value in counts.items() if value is not None]
        limits.append(f"a gradient of length {self.gradient:g}")
        if self.gap is not None:
            limits.append(f"a relative gap of {self.gap:g}")
        return "until " + " or ".join(limits)


@audible()
def descend(
    objective: Any,
    start: Any = None,
    method: Method = "gd",
    *,
    schedule: Any = None,
    stop: Until | int | None = None,
    batch: int | None = None,
    visits: Any = "shuffled",
    average: str | None = None,
    literal: bool = False,
    betas: tuple[float, float] | float = (0.9, 0.999),
    trace: bool | int = True,
    seed: int = 0,
) -> Descent:
    """Walk downhill from ``start``, and write down how it went.

    Parameters
    ----------
    objective : LinearRisk, or (value, gradient), or (value, gradient, hessian)
        A linear problem, `linear_risk(X, y, loss=..., lam=...)`, or functions of theta; an object with methods of
        these names will do.
    start : array, "zero" or "random"
        Where to begin: (w, b) of a linear problem, or w alone. "random" draws standard normal numbers. Linear
        problems begin at 0 if nothing is said.
    method : {"gd", "sgd", "minibatch", "newton", "momentum", "adam"}
        "sgd" takes one example a step, "minibatch" (and, on linear problems, "adam") ``batch`` of them; both need a
        linear problem.
    schedule : Schedule, float or str
        The rates. A number is a constant rate; "pegasos", "inverse", "inverse_root", "backtracking", "exact" and "polyak" are
        schedules with their default values. None: rates that need no tuning. On linear problems 1/L for full
        gradients of a smooth loss; for adam rates that fall, 0.05 s / sqrt(1 + t/T) with T the steps of an epoch, at least
        100, and s the size of y for the squared loss, else 1; otherwise Pegasos' with the shift at which the first step is
        no longer than one over an example's curvature, or without a penalty rates that fall from there as
        1/sqrt(1 + t/T), T the steps of 4 epochs. On functions backtracking for Newton's method and for gd, 0.01 for
        momentum and adam.
    stop : Until or int
        An int is a number of steps.
    batch : int
        Examples a step: 64 for minibatch and adam if nothing is said, all for gd and momentum.
    visits : {"shuffled", "random", "sequential"} or array of row numbers
        In which order examples come: each once an epoch in a new random order, drawn with replacement, as they stand, or these.
    average : {None, "uniform", "linear", "tail"}
        Average the iterates: all alike, the t-th t times, or the second half alike. The better of the average and the
        last iterate is returned.
    literal : bool
        "sgd" only: every step entry by entry as the formula reads, to be followed by hand; slower.
    betas : (float, float) or float
        The memory of momentum, and Adam's two.
    trace : bool or int
        True writes the trace down, thinned where it is long; k writes every k-th step; False writes none.
    seed : int
        Of the random start and order.

    Returns
    -------
    Descent
        theta, value, status, gap (where the objective has a dual), trace, and where the decrease was first not sufficient.
    """
    if method not in METHODS:
        raise ValueError(f"method must be among {list(METHODS)}; got {written(method)}")
    if average not in AVERAGES:
        raise ValueError(f"average must be among {[name for name in AVERAGES if name]} or None; got {written(average)}")
    until = stop if isinstance(stop, Until) else Until(steps=stop)
    goal = as_objective(objective)
    if until.gap is not None and isinstance(goal, LinearRisk) and not goal.has_gap:
        raise ValueError(
            "stop=Until(gap=...): without a penalty (lam=0) there is no gap; stop by gradient, steps or epochs"
        )
    rates = None if schedule is None else as_schedule(schedule)
    asked = DescentPlan(
        method, rates or Schedule.backtracking(), 0, visits=visits, seed=seed, average=average, literal=literal,
        betas=read_betas(betas), small=until.gradient,
    )  # fmt: skip
    if not isinstance(trace, Integral | bool) or trace < 0:
        raise ValueError(f"trace must be a bool or an int in the range [0, inf); got {written(trace)}")
    started = now()
    with one_blas_thread(), np.errstate(all="ignore"):
        if isinstance(goal, LinearRisk):
            theta = start_of_risk(goal, start, seed)
            asked = asked._replace(size=check_batch(goal, method, batch))
            plan = _plan_risk(goal, asked, until, trace, rates is None)
            if method == "newton" or plan.schedule.searches:
                return _descend_by_python(goal, theta, plan, until, started)
            return _descend_by_epochs(goal, theta, plan._replace(visits=as_visits(visits, goal.n)), until, started)
        if method in ("sgd", "minibatch"):
            raise ValueError(
                f"method={written(method)} takes examples one by one; a function has none. Give a linear_risk(X, y)."
            )
        if literal or batch is not None:
            raise ValueError("literal and batch speak of examples; a function has none.")
        theta = start_of_function(start, seed)
        if rates is None:
            rates = Schedule.backtracking() if method in ("gd", "newton") else Schedule.constant(0.01)
        steps = _most_steps(until, 1, 1000)
        plan = asked._replace(
            schedule=rates.with_lam(None), steps=steps, room=room_of_trace(trace, steps, theta.size, 1)
        )
        return _descend_by_python(goal, theta, plan, until, started)


def _plan_risk(risk: LinearRisk, asked: DescentPlan, until: Until, trace: bool | int, steady: bool) -> DescentPlan:
    """The plan with rates that suit a linear problem where none were given (``steady``), its steps and its trace."""
    method, rates = asked.method, asked.schedule
    per_epoch = -(-risk.n // asked.size)
    if steady and method != "newton":
        rates = steady_schedule(risk, method, per_epoch)
    if rates.searches and method in ("sgd", "minibatch"):
        raise ValueError(f"schedule {rates.kind!r} looks at the whole objective; {method} does not. Give it rates.")
    if asked.literal and method != "sgd":
        raise ValueError(f"literal=True is the step of one example, method='sgd'; got {written(method)}")
    if method == "newton" or rates.searches:
        per_epoch = 1
    # Where nothing is said, 1000 steps of full gradients, or 10 epochs of the others.
    full = per_epoch == 1 and method != "sgd"
    steps = _most_steps(until, per_epoch, 1000 if full else 10 * per_epoch)
    room = room_of_trace(trace, steps, math.prod(risk.shape), per_epoch)
    return asked._replace(schedule=rates.with_lam(risk.lam), steps=steps, room=room)


def _most_steps(until: Until, per_epoch: int, default: int) -> int:
    """The steps that ``until`` allows; ``default`` where it speaks of neither steps nor epochs nor seconds."""
    found = [int(until.steps)] if until.steps is not None else []
    if until.epochs is not None:
        found.append(math.ceil(until.epochs * per_epoch))
    if found:
        return min(found)
    return 10**9 if until.seconds is not None else default


def _descend_by_python(
    goal: LinearRisk | Function, theta: np.ndarray, plan: DescentPlan, until: Until, started: float
) -> Descent:
    risk = goal if isinstance(goal, LinearRisk) else None
    view: Any = RiskFunction(goal) if isinstance(goal, LinearRisk) else goal

    def reaches_gap(point: np.ndarray) -> bool:
        return risk is not None and _gap_is_closed(risk, until, point)

    walk = PythonSteps(view, theta.ravel(), plan)
    end = walk.run(timer(until.seconds), reaches_gap)
    n = risk.n if risk is not None else 0
    record = None
    if plan.room.every:
        rows, every = walk.written, walk.every if walk.written else 0
        if not rows or rows[-1][0] != end.steps:
            rows = [*rows, [end.steps, math.nan, end.value, end.norm, end.theta, walk.steepest, math.nan]]
        step, rate, loss, norm, point, direction, held = zip(*rows)
        number = np.array(step, np.int64)
        record = Trace(
            number, number * n, np.array(rate), np.array(loss), np.array(norm),
            np.array([view.shown(row) for row in point]), np.array([view.shown(row) for row in direction]),
            np.array(held, float), every, end.steps, plan.room.why, *_smoothness(goal, end.theta),
        )  # fmt: skip
    return _describe(goal, view, plan._replace(size=max(1, n)), end, record, started)


def _descend_by_epochs(risk: LinearRisk, theta: np.ndarray, plan: DescentPlan, until: Until, started: float) -> Descent:
    room = plan.room
    if room.every:
        plan = plan._replace(room=room._replace(rows=min(room.rows, -(-plan.steps // room.every) + 1)))
    engine = Engine(risk, theta, plan)
    out_of_time = timer(until.seconds)
    status = "max_iter"
    while engine.steps < plan.steps:
        if out_of_time():
            status = "time_limit"
            break
        if not engine.advance(plan.steps):
            status = engine.ending
            break
        if until.gap is not None and _gap_is_closed(risk, until, engine.theta(), engine.u()):
            status = "converged"
            break
    end = engine.end(engine.close(status))
    record = None
    if room.every:
        book = engine.book
        k = int(book.filled[0])
        points, directions = (
            risk.shown(engine.to_user(table[:k]).reshape(k, *risk.shape)).reshape(k, -1)
            for table in (book.theta, book.direction)
        )
        used = np.array([plan.examples_after(int(step), risk.n) for step in book.step[:k]], np.int64)
        record = Trace(
            book.step[:k].copy(), used, book.rate[:k].copy(), book.loss[:k].copy(), book.norm[:k].copy(), points, directions,
            book.held[:k].copy(), int(book.every[0]), engine.steps, room.why, *_smoothness(risk, engine.theta()),
        )  # fmt: skip
    return _describe(risk, RiskFunction(risk), plan, end, record, started)


def _gap_is_closed(risk: LinearRisk, until: Until, theta: np.ndarray, u: np.ndarray | None = None) -> bool:
    """Whether the relative gap at theta is as small as ``until`` asks for."""
    if until.gap is None:
        return False
    value, least = risk.bounded(theta.reshape(risk.shape), u)
    return least is not None and relative_gap(value, least) <= until.gap


def _smoothness(goal: LinearRisk | Function, theta: np.ndarray) -> tuple[float | None, str]:
    """L and where it comes from; None and why where there is none."""
    if isinstance(goal, LinearRisk):
        return goal.smoothness if goal.smooth else None, goal.smoothness_told
    bend = goal.largest_curvature(theta)
    return (
        bend,
        "" if bend is None else f"L = {bend:.4g} is the largest eigenvalue of the Hessian where the descent ended",
    )


def _describe(
    goal: LinearRisk | Function, view: Any, plan: DescentPlan, end: DescentEnd, trace: Trace | None, started: float
) -> Descent:
    """The better of the last point and the average; the lowest one seen where it diverged."""
    theta, value, norm, point, why = end.theta, end.value, end.norm, "last", ""
    risk = goal if isinstance(goal, LinearRisk) else None
    broke = as_break(view, end.broke, plan.method)
    if end.status == "diverged":
        rose = f"rose to {value:.3g}" if math.isfinite(value) else "left the finite numbers"
        theta, value, step = end.best
        why = f"the value {rose} by step {end.steps:,}; theta is that of step {step:,}, value {value:.6g}, the lowest seen"
        point = "lowest"
        norm = float(np.linalg.norm(view.value_and_gradient(theta)[1]))
    elif end.mean is not None and (at_mean := view.value(end.mean)) < value:
        theta, value, point = end.mean, at_mean, "average"
        norm = float(np.linalg.norm(view.value_and_gradient(theta)[1]))

    def show(theta: np.ndarray) -> np.ndarray:
        return theta.copy() if risk is None else risk.shown(theta.reshape(risk.shape))

    gap = relative = dual = None
    if risk is not None:
        value, dual = risk.bounded(theta.reshape(risk.shape), end.u)
        if dual is not None:
            gap, relative = value - dual, relative_gap(value, dual)
    return Descent(
        theta=show(theta),
        value=value,
        status=end.status,
        method=plan.method,
        schedule=str(plan.schedule),
        steps=end.steps,
        examples=0 if risk is None else plan.examples_after(end.steps, risk.n),
        evaluations=view.evaluations if risk is None else 0,
        seconds=now() - started,
        point=point,
        gradient_norm=norm,
        dual=dual,
        gap=gap,
        relative_gap=relative,
        average=None if end.mean is None else show(end.mean),
        trace=trace,
        broke=broke,
        why=why,
        n=None if risk is None else risk.n,
        n_features=None if risk is None else risk.problem.d,
        note="" if risk is None else risk.least_told,
    )
