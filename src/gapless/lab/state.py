"""The state of a scene: its points and the values of its controls, checked before anything is computed from them."""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gapless._runtime.written import written

from .limits import LIMITS

BOX = 4.0  #: points lie in [−4, 4]²


class StateError(ValueError):
    """A state that no control of the page can make; the message says which entry."""


#: (another control, its values for which this one means something), or nothing: always
When = tuple[()] | tuple[str, tuple[Any, ...]]


@dataclass(frozen=True)
class Slider:
    """A number between two ends. ``log``: the page moves its logarithm. ``whole``: an integer. ``plays``: the page can run
    through its values. ``on_release``: the page answers when the knob is let go. ``when``: the knob is shown for these values of
    another control."""

    name: str
    label: str
    low: float
    high: float
    value: float
    step: float = 0.01
    log: bool = False
    whole: bool = False
    plays: bool = False
    on_release: bool = False
    when: When = ()

    def check(self, value: Any) -> float | int:
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise StateError(f"{self.name} must be a finite number")
        if not self.low <= value <= self.high:
            raise StateError(f"{self.name} must lie between {self.low:g} and {self.high:g}; it is {value:g}")
        if self.whole and value != int(value):
            raise StateError(f"{self.name} must be a whole number; it is {value:g}")
        return int(value) if self.whole else float(value)


@dataclass(frozen=True)
class Choice:
    """One of a few words."""

    name: str
    label: str
    options: tuple[tuple[str, str], ...]  #: (word, what the page calls it)
    value: str
    when: When = ()

    def check(self, value: Any) -> str:
        words = [word for word, _ in self.options]
        if value not in words:
            raise StateError(f"{self.name} must be one of {', '.join(words)}")
        return str(value)


@dataclass(frozen=True)
class Switch:
    """Yes or no."""

    name: str
    label: str
    value: bool = False
    when: When = ()

    def check(self, value: Any) -> bool:
        if not isinstance(value, bool):
            raise StateError(f"{self.name} must be true or false")
        return value


@dataclass(frozen=True)
class Words:
    """A short text that a scene parses."""

    name: str
    label: str
    value: str
    most: int = 80
    when: When = ()

    def check(self, value: Any) -> str:
        if not isinstance(value, str) or len(value) > self.most or not value.isprintable():
            raise StateError(f"{self.name} must be a text of at most {self.most} characters")
        return value


Control = Slider | Choice | Switch | Words


@dataclass(frozen=True)
class Upload:
    """A file that came with a state: what the visitor calls it, and its bytes. The name is shown and never opened."""

    name: str
    content: bytes


@dataclass(frozen=True)
class State:
    """A checked state. Points are (x, y, label) with label −1 or +1; files go by the slots of the scene."""

    points: tuple[tuple[float, float, int], ...]
    values: Mapping[str, Any]
    files: Mapping[str, Upload] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def to_json(self) -> dict[str, Any]:
        found: dict[str, Any] = {"points": [list(point) for point in self.points], "values": dict(self.values)}
        if self.files:
            found["files"] = {
                slot: {"name": file.name, "content": base64.b64encode(file.content).decode()}
                for slot, file in self.files.items()
            }
        return found


def check_state(
    controls: tuple[Control, ...], raw: Any, most: int = LIMITS.points, slots: tuple[str, ...] = ()
) -> State:
    """``raw`` as it came from a browser or a link; whatever is not exactly right is refused."""
    if not isinstance(raw, Mapping) or set(raw) - {"points", "values", *(("files",) if slots else ())}:
        raise StateError(f"a state has the entries points and values{' and files' if slots else ''}, and no others")
    given = raw.get("values", {})
    if not isinstance(given, Mapping):
        raise StateError("values must be an object")
    unknown = sorted(set(given) - {control.name for control in controls})
    if unknown:
        raise StateError(f"this scene has no control {written(unknown[0]):.40}")
    values = {control.name: control.check(given.get(control.name, control.value)) for control in controls}
    return State(_points(raw.get("points", []), most), values, _files(raw.get("files", {}), slots))


def _files(raw: Any, slots: tuple[str, ...]) -> dict[str, Upload]:
    if not isinstance(raw, Mapping) or set(raw) - set(slots):
        raise StateError(f"files must be an object with the entries {', '.join(slots)}")
    found = {}
    for slot, file in raw.items():
        if not isinstance(file, Mapping) or set(file) != {"name", "content"}:
            raise StateError(f"the file {slot} must have a name and a content")
        name, content = file["name"], file["content"]
        if not isinstance(name, str) or not 0 < len(name) <= 200 or not name.isprintable():
            raise StateError(f"the name of the file {slot} must be a text of at most 200 characters")
        if not isinstance(content, str) or len(content) > LIMITS.base64_characters:
            raise StateError(f"a file has at most {LIMITS.file_bytes // 1024} kB; {name:.40} has more")
        try:
            found[slot] = Upload(name, base64.b64decode(content, validate=True))
        except (binascii.Error, ValueError) as error:
            raise StateError(f"the content of {name:.40} must be base64") from error
    return found


def _points(raw: Any, most: int) -> tuple[tuple[float, float, int], ...]:
    if not isinstance(raw, list):
        raise StateError("points must be a list")
    if len(raw) > most:
        raise StateError(f"at most {most:,} points; there are {len(raw):,}")
    found = []
    for i, point in enumerate(raw):
        if not isinstance(point, list) or len(point) != 3:
            raise StateError(f"point {i} must be [x, y, label]")
        x, y, label = point
        for value in (x, y):
            if isinstance(value, bool) or not isinstance(value, int | float) or not -BOX <= value <= BOX:
                raise StateError(f"point {i} must lie between {-BOX:g} and {BOX:g}")
        if isinstance(label, bool) or label not in (-1, 1):
            raise StateError(f"the label of point {i} must be −1 or 1")
        found.append((float(x), float(y), int(label)))
    return tuple(found)
