"""The answers: closed forms, published figures, scikit-learn's, and what does not depend on how it was computed."""

from __future__ import annotations

import warnings
from fractions import Fraction

import numpy as np
import pytest
import sklearn.linear_model
from scipy import sparse

from gapless import ConvergenceWarning, LeastSquaresClassifier, LinearRegression, Ridge, verify
from gapless.problems.least_squares import LeastSquares
from gapless.solvers.least_squares import normal_equations
from gapless.solvers.least_squares import solve as closed_form
from gapless.solvers.least_squares.answer import Clock
from gapless.solvers.loop import Stop
from tests.shared_data import folder, needs_data


def problem_of(seed=0, n=60, d=4, K=2):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d)) + 2.0
    return X, X @ random.normal(size=(d, K)) + random.normal(size=(n, K)), random.integers(0, 4, n).astype(float)


def not_claimed(certificate, verdict):
    """A fit whose figures are rounding says so, has NaN in the place of each, and the judge finds nothing else amiss."""
    figures = ("primal", "dual", "gap", "relative_gap")
    silent = [k for k, target in enumerate(certificate.targets) if target.status == "not_finite"]
    names = {
        (f"[{k}] " if len(certificate.targets) > 1 else "") + name.replace("_", " ") for k in silent for name in figures
    }
    return (
        bool(silent)
        and certificate.status == "not_finite"
        and all(np.isnan(getattr(certificate.targets[k], name)) for k in silent for name in figures)
        and {claim.name for claim in verdict.failed} == names
    )


def solved_by_fractions(X, y, alpha=0):
    """The normal equations of [X, 1] in exact arithmetic; the offset is not penalised."""
    A = [[Fraction(v) for v in row] + [Fraction(1)] for row in X.tolist()]
    m = len(A[0])
    M = [[sum(r[i] * r[j] for r in A) + (alpha if i == j < m - 1 else 0) for j in range(m)] for i in range(m)]
    v = [sum(r[i] * Fraction(t) for r, t in zip(A, y.tolist())) for i in range(m)]
    for i in range(m):
        pivot = next(k for k in range(i, m) if M[k][i] != 0)
        M[i], M[pivot], v[i], v[pivot] = M[pivot], M[i], v[pivot], v[i]
        for k in range(m):
            if k != i:
                f = M[k][i] / M[i][i]
                M[k] = [a - f * b for a, b in zip(M[k], M[i])]
                v[k] -= f * v[i]
    return [v[i] / M[i][i] for i in range(m)]


@pytest.mark.parametrize("alpha", [0, 3])
def test_integers_in_exact_arithmetic(alpha):
    random = np.random.default_rng(1)
    for _ in range(5):
        X, y = random.integers(-5, 6, (9, 3)), random.integers(-9, 10, 9)
        wanted = np.array([float(f) for f in solved_by_fractions(X, y, alpha)])
        model = Ridge(alpha).fit(X, y) if alpha else LinearRegression().fit(X, y)
        np.testing.assert_allclose(np.append(model.coef_, model.intercept_), wanted, rtol=1e-12, atol=1e-13)


def test_the_line_of_the_notes():
    """w = cov(x, y) / var(x), b = mean(y) - w mean(x)."""
    random = np.random.default_rng(2)
    x, y = random.normal(size=30) + 5.0, random.normal(size=30)
    w = np.sum((x - x.mean()) * (y - y.mean())) / np.sum((x - x.mean()) ** 2)
    model = LinearRegression().fit(x[:, None], y)
    assert model.coef_[0] == pytest.approx(w, rel=1e-13)
    assert model.intercept_ == pytest.approx(y.mean() - w * x.mean(), rel=1e-12)


