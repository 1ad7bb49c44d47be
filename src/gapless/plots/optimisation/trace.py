"""TraceDisplay: the steps of a descent on the surface that it descends, and what they gained."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gapless._runtime.written import written
from gapless.plots.plane import plane_directions, window
from gapless.plots.style import COLOURS, DASHES, GREY, INK, MARKERS, Display, below, plain, say
from gapless.problems.descent import LinearRisk
from gapless.solvers.descent.trace import Descent

__all__ = ["TraceDisplay"]


@dataclass(eq=False, repr=False)
class TraceDisplay(Display):
    """Left, values against steps; right, the way over the contours of the objective.

    theta of two entries is drawn as it is, of more in the plane of the two directions in which the traces move most (or two
    entries that were asked for); the contours are those of that plane, through the last end. A cross marks a step whose decrease
    was not sufficient.

    Attributes
    ----------
    bound : no point is lower, by a dual; None where there is none
    runs : name -> `Descent`
    points : name -> (rows of the trace, 2)
    names : names of the two axes
    low : lower left corner of the picture
    high : upper right corner of the picture
    xs : grid along the first axis
    ys : grid along the second axis
    surface : objective on the grid of xs and ys, None where it is not known
    lowest : the lowest value that any run saw: the name of the run, the value, the step
    values_, ways_ : dictionaries name -> line; starts_, ends_ ; broken_ : markers or None; contours_ : None without objective
    """

    runs: dict[str, Descent]
    points: dict[str, np.ndarray]
    names: tuple[str, str]
    low: np.ndarray
    high: np.ndarray
    xs: np.ndarray
    ys: np.ndarray
    surface: np.ndarray | None
    lowest: tuple[str, float, int]
    bound: float | None
    _widths = (4.4, 5.0)
    _height = 4.2

    @classmethod
    def from_descent(
        cls, runs: Any, objective: Any = None, *, entries: tuple[int, int] | None = None, resolution: int = 81
    ) -> TraceDisplay:
        """Of one descent or a dictionary of them, all of the same objective, which is needed for the contours.

        ``runs`` is a `Descent` or a dictionary name -> `Descent`; ``resolution``: points of the grid along each
        axis.

        Parameters
        ----------
        objective : what was given to ``descend``: a linear_risk, functions, or an object with ``value``
        entries : two entries of theta to draw, where there are more
        """
        named = {plain(k): v for k, v in runs.items()} if isinstance(runs, Mapping) else {"descent": runs}
        traces = {name: run.trace for name, run in named.items() if run.trace is not None}
        if not traces or len(traces) < len(named):
            raise ValueError("a descent without a trace cannot be drawn: descend(..., trace=True)")
        thetas = {name: trace.theta.reshape(len(trace.theta), -1) for name, trace in traces.items()}
        finite = {name: t[np.isfinite(t).all(axis=1)] for name, t in thetas.items()}
        size = {t.shape[1] for t in finite.values()}
        if len(size) != 1:
            raise ValueError(f"the descents are of different objectives: theta has {sorted(size)} entries")
        d = size.pop()
        last = next(iter(reversed(finite.values())))[-1]
        origin, axes, names = _view(np.vstack(list(finite.values())), last, d, entries)
        points = {name: (t - origin) @ axes.T for name, t in finite.items()}
        low, high = window(_near(points), 0.15)
        if d == 1:
            low[1], high[1] = -1.0, 1.0
        xs, ys = np.linspace(low[0], high[0], resolution), np.linspace(low[1], high[1], resolution)
        surface = None
        if objective is not None:
            value = _value(objective)
            shape = next(iter(traces.values())).theta.shape[1:]
            surface = np.array([[value((origin + np.array([x, y]) @ axes).reshape(shape)) for x in xs] for y in ys])
        known = [run.dual for run in named.values() if run.dual is not None]
        bound = float(max(known)) if known else None
        return cls(named, points, names, low, high, xs, ys, surface, _lowest(named), bound)

    @property
    def title(self) -> str:
        """What the picture says, in one sentence."""
        name, value, step = self.lowest
        if len(self.runs) > 1:
            return f"lowest: {name}, {value:.4g} after {step:,} steps"
        run = self.runs[name]
        text = f"from {run.trace.loss[0]:.4g} to {run.value:.4g} in {run.steps:,} steps: {run.status}"  # type: ignore[union-attr]
        return text if value >= run.value - 1e-12 * abs(run.value) else f"{text}; lowest {value:.4g} at step {step:,}"

    def _draw(self) -> None:
        left, right = self.axes_
        self.values_, self.ways_, self.starts_, self.ends_ = {}, {}, {}, {}
        self.broken_: dict[str, Any] = {}
        self.contours_ = None
        if self.surface is not None:
            finite = self.surface[np.isfinite(self.surface)]
            base = float(finite.min())
            # 14 levels crowd near the bottom, where the way ends.
            levels = base + (float(np.quantile(finite, 0.97)) - base) * np.linspace(0.0, 1.0, 15)[1:] ** 2
            self.contours_ = right.contour(
                self.xs, self.ys, self.surface, levels=levels, colors=["#BDBDBD"], linewidths=0.7
            )
        for k, (name, run) in enumerate(self.runs.items()):
            trace = run.trace
            assert trace is not None
            look: dict[str, Any] = {"color": COLOURS[(0, 1, 5, 2, 3, 4)[k % 6]], "linestyle": DASHES[k % len(DASHES)]}
            shown = np.isfinite(trace.loss)
            label = f"{name}: {run.value:.4g}, {run.steps:,} steps"
            (self.values_[name],) = left.plot(trace.step[shown], trace.loss[shown], linewidth=1.5, label=label, **look)
            way = self.points[name]
            (self.ways_[name],) = right.plot(
                *way.T, marker=MARKERS[k % len(MARKERS)], markersize=2.6, linewidth=1.2, label=name, **look
            )
            (self.starts_[name],) = right.plot(
                *way[0], marker="o", color="white", markeredgecolor=INK, markersize=7, linestyle="none"
            )
            (self.ends_[name],) = right.plot(
                *way[-1], marker="*", color=look["color"], markeredgecolor=INK, markersize=11, linestyle="none"
            )
            broke = np.flatnonzero(trace.held[: len(way)] == 0.0)
            self.broken_[name] = None
            if broke.size:
                (self.broken_[name],) = right.plot(*way[broke].T, "x", color=INK, markersize=6, linestyle="none")
        every = np.concatenate([run.trace.loss for run in self.runs.values() if run.trace is not None])
        every = every[np.isfinite(every)]
        if every.min() > 0.0 and every.max() > 20.0 * every.min():
            left.set_yscale("log")
        if self.bound is not None and (self.bound > 0.0 or left.get_yscale() == "linear"):
            left.axhline(self.bound, color=GREY, linewidth=0.8, linestyle=":")
        left.set(xlabel="step", ylabel="objective")
        rates = {run.trace.largest_rate for run in self.runs.values() if run.trace is not None}
        known = next(iter(rates)) if len(rates) == 1 else None
        say(left, self.title + ("" if known is None else f"; 2/L = {known:.4g}"))
        below(left, columns=2)
        right.set(xlim=(self.low[0], self.high[0]), ylim=(self.low[1], self.high[1]))
        right.set(xlabel=self.names[0], ylabel=self.names[1])
        broken = sum(int((run.trace.held == 0.0).sum()) for run in self.runs.values() if run.trace is not None)
        said = "from the circles to the stars"
        say(right, said + (f"; {broken} of the steps drawn gained too little (crosses)" if broken else ""))


def _lowest(runs: dict[str, Descent]) -> tuple[str, float, int]:
    """The run, value and step of the lowest value seen, at a row of a trace or at the end; of equal ones the earliest step."""
    seen = []
    for name, run in runs.items():
        assert run.trace is not None
        loss = np.where(np.isfinite(run.trace.loss), run.trace.loss, np.inf)
        seen += [(float(v), int(t), name) for v, t in zip(loss, run.trace.step)] + [(run.value, run.steps, name)]
    least = min(seen)[0]
    value, step, name = min((s for s in seen if s[0] <= least + 1e-12 * abs(least)), key=lambda s: (s[1], s[0]))
    return name, value, step


def _view(thetas: np.ndarray, last: np.ndarray, d: int, entries: Any) -> tuple[np.ndarray, np.ndarray, tuple[str, str]]:
    axes = np.zeros((2, d))
    if d == 1:
        axes[0, 0] = 1.0
        return np.zeros(1), axes, ("θ", "")
    if d == 2 or entries is not None:
        first, second = (0, 1) if entries is None else (int(entries[0]), int(entries[1]))
        if not (0 <= first < d and 0 <= second < d) or first == second:
            raise ValueError(f"entries= names two of {d} entries of theta; got {written(entries)}")
        axes[0, first] = axes[1, second] = 1.0
        origin = last.copy()
        origin[[first, second]] = 0.0
        return origin, axes, (f"θ{first + 1}", f"θ{second + 1}")
    return last, plane_directions(thetas - last, 2), ("first direction of the steps", "second direction of the steps")


def _near(points: dict[str, np.ndarray]) -> np.ndarray:
    """The points that fix the window: a way that leaves without end is shown only as far as the others and its start."""
    every = np.vstack([p[: max(2, len(p))] for p in points.values()])
    middle = np.median(every, axis=0)
    reach = np.quantile(np.abs(every - middle), 0.9, axis=0) * 4.0 + 1e-12
    return every[(np.abs(every - middle) <= reach).all(axis=1)]


def _value(objective: Any) -> Callable[[np.ndarray], float]:
    if isinstance(objective, LinearRisk):
        return lambda theta: float(objective.value(objective.hidden(theta)))
    if isinstance(objective, tuple | list):
        return lambda theta: float(objective[0](theta))
    if hasattr(objective, "value"):
        return lambda theta: float(objective.value(theta))
    raise ValueError(
        f"objective is a linear_risk, (value, gradient) or an object with value; got {type(objective).__name__}"
    )
