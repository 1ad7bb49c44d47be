"""Gap-safe labels, the judge's and those that bounds are made with: none certified is wrong, with b perturbed; the rule that
trusts the returned b is wrong."""

from __future__ import annotations

import numpy as np
import pytest
from judge_cases import Problem, plain_dual, plain_primal, reference_fit

from gapless.judge.linear.labels import gap_safe_labels
from gapless.losses import BY_NAME
from gapless.problems.linear import LinearProblem
from gapless.readings.rows_outside import prove_outside


def problem(rng, loss, offset):
    n, d = int(rng.integers(10, 30)), int(rng.integers(1, 4))
    y = np.where(np.arange(n) % rng.choice([2, 8]) == 0, 1.0, -1.0)
    X = rng.choice([0.2, 1.0]) * (rng.normal(size=(n, d)) + rng.choice([0.3, 1.0]) * y[:, None])
    c = np.full(n, 10.0 ** rng.uniform(-4, 2))
    if rng.random() < 0.5:
        c = c * rng.uniform(0.2, 2.0, size=n)
    return Problem(X, y, c, loss, offset, 1.0 if offset != "penalised" else 2.0)


def optimal_offsets(p, w):
    """Smallest and largest best b for the scores of w (hinge), to the accuracy of w."""
    t = p.y - p.X @ w
    order = np.argsort(t)
    passed, wanted = np.cumsum(p.c[order]), p.c[p.y > 0].sum()
    room = 1e-9 * passed[-1]
    before = np.concatenate([[0.0], passed[:-1]])
    return t[order[np.argmax(passed >= wanted - room)]], t[order[np.flatnonzero(before <= wanted + room)[-1]]]


def wrong(side, p, w, offsets):
    """Labels that some optimal b contradicts, rows that touch the margin left out."""
    count = 0
    for b in offsets:
        margin = p.y * (p.X @ w + b)
        count += int(((side == 1) & (margin < 1 - 1e-5)).sum() + ((side == -1) & (margin > 1 + 1e-5)).sum())
    return count


def naive(p, w, b, gap):
    reach = np.linalg.norm(p.X, axis=1) * np.sqrt(2 * max(gap, 0.0))
    margin = p.y * (p.X @ w + b)
    return (margin - reach > 1).astype(int) - (margin + reach < 1).astype(int)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("offset", ["none", "penalised", "free"])
def test_no_certified_label_is_wrong(loss, offset):
    rng = np.random.default_rng(5)
    certified = rows = judged_outside = made_outside = 0
    for _ in range(25):
        p = problem(rng, loss, offset)
        w, b, u = reference_fit(p)
        best = plain_primal(p, w, b)
        ends = optimal_offsets(p, w) if offset == "free" and loss == "hinge" else (b, b)
        for wanted in 10.0 ** np.arange(-1.0, -10.5, -1.5):
            # along a random direction, b too, as far as the gap allows; sometimes b alone
            step = rng.normal(size=w.size) * np.linalg.norm(w) * (rng.random() < 0.7)
            shift = rng.normal() if offset == "free" else (rng.normal() * abs(b) if offset == "penalised" else 0.0)
            if offset == "free" and rng.random() < 0.5:
                shift = float(rng.choice(ends)) - b
            t = 1.0
            while t > 1e-12 and plain_primal(p, w + t * step, b + t * shift) - best > 0.5 * wanted * best:
                t *= 0.7
            w1, b1 = w + t * step, b + t * shift
            s = 1.0
            while s > 1e-12 and best - plain_dual(p, u * (1 - s), best) > 0.5 * wanted * best:
                s *= 0.5
            u1 = u * (1 - s)
            found = gap_safe_labels(p.X, p.y, p.c, loss, offset, w1, b1, u1, p.scale)
            assert wrong(found.side, p, w, ends) == 0
            made = LinearProblem.build(p.X, p.y.astype(np.int8), p.c, BY_NAME[loss], offset, p.scale)
            outside = prove_outside(made, made.join(w1, b1), u1).astype(int)
            assert wrong(outside, p, w, ends) == 0
            judged_outside += int((found.side == 1).sum())
            made_outside += int(outside.sum())
            if offset == "free":
                assert found.offset.low - 1e-6 <= min(ends)
                assert max(ends) <= found.offset.up + 1e-6
            certified += int((found.side != 0).sum())
            rows += p.y.size
    assert certified > 0.25 * rows
    assert 0 < made_outside
    assert abs(made_outside - judged_outside) <= 0.01 * judged_outside


@pytest.mark.parametrize(("loss", "ratio", "C"), [("hinge", 2, 1e-2), ("hinge", 4, 1e-2), ("squared_hinge", 16, 1e-2)])
def test_trusting_the_returned_offset_is_wrong(loss, ratio, C):
    rng = np.random.default_rng(9)
    caught = 0
    for _ in range(20):
        n = 32
        y = np.where(np.arange(n) % ratio == 0, 1.0, -1.0)
        X = 0.2 * (rng.normal(size=(n, 2)) + 0.3 * y[:, None])
        p = Problem(X, y, C * rng.uniform(0.2, 2.0, size=n), loss, "free")
        w, b, u = reference_fit(p)
        best = plain_primal(p, w, b)
        for wanted in (0.3, 1e-1, 1e-2, 1e-4):
            for shift in (4.0, -4.0):
                while plain_primal(p, w, b + shift) - best > wanted * best:
                    shift *= 0.9
                gap = plain_primal(p, w, b + shift) - plain_dual(p, u, best)
                caught += wrong(naive(p, w, b + shift, gap), p, w, (b, b)) > 0
                assert wrong(gap_safe_labels(X, y, p.c, loss, "free", w, b + shift, u).side, p, w, (b, b)) == 0
    assert caught >= 10


@pytest.mark.parametrize("loss", ["logistic", "squared"])
def test_other_losses_and_thresholds(loss):
    rng = np.random.default_rng(6)
    certified = 0
    for offset in ("none", "penalised", "free"):
        for _ in range(6):
            p = problem(rng, loss, offset)
            w, b, u = reference_fit(p)
            found = gap_safe_labels(p.X, p.y, p.c, loss, offset, w * 1.001, b, u * 0.999, p.scale, threshold=0.0)
            margin = p.y * (p.X @ w + b)
            assert not ((found.side == 1) & (margin < -1e-6)).any()
            assert not ((found.side == -1) & (margin > 1e-6)).any()
            certified += int((found.side != 0).sum())
    assert certified > 50


def test_nothing_is_certified_without_a_gap():
    X, y, c = np.array([[1.0], [-1.0]]), np.array([1.0, -1.0]), np.ones(2)
    infeasible = gap_safe_labels(X, y, c, "hinge", "none", np.ones(1), 0.0, np.array([5.0, 0.0]))
    assert not infeasible.side.any()
    assert infeasible.radius == np.inf
    one_class = gap_safe_labels(X, np.ones(2), c, "hinge", "free", np.zeros(1), 1.0, np.zeros(2))
    assert not one_class.side.any()
