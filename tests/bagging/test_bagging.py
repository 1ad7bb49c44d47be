"""BaggingClassifier and BaggingRegressor: scikit-learn's ensembles, bags as seeds, and the estimate."""

from __future__ import annotations

import pickle
import warnings
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn import ensemble as peers
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_diabetes, load_iris
from sklearn.linear_model import LogisticRegression as SkLogistic
from sklearn.linear_model import Ridge as SkRidge
from sklearn.linear_model import SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC as SkSVC
from sklearn.tree import DecisionTreeClassifier as SkTree
from sklearn.tree import DecisionTreeRegressor as SkTreeRegressor

import gapless
from gapless import BaggingClassifier, BaggingRegressor, DecisionTreeClassifier, DecisionTreeRegressor
from gapless.solvers.bagging import Bags, in_bag_probability
from tests.boosting.cases import blobs


def test_the_probability_of_being_in_a_bag_by_enumeration():
    """1 - (1 - 1/n)^m of all n^m equally likely draws, not 1/n and not 67 %."""
    for n, m in ((1, 3), (2, 2), (3, 3), (4, 2), (3, 5)):
        hits = sum(0 in draws for draws in product(range(n), repeat=m))
        assert in_bag_probability(n, m) == pytest.approx(float(Fraction(hits, n**m)), abs=1e-15)
    assert in_bag_probability(10**6) == pytest.approx(1.0 - np.exp(-1.0), abs=1e-6)
    assert in_bag_probability(10, 4, replacement=False) == 0.4
    with pytest.raises(ValueError, match="without replacement"):
        in_bag_probability(3, 4, replacement=False)


def test_the_share_seen_stands_beside_the_probability():
    X, y = blobs(400, 2, 0)
    model = BaggingClassifier(SkTree(max_depth=1), n_estimators=100, random_state=0).fit(X, y)
    assert model.in_bag_probability_ == pytest.approx(1.0 - (1.0 - 1.0 / 400) ** 400, abs=1e-14)
    # One bag's share has deviation below sqrt(p (1 - p)/n): draws without replacement of each other.
    assert abs(model.in_bag_share_ - model.in_bag_probability_) < 4 * np.sqrt(0.24 / 400 / 100)
    assert abs(model.in_bag_share_ - 0.67) > 0.03
    assert gapless.verify(model, X, y)
    assert BaggingClassifier(SkTree(), random_state=0).fit(X, y, sample_weight=np.ones(400)).in_bag_probability_ is None


CASES = [
    {},
    {"max_features": 2},
    {"bootstrap": False, "max_samples": 0.6},
    {"bootstrap_features": True},
    {"max_samples": 40},
]


@pytest.mark.parametrize("base", [SkTree(), KNeighborsClassifier(), GaussianNB(), SGDClassifier()])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_same_seed_gives_scikit_learns_ensemble(base, case):
    X, y = load_iris(return_X_y=True)
    keys = {"n_estimators": 5, "random_state": 3, **case}
    theirs, ours = peers.BaggingClassifier(base, **keys).fit(X, y), BaggingClassifier(base, **keys).fit(X, y)
    assert all(np.array_equal(a, b) for a, b in zip(theirs.estimators_samples_, ours.estimators_samples_))
    assert all(np.array_equal(a, b) for a, b in zip(theirs.estimators_features_, ours.estimators_features_))
    assert np.allclose(theirs.predict_proba(X), ours.predict_proba(X), atol=1e-12)
    if hasattr(base, "decision_function"):
        assert np.allclose(theirs.decision_function(X), ours.decision_function(X))
    else:
        assert not hasattr(ours, "decision_function")


def test_out_of_bag_estimates_are_scikit_learns_where_every_row_has_one():
    X, y = load_iris(return_X_y=True)
    keys = {"n_estimators": 40, "random_state": 0, "oob_score": True}
    theirs, ours = peers.BaggingClassifier(SkTree(), **keys).fit(X, y), BaggingClassifier(SkTree(), **keys).fit(X, y)
    assert ours.oob_score_ == theirs.oob_score_
    assert np.allclose(ours.oob_decision_function_, theirs.oob_decision_function_)
    assert "estimate" in str(ours.certificate_)
    X, y = load_diabetes(return_X_y=True)
    theirs = peers.BaggingRegressor(SkTreeRegressor(), **keys).fit(X, y)
    ours = BaggingRegressor(SkTreeRegressor(), **keys).fit(X, y)
    assert ours.oob_score_ == pytest.approx(theirs.oob_score_, abs=1e-12)
    assert np.allclose(ours.predict(X), theirs.predict(X))


