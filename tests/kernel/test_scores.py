"""Scores in float64 only where they count: P, D, gap and offsets are those of all scores in float64."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import gapless
from gapless.problems.kernel import evaluate_point
from gapless.solvers.kernel.float64_scores import ApproximateScores, refine_all, refine_where_needed
from gapless.solvers.kernel.smo import solve_single_precision
from gapless.solvers.loop import Loop, Stop

from .test_smo import data, problems

KINDS = ["c_svc", "nu_svc", "epsilon_svr", "nu_svr", "one_class"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("blur", [1e-4, 0.05, 1.0])
def test_figures_are_those_of_all_scores(kind, blur):
    """Any error within what is said: the worst at every point."""
    problem = problems(2500, seed=7)[kind]
    beta, found = solve_single_precision(problem, Loop(Stop(0.0, 10_000)))
    assert found is not None
    beta = problem.repair(beta)
    exact = problem.scores(beta)
    assert (np.abs(found.scores - exact) <= found.off).all()
    random = np.random.default_rng(1)
    off = blur * random.random(exact.size)
    given = ApproximateScores(exact + off * random.choice([-1.0, 1.0], exact.size), off)
    sharp = refine_where_needed(problem, beta, given, lambda: None)
    assert (np.abs(sharp.scores - exact) <= sharp.off + 1e-12 * np.abs(exact).max()).all()
    if blur < 0.1:
        assert np.count_nonzero(sharp.off) > 0.1 * exact.size
    np.testing.assert_allclose(problem.intervals(sharp.scores), problem.intervals(exact), atol=1e-12)
    ours, true = evaluate_point(problem, beta, sharp.scores), evaluate_point(problem, beta, exact)
    np.testing.assert_allclose(ours[0], true[0], atol=1e-12)
    np.testing.assert_allclose(ours[1:], true[1:], atol=1e-12 * max(1.0, abs(true[1])))
    np.testing.assert_allclose(refine_all(problem, beta, sharp, lambda: None), exact, atol=1e-12 * np.abs(exact).max())


def test_what_is_certified_is_so_of_exact_scores():
    """Labels that the gap proves, with scores that are not exact everywhere, hold in a much tighter fit."""
    X, signal, random = data(6000, seed=3)
    y = np.where(signal + 0.3 * random.normal(size=6000) > 0, 1, -1)
    rough_fit = gapless.SVC(C=2.0, gamma=0.3, tol=1e-2).fit(X, y)
    assert rough_fit._scores_off is not None
    assert (rough_fit._scores_off > 0.0).mean() > 0.3
    tight = gapless.SVC(C=2.0, gamma=0.3, tol=1e-9).fit(X, y)
    alpha = tight.alpha_
    certified = rough_fit.slackness_.certified
    assert (certified == 0).sum() > 1000
    assert alpha[certified == 0].max() <= 1e-9
    assert (alpha[certified == 2] == 2.0).all()
    assert gapless.verify(rough_fit, X, y)


@pytest.mark.parametrize("form", ["float64", "float32", "CSR"])
@pytest.mark.parametrize("size", [1e3, 1e6, 1e9])
def test_predictions_of_rows_far_from_each_other(form, size):
    """|x|^2 + |z|^2 - 2<x, z> has no correct digit where gamma |x|^2 passes 1e14; the truth is made from differences."""
    random = np.random.default_rng(1)
    X = (random.normal(size=(60, 3)) * size).astype(np.float32).astype(np.float64)
    X[30:] = X[:30] + random.integers(-2, 3, size=(30, 3)) * np.spacing(np.float32(size)).astype(np.float64)
    X = X.astype(np.float32).astype(np.float64)
    given = sparse.csr_matrix(X) if form == "CSR" else X.astype(form)
    model = gapless.SVR(gamma=1e-3, C=10.0, tol=1e-8).fit(given, random.normal(size=60))
    square = ((X[:, None, :] - X[model.support_][None, :, :]) ** 2).sum(axis=2)
    truth = np.exp(-1e-3 * square) @ sparse.csr_matrix(model.dual_coef_).toarray().ravel() + model.intercept_
    np.testing.assert_allclose(model.predict(given), truth, rtol=0, atol=1e-5)
