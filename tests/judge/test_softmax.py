"""Multinomial logistic regression: bounds that hold, a domain decided exactly, false versions that are caught."""

from __future__ import annotations

import math
from fractions import Fraction

import judge_softmax as js
import mpmath
import numpy as np
import pytest
import scipy.sparse as sp
from judge_cases import OFFSETS, Case, file_bytes, make_case
from judge_forgeries import CHANGES, forgeries

from gapless.judge import CertificateError, Task, check, read
from gapless.judge.arithmetic.exact_elementary import log_sum_exp_fractions, shares_entropy_fractions
from gapless.judge.arithmetic.rounding import ZERO, Interval, exactly
from gapless.judge.linear.rigorous import float_interval
from gapless.judge.linear.softmax import (
    entropy_bounds,
    evaluate_softmax,
    exact_softmax,
    loss_bounds,
    offset_bound,
    shares,
    true_class,
)
from gapless.judge.rows import as_rows

F = Fraction


def task_of(p, sparse=False):
    return Task(as_rows(sp.csr_matrix(p.X) if sparse else p.X), p.y[None, :], p.c, "softmax", p.offset, p.scale)


# ------------------------------------------------------------------- enclosures


@pytest.mark.parametrize("offset", OFFSETS)
def test_bounds_enclose_exact_values(offset):
    rng = np.random.default_rng(OFFSETS.index(offset))
    for trial in range(34):  # 102 problems
        p = js.random_multi(rng, offset)
        W, b, U = js.random_point(rng, p)
        if trial % 3 == 0:
            W, b = (a.astype(np.float32).astype(float) for a in (W, b))
        task = task_of(p, sparse=trial % 2 == 0)
        floats, exact = evaluate_softmax(task, W, b, U)[0], exact_softmax(task, W, b, U)[0]
        assert floats.feasible
        primal, (dual, missed) = js.exact_primal(p, W, b), js.exact_dual(p, U)
        best = js.exact_primal(p, *js.fit(p)[:2])
        with mpmath.workdps(60):
            if offset == "free":
                B = js.exact_offset_bound(p, primal)
                dual -= B * js.mpf(missed)
                assert js.mpf(exact.offset_bound[0]) * (1 - mpmath.mpf(10) ** -50) <= B
                assert js.mpf(exact.offset_bound[1]) * (1 + mpmath.mpf(10) ** -50) >= B
            fuzz = mpmath.mpf(10) ** -50 * (abs(primal) + abs(dual) + 1)  # of the 60 digits themselves
            for low, high, truth in (
                (floats.primal.low, floats.primal.up, primal),
                (floats.dual.low, floats.dual.up, dual),
                (*map(js.mpf, exact.primal), primal),
                (*map(js.mpf, exact.dual), dual),
            ):
                assert low - fuzz <= truth <= high + fuzz
            assert exact.primal[1] - exact.primal[0] <= F(10) ** -45 * (1 + F(float(p.c.sum())))
            # weak duality, whatever the point
            assert mpmath.mpf(floats.dual.low) <= best + fuzz
            assert mpmath.mpf(floats.gap.up) >= primal - best - fuzz
        assert float_interval(exact.primal).up <= floats.primal.up
        assert float_interval(exact.dual).low >= floats.dual.low
        assert floats.textbook >= floats.primal.up - floats.primal.low + floats.dual.up - floats.dual.low


def test_loss_of_any_scores():
    rng = np.random.default_rng(5)
    for K in (2, 3, 7, 40):
        m = 60
        z = rng.normal(size=(K, m)) * 10.0 ** rng.integers(-9, 5, size=m)
        z[:, :5] = 0.0
        z[:, 5:8] = 1e308 * rng.choice([-0.4, 0.4], size=(K, 3))
        y = rng.integers(K, size=m)
        z[y[10:20], np.arange(10, 20)] += 40.0  # tiny losses
        low, high = loss_bounds(true_class(y, K), z, z)
        wide = loss_bounds(true_class(y, K), z - np.abs(z) * 1e-6, z + np.abs(z) * 1e-6)
        with mpmath.workdps(60):
            for i in range(m):
                v = [F(x) for x in z[:, i].tolist()]
                truth = mpmath.log1p(sum(mpmath.exp(js.mpf(x - v[y[i]])) for k, x in enumerate(v) if k != y[i]))
                assert low[i] <= truth <= high[i]
                assert wide[0][i] <= low[i]
                assert high[i] <= wide[1][i]
                if np.abs(z[:, i]).max() < 1e3:
                    assert high[i] - low[i] <= 1e-12 * abs(truth) + 1e-320


