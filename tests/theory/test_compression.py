"""Compression bounds: published values, both forms of the equation, coverage with a known truth, and broken conditions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import betainc, ndtr
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gapless import SVC, CertificateError, LinearSVC, LogisticRegression, Perceptron
from gapless.theory.generalisation import compression as c

# k, N -> Campi-Garatti, classical (no errors, zeta = 1/N); delta = 0.05
PUBLISHED = [
    (3, 1000, 0.010641, 0.028505),
    (10, 1000, 0.021663, 0.062442),
    (50, 1000, 0.073232, 0.194577),
    (100, 1000, 0.131595, 0.308357),
    (200, 1000, 0.242044, 0.469301),
    (368, 3089, 0.138871, 0.341135),
    (132, 270, 0.584787, 0.752421),
]


@pytest.mark.parametrize(("k", "N", "preferent", "classical"), PUBLISHED)
def test_published_values(k, N, preferent, classical):
    assert round(c.one_sided(k, N).high, 6) == preferent
    assert round(c.classical(k, N).high, 6) == classical


def test_more_published_values():
    assert [round(c.one_sided(k, 1500).high, 6) for k in (10, 30)] == [0.014471, 0.032442]
    assert [round(c.one_sided(k, 1500, 1e-6).high, 7) for k in (10, 30)] == [0.0257535, 0.0470260]
    assert round(c.scenario(30, 1500, 1e-6), 10) == 0.0418789946


def choose(n, r):
    return math.lgamma(n + 1) - math.lgamma(r + 1) - math.lgamma(n - r + 1)


def as_a_sum(k, N, delta, epsilon, two=False):
    """The left side of the equation as it is defined, term by term."""
    total = sum(math.exp(choose(m, k) - choose(N, k) - (N - m) * math.log1p(-epsilon)) for m in range(k, N))
    if not two:
        return delta / N * total
    more = sum(math.exp(choose(m, k) - choose(N, k) + (m - N) * math.log1p(-epsilon)) for m in range(N + 1, 4 * N + 1))
    return delta / (2 * N) * total + delta / (6 * N) * more


@pytest.mark.parametrize("delta", [0.2, 0.05, 1e-6])
@pytest.mark.parametrize(("k", "N"), [(0, 30), (1, 50), (7, 50), (49, 50), (40, 400), (3, 400)])
def test_the_roots_solve_the_sums(k, N, delta):
    one, two = c.one_sided(k, N, delta), c.two_sided(k, N, delta)
    assert as_a_sum(k, N, delta, one.high) == pytest.approx(1.0, rel=1e-6)
    assert as_a_sum(k, N, delta, two.high, True) == pytest.approx(1.0, rel=1e-6)
    if two.low > 0:
        assert as_a_sum(k, N, delta, two.low, True) == pytest.approx(1.0, rel=1e-6)
    assert two.low <= k / N <= one.high <= two.high
    assert one.high <= c.classical(k, N, delta).high * (1 + 1e-14)  # equal for k = N - 1


def test_ends():
    assert c.one_sided(20, 20).high == 1.0
    assert c.one_sided(20, 20).vacuous
    assert c.two_sided(20, 20).high == 1.0
    assert 0.5 < c.two_sided(20, 20).low < 1.0
    assert c.two_sided(0, 20).low == 0.0
    assert c.classical(20, 20).high == 1.0
    assert c.scenario(31, 30) == 1.0


def test_classical_with_errors_is_the_binomial():
    found = c.classical(5, 200, 0.05, errors=7, messages=3).high
    small = 0.05 / 200 / math.comb(200, 5) / 3
    assert sum(math.comb(195, j) * found**j * (1 - found) ** (195 - j) for j in range(8)) == pytest.approx(
        small, rel=1e-9
    )
    assert c.classical(50, 100_000, errors=20_000).high < 0.25  # C(N, k) is far beyond floats


def test_large_numbers():
    for k in (0, 3, 10**5, 10**7 - 1):
        one = c.one_sided(k, 10**7, 1e-12)
        assert k / 10**7 < one.high <= 1.0
    # delta P(Bin > k) = t N P(Bin = k), in the form of incomplete beta functions
    k, N, t = 10**5, 10**7, c.one_sided(10**5, 10**7, 1e-12).high
    left = 1e-12 * betainc(k + 1, N - k, t)
    assert left == pytest.approx(t * N * math.exp(k * math.log(t) + (N - k) * math.log1p(-t) + choose(N, k)), rel=1e-6)


@pytest.mark.parametrize("delta", [0.05, 0.2])
@pytest.mark.parametrize("N", [5, 20, 100, 1000])
def test_coverage_of_an_interval_exactly(N, delta):
    # The hull of N points of the line: k = 2, and the mass outside has a Beta(2, N - 1) distribution.
    high = c.one_sided(2, N, delta).high
    assert 1.0 - betainc(2, N - 1, high) <= delta
    two = c.two_sided(2, N, delta)
    assert 1.0 - betainc(2, N - 1, two.high) + betainc(2, N - 1, two.low) <= delta
    # The classical bound holds too, and is never below.
    assert 1.0 - betainc(2, N - 1, c.classical(2, N, delta).high) <= delta


@pytest.mark.parametrize("delta", [0.05, 0.2])
def test_coverage_of_boxes(delta):
    # The bounding box of uniform points: k is the number of points on its sides, random between 2 and 2d.
    random = np.random.default_rng(0)
    N, d, runs = 60, 5, 2000
    high = {k: c.one_sided(k, N, delta).high for k in range(1, 2 * d + 1)}
    failed = 0
    for _ in range(runs):
        X = random.random((N, d))
        rows = {*X.argmin(axis=0).tolist(), *X.argmax(axis=0).tolist()}
        failed += 1.0 - np.prod(X.max(axis=0) - X.min(axis=0)) > high[len(rows)]
    assert failed <= runs * delta


def gaussians(random, n, d=2, apart=2.0):
    y = np.where(random.random(n) < 0.5, 1, -1)
    y[:2] = 1, -1
    X = random.normal(size=(n, d))
    X[:, 0] += 0.5 * apart * y
    return X, y


def violation(model, apart=2.0):
    """P(y f < 1), exactly: given y, y f is normal."""
    w, b = model.coef_[0], float(model.intercept_[0])
    size = np.linalg.norm(w)
    return float(np.mean([ndtr((1.0 - (0.5 * apart * w[0] + s * b)) / size) for s in (1, -1)]))


def failures(runs, delta, n=50):
    random = np.random.default_rng(1)
    failed = 0
    for _ in range(runs):
        X, y = gaussians(random, n)
        model = LinearSVC(loss="hinge", C=0.5).fit(X, y)
        failed += violation(model) > c.margin_violation(model, X, y, delta).high
    return failed


@pytest.mark.parametrize("delta", [0.2])
def test_coverage_of_support_vectors(delta):
    assert failures(80, delta) <= 80 * delta + 3 * math.sqrt(80 * delta * (1 - delta))


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0.05, 0.2])
def test_coverage_of_support_vectors_on_2000_samples(delta):
    assert failures(2000, delta) <= 2000 * delta


MEANS = np.random.default_rng(11).normal(size=(2, 10, 2)) + np.array([[[1.0, 0.0]], [[0.0, 1.0]]])


def mixture(random, n):
    """Ten small clouds for each class, as in The Elements of Statistical Learning."""
    y = random.integers(2, size=n)
    y[:2] = 0, 1
    return MEANS[y, random.integers(10, size=n)] + np.sqrt(0.2) * random.normal(size=(n, 2)), 2 * y - 1


def kernel_failures(runs, delta, n=60):
    random = np.random.default_rng(12)
    X_new, y_new = mixture(np.random.default_rng(13), 4000)
    failed = 0
    for _ in range(runs):
        X, y = mixture(random, n)
        model = SVC(C=1.0, gamma=1.0).fit(X, y)
        high = c.margin_violation(model, X, y, delta).high
        failed += np.mean(y_new * model.decision_function(X_new) < 1.0) - 3 * 0.5 / math.sqrt(4000) > high
    return failed


def test_coverage_of_kernel_machines():
    assert kernel_failures(30, 0.2) <= 30 * 0.2 + 3 * math.sqrt(30 * 0.16)


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0.05, 0.2])
def test_coverage_of_kernel_machines_on_2000_samples(delta):
    assert kernel_failures(2000, delta) <= 2000 * delta


def test_a_choice_by_the_same_rows_voids_it():
    # Labels are coins, 12 rows, 4,000 columns: the columns that separate them need two rows each, and promise what they cannot
    # keep. With delta divided by the columns that were tried the promise is true again.
    random = np.random.default_rng(3)
    naive, honest, runs = 0, 0, 60
    promise, union = c.one_sided(2, 12, 0.05).high, c.one_sided(2, 12, 0.05 / 4000).high
    for _ in range(runs):
        y = np.where(random.random(12) < 0.5, 1, -1)
        if abs(y.sum()) == 12:
            continue
        X = random.random((12, 4000))
        lowest, highest = np.where(y[:, None] > 0, X, 2.0).min(axis=0), np.where(y[:, None] < 0, X, -1.0).max(axis=0)
        widths = lowest - highest
        if widths.max() <= 0:
            continue
        # Half of what lies outside the gap, and all of what lies inside, is a margin violation.
        true = 0.5 + 0.5 * widths.max()
        naive += true > promise
        honest += true > union
    assert naive > 0.5 * runs
    assert honest == 0


def test_margin_violation_of_models():
    random = np.random.default_rng(5)
    X, y = gaussians(random, 120)
    for model in (
        LinearSVC(loss="hinge", C=0.5, tol=1e-10),
        LinearSVC(loss="hinge", C=0.5),
        LinearSVC(C=0.5),
        SVC(C=0.5, gamma=0.3, tol=1e-8),
        SVC(kernel="linear"),
    ):
        found = c.margin_violation(model.fit(X, y), X, y)
        assert found.k >= int((model.alpha_ > 0).sum()) > 0
        assert found.k == min(120, found.support + found.offset_rows)
        assert found.high == c.one_sided(found.k, 120).high
        # A gap of 1e-9 is rounding, and support vectors are counted as they stand; a larger one proves which may be some.
        assert found.proved == (model.certificate_.relative_gap > 1e-9)
        yf = y * model.decision_function(X)
        assert np.mean(yf < 1 - 1e-6) <= found.k / 120  # every violation among the rows is a support vector
    tuned = c.margin_violation(model, X, y, tried=10)
    assert tuned.high == c.one_sided(tuned.k, 120, 0.005).high


def test_conditions_are_checked():
    random = np.random.default_rng(6)
    X, y = gaussians(random, 40)
    for model, message in (
        (SVC(), 'gamma="scale"'),
        (SVC(gamma=0.5, class_weight="balanced"), "balanced"),
        (LinearSVC(class_weight="balanced"), "balanced"),
        (make_pipeline(StandardScaler(), LinearSVC()), "fitted on the training rows"),
        (SVC(kernel="precomputed"), "unknown origin"),
        (LogisticRegression(), "fitted LinearSVC or SVC"),
    ):
        data = X @ X.T if getattr(model, "kernel", "") == "precomputed" else X
        model.fit(data, y)
        with pytest.raises(ValueError, match=message):
            c.margin_violation(model, data, y)
    model = LinearSVC().fit(X, y)
    with pytest.raises(CertificateError, match="other data"):
        c.margin_violation(model, X + 1, y)
    with pytest.raises(CertificateError, match="other labels"):
        c.margin_violation(model, X, -y)
    weighted = LinearSVC().fit(X, y, sample_weight=np.linspace(1, 2, 40))
    with pytest.raises(ValueError, match="sample weights"):
        c.margin_violation(weighted, X, y)
    three = LinearSVC().fit(X, np.arange(40) % 3)
    with pytest.raises(ValueError, match="two classes"):
        c.margin_violation(three, X, np.arange(40) % 3)


def test_pick_to_learn():
    random = np.random.default_rng(7)
    X = random.normal(size=(150, 2))
    y = np.where(X @ [1.0, 2.0] > 0.1, "yes", "no")
    found = c.pick_to_learn(Perceptron(tol=None, max_iter=-1), X, y, first="no")
    assert found.errors == 0
    assert (found.predict(X)[np.setdiff1d(np.arange(150), found.rows)] == np.delete(y, found.rows)).all()
    assert len(found.rows) < 40
    assert found.high == c.one_sided(len(found.rows), 150).high
    # The rows, in their order, are all that the model needs.
    again = Perceptron(tol=None, max_iter=-1).fit(X[found.rows], y[found.rows])
    assert (again.predict(X) == found.predict(X)).all()
    # A row that it gets right, added to the data, changes nothing.
    new = random.normal(size=(1, 2))
    right = found.predict(new)
    more = c.pick_to_learn(Perceptron(tol=None, max_iter=-1), np.vstack([X, new]), np.append(y, right), first="no")
    assert more.rows.tolist() == found.rows.tolist()
    early = c.pick_to_learn(Perceptron(tol=None, max_iter=-1), X, y, first="no", most=3)
    assert len(early.rows) <= 3  # the step with the fewest rows and errors
    assert early.high == c.one_sided(len(early.rows) + early.errors, 150, 0.05 / 150).high


class Rosenblatt(ClassifierMixin, BaseEstimator):
    """Corrections in a fixed order, from 0, until none is needed: quick, and the same for the same rows."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.coef_ = np.zeros((1, X.shape[1]))
        wrong = True
        while wrong:
            wrong = False
            for x, label in zip(X, y):
                if label * (self.coef_[0] @ x) <= 0:
                    self.coef_[0] += label * x
                    wrong = True
        return self

    def decision_function(self, X):
        return X @ self.coef_[0]

    def predict(self, X):
        return np.where(X @ self.coef_[0] > 0, 1, -1)


