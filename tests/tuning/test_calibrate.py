"""Maps from scores to probabilities: the optimum of each, the order of scores, and numbers whose truth is known."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.datasets import load_iris
from sklearn.metrics import roc_auc_score

import gapless
from gapless import SVC, LinearSVC, LogisticRegression, calibrate
from gapless.tuning.calibrate import Beta, Sigmoid, Steps, Temperature, reliability


def logistic(t):
    return 1.0 / (1.0 + np.exp(-t))


@pytest.fixture(scope="module")
def data():
    random = np.random.default_rng(0)
    X = random.standard_normal((900, 3))
    p = logistic(1.5 * X[:, 0] - X[:, 1] + 0.5)
    y = (random.random(900) < p).astype(int)
    return X, y, p


@pytest.fixture(scope="module")
def model(data):
    X, y, _ = data
    return LinearSVC().fit(X[:300], y[:300])


METHODS = ["sigmoid", "isotonic", "beta"]


@pytest.mark.parametrize("method", METHODS)
def test_order_side_and_argmax_agree(data, model, method):
    X, y, _ = data
    found = calibrate(model, X[300:600], y[300:600], method)
    new, s = X[600:], model.decision_function(X[600:])
    p, f = found.predict_proba(new), found.decision_function(new)
    order = np.argsort(s)
    assert (np.diff(p[order, 1]) >= 0.0).all()
    assert (np.diff(f[order]) > 0.0).all()  # strictly: no tie that the scores have not
    assert roc_auc_score(y[600:], f) == roc_auc_score(y[600:], s)
    assert p.sum(axis=1) == pytest.approx(1.0)
    assert np.array_equal(found.predict(new), found.classes_[(f > 0.0).astype(int)])
    assert np.array_equal(found.predict(new), found.classes_[p.argmax(axis=1)])
    assert ((p > 0.0) & (p < 1.0)).all()  # no certainty from a sample


def smoothed(positive, weights):
    up, down = weights[positive].sum(), weights[~positive].sum()
    return np.where(positive, (up + 1) / (up + 2), 1 / (down + 2))


@pytest.mark.parametrize("weighted", [False, True])
def test_sigmoid_and_beta_are_the_most_likely_of_their_kind(data, model, weighted):
    X, y, _ = data
    s, positive = model.decision_function(X[300:]), y[300:] == 1
    weights = np.where(X[300:, 2] > 0, 2.0, 0.5) if weighted else np.ones(s.size)
    t = smoothed(positive, weights)

    def loss(z):
        return float(weights @ (np.logaddexp(0.0, z) - t * z))

    found = Sigmoid.fit(s, positive, weights)
    best = minimize(lambda v: loss(v[0] * s + v[1]), [1.0, 0.0], bounds=[(0, None), (None, None)], tol=1e-14)
    assert loss(found.odds(s)) <= best.fun + 1e-9 * abs(best.fun)
    x1, x2 = -np.logaddexp(0.0, -s), np.logaddexp(0.0, s)
    three = Beta.fit(s, positive, weights)
    best = minimize(
        lambda v: loss(v[0] * x1 + v[1] * x2 + v[2]),
        [1.0, 1.0, 0.0],
        bounds=[(0, None), (0, None), (None, None)],
        tol=1e-14,
    )
    assert loss(three.odds(s)) <= best.fun + 1e-9 * abs(best.fun)
    assert three.up >= 0.0
    assert three.down >= 0.0


def test_beta_where_a_slope_wants_to_be_negative():
    """Scores that say something above 0 only: the best slope below is negative, and has to be 0."""
    random = np.random.default_rng(1)
    s = random.uniform(-4, 4, 4000)
    y = random.random(4000) < np.where(s > 0, logistic(s), 0.5 - 0.1 * s / 4)
    found = Beta.fit(s, y, np.ones(4000))
    assert found.up == 0.0
    assert found.down > 0.0


def test_steps_are_pooled_adjacent_violators():
    s = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0])
    y = np.array([0, 1, 0, 0, 1, 1], bool)
    found = Steps.fit(s, y, np.ones(6))
    # 1, 0, 0 pool to 1/3; the ends go to the smoothed labels 1/(3+2) and 4/5
    assert found.values == pytest.approx([float(Fraction(1, 5)), 1 / 3, float(Fraction(4, 5))])
    assert found.edges == pytest.approx([0.5, 3.5])


def test_scores_that_separate_and_scores_that_are_wrong_give_finite_maps():
    s = np.linspace(-1, 1, 40)
    for kind in (Sigmoid, Steps, Beta):
        sure = kind.fit(s, s > 0, np.ones(40))
        assert np.isfinite(sure.odds(s)).all()
        turned = kind.fit(s, s < 0, np.ones(40))  # never turned round: as good as constant
        assert (np.diff(turned.odds(s)) >= 0.0).all()
        assert abs(float(turned.odds(np.zeros(1))[0])) < 0.2


def test_known_probabilities_are_found(data):
    """A logistic truth: the calibrated probabilities of the true score are the true ones, and reliability says so."""
    random = np.random.default_rng(3)
    s = random.normal(0.0, 2.0, 60_000)
    y = random.random(60_000) < logistic(0.7 * s - 0.4)
    for kind, room in ((Sigmoid, 0.01), (Beta, 0.02), (Steps, 0.06)):
        found = kind.fit(s[:30_000], y[:30_000], np.ones(30_000))
        at = np.linspace(-4, 4, 9)
        assert logistic(found.odds(at)) == pytest.approx(logistic(0.7 * at - 0.4), abs=room)
    p = logistic(0.7 * s[30_000:] - 0.4)
    told = reliability(np.column_stack([1 - p, p]), y[30_000:].astype(int), 10, 0.05)
    assert told.consistent
    assert told.calibration_error.low == 0.0
    assert np.mean(p * (1 - p)) in told.brier  # the Brier score of the truth is the mean variance
    off = logistic(1.6 * (0.7 * s[30_000:] - 0.4))
    wrong = reliability(np.column_stack([1 - off, off]), y[30_000:].astype(int), 10, 0.05)
    assert not wrong.consistent
    assert wrong.calibration_error.low > 0.0


def test_intervals_of_reliability_hold_in_repeated_samples():
    random = np.random.default_rng(5)
    failed = 0
    for _ in range(200):
        p = random.beta(0.6, 0.6, 300)
        y = (random.random(300) < p).astype(int)
        told = reliability(np.column_stack([1 - p, p]), y, 8, 0.1)
        failed += not told.consistent or not told.brier.low <= 0.0 + np.mean(p * (1 - p)) + 0.2
        failed += told.calibration_error.low > 0.0
    assert failed <= 0.1 * 200


def test_more_classes_keep_their_order():
    X, y = load_iris(return_X_y=True)
    model = SVC().fit(X[::2], y[::2])
    found = calibrate(model, X[1::2], y[1::2])
    p = found.predict_proba(X)
    assert np.array_equal(p.argmax(axis=1), model.decision_function(X).argmax(axis=1))
    assert p.sum(axis=1) == pytest.approx(1.0)
    best = found.map_.t

    def loss(t):
        z = t * model.decision_function(X[1::2])
        return float(np.sum(np.log(np.exp(z).sum(axis=1)) - z[np.arange(75), y[1::2]]))

    assert loss(best) <= min(loss(best * 1.01), loss(best * 0.99)) + 1e-12
    assert Temperature.fit(np.zeros((4, 3)), np.array([0, 1, 2, 0]), np.ones(4)).t == 0.0
    with pytest.raises(ValueError, match="two classes"):
        calibrate(model, X[1::2], y[1::2], "isotonic")


def test_own_rows_are_called_so(data, model):
    X, y, _ = data
    with pytest.warns(UserWarning, match="trained on"):
        calibrate(model, X[:300], y[:300])
    found = calibrate(model, X[:300], y[:300], cv=5)  # scores of clones that have not seen the row
    assert 0.5 < roc_auc_score(y[600:], found.predict_proba(X[600:])[:, 1])
    new = calibrate(model, X[300:600], y[300:600])
    for rows in (slice(0, 300), slice(300, 600)):
        with pytest.raises(ValueError, match="reliability on new rows"):
            new.reliability(X[rows], y[rows])
    assert "Brier" in str(new.reliability(X[600:], y[600:]))


def test_models_with_probabilities_and_bad_input(data):
    X, y, _ = data
    model = LogisticRegression().fit(X[:300], y[:300])
    tree = gapless.DecisionTreeClassifier(max_depth=3).fit(X[:300], y[:300])
    for fitted in (model, tree):
        p = calibrate(fitted, X[300:], y[300:], "beta").predict_proba(X)
        assert np.isfinite(p).all()
    for arguments, message in [
        ({"method": "magic"}, "method must be one of"),
        ({"y": np.full(600, 7)}, "does not know"),
        ({"y": np.zeros(600, int)}, "both classes"),
        ({"sample_weight": -np.ones(600)}, "sample_weight"),
        ({"X": X[300:500]}, "rows"),
    ]:
        with pytest.raises(ValueError, match=message):
            calibrate(model, **({"X": X[300:], "y": y[300:]} | arguments))
    with pytest.raises(ValueError, match="no fitted classifier"):
        calibrate(LinearSVC(), X, y)