def test_intervals_of_scores_hold_all_scores_within():
    rng = np.random.default_rng(6)
    K, m = 4, 200
    z, width = rng.normal(size=(K, m)) * 3, rng.random((K, m)) * rng.choice([1e-12, 0.1, 2.0], size=m)
    y = rng.integers(K, size=m)
    low, high = loss_bounds(true_class(y, K), z - width, z + width)
    for corner in range(50):
        inside = z + width * (rng.choice([-1.0, 1.0], size=z.shape) if corner else 0.0)
        value = js.plain_losses(inside, y)
        assert (low <= value * (1 + 1e-13) + 1e-15).all()
        assert (value <= high * (1 + 1e-13) + 1e-15).all()


def test_entropy_keeps_its_digits():
    """Certain rows (p_y close to 1), impossible ones (p_y close to 0), tiny and huge weights."""
    rng = np.random.default_rng(7)
    K, m = 4, 300
    c = 10.0 ** rng.uniform(-300, 300, size=m)
    P = rng.dirichlet(np.full(K, 0.5), size=m).T * 10.0 ** rng.choice([-200.0, -9.0, 0.0, 0.0], size=m)
    y = rng.integers(K, size=m)
    own = true_class(y, K)
    U = js.closed(-c * (1 - 16 * K * js.UNIT) * P, y)
    with np.errstate(all="ignore"):
        found = shares(own, c, U)
        low, high = entropy_bounds(c, found)
    assert found.feasible.all()
    for i in range(m):
        weight = F(float(c[i]))
        rest = [F(-v) / weight if k != y[i] else F(0) for k, v in enumerate(U[:, i].tolist())]
        with mpmath.workdps(400):
            for k, q in enumerate([*rest, 1 - sum(rest)]):  # the true class is the last line
                truth = -js.mpf(weight) * js.mpf(q) * mpmath.log(js.mpf(q)) if q > 0 else mpmath.mpf(0)
                assert low[k, i] <= truth <= high[k, i]
                assert high[k, i] - low[k, i] <= 1e-13 * truth + 1e-15 * js.mpf(weight) * js.mpf(q) + 1e-320


def test_fractions_of_sums():
    rng = np.random.default_rng(8)
    for _ in range(40):
        s = [F(v) for v in (rng.normal(size=4) * 10.0 ** rng.integers(-6, 3)).tolist()]
        low, high = log_sum_exp_fractions(s)
        p = [F(v) for v in rng.random(4).tolist()]
        p = [v / sum(p) for v in p]
        below, above = shares_entropy_fractions(p)
        with mpmath.workdps(80):
            truth = mpmath.log1p(sum(mpmath.exp(js.mpf(v)) for v in s))
            assert js.mpf(low) <= truth <= js.mpf(high)
            assert high - low < F(10) ** -50
            entropy = -sum(js.mpf(v) * mpmath.log(js.mpf(v)) for v in p)
            assert js.mpf(below) <= entropy <= js.mpf(above)
    assert log_sum_exp_fractions([F(-(10**6))] * 2)[0] == 0


def test_bounds_are_tight():
    rng = np.random.default_rng(11)
    n, d, K = 5000, 40, 6
    p = js.Multi(rng.normal(size=(n, d)), rng.integers(K, size=n), np.ones(n), K, "free")
    W, b = rng.normal(size=(K, d)) / 10, rng.normal(size=K)
    U = js.closed(-(1 - 4 * K * js.UNIT) * js.probabilities(W @ p.X.T + b[:, None]), p.y)
    found = evaluate_softmax(task_of(p), W, b, U)[0]
    assert found.primal.up - found.primal.low < 1e-13 * found.primal.up
    assert found.dual.up - found.dual.low < 2e-12 * max(abs(found.dual.low), found.primal.up)
    primal, dual, rounding = js.figures(p, W, b, U)
    assert found.primal.low - rounding <= primal <= found.primal.up + rounding
    assert found.dual.low - rounding <= dual <= found.dual.up + rounding
    assert rounding <= found.textbook <= 1e-7 * primal


