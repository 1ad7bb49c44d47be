"""LIBSVM at a tight tolerance gives the same models, within what its single precision leaves."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn import svm
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine, make_regression
from sklearn.preprocessing import StandardScaler

import gapless

SETS = {
    "iris": load_iris(return_X_y=True),
    "wine": load_wine(return_X_y=True),
    "cancer": tuple(part[::3] for part in load_breast_cancer(return_X_y=True)),
    "diabetes": tuple(part[::2] for part in load_diabetes(return_X_y=True)),
    "made": make_regression(150, 5, noise=10.0, random_state=0),
}


def data(name, classes):
    X, y = SETS[name]
    X = StandardScaler().fit_transform(X)
    if classes:
        return X, y if name in ("iris", "wine", "cancer") else (y > np.median(y)).astype(int)
    return X, X[:, 0] + np.sin(2.0 * X[:, 1]) if name in ("iris", "wine", "cancer") else y / 50.0


def scores(model, X):
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        ("SVC", {"C": 2.0}),
        ("SVC", {"kernel": "poly", "degree": 2, "coef0": 1.0}),
        ("NuSVC", {"nu": 0.3}),
        ("SVR", {"C": 3.0, "epsilon": 0.05}),
        ("NuSVR", {"nu": 0.4}),
        ("OneClassSVM", {"nu": 0.2}),
    ],
)
def test_same_models(name, kind, parameters):
    X, y = data(name, kind in ("SVC", "NuSVC"))
    shape = {"decision_function_shape": "ovo"} if kind in ("SVC", "NuSVC") else {}
    ours = getattr(gapless, kind)(**parameters, **shape, tol=1e-9)
    theirs = getattr(svm, kind)(**parameters, **shape, tol=1e-9)
    arguments = (X,) if kind == "OneClassSVM" else (X, y)
    ours.fit(*arguments)
    theirs.fit(*arguments)
    assert ours.certificate_.converged
    f, g = scores(ours, X), scores(theirs, X)
    assert np.abs(f - g).max() <= 3e-5 * max(1.0, np.abs(g).max())
    assert ours.dual_coef_.shape[0] == theirs.dual_coef_.shape[0]
    assert ours.n_support_.shape == theirs.n_support_.shape
    assert abs(int(ours.n_support_.sum()) - int(theirs.n_support_.sum())) <= 2
    if np.array_equal(ours.support_, theirs.support_):
        assert np.abs(ours.dual_coef_ - theirs.dual_coef_).max() <= 1e-3 * max(1.0, np.abs(theirs.dual_coef_).max())
    assert ours.intercept_ == pytest.approx(theirs.intercept_, abs=1e-4 * max(1.0, np.abs(g).max()))
    y_judged = None if kind == "OneClassSVM" else y
    assert gapless.verify(ours, X, y_judged)
    assert gapless.verify(ours, X, y_judged, rigorous=True)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "sigmoid", "precomputed"])
@pytest.mark.parametrize("shape", ["ovr", "ovo"])
def test_attributes_and_scores_of_three_classes(kernel, shape):
    X, y = data("iris", True)
    K = X @ X.T if kernel == "precomputed" else X
    ours = gapless.SVC(kernel=kernel, decision_function_shape=shape, tol=1e-8).fit(K, y)
    theirs = svm.SVC(kernel=kernel, decision_function_shape=shape, tol=1e-8).fit(K, y)
    assert np.array_equal(ours.predict(K), theirs.predict(K))
    assert ours.decision_function(K) == pytest.approx(theirs.decision_function(K), abs=1e-3)
    assert ours.support_.dtype == theirs.support_.dtype
    assert ours.support_vectors_.shape[1:] == theirs.support_vectors_.shape[1:]
    assert ours.n_iter_.shape == theirs.n_iter_.shape
    assert ours.shape_fit_ == theirs.shape_fit_
    assert ours.fit_status_ == 0
    assert np.array_equal(ours.class_weight_, theirs.class_weight_)
    if kernel == "linear":
        assert ours.coef_ == pytest.approx(theirs.coef_, abs=1e-3)
        assert ours.coef_ @ X.T + ours.intercept_[:, None] == pytest.approx(
            ours.set_params(decision_function_shape="ovo").decision_function(X).T, abs=1e-10
        )
    else:
        with pytest.raises(AttributeError, match="linear kernel"):
            _ = ours.coef_
    ties = gapless.SVC(kernel=kernel, break_ties=True).fit(K, y)
    assert np.array_equal(ties.classes_[ties.decision_function(K).argmax(axis=1)], ties.predict(K))


def test_weights_and_class_weights():
    X, y = data("wine", True)
    rng = np.random.default_rng(0)
    weight = rng.uniform(0.0, 2.0, len(y))
    weight[::7] = 0.0
    ours = gapless.SVC(class_weight="balanced", gamma=0.1, tol=1e-9).fit(X, y, sample_weight=weight)
    assert gapless.verify(ours, X, y, sample_weight=weight)
    repeated = rng.integers(0, 3, len(y))
    once = gapless.SVC(class_weight="balanced").fit(X, y, sample_weight=repeated)
    more = gapless.SVC(class_weight="balanced").fit(np.repeat(X, repeated, axis=0), np.repeat(y, repeated))
    assert once.decision_function(X) == pytest.approx(more.decision_function(X), abs=1e-8)
    assert once._gamma == pytest.approx(more._gamma, rel=1e-12)


def test_sparse_is_dense():
    X, y = data("wine", True)
    X[np.abs(X) < 0.5] = 0.0
    dense = gapless.SVC().fit(X, y)
    thin = gapless.SVC().fit(sparse.csr_matrix(X), y)
    assert sparse.issparse(thin.support_vectors_)
    assert sparse.issparse(thin.dual_coef_)
    assert np.array_equal(thin.dual_coef_.toarray(), dense.dual_coef_)
    assert thin.decision_function(sparse.csr_matrix(X)) == pytest.approx(dense.decision_function(X), abs=1e-10)
    assert gapless.verify(thin, sparse.csr_matrix(X), y)
    assert gapless.verify(thin, X, y)


def test_float32_rows_and_threads():
    X, y = data("cancer", True)
    one = gapless.SVC(n_jobs=1).fit(X, y)
    two = gapless.SVC(n_jobs=2).fit(X, y)
    assert np.array_equal(one.dual_coef_, two.dual_coef_)
    assert np.array_equal(one.decision_function(X), two.decision_function(X))
    single = gapless.SVC(gamma=0.05).fit(X.astype(np.float32), y)
    assert single.decision_function(X.astype(np.float32)) == pytest.approx(
        single.decision_function(X.astype(np.float32).astype(np.float64)), abs=1e-4
    )


def test_nu_bounds_the_shares():
    """At most nu of the weight has an error, at least nu belongs to support vectors."""
    X, y = data("made", False)
    for nu in (0.1, 0.5):
        model = gapless.NuSVR(nu=nu, tol=1e-13).fit(X, y)
        assert np.mean(model.slack_ > 1e-9) <= nu
        assert len(model.support_) / len(y) >= nu
        assert model.epsilon_ > 0.0
        other = gapless.SVR(epsilon=model.epsilon_, tol=1e-13).fit(X, y)
        assert other.predict(X) == pytest.approx(model.predict(X), abs=1e-6)
    outlier = gapless.OneClassSVM(nu=0.15).fit(X)
    assert np.mean(outlier.predict(X) < 0) <= 0.15
    X, y = data("cancer", True)
    model = gapless.NuSVC(nu=0.3, tol=1e-13).fit(X, y)
    C = 1.0 / -model.certificate_.arrays["scalars"][0, 1]
    same = gapless.SVC(C=C, tol=1e-13).fit(X, y)
    assert same.decision_function(X) == pytest.approx(model.decision_function(X), abs=1e-6)
