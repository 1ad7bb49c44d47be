"""BoundDisplay: how wrong a model can be on new rows, statement by statement, tightest first."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import Any

import numpy as np

from gapless.plots.plane import ask
from gapless.plots.style import COLOURS, GREY, INK, Display, plain, say
from gapless.theory.generalisation.bounds import Bounds, bounds

__all__ = ["BoundDisplay"]


@dataclass(eq=False, repr=False)
class BoundDisplay(Display):
    """A bar for each bound: filled where it holds with probability 1 - delta, hatched where it holds in expectation only.

    A vacuous bound is a bare outline that says so; one that was refused stands below with its reason. The dashed line is the
    error on the training rows, the diamond that on the test rows.

    Attributes
    ----------
    found : what `gapless.bounds` returned
    training : share of the training rows that are wrong
    test : share of the test rows that are wrong, None without test rows
    bars_ : dictionary method -> bar; refused_ : texts; training_, test_ : artists or None
    """

    found: Bounds
    training: float | None
    test: float | None
    _widths = (7.2,)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        X_test: Any = None,
        y_test: Any = None,
        delta: float = 0.05,
        **options: Any,
    ) -> BoundDisplay:
        """``bounds(estimator, X, y, ...)`` and the errors seen; further options are those of `gapless.bounds`.

        ``X_test``, ``y_test`` are rows that were not trained on, ``delta`` the probability that any bound fails.
        """
        found = bounds(estimator, X, y, delta=delta, X_test=X_test, y_test=y_test, **options)
        training = _error(estimator, X, y)
        return cls(found, training, None if X_test is None else _error(estimator, X_test, y_test))

    @classmethod
    def from_bounds(cls, found: Bounds, *, training: float | None = None, test: float | None = None) -> BoundDisplay:
        """Of what ``bounds`` returned, with the errors seen where they are known.

        ``found`` is a `Bounds`, ``training`` and ``test`` are shares of wrong rows.
        """
        return cls(found, training, test)

    @property
    def title(self) -> str:
        """What the picture says, in one sentence."""
        sure = [row for row in self.found.rows if row.delta is not None]
        if not sure:
            return "no bound holds with high probability here"
        best = sure[0]
        if best.vacuous:
            return f"with confidence {1 - self.found.delta:g} nothing is known: every bound is vacuous"
        return f"with confidence {1 - self.found.delta:g} the error on new rows is at most {best.value:.4g} ({best.method})"

    @property
    def _height(self) -> float:
        return 1.3 + 0.46 * (len(self.found.rows) + len(self.found.refused))

    def _draw(self) -> None:
        ax, rows = self.ax_, self.found.rows
        self.bars_, self.refused_ = {}, []
        for k, row in enumerate(rows):
            sure = row.delta is not None
            (bar,) = ax.barh(
                [k], [min(row.value, 1.0)], height=0.62, edgecolor=COLOURS[0],
                facecolor=COLOURS[0] if sure and not row.vacuous else "white",
                hatch="" if sure or row.vacuous else "////", linewidth=0.9,
                linestyle=":" if row.vacuous else "-",
            )  # fmt: skip
            self.bars_[row.method] = bar
            said = "vacuous" if row.vacuous else f"{row.value:.4g}" + ("" if sure else "  (in expectation)")
            inside = row.value > 0.75
            ax.text(
                min(row.value, 1.0) + (-0.012 if inside else 0.012), k, said, va="center", ha="right" if inside else "left",
                fontsize=8.0, color="white" if inside and sure and not row.vacuous else INK,
                bbox=None if sure or not inside or row.vacuous else {"facecolor": "white", "edgecolor": "none", "pad": 1.0},
            )  # fmt: skip
        for k, reason in enumerate(self.found.refused.values(), start=len(rows)):
            lines = textwrap.wrap("refused: " + plain(reason), 86)
            shown = "\n".join(lines[:2]) + ("…" if len(lines) > 2 else "")
            box = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
            self.refused_.append(
                ax.text(0.012, k, shown, va="center", fontsize=7.5, color=GREY, style="italic", bbox=box)
            )
        self.training_ = self.test_ = None
        marks = []
        if self.training is not None:
            self.training_ = ax.axvline(self.training, color=INK, linestyle="--", linewidth=1.2)
            marks.append(f"╌ training error {self.training:.4g}")
        if self.test is not None:
            (self.test_,) = ax.plot([self.test], [-0.75], "D", color=INK, markersize=6, clip_on=False)
            marks.append(f"◆ test error {self.test:.4g}")
        methods = [*self.bars_, *self.found.refused]
        ax.set_yticks(np.arange(len(methods)), labels=methods)
        ax.set(xlim=(0.0, 1.0), ylim=(len(methods) - 0.4, -1.0 if self.test is not None else -0.6))
        ax.set_xlabel("error on new rows, at most" + ("\n" + "     ".join(marks) if marks else ""))
        say(ax, self.title)


def _error(model: Any, X: Any, y: Any) -> float:
    return float(np.mean(ask(model, "predict", X).ravel() != np.asarray(y).ravel()))