@pytest.mark.filterwarnings("ignore:the columns .* are linearly dependent")
@pytest.mark.parametrize("shape", [(40, 6), (6, 40)])
def test_the_pseudo_inverse_of_the_notes(shape):
    """w = X+ y, which is (X'X)^-1 X'y for independent columns."""
    random = np.random.default_rng(3)
    X, y = random.normal(size=shape), random.normal(size=shape[0])
    model = LinearRegression(fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(model.coef_, np.linalg.pinv(X) @ y, rtol=1e-11, atol=1e-13)
    if shape[0] > shape[1]:
        np.testing.assert_allclose(model.coef_, np.linalg.solve(X.T @ X, X.T @ y), rtol=1e-11)


@needs_data
def test_prostate():
    """The Elements of Statistical Learning, table 3.2 and 3.3: coefficients, test error, base error."""
    z = np.load(folder() / "reference" / "prostate.npz", allow_pickle=False)
    X, y, train = z["X"], z["y"], z["train"]
    X = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    model = LinearRegression().fit(X[train], y[train])
    error = (y[~train] - model.predict(X[~train])) ** 2
    assert error.mean() == pytest.approx(0.5212740055, abs=1e-10)
    assert round(error.std(ddof=1) / np.sqrt(error.size), 3) == 0.179
    assert round(np.mean((y[~train] - y[train].mean()) ** 2), 3) == 1.057
    assert model.certificate_.rss == pytest.approx(29.4263844599, abs=1e-10)
    A = np.column_stack([np.ones(train.sum()), X[train]])
    deviation = np.sqrt(model.certificate_.rss / (67 - 9) * np.linalg.inv(A.T @ A).diagonal())
    Z = np.append(model.intercept_, model.coef_) / deviation
    assert np.round(Z, 2).tolist() == [27.60, 5.37, 2.75, -1.40, 2.06, 2.47, -1.87, -0.15, 1.74]


@needs_data
def test_vowel_by_least_squares():
    """The error counts of numbers.md A6."""
    z = np.load(folder() / "reference" / "vowel.npz", allow_pickle=False)
    model = LeastSquaresClassifier().fit(z["X_train"], z["y_train"])
    assert int((model.predict(z["X_train"]) != z["y_train"]).sum()) == 252
    assert int((model.predict(z["X_test"]) != z["y_test"]).sum()) == 308


@pytest.mark.filterwarnings("ignore:the columns .* are linearly dependent")
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("form", ["dense", "csr"])
@pytest.mark.parametrize("shape", [(80, 5), (6000, 90), (12, 30)])
def test_agrees_with_sklearn(shape, form, weighted, fit_intercept):
    X, Y, s = problem_of(4, *shape)
    s = s if weighted else None
    given = sparse.csr_matrix(X) if form == "csr" else X
    ours = LinearRegression(fit_intercept=fit_intercept).fit(given, Y, s)
    theirs = sklearn.linear_model.LinearRegression(fit_intercept=fit_intercept, tol=1e-12).fit(X, Y, s)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(ours.predict(given), theirs.predict(X), rtol=1e-8, atol=1e-8)
    assert ours.coef_.shape == theirs.coef_.shape
    assert ours.rank_ == theirs.rank_
    ours = Ridge([0.5, 20.0], fit_intercept=fit_intercept).fit(given, Y, s)
    theirs = sklearn.linear_model.Ridge(np.array([0.5, 20.0]), fit_intercept=fit_intercept, solver="cholesky").fit(
        X, Y, s
    )
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-7, atol=1e-8)


def test_singular_values_are_sklearns():
    for shape in [(80, 5), (40_000, 40)]:
        X, Y, _ = problem_of(5, *shape)
        theirs = sklearn.linear_model.LinearRegression().fit(X, Y)
        np.testing.assert_allclose(LinearRegression().fit(X, Y).singular_, theirs.singular_, rtol=1e-9)
    assert not hasattr(LinearRegression().fit(sparse.csr_matrix(X[:50]), Y[:50]), "singular_")


def test_shapes_of_one_target():
    X, Y, _ = problem_of(6)
    y = Y[:, 0]
    for ours, theirs in (
        (LinearRegression(), sklearn.linear_model.LinearRegression()),
        (Ridge(), sklearn.linear_model.Ridge()),
    ):
        for target in (y, y[:, None], Y):
            ours.fit(X, target)
            theirs.fit(X, target)
            assert ours.coef_.shape == theirs.coef_.shape
            assert np.shape(ours.intercept_) == np.shape(theirs.intercept_)
            assert ours.predict(X).shape == theirs.predict(X).shape