def test_rows_that_every_bag_holds_are_left_out_of_the_estimate():
    X, y = blobs(60, 2, 0)
    with pytest.warns(UserWarning, match=r"Some inputs do not have OOB scores.*of 60 rows are in every bag"):
        model = BaggingClassifier(SkTree(), n_estimators=2, random_state=0, oob_score=True).fit(X, y)
    seen = np.zeros(60, dtype=bool)
    for rows in model.estimators_samples_:
        seen |= ~np.isin(np.arange(60), rows)
    assert np.array_equal(np.isnan(model.oob_decision_function_[:, 0]), ~seen)
    right = np.argmax(model.oob_decision_function_[seen], axis=1) == y[seen]
    assert model.oob_score_ == right.mean()


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_trees_on_columns_ranked_once_are_the_trees_of_single_fits(kind):
    X, y = blobs(300, 3, 1)
    values = X[:, 0] + X[:, 1] ** 2
    X = sparse.csr_matrix(np.where(np.abs(X) < 0.5, 0.0, X)) if kind == "sparse" else X
    model = BaggingClassifier(DecisionTreeClassifier(max_features=2), n_estimators=4, random_state=0).fit(X, y)
    for learner, rows in zip(model.estimators_, model.estimators_samples_):
        alone = sklearn.clone(learner).fit(X, y, sample_weight=np.bincount(rows, minlength=300))
        assert np.array_equal(alone.predict_proba(X), learner.predict_proba(X))
        assert alone.certificate_.document()["certificate"]["error"] == learner.certificate_.error
        assert gapless.verify(learner, X, y, sample_weight=np.bincount(rows, minlength=300))
    forest = BaggingRegressor(DecisionTreeRegressor(), n_estimators=3, random_state=0).fit(X, values)
    for learner, rows in zip(forest.estimators_, forest.estimators_samples_):
        alone = DecisionTreeRegressor().fit(X, values, sample_weight=np.bincount(rows, minlength=300))
        assert np.array_equal(alone.predict(X), learner.predict(X))


