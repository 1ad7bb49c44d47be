"""SeparationDisplay: whether a hyperplane tells two classes apart, and the rows that prove it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from gapless._runtime.written import counted
from gapless.certificates.separation import Separability, separability
from gapless.plots.plane import Plane, dense, names_of, plane_of, window
from gapless.plots.rows import draw_line, draw_rows
from gapless.plots.style import COLOURS, GREY, INK, PALE, Display, beside, say, short

__all__ = ["SeparationDisplay"]


@dataclass(eq=False, repr=False)
class SeparationDisplay(Display):
    """The proof as a picture. The multipliers of a class, over their sum, weigh its rows to a point of its hull.

    complete   the two points are the nearest ones of the hulls: the strip between them is as wide as any can be
    overlap    the two points are one, the star: it lies in both hulls, so that no hyperplane has them on two sides
    quasi      the same on the separating hyperplane, which touches both hulls

    Of more than two features a projection is drawn (along w, or the main axes); means stay means there.

    Attributes
    ----------
    found : the `Separability` that is drawn
    plane : the plane of the picture, and how rows are placed in it
    points : (n, 2): the rows in the plane
    positive : whether each row is of the second class
    weights : multiplier over the sum of its class, for the rows of the proof
    centres : (2, 2): the weighted mean of each class in the plane
    low : lower left corner of the picture
    high : upper right corner of the picture
    rows_ (a list, a class each), hulls_, rings_, nearest_ (two points), star_, spokes_, boundary_, margins_ : artists or None
    """

    found: Separability
    plane: Plane
    points: np.ndarray
    positive: np.ndarray
    weights: np.ndarray
    centres: np.ndarray | None
    low: np.ndarray
    high: np.ndarray
    _widths = (6.2,)
    _height = 4.0

    @classmethod
    def from_data(cls, X: Any, y: Any, *, fit_intercept: bool = True, sample_weight: Any = None) -> SeparationDisplay:
        """Ask ``separability(X, y)`` first. ``fit_intercept``: whether hyperplanes have an offset."""
        return cls.from_separability(separability(X, y, fit_intercept, sample_weight), X, y)

    @classmethod
    def from_separability(cls, found: Separability, X: Any, y: Any) -> SeparationDisplay:
        """Of what ``separability`` returned for these rows. ``found`` is a `Separability`."""
        if found.classes.size != 2:
            raise ValueError(
                f"this picture is of two classes; there are {found.classes.size}: ask for one of them against the others"
            )
        rows, labels = dense(X), np.asarray(y).ravel()
        if len(rows) != found.n_rows or labels.size != found.n_rows:
            raise ValueError(f"X has {len(rows)} rows and y {labels.size}; the finding is about {found.n_rows}")
        w = None if found.w is None else np.asarray(found.w, dtype=np.float64)
        plane = plane_of(rows, names_of(X), w=w)
        points, positive = plane.place(rows), labels == found.classes[1]
        if rows.shape[1] == 1:
            points[:, 1] = np.where(positive, 1.0, 0.0)
        centres = None
        side = positive[found.rows]
        shares = np.zeros(found.rows.size)
        if found.rows.size and found.offset and side.any() and not side.all():
            for which in (False, True):
                parts = [m for m, s in zip(found.multipliers, side) if bool(s) == which]
                total = sum(parts, Fraction(0))
                shares[side == which] = [float(m / total) for m in parts]
            centres = np.array([shares[side == s] @ points[found.rows[side == s]] for s in (False, True)])
        low, high = window(points)
        return cls(found, plane, points, positive, shares, centres, low, high)

    @property
    def title(self) -> str:
        """What the picture says, in one sentence."""
        found, n = self.found, self.found.rows.size
        if found.status == "complete":
            tight = found.margin_upper is not None and found.margin_upper <= (found.margin or 0.0) * (1.0 + 1e-6)
            said = f"completely separated: margin {found.margin:.4g}" + (", and none is larger" if tight else "")
        elif found.status == "quasi":
            said = f"quasi-separated: {counted(found.on_plane.size, 'row')} on the hyperplane, none on the wrong side"
        else:
            said = f"not separable: {counted(n, 'row')} prove it, their weighted means agree (star)"
        return said + (f" ({self.plane.said})" if self.plane.said else "")

    def _draw(self) -> None:
        # Area in points² of the ring around the row with the largest multiplier.
        ring_area = 220.0
        ax, found = self.ax_, self.found
        names = [
            f"{short(c)}: {counted(int((self.positive == bool(k)).sum()), 'row')}" for k, c in enumerate(found.classes)
        ]
        self.hulls_ = [self._hull(ax, which) for which in (False, True)]
        self.rows_ = draw_rows(ax, self.points, self.positive, names)
        self.rings_ = self.nearest_ = self.star_ = self.boundary_ = self.margins_ = None
        self.spokes_: list[Any] | None = None
        if found.w is not None and self.plane.exact:
            v, c = self.plane.line(np.asarray(found.w, float), float(found.b))
            self.boundary_ = draw_line(ax, v, c, self.low, self.high, linewidth=1.8, label="⟨w, x⟩ + b = 0")
            if found.status == "complete":
                step = float(found.margin or 0.0) * float(np.linalg.norm(found.w))
                look = {"linewidth": 1.1, "linestyle": "--"}
                self.margins_ = [draw_line(ax, v, c - s * step, self.low, self.high, **look) for s in (-1.0, 1.0)]
                self.margins_[0].set_label("margin")
        if found.rows.size:
            held = self.points[found.rows]
            sizes = (
                ring_area * self.weights / max(float(self.weights.max()), 1e-300) if self.weights.any() else ring_area
            )
            self.rings_ = ax.scatter(
                *held.T, s=sizes, facecolors="none", edgecolors=INK, linewidths=0.9, zorder=3,
                label=f"the proof: {counted(found.rows.size, 'row')}, area as multiplier",
            )  # fmt: skip
        if self.centres is not None:
            self._draw_centres(ax)
        ax.set(xlim=(self.low[0], self.high[0]), ylim=(self.low[1], self.high[1]))
        ax.set(xlabel=self.plane.names[0], ylabel=self.plane.names[1])
        beside(ax)
        say(ax, self.title)

    def _draw_centres(self, ax: Any) -> None:
        assert self.centres is not None
        if self.found.status == "complete":
            (self.nearest_,) = ax.plot(
                *self.centres.T, "-", color=COLOURS[2], linewidth=2.4, zorder=2, label="nearest points of the hulls",
                marker="o", markersize=4,
            )  # fmt: skip
            return
        star = self.centres.mean(axis=0)
        self.spokes_ = [
            ax.plot([p[0], star[0]], [p[1], star[1]], color=GREY, linewidth=0.8, zorder=2)[0]
            for p in self.points[self.found.rows]
        ]
        (self.star_,) = ax.plot(*star, "*", color=INK, markersize=13, zorder=4, linestyle="none", label="in both hulls")

    def _hull(self, ax: Any, which: bool) -> Any:
        """The outline of a class; None where it is flat."""
        from scipy.spatial import ConvexHull, QhullError

        rows = self.points[self.positive == which]
        try:
            corners = rows[ConvexHull(rows).vertices]
        except (QhullError, ValueError, IndexError):
            return None
        k = int(which)
        return ax.fill(*corners.T, facecolor="none", edgecolor=PALE, linewidth=0.9, linestyle=("-", "--")[k], zorder=1)[
            0
        ]
