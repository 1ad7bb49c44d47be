"""P, D, the gap of rows, the maps, and the solver on the five kinds."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from gapless.gram.blocks import build_gram
from gapless.kernels import RBF, Precomputed
from gapless.problems.kernel import KernelDual, quantile_interval
from gapless.solvers.kernel.solve import solve_kernel
from gapless.solvers.loop import Stop
from tests.kernel.problems import KINDS, optimum, random_problem


def solved(problem, tol=1e-11):
    solution = solve_kernel(problem, Stop(tol, 10_000, None))
    primal = problem.primal(solution.u, solution.theta, solution.scores)
    return solution, primal, problem.gap(solution.u, solution.theta, solution.scores, primal)


@pytest.mark.parametrize("seed", range(25))
def test_the_optimum_is_that_of_clarabel(seed):
    problem = random_problem(seed)
    _, value = optimum(problem)
    solution, primal, gap = solved(problem)
    assert solution.status == "converged" or abs(value) < 1e-9  # an optimum of 0 has no relative gap
    assert gap <= 1e-9 * max(1.0, abs(primal))
    assert primal == pytest.approx(value, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_the_gap_of_rows_is_primal_less_dual_in_fractions(kind):
    """The identity, for any beta in its box and any scalars, equalities kept or not; without the price, which is added."""
    rng = np.random.default_rng(KINDS.index(kind))
    problem = random_problem(KINDS.index(kind), 9, kind)
    K = np.round(problem.gram.block(np.arange(9), np.arange(9)), 3)
    K = 0.5 * (K + K.T)
    problem = KernelDual(
        build_gram(Precomputed(), K), *(getattr(problem, k) for k in ("at", "sign", "tau", "c", "totals", "kind"))
    )
    beta = rng.uniform(0.0, 1.0, problem.n) * problem.c
    beta[rng.random(problem.n) < 0.3] = 0.0
    scalars = rng.normal(size=len(problem.totals))
    F = Fraction
    at = np.arange(9) if problem.at is None else problem.at
    u = [sum((F(problem.sign[j]) * F(beta[j]) for j in np.flatnonzero(at == i)), F(0)) for i in range(9)]
    f = [sum(F(K[i, k]) * u[k] for k in range(9)) for i in range(9)]
    w2 = sum(u[i] * f[i] for i in range(9))
    b, t = F(scalars[0]), F(scalars[1]) if problem.nu_form else F(0)
    h = [F(problem.tau[j]) - F(problem.sign[j]) * (f[at[j]] + b) - t for j in range(problem.n)]
    T0, T1 = F(problem.totals[0]), F(problem.totals[1]) if problem.nu_form else F(0)
    primal = w2 / 2 + T0 * b + T1 * t + sum(F(problem.c[j]) * max(h[j], 0) for j in range(problem.n))
    dual = sum(F(problem.tau[j]) * F(beta[j]) for j in range(problem.n)) - w2 / 2
    rows = sum((F(problem.c[j]) - F(beta[j])) * max(h[j], 0) + F(beta[j]) * max(-h[j], 0) for j in range(problem.n))
    s_beta = sum(F(problem.sign[j]) * F(beta[j]) for j in range(problem.n))
    one_beta = sum(F(v) for v in beta)
    assert primal - dual == rows + b * (T0 - s_beta) + (t * (T1 - one_beta) if problem.nu_form else 0)
    scores = problem.scores(beta)
    found = problem.gap(beta, scalars, scores)
    price = problem.equality_price(beta, problem.primal(beta, scalars, scores))
    assert found - price == pytest.approx(float(primal - dual), rel=1e-11)
    assert problem.primal(beta, scalars, scores) == pytest.approx(float(primal), rel=1e-12)
    assert problem.dual(beta, scores, float(primal)) + price == pytest.approx(float(dual), rel=1e-11, abs=1e-11)


@pytest.mark.parametrize("seed", range(10))
def test_a_missed_equality_costs_at_most_its_price(seed):
    """D less its price is below the optimum for any beta in the box; without the price it is not, for some of these."""
    problem = random_problem(seed, 20)
    _, best = optimum(problem)
    rng = np.random.default_rng(seed)
    beta, _ = optimum(problem)
    beta = np.clip(beta, 0.0, problem.c)
    for size in (0.0, 0.01, 0.1, 0.5):
        moved = np.clip(beta + size * problem.c * rng.uniform(-1.0, 1.0, problem.n), 0.0, problem.c)
        scores = problem.scores(moved)
        scalars = problem.best_scalars(scores)
        primal = problem.primal(moved, scalars, scores)
        assert problem.dual(moved, scores, primal) <= best + 1e-7 * max(1.0, abs(best))
        assert problem.gap(moved, scalars, scores) >= primal - best - 1e-7 * max(1.0, abs(best))


@pytest.mark.parametrize("seed", range(15))
def test_the_best_scalars_are_best(seed):
    problem = random_problem(seed, 15)
    rng = np.random.default_rng(seed)
    beta = problem.repair(rng.uniform(0.0, 1.0, problem.n) * problem.c)
    scores = problem.scores(beta)
    best = problem.best_scalars(scores)
    least = problem.primal(beta, best, scores)
    for _ in range(200):
        other = best + rng.normal(size=best.size) * 10.0 ** rng.integers(-6, 1)
        assert problem.primal(beta, other, scores) >= least - 1e-10 * max(1.0, abs(least))
    low, high = problem.intervals(scores)[0]
    if not problem.nu_form and high > low:
        for b in (low, high):
            assert problem.primal(beta, np.array([b]), scores) == pytest.approx(least, rel=1e-10, abs=1e-10)


def test_an_interval_of_offsets_has_its_midpoint():
    """Two rows far apart at C small: both are bounded, every b between their kinks is best."""
    K = np.array([[1.0, 0.0], [0.0, 1.0]])
    problem = KernelDual.c_svc(build_gram(Precomputed(), K), np.array([1.0, -1.0]), np.array([0.1, 0.1]))
    solution, _, gap = solved(problem)
    assert gap <= 1e-15
    assert problem.intervals(solution.scores) == [pytest.approx((-0.9, 0.9))]
    assert solution.theta[0] == pytest.approx(0.0, abs=1e-15)
    assert quantile_interval(np.array([3.0, 1.0, 2.0]), np.ones(3), 1.0) == (1.0, 2.0)


@pytest.mark.parametrize("seed", range(10))
def test_repair_keeps_bounds_and_equalities(seed):
    problem = random_problem(seed)
    rng = np.random.default_rng(seed)
    beta = problem.repair(rng.normal(size=problem.n) * problem.c)
    assert (beta >= 0.0).all()
    assert (beta <= problem.c).all()
    assert max(map(abs, problem.equality_residuals(beta))) <= 1e-12 * problem.c.sum()
    assert max(map(abs, problem.equality_residuals(problem.start()))) <= 1e-12 * problem.c.sum()


def test_points_that_coincide_and_a_singular_matrix():
    """The polish works in the least-norm sense; rows with equal values share their alpha."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    X = np.concatenate([X, X, X])
    y = np.tile(np.where(X[:30, 0] > 0, 1.0, -1.0), 3)
    problem = KernelDual.c_svc(build_gram(RBF(0.5), X), y, np.full(90, 2.0))
    solution, primal, gap = solved(problem)
    assert solution.status == "converged"
    assert gap <= 1e-12 * primal
