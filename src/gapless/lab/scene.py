"""A scene: a pure function from a checked state to a drawing, and a program that prints the same numbers.

The public calls of a scene stand in one function, its *study*. The page runs the study; the exported program holds the study's
source, word for word, and runs it on the same data. So a number on the page, the call that the page names beside it and
the number that the program prints are one thing.
"""

from __future__ import annotations

import ast
import functools
import inspect
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gapless._runtime.written import written

from .drawing import Drawing, Layer, Number, Panel, line, shown, shown_gap
from .grammar import Formula
from .limits import LIMITS
from .state import BOX, Choice, Control, Slider, State, Switch, Words, check_state

#: A study returns its numbers by name, and whatever else the drawing needs.
Study = Callable[..., tuple[dict[str, Any], dict[str, Any]]]


@dataclass(frozen=True)
class Scene:
    """``points``: "classes" (drawn by the user in two classes), "handles" (a fixed number that can be moved), "plain" (one
    class) or "" (none). ``release_above``: with more points the page answers when the mouse button goes up."""

    name: str
    title: str
    sentence: str
    controls: tuple[Control, ...]
    start: Callable[[int], list[list[float]]]
    study: Study
    arguments: Callable[[State], dict[str, Any]]
    draw: Callable[[State, dict[str, Any], dict[str, Any]], Drawing]
    points: str = "classes"
    release_above: int = LIMITS.points
    most: int = LIMITS.points
    helpers: tuple[Callable[..., Any], ...] = ()
    files: tuple[tuple[str, str, str], ...] = ()  #: (slot, what the page calls it, endings that a file dialog offers)
    saves: bool = True  #: there is a fitted model to export
    report: Callable[[State], str] | None = None  #: the page of `gapless.report`, as HTML
    rounding: Callable[[dict[str, Any]], float] = lambda parts: 0.0

    def begin(self, seed: int = 0) -> State:
        return self.check({"points": self.start(seed)})

    def check(self, raw: Any) -> State:
        return check_state(self.controls, raw, self.most, tuple(slot for slot, _, _ in self.files))

    def describe(self) -> dict[str, Any]:
        """What the page needs to know of a scene before its first drawing."""
        return {
            "name": self.name,
            "title": self.title,
            "sentence": self.sentence,
            "points": self.points,
            "most": self.most,
            "release_above": self.release_above,
            "files": [list(file) for file in self.files],
            "most_file": LIMITS.file_bytes,
            "saves": self.saves,
            "reports": self.report is not None,
            "controls": [_control(control) for control in self.controls],
            "state": self.begin().to_json(),
        }

    def look(self, state: State) -> Drawing:
        """The drawing of a state, with its numbers."""
        numbers, parts = self.study(**self.arguments(state))
        drawing = self.draw(state, numbers, parts)
        sources = self.sources()
        rounding = self.rounding(parts)
        listed = tuple(
            Number(name, _plain(value), sources[name], self._shown(name, _plain(value), rounding))
            for name, value in numbers.items()
        )
        return replace(drawing, numbers=listed)

    def _shown(self, name: str, value: Any, rounding: float) -> str:
        return shown_gap(value, rounding) if name == "gap" else shown(value)

    def sources(self) -> dict[str, str]:
        """The call that gives each number, as the study has it."""
        return _sources(self.study)

    def model(self, state: State) -> tuple[Any, str | None]:
        """The fitted model of a state, or None, and the name of its label column: what *Export* saves."""
        parts = self.study(**self.arguments(state))[1]
        return parts.get("model"), parts.get("target")

    def script(self, state: State) -> str:
        """A program that prints the numbers of the page."""
        given = self.arguments(state)
        lines = [
            f'"""gapless lab: {self.title}. Prints the numbers that the page showed."""',
            "",
            "import numpy as np",
            "",
        ]
        lines += ["import gapless", ""]
        lines += [f"{name} = {_literal(value)}" for name, value in given.items()]
        for function in (*self.helpers, self.study):
            lines += ["", "", textwrap.dedent(inspect.getsource(function)).rstrip()]
        called = ", ".join(f"{name}={name}" for name in given)
        lines += ["", "", f"numbers, parts = {self.study.__name__}({called})", "for name, value in numbers.items():"]
        lines += [
            "    value = value.item() if isinstance(value, np.generic) else value",
            '    print(f"{name}: {value}")',
            "",
        ]
        return "\n".join(lines)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _literal(value: Any) -> str:
    if isinstance(value, Formula):
        return f"lambda x: np.broadcast_to({value.python}, np.shape(x))"
    if isinstance(value, np.ndarray):
        dtype = ", dtype=float" if value.dtype.kind == "f" else ""
        shape = f".reshape({value.shape[0]}, {value.shape[1]})" if value.ndim == 2 and value.size == 0 else ""
        return f"np.array({written(value.tolist())}{dtype}){shape}"
    return repr(value)


