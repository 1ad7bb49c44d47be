"""ConfusionDisplay: which class is taken for which, and between what the true rates lie."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gapless.plots.style import COLOURS, INK, PALE, Display, below, say, short
from gapless.theory.samples.confusion import Confusion, confusion

__all__ = ["ConfusionDisplay"]


@dataclass(eq=False, repr=False)
class ConfusionDisplay(Display):
    """Counts and shares of each true class; beside them recall and precision with their exact intervals.

    On the rows that the model was trained on there are no intervals, and none are drawn.

    Attributes
    ----------
    found : the `Confusion` that is drawn
    image_, texts_ (an array of cells), recall_, precision_ (error bars; None where there are no intervals)
    """

    found: Confusion

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, delta: float = 0.05, simultaneous: bool = False
    ) -> ConfusionDisplay:
        """Of a fitted classifier on rows X with labels y.

        ``estimator`` is fitted; ``delta`` and ``simultaneous`` are those of `theory.confusion.confusion`.
        """
        return cls(confusion(estimator, X, y, delta=delta, simultaneous=simultaneous))

    @classmethod
    def from_predictions(
        cls, y: Any, predicted: Any, *, delta: float = 0.05, simultaneous: bool = False
    ) -> ConfusionDisplay:
        """Of labels that were predicted already.

        ``delta`` and ``simultaneous`` are those of `theory.confusion.confusion`.
        """
        return cls(confusion(None, y=y, predicted=predicted, delta=delta, simultaneous=simultaneous))

    @classmethod
    def from_confusion(cls, found: Confusion) -> ConfusionDisplay:
        """Of what ``theory.confusion.confusion`` returned. ``found`` is a `Confusion`."""
        return cls(found)

    @property
    def shares(self) -> np.ndarray:
        """Each row of counts over its sum; 0 where a class has no rows."""
        rows = self.found.counts.sum(axis=1, keepdims=True)
        return self.found.counts / np.maximum(rows, 1)

    @property
    def title(self) -> str:
        """What the picture says, in one sentence."""
        wrong = self.found.n - int(np.trace(self.found.counts))
        said = f"{wrong:,} of {self.found.n:,} rows wrong"
        if self.found.trained_on:
            return said + ", on the rows that were trained on: this says nothing of new rows"
        error = self.found.error
        return f"{said}: the error is {error.rate:.3g}, between {error.low:.3g} and {error.high:.3g} on new rows"

    @property
    def _widths(self) -> tuple[float, ...]:
        size = max(3.6, 0.5 * len(self.found.classes) + 1.6)
        return (size,) if self.found.trained_on else (size, 3.8)

    @property
    def _height(self) -> float:
        return max(3.5, 0.5 * len(self.found.classes) + 1.3)

    def _draw(self) -> None:
        # Classes beyond which cells have no text.
        most_written = 12
        from matplotlib.colors import LinearSegmentedColormap

        ax, K = self.axes_[0], len(self.found.classes)
        names = [short(c, 14) for c in self.found.classes.tolist()]
        shade = LinearSegmentedColormap.from_list("quiet", ["#FFFFFF", COLOURS[0]])
        self.image_ = ax.imshow(self.shares, cmap=shade, vmin=0.0, vmax=1.0, aspect="auto")
        self.texts_ = np.empty((K, K), dtype=object)
        for i in range(K if K <= most_written else 0):
            for j in range(K):
                share = float(self.shares[i, j])
                n = int(self.found.counts[i, j])
                self.texts_[i, j] = ax.text(
                    j, i, f"{n:,}\n{100 * share:.1f} %" if n else "0", ha="center", va="center", fontsize=8.0,
                    color="white" if share > 0.55 else INK if n else PALE,
                )  # fmt: skip
        flat = K <= 4 or max(len(name) for name in names) <= 4
        ax.set_xticks(np.arange(K), labels=names, rotation=0 if flat else 45, ha="center" if flat else "right")
        ax.set_yticks(np.arange(K), labels=names)
        ax.tick_params(length=0)
        ax.set(xlabel="called", ylabel="true class")
        for side in ax.spines.values():
            side.set_visible(True)
        say(ax, self.title)
        self.recall_ = self.precision_ = None
        if not self.found.trained_on:
            self._draw_rates(self.axes_[1], names)

    def _draw_rates(self, ax: Any, names: list[str]) -> None:
        for name, marker, colour, shift in (("recall", "o", COLOURS[0], -0.13), ("precision", "s", COLOURS[1], 0.13)):
            at, rate, low, high = [], [], [], []
            for k, label in enumerate(self.found.classes):
                found = getattr(self.found, name)(label)
                if found is not None:
                    at.append(k + shift)
                    rate.append(found.rate)
                    low.append(found.rate - found.low)
                    high.append(found.high - found.rate)
            bars = ax.errorbar(
                rate, at, xerr=[low, high], fmt=marker, color=colour, ecolor=INK, elinewidth=1.2, capsize=3, markersize=6,
                label=name,
            )  # fmt: skip
            setattr(self, f"{name}_", bars)
        ax.set_yticks(np.arange(len(names)), labels=names)
        ax.set(ylim=(len(names) - 0.5, -0.5), xlabel="rate")
        ax.set_xlim(right=1.0 + 0.02 * (1.0 - ax.get_xlim()[0]))
        ax.grid(axis="x", color="#DDDDDD", linewidth=0.6)
        ax.set_axisbelow(True)
        below(ax)
        together = "together" if self.found.simultaneous else "each"
        say(ax, f"exact intervals at confidence {1 - self.found.delta:g} {together}")
