"""The pieces of a page. They hold plain text and numbers; the template alone makes HTML of them, and escapes all of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gapless.pages.formula import Formula, typeset
from gapless.pages.limits import LIMITS

__all__ = [
    "Bar", "Bars", "Block", "Cell", "Code", "Equation", "Facts", "Folded", "Later", "Mark", "Matrix", "Note", "Picture",
    "Section", "Table", "Text", "count", "number", "percent", "plural", "said",
]  # fmt: skip


@dataclass(frozen=True)
class Block:
    """``kind`` is the name of the template's macro."""

    @property
    def kind(self) -> str:
        return type(self).__name__.lower()


@dataclass(frozen=True)
class Text(Block):
    text: str


@dataclass(frozen=True)
class Note(Block):
    """Set apart: "plain" for what does not apply, "warn" for what must not be overlooked."""

    text: str
    tone: str = "plain"


@dataclass(frozen=True)
class Facts(Block):
    """Names and values."""

    rows: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Table(Block):
    """The first ``names`` columns are words, the others numbers."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""
    names: int = 1
    left_out: int = 0  #: rows that are not shown


class Cell(NamedTuple):
    """A cell of a `Matrix`: ``style`` chooses the colour, ``share`` in per cent how much of it there is."""

    style: str  #: "right" or "wrong", "plus" or "minus", "none"
    share: float
    text: str


@dataclass(frozen=True)
class Matrix(Block):
    """A table with classes as columns, its cells shaded."""

    corner: str
    labels: Sequence[str]
    rows: Sequence[tuple[str, Sequence[Cell], str]]  #: (label, cells, sum or "")
    caption: str = ""

    @classmethod
    def of_counts(cls, labels: Sequence[str], counts: Sequence[Sequence[int]], caption: str) -> Matrix:
        """Which class is taken for which: a line for each true class, a column for each answer; shares are of the line."""
        rows = []
        for i, (label, line) in enumerate(zip(labels, counts)):
            total = sum(line)
            cells = [
                Cell("right" if i == j else "wrong" if n else "none", 100 * n / max(total, 1), count(n))
                for j, n in enumerate(line)
            ]
            rows.append((label, cells, count(total)))
        return cls("is ↓ called →", labels, rows, caption)

    @classmethod
    def of_weights(
        cls, labels: Sequence[str], names: Sequence[str], shares: Sequence[Sequence[float]], texts: Any, caption: str
    ) -> Matrix:
        """Signed numbers, a line for each name; ``shares`` from -1 to 1 give colour and depth, ``texts`` the cells."""
        rows = [
            (
                name,
                [Cell("plus" if v > 0 else "minus" if v < 0 else "none", 100 * abs(v), t) for v, t in zip(*line)],
                "",
            )
            for name, *line in zip(names, shares, texts)
        ]
        return cls("feature", labels, rows, caption)

    @property
    def upright(self) -> bool:
        """Few and short names stand level above their columns; others are turned."""
        return sum(max(len(label), 4) for label in self.labels) <= 60

    @property
    def summed(self) -> bool:
        return any(total for _, _, total in self.rows)


@dataclass(frozen=True)
class Bar:
    """A value on a scale that all bars share, with its interval where there is one; places are shares of the width."""

    label: str
    figures: tuple[str, ...]
    start: float
    end: float
    low: float | None = None
    high: float | None = None
    side: str = ""  #: "minus", "plus" or ""


@dataclass(frozen=True)
class Mark:
    """A line across all bars, with its name below them."""

    place: float
    text: str
    style: str = "solid"  #: or "dashed"


@dataclass(frozen=True)
class Bars(Block):
    """Bars on one scale; ``head`` names the label, the bar and each figure."""

    rows: Sequence[Bar]
    caption: str = ""
    head: tuple[str, ...] = ()
    zero: float | None = None  #: where 0 lies, if not at the left
    ticks: Sequence[tuple[float, str]] = ()  #: (place, text) of an axis below the bars
    marks: Sequence[Mark] = ()

    @classmethod
    def signed(cls, values: Sequence[tuple[str, float, tuple[str, ...]]], caption: str, head: tuple[str, ...]) -> Bars:
        """(label, value, figures): to the left of the middle below 0, to the right above."""
        most = max((abs(value) for _, value, _ in values if math.isfinite(value)), default=0.0) or 1.0
        rows = []
        for label, value, figures in values:
            share = 0.5 * (value / most if math.isfinite(value) else 0.0)
            side = "minus" if value < 0 else "plus"
            rows.append(Bar(label, figures, 0.5 + min(share, 0.0), 0.5 + max(share, 0.0), side=side))
        return cls(rows, caption, head, 0.5)

    @classmethod
    def shares(
        cls,
        values: Sequence[tuple[str, float, float | None, float | None, str]],
        caption: str,
        head: tuple[str, ...] = (),
        most: float | None = None,
        marks: Sequence[tuple[float, str, str]] = (),
    ) -> Bars:
        """(label, value, low, high, text), all of them from 0 on. The scale ends at ``most``, with an axis, or at the longest.

        ``marks`` are (value, text, style).
        """
        ticks: list[tuple[float, str]] = []
        if most is None:
            most = max((v for _, value, _, high, _ in values for v in (value, high or 0.0)), default=0.0) or 1.0
        else:
            ticks = [(k / 4, f"{25 * k * most:g}\u00a0%") for k in range(5)]
        rows = [
            Bar(
                label,
                (text,),
                0.0,
                value / most,
                None if low is None else low / most,
                None if high is None else high / most,
            )
            for label, value, low, high, text in values
        ]
        return cls(rows, caption, head, ticks=ticks, marks=[Mark(at / most, text, style) for at, text, style in marks])


@dataclass(frozen=True)
class Equation(Block):
    """A typeset formula, with what it says in words before it."""

    formula: Formula
    lead: str = ""

    @classmethod
    def of(cls, notation: str, lead: str = "") -> Block:
        """Typeset where the notation is kept, else the notation itself."""
        formula = typeset(notation)
        return Text(f"{lead} {notation}".strip()) if formula is None else cls(formula, lead)


@dataclass(frozen=True)
class Code(Block):
    text: str
    caption: str = ""


@dataclass(frozen=True)
class Picture(Block):
    """``data`` is base64 of ``mime``; as an image it can neither run nor fetch anything."""

    title: str
    mime: str
    data: str


@dataclass(frozen=True)
class Later(Block):
    """Blocks that are being made elsewhere; the page takes them when all else is there."""

    take: Callable[[], list[Block]]


@dataclass(frozen=True)
class Folded(Block):
    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Section:
    name: str  #: the anchor
    short: str  #: in the contents
    title: str
    blocks: list[Block] = field(default_factory=list)


# Words and numbers


def number(value: Any, digits: int = 4) -> str:
    """A figure as a person reads it."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    value = float(value)
    if math.isnan(value):
        return "not known"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == int(value) and abs(value) < 1e15:
        return count(int(value)).replace("-", "−")
    if 10**digits <= abs(value) < 1e9:  # 56 689, not 5.669e+04
        return count(round(value)).replace("-", "−")
    return f"{value:.{digits}g}".replace("-", "−")


