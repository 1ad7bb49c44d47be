"""ScheduleDisplay: every schedule on one objective: its rates, and what they gain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gapless.plots.style import COLOURS, DASHES, GREY, MARKERS, Display, beside, say
from gapless.problems.descent import LinearRisk
from gapless.solvers.descent.descend import as_objective, descend
from gapless.solvers.descent.schedules import Schedule
from gapless.solvers.descent.trace import Descent

__all__ = ["ScheduleDisplay"]


@dataclass(eq=False, repr=False)
class ScheduleDisplay(Display):
    """Left, the rates of full gradient steps by each schedule; right, how far the value is above the lowest that any of them saw.

    Attributes
    ----------
    runs : name -> `Descent`
    lowest : the minimum where it is known, else the lowest value that any run saw
    rates_, values_ : dictionaries name -> line; limit_ : the line 2/L, None where L is not known
    """

    runs: dict[str, Descent]
    lowest: float
    _widths = (5.0, 6.8)
    _height = 4.4

    @classmethod
    def from_objective(
        cls, objective: Any = None, start: Any = None, *, schedules: Mapping[str, Any] | None = None, steps: int = 60
    ) -> ScheduleDisplay:
        """Descend an objective by every schedule, or by those given.

        Parameters
        ----------
        objective, start : as in ``descend``; None: a bowl with curvatures 1 and 10
        schedules : name -> Schedule, rate or name; None: all of them, with rates of the size of 1/L
        steps : of each descent
        """
        # Curvatures of the bowl that is descended where no objective is given, and its start.
        bowl_curvatures, bowl_start = (1.0, 10.0), (4.0, 1.0)
        if objective is None:
            H = np.diag(bowl_curvatures)
            objective = (lambda x: 0.5 * x @ H @ x, lambda x: H @ x, lambda x: H)
            start = bowl_start if start is None else start
        goal = as_objective(objective)
        if schedules is None:
            L = goal.smoothness if isinstance(goal, LinearRisk) else goal.largest_curvature(np.asarray(start, float))
            L = float(L) if L is not None and np.isfinite(L) else 1.0
            lam = goal.lam if isinstance(goal, LinearRisk) and goal.lam > 0.0 else L / 10.0
            schedules = every(L, lam, steps)
        runs = {
            name: descend(objective, start, "gd", schedule=rates, stop=steps, trace=1)
            for name, rates in schedules.items()
        }
        seen = [run.dual for run in runs.values() if run.dual is not None]
        seen = seen or [float(np.nanmin(run.trace.loss)) for run in runs.values() if run.trace is not None]
        return cls(runs, max(seen) if any(run.dual is not None for run in runs.values()) else min(seen))

    @property
    def title(self) -> str:
        """What the picture says, in one sentence."""
        steps = max(run.steps for run in self.runs.values())
        name, run = min(self.runs.items(), key=lambda item: (item[1].value, item[1].steps))
        return f"{len(self.runs)} schedules, {steps} steps each at most; lowest: {name}, after {run.steps}"

    def _draw(self) -> None:
        # How schedules that look at the objective begin in words.
        searching = ("backtracking", "exact", "Polyak")
        left, right = self.axes_
        self.rates_, self.values_, self.limit_ = {}, {}, None
        for k, (name, run) in enumerate(self.runs.items()):
            trace = run.trace
            assert trace is not None
            look: dict[str, Any] = {"color": COLOURS[k % len(COLOURS)], "linestyle": DASHES[(k + k // 6) % len(DASHES)]}
            known = np.isfinite(trace.rate)
            if run.schedule.startswith(searching):  # from step to step they jump: marks, no line
                marks = {
                    "color": look["color"],
                    "marker": MARKERS[k % len(MARKERS)],
                    "markersize": 3.5,
                    "linestyle": "none",
                }
            else:
                marks = look
            (self.rates_[name],) = left.plot(trace.step[known] + 1, trace.rate[known], **marks)
            above = np.maximum(trace.loss - self.lowest, 0.0)
            shown = np.isfinite(above) & (above > 0.0)
            label = run.schedule if run.schedule.lower().startswith(name) else f"{name}: {run.schedule}"
            (self.values_[name],) = right.plot(trace.step[shown], above[shown], label=label, **look)
        limits = {run.trace.largest_rate for run in self.runs.values() if run.trace is not None}
        limit = next(iter(limits)) if len(limits) == 1 else None
        if limit is not None:
            self.limit_ = left.axhline(limit, color=GREY, linewidth=1.2)
        rates = np.concatenate([run.trace.rate for run in self.runs.values() if run.trace is not None])
        top = float(np.nanmax(rates))
        left.set(xlabel="step t", ylabel="rate", yscale="log", ylim=(1e-3 * top, 1.4 * max(top, limit or 0.0)))
        right.set(xlabel="step t", ylabel="value above the lowest", yscale="log")
        say(left, "rates" + ("" if limit is None else f": below 2/L = {limit:.3g} (grey) every step descends"))
        say(right, self.title)
        beside(right)


def every(L: float, lam: float, steps: int) -> dict[str, Schedule]:
    """One schedule of each kind, with rates of the size of 1/L."""
    return {
        "constant": Schedule.constant(1.0 / L),
        "inverse": Schedule.inverse(1.0 / L),
        "inverse_root": Schedule.inverse_root(1.0 / L),
        "pegasos": Schedule.pegasos(lam, shift=L / lam),
        "cosine": Schedule.cosine(1.5 / L, steps),
        "backtracking": Schedule.backtracking(),
        "exact": Schedule.exact(),
        "polyak": Schedule.polyak(),
    }
