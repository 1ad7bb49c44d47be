"""The judge's binomials: against fractions, against scipy, and at the sizes where nothing may overflow."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import binom

from gapless.judge.arithmetic.rounding import exactly
from gapless.judge.bounds import binomial, divergence
from gapless.theory.generalisation.compression import one_sided
from gapless.theory.samples.hoeffding import clopper_pearson, kl, kl_lower, kl_upper


def fractions(k, n, p):
    p = Fraction(p)
    terms = [math.comb(n, j) * p**j * (1 - p) ** (n - j) for j in range(k + 1)]
    return sum(terms), terms[-1]


@pytest.mark.parametrize(("k", "n"), [(0, 1), (0, 30), (3, 30), (29, 30), (11, 97)])
def test_enclosures_hold_the_exact_tails(k, n):
    for p in (k / n + 1e-9, 0.3 * k / n + 0.7, 0.99, 1.0 - 2.0**-40):
        total, equal = fractions(k, n, p)
        low, high = binomial.Tail(k, n).at_most(p)
        assert low <= total <= high
        assert high - low <= 1e-11 * high + 1e-290
        low, high = binomial.Tail(k, n).change(p)
        true = Fraction(p) * n * equal / (1 - total)
        assert low <= true <= high


@pytest.mark.parametrize(("k", "n"), [(0, 100), (5, 100), (50, 1000), (125, 4000), (700, 9999)])
def test_proofs_in_integers_stand_at_the_edge(k, n):
    for delta in (0.05, 1e-9):
        edge = clopper_pearson(k, n, delta, 1).high
        assert binomial.held_out_holds(k, n, edge * (1 + 1e-8), Fraction(delta))
        assert not binomial.held_out_holds(k, n, edge * (1 - 1e-8), Fraction(delta))
        edge = one_sided(k, n, delta).high
        assert binomial.change_holds(k, n, edge * (1 + 1e-8), Fraction(delta))
        assert not binomial.change_holds(k, n, edge * (1 - 1e-8), Fraction(delta))


@pytest.mark.parametrize(
    ("k", "n"), [(0, 10_001), (300, 32_561), (9_000, 32_561), (0, 10**7), (10**5, 10**7), (9 * 10**6, 10**7)]
)
def test_no_overflow_up_to_ten_million(k, n):
    edge = clopper_pearson(k, n, 0.05, 1).high
    assert edge <= binomial.held_out(k, n, 0.05) * (1 + 1e-11) <= edge * (1 + 1e-7)
    assert binomial.held_out_holds(k, n, edge * (1 + 1e-7), Fraction(0.05))
    assert not binomial.held_out_holds(k, n, edge * (1 - 1e-7), Fraction(0.05))
    edge = one_sided(k, n, 0.05).high
    assert edge * (1 - 1e-10) <= binomial.change(k, n, 0.05) <= edge * (1 + 1e-7)
    assert binomial.change_holds(k, n, edge * (1 + 1e-7), Fraction(0.05))
    assert not binomial.change_holds(k, n, edge * (1 - 1e-7), Fraction(0.05))


def test_nothing_is_proved_of_what_is_outside():
    for holds in (binomial.held_out_holds, binomial.change_holds):
        assert holds(10, 10, 1.0, Fraction(0.05))  # nothing is said
        assert not holds(10, 10, 0.999, Fraction(0.05))
        assert not holds(3, 10, 0.3, Fraction(0.05))
        assert not holds(3, 10, 0.0, Fraction(0.05))


def test_large_tails_against_scipy():
    for k, n, p in ((500, 20_000, 0.03), (10**6, 10**7, 0.1002)):
        low, high = binomial.Tail(k, n).at_most(p)
        assert low * (1 - 1e-6) <= binom.cdf(k, n, p) <= high * (1 + 1e-6)


def test_kl_is_enclosed():
    random = np.random.default_rng(0)
    for q, p in [(0.0, 0.1), (1.0, 0.9), (0.2, 0.2000001), *random.random((30, 2))]:
        found = divergence.kl(float(q), float(p))
        assert found.low <= kl(q, p) * (1 + 1e-12) + 1e-15
        assert found.up >= kl(q, p) * (1 - 1e-12) - 1e-15
        assert found.up - found.low <= 1e-13 * (1 + found.up)  # four logarithms of 2^-48 each
    for q, c in [(0.0, 0.01), (0.1, 0.003), (0.4, 1e-6), (0.999, 0.1)]:
        assert kl_upper(q, c) * (1 - 1e-12) <= divergence.kl_upper(q, exactly(c)) <= kl_upper(q, c) * (1 + 1e-9)
        assert kl_lower(q, c) * (1 - 1e-8) - 1e-12 <= divergence.kl_lower(q, exactly(c)) <= kl_lower(q, c) * (1 + 1e-12)
    for count in (1, 7, 10**40 + 1, 2**900 - 1):
        found = divergence.log_of_count(count)
        assert found.low <= math.log(count) * (1 + 1e-15)
        assert found.up >= math.log(count) * (1 - 1e-15)
        assert found.up - found.low < 1e-11


def test_the_normal_tail():
    x = np.concatenate([np.linspace(-40, 40, 4001), [-8.0, 8.0, 0.0]])
    assert np.abs(divergence.normal_below(x) - ndtr(x)).max() <= divergence.NORMAL_ERROR
