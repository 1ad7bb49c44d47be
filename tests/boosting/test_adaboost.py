"""AdaBoostClassifier and AdaBoostRegressor: scikit-learn's behaviour, and what goes beyond it."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from scipy import optimize, sparse
from sklearn import ensemble as peers
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris
from sklearn.linear_model import LogisticRegression as SkLogistic
from sklearn.linear_model import SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.svm import SVC as SkSVC
from sklearn.tree import DecisionTreeClassifier as SkTree
from sklearn.tree import DecisionTreeRegressor as SkTreeRegressor

import gapless
from gapless import AdaBoostClassifier, AdaBoostRegressor, judge
from tests.boosting.cases import blobs


@pytest.mark.parametrize("load", [load_breast_cancer, load_iris, load_digits])
@pytest.mark.parametrize("rate", [0.3, 1.0, 1.7])
def test_stumps_are_scikit_learns(load, rate):
    """The same errors, stage weights and scores, round by round, where no two splits tie."""
    X, y = load(return_X_y=True)
    ours = AdaBoostClassifier(n_estimators=25, learning_rate=rate).fit(X, y)
    theirs = peers.AdaBoostClassifier(n_estimators=25, learning_rate=rate, random_state=0).fit(X, y)
    assert ours.score(X, y) == pytest.approx(theirs.score(X, y), abs=0.01)
    first = np.abs(ours.estimator_errors_ - theirs.estimator_errors_)
    assert first[:3].max() < 1e-12
    if load is not load_digits:  # its pixels tie
        assert np.allclose(ours.estimator_weights_, theirs.estimator_weights_)
        assert np.allclose(ours.decision_function(X), theirs.decision_function(X))
        assert np.allclose(ours.predict_proba(X), theirs.predict_proba(X))
    if load is load_breast_cancer:  # two petals of iris tie
        assert np.allclose(ours.feature_importances_, theirs.feature_importances_)


@pytest.mark.parametrize("base", [SkTree(max_depth=2), GaussianNB(), SkLogistic()])
def test_other_learners_give_scikit_learns_ensemble(base):
    X, y = load_iris(return_X_y=True)
    ours = AdaBoostClassifier(base, n_estimators=10, random_state=0).fit(X, y)
    theirs = peers.AdaBoostClassifier(base, n_estimators=10, random_state=0).fit(X, y)
    assert len(ours.estimators_) == len(theirs.estimators_)
    assert np.allclose(ours.decision_function(X), theirs.decision_function(X))
    staged = zip(ours.staged_decision_function(X), theirs.staged_decision_function(X))
    assert all(np.allclose(a, b) for a, b in staged)
    assert gapless.verify(ours, X, y)


WEIGHTED = [
    gapless.LogisticRegression(),
    gapless.LinearSVC(),
    gapless.SVC(),
    gapless.NuSVC(nu=0.2),
    gapless.Perceptron(),
    gapless.LeastSquaresClassifier(),
    gapless.GaussianDiscriminant(),
    gapless.DecisionTreeClassifier(max_depth=2),
    gapless.BaggingClassifier(n_estimators=3),
]
UNWEIGHTED = [gapless.LinearDiscriminantAnalysis(), gapless.QuadraticDiscriminantAnalysis()]
DENSE = (
    GaussianNB,
    gapless.LinearDiscriminantAnalysis,
    gapless.QuadraticDiscriminantAnalysis,
    gapless.GaussianDiscriminant,
)
FOREIGN = [SkTree(max_depth=2), GaussianNB(), SGDClassifier(random_state=0), SkSVC(C=1e3), KNeighborsClassifier()]


@pytest.mark.parametrize(
    "base",
    [*WEIGHTED, *UNWEIGHTED, *FOREIGN],
    ids=lambda b: f"{type(b).__module__[:7]}{type(b).__name__}",
)
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_any_base_learner_with_weights_or_by_resampling(base, kind):
    if kind == "sparse" and isinstance(base, DENSE):
        pytest.skip("takes no sparse rows")
    X, y = blobs(120, 2, 0)
    X = sparse.csr_matrix(X) if kind == "sparse" else X
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = AdaBoostClassifier(base, n_estimators=4, random_state=0).fit(X, y)
    c = model.certificate_
    assert abs(c.bound / c.loss - 1.0) < 1e-12
    assert (c.training <= c.bounds * (1 + 1e-12)).all()
    assert model.score(X, y) > 0.6
    assert gapless.verify(model, X, y)


class Fails(ClassifierMixin, BaseEstimator):
    """A stump of scikit-learn's until a given fit."""

    made = 0

    def __init__(self, at=7):
        self.at = at

    def fit(self, X, y, sample_weight=None):
        type(self).made += 1
        if type(self).made == self.at:
            raise ZeroDivisionError("the seventh seal")
        self.tree_ = SkTree(max_depth=1).fit(X, y, sample_weight)
        self.classes_ = self.tree_.classes_
        return self

    def predict(self, X):
        return self.tree_.predict(X)


