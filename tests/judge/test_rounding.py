"""Directed rounding, compensated sums and intervals against fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gapless.judge.arithmetic.rounding import (
    EVERYTHING,
    ZERO,
    Interval,
    Sums,
    down,
    exactly,
    gamma,
    ratio_up,
    sum_pairs,
    two_sum,
    up,
)

floats = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300)
F = Fraction


@given(floats)
@settings(deadline=None)
def test_up_and_down_pass_the_next_float(x):
    assert float(up(np.float64(x))) >= math.nextafter(x, math.inf)
    assert float(down(np.float64(x))) <= math.nextafter(x, -math.inf)
    assert float(up(np.float64(x))) <= x + 3 * math.ulp(x)


def test_up_at_the_edges():
    edges = np.array([0.0, 5e-324, 2.0**-1022, 2.0**-1021, 1.0, -1.0, 2.0 - 2.0**-52, -(2.0**-1022), -5e-324])
    assert (up(edges) >= np.nextafter(edges, np.inf)).all()
    assert (down(edges) <= np.nextafter(edges, -np.inf)).all()


@given(floats, floats)
@settings(deadline=None)
def test_two_sum_is_exact(x, y):
    s, e = two_sum(x, y)
    assert F(s) + F(e) == F(x) + F(y)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 64, 1001])
def test_sums_are_enclosed(n):
    rng = np.random.default_rng(n)
    for scale in (0.0, 30.0):
        terms = rng.normal(size=(3, n)) * 10.0 ** rng.uniform(-scale, scale, size=(3, n))
        terms[1] = np.abs(terms[1])
        terms[2, n // 2 :] = -terms[2, : n - n // 2][::-1] if n else terms[2]
        s, e, radius = sum_pairs(terms)
        sums = Sums(3)
        sums.add(terms[:, : n // 3])
        sums.add(terms[:, n // 3 :])
        for k, interval in enumerate(sums.intervals()):
            truth = sum((F(t) for t in terms[k].tolist()), F(0))
            assert abs(F(float(s[k])) + F(float(e[k])) - truth) <= F(float(radius[k]))
            assert F(interval.low) <= truth <= F(interval.up)


def test_a_sum_of_zeros_is_zero():
    sums = Sums(1)
    sums.add(np.zeros((1, 5)))
    assert sums.intervals() == [ZERO]


def test_sums_that_overflow_say_nothing():
    sums = Sums(1)
    with np.errstate(all="ignore"):
        sums.add(np.array([[1e308, 1e308, -1e308]]))
    assert sums.intervals() == [EVERYTHING]


intervals = st.tuples(floats, floats).map(lambda t: Interval(min(t), max(t)))


@given(intervals, intervals, st.floats(0, 1), st.floats(0, 1))
@settings(deadline=None, max_examples=300)
def test_intervals_enclose(a, b, s, t):
    x = F(a.low) + F(s) * (F(a.up) - F(a.low))
    y = F(b.low) + F(t) * (F(b.up) - F(b.low))
    for interval, truth in (
        (a + b, x + y),
        (a - b, x - y),
        (a * b, x * y),
        (abs(a), abs(x)),
        (a.square(), x * x),
    ):
        assert -math.inf == interval.low or F(interval.low) <= truth
        assert math.inf == interval.up or truth <= F(interval.up)
    if b.low > 0:
        q = a / b
        assert q.low == -math.inf or F(q.low) <= x / y
        assert q.up == math.inf or x / y <= F(q.up)
    if a.low >= 0:
        r = a.sqrt()
        assert F(r.low) ** 2 <= x <= F(r.up) ** 2


def test_infinite_ends():
    infinite = Interval(-math.inf, -math.inf)
    assert (exactly(3.0) - infinite).up == math.inf
    assert ZERO * Interval(0.0, math.inf) == ZERO
    assert infinite - infinite == EVERYTHING
    assert Interval(1.0, 2.0) / Interval(0.0, 1.0) == EVERYTHING


@pytest.mark.parametrize("m", [1, 2, 100, 10**6, 10**12])
def test_gamma_is_rounded_up(m):
    u = F(1, 2**53)
    assert F(gamma(m)) >= m * u / (1 - m * u)
    assert F(ratio_up(m, 3 * m)) >= m * u / (1 - 3 * m * u)
    assert gamma(m) <= 1.01 * m * 2.0**-53
    # what ratio_up is for: gamma_m / (1 - j u) <= ratio(m, m + j)
    j = 2 * m
    assert m * u / (1 - m * u) / (1 - j * u) <= F(ratio_up(m, m + j))


def test_gamma_claims_nothing_for_too_many_terms():
    assert gamma(2**52) == math.inf
