"""Which column of a table is the label, which the weights, which a feature."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from gapless.files.dataset import Labels
from gapless.files.expected import Expected
from gapless.files.problems import data_error, listed

LABEL_NAMES = ("y", "label", "target", "class")

Column = str | int


class Options(NamedTuple):
    """What the user said of the cells; columns by their positions."""

    decimal: str | None = None
    date_order: str | None = None
    missing: frozenset[str] = frozenset()
    texts: frozenset[int] = frozenset()
    numbers: frozenset[int] = frozenset()


class Request(NamedTuple):
    """What a caller asks of a table, columns by their names or numbers: the parameters of `read_data` of these names."""

    target: Column | None = None
    weights: Column | None = None
    drop: Sequence[Column] = ()
    labels: Labels = "required"
    expected: Expected | None = None
    typed: bool = False
    categories: Sequence[Column] = ()
    numbers: Sequence[Column] = ()
    decimal: str | None = None
    date_order: str | None = None
    missing: Sequence[str] = ()

    @property
    def with_texts(self) -> bool:
        """Whether columns may hold texts and dates, and lack values."""
        return self.typed or (self.expected is not None and self.expected.typed)

    def options(self, names: Sequence[str] | None, width: int, path: str) -> Options:
        """What is said of the cells, by this caller or by the model."""
        texts, numbers = (
            frozenset(position(column, names, width, what, path) for column in columns)
            for what, columns in (("categories", self.categories), ("numbers", self.numbers))
        )
        known = frozenset() if self.expected is None else self.expected.missing
        return Options(self.decimal, self.date_order, frozenset(self.missing) | known, texts, numbers)


@dataclass(frozen=True)
class Roles:
    """Column positions. `features` is in the order of the model's names where there is a model."""

    features: list[int]
    label: int | None
    weights: int | None
    notes: list[str] = field(default_factory=list)


class Numbered(int):
    """The number of a column, from 0, as it was written: a name, where there are not so many columns and one is called so."""

    text: str

    def __new__(cls, number: int, text: str) -> Numbered:
        made = super().__new__(cls, number)
        made.text = text
        return made


def position(column: Column, names: Sequence[str] | None, width: int, what: str, path: str) -> int:
    """Where a column stands; a column is a name, or a number from 0 (negative: from the end)."""
    if isinstance(column, str):
        if names is None:
            raise data_error(f"{what} {column!r}: the file has no header; give the column's number", path)
        if column not in names:
            near = _near(column, names)
            meant = f"; did you mean {' or '.join(map(repr, near))}?" if near else f"; there are {listed(list(names))}"
            parts = re.split(r"([^\w.()-])", names[0].strip('"')) if len(names) == 1 else []
            if column in parts and len(parts) > 1:
                by = "spaces" if parts[1].isspace() else repr(parts[1])
                meant = f": the columns seem to be parted by {by}; write the table with commas, semicolons or tabs"
                if names[0].count(",") and by == "','":
                    meant = ": whole lines seem to stand in quotes; write the table without them"
            raise data_error(f"{what}: there is no column {column!r}{meant}", path)
        return list(names).index(column)
    if not -width <= column < width:
        if isinstance(column, Numbered) and column.text in (names or ()):  # 2021 as the name of a column
            return list(names or ()).index(column.text)
        known = "" if names is None else f": {listed(list(names))}"
        raise data_error(f"{what}: the column number is outside the {width} columns{known}", path)
    return column % width


def _near(column: str, names: Sequence[str]) -> list[str]:
    """Names that could have been meant: but for case, spaces and a letter or two."""
    from difflib import get_close_matches

    folded: dict[str, str] = {}
    for name in names:
        folded.setdefault(name.casefold().replace(" ", "_"), name)
    close = get_close_matches(column.casefold().replace(" ", "_"), folded, n=3, cutoff=0.7)
    return [folded[match] for match in close]


