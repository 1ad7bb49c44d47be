"""Hoeffding, the union bound, binomial and kl: published values, exact sums, and what a draw shows."""

from __future__ import annotations

import math
import subprocess
import sys
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from gapless.theory.samples import hoeffding as h

# errors, rows -> exact binomial, kl, Hoeffding; delta = 0.05, one side
HELD_OUT = [
    (0, 100, 0.029513, 0.029513, 0.122387),
    (5, 100, 0.102253, 0.121527, 0.172387),
    (10, 100, 0.163718, 0.188829, 0.222387),
    (50, 1000, 0.062863, 0.068685, 0.088702),
    (125, 4000, 0.036162, 0.038457, 0.050601),
    (154, 4000, 0.043886, 0.046411, 0.057851),
]


@pytest.mark.parametrize(("M", "n"), [(1, 839.94), (10, 1300.46), (100, 1760.98)])
def test_how_many_rows_for_M_hypotheses(M, n):
    found = h.solve(epsilon=0.05, delta=0.03, hypotheses=M)
    assert round(found.n_real, 2) == n
    assert found.n == math.ceil(n)
    assert 2 * M * math.exp(-2 * 0.05**2 * found.n) <= 0.03 < 2 * M * math.exp(-2 * 0.05**2 * (found.n - 1))


def test_training_with_a_thousand_hypotheses_against_testing_one():
    assert round(h.solve(n=400, delta=0.05, hypotheses=1000).epsilon, 5) == 0.11509
    assert round(h.solve(n=200, delta=0.05).epsilon, 5) == 0.09603


@pytest.mark.parametrize("sides", [1, 2])
def test_each_of_the_three_follows_from_the_others(sides):
    for n, epsilon, M in ((100, 0.1, 1), (5_000, 0.03, 50), (10**7, 0.003, 10**30)):
        delta = h.solve(n=n, epsilon=epsilon, hypotheses=M, sides=sides)
        if delta.delta >= 1:
            continue
        assert h.solve(n=n, delta=delta.delta, hypotheses=M, sides=sides).epsilon == pytest.approx(epsilon, rel=1e-12)
        assert h.solve(epsilon=epsilon, delta=delta.delta, hypotheses=M, sides=sides).n_real == pytest.approx(
            n, rel=1e-12
        )


def test_the_union_bound_has_its_factor_M():
    one, many = (h.solve(n=1000, epsilon=0.05, hypotheses=M).delta for M in (1, 7))
    assert many == pytest.approx(7 * one)


def test_no_overflow():
    tiny = h.solve(n=10**7, epsilon=0.1)
    assert tiny.delta == 0.0
    assert tiny.log_delta == pytest.approx(math.log(2) - 2e5)
    assert "exp(-1" in str(tiny)
    huge = h.solve(n=1, epsilon=0.1, hypotheses=10**5000)
    assert huge.delta == math.inf
    assert huge.vacuous
    assert "vacuous" in str(huge)
    assert h.solve(n=10**7, delta=1e-12, hypotheses=10**5000).epsilon == pytest.approx(
        math.sqrt((math.log(2e12) + 5000 * math.log(10)) / 2e7), rel=1e-13
    )


@pytest.mark.parametrize(("errors", "n", "binomial", "kl", "hoeffding"), HELD_OUT)
def test_held_out_rows(errors, n, binomial, kl, hoeffding):
    found = h.held_out(errors, n)
    assert [round(v, 6) for v in (found.binomial.high, found.kl.high, found.hoeffding.high)] == [
        binomial,
        kl,
        hoeffding,
    ]
    assert found.bound == found.binomial.high <= found.kl.high <= found.hoeffding.high
    assert "not trained on" in str(found)


def test_choosing_by_the_test_rows_costs_delta():
    assert h.held_out(5, 100, 0.05, tried=10).bound == h.held_out(5, 100, 0.005).bound


def tail(k: int, n: int, p: float, low: bool) -> mp.mpf:
    """P(Bin(n, p) <= k), or >= k, in 40 digits, from the largest term outwards."""
    with mp.workdps(40):
        p = mp.mpf(p)
        term = mp.exp(
            mp.loggamma(n + 1) - mp.loggamma(k + 1) - mp.loggamma(n - k + 1) + k * mp.log(p) + (n - k) * mp.log1p(-p)
        )
        total, j = mp.mpf(0), k
        while term > total * mp.mpf(10) ** -25:
            total += term
            if j == (0 if low else n):
                break
            term *= mp.mpf(j) / (n - j + 1) * (1 - p) / p if low else mp.mpf(n - j) / (j + 1) * p / (1 - p)
            j += -1 if low else 1
        return total


