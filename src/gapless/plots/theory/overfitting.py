"""OverfittingDisplay: the error on rows seen and on new data as a model grows, and what it makes of a noisy sine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gapless.plots.style import COLOURS, DASHES, GREY, INK, PALE, Display, below, say
from gapless.theory.samples.overfitting import Study

__all__ = ["OverfittingDisplay"]


@dataclass(eq=False, repr=False)
class OverfittingDisplay(Display):
    """A study of `theory.overfitting`, drawn: errors against size, and the smallest, the best and the largest model.

    Attributes
    ----------
    study : what `theory.overfitting.overfitting` returned
    train_, test_, squared_bias_, variance_, noise_, best_ : lines; predictions_ : dictionary size -> line
    """

    study: Study
    _widths = (4.8, 4.8)
    _height = 4.3

    @classmethod
    def from_study(cls, study: Study) -> OverfittingDisplay:
        """Of what ``theory.overfitting.overfitting`` returned. ``study`` is a `Study`."""
        return cls(study)

    @property
    def title(self) -> str:
        """What the picture says, in one sentence."""
        k = int(np.argmin(self.study.test))
        return (
            f"least error on new data at {self.study.varied} {self.study.best}: {self.study.test[k]:.3g}, where rows seen "
            f"say {self.study.train[k]:.3g}"
        )

    def _draw(self) -> None:
        study = self.study
        left, right = self.axes_
        kinds: tuple[tuple[str, str, str, Any, str], ...] = (
            ("train", "rows seen", COLOURS[1], DASHES[1], "s"),
            ("test", "new data", COLOURS[0], DASHES[0], "o"),
            ("squared_bias", "squared bias", GREY, DASHES[2], "^"),
            ("variance", "variance", GREY, DASHES[3], "v"),
        )
        for name, label, colour, dash, marker in kinds:
            look = {"color": colour, "linestyle": dash, "marker": marker, "markersize": 4}
            (line,) = left.plot(study.values, getattr(study, name), label=label, **look)
            setattr(self, f"{name}_", line)
        width = 2.0 * study.test_error
        left.fill_between(
            study.values, study.test - width, study.test + width, color=COLOURS[4], alpha=0.3, linewidth=0
        )
        self.noise_ = left.axhline(study.noise**2, color=PALE, linewidth=1.2, label="noise²")
        self.best_ = left.axvline(study.best, color=INK, linewidth=0.8, linestyle=":")
        left.set(xlabel=study.varied, ylabel="mean squared error", ylim=(0.0, None))
        if study.varied != "depth":
            left.set_xscale("log")
        below(left, columns=3)
        say(left, self.title)
        right.plot(*study.sample, ".", color=GREY, markersize=4, label="one sample")
        right.plot(study.x, np.sin(2.0 * np.pi * study.x), color=INK, linewidth=1.0, label="truth")
        self.predictions_ = {}
        chosen = sorted({0, int(np.argmin(study.test)), len(study.values) - 1})
        for j, k in enumerate(chosen):
            look = {
                "color": COLOURS[(1, 0, 5)[j % 3]],
                "linestyle": DASHES[(3, 0, 1)[j % 3]],
                "linewidth": (1.6, 2.2, 1.0)[j % 3],
            }
            (self.predictions_[study.values[k]],) = right.plot(
                study.x, study.example[k], label=f"{study.varied} {study.values[k]}", **look
            )
        right.set(xlabel="x", ylabel="y")
        below(right, columns=3)
        say(right, "too small misses the wave, too large follows the noise")
