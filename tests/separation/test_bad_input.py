"""Data that break careless code: the right status, or an error that says what is wrong."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_classification

from gapless import separability, verify
from tests.separation.exact import proves

BIG, SMALL = 1e300, 1e-300
CASES = {
    "equal rows, both labels": ([[1.0, 2], [1, 2], [0, 0], [3, 1]], [0, 1, 0, 1], True, "quasi"),
    "nothing but equal rows": ([[1.0, 2], [1, 2]], [0, 1], True, "overlap"),
    "a row of zeros without an offset": ([[0.0, 0], [1, 2], [-1, -3]], [0, 1, 0], False, "quasi"),
    "rows of zeros without an offset": ([[0.0], [0]], [0, 1], False, "overlap"),
    "a constant column": ([[1.0, 5], [2, 5], [3, 5]], [0, 0, 1], True, "complete"),
    "constant columns only": ([[5.0, 5], [5, 5]], [0, 1], True, "overlap"),
    "a constant without an offset": ([[5.0], [5]], [0, 1], False, "overlap"),
    "large": ([[BIG], [-BIG], [2 * BIG]], [1, 0, 1], True, "complete"),
    "small": ([[SMALL], [-SMALL], [2 * SMALL]], [1, 0, 1], True, "complete"),
    "large beside small": ([[BIG], [SMALL], [-SMALL]], [1, 1, 0], True, "complete"),
    "overlap of the small": ([[BIG], [SMALL], [-SMALL], [3 * SMALL]], [1, 1, 0, 0], True, "overlap"),
    "large and small columns": ([[BIG, SMALL], [SMALL, BIG], [-BIG, -SMALL]], [1, 1, 0], True, "complete"),
    "the smallest number": ([[5e-324], [0], [1e-323]], [0, 0, 1], True, "complete"),
    "the smallest number twice": ([[5e-324], [0], [5e-324]], [0, 0, 1], True, "quasi"),
    "the largest number": ([[1.7e308], [-1.7e308]], [0, 1], True, "complete"),
    "neighbours": ([[1.0], [1 + 2**-52]], [0, 1], True, "complete"),
    "far from 0": ([[1e16], [1e16 + 2]], [0, 1], True, "complete"),
    "no columns": (np.zeros((2, 0)), [0, 1], True, "overlap"),
    "bools": ([[True], [False]], [0, 1], True, "complete"),
    "a tenth is no tenth": ([[0.1], [0.3], [0.2]], [0, 1, 1], True, "complete"),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("error")
def test_status_and_proof(name):
    X, y, offset, status = CASES[name]
    X, y = np.asarray(X), np.asarray(y)
    found = separability(X, y, fit_intercept=offset)
    assert found.status == status
    assert verify(found, X, y)
    if X.shape[1]:
        assert proves(found, X.astype(float), y, offset, floats=False)
        again = separability(sparse.csr_array(X), y, fit_intercept=offset)
        assert again.status == status
        assert verify(again, X, y)
        assert verify(found, sparse.csr_array(X), y)


def test_sums_that_rounding_would_get_wrong():
    """0.1 + 0.2 > 0.3 in exact float64: the third row lies off the line through the others, by one unit in the last place."""
    X = np.array([[0.1, 0.2], [0.3, 0.0], [0.15, 0.15], [0.4, 0.4]])
    y = np.array([0, 0, 1, 1])
    found = separability(X, y)
    assert verify(found, X, y)
    assert proves(found, X, y)


@pytest.mark.parametrize(
    ("X", "y", "words"),
    [
        ([[1.0], [2.0]], [1, 1], "only one class"),
        ([[1.0]], [1], "only one class"),
        ([[np.nan], [1.0]], [0, 1], "NaN"),
        ([[np.inf], [1.0]], [0, 1], "infinity"),
        ([[1.0], [2.0]], [0, 1, 0], "rows"),
        ([[1.0], [2.0]], None, "y is None"),
        ([[1.0], [2.0]], [0.5, 1.5], "[Uu]nknown label type"),
        ([["a"], ["b"]], [0, 1], "could not convert"),
        (np.zeros((0, 2)), [], "minimum of 1"),
    ],
)
def test_errors(X, y, words):
    with pytest.raises(ValueError, match=words):
        separability(X, y)


def test_weights_that_leave_one_class():
    with pytest.raises(ValueError, match="after the rows of weight zero"):
        separability([[1.0], [2.0]], [0, 1], sample_weight=[1.0, 0.0])
    with pytest.raises(ValueError, match="Negative values"):
        separability([[1.0], [2.0]], [0, 1], sample_weight=[1.0, -1.0])


def test_a_class_without_weight_does_not_count():
    X, y = np.array([[0.0], [1.0], [0.5], [0.7]]), np.array(["a", "b", "c", "c"])
    weight = np.array([1.0, 1.0, 0.0, 0.0])
    found = separability(X, y, sample_weight=weight)
    assert found.status == "complete"
    assert found.classes.tolist() == ["a", "b"]
    assert verify(found, X, y, weight)


def test_kinds_of_input():
    rng = np.random.default_rng(3)
    X, y = rng.integers(-3, 4, (60, 3)), rng.integers(0, 2, 60)
    wanted = separability(X.astype(float), y)
    for given in (
        X.astype(np.int8),
        X.astype(np.float32),
        np.asfortranarray(X),
        sparse.csc_array(X),
        sparse.coo_matrix(X),
        X.tolist(),
    ):
        found = separability(given, y)
        assert found.status == wanted.status
        assert found.fingerprint == wanted.fingerprint
        assert verify(found, X, y)
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    assert separability(frame, pandas.Series(y)).feature_names == ["a", "b", "c"]


@pytest.mark.parametrize("n", [100, 1_000])
@pytest.mark.parametrize("informative", [2, 10])
def test_columns_that_are_dependent_but_for_rounding(n, informative):
    """Two columns are sums of others, rounded: their exact rank is full, which no float64 sees, and at 100 rows the digits that
    were rounded away may be all that separates."""
    for seed in range(12):
        X, y = make_classification(n, n_informative=informative, n_redundant=2, random_state=seed)
        found = separability(X, y)
        assert found.status == "overlap" or n == 100
        assert verify(found, X, y), seed


@pytest.mark.parametrize("status", ["complete", "quasi", "overlap"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kind", ["dense", "sparse", "no offset"])
def test_what_rounding_left_decides(status, n_classes, kind):
    """Column 2 is column 0 plus column 1 but for 2^-40 e: e tells the class, with all rows strictly on their sides, with one of
    each class on the plane, or not at all. The program sees nothing below 1e-7."""
    random = np.random.default_rng(n_classes)
    n = 60
    X = random.integers(-8, 9, (n, 3)).astype(float)
    y = np.arange(n) % n_classes
    left = np.array([-1.0, 1.0, 3.0])[y]
    if status == "quasi":
        X[:n_classes] = X[0]
        left[:n_classes] = 1.0 if n_classes == 3 else 0.0
    if status == "overlap":
        left = random.integers(-3, 4, n).astype(float)
    X[:, 2] = X[:, 0] + X[:, 1] + 2.0**-40 * left
    if n_classes == 3 and status != "overlap":
        X = np.hstack([X, ((y == 1) & (np.arange(n) >= n_classes))[:, None]])
    offset = kind != "no offset"
    if not offset:
        X = np.hstack([X, np.ones((n, 1))])
    found = separability(sparse.csr_array(X) if kind == "sparse" else X, y, fit_intercept=offset)
    assert found.status == status
    assert verify(found, X, y)
    assert proves(found, X, y, offset, floats=False)


def test_a_margin_that_floats_underflow_is_exact():
    """Columns 400 orders of magnitude apart: products vanish in float64, and the smallest distance is found in fractions."""
    for seed in (9, 19):
        X, y = make_classification(
            60, n_informative=10, n_redundant=1, n_repeated=2, n_clusters_per_class=1, random_state=seed
        )
        X[:, 3] *= 1e200
        X[:, 5] *= 1e-200
        found = separability(X, y)
        assert found.status == "complete"
        assert verify(found, X, y), (seed, found)
