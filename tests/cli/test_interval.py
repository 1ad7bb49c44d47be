"""The exact interval, against the definition and published figures."""

import math
from fractions import Fraction

import pytest

from gapless.cli.interval import Errors, clopper_pearson


def at_most(k, n, p):
    return sum(math.comb(n, j) * p**j * (1 - p) ** (n - j) for j in range(k + 1))


@pytest.mark.parametrize(("wrong", "rows"), [(0, 10), (1, 10), (5, 10), (10, 10), (3, 143), (40, 250)])
def test_the_ends_solve_the_binomial_equations(wrong, rows):
    low, high = clopper_pearson(wrong, rows)
    assert low <= wrong / rows <= high
    if wrong:
        assert float(1 - at_most(wrong - 1, rows, Fraction(low))) == pytest.approx(0.025, rel=1e-9)
    else:
        assert low == 0
    if wrong < rows:
        assert float(at_most(wrong, rows, Fraction(high))) == pytest.approx(0.025, rel=1e-9)
    else:
        assert high == 1


def test_known_figures():
    assert clopper_pearson(0, 10) == (0.0, pytest.approx(0.30849710781876083))
    assert clopper_pearson(5, 10)[0] == pytest.approx(0.1870860284473816)
    with pytest.raises(ValueError):
        clopper_pearson(3, 2)


def test_words():
    assert str(Errors(1, 8)) == "12.50 % (1 of 8)"
    assert "95 % interval" in Errors(1, 8).with_interval()
