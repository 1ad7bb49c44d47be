"""docs/corrections.md, of ensembles: the usual statement fails on a small example, the true one holds."""

from __future__ import annotations

import numpy as np

from gapless import AdaBoostClassifier, BaggingClassifier, Ridge
from gapless.solvers.bagging import in_bag_probability
from gapless.theory.samples.averaging import averaging
from tests.boosting.cases import blobs


def test_a_bag_holds_a_row_with_63_per_cent():
    rng = np.random.default_rng(0)
    seen = np.mean([np.unique(rng.integers(0, 200, 200)).size / 200 for _ in range(2000)])
    assert abs(seen - in_bag_probability(200)) < 0.002
    assert abs(seen - 0.67) > 0.03
    assert abs(seen - 1 / 200) > 0.5


def test_votes_are_plus_and_minus_one():
    X, y = blobs(80, 2, 0)
    model = AdaBoostClassifier(n_estimators=9).fit(X, y)
    answers = np.array(list(model._each_answer(X)))  # 0 or 1
    weights = model.estimator_weights_
    assert (np.sign(weights @ answers) >= 0).all()  # in [0, 1] nobody is ever voted down
    assert np.array_equal(model.predict(X), (weights @ (2 * answers - 1) > 0).astype(int))
    assert 0 < model.predict(X).sum() < 80


def test_a_bagging_of_trees_has_the_method_that_the_table_names():
    X, y = blobs(80, 2, 0)
    model = BaggingClassifier(n_estimators=5, random_state=0).fit(X, y)
    assert not hasattr(model, "decision_function")
    average = model.predict_proba(X)[:, 1]
    assert average.min() >= 0.0  # its sign tells nothing
    assert np.array_equal(model.predict(X), (average > 0.5).astype(int))


def test_correlation_stays_in_the_variance():
    def sample(n, random):
        x = random.normal(size=(n, 1))
        return x, x[:, 0] + random.normal(size=n)

    found = averaging(Ridge(alpha=1e-9), sample, np.array([[1.0]]), n=30, members=5, repetitions=400)["bootstrap"]
    assert found.seen > 1.5 * found.variance / 5
    assert abs(found.seen / found.predicted - 1.0) < 4 * np.sqrt(2 * 2 / 200)  # two variances of 200 draws each


def test_the_edge_is_half_less_the_weighted_error_and_the_smallest_counts():
    X = np.array([[0.0], [1.0], [2.0], [3.0], [4.0]])
    y = np.array([1, 0, 1, 0, 0])
    c = AdaBoostClassifier(n_estimators=200).fit(X, y).certificate_
    accuracy_edge = (1.0 - c.errors[0]) - 0.55
    assert c.edge == 0.5 - c.errors.max()
    assert c.enough == int(np.ceil(np.log(10) / (2 * c.edge**2)))
    assert len(c.errors) < c.enough or c.mistakes == 0
    assert abs(accuracy_edge - c.edge) > 1e-3


def test_the_margin_is_below_twice_the_edge_not_the_edge():
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    c = AdaBoostClassifier().fit(X, y).certificate_
    assert c.bracket == (1.0, 1.0)
    assert c.margin > c.edge  # 1 against 1/2
