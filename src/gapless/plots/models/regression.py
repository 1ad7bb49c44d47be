"""RegressionDisplay: residuals, and R² as squares that can be seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gapless._runtime.written import counted
from gapless.plots.plane import ask, names_of
from gapless.plots.style import COLOURS, GREY, HATCHES, INK, Display, plain, say
from gapless.problems.r_squared import is_constant, r_squared

__all__ = ["RegressionDisplay"]


@dataclass(eq=False, repr=False)
class RegressionDisplay(Display):
    """R² = 1 - (sum of the squares about the line) / (sum of the squares about the mean).

    Two panels draw these squares, for up to 60 rows: a square's side is the residual, so that its area is the residual squared.
    The last panel is the residuals against the predictions. One feature is drawn as it is; of more, the prediction.

    Attributes
    ----------
    x : the feature, or the prediction
    y : targets
    predicted : prediction of each row
    line : the model over the range of x
    name : name of the estimator
    x_name : name of the horizontal axis
    about_mean_, about_line_ : lists of squares; line_, mean_, rows_ ; residuals_
    """

    x: np.ndarray
    y: np.ndarray
    predicted: np.ndarray
    line: tuple[np.ndarray, np.ndarray]
    name: str
    x_name: str
    _height = 4.1

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any) -> RegressionDisplay:
        """Of a fitted regressor on rows X with targets y. ``estimator`` is fitted."""
        predicted = ask(estimator, "predict", X).astype(np.float64)
        names = names_of(X, estimator)
        name = type(estimator).__name__
        if len(names) != 1:
            return cls.from_predictions(y, predicted, name=name)
        x = np.asarray(X, dtype=np.float64).ravel()
        spare = 0.0 if np.ptp(x) > 0.0 else 0.1  # all rows at one place: the line still needs a length
        along = np.linspace(x.min() - spare, x.max() + spare, 201)
        values = ask(estimator, "predict", along[:, None]).ravel()
        return cls(x, _targets(y, predicted), predicted.ravel(), (along, values), name, plain(names[0]))

    @classmethod
    def from_predictions(cls, y: Any, predicted: Any, *, name: str = "model") -> RegressionDisplay:
        """Of targets and what was predicted for them. ``name`` stands in the title."""
        found = np.asarray(predicted, dtype=np.float64)
        truth = _targets(y, found)
        found = found.ravel()
        ends = np.array([found.min(), found.max()])
        return cls(found, truth, found, (ends, ends), plain(name), "predicted")

    @property
    def residuals(self) -> np.ndarray:
        """y - prediction of each row."""
        return self.y - self.predicted

    @property
    def about_line(self) -> float:
        """The sum of the squared residuals."""
        return float(self.residuals @ self.residuals)

    @property
    def about_mean(self) -> float:
        """The sum of the squared distances from the mean."""
        away = self.y - self.y.mean()
        return float(away @ away)

    @property
    def r2(self) -> float:
        """1 - about_line / about_mean; where y is constant 1 if it is predicted, else 0."""
        return float(r_squared(self.about_line, self.about_mean, self.y.size, np.abs(self.y).max()))

    @property
    def constant(self) -> bool:
        """Whether all y are the same, to rounding: nothing is there to explain."""
        return bool(is_constant(self.about_mean, self.y.size, np.abs(self.y).max()))

    def title(self) -> str:
        """R² and the two sums it is made of."""
        if self.constant:
            what = "One row" if self.y.size == 1 else "y is constant"
            how = "predicted" if self.r2 == 1.0 else "not predicted"
            return f"{self.name}: {self.about_line:.4g} about the line. {what}, nothing to explain; {how}: R² = {self.r2:.3g}"
        share = 100.0 * self.about_line / self.about_mean
        return f"{self.name}: {self.about_line:.4g} about the line, {share:.3g} % of that: R² = {self.r2:.3g}"

    def _few(self) -> bool:
        # Rows beyond which no squares are drawn.
        most_squares = 60
        return self.y.size <= most_squares

    @property
    def _widths(self) -> tuple[float, ...]:
        return (3.6, 3.6, 3.6) if self._few() else (4.2, 4.2)

    def _draw(self) -> None:
        self.about_mean_, self.about_line_ = [], []
        self.mean_ = None
        mean = float(self.y.mean())
        first = self.axes_[-2]
        if self._few():
            ax = self.axes_[0]
            self._frame(ax)
            self.mean_ = ax.axhline(mean, color=INK, linewidth=1.8)
            self.about_mean_ = self._squares(ax, np.full(self.y.size, mean), HATCHES[1], COLOURS[1])
            ax.plot(self.x, self.y, "o", color=INK, markersize=3)
            say(ax, f"squares about the mean: area {self.about_mean:.4g}")
            first.sharey(ax)
        self._frame(first)
        (self.line_,) = first.plot(*self.line, color=INK, linewidth=1.8)
        if self._few():
            self.about_line_ = self._squares(first, self.predicted, HATCHES[0], COLOURS[0])
        (self.rows_,) = first.plot(self.x, self.y, "o", color=INK, markersize=3, linestyle="none")
        say(first, self.title())
        ax = self.axes_[-1]
        (self.residuals_,) = ax.plot(
            self.predicted, self.residuals, "o", color=COLOURS[0], markersize=3.5, linestyle="none"
        )
        ax.axhline(0.0, color=INK, linewidth=1.0)
        spread = float(np.sqrt(np.mean(self.residuals**2)))
        for level in (-spread, spread):
            ax.axhline(level, color=GREY, linewidth=0.9, linestyle="--")
        ax.set(xlabel="predicted", ylabel="residual")
        ax.set_box_aspect(1.0)
        say(ax, f"residuals: root mean square {spread:.3g} (dashed), largest {float(np.abs(self.residuals).max()):.3g}")

    def _frame(self, ax: Any) -> None:
        """Limits with room for the squares, of the same shape as the box, so that squares look like squares."""
        ax.set(xlabel=self.x_name, ylabel="y")
        x, y = self.x, np.concatenate([self.y, self.predicted])
        wide, tall = float(np.ptp(x)) or 1.0, float(np.ptp(y)) or 1.0
        ax.set(xlim=(x.min() - 0.1 * wide, x.max() + 0.1 * wide), ylim=(y.min() - 0.1 * tall, y.max() + 0.1 * tall))
        ax.set_box_aspect(1.0)

    def _squares(self, ax: Any, level: np.ndarray, hatch: str, colour: str) -> list[Any]:
        from matplotlib.patches import Rectangle

        low, high = ax.get_xlim()
        bottom, top = ax.get_ylim()
        stretch = (high - low) / (top - bottom)  # of the x axis: a side of length r is r * stretch wide
        found = []
        for x, y, at in zip(self.x, self.y, level):
            side = y - at
            width = abs(side) * stretch * (-1.0 if x >= np.median(self.x) else 1.0)  # inwards, where there is room
            found.append(
                ax.add_patch(
                    Rectangle(
                        (x, at), width, side, facecolor=colour, alpha=0.3, edgecolor=INK, linewidth=0.6, hatch=hatch
                    )
                )
            )
        return found


def _targets(y: Any, predicted: np.ndarray) -> np.ndarray:
    truth = np.asarray(y, dtype=np.float64)
    if truth.ndim > 1 and truth.size != len(truth):
        raise ValueError("this picture is of one target")
    if truth.size != predicted.size or truth.size == 0:
        raise ValueError(f"there are {counted(truth.size, 'target')} and {counted(predicted.size, 'prediction')}")
    return truth.ravel()
