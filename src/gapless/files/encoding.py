"""Columns of a table to features and back: missing values filled, numbers standardised, dates as their parts, texts one-hot.

scikit-learn's StandardScaler and OneHotEncoder are fitted, on medians as its SimpleImputer would put them; what they found is
kept as plain numbers and texts, so that a model file can hold it and the judge can do the same from the raw cells. The
arithmetic is theirs, to the bit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gapless._runtime.results import result
from gapless.files.cells.cells import Style
from gapless.files.cells.dates import PARTS, parts_of
from gapless.files.dataset import Dataset, Reading
from gapless.files.problems import data_error, listed

SPARSE_FROM = 1000  # features from which one-hot columns are kept as CSR


@result
@dataclass(frozen=True, eq=False)
class Encoding:
    """How each column becomes features. `columns` are entries of the model document (docs/model_file.md).

    Attributes
    ----------
    columns : entries of the model document (docs/model_file.md), one for each column
    dtype : "float64" or "float32"
    target : how labels are written; None: as plain numbers and texts
    missing : words for no value that were given
    """

    columns: list[dict[str, Any]]
    dtype: str = "float64"
    target: dict[str, Any] | None = None
    missing: tuple[str, ...] = ()

    @classmethod
    def fit(cls, data: Dataset, *, scale: bool = True) -> Encoding:
        """Learn from the training rows. `scale=False` leaves numbers in their units.

        ``data`` is a `Dataset` that was read with ``typed=True``.
        """
        from sklearn.preprocessing import OneHotEncoder

        X, levels, reading = data.X, data.levels or [None] * data.n_features, data.reading
        dated = [reading is not None and reading.dated(j) for j in range(X.shape[1])]
        for j in range(X.shape[1]):
            if levels[j] is None and np.isnan(X[:, j]).all():
                raise data_error("no row has a value", data.path or "the table", column=_name(data, j))
        numbers = [j for j in range(X.shape[1]) if levels[j] is None and not dated[j]]
        block = X[:, numbers].astype(np.float64)
        fills, means, scales = _moments(block, scale, data, numbers)
        columns: list[dict[str, Any]] = []
        at = {j: k for k, j in enumerate(numbers)}
        for j in range(X.shape[1]):
            gone = bool(np.isnan(X[:, j]).any())
            name = None if data.names is None else data.names[j]
            known, style = levels[j], None if reading is None else reading.styles[j]
            if dated[j] and style is not None:
                parts = _parts(X[:, j].astype(np.float64))
                found = _moments(np.column_stack([*parts.values()]), scale, data, [j] * len(parts))
                entries = [
                    {"part": part, "fill": float(fill), "mean": float(mean), "scale": float(size)}
                    for part, fill, mean, size in zip(parts, *found, strict=True)
                ]
                columns.append(
                    {"name": name, "kind": "date", "order": style.choice, "parts": entries, "indicator": gone}
                )
            elif known is None:
                k = at[j]
                entry = {"fill": float(fills[k]), "mean": float(means[k]), "scale": float(scales[k]), "indicator": gone}
                written = {} if style is None else _written(style)
                columns.append({"name": name, "kind": "number", **entry, **written})
            else:
                seen = OneHotEncoder().fit(X[:, [j]]).categories_[0]
                present = [known[int(code)] for code in seen.tolist() if not np.isnan(code)]
                columns.append({"name": name, "kind": "category", "levels": present, "missing": gone})
        target = None if reading is None else _written(reading.target)
        return cls(columns, str(np.dtype(X.dtype)), target, () if reading is None else tuple(sorted(reading.missing)))

    def reading(self) -> Reading:
        """How the cells of the table were written that this was learned from."""
        words = frozenset(self.missing)
        styles: list[Style | None] = []
        for column in self.columns:
            if column["kind"] == "category":
                styles.append(None)
            elif column["kind"] == "date":
                styles.append(Style("date", column["order"], missing=words))
            else:
                styles.append(_style(column))
        return Reading(styles, _style(self.target or {}), words)

    @property
    def names(self) -> list[str]:
        """The features, in order."""
        told: list[str] = []
        for k, column in enumerate(self.columns):
            name = column["name"] if column["name"] is not None else f"column {k + 1}"
            if column["kind"] == "number":
                told.append(name)
            elif column["kind"] == "date":
                told += [f"{name} {each['part']}" for each in column["parts"]]
            else:
                told += [f"{name}={level}" for level in column["levels"]]
            if column["missing" if column["kind"] == "category" else "indicator"]:
                told.append(f"{name} is missing")
        return told

    @property
    def width(self) -> int:
        """Number of features."""
        return len(self.names)

    def transform(self, data: Dataset) -> Any:
        """The features of rows: an array, or CSR where there are many.

        ``data`` is a `Dataset` with the columns of the training rows.
        """
        if data.n_features != len(self.columns):
            raise ValueError(f"the table has {data.n_features} columns, the encoding {len(self.columns)}")
        width = self.width
        rows = np.arange(data.n_rows)
        if width > SPARSE_FROM:
            return self._sparse(data, width)
        Z = np.zeros((data.n_rows, width), dtype=self.dtype)
        at = 0
        for j, column in enumerate(self.columns):
            if column["kind"] != "category":
                for x in self._values(data, j, column):
                    Z[:, at] = x
                    at += 1
            else:
                codes, size = self._codes(data, j, column)
                hit = codes >= 0
                Z[rows[hit], at + codes[hit]] = 1.0
                at += size
        return Z

    def _sparse(self, data: Dataset, width: int) -> Any:
        from scipy.sparse import csr_matrix, hstack

        parts: list[Any] = []
        for j, column in enumerate(self.columns):
            if column["kind"] != "category":
                dense = np.column_stack(self._values(data, j, column))
                parts.append(csr_matrix(dense.astype(self.dtype)))
            else:
                codes, size = self._codes(data, j, column)
                hit = np.flatnonzero(codes >= 0)
                ones = np.ones(len(hit), dtype=self.dtype)
                parts.append(csr_matrix((ones, (hit, codes[hit])), shape=(data.n_rows, size)))
        return hstack(parts, format="csr")

    @staticmethod
    def _values(data: Dataset, j: int, column: Mapping[str, Any]) -> list[np.ndarray]:
        """The features of a column of numbers or dates."""
        x = data.X[:, j].astype(np.float64)
        gone = np.isnan(x)
        entries: list[tuple[np.ndarray, Mapping[str, Any]]] = [(x, column)]
        if column["kind"] == "date":
            parts = parts_of(x)
            entries = [(parts[each["part"]], each) for each in column["parts"]]
        found = []
        for values, entry in entries:
            values[gone] = entry["fill"]
            values -= entry["mean"]
            values /= entry["scale"]
            found.append(values)
        return [*found, gone.astype(np.float64)] if column["indicator"] else found

    @staticmethod
    def _codes(data: Dataset, j: int, column: Mapping[str, Any]) -> tuple[np.ndarray, int]:
        """The number of each row's level among those of the encoding; -1: none of them."""
        place = {level: k for k, level in enumerate(column["levels"])}
        known = (data.levels[j] if data.levels is not None else None) or []
        absent = len(place) if column["missing"] else -1
        table = np.array([*(place.get(level, -1) for level in known), absent], dtype=np.int64)
        raw = data.X[:, j]
        codes = np.where(np.isnan(raw), len(known), raw).astype(np.int64)
        return table[codes], len(place) + column["missing"]

    def inverse_transform(self, Z: Any) -> Dataset:
        """The table that gives these features: numbers in their units, the text of the largest one-hot column (none: missing).

        ``Z`` has a column for each feature.
        """
        Z = np.asarray(Z.toarray() if hasattr(Z, "toarray") else Z, dtype=np.float64)
        X = np.empty((len(Z), len(self.columns)))
        levels: list[list[str] | None] = []
        at = 0
        for j, column in enumerate(self.columns):
            if column["kind"] != "category":
                X[:, j], size = _back(Z[:, at:], column)
                at += size
                if column["indicator"]:
                    X[Z[:, at] > 0.5, j] = np.nan
                    at += 1
                levels.append(None)
                continue
            size = len(column["levels"]) + column["missing"]
            block = Z[:, at : at + size]
            code = block.argmax(axis=1).astype(np.float64)
            code[(block.max(axis=1) <= 0.5) | (code == len(column["levels"]))] = np.nan
            X[:, j] = code
            levels.append(list(column["levels"]))
            at += size
        names = [column["name"] for column in self.columns]
        return Dataset(X, names=None if None in names else names, levels=levels)

    def surprises(self, data: Dataset) -> list[str]:
        """What rows have that the training rows had not: texts that are no level, and missing values.

        ``data`` is a `Dataset`.
        """
        told = []
        for j, column in enumerate(self.columns):
            name = repr(column["name"]) if column["name"] is not None else f"column {j + 1}"
            gone = int(np.isnan(data.X[:, j]).sum())
            if column["kind"] != "category":
                if gone and not column["indicator"]:
                    taken = (
                        f"{column['fill']:g} (the median" if column["kind"] == "number" else "a usual one (the medians"
                    )
                    told.append(f"{name}: {_count(gone, 'missing value')}, taken as {taken} of the training rows)")
                continue
            known = (data.levels[j] if data.levels is not None else None) or []
            new = [level for level in known if level not in set(column["levels"])]
            if new:
                codes, _ = self._codes(data, j, column)
                rows = int(((codes < 0) & ~np.isnan(data.X[:, j])).sum())
                told.append(
                    f"{name}: {_count(rows, 'row')} with {'a text' if len(new) == 1 else 'texts'} not seen in training "
                    f"({listed(new, 3)}), 0 in all its features"
                )
            if gone and not column["missing"]:
                told.append(f"{name}: {_count(gone, 'missing value')}, not seen in training, 0 in all its features")
        return told

    def applied(self, data: Dataset) -> Dataset:
        """The same rows with features in the place of columns. ``data`` is a `Dataset`."""
        return Dataset(
            X=self.transform(data),
            y=data.y,
            names=self.names,
            target=data.target,
            weights=data.weights,
            notes=data.notes,
            path=data.path,
            told=data.told,
            weights_name=data.weights_name,
        )

    def document(self) -> dict[str, Any]:
        """The entry `input` of a model document."""
        more = {} if self.target is None else {"target": self.target, "missing": [*self.missing]}
        return {"columns": self.columns, "dtype": self.dtype, **more}

    @classmethod
    def of_document(cls, block: Mapping[str, Any]) -> Encoding:
        """The encoding of a model document; ``block`` is its entry."""
        columns = [dict(column) for column in block["columns"]]
        return cls(columns, block["dtype"], block.get("target"), tuple(block.get("missing", ())))

    def __str__(self) -> str:
        return f"{len(self.columns):,} columns become {self.width:,} features"


