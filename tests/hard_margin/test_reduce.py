"""`reduce` for soft margins: the rows with alpha > 0, the ends of the offset's interval, weights and several classes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gapless

SETS = {
    "iris": load_iris(return_X_y=True),
    "wine": load_wine(return_X_y=True),
    "cancer": load_breast_cancer(return_X_y=True),
}


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("weights", [None, "integers", "balanced"])
@pytest.mark.parametrize("offset", ["none", "free", "penalised"])
def test_same_fit_on_fewer_rows(name, loss, weights, offset):
    X, y = SETS[name]
    X = StandardScaler().fit_transform(X)
    weight = np.random.default_rng(0).integers(0, 3, y.size).astype(float) if weights == "integers" else None
    model = gapless.LinearSVC(
        loss=loss,
        C=0.3,
        tol=1e-12,
        class_weight="balanced" if weights == "balanced" else None,
        fit_intercept=offset != "none",
        penalize_intercept=offset == "penalised",
        max_iter=10_000,
    ).fit(X, y, weight)
    found = gapless.reduce(model, X, y, weight)
    assert found.rows.tolist() == np.flatnonzero((model.alpha_ > 0).reshape(-1, y.size).any(axis=0)).tolist()
    again = found.estimator().fit(X[found.rows], y[found.rows], found.sample_weight)
    # Both fits are within sqrt(2 gap) of the optimum, and gaps of 1e-15 of the objective are what floats give.
    np.testing.assert_allclose(again.coef_, model.coef_, rtol=0, atol=3e-8)
    np.testing.assert_allclose(again.intercept_, model.intercept_, rtol=0, atol=1e-7)
    assert gapless.verify(found.certificate, X[found.rows], y[found.rows], found.sample_weight)
    assert found.certificate.dual == pytest.approx(model.certificate_.dual, rel=1e-12)


def interval():
    """alpha = c for rows 0 and 1, and the ends of the offset's interval are those of rows 2 (b >= -0.2) and 4 (b <= 0.1)."""
    X = np.array([[1.0], [-1.0], [6.0], [8.0], [-5.5], [-9.0]])
    y = np.array([1, -1, 1, 1, -1, -1])
    return X, y


def test_rows_that_fix_the_ends():
    X, y = interval()
    # C = 0.1: w = 0.1 (1 + 1) = 0.2, so 0.2 * 6 + b >= 1 and 0.2 * 5.5 - b >= 1
    model = gapless.LinearSVC(loss="hinge", C=0.1, tol=1e-14).fit(X, y)
    np.testing.assert_allclose(model.coef_, [[0.2]], atol=1e-10)
    found = gapless.reduce(model, X, y)
    assert found.support.tolist() == [0, 1]
    assert found.ends.tolist() == [2, 4]
    np.testing.assert_allclose(found.offsets, [[-0.2, 0.1]], atol=1e-9)
    assert model.intercept_[0] == pytest.approx(-0.05, abs=1e-9)
    again = found.estimator().fit(X[found.rows], y[found.rows])
    np.testing.assert_allclose(again.intercept_, model.intercept_, atol=1e-9)
    # The false neighbour: the support vectors alone give the same w and another offset.
    alone = found.estimator().fit(X[found.support], y[found.support])
    np.testing.assert_allclose(alone.coef_, model.coef_, atol=1e-9)
    assert abs(alone.intercept_[0] - model.intercept_[0]) > 0.01
    assert "ends" in str(found)


@pytest.mark.parametrize("seed", range(40))
def test_ends_of_random_intervals(seed):
    """Equal costs and few rows: half of these have no free support vector."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 30))
    y = np.where(np.arange(n) % 2 == 0, 1, -1)
    X = rng.normal(size=(n, 2)) + 2.0 * y[:, None]
    model = gapless.LinearSVC(loss="hinge", C=10.0 ** rng.uniform(-3, -1), tol=1e-14).fit(X, y)
    found = gapless.reduce(model, X, y)
    again = found.estimator().fit(X[found.rows], y[found.rows])
    np.testing.assert_allclose(again.coef_, model.coef_, atol=2e-8)  # sqrt(2 gap) of two fits with gaps of 1e-16
    np.testing.assert_allclose(again.intercept_, model.intercept_, atol=2e-8)
    assert found.ends.size <= 2


def test_every_class_keeps_a_row():
    # Without an offset the second class alone can hold w, and a fit still needs both.
    X, y = np.array([[3.0], [4.0], [-1.0]]), np.array([1, 1, -1])
    model = gapless.LinearSVC(C=np.inf, fit_intercept=False).fit(X, y)
    found = gapless.reduce(model, X, y)
    assert found.support.tolist() == [2]
    assert found.kept_for_class.tolist() == [0]
    again = found.estimator().fit(X[found.rows], y[found.rows])
    np.testing.assert_allclose(again.coef_, model.coef_, atol=1e-12)


def test_forms_and_names():
    X, y = SETS["cancer"]
    names = np.array(["bad", "good"])[y]
    model = make_pipeline(StandardScaler(), gapless.LinearSVC(loss="hinge", C=0.1)).fit(X, names)
    found = gapless.reduce(model, X, names)
    Z = model[0].transform(X)
    same = gapless.reduce(
        gapless.LinearSVC(loss="hinge", C=0.1).fit(sparse.csr_matrix(Z), names), sparse.csr_matrix(Z), names
    )
    assert found.rows.tolist() == same.rows.tolist()
    assert found.estimator().get_params() == model[-1].get_params()
    assert repr(found) == f"<Reduction to {found.rows.size} of 569 rows>"


def test_refusals():
    X, y = SETS["iris"]
    with pytest.raises(NotFittedError):
        gapless.reduce(gapless.LinearSVC(), X, y)
    with pytest.raises(TypeError, match="every row"):
        gapless.reduce(gapless.LogisticRegression().fit(X, y), X, y)
    with pytest.raises(TypeError, match="LinearSVC"):
        gapless.reduce(gapless.LinearRegression().fit(X, y), X, y)
    model = gapless.LinearSVC().fit(X, y)
    with pytest.raises(gapless.CertificateError, match="other data"):
        gapless.reduce(model, X + 1.0, y)
    with pytest.raises(gapless.CertificateError, match="other labels"):
        gapless.reduce(model, X, y[::-1])
    with pytest.raises(gapless.CertificateError, match="other weights"):
        gapless.reduce(model, X, y, np.full(150, 2.0))
    with pytest.raises(ValueError, match="inconsistent"):
        gapless.reduce(model, X, y[:-1])
