"""Data frames (pandas, polars and what else narwhals knows), and Arrow tables, into a Dataset."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np

from gapless.files.cells.cells import How, Style, Tally, facts, sentences
from gapless.files.cells.dates import EPOCH
from gapless.files.cells.labels import as_labels, known_spellings, merged_spellings, no_labels, strings
from gapless.files.cells.notation import numbers_among
from gapless.files.cells.texts import as_values, usual_mark
from gapless.files.csv.codes import LIMIT
from gapless.files.csv.columns import Column, Options, Request, Roles, assign
from gapless.files.dataset import Dataset, Labels, Reading, keep_labelled
from gapless.files.expected import Expected
from gapless.files.problems import data_error
from gapless.judge.errors import DataError


def from_frame(
    frame: Any,
    *,
    target: Column | None = None,
    weights: Column | None = None,
    drop: Sequence[Column] = (),
    labels: Labels = "required",
    expected: Expected | None = None,
    categories: Sequence[Column] = (),
    numbers: Sequence[Column] = (),
    decimal: str | None = None,
    date_order: str | None = None,
    missing: Sequence[str] = (),
    typed: bool = True,
    dtype: Any = np.float64,
    path: str | None = None,
    notes: Sequence[str] = (),
) -> Dataset:
    """A Dataset of a frame: numbers and booleans as they are, dates as days, texts and categoricals as levels, missing values as
    NaN.

    Texts that write numbers or dates are read as `read_csv` reads them, with its options. `target`, `weights` and `drop` are
    names, or numbers from 0; rows without a label are left out.

    Parameters
    ----------
    frame : data frame of pandas, polars, pyarrow or another library that narwhals reads
    target, weights : column of the labels, of the weights: a name, or a number from 0
    drop : columns to leave out
    labels : {"required", "optional"}: whether a label column must be there
    expected : columns that a model wants, in its order
    categories : columns that are read as categories, whatever they hold
    numbers : columns that must hold numbers
    decimal : "." or ",": the sign before decimals
    date_order : "dmy" or "mdy", where the cells do not say which comes first
    missing : words that stand for no value
    typed : False refuses everything but numbers
    dtype : float64 or float32
    path : file that the frame came from, for messages
    notes : sentences to begin `Dataset.notes` with
    """
    import narwhals as nw

    place = path or f"the {type(frame).__module__.split('.')[0]} frame"
    _refuse_twice(getattr(frame, "column_names", ()), place)  # an Arrow table, of which narwhals makes no frame then
    table = nw.from_native(frame, eager_only=True)
    names = [str(name) for name in table.columns]
    _refuse_twice(names, place)
    asked = Request(target, weights, drop, labels, expected, typed, categories, numbers, decimal, date_order, missing)
    read = _Table(nw, table, names, place, asked, assign(names, len(names), place, asked))
    roles = read.roles
    X, levels, styles = read.features(dtype)
    y, kept, target_style = read.labels()
    w = read.weights()
    odd = any(style is not None and style[:3] != Style()[:3] for style in (*styles, target_style)) or bool(read.tallies)
    about = {
        names[j]: _facts(style, read.tallies.get(names[j]), len(table), read.usual, expected is not None)
        for j, style in zip(roles.features, styles)
    }
    data = Dataset(
        X=X,
        y=y,
        names=[names[j] for j in roles.features],
        target=None if roles.label is None else names[roles.label],
        weights=w,
        notes=(*notes, *roles.notes),
        path=path,
        levels=levels if any(each is not None for each in levels) else None,
        told=(*sentences(about, read.tallies), *read.told),
        reading=Reading(styles, target_style, frozenset(missing)) if odd or missing else None,
        weights_name=None if roles.weights is None else names[roles.weights],
    )
    if kept is None:
        return data
    if labels == "required" and not len(kept):
        raise data_error("no row has a label", place, column=data.target)
    return keep_labelled(data, kept, str(data.target), labels)


class _Table:
    """A frame, the roles of its columns, and what is said of them while they are read."""

    def __init__(self, nw: Any, table: Any, names: list[str], place: str, asked: Request, roles: Roles) -> None:
        self.nw, self.table, self.names, self.place, self.asked, self.roles = nw, table, names, place, asked, roles
        self.options = asked.options(names, len(names), place)
        self.tallies: dict[str, Tally] = {}
        self.told: list[str] = []
        texts = [j for j in roles.features if table[:, j].dtype == nw.String and j not in self.options.texts]
        self.usual = usual_mark([table[:, j].to_list() for j in texts])

    def features(self, dtype: Any) -> tuple[np.ndarray, list[list[str] | None], list[Style | None]]:
        """X, the levels of each column of texts, the styles of the others."""
        X = np.empty((len(self.table), len(self.roles.features)), dtype=dtype)
        read = [self._feature(k, j, X[:, k]) for k, j in enumerate(self.roles.features)]
        return X, [levels for levels, _ in read], [style for _, style in read]

    def _feature(self, k: int, j: int, out: np.ndarray) -> tuple[list[str] | None, Style | None]:
        """Write feature ``k``, column ``j`` of the frame; its levels, or its style."""
        expected, options, name, typed = self.asked.expected, self.options, self.names[j], self.asked.with_texts
        text = j in options.texts or (expected is not None and typed and k in expected.categories)
        column = _Column(self.nw, self.table[:, j], self.place, name, options, self.usual)
        known = None if expected is None or not typed or text else expected.styles.get(k, Style())
        with _cells_of(self.place, name):
            found, style = column.values(out, text, j in options.numbers or not typed, known)
        if found is not None and expected is not None and expected.encoding is not None and text:
            found = column.renamed(out, found, known_spellings(found, expected.encoding.columns[k]["levels"]))
        elif found is not None and expected is None and not text:
            flags, sentence = merged_spellings(found, name)
            if flags:
                self.told.append(sentence)
                found = column.renamed(out, found, flags)
        if column.tally is not None:
            self.tallies[name] = column.tally
        if not typed:
            if found is not None:
                raise data_error("the column holds texts, not numbers", self.place, column=name)
            if not np.isfinite(out).all():
                row = int(np.argmax(~np.isfinite(out)))
                raise data_error(f"row {row}: the value is {out[row]}; it must be finite", self.place, column=name)
        return found, style

    def labels(self) -> tuple[np.ndarray | None, np.ndarray | None, Style]:
        """The labels, the rows that have one (None: all), and how they are written."""
        j = self.roles.label
        if j is None:
            return None, None, Style()
        with _cells_of(self.place, self.names[j]):
            return _label(
                self.nw, self.table[:, j], self.place, self.names[j], self.asked.expected, self.options, self.told
            )

    def weights(self) -> np.ndarray | None:
        """A weight for each row."""
        j = self.roles.weights
        if j is None:
            return None
        w, name = np.empty(len(self.table)), self.names[j]
        column = _Column(self.nw, self.table[:, j], self.place, name, self.options)
        with _cells_of(self.place, name):
            if column.values(w, False, True, None)[0] is not None:
                raise data_error("the weights are no numbers", self.place, column=name)
        if not (np.isfinite(w).all() and (w >= 0).all()):
            raise data_error("a weight is negative or missing", self.place, column=name)
        return w


def _refuse_twice(names: Iterable[Any], place: str) -> None:
    seen = set()
    for name in names:
        if str(name) in seen:
            raise data_error("the name stands twice", place, column=str(name))
        seen.add(str(name))


@contextmanager
def _cells_of(place: str, name: str) -> Iterator[None]:
    """What a library throws at cells that Python has no value for (a date of the year 20000, a zone that nobody knows) names
    the column."""
    try:
        yield
    except DataError:
        raise
    except (ArithmeticError, LookupError, RuntimeError, TypeError, ValueError) as error:
        words = (str(error).splitlines() or [""])[0][:200]
        raise data_error(
            f"has cells that cannot be read ({type(error).__name__}: {words})", place, column=name
        ) from None


def _floats(nw: Any, column: Any) -> np.ndarray:
    """Numbers or booleans as float64, NaN for what is missing; whole numbers beyond 2^53 are rounded."""
    try:
        return np.asarray(column.cast(nw.Float64).fill_null(np.nan).to_numpy())
    except ValueError:  # pyarrow refuses to round
        return np.array([np.nan if cell is None else float(cell) for cell in column.to_list()])


def _facts(
    style: Style | None, tally: Tally | None, rows: int, usual: str | None = None, fixed: bool = False
) -> list[str]:
    if style is None or (tally is None and style.kind != "date"):
        return []
    return facts(style, tally or Tally(), rows, style.choice == usual, fixed=fixed)


class _Column:
    """One column of a frame, into X."""

    def __init__(self, nw: Any, column: Any, place: str, name: str, options: Options, usual: str | None = None) -> None:
        self.usual = usual
        self.nw, self.column, self.place, self.name, self.options = nw, column, place, name, options
        self.tally: Tally | None = None

    def _error(self, problem: str) -> DataError:
        return data_error(problem, self.place, column=self.name)

    def values(
        self, out: np.ndarray, text: bool, asked: bool, known: Style | None
    ) -> tuple[list[str] | None, Style | None]:
        """Write the column as numbers; its levels, where it is one of texts, else its style."""
        nw, column = self.nw, self.column
        kind = column.dtype
        if kind.is_temporal() and not text:
            out[:] = _days(nw, column)
            return None, Style() if kind == nw.Duration else Style("date", "dmy")
        missing = column.is_null().to_numpy()
        if (kind.is_numeric() or kind == nw.Boolean) and not text:
            values = _floats(nw, column)
            if np.isinf(values).any():
                row = int(np.argmax(np.isinf(values)))
                raise self._error(f"row {row}: the value is {values[row]}; it must be finite")
            out[:] = np.where(np.isin(values, numbers_among(self.options.missing)), np.nan, values)
            return None, Style()
        cells = column.to_list()
        told = [
            None if gone or cell is None or cell == "" else str(cell) for cell, gone in zip(cells, missing.tolist())
        ]
        if self.options.missing:
            told = [None if cell in self.options.missing else cell for cell in told]
        found = None
        if not text and (kind == nw.String or known is not None or asked or kind == nw.Object):
            found = as_values(told, self.options, asked or known is not None, known, self.usual)
        if found is not None:
            values, style, tally = found
            if tally.counts or style != Style(missing=style.missing):
                self.tally = tally
            if tally.counts[How.bad] > np.isfinite(values).sum():
                raise self._error(f"the model has numbers, the column texts ({tally.shown(How.bad)})")
            out[:] = np.where(np.isin(values, numbers_among(self.options.missing)), np.nan, values)
            return None, style
        levels = sorted({cell for cell in told if cell is not None})
        codes = {cell: float(code) for code, cell in enumerate(levels)}
        out[:] = [np.nan if cell is None else codes[cell] for cell in told]
        return levels, None

    @staticmethod
    def renamed(out: np.ndarray, levels: list[str], names: dict[str, str]) -> list[str]:
        """Other texts for some levels, and the numbers in X by the new ones."""
        new = sorted({names.get(level, level) for level in levels})
        place = np.array([*(float(new.index(names.get(level, level))) for level in levels), np.nan])
        out[:] = place[np.where(np.isnan(out), len(levels), out).astype(np.int64)]
        return new


def _days(nw: Any, column: Any) -> np.ndarray:
    """Dates as days since 1970-01-01, in UTC where they have a zone; times as parts of a day, durations as days."""
    missing = column.is_null().to_numpy()
    seconds: list[float] = []
    for cell in column.to_list():
        if cell is None or cell != cell:
            seconds.append(np.nan)
        elif isinstance(cell, timedelta):
            seconds.append(cell.total_seconds())
        elif isinstance(cell, datetime):
            zone = cell.utcoffset()
            bare = cell.replace(tzinfo=None) - (zone or timedelta(0))
            seconds.append((bare - datetime(1970, 1, 1)) / timedelta(seconds=1))
        elif isinstance(cell, date):
            seconds.append((cell.toordinal() - EPOCH) * 86400.0)
        else:
            seconds.append(cell.hour * 3600.0 + cell.minute * 60.0 + cell.second + cell.microsecond / 1e6)
    values = np.array(seconds) / 86400.0
    values[missing] = np.nan
    return values


def _label(
    nw: Any, column: Any, place: str, name: str, expected: Expected | None, options: Options, told: list[str]
) -> tuple[np.ndarray, np.ndarray | None, Style]:
    """The labels, the rows that have one (None: all), and how they are written."""
    missing = column.is_null().to_numpy()
    if column.dtype.is_temporal():
        raise data_error("the labels are dates", place, column=name)
    kind = expected.label_kind if expected is not None else None
    if column.dtype.is_numeric() and kind not in ("str", "bool"):
        y = column.to_numpy() if not missing.any() else _floats(nw, column)
        y = y if y.dtype.kind in "fiu" else _floats(nw, column)
        if column.dtype.is_integer() and (np.abs(y.astype(np.float64)) >= 2.0**63).any():
            raise data_error("a label is a whole number of more than 63 bits", place, column=name)
        gone = missing | np.isnan(y.astype(np.float64))
        kept = np.flatnonzero(~gone) if gone.any() else None
        y = np.where(gone, 0, y)
        whole = column.dtype.is_integer() or ((kind == "int" or missing.any()) and bool((y == np.trunc(y)).all()))
        return (y.astype(np.int64) if whole and kind != "float" else y.astype(np.float64)), kept, Style()
    if column.dtype == nw.Boolean and kind in (None, "bool") and not missing.any():
        return np.asarray(column.to_numpy(), dtype=bool), None, Style()
    texts = [
        "" if gone or cell is None else str(cell).strip() for cell, gone in zip(column.to_list(), missing.tolist())
    ]
    if kind not in ("str", "bool") and column.dtype == nw.String:
        found = as_values(texts, options, False, None if expected is None else expected.label_style)
        few = found is not None and found[1].unit is not None and len({*texts}) <= LIMIT.many_labels  # 1 star, 2 stars
        if (
            found is not None
            and found[1].kind != "date"
            and not found[2].counts[How.bad]
            and not (few or np.isnan(found[0]).all())
        ):
            values = found[0]
            gone = np.isnan(values)
            whole = bool((values[~gone] == np.trunc(values[~gone])).all()) and kind != "float"
            about = sentences({name: _facts(found[1], found[2], len(texts))}, {})
            told += about
            kept = np.flatnonzero(~gone) if gone.any() else None
            values = np.where(gone, 0.0, values)
            return values.astype(np.int64) if whole else values, kept, found[1]
    gaps = no_labels([*{*texts}], options.missing, () if expected is None else expected.classes)
    gone = np.array([text in gaps for text in texts])
    kept = np.flatnonzero(~gone) if gone.any() else None
    present = sorted({text for text, none in zip(texts, gone.tolist()) if not none})
    flags, sentence = merged_spellings(present, name)
    if expected is not None:
        flags = known_spellings(present, expected.classes)
    elif flags:
        told.append(sentence)
    texts = [flags.get(text, text) for text in texts]
    if column.dtype == nw.Boolean and kind in (None, "bool"):
        return np.array([text == "True" for text in texts]), kept, Style()
    return (as_labels(texts, kind) if kind is not None else strings(texts)), kept, Style()
