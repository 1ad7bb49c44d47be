"""The same trees as scikit-learn's where nothing is tied, node by node; the same figures everywhere."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.tree as peer
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine, make_friedman1
from sklearn.tree import export_text, plot_tree

from gapless import DecisionTreeClassifier, DecisionTreeRegressor

PAIRS = {
    "classes": (DecisionTreeClassifier, peer.DecisionTreeClassifier),
    "values": (DecisionTreeRegressor, peer.DecisionTreeRegressor),
}


def sets():
    iris, wine, cancer = (load(return_X_y=True) for load in (load_iris, load_wine, load_breast_cancer))
    digits, diabetes = load_digits(return_X_y=True), load_diabetes(return_X_y=True)
    yield "iris", "classes", *iris
    yield "wine", "classes", *wine
    yield "cancer", "classes", *cancer
    yield "digits", "classes", digits[0][:600], digits[1][:600]
    yield "diabetes", "values", *diabetes
    yield "friedman", "values", *make_friedman1(300, noise=0.5, random_state=0)
    X, y = make_friedman1(200, noise=0.5, random_state=1)
    yield "two targets", "values", X, np.column_stack([y, y[::-1]])
    yield "two labels", "classes", iris[0], np.column_stack([iris[1], iris[1] > 0])


TIED = ("iris", "two labels")  # the root of iris can be cut by either of two features
SETS = {name: rest for name, *rest in sets()}


def same_until_ties(ours, theirs, a=0, b=0):
    """Nodes that agree; where splits differ they must be equally good, and the way ends there."""
    np.testing.assert_allclose(ours.impurity[a], theirs.impurity[b], atol=1e-9 * max(1.0, abs(theirs.impurity[0])))
    np.testing.assert_allclose(ours.value[a], theirs.value[b], rtol=1e-9, atol=1e-12)
    assert ours.n_node_samples[a] == theirs.n_node_samples[b]
    if ours.children_left[a] < 0 or theirs.children_left[b] < 0:
        assert ours.children_left[a] == theirs.children_left[b]
        return 1
    if (ours.feature[a], ours.threshold[a]) != (theirs.feature[b], theirs.threshold[b]):
        np.testing.assert_allclose(gain(ours, a), gain(theirs, b), rtol=1e-9, atol=1e-12)
        return 1
    return 1 + sum(
        same_until_ties(ours, theirs, int(mine), int(yours))
        for mine, yours in zip(
            (ours.children_left[a], ours.children_right[a]), (theirs.children_left[b], theirs.children_right[b])
        )
    )


def gain(tree, t):
    mass = tree.weighted_n_node_samples * tree.impurity
    return mass[t] - mass[tree.children_left[t]] - mass[tree.children_right[t]]


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize(
    "options",
    [{}, {"max_depth": 4}, {"min_samples_leaf": 5, "min_impurity_decrease": 1e-3}, {"min_weight_fraction_leaf": 0.05}],
    ids=["whole", "shallow", "few leaves", "heavy leaves"],
)
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_same_tree(name, options, weighted):
    kind, X, y = SETS[name]
    mine, yours = PAIRS[kind]
    weight = np.random.default_rng(0).integers(0, 4, len(X)).astype(float) if weighted else None
    ours = mine(**options).fit(X, y, sample_weight=weight)
    theirs = yours(**options, random_state=0).fit(X, y, sample_weight=weight)
    least = 1 if name in TIED else min(9, theirs.tree_.node_count)
    assert same_until_ties(ours.tree_, theirs.tree_) >= least


@pytest.mark.parametrize("criterion", ["entropy", "log_loss"])
def test_entropy(criterion):
    for name in ("iris", "wine", "cancer", "two labels"):
        _, X, y = SETS[name]
        ours = DecisionTreeClassifier(criterion=criterion).fit(X, y)
        theirs = peer.DecisionTreeClassifier(criterion=criterion, random_state=0).fit(X, y)
        assert same_until_ties(ours.tree_, theirs.tree_) > (0 if name in TIED else 5)


def test_missing_values():
    random = np.random.default_rng(5)
    for name in ("wine", "friedman", "iris"):
        kind, X, y = SETS[name]
        X = np.where(random.random(X.shape) < 0.15, np.nan, X)
        mine, yours = PAIRS[kind]
        ours, theirs = mine().fit(X, y), yours(random_state=0).fit(X, y)
        assert same_until_ties(ours.tree_, theirs.tree_) > 5
        # Their own walk sends our missing values the same way.
        np.testing.assert_array_equal(ours.apply(X), ours.tree_.apply(X.astype(np.float32)))


@pytest.mark.parametrize("leaves", [2, 7, 20])
def test_best_first(leaves):
    for name in ("cancer", "diabetes"):
        kind, X, y = SETS[name]
        mine, yours = PAIRS[kind]
        ours = mine(max_leaf_nodes=leaves).fit(X, y)
        theirs = yours(max_leaf_nodes=leaves, random_state=0).fit(X, y)
        assert ours.get_n_leaves() == theirs.get_n_leaves() == leaves
        risks = [
            (t.tree_.weighted_n_node_samples * t.tree_.impurity)[t.tree_.children_left < 0].sum()
            for t in (ours, theirs)
        ]
        np.testing.assert_allclose(*risks, rtol=1e-9)


def test_the_way_through_the_tree():
    _, X, y = SETS["cancer"]
    model = DecisionTreeClassifier().fit(X, y)
    np.testing.assert_array_equal(model.apply(X), model.tree_.apply(X.astype(np.float32)))
    assert (model.decision_path(X) != model.tree_.decision_path(X.astype(np.float32))).nnz == 0
    np.testing.assert_allclose(model.feature_importances_, model.tree_.compute_feature_importances())
    assert (model.get_depth(), model.get_n_leaves()) == (model.tree_.max_depth, model.tree_.n_leaves)
    np.testing.assert_array_equal(model.apply(sparse.csr_array(X)), model.apply(X))
    assert export_text(model) == model.to_text()


def test_scikit_learn_draws_it():
    pytest.importorskip("matplotlib").use("Agg")
    _, X, y = SETS["iris"]
    model = DecisionTreeClassifier(max_depth=2).fit(X, y)
    assert len(plot_tree(model)) >= 5


def test_pruning_path_is_the_same():
    for name in ("cancer", "diabetes", "wine"):
        kind, X, y = SETS[name]
        mine, yours = PAIRS[kind]
        ours, theirs = mine(max_depth=6), yours(max_depth=6, random_state=0)
        a, b = (model.cost_complexity_pruning_path(X, y) for model in (ours, theirs))
        np.testing.assert_allclose(a.impurities[0], b.impurities[0])
        np.testing.assert_allclose(a.impurities[-1], b.impurities[-1])
        # The same tree, pruned by both.
        whole = ours.fit(X, y)
        path = peer._tree.ccp_pruning_path(whole.tree_)
        np.testing.assert_allclose(a.ccp_alphas, path["ccp_alphas"], atol=1e-12)
        np.testing.assert_allclose(a.impurities, path["impurities"], atol=1e-12)


def test_pruned_is_the_cheapest_subtree():
    """Against all subtrees of a small tree, by trying them."""
    _, X, y = SETS["wine"]
    whole = DecisionTreeClassifier(max_depth=3).fit(X, y)
    tree = whole.tree_
    risk = tree.weighted_n_node_samples * tree.impurity / tree.weighted_n_node_samples[0]

    def subtrees(t):
        yield risk[t], 1
        if tree.children_left[t] >= 0:
            for a, m in subtrees(tree.children_left[t]):
                for b, n in subtrees(tree.children_right[t]):
                    yield a + b, m + n

    options = list(subtrees(0))
    for alpha in (1e-9, 0.005, 0.02, 0.05, 0.2, 1.0):
        pruned = DecisionTreeClassifier(max_depth=3, ccp_alpha=alpha).fit(X, y)
        ends = pruned.tree_.children_left < 0
        mass = pruned.tree_.weighted_n_node_samples * pruned.tree_.impurity / pruned.tree_.weighted_n_node_samples[0]
        cost = mass[ends].sum() + alpha * ends.sum()
        best = min(r + alpha * leaves for r, leaves in options)
        np.testing.assert_allclose(cost, best, atol=1e-12)
        least = min(leaves for r, leaves in options if r + alpha * leaves <= best + 1e-12)
        assert ends.sum() == least
