"""`tol` is obeyed: a fit ends at the gap that was asked for, and equal problems have equal answers all the same."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import svm
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import StandardScaler

import gapless
from gapless.fits import kernel_encode
from gapless.solvers.kernel import polish as kernel_polish
from gapless.solvers.kernel import solve as kernel_solve
from gapless.solvers.kernel.thresholds import KERNEL_THRESHOLDS


def scaled(load):
    X, y = load(return_X_y=True)
    return StandardScaler().fit_transform(X), y


CLASSES, TARGETS = scaled(load_breast_cancer), scaled(load_diabetes)
KINDS = {
    "SVC": CLASSES,
    "NuSVC": CLASSES,
    "SVR": (TARGETS[0], TARGETS[1] / 50.0),
    "NuSVR": (TARGETS[0], TARGETS[1] / 50.0),
    "OneClassSVM": CLASSES,
}


@pytest.mark.parametrize("name", KINDS)
def test_a_small_problem_ends_where_it_was_asked_to(name, monkeypatch):
    """Few hundred rows: the gap of 1e-4 is reached without any factorisation."""
    asked = []
    monkeypatch.setattr(kernel_polish, "_solve_free", lambda *args: asked.append(args) or (None, args[-1]))
    monkeypatch.setattr(kernel_solve, "solve_by_cholesky", lambda *args: asked.append(args))
    X, y = KINDS[name]
    model = getattr(gapless, name)().fit(X, None if name == "OneClassSVM" else y)
    assert model.certificate_.converged
    assert model.certificate_.relative_gap <= 1e-4
    assert not asked


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("tol", [1e-3, 1e-6, 1e-9, 1e-12])
def test_every_gap_is_reached_and_certified(name, tol):
    X, y = KINDS[name]
    y = None if name == "OneClassSVM" else y
    model = getattr(gapless, name)(tol=tol).fit(X, y)
    assert model.certificate_.converged
    assert model.certificate_.relative_gap <= tol
    assert gapless.verify(model, X, y)


def test_a_polish_that_costs_little_is_made():
    """1,400 rows of 400 columns: the matrix takes far more multiplications than the polish, which then comes for nothing."""
    random = np.random.default_rng(0)
    X = random.normal(size=(1400, 400))
    y = (X[:, 0] > 0.0).astype(int)
    X[:, 0] *= 12.0
    model = gapless.SVC(gamma=1e-4, C=0.01).fit(X, y)
    assert model.certificate_.relative_gap <= 1e-12


@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
def test_equal_problems_have_equal_answers(kernel):
    """Weights are repetitions, and the order of rows means nothing: for a matrix, which has no rows to compare, as for rows."""
    X, y = CLASSES[0][::4], CLASSES[1][::4]
    random = np.random.default_rng(0)
    times, order = random.integers(1, 4, len(y)), random.permutation(len(y))
    repeated = np.repeat(np.arange(len(y)), times)

    def scores(rows, weights=None):
        given, asked = (
            (X[rows], X) if kernel == "rbf" else (rbf_kernel(X[rows], gamma=0.03), rbf_kernel(X, X[rows], gamma=0.03))
        )
        return gapless.SVC(kernel=kernel, gamma=0.03).fit(given, y[rows], weights).decision_function(asked)

    first = scores(np.arange(len(y)), times)
    assert scores(repeated) == pytest.approx(first, abs=1e-7)
    assert scores(order, times[order]) == pytest.approx(first, abs=1e-7)


@pytest.mark.parametrize("C", [7e-4, 1.0, 100.0])
def test_the_linear_kernel_reaches_a_gap_of_rounding(C):
    """Nearly separable classes: the linear solver stalls at 1e-5 on some pairs; SMO goes on from there."""
    X, y = scaled(load_digits)
    model = gapless.SVC(kernel="linear", C=C, tol=1e-11).fit(X, y)
    assert model.certificate_.converged
    peer = svm.SVC(kernel="linear", C=C, tol=1e-8).fit(X, y)
    scale = np.abs(peer.dual_coef_).max()
    assert np.abs(model.coef_ - peer.coef_).max() <= 1e-3 * max(scale, np.abs(peer.coef_).max())


def test_the_matrix_is_held_for_any_number_of_threads():
    """Near the budget a fit once took another route on two threads than on one, and ended with other bits."""
    X, y = scaled(load_digits)
    X, y = X[y < 4], y[y < 4]
    megabytes = 8.0 * (2 * np.bincount(y).max()) ** 2 * 3 / 2**20
    models = [gapless.SVC(cache_size=megabytes, n_jobs=n).fit(X, y) for n in (1, 2, 4)]
    assert len({model.dual_coef_.tobytes() + model.intercept_.tobytes() for model in models}) == 1


@pytest.mark.parametrize("name", KINDS)
def test_equal_rows_have_equal_bits(name):
    """Whoever writes a row twice, weighs it by 2 or brings the rows in another order: the path is the same."""
    X, y = KINDS[name]
    X, y = X[::3], y[::3]
    random = np.random.default_rng(0)
    times, order = random.integers(0, 4, len(y)), random.permutation(len(y))
    repeated = random.permutation(np.repeat(np.arange(len(y)), times))
    parameters = {"nu": 0.2} if name.startswith(("Nu", "One")) else {}

    def mass(rows, weights=None):
        """What each distinct row has of the dual point, the offset and the width."""
        model = getattr(gapless, name)(**parameters).fit(X[rows], y[rows], weights)
        dual = model.certificate_.arrays["dual"][0]
        return np.bincount(rows, dual, minlength=len(y)), model.certificate_.arrays["scalars"], model._gamma

    first = mass(np.arange(len(y)), times.astype(float))
    for other in (mass(repeated), mass(order, times[order].astype(float))):
        assert other[0] == pytest.approx(first[0], abs=1e-12)
        assert other[1] == pytest.approx(first[1], abs=1e-12)
        assert other[2] == first[2]


def test_classes_whose_hulls_meet_are_named_at_once():
    """Rows of zeros in every class: w = 0 is optimal, P* = 0, and no relative gap says so."""
    random = np.random.default_rng(3)
    X = random.normal(size=(200, 5)) * (random.random((200, 1)) < 0.6)
    y = np.arange(200) % 4
    model = gapless.NuSVC(nu=0.1).fit(X, y)
    assert model.certificate_.status == "converged"
    assert max(sub.n_iter for sub in model.certificate_.subproblems) <= 2
    assert "w = 0" in str(model.certificate_)
    assert gapless.verify(model, X, y)
    assert gapless.verify(model, X, y, rigorous=True)
    apart = gapless.NuSVC(nu=0.6).fit(X, y)
    assert apart.certificate_.primal < -1e-3
    assert "w = 0" not in str(apart.certificate_)


def test_classes_whose_hulls_meet_end_among_many_classes(monkeypatch):
    """The same where all pairs of classes could share one matrix in single precision, in which the search had no end."""
    monkeypatch.setattr(kernel_encode, "KERNEL_THRESHOLDS", KERNEL_THRESHOLDS._replace(dense_points=150))
    random = np.random.default_rng(4)
    X = random.normal(size=(300, 5)) * (random.random((300, 1)) < 0.6)
    y = np.arange(300) % 5
    model = gapless.NuSVC(nu=0.1).fit(X, y)
    assert model.certificate_.status == "converged"
    assert max(sub.n_iter for sub in model.certificate_.subproblems) == 0


def test_a_regression_all_of_whose_rows_are_bounded_ends():
    """With C = 0.01 every row is at its bound: what brings the sum back to 0 must not leave both sides of a row above 0."""
    random = np.random.default_rng(1)
    X = random.normal(size=(1600, 30)) * (random.random((1600, 30)) < 0.05)
    y = X.sum(axis=1) + 0.5 * random.normal(size=1600)
    model = gapless.SVR(C=0.01, gamma=0.9).fit(X, y)
    assert model.certificate_.relative_gap <= 1e-4
    assert model.certificate_.n_iter <= 20
