"""ConvexityDisplay: a function's chord, tangent, epigraph and Jensen's inequality, as far as they hold."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gapless._runtime.written import written
from gapless.plots.style import COLOURS, DASHES, GREY, INK, WASH, Display, plain, say
from gapless.theory.optimisation.convexity import Evidence, of_function

__all__ = ["ConvexityDisplay"]


@dataclass(eq=False, repr=False)
class ConvexityDisplay(Display):
    """A function of one number, four times: below its chord, above its tangent, its epigraph with a segment, and Jensen's
    inequality for weighted points. Where a witness against convexity is found, the chord is the witness's.

    Attributes
    ----------
    xs, ys : the curve
    chord : the two ends of the chord
    weight : of the first end; the marked point lies at weight times the first and 1 - weight times the second
    tangent : (x, f(x), slope there)
    points, weights : of Jensen's inequality
    found : `Evidence` of `theory.convexity.of_function`
    name : the function as text
    value : the function
    curve_, chord_, tangent_, epigraph_, segment_, jensen_ : artists
    """

    xs: np.ndarray
    ys: np.ndarray
    chord: tuple[float, float]
    weight: float
    tangent: tuple[float, float, float]
    points: np.ndarray
    weights: np.ndarray
    found: Evidence
    name: str
    value: Callable[[float], float]
    _widths = (3.3, 3.3, 3.3, 3.3)
    _height = 3.3

    @classmethod
    def from_function(
        cls,
        f: Callable[[float], float],
        box: tuple[float, float],
        *,
        gradient: Callable[[float], float] | None = None,
        chord: tuple[float, float] | None = None,
        weight: float = 0.5,
        tangent: float | None = None,
        points: Sequence[float] | None = None,
        weights: Sequence[float] | None = None,
        name: str | None = None,
        **search: Any,
    ) -> ConvexityDisplay:
        """Look for a witness against convexity, and compute what is drawn.

        Parameters
        ----------
        f : function of one number
        box : (low, high), the range that is drawn and tried
        gradient : its derivative; None: a central difference, for the tangent alone
        chord, weight : ends of the chord, and the weight of its first end; None: those of the witness, else a sixth from each end
        tangent : where the tangent touches; None: a third of the way
        points, weights : of Jensen's inequality; None: four points with equal weights
        name : the function as text
        search : further options of `theory.convexity.of_function`; ``trials`` is 2000 here
        """
        low, high = float(box[0]), float(box[1])
        found = of_function(f, (low, high), gradient=gradient, **{"trials": 2000, **search})
        witness = found.witness
        if chord is None:
            chord = (low + (high - low) / 6.0, high - (high - low) / 6.0)
            if witness is not None and witness.kind in ("chord", "Jensen") and len(witness.points) == 2:
                chord, weight = (float(witness.points[0, 0]), float(witness.points[1, 0])), float(witness.weights[0])
        if not 0.0 < weight < 1.0:
            raise ValueError(f"weight must lie strictly between 0 and 1; got {written(weight)}")
        at = low + (high - low) / 3.0 if tangent is None else float(tangent)
        step = 1e-5 * (high - low)
        slope = (
            float(gradient(at)) if gradient is not None else (float(f(at + step)) - float(f(at - step))) / (2.0 * step)
        )
        xs = np.linspace(low, high, 401)
        given = np.asarray(np.linspace(low, high, 6)[1:-1] if points is None else points, dtype=np.float64).ravel()
        shares = np.full(given.size, 1.0) if weights is None else np.asarray(weights, dtype=np.float64).ravel()
        if shares.size != given.size or not (shares >= 0.0).all() or not shares.sum() > 0.0:
            raise ValueError(f"Jensen's inequality needs a weight of at least 0 for each of the {given.size} points")
        return cls(
            xs, np.array([float(f(float(x))) for x in xs]), (float(chord[0]), float(chord[1])), float(weight),
            (at, float(f(at)), slope), given, shares / shares.sum(), found,
            plain(getattr(f, "__name__", "f") if name is None else name).replace("<lambda>", "f"), f,
        )  # fmt: skip

    @property
    def jensen(self) -> tuple[float, float]:
        """(f of the mean, mean of f) of the weighted points."""
        mean = float(self.weights @ self.points)
        return float(self.value(mean)), float(self.weights @ [float(self.value(float(p))) for p in self.points])

    @property
    def title(self) -> str:
        """What the picture says, in one sentence."""
        if self.found.witness is None:
            return f"no witness against convexity in {self.found.trials:,} trials"
        return f"not convex: a {self.found.witness.kind} shows it"

    def _draw(self) -> None:
        finite = self.ys[np.isfinite(self.ys)]
        spread = float(np.ptp(finite)) or 1.0
        bottom, top = float(finite.min()) - 0.15 * spread, float(finite.max()) + 0.1 * spread
        self.curve_ = []
        for ax in self.axes_:
            self.curve_ += ax.plot(
                self.xs, self.ys, color=COLOURS[0], label="f" if self.name == "f" else f"f = {self.name}"
            )
            ax.set(ylim=(bottom, top), xlabel="x")
        self.axes_[0].set_ylabel("f(x)")
        self._draw_chord(self.axes_[0])
        self._draw_tangent(self.axes_[1])
        self._draw_epigraph(self.axes_[2])
        self._draw_jensen(self.axes_[3])

    def _draw_chord(self, ax: Any) -> None:
        (a, b), w = self.chord, self.weight
        fa, fb, x = float(self.value(a)), float(self.value(b)), w * a + (1.0 - w) * b
        fx, limit = float(self.value(x)), w * fa + (1.0 - w) * fb
        (self.chord_,) = ax.plot([a, b], [fa, fb], "s--", color=COLOURS[1], label="chord")
        ax.plot([x, x], [fx, limit], color=GREY, linewidth=1.0)
        ax.plot([x], [fx], "o", color=INK)
        ax.plot([x], [limit], "o", color=INK, markerfacecolor="white")
        sign = "≤" if fx <= limit else ">"
        ax.legend(loc="best")
        say(ax, f"{self.title}\nchord: f = {self._short(fx)} {sign} {self._short(limit)} on it")

    def _draw_tangent(self, ax: Any) -> None:
        at, height, slope = self.tangent
        line = height + slope * (self.xs - at)
        (self.tangent_,) = ax.plot(self.xs, line, color=COLOURS[1], linestyle=DASHES[1], label="tangent")
        ax.plot([at], [height], "o", color=INK)
        room = 1e-9 * (np.abs(self.ys) + np.abs(line)) + 1e-6 * float(np.ptp(self.ys[np.isfinite(self.ys)]))
        over = self.xs[line > self.ys + room]
        ax.fill_between(self.xs, self.ys, line, where=line > self.ys, color=COLOURS[1], alpha=0.35, linewidth=0)
        below = (
            f"above f at x = {over[np.argmax((line - self.ys)[line > self.ys + room])]:.3g}"
            if over.size
            else "nowhere above f"
        )
        say(ax, f"tangent at x = {at:.3g}, slope {slope:.3g}: {below}")

    def _draw_epigraph(self, ax: Any) -> None:
        top = ax.get_ylim()[1]
        self.epigraph_ = ax.fill_between(
            self.xs, self.ys, top, where=np.isfinite(self.ys) & (self.ys < top), facecolor=WASH, edgecolor=GREY,
            hatch="////", linewidth=0.0,
        )  # fmt: skip
        a, b = self.chord
        fa, fb = float(self.value(a)), float(self.value(b))
        lams = np.linspace(0.0, 1.0, 401)
        xs, ts = lams * b + (1.0 - lams) * a, lams * fb + (1.0 - lams) * fa
        under = ts < np.array([float(self.value(float(x))) for x in xs]) - 1e-9 * (abs(fa) + abs(fb))
        (self.segment_,) = ax.plot(xs, ts, color=INK, label="segment")
        ax.plot([a, b], [fa, fb], "s", color=INK)
        if under.any():
            ax.plot(np.where(under, xs, math.nan), ts, color=COLOURS[5], linewidth=3.0)
        inside = "leaves it" if under.any() else "stays in it"
        say(ax, f"epigraph t ≥ f(x): a segment between two points {inside}")

    def _draw_jensen(self, ax: Any) -> None:
        of_mean, mean = self.jensen
        at = float(self.weights @ self.points)
        heights = [float(self.value(float(p))) for p in self.points]
        sizes = 25.0 + 260.0 * self.weights
        ax.scatter(self.points, heights, s=sizes, color=COLOURS[1], marker="s", zorder=3, label="points of X")
        self.jensen_ = ax.plot([at], [of_mean], "o", color=INK, label="f(E[X])")
        self.jensen_ += ax.plot([at], [mean], "o", color=INK, markerfacecolor="white", label="E[f(X)]")
        ax.plot([at, at], [of_mean, mean], color=GREY, linewidth=1.0)
        sign = "≤" if of_mean <= mean else ">"
        ax.legend(loc="best")
        say(ax, f"Jensen: f(E[X]) = {self._short(of_mean)} {sign} E[f(X)] = {self._short(mean)}")

    def _short(self, value: float) -> str:
        """Three digits; values that are rounding beside the range of f are 0."""
        spread = float(np.ptp(self.ys[np.isfinite(self.ys)]))
        return f"{0.0 if abs(value) < 1e-6 * spread else value:.3g}"