def count(value: Any) -> str:
    return f"{int(value):,}".replace(",", "\u202f")  # narrow spaces between the thousands


def percent(rate: float) -> str:
    if math.isnan(rate):
        return "not known"
    figure = f"{100 * rate:.2f}" if rate == 0 or abs(rate) >= 1e-4 else f"{100 * rate:.2g}"
    return figure + "\u00a0%"  # no line ends before the sign


def plural(n: int, one: str, many: str | None = None) -> str:
    return f"{count(n)} {one if n == 1 else many or one + 's'}"


def said(value: Any, longest: int = LIMITS.text, lines: bool = False) -> str:
    """A label or a name from the data, on one line, without signs that no page can show, and not too long.

    ``lines``: a command, whose line ends and tabs stay.
    """
    text = str(value)[: 4 * longest]
    kept = "\n\t" if lines else ""
    blank = "\r\v\f\x85\u2028\u2029" + ("" if lines else "\n\t")
    text = "".join(" " if c in blank else c if c in kept or _printable(c) else "\ufffd" for c in text)
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _printable(c: str) -> bool:
    """Not a control character, nor a half of a pair, nor a non-character."""
    code = ord(c)
    return not (
        code < 32 or 127 <= code < 160 or 0xD800 <= code < 0xE000 or code & 0xFFFE == 0xFFFE or 0xFDD0 <= code < 0xFDF0
    )
