"""GaussianDiscriminant: closed forms in exact arithmetic, weights, the logistic form, boundaries, degenerate classes."""

from __future__ import annotations

import pickle
import tracemalloc
import warnings
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import expit, softmax
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine

from gapless import GaussianDiscriminant, IllConditionedWarning

KINDS = ("spherical", "shared", "per_class")
SHRINKAGES = (None, "auto", 0.3)

# Whole numbers in the plane: three and four rows a class, nothing symmetric.
X_TINY = [[0, 0], [2, 1], [1, 3], [4, 2], [6, 5], [5, 1], [7, 4]]
Y_TINY = ["a", "a", "a", "b", "b", "b", "b"]


def blobs(n=60, d=4, classes=3, seed=0):
    random = np.random.default_rng(seed)
    y = random.integers(0, classes, size=n)
    mix = random.normal(size=(d, d))
    return random.normal(size=(n, d)) @ mix + 2.0 * random.normal(size=(classes, d))[y] + 5.0, y


def exact(rows):
    """Mean and covariance in Fractions."""
    n, d = len(rows), len(rows[0])
    mean = [Fraction(sum(row[j] for row in rows), n) for j in range(d)]
    cov = [
        [sum((row[i] - mean[i]) * (row[j] - mean[j]) for row in rows) / Fraction(n) for j in range(d)] for i in range(d)
    ]
    return mean, cov


def inverse(S):
    (a, b), (c, d) = S
    det = a * d - b * c
    return [[d / det, -b / det], [-c / det, a / det]], det


def form(P, u, v):
    return sum(u[i] * P[i][j] * v[j] for i in range(2) for j in range(2))


def tiny():
    parts = [[row for row, label in zip(X_TINY, Y_TINY) if label == k] for k in "ab"]
    return parts, [exact(rows) for rows in parts]


def test_moments_are_exact():
    _, stats = tiny()
    model = GaussianDiscriminant(covariance="per_class").fit(X_TINY, Y_TINY)
    for k, (mean, cov) in enumerate(stats):
        np.testing.assert_allclose(model.means_[k], np.array(mean, dtype=float), rtol=1e-15)
        np.testing.assert_allclose(model.covariance_[k], np.array(cov, dtype=float), rtol=1e-14)
    np.testing.assert_array_equal(model.priors_, [3 / 7, 4 / 7])
    assert model.classes_.tolist() == ["a", "b"]
    assert model.rank_.tolist() == [2, 2]
    assert not hasattr(model, "logistic_coef_")
    assert model.certificate_.kind == "moments"


def test_shared_closed_form():
    parts, ((m0, S0), (m1, S1)) = tiny()
    n0, n1 = map(len, parts)
    S = [[(n0 * S0[i][j] + n1 * S1[i][j]) / Fraction(n0 + n1) for j in range(2)] for i in range(2)]
    P, _ = inverse(S)
    coef = [sum(P[i][j] * (m1[j] - m0[j]) for j in range(2)) for i in range(2)]
    intercept = float((form(P, m0, m0) - form(P, m1, m1)) / 2) + np.log(n1 / n0)
    model = GaussianDiscriminant().fit(X_TINY, Y_TINY)
    np.testing.assert_allclose(model.covariance_, np.array(S, dtype=float), rtol=1e-14)
    np.testing.assert_allclose(model.logistic_coef_, [np.array(coef, dtype=float)], rtol=1e-13)
    np.testing.assert_allclose(model.logistic_intercept_, [intercept], rtol=1e-13)
    z = model.decision_function(X_TINY)
    np.testing.assert_array_equal(z, (np.array(X_TINY) @ model.logistic_coef_.T + model.logistic_intercept_)[:, 0])
    np.testing.assert_array_equal(model.predict_proba(X_TINY)[:, 1], expit(z))


