"""The exact path of the hinge: P = D at every break point, and the direct fit's scores between them."""

from __future__ import annotations

import numpy as np
import pytest

import gapless
from gapless.solvers.linear.hinge_path import hinge_path
from tests.tuning.problems import random_problem


@pytest.mark.parametrize("seed", range(10))
def test_random_problems(seed):
    check_problem(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10, 50))
def test_more_random_problems(seed):
    check_problem(seed)


def check_problem(seed):
    model, X, y, weight = random_problem(seed)
    found = gapless.path(model, X, y, (0.0, 1e3), sample_weight=weight, exact=True)
    assert found.reach[0] == 0.0
    assert found.reach[1] >= 999.0
    assert found.relative_gap.max(initial=0.0) <= 1e-9
    random = np.random.default_rng(seed)
    # (Where the classes cannot be told apart at all, w = 0 for every C, and nothing ever breaks.)
    ends = np.concatenate([[found.breaks[0] / 10] if len(found) else [1e-3], found.breaks, [1e3]])
    wide = np.flatnonzero(ends[1:] > ends[:-1] * (1 + 1e-5))
    for k in random.choice(wide, min(3, wide.size), replace=False):
        C = float(np.sqrt(ends[k] * ends[k + 1]))
        direct = type(model)(**{**model.get_params(), "C": C, "tol": 1e-13}).fit(X, y, weight)
        if direct.certificate_.relative_gap > 1e-13:
            continue  # the direct fit is not tight enough to be compared with
        assert np.abs(found.decision_function(X, C) - direct.decision_function(X)).max() <= 1e-8 * (1 + np.abs(X).max())


def test_two_points_by_hand():
    # x = -1, +1: w = C' (x2 - x1) = 2 min(C, 1/2), b = 0: one break point, at C = 1/2, where both are at the margin.
    X, y = np.array([[-1.0], [1.0]]), np.array([-1, 1])
    found = gapless.path(gapless.LinearSVC(loss="hinge"), X, y)
    assert found.breaks == pytest.approx([0.5])
    for C in (0.01, 0.3, 0.5, 2.0, 1e4):
        w = 2 * min(C, 0.5)
        assert found.decision_function(X, C) == pytest.approx([-w, w], abs=1e-12)
        assert found.primal[0] == pytest.approx(0.5)


def test_jump_of_the_offset_takes_the_midpoint():
    # No free support vector below the break: the offset is an interval, and its middle is what a fit takes.
    X, y = np.array([[-2.0], [-1.0], [1.0], [2.0]]), np.array([-1, -1, 1, 1])
    found = gapless.path(gapless.SVC(kernel="linear"), X, y)
    for C in (0.001, 0.05, 0.1, 0.4, 7.0):
        direct = gapless.SVC(kernel="linear", C=C, tol=1e-12).fit(X, y)
        assert found.intercept_at(C) == pytest.approx(direct.intercept_[0], abs=1e-9)


def test_model_at_is_certified_and_verified():
    model, X, y, weight = random_problem(0)
    found = gapless.path(model, X, y, sample_weight=weight, exact=True)
    at = found.model_at(0.7)
    assert at.C == 0.7
    assert at.init is None
    assert at.certificate_.converged
    assert gapless.verify(at, X, y, weight)
    assert np.allclose(at.decision_function(X), found.decision_function(X, 0.7), atol=1e-7)


def test_prints_the_number_of_break_points():
    model, X, y, weight = random_problem(2)
    found = gapless.path(model, X, y, sample_weight=weight, exact=True)
    assert f"{len(found)} break points" in str(found)


def test_refusals():
    X, y = np.array([[-1.0], [1.0], [2.0]]), np.array([0, 1, 2])
    with pytest.raises(ValueError, match="there are 3"):
        gapless.path(gapless.SVC(), X, y, exact=True)
    with pytest.raises(ValueError, match="only the hinge"):
        gapless.path(gapless.LinearSVC(), X, y, exact=True)
    found = gapless.path(gapless.SVC(), X[:2], y[:2], (0.1, 10.0), exact=True)
    with pytest.raises(ValueError, match="outside of this path"):
        found.decision_function(X, 100.0)


def test_alpha_is_optimal_for_the_program_of_another_solver():
    # HiGHS has no such program; Clarabel solves the dual at a few C.
    clarabel = pytest.importorskip("clarabel")
    from scipy import sparse

    random = np.random.default_rng(3)
    X = random.standard_normal((25, 3))
    y = np.where(X[:, 0] + random.standard_normal(25) > 0, 1.0, -1.0)
    K = X @ X.T
    Q = sparse.csc_matrix(np.triu(np.outer(y, y) * K))
    found = gapless.path(gapless.SVC(kernel="linear"), X, y, (0.0, 100.0), exact=True)
    for C in (0.02, 0.6, 9.0):
        A = sparse.csc_matrix(np.vstack([y, -np.eye(25), np.eye(25)]))
        b = np.concatenate([[0.0], np.zeros(25), np.full(25, C)])
        cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(50)]
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        alpha = np.asarray(clarabel.DefaultSolver(Q, -np.ones(25), A, b, cones, settings).solve().x)
        value = alpha.sum() - 0.5 * (alpha * y) @ K @ (alpha * y)
        u = found.dual_at(C)
        assert np.abs(u).sum() - 0.5 * u @ K @ u == pytest.approx(value, rel=1e-6)


def test_equal_rows_of_two_classes():
    # The same x in both classes: they meet at no finite C, and stay at their bounds.
    X = np.array([[0.0], [0.0], [1.0], [-1.0]])
    y = np.array([1.0, -1.0, 1.0, -1.0])
    K = X @ X.T
    start = gapless.SVC(kernel="linear", C=0.3, tol=1e-12).fit(X, y)
    found = hinge_path(K, y, np.ones(4), True, (0.3, start.certificate_.arrays["dual"][0]), 0.0, 1e3)
    for C in (0.1, 1.0, 50.0):
        u, _ = found.solution_at(C)
        assert np.abs(u[:2]) == pytest.approx([C, C])
