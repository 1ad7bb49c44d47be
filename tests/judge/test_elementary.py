"""The proved error bounds of judge.elementary: the arithmetic of the proofs in fractions, and 60-digit
values."""

from __future__ import annotations

from fractions import Fraction
from math import factorial

import mpmath
import numpy as np
import pytest

from gapless.judge.arithmetic import elementary as el
from gapless.judge.arithmetic import exact_elementary as ex

F = Fraction


def horner_error(coefficients, exact, X):
    """E_0 in units of u, by the recursion of the module's docstring, with a factor for the 1 + u it leaves
    out."""
    P = [F(0)] * (len(exact) + 1)
    for k in reversed(range(len(exact))):
        P[k] = exact[k] + X * P[k + 1]
    E = F(0)
    for k in reversed(range(len(exact))):
        rounded = F(0) if F(coefficients[k]) == exact[k] else exact[k]
        if k == len(exact) - 1:
            E = rounded
        else:
            E = X * E + X * P[k + 1] + P[k] + rounded
    return E * (1 + F(1, 10**6))


def test_the_constants_of_ln2():
    with mpmath.workdps(60):
        ln2 = mpmath.log(2)
        rest = abs(ln2 - mpmath.mpf(el.LN2_HIGH) - mpmath.mpf(el.LN2_LOW))
        assert rest < mpmath.mpf(2) ** -86
        assert abs(mpmath.mpf(el.INV_LN2) - 1 / ln2) <= mpmath.mpf(2) ** -53
    assert 0 < el.LN2_LOW < 2.0**-32
    assert int(el.LN2_HIGH * 2**32) == el.LN2_HIGH * 2**32  # 32 bits: 2^20 multiples are exact


def test_the_proof_of_exp():
    X = F(3466, 10000)
    exact = [F(1, factorial(k)) for k in range(el.EXP_DEGREE + 1)]
    assert [F(a) for a in el.EXP_COEFFICIENTS[:3]] == exact[:3]
    error = horner_error(el.EXP_COEFFICIENTS, exact, X)
    assert error < F(242, 100)
    e_X = sum(X**k / factorial(k) for k in range(30)) + F(1, 10**20)
    unit = F(1, 2**53)
    remainder = X ** (el.EXP_DEGREE + 1) / factorial(el.EXP_DEGREE + 1) * e_X / unit
    assert remainder < F(6, 100)
    reduction = F(71, 100)
    assert reduction + (error + remainder) * e_X < 8
    assert F(el.EXP_ERROR) == 8 * unit
    # the reduced argument: 2u * 1076 < 2^-41, and the two subtractions stay below 0.70 u
    assert 2 * unit * 1076 < F(1, 2**41)
    assert 2 * (X + F(1, 2**20)) + F(1, 2**74) / unit < F(70, 100)


def test_the_proof_of_log1p_and_log():
    T = F(1, 9)
    exact = [F(1, 2 * j + 1) for j in range(el.LOG_TERMS + 1)]
    error = horner_error(el.LOG_COEFFICIENTS, exact, T)
    assert error < F(118, 100)
    moved = sum(j * T**j / (2 * j + 1) for j in range(60)) + F(1, 10**40)
    assert moved < F(5, 100)
    unit = F(1, 2**53)
    cut = T ** (el.LOG_TERMS + 1) / (2 * el.LOG_TERMS + 3) * F(9, 8) / unit
    assert cut < F(1, 1000)
    total = F(201, 100) + moved * F(503, 100) + cut + error + 1
    assert total < F(45, 10)
    assert F(el.LOG1P_ERROR) == 8 * unit
    assert 1 + (F(45, 10) * F(406, 1000) + F(407, 1000) + F(1, 2**20)) / F(2876, 10000) < 9
    assert F(el.LOG_ERROR) == 16 * unit


def points(rng, low, high, n=1500):
    spread = np.concatenate([rng.uniform(low, high, n), np.exp(rng.uniform(-700, np.log(max(high, 1e-300)), n))])
    return spread[(spread >= low) & (spread <= high)]


def enclosed(bounds, values, truth, room):
    low, high = bounds(values)
    with mpmath.workdps(60):
        for x, a, b in zip(values.tolist(), low.tolist(), high.tolist(), strict=True):
            t = truth(mpmath.mpf(x))
            assert mpmath.mpf(a) <= t <= mpmath.mpf(b), x
            assert mpmath.mpf(b) - mpmath.mpf(a) <= room * abs(t) + mpmath.mpf(2) ** -1068, x


def test_exp_is_enclosed():
    rng = np.random.default_rng(0)
    special = np.array(
        [0.0, 5e-324, 2.0**-54, 0.34657359027997264, 1.0, 707.0, 708.5, 744.0, 745.2, 745.5, 746.0, 1e308]
    )
    special = np.concatenate([special, np.arange(1, 40) * 0.34657359027997264])
    enclosed(
        el.exp_minus_bounds,
        np.concatenate([special, points(rng, 0.0, 760.0)]),
        lambda t: mpmath.exp(-t),
        2.0**-47,
    )


