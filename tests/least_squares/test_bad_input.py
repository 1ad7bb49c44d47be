"""Awkward data: the right answer or a clear error."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from gapless import LeastSquaresClassifier, LinearRegression, Ridge, verify
from tests.least_squares.test_answers import problem_of


@pytest.mark.parametrize("model", [LinearRegression(), Ridge(1.0), Ridge(0.0)])
def test_constant_target(model):
    X, _, _ = problem_of(40)
    for value in (0.0, 3.3, 1e8):
        y = np.full(len(X), value)
        model.fit(X, y)
        assert model.status_ == "converged"
        np.testing.assert_allclose(model.predict(X), y, rtol=1e-13, atol=0)
        assert model.certificate_.r2 == model.score(X, y) == 1.0
        assert verify(model, X, y)


@pytest.mark.parametrize("model", [LinearRegression(), Ridge(1.0)])
@pytest.mark.parametrize("value", [0.0, 7.7, 1e9])
@pytest.mark.parametrize("n", [60, 30_000])
def test_constant_column(model, value, n):
    X, Y, _ = problem_of(41, n=n)
    wider = np.column_stack([X, np.full(n, value)])
    model.fit(X, Y)
    plain = model.coef_
    model.fit(wider, Y)
    np.testing.assert_allclose(model.coef_[:, :-1], plain, rtol=1e-9)
    assert not np.abs(model.coef_[:, -1]).any()
    assert verify(model, wider, Y)


def test_one_row_and_one_column():
    model = LinearRegression().fit([[2.0]], [5.0])
    assert model.predict([[3.0]])[0] == 5.0
    assert model.rank_ == 0
    assert LinearRegression(fit_intercept=False).fit([[2.0]], [5.0]).coef_[0] == 2.5
    assert Ridge(4.0, fit_intercept=False).fit([[2.0]], [5.0]).coef_[0] == pytest.approx(1.25)


def test_more_columns_than_rows():
    X, Y, _ = problem_of(42, n=8, d=20)
    model = LinearRegression().fit(X, Y)
    np.testing.assert_allclose(model.predict(X), Y, rtol=1e-10, atol=1e-10)
    wanted = np.linalg.pinv(X - X.mean(axis=0)) @ (Y - Y.mean(axis=0))
    np.testing.assert_allclose(model.coef_, wanted.T, rtol=1e-9, atol=1e-12)
    assert model.rank_ == 7
    assert verify(model, X, Y)


@pytest.mark.parametrize(
    ("model", "match"),
    [
        (Ridge(-1.0), "alpha"),
        (Ridge([1.0, -1.0]), "alpha"),
        (Ridge(np.nan), "alpha"),
        (Ridge("much"), "alpha"),
        (Ridge(None), "alpha"),
        (Ridge([1.0, 2.0, 3.0]), "Number of targets and number of penalties"),
        (Ridge(solver="magic"), "solver"),
        (Ridge(max_iter=0), "max_iter"),
        (Ridge(tol=-1.0), "tol"),
        (LinearRegression(tol="small"), "tol"),
        (LinearRegression(time_limit=0), "time_limit"),
        (LinearRegression(n_jobs=0), "n_jobs"),
        (LinearRegression(device="tpu"), "device"),
        (LinearRegression(fit_intercept="yes"), "fit_intercept"),
    ],
)
def test_parameters_are_checked(model, match):
    X, Y, _ = problem_of(43)
    with pytest.raises(ValueError, match=match):
        model.fit(X, Y)


def test_positive_names_the_class_to_use():
    X, Y, _ = problem_of(44)
    for model in (LinearRegression(positive=True), Ridge(positive=True)):
        with pytest.raises(NotImplementedError, match=f"sklearn.linear_model.{type(model).__name__}"):
            model.fit(X, Y)


@pytest.mark.parametrize("solver", ["svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs"])
def test_names_of_peers_solvers_have_no_effect(solver):
    X, Y, _ = problem_of(45)
    assert np.array_equal(Ridge(solver=solver).fit(X, Y).coef_, Ridge().fit(X, Y).coef_)


@pytest.mark.parametrize("model", [LinearRegression(), Ridge(), LeastSquaresClassifier()])
def test_weights(model):
    X, Y, _ = problem_of(46)
    y = (Y[:, 0] > 0).astype(int)
    with pytest.raises(ValueError, match="non-zero"):
        model.fit(X, y, np.zeros(len(y)))
    with pytest.raises(ValueError, match="Negative"):
        model.fit(X, y, -np.ones(len(y)))
    with pytest.raises(ValueError, match="NaN"):
        model.fit(X, y, np.full(len(y), np.nan))
    s = np.ones(len(y))
    s[:10] = 0.0
    coef = model.fit(X, y, s).coef_
    moved = X.copy()
    moved[:10] = 1e200  # a row of weight 0 is no row
    np.testing.assert_array_equal(model.fit(moved, y, s).coef_, coef)
    np.testing.assert_allclose(model.fit(X[10:], y[10:]).coef_, coef, rtol=1e-12)


def test_classes():
    X, _, _ = problem_of(47)
    with pytest.raises(ValueError, match="class"):
        LeastSquaresClassifier().fit(X, np.ones(len(X), int))
    y = np.zeros(len(X), int)
    y[0] = 1  # a class with one row
    model = LeastSquaresClassifier().fit(X, y)
    assert model.decision_function(X).shape == (len(X),)
    assert verify(model, X, y)
    names = np.where(X[:, 0] > 2, "high", np.where(X[:, 0] < 1, "low", "mid"))
    model.fit(X, names)
    assert model.coef_.shape == (3, 4)
    assert set(model.predict(X)) <= {"high", "low", "mid"}
    assert verify(model, X, names)


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("model", [LinearRegression(), Ridge(), Ridge(fit_intercept=False)])
def test_sparse_forms(model, index):
    """Explicit zeros, entries given twice, unsorted columns, 64-bit indices: the same matrix, the same model."""
    random = np.random.default_rng(48)
    dense = random.normal(size=(50, 6)) * (random.random((50, 6)) < 0.4)
    y = random.normal(size=50)
    row, column = np.nonzero(dense)
    values = dense[row, column]
    data = np.concatenate([values * 0.25, values * 0.75, [0.0, 0.0]])
    rows, columns = np.concatenate([row, row, [0, 1]]), np.concatenate([column, column, [0, 1]])
    order = np.lexsort((-columns, rows))
    counts = np.bincount(rows, minlength=50)
    X = sparse.csr_matrix((50, 6))
    X.data, X.indices = data[order], columns[order].astype(index)
    X.indptr = np.concatenate([[0], np.cumsum(counts)]).astype(index)
    X.has_canonical_format = False
    model.fit(X, y)
    coef = model.coef_
    assert verify(model, X, y)
    np.testing.assert_allclose(coef, model.fit(dense, y).coef_, rtol=1e-10)


def test_memory_layouts():
    X, Y, s = problem_of(49)
    wanted = LinearRegression().fit(X, Y, s).coef_
    frozen = X.copy()
    frozen.flags.writeable = False
    for other in (np.asfortranarray(X), frozen, X.tolist(), np.repeat(X, 2, axis=1)[:, ::2]):
        np.testing.assert_array_equal(LinearRegression().fit(other, Y, s).coef_, wanted)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("model", [LinearRegression(), Ridge(), Ridge(n_jobs=2, fit_intercept=False)], ids=repr)
def test_one_bad_value_among_many(model, dtype, bad):
    """Many values are looked at one by one only where a sum is not finite: scikit-learn's error has to come all the same."""
    X = np.ones((1 << 17, 8), dtype=dtype)
    X[:, 1:] = np.random.default_rng(0).normal(size=(X.shape[0], 7))
    y = X[:, 1].astype(float)
    what = "NaN" if np.isnan(bad) else "infinity"
    X[77_777, 3] = bad
    with pytest.raises(ValueError, match=f"Input X contains {what}"):
        model.fit(X, y)
    with pytest.raises(ValueError, match=f"Input X contains {what}"):  # nobody gets as far as a sum
        clone(model).set_params(time_limit=1e-9).fit(X, y)
    weight = np.ones(len(y))
    weight[77_777] = 0.0
    with pytest.raises(ValueError, match=f"Input X contains {what}"):
        model.fit(X, y, sample_weight=weight)
    X[77_777, 3] = 30.0
    assert np.isfinite(model.fit(X, y).coef_).all()


