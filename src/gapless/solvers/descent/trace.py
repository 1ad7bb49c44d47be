"""What a descent leaves behind: the trace of its steps, and the point with what is known of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gapless._runtime.results import result

#: How a descent ends, each with its sentence.
ENDINGS = {
    "converged": "what was asked for is reached",
    "max_iter": "the limit of steps came first",
    "time_limit": "the limit of time came first",
    "stalled": "no step along the direction lowers the value any more",
    "diverged": "the steps were too long: the value rose without end",
}


class Row(NamedTuple):
    """One row of a trace: the point theta before the step, and the rate of the step."""

    step: int
    examples: int
    rate: float
    loss: float
    gradient_norm: float
    theta: np.ndarray
    direction: np.ndarray
    held: bool | None


@result
@dataclass(frozen=True)
class Break:
    """The first step whose decrease was not sufficient: f(theta + step) > f(theta) + <gradient, step>/2.

    ``largest_rate`` is the largest rate at which it would have been, found by bisection (None: not asked, the method's step is
    no multiple of the gradient).

    Attributes
    ----------
    step : number of the step
    rate : its rate
    largest_rate : largest rate with sufficient decrease, by bisection; None where the step is no multiple of the
        gradient
    """

    step: int
    rate: float
    largest_rate: float | None

    def __str__(self) -> str:
        text = f"the decrease was not sufficient at step {self.step:,} (rate {self.rate:.4g})"
        if self.largest_rate is not None:
            text += f"; up to a rate of {self.largest_rate:.4g} it would have been"
        return text


@result
@dataclass(frozen=True, eq=False)
class Trace:
    """The steps of a descent, in columns; ``trace[k]`` and iteration give rows.

    ``theta`` and ``direction`` (the steepest unit direction, minus the gradient over its norm) have a line for each row; ``held``
    says whether the step's decrease was sufficient (1, 0; NaN where the step is not one of a full gradient, or the next row's
    value was not computed).  ``every`` says which steps were written down; ``thinning`` says it in words.

    Attributes
    ----------
    step : number of each step
    examples : gradients of single examples so far
    rate : rate of the step
    loss : objective before the step
    gradient_norm : length of the gradient
    theta : point before the step, a line for each row
    direction : steepest unit direction, minus the gradient over its norm
    held : 1 where the decrease was sufficient, 0 where not, NaN where it was not looked at
    every : every how many steps one was written down
    steps : steps that were made
    why : why not all steps were written down
    smoothness : L, by which the gradient changes at most for a step of length 1; None where it is not known
    smoothness_from : where L comes from, in words
    """

    step: np.ndarray
    examples: np.ndarray
    rate: np.ndarray
    loss: np.ndarray
    gradient_norm: np.ndarray
    theta: np.ndarray
    direction: np.ndarray
    held: np.ndarray
    every: int
    steps: int
    why: str = ""
    smoothness: float | None = None
    smoothness_from: str = ""

    @property
    def largest_rate(self) -> float | None:
        """2/L: below it every step of a full gradient descends; None where L is not known or not finite."""
        return 2.0 / self.smoothness if self.smoothness else None

    @property
    def step_condition(self) -> str:
        """2/L and where it comes from, in words; why there is none; "" where nothing is known."""
        rate = self.largest_rate
        if rate is None:
            return f"no 2/L: {self.smoothness_from}" if self.smoothness_from else ""
        return f"2/L = {rate:.4g}, below which a full gradient step descends; {self.smoothness_from}"

    @property
    def thinning(self) -> str:
        """Which steps were written down, and why not all."""
        if self.every <= 1 or self.steps == 0:
            return "each step"
        return f"every {self.every:,}th of {self.steps:,} steps, and the last" + (f" ({self.why})" if self.why else "")

    def __len__(self) -> int:
        return self.step.size

    def __getitem__(self, k: int) -> Row:
        held = None if np.isnan(self.held[k]) else bool(self.held[k])
        return Row(
            int(self.step[k]), int(self.examples[k]), float(self.rate[k]), float(self.loss[k]), float(self.gradient_norm[k]),
            self.theta[k], self.direction[k], held,
        )  # fmt: skip

    def __iter__(self) -> Iterator[Row]:
        return (self[k] for k in range(len(self)))

    def __str__(self) -> str:
        lines = [
            f"trace: {len(self)} rows, {self.thinning}",
            *([self.step_condition] if self.step_condition else []),
            f"{'step':>10} {'examples':>12} {'rate':>11} {'loss':>14} {'|gradient|':>11}  held",
        ]
        shown = range(len(self)) if len(self) <= 12 else [*range(6), -1, *range(len(self) - 5, len(self))]
        for k in shown:
            if k < 0:
                lines.append(f"{'...':>10}")
                continue
            row = self[k]
            held = {None: "", True: "yes", False: "no"}[row.held]
            figures = f"{row.rate:>11.4g} {row.loss:>14.8g} {row.gradient_norm:>11.4g}"
            lines.append(f"{row.step:>10,} {row.examples:>12,} {figures}  {held}".rstrip())
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<Trace: {len(self)} rows, {self.thinning}>"


@result
@dataclass(frozen=True, eq=False)
class Descent:
    """Where a descent ended, how, and what is known of the point.

    ``theta`` is the point: (w, b) of a linear problem, w alone where it has no offset.  ``point`` says which one it is: the last
    iterate, the average of the iterates, or the one of the lowest value seen.  ``value`` is the objective there.
    ``gap`` bounds value - minimum from above where the objective has a dual, else it is None; ``relative_gap`` is
    ``gap / max(|value|, |dual|)``.

    Attributes
    ----------
    theta : the point: (w, b) of a linear problem, w alone where it has no offset
    value : objective at the point
    status : "converged", "max_iter", "time_limit", "stalled", "diverged" or "interrupted"
    method : name of the method
    schedule : the rates, in words
    steps : steps that were made
    examples : gradients of single examples that were computed
    evaluations : evaluations of the whole objective
    seconds : seconds of work, compiling left out
    point : which point theta is: "last", "average" or "best"
    gradient_norm : length of the gradient at the point, None where it was not computed
    dual : best dual value, None where the objective has no dual
    gap : value - minimum is at most this; None where the objective has no dual
    relative_gap : gap / max(|value|, |dual|)
    average : average of the iterates, None where it was not kept
    trace : steps that were written down, None without ``trace=``
    broke : first step without sufficient decrease, None where there was none
    why : why it stopped, where the status does not say it
    n : rows of the data, None where there is no data
    n_features : features of the data, None where there is no data
    note : where the minimum is, if that is known beforehand
    """

    theta: np.ndarray
    value: float
    status: str
    method: str
    schedule: str
    steps: int
    examples: int
    evaluations: int
    seconds: float
    point: str = "last"
    gradient_norm: float | None = None
    dual: float | None = None
    gap: float | None = None
    relative_gap: float | None = None
    average: np.ndarray | None = None
    trace: Trace | None = None
    broke: Break | None = None
    why: str = ""
    n: int | None = None
    n_features: int | None = None
    note: str = ""

    @property
    def converged(self) -> bool:
        """Whether the status is "converged"."""
        return self.status == "converged"

    @property
    def epochs(self) -> float | None:
        """Passes over the data; None where there is no data."""
        return None if self.n is None else self.examples / self.n

    @property
    def w(self) -> np.ndarray:
        """The weights of a linear problem."""
        return self._part()[..., : self.n_features]

    @property
    def b(self) -> Any:
        """Its offset, 0 where there is none."""
        theta = self._part()
        return theta[..., self.n_features] if theta.shape[-1] > (self.n_features or 0) else 0.0

    def _part(self) -> np.ndarray:
        if self.n_features is None:
            raise AttributeError("w and b belong to linear problems; this is a function of theta alone")
        return self.theta

    def __str__(self) -> str:
        over = f" over {self.epochs:.4g} epochs" if self.epochs is not None else ""
        lines = [
            f"{self.status}: {self.why or ENDINGS[self.status]}",
            f"method      {self.method}, rate {self.schedule}",
            f"steps       {self.steps:,}{over}, {self.seconds:.3g} s",
            f"value       {self.value:.10g} ({self.point})",
        ]
        if self.gradient_norm is not None:
            lines.append(f"|gradient|  {self.gradient_norm:.4g}")
        if self.gap is not None:
            lines.append(f"gap         {self.gap:.4g}, relative {self.relative_gap:.2e}: no point is lower by more")
        if self.note:
            lines.append(f"known       {self.note}")
        if self.broke is not None:
            lines.append(f"decrease    {self.broke}")
        if self.trace is not None:
            lines.append(f"trace       {len(self.trace)} rows, {self.trace.thinning}")
            if self.trace.step_condition:
                lines.append(f"step size   {self.trace.step_condition}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<Descent: {self.status}, value {self.value:.6g} after {self.steps:,} steps>"