def test_spherical_closed_form():
    parts, ((m0, S0), (m1, S1)) = tiny()
    n0, n1 = map(len, parts)
    variance = (n0 * (S0[0][0] + S0[1][1]) + n1 * (S1[0][0] + S1[1][1])) / Fraction(2 * (n0 + n1))
    coef = [(m1[j] - m0[j]) / variance for j in range(2)]
    model = GaussianDiscriminant(covariance="spherical").fit(X_TINY, Y_TINY)
    assert model.covariance_ == pytest.approx(float(variance), rel=1e-14)
    np.testing.assert_allclose(model.logistic_coef_[0], np.array(coef, dtype=float), rtol=1e-13)
    square = sum(v * v for v in m0) - sum(v * v for v in m1)
    assert model.logistic_intercept_[0] == pytest.approx(float(square / (2 * variance)) + np.log(n1 / n0), rel=1e-13)


def test_per_class_closed_form():
    parts, stats = tiny()
    expected = []
    for x in X_TINY:
        scores = []
        for rows, (mean, cov) in zip(parts, stats):
            P, det = inverse(cov)
            away = [x[j] - mean[j] for j in range(2)]
            scores.append(-float(form(P, away, away)) / 2 - np.log(float(det)) / 2 + np.log(len(rows) / 7))
        expected.append(scores[1] - scores[0])
    model = GaussianDiscriminant(covariance="per_class").fit(X_TINY, Y_TINY)
    np.testing.assert_allclose(model.decision_function(X_TINY), expected, rtol=1e-12, atol=1e-13)


def test_nearly_collinear_closed_form():
    """Condition 1e8 and more, where a Gram matrix would lose half of the digits; QR of the rows does not."""
    random = np.random.default_rng(0)
    first, second = random.integers(-1000, 1000, size=(2, 40)).tolist()
    rows = [[a, 10_000 * a + b] for a, b in zip(first, second)]
    y = [0] * 15 + [1] * 25
    ((m0, S0), n0), ((m1, S1), n1) = ((exact(rows[:15]), 15), (exact(rows[15:]), 25))
    S = [[(n0 * S0[i][j] + n1 * S1[i][j]) / Fraction(n0 + n1) for j in range(2)] for i in range(2)]
    P, _ = inverse(S)
    coef = [float(sum(P[i][j] * (m1[j] - m0[j]) for j in range(2))) for i in range(2)]
    model = GaussianDiscriminant().fit(rows, y)
    assert 1e7 < model.condition_ < 1e10
    np.testing.assert_allclose(model.logistic_coef_[0], coef, rtol=1e-11)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_is_bayes_rule_for_the_plug_in_densities(kind, classes):
    X, y = blobs(classes=classes)
    model = GaussianDiscriminant(covariance=kind).fit(X, y)
    d = X.shape[1]
    of_class = {
        "spherical": lambda k: model.covariance_ * np.eye(d),
        "shared": lambda k: model.covariance_,
        "per_class": lambda k: model.covariance_[k],
    }[kind]
    joint = np.column_stack(
        [multivariate_normal(model.means_[k], of_class(k)).logpdf(X) + np.log(model.priors_[k]) for k in range(classes)]
    )
    np.testing.assert_allclose(model.predict_proba(X), softmax(joint, axis=1), atol=1e-12)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X), rtol=1e-12)
    scores = model.decision_function(X)
    if classes == 2:
        np.testing.assert_allclose(scores, joint[:, 1] - joint[:, 0], rtol=1e-9, atol=1e-10)
    else:
        np.testing.assert_allclose(scores - scores[:, :1], joint - joint[:, :1], rtol=1e-9, atol=1e-10)
    np.testing.assert_array_equal(model.predict(X), model.classes_[model.predict_proba(X).argmax(axis=1)])


def test_spherical_is_nearest_mean_with_priors():
    X, y = blobs()
    model = GaussianDiscriminant(covariance="spherical", priors=[1 / 3] * 3).fit(X, y)
    distance = ((X[:, None, :] - model.means_) ** 2).sum(axis=2)
    np.testing.assert_array_equal(model.predict(X), distance.argmin(axis=1))
    tilted = GaussianDiscriminant(covariance="spherical", priors=[0.8, 0.1, 0.1]).fit(X, y)
    scores = np.log(tilted.priors_) - distance / (2.0 * tilted.covariance_)
    np.testing.assert_array_equal(tilted.predict(X), scores.argmax(axis=1))