def test_products_that_underflow_are_enclosed():
    X = np.array([[1e-200, 3e-310, 5e-324], [1e-170, -1e-170, 2.0], [1.0, 0.0, 1e-310]])
    W = np.array([[1e-160, 1e10, 0.3], [0.0, 1e-300, -0.2], [5e-324, 1.0, 1e-320]])
    c, y = np.array([1e-300, 1e-305, 2e-320]), np.array([0, 1, 2])
    U = js.closed(np.array([[0.0, -1e-306, -1e-323], [-5e-301, 0.0, -5e-324], [-1e-310, -3e-324, 0.0]]), y)
    for offset in OFFSETS:
        task = task_of(js.Multi(X, y, c, 3, offset))
        found, exact = evaluate_softmax(task, W, np.zeros(3), U)[0], exact_softmax(task, W, np.zeros(3), U)[0]
        assert F(found.primal.low) <= exact.primal[0] <= exact.primal[1] <= F(found.primal.up)
        assert F(found.dual.low) <= exact.dual[0] <= exact.dual[1] <= F(found.dual.up)


def test_overflow_is_said():
    p = js.Multi(np.array([[1e200], [-1e200], [1.0]]), np.arange(3), np.ones(3), 3, "none")
    found = evaluate_softmax(task_of(p), np.array([[-1e200], [1e200], [0.0]]), np.zeros(3), np.zeros((3, 3)))[0]
    assert not found.finite


# ------------------------------------------------------------------- the domain


def exactly_feasible(c, y, u):
    """By fractions: signs, and the sum of the others at most c."""
    rest = [F(v) for k, v in enumerate(u) if k != y]
    return all(v <= 0 for v in rest) and -sum(rest) <= F(c)


def test_feasible_is_decided_exactly():
    rng = np.random.default_rng(12)
    K, m = 5, 2000
    c = 10.0 ** rng.uniform(-3, 3, size=m)
    y = rng.integers(K, size=m)
    P = rng.dirichlet(np.ones(K), size=m).T
    P[y, np.arange(m)] = 0.0
    P /= P.sum(axis=0)  # sums of 1 up to rounding, on either side
    U = js.closed(-c * P, y)
    wanted = np.array([exactly_feasible(c[i], y[i], U[:, i].tolist()) for i in range(m)])
    assert 300 < wanted.sum() < 1700
    assert (shares(true_class(y, K), c, U).feasible == wanted).all()
    # sums that are c to the last bit, and one unit of 2^-1074 beyond it
    c = np.array([1.0, 1.0, 1.0, 2.0**-1073, 0.0, 0.0])
    U = -np.array([[0, 0, 0, 0, 0, 0], [0.5, 0.5, 0.5, 5e-324, 0, 5e-324], [0.5, 0.5, 0.5 - 2**-54, 1e-323, 0, 0.0]])
    U[2, 1] -= 2.0**-53
    U = js.closed(U, np.zeros(6, dtype=int))
    found = shares(true_class(np.zeros(6, dtype=int), 3), c, U).feasible
    assert found.tolist() == [True, False, True, False, True, False]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e308])
def test_what_is_no_number_is_not_feasible(value):
    y = np.zeros(2, dtype=int)
    for k in range(3):
        U = np.zeros((3, 2))
        U[k, 1] = value
        with np.errstate(all="ignore"):
            assert shares(true_class(y, 3), np.ones(2), U).feasible.tolist() == [True, False]


