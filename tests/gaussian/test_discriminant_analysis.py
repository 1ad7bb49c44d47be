"""LinearDiscriminantAnalysis and QuadraticDiscriminantAnalysis: scikit-learn's answers, and clear ones where it has none."""

from __future__ import annotations

import inspect
import warnings
from functools import lru_cache

import numpy as np
import pytest
import sklearn
import sklearn.discriminant_analysis as peer
from sklearn.covariance import OAS, LedoitWolf, ShrunkCovariance
from sklearn.datasets import load_digits, load_iris, load_wine

from gapless import (
    GaussianDiscriminant,
    IllConditionedWarning,
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from tests.shared_data import folder, needs_data

#: scikit-learn 1.9 divides the covariance of a class by n, 1.8 by n - 1: only the newer one gives our scores.
as_in_1_9 = pytest.mark.skipif(
    tuple(int(part) for part in sklearn.__version__.split(".")[:2]) < (1, 9),
    reason="scikit-learn 1.8 scales covariances otherwise",
)

SETS = {"iris": load_iris, "wine": load_wine, "digits": load_digits}
SOLVERS = ("svd", "lsqr", "eigen")


@lru_cache
def data(name, classes=None):
    X, y = SETS[name](return_X_y=True)
    if name == "digits":  # the pixels that vary enough for a covariance in every class to be regular
        X = X[:, X.std(axis=0) > 5.0]
    return (X, y) if classes is None else (X[y < classes], y[y < classes])


def relative(scores):
    return scores if scores.ndim == 1 else scores - scores[:, :1]


def same_scores(ours, theirs, X, tol=1e-8):
    a, b = relative(ours.decision_function(X)), relative(theirs.decision_function(X))
    np.testing.assert_allclose(a, b, rtol=tol, atol=tol * np.abs(b).max())
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=tol)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


@needs_data
def test_vowel():
    """Hastie, Tibshirani, Friedman, table 4.1: .32 / .56 and .01 / .53."""
    z = np.load(folder() / "reference" / "vowel.npz", allow_pickle=False)

    def errors(model):
        model.fit(z["X_train"], z["y_train"])
        return tuple(int(np.sum(model.predict(z[f"X_{part}"]) != z[f"y_{part}"])) for part in ("train", "test"))

    assert (len(z["y_train"]), len(z["y_test"])) == (528, 462)
    for solver in SOLVERS:
        assert errors(LinearDiscriminantAnalysis(solver=solver)) == (167, 257)
    for solver in ("svd", "eigen"):
        assert errors(QuadraticDiscriminantAnalysis(solver=solver)) == (6, 244)
    assert errors(GaussianDiscriminant()) == (167, 257)
    assert errors(GaussianDiscriminant(covariance="per_class")) == (6, 244)


# -- agreement with scikit-learn -------------------------------------------------------------------------------------


@pytest.mark.parametrize("ours", [LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis])
def test_signature(ours):
    theirs = getattr(peer, ours.__name__)
    a, b = inspect.signature(ours).parameters, inspect.signature(theirs).parameters
    assert [(p.name, p.default, p.kind) for p in a.values()] == [(p.name, p.default, p.kind) for p in b.values()]
    missing = {name for name in dir(theirs) if not name.startswith("_")} - set(dir(ours))
    assert not missing


@as_in_1_9
@pytest.mark.parametrize("classes", [2, None])
@pytest.mark.parametrize("shrinkage", [None, 0, 0.3, 1.0, "auto"])
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", SETS)
def test_linear_agrees(name, solver, shrinkage, classes):
    X, y = data(name, classes)
    ours = LinearDiscriminantAnalysis(solver=solver, shrinkage=shrinkage, store_covariance=True).fit(X, y)
    like = "lsqr" if solver == "svd" and shrinkage is not None else solver  # what scikit-learn has for shrinkage
    theirs = peer.LinearDiscriminantAnalysis(solver=like, shrinkage=shrinkage, store_covariance=True).fit(X, y)
    same_scores(ours, theirs, X)
    np.testing.assert_allclose(ours.covariance_, theirs.covariance_, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(ours.means_, theirs.means_, rtol=1e-12)
    np.testing.assert_allclose(ours.priors_, theirs.priors_, rtol=1e-14)
    assert ours.coef_.shape == theirs.coef_.shape
    assert ours.intercept_.shape == theirs.intercept_.shape
    if like == solver:
        np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-7, atol=1e-8 * np.abs(theirs.coef_).max())
    if like == solver and solver != "lsqr":
        np.testing.assert_allclose(
            ours.explained_variance_ratio_, theirs.explained_variance_ratio_, rtol=1e-7, atol=1e-9
        )
        if shrinkage != 1.0:  # there the eigenvalues beyond K - 1 tie
            np.testing.assert_allclose(np.abs(ours.transform(X)), np.abs(theirs.transform(X)), rtol=1e-6, atol=1e-7)


