"""The hard margin of a Gram matrix: the same as that of its rows, kernels, and what is refused."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from gapless import NotSeparable
from gapless.solvers.hard_margin.gram import hard_margin_gram
from gapless.solvers.hard_margin.solve import hard_margin
from tests.hard_margin.problems import separable


@pytest.mark.parametrize("seed", range(48))
def test_same_as_its_rows(seed):
    p = separable(seed, largest=80)
    X = p.X.toarray() if sparse.issparse(p.X) else p.X
    rows = hard_margin(p.X, p.y, offset=p.offset, offset_scale=p.scale)
    found = hard_margin_gram(X @ X.T, p.y, offset=p.offset, offset_scale=p.scale)
    # Inner products lose half of the digits of thin margins.
    longest = np.hypot(np.linalg.norm(X, axis=1).max(), p.scale if p.offset == "penalised" else 0.0)
    thin = longest / rows.lower
    np.testing.assert_allclose(found.u @ X, rows.w, atol=1e-14 * thin**2 * np.linalg.norm(rows.w))
    assert found.primal >= found.dual - found.rounding
    assert found.relative_gap <= 1e-13 * thin**2
    f = X @ (found.u @ X) + found.b
    assert (p.y * f).min() >= 1.0 - 1e-13 * thin**2
    assert set(found.support.tolist()) == set(np.flatnonzero(found.alpha).tolist())


def rbf(A, B, width):
    return np.exp(-width * ((A[:, None] - B[None]) ** 2).sum(axis=2))


@pytest.mark.parametrize("offset", ["none", "free", "penalised"])
def test_kernels_separate_what_planes_do_not(offset):
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, size=(60, 2))
    y = np.where(X[:, 0] * X[:, 1] > 0, 1, -1)
    K = rbf(X, X, 3.0)
    found = hard_margin_gram(K, y, offset=offset)
    assert (y * (K @ found.u + found.b)).min() >= 1.0 - 1e-9
    assert found.relative_gap <= 1e-8
    assert (found.alpha >= 0).all()
    if offset == "free":
        assert (found.alpha * y).sum() == 0.0


def test_xor_by_hand():
    # phi = (x1, x2, x1 x2), xor by the third: |w| = 1, all four rows on the margin, alpha = 1/4
    X = np.array([[1.0, 1], [1, -1], [-1, 1], [-1, -1]])
    y = np.array([1, -1, -1, 1])
    phi = np.column_stack([X, X[:, 0] * X[:, 1]])
    for offset in ("none", "free"):
        found = hard_margin_gram(phi @ phi.T, y, offset=offset)
        if offset == "free":  # without it other multipliers are as good
            np.testing.assert_allclose(found.alpha, 0.25, atol=1e-14)
        assert found.primal == pytest.approx(0.5, rel=1e-13)
        assert found.b == pytest.approx(0.0, abs=1e-14)


@pytest.mark.parametrize("offset", ["none", "free", "penalised"])
def test_equal_points_with_both_labels(offset):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 3))
    X[7] = X[3]
    y = np.where(rng.random(20) > 0.5, 1, -1)
    y[3], y[7] = 1, -1
    K = rbf(X, X, 1.0)
    with pytest.raises(NotSeparable, match="no margin above") as caught:
        hard_margin_gram(K, y, offset=offset)
    witness = caught.value.witness
    assert sum(witness.multipliers) == 1
    assert all(v > 0 for v in witness.multipliers)
    assert isinstance(caught.value.multipliers[0], Fraction)
    signed = np.zeros(20)
    signed[caught.value.rows] = [float(v) for v in witness.multipliers]
    signed *= y
    if offset == "free":
        assert sum(v * int(y[i]) for i, v in zip(witness.rows, witness.multipliers)) == 0
    inner = K + (offset == "penalised")
    assert signed @ inner @ signed <= witness.margin**2 <= 2e-14


def test_the_witness_bounds_every_margin():
    # Nearly equal points: whatever w and b, the smallest distance stays below the bound.
    X = np.array([[0.0, 0], [1.0, 1], [1e-9, 0], [2.0, 1]])
    y = np.array([1, 1, -1, -1])
    with pytest.raises(NotSeparable) as caught:
        hard_margin_gram(X @ X.T, y)
    rng = np.random.default_rng(0)
    for _ in range(200):
        w = rng.normal(size=2)
        w /= np.linalg.norm(w)
        z = X @ w
        b = 0.5 * ((-z[y < 0]).min() - z[y > 0].min())
        assert (y * (z + b)).min() <= caught.value.witness.margin


@pytest.mark.parametrize(
    ("K", "message"),
    [
        (np.eye(3), "shape"),
        (np.array([[1.0, 2.0], [2.0, 1.0]]), "semidefinite"),
        (np.array([[1.0, 0.5], [0.0, 1.0]]), "symmetric"),
        (np.array([[np.nan, 0.5], [0.5, 1.0]]), "finite"),
        (np.array([[-1.0, 0.0], [0.0, -1.0]]), "semidefinite"),
    ],
)
def test_no_gram_matrix(K, message):
    with pytest.raises(ValueError, match=message):
        hard_margin_gram(K, np.array([1, -1]))


def test_zero_matrix():
    with pytest.raises(NotSeparable):
        hard_margin_gram(np.zeros((2, 2)), np.array([1, -1]))
