"""What AdaBoost's theory promises, seen to happen."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

from gapless import AdaBoostClassifier
from tests.boosting.cases import blobs


def weights_in_fractions(model, X, y, K, rounds):
    """d_t of a run at rate 1, from its stumps: mistakes are multiplied by (1 - e)(K - 1)/e, a rational number."""
    d = [Fraction(1, len(y))] * len(y)
    for t, answer in zip(range(rounds), model._each_answer(X)):
        wrong = [bool(a != k) for a, k in zip(answer, y)]
        error = sum(v for v, m in zip(d, wrong) if m)
        yield t, d, wrong, error
        if error == 0:
            return
        lift = (1 - error) * (K - 1) / error
        d = [v * lift if m else v for v, m in zip(d, wrong)]
        total = sum(d)
        d = [v / total for v in d]


@pytest.mark.parametrize("K", [2, 3, 5])
def test_errors_are_those_of_exact_weights_and_the_next_weights_make_h_useless(K):
    """Error 1/2 (SAMME: 1 - 1/K) of h_t under d_(t+1), exactly; the float weights of the run agree to 1e-12."""
    for seed in range(6):
        X, y = blobs(40, K, seed, d=3)
        model = AdaBoostClassifier(n_estimators=8).fit(X, y)
        before = None
        for t, d, wrong, error in weights_in_fractions(model, X, y, K, len(model.estimator_errors_)):
            assert abs(model.estimator_errors_[t] / float(error) - 1.0) < 1e-12
            if before is not None:
                assert sum(v for v, m in zip(d, before) if m) == 1 - Fraction(1, K)
            before = wrong


@pytest.mark.parametrize("rate", [0.1, 0.5, 1.0, 1.5, 2.0])
@pytest.mark.parametrize("K", [2, 3, 4, 7, 10])
def test_product_is_the_loss_and_bounds_the_error(K, rate):
    for seed, weighted in ((0, False), (1, True)):
        X, y = blobs(150, K, seed)
        weight = np.random.default_rng(seed).random(150) + 0.1 if weighted else None
        model = AdaBoostClassifier(n_estimators=40, learning_rate=rate).fit(X, y, sample_weight=weight)
        c = model.certificate_
        assert abs(c.bound / c.loss - 1.0) < 1e-12
        assert (c.training <= c.bounds * (1.0 + 1e-12)).all()
        first = np.full(150, 1 / 150) if weight is None else weight / weight.sum()
        # From the model alone: the votes of each stage, and the exponent that A10 gives.
        exponent = np.zeros(150)
        for t, (answer, stage) in enumerate(zip(model._each_answer(X), model.staged_predict(X))):
            exponent += 0.5 * model.estimator_weights_[t] * np.where(answer == y, -1.0, 1.0)
            assert abs(float(first @ np.exp(exponent)) / c.bounds[t] - 1.0) < 1e-11
            assert abs(float(first @ (stage != y)) - c.training[t]) < 1e-12
        if rate == 1.0:
            e = model.estimator_errors_
            assert np.allclose(c.factors, K * np.sqrt(e * (1 - e) / (K - 1)), rtol=1e-12)
            if K == 2:
                assert c.bound <= np.exp(-2.0 * np.sum((0.5 - e) ** 2)) * (1 + 1e-12)
        if K == 2:
            assert np.allclose(
                c.stage_weights / 2, rate * 0.5 * np.log((1 - e) / e) if rate == 1.0 else c.stage_weights / 2
            )


def test_the_samme_product_is_below_one_only_for_errors_below_one_over_k():
    """A bound above 1 is said to bound nothing."""
    X, y = blobs(300, 10, 0)
    c = AdaBoostClassifier(n_estimators=5).fit(X, y).certificate_
    assert ((c.factors < 1.0) == (c.errors < 0.1)).all()
    assert c.bound > 1.0
    assert "bounds nothing" in str(c)


def test_enough_rounds_are_enough():
    """ln(2n) / (2 edge^2) with the smallest edge of the rounds: after so many there is no mistake."""
    reached = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(12, 3))
        y = np.where(X[:, 0] + 0.3 * X[:, 1] > 0, 1, -1)
        if abs(y.sum()) == 12:
            continue
        model = AdaBoostClassifier(n_estimators=300).fit(X, y)
        c = model.certificate_
        edge = 0.5 - c.errors.max()
        assert c.enough == int(np.ceil(np.log(24) / (2 * edge**2)))
        if len(c.errors) >= c.enough:
            reached += 1
            assert c.mistakes == 0
        if c.clean_round is not None:
            assert c.training[c.clean_round - 1] == 0.0
            assert (c.training[: c.clean_round - 1] > 0.0).all()
    assert reached >= 5
    assert AdaBoostClassifier(n_estimators=3, learning_rate=0.5).fit(X, y).certificate_.enough is None
    assert AdaBoostClassifier(n_estimators=3).fit(X, y, sample_weight=np.arange(1.0, 13.0)).certificate_.enough is None


def best_margin(X, y):
    """max over convex combinations of all stumps, their negations and constants of the smallest margin: a linear programme."""
    signs = np.where(y == y.max(), 1.0, -1.0)
    columns = [np.ones(len(y)), -np.ones(len(y))]
    for j in range(X.shape[1]):
        values = np.unique(X[:, j])
        for low, high in itertools.pairwise(values):
            h = np.where(X[:, j] > (low + high) / 2, 1.0, -1.0)
            columns += [h, -h]
    M = signs[:, None] * np.column_stack(columns)
    n, m = M.shape
    solved = linprog(
        np.append(np.zeros(m), -1.0),
        A_ub=np.column_stack((-M, np.ones(n))),
        b_ub=np.zeros(n),
        A_eq=np.append(np.ones(m), 0.0)[None],
        b_eq=[1.0],
        bounds=[(0, None)] * m + [(None, None)],
        method="highs",
    )
    return solved.x[-1]


def test_bracket_holds_the_best_margin_that_a_linear_programme_finds():
    width = []
    for seed in range(12):
        X, y = blobs(25, 2, seed, d=2)
        for rate, rounds in ((1.0, 60), (0.1, 400)):
            c = AdaBoostClassifier(n_estimators=rounds, learning_rate=rate).fit(X, y).certificate_
            low, high = c.bracket
            best = best_margin(X, y)
            assert low <= best + 1e-9
            assert best <= high + 1e-9
            width.append(high - low)
    assert min(width) < 0.05  # and it can be narrow


def test_margin_and_rounds_without_a_vote_of_stumps_claim_no_bracket():
    X, y = blobs(60, 3, 0)
    assert AdaBoostClassifier(n_estimators=5).fit(X, y).certificate_.bracket is None