@pytest.mark.parametrize("model", [LinearRegression(), Ridge(1.0), LeastSquaresClassifier()])
@pytest.mark.parametrize("shape", ["dense", "sparse", "many rows"])
def test_squares_beyond_float64_are_said_with_the_column(model, shape):
    pandas = pytest.importorskip("pandas")
    random = np.random.default_rng(0)
    X = random.normal(size=(30_000 if shape == "many rows" else 40, 3))
    X[:, 1] *= 1e160
    y = np.arange(len(X)) % 2
    if shape == "sparse":
        X = sparse.csr_matrix(X)
    with pytest.raises(ValueError, match=r"column 1 of X reach \d.\de\+160: their squares are beyond float64; divide"):
        model.fit(X, y)
    if shape == "dense":
        with pytest.raises(ValueError, match="column 'b' of X reach"):
            model.fit(pandas.DataFrame(X, columns=["a", "b", "c"]), y)
        X[:, 1] /= np.abs(X[:, 1]).max()
        assert model.fit(X, y).status_ == "converged"  # the advice
    if shape == "dense" and isinstance(model, Ridge):
        with pytest.raises(ValueError, match=r"the values of y reach 1.0e\+160"):
            model.fit(X, 1e160 * y)


@pytest.mark.parametrize("model", [LinearRegression(), Ridge(), Ridge(1e-4)])
def test_coefficients_beyond_float32_are_refused(model):
    """A model of infinities predicts nothing, and nothing can be claimed of it."""
    random = np.random.default_rng(0)
    X, y = random.normal(size=(20, 3)), 1e74 * random.normal(size=20)
    with pytest.raises(ValueError, match="beyond float32"), np.errstate(over="ignore"):
        model.fit(X.astype(np.float32), y)
    assert model.fit(X, y).certificate_.converged