def assign(names: Sequence[str] | None, width: int, path: str, asked: Request) -> Roles:
    """Settle every column's role, or say which column is missing or one too many."""
    target, weights, drop, labels, expected = asked[:5]
    known = None if expected is None or expected.weights not in (names or ()) else expected.weights
    if weights is None and known is not None and known not in (target, *drop):  # the model was trained with them
        weights, drop = (known, drop) if labels == "required" else (None, [*drop, known])
    taken = [position(column, names, width, "column to drop", path) for column in drop]
    weight = None if weights is None else position(weights, names, width, "weights", path)
    label = None if target is None else position(target, names, width, "label", path)
    if label is not None and label == weight:
        raise data_error("label and weights are the same column", path, column=label + 1)
    for role, place in (("label", label), ("weights", weight)):
        if place is not None and place in taken:
            raise data_error(f"the column is dropped and is the {role}", path, column=place + 1)
    rest = [j for j in range(width) if j not in taken and j not in (label, weight)]
    if expected is None:
        return _for_training(names, rest, label, weight, path, labels)
    return _for_model(names, rest, label, weight, path, labels, expected)


def _called(names: Sequence[str] | None, j: int) -> str:
    return f"column {j + 1}" if names is None else repr(names[j])


def _usual(names: Sequence[str], among: list[int]) -> int | None:
    found = [j for j in among if names[j].lower() in LABEL_NAMES]
    return found[-1] if found else None


def _for_training(
    names: Sequence[str] | None, rest: list[int], label: int | None, weight: int | None, path: str, labels: Labels
) -> Roles:
    notes = []
    if label is None and rest and labels == "required":
        label = _usual(names, rest) if names is not None else None
        if label is None:
            label = rest[-1]
        notes.append(f"the label is {_called(names, label)}")
    features = [j for j in rest if j != label]
    if not features:
        raise data_error("there is no feature column besides the label; is the separator , ; or tab?", path)
    return Roles(features, label, weight, notes)


def _for_model(
    names: Sequence[str] | None,
    rest: list[int],
    label: int | None,
    weight: int | None,
    path: str,
    labels: Labels,
    expected: Expected,
) -> Roles:
    notes = []
    if names is None or expected.names is None:  # by position
        if label is None and len(rest) == expected.n_features + 1:
            usual = _usual(names, rest) if names is not None else None
            label = rest[-1] if usual is None else usual
            notes.append(f"the label is {_called(names, label)}")
        features = [j for j in rest if j != label]
        if len(features) != expected.n_features:
            raise data_error(
                f"the model has {expected.n_features} features, the file {len(features)} feature columns", path
            )
        if expected.names is not None or names is not None:
            notes.append("columns are matched by their order")
    else:
        where = {names[j]: j for j in rest}
        missing = [name for name in expected.names if name not in where]
        extra = [j for j in rest if names[j] not in set(expected.names)]
        if label is None:
            at_target = [j for j in extra if names[j] == expected.target]
            at_usual = _usual(names, extra) if expected.target is None else None
            if at_target:
                label = at_target[0]
            elif at_usual is not None:
                label = at_usual
            elif expected.target is None and len(extra) == 1 and not missing:
                label = extra[0]
            if label is not None:
                extra.remove(label)
        problems = []
        if missing:
            problems.append(f"missing column{'s' * (len(missing) > 1)} {listed(missing)}")
        if extra and expected.typed:  # columns that training left out, or that came with the export
            notes.append(f"not used: {listed([names[j] for j in extra])}")
        elif extra:
            extras = [names[j] for j in extra]
            problems.append(f"extra column{'s' * (len(extra) > 1)} {listed(extras)} (drop what is no feature)")
        if problems:
            raise data_error("the columns are not those of the model: " + "; ".join(problems), path)
        features = [where[name] for name in expected.names]
    if label is None and labels == "required":
        known = "" if expected.target is None else f" (the model's is {expected.target!r})"
        raise data_error(f"there is no label column{known}", path)
    return Roles(features, label, weight, notes)
