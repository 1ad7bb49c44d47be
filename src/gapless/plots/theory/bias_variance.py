"""BiasVarianceDisplay: what many training sets make of a learner, and how its error splits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gapless.plots.style import COLOURS, GREY, HATCHES, INK, PALE, Display, plain, say
from gapless.theory.samples.bias_variance import Decomposition, learner_of, predicted, split

__all__ = ["BiasVarianceDisplay"]


@dataclass(eq=False, repr=False)
class BiasVarianceDisplay(Display):
    """A panel for each learner: functions learned from single training sets, their mean and a band of one standard deviation,
    and the truth; and a bar for each: bias + variance (+ noise) with their Monte-Carlo errors.

    Attributes
    ----------
    parts : name -> `Decomposition`
    x : None where only the numbers are known
    truth : noise-free values at x, None where only the numbers are known
    curves : name -> (draws, points)
    functions_, mean_, truth_ : dictionaries name -> artists; bars_ : dictionary name -> (bias, variance, noise or None)
    """

    parts: dict[str, Decomposition]
    x: np.ndarray | None
    truth: np.ndarray | None
    curves: dict[str, np.ndarray]

    @classmethod
    def from_learners(
        cls,
        learners: Any,
        draw: Callable[[np.random.Generator], tuple[Any, Any]],
        x: Any,
        truth: Any,
        *,
        draws: int = 200,
        noise: float | None = None,
        seed: int = 0,
    ) -> BiasVarianceDisplay:
        """Train each learner on the same ``draws`` training sets, and split its squared error at the points x.

        Parameters
        ----------
        seed : number that all random draws follow from
        learners : dictionary name -> estimator or function (X, y) -> predict; or one of them
        draw : random -> (X, y), a new training set
        x : points of one feature, as the learners take them: (m,) or (m, 1)
        truth : noise-free values at x, or a function that gives them
        noise : the variance of the noise in y, where it is known
        """
        points = np.asarray(x, dtype=np.float64)
        if points.size != len(points):
            raise ValueError(f"this picture is of one feature; the points have {points.size // len(points)}")
        named = (
            learners
            if isinstance(learners, Mapping)
            else {getattr(learners, "__name__", type(learners).__name__): learners}
        )
        f = np.asarray(truth(points) if callable(truth) else truth, dtype=np.float64).reshape(len(points))
        weights = np.full(len(points), 1.0 / len(points))
        parts, curves = {}, {}
        for name, learner in named.items():
            fit, random = learner_of(learner), np.random.default_rng(seed)
            found = np.array([predicted(fit(*draw(random)), points) for _ in range(int(draws))], dtype=np.float64)
            parts[plain(name)], curves[plain(name)] = split(found, f, "squared", weights, noise), found
        order = np.argsort(points.ravel(), kind="stable")
        return cls(parts, points.ravel()[order], f[order], {name: g[:, order] for name, g in curves.items()})

    @classmethod
    def from_decompositions(cls, parts: Mapping[str, Decomposition]) -> BiasVarianceDisplay:
        """Of what ``theory.bias_variance.decompose`` or ``bootstrap`` returned, by name: bars alone.

        ``parts`` is a dictionary name -> `Decomposition`.
        """
        if not parts:
            raise ValueError("there is no decomposition to draw")
        return cls({plain(name): part for name, part in parts.items()}, None, None, {})

    @property
    def title(self) -> str:
        """What the picture says, in one sentence."""
        best = min(self.parts, key=lambda name: self.parts[name].expected)
        part = self.parts[best]
        if len(self.parts) == 1:
            return f"bias {part.bias:.3g} + variance {part.variance:.3g} = {part.expected:.3g}"
        return (
            f"{best} errs least on new data: bias {part.bias:.3g} + variance {part.variance:.3g} = {part.expected:.3g}"
        )

    @property
    def _widths(self) -> tuple[float, ...]:
        return (*(3.5 for _ in self.curves), 1.8 + 0.9 * len(self.parts))

    def _draw(self) -> None:
        most_drawn = 40  # learned functions
        self.functions_, self.mean_, self.truth_ = {}, {}, {}
        self.bars_: dict[str, Any] = {}
        for ax, (name, g) in zip(self.axes_, self.curves.items()):
            assert self.x is not None
            assert self.truth is not None
            mean, spread = g.mean(axis=0), g.std(axis=0)
            self.functions_[name] = ax.plot(self.x, g[:most_drawn].T, color=PALE, linewidth=0.5, zorder=1)
            ax.fill_between(self.x, mean - spread, mean + spread, color=COLOURS[4], alpha=0.35, linewidth=0, zorder=1.5)
            (self.mean_[name],) = ax.plot(self.x, mean, color=COLOURS[0], label="their mean ± 1 s.d.", zorder=3)
            (self.truth_[name],) = ax.plot(self.x, self.truth, "--", color=INK, label="truth", zorder=3)
            low, high = (
                float(min(self.truth.min(), (mean - 2 * spread).min())),
                float(max(self.truth.max(), (mean + 2 * spread).max())),
            )
            ax.set(xlabel="x", ylim=(low - 0.15 * (high - low), high + 0.15 * (high - low)))
            part = self.parts[name]
            say(ax, f"{name}: {len(g):,} training sets, bias {part.bias:.3g}, variance {part.variance:.3g}")
        if self.curves:
            self.axes_[0].set_ylabel("y")
            self.axes_[0].legend(loc="best")
        self._draw_bars(self.axes_[-1])

    def _draw_bars(self, ax: Any) -> None:
        for k, (name, part) in enumerate(self.parts.items()):
            looks: tuple[dict[str, Any], ...] = (
                {"facecolor": COLOURS[0], "hatch": HATCHES[0], "label": "bias"},
                {"facecolor": "white", "hatch": HATCHES[1], "label": "variance"},
                {"facecolor": PALE, "hatch": HATCHES[2], "label": "noise"},
            )
            heights = (max(0.0, part.bias), part.variance, part.noise)
            bars: list[Any] = []
            bottom = 0.0
            for height, look in zip(heights, looks):
                if height is None:
                    bars.append(None)
                    continue
                if k:
                    look.pop("label")
                (bar,) = ax.bar([k], [height], bottom=bottom, width=0.6, edgecolor=COLOURS[0], linewidth=0.8, **look)
                bars.append(bar)
                bottom += height
            top = max(0.0, part.bias) + part.variance
            ax.errorbar([k], [top], yerr=[2.0 * part.expected_error], color=INK, capsize=4, elinewidth=1.2, fmt="none")
            self.bars_[name] = tuple(bars)
        ax.set_xticks(range(len(self.parts)), labels=list(self.parts))
        ax.set(
            ylabel="expected squared error" if next(iter(self.parts.values())).loss == "squared" else "expected error"
        )
        ax.set_xlim(-0.6, len(self.parts) - 0.4)
        ax.margins(y=0.25)
        ax.legend(loc="upper right", ncols=1)
        ax.axhline(0.0, color=GREY, linewidth=0.8)
        say(ax, self.title)
