"""Columns that vary by rounding alone, or are one another but for their last digits: fit and judge agree on their rank."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from gapless import LeastSquaresClassifier, LinearRegression, Ridge, judge, verify
from gapless.solvers.least_squares.thresholds import LEAST_SQUARES_THRESHOLDS

SHAPES = [(5, 2), (90, 4)]


@pytest.fixture(params=["singular values", "normal equations"])
def way(request, monkeypatch):
    """Small rows are solved by singular values; the others' way is taken, too."""
    if request.param == "normal equations":
        small = LEAST_SQUARES_THRESHOLDS._replace(dense_values=0)
        monkeypatch.setattr("gapless.solvers.least_squares.solve.LEAST_SQUARES_THRESHOLDS", small)


def last_digits(random, X):
    """A column of 0.1 and of the next float."""
    X[:, 1] = np.where(random.random(len(X)) < 0.5, 0.1, np.nextafter(0.1, 1.0))


def few_digits(random, X):
    """Some ulps of 1000, which are below what counts as rounding."""
    X[:, 1] = 1e3 + 2.0**-43 * random.integers(0, 9, len(X))


def constant(random, X):
    X[:, 1] = 0.1


def twins(random, X):
    """Equal up to the last digit."""
    X[:, 1] = np.nextafter(X[:, 0], random.choice([-np.inf, np.inf], len(X)))


def equal(random, X):
    X[:, 1] = X[:, 0]


def combination(random, X):
    """Rounding is all that keeps it from being a multiple and a constant."""
    X[:, 1] = X[:, 0] / 3.0 + 0.1


DEGENERATE = [last_digits, few_digits, constant, twins, equal, combination]


def rows(shape, change, form="dense", seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=shape)
    if form == "sparse":
        X[:, 2:] *= random.random(X[:, 2:].shape) < 0.1
    change(random, X)
    y = X[:, 0] + random.normal(size=shape[0])
    return sparse.csr_matrix(X) if form == "sparse" else X.astype(form) if form != "dense" else X, y


@pytest.mark.usefixtures("way")
@pytest.mark.filterwarnings(
    "ignore:the columns .* are", "ignore:Ridge stalled", "ignore:LeastSquaresClassifier stalled"
)
@pytest.mark.parametrize("form", ["dense", "sparse", "float32"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("change", DEGENERATE)
@pytest.mark.parametrize("shape", SHAPES)
def test_such_columns_are_judged_true(shape, change, weighted, form):
    X, y = rows(shape, change, form)
    weight = 10.0 ** np.random.default_rng(1).uniform(-8.0, 8.0, len(y)) if weighted else None
    for model in (LinearRegression(), Ridge(), Ridge(1e-6), LeastSquaresClassifier()):
        target = np.sign(y) if isinstance(model, LeastSquaresClassifier) else y
        model.fit(X, target, sample_weight=weight)
        assert verify(model, X, target, sample_weight=weight)
        assert verify(model, X, target, sample_weight=weight, rigorous=True)


@pytest.mark.usefixtures("way")
@pytest.mark.filterwarnings(
    "ignore:the columns .* are", "ignore:Ridge stalled", "ignore:LeastSquaresClassifier stalled"
)
@pytest.mark.parametrize("model", [LinearRegression(), Ridge()])
@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_false_rank_is_refused(shape, form, model):
    """Independent columns have one rank; with a constant or an equal column it is certain that it is one less."""
    for change, rank in ((lambda random, X: None, shape[1]), (constant, shape[1] - 1), (equal, shape[1] - 1)):
        X, y = rows(shape, change, form)
        model.fit(X, y)
        document, arrays = model.certificate_.document(), dict(model.certificate_.arrays)
        for claimed, holds in ((rank - 1, False), (rank, True), (rank + 1, False), (0, False)):
            document["certificate"]["rank"] = claimed
            assert bool(judge.check(document, arrays, X, y)) is holds, (change, claimed)
