"""The root split is the best of all, by trying them all in fractions; so is every split below it."""

from __future__ import annotations

import numpy as np
import pytest

import gapless
from gapless.solvers.tree.codes import prepare_columns
from gapless.solvers.tree.tree import TreeLimits, TreeTarget, grow_tree
from tests.tree.exhaustive import best_cut

PROBLEMS = 300


def problem(seed: int):
    """Small, with ties on purpose: few levels, repeated columns, mirrored columns, weights that are 0, missing values."""
    random = np.random.default_rng(seed)
    n, d = int(random.integers(3, 26)), int(random.integers(1, 5))
    levels = int(random.choice([2, 3, 6, 100]))
    X = random.integers(0, levels, size=(n, d)).astype(np.float32) / 4
    if d > 1 and random.random() < 0.3:
        X[:, -1] = -X[:, 0] if random.random() < 0.5 else X[:, 0]
    if random.random() < 0.3:
        X[random.random((n, d)) < 0.2] = np.nan
    kind = random.choice(["two", "classes", "values", "outputs", "labels"])
    weight = random.choice([np.ones(n), random.integers(0, 4, n).astype(float), random.integers(0, 9, n) / 8])
    if not weight.any():
        weight[0] = 1.0
    if kind == "two":
        y = random.integers(0, 2, n)
        return X, np.eye(2)[y], TreeTarget.from_classes(y, 2), weight, int(random.integers(1, 4))
    if kind == "classes":
        y = random.integers(0, 4, n)
        return X, np.eye(4)[y], TreeTarget.from_classes(y, 4), weight, int(random.integers(1, 4))
    if kind == "labels":
        y = random.integers(0, 3, (n, 2))
        Y = np.concatenate([np.eye(3)[y[:, 0]], np.eye(3)[y[:, 1]]], axis=1)
        return X, Y, TreeTarget.from_classes(y, np.array([3, 3])), weight, 1
    Y = random.integers(-8, 9, (n, 1 if kind == "values" else 2)) / 4 + random.choice([0.0, 1000.0])
    return X, Y, TreeTarget.from_values(Y), weight, int(random.integers(1, 3))


def assert_best(tree, node, cut):
    if cut is None:
        assert tree.left[node] < 0
        return
    assert tree.left[node] >= 0
    assert (tree.feature[node], tree.threshold[node]) == (cut.feature, cut.threshold)
    if cut.missing_left is not None:
        assert bool(tree.missing_left[node]) == cut.missing_left


@pytest.mark.parametrize("part", range(6))
def test_the_root_split_is_the_best_of_all(part):
    splits = 0
    for seed in range(part * PROBLEMS // 6, (part + 1) * PROBLEMS // 6):
        X, Y, target, weight, min_leaf = problem(seed)
        tree = grow_tree(prepare_columns(X), target, weight, TreeLimits(max_depth=1, min_leaf=min_leaf))
        pure = bool((Y[weight > 0] == Y[weight > 0][0]).all())
        cut = None if pure or (weight > 0).sum() < 2 * min_leaf else best_cut(X, Y, weight, min_leaf)
        assert_best(tree, 0, cut)
        splits += cut is not None
    assert splits > 30


@pytest.mark.parametrize("exponent", [-1000, -275, -120, 120, 900])
@pytest.mark.parametrize("name", ["DecisionTreeRegressor", "DecisionTreeClassifier"])
def test_weights_of_any_size_give_the_same_tree(name, exponent):
    """A power of two in all weights changes nothing but the weights of the nodes, and these by that power."""
    random = np.random.default_rng(0)
    X, weights = random.normal(size=(200, 3)), random.uniform(0.5, 2.0, 200)
    y = X[:, 0] + random.normal(size=200)
    y = y if name == "DecisionTreeRegressor" else np.digitize(y, [-0.5, 0.5])
    plain, scaled = (
        getattr(gapless, name)(max_depth=4, min_weight_fraction_leaf=0.02).fit(X, y, sample_weight=w).tree_
        for w in (weights, weights * 2.0**exponent)
    )
    np.testing.assert_array_equal(scaled.feature, plain.feature)
    np.testing.assert_array_equal(scaled.threshold, plain.threshold)
    np.testing.assert_array_equal(scaled.value, plain.value)
    np.testing.assert_array_equal(scaled.impurity, plain.impurity)
    np.testing.assert_array_equal(scaled.weighted_n_node_samples, plain.weighted_n_node_samples * 2.0**exponent)
