"""Two ways of growing give one tree: on sorted columns, and node by node, which a column of missing values asks for."""

from __future__ import annotations

import numpy as np
import pytest

from gapless.solvers.tree import codes as tree_codes
from gapless.solvers.tree.codes import prepare_columns
from gapless.solvers.tree.thresholds import TreeThresholds
from gapless.solvers.tree.tree import TreeLimits, TreeTarget, grow_tree


def problem(rng, n, d, kind):
    X = rng.normal(size=(n, d)).astype(np.float32)
    X[:, 0] = rng.integers(0, 3, n)  # few values
    X[:, 1] = np.where(rng.random(n) < 0.7, 0.5, X[:, 1])  # most rows have a value in the middle
    if d > 3:
        X[:, 2] = rng.random(n) < 0.05  # nearly constant
        X[:, 3] = 1.0
    score = X[:, 0] + np.abs(X[:, 1]) + 0.5 * rng.normal(size=n)
    if kind == "numbers":
        return X, TreeTarget.from_values(score)
    K = int(kind)
    return X, TreeTarget.from_classes(np.digitize(score, np.quantile(score, np.linspace(0, 1, K + 1)[1:-1])), K)


def both(X, target, w, limits):
    one = grow_tree(prepare_columns(X), target, w, limits)
    other = grow_tree(
        prepare_columns(np.column_stack([X, np.full(len(X), np.nan, dtype=np.float32)])), target, w, limits
    )
    return one, other


def assert_same(one, other):
    for name in ("feature", "left", "right", "n_samples", "threshold", "missing_left"):
        assert (getattr(one, name) == getattr(other, name)).all(), name
    for name in ("value", "impurity", "weighted_n"):
        assert np.allclose(getattr(one, name), getattr(other, name), rtol=1e-11, atol=1e-12), name
    assert one.depth == other.depth


LIMITS = (
    TreeLimits(),
    TreeLimits(min_leaf=4, min_split=9),
    TreeLimits(max_depth=4, min_weight=5.0),
    TreeLimits(min_decrease=2e-3),
    TreeLimits(entropy=True),
    TreeLimits(entropy=True, min_leaf=3, min_split=6),
)


@pytest.mark.parametrize("kind", ["2", "3", "7", "numbers"])
def test_one_tree(kind):
    rng = np.random.default_rng(0)
    for limits in LIMITS[: 4 if kind == "numbers" else None]:
        for n in (2, 3, 11, 90, 700):
            X, target = problem(rng, n, 6, kind)
            # Whole weights: sums are exact, and two ways of adding cannot see different ties.
            w = rng.poisson(1.0, n).astype(float) if n > 11 else np.ones(n)
            assert_same(*both(X, target, w, limits))


def test_orders_need_not_be_kept(monkeypatch):
    rng = np.random.default_rng(1)
    for kind in ("2", "3", "numbers"):
        X, target = problem(rng, 500, 6, kind)
        w = rng.random(500)
        kept = grow_tree(prepare_columns(X), target, w, TreeLimits())
        with monkeypatch.context() as patch:
            patch.setattr(tree_codes, "TREE_THRESHOLDS", TreeThresholds(ordered_rows=0))
            columns = prepare_columns(X)
            assert columns.order.size == 0
            again = grow_tree(columns, target, w, TreeLimits())
        for a, b in zip(kept, again):
            assert np.array_equal(a, b)


@pytest.mark.parametrize(("decimals", "bins"), [(3, None), (3, 40), pytest.param(9, None, marks=pytest.mark.slow)])
def test_a_tree_of_several_parts(decimals, bins):
    rng = np.random.default_rng(2)
    n = 140_000  # no order is kept, and the root is too large for a part; with all decimals codes are of 32 bits
    X, target = problem(rng, n, 3, "2")
    X = np.round(X, decimals)
    w = rng.poisson(1.0, n).astype(float)
    limits = TreeLimits(max_depth=9)
    one = grow_tree(prepare_columns(X, None, bins), target, w, limits)
    assert one.n_samples[0] > 65_536 > one.n_samples[1]
    wide = np.column_stack([X, np.full(n, np.nan, dtype=np.float32)])
    assert_same(one, grow_tree(prepare_columns(wide, None, bins), target, w, limits))
