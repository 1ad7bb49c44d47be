"""Trees by absolute error and Poisson's deviance, and trees that rise or fall: scikit-learn's, and true; forgeries are found."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import sklearn.tree as peer

from gapless import DecisionTreeClassifier, DecisionTreeRegressor, judge, load, save, verify


def numbers(seed, n=90, d=3, outputs=1):
    """Values without ties."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).astype(np.float32)
    y = np.exp(X[:, [0]] - X[:, [1]] + rng.normal(size=(n, outputs)))
    return X, y if outputs > 1 else y[:, 0], rng.uniform(0.5, 2.0, size=n)


def risk(model):
    """What the leaves of a tree lose, from scikit-learn's arrays."""
    tree = model.tree_
    ends = tree.children_left < 0
    return tree.weighted_n_node_samples[ends] @ tree.impurity[ends] / tree.weighted_n_node_samples[0]


@pytest.mark.parametrize("limits", [{"max_depth": 4}, {"max_leaf_nodes": 7}, {"min_samples_leaf": 5}], ids=str)
@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("missing", [False, True])
def test_poisson_is_scikit_learns(limits, outputs, missing):
    X, y, w = numbers(1, outputs=outputs)
    if missing:
        X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    ours = DecisionTreeRegressor(criterion="poisson", **limits).fit(X, y, sample_weight=w)
    theirs = peer.DecisionTreeRegressor(criterion="poisson", random_state=0, **limits).fit(X, y, sample_weight=w)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-9)
    np.testing.assert_allclose(risk(ours), risk(theirs), rtol=1e-9)
    assert verify(ours, X, y, sample_weight=w)


def absolute_error(w, y):
    """By trying every target as the median."""
    return min((w @ np.abs(y - m) for m in y), default=0.0)


