"""Bad input: a clear error of the right type, which names what is wrong."""

from __future__ import annotations

import math
import re
import time
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import gapless
from gapless import LinearSVC, LogisticRegression
from tests.linear.sets import LOSSES, OFFSETS, load, model, trusted

ESTIMATORS = (LinearSVC, LogisticRegression)
X = np.array([[0.0, 1.0], [1.0, 0.5], [2.0, 0.0], [3.0, -1.0]])
Y = np.array([0, 0, 1, 1])


def with_value(value, kind="dense"):
    bad = X.copy()
    bad[2, 1] = value
    return sparse.csr_matrix(bad) if kind == "csr" else bad


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize(("value", "words"), [(math.nan, "NaN"), (math.inf, "infinity"), (-math.inf, "infinity")])
def test_values_that_are_not_finite(estimator, kind, value, words):
    with pytest.raises(ValueError, match=words):
        estimator().fit(with_value(value, kind), Y)
    fitted = estimator().fit(X, Y)
    with pytest.raises(ValueError, match=words):
        fitted.predict(with_value(value, kind))


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize(
    ("given", "words"),
    [
        (lambda: (X, [1, 1, 1, 1]), ["at least 2 classes", "one class"]),
        (lambda: (X, ["a"] * 4), ["at least 2 classes", "'a'"]),
        (lambda: (np.empty((0, 2)), []), ["0 sample"]),
        (lambda: (np.empty((4, 0)), Y), ["0 feature"]),
        (lambda: (X, Y[:3]), ["inconsistent numbers of samples", "3", "4"]),
        (lambda: (X[0], Y), ["2D array", "1D array"]),
        (lambda: (X[None], Y), ["dim 3"]),
        (lambda: (X, None), ["requires y"]),
        (lambda: (X, [0.1, 0.2, 0.3, 0.7]), ["Unknown label type", "continuous"]),
        (lambda: (X, [0.0, 1.0, 0.0, math.nan]), ["y contains NaN"]),
        (lambda: (X, [0.0, 1.0, 0.0, math.inf]), ["y contains infinity"]),
        (lambda: (X, np.c_[Y, 1 - Y]), ["1d array", "(4, 2)"]),
        (lambda: (X, np.array([0, "a", 1, "b"], dtype=object)), ["different types", "row 1", "'a'"]),
        (lambda: (X, [0, None, 1, 1]), ["different types", "row 1", "None"]),
        (lambda: ([["a", "b"]] * 4, Y), ["could not convert string to float"]),
        (lambda: ([["1", "oak"]] * 4, Y), ["oak"]),
        (lambda: (X + 1j, Y), ["Complex data not supported"]),
        (lambda: (sparse.csr_matrix(X + 1j), Y), ["Complex data not supported"]),
    ],
)
def test_data(estimator, given, words):
    with pytest.raises(ValueError) as caught:
        estimator().fit(*given())
    for word in words:
        assert word in str(caught.value), str(caught.value)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_objects_in_x(estimator):
    mixed = X.astype(object)
    same = estimator().fit(mixed, Y)  # numbers in an object array are numbers
    assert same.coef_.tobytes() == estimator().fit(X, Y).coef_.tobytes()
    mixed[1, 1] = {"a": 1}
    with pytest.raises(TypeError, match="argument must be .*string.* or a.* real number"):
        estimator().fit(mixed, Y)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([0, 0, 0, 0], ["non-zero"]),
        ([1, -1, 1, 1], ["Negative", "sample_weight", "row 1"]),
        ([1, math.nan, 1, 1], ["sample_weight", "NaN", "row 1"]),
        ([1, 1, math.inf, 1], ["sample_weight", "infinity", "row 2"]),
        ([1, 1, 1], ["sample_weight.shape == (3,)", "(4,)"]),
        ([[1], [1], [1], [1]], ["1D array", "2D"]),
        (np.ones((4, 2)), ["1D array", "2D"]),
        (["a", "b", "c", "d"], ["sample_weight", "numbers"]),
        ([1, 1, 0, 0], ["at least 2 classes", "weight"]),
        ([1j, 1, 1, 1], ["sample_weight", "numbers"]),
    ],
)
def test_sample_weight(estimator, weights, words):
    with pytest.raises(ValueError) as caught:
        estimator().fit(X, Y, sample_weight=weights)
    for word in words:
        assert word in str(caught.value), str(caught.value)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("C", 0, ["(0.0, inf)"]),
        ("C", 0.0, ["(0.0, inf)"]),
        ("C", -1.0, ["(0.0, inf)"]),
        ("C", -math.inf, ["(0.0, inf)"]),
        ("C", math.nan, ["nan"]),
        ("C", "1", ["'1'"]),
        ("C", None, ["None"]),
        ("C", True, ["True"]),
        ("C", [1.0], ["[1.0]"]),
        ("tol", 0.0, ["(0.0, inf)"]),
        ("tol", -1e-4, ["(0.0, inf)"]),
        ("tol", math.nan, ["nan"]),
        ("tol", math.inf, ["inf"]),
        ("tol", "auto", ["'auto'"]),
        ("max_iter", -5, ["-5", "-1", "None"]),
        ("max_iter", 10.5, ["10.5"]),
        ("max_iter", "100", ["'100'"]),
        ("max_iter", True, ["True"]),
        ("time_limit", 0, ["(0.0, inf)"]),
        ("time_limit", -1.0, ["(0.0, inf)"]),
        ("time_limit", math.nan, ["nan"]),
        ("time_limit", "1 s", ["'1 s'"]),
        ("n_jobs", 0, ["0"]),
        ("n_jobs", 1.5, ["1.5"]),
        ("verbose", -1, ["-1"]),
        ("fit_intercept", "yes", ["'yes'", "bool"]),
        ("penalize_intercept", "no", ["'no'", "bool"]),
        ("penalize_intercept", None, ["None", "bool"]),
        ("warm_start", "a", ["'a'", "bool"]),
        ("device", "tpu", ["'tpu'", "'cpu'", "'cuda'"]),
        ("solver", "simplex", ["'simplex'", "coordinate_descent"]),
        ("solver", None, ["None"]),
        ("dual", "no", ["'no'"]),
        ("init", 3, ["3", "certificate_"]),
        ("init", LinearSVC(), ["fitted"]),
        ("intercept_scaling", 0, ["intercept_scaling", "(0.0, inf)"]),
        ("class_weight", "even", ["class_weight", "'balanced'", "'even'"]),
        ("class_weight", [1, 2], ["class_weight", "dict"]),
        ("class_weight", {0: 1.0, 2: 2.0}, ["class_weight", "[1]", "[2]"]),
        ("class_weight", {0: 1.0, 1: -1.0}, ["class_weight", "-1.0"]),
        ("class_weight", {0: 1.0, 1: math.nan}, ["class_weight", "nan"]),
        ("class_weight", {0: 1.0, 1: "a"}, ["class_weight", "'a'"]),
        ("class_weight", {0: 0.0, 1: 1.0}, ["at least 2 classes"]),
        ("class_weight", {0: 0.0, 1: 0.0}, ["every weight is zero"]),
        ("random_state", "seed", ["'seed'"]),
    ],
)
def test_parameters(estimator, name, value, words):
    with pytest.raises(ValueError) as caught:
        estimator(**{name: value}).fit(X, Y)
    for word in words:
        assert word in str(caught.value), str(caught.value)
    if name in ("C", "tol", "max_iter", "time_limit", "n_jobs", "device", "solver"):
        # scikit-learn's wording, for whoever matches on it
        expected = rf"The '{name}' parameter of {estimator.__name__} must be .* Got {re.escape(repr(value))} instead\."
        if name == "C" and value == 0:  # after that wording, the limit and the call that shows it
            expected += r" C = 0 is a limit: .*w = 0.* Give a C above 0; gapless\.path\(model, X, y\) .*"
        assert re.fullmatch(expected, str(caught.value)), str(caught.value)


