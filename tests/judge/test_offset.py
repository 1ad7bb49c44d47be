"""What holds with a free offset, and that each false version would be caught here."""

from __future__ import annotations

import numpy as np
import pytest
from judge_cases import Problem, plain_dual, plain_primal, reference_fit

from gapless.judge import Task, distance_bound, evaluate
from gapless.judge.arithmetic.rounding import Interval, exactly
from gapless.judge.linear.offset import offset_bound, strong_convexity_bound
from gapless.judge.rows import as_rows

CLASSIFIERS = ("hinge", "squared_hinge", "logistic")


def unbalanced(rng, loss, n=20, d=2):
    """Few positives, light weights, a shift of all points: large best offsets."""
    y = np.where(np.arange(n) < rng.integers(1, 5), 1.0, -1.0)
    X = rng.normal(size=(n, d)) * rng.choice([0.1, 1.0, 3.0]) + rng.choice([0.0, 5.0])
    c = np.full(n, 10.0 ** rng.uniform(-3, 1)) * np.where(y > 0, 1.0, rng.choice([1.0, 30.0]))
    if loss == "squared":
        y = y * 3 + rng.normal(size=n)
    return Problem(X, y, c, loss, "free")


def radius2(p):
    return float((p.X**2).sum(axis=1).max())


@pytest.mark.parametrize("loss", [*CLASSIFIERS, "squared"])
def test_the_best_offset_is_within_its_bound(loss):
    rng = np.random.default_rng(1)
    broken = 0
    for _ in range(100):
        p = unbalanced(rng, loss)
        w, b, _ = reference_fit(p)
        best = plain_primal(p, w, b)
        primal = Interval(best * (1 - 1e-12), best * (1 + 1e-9))
        plus, minus = exactly(p.c[p.y > 0].sum()), exactly(p.c[p.y < 0].sum())
        target = float(np.abs(p.y).max())
        B = offset_bound(loss, primal, exactly(radius2(p)), target, plus, minus)
        assert abs(b) <= B.up * (1 + 1e-6)
        assert B.low <= B.up
        if loss == "logistic":
            # false: the hinge's bound for the logistic loss
            broken += abs(b) > offset_bound("hinge", primal, exactly(radius2(p))).up
    if loss == "logistic":
        assert broken >= 20


@pytest.mark.parametrize("loss", CLASSIFIERS)
def test_a_missed_sum_costs_the_bound(loss):
    rng = np.random.default_rng(2)
    false_without = 0
    for _ in range(100):
        p = unbalanced(rng, loss)
        w, b, u = reference_fit(p)
        best = plain_primal(p, w, b)
        # u with sum != 0: the best u without the constraint, or the optimal one moved
        if rng.random() < 0.5:
            u = reference_fit(Problem(p.X, p.y, p.c, loss, "none"))[2]
        else:
            u = np.where(p.y > 0, np.clip(u * 1.3, 0, p.c if loss != "squared_hinge" else None), u)
        task = Task(as_rows(p.X), p.y[None, :], p.c, loss, "free")
        found = evaluate(task, w[None, :], np.array([b]), u[None, :])[0]
        assert found.dual.low <= best * (1 + 1e-9)
        free = Problem(p.X, p.y, p.c, loss, "none")
        false_without += plain_dual(free, u, best) > best * (1 + 1e-6)  # D(u) without B|r|
    assert false_without >= 20


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic", "squared"])
def test_the_gradient_bound_needs_the_slope_in_b(loss):
    rng = np.random.default_rng(3)
    false_without = 0
    for _ in range(100):
        p = unbalanced(rng, loss)
        w, b, _ = reference_fit(p)
        best = plain_primal(p, w, b)
        w, b = w + 1e-3 * rng.normal(size=w.size), b + rng.normal() * rng.choice([0.1, 3.0])
        here = plain_primal(p, w, b)
        task = Task(as_rows(p.X), p.y[None, :], p.c, loss, "free")
        assert distance_bound(task, w, b) >= here - best - 1e-9 * here
        # false: 1/2 |grad_w|^2 alone
        false_without += 0.5 * gradient_square(p, w, b) < (here - best) * (1 - 1e-6)
    assert false_without >= 20


def gradient_square(p, w, b):
    z = p.X @ w + b
    if p.loss == "squared":
        slope = z - p.y
    elif p.loss == "squared_hinge":
        slope = -2 * p.y * np.maximum(0, 1 - p.y * z)
    else:
        slope = -p.y / (1 + np.exp(p.y * z))
    g = w + p.X.T @ (p.c * slope)
    return float(g @ g)


def test_strong_convexity_without_offset_is_half_the_gradient():
    assert strong_convexity_bound(exactly(4.0), exactly(9.0), "none", 3.0, 5.0) == pytest.approx(2.0)
    assert strong_convexity_bound(exactly(4.0), exactly(-9.0), "free", -3.0, 5.0) == pytest.approx(2.0 + 9 * 8)


def test_bounds_are_rounded_up():
    from fractions import Fraction

    B = offset_bound("hinge", exactly(0.3), exactly(0.7))
    assert (Fraction(B.up) - 1) ** 2 >= 2 * Fraction(0.3) * Fraction(0.7) >= (Fraction(B.low) - 1) ** 2


def test_no_weight_in_a_class_has_no_bound():
    zero = Interval(0.0, 0.0)
    assert offset_bound("logistic", exactly(1.0), exactly(1.0), 1.0, zero, exactly(2.0)).up == np.inf
    with pytest.raises(ValueError, match="no bound"):
        offset_bound("absolute", exactly(1.0), exactly(1.0))
