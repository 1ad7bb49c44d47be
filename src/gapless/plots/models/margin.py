"""MarginDisplay: the boundary f = 0, the margins f = ±1, and every row by its complementary-slackness class."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from gapless._runtime.written import counted, written
from gapless.plots.plane import Plane, ask, dense, grid, names_of, plane_of, segment, window
from gapless.plots.rows import number_classes
from gapless.plots.style import COLOURS, GREY, INK, MARKERS, PALE, WASH, Display, beside, say, short
from gapless.readings.slackness import LEFT_OUT

__all__ = ["MarginDisplay"]


@dataclass(eq=False, repr=False)
class MarginDisplay(Display):
    """Where a classifier of two classes draws its line, and which rows hold it there.

    Rows differ by class (marker) and by slackness class: hollow where alpha = 0, filled with a dark rim where 0 < alpha < C,
    filled where alpha = C; around a support vector lies a ring whose area is proportional to alpha; a cross marks a mistake.
    For rows that were not trained on there is no alpha: they are read from the primal, yf above, at or below 1.

    Attributes
    ----------
    plane : the plane of the picture, and how rows are placed in it
    points : (n, 2)
    positive : bool, the class of each row
    scores : f of each row
    reading : slackness class 0, 1, 2 of each row; -1 for rows of weight 0; None where there is none
    source : what it was read from: "dual", "primal" or ""
    alpha : multiplier of each row, None where none is known
    line : (v, c): f = <v, p> + c on the plane, where f is linear
    low : lower left corner of the picture
    high : upper right corner of the picture
    xs : grid along the first axis
    ys : grid along the second axis
    surface : f on the grid of xs and ys
    labels : names of the classes
    name : its name
    width : 1/|w|
    boundary_, margins_ : lines (linear scores) or contours; margins_ is None where f = ±1 has no meaning
    rows_ : dictionary (class 0 or 1, slackness class) -> markers; rings_, mistakes_, strip_, legend_
    """

    plane: Plane
    points: np.ndarray
    positive: np.ndarray
    scores: np.ndarray
    reading: np.ndarray | None
    source: str
    alpha: np.ndarray | None
    line: tuple[np.ndarray, float] | None
    low: np.ndarray
    high: np.ndarray
    xs: np.ndarray
    ys: np.ndarray
    surface: np.ndarray
    labels: tuple[str, str]
    name: str
    width: float | None
    _marker_area = 22.0  # points²
    _widths = (6.4,)
    _height = 4.2

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        features: Any = None,
        at: Any = None,
        positive: Any = None,
        resolution: int = 160,
        tol: float = 1e-3,
    ) -> MarginDisplay:
        """Read a fitted classifier (or a pipeline that ends in one) on rows X with labels y.

        ``estimator`` is fitted, or a pipeline of such.

        Parameters
        ----------
        features, at : two features by name or number, and the values of the others: a slice.  Without them, more than two
            features are seen along w where the score is linear, and in the plane of the main axes where it is not
        positive : more than two classes: the class that is drawn against the others, or a pair of classes for SVC and NuSVC
        resolution : points of the grid in each direction
        tol : distance of yf from 1 up to which a row reads as lying on the margin
        """
        # Late: it loads scikit-learn and numba, 1.1 s, which the process that draws the pictures of a page does not need.
        from gapless.certificates.verify import last_step

        names = names_of(X, estimator)
        model, X = last_step(estimator, X)
        rows = dense(X)
        if rows.shape[1] != len(names):
            names = names_of(rows)
        if getattr(model, "kernel", None) == "precomputed" or callable(getattr(model, "kernel", None)):
            raise TypeError("this model knows rows by their kernel values alone: there is no plane of features to draw")
        task = _Task.of(model, positive)
        sign, kept = task.signs(y)
        if sign.size != len(rows):
            raise ValueError(f"X has {len(rows)} rows, y {sign.size}")
        f = task.score(rows)
        reading, source, alpha = task.read(X, sign * f, tol)
        rows, sign, f = rows[kept], sign[kept], f[kept]
        reading, alpha = (None if a is None else a[kept] for a in (reading, alpha))
        w, b = task.hyperplane(rows, f)
        plane = plane_of(rows, names, features, at, w)
        points = plane.place(rows)
        if rows.shape[1] == 1:  # one feature: rows of a class side by side on their own line
            points[:, 1] = np.where(sign > 0, 1.0, 0.0) + 0.3 * ((np.arange(len(rows)) * 0.618034) % 1.0 - 0.5)
        low, high = window(points)
        xs, ys, cells = grid(low, high, int(resolution))
        surface = task.score(plane.rows(cells)).reshape(len(ys), len(xs))
        line = None if w is None else plane.line(w, b)
        width = None if w is None or not w.any() else float(1.0 / np.linalg.norm(w))
        return cls(
            plane, points, sign > 0, f, reading, source, alpha, line, low, high, xs, ys, surface, task.labels, task.name, width
        )  # fmt: skip

    @property
    def wrong(self) -> np.ndarray:
        """Rows on the side of the other class."""
        return (self.scores > 0.0) != self.positive

    @property
    def support(self) -> np.ndarray:
        """Rows with alpha > 0, where alpha is known."""
        return np.zeros(len(self.points), bool) if self.source != "dual" or self.reading is None else self.reading > 0

    @property
    def title(self) -> str:
        """What the picture says, in one sentence."""
        n = len(self.points)
        said = []
        if self.width is not None and self.source:
            said.append(f"margin 1/‖w‖ = {self.width:.3g}")
        if self.source == "dual" and self.reading is not None:
            on, full = int((self.reading == 1).sum()), int((self.reading == 2).sum())
            said.append(f"{on + full:,} of {n:,} rows are support vectors, {on:,} with 0 < α < C")
        elif self.source == "primal" and self.reading is not None:
            said.append(f"{int((self.reading == 2).sum()):,} of {n:,} rows have yf < 1")
        said.append(f"{int(self.wrong.sum()):,} on the wrong side")
        return f"{self.name}: " + ", ".join(said) + (f" ({self.plane.said})" if self.plane.said else "")

    def _draw(self) -> None:
        ax = self.ax_
        self._draw_scores(ax)
        self._draw_rows(ax)
        ax.set(xlim=(self.low[0], self.high[0]), ylim=(self.low[1], self.high[1]))
        ax.set(xlabel=self.plane.names[0], ylabel=self.plane.names[1])
        if self.points.shape[1] == 2 and not self.plane.names[1]:
            ax.set_yticks([0.0, 1.0], labels=self.labels)
        self.legend_ = beside(ax, self._handles())
        say(ax, self.title)

    def _draw_scores(self, ax: Any) -> None:
        levels = (-1.0, 1.0) if self.source else ()
        self.strip_ = self.margins_ = None
        if levels and self.surface.min() < 1.0 and self.surface.max() > -1.0:
            self.strip_ = ax.contourf(self.xs, self.ys, self.surface, levels=levels, colors=[WASH], zorder=0)
        if self.line is None:
            self.boundary_ = ax.contour(self.xs, self.ys, self.surface, levels=[0.0], colors=[INK], linewidths=1.8)
            if levels:
                self.margins_ = ax.contour(
                    self.xs, self.ys, self.surface, levels=levels, colors=[INK], linewidths=1.1, linestyles="--"
                )
            return
        v, c = self.line
        ends = segment(v, c, self.low, self.high)
        (self.boundary_,) = ax.plot(*ends.T, color=INK, linewidth=1.8)
        if levels:
            self.margins_ = [
                ax.plot(*segment(v, c - level, self.low, self.high).T, color=INK, linewidth=1.1, linestyle="--")[0]
                for level in levels
            ]

    def _draw_rows(self, ax: Any) -> None:
        pixels = len(self.points) > 3_000  # so many markers are stored as pixels in vector files
        reading = np.full(len(self.points), 2) if self.reading is None else self.reading
        self.rows_, self.rings_ = {}, None
        for which in (0, 1):
            for kind in (LEFT_OUT, 0, 1, 2):
                here = (self.positive == bool(which)) & (reading == kind)
                if here.any():
                    self.rows_[which, kind] = ax.scatter(
                        *self.points[here].T, marker=MARKERS[which], **self._look(which, kind), zorder=2.5, rasterized=pixels
                    )  # fmt: skip
        if self.alpha is not None and self.support.any() and self.alpha.max() > 0.0:
            held = self.support
            areas = 260.0 * self.alpha[held] / self.alpha[held].max()
            self.rings_ = ax.scatter(
                *self.points[held].T, s=areas, facecolors="none", edgecolors=GREY, linewidths=0.7, zorder=2, rasterized=pixels
            )  # fmt: skip
        self.mistakes_ = None
        if self.wrong.any():
            self.mistakes_ = ax.scatter(
                *self.points[self.wrong].T, marker="x", s=2.2 * self._marker_area, color=INK, linewidths=1.2, zorder=3
            )

    def _handles(self) -> list[Any]:
        from matplotlib.lines import Line2D

        def mark(marker: str, label: str, **look: Any) -> Any:
            return Line2D([], [], linestyle="none", marker=marker, markersize=5.5, label=label, **look)

        found = []
        for which in (1, 0):
            n = int((self.positive == bool(which)).sum())
            look = {"markerfacecolor": COLOURS[which], "markeredgecolor": COLOURS[which]}
            found.append(mark(MARKERS[which], f"{self.labels[which]}: {counted(n, 'row')}", **look))
        if self.reading is not None:
            words = ("α = 0", "0 < α < C", "α = C") if self.source == "dual" else ("yf > 1", "yf = 1", "yf < 1")
            looks: tuple[dict[str, Any], ...] = (
                {"markerfacecolor": "white", "markeredgecolor": GREY},
                {"markerfacecolor": PALE, "markeredgecolor": INK, "markeredgewidth": 1.3},
                {"markerfacecolor": PALE, "markeredgecolor": PALE},
            )
            for kind, look in enumerate(looks):
                n = int((self.reading == kind).sum())
                found.append(mark("o", f"{words[kind]}: {n:,}", **look))
        if self.rings_ is not None:
            ring: dict[str, Any] = {"markerfacecolor": "none", "markeredgecolor": GREY, "markeredgewidth": 0.7}
            found.append(Line2D([], [], linestyle="none", marker="o", markersize=11, label="area as α", **ring))
        if self.mistakes_ is not None:
            found.append(mark("x", f"wrong side: {int(self.wrong.sum()):,}", color=INK))
        found.append(Line2D([], [], color=INK, linewidth=1.8, label="f = 0"))
        if self.margins_ is not None:
            found.append(Line2D([], [], color=INK, linewidth=1.1, linestyle="--", label="f = ±1"))
        return found

    def _look(self, which: int, kind: int) -> dict[str, Any]:
        """Of the markers of a class and a slackness class."""
        area, colour = self._marker_area, COLOURS[which]
        if kind == LEFT_OUT:
            return {"s": 0.4 * area, "facecolors": PALE, "edgecolors": PALE, "linewidths": 0.6}
        rim, width = ((colour, 0.9), (INK, 1.3), (colour, 0.9))[kind]
        return {"s": area, "facecolors": "white" if kind == 0 else colour, "edgecolors": rim, "linewidths": width}


@dataclass(frozen=True)
class _Task:
    """One two-class question that a model answers: its score, its signs, its line among the subproblems."""

    model: Any
    kind: str  #: "two", "rest" (column of a one-against-rest model), "best other" (of one loss for all), "pair"
    first: int
    second: int
    column: int

    @classmethod
    def of(cls, model: Any, positive: Any) -> _Task:
        name = type(model).__name__
        if not hasattr(model, "decision_function"):
            raise TypeError(f"{name} has no decision_function: there is no score whose zero could be drawn")
        if not hasattr(model, "classes_"):
            raise TypeError(f"{name} is no fitted classifier")
        classes = np.asarray(model.classes_)
        if classes.size == 2:
            return cls(model, "two", 0, 1, 0)
        if positive is None:
            raise ValueError(
                f"there are {classes.size} classes: say which is drawn, positive=one of {classes.tolist()}"
            )
        if hasattr(model, "decision_function_shape"):
            if np.size(positive) != 2 or isinstance(positive, str):
                raise ValueError(f"{name} compares classes in pairs: positive=(a, b), two of {classes.tolist()}")
            a, b = sorted(int(i) for i in number_classes(list(positive), classes).index)
            if a == b:
                raise ValueError(f"positive= names two different classes; got {written(positive)}")
            pairs = [(i, j) for i in range(classes.size) for j in range(i + 1, classes.size)]
            return cls(model, "pair", a, b, pairs.index((a, b)))
        k = int(number_classes([positive], classes).index[0])
        loss = getattr(getattr(model, "certificate_", None), "statement", {}).get("problem", {}).get("loss")
        return cls(model, "best other" if loss == "softmax" else "rest", -1, k, k)

    @property
    def name(self) -> str:
        C = getattr(self.model, "C", None)
        said = type(self.model).__name__
        if isinstance(C, int | float):
            said += ", C = ∞" if C == np.inf else f", C = {C:g}"
        return said

    @property
    def labels(self) -> tuple[str, str]:
        classes = np.asarray(self.model.classes_).tolist()
        return "the others" if self.first < 0 else short(classes[self.first]), short(classes[self.second])

    def signs(self, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """±1 for each row, and the rows that take part."""
        index = number_classes(y, np.asarray(self.model.classes_)).index
        sign = np.where(index == self.second, 1.0, -1.0)
        kept = np.ones(index.size, bool) if self.kind != "pair" else (index == self.first) | (index == self.second)
        return sign, kept

    def score(self, rows: np.ndarray) -> np.ndarray:
        if self.kind == "pair":
            each = ask(copy.copy(self.model).set_params(decision_function_shape="ovo"), "decision_function", rows)
            return -each[:, self.column]  # positive for the first of a pair, as scikit-learn has it
        found = ask(self.model, "decision_function", rows).astype(np.float64, copy=False)
        if self.kind == "two":
            return found
        if self.kind == "best other":
            return found[:, self.column] - np.delete(found, self.column, axis=1).max(axis=1)
        return found[:, self.column]

    def hyperplane(self, rows: np.ndarray, f: np.ndarray) -> tuple[np.ndarray | None, float]:
        """w and b where the score is linear: what coef_ says is believed if the rows say so too."""
        try:
            coef = self.model.coef_
        except (AttributeError, TypeError):
            return None, 0.0
        if self.kind == "best other":
            return None, 0.0
        coef = np.atleast_2d(np.asarray(coef.toarray() if hasattr(coef, "toarray") else coef, dtype=np.float64))
        b = np.ravel(np.asarray(self.model.intercept_, dtype=np.float64))
        sign = -1.0 if self.kind == "pair" else 1.0
        w, offset = sign * coef[self.column], sign * float(b[self.column if b.size > 1 else 0])
        if w.size != rows.shape[1] or not np.allclose(
            rows @ w + offset, f, rtol=1e-6, atol=1e-6 * (1.0 + np.abs(f).max())
        ):
            return None, 0.0
        return w, offset

    def read(self, X: Any, yf: np.ndarray, tol: float) -> tuple[np.ndarray | None, str, np.ndarray | None]:
        """The slackness class of each row and where it was read; alpha where the rows were trained on."""
        from gapless.readings.training_rows import is_training_data

        if not hasattr(type(self.model), "slackness_") or self.kind == "best other":
            return None, "", None
        alpha = None
        if is_training_data(self.model, X):
            try:
                alpha = np.atleast_2d(self.model.alpha_)[self.column]
                found = self.model.slackness_
                return np.atleast_2d(found.from_dual)[self.column].astype(np.int64), "dual", alpha
            except AttributeError:  # loaded from a file, which has alpha but no scores of the training rows
                pass
        primal = np.where(yf > 1.0 + tol, 0, np.where(yf < 1.0 - tol, 2, 1))
        return primal, "primal", alpha
