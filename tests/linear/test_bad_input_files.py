"""Awkward data for every linear model and discriminant: the right answer, known from elsewhere, or a clear error.

Each case has a table from model to what must come out: a function that gives the scores of the rows by another way (numpy,
scikit-learn, or the same model on data without the trouble), or an error with words that must stand in it.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn import discriminant_analysis, linear_model, svm
from sklearn.base import clone

from gapless import (
    GaussianDiscriminant,
    LeastSquaresClassifier,
    LinearDiscriminantAnalysis,
    LinearRegression,
    LinearSVC,
    LogisticRegression,
    QuadraticDiscriminantAnalysis,
    Ridge,
    verify,
)
from gapless.errors import IllConditionedWarning

MODELS = {
    "LinearSVC": LinearSVC(tol=1e-9),
    "LinearSVC hinge": LinearSVC(loss="hinge", tol=1e-9),
    "LogisticRegression": LogisticRegression(tol=1e-10),
    "LinearRegression": LinearRegression(),
    "Ridge": Ridge(0.5),
    "LeastSquaresClassifier": LeastSquaresClassifier(),
    "GaussianDiscriminant": GaussianDiscriminant(),
    "GaussianDiscriminant per_class": GaussianDiscriminant(covariance="per_class"),
    "LinearDiscriminantAnalysis": LinearDiscriminantAnalysis(),
    "QuadraticDiscriminantAnalysis": QuadraticDiscriminantAnalysis(),
}
REGRESSIONS = ("LinearRegression", "Ridge")
DISCRIMINANTS = tuple(name for name in MODELS if "Discriminant" in name)
PENALISED = ("LinearSVC", "LinearSVC hinge", "LogisticRegression", "Ridge")


class Refused:
    """An error and words of it."""

    def __init__(self, error, *words):
        self.error, self.words = error, words


def rows(n=40, d=4, seed=0):
    """Two classes that overlap, and a target of numbers."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + rng.normal(size=d)
    score = X @ rng.normal(size=d)
    score = score - np.median(score) + rng.normal(size=n) * score.std()
    return X, (score > 0).astype(int), score


def scores(model, X):
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


def fitted(name, X, y, target, **given):
    """The fit, silent about condition, and verified."""
    model, answer = clone(MODELS[name]), target if name in REGRESSIONS else y
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", IllConditionedWarning)
        model.fit(X, answer, **given)
    assert verify(model, X, answer, **given)
    return model


def expect(name, wanted, X, y, target, rtol=1e-6, **given):
    """What a table says of a model holds."""
    if isinstance(wanted, Refused):
        with pytest.raises(wanted.error) as found:
            fitted(name, X, y, target, **given)
        text = str(found.value)
        for words in wanted.words:
            assert words in text, text
        return
    got, truth = scores(fitted(name, X, y, target, **given), X), wanted(X, y, target)
    np.testing.assert_allclose(got, truth, rtol=rtol, atol=rtol * np.abs(truth).max())


# -- truths from elsewhere ---------------------------------------------------------------------------------------------


def signs(y):
    return np.where(y == 1, 1.0, -1.0)


def least_squares(X, t, alpha=0.0):
    """Centred; the pseudo-inverse, or the normal equations with alpha."""
    mean, centre = X.mean(axis=0), t.mean()
    A = X - mean
    if alpha:
        w = A.T @ np.linalg.solve(A @ A.T + alpha * np.eye(len(A)), t - centre)
    else:
        w = np.linalg.pinv(A) @ (t - centre)
    return A @ w + centre


def peer(estimator):
    """scikit-learn's answer to the same problem."""

    def truth(X, y, target):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = clone(estimator).fit(X, y)
        return model.decision_function(X)

    return truth


def logistic(X, y, target):
    return peer(linear_model.LogisticRegression(solver="newton-cholesky", tol=1e-12, max_iter=1000))(X, y, target)


def rotated(name):
    """More columns than rows: the same model on the coordinates of the rows in their own span."""

    def truth(X, y, target):
        mean = X.mean(axis=0)
        U, S, _ = np.linalg.svd(X - mean, full_matrices=False)
        kept = S > 1e-10 * S[0]
        Z = U[:, kept] * S[kept]
        return scores(fitted(name, Z, y, target), Z)

    return truth


def hinge_by_quadratic_program(X, y, target):
    """The dual of the hinge with a free offset, by scikit-learn's libsvm."""
    model = svm.SVC(kernel="linear", C=1.0, tol=1e-10).fit(X, y)
    return model.decision_function(X)


def pooled(X, y, target):
    """Bayes' rule with the pseudo-inverse of the pooled covariance, features of unit variance."""
    means = np.array([X[y == k].mean(axis=0) for k in (0, 1)])
    within = X - means[y]
    scale = np.sqrt((within**2).mean(axis=0))
    scale[scale < 1e-12] = 1.0
    P = np.linalg.pinv((within / scale).T @ (within / scale) / len(X), rcond=1e-10, hermitian=True)
    w = (P @ ((means[1] - means[0]) / scale)) / scale
    share = np.bincount(y) / len(y)
    return X @ w - means.mean(axis=0) @ w + np.log(share[1] / share[0])