@pytest.mark.parametrize("n", [50, 5000])
@pytest.mark.parametrize(
    "model", [LinearRegression(), Ridge(2.0), LinearRegression(fit_intercept=False)], ids=lambda m: repr(m)
)
def test_weights_are_repetitions(model, n):
    X, Y, s = problem_of(7, n=n, d=60 if n > 50 else 4)
    weighted = model.fit(X, Y, s)
    coef, intercept = weighted.coef_, weighted.intercept_
    repeated = np.repeat(np.arange(n), s.astype(int))
    model.fit(X[repeated], Y[repeated])
    np.testing.assert_allclose(coef, model.coef_, rtol=1e-7, atol=1e-10)
    np.testing.assert_allclose(intercept, model.intercept_, rtol=1e-7, atol=1e-10)


def test_classifier_weights_are_repetitions():
    X, Y, s = problem_of(8, K=3)
    y = (Y - Y.mean(axis=0)).argmax(axis=1)
    weighted = LeastSquaresClassifier(class_weight={0: 2.0}).fit(X, y, s)
    repeated = np.repeat(np.arange(len(y)), (s * np.where(y == 0, 2, 1)).astype(int))
    plain = LeastSquaresClassifier().fit(X[repeated], y[repeated])
    np.testing.assert_allclose(weighted.coef_, plain.coef_, rtol=1e-7, atol=1e-10)


def test_per_target_alpha_is_one_fit_each():
    X, Y, s = problem_of(9, K=4)
    alpha = [0.0, 0.1, 10.0, 0.1]
    whole = Ridge(alpha).fit(X, Y, s)
    assert whole.certificate_.kind == "orthogonality"  # one target has no penalty, so there is no gap for all
    for k, a in enumerate(alpha):
        one = Ridge(a).fit(X, Y[:, k], s)
        np.testing.assert_allclose(whole.coef_[k], one.coef_, rtol=1e-10)
        assert whole.intercept_[k] == pytest.approx(one.intercept_, rel=1e-10)


def set_threshold(monkeypatch, **changed):
    for module in (closed_form, normal_equations):
        limits = module.LEAST_SQUARES_THRESHOLDS._replace(**changed)
        monkeypatch.setattr(module, "LEAST_SQUARES_THRESHOLDS", limits)


def test_every_road_leads_to_the_same_place(monkeypatch):
    X, Y, s = problem_of(10, n=400, d=30)
    written_out = Ridge([1.0, 5.0]).fit(X, Y, s)
    assert written_out.solver_ == "cholesky"
    with monkeypatch.context() as inside:
        set_threshold(inside, smallest_rcond=2.0)  # no condition is good enough
        reference = Ridge([1.0, 5.0]).fit(X, Y, s)
    assert reference.solver_ == "svd"
    np.testing.assert_allclose(written_out.coef_, reference.coef_, rtol=1e-11)
    set_threshold(monkeypatch, dense_values=0)
    by_cholesky = Ridge([1.0, 5.0]).fit(X, Y, s)
    assert by_cholesky.solver_ == "cholesky"
    np.testing.assert_allclose(by_cholesky.coef_, reference.coef_, rtol=1e-11)
    set_threshold(monkeypatch, smallest_rcond=2.0)  # no condition is good enough: tile by tile QR
    by_tiles = Ridge([1.0, 5.0]).fit(X, Y, s)
    assert by_tiles.solver_ == "svd"
    np.testing.assert_allclose(by_tiles.coef_, reference.coef_, rtol=1e-11)
    plain, tiled = np.linalg.lstsq(X, Y, rcond=None)[0], LinearRegression(fit_intercept=False).fit(X, Y)
    np.testing.assert_allclose(tiled.coef_, plain.T, rtol=1e-11)
    set_threshold(monkeypatch, sparse_columns=0)
    by_cg = Ridge([1.0, 5.0]).fit(sparse.csr_matrix(X), Y, s)
    assert by_cg.solver_ == "sparse_cg"
    np.testing.assert_allclose(by_cg.coef_, reference.coef_, rtol=1e-8)


@pytest.mark.filterwarnings("ignore:the columns .* are linearly dependent")
@pytest.mark.parametrize("road", ["direct", "tiles", "cg"])
def test_least_norm_where_columns_depend(monkeypatch, road):
    random = np.random.default_rng(11)
    X = random.normal(size=(50, 5)) * [1e-3, 1.0, 1e3, 1.0, 1.0]
    X[:, 4] = X[:, 3]
    y = random.normal(size=50)
    if road == "tiles":
        set_threshold(monkeypatch, dense_values=0)
        set_threshold(monkeypatch, smallest_rcond=2.0)
    given = X
    if road == "cg":
        X = X / [1e-3, 1.0, 1e3, 1.0, 1.0]
        given = sparse.csr_matrix(X)
        set_threshold(monkeypatch, dense_values=0)
        set_threshold(monkeypatch, sparse_columns=0)
    model = LinearRegression().fit(given, y)
    np.testing.assert_allclose(model.coef_, np.linalg.pinv(X - X.mean(axis=0)) @ (y - y.mean()), rtol=1e-8, atol=1e-9)
    assert model.rank_ == (None if road == "cg" else 4)