def test_a_learner_that_fails_in_round_seven_loses_nothing():
    X, y = blobs(80, 2, 1)
    Fails.made = 0
    model = AdaBoostClassifier(Fails(), n_estimators=10)
    with pytest.raises(ZeroDivisionError, match="the seventh seal") as caught:
        model.fit(X, y)
    assert (
        "round 7 raised ZeroDivisionError: the seventh seal. The 6 rounds before it are kept"
        in caught.value.__notes__[0]
    )
    assert len(model.estimators_) == 6
    assert model.status_ == "stalled"
    assert "round 7" in model.stop_reason_
    Fails.made = 10
    six = AdaBoostClassifier(Fails(), n_estimators=6).fit(X, y)
    assert np.array_equal(model.decision_function(X), six.decision_function(X))
    assert gapless.verify(model, X, y)
    Fails.made = 0
    with pytest.raises(ZeroDivisionError):
        AdaBoostClassifier(Fails(at=1)).fit(X, y)


class Guesses(ClassifierMixin, BaseEstimator):
    """Right on most rows in the first rounds, constant after."""

    fits = 0

    def __init__(self, good=3):
        self.good = good

    def fit(self, X, y, sample_weight=None):
        type(self).fits += 1
        self.classes_ = np.unique(y)
        self.tree_ = SkTree(max_depth=1).fit(X, y, sample_weight) if type(self).fits <= self.good else None
        # The worse constant: the class with less weight.
        mass = [sample_weight[y == k].sum() for k in self.classes_]
        self.constant_ = self.classes_[int(np.argmin(mass))]
        return self

    def predict(self, X):
        return np.full(X.shape[0], self.constant_) if self.tree_ is None else self.tree_.predict(X)


@pytest.mark.parametrize("K", [2, 3])
def test_a_useless_learner_ends_the_run_with_round_error_and_classes(K):
    X, y = blobs(90, K, 2)
    Guesses.fits = 0
    model = AdaBoostClassifier(Guesses(), n_estimators=10).fit(X, y)
    assert len(model.estimators_) == 3 == len(model.estimator_weights_) == len(model.estimator_errors_)
    assert "round 4 is useless" in model.stop_reason_
    assert f"K = {K}" in model.stop_reason_
    assert "weighted error" in model.stop_reason_
    assert "3 rounds before it are kept" in model.stop_reason_
    assert model.status_ == "stalled"


@pytest.mark.parametrize("K", [2, 3])
def test_a_useless_first_round_ends_as_later_ones_do(K):
    """It says why, and predicts the heaviest class."""
    X, y = blobs(90, K, 2)
    weights = np.where(y == np.unique(y)[-1], 1.5, 1.0)
    Guesses.fits = 0
    with pytest.warns(gapless.ConvergenceWarning, match="round 1 is useless.*heaviest class is predicted"):
        model = AdaBoostClassifier(Guesses(good=0)).fit(X, y, sample_weight=weights)
    assert (model.status_, model.estimators_, model.estimator_weights_.size) == ("stalled", [], 0)
    assert "round 1 is useless: its weighted error" in model.stop_reason_
    assert f"K = {K}" in model.stop_reason_
    assert "no round is kept" in model.stop_reason_
    assert (model.predict(X) == np.unique(y)[-1]).all()
    assert model.decision_function(X).shape == ((90,) if K == 2 else (90, K))
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(1.0)
    assert list(model.staged_predict(X)) == []
    assert not hasattr(model, "certificate_")
    # Stumps too: two classes of equal weight, and a column that tells nothing.
    rows, sign = np.zeros((4, 1)), np.array([0, 1, 0, 1])
    with pytest.warns(gapless.ConvergenceWarning, match="round 1 is useless: its weighted error 0.5 is at least"):
        model = AdaBoostClassifier().fit(rows, sign)
    assert model.predict(rows).tolist() == [0, 0, 0, 0]
    assert model.feature_importances_.tolist() == [0.0]
    with pytest.raises(TypeError, match="no certificate_, there is nothing to verify: round 1 is useless"):
        gapless.verify(model, rows, sign)
    with pytest.raises(gapless.ModelFileError, match="it has no certificate: round 1 is useless"):
        gapless.save(model, "never.gapless")