SINGULAR = Refused(np.linalg.LinAlgError, "not full rank", "class 0")

WIDE = {
    "LinearSVC": rotated("LinearSVC"),
    "LinearSVC hinge": hinge_by_quadratic_program,
    "LogisticRegression": logistic,
    "LinearRegression": lambda X, y, target: least_squares(X, target),
    "Ridge": lambda X, y, target: least_squares(X, target, 0.5),
    "LeastSquaresClassifier": lambda X, y, target: least_squares(X, signs(y)),
    "GaussianDiscriminant": pooled,
    "GaussianDiscriminant per_class": SINGULAR,
    "LinearDiscriminantAnalysis": pooled,
    "QuadraticDiscriminantAnalysis": SINGULAR,
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("shape", [(12, 30), (15, 15), (15, 14)])
def test_more_columns_than_rows(name, shape):
    X, y, target = rows(*shape)
    expect(name, WIDE[name], X, y, target)


def test_wide_discriminants_say_what_they_leave_out():
    X, y, _ = rows(12, 30)
    for name in ("GaussianDiscriminant", "LinearDiscriminantAnalysis"):
        with pytest.warns(IllConditionedWarning, match="rank 10 of 30 features"):
            clone(MODELS[name]).fit(X, y)


# -- exact collinearity ------------------------------------------------------------------------------------------------


def without_copy(name):
    """x and 2x under one penalty are one column of length sqrt(5) x; without a penalty, x alone."""

    def truth(X, y, target):
        Z = X[:, :-1].copy()
        if name in PENALISED:
            Z[:, 0] *= np.sqrt(5.0)
        return scores(fitted(name, Z, y, target), Z)

    return truth


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("n", [40, 3000])
def test_exact_collinearity(name, n):
    X, y, target = rows(n)
    X = np.column_stack([X, 2.0 * X[:, 0]])
    expect(name, SINGULAR if WIDE[name] is SINGULAR else without_copy(name), X, y, target)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("value", [0.0, 3.0, 1e6])
def test_a_constant_column(name, value):
    """It says nothing where the offset is free: the scores are those without it."""
    X, y, target = rows()
    wide = np.column_stack([X, np.full(len(X), value)])
    truth = scores(fitted(name, X, y, target), X) if WIDE[name] is not SINGULAR else None
    expect(name, SINGULAR if truth is None else lambda *_: truth, wide, y, target, rtol=1e-5)


# -- targets -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("value", [0, 3, -100_000_000])
def test_a_constant_target(name, value):
    X, _, _ = rows()
    constant = np.full(len(X), value)
    if name in REGRESSIONS:
        expect(name, lambda *_: constant.astype(float), X, None, constant.astype(float), rtol=1e-12)
    else:
        expect(name, Refused(ValueError, "class", f"{constant[0]}"), X, constant.astype(int), None)


ONE_ROW = {
    **WIDE,
    "LinearSVC": lambda X, y, target: squared_hinge(X, y),
    "LinearSVC hinge": peer(svm.SVC(kernel="linear", C=1.0, tol=1e-6)),  # below 1e-6 it needs seconds for one row
    "LinearRegression": lambda X, y, target: least_squares(X, target),
    "LinearDiscriminantAnalysis": peer(discriminant_analysis.LinearDiscriminantAnalysis()),
    "GaussianDiscriminant": peer(discriminant_analysis.LinearDiscriminantAnalysis()),
    "GaussianDiscriminant per_class": Refused(ValueError, "only 1 sample in class 1", "covariance='shared'"),
    "QuadraticDiscriminantAnalysis": Refused(ValueError, "only 1 sample in class 1", "LinearDiscriminantAnalysis"),
}


def squared_hinge(X, y):
    """Newton's method on the primal, the offset free: it ends where the set of rows inside the margin stays."""
    A, t = np.column_stack([X, np.ones(len(X))]), signs(y)
    H0 = np.diag([1.0] * X.shape[1] + [0.0])
    theta = np.zeros(A.shape[1])
    for step in range(100):
        inside = t * (A @ theta) < 1
        M = H0 + 2.0 * A[inside].T @ A[inside]
        new = np.linalg.lstsq(M, 2.0 * A[inside].T @ t[inside], rcond=None)[0]
        if np.allclose(new, theta, rtol=1e-13, atol=0):
            break
        theta = theta + (new - theta) * (0.5 if step > 50 else 1.0)
    return A @ theta


@pytest.mark.parametrize("name", MODELS)
def test_a_class_with_one_row(name):
    X, _, target = rows()
    y = np.zeros(len(X), dtype=int)
    y[7] = 1
    expect(name, ONE_ROW[name], X, y, target, rtol=1e-5)


# -- parameters --------------------------------------------------------------------------------------------------------

BAD_PARAMETERS = [
    ("LinearSVC", "C", -1.0),
    ("LinearSVC", "C", 0.0),
    ("LinearSVC", "C", np.nan),
    ("LinearSVC hinge", "tol", -1.0),
    ("LogisticRegression", "C", -1.0),
    ("LogisticRegression", "C", 0.0),
    ("LinearRegression", "tol", -1e-3),
    ("Ridge", "alpha", -1.0),
    ("Ridge", "alpha", [-1.0]),
    ("Ridge", "alpha", np.nan),
    ("Ridge", "alpha", np.inf),
    ("LeastSquaresClassifier", "alpha", -1.0),
    ("LeastSquaresClassifier", "alpha", np.nan),
    ("GaussianDiscriminant", "shrinkage", -0.1),
    ("GaussianDiscriminant per_class", "shrinkage", 1.5),
    ("LinearDiscriminantAnalysis", "shrinkage", -1.0),
    ("LinearDiscriminantAnalysis", "tol", -1.0),
    ("QuadraticDiscriminantAnalysis", "reg_param", -1.0),
    ("QuadraticDiscriminantAnalysis", "shrinkage", 2.0),
]


@pytest.mark.parametrize(("name", "parameter", "value"), BAD_PARAMETERS)
def test_parameters_out_of_range(name, parameter, value):
    X, y, target = rows()
    model = clone(MODELS[name]).set_params(**{parameter: value})
    with pytest.raises(ValueError, match=f"The '{parameter}' parameter of {type(model).__name__} must be") as found:
        model.fit(X, target if name in REGRESSIONS else y)
    assert f"Got {value!r} instead" in str(found.value)


# -- weights -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
def test_weights_that_sum_to_zero(name):
    X, y, target = rows()
    signed = np.where(np.arange(len(y)) % 2 == 0, 1.0, -1.0)
    for weights, words in ((np.zeros(len(y)), "non-zero"), (signed, "Negative")):
        wanted = Refused(ValueError, words)
        if "Analysis" in name:  # as in scikit-learn, these take no weights
            wanted = Refused(TypeError, "sample_weight")
        expect(name, wanted, X, y, target, sample_weight=weights)


@pytest.mark.parametrize("name", [name for name in MODELS if "Analysis" not in name])
def test_weights_of_zero_are_no_rows(name):
    X, y, target = rows()
    weights = np.ones(len(y))
    weights[::5] = 0.0
    kept = weights > 0
    model, plain = fitted(name, X, y, target, sample_weight=weights), fitted(name, X[kept], y[kept], target[kept])
    np.testing.assert_allclose(scores(model, X), scores(plain, X), rtol=1e-6, atol=1e-6)


# -- sparse ------------------------------------------------------------------------------------------------------------


def sparse_forms(dense):
    """The same matrix, written in ways that trip a reader."""
    plain = sparse.csr_matrix(dense)
    wide = plain.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    row, column = np.nonzero(dense)
    values = dense[row, column]
    order = np.lexsort((-np.concatenate([column, column, [0, 1]]), np.concatenate([row, row, [0, 1]])))
    twice = sparse.csr_matrix(dense.shape)
    twice.data = np.concatenate([0.25 * values, 0.75 * values, [0.0, 0.0]])[order]  # halves, and explicit zeros
    twice.indices = np.concatenate([column, column, [0, 1]])[order].astype(np.int32)
    counts = np.bincount(np.concatenate([row, row, [0, 1]]), minlength=len(dense))
    twice.indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    twice.has_canonical_format = False
    zeros = sparse.csr_matrix(np.ones(dense.shape))
    zeros.data = dense.ravel().copy()  # every cell is stored
    both = sparse.coo_matrix((np.concatenate([0.25 * values, 0.75 * values]), (np.tile(row, 2), np.tile(column, 2))),
                             shape=dense.shape)  # fmt: skip
    return {"plain": plain, "64-bit indices": wide, "duplicates, zeros, unsorted": twice, "explicit zeros": zeros,
            "coo with duplicates": both, "csc": plain.tocsc(), "csr array": sparse.csr_array(plain)}  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("form", sparse_forms(np.eye(3)))
def test_sparse(name, form):
    rng = np.random.default_rng(5)
    X, y, target = rows(60, 5)
    X = np.round(X, 3) * (rng.random(X.shape) < 0.5)
    given = sparse_forms(X)[form]
    before = given.copy()
    if name in DISCRIMINANTS:
        expect(name, Refused(TypeError, "Sparse data was passed"), given, y, target)
        return
    model, plain = fitted(name, given, y, target), fitted(name, X, y, target)
    np.testing.assert_allclose(scores(model, X), scores(plain, X), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(scores(model, given), scores(model, X), rtol=1e-9, atol=1e-12)
    for part in ("data", "indices", "indptr", "row", "col"):
        if hasattr(before, part):
            np.testing.assert_array_equal(getattr(given, part), getattr(before, part))  # nothing is written to