def test_columns_of_very_different_size():
    """Scaling the columns is no loss of rank, and of no digits either."""
    X, Y, _ = problem_of(12, d=5)
    scale = np.array([1e-12, 1e-6, 1.0, 1e6, 1e12])
    plain, scaled = LinearRegression().fit(X, Y), LinearRegression().fit(X * scale, Y)
    assert scaled.rank_ == 5
    np.testing.assert_allclose(scaled.coef_ * scale, plain.coef_, rtol=1e-10)
    assert scaled.condition_ == pytest.approx(plain.condition_, rel=1e-6)


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_same_bits_for_any_number_of_threads(n_jobs):
    X, Y, s = problem_of(13, n=200_000, d=40)
    for targets in (Y, Y[:, 0]):
        one, more = Ridge(1.0).fit(X, targets, s), Ridge(1.0, n_jobs=n_jobs).fit(X, targets, s)
        assert np.array_equal(one.coef_, more.coef_)
        assert one.certificate_.targets == more.certificate_.targets
        assert np.array_equal(one.certificate_.arrays["dual"], more.certificate_.arrays["dual"])
        assert one.solver_ == "cholesky"


def test_float32_with_a_large_mean():
    """scikit-learn issue 33032, at a size that is quick; the whole of it below."""
    _far_column(60_000)


@pytest.mark.slow
def test_float32_with_a_large_mean_500_000():
    _far_column(500_000)


def _far_column(n):
    random = np.random.default_rng(14)
    X = random.normal(size=(n, 20)).astype(np.float32)
    X[:, 3] += np.float32(1e4)
    y = X @ random.normal(size=20) + random.normal(size=n)
    A = X.astype(np.float64)
    wanted = np.linalg.lstsq(A - A.mean(axis=0), y - y.mean(), rcond=None)[0]
    for model in (LinearRegression(), Ridge(1e-6)):
        model.fit(X, y)
        assert model.coef_.dtype == np.float32
        assert model.status_ == "converged"
        np.testing.assert_allclose(model.coef_, wanted, rtol=1e-5, atol=1e-6)


def test_time_limit_returns_a_usable_model():
    X, Y, _ = problem_of(15, n=3000, d=100)
    problem = LeastSquares.build(X, Y, None, np.zeros(2), True)
    answer = closed_form.solve(problem, Clock(Stop(1e-6, 1, 1e-9)), tol=1e-6)
    assert answer.status == "time_limit"
    assert not answer.W.any()
    np.testing.assert_allclose(answer.b, Y.mean(axis=0))


@pytest.mark.parametrize("size", [1e4, 1e8, 1e30, 1e100])
def test_ridge_on_columns_of_very_different_size(size):
    """A column that long is as good as unpenalised, and the short ones beside it are not lost.

    The dual point must be orthogonal to it to size^-2, which rounding allows no more beyond 1e8: then the gap is not claimed.
    """
    random = np.random.default_rng(0)
    X = random.normal(size=(50, 3))
    y = X[:, 0] + X[:, 1] + random.normal(size=50)
    long = X * [1.0, size, 1.0]
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model = Ridge(alpha=2.0).fit(long, y)
    centred, target = X - X.mean(axis=0), y - y.mean()
    exact = np.linalg.solve(centred.T @ centred + np.diag([2.0, 2.0 / size**2, 2.0]), centred.T @ target)
    np.testing.assert_allclose(model.coef_ * [1.0, size, 1.0], exact, rtol=1e-9)
    certificate = model.certificate_
    assert (certificate.status == "converged") == (size <= 1e8) == (certificate.relative_gap <= 1e-4)
    assert [one.category for one in said] == ([] if size <= 1e8 else [ConvergenceWarning])
    verdict = verify(model, long, y)
    assert verdict if size <= 1e8 else not_claimed(certificate, verdict)
