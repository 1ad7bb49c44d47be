"""The folds of a cross-validation, or one part held out."""

from __future__ import annotations

import hashlib
import warnings
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse

from gapless._runtime.results import result
from gapless._runtime.written import written


@result
@dataclass(frozen=True, eq=False)
class Folds:
    """The training rows and the test rows of each fold.

    Attributes
    ----------
    splits : (training rows, test rows) of each fold
    n_rows : number of rows
    said : the folds in words
    lacking : whether the test rows of each lack a class, so that some scores are not defined there
    """

    splits: tuple[tuple[np.ndarray, np.ndarray], ...]
    n_rows: int
    said: str
    lacking: tuple[bool, ...] = ()

    def __len__(self) -> int:
        return len(self.splits)

    @property
    def single(self) -> bool:
        """Whether one part is held out, in place of folds."""
        return len(self.splits) == 1

    def mean(self, scores: np.ndarray) -> float:
        """The mean score over the folds; a score that a missing class leaves undefined is left out, any other NaN counts.

        ``scores`` has a number for each fold.
        """
        scores = np.asarray(scores)
        absent = np.isnan(scores) & np.array(self.lacking or (False,) * len(self))
        return float(np.mean(scores[~absent])) if not absent.all() else float("nan")

    def digest(self) -> str:
        """A hash of all splits."""
        found = hashlib.sha256()
        for train, test in self.splits:
            for part in (train, test):
                found.update(np.int64(part.size).tobytes())
                found.update(np.ascontiguousarray(part, dtype="<i8").tobytes())
        return found.hexdigest()[:32]

    def __str__(self) -> str:
        return f"{self.said}, {self.n_rows:,} rows"


def make_folds(cv: Any, X: Any, y: Any, *, classifier: bool, seed: int = 0, groups: Any = None) -> Folds:
    """cv: a number of folds (shuffled; stratified for classifiers), a share to hold out (0.3), a splitter of scikit-learn, or an
    iterable of (train, test)."""
    from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold, StratifiedShuffleSplit

    n = X.shape[0] if hasattr(X, "shape") else len(X)
    if isinstance(cv, bool):
        raise ValueError(f"cv must be a number of folds, a share to hold out, a splitter or splits; got {written(cv)}")
    if isinstance(cv, Integral):
        if cv < 2:
            raise ValueError(f"cv must be at least 2 folds; got {written(cv)}. A share to hold out is a float: cv=0.3")
        splitter: Any = (StratifiedKFold if classifier else KFold)(int(cv), shuffle=True, random_state=seed)
        said = f"{int(cv)} folds"
        if classifier and int(cv) <= n and _most_rows(y) < int(cv):  # scikit-learn refuses that
            splitter, cv = None, deal(np.unique(np.asarray(y), return_inverse=True)[1], int(cv), seed)
    elif isinstance(cv, Real):
        if not 0.0 < float(cv) < 1.0:
            raise ValueError(f"a share to hold out is between 0 and 1; got cv={written(cv)}")
        kind = StratifiedShuffleSplit if classifier else ShuffleSplit
        splitter = kind(1, test_size=float(cv), random_state=seed)
        said = f"{float(cv):g} of the rows held out"
        if classifier and not _can_stratify(y, float(cv), n):
            splitter, cv = None, [_hold_out(np.unique(np.asarray(y), return_inverse=True)[1], float(cv), seed)]
    elif hasattr(cv, "split"):
        splitter, said = cv, type(cv).__name__
    else:
        splitter, said = None, "given splits"
    with warnings.catch_warnings():
        # A class with fewer rows than folds is in some of the folds: their training rows have it, unless it has one row.
        warnings.filterwarnings("ignore", "The least populated class in y")
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
    lacking: tuple[bool, ...] = ()
    if classifier:
        codes = np.unique(np.asarray(y), return_inverse=True)[1]
        lacking = tuple(bool(np.unique(codes[test]).size <= codes.max()) for _, test in splits)
    return Folds(tuple(splits), n, said, lacking)


def deal(codes: np.ndarray, parts: int, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """(training rows, test rows) of each part. Rows in random order, class after class, are dealt out as cards are: each part has
    its share of every class, and a class with fewer rows than there are parts has at most one row in each.
    """
    order = np.random.RandomState(seed).permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    part = np.empty(len(codes), dtype=np.int64)
    part[order] = np.arange(len(codes)) % parts
    return [(np.flatnonzero(part != k), np.flatnonzero(part == k)) for k in range(parts)]


def _hold_out(codes: np.ndarray, share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """(training rows, test rows): of every class its share as near as whole rows allow; a class of one row is trained on."""
    alone = np.bincount(codes)[codes] == 1
    order = np.random.RandomState(seed).permutation(np.flatnonzero(~alone))
    order = order[np.argsort(codes[order], kind="stable")]
    ends = np.floor(np.arange(order.size + 1) * share)
    held = np.sort(order[ends[1:] > ends[:-1]])
    return np.setdiff1d(np.arange(len(codes)), held), held


def _most_rows(y: Any) -> int:
    return int(np.unique(np.asarray(y), return_counts=True)[1].max())


def _can_stratify(y: Any, share: float, n: int) -> bool:
    """Whether scikit-learn can stratify: it needs two rows of each class, and a row for each class in both parts."""
    counts = np.unique(np.asarray(y), return_counts=True)[1]
    held = int(np.ceil(share * n))
    return bool(counts.min() >= 2 and held >= len(counts) and n - held >= len(counts))


def take(values: Any, rows: np.ndarray) -> Any:
    """Some rows of a matrix, a data frame or a list."""
    if hasattr(values, "iloc"):
        return values.iloc[rows]
    if sparse.issparse(values):
        return values.tocsr()[rows]
    if hasattr(values, "shape"):
        return values[rows]
    return [values[i] for i in rows]
