"""The plan of a descent (method, rates, order of examples, average, trace), and the arguments of `descend`, checked."""

from __future__ import annotations

from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from gapless._runtime.written import written
from gapless.problems.descent import LinearRisk
from gapless.problems.linear import LinearProblem
from gapless.problems.multinomial import Multinomial
from gapless.solvers.descent.functions import Function
from gapless.solvers.descent.schedules import Schedule

#: How iterates count in an average, for the compiled steps: not at all, all alike, or the t-th t times.
AVERAGES = {None: 0, "uniform": 1, "linear": 2, "tail": 1}

#: A value above the start's by 1e8 times its size rises without end: the descent ends as diverged.
DIVERGED_FACTOR = 1e8


class TraceRoom(NamedTuple):
    """A row is written at every ``every``-th step (0: none) until ``rows`` are full; then every second one goes."""

    every: int = 0
    rows: int = 0
    why: str = ""  # why not more rows


class DescentPlan(NamedTuple):
    """A descent, but for its objective and its start; ``steps`` are the most that it makes."""

    method: str
    schedule: Schedule
    steps: int
    size: int = 1  # examples a step
    visits: Any = "shuffled"
    seed: int = 0
    first_order: np.ndarray | None = None  # an order of the examples that does not depend on theirs
    average: str | None = None
    room: TraceRoom = TraceRoom()
    literal: bool = False
    betas: tuple[float, float, float] = (0.9, 0.999, 1e-8)
    small: float = 0.0  # a gradient as short as this ends the descent

    @property
    def begin(self) -> int:
        """The first step whose iterate counts in the average."""
        return self.steps // 2 if self.average == "tail" else 0

    def examples_after(self, steps: int, n: int) -> int:
        """The gradients of single examples that so many steps compute; an epoch's last batch has the rest of the n examples."""
        epochs, rest = divmod(steps, -(-n // self.size))
        return epochs * n + min(n, rest * self.size)


class DescentEnd(NamedTuple):
    """Where the steps ended, and the points that the answer is chosen from."""

    status: str
    steps: int
    theta: np.ndarray
    value: float
    norm: float  # of the gradient
    best: tuple[np.ndarray, float, int]  # the lowest point seen, its value and its step
    broke: tuple[int, float, np.ndarray, np.ndarray] | None  # step, rate, point, gradient of the first small decrease
    mean: np.ndarray | None  # the average of the iterates
    u: np.ndarray | None = None  # a dual point that the steps kept


def as_objective(given: Any) -> LinearRisk | Function:
    """What the user gave, as something that can be descended."""
    if isinstance(given, LinearRisk):
        return given
    if isinstance(given, LinearProblem | Multinomial):
        return LinearRisk.of(given)
    if isinstance(given, tuple | list) and 2 <= len(given) <= 3 and all(callable(part) for part in given):
        return Function(given[0], given[1], given[2] if len(given) == 3 else None)
    if callable(getattr(given, "value", None)) and callable(getattr(given, "gradient", None)):
        return Function(given.value, given.gradient, getattr(given, "hessian", None))
    raise TypeError(
        "objective must be a linear_risk(X, y, ...), a pair (value, gradient) of functions, or three with the Hessian, "
        f"or an object with these methods; got {type(given).__name__}"
    )


def read_betas(given: Any) -> tuple[float, float, float]:
    pair = (given, 0.999) if isinstance(given, Real) else tuple(given)
    if len(pair) != 2 or not all(isinstance(b, Real) and 0.0 <= float(b) < 1.0 for b in pair):
        raise ValueError(f"betas must be one or two floats in the range [0.0, 1.0); got {written(given)}")
    return float(pair[0]), float(pair[1]), 1e-8


def check_batch(risk: LinearRisk, method: str, batch: Any) -> int:
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


def start_of_risk(risk: LinearRisk, start: Any, seed: int) -> np.ndarray:
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


def start_of_function(start: Any, seed: int) -> np.ndarray:
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


def room_of_trace(trace: bool | int, steps: int, entries: int, per_epoch: int) -> TraceRoom:
    """The rows that a trace of so many steps keeps; theta has ``entries`` entries."""
    if trace is False or trace == 0:
        return TraceRoom()
    per_row = 16 * max(1, entries)  # bytes of a row's theta and direction
    if trace is not True:
        rows = max(4, (1 << 28) // per_row)  # 256 MB where the user says every how many steps
        return TraceRoom(int(trace), rows, f"at most {rows:,} rows of {entries:,} entries")
    if per_epoch > 1:
        looks = 20  # at the whole objective, each of which costs about as much as an epoch
        apart = max(1, -(-steps // (per_epoch * looks)))
        often = "once an epoch" if apart == 1 else f"once in {apart} epochs"
        return TraceRoom(per_epoch * apart, looks + 2, f"{often}: each row costs as much as an epoch")
    most = 200  # rows that a plot can show apart, in at most 64 MB
    rows = max(4, min(most, (1 << 26) // per_row))
    why = f"at most {rows} rows" if rows == most else f"at most {rows} rows: theta has {entries:,} entries"
    return TraceRoom(1, rows, why)