@as_in_1_9
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", ["iris", "wine"])
def test_linear_agrees_with_priors(name, solver):
    X, y = data(name)
    given = {"solver": solver, "priors": [0.2, 0.3, 0.5]}
    same_scores(LinearDiscriminantAnalysis(**given).fit(X, y), peer.LinearDiscriminantAnalysis(**given).fit(X, y), X)


@as_in_1_9
@pytest.mark.parametrize("classes", [2, None])
@pytest.mark.parametrize("given", [{}, {"reg_param": 0.2}, {"shrinkage": 0.3}, {"shrinkage": "auto"}])
@pytest.mark.parametrize("solver", ["svd", "eigen"])
@pytest.mark.parametrize("name", SETS)
def test_quadratic_agrees(name, solver, given, classes):
    X, y = data(name, classes)
    if name == "digits" and not given:
        given = {"tol": 1e-6}
    ours = QuadraticDiscriminantAnalysis(solver=solver, store_covariance=True, **given).fit(X, y)
    like = "svd" if "reg_param" in given else "eigen" if "shrinkage" in given else solver
    theirs = peer.QuadraticDiscriminantAnalysis(solver=like, store_covariance=True, **given).fit(X, y)
    same_scores(ours, theirs, X)
    for k in range(len(ours.classes_)):
        np.testing.assert_allclose(ours.covariance_[k], theirs.covariance_[k], rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(ours.scalings_[k], theirs.scalings_[k], rtol=1e-7, atol=1e-9)
        turned = ours.rotations_[k] * ours.scalings_[k] @ ours.rotations_[k].T
        np.testing.assert_allclose(turned, ours.covariance_[k], rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("estimator", [OAS(), LedoitWolf(), ShrunkCovariance(shrinkage=0.2)])
def test_covariance_estimator(estimator):
    X, y = data("wine")
    for solver in ("lsqr", "eigen"):
        given = {"solver": solver, "covariance_estimator": estimator}
        same_scores(
            LinearDiscriminantAnalysis(**given).fit(X, y), peer.LinearDiscriminantAnalysis(**given).fit(X, y), X
        )
    given = {"solver": "eigen", "covariance_estimator": estimator}
    ours = QuadraticDiscriminantAnalysis(**given).fit(X, y)
    same_scores(ours, peer.QuadraticDiscriminantAnalysis(**given).fit(X, y), X)


@pytest.mark.parametrize("model", [LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis])
def test_covariance_estimator_errors(model):
    X, y = data("iris")

    class Bare:
        def fit(self, X):
            return self

    class Negative(Bare):
        covariance_ = -np.eye(4)

    class NotFinite(Bare):
        covariance_ = np.full((4, 4), np.nan)

    with pytest.raises(ValueError, match="Bare does not have a covariance_ attribute"):
        model(solver="eigen", covariance_estimator=Bare()).fit(X, y)
    with pytest.raises(ValueError, match="not positive semidefinite"):
        model(solver="eigen", covariance_estimator=Negative()).fit(X, y)
    with pytest.raises(ValueError, match="not finite"):
        model(solver="eigen", covariance_estimator=NotFinite()).fit(X, y)
    with pytest.raises(ValueError, match="Only one of the two can be set"):
        model(solver="eigen", covariance_estimator=OAS(), shrinkage=0.1).fit(X, y)
    with pytest.raises(ValueError, match="is not supported with (svd|solver='svd')"):
        model(solver="svd", covariance_estimator=OAS()).fit(X, y)
    with pytest.raises(ValueError, match="implementing 'fit'"):
        model(solver="eigen", covariance_estimator="oas").fit(X, y)


@pytest.mark.parametrize("shrinkage", [None, 0.3, "auto"])
@pytest.mark.parametrize("classes", [2, None])
def test_are_gaussian_discriminants(classes, shrinkage):
    X, y = data("wine", classes)
    shared = GaussianDiscriminant(shrinkage=shrinkage).fit(X, y)
    for solver in SOLVERS:
        linear = LinearDiscriminantAnalysis(solver=solver, shrinkage=shrinkage).fit(X, y)
        same_scores(linear, shared, X)
        assert linear.rank_ == shared.rank_ == 13
        assert linear.condition_ == pytest.approx(shared.condition_, rel=1e-9)
    own = GaussianDiscriminant(covariance="per_class", shrinkage=shrinkage).fit(X, y)
    for solver in ("svd", "eigen"):
        same_scores(QuadraticDiscriminantAnalysis(solver=solver, shrinkage=shrinkage).fit(X, y), own, X)


def test_transform_whitens_and_keeps_distances():
    X, y = data("wine")
    for solver in ("svd", "eigen"):
        model = LinearDiscriminantAnalysis(solver=solver).fit(X, y)
        Z = model.transform(X)
        centred = Z - np.array([Z[y == k].mean(axis=0) for k in range(3)])[y]
        np.testing.assert_allclose(centred.T @ centred / len(y), np.eye(2), atol=1e-10)
        assert model.get_feature_names_out().tolist() == ["lineardiscriminantanalysis0", "lineardiscriminantanalysis1"]
        assert LinearDiscriminantAnalysis(solver=solver, n_components=1).fit_transform(X, y).shape == (178, 1)
    with pytest.raises(NotImplementedError, match="transform not implemented for 'lsqr'"):
        LinearDiscriminantAnalysis(solver="lsqr").fit(X, y).transform(X)
    with pytest.raises(ValueError, match="n_components cannot be larger than"):
        LinearDiscriminantAnalysis(n_components=3).fit(X, y)


def test_set_output():
    pandas = pytest.importorskip("pandas")
    X, y = data("iris")
    frame = LinearDiscriminantAnalysis().set_output(transform="pandas").fit(X, y).transform(X)
    assert isinstance(frame, pandas.DataFrame)
    assert frame.columns.tolist() == ["lineardiscriminantanalysis0", "lineardiscriminantanalysis1"]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("classes", [2, None])
def test_dtype(dtype, classes):
    X, y = data("iris", classes)
    X = (10 * X).astype(dtype)
    kept = np.float32 if dtype == np.float32 else np.float64
    for solver in SOLVERS:
        model = LinearDiscriminantAnalysis(solver=solver).fit(X, y)
        exact = LinearDiscriminantAnalysis(solver=solver).fit(X.astype(float), y)
        assert {model.coef_.dtype, model.intercept_.dtype, model.means_.dtype} == {np.dtype(kept)}
        np.testing.assert_allclose(model.coef_, exact.coef_, rtol=1e-5, atol=1e-6)
        assert model.predict_proba(X).dtype == kept
        if solver != "lsqr":
            assert model.transform(X).dtype == kept
    quadratic = QuadraticDiscriminantAnalysis().fit(X, y)
    assert {quadratic.means_.dtype, quadratic.scalings_[0].dtype, quadratic.rotations_[0].dtype} == {np.dtype(kept)}


# -- priors ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis])
def test_priors(model):
    X, y = data("iris")
    with pytest.raises(ValueError, match="priors must be non-negative"):
        model(priors=[0.5, 1.0, -0.5]).fit(X, y)
    with pytest.raises(ValueError, match="one number a class"):
        model(priors=[0.5, 0.5]).fit(X, y)
    with pytest.warns(UserWarning, match="The priors do not sum to 1. Renormalizing"):
        fitted = model(priors=[1, 1, 2]).fit(X, y)
    np.testing.assert_allclose(fitted.priors_, [0.25, 0.25, 0.5])
    certain = model(priors=[0.0, 0.5, 0.5]).fit(X, y)
    assert not np.isnan(certain.predict_proba(X)).any()
    assert 0 not in certain.predict(X)


# -- degenerate data -------------------------------------------------------------------------------------------------


def test_quadratic_singular_class():
    X, y = data("iris")
    wide = np.column_stack((X, X[:, 0] + X[:, 1]))
    for solver in ("svd", "eigen"):
        with pytest.raises(
            np.linalg.LinAlgError,
            match=r"class 0 is not full rank. It has rank 4 of 5 features from n_k = 50 samples. Set shrinkage, for example 0.1",
        ):
            QuadraticDiscriminantAnalysis(solver=solver).fit(wide, y)
        for fix in ({"shrinkage": 0.1}, {"reg_param": 0.1}, {"shrinkage": "auto"}):  # the advice leads to an answer
            model = QuadraticDiscriminantAnalysis(solver=solver, **fix).fit(wide, y)
            assert np.isfinite(model.decision_function(wide)).all()
            assert model.rank_.tolist() == [5, 5, 5]
    constant = np.column_stack((X, np.where(y == 1, 0.1, X[:, 0] ** 2)))
    with pytest.raises(np.linalg.LinAlgError, match="class 1 is not full rank. It has rank 4 of 5"):
        QuadraticDiscriminantAnalysis(tol=0.0).fit(constant, y)


def test_quadratic_collinear_at_any_scale():
    """scikit-learn's absolute tol does not see collinearity in large numbers; rounding does not hide it from us."""
    X, y = data("iris")
    wide = np.column_stack((X, X[:, 0] + X[:, 1])) * 1e9
    for solver in ("svd", "eigen"):
        with pytest.raises(np.linalg.LinAlgError, match="rank 4 of 5"):
            QuadraticDiscriminantAnalysis(solver=solver).fit(wide, y)


def test_quadratic_tol_is_absolute_and_says_so():
    X, y = data("iris")
    with pytest.raises(
        np.linalg.LinAlgError, match=r"smallest variance, .* is not above tol=0.0001, which is absolute"
    ):
        QuadraticDiscriminantAnalysis().fit(0.01 * X, y)
    model = QuadraticDiscriminantAnalysis(tol=1e-12).fit(0.01 * X, y)
    np.testing.assert_array_equal(model.predict(0.01 * X), QuadraticDiscriminantAnalysis().fit(X, y).predict(X))


def test_quadratic_few_rows():
    X, y = np.random.default_rng(0).normal(size=(9, 4)), np.array([1, 1, 1, 1, 1, 1, 2, 2, 2])
    for reg_param in (0.0, 0.3):
        with pytest.raises(
            np.linalg.LinAlgError, match=r"class 2 is not full rank. When using `solver='svd'`.*n_k = 3"
        ):
            QuadraticDiscriminantAnalysis(reg_param=reg_param).fit(X, y)
    for fix in ({"shrinkage": 0.3}, {"shrinkage": "auto"}, {"solver": "eigen", "reg_param": 0.3}):
        assert np.isfinite(QuadraticDiscriminantAnalysis(**fix).fit(X, y).decision_function(X)).all()
    with pytest.raises(ValueError, match="only 1 sample in class 3"):
        QuadraticDiscriminantAnalysis(shrinkage=0.5).fit(X, [1, 1, 1, 1, 2, 2, 2, 2, 3])


@as_in_1_9
@pytest.mark.parametrize("solver", ["svd", "lsqr"])
@pytest.mark.parametrize("classes", [2, None])
def test_linear_collinear(solver, classes):
    """A column that says nothing new changes no answer, and is worth no warning; nor is a constant one."""
    X, y = data("iris", classes)
    wide = np.column_stack((X, X[:, 0] + X[:, 1], np.full(len(y), 0.1)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = LinearDiscriminantAnalysis(solver=solver).fit(wide, y)
    assert (model.rank_, model.condition_) == (4, np.inf)
    plain = LinearDiscriminantAnalysis(solver=solver).fit(X, y)
    np.testing.assert_allclose(
        relative(model.decision_function(wide)), relative(plain.decision_function(X)), rtol=1e-7, atol=1e-7
    )
    same_scores(model, peer.LinearDiscriminantAnalysis(solver=solver).fit(wide, y), wide, tol=1e-6)


def test_linear_eigen_needs_a_regular_covariance():
    X, y = data("iris")
    wide = np.column_stack((X, X[:, 0] + X[:, 1]))
    with pytest.raises(np.linalg.LinAlgError, match="rank 4 of 5 features from 150 samples, and solver='eigen' needs"):
        LinearDiscriminantAnalysis(solver="eigen").fit(wide, y)
    for fix in ({"solver": "svd"}, {"solver": "eigen", "shrinkage": "auto"}):
        assert np.isfinite(LinearDiscriminantAnalysis(**fix).fit(wide, y).transform(wide)).all()


@pytest.mark.parametrize("solver", ["svd", "lsqr"])
def test_linear_means_that_differ_where_nothing_varies(solver):
    X, y = data("iris")
    wide = np.column_stack((X, 1.0 * y))
    with pytest.warns(IllConditionedWarning, match="rank 4 of 5 features from 150 samples, and the class means differ"):
        model = LinearDiscriminantAnalysis(solver=solver).fit(wide, y)
    assert np.isfinite(model.decision_function(wide)).all()
    LinearDiscriminantAnalysis(solver=solver, shrinkage="auto").fit(wide, y)


@as_in_1_9
@pytest.mark.parametrize("solver", SOLVERS)
def test_linear_more_features_than_rows(solver):
    X, y = np.random.default_rng(0).normal(size=(12, 30)), np.arange(12) % 3
    if solver == "eigen":
        with pytest.raises(np.linalg.LinAlgError, match="rank 9 of 30"):
            LinearDiscriminantAnalysis(solver=solver).fit(X, y)
    else:
        with pytest.warns(IllConditionedWarning, match="rank 9 of 30"):
            model = LinearDiscriminantAnalysis(solver=solver).fit(X, y)
        same_scores(model, peer.LinearDiscriminantAnalysis(solver=solver).fit(X, y), X, tol=1e-7)
    model = LinearDiscriminantAnalysis(solver=solver, shrinkage=0.2).fit(X, y)
    same_scores(model, peer.LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.2).fit(X, y), X)


@pytest.mark.parametrize("shrinkage", [None, "auto", 0.2])
@pytest.mark.parametrize("solver", SOLVERS)
def test_linear_one_row_in_a_class(solver, shrinkage):
    X, y = data("iris", 2)
    X, y = np.vstack((X, X[:1] + 3.0)), np.append(y, 7)
    model = LinearDiscriminantAnalysis(solver=solver, shrinkage=shrinkage).fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()
    assert model.predict(X[-1:]) == [7]
    with pytest.raises(ValueError, match="The number of samples must be more than the number of classes"):
        LinearDiscriminantAnalysis(solver=solver).fit(X[[0, 60]], y[[0, 60]])


@pytest.mark.parametrize("solver", SOLVERS)
def test_linear_no_variation(solver):
    X, y = np.repeat([[0.1, 0.3], [0.7, 0.1]], 3, axis=0), np.repeat([0, 1], 3)
    with pytest.raises(np.linalg.LinAlgError, match="equals the mean of its class|rank 0 of 2 features"):
        LinearDiscriminantAnalysis(solver=solver).fit(X, y)


@pytest.mark.parametrize("solver", ["svd", "eigen"])
def test_linear_equal_means(solver):
    X = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 2.0], [0.0, -2.0]] * 2)
    model = LinearDiscriminantAnalysis(solver=solver, priors=[0.25, 0.75]).fit(X, np.repeat([0, 1], 4))
    np.testing.assert_allclose(model.predict_proba(X), [[0.25, 0.75]] * 8)
    assert np.isfinite(model.explained_variance_ratio_).all()