def _moments(
    block: np.ndarray, scale: bool, data: Dataset, whose: list[int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Medians, means and scales of columns; `whose` of the table they are."""
    from sklearn.preprocessing import StandardScaler

    size = block.shape[1]
    if not size:
        return np.zeros(0), np.zeros(0), np.zeros(0)
    fills = np.nanmedian(block, axis=0)
    if not scale:
        return fills, np.zeros(size), np.ones(size)
    block = np.where(np.isnan(block), fills, block)
    largest = 1e150  # numbers beyond cannot be squared and added up
    most = np.abs(block).max(axis=0, initial=0.0)
    for k in np.flatnonzero(most > largest)[:1].tolist():
        raise data_error(
            f"values of {most[k]:.1e}, whose squares are beyond float64; divide the column by a number of their size",
            data.path or "the table",
            column=_name(data, whose[k]),
        )
    scaler = StandardScaler().fit(block)
    return fills, scaler.mean_, scaler.scale_


def _parts(days: np.ndarray) -> dict[str, np.ndarray]:
    """The parts of dates that differ among the rows; of times alone the hour."""
    parts = parts_of(days)
    kept = [part for part in PARTS if len(np.unique(values := parts[part][~np.isnan(days)])) > 1 or not len(values)]
    if "hour" in kept and not (np.floor(days[~np.isnan(days)]) != 0).any():
        kept = ["hour"]
    return {part: parts[part] for part in kept or ["days"]}


def _back(Z: np.ndarray, column: Mapping[str, Any]) -> tuple[np.ndarray, int]:
    """A column of numbers or dates by its features, and how many they are. Dates come from their days, times from their hour."""
    entries = column["parts"] if column["kind"] == "date" else [column]
    values = {each.get("part"): Z[:, k] * each["scale"] + each["mean"] for k, each in enumerate(entries)}
    x = values.get(None, values.get("days"))
    if x is None:
        x = values["hour"] / 24.0
    return x, len(entries)


def _count(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"


def _written(style: Style) -> dict[str, Any]:
    """How numbers are written, for a model document."""
    return {"decimal": style.choice, **({} if style.unit is None else {"unit": style.unit})}


def _style(entry: Mapping[str, Any]) -> Style:
    return Style(choice=entry.get("decimal", "."), unit=entry.get("unit"))


def _name(data: Dataset, j: int) -> str | int:
    return j + 1 if data.names is None else data.names[j]
