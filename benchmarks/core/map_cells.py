"""Where the map looks: shapes drawn by a seed, and the data that scikit-learn ships. A cell is an estimator, a C and data.

Rows 50 to 200,000 and columns 2 to 3,000, both log-uniform, at most 2e7 values; dense or CSR; scaled or raw; 2 to 26 classes;
noisy, separable, collinear or imbalanced; with weights or without. Nothing here looks at what is fast: a rule that decides by
shape cannot be tuned to cells that are drawn anew each time.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy import sparse

ROWS, COLUMNS, CLASSES, VALUES = (50, 200_000), (2, 3000), (2, 26), 2e7
STRENGTHS = (0.01, 1.0, 100.0)
NATURES = ("noisy", "separable", "collinear", "imbalanced")
SHIPPED = {"classes": ("iris", "wine", "breast_cancer", "digits"), "numbers": ("diabetes", "linnerud")}
#: One cell in so many is of the data that scikit-learn ships.
SHIPPED_SHARE = 8


@dataclass(frozen=True)
class Cell:
    """A fit that everybody makes. ``data`` is "drawn", or the name of a set that scikit-learn ships."""

    number: int
    estimator: str
    C: float | None
    data: str
    n: int
    d: int
    form: str  #: "dense" or "csr"
    scaled: bool
    classes: int  #: 0 for targets that are numbers
    nature: str
    weighted: bool
    seed: int

    def as_row(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        strength = "" if self.C is None else f", C = {self.C:g}"
        what = self.data if self.data != "drawn" else f"{self.form}, {self.nature}"
        classes = f", {self.classes} classes" if self.classes > 2 else ""
        raw, weights = "" if self.scaled else ", raw", ", weights" if self.weighted else ""
        return f"{self.estimator}{strength}, {self.n:,} x {self.d:,} ({what}{classes}{raw}{weights})"


def log_uniform(random: np.random.Generator, low: float, high: float) -> int:
    """A whole number from ``low`` to ``high``, both included, whose logarithm is uniform."""
    return min(int(high), int(math.exp(random.uniform(math.log(low), math.log(high + 1)))))


def draw_cell(random: np.random.Generator, number: int, kind: Any) -> Cell:
    """A cell for one estimator; ``kind`` says what data it takes (``benchmarks/core/map_fits.py``)."""
    C = float(random.choice(STRENGTHS)) if kind.strengths else None
    seed = int(random.integers(2**31))
    weighted = bool(kind.weights and random.integers(2))
    scaled = bool(random.integers(2))
    shipped = SHIPPED.get(kind.task, ())
    if shipped and random.integers(SHIPPED_SHARE) == 0:
        name = str(random.choice(shipped))
        X, y = shipped_data(name)
        classes = np.unique(y).size if kind.task == "classes" else 0
        return Cell(number, kind.name, C, name, *X.shape, "dense", scaled, classes, "real", weighted, seed)
    while True:
        n, d = log_uniform(random, *ROWS), log_uniform(random, *COLUMNS)
        if n * d <= VALUES:
            break
    form = "csr" if kind.sparse and random.integers(2) else "dense"
    most = max(CLASSES[0], min(CLASSES[1], n // 20))
    classes = log_uniform(random, CLASSES[0], most) if kind.task == "classes" else 0
    nature = str(random.choice(NATURES if classes else NATURES[:3]))
    return Cell(number, kind.name, C, "drawn", n, d, form, scaled, classes, nature, weighted, seed)


def shipped_data(name: str) -> tuple[np.ndarray, np.ndarray]:
    from sklearn import datasets

    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    return np.asarray(X, dtype=np.float64), np.asarray(y)[:, 0] if np.ndim(y) == 2 else np.asarray(y)


def make_data(cell: Cell) -> tuple[Any, np.ndarray, np.ndarray | None]:
    """Rows, targets and weights of a cell: the same whenever it is asked."""
    random = np.random.default_rng(cell.seed)
    if cell.data != "drawn":
        X, y = shipped_data(cell.data)
        X = _standardised(X) if cell.scaled else X
    else:
        X = _rows(cell, random)
        y = _classes(cell, X, random) if cell.classes else _numbers(cell, X, random)
        X = X if cell.scaled else _in_raw_units(X, random)
    weights = random.exponential(size=len(y)) + 0.1 if cell.weighted else None
    return (X if sparse.issparse(X) else np.ascontiguousarray(X)), y, weights


def _standardised(X: np.ndarray) -> np.ndarray:
    deviation = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(deviation > 0.0, deviation, 1.0)


def _rows(cell: Cell, random: np.random.Generator) -> Any:
    """Standard normal values; collinear columns are sums of a third of the others, all but a millionth."""
    n, d = cell.n, cell.d
    if cell.form == "csr":
        density = 10.0 ** random.uniform(-3.0, -0.5)
        stored = max(n, int(density * n * d))
        places = np.unique(random.integers(0, n * d, stored))
        columns = places % d
        values = random.normal(size=places.size)
        if cell.nature == "collinear":
            columns -= columns % 2 * (random.random(places.size) < 0.999)  # odd columns are nearly empty
        X = sparse.csr_matrix((values, (places // d, columns)), shape=(n, d))
        X.sum_duplicates()
        return X
    X = random.normal(size=(n, d))
    if cell.nature == "collinear" and d > 2:
        own = max(1, d // 3)
        X[:, own:] = X[:, :own] @ random.normal(size=(own, d - own)) / math.sqrt(own) + 1e-6 * X[:, own:]
    return X


def _in_raw_units(X: Any, random: np.random.Generator) -> Any:
    """Columns in units of their own, from thousandths to thousands; dense ones also away from 0."""
    units = 10.0 ** random.uniform(-3.0, 3.0, X.shape[1])
    if sparse.issparse(X):
        return sparse.csr_matrix(X @ sparse.diags_array(units))
    return (X + random.normal(size=X.shape[1])) * units


def _numbers(cell: Cell, X: Any, random: np.random.Generator) -> np.ndarray:
    y = np.asarray(X @ random.normal(size=X.shape[1])).ravel()
    size = float(y.std()) or 1.0
    return (
        y if cell.nature == "separable" else y + size * 10.0 ** random.uniform(-1.0, 0.5) * random.normal(size=y.size)
    )


def _classes(cell: Cell, X: Any, random: np.random.Generator) -> np.ndarray:
    """The class of the highest of K scores of a few columns; noise is as wide as the scores, and rare classes start lower."""
    K = cell.classes
    some = random.random(X.shape[1]) < max(20.0, 0.1 * X.shape[1]) / X.shape[1]
    W = random.normal(size=(X.shape[1], K)) * some[:, None]
    scores = _standardised(np.asarray(X @ W))
    if cell.nature == "separable":
        y = scores.argmax(axis=1)
        return y if np.unique(y).size > 1 else (scores[:, 0] > np.median(scores[:, 0])).astype(np.int64)
    scores = scores + random.uniform(0.2, 1.5) * random.gumbel(size=scores.shape)
    if cell.nature == "imbalanced":
        scores[:, 1:] -= np.linspace(1.0, 3.0, K - 1)
    y = scores.argmax(axis=1)
    few = min(len(y), 4 * K)  # of each class some rows at least
    y[random.permutation(len(y))[:few]] = np.arange(few) % K
    return y