@functools.cache
def _sources(study: Study) -> dict[str, str]:
    """The values of every ``numbers = {...}`` or ``numbers["name"] = ...`` of a study, as they are written there."""
    found: dict[str, str] = {}
    for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(study)))):
        if not isinstance(node, ast.Assign | ast.AnnAssign):
            continue
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        if isinstance(target, ast.Name) and target.id == "numbers" and isinstance(node.value, ast.Dict):
            for key, value in zip(node.value.keys, node.value.values):
                if isinstance(key, ast.Constant):
                    found[str(key.value)] = ast.unparse(value)
        elif (
            isinstance(target, ast.Subscript)
            and isinstance(target.value, ast.Name)
            and target.value.id == "numbers"
            and isinstance(target.slice, ast.Constant)
            and node.value is not None
        ):
            found[str(target.slice.value)] = ast.unparse(node.value)
    return found


def _control(control: Control) -> dict[str, Any]:
    kind = {Slider: "slider", Choice: "choice", Switch: "switch", Words: "words"}[type(control)]
    return {"kind": kind, **{name: getattr(control, name) for name in control.__dataclass_fields__}}


def rows_of(state: State) -> tuple[np.ndarray, np.ndarray]:
    """The points of a state as X and y."""
    table = np.array(state.points, dtype=float).reshape(-1, 3)
    return table[:, :2].copy(), table[:, 2].astype(int)


def rows_and(*names: str) -> Callable[[State], dict[str, Any]]:
    """The arguments of a study: X and y of the points, and the values of these controls."""

    def arguments(state: State) -> dict[str, Any]:
        X, y = rows_of(state)
        return {"X": X, "y": y, **{name: state[name] for name in names}}

    return arguments


def two_clouds(seed: int, n: int, apart: float, spread: float = 0.8) -> list[list[float]]:
    """Two round clouds, as the page begins with them, to 2 decimals."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1, -1)
    X = np.clip(rng.normal(size=(n, 2)) * spread + np.outer(y, (apart, 0.7 * apart)), -3.9, 3.9).round(2)
    return [[float(a), float(b), int(label)] for (a, b), label in zip(X, y)]


def plane(*layers: Layer, **given: Any) -> Panel:
    """The picture in which a user draws: the box of the points."""
    return Panel("plane", "", (-BOX, BOX), (-BOX, BOX), layers, pointer="points", **given)


def falling_gap(model: Any) -> tuple[Panel, ...]:
    """The gap while the model was fitted, on a scale of powers; none of a loaded model, which has no history."""
    rows = [(p, d) for _, _, p, d, *_ in getattr(model, "history_", None) or () if np.isfinite([p, d]).all()]
    if len(rows) < 2:
        return ()
    P, D = np.array(rows, dtype=float).T
    top = max(float(np.abs([P, D]).max()), 1e-300)
    gap = np.maximum(P - D, 1e-16 * top)
    curve = line(np.column_stack([np.arange(len(gap)), gap]), "accent", "solid", "P − D")
    span = (1e-16 * top, float(gap.max()) * 3.0)
    return (Panel("gap", "The gap falls", (0.0, len(gap) - 1.0), span, (curve,), "looks at the gap", y_log=True),)


def cells(count: int) -> np.ndarray:
    """The middles of count² cells of the box, the lowest row first."""
    side = -BOX + 2.0 * BOX * (np.arange(count) + 0.5) / count
    return np.column_stack([np.tile(side, count), np.repeat(side, count)])


def level_line(w: Any, b: float, level: float, box: float = 4.0) -> np.ndarray:
    """Two places of ⟨w, x⟩ + b = level on the edge of the box, to draw a line through; empty for w = 0."""
    w = np.asarray(w, dtype=float)
    j = int(np.argmax(np.abs(w)))
    if w[j] == 0.0 or not np.isfinite(w).all():
        return np.empty((0, 2))
    ends = np.array([-2.0 * box, 2.0 * box])
    found = np.empty((2, 2))
    found[:, 1 - j] = ends
    found[:, j] = (level - b - w[1 - j] * ends) / w[j]
    return found