@pytest.mark.parametrize("delta", [0.05, 1e-6, 1e-12])
@pytest.mark.parametrize(("k", "n"), [(0, 10**7), (5, 10**7), (10**5, 10**7), (5 * 10**6, 10**7), (50, 1000), (3, 10)])
def test_the_binomial_interval_keeps_its_digits(k, n, delta):
    found = h.clopper_pearson(k, n, delta)
    assert float(tail(k, n, found.high, low=True) / (delta / 2)) == pytest.approx(1.0, abs=1e-10)
    if k:
        assert float(tail(k, n, found.low, low=False) / (delta / 2)) == pytest.approx(1.0, abs=1e-10)
    assert k / n in found


def test_the_ends_of_the_interval():
    nothing = h.clopper_pearson(0, 50, 0.05)
    assert nothing.low == 0.0
    assert nothing.high == pytest.approx(1 - 0.025 ** (1 / 50), rel=1e-13)
    everything = h.clopper_pearson(50, 50, 0.05)
    assert everything.high == 1.0
    assert everything.low == pytest.approx(0.025 ** (1 / 50), rel=1e-13)


def test_coverage_is_at_least_what_is_said():
    # Exactly, not by drawing: for every mu the counts whose interval misses it have probability at most delta.
    n, delta = 40, 0.1
    for make in (h.clopper_pearson, h.kl_interval, h.hoeffding_interval):
        found = [make(k, n, delta) for k in range(n + 1)]
        for mu in np.linspace(0.003, 0.997, 83):
            missed = sum(math.comb(n, k) * mu**k * (1 - mu) ** (n - k) for k in range(n + 1) if mu not in found[k])
            assert missed <= delta


def test_kl_against_many_digits():
    with mp.workdps(50):
        for q in (0.0, 1e-9, 0.3, 0.5, 1 - 1e-9, 1.0):
            for p in (1e-12, 0.3 + 1e-9, 0.3 - 1e-13, 0.5, 0.999999):
                a, b = mp.mpf(q), mp.mpf(p)
                true = (a * mp.log(a / b) if q else 0) + ((1 - a) * mp.log((1 - a) / (1 - b)) if q < 1 else 0)
                assert h.kl(q, p) == pytest.approx(float(true), rel=1e-9, abs=1e-300)
    assert h.kl(0.5, 0.0) == h.kl(0.5, 1.0) == math.inf


def test_kl_is_inverted():
    for q in (0.0, 1e-7, 0.2, 0.5, 1.0):
        for c in (2.7e-6, 1e-3, 0.5, 30.0):
            up, down = h.kl_upper(q, c), h.kl_lower(q, c)
            assert down <= q <= up
            if 0.0 < q < 1.0:  # the very floats between which c is crossed
                assert h.kl(q, up) <= c < h.kl(q, math.nextafter(up, 2.0))
                assert down == 0.0 or h.kl(q, down) <= c < h.kl(q, max(0.0, math.nextafter(down, -1.0)))
            assert up - q <= math.sqrt(c / 2) + 1e-15  # Pinsker


def test_an_urn():
    found = h.urn(0.5, 100, 0.1)
    true = sum(math.comb(100, k) for k in range(101) if abs(k - 50) > 10) / 2**100
    assert found.exact == pytest.approx(true, rel=1e-12)
    assert abs(found.seen - true) <= 4 * found.error
    assert true <= found.hoeffding == pytest.approx(2 * math.exp(-2))
    assert h.urn(0.3, 10, 0.1).exact == pytest.approx(
        sum(math.comb(10, k) * 0.3**k * 0.7 ** (10 - k) for k in (0, 1, 5, 6, 7, 8, 9, 10))
    )
    assert h.urn(0.0, 10, 0.1).exact == 0.0
    assert h.urn(0.4, 10**7, 1e-3, draws=1000).seen <= h.urn(0.4, 10**7, 1e-3, draws=10).hoeffding


def test_the_central_limit():
    distances = [h.central_limit(0.3, n) for n in (10, 100, 10_000)]
    assert distances[0].distance > distances[1].distance > distances[2].distance
    for found in distances:
        assert found.distance <= found.berry_esseen
        assert found.mean == pytest.approx(0.3, abs=4 * found.expected_deviation / math.sqrt(found.draws))
        assert found.deviation == pytest.approx(found.expected_deviation, rel=0.02)
    assert distances[2].within == pytest.approx((0.6827, 0.9545, 0.9973), abs=0.01)


