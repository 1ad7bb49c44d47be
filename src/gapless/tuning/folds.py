"""Who is left out when: the folds of a cross-validation, or one part held out."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse


@dataclass(frozen=True, eq=False)
class Folds:
    """(training rows, test rows) of each."""

    splits: tuple[tuple[np.ndarray, np.ndarray], ...]
    n_rows: int
    said: str

    def __len__(self) -> int:
        return len(self.splits)

    @property
    def single(self) -> bool:
        return len(self.splits) == 1

    def digest(self) -> str:
        found = hashlib.sha256()
        for train, test in self.splits:
            for part in (train, test):
                found.update(np.int64(part.size).tobytes())
                found.update(np.ascontiguousarray(part, dtype="<i8").tobytes())
        return found.hexdigest()[:32]


def make_folds(cv: Any, X: Any, y: Any, *, classifier: bool, seed: int = 0, groups: Any = None) -> Folds:
    """cv: a number of folds (shuffled; stratified for classifiers), a share to hold out (0.3), a splitter of scikit-learn, or an
    iterable of (train, test)."""
    from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold, StratifiedShuffleSplit

    n = X.shape[0] if hasattr(X, "shape") else len(X)
    if isinstance(cv, bool):
        raise ValueError(f"cv must be a number of folds, a share to hold out, a splitter or splits; got {cv!r}")
    if isinstance(cv, Integral):
        if cv < 2:
            raise ValueError(f"cv must be at least 2 folds; got {cv!r}. A share to hold out is a float: cv=0.3")
        splitter: Any = (StratifiedKFold if classifier else KFold)(int(cv), shuffle=True, random_state=seed)
        said = f"{int(cv)} folds"
    elif isinstance(cv, Real):
        if not 0.0 < float(cv) < 1.0:
            raise ValueError(f"a share to hold out is between 0 and 1; got cv={cv!r}")
        kind = StratifiedShuffleSplit if classifier else ShuffleSplit
        splitter = kind(1, test_size=float(cv), random_state=seed)
        said = f"{float(cv):g} of the rows held out"
    elif hasattr(cv, "split"):
        splitter, said = cv, type(cv).__name__
    else:
        splitter, said = None, "given splits"
    found = list(cv) if splitter is None else list(splitter.split(X, y, groups))
    if not found:
        raise ValueError("cv gives no split")
    splits = []
    for train, test in found:
        train, test = (np.asarray(part) for part in (train, test))
        train, test = (np.flatnonzero(p) if p.dtype == bool else p.astype(np.int64) for p in (train, test))
        if train.size == 0 or test.size == 0:
            raise ValueError("a fold has no training rows, or no test rows")
        if np.intersect1d(train, test).size:
            raise ValueError("a fold tests on rows that it trains on: its score says nothing of new rows")
        splits.append((train, test))
    return Folds(tuple(splits), n, said)


def take(values: Any, rows: np.ndarray) -> Any:
    """Some rows of a matrix, a data frame or a list."""
    if hasattr(values, "iloc"):
        return values.iloc[rows]
    if sparse.issparse(values):
        return values.tocsr()[rows]
    if hasattr(values, "shape"):
        return values[rows]
    return [values[i] for i in rows]
