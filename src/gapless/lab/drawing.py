"""What a scene draws: panels of layers, and numbers with the public call that gave each. Plain values that JSON can hold.

A ``tone`` is a colour by its meaning, and the page has each one for light and for dark: "plus", "minus", "ink", "mute",
"accent", "good", "bad", "third", "fourth".
"""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Range = tuple[float, float]


@dataclass(frozen=True)
class Number:
    """A figure on the page. ``value`` is what the public call ``source`` returned, ``text`` how a reader sees it."""

    name: str
    value: float | int | str | None
    source: str
    text: str


@dataclass(frozen=True)
class Layer:
    """One kind of mark: "points", "line", "area", "image", "bars", "ticks" or "text", with what its kind needs."""

    kind: str
    content: dict[str, Any]


@dataclass(frozen=True)
class Panel:
    """One picture. ``x`` and ``y`` are its ranges in the units of the data; ``pointer`` says what a mouse does in it:
    "points" moves and adds the points of the state, "" nothing."""

    name: str
    title: str
    x: Range
    y: Range
    layers: tuple[Layer, ...]
    x_label: str = ""
    y_label: str = ""
    x_log: bool = False
    y_log: bool = False
    pointer: str = ""
    x_ticks: bool = True


@dataclass(frozen=True)
class Table:
    """Rows of texts under the pictures. ``bad``: numbers of rows that the page shows as failed."""

    name: str
    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    bad: tuple[int, ...] = ()