def test_verification_is_not_learning():
    found = h.verification(hypotheses=1000, n=10, epsilon=0.45)
    assert found.fixed <= found.single_bound
    assert found.fails
    assert found.chosen > 10 * found.single_bound  # Hoeffding as it stands is false for the chosen one
    assert found.chosen <= found.union_bound
    # All ten flips alike for one of a thousand coins, at least: 1 - (1 - 2^-10)^1000 from below, next to nothing from above.
    assert found.chosen_exact == pytest.approx(1 - (1 - 2**-10) ** 1000, abs=1e-12)
    assert found.chosen == pytest.approx(found.chosen_exact, abs=4 * math.sqrt(0.25 / found.draws))
    assert found.lowest_exact == pytest.approx(0.037644, abs=1e-6)
    assert found.lowest == pytest.approx(found.lowest_exact, abs=4 * 0.05 / math.sqrt(found.draws))
    many = h.verification(hypotheses=2, n=10**7, epsilon=0.1, draws=2000)
    # The lower of two nearly normal numbers: mu - sigma/sqrt(pi).
    assert many.lowest_exact == pytest.approx(0.5 - math.sqrt(0.25 / 10**7 / math.pi), abs=1e-9)
    assert many.lowest == pytest.approx(many.lowest_exact, abs=5 * math.sqrt(0.25 / 10**7 / 2000))
    held = h.verification(hypotheses=20, n=200, epsilon=0.15, draws=2000)
    assert held.chosen_exact <= held.union_bound < 1.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: h.solve(n=10, epsilon=0.1, delta=0.1), "give two of"),
        (lambda: h.solve(n=10), "give two of"),
        (lambda: h.solve(n=10, delta=0.0), "strictly between 0 and 1"),
        (lambda: h.solve(n=10, delta=1.0), "strictly between 0 and 1"),
        (lambda: h.solve(n=10, delta=math.nan), "strictly between 0 and 1"),
        (lambda: h.solve(n=10, delta="x"), "must be a number"),
        (lambda: h.solve(n=10, epsilon=0.0), "epsilon must be a positive number"),
        (lambda: h.solve(n=10, epsilon=-1), "epsilon must be a positive number"),
        (lambda: h.solve(n=10.5, delta=0.1), "n must be a whole number; got 10.5"),
        (lambda: h.solve(n=0, delta=0.1), "n must be at least 1"),
        (lambda: h.solve(n=True, delta=0.1), "whole number"),
        (lambda: h.solve(n=10, delta=0.1, hypotheses=0.5), "hypotheses must be a whole number"),
        (lambda: h.solve(n=10, delta=0.1, sides=3), "sides must be 1 or 2"),
        (lambda: h.clopper_pearson(11, 10), "11 errors on 10 rows"),
        (lambda: h.clopper_pearson(-1, 10), "errors must be at least 0"),
        (lambda: h.kl(1.5, 0.5), "between 0 and 1"),
        (lambda: h.kl_upper(0.5, -1.0), "must not be negative"),
        (lambda: h.central_limit(0.0, 10), "one colour"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_whole_floats_are_whole_numbers():
    assert h.solve(n=1e7, delta=0.1).n == 10**7


def test_importing_the_theory_is_cheap():
    code = (
        "import sys, gapless.theory; before = 'numpy' in sys.modules; gapless.theory.hoeffding; "
        "print(before, 'scipy.stats' in sys.modules, 'numba' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["False", "False", "False"], done.stderr


def test_numbers_beyond_floats():
    # 1e-200 squared is below every float, and the rows it needs are above: an integer has them, by exact arithmetic.
    found = h.solve(epsilon=1e-200, delta=0.05)
    exact = Fraction(math.log(2 / 0.05)) / (2 * Fraction(1e-200) ** 2)
    assert abs(found.n / exact - 1) < Fraction(1, 10**14)
    assert found.n_real == math.inf
    assert "with about 1e400 rows" in str(found)
    back = h.solve(n=found.n, delta=0.05)
    assert back.epsilon == pytest.approx(1e-200, rel=1e-12)
    assert h.solve(n=found.n, epsilon=1e-200).delta == pytest.approx(0.05, rel=1e-9)
    assert h.solve(n=10**400, epsilon=0.1).delta == 0.0
    assert h.solve(n=10**400, epsilon=0.1).log_delta == -math.inf
    assert h.solve(epsilon=1e200, delta=0.05).n == 1
    assert h.solve(n=10**700, delta=0.05).epsilon == 0.0


def test_sizes_are_the_smallest_that_do():
    for epsilon in (0.5, 0.1, 0.037, 1e-3):
        for delta in (0.5, 0.05, 1e-9):
            n = h.solve(epsilon=epsilon, delta=delta).n
            assert 2 * math.exp(-2 * epsilon**2 * n) <= delta * (1 + 1e-12)
            assert n == 1 or 2 * math.exp(-2 * epsilon**2 * (n - 1)) > delta * (1 - 1e-12)