@pytest.mark.parametrize("seed", range(6))
def test_a_cut_by_absolute_error_is_the_best_of_all(seed):
    rng = np.random.default_rng(seed)
    n = 25
    X, y, w = rng.normal(size=(n, 2)).round(1), rng.normal(size=n).round(1 + seed % 3), rng.integers(1, 4, size=n) / 2
    model = DecisionTreeRegressor(criterion="absolute_error", max_depth=1).fit(X, y, sample_weight=w)
    best = min(
        absolute_error(w[left], y[left]) + absolute_error(w[~left], y[~left])
        for j in range(2)
        for v in X[:, j]
        for left in [X[:, j].astype(np.float32) <= np.float32(v)]
    )
    np.testing.assert_allclose(w @ np.abs(y - model.predict(X)), best, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(model.certificate_.error, best / w.sum(), rtol=1e-12)


def test_a_leaf_is_the_median_and_the_middle_of_two_halves():
    X = np.zeros((4, 1))
    model = DecisionTreeRegressor(criterion="absolute_error")
    assert model.fit(X, [1.0, 2.0, 9.0, 100.0]).predict([[0]]) == [5.5]
    assert model.fit(X, [1.0, 2.0, 9.0, 100.0], sample_weight=[1, 1, 2, 1]).predict([[0]]) == [9.0]
    assert model.fit(X, [1.0, 2.0, 9.0, 100.0], sample_weight=[3, 1, 1, 0]).predict([[0]]) == [1.0]


@pytest.mark.parametrize("unit", [1e-200, 1e-3, 1e150])
@pytest.mark.parametrize("criterion", ["absolute_error", "poisson", "squared_error"])
def test_the_unit_of_targets_changes_nothing(criterion, unit):
    X, y, _ = numbers(3)
    model = DecisionTreeRegressor(criterion=criterion, max_depth=4, monotonic_cst=[1, 0, 0])
    plain, scaled = model.fit(X, y).predict(X), model.fit(X, y * unit).predict(X)
    np.testing.assert_allclose(scaled / unit, plain, rtol=1e-12)
    assert verify(model, X, y * unit)


def test_no_leaf_of_poisson_predicts_zero():
    X, y = np.arange(8.0)[:, None], np.array([0, 0, 0, 1, 0, 2, 3, 5.0])
    model = DecisionTreeRegressor(criterion="poisson").fit(X, y)
    assert model.get_n_leaves() > 1
    assert (model.predict(X) > 0).all()
    np.testing.assert_allclose(model.predict(X).sum(), y.sum(), rtol=1e-12)  # each leaf keeps its sum
    with pytest.raises(ValueError, match="not positive"):
        model.fit(X, np.zeros(8))
    with pytest.raises(ValueError, match="are negative"):
        model.fit(X, y - 1.0)


def test_friedman_is_the_squared_error_by_another_name():
    X, y, _ = numbers(4)
    with pytest.warns(FutureWarning, match="friedman_mse"):
        model = DecisionTreeRegressor(criterion="friedman_mse").fit(X, y)
    assert (model.predict(X) == DecisionTreeRegressor().fit(X, y).predict(X)).all()
    assert verify(model, X, y)


CRITERIA = ["squared_error", "poisson", "absolute_error", "gini", "entropy"]


def monotone(criterion, **limits):
    X, y, w = numbers(5, n=160, d=4)
    make = DecisionTreeClassifier if criterion in ("gini", "entropy") else DecisionTreeRegressor
    y = (y > 1.0).astype(int) if make is DecisionTreeClassifier else y
    return make(criterion=criterion, monotonic_cst=[1, -1, 0, -1], random_state=0, **limits), X, y, w


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("limits", [{}, {"max_leaf_nodes": 9}, {"splitter": "random"}, {"max_features": 1}], ids=str)
def test_values_rise_and_fall_as_asked(criterion, limits):
    model, X, y, w = monotone(criterion, **limits)
    model.fit(X, y, sample_weight=w)

    def answer(X):
        return model.predict(X) if criterion not in ("gini", "entropy") else model.predict_proba(X)[:, 1]

    rng = np.random.default_rng(0)
    for j, sign in ((0, 1), (1, -1), (3, -1)):
        moved = X.copy()
        moved[:, j] += rng.exponential(2.0, size=X.shape[0])
        assert (sign * (answer(moved) - answer(X)) >= 0).all()
    assert model.get_n_leaves() > 3
    found = verify(model, X, y, sample_weight=w)
    assert found, str(found)


@pytest.mark.parametrize("criterion", ["squared_error", "poisson", "gini", "entropy"])
@pytest.mark.parametrize("limits", [{}, {"max_leaf_nodes": 9}, {"min_samples_leaf": 4}], ids=str)
def test_constraints_are_scikit_learns(criterion, limits):
    model, X, y, w = monotone(criterion, max_depth=5, **limits)
    theirs = getattr(peer, type(model).__name__)(
        criterion=criterion, monotonic_cst=[1, -1, 0, -1], max_depth=5, random_state=0, **limits
    )
    model.fit(X, y, sample_weight=w)
    theirs.fit(X, y, sample_weight=w)
    ask = "predict_proba" if hasattr(model, "predict_proba") else "predict"  # theirs splits pure nodes, too
    np.testing.assert_allclose(getattr(model, ask)(X), getattr(theirs, ask)(X), rtol=1e-9, atol=1e-12)


def test_constraints_that_cannot_be_kept_are_refused():
    X, y, _ = numbers(6)
    with pytest.raises(ValueError, match="has shape 2 but"):
        DecisionTreeRegressor(monotonic_cst=[1, 0]).fit(X, y)
    with pytest.raises(ValueError, match="-1, 0 or 1"):
        DecisionTreeRegressor(monotonic_cst=[1, 2, 0]).fit(X, y)
    with pytest.raises(ValueError, match="multiple outputs"):
        DecisionTreeRegressor(monotonic_cst=[1, 0, 0]).fit(X, np.column_stack([y, y]))
    with pytest.raises(ValueError, match="multiclass"):
        DecisionTreeClassifier(monotonic_cst=[1, 0, 0]).fit(X, np.arange(90) % 3)
    with pytest.raises(ValueError, match="categorical feature has none"):
        DecisionTreeRegressor(monotonic_cst=[1, 0, 0], categorical_features=[0]).fit(np.abs(X).round(), y)
    with pytest.raises(ValueError, match="cuts numbers alone"):
        DecisionTreeRegressor(criterion="absolute_error", categorical_features=[0]).fit(np.abs(X).round(), y)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_files_keep_the_tree(criterion, tmp_path):
    model, X, y, _ = monotone(criterion, max_depth=3)
    save(model.fit(X, y), tmp_path / "tree.gapless")
    again = load(tmp_path / "tree.gapless")
    assert (again.predict(X) == model.predict(X)).all()
    assert verify(again, X, y)


def forge(model, X, y, change):
    document = copy.deepcopy(model.certificate_.document())
    arrays = {name: np.array(a) for name, a in model.certificate_.arrays.items()}
    change(document, arrays)
    return judge.check(document, arrays, X, y)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_what_is_forged_is_found(criterion):
    model, X, y, _ = monotone(criterion, max_depth=3)
    model.fit(X, y)
    assert forge(model, X, y, lambda document, arrays: None)
    leaf = int(np.flatnonzero(model.tree_.children_left < 0)[0])

    def move_value(document, arrays):
        arrays["value"][leaf] += 10.0  # any median would do

    def move_error(document, arrays):
        document["certificate"]["error"] *= 0.99

    def ask_otherwise(document, arrays):
        document["parameters"]["monotonic_cst"] = [-1, 1, 0, 1]

    def ask_nothing(document, arrays):
        document["parameters"]["monotonic_cst"] = None

    for change in (move_value, move_error, ask_otherwise, ask_nothing):
        assert not forge(model, X, y, change), change.__name__