def test_the_stored_entry_of_the_true_class():
    """It must be the sum of the others but for rounding, and is not read beyond that."""
    rng = np.random.default_rng(13)
    p = js.random_multi(rng, "free")
    p.c[:] = 1.0
    W, b, U = js.fit(p)
    rows = np.arange(p.y.size)
    before = evaluate_softmax(task_of(p), W, b, U)[0]
    for factor, fine in ((1 + 2**-52, True), (1 - 2**-52, True), (1 + 1e-13, False), (1 - 1e-9, False), (-1, False)):
        V = U.copy()
        V[p.y, rows] *= factor
        found = evaluate_softmax(task_of(p), W, b, V)[0]
        assert found.feasible == fine
        assert (found.dual == before.dual) == fine
        exact = exact_softmax(task_of(p), W, b, V)[0]
        assert exact.dual == (exact_softmax(task_of(p), W, b, U)[0].dual if fine else None)


def test_many_classes_added_up_in_any_order():
    rng = np.random.default_rng(14)
    K, m = 400, 50
    c, y = np.ones(m), rng.integers(K, size=m)
    U = js.closed(-0.999 * rng.dirichlet(np.full(K, 0.1), size=m).T, y)
    for order in (np.arange(K), np.arange(K)[::-1], rng.permutation(K)):
        V = U.copy()
        for i in range(m):
            total = 0.0
            for k in order.tolist():
                total -= U[k, i] if k != y[i] else 0.0
            V[y[i], i] = total
        assert shares(true_class(y, K), c, V).feasible.all()


def test_infeasible_has_no_dual():
    p = js.Multi(np.eye(3), np.arange(3), np.ones(3), 3, "none")
    over = np.nextafter(1.0, 2)
    U = js.closed(np.array([[0, 0, 0], [-over, 0, 0], [0, 0, 0.0]]), p.y)
    found = evaluate_softmax(task_of(p), np.zeros((3, 3)), np.zeros(3), U)[0]
    assert not found.feasible
    assert found.dual.up == -np.inf
    assert exact_softmax(task_of(p), np.zeros((3, 3)), np.zeros(3), U)[0].dual is None
    U = np.clip(U, -1, 1)
    assert evaluate_softmax(task_of(p), np.zeros((3, 3)), np.zeros(3), U)[0].feasible


# ------------------------------------------------------------------- the free offset


def unbalanced(rng, n=24, d=2):
    """Rare classes, light weights, a shift of all points: large best offsets."""
    K = int(rng.integers(3, 6))
    y = np.concatenate([np.arange(K), np.where(rng.random(n - K) < 0.1, rng.integers(K, size=n - K), 0)])
    X = rng.normal(size=(n, d)) * rng.choice([0.1, 1.0, 3.0]) + rng.choice([0.0, 5.0])
    X = X + rng.choice([0.0, 2.0]) * rng.normal(size=(K, d))[y]
    c = 10.0 ** rng.uniform(-4, 1) * (rng.choice([1.0, 30.0], size=K))[y]
    return js.Multi(X, y, c, K, "free")


def bound_of(p, best):
    C = [exactly(v) for v in np.bincount(p.y, p.c, minlength=p.K).tolist()]
    primal = Interval(best * (1 - 1e-12), best * (1 + 1e-9))
    return offset_bound(primal, exactly(float((p.X**2).sum(axis=1).max())), C)


def test_the_best_offsets_are_within_their_bound():
    rng = np.random.default_rng(1)
    without_logarithm = without_reach = halved = 0
    for _ in range(150):
        p = unbalanced(rng)
        W, b, _ = js.fit(p)
        B, best = bound_of(p, js.plain_primal(p, W, b)), js.plain_primal(p, W, b)
        half = 0.5 * (b.max() - b.min())
        assert half <= B.up * (1 + 1e-6)
        assert B.low <= B.up
        assert B.up == pytest.approx(js.plain_offset_bound(p, best), rel=1e-8)
        logarithm = 0.5 * math.log(np.bincount(p.y, p.c).max() / np.bincount(p.y, p.c).min())
        without_logarithm += half > (B.up - logarithm) * (1 + 1e-6)
        without_reach += half > logarithm * (1 + 1e-6)
        halved += half > 0.5 * B.up * (1 + 1e-6)
    assert without_logarithm >= 20
    assert without_reach >= 20
    assert halved >= 20