@pytest.mark.parametrize("shrinkage", SHRINKAGES)
@pytest.mark.parametrize("kind", KINDS)
def test_weights_are_repetitions(kind, shrinkage):
    X, y = blobs(n=80)
    weight = np.random.default_rng(1).integers(0, 4, size=len(y))
    model = GaussianDiscriminant(covariance=kind, shrinkage=shrinkage)
    weighted = clone(model).fit(X, y, sample_weight=weight)
    repeated = clone(model).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    for name in ("means_", "covariance_", "priors_", "condition_"):
        np.testing.assert_allclose(getattr(weighted, name), getattr(repeated, name), rtol=1e-7)
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), rtol=1e-7, atol=1e-9)


def test_a_class_of_weight_zero_is_no_class():
    X, y = blobs()
    model = GaussianDiscriminant().fit(X, y, sample_weight=(y != 1).astype(float))
    assert model.classes_.tolist() == [0, 2]
    same = GaussianDiscriminant().fit(X[y != 1], y[y != 1])
    np.testing.assert_array_equal(model.decision_function(X), same.decision_function(X))
    with pytest.raises(ValueError, match="only one class"):
        GaussianDiscriminant().fit(X, y, sample_weight=(y == 1).astype(float))
    with pytest.raises(ValueError, match="at least one non-zero"):
        GaussianDiscriminant().fit(X, y, sample_weight=np.zeros(len(y)))
    with pytest.raises(ValueError, match="Negative values"):
        GaussianDiscriminant().fit(X, y, sample_weight=-np.ones(len(y)))


