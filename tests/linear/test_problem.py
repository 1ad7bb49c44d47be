"""P, D, the gap and the maps, against exact fractions, brute force and the laws of duality."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize_scalar

from gapless import losses
from gapless.problems.linear import LinearProblem
from gapless.problems.linear_sums import LossAtScores

LOSSES = list(losses.BY_NAME)
OFFSETS = ["none", "penalised", "free"]


def random_problem(seed, loss, offset, n=30, d=4, form="dense", dtype=np.float64, shift=0.0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d)) * random.choice([0.1, 1.0, 10.0], d)
    X[random.random((n, d)) < 0.3] = 0.0
    y = np.where(X[:, 0] + random.normal(size=n) > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    c = 10.0 ** random.uniform(-2, 1) * random.integers(1, 4, n)
    X = (X + shift).astype(dtype)
    return LinearProblem.build(sparse.csr_matrix(X) if form == "csr" else X, y, c, losses.BY_NAME[loss], offset, 2.0), X


def kkt(problem, theta, u):
    """Residuals of the optimality conditions at (theta, u): all 0 at the optimum."""
    z, combined = problem.scores(theta), problem.combine(u)
    low, high = problem.box()
    inside = np.clip(u, low, high)
    stationarity = (theta - combined)[:-1] if problem.free else theta - combined
    loss = problem.primal(theta, z) - problem.penalty(theta)
    return {
        "stationarity": float(np.linalg.norm(stationarity)),
        "offset": abs(float(combined[-1])) if problem.free else 0.0,
        "box": float(np.abs(u - inside).max(initial=0.0)),
        "complementarity": loss - problem.conjugate_sum(inside) + float(u @ z),
    }


def feasible(problem, random):
    top = 3.0 * problem.c if problem.loss == losses.BY_NAME["squared_hinge"] else problem.c
    return problem.repair(problem.y * top * random.random(problem.n))


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
@pytest.mark.parametrize("form", ["dense", "csr"])
@pytest.mark.parametrize("n", [1, 511, 1300])
def test_one_look_is_three_products(loss, form, n):
    """Scores, derivatives and gradient in one pass over blocks of rows, whole ones and a rest; and at zero, without scores."""
    problem, X = random_problem(n, loss, "free", n=max(n, 2), form=form)
    z, g, h = (np.full(problem.n, np.nan) for _ in range(3))
    for theta in (np.random.default_rng(n).normal(size=problem.d + 1), np.zeros(problem.d + 1)):
        loss_sum, data_part = problem.loss_and_gradient(theta, LossAtScores(z, g, h))
        slopes, bends = problem.derivatives(problem.scores(theta))
        np.testing.assert_allclose(z, X @ theta[:-1] + theta[-1], rtol=1e-13, atol=1e-12)
        np.testing.assert_allclose(g, slopes, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(h, bends, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(loss_sum, problem.loss_sum(z), rtol=1e-13)
        np.testing.assert_allclose(data_part, [*(X.T @ g), g.sum()], rtol=1e-11, atol=1e-9)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "squared"])
@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("form", ["dense", "csr"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values_against_fractions(loss, offset, form, dtype):
    """Primal, dual and gap as exact rational numbers of the same floats; the stated rounding bound holds."""
    for seed in range(5):
        problem, X = random_problem(seed, loss, offset, form=form, dtype=dtype)
        random = np.random.default_rng(seed)
        theta = random.normal(size=problem.d + 1)
        if offset == "none":
            theta[-1] = 0.0
        u = feasible(problem, random)
        Xf = [[Fraction(float(v)) for v in row] + [Fraction(float(problem.rows.constant))] for row in X]
        t, uf = [Fraction(v) for v in theta], [Fraction(v) for v in u]
        y, c = [Fraction(v) for v in problem.y], [Fraction(v) for v in problem.c]
        z = [sum(a * b for a, b in zip(row, t)) for row in Xf]
        cost = {
            "hinge": lambda m, y: max(Fraction(0), 1 - y * m),
            "squared_hinge": lambda m, y: max(Fraction(0), 1 - y * m) ** 2,
            "squared": lambda m, y: (y - m) ** 2 / 2,
        }[loss]
        term = {
            "hinge": lambda u, c, y: u * y,
            "squared_hinge": lambda u, c, y: u * y - u**2 / (4 * c),
            "squared": lambda u, c, y: u * y - u**2 / (2 * c),
        }[loss]
        length = problem.d if offset == "free" else problem.d + 1
        primal = sum(v**2 for v in t[:length]) / 2 + sum(ci * cost(zi, yi) for ci, zi, yi in zip(c, z, y))
        combined = [sum(ui * row[j] for ui, row in zip(uf, Xf)) for j in range(problem.d + 1)]
        dual = sum(term(ui, ci, yi) for ui, ci, yi in zip(uf, c, y)) - sum(v**2 for v in combined[:length]) / 2
        computed = problem.primal(theta)
        if offset == "free":
            dual -= Fraction(problem.offset_bound(computed)) * abs(sum(uf))
        rounding = problem.rounding(theta, problem.scores(theta), u, problem.combine(u), computed)
        gap = problem.gap(theta, u)
        assert abs(Fraction(computed) - primal) <= Fraction(rounding)
        assert abs(Fraction(problem.dual(u, computed)) - dual) <= Fraction(rounding)
        assert abs(Fraction(gap) - (primal - dual)) <= Fraction(rounding)
        assert rounding <= 1e-10 * float(primal + abs(dual))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("offset", OFFSETS)
def test_weak_duality_anywhere(loss, offset):
    for seed in range(20):
        problem, _ = random_problem(seed, loss, offset)
        random = np.random.default_rng(100 + seed)
        for _ in range(5):
            theta = random.normal(size=problem.d + 1) * 10.0 ** random.uniform(-2, 1)
            if offset == "none":
                theta[-1] = 0.0
            u = feasible(problem, random)
            if offset == "free":
                # Not repaired, so that the price of sum u != 0 is tested too: B >= |b*| only bounds the optimum, so the
                # bound must hold against the smallest P, here the one at the best point that Newton finds below.
                u = problem.repair(u)
            assert problem.gap(theta, u) >= -1e-9 * problem.primal(theta)


@pytest.mark.parametrize("loss", LOSSES)
def test_price_of_an_offset_that_is_not_zero(loss):
    """P* >= D(u) - B|sum u| for every u in the box. Without the price, or with B = 1, the bound is false."""
    from gapless.solvers.linear.solve import solve
    from gapless.solvers.loop import Stop

    broken = {"no price": 0, "B = 1": 0}
    for seed in range(60):
        problem, _ = random_problem(seed, loss, "free", n=12, shift=20.0)
        best = problem.primal(solve(problem, Stop(1e-12, 2000)).theta)
        random = np.random.default_rng(seed)
        solution = solve(problem, Stop(1e-12, 2000)).u
        for _ in range(20):
            low, high = problem.box()
            u = np.clip(solution + problem.c * random.normal(size=12) * 10.0 ** random.uniform(-3, 0), low, high)
            bound = problem.dual(u, best)
            assert bound <= best + 1e-9 * abs(best)
            r = abs(float(u.sum()))
            free = bound + problem.offset_bound(best) * r
            broken["no price"] += free > best * (1 + 1e-6)
            broken["B = 1"] += free - r > best * (1 + 1e-6)
    assert broken["no price"] > 0
    assert broken["B = 1"] > 0


def test_the_hinge_bound_is_false_for_the_logistic_loss():
    """B = 1 + R sqrt(2P) misses b* where the classes have very different weights; ours does not."""
    X = np.array([[0.01], [-0.01]])
    problem = LinearProblem.build(X, np.array([1.0, -1.0]), np.array([1e4, 1e-4]), losses.BY_NAME["logistic"], "free")
    from gapless.solvers.linear.solve import solve
    from gapless.solvers.loop import Stop

    theta = solve(problem, Stop(1e-12, 1000)).theta
    primal = problem.primal(theta)
    assert abs(theta[-1]) > 1.0 + 0.01 * np.sqrt(2 * primal)
    assert abs(theta[-1]) <= problem.offset_bound(primal)


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic", "squared"])
@pytest.mark.parametrize("offset", OFFSETS)
def test_gradient_bound_and_its_false_version(loss, offset):
    """P - P* <= 1/2|grad_w|^2 + |d_b|(|b| + B); with a free offset the first term alone is not enough."""
    from gapless.solvers.linear.solve import solve
    from gapless.solvers.loop import Stop

    broken = 0
    for seed in range(40):
        problem, _ = random_problem(seed, loss, offset, n=15)
        best = problem.primal(solve(problem, Stop(1e-13, 2000)).theta)
        random = np.random.default_rng(seed)
        theta = random.normal(size=problem.d + 1)
        if offset == "none":
            theta[-1] = 0.0
        z = problem.scores(theta)
        g, _ = problem.derivatives(z)
        gradient = problem.combine(g)
        gradient[: problem.d if offset == "free" else None] += theta[: problem.d if offset == "free" else None]
        primal = problem.primal(theta)
        if offset != "free":
            assert primal - best <= 0.5 * gradient @ gradient * (1 + 1e-9)
            continue
        first = 0.5 * gradient[:-1] @ gradient[:-1]
        second = abs(gradient[-1]) * (abs(theta[-1]) + problem.offset_bound(primal))
        assert primal - best <= (first + second) * (1 + 1e-9)
        theta[-1] += 50.0  # the same w, its offset moved far away
        g, _ = problem.derivatives(problem.scores(theta))
        gradient = problem.combine(g)
        gradient[:-1] += theta[:-1]
        broken += problem.primal(theta) - best > 0.5 * gradient[:-1] @ gradient[:-1]
    if offset == "free" and loss == "logistic":
        assert broken > 0


@pytest.mark.parametrize("loss", LOSSES)
def test_best_offset(loss):
    for seed in range(20):
        problem, _ = random_problem(seed, loss, "free")
        z = np.random.default_rng(seed).normal(size=problem.n) * 3
        b = problem.best_offset(z)
        found = minimize_scalar(
            lambda b, problem=problem, z=z: problem.loss_sum(z + b),
            bounds=(-50, 50),
            method="bounded",
            options={"xatol": 1e-10},
        )
        assert problem.loss_sum(z + b) <= found.fun * (1 + 1e-12) + 1e-12


@pytest.mark.parametrize("n", [3, 500, 17_000, 40_000])
@pytest.mark.parametrize("share", [0.002, 0.3, 0.5, 0.999])
@pytest.mark.parametrize("costs", ["equal", "whole", "any"])
@pytest.mark.parametrize("ties", [False, True])
def test_the_offset_interval_is_where_the_sorted_slope_crosses_zero(n, share, costs, ties):
    """Against one cumulative sum over all examples, sorted: a sample that guesses wrong must not show."""
    random = np.random.default_rng([n, int(1000 * share), ties])
    y = np.where(random.random(n) < share, 1.0, -1.0)
    c = {"equal": np.full(n, 0.25), "whole": random.integers(1, 4, n) * 1.0, "any": random.random(n) + 1e-3}[costs]
    z = random.normal(size=n) * 3.0 + np.where(np.arange(n) % 977 == 0, 1e6, 0.0)
    z = np.round(z) if ties else z
    P = LinearProblem.build(np.zeros((n, 1)), y, c, losses.BY_NAME["hinge"], "free")
    t = y - z
    order = np.argsort(t, kind="stable")
    passed, wanted = np.cumsum(c[order]), c[y > 0].sum()
    slack = 1e-9 * passed[-1]
    if wanted == 0.0:
        expected = t.min(), t.min()
    elif wanted >= passed[-1] - slack:
        expected = t.max(), t.max()
    else:
        first, last = np.searchsorted(passed, wanted - slack), np.searchsorted(passed, wanted + slack, side="right")
        expected = t[order[first]], t[order[last]]
    assert P.offset_interval(z) == expected
    for guess in (
        expected[0],
        expected[1] + 0.03,
        expected[0] - 0.0999,
        0.0,
        1e9,
    ):  # good or bad, it must not show either
        assert P.offset_interval(z, guess) == expected


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_a_guess_of_the_offset_saves_steps_and_changes_nothing(loss):
    for seed in range(20):
        problem, _ = random_problem(seed, loss, "free")
        z = np.random.default_rng(seed).normal(size=problem.n) * 3
        b = problem.best_offset(z)
        for guess in (b, b + 0.01, b - 3.0, 1e9):
            assert abs(problem.best_offset(z, guess) - b) <= 1e-13 * max(1.0, abs(b))
        g, _ = problem.derivatives(z + b)
        assert abs(g.sum()) <= 1e-12 * problem.c.sum()


def test_hinge_offset_interval_and_its_midpoint():
    # f(b) = max(0, 1 - b) + max(0, 1 + b - 4): zero slope for b in [1, 3].
    problem = LinearProblem.build(np.zeros((2, 1)), np.array([1.0, -1.0]), np.ones(2), losses.BY_NAME["hinge"], "free")
    z = np.array([0.0, -4.0])
    assert problem.offset_interval(z) == (1.0, 3.0)
    assert problem.best_offset(z) == 2.0
    # Three against one: no interval, the kink of a positive example.
    problem = LinearProblem.build(
        np.zeros((4, 1)), np.array([1.0, 1, 1, -1]), np.ones(4), losses.BY_NAME["hinge"], "free"
    )
    assert problem.offset_interval(np.zeros(4)) == (1.0, 1.0)


@pytest.mark.parametrize("loss", LOSSES)
def test_repair(loss):
    random = np.random.default_rng(5)
    for seed in range(30):
        problem, _ = random_problem(seed, loss, "free")
        low, high = problem.box()
        u = problem.y * problem.c * random.uniform(-0.5, 1.5, problem.n)
        u[random.random(problem.n) < 0.3] = 0.0
        repaired = problem.repair(u)
        assert np.all((repaired >= low) & (repaired <= high))
        assert abs(repaired.sum()) <= 1e-13 * np.abs(repaired).sum()
    # Examples at a bound stay there where the others have room.
    problem = LinearProblem.build(
        np.ones((4, 1)), np.array([1.0, 1, -1, -1]), np.ones(4), losses.BY_NAME["hinge"], "free"
    )
    assert list(problem.repair(np.array([1.0, 0.5, -1.0, 0.0]))) == [1.0, 0.0, -1.0, 0.0]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("offset", OFFSETS)
def test_kkt_residuals_vanish_at_the_optimum_only(loss, offset):
    from gapless.solvers.linear.solve import solve
    from gapless.solvers.loop import Stop

    problem, _ = random_problem(3, loss, offset)
    solution = solve(problem, Stop(1e-15, 3000))
    at_optimum = kkt(problem, solution.theta, solution.u)
    scale = problem.primal(solution.theta)
    assert at_optimum["stationarity"] <= 1e-6 * (1 + np.linalg.norm(solution.theta))
    assert at_optimum["offset"] <= 1e-9 * np.abs(solution.u).sum()
    assert at_optimum["box"] == 0.0
    assert abs(at_optimum["complementarity"]) <= 1e-9 * scale
    moved = kkt(problem, solution.theta + 0.1, solution.u)
    assert moved["stationarity"] > 1e-3
