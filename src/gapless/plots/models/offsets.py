"""OffsetsDisplay: the hard margin with a free, with a penalised and without an offset."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from gapless._runtime.results import result
from gapless.errors import NotSeparable
from gapless.estimators.linear_svc import LinearSVC
from gapless.plots.plane import names_of, window
from gapless.plots.rows import draw_line, draw_rows, in_plane, signs_of
from gapless.plots.style import COLOURS, INK, Display, below, plain, say, short

__all__ = ["OffsetsDisplay"]


@result
@dataclass(frozen=True)
class Side:
    """One hard margin, and the same after all rows were moved, moved back.

    Attributes
    ----------
    kind : "none", "free" or "penalised"
    w : None where no such hyperplane separates the rows
    b : its offset
    moved_w : w after the shift, None where nothing separates
    moved_b : offset after the shift, moved back
    """

    kind: str
    w: np.ndarray | None
    b: float
    moved_w: np.ndarray | None
    moved_b: float

    @property
    def margin(self) -> float:
        """1/|w|; 0 where nothing separates the rows."""
        return float(1.0 / np.linalg.norm(self.w)) if self.w is not None else 0.0

    def __str__(self) -> str:
        if self.w is None:
            return f"{self.kind} offset: no such hyperplane separates the rows"
        return f"{self.kind} offset: margin {self.margin:.6g}, b = {self.b:.6g}"


@dataclass(eq=False, repr=False)
class OffsetsDisplay(Display):
    """min ½‖w‖² (+ ½b² where b is penalised), subject to y (⟨w, x⟩ + b) ≥ 1.

    Each panel has the boundary of one of them, and, dashed, that of the rows shifted by a constant and shifted back: only a free
    offset does not care where the origin is.

    Attributes
    ----------
    X : (n, 2): the rows
    sign : -1 or 1, the class of each row
    shift : (2,): constant that was added to all rows
    sides : one `Side` for each kind of offset
    labels : names of the classes
    names : names of the two axes
    lines_ : dictionary kind -> (boundary, boundary after the shift), None where there is none; rows_
    """

    X: np.ndarray
    sign: np.ndarray
    shift: np.ndarray
    sides: tuple[Side, ...]
    labels: tuple[str, str]
    names: tuple[str, str]
    _offsets: ClassVar = {"free": "free offset", "penalised": "penalised offset", "none": "no offset"}
    _widths = (3.6, 3.6, 3.6)
    _height = 4.3

    @classmethod
    def from_data(cls, X: Any, y: Any, *, shift: Any = 2.0) -> OffsetsDisplay:
        """Three hard margins of X, and three of X + shift (a number, or one for each feature)."""
        rows = in_plane(X)
        classes, sign = signs_of(y)
        by = np.broadcast_to(np.asarray(shift, dtype=np.float64), (2,)).copy()
        sides = []
        for kind in cls._offsets:
            w, b = _hard(rows, sign, kind)
            moved_w, moved_b = _hard(rows + by, sign, kind)
            back = 0.0 if moved_w is None else moved_b + float(moved_w @ by)
            sides.append(Side(kind, w, b, moved_w, back))
        first, second = names_of(X)
        return cls(rows, sign, by, tuple(sides), (short(classes[0]), short(classes[1])), (plain(first), plain(second)))

    def title(self, side: Side) -> str:
        """What is seen in one panel. ``side`` is its `Side`."""
        if side.w is None:
            return f"{self._offsets[side.kind]}: no such line separates the classes"
        said = f"{self._offsets[side.kind]}: 1/‖w‖ = {side.margin:.3g}"
        if side.moved_w is None:
            return said + "; none separates the shifted rows"
        turned = float(np.linalg.norm(side.w - side.moved_w)) + abs(side.b - side.moved_b)
        if turned <= 1e-6 * (1.0 + float(np.linalg.norm(side.w)) + abs(side.b)):
            return said + ", shifted or not"
        return said + f"; {1.0 / np.linalg.norm(side.moved_w):.3g} where the rows were shifted"

    def _sentence(self) -> str:
        return "; ".join(self.title(side) for side in self.sides)

    def _draw(self) -> None:
        corners = np.vstack([self.X, np.zeros((1, 2))])
        low, high = window(corners)
        self.lines_, self.rows_ = {}, []
        for ax, side in zip(self.axes_, self.sides):
            self.rows_.append(draw_rows(ax, self.X, self.sign > 0, self.labels))
            ax.plot([0.0], [0.0], "+", color=INK, markersize=9, label="origin")
            first = second = None
            if side.w is not None:
                first = draw_line(ax, side.w, side.b, low, high, linewidth=1.8, label="boundary")
                for level in (-1.0, 1.0):
                    draw_line(ax, side.w, side.b - level, low, high, linewidth=0.8, linestyle=":")
            if side.moved_w is not None:
                second = draw_line(
                    ax, side.moved_w, side.moved_b, low, high, color=COLOURS[5], linewidth=1.6, linestyle="--",
                    label=f"rows shifted by ({self.shift[0]:g}, {self.shift[1]:g})",
                )  # fmt: skip
            self.lines_[side.kind] = (first, second)
            ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), xlabel=self.names[0])
            say(ax, self.title(side))
        self.axes_[0].set_ylabel(self.names[1])
        below(self.axes_[0], columns=2)


def _hard(X: np.ndarray, y: np.ndarray, kind: str) -> tuple[np.ndarray | None, float]:
    model = LinearSVC(C=np.inf, loss="hinge", fit_intercept=kind != "none", penalize_intercept=kind == "penalised")
    try:
        model.fit(X, y)
    except NotSeparable:
        return None, 0.0
    return model.coef_[0].copy(), float(model.intercept_[0])
