"""The bounds hold in exact arithmetic: 300 small problems against fractions and 60-digit values."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest
import scipy.sparse as sp
from judge_cases import (
    LOSSES,
    OFFSETS,
    exact_dual,
    exact_primal,
    plain_primal,
    random_point,
    random_problem,
    reference_fit,
    to_mpf,
)

from gapless.judge import Task, distance_bound, evaluate
from gapless.judge import rows as judge_rows
from gapless.judge.linear.recompute import score_bounds
from gapless.judge.linear.rigorous import dyadic, exact_figures, float_interval, scaled
from gapless.judge.rows import as_rows

F = Fraction


def mp(x):
    return to_mpf(x) if isinstance(x, Fraction) else mpmath.mpf(x)


def task_of(p, sparse=False):
    return Task(as_rows(sp.csr_matrix(p.X) if sparse else p.X), p.y[None, :], p.c, p.loss, p.offset, p.scale)


def exact_offset_bound(p, primal):
    """B by mpmath, 60 digits."""
    keep = p.c > 0
    largest = max(sum(F(v) ** 2 for v in x) for x in p.X[keep].tolist())
    reach = mpmath.sqrt(2 * mp(primal) * to_mpf(largest))
    if p.loss == "squared":
        return mpmath.mpf(float(np.abs(p.y[keep]).max())) + reach
    if p.loss != "logistic":
        return 1 + reach
    plus = sum(F(c) for c in p.c[keep & (p.y > 0)].tolist())
    minus = sum(F(c) for c in p.c[keep & (p.y < 0)].tolist())
    return abs(mpmath.log(to_mpf(plus / minus))) + reach


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("offset", OFFSETS)
def test_bounds_enclose_exact_values(loss, offset):
    rng = np.random.default_rng(LOSSES.index(loss) * 10 + OFFSETS.index(offset))
    for trial in range(25):  # 12 combinations: 300 problems
        p = random_problem(rng, loss, offset)
        w, b, u = random_point(rng, p)
        task = task_of(p, sparse=trial % 2 == 0)
        float_tier = evaluate(task, w[None, :], np.array([b]), u[None, :])[0]
        exact_tier = exact_figures(task, w[None, :], np.array([b]), u[None, :])[0]
        with mpmath.workdps(60):
            primal = exact_primal(p, w, b)
            dual, r = exact_dual(p, u)
            certified = mp(dual)
            if offset == "free" and r != 0:
                certified -= exact_offset_bound(p, primal) * abs(to_mpf(r))
            fuzz = mpmath.mpf(10) ** -50 * (abs(mp(primal)) + abs(certified) + 1)  # of the 60 digits themselves
            for low, high, truth in (
                (float_tier.primal.low, float_tier.primal.up, mp(primal)),
                (float_tier.dual.low, float_tier.dual.up, certified),
            ):
                assert low - fuzz <= truth <= high + fuzz
            assert mp(exact_tier.primal[0]) - fuzz <= mp(primal) <= mp(exact_tier.primal[1]) + fuzz
            assert mp(exact_tier.dual[0]) - fuzz <= certified <= mp(exact_tier.dual[1]) + fuzz
            assert mp(exact_tier.primal[1] - exact_tier.primal[0]) <= fuzz
            # B depends on where R sqrt(2P) is rounded only
            assert mp(exact_tier.dual[1] - exact_tier.dual[0]) <= fuzz
        if loss != "logistic":
            assert exact_tier.primal == (primal, primal)
        assert float_interval(exact_tier.primal).up <= float_tier.primal.up
        assert float_interval(exact_tier.dual).low >= float_tier.dual.low
        # the claim that matters: an upper bound on P - P*, whatever the point
        best = exact_primal(p, *reference_fit(p)[:2])
        with mpmath.workdps(60):
            assert mpmath.mpf(float_tier.gap.up) >= mp(primal) - mp(best) - fuzz
            assert mpmath.mpf(float_tier.dual.low) <= mp(best) + fuzz


@pytest.mark.parametrize("loss", LOSSES[1:])
@pytest.mark.parametrize("offset", OFFSETS)
def test_distance_from_the_gradient_alone(loss, offset):
    rng = np.random.default_rng(7)
    for _ in range(30):
        p = random_problem(rng, loss, offset)
        w, b, _ = random_point(rng, p)
        best = plain_primal(p, *reference_fit(p)[:2])
        here = plain_primal(p, w, b)
        assert distance_bound(task_of(p), w, b) >= here - best - 1e-9 * abs(here)


def test_bounds_are_tight():
    rng = np.random.default_rng(11)
    n, d = 5000, 40
    X = rng.normal(size=(n, d))
    y = np.where(rng.random((1, n)) < 0.5, 1.0, -1.0)
    W = rng.normal(size=(1, d)) / 10
    U = y * rng.random((1, n))
    for loss in LOSSES:
        found = evaluate(Task(as_rows(X), y, np.ones(n), loss, "free"), W, np.array([0.1]), U)[0]
        assert found.primal.up - found.primal.low < 1e-13 * found.primal.up
        assert found.dual.up - found.dual.low < 2e-12 * max(abs(found.dual.low), found.primal.up)


@pytest.mark.parametrize("order", ["reversed", "pairs", "one by one", "long", "shuffled"])
def test_scores_hold_for_any_order_of_summation(order, monkeypatch):
    rng = np.random.default_rng(3)

    def scores(self, W):
        out = np.zeros((self.n, len(W)))
        for i, x in enumerate(self.values):
            for s, w in enumerate(W):
                products = x * w
                if order == "reversed":
                    products = products[::-1]
                elif order == "shuffled":
                    products = rng.permutation(products)
                if order == "pairs":
                    out[i, s] = products[::2].sum() + products[1::2].sum()
                elif order == "long":  # as with fused multiply-add: products are not rounded
                    out[i, s] = float((x.astype(np.longdouble) * w).sum())
                else:
                    total = 0.0
                    for t in products:
                        total += t
                    out[i, s] = total
        return out

    monkeypatch.setattr(judge_rows.DenseBlock, "scores", scores)
    for _ in range(20):
        d = int(rng.integers(1, 30))
        X = rng.normal(size=(4, d)) * 10.0 ** rng.integers(-8, 9, size=d)
        X[2] = -X[1]
        w = rng.normal(size=(1, d)) * 10.0 ** rng.integers(-8, 9, size=d)
        b = rng.normal(size=1)
        block = next(iter(as_rows(X).blocks()))
        low, high = score_bounds(block, block.absolute(), w, b)
        for i in range(4):
            truth = sum(F(a) * F(v) for a, v in zip(X[i].tolist(), w[0].tolist(), strict=True)) + F(float(b[0]))
            assert F(float(low[0, i])) <= truth <= F(float(high[0, i]))


def test_products_that_underflow_are_enclosed():
    X = np.array([[1e-200, 3e-310, 5e-324], [1e-170, -1e-170, 2.0]])
    p = np.array([[1e-160, 1e10, 0.3]])
    block = next(iter(as_rows(X).blocks()))
    low, high = score_bounds(block, block.absolute(), p, np.zeros(1))
    for i in range(2):
        truth = sum(F(a) * F(v) for a, v in zip(X[i].tolist(), p[0].tolist(), strict=True))
        assert F(float(low[0, i])) <= truth <= F(float(high[0, i]))
    y, c = np.array([[1.0, -1.0]]), np.array([1e-300, 1e-305])
    U = np.array([[5e-301, -1e-306]])
    for loss in LOSSES:
        for offset in OFFSETS:
            task = Task(as_rows(X), y, c, loss, offset)
            found = evaluate(task, p, np.zeros(1), U)[0]
            exact = exact_figures(task, p, np.zeros(1), U)[0]
            assert F(found.primal.low) <= exact.primal[0] <= exact.primal[1] <= F(found.primal.up)
            assert F(found.dual.low) <= exact.dual[0] <= exact.dual[1] <= F(found.dual.up)


def test_overflow_is_said():
    X = np.array([[1e200], [-1e200]])
    task = Task(as_rows(X), np.array([[1.0, -1.0]]), np.ones(2), "squared_hinge", "none")
    found = evaluate(task, np.array([[-1e200]]), np.zeros(1), np.zeros((1, 2)))[0]
    assert not found.finite


def test_infeasible_has_no_dual():
    X = np.eye(2)
    task = Task(as_rows(X), np.array([[1.0, -1.0]]), np.ones(2), "hinge", "none")
    over = np.nextafter(1.0, 2)
    found = evaluate(task, np.zeros((1, 2)), np.zeros(1), np.array([[over, 0.0]]))[0]
    assert not found.feasible
    assert found.dual.up == -np.inf
    assert exact_figures(task, np.zeros((1, 2)), np.zeros(1), np.array([[over, 0.0]]))[0].dual is None
    assert evaluate(task, np.zeros((1, 2)), np.zeros(1), np.array([[1.0, -1.0]]))[0].feasible


def test_one_class_only():
    X = np.array([[1.0], [2.0]])
    for loss in ("hinge", "squared_hinge", "logistic"):
        task = Task(as_rows(X), np.array([[1.0, 1.0]]), np.ones(2), loss, "free")
        found = evaluate(task, np.zeros((1, 1)), np.array([1.0]), np.zeros((1, 2)))[0]
        assert found.feasible
        assert -1e-300 <= found.dual.low <= 0.0
        off = evaluate(task, np.zeros((1, 1)), np.array([1.0]), np.full((1, 2), 0.01))[0]
        assert off.dual.low <= 0.0
        assert loss != "logistic" or off.dual.low == -np.inf


def test_dyadic_is_exact():
    values = np.array([0.0, 1.0, -3.75, 5e-324, -(2.0**-1022), 1e308, 0.1])
    found = dyadic(values)
    assert [scaled(m, found.exponent) for m in found.integers] == [F(v) for v in values.tolist()]


def test_floats_around_fractions():
    third = F(1, 3)
    interval = float_interval((third, third))
    assert F(interval.low) < third < F(interval.up)
    assert interval.up == np.nextafter(interval.low, 1)
    assert float_interval((F(1, 2), F(1, 2))).low == 0.5 == float_interval((F(1, 2), F(1, 2))).up
    huge = F(10) ** 400
    assert float_interval((huge, huge)).up == np.inf
    assert float_interval((huge, huge)).low == np.finfo(float).max
