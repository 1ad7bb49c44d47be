"""Quantile intervals: they hold for any distribution, and the ends are the right order statistics."""

import math

import numpy as np
import pytest
from scipy.stats import binom

from gapless.theory.samples.order_statistics import quantile_interval


def test_the_ends_are_order_statistics():
    x = np.arange(1.0, 101.0)  # the k-th in order is k
    found = quantile_interval(x, 0.5, 0.05)
    assert found.value == 50.0
    low, high = int(found.low), int(found.high)
    assert binom.cdf(low - 1, 100, 0.5) <= 0.025 < binom.cdf(low, 100, 0.5)
    assert binom.sf(high - 1, 100, 0.5) <= 0.025 < binom.sf(high - 2, 100, 0.5)
    assert (low, high) == (40, 61)  # the classical table: ranks 40 and 61 of 100


def test_too_few_values_leave_an_end_open():
    found = quantile_interval([1.0, 2.0, 3.0], 0.9)
    assert found.high == math.inf
    assert quantile_interval([1.0, 2.0, 3.0], 0.1).low == -math.inf


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("draw", ["exponential", "steps"])
def test_it_holds_as_often_as_promised(share, draw):
    random = np.random.default_rng(0)
    failed = 0
    for _ in range(500):
        if draw == "exponential":
            x, true = random.exponential(size=60), -math.log(1.0 - share)
        else:  # jumps and ties: F(0) = 0.3, F(1) = 0.6, F(2) = 1
            x, true = random.choice([0.0, 1.0, 2.0], p=[0.3, 0.3, 0.4], size=60), {0.1: 0.0, 0.5: 1.0, 0.9: 2.0}[share]
        found = quantile_interval(x, share, 0.1)
        failed += not found.low <= true <= found.high
    assert failed <= 0.1 * 500 + 4 * math.sqrt(500 * 0.09)
    if draw == "exponential":
        assert failed >= 0.03 * 500, "so wide that it says nothing"


def test_bad_input():
    for values in ([], [1.0, np.nan]):
        with pytest.raises(ValueError, match="values"):
            quantile_interval(values)