OURS = [
    gapless.LogisticRegression(),
    gapless.LinearSVC(),
    gapless.Perceptron(),
    gapless.LeastSquaresClassifier(),
    gapless.LinearDiscriminantAnalysis(),
    gapless.GaussianDiscriminant(),
    gapless.DecisionTreeClassifier(max_depth=3),
    gapless.AdaBoostClassifier(n_estimators=3),
    gapless.SVC(),
    gapless.NuSVC(nu=0.2),
    gapless.QuadraticDiscriminantAnalysis(),
    gapless.BaggingClassifier(n_estimators=2),
]
DENSE = (
    GaussianNB,
    gapless.LinearDiscriminantAnalysis,
    gapless.QuadraticDiscriminantAnalysis,
    gapless.GaussianDiscriminant,
)
FOREIGN = [SkTree(max_depth=3), GaussianNB(), SGDClassifier(), SkSVC(), KNeighborsClassifier(), SkLogistic()]


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("base", [*OURS, *FOREIGN], ids=lambda b: f"{type(b).__module__[:7]}.{type(b).__name__}")
def test_any_base_learner(base, kind):
    if kind == "sparse" and isinstance(base, DENSE):
        pytest.skip("takes no sparse rows")
    X, y = blobs(120, 2, 0)
    X = sparse.csr_matrix(X) if kind == "sparse" else X
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = BaggingClassifier(base, n_estimators=3, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.6
    assert gapless.verify(model, X, y)


def test_same_bits_for_any_threads_and_after_pickling():
    X, y = blobs(500, 3, 2)
    models = [BaggingClassifier(n_estimators=12, random_state=0, n_jobs=jobs).fit(X, y) for jobs in (None, 2, 3)]
    found = models[0].predict_proba(X)
    for model in [*models[1:], pickle.loads(pickle.dumps(models[0]))]:
        assert np.array_equal(model.predict_proba(X), found)
        assert np.array_equal(model.estimators_samples_[7], models[0].estimators_samples_[7])


def test_warm_start_adds_and_keeps_all_seeds():
    X, y = blobs(100, 2, 3)
    warm = BaggingClassifier(SkTree(), n_estimators=3, random_state=0, warm_start=True).fit(X, y)
    warm.set_params(n_estimators=7).fit(X, y)
    cold = BaggingClassifier(SkTree(), n_estimators=7, random_state=0).fit(X, y)
    assert len(warm.estimators_samples_) == 7
    assert all(np.array_equal(a, b) for a, b in zip(warm.estimators_samples_, cold.estimators_samples_))
    assert np.array_equal(warm.predict_proba(X), cold.predict_proba(X))
    with pytest.warns(UserWarning, match="does not fit new trees"):
        warm.fit(X, y)
    with pytest.raises(ValueError, match="must be larger or equal"):
        warm.set_params(n_estimators=2).fit(X, y)


class NeedsGroups(ClassifierMixin, BaseEstimator):
    def fit(self, X, y, groups=None, sample_weight=None):
        self.classes_, self.groups_, self.weights_ = np.unique(y), groups, sample_weight
        return self

    def predict(self, X):
        return np.full(X.shape[0], self.classes_[0])


def test_metadata_is_routed_as_scikit_learn_does():
    X, y = blobs(40, 2, 0)
    with pytest.raises(ValueError, match="enable_metadata_routing"):
        BaggingClassifier(NeedsGroups()).fit(X, y, groups=np.arange(40))
    with sklearn.config_context(enable_metadata_routing=True):
        base = NeedsGroups().set_fit_request(groups=True, sample_weight=True)
        model = BaggingClassifier(base, n_estimators=2, random_state=0).fit(X, y, groups=np.arange(40))
        for learner, rows in zip(model.estimators_, model.estimators_samples_):
            assert np.array_equal(learner.groups_, np.arange(40))
            assert np.array_equal(learner.weights_, np.bincount(rows, minlength=40))
        base = NeedsGroups().set_fit_request(groups=True, sample_weight=False)
        model = BaggingClassifier(base, n_estimators=2, random_state=0).fit(X, y, groups=np.arange(40))
        for learner, rows in zip(model.estimators_, model.estimators_samples_):
            assert np.array_equal(learner.groups_, rows)
        with pytest.raises(NotImplementedError, match="metadata routing"):
            gapless.AdaBoostClassifier().get_metadata_routing()


def test_bad_input():
    X, y = blobs(30, 2, 0)
    for bad in ({"max_samples": 0.0}, {"max_samples": 2.0}, {"max_features": 0}, {"bootstrap": "yes"}, {"n_jobs": 0}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            BaggingClassifier(SkTree(), **bad).fit(X, y)
    with pytest.raises(ValueError, match="max_features must be <= n_features"):
        BaggingClassifier(SkTree(), max_features=9).fit(X, y)
    with pytest.raises(ValueError, match="only available if bootstrap=True"):
        BaggingClassifier(SkTree(), bootstrap=False, oob_score=True).fit(X, y)
    with pytest.raises(ValueError, match="NaN") as caught:
        BaggingClassifier(SkLogistic(), random_state=0).fit(np.where(X > 2, np.nan, X), y)
    assert "learner 1 of 10" in "".join(caught.value.__notes__)
    one = BaggingClassifier(n_estimators=2).fit(X, np.ones(30))
    assert one.predict(X).tolist() == [1.0] * 30
    flat = BaggingRegressor(n_estimators=2).fit(X, np.full(30, 2.5))
    assert flat.predict(X).tolist() == [2.5] * 30
    ridge = BaggingRegressor(SkRidge(), n_estimators=2, random_state=0).fit(X, np.column_stack((y, X[:, 0])))
    assert ridge.predict(X).shape == (30, 2)


def test_bags_draw_by_weight():
    bags = Bags(4, 2, 1000, 2, True, False, np.array([0.0, 1.0, 1.0, 2.0]))
    _, counts = bags.count_draws(5)
    assert counts[0] == 0
    assert counts.sum() == 1000
    assert abs(counts[3] - 500) < 80