@pytest.mark.parametrize(
    ("estimator", "words"),
    [
        (LinearSVC(loss="log"), ["'loss'", "hinge", "'log'"]),
        (LinearSVC(penalty="none"), ["'penalty'", "'none'"]),
        (LinearSVC(multi_class="ovo"), ["'multi_class'", "'ovo'"]),
        (LinearSVC(loss="hinge", solver="newton"), ["'solver'", "'newton'"]),
        (LinearSVC(solver="interior_point"), ["'solver'", "'interior_point'"]),
        (LogisticRegression(l1_ratio=2.0), ["'l1_ratio'", "2.0"]),
        (LogisticRegression(l1_ratio="a"), ["'l1_ratio'", "'a'"]),
        (LogisticRegression(solver="interior_point"), ["'solver'", "'interior_point'"]),
    ],
)
def test_parameters_of_one_class(estimator, words):
    with pytest.raises(ValueError) as caught:
        estimator.fit(X, Y)
    for word in words:
        assert word in str(caught.value), str(caught.value)


@pytest.mark.parametrize(
    ("estimator", "words"),
    [
        (LinearSVC(multi_class="crammer_singer"), ["crammer_singer", "sklearn.svm.LinearSVC"]),
    ],
)
def test_what_is_not_offered_says_where_it_is(estimator, words):
    with pytest.raises(NotImplementedError) as caught:
        estimator.fit(X, Y)
    for word in words:
        assert word in str(caught.value), str(caught.value)