def picked_failures(runs, delta, n=60):
    random = np.random.default_rng(8)
    failed = 0
    for _ in range(runs):
        # A halfspace on the circle: the error of another one is the angle between them over pi.
        X = random.normal(size=(n, 2))
        y = np.where(X[:, 0] > 0, 1, -1)
        found = c.pick_to_learn(Rosenblatt(), X, y, first=-1, delta=delta)
        if not hasattr(found.model, "coef_"):
            failed += 0.5 > found.high
            continue
        w = found.model.coef_[0]
        failed += math.acos(np.clip(w[0] / np.linalg.norm(w), -1, 1)) / math.pi > found.high
    return failed


def test_coverage_of_pick_to_learn():
    assert picked_failures(40, 0.2) <= 40 * 0.2 + 3 * math.sqrt(40 * 0.16)


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0.05, 0.2])
def test_coverage_of_pick_to_learn_on_2000_samples(delta):
    assert picked_failures(2000, delta) <= 2000 * delta


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: c.one_sided(5, 4), "5 of 4 rows"),
        (lambda: c.one_sided(1, 4, 0.0), "strictly between"),
        (lambda: c.one_sided(1.5, 4), "whole number"),
        (lambda: c.two_sided(-1, 4), "at least 0"),
        (lambda: c.classical(3, 5, errors=3), "3 errors on the 2 rows"),
        (lambda: c.scenario(0, 5), "at least 1"),
        (lambda: c.pick_to_learn(LinearSVC(), [[1.0]], [1, 2]), "matrix with a row"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
