"""Columns of a table to features and back: missing values filled, numbers standardised, texts one-hot.

scikit-learn's StandardScaler and OneHotEncoder are fitted, on medians as its SimpleImputer would put them; what they found is
kept as plain numbers and texts, so that a model file can hold it and the judge can do the same from the raw cells. The
arithmetic is theirs, to the bit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gapless.files.dataset import Dataset, data_error, listed

SPARSE_FROM = 1000  # features from which one-hot columns are kept as CSR
MOST_LEVELS = 1000
LARGEST = 1e150  # numbers beyond cannot be squared and added up


@dataclass(frozen=True, eq=False)
class Encoding:
    """How each column becomes features. `columns` are entries of the model document (docs/model_file.md)."""

    columns: list[dict[str, Any]]
    dtype: str = "float64"

    @classmethod
    def fit(cls, data: Dataset, *, scale: bool = True) -> Encoding:
        """Learn from the training rows. `scale=False` leaves numbers in their units."""
        from sklearn.preprocessing import OneHotEncoder, StandardScaler

        X, levels = data.X, data.levels or [None] * data.n_features
        numbers = [j for j in range(X.shape[1]) if levels[j] is None]
        fills = means = scales = np.zeros(0)
        if numbers:
            for j in numbers:
                if np.isnan(X[:, j]).all():
                    raise data_error("no row has a value", data.path or "the table", column=_name(data, j))
            block = X[:, numbers].astype(np.float64)
            fills, means, scales = np.nanmedian(block, axis=0), np.zeros(len(numbers)), np.ones(len(numbers))
            block = np.where(np.isnan(block), fills, block)
            if scale:
                most = np.abs(block).max(axis=0, initial=0.0)
                for k in np.flatnonzero(most > LARGEST)[:1].tolist():
                    raise data_error(
                        f"values of {most[k]:.1e}, whose squares are beyond float64; divide the column by a number of their size",
                        data.path or "the table",
                        column=_name(data, numbers[k]),
                    )
                scaler = StandardScaler().fit(block)
                means, scales = scaler.mean_, scaler.scale_
        columns: list[dict[str, Any]] = []
        at = {j: k for k, j in enumerate(numbers)}
        for j in range(X.shape[1]):
            gone = bool(np.isnan(X[:, j]).any())
            name = None if data.names is None else data.names[j]
            known = levels[j]
            if known is None:
                k = at[j]
                entry = {"fill": float(fills[k]), "mean": float(means[k]), "scale": float(scales[k]), "indicator": gone}
                columns.append({"name": name, "kind": "number", **entry})
            else:
                found = OneHotEncoder().fit(X[:, [j]]).categories_[0]
                present = [known[int(code)] for code in found.tolist() if not np.isnan(code)]
                columns.append({"name": name, "kind": "category", "levels": present, "missing": gone})
        return cls(columns, str(np.dtype(X.dtype)))

    @property
    def names(self) -> list[str]:
        """The features, in order."""
        told: list[str] = []
        for k, column in enumerate(self.columns):
            name = column["name"] if column["name"] is not None else f"column {k + 1}"
            if column["kind"] == "number":
                told += [name, *([f"{name} is missing"] if column["indicator"] else [])]
            else:
                told += [f"{name}={level}" for level in column["levels"]]
                told += [f"{name} is missing"] if column["missing"] else []
        return told

    @property
    def width(self) -> int:
        return len(self.names)

    def transform(self, data: Dataset) -> Any:
        """The features of rows: an array, or CSR where there are many."""
        if data.n_features != len(self.columns):
            raise ValueError(f"the table has {data.n_features} columns, the encoding {len(self.columns)}")
        width = self.width
        rows = np.arange(data.n_rows)
        if width > SPARSE_FROM:
            return self._sparse(data, width)
        Z = np.zeros((data.n_rows, width), dtype=self.dtype)
        at = 0
        for j, column in enumerate(self.columns):
            if column["kind"] == "number":
                x, gone = self._number(data, j, column)
                Z[:, at] = x
                at += 1
                if column["indicator"]:
                    Z[:, at] = gone
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
            if column["kind"] == "number":
                x, gone = self._number(data, j, column)
                dense = np.column_stack([x, gone]) if column["indicator"] else x[:, None]
                parts.append(csr_matrix(dense.astype(self.dtype)))
            else:
                codes, size = self._codes(data, j, column)
                hit = np.flatnonzero(codes >= 0)
                ones = np.ones(len(hit), dtype=self.dtype)
                parts.append(csr_matrix((ones, (hit, codes[hit])), shape=(data.n_rows, size)))
        return hstack(parts, format="csr")

    @staticmethod
    def _number(data: Dataset, j: int, column: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
        x = data.X[:, j].astype(np.float64)
        gone = np.isnan(x)
        x[gone] = column["fill"]
        x -= column["mean"]
        x /= column["scale"]
        return x, gone

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
        """The table that gives these features: numbers in their units, the text of the largest one-hot column (none: missing)."""
        Z = np.asarray(Z.toarray() if hasattr(Z, "toarray") else Z, dtype=np.float64)
        X = np.empty((len(Z), len(self.columns)))
        levels: list[list[str] | None] = []
        at = 0
        for j, column in enumerate(self.columns):
            if column["kind"] == "number":
                X[:, j] = Z[:, at] * column["scale"] + column["mean"]
                at += 1
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
        """What rows have that the training rows had not: texts that are no level, and missing values."""
        told = []
        for j, column in enumerate(self.columns):
            name = repr(column["name"]) if column["name"] is not None else f"column {j + 1}"
            gone = int(np.isnan(data.X[:, j]).sum())
            if column["kind"] == "number":
                if gone and not column["indicator"]:
                    told.append(
                        f"{name}: {gone} missing values, taken as {column['fill']:g} (the median of the training rows)"
                    )
                continue
            known = (data.levels[j] if data.levels is not None else None) or []
            new = [level for level in known if level not in set(column["levels"])]
            if new:
                codes, _ = self._codes(data, j, column)
                rows = int(((codes < 0) & ~np.isnan(data.X[:, j])).sum())
                told.append(
                    f"{name}: {rows} rows with texts not seen in training ({listed(new, 3)}), 0 in all its features"
                )
            if gone and not column["missing"]:
                told.append(f"{name}: {gone} missing values, not seen in training, 0 in all its features")
        return told

    def applied(self, data: Dataset) -> Dataset:
        """The same rows with features in the place of columns."""
        return Dataset(
            X=self.transform(data),
            y=data.y,
            names=self.names,
            target=data.target,
            weights=data.weights,
            notes=data.notes,
            path=data.path,
        )

    def document(self) -> dict[str, Any]:
        """The entry `input` of a model document."""
        return {"columns": self.columns, "dtype": self.dtype}

    @classmethod
    def of_document(cls, block: Mapping[str, Any]) -> Encoding:
        return cls([dict(column) for column in block["columns"]], block["dtype"])


def useless(data: Dataset) -> dict[int, str]:
    """Columns that no model can use, and why: without any value, or texts that are nearly all different."""
    found: dict[int, str] = {}
    levels = data.levels or [None] * data.n_features
    for j in range(data.n_features):
        present = data.n_rows - int(np.isnan(data.X[:, j]).sum())
        known = levels[j]
        if not present:
            found[j] = "no row has a value"
        elif known is not None and (len(known) > MOST_LEVELS or (len(known) > 20 and 2 * len(known) > present)):
            found[j] = f"{len(known)} different texts in {present} rows"
    return found


def _name(data: Dataset, j: int) -> str | int:
    return j + 1 if data.names is None else data.names[j]
