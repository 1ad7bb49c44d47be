"""What was once rejected though it is true: single precision, constant and equal columns, few rows, extreme scales."""

from __future__ import annotations

import numpy as np
import pytest
from judge_zoo import Data, fitted
from sklearn.datasets import make_classification, make_regression

import gapless
from gapless.judge import check


def verdict(model, X, y, sample_weight=None, rigorous=False):
    data = Data(X, y, sample_weight)
    certificate = fitted(lambda: model, data).certificate_
    found = check(certificate.document(), certificate.arrays, *data, rigorous)
    assert found, "\n".join(f"{c.name}: {c.claimed} {c.recomputed}" for c in found.failed)
    return certificate


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    "make", [gapless.SVC, gapless.NuSVC, gapless.SVR, gapless.NuSVR, gapless.OneClassSVM], ids=lambda m: m.__name__
)
def test_single_precision_has_the_width_of_its_values(make, seed):
    n, d = 40 + 30 * seed, 2 + seed
    X, y = make_classification(n, d + 2, n_informative=2, n_redundant=0, random_state=seed)
    X = (X * 10.0**seed + 3.0 * seed).astype(np.float32)
    y = X[:, 0].astype(np.float64) if make in (gapless.SVR, gapless.NuSVR) else y
    found = verdict(make(), X, y)
    values = X.astype(np.longdouble)
    width = float(1 / (X.shape[1] * values.var()))
    assert found.document()["problem"]["kernel"]["gamma"] == pytest.approx(width, rel=1e-10)


@pytest.mark.parametrize("value", [0.1, 1.0 / 3.0, 1e-30, 1e5, 0.0])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_equal_values_have_no_width(value, dtype):
    X, y = np.full((20, 3), value, dtype=dtype), np.arange(20) % 2
    for sample_weight in (None, np.linspace(0.1, 3.0, 20)):
        found = verdict(gapless.SVC(), X, y, sample_weight)
        assert found.document()["problem"]["kernel"]["gamma"] == 1.0


def test_a_constant_column_beside_others():
    X, y = make_classification(60, 4, random_state=0)
    for value in (0.1, 1e8, 1e-8):
        verdict(gapless.SVC(), np.column_stack([X, np.full(60, value)]), y)


@pytest.mark.parametrize("scale", [1e-150, 1e-20, 1.0, 1e20])
@pytest.mark.parametrize("n", [2, 3, 10])
@pytest.mark.parametrize("C", [1.0, 1e5])
def test_linear_machines_on_few_rows_of_any_size(scale, n, C):
    rng = np.random.default_rng(n)
    X, y = rng.normal(size=(n, 3)) * scale, np.arange(n) % 2
    for loss in ("hinge", "squared_hinge"):
        for extra in ({}, {"penalize_intercept": True, "intercept_scaling": 10.0}):
            verdict(gapless.LinearSVC(loss=loss, C=C, **extra), X, y)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_linear_machines_on_rows_of_zeros(loss):
    for n in (3, 7, 40):
        X, y = np.zeros((n, 3)), np.arange(n) % 2
        verdict(gapless.LinearSVC(loss=loss, penalize_intercept=True, intercept_scaling=10), X, y)
        y[0] = 1
        verdict(gapless.LinearSVC(loss=loss, penalize_intercept=True, intercept_scaling=10), X, y)


@pytest.mark.parametrize(("n", "d"), [(5, 5), (6, 10), (20, 40), (30, 29), (12, 200)])
def test_least_squares_with_no_more_rows_than_columns(n, d):
    rng = np.random.default_rng(d)
    X = rng.normal(size=(n, d))
    for K in (2, 3):
        verdict(gapless.LeastSquaresClassifier(), X, np.arange(n) % K)
        verdict(gapless.LeastSquaresClassifier(alpha=0.1), X, np.arange(n) % K)
    verdict(gapless.LinearRegression(), X, rng.normal(size=n))
    verdict(gapless.Ridge(alpha=1e-3), X, rng.normal(size=n))


@pytest.mark.parametrize("seed", range(4))
def test_discriminants_on_equal_columns_and_on_few_rows(seed):
    rng = np.random.default_rng(seed)
    X, y = make_classification(60, 5, n_informative=3, random_state=seed, n_classes=3, n_clusters_per_class=1)
    twins = np.column_stack([X, X[:, 0], X[:, 1]])
    verdict(gapless.QuadraticDiscriminantAnalysis(reg_param=0.1), twins, y)
    verdict(gapless.QuadraticDiscriminantAnalysis(solver="eigen", shrinkage=0.2), twins, y)
    for solver in ("svd", "lsqr"):
        verdict(gapless.LinearDiscriminantAnalysis(solver=solver), twins, y)
        few = rng.normal(size=(12, 20 + seed))
        verdict(gapless.LinearDiscriminantAnalysis(solver=solver), few, np.arange(12) % 3)
        verdict(gapless.LinearDiscriminantAnalysis(solver=solver), few, np.arange(12) % 2)
    verdict(gapless.GaussianDiscriminant(), twins, y)
    verdict(gapless.GaussianDiscriminant(), rng.normal(size=(12, 30)), np.arange(12) % 3)


@pytest.mark.parametrize("seed", range(4))
def test_weights_over_sixteen_decades(seed):
    rng = np.random.default_rng(seed)
    X, y = make_regression(80, 4, noise=3.0, random_state=seed)
    weights = 10.0 ** rng.uniform(-8, 8, size=80)
    verdict(gapless.LinearRegression(), X, y, weights)
    verdict(gapless.Ridge(), X, y, weights)
    verdict(gapless.LeastSquaresClassifier(), X, (y > 0).astype(int), weights)


@pytest.mark.parametrize("scale", [1e-100, 1e-30, 1e30])
def test_boosting_at_any_scale(scale):
    X, y = make_classification(80, 4, random_state=0, flip_y=0.2)
    verdict(gapless.AdaBoostClassifier(n_estimators=10), X * scale, y)
    verdict(gapless.AdaBoostClassifier(n_estimators=10), X, y, np.full(80, scale))
