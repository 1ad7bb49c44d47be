"""The same bits for any number of threads, layout and type of X; after pickling, saving and loading."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from gapless import DecisionTreeClassifier, DecisionTreeRegressor, ModelFileError, load, save, verify

FIELDS = (
    "feature",
    "threshold",
    "left",
    "right",
    "missing_left",
    "value",
    "impurity",
    "weighted_n",
    "n_samples",
    "categories",
)


def problem(kind, seed=0, n=400):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 6)).astype(np.float32).astype(np.float64)
    X[:, 3] = random.integers(0, 5, n)
    z = X[:, 0] + (X[:, 3] == 2) - X[:, 1] * X[:, 2]
    if kind == "values":
        return X, z + random.normal(size=n)
    if kind == "targets":
        return X, np.column_stack([z, -z + random.normal(size=n)])
    y = np.digitize(z + 0.3 * random.normal(size=n), [-0.5, 0.5])
    if kind == "two":
        return X, np.array(["no", "yes"])[(y > 0).astype(int)]
    return (X, y) if kind == "classes" else (X, np.column_stack([y, y > 1]).astype(int))


CASES = [
    ("two", DecisionTreeClassifier()),
    ("two", DecisionTreeClassifier(criterion="entropy", class_weight="balanced", max_leaf_nodes=20)),
    ("classes", DecisionTreeClassifier(categorical_features=[3], min_samples_leaf=3)),
    ("classes", DecisionTreeClassifier(splitter="random", max_features="sqrt", random_state=3)),
    ("classes", DecisionTreeClassifier(max_bins=16, ccp_alpha=0.002)),
    ("labels", DecisionTreeClassifier(max_depth=5)),
    ("values", DecisionTreeRegressor(categorical_features=[3], max_depth=6)),
    ("values", DecisionTreeRegressor(max_bins=40, min_samples_leaf=2)),
    ("targets", DecisionTreeRegressor(max_leaf_nodes=30)),
]
IDS = [f"{kind}-{k}" for k, (kind, _) in enumerate(CASES)]


def assert_same(a, b):
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(a._tree, name), getattr(b._tree, name))


@pytest.mark.parametrize(("kind", "model"), CASES, ids=IDS)
def test_threads_layouts_types(kind, model):
    X, y = problem(kind)
    one = clone(model).fit(X, y)
    for other in (X.astype(np.float32), np.asfortranarray(X), X[::-1][::-1]):
        assert_same(one, clone(model).set_params(n_jobs=2).fit(other, y))
    if kind != "labels":
        assert_same(one, clone(model).fit(sparse.csr_matrix(X), y))
    np.testing.assert_array_equal(
        one.predict(X), clone(model).set_params(n_jobs=3).fit(X, y).predict(sparse.csr_array(X))
    )


@pytest.mark.parametrize(("kind", "model"), CASES, ids=IDS)
def test_pickled_saved_and_loaded(kind, model, tmp_path):
    X, y = problem(kind)
    X[::7, 1] = np.nan
    weight = np.random.default_rng(1).integers(0, 3, len(X)).astype(float)
    fitted = clone(model).fit(X, y, sample_weight=weight)
    save(fitted, tmp_path / "tree.gapless")
    for other in (pickle.loads(pickle.dumps(fitted)), load(tmp_path / "tree.gapless")):
        assert_same(fitted, other)
        np.testing.assert_array_equal(fitted.predict(X), other.predict(X))
        assert other.get_params().keys() == fitted.get_params().keys()
        assert str(other.certificate_) == str(fitted.certificate_)
        assert verify(other, X, y, sample_weight=weight)
    assert verify(tmp_path / "tree.gapless", X, y, sample_weight=weight)
    fitted._tree = fitted._tree._replace(value=fitted._tree.value + 1.0)
    with pytest.raises(ModelFileError, match="not what fit returned"):
        save(fitted, tmp_path / "other.gapless")


def test_one_row_two_weights():
    """A weight of 2 is the row twice, a weight of 0 is no row: the same tree."""
    for kind in ("two", "classes", "values"):
        X, y = problem(kind, 3, 120)
        weight = np.random.default_rng(0).integers(0, 3, len(X))
        mine = {"values": DecisionTreeRegressor}.get(kind, DecisionTreeClassifier)
        a = mine().fit(X, y, sample_weight=weight.astype(float))
        b = mine().fit(np.repeat(X, weight, axis=0), np.repeat(y, weight, axis=0))
        np.testing.assert_array_equal(a._tree.feature, b._tree.feature)
        np.testing.assert_array_equal(a._tree.threshold, b._tree.threshold)
        np.testing.assert_allclose(a._tree.weighted_n, b._tree.weighted_n)


def test_seeds():
    X, y = problem("classes")
    model = DecisionTreeClassifier(max_features=2)
    trees = [clone(model).set_params(random_state=seed).fit(X, y)._tree for seed in (0, 0, 1)]
    np.testing.assert_array_equal(trees[0].threshold, trees[1].threshold)
    assert not np.array_equal(trees[0].threshold, trees[2].threshold)
    # Without chance the seed is not looked at.
    np.testing.assert_array_equal(*(DecisionTreeClassifier(random_state=s).fit(X, y)._tree.threshold for s in (0, 1)))


def test_a_missing_value_far_down_is_found():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(40_000, 3)).astype(np.float32)
    y = X[:, 0] + rng.normal(size=len(X)) > 0
    model = DecisionTreeClassifier(max_depth=6).fit(X[:500], y[:500])
    X[30_000, :] = np.nan
    X[39_999, 1] = np.nan
    whole = model.predict(X)
    assert (whole[:30_000] == model.predict(X[:30_000])).all()
    assert whole[30_000] == model.predict(X[30_000:30_001])[0]
    assert (model.set_params(n_jobs=2).predict(X) == whole).all()
    X[39_999, 1] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        model.predict(X)