def test_log1p_is_enclosed():
    rng = np.random.default_rng(1)
    values = np.concatenate(
        [[0.0, 1.0, -0.5, 5e-324, -5e-324, 2.0**-1022], points(rng, 0.0, 1.0), -points(rng, 0.0, 0.5)]
    )
    enclosed(el.log1p_bounds, values, mpmath.log1p, 2.0**-47)


def test_log_is_enclosed():
    rng = np.random.default_rng(2)
    values = np.concatenate(
        [
            [
                5e-324,
                2.0**-1022,
                1.0,
                np.nextafter(1.0, 0),
                np.nextafter(1.0, 2),
                2 / 3,
                4 / 3,
                0.5,
                2.0,
                1e308,
                0.75,
            ],
            np.nextafter([2 / 3, 4 / 3, 1 / 3], 0),
            np.nextafter([2 / 3, 4 / 3, 1 / 3], 2),
            np.exp(rng.uniform(-744, 709, 1500)),
            rng.uniform(0.5, 2.0, 1500),
        ]
    )
    enclosed(el.log_bounds, values, mpmath.log, 2.0**-46)


@pytest.mark.parametrize("scale", [1.0, 40.0, 1e4])
def test_softplus_and_logistic_are_enclosed(scale):
    rng = np.random.default_rng(3)
    s = np.concatenate([[0.0, -0.0, 1e4, -1e4, 745.0, -745.0, 36.7, -36.7], rng.normal(size=500) * scale])
    with mpmath.workdps(60):
        low, high = el.softplus_bounds(s)
        p_low, p_high = el.logistic_bounds(s)
        for x, a, b, pa, pb in zip(*(v.tolist() for v in (s, low, high, p_low, p_high)), strict=True):
            m = mpmath.mpf(x)
            t = max(m, 0) + mpmath.log1p(mpmath.exp(-abs(m)))
            assert a <= t <= b
            assert b - a <= 2.0**-46 * float(t) + 1e-300
            tail = mpmath.exp(-abs(m))
            p = tail / (1 + tail) if x > 0 else 1 / (1 + tail)
            assert pa <= p <= pb
            assert pb - pa <= 2.0**-46 * float(p) + 1e-300


def test_entropy_is_enclosed():
    rng = np.random.default_rng(4)
    p = np.concatenate(
        [
            [0.0, 0.5, 5e-324, 2.0**-1022, 1e-300, 1e-17],
            rng.uniform(0, 0.5, 600),
            10.0 ** rng.uniform(-20, -1, 600),
        ]
    )
    low, high = el.entropy_bounds(p, p)
    with mpmath.workdps(60):
        for x, a, b in zip(p.tolist(), low.tolist(), high.tolist(), strict=True):
            q = mpmath.mpf(x)
            t = -q * mpmath.log(q) - (1 - q) * mpmath.log1p(-q) if x else mpmath.mpf(0)
            assert a <= t <= b
            assert b - a <= 2.0**-44 * float(t) + 1e-320


def test_fractions_are_enclosed():
    rng = np.random.default_rng(5)
    with mpmath.workdps(90):
        tight = mpmath.mpf(10) ** -54
        for x in [0.0, 1.0, 30.0, -30.0, 400.0, -400.0, 1e5, -1e5, *(rng.normal(size=40) * 10).tolist()]:
            low, high = ex.softplus_fractions(F(x))
            m = mpmath.mpf(x)
            t = max(m, 0) + mpmath.log1p(mpmath.exp(-abs(m)))
            assert mpf(low) <= t <= mpf(high)
            assert mpf(high - low) < tight
        for x in [
            F(1),
            F(2),
            F(1, 3),
            F(5e-324),
            F(1e308),
            *(F(v) for v in np.exp(rng.normal(size=40) * 9).tolist()),
        ]:
            low, high = ex.log_fractions(x)
            assert mpf(low) <= mpmath.log(mpf(x)) <= mpf(high)
            assert mpf(high - low) < tight * 1000
        for x in [F(0), F(1), F(1, 2), F(1, 10**30), *(F(v) for v in rng.random(40).tolist())]:
            low, high = ex.entropy_fractions(x)
            t = -sum(mpf(q) * mpmath.log(mpf(q)) for q in (x, 1 - x) if q > 0)
            assert mpf(low) <= t <= mpf(high)
            assert mpf(high - low) < tight
        for x in [F(0), F(2), F(10**40), F(1, 10**40), F(1, 3)]:
            low, high = ex.sqrt_fractions(x, x)
            assert mpf(low) <= mpmath.sqrt(mpf(x)) <= mpf(high)
            assert low**2 <= x <= high**2


def mpf(x):
    return mpmath.mpf(x.numerator) / mpmath.mpf(x.denominator)
