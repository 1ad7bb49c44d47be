"""ThreeModelsDisplay: three linear models of one signal, and the rows that pull one of them off."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gapless._runtime.config import config_context
from gapless._runtime.written import counted, written
from gapless.estimators.least_squares import LeastSquaresClassifier
from gapless.estimators.linear_svc import LinearSVC
from gapless.estimators.logistic import LogisticRegression
from gapless.estimators.perceptron import Perceptron
from gapless.plots.plane import names_of, window
from gapless.plots.rows import angle_between, draw_line, draw_rows, in_plane, signs_of
from gapless.plots.style import COLOURS, DASHES, GREY, INK, Display, below, plain, say, short

__all__ = ["ThreeModelsDisplay"]


@dataclass(eq=False, repr=False)
class ThreeModelsDisplay(Display):
    """The signal s = <w, x> + b is the same form in all three; what is made of it differs.

    The first panel has what each makes of a signal: s itself, the probability 1/(1 + e^-s) on the scale from -1 to 1, the
    sign of s. The second has the three boundaries on the rows, the third with further rows added: those that lie far on
    their own side cost the SVM and the perceptron nothing, the logistic loss next to nothing, and least squares the square of
    how *right* they are.

    Attributes
    ----------
    X : (n, 2): the rows
    sign : -1 or 1, the class of each row
    added : (k, 2)
    added_sign : -1 or 1, the class of each added row
    before : name -> (w1, w2, b)
    after : name -> (w1, w2, b) with the added rows
    errors : wrong among the first rows, without and with the added ones
    labels : names of the classes
    names : names of the two axes
    outputs_ : dictionary name -> line; before_, after_ : dictionary name -> boundary; rows_, added_
    """

    X: np.ndarray
    sign: np.ndarray
    added: np.ndarray
    added_sign: np.ndarray
    before: dict[str, np.ndarray]
    after: dict[str, np.ndarray]
    errors: dict[str, tuple[int, int]]
    labels: tuple[str, str]
    names: tuple[str, str]
    _widths = (3.4, 3.9, 3.9)
    _height = 4.0

    @classmethod
    def from_data(
        cls, X: Any, y: Any, added: Any, added_labels: Any, *, third: str = "SVM", C: float = 1.0
    ) -> ThreeModelsDisplay:
        """Fit the three without and with the added rows.

        Parameters
        ----------
        added, added_labels : the rows that pull, and their classes
        third : "SVM" or "perceptron"
        C : of the logistic regression and the SVM
        """
        third_models = ("SVM", "perceptron")
        if third not in third_models:
            raise ValueError(f"third is one of {list(third_models)}; got {written(third)}")
        rows, more = in_plane(X), in_plane(np.atleast_2d(np.asarray(added, dtype=np.float64)))
        classes, sign = signs_of(y)
        extra = np.where(np.ravel(added_labels) == classes[1], 1.0, -1.0)
        if extra.size != len(more) or not np.isin(np.ravel(added_labels), classes).all():
            raise ValueError(f"there are {len(more)} added rows: give a label of {classes.tolist()} for each")
        before = _three(rows, sign, third, C)
        after = _three(np.vstack([rows, more]), np.append(sign, extra), third, C)
        errors = {name: (_wrong(before[name], rows, sign), _wrong(after[name], rows, sign)) for name in before}
        first, second = names_of(X)
        labels = (short(classes[0]), short(classes[1]))
        return cls(rows, sign, more, extra, before, after, errors, labels, (plain(first), plain(second)))

    def turned(self, name: str) -> float:
        """How far the added rows turned a boundary, in degrees. ``name`` is that of the model."""
        return angle_between(self.before[name][:2], self.after[name][:2])

    @property
    def title(self) -> str:
        """What the picture says, in one sentence."""
        name = max(self.after, key=self.turned)
        rest = max(self.turned(other) for other in self.after if other != name)
        return f"{name} turns by {self.turned(name):.0f}°, the others by {rest:.0f}° at most"

    def _draw(self) -> None:
        signal, here, there = self.axes_
        s = np.linspace(-4.0, 4.0, 401)
        made = (s, 2.0 / (1.0 + np.exp(-s)) - 1.0, np.where(s > 0.0, 1.0, -1.0))
        looks = {
            name: {
                "color": (COLOURS[5], COLOURS[0], INK)[k],
                "linestyle": DASHES[(0, 1, 3)[k]],
                "linewidth": (2.2, 1.8, 1.6)[k],
            }
            for k, name in enumerate(self.before)
        }
        self.outputs_ = {}
        for name, values in zip(self.before, made):
            label = {"least squares": "least squares: s", "logistic": "logistic: 2θ(s) − 1"}.get(
                name, f"{name}: sign s"
            )
            (self.outputs_[name],) = signal.plot(s, values, label=label, **looks[name])
        signal.axhline(0.0, color=GREY, linewidth=0.6)
        signal.set(xlabel="signal s = ⟨w, x⟩ + b", ylabel="output", ylim=(-2.2, 2.2))
        below(signal, columns=1)
        say(signal, "one signal, three outputs")
        low, high = window(np.vstack([self.X, self.added]))
        self.rows_ = []
        self.before_: dict[str, Any] = {}
        self.after_: dict[str, Any] = {}
        for ax, models, kept in ((here, self.before, self.before_), (there, self.after, self.after_)):
            self.rows_.append(draw_rows(ax, self.X, self.sign > 0, self.labels))
            for name, theta in models.items():
                wrong = self.errors[name][0 if models is self.before else 1]
                kept[name] = draw_line(
                    ax, theta[:2], theta[2], low, high, label=f"{name}: {wrong} wrong", **looks[name]
                )
            ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), xlabel=self.names[0], ylabel=self.names[1])
        self.added_ = draw_rows(there, self.added, self.added_sign > 0, size=46.0)
        below(here)
        below(there)
        say(here, "three boundaries")
        say(there, f"{counted(len(self.added), 'row')} more: " + self.title)


def _three(X: np.ndarray, y: np.ndarray, third: str, C: float) -> dict[str, np.ndarray]:
    last: Any = LinearSVC(loss="hinge", C=C) if third == "SVM" else Perceptron(variant="pocket")
    models = {"least squares": LeastSquaresClassifier(), "logistic": LogisticRegression(C=C), third: last}
    found = {}
    for name, model in models.items():
        with config_context(convergence="ignore"):
            model.fit(X, y)
        found[name] = np.array([*np.ravel(model.coef_), *np.ravel(model.intercept_)])
    return found


def _wrong(theta: np.ndarray, X: np.ndarray, sign: np.ndarray) -> int:
    return int(((X @ theta[:2] + theta[2] > 0.0) != (sign > 0.0)).sum())