def test_nearly_collinear_is_said():
    X, y = data("wine")
    near = np.column_stack((X, X[:, 0] + 8e-6 * np.random.default_rng(0).normal(size=len(y))))
    with pytest.warns(IllConditionedWarning, match="condition"):
        LinearDiscriminantAnalysis(solver="lsqr").fit(near, y)
    with pytest.warns(IllConditionedWarning, match="of class"):
        QuadraticDiscriminantAnalysis(tol=0.0).fit(near, y)


@as_in_1_9
def test_float32_column_far_from_zero():
    """scikit-learn issue 33032's column: mean 1e4, deviation 1."""
    random = np.random.default_rng(0)
    y = random.integers(0, 2, size=20_000)
    X = random.normal(size=(y.size, 3)) + 0.5 * y[:, None]
    X[:, 1] += 1e4
    X = X.astype(np.float32)
    exact = peer.LinearDiscriminantAnalysis(solver="svd").fit(X.astype(float), y)
    for solver in SOLVERS:
        np.testing.assert_allclose(LinearDiscriminantAnalysis(solver=solver).fit(X, y).coef_, exact.coef_, rtol=1e-5)


@pytest.mark.parametrize("model", [LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis])
@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"solver": "cholesky"}, "The 'solver' parameter"),
        ({"shrinkage": 2.0}, "The 'shrinkage' parameter"),
        ({"tol": -1.0}, "The 'tol' parameter"),
        ({"store_covariance": "yes"}, "The 'store_covariance' parameter"),
    ],
)
def test_bad_parameters(model, given, words):
    with pytest.raises(ValueError, match=words):
        model(**given).fit(*data("iris"))


def test_more_bad_parameters():
    with pytest.raises(ValueError, match="The 'n_components' parameter"):
        LinearDiscriminantAnalysis(n_components=0).fit(*data("iris"))
    with pytest.raises(ValueError, match="The 'reg_param' parameter"):
        QuadraticDiscriminantAnalysis(reg_param=1.5).fit(*data("iris"))


def test_nothing_of_an_earlier_fit_stays():
    X, y = data("iris")
    model = LinearDiscriminantAnalysis(store_covariance=True).fit(X, y)
    model.set_params(solver="lsqr", store_covariance=False).fit(X, y)
    assert not hasattr(model, "xbar_")
    assert not hasattr(model, "scalings_")
    assert not hasattr(model.set_params(solver="svd").fit(X, y), "covariance_")
    assert model.certificate_.kind == "moments"
    model.set_params(solver="lsqr", covariance_estimator=LedoitWolf()).fit(X, y)
    assert not hasattr(model, "certificate_")  # nobody can recompute what another estimator found
