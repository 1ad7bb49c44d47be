"""The three kinds, against exact references, and their proofs by the definitions alone."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits, load_iris, load_wine

from gapless import separability, verify
from tests.separation.exact import proves, status_of

QUASI = np.array([[-1.0], [0.0], [0.0], [1.0]]), np.array([0, 0, 1, 1])
OVERLAP = np.array([[0.0], [0.0], [1.0], [1.0]]), np.array([0, 1, 0, 1])


def test_four_rows_that_touch():
    X, y = QUASI
    found = separability(X, y)
    assert found.status == "quasi"
    assert found.rows.tolist() == [1, 2]
    assert found.multipliers == [Fraction(1, 2), Fraction(1, 2)]
    assert found.on_plane.tolist() == [1, 2]
    assert found.columns.tolist() == [0]
    assert found.w[0] > 0
    assert found.b == 0
    assert found.margin is None
    assert "2 of 4 rows lie on the separating hyperplane" in str(found)
    assert proves(found, X, y)


def test_both_labels_at_each_point():
    X, y = OVERLAP
    found = separability(X, y)
    assert found.status == "overlap"
    assert found.w is None
    assert found.b is None
    assert found.rows.tolist() == [0, 1, 2, 3]
    assert proves(found, X, y)


def test_iris():
    X, y = load_iris(return_X_y=True)
    setosa = separability(X, np.where(y == 0, "setosa", "other"))
    assert setosa.status == "complete"
    assert proves(setosa, X, np.where(y == 0, "setosa", "other"))
    signs = np.where(y == 0, 1.0, -1.0)  # "setosa" comes after "other"
    distance = signs * (X @ setosa.w + setosa.b) / np.linalg.norm(setosa.w)
    assert distance.min() == pytest.approx(setosa.margin, rel=1e-9)
    others = separability(X[50:], y[50:])
    assert others.status == "overlap"
    assert proves(others, X[50:], y[50:])
    three = separability(X, y)
    assert three.status == "quasi"  # setosa leaves, the other two overlap
    assert proves(three, X, y)
    assert set(three.on_plane.tolist()) == set(range(50, 150))


def test_three_wines():
    X, y = load_wine(return_X_y=True)
    found = separability(X, y)
    assert found.status == "complete"
    assert verify(found, X, y)
    assert found.w.shape == (3, 13)
    assert ((X @ found.w.T + found.b).argmax(axis=1) == y).all()
    # The two classes of each pair are separated then, too.
    for k in range(3):
        assert separability(X[y != k], y[y != k]).status == "complete"


def test_ten_digits():
    """585 coefficients, 16,173 pairs: softmax leads the way."""
    X, y = load_digits(return_X_y=True)
    found = separability(X, y)
    assert found.status == "complete"
    assert verify(found, X, y)


def small(random, k):
    """A random problem of small integers; every kind comes often."""
    K = 2 if k % 3 else 3
    n, d = int(random.integers(2, 10 if K == 2 else 6)), int(random.integers(1, 4 if K == 2 else 3))
    X = random.integers(-2, 3, (n, d)).astype(float)
    if k % 2:
        y = (X @ random.integers(-1, 2, d) + random.integers(-1, 2) >= 0).astype(int)
        if k % 4 == 1:
            j = int(random.integers(n))
            y[j] = 1 - y[j]
    else:
        y = random.integers(0, K, n)
    return X, y


def agree(cases):
    random, seen = np.random.default_rng(7), {}
    for k in range(cases):
        X, y = small(random, k)
        classes, index = np.unique(y, return_inverse=True)
        if classes.size < 2:
            continue
        offset = bool(k % 5)
        given = sparse.csr_array(X) if k % 7 == 0 else X
        found = separability(given, y, fit_intercept=offset)
        wanted = status_of(X, index, classes.size, offset)
        assert found.status == wanted, (k, X.tolist(), y.tolist())
        assert proves(found, X, y, offset), (k, X.tolist(), y.tolist())
        assert verify(found, given, y), (k, X.tolist(), y.tolist())
        seen[wanted, classes.size] = seen.get((wanted, classes.size), 0) + 1
    return seen


def test_random_problems_against_a_rational_simplex():
    seen = agree(250)
    assert min(seen.get((status, 2), 0) for status in ("complete", "quasi", "overlap")) >= 20


@pytest.mark.slow
def test_two_thousand_random_problems():
    seen = agree(2600)
    assert sum(seen.values()) >= 2000
    assert min(seen.values()) >= 10
