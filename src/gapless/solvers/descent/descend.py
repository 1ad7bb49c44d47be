"""descend: gradient, stochastic, mini-batch and Newton's descent that can be watched.

    minimise f(theta), by    theta <- theta - rate_t * direction_t

f is a linear problem (`linear_risk`) or any differentiable function given with its gradient.  The compiled steps of
linear problems are in `gradient_steps`; line searches, Newton's method and functions take the way of `gradient_function`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np

from gapless._runtime.clock import now
from gapless._runtime.results import result
from gapless._runtime.threads import one_blas_thread
from gapless._runtime.written import written
from gapless.numbers import relative_gap
from gapless.problems.descent import LinearRisk
from gapless.problems.linear import LinearProblem
from gapless.problems.multinomial import Multinomial
from gapless.solvers.descent import functions as stepwise
from gapless.solvers.descent.as_solver import steady_schedule
from gapless.solvers.descent.engine import Engine
from gapless.solvers.descent.schedules import Schedule, as_schedule
from gapless.solvers.descent.trace import Descent, Trace
from gapless.solvers.descent.visits import as_visits
from gapless.solvers.loop import audible

Method = Literal["gd", "sgd", "minibatch", "newton", "momentum", "adam"]
METHODS = ("gd", "sgd", "minibatch", "newton", "momentum", "adam")
AVERAGES = {None: 0, "uniform": 1, "linear": 2, "tail": 1}
#: Rows of a trace that nobody asked for more finely, and bytes of all its thetas and directions.
ROWS = 200
BYTES = 1 << 26
#: The same of the stochastic methods, which never see the whole objective otherwise.
LOOKS = 20
#: The same where the user says every how many steps.
MOST_BYTES = 1 << 28
#: Steps of full gradients, and epochs of the others, where nothing is said.
STEPS = 1000
EPOCHS = 10


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
    memory = _betas(betas)
    if not isinstance(trace, Integral | bool) or trace < 0:
        raise ValueError(f"trace must be a bool or an int in the range [0, inf); got {written(trace)}")
    started = now()
    with one_blas_thread(), np.errstate(all="ignore"):
        if isinstance(goal, LinearRisk):
            theta = risk_start(goal, start, seed)
            size = _batch(goal, method, batch)
            if rates is None:
                rates = (
                    Schedule.backtracking() if method == "newton" else steady_schedule(goal, method, -(-goal.n // size))
                )
            if rates.searches and method in ("sgd", "minibatch"):
                raise ValueError(
                    f"schedule {rates.kind!r} looks at the whole objective; {method} does not. Give it rates."
                )
            if literal and method != "sgd":
                raise ValueError(f"literal=True is the step of one example, method='sgd'; got {written(method)}")
            rates = rates.with_lam(goal.lam)
            if method == "newton" or rates.searches:
                return _stepwise(goal, theta, method, rates, until, average, memory, trace, started)
            order = as_visits(visits, goal.n)
            return _by_epochs(
                goal, theta, method, rates, until, size, order, average, literal, memory, trace, seed, started
            )  # fmt: skip
        if method in ("sgd", "minibatch"):
            raise ValueError(
                f"method={written(method)} takes examples one by one; a function has none. Give a linear_risk(X, y)."
            )
        if literal or batch is not None:
            raise ValueError("literal and batch speak of examples; a function has none.")
        theta = _function_start(start, seed)
        if rates is None:
            rates = Schedule.backtracking() if method in ("gd", "newton") else Schedule.constant(0.01)
        return _stepwise(goal, theta, method, rates.with_lam(None), until, average, memory, trace, started)


def as_objective(given: Any) -> LinearRisk | stepwise.Function:
    """What the user gave, as something that can be descended."""
    if isinstance(given, LinearRisk):
        return given
    if isinstance(given, LinearProblem | Multinomial):
        return LinearRisk.of(given)
    if isinstance(given, tuple | list) and 2 <= len(given) <= 3 and all(callable(part) for part in given):
        return stepwise.Function(given[0], given[1], given[2] if len(given) == 3 else None)
    if callable(getattr(given, "value", None)) and callable(getattr(given, "gradient", None)):
        return stepwise.Function(given.value, given.gradient, getattr(given, "hessian", None))
    raise TypeError(
        "objective must be a linear_risk(X, y, ...), a pair (value, gradient) of functions, or three with the Hessian, "
        f"or an object with these methods; got {type(given).__name__}"
    )


def _betas(given: Any) -> tuple[float, float, float]:
    pair = (given, 0.999) if isinstance(given, Real) else tuple(given)
    if len(pair) != 2 or not all(isinstance(b, Real) and 0.0 <= float(b) < 1.0 for b in pair):
        raise ValueError(f"betas must be one or two floats in the range [0.0, 1.0); got {written(given)}")
    return float(pair[0]), float(pair[1]), 1e-8


def _batch(risk: LinearRisk, method: str, batch: Any) -> int:
    default = {"sgd": 1, "minibatch": min(64, risk.n), "adam": min(64, risk.n)}.get(method, risk.n)
    if batch is None:
        return default
    if not isinstance(batch, int | np.integer) or isinstance(batch, bool) or batch < 1:
        raise ValueError(f"batch must be an int in the range [1, n]; got {written(batch)}")
    if batch > risk.n:
        raise ValueError(f"batch={batch} is larger than the number of examples, {risk.n}")
    if method in ("sgd", "gd", "newton") and batch != default:
        raise ValueError(
            f"method={written(method)} takes {default} examples a step; batch={batch} is for minibatch, momentum or adam"
        )
    return int(batch)


def risk_start(risk: LinearRisk, start: Any, seed: int) -> np.ndarray:
    if start is None or (isinstance(start, str) and start == "zero"):
        return np.zeros(risk.shape)
    d, offset = risk.problem.d, risk.problem.rows.constant != 0.0
    lead = risk.shape[:-1]
    if isinstance(start, str):
        if start != "random":
            raise ValueError(f"start must be an array, 'zero' or 'random'; got {written(start)}")
        return risk.hidden(np.random.default_rng(seed).normal(size=(*lead, d + offset)))
    shown = np.asarray(start, float)
    allowed = [(*lead, d)] + ([(*lead, d + 1)] if offset else [])
    if shown.shape not in allowed:
        raise ValueError(f"start must have shape {' or '.join(map(str, allowed))}: w, or w and b; got {shown.shape}")
    return risk.hidden(_finite(shown))


def _function_start(start: Any, seed: int) -> np.ndarray:
    if start is None or isinstance(start, str):
        raise ValueError(f"start must be an array: only a linear problem knows how long theta is; got {written(start)}")
    theta = np.atleast_1d(np.asarray(start, float)).copy()
    if theta.ndim != 1 or theta.size == 0:
        raise ValueError(f"start must be a vector; got an array of shape {theta.shape}")
    return _finite(theta)


def _finite(theta: np.ndarray) -> np.ndarray:
    if not np.isfinite(theta).all():
        raise ValueError(f"start must be finite; entry {int(np.argmin(np.isfinite(theta).ravel()))} is not")
    return theta


def room_for(trace: bool | int, steps: int, entries: int, per_epoch: int) -> tuple[int, int, str]:
    """Every how many steps a row is written at first, how many rows are kept, and why not more. When they are full
    every second row goes, and from then on only every second one is written."""
    if trace is False or trace == 0:
        return 0, 0, ""
    per_row = 16 * max(1, entries)
    if trace is not True:
        rows = max(4, MOST_BYTES // per_row)
        return int(trace), rows, f"at most {rows:,} rows of {entries:,} entries"
    if per_epoch > 1:
        # A look at the whole objective costs about as much as an epoch.
        apart = max(1, -(-steps // (per_epoch * LOOKS)))
        often = "once an epoch" if apart == 1 else f"once in {apart} epochs"
        return per_epoch * apart, LOOKS + 2, f"{often}: each row costs as much as an epoch"
    rows = max(4, min(ROWS, BYTES // per_row))
    why = f"at most {rows} rows" if rows == ROWS else f"at most {rows} rows: theta has {entries:,} entries"
    return 1, rows, why


def _stepwise(
    goal: LinearRisk | stepwise.Function,
    theta: np.ndarray,
    method: str,
    rates: Schedule,
    until: Until,
    average: str | None,
    betas: tuple[float, float, float],
    trace: bool | int,
    started: float,
) -> Descent:
    risk = goal if isinstance(goal, LinearRisk) else None
    view: Any = stepwise.Risk(risk) if risk is not None else goal
    steps = _limit(until, 1, STEPS)
    every, room, why = room_for(trace, steps, theta.size, 1)

    def close(point: np.ndarray) -> bool:
        if risk is None or until.gap is None:
            return False
        value, least = risk.bounded(point.reshape(risk.shape))
        return least is not None and relative_gap(value, least) <= until.gap

    found = stepwise.step_by_step(
        view, theta.ravel(), method, rates, steps=steps, small=until.gradient, betas=betas, every=every, room=room,
        average=AVERAGES[average], begin=steps // 2 if average == "tail" else 0,
        out_of_time=stepwise.timer(until.seconds), enough=close,
    )  # fmt: skip
    columns: list[list[Any]] = [list(column) for column in zip(*found.rows)] or [[] for _ in range(7)]
    record = None
    if every:
        last = _last_row(found) if not found.rows or found.rows[-1][0] != found.steps else []
        columns = [[*column, *([last[k]] if last else [])] for k, column in enumerate(columns)]
        shown = [view.shown(row) for row in columns[4]]
        steepest = [view.shown(row) for row in columns[5]]
        number = np.array(columns[0], np.int64)
        record = Trace(
            number, number * (risk.n if risk is not None else 0), np.array(columns[1]), np.array(columns[2]),
            np.array(columns[3]),
            np.array(shown), np.array(steepest), np.array(columns[6], float), found.every, found.steps, why,
            *_smoothness(goal, found.theta),
        )  # fmt: skip
    mean = None if found.total is None else found.total / found.weights
    return _described(
        goal, view, found.status, found.theta, found.value, found.norm, mean, None, method, rates, found.steps,
        risk.n if risk is not None else 0, started, record, stepwise.as_break(view, found.broke, method),
        (found.best, found.best_value, found.best_step),
    )  # fmt: skip


def _last_row(found: stepwise.Walked) -> list[Any]:
    return [found.steps, math.nan, found.value, found.norm, found.theta, found.steepest, math.nan]


def _limit(until: Until, per_epoch: int, default: int) -> int:
    """Steps, at most."""
    found = [int(until.steps)] if until.steps is not None else []
    if until.epochs is not None:
        found.append(math.ceil(until.epochs * per_epoch))
    if found:
        return min(found)
    return 10**9 if until.seconds is not None else default


def _by_epochs(
    risk: LinearRisk,
    theta: np.ndarray,
    method: str,
    rates: Schedule,
    until: Until,
    size: int,
    visits: Any,
    average: str | None,
    literal: bool,
    betas: tuple[float, float, float],
    trace: bool | int,
    seed: int,
    started: float,
) -> Descent:
    per_epoch = -(-risk.n // size)
    full = size == risk.n and method != "sgd"
    steps = _limit(until, per_epoch, STEPS if full else EPOCHS * per_epoch)
    every, room, why = room_for(trace, steps, theta.size, per_epoch)
    begin = steps // 2 if average == "tail" else 0
    engine = Engine(
        risk, theta, method, rates, size=size, visits=visits, seed=seed, average=AVERAGES[average], begin=begin, every=every,
        rows=min(room, -(-steps // every) + 1) if every else 0, literal=literal, betas=betas, small=until.gradient,
        epochs=steps / per_epoch,
    )  # fmt: skip
    out_of_time = stepwise.timer(until.seconds)
    status = "max_iter"
    while engine.steps < steps:
        if out_of_time():
            status = "time_limit"
            break
        if not engine.advance(steps):
            status = engine.ending
            break
        if until.gap is not None:
            value, least = risk.bounded(engine.theta(), engine.u())
            if least is not None and relative_gap(value, least) <= until.gap:
                status = "converged"
                break
    status = engine.close(status)
    view = stepwise.Risk(risk)
    record = None
    if every:
        book = engine.book
        k = int(book.filled[0])
        lines, ways = (
            risk.shown(engine.outside(table[:k]).reshape(k, *risk.shape)).reshape(k, -1)
            for table in (book.theta, book.direction)
        )
        epochs, rest = np.divmod(book.step[:k], per_epoch)
        used = epochs * risk.n + np.minimum(risk.n, rest * size)
        record = Trace(
            book.step[:k].copy(), used, book.rate[:k].copy(), book.loss[:k].copy(), book.norm[:k].copy(),
            lines, ways, book.held[:k].copy(), int(book.every[0]), engine.steps, why, *_smoothness(risk, engine.theta()),
        )  # fmt: skip
    return _described(
        risk, view, status, engine.theta().ravel(), engine.value, engine.norm, engine.mean(), engine.u(), method, rates,
        engine.steps, size, started, record, stepwise.as_break(view, engine.broke(), method), engine.best(),
    )  # fmt: skip


def _smoothness(goal: LinearRisk | stepwise.Function, theta: np.ndarray) -> tuple[float | None, str]:
    """L and where it comes from; None and why where there is none."""
    if isinstance(goal, LinearRisk):
        return goal.smoothness if goal.smooth else None, goal.smoothness_told
    bend = goal.largest_curvature(theta)
    return (
        bend,
        "" if bend is None else f"L = {bend:.4g} is the largest eigenvalue of the Hessian where the descent ended",
    )


def _described(
    goal: LinearRisk | stepwise.Function,
    view: Any,
    status: str,
    theta: np.ndarray,
    value: float,
    norm: float,
    mean: np.ndarray | None,
    u: np.ndarray | None,
    method: str,
    rates: Schedule,
    steps: int,
    size: int,
    started: float,
    trace: Trace | None,
    broke: Any,
    best: tuple[np.ndarray, float, int],
) -> Descent:
    """The better of the last point and the average; the lowest one seen where it diverged."""
    point, why = "last", ""
    risk = goal if isinstance(goal, LinearRisk) else None
    if status == "diverged":
        rose = f"rose to {value:.3g}" if math.isfinite(value) else "left the finite numbers"
        why = f"the value {rose} by step {steps:,}; theta is that of step {best[2]:,}, value {best[1]:.6g}, the lowest seen"
        theta, value, point = best[0], best[1], "lowest"
        norm = float(np.linalg.norm(view.value_and_gradient(theta)[1]))
    elif mean is not None and (at := view.value(mean)) < value:
        theta, value, point = mean, at, "average"
        norm = float(np.linalg.norm(view.value_and_gradient(theta)[1]))
    gap = relative = dual = None
    if risk is not None:
        value, dual = risk.bounded(theta.reshape(risk.shape), u)
        if dual is not None:
            gap, relative = value - dual, relative_gap(value, dual)
    epochs, rest = divmod(steps, -(-risk.n // size)) if risk is not None else (0, 0)
    shown = goal.shown(theta.reshape(risk.shape)) if risk is not None else theta.copy()
    mean_shown = None if mean is None else (goal.shown(mean.reshape(risk.shape)) if risk is not None else mean)
    return Descent(
        theta=shown,
        value=value,
        status=status,
        method=method,
        schedule=str(rates),
        steps=steps,
        examples=epochs * risk.n + min(risk.n, rest * size) if risk is not None else 0,
        evaluations=view.evaluations if risk is None else 0,
        seconds=now() - started,
        point=point,
        gradient_norm=norm,
        dual=dual,
        gap=gap,
        relative_gap=relative,
        average=mean_shown,
        trace=trace,
        broke=broke,
        why=why,
        n=None if risk is None else risk.n,
        n_features=None if risk is None else risk.problem.d,
        note="" if risk is None else risk.least_told,
    )
