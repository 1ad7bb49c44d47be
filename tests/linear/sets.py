"""Data sets, models and judgements that the tests of the estimators share."""

from __future__ import annotations

import hashlib
from functools import lru_cache

import numpy as np
from scipy import sparse
from sklearn import datasets

import gapless

LOSSES = ("hinge", "squared_hinge", "logistic")
OFFSETS = {
    "free": {},
    "penalised": {"penalize_intercept": True},
    "none": {"fit_intercept": False},
}


def model(loss: str, offset: str = "free", **given):
    """The estimator of a loss; everything else at its default."""
    given = {**OFFSETS[offset], **given}
    return gapless.LogisticRegression(**given) if loss == "logistic" else gapless.LinearSVC(loss=loss, **given)


def _random(kind: str, classes: int, n: int = 150, d: int = 6):
    random = np.random.default_rng(sum(map(ord, kind)) + classes)
    if kind == "duplicates":  # every row stands three times, some with another label
        X = np.repeat(random.normal(size=(n // 3, d)), 3, axis=0)
    elif kind == "discrete":  # few values, so that many rows tie on a margin
        X = random.integers(-1, 2, size=(n, d)).astype(float)
    elif kind == "ordinal":  # small whole numbers of both signs: their bits are mostly zero
        X = random.choice([-4.0, -2.0, -1.0, 1.0, 2.0, 3.0, 4.0], size=(n, d))
    else:
        X = random.normal(size=(n, d)) * 10.0 ** random.uniform(-2, 2, size=d)
    scores = X / np.maximum(np.abs(X).max(axis=0), 1e-12) @ random.normal(size=(d, classes))
    return X, (scores + 0.3 * random.normal(size=scores.shape)).argmax(axis=1)


@lru_cache(maxsize=32)
def load(name: str):
    """X (dense float64, read-only) and y."""
    if name == "breast_cancer":
        X, y = datasets.load_breast_cancer(return_X_y=True)
    elif name == "breast_cancer_scaled":
        X, y = datasets.load_breast_cancer(return_X_y=True)
        X = (X - X.mean(axis=0)) / X.std(axis=0)
    elif name == "wine":
        X, y = datasets.load_wine(return_X_y=True)
    elif name == "iris":
        X, y = datasets.load_iris(return_X_y=True)
    elif name == "iris_two":
        X, y = datasets.load_iris(return_X_y=True)
        X, y = X[y > 0], y[y > 0]
    elif name == "digits":  # three classes of it
        X, y = datasets.load_digits(return_X_y=True)
        X, y = X[y % 3 == 2], y[y % 3 == 2]
    elif name == "digits_two":
        X, y = datasets.load_digits(return_X_y=True)
        X, y = X[(y == 3) | (y == 8)], y[(y == 3) | (y == 8)]
    elif name == "large":  # past what is merged and sorted as small data
        X, y = datasets.make_classification(24_000, 8, n_informative=5, flip_y=0.1, random_state=0)
    elif name == "large_three":
        X, y = datasets.make_classification(24_000, 8, n_informative=5, n_classes=3, flip_y=0.1, random_state=1)
    else:
        kind, _, classes = name.partition("_")
        X, y = _random(kind, 2 if classes == "two" else 3)
    X = np.ascontiguousarray(X, dtype=np.float64)
    X.flags.writeable = y.flags.writeable = False
    return X, y


TWO_CLASSES = (
    "breast_cancer",
    "breast_cancer_scaled",
    "digits_two",
    "iris_two",
    "duplicates_two",
    "discrete_two",
    "ordinal_two",
    "scales_two",
)
THREE_CLASSES = ("iris", "wine", "digits", "duplicates_three", "discrete_three", "ordinal_three", "scales_three")


def form(X: np.ndarray, kind: str):
    return sparse.csr_matrix(X) if kind == "csr" else X


def bits(fitted) -> tuple[str, ...]:
    """What must not depend on who computed it: digests of coef_, intercept_ and alpha_, to the last bit."""
    arrays = (fitted.coef_, fitted.intercept_, fitted.alpha_)
    return tuple(hashlib.blake2b(np.ascontiguousarray(array).tobytes(), digest_size=8).hexdigest() for array in arrays)


def trusted(fitted, X, y, sample_weight=None):
    """The judge, which shares no code with the solvers, confirms every claim of the certificate."""
    verdict = gapless.verify(fitted, X, y, sample_weight=sample_weight)
    assert verdict, str(verdict)
    return fitted.certificate_


def objective(fitted, X, y, C: float = 1.0, sample_weight=None, positive: int = 1) -> float:
    """P(w, b) of two classes in plain numpy, from the formula of the docstring."""
    w, b = fitted.coef_[0].astype(float), float(fitted.intercept_[0])
    signs = np.where(y == fitted.classes_[positive], 1.0, -1.0)
    margins = signs * (X @ w + b)
    c = C * (np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=float))
    loss = getattr(fitted, "loss", "logistic")
    if loss == "logistic":
        each = np.logaddexp(0.0, -margins)
    else:
        each = np.maximum(0.0, 1.0 - margins) ** (2 if loss == "squared_hinge" else 1)
    v = b / getattr(fitted, "intercept_scaling", 1.0) if fitted.penalize_intercept else 0.0
    return float(0.5 * (w @ w + v * v) + c @ each)