@dataclass(frozen=True)
class Drawing:
    """Everything that a state looks like. ``limits`` are ranges of controls that depend on the state, as the last step
    of a run; ``marks`` are places on the scale of a control with what they mean, as 2/L on the rate."""

    sentence: str
    panels: tuple[Panel, ...] = ()
    numbers: tuple[Number, ...] = ()
    limits: dict[str, Range] = field(default_factory=dict)
    marks: dict[str, tuple[float, str]] = field(default_factory=dict)
    tables: tuple[Table, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {
            "sentence": self.sentence,
            "panels": [_panel(panel) for panel in self.panels],
            "numbers": [
                {"name": n.name, "value": exact(n.value), "source": n.source, "text": n.text} for n in self.numbers
            ],
            "limits": {name: list(pair) for name, pair in self.limits.items()},
            "marks": {name: [float(at), words] for name, (at, words) in self.marks.items()},
            "tables": [
                {
                    "name": t.name,
                    "title": t.title,
                    "head": list(t.head),
                    "rows": [list(r) for r in t.rows],
                    "bad": list(t.bad),
                }
                for t in self.tables
            ],
        }


def exact(value: Any) -> str:
    """A figure as Python prints it: every digit, so that the page and a program can be compared."""
    return value if isinstance(value, str) else repr(value)


def shown_gap(value: Any, rounding: float) -> str:
    """A gap for a reader: one at most as large as its proved ``rounding``, or below 0, is rounding and is called that."""
    if isinstance(value, float) and value <= max(rounding, 0.0):
        return f"0, to rounding ({_power(f'{max(rounding, abs(value)):.0e}')})" if value != 0.0 else "0"
    return shown(value)


def _power(text: str) -> str:
    """3e-07 as people write it: 3·10⁻⁷."""
    raised = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
    digits, e, power = text.replace("-", "−", text.startswith("-")).partition("e")
    return f"{digits}·10{str(int(power)).translate(raised)}" if e else text.replace("-", "−")


def shown(value: Any, digits: int = 6) -> str:
    """A figure for a reader."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return f"{value:,}"
    if math.isnan(value):
        return "not defined"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    return _power(f"{value:.{digits}g}")


def points(
    xy: Any, tone: Any = "ink", look: Any = "solid", size: Any = 1.0, drag: bool = False, name: str = "", ring: Any = ()
) -> Layer:
    """Points; ``tone``, ``look`` and ``size`` are one for all or one for each. ``drag``: they are the state's own, in order.
    ``ring``: numbers of points with a ring around them."""
    xy = np.asarray(xy, dtype=float).reshape(-1, 2)
    content = {
        "xy": rounded(xy),
        "tone": _each(tone),
        "look": _each(look),
        "size": _each(size),
        "drag": drag,
        "name": name,
    }
    content["ring"] = [int(i) for i in ring]
    return Layer("points", content)


def line(xy: Any, tone: str = "ink", look: str = "solid", name: str = "") -> Layer:
    """A curve through points; it is broken where a value is not finite."""
    return Layer(
        "line", {"xy": rounded(np.asarray(xy, dtype=float).reshape(-1, 2)), "tone": tone, "look": look, "name": name}
    )


def area(xy: Any, tone: str = "accent", name: str = "") -> Layer:
    return Layer("area", {"xy": rounded(np.asarray(xy, dtype=float).reshape(-1, 2)), "tone": tone, "name": name})


def bars(edges: Any, heights: Any, tone: str = "accent", name: str = "") -> Layer:
    """Bars between neighbouring edges."""
    return Layer("bars", {"edges": _flat(edges), "heights": _flat(heights), "tone": tone, "name": name})


def histogram(
    name: str,
    title: str,
    values: Any,
    of: Any,
    classes: dict[Any, str],
    span: Range,
    label: str,
    marks: Sequence[Layer] = (),
) -> Panel:
    """How often each value comes, by class and its name, the first in the tone "minus". ``marks``: lines from 0 to 1 over it."""
    edges = np.linspace(*span, 25)
    heights = [np.histogram(np.clip(values, *span)[np.asarray(of) == one], edges)[0] for one in classes]
    top = 1.1 * max(1, *(int(h.max()) for h in heights))
    named = [bars(edges, h, tone, one) for h, tone, one in zip(heights, ("minus", "plus"), classes.values())]
    raised = [Layer(mark.kind, {**mark.content, "xy": [[x, top * y] for x, y in mark.content["xy"]]}) for mark in marks]
    return Panel(name, title, span, (0.0, float(top)), (*named, *raised), label)


def text(x: float, y: float, words: str, tone: str = "mute", anchor: str = "start") -> Layer:
    return Layer("text", {"x": float(x), "y": float(y), "text": words, "tone": tone, "anchor": anchor})


def image(values: Any, x: Range, y: Range, name: str = "", smooth: bool = True) -> Layer:
    """A surface: row 0 is the lowest y. ``values`` in [−1, 1] go from the tone "minus" to "plus", in 255 steps.
    ``smooth``: the page blends neighbouring cells; not so for the rectangles of a tree."""
    grid = np.clip(np.nan_to_num(np.asarray(values, dtype=float)), -1.0, 1.0)
    steps = np.round(grid * 127.0).astype(np.int8)
    content = {"rows": grid.shape[0], "columns": grid.shape[1], "data": base64.b64encode(steps.tobytes()).decode()}
    return Layer("image", {**content, "x": list(x), "y": list(y), "name": name, "smooth": smooth})


def contour(
    values: Any, level: float, x: Range, y: Range, tone: str = "ink", look: str = "solid", name: str = ""
) -> Layer:
    """Where a surface of cells has one value: a stroke in each triangle of neighbouring cell middles that the level crosses.

    One more ring of cells goes on as straight as the surface ends, so that no line stops short of the edge."""
    grid = np.pad(np.nan_to_num(np.asarray(values, dtype=float)) - level, 1, mode="reflect", reflect_type="odd")
    grid[grid == 0.0] = np.finfo(float).tiny
    rows, columns = grid.shape
    at_x = x[0] + (x[1] - x[0]) * (np.arange(columns) - 0.5) / (columns - 2)
    at_y = y[0] + (y[1] - y[0]) * (np.arange(rows) - 0.5) / (rows - 2)
    place = np.stack(np.meshgrid(at_x, at_y), axis=-1)
    a, b, c, d = (np.s_[:-1, :-1], np.s_[:-1, 1:], np.s_[1:, 1:], np.s_[1:, :-1])
    strokes = []
    for corners in ((a, b, c), (a, c, d)):
        height = np.stack([grid[k] for k in corners], axis=-1).reshape(-1, 3)
        where = np.stack([place[k] for k in corners], axis=-2).reshape(-1, 3, 2)
        up = height > 0.0
        crossed = up.any(axis=1) & ~up.all(axis=1)
        height, where, up = height[crossed], where[crossed], up[crossed]
        lone = np.where(up.sum(axis=1) == 1, up.argmax(axis=1), (~up).argmax(axis=1))  # the corner on a side of its own
        row = np.arange(len(lone))
        ends = []
        for k in (1, 2):
            other = (lone + k) % 3
            share = height[row, lone] / (height[row, lone] - height[row, other])
            ends.append(where[row, lone] + share[:, None] * (where[row, other] - where[row, lone]))
        strokes.append(np.stack([*ends, np.full_like(ends[0], np.nan)], axis=1))
    return line(np.concatenate(strokes).reshape(-1, 2), tone, look, name)


def rounded(xy: np.ndarray) -> list[list[float | None]]:
    """Places on a picture, to 5 digits: more than any screen shows. None where not finite."""
    return [[_five(x), _five(y)] for x, y in xy.tolist()]


def _five(x: float) -> float | None:
    return float(f"{x:.5g}") if math.isfinite(x) else None


def _flat(values: Any) -> list[float | None]:
    return [_five(float(v)) for v in np.asarray(values, dtype=float).ravel()]


def _each(value: Any) -> Any:
    if isinstance(value, str | int | float):
        return value
    return [v.item() if isinstance(v, np.generic) else v for v in value]


def _panel(panel: Panel) -> dict[str, Any]:
    plain = {
        key: getattr(panel, key)
        for key in ("name", "title", "x_label", "y_label", "x_log", "y_log", "x_ticks", "pointer")
    }
    ranges = {"x": [float(v) for v in panel.x], "y": [float(v) for v in panel.y]}
    return {**plain, **ranges, "layers": [{"kind": layer.kind, **layer.content} for layer in panel.layers]}


def tones_of(y: Sequence[int] | np.ndarray) -> list[str]:
    return ["plus" if label > 0 else "minus" for label in y]
