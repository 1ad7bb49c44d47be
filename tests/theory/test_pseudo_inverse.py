"""The costs of least squares: formulas against algorithms written out that count their own operations."""

from __future__ import annotations

import numpy as np
import pytest

from gapless.theory.optimisation import pseudo_inverse


class Counted:
    """Additions and multiplications (and divisions, roots) of plain loops."""

    def __init__(self):
        self.operations = 0

    def dot(self, a, b):
        self.operations += 2 * len(a)
        return float(np.dot(a, b))

    def add(self, a, factor, b):
        """a + factor b, in place."""
        self.operations += 2 * len(a)
        a += factor * b


def cholesky_by_hand(X, y):
    count, d = Counted(), X.shape[1]
    A = np.zeros((d, d))
    for i in range(d):
        for j in range(i + 1):  # half of a symmetric matrix
            A[i, j] = count.dot(X[:, i], X[:, j])
    right = np.array([count.dot(X[:, j], y) for j in range(d)])
    L = np.zeros((d, d))
    for j in range(d):
        for i in range(j, d):
            L[i, j] = A[i, j] - count.dot(L[i, :j], L[j, :j])
        L[j, j] **= 0.5
        L[j + 1 :, j] /= L[j, j]
        count.operations += d - j
    for i in range(d):
        right[i] = (right[i] - count.dot(L[i, :i], right[:i])) / L[i, i]
    for i in reversed(range(d)):
        right[i] = (right[i] - count.dot(L[i + 1 :, i], right[i + 1 :])) / L[i, i]
    return right, count.operations


def qr_by_hand(X, y):
    count, d = Counted(), X.shape[1]
    R, right = X.copy(), y.copy()
    for j in range(d):
        v = R[j:, j].copy()
        v[0] += np.copysign(count.dot(v, v) ** 0.5, v[0])
        scale = 2.0 / count.dot(v, v)
        for k in range(j, d):
            count.add(R[j:, k], -scale * count.dot(v, R[j:, k]), v)
        count.add(right[j:], -scale * count.dot(v, right[j:]), v)
    w = right[:d].copy()
    for i in reversed(range(d)):
        w[i] = (w[i] - count.dot(R[i, i + 1 :], w[i + 1 :])) / R[i, i]
    return w, count.operations


@pytest.mark.parametrize(("name", "by_hand"), [("cholesky", cholesky_by_hand), ("qr", qr_by_hand)])
@pytest.mark.parametrize("shape", [(200, 40), (60, 60)])
def test_formulas_are_what_an_algorithm_counts(name, by_hand, shape):
    random = np.random.default_rng(0)
    X, w = random.standard_normal(shape), random.standard_normal(shape[1])
    found, operations = by_hand(X, X @ w)
    assert found == pytest.approx(w, rel=1e-6, abs=1e-6)
    # Terms of second order are left out: they are of the order of 1/d.
    assert pseudo_inverse.cost(*shape, measure=False)[name].operations == pytest.approx(operations, rel=5.0 / shape[1])


def test_steps_of_conjugate_gradients():
    # Two products with X a step, 2nd operations each; after d steps the solution is there.
    found = pseudo_inverse.cost(50, 6, steps=6, condition=3.0)
    assert found["gradient"].operations == 6 * 2 * (2 * 50 * 6)
    assert found["gradient"].error < 1e-10
    assert pseudo_inverse.cost(50, 6, steps=2, condition=3.0)["gradient"].error > 1e-6


def test_the_table():
    found = pseudo_inverse.cost(400, 30, targets=3, condition=1e6)
    order = [way.operations for way in found]
    assert found.ways[0].name == "pseudo-inverse"
    assert max(order) == found["pseudo-inverse"].operations
    assert found["cholesky"].operations < found["qr"].operations < found["svd"].operations
    assert all(way.seconds > 0.0 for way in found)
    for way in found:
        assert f"{way.operations:.3g}" in str(found)
        assert way.name in found._repr_html_()
    # The normal equations square the condition: 1e6 leaves an SVD and QR ten digits, and them some four.
    assert max(found["svd"].error, found["qr"].error, found["pseudo-inverse"].error) < 1e-8
    assert min(found["cholesky"].error, found["inverse"].error) > 1e-8
    assert pseudo_inverse.cost(10**7, 10**3, measure=True)["pseudo-inverse"].seconds is None


def test_refusals():
    with pytest.raises(ValueError, match="n must be at least d: got n = 3 and d = 4"):
        pseudo_inverse.cost(3, 4)
    with pytest.raises(ValueError, match="condition must be at least 1"):
        pseudo_inverse.cost(4, 3, condition=0.5)
    with pytest.raises(ValueError, match="n must be"):
        pseudo_inverse.cost(0, 0)
    with pytest.raises(KeyError, match="no way is called 'magic'"):
        pseudo_inverse.cost(4, 3, measure=False)["magic"]