def test_a_perfect_learner_ends_the_run():
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array(["a", "a", "b", "b"])
    model = AdaBoostClassifier().fit(X, y)
    assert model.estimator_errors_.tolist() == [0.0]
    assert model.estimator_weights_.tolist() == [1.0]
    assert "round 1 makes no mistake" in model.stop_reason_
    assert model.status_ == "converged"
    assert model.predict([[1.4], [1.6]]).tolist() == ["a", "b"]
    assert gapless.verify(model, X, y)


def test_bad_input():
    X, y = blobs(30, 2, 0)
    with pytest.raises(ValueError, match="only one class"):
        AdaBoostClassifier().fit(X, np.zeros(30))
    with pytest.raises(ValueError, match="only one class"):
        AdaBoostClassifier().fit(X, y, sample_weight=(y == 0).astype(float))
    spoilt = X.copy()
    spoilt[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        AdaBoostClassifier().fit(spoilt, y)
    with pytest.raises(ValueError, match="NaN"):
        AdaBoostClassifier(n_estimators=3).fit(X, y).predict(spoilt)
    for bad in ({"n_estimators": 0}, {"learning_rate": 0.0}, {"n_jobs": 0}, {"time_limit": -1.0}, {"estimator": 3}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            AdaBoostClassifier(**bad).fit(X, y)
    with pytest.raises(ValueError, match="loss"):
        AdaBoostRegressor(SkTreeRegressor(), loss="cubic").fit(X, y)
    constant = AdaBoostRegressor(SkTreeRegressor(), n_estimators=3).fit(X, np.ones(30))
    assert constant.predict(X).tolist() == [1.0] * 30
    assert "makes no error" in constant.stop_reason_
    flat = AdaBoostClassifier(n_estimators=3).fit(np.ones((30, 2)), np.arange(30) > 20)
    assert not flat.predict(np.ones((2, 2))).any()
    assert "useless" in flat.stop_reason_


@pytest.mark.parametrize("K", [2, 4])
def test_same_bits_for_any_threads_after_pickling_and_sparse(K):
    X, y = blobs(6000, K, 5, d=12)
    models = [AdaBoostClassifier(n_estimators=20, n_jobs=jobs).fit(X, y) for jobs in (None, 2, 3)]
    scores = models[0].decision_function(X)
    for model in models[1:]:
        assert np.array_equal(model.decision_function(X), scores)
    assert np.array_equal(pickle.loads(pickle.dumps(models[0])).decision_function(X), scores)
    *_, last = models[0].staged_decision_function(X)
    assert np.array_equal(last, scores)
    thin = np.where(np.abs(X) > 1.0, X, 0.0)
    dense = AdaBoostClassifier(n_estimators=15).fit(thin, y)
    thinner = AdaBoostClassifier(n_estimators=15).fit(sparse.csc_matrix(thin), y)
    assert np.allclose(dense.decision_function(thin), thinner.decision_function(sparse.csr_matrix(thin)), atol=1e-12)


def test_zero_weight_is_no_row_and_weights_are_repetitions():
    X, y = blobs(80, 3, 6)
    weight = np.random.default_rng(0).integers(0, 4, 80)
    model = AdaBoostClassifier(n_estimators=15).fit(X, y, sample_weight=weight)
    again = np.repeat(np.arange(80), weight)
    repeated = AdaBoostClassifier(n_estimators=15).fit(X[again], y[again])
    assert np.allclose(model.decision_function(X), repeated.decision_function(X), atol=1e-12)
    some = AdaBoostClassifier(n_estimators=15).fit(X[weight > 0], y[weight > 0], sample_weight=weight[weight > 0])
    assert np.array_equal(model.decision_function(X), some.decision_function(X))


def test_time_limit_gives_a_usable_model():
    X, y = blobs(4000, 2, 0, d=30)
    with pytest.warns(gapless.ConvergenceWarning, match="time_limit came after"):
        model = AdaBoostClassifier(n_estimators=10**6, time_limit=0.3).fit(X, y)
    assert model.status_ == "time_limit"
    assert model.score(X, y) > 0.5
    assert gapless.verify(model, X, y)


@pytest.mark.parametrize("loss", ["linear", "square", "exponential"])
def test_regressor_is_scikit_learns(loss):
    X, y = load_diabetes(return_X_y=True)
    for base in (SkTreeRegressor(max_depth=3), KNeighborsRegressor(), gapless.Ridge()):
        kw = {"n_estimators": 12, "loss": loss, "random_state": 3, "learning_rate": 0.8}
        ours = AdaBoostRegressor(base, **kw).fit(X, y)
        theirs = peers.AdaBoostRegressor(base, **kw).fit(X, y)
        assert len(ours.estimators_) == len(theirs.estimators_)
        assert np.allclose(ours.predict(X), theirs.predict(X))
        assert all(np.allclose(a, b) for a, b in zip(ours.staged_predict(X), theirs.staged_predict(X)))
    assert ours.stop_reason_


def test_huge_rates_are_said_to_overflow():
    X, y = blobs(60, 2, 0)
    with pytest.warns(UserWarning, match="Sample weights have reached infinite values"):
        model = AdaBoostClassifier(n_estimators=5, learning_rate=1e308).fit(X, y)
    assert model.status_ == "not_finite"
    assert np.isfinite(model.decision_function(X)).all()


def test_stage_weights_near_nothing_are_believed():
    """Late rounds on few different rows: errors of 1/2 but for rounding have weights that are all rounding."""
    random = np.random.default_rng(0)
    X = random.integers(0, 2, (600, 3)).astype(float)
    y = (X[:, 0] + 0.8 * random.normal(size=600) > 0.5).astype(int)
    model = gapless.AdaBoostClassifier(n_estimators=200).fit(X, y)
    assert model.certificate_.errors.max() > 0.4999
    assert gapless.verify(model, X, y)


# -- the best smallest margin


def best_margin(X, y):
    """The largest smallest margin of any vote of stumps, their negations and constants: a linear program over all of them."""
    columns = [np.ones(len(X))]
    for values in X.T:
        edges = np.unique(values)
        columns += [np.where(values > cut, 1.0, -1.0) for cut in (edges[1:] + edges[:-1]) / 2.0]
    M = np.column_stack([*columns, *(-c for c in columns)]) * y[:, None]
    n, T = M.shape
    found = optimize.linprog(
        np.append(np.zeros(T), -1.0), A_ub=np.column_stack([-M, np.ones(n)]), b_ub=np.zeros(n),
        A_eq=np.append(np.ones(T), 0.0)[None, :], b_eq=[1.0], bounds=[(0.0, None)] * T + [(None, None)],
    )  # fmt: skip
    return -found.fun


@pytest.mark.parametrize("seed", range(4))
def test_the_bracket_is_tight_where_rounds_allow(seed):
    """By the rounds' own weights alone it ends at twice the true value and more: those of AdaBoost go in circles."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(40, 3))
    y = np.where(X @ random.normal(size=3) + 0.3 * random.normal(size=40) > 0, 1, -1)
    true = best_margin(X, y)
    model = AdaBoostClassifier(n_estimators=1500).fit(X, y)
    low, high = model.certificate_.bracket
    assert low - 1e-9 <= true <= high + 1e-9
    if true > 0.0:
        assert high <= 1.1 * true
        assert low >= 0.8 * true  # AdaBoost does not maximise it: Rudin, Daubechies and Schapire 2004
    assert gapless.verify(model, X, y)
    assert model.certificate_.from_document(model.certificate_.document(), model.certificate_.arrays).bracket == (
        low,
        high,
    )


def test_false_weights_against_the_stumps_are_refused():
    X, y = np.array([[0.0], [1.0], [2.0], [3.5]]), np.array([1, -1, 1, 1])
    model = AdaBoostClassifier(n_estimators=20).fit(X, y)
    certificate = model.certificate_
    assert certificate.best == pytest.approx(best_margin(X, y))

    def judged(best, against):
        document = certificate.document()
        document["certificate"]["best"] = best
        return judge.check(document, {**certificate.arrays, "against": against}, X, y)

    against = certificate.arrays["against"]
    assert judged(certificate.best, against)
    assert not judged(certificate.best - 1e-3, against)
    assert not judged(certificate.best, np.roll(against, 1) + np.array([0.3, 0.0, 0.0, 0.0]))
    # Weights below 0 would prove anything.
    below = against - 0.5 * (against == against.max())
    stumps = [np.where(X[:, 0] > cut, 1.0, -1.0) for cut in (-1.0, 0.5, 1.5, 2.75)]
    edge = max(abs(float((below / below.sum() * y) @ h)) for h in stumps)
    assert not judged(edge, below)
    assert not judged(certificate.best, np.full(4, np.nan))
    assert not judged(certificate.best, np.zeros(4))

    # Three classes have no such bound: nothing would recompute it.
    X, y = blobs(60, 3, 2)
    three = AdaBoostClassifier(n_estimators=5).fit(X, y).certificate_
    document = three.document()
    document["certificate"]["best"] = 0.1
    with pytest.raises(gapless.CertificateError, match="of two classes and stumps alone"):
        judge.check(document, dict(three.arrays), X, y)
