"""FeatureMapDisplay: classes that no line divides, before and after a map that lets one do it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gapless._runtime.written import counted, written
from gapless.certificates.separation import Separability, separability
from gapless.plots.plane import Plane, dense, grid, names_of, plane_of, window
from gapless.plots.rows import draw_line, draw_rows, signs_of
from gapless.plots.style import INK, PALE, Display, below, plain, say, short

__all__ = ["FeatureMapDisplay"]


@dataclass(eq=False, repr=False)
class FeatureMapDisplay(Display):
    """``separability`` of the rows and of the mapped rows; the hyperplane there is a curve here.

    The right panel is the plane of the two mapped columns that separate the classes, where so few do, else the view along w.

    Attributes
    ----------
    points : (n, 2)
    positive : whether each row is of the second class
    mapped : (n, 2), in the plane
    plane : the plane of the picture, and how rows are placed in it
    line : (v, c): <v, p> + c = 0 on the right panel, None where nothing separates
    low : lower left corner of the left panel
    high : upper right corner of the left panel
    xs : grid along the first axis
    ys : grid along the second axis
    surface : the separating function on the grid
    before : separability of the rows as they are
    after : separability of the mapped rows
    n_columns : columns of the mapped rows
    labels : names of the classes
    names : names of the two axes
    rows_, mapped_rows_ : lists of markers; curve_ : contour (points, for one feature), None where nothing separates; line_
    """

    points: np.ndarray
    positive: np.ndarray
    mapped: np.ndarray
    plane: Plane
    line: tuple[np.ndarray, float] | None
    low: np.ndarray
    high: np.ndarray
    xs: np.ndarray
    ys: np.ndarray
    surface: np.ndarray | None
    before: Separability
    after: Separability
    n_columns: int
    labels: tuple[str, str]
    names: tuple[str, str]
    _widths = (4.3, 4.3)
    _height = 3.9

    @classmethod
    def from_data(cls, X: Any, y: Any, features: Any, *, resolution: int = 201) -> FeatureMapDisplay:
        """X of one or two features, and the map: a transformer (fit_transform) or a function of an array (n, d).

        ``resolution``: points of the grid along each axis.
        """
        rows = dense(X)
        if rows.shape[1] > 2:
            raise ValueError(f"this picture is of one or two features; X has {rows.shape[1]}")
        classes, sign = signs_of(y)
        apply, names = _map(features, rows)
        mapped = dense(apply(rows))
        before, after = separability(rows, y), separability(mapped, y)
        if names is None or len(names) != mapped.shape[1]:
            names = [f"φ{j + 1}" for j in range(mapped.shape[1])]
        names = [_readable(name) for name in names]
        plane, theta = _seen(mapped, names, after)
        points = rows if rows.shape[1] == 2 else np.column_stack([rows[:, 0], np.zeros(len(rows))])
        low, high = window(points, 0.12)
        surface, line = None, None
        xs, ys, cells = grid(low, high, int(resolution))
        if theta is not None:
            w, b = theta
            line = plane.line(w, b)
            surface = (dense(apply(cells[:, : rows.shape[1]])) @ w + b).reshape(len(ys), len(xs))
        first = names_of(X)
        return cls(
            points, sign > 0, plane.place(mapped), plane, line, low, high, xs, ys, surface, before, after, mapped.shape[1],
            (short(classes[0]), short(classes[1])), (plain(first[0]), plain(first[1]) if len(first) == 2 else ""),
        )  # fmt: skip

    def title(self, found: Separability, columns: int) -> str:
        """What ``separability`` says of one of the two.

        ``found`` is a `Separability`, ``columns`` the number of columns it was asked of.
        """
        where = counted(columns, "column")
        if found.status == "complete":
            return f"after the map, {where}: separated, margin {found.margin:.3g}"
        what = "threshold" if columns == 1 else "line"
        said = (
            f"no {what} separates them"
            if found.status == "overlap"
            else f"some rows lie on the only {what} that would do"
        )
        return f"{where}: {said}, as {counted(found.rows.size, 'row')} prove"

    def _sentence(self) -> str:
        return f"{self.title(self.before, 2 if self.names[1] else 1)}; {self.title(self.after, self.n_columns)}"

    def _draw(self) -> None:
        left, right = self.axes_
        flat = not self.names[1]
        self.curve_ = self.line_ = None
        if self.surface is not None and not flat:
            left.contourf(self.xs, self.ys, self.surface, levels=[0.0, np.inf], colors=[PALE], alpha=0.35, zorder=0)
            self.curve_ = left.contour(self.xs, self.ys, self.surface, levels=[0.0], colors=[INK], linewidths=1.8)
        elif self.surface is not None:
            values = self.surface[0]
            turns = np.flatnonzero(np.diff(np.sign(values)) != 0)
            at = self.xs[turns] - values[turns] * np.diff(self.xs)[turns] / (values[turns + 1] - values[turns])
            self.curve_ = left.vlines(at, -0.35, 0.35, color=INK, linewidth=1.6)
            left.set_yticks([])
        self.rows_ = draw_rows(left, self.points, self.positive, self.labels)
        left.set(xlim=(self.low[0], self.high[0]), xlabel=self.names[0], ylabel=self.names[1])
        left.set_ylim((-1.0, 1.0) if flat else (self.low[1], self.high[1]))
        say(left, self.title(self.before, 1 if flat else 2))
        below(left)
        low, high = window(self.mapped, 0.12)
        self.mapped_rows_ = draw_rows(right, self.mapped, self.positive)
        if self.line is not None:
            self.line_ = draw_line(right, *self.line, low, high, linewidth=1.8)
        right.set(
            xlim=(low[0], high[0]), ylim=(low[1], high[1]), xlabel=self.plane.names[0], ylabel=self.plane.names[1]
        )
        say(right, self.title(self.after, self.n_columns))


def _map(features: Any, rows: np.ndarray) -> tuple[Any, Any]:
    if hasattr(features, "fit_transform"):
        from sklearn.base import clone

        made = clone(features).fit(rows)
        names = made.get_feature_names_out() if hasattr(made, "get_feature_names_out") else None
        return made.transform, names
    if not callable(features):
        raise ValueError(f"features is a transformer or a function of an array; got {written(features)}")
    return features, None


def _readable(name: Any) -> str:
    """x0^2 x1 as x0² x1."""
    text = plain(name)
    for digit, raised in zip("23456789", "²³⁴⁵⁶⁷⁸⁹"):
        text = text.replace(f"^{digit}", raised)
    return text.replace(" ", "·")


def _seen(mapped: np.ndarray, names: list[str], found: Separability) -> tuple[Plane, tuple[np.ndarray, float] | None]:
    """The plane that is drawn of the mapped rows, and the hyperplane (w, b) that is a line in it."""
    d = mapped.shape[1]
    if found.status != "complete":
        return plane_of(mapped, names), None
    w, b = np.asarray(found.w, dtype=np.float64), float(found.b)
    if found.columns.size <= 2 and d >= 2:
        few = found.columns.tolist()
        few += [j for j in range(d) if j not in few][: 2 - len(few)]
        if found.narrow is not None:
            exact = np.array([float(v) for v in found.narrow[0]])
            w, b = exact[:d], float(exact[d])
        pair = sorted(few)
        axes = np.zeros((2, d))
        axes[0, pair[0]] = axes[1, pair[1]] = 1.0
        return Plane(np.zeros(d), axes, axes, (names[pair[0]], names[pair[1]]), "features"), (w, b)
    return plane_of(mapped, names, w=w), (w, b)