@pytest.mark.parametrize("kind", KINDS)
def test_the_scale_of_the_weights_is_without_effect(kind):
    X, y = blobs()
    a = GaussianDiscriminant(covariance=kind).fit(X, y)
    b = GaussianDiscriminant(covariance=kind).fit(X, y, sample_weight=np.full(len(y), 0.001))
    np.testing.assert_allclose(a.decision_function(X), b.decision_function(X), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_boundary_is_the_log_odds(kind, classes):
    X, y = blobs(d=2, classes=classes)
    model = GaussianDiscriminant(covariance=kind).fit(X, y)
    for a in range(classes):
        for b in set(range(classes)) - {a}:
            boundary = model.boundary(a, b)
            assert boundary.kind == ("conic" if kind == "per_class" else "line")
            assert boundary.quadratic.any() == (kind == "per_class")
            np.testing.assert_array_equal(boundary.quadratic, boundary.quadratic.T)
            log_proba = model.predict_log_proba(X)
            np.testing.assert_allclose(boundary.log_odds(X), log_proba[:, b] - log_proba[:, a], rtol=1e-8, atol=1e-9)
    if classes == 2:
        np.testing.assert_array_equal(model.boundary().linear, model.boundary(0, 1).linear)
    else:
        with pytest.raises(ValueError, match="names of two classes"):
            model.boundary()
    with pytest.raises(ValueError, match="knows no class 9"):
        model.boundary(0, 9)
    with pytest.raises(ValueError, match="two different"):
        model.boundary(1, 1)


@pytest.mark.parametrize(
    ("d", "line", "curve"), [(1, "point", "points"), (2, "line", "conic"), (3, "plane", "quadric")]
)
def test_boundary_kinds(d, line, curve):
    X, y = blobs(d=d, classes=2)
    assert GaussianDiscriminant().fit(X, y).boundary().kind == line
    assert GaussianDiscriminant(covariance="per_class").fit(X, y).boundary().kind == curve


def test_logistic_coefficients_have_the_shape_of_logistic_regression():
    X, y = load_iris(return_X_y=True)
    model = GaussianDiscriminant().fit(X, y)
    assert model.logistic_coef_.shape == (3, 4)
    assert model.logistic_intercept_.shape == (3,)
    scores = X @ model.logistic_coef_.T + model.logistic_intercept_
    np.testing.assert_array_equal(scores, model.decision_function(X))
    np.testing.assert_allclose(softmax(scores, axis=1), model.predict_proba(X), atol=1e-14)
    model.set_params(covariance="per_class").fit(X, y)  # nothing of the earlier fit stays
    assert not hasattr(model, "logistic_coef_")


# -- priors ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_priors_move_the_scores_and_nothing_else(kind):
    X, y = blobs(classes=2)
    plain = GaussianDiscriminant(covariance=kind).fit(X, y)
    given = GaussianDiscriminant(covariance=kind, priors=(0.9, 0.1)).fit(X, y)
    np.testing.assert_array_equal(plain.covariance_, given.covariance_)
    shift = np.log(0.1 / 0.9) - np.log(plain.priors_[1] / plain.priors_[0])
    np.testing.assert_allclose(given.decision_function(X), plain.decision_function(X) + shift, atol=1e-11)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("classes", [2, 3])
def test_a_prior_of_zero_is_a_class_that_never_comes(kind, classes):
    X, y = blobs(classes=classes)
    priors = [0.0, *([1.0 / (classes - 1)] * (classes - 1))]
    model = GaussianDiscriminant(covariance=kind, priors=priors).fit(X, y)
    proba = model.predict_proba(X)
    assert not np.isnan(model.decision_function(X)).any()
    np.testing.assert_array_equal(proba[:, 0], 0.0)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert 0 not in model.predict(X)


@pytest.mark.parametrize(
    ("priors", "words"),
    [
        ([0.5, -0.5], "priors must be non-negative"),
        ([0.0, 0.0], "all zero"),
        ([0.5, 0.3, 0.2], "one number a class"),
        ([0.5, np.nan], "finite"),
        ("equal", "must be an array-like or None"),
        (0.5, "must be an array-like or None"),
    ],
)
def test_bad_priors(priors, words):
    X, y = blobs(classes=2)
    with pytest.raises(ValueError, match=words):
        GaussianDiscriminant(priors=priors).fit(X, y)


def test_priors_that_do_not_sum_to_one():
    X, y = blobs(classes=2)
    with pytest.warns(UserWarning, match="do not sum to 1. Renormalizing"):
        model = GaussianDiscriminant(priors=[1, 3]).fit(X, y)
    np.testing.assert_allclose(model.priors_, [0.25, 0.75])


# -- degenerate data -------------------------------------------------------------------------------------------------


def collinear(X):
    return np.column_stack((X, X[:, 0] - 2.0 * X[:, 1]))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_collinear_features_shared(dtype):
    X, y = blobs(classes=2)
    whole = GaussianDiscriminant().fit(X, y)
    model = GaussianDiscriminant().fit(collinear(X).astype(dtype), y)
    assert (model.rank_, model.condition_) == (4, np.inf)
    close = 1e-9 if dtype == np.float64 else 1e-3
    np.testing.assert_allclose(
        model.decision_function(collinear(X)), whole.decision_function(X), rtol=close, atol=close
    )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_collinear_features_per_class(dtype):
    X, y = blobs(classes=2)
    n = np.count_nonzero(y == 0)
    with pytest.raises(
        np.linalg.LinAlgError, match=f"class 0 is not full rank: rank 4 of 5 features.*n_k = {n} samples"
    ):
        GaussianDiscriminant(covariance="per_class").fit(collinear(X).astype(dtype), y)
    for shrinkage in ("auto", 0.1):  # the advice leads to an answer
        model = GaussianDiscriminant(covariance="per_class", shrinkage=shrinkage).fit(collinear(X).astype(dtype), y)
        assert model.rank_.tolist() == [5, 5]
        assert np.isfinite(model.decision_function(collinear(X))).all()


@pytest.mark.parametrize("value", [0.0, 0.1, 1e6])
def test_a_feature_that_is_constant_everywhere(value):
    X, y = blobs(classes=2)
    wide = np.column_stack((X, np.full(len(y), value)))
    model = GaussianDiscriminant().fit(wide, y)
    assert model.rank_ == 4
    np.testing.assert_allclose(model.decision_function(wide), GaussianDiscriminant().fit(X, y).decision_function(X))
    assert model.logistic_coef_[0, 4] == 0.0


def test_a_feature_that_is_constant_within_each_class():
    X, y = blobs(classes=2)
    wide = np.column_stack((X, 0.1 * y))
    with pytest.warns(IllConditionedWarning, match="rank 4 of 5 .* no class varies"):
        model = GaussianDiscriminant().fit(wide, y)
    assert np.isfinite(model.decision_function(wide)).all()
    with pytest.raises(np.linalg.LinAlgError, match="class 0 is not full rank"):
        GaussianDiscriminant(covariance="per_class").fit(wide, y)
    for kind in ("shared", "per_class"):
        model = GaussianDiscriminant(covariance=kind, shrinkage="auto").fit(wide, y)  # as the warning says: none now
        assert np.isfinite(model.predict_log_proba(wide)).all()


def test_one_row_in_a_class():
    X, y = blobs(classes=2)
    X, y = np.vstack((X, X[:1] + 1.0)), np.append(y, 7)
    for shrinkage in SHRINKAGES:
        with pytest.raises(ValueError, match="only 1 sample in class 7, covariance is ill defined"):
            GaussianDiscriminant(covariance="per_class", shrinkage=shrinkage).fit(X, y)
        assert np.isfinite(GaussianDiscriminant(shrinkage=shrinkage).fit(X, y).predict_proba(X)).all()
    weight = np.ones(len(y))
    weight[np.flatnonzero(y == 0)[1:]] = 0.0
    with pytest.raises(ValueError, match="only 1 sample in class 0"):
        GaussianDiscriminant(covariance="per_class").fit(X[:-1], y[:-1], sample_weight=weight[:-1])


def test_one_row_twice_has_rank_zero():
    X, y = blobs(classes=2)
    X, y = np.vstack((X, X[:1], X[:1])), np.append(y, [7, 7])
    with pytest.raises(np.linalg.LinAlgError, match="class 7 .* rank 0 of 4 features from n_k = 2 .* rows are equal"):
        GaussianDiscriminant(covariance="per_class").fit(X, y)


def test_the_advice_fits_the_class():
    X = np.array([[1.0, 3], [1, 3], [2, 1], [2, 1], [3, 3], [4, 1], [5, 5], [2, 2]])
    y = np.array([0, 0, 0, 0, 1, 1, 1, 1])  # class 0 is two points
    for shrinkage, words in ((None, "Set shrinkage, for example 0.1"), ("auto", "to a number, for example 0.1")):
        with pytest.raises(np.linalg.LinAlgError, match=words):
            GaussianDiscriminant(covariance="per_class", shrinkage=shrinkage).fit(X, y)
    assert np.isfinite(GaussianDiscriminant(covariance="per_class", shrinkage=0.1).fit(X, y).decision_function(X)).all()


def test_more_features_than_rows():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(12, 30)), np.arange(12) % 2
    with pytest.warns(IllConditionedWarning, match="rank 10 of 30 features from 12 samples"):
        model = GaussianDiscriminant().fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()
    with pytest.raises(np.linalg.LinAlgError, match="rank 5 of 30 features from n_k = 6 samples"):
        GaussianDiscriminant(covariance="per_class").fit(X, y)
    for kind in KINDS:
        model = GaussianDiscriminant(covariance=kind, shrinkage=0.5).fit(X, y)
        assert np.isfinite(model.predict_log_proba(X)).all()


