"""StartsDisplay: perceptrons from several starts, beside the least-squares line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gapless._runtime.config import config_context
from gapless._runtime.written import written
from gapless.estimators.least_squares import LeastSquaresClassifier
from gapless.estimators.perceptron import Perceptron
from gapless.plots.plane import names_of, window
from gapless.plots.rows import angle_between, draw_line, draw_rows, in_plane, signs_of
from gapless.plots.style import COLOURS, DASHES, INK, Display, beside, plain, say, short

__all__ = ["StartsDisplay"]


@dataclass(eq=False, repr=False)
class StartsDisplay(Display):
    """Where a perceptron ends depends on where it starts; what it minimises is 0 on every one of these lines.

    Attributes
    ----------
    X : (n, 2): the rows
    sign : -1 or 1, the class of each row
    starts : (k, 3): w and b
    ends : (k, 3)
    mistakes : made on the way
    errors : rows on the wrong side at the end
    least_squares : w and b
    least_squares_errors : rows on the wrong side of the least-squares line
    labels : names of the classes
    names : names of the two axes
    lines_ : one for each start; least_squares_ ; rows_
    """

    X: np.ndarray
    sign: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    mistakes: np.ndarray
    errors: np.ndarray
    least_squares: np.ndarray
    least_squares_errors: int
    labels: tuple[str, str]
    names: tuple[str, str]
    _widths = (6.2,)
    _height = 4.0

    @classmethod
    def from_data(
        cls, X: Any, y: Any, *, starts: Any = 5, scale: float | None = None, eta0: float = 1.0, seed: int = 0
    ) -> StartsDisplay:
        """Fit a perceptron from each start, and least squares once.

        ``eta0`` is the perceptrons' rate; ``seed`` draws the starts that are not given.

        Parameters
        ----------
        starts : how many to draw (normal, of the given scale), or an array of rows (w1, w2, b)
        scale : of the drawn starts; None: the longest row times the square root of their number
        """
        rows = in_plane(X)
        classes, sign = signs_of(y)
        if np.ndim(starts) == 0:
            if int(starts) < 1:
                raise ValueError(f"starts is how many there are, or the starts themselves; got {written(starts)}")
            size = (
                float(np.linalg.norm(rows, axis=1).max()) * np.sqrt(len(rows)) / 3.0 if scale is None else float(scale)
            )
            given = size * np.random.default_rng(seed).normal(size=(int(starts), 3))
        else:
            given = np.atleast_2d(np.asarray(starts, dtype=np.float64))
            if given.shape[1] != 3:
                raise ValueError(f"a start is (w1, w2, b); got an array of shape {given.shape}")
        ends, mistakes, errors = np.empty_like(given), [], []
        for k, theta in enumerate(given):
            with config_context(convergence="ignore"):
                model = Perceptron(eta0=eta0, shuffle=False, tol=None).fit(
                    rows, sign, coef_init=theta[None, :2], intercept_init=theta[2:]
                )
            ends[k] = *model.coef_[0], model.intercept_[0]
            mistakes.append(model.mistakes_)
            errors.append(int((model.predict(rows) != sign).sum()))
        fitted = LeastSquaresClassifier().fit(rows, sign)
        flat = np.array([*np.ravel(fitted.coef_), *np.ravel(fitted.intercept_)])
        wrong = int((fitted.predict(rows) != sign).sum())
        first, second = names_of(X)
        labels = (short(classes[0]), short(classes[1]))
        return cls(
            rows,
            sign,
            given,
            ends,
            np.array(mistakes),
            np.array(errors),
            flat,
            wrong,
            labels,
            (plain(first), plain(second)),
        )

    @property
    def spread(self) -> float:
        """The largest angle between two of the lines, in degrees."""
        return max((angle_between(v[:2], w[:2]) for v in self.ends for w in self.ends), default=0.0)

    @property
    def title(self) -> str:
        """What the picture says, in one sentence."""
        k = len(self.ends)
        how = (
            "none has a row on its wrong side"
            if not self.errors.any()
            else f"they get {self.errors.min()} to {self.errors.max()} rows wrong"
        )
        return (
            f"{k} starts, {k} perceptrons, up to {self.spread:.0f}° apart: {how}; "
            f"least squares gets {self.least_squares_errors} wrong"
        )

    def _draw(self) -> None:
        ax = self.ax_
        low, high = window(self.X)
        self.rows_ = draw_rows(ax, self.X, self.sign > 0, self.labels)
        self.lines_ = []
        for k, (theta, made) in enumerate(zip(self.ends, self.mistakes)):
            look = {
                "color": COLOURS[2 + k % (len(COLOURS) - 2)],
                "linestyle": DASHES[1 + k % (len(DASHES) - 1)],
                "linewidth": 1.4,
            }
            label = f"start {k + 1}: {made:,} mistakes"
            self.lines_.append(draw_line(ax, theta[:2], theta[2], low, high, label=label, **look))
        self.least_squares_ = draw_line(
            ax,
            self.least_squares[:2],
            self.least_squares[2],
            low,
            high,
            color=INK,
            linewidth=2.4,
            label="least squares",
        )
        ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), xlabel=self.names[0], ylabel=self.names[1])
        beside(ax)
        say(ax, self.title)
