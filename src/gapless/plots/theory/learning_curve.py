"""LearningCurveDisplay: E_in and E_out over the number of rows, split both ways, and how fast their gap closes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gapless._runtime.written import counted
from gapless.plots.style import COLOURS, DASHES, HATCHES, INK, PALE, Display, say
from gapless.theory.samples.learning_curve import LearningCurve, learning_curve

__all__ = ["LearningCurveDisplay"]


@dataclass(eq=False, repr=False)
class LearningCurveDisplay(Display):
    """E_out read as E_in and what generalisation costs; as bias, variance and noise, where the truth is known; and the gap
    E_out - E_in on logarithmic axes, beside c/√n.

    Attributes
    ----------
    curve : what `theory.learning_curve` returned
    e_in_, e_out_, cost_ ; bias_, variance_, noise_ (None where they are not known) ; gap_, root_ : artists
    """

    curve: LearningCurve
    _height = 3.5

    @classmethod
    def from_curve(cls, curve: LearningCurve) -> LearningCurveDisplay:
        """Of what ``theory.learning_curve.learning_curve`` returned. ``curve`` is a `LearningCurve`."""
        return cls(curve)

    @classmethod
    def from_estimator(cls, estimator: Any, data: Any, sizes: Any, **options: Any) -> LearningCurveDisplay:
        """``learning_curve(estimator, data, sizes, ...)`` first. ``options`` are those of `learning_curve`."""
        return cls(learning_curve(estimator, data, sizes, **options))

    @property
    def title(self) -> str:
        """What the picture says, in one sentence."""
        # Test rows below which the title says how many there are: an error rate of fewer is known to 10 % at best.
        few_rows = 30
        c = self.curve
        said = f"the gap falls from {c.gap[0]:.3g} to {c.gap[-1]:.3g} as n goes from {c.n[0]:,} to {c.n[-1]:,}"
        return said + (f"; each $E_{{out}}$ is of {counted(c.test_rows, 'row')}" if 0 < c.test_rows < few_rows else "")

    @property
    def _widths(self) -> tuple[float, ...]:
        return (4.0, 4.0, 4.0) if self.curve.bias is not None else (4.2, 4.2)

    def _draw(self) -> None:
        c = self.curve
        ax = self.axes_[0]
        look = {"capsize": 2.5, "elinewidth": 0.9, "markersize": 4}
        self.e_out_ = ax.errorbar(c.n, c.e_out, c.e_out_half, fmt="o-", color=COLOURS[0], label="$E_{out}$", **look)
        self.e_in_ = ax.errorbar(c.n, c.e_in, c.e_in_half, fmt="s--", color=COLOURS[1], label="$E_{in}$", **look)
        self.cost_ = ax.fill_between(
            c.n,
            c.e_in,
            c.e_out,
            facecolor="none",
            edgecolor=PALE,
            hatch=HATCHES[1],
            linewidth=0.0,
            label="cost of generalising",
        )
        self._axis(ax)
        say(ax, self.title)
        self.bias_ = self.variance_ = self.noise_ = None
        if c.bias is not None and c.variance is not None:
            self._draw_split(self.axes_[1])
        self._draw_rate(self.axes_[-1])

    def _axis(self, ax: Any) -> None:
        ax.set(
            xscale="log", xlabel="training rows n", ylabel="error" if self.curve.loss == "zero_one" else "squared error"
        )
        ax.set_ylim(bottom=0.0)
        ax.legend(loc="upper right")

    def _draw_split(self, ax: Any) -> None:
        c = self.curve
        assert c.bias is not None
        assert c.variance is not None
        bottom = np.zeros(c.n.size)
        if c.noise is not None:
            self.noise_ = ax.fill_between(
                c.n,
                0.0,
                np.full(c.n.size, c.noise),
                facecolor="white",
                edgecolor=INK,
                hatch=HATCHES[2],
                linewidth=0.6,
                label="noise",
            )
            bottom = bottom + c.noise
        level = np.maximum(c.bias, 0.0)
        self.bias_ = ax.fill_between(
            c.n, bottom, bottom + level, facecolor=COLOURS[0], edgecolor=COLOURS[0], label="bias"
        )
        self.variance_ = ax.fill_between(
            c.n, bottom + level, bottom + level + c.variance, facecolor="white", edgecolor=COLOURS[0], hatch=HATCHES[1],
            linewidth=0.6, label="variance",
        )  # fmt: skip
        ax.plot(c.n, c.e_out, "o", color=INK, markersize=4, label="$E_{out}$ measured")
        self._axis(ax)
        say(ax, f"the same as bias and variance: {c.bias[-1]:.2g} and {c.variance[-1]:.2g} at n = {c.n[-1]:,}")

    def _draw_rate(self, ax: Any) -> None:
        c = self.curve
        seen = c.gap > 0.0
        half = np.minimum(c.gap_half, 0.999 * np.abs(c.gap))
        self.gap_ = ax.errorbar(
            c.n[seen], c.gap[seen], [half[seen], c.gap_half[seen]], fmt="o-", color=COLOURS[0], capsize=2.5, elinewidth=0.9,
            markersize=4, label="$E_{out} - E_{in}$",
        )  # fmt: skip
        (self.root_,) = ax.plot(
            c.n, c.constant / np.sqrt(c.n), linestyle=DASHES[1], color=INK, label=f"{c.constant:.3g}/√n"
        )
        ax.set(xscale="log", yscale="log", xlabel="training rows n", ylabel="gap")
        ax.legend(loc="upper right")
        say(
            ax, f"it closes like n^{-c.exponent:.2f}; the bound of all classes is of the order n^-0.5".replace("-", "−")
        )