@pytest.mark.parametrize("kind", ["spherical", "shared"])
def test_no_variation_at_all(kind):
    X, y = np.repeat([[0.1, 0.3], [0.7, 0.1]], 3, axis=0), np.repeat([0, 1], 3)
    with pytest.raises(np.linalg.LinAlgError, match="equals the mean of its class"):
        GaussianDiscriminant(covariance=kind).fit(X, y)


def test_nearly_collinear_is_said():
    X, y = blobs(n=200, classes=2)
    near = np.column_stack((X, X[:, 0] + 1e-5 * np.random.default_rng(0).normal(size=200)))
    for kind in ("shared", "per_class"):
        with pytest.warns(IllConditionedWarning, match="condition .* digits"):
            model = GaussianDiscriminant(covariance=kind).fit(near, y)
        assert np.all(model.condition_ > 1e10)
        GaussianDiscriminant(covariance=kind, shrinkage=0.01).fit(near, y)


@pytest.mark.parametrize("kind", KINDS)
def test_equal_means_give_the_priors(kind):
    X = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 2.0], [0.0, -2.0]] * 2)
    model = GaussianDiscriminant(covariance=kind, priors=[0.25, 0.75]).fit(X, np.repeat([0, 1], 4))
    np.testing.assert_allclose(model.predict_proba(X), [[0.25, 0.75]] * 8)


