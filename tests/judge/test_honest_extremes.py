"""Honest fits that were once refused: nearly equal columns without a penalty, heavy tails far away, columns that are constant
but for rounding."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from judge_accepts import accepted, honest, of

import gapless
from gapless.judge.likelihood.figures import fine_scores


@pytest.mark.parametrize("near", [1e-8, 1e-10])
@pytest.mark.parametrize("seed", range(3))
def test_nearly_equal_columns_without_a_penalty(seed, near):
    """Coefficients of 1 / near, whose scores need more than plain sums to be known."""
    rng = np.random.default_rng(seed)
    z, x = rng.normal(size=200), rng.normal(size=200)
    fit = of(gapless.LogisticRegression(C=np.inf), np.column_stack([x, x + near * z]), z + rng.normal(size=200) > 0)
    assert honest(fit)
    if fit.document["certificate"]["status"] != "not_finite":

        def change(document, arrays):
            document["certificate"]["loss"] *= 1.001

        assert not accepted(fit, change)


@pytest.mark.parametrize("scale", [1.0, 1e-160, 1e150, 1e307])
def test_fine_scores_enclose_the_truth(scale):
    rng = np.random.default_rng(0)
    x, W, b = rng.normal(size=(20, 3)) * scale, rng.normal(size=(2, 3)) * 1e10, rng.normal(size=2)
    x[:, 1], W[:, 1] = x[:, 0] * (1 + 1e-12), -W[:, 0]
    with np.errstate(all="ignore"):
        low, high = fine_scores(x, W, b)
    for s in range(2):
        for i in range(20):
            exact = sum((Fraction(u) * Fraction(v) for u, v in zip(W[s], x[i], strict=True)), Fraction(b[s]))
            if np.isfinite([low[s, i], high[s, i]]).all():
                assert Fraction(low[s, i]) <= exact <= Fraction(high[s, i])
                assert high[s, i] - low[s, i] <= 1e-14 * abs(float(exact)) + 1e-15 * max(scale * 1e-6, 1.0)
            else:
                assert scale > 1e290


@pytest.mark.parametrize("seed", [0, 4, 9])
def test_a_kernel_on_rows_far_away(seed):
    rng = np.random.default_rng(seed)
    rows = rng.standard_t(1.2, size=(30, 1)) + 1e7
    assert honest(of(gapless.NuSVC(tol=1e-8), rows, np.arange(30) % 4))


@pytest.mark.parametrize("seed", range(4))
def test_a_hard_margin_on_heavy_tails(seed):
    rng = np.random.default_rng(seed)
    rows = rng.standard_t(1.2, size=(150, 4))
    rows[:, 1] = rows[:, 0]
    assert honest(of(gapless.SVC(C=np.inf, gamma=10.0), rows, np.arange(150) % 4))


@pytest.mark.parametrize("seed", range(4))
def test_columns_that_are_constant_but_for_rounding(seed):
    rng = np.random.default_rng(seed)
    rows = (rng.normal(size=(15, 1)) @ rng.normal(size=(1, 4)) + 1e-3 * rng.normal(size=(15, 4))) * 2.2e-8 + 1e7
    assert honest(of(gapless.LinearDiscriminantAnalysis(), rows, np.arange(15) % 2))
    assert honest(of(gapless.GaussianDiscriminant(covariance="shared"), rows, np.arange(15) % 2))
    binary = rng.integers(0, 2, size=(15, 6)).astype(np.float32)
    assert honest(of(gapless.LinearDiscriminantAnalysis(tol=1e-8), binary, np.arange(15) % 4))


def test_nothing_less_nothing_is_nothing():
    """One row that counts: everything is 0 exactly, beside targets of 1e79."""
    y, weights = np.array([-4.7e78, 1.0e79, -7.8e78]), np.array([1.0, 0.0, 0.0])
    fit = of(gapless.SVR(), np.eye(3), y, weights)
    assert fit.document["certificate"]["primal"] == 0.0
    assert honest(fit)