def test_a_missed_sum_costs_the_bound():
    rng = np.random.default_rng(2)
    false_without = false_without_logarithm = 0
    for _ in range(150):
        p = unbalanced(rng)
        W, b, U = js.fit(p)
        best = js.plain_primal(p, W, b)
        # U with sums != 0: the best U without an offset, the optimal one moved, or anything
        choice = rng.integers(3)
        if choice == 0:
            U = js.fit(js.Multi(p.X, p.y, p.c, p.K, "none"))[2]
        elif choice == 1:
            U = js.closed(U * (1 - 0.5 * rng.random((1, p.y.size))), p.y)
        else:
            U = js.closed(-p.c * 0.999 * rng.dirichlet(np.ones(p.K), size=p.y.size).T, p.y)
        found = evaluate_softmax(task_of(p), W, b, U)[0]
        assert found.feasible
        assert found.dual.low <= best * (1 + 1e-9)
        false_without += js.plain_dual(p, U, best, cost=0.0) > best * (1 + 1e-6)
        R = float(np.sqrt((p.X**2).sum(axis=1).max()))
        cheap = js.plain_dual(p, U, best, cost=0.0) - R * math.sqrt(best) * float(np.abs(U.sum(axis=1)).sum())
        false_without_logarithm += cheap > best * (1 + 1e-6)
    assert false_without >= 20
    assert false_without_logarithm >= 1


def test_the_bound_is_met_where_the_rows_say_nothing():
    """x = 0: b* = ln C_k, so half of the range is the logarithm, and B cannot be smaller."""
    p = js.Multi(np.zeros((9, 1)), np.array([0, 0, 0, 0, 0, 0, 1, 1, 2]), np.ones(9), 3, "free")
    W, b, U = js.fit(p)
    B = bound_of(p, js.plain_primal(p, W, b))
    assert 0.5 * (b.max() - b.min()) == pytest.approx(B.up, rel=1e-9)
    assert B.up == pytest.approx(0.5 * math.log(6), rel=1e-12)
    # and so is the cost of r: any smaller share of it is false for some U close to the optimum
    U = js.closed(np.where(p.y == 0, U, U * (1 - 1e-4)), p.y)
    best = js.plain_primal(p, W, b)
    assert js.plain_dual(p, U, best) <= best
    assert js.plain_dual(p, U, best, cost=0.0) > best


def test_no_weight_in_a_class_has_no_bound():
    assert offset_bound(exactly(1.0), exactly(1.0), [ZERO, exactly(2.0), exactly(1.0)]).up == np.inf
    p = js.Multi(np.eye(4), np.array([0, 1, 2, 0]), np.array([1.0, 1.0, 0.0, 1.0]), 3, "free")
    task, zero = task_of(p), np.zeros((3, 4))
    assert evaluate_softmax(task, zero, np.zeros(3), zero)[0].dual.low >= -1e-300  # r = 0 asks for no bound
    assert exact_softmax(task, zero, np.zeros(3), zero)[0].dual == (0, 0)
    U = js.closed(np.array([[0, -0.1, 0, 0], [-0.2, 0, 0, 0], [0, 0, 0, -0.1]]), p.y)
    assert evaluate_softmax(task, zero, np.zeros(3), U)[0].dual.low == -np.inf
    assert exact_softmax(task, zero, np.zeros(3), U)[0].dual is None


# ------------------------------------------------------------------- documents

CASES = [
    dict(offset=offset, **more)
    for offset, more in [
        ("none", {"n_classes": 3, "weighted": True}),
        ("none", {"n_classes": 5, "spoil": 0.03, "C": 100.0}),
        ("penalised", {"n_classes": 3, "scale": 2.5, "class_weight": "balanced"}),
        ("penalised", {"n_classes": 4, "kind": "str", "spoil": 0.01}),
        ("free", {"n_classes": 3, "dtype": "float32", "C": 0.1}),
        ("free", {"n_classes": 4, "weighted": True, "class_weight": {0: 2.0}, "spoil": 0.02}),
        ("free", {"n_classes": 3, "sparse": True, "kind": "float", "C": 10.0}),
    ]
]


def accepted(case, rigorous=False):
    try:
        return bool(check(case.document, case.arrays, case.X, case.y, case.sample_weight, rigorous))
    except CertificateError:
        return False


