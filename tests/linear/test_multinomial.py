"""Softmax: P, D, the gap, the price of an offset, and Newton, against closed forms, brute force and scikit-learn."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.linear_model import LogisticRegression as Peer

from gapless.losses import BY_NAME
from gapless.problems.linear import LinearProblem
from gapless.problems.multinomial import Multinomial
from gapless.solvers.linear.solve import solve, solve_multinomial
from gapless.solvers.linear.thresholds import LINEAR_THRESHOLDS
from gapless.solvers.loop import Stop

OFFSETS = ("none", "penalised", "free")


def random_problem(seed, offset, n=40, d=3, K=4, form="dense", dtype=np.float64, shift=0.0):
    random = np.random.default_rng(seed)
    X = (random.normal(size=(n, d)) + shift).astype(dtype)
    y = np.r_[np.arange(K), random.integers(0, K, n - K)]
    c = 10.0 ** random.uniform(-2, 1) * random.integers(1, 4, n)
    return Multinomial.build(sparse.csr_matrix(X) if form == "csr" else X, y, c, K, offset, 1.5)


def random_feasible(problem, random):
    P = random.dirichlet(np.ones(problem.K) * 0.5, problem.n)
    return problem.dual_of(P)


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("form", ["dense", "csr"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values_against_mpmath(offset, form, dtype):
    with mpmath.workdps(60):
        for seed in range(3):
            problem = random_problem(seed, offset, form=form, dtype=dtype)
            random = np.random.default_rng(seed)
            theta = random.normal(size=(problem.K, problem.d + 1))
            if offset == "none":
                theta[:, -1] = 0.0
            U = random_feasible(problem, random)
            values = problem.rows.values
            X = values.reshape(problem.n, -1) if form == "dense" else None
            if X is None:
                X = sparse.csr_matrix((values, problem.rows.indices, problem.rows.indptr)).toarray()
            X = [[mpmath.mpf(float(v)) for v in row] + [mpmath.mpf(problem.rows.constant)] for row in X]
            keep = problem.d if offset == "free" else problem.d + 1
            primal = sum(mpmath.mpf(float(v)) ** 2 for v in theta[:, :keep].ravel()) / 2
            dual = mpmath.mpf(0)
            combined = [[mpmath.mpf(0)] * (problem.d + 1) for _ in range(problem.K)]
            for i, row in enumerate(X):
                y, c = int(problem.y[i]), mpmath.mpf(float(problem.c[i]))
                z = [sum(a * mpmath.mpf(float(t)) for a, t in zip(row, theta[k])) for k in range(problem.K)]
                primal += c * (mpmath.log(sum(mpmath.exp(v) for v in z)) - z[y])
                u = [mpmath.mpf(float(v)) for v in U[i]]
                u[y] = -sum(v for k, v in enumerate(u) if k != y)
                p = [(1 if k == y else 0) - v / c for k, v in enumerate(u)]
                assert min(p) >= 0
                dual -= c * sum(v * mpmath.log(v) for v in p if v > 0)
                for k in range(problem.K):
                    combined[k] = [a + u[k] * b for a, b in zip(combined[k], row)]
            dual -= sum(v**2 for line in combined for v in line[:keep]) / 2
            computed = problem.primal(theta)
            if offset == "free":
                dual -= mpmath.mpf(problem.offset_bound(computed)) * sum(abs(line[-1]) for line in combined)
            rounding = problem.rounding(theta, problem.scores(theta), U, problem.combine(U), computed)
            assert abs(mpmath.mpf(computed) - primal) <= rounding
            assert abs(mpmath.mpf(problem.dual(U, computed)) - dual) <= rounding
            assert rounding <= 1e-9 * float(primal + abs(dual))


@pytest.mark.parametrize("offset", OFFSETS)
def test_weak_duality_and_the_price_of_the_offset(offset):
    """D(U) - B sum|r| <= P* for every feasible U; without the price that is false."""
    broken = 0
    for seed in range(30):
        problem = random_problem(seed, offset, n=12, shift=3.0)
        if offset == "free":  # classes of very different weight: the logarithm in B matters
            c = problem.c * np.where(problem.y == 0, 1e3, 1.0)
            problem = Multinomial(problem.rows, problem.y, c, problem.K, offset)
        solution = solve_multinomial(problem, Stop(1e-13, 300))
        best = problem.primal(solution.theta)
        assert best - problem.dual(solution.u, best) <= 1e-9 * best
        random = np.random.default_rng(seed)
        for _ in range(20):
            mix = 10.0 ** random.uniform(-4, 0)
            U = problem.repair((1 - mix) * solution.u + mix * random_feasible(problem, random))
            below = problem.dual(U, best)
            assert below <= best * (1 + 1e-9)
            if offset == "free":
                price = problem.offset_bound(best) * float(np.abs(U.sum(axis=0)).sum())
                broken += below + price > best * (1 + 1e-6)
    assert (broken > 0) == (offset == "free")


@pytest.mark.parametrize("offset", OFFSETS)
def test_two_classes_are_the_logistic_problem(offset):
    """With K = 2 and w_1 = -w_0 = w/2 the softmax problem is the logistic one with C doubled and the penalty halved."""
    random = np.random.default_rng(0)
    X = random.normal(size=(50, 3)) + 1.0
    y = (X[:, 0] + random.normal(size=50) > 1.0).astype(int)
    c = np.full(50, 0.7)
    two = Multinomial.build(X, y, c, 2, offset)
    one = LinearProblem.build(X, 2.0 * y - 1.0, 2.0 * c, BY_NAME["logistic"], offset)
    a = solve_multinomial(two, Stop(1e-13, 200))
    b = solve(one, Stop(1e-13, 200))
    np.testing.assert_allclose(a.theta[1] - a.theta[0], b.theta, atol=1e-6)
    assert two.primal(a.theta) == pytest.approx(0.5 * one.primal(b.theta), rel=1e-11)


def test_log_odds_without_features():
    """X = 0, free offset: b_k = ln(C_k) up to a constant, P* = sum C_k ln(C/C_k)."""
    y = np.array([0, 0, 0, 1, 1, 2])
    problem = Multinomial.build(np.zeros((6, 1)), y, np.ones(6), 3, "free")
    solution = solve_multinomial(problem, Stop(1e-12, 100))
    b = solution.theta[:, -1]
    np.testing.assert_allclose(b - b[0], np.log([1.0, 2 / 3, 1 / 3]), atol=1e-6)
    exact = 3 * np.log(2.0) + 2 * np.log(3.0) + np.log(6.0)
    assert problem.primal(solution.theta) == pytest.approx(exact, rel=1e-12)
    assert problem.dual(solution.u, exact) == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize("load", [load_iris, load_wine])
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
def test_agrees_with_scikit_learn(load, C):
    X, y = load(return_X_y=True)
    X = (X - X.mean(0)) / X.std(0)
    problem = Multinomial.build(X, y, np.full(y.size, C), 3, "free")
    solution = solve_multinomial(problem, Stop(1e-12, 300))
    peer = Peer(C=C, solver="newton-cholesky", tol=1e-12, max_iter=500).fit(X, y)
    reference = problem.primal(problem.join(peer.coef_, peer.intercept_))
    primal = problem.primal(solution.theta)
    assert primal <= reference * (1 + 1e-12)
    assert reference - primal <= 1e-9 * reference
    assert primal - problem.dual(solution.u, primal) <= 1e-9 * primal


@pytest.mark.parametrize("offset", OFFSETS)
def test_conjugate_gradients_where_the_hessian_is_large(offset, monkeypatch):
    from gapless.solvers.linear import newton_softmax as newton_softmax

    X, y = load_digits(return_X_y=True)
    problem = Multinomial.build(X[:500] / 16.0, y[:500], np.ones(500), 10, offset)
    direct = solve_multinomial(problem, Stop(1e-8, 100))
    monkeypatch.setattr(newton_softmax, "FACTORED_COLUMNS", 10)
    iterative = solve_multinomial(problem, Stop(1e-8, 100))
    monkeypatch.setattr(newton_softmax, "LINEAR_THRESHOLDS", LINEAR_THRESHOLDS._replace(softmax_multiplications=1.0))
    diagonal = solve_multinomial(problem, Stop(1e-8, 100))
    for solution in (iterative, diagonal):
        primal = problem.primal(solution.theta)
        assert problem.gap(solution.theta, solution.u) <= 1e-8 * primal
        assert primal == pytest.approx(problem.primal(direct.theta), rel=1e-7)


def test_kkt_vanishes_at_the_optimum():
    problem = random_problem(0, "free")
    solution = solve_multinomial(problem, Stop(1e-14, 300))
    off = solution.theta - problem.combine(solution.u)
    assert np.linalg.norm(off[:, :-1]) <= 1e-6
    assert np.abs(solution.u.sum(axis=0)).max() <= 1e-8 * problem.c.sum()
    shares, _ = problem.probabilities(problem.scores(solution.theta))
    assert np.abs(solution.u - problem.dual_of(shares)).max() <= 1e-6 * problem.c.max()


def test_far_scores_are_finite():
    problem = random_problem(1, "free")
    theta = np.full((problem.K, problem.d + 1), 1e4) * np.arange(problem.K)[:, None]
    assert np.isfinite(problem.primal(theta))
    U = problem.dual_from_primal(theta)
    assert np.isfinite(problem.dual(U, problem.primal(theta)))