@pytest.mark.parametrize("make", [lambda p: LogisticRegression(penalty=p), LogisticRegression], ids=["named", "first"])
def test_the_deprecated_penalty_works_with_scikit_learns_warning(make):
    """scikit-learn 1.9 still takes it, by name or in the first place."""
    rows, noisy = load("breast_cancer_scaled")
    rows = rows[:, :2]  # not separable, so that there is an optimum without a penalty
    for penalty, same in (("l2", {}), (None, {"C": np.inf})):
        with pytest.warns(FutureWarning, match="'penalty' was deprecated"):
            found = make(penalty).fit(rows, noisy)
        meant = LogisticRegression(**same).fit(rows, noisy)
        assert found.coef_.tobytes() == meant.coef_.tobytes()
        assert gapless.verify(found, rows, noisy)
        assert clone(found).penalty == penalty
    with pytest.warns(FutureWarning, match="'l1_ratio=None'"):
        assert LogisticRegression(l1_ratio=None).fit(rows, noisy).status_ == "converged"
    with pytest.warns(FutureWarning), pytest.warns(UserWarning, match="penalty=None will ignore the C"):
        make(None).set_params(C=3.0).fit(rows, noisy)
    for penalty, ratio in (("l1", 0.0), ("elasticnet", 0.5)):
        with pytest.warns(FutureWarning):
            found = make(penalty).set_params(l1_ratio=ratio).fit(rows, noisy)
        assert gapless.verify(found, rows, noisy)
        assert found.certificate_.statement["parameters"]["l1_ratio"] == (1.0 if penalty == "l1" else 0.5)
    with pytest.raises(ValueError, match="The 'penalty' parameter of LogisticRegression must be"):
        make("none").fit(rows, noisy)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_parameters_are_read_at_fit_and_not_before(estimator):
    made = estimator(C=-1.0, tol="x", solver=7)
    assert made.get_params()["tol"] == "x"
    made.set_params(C=1.0, tol=1e-4, solver="auto").fit(X, Y)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_numpy_numbers_are_numbers(estimator):
    made = estimator(C=np.float32(1), tol=np.float64(1e-4), max_iter=np.int64(50), fit_intercept=np.bool_(True))
    assert made.fit(X, Y).status_ == "converged"


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_failed_fit_leaves_the_estimator_as_it_was(estimator):
    fitted = estimator().fit(X, Y)
    coef = fitted.coef_.copy()
    with pytest.raises(ValueError):
        fitted.fit(with_value(math.nan), Y)
    with pytest.raises(ValueError):
        fitted.fit(X, Y, sample_weight=[1, 1, -1, 1])
    assert (fitted.coef_ == coef).all()
    assert (fitted.predict(X) == estimator().fit(X, Y).predict(X)).all()


# -- at prediction ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_before_fit(estimator):
    for method in ("predict", "decision_function", "sparsify", "densify"):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            getattr(estimator(), method)(
                *([X] if "s" != method[-1] and method[0] in "pd" and method != "densify" else [])
            )
    for name in ("status_", "alpha_", "slack_", "slackness_", "objective_", "certificate_", "history_", "coef_"):
        assert not hasattr(estimator(), name), name
    with pytest.raises((NotFittedError, ValueError, gapless.CertificateError, AttributeError), match="fit"):
        gapless.verify(estimator(), X, Y)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_the_wrong_number_of_columns(estimator):
    fitted = estimator().fit(X, Y)
    for wrong in (X[:, :1], np.c_[X, X], sparse.csr_matrix(np.c_[X, X])):
        with pytest.raises(ValueError, match=rf"X has {wrong.shape[1]} features, but .* is expecting 2"):
            fitted.predict(wrong)
    with pytest.raises(ValueError, match="Reshape your data"):
        fitted.predict(X[0])


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_the_wrong_names_of_columns(estimator):
    pandas = pytest.importorskip("pandas")
    fitted = estimator().fit(pandas.DataFrame(X, columns=["height", "width"]), Y)
    with pytest.raises(ValueError, match="(?s)feature names.*breadth"):
        fitted.predict(pandas.DataFrame(X, columns=["height", "breadth"]))
    with pytest.raises(ValueError, match="same order"):
        fitted.predict(pandas.DataFrame(X, columns=["width", "height"]))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        fitted.predict(X)


