"""Errors that name what is wrong; constant targets, one class and one row are trees of one leaf."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from gapless import CertificateError, DecisionTreeClassifier, DecisionTreeRegressor, verify

X = np.arange(12.0).reshape(6, 2)


def test_constant_targets():
    for model, y in ((DecisionTreeClassifier(), ["a"] * 6), (DecisionTreeRegressor(), np.full(6, 0.1))):
        model.fit(X, y)
        assert model.get_n_leaves() == 1
        np.testing.assert_array_equal(model.predict(X), y)
        assert verify(model, X, np.asarray(y))
    np.testing.assert_array_equal(DecisionTreeClassifier().fit(X, [3] * 6).predict_proba(X), np.ones((6, 1)))


def test_values_far_from_zero_and_close_together():
    """No digits are lost: targets around 1e9 that differ by 1e-3 are split as those around 0."""
    random = np.random.default_rng(0)
    A = random.normal(size=(60, 3))
    y = random.integers(0, 1000, 60) / 1024
    near, far = (DecisionTreeRegressor(max_depth=4).fit(A, y + shift) for shift in (0.0, 2.0**30))
    np.testing.assert_array_equal(near._tree.feature, far._tree.feature)
    np.testing.assert_array_equal(near._tree.threshold, far._tree.threshold)
    np.testing.assert_allclose(near._tree.impurity, far._tree.impurity, atol=1e-9)
    small = DecisionTreeRegressor(max_depth=4).fit(A * 1e-20, y * 1e-200)
    np.testing.assert_array_equal(near._tree.feature, small._tree.feature)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"criterion": "mse"}, "'criterion' parameter"),
        ({"splitter": "worst"}, "'splitter' parameter"),
        ({"max_depth": 0}, "'max_depth' parameter"),
        ({"max_depth": 1.5}, "'max_depth' parameter"),
        ({"min_samples_split": 1}, "'min_samples_split' parameter"),
        ({"min_samples_leaf": 0}, "'min_samples_leaf' parameter"),
        ({"min_samples_leaf": 1.0}, "'min_samples_leaf' parameter"),
        ({"min_weight_fraction_leaf": 0.6}, "'min_weight_fraction_leaf' parameter"),
        ({"max_features": "auto"}, "'max_features' parameter"),
        ({"max_features": 0}, "'max_features' parameter"),
        ({"max_leaf_nodes": 1}, "'max_leaf_nodes' parameter"),
        ({"min_impurity_decrease": -1.0}, "'min_impurity_decrease' parameter"),
        ({"ccp_alpha": -1.0}, "'ccp_alpha' parameter"),
        ({"max_bins": 1}, "'max_bins' parameter"),
        ({"n_jobs": 0}, "'n_jobs' parameter"),
    ],
)
def test_parameters(options, words):
    for model in (DecisionTreeClassifier, DecisionTreeRegressor):
        with pytest.raises(ValueError, match=words):
            model(**options).fit(X, [0, 1, 0, 1, 0, 1])


def test_data():
    y = [0, 1, 0, 1, 0, 1]
    with pytest.raises(ValueError, match="infinity"):
        DecisionTreeClassifier().fit(np.where(X == 3, np.inf, X), y)
    with pytest.raises(ValueError, match="infinity|too large"):
        DecisionTreeClassifier().fit(X * 1e300, y)
    with pytest.raises(ValueError, match="NaN"):
        DecisionTreeClassifier().fit(sparse.csr_array(np.where(X == 3, np.nan, X)), y)
    with pytest.raises(ValueError, match="does not match"):
        DecisionTreeClassifier().fit(X, y[:5])
    with pytest.raises(ValueError, match="NaN"):
        DecisionTreeRegressor().fit(X, [0, 1, np.nan, 1, 0, 1])
    with pytest.raises(ValueError, match="row 2 has -1"):
        DecisionTreeClassifier().fit(X, y, sample_weight=[1, 1, -1, 1, 1, 1])
    with pytest.raises(ValueError, match="non-zero"):
        DecisionTreeClassifier().fit(X, y, sample_weight=np.zeros(6))
    with pytest.raises(ValueError, match="every weight is zero"):
        DecisionTreeClassifier(class_weight={0: 0.0, 1: 0.0}).fit(X, y)
    model = DecisionTreeClassifier().fit(X, y)
    with pytest.raises(ValueError, match="features"):
        model.predict(X[:, :1])
    with pytest.raises(ValueError, match="infinity"):
        model.predict(X + np.inf)
    # NaN at prediction that training did not have goes with the larger side.
    assert model.predict(np.full((1, 2), np.nan)).shape == (1,)


def test_attributes_need_a_fit():
    model = DecisionTreeClassifier()
    assert not hasattr(model, "tree_")
    for call in (model.get_depth, model.get_n_leaves, lambda: model.predict(X), lambda: model.to_text()):
        with pytest.raises(ValueError, match="not fitted"):
            call()


def test_other_data_is_no_matter_for_the_judge():
    y = np.array([0, 1, 0, 1, 0, 1])
    model = DecisionTreeClassifier().fit(X, y)
    for args in ((X + 1, y), (X, 1 - y), (X, y, np.full(6, 2.0)), (X[:5], y[:5])):
        with pytest.raises(CertificateError, match="other"):
            verify(model, *args)