@pytest.mark.parametrize("number", range(len(CASES)))
def test_false_changes_are_refused(number, tmp_path):
    rng = np.random.default_rng(number)
    case = make_case(400 + number, "logistic", **CASES[number])
    assert case.document["problem"]["loss"] == "softmax"
    assert all(accepted(case, rigorous) for rigorous in (False, True, "exact"))
    place = tmp_path / "model.gapless"
    place.write_bytes(file_bytes(case.document, case.arrays))
    document, arrays = read(place)
    assert document == case.document
    assert accepted(Case(document, arrays, case.X, case.y, case.sample_weight))
    names = []
    for _ in range(2):
        for name, forged in forgeries(case, rng):
            assert not accepted(forged), f"{CASES[number]}: {name} was accepted"
            names.append(name)
    assert len({change.__name__ for change in CHANGES} & set(names)) >= 72


def test_three_classes_have_the_softmax_loss_and_two_have_not():
    case = make_case(1, "logistic", n_classes=3)
    for key, value in (("loss", "logistic"), ("positive", 0), ("positive", 2)):
        forged = case.copy()
        block = forged.document["problem"] if key == "loss" else forged.document["certificate"]["subproblems"][0]
        block[key] = value
        assert not accepted(forged)
    # K problems of two classes, each true: not what LogisticRegression means
    ovr = make_case(1, "hinge", n_classes=3)
    ovr.document["estimator"], ovr.document["problem"]["loss"] = "LogisticRegression", "logistic"
    del ovr.document["parameters"]["loss"]
    verdict = check(ovr.document, ovr.arrays, ovr.X, ovr.y)
    assert "loss" in {claim.name for claim in verdict.failed}
    # two classes as two lines
    two = make_case(1, "logistic", "none")
    p = js.Multi(two.X, two.y, np.ones(len(two.y)), 2, "none")
    W, b, U = js.fit(p)
    primal, dual, rounding = js.figures(p, W, b, U)
    sub = two.document["certificate"]["subproblems"][0]
    sub.update(positive=None, primal=primal, dual=dual, gap=primal - dual, rounding=rounding)
    sub["relative_gap"] = sub["gap"] / max(primal, dual)
    two.document["certificate"].update({k: sub[k] for k in ("primal", "dual", "gap", "rounding", "relative_gap")})
    two.document["problem"]["loss"] = "softmax"
    verdict = check(two.document, {"coef": W, "intercept": b, "dual": U}, two.X, two.y)
    assert [claim.name for claim in verdict.failed] == ["loss"]


def test_one_against_rest_is_no_softmax():
    case = make_case(2, "logistic", n_classes=3)
    for value, fine in (("ovr", False), ("multinomial", True), ("auto", True), ("deprecated", True)):
        case.document["parameters"]["multi_class"] = value
        assert accepted(case) == fine


def test_only_the_softmax_loss_has_no_positive_class():
    case = make_case(3, "hinge", n_classes=3)
    case.document["certificate"]["subproblems"][1]["positive"] = None
    with pytest.raises(CertificateError, match="only the softmax loss"):
        check(case.document, case.arrays, case.X, case.y)


def test_a_rounding_error_beyond_float64_is_refused():
    case = make_case(4, "logistic", "free", n_classes=4, n=200)
    sub, block = case.document["certificate"]["subproblems"][0], case.document["certificate"]
    honest = sub["rounding"]
    for factor, fine in ((0.01, True), (1.0, True), (1e3, False)):
        sub["rounding"] = block["rounding"] = honest * factor
        assert accepted(case) == fine


def test_the_price_of_a_shift_of_all_offsets():
    """b + t changes nothing where the offset is free; penalised, it does."""
    for offset, fine in (("free", True), ("penalised", False)):
        case = make_case(5, "logistic", offset, n_classes=3)
        case.arrays["intercept"] += 0.5
        assert accepted(case) == fine


@pytest.mark.parametrize("offset", OFFSETS)
def test_a_large_problem_in_blocks(offset):
    rng = np.random.default_rng(20)
    n, d, K = 5000, 4, 3
    case = make_case(6, "logistic", offset, n_classes=K, n=n, d=d, weighted=True)
    assert accepted(case, True)
    case.arrays["dual"][:, int(rng.integers(n))] *= 0.9
    assert not accepted(case)