def test_linear_svc_has_no_probabilities():
    fitted = LinearSVC().fit(X, Y)
    assert not hasattr(fitted, "predict_proba")
    assert not hasattr(LinearSVC(), "predict_proba")
    with pytest.raises(AttributeError) as caught:
        fitted.predict_proba(X)
    said = f"{caught.value} {caught.value.__cause__ or ''}"
    assert "CalibratedClassifierCV" in said
    assert "predict_proba" in said


# -- numbers at the end of the range ------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1e300, 1e160, 1e100, 1e-100, 1e-160, 1e-300, 5e-324])
@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("loss", LOSSES)
def test_huge_and_tiny_values(loss, offset, scale):
    random = np.random.default_rng(0)
    data = random.normal(size=(60, 3))
    labels = data[:, 0] + 0.5 * random.normal(size=60) > 0
    data[:, 1] *= scale
    tol = 1e-9 if scale < 1 else 1e-4  # coefficients are compared there
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", gapless.ConvergenceWarning)
        fitted = model(loss, offset, time_limit=20, tol=tol).fit(data, labels)
    assert time.perf_counter() - started < 10
    assert np.isfinite(fitted.coef_).all()
    assert np.isfinite(fitted.intercept_).all()
    certificate = fitted.certificate_
    assert fitted.status_ in ("converged", "stalled", "not_finite", "max_iter")
    if fitted.status_ == "converged":
        assert certificate.relative_gap <= certificate.tol
        trusted(fitted, data, labels)
    else:
        assert not certificate.relative_gap <= certificate.tol
    if scale < 1:  # the column is as good as absent, and the others are ordinary
        assert fitted.status_ == "converged"
        others = model(loss, offset, tol=tol).fit(np.delete(data, 1, axis=1), labels)
        np.testing.assert_allclose(np.delete(fitted.coef_, 1, axis=1), others.coef_, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_one_huge_value(loss):
    data, labels = load("iris_two")
    data = data.copy()
    data[3, 2] = 1e300
    with gapless.config_context(convergence="ignore"):
        fitted = model(loss, time_limit=20).fit(data, labels)
    assert np.isfinite(fitted.coef_).all()
    assert fitted.status_ != "converged" or gapless.verify(fitted, data, labels)


@pytest.mark.parametrize("C", [1e-300, 1e-12, 1e12, 1e300])
@pytest.mark.parametrize("loss", LOSSES)
def test_huge_and_tiny_C(loss, C):
    data, labels = load("discrete_two")
    started = time.perf_counter()
    with gapless.config_context(convergence="ignore"):
        fitted = model(loss, C=C, time_limit=20).fit(data, labels)
    assert time.perf_counter() - started < 10
    assert np.isfinite(fitted.coef_).all()
    if fitted.status_ == "converged":
        trusted(fitted, data, labels)


@pytest.mark.parametrize("loss", LOSSES)
def test_columns_that_say_nothing(loss):
    data, labels = load("iris_two")
    plain = model(loss).fit(data, labels)
    with_constant = model(loss).fit(np.c_[data, np.zeros(labels.size)], labels)
    assert with_constant.coef_[0, -1] == 0.0
    np.testing.assert_allclose(with_constant.coef_[:, :-1], plain.coef_, rtol=1e-7, atol=1e-9)
    nothing = model(loss).fit(np.zeros((4, 2)), [0, 0, 0, 1])
    assert not nothing.coef_.any()
    assert nothing.status_ == "converged"
    assert (nothing.predict(np.zeros((1, 2))) == 0).all()


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("loss", LOSSES)
def test_two_rows(loss, offset):
    fitted = model(loss, offset).fit([[-1.0, 2.0], [1.0, 2.0]], ["no", "yes"])
    assert fitted.status_ == "converged"
    trusted(fitted, np.array([[-1.0, 2.0], [1.0, 2.0]]), np.array(["no", "yes"]))
    assert fitted.predict([[-3.0, 2.0], [3.0, 2.0]]).tolist() == ["no", "yes"]