@pytest.mark.parametrize("kind", KINDS)
def test_units_of_the_features_do_not_matter(kind):
    """Deviations from 1e-8 to 1e8: the same posterior, the same rank and condition."""
    if kind == "spherical":
        pytest.skip("a sphere has one unit")
    X, y = blobs(n=100)
    units = np.array([1e-8, 1.0, 1e8, 1e-3])
    a, b = GaussianDiscriminant(covariance=kind).fit(X, y), GaussianDiscriminant(covariance=kind).fit(X * units, y)
    np.testing.assert_allclose(a.predict_log_proba(X), b.predict_log_proba(X * units), rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(a.condition_, b.condition_, rtol=1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_float32_far_from_zero(kind):
    random = np.random.default_rng(0)
    y = random.integers(0, 2, size=20_000)
    X = random.normal(size=(y.size, 3)) + 0.5 * y[:, None]
    X[:, 1] += 1e4
    X32 = X.astype(np.float32)
    a, b = (
        GaussianDiscriminant(covariance=kind).fit(X32, y),
        GaussianDiscriminant(covariance=kind).fit(X32.astype(float), y),
    )
    np.testing.assert_allclose(a.decision_function(X32), b.decision_function(X32), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(
        np.diag(np.atleast_2d(a.covariance_[0] if kind == "per_class" else a.covariance_)), 1.0, atol=0.1
    )


@pytest.mark.parametrize("kind", KINDS)
def test_points_far_away_are_no_nan(kind):
    X, y = blobs()
    model = GaussianDiscriminant(covariance=kind).fit(X, y)
    far = np.array([[1e160, -1e160, 1e160, 1.0], [-1e200, 0.0, 0.0, 0.0], [0.0, 1e100, -1e99, 0.0]])
    assert not np.isnan(model.decision_function(far)).any()
    np.testing.assert_allclose(model.predict_proba(far).sum(axis=1), 1.0)


def test_numbers_that_overflow_are_an_error():
    with pytest.raises(ValueError, match="the variance of column 1 of X overflows"):
        GaussianDiscriminant().fit([[0.0, 1e200], [1.0, -1e200], [0.0, 1e190], [2.0, 0.0]], [0, 0, 1, 1])


# -- the house -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"covariance": "diagonal"}, "The 'covariance' parameter of GaussianDiscriminant must be a str among"),
        ({"covariance": None}, "The 'covariance' parameter"),
        ({"shrinkage": "empirical"}, "The 'shrinkage' parameter"),
        ({"shrinkage": 1.5}, "The 'shrinkage' parameter"),
        ({"shrinkage": -0.1}, "The 'shrinkage' parameter"),
        ({"shrinkage": True}, "The 'shrinkage' parameter"),
    ],
)
def test_bad_parameters(given, words):
    with pytest.raises(ValueError, match=words):
        GaussianDiscriminant(**given).fit(*blobs())


def test_full_shrinkage_of_a_class_is_a_sphere():
    X, y = load_wine(return_X_y=True)
    model = GaussianDiscriminant(covariance="per_class", shrinkage=1.0).fit(X, y)
    for k in range(3):
        np.testing.assert_allclose(model.covariance_[k], np.var(X[y == k], axis=0).mean() * np.eye(13), atol=1e-9)
    shared = GaussianDiscriminant(shrinkage=1.0).fit(X, y)
    sphere = GaussianDiscriminant(covariance="spherical").fit(X, y)
    np.testing.assert_allclose(shared.decision_function(X), sphere.decision_function(X), rtol=1e-9, atol=1e-9)


def test_memory_is_a_block_not_the_data():
    random = np.random.default_rng(0)
    y = random.integers(0, 2, size=200_000)
    X = random.normal(size=(y.size, 8)).astype(np.float32)
    model = GaussianDiscriminant(covariance="per_class").fit(
        X, y
    )  # what a first fit imports and loads is not of the data
    tracemalloc.start()
    model.fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.3 * X.nbytes + 48 * len(y)


def test_pickles_and_says_nothing_where_all_is_well():
    X, y = load_iris(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for kind in KINDS:
            model = GaussianDiscriminant(covariance=kind).fit(X, y)
            again = pickle.loads(pickle.dumps(model))
            np.testing.assert_array_equal(model.predict_proba(X), again.predict_proba(X))
