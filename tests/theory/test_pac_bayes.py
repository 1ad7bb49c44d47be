"""PAC-Bayes and votes: the inequality exactly where it can be, coverage with a known truth, and a condition broken on purpose."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import digamma, gammaln, ndtr

from gapless.theory.generalisation import pac_bayes as pb
from gapless.theory.generalisation.votes import METHODS, _bounds, votes
from gapless.theory.samples.hoeffding import kl, kl_upper


def test_the_constant_of_the_kl_inequality():
    # E exp(n kl(seen, p)) <= sum_k C(n, k) (k/n)^k (1 - k/n)^(n - k) <= 2 sqrt(n): for every n, not only from 8 on.
    for n in range(1, 200):
        total = sum(math.comb(n, k) * (k / n) ** k * (1 - k / n) ** (n - k) for k in range(n + 1))
        assert total <= 2 * math.sqrt(n) * (1 + 1e-12)


@pytest.mark.parametrize("delta", [0.05, 0.2])
def test_one_hypothesis_fixed_in_advance_exactly(delta):
    for n in (5, 40):
        for p in (0.02, 0.3, 0.5, 0.9):
            failed = sum(
                math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1) if pb.gibbs(k / n, n, 0.0, delta) < p
            )
            assert failed <= delta


def test_the_bound_solves_its_equation():
    found = pb.gibbs(0.1, 500, 7.0, 0.05)
    assert kl(0.1, found) == pytest.approx((7.0 + math.log(2 * math.sqrt(500) / 0.05)) / 500, rel=1e-9)
    assert pb.gibbs(0.0, 100, 0.0, 0.05) == pytest.approx(1 - math.exp(-math.log(2 * 10 / 0.05) / 100))


def normal_rows(random, n, apart=3.0, d=3):
    y = np.where(random.random(n) < 0.5, 1.0, -1.0)
    X = random.normal(size=(n, d))
    X[:, 0] += 0.5 * apart * y
    return X, y


def test_linear():
    random = np.random.default_rng(0)
    X, y = normal_rows(random, 2000)
    w = np.array([1.0, 0.05, -0.02])
    found = pb.linear(w, X, y)
    margins = y * (X @ w) / np.linalg.norm(X, axis=1) / np.linalg.norm(w)
    mu = found.parameters["mu"]
    assert found.divergence == pytest.approx(mu**2 / 2)
    assert found.empirical == pytest.approx(ndtr(-mu * margins).mean())
    # The Gibbs classifier, drawn: each row with its own v.
    drawn = mu * w / np.linalg.norm(w) + random.normal(size=(200, 2000, 3))
    seen = np.mean(y * np.einsum("kij,ij->ki", drawn, X) <= 0)
    assert seen == pytest.approx(found.empirical, abs=0.005)
    # No other mu is better, and the units of w do not matter.
    for other in (0.3, 0.9, 1.1, 3.0):
        assert (
            kl_upper(
                ndtr(-other * mu * margins).mean(),
                ((other * mu) ** 2 / 2 + math.log(2 * math.sqrt(2000) / 0.05)) / 2000,
            )
            >= found.randomised - 1e-9
        )
    assert pb.linear(7 * w, X, y).randomised == pytest.approx(found.randomised, rel=1e-9)
    with_offset = pb.linear(w, X, y, offset=0.3)
    by_hand = pb.linear(np.append(w, 0.3), np.column_stack([X, np.ones(2000)]), y)
    assert with_offset.randomised == pytest.approx(by_hand.randomised, rel=1e-9)


def linear_failures(runs, delta, n=60):
    random = np.random.default_rng(2)
    failed = 0
    big = normal_rows(np.random.default_rng(99), 20_000)
    for _ in range(runs):
        X, y = normal_rows(random, n)
        w = X.T @ y  # chosen by the rows
        found = pb.linear(w, X, y, delta=delta)
        margins = big[1] * (big[0] @ w) / np.linalg.norm(big[0], axis=1) / np.linalg.norm(w)
        failed += ndtr(-found.parameters["mu"] * margins).mean() > found.randomised
        failed += np.mean(margins <= 0) > found.fixed
    return failed


@pytest.mark.parametrize("delta", [0.2])
def test_coverage_of_linear(delta):
    assert linear_failures(40, delta) <= 40 * delta


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0.05, 0.2])
def test_coverage_of_linear_on_2000_samples(delta):
    assert linear_failures(2000, delta) <= 2000 * delta


def test_informed_prior():
    random = np.random.default_rng(3)
    X, y = normal_rows(random, 400, 2.0, 30)
    first, second = np.arange(400) < 200, np.arange(400) >= 200
    prior, w = X[first].T @ y[first], X.T @ y
    found = pb.informed(w, prior, X[second], y[second])
    assert found.n == 200
    assert found.randomised < pb.linear(w, X, y).randomised  # thirty columns: the prior pays
    mu, eta = found.parameters["mu"], found.parameters["eta"]
    far = mu * w / np.linalg.norm(w) - eta * prior / np.linalg.norm(prior)
    assert found.divergence == pytest.approx(far @ far / 2, rel=1e-9)
    # eta = 0 alone is the plain bound on the second half, at delta/1.
    plain = pb.informed(w, prior, X[second], y[second], etas=[0.0])
    assert plain.randomised == pytest.approx(pb.linear(w, X[second], y[second]).randomised, rel=1e-6)


def coin_voters(random, n, rates):
    """Voters that are right independently with these probabilities: voters fixed in advance, truth known."""
    return random.random((n, len(rates))) < rates


def test_dirichlet_vote():
    random = np.random.default_rng(4)
    right = coin_voters(random, 1500, np.array([0.9, 0.8, 0.8, 0.7, 0.55]))
    found = pb.dirichlet_vote(right)
    alpha = found.parameters["alpha"]
    theta = random.dirichlet(alpha, size=4000)
    drawn = np.mean((right[:300].astype(float) @ theta.T) < 0.5)
    given = pb.dirichlet_vote(right[:300], alpha=alpha)
    assert given.empirical == pytest.approx(drawn, abs=0.01)
    total, m = alpha.sum(), 5
    true = gammaln(total) - gammaln(alpha).sum() - gammaln(m) + ((alpha - 1) * (digamma(alpha) - digamma(total))).sum()
    assert found.divergence == pytest.approx(true)
    for other in (np.ones(5), 0.7 * alpha, 1.4 * alpha, np.full(5, 30.0)):
        assert pb.dirichlet_vote(right, alpha=other).randomised >= found.randomised - 1e-4
    assert alpha[0] == alpha.max()


def test_the_slopes_of_the_dirichlet_bound():
    random = np.random.default_rng(5)
    patterns = np.unique(random.random((40, 4)) < 0.6, axis=0).astype(float)
    share, a = np.full(len(patterns), 1 / len(patterns)), np.array([2.0, 5.0, 1.0, 8.0])
    for value in (lambda v: pb._vote_error(patterns, share, v), lambda v: pb._dirichlet_divergence(v, 1.0)):
        numeric = [(value(a + 1e-6 * e)[0] - value(a - 1e-6 * e)[0]) / 2e-6 for e in np.eye(4)]
        assert value(a)[1] == pytest.approx(numeric, rel=1e-4, abs=1e-6)


RATES = np.array([0.25, 0.3, 0.3, 0.35, 0.2, 0.3, 0.25])  # errors of seven voters


def true_vote(rates):
    """The error of the plain majority of independent voters, by all outcomes."""
    total = 0.0
    for bits in range(1 << len(rates)):
        wrong = np.array([bits >> i & 1 for i in range(len(rates))], bool)
        if 2 * wrong.sum() >= len(rates):
            total += np.prod(np.where(wrong, rates, 1 - rates))
    return total


def test_votes_are_bounded_in_the_limit():
    # With very many rows the bounds are those of g, t and d themselves, which are known.
    random = np.random.default_rng(6)
    wrong = random.random((400_000, 7)) < RATES
    found = votes(wrong)
    g, d = (
        RATES.mean(),
        np.mean(
            [
                [0.0 if i == j else RATES[i] * (1 - RATES[j]) + RATES[j] * (1 - RATES[i]) for i in range(7)]
                for j in range(7)
            ]
        ),
    )
    assert (found.gibbs, found.disagreement) == pytest.approx((g, d), abs=0.002)
    assert found.tandem == pytest.approx(g - d / 2, abs=0.002)
    t = g - d / 2
    limits = {
        "first order": 2 * g,
        "tandem": 4 * t,
        "disagreement": 4 * g - 2 * d,
        "Chebyshev-Cantelli": (t - g * g) / (t - g + 0.25),
        "C-bound": 1 - (1 - 2 * g) ** 2 / (1 - 2 * d),
    }
    endless = _bounds(METHODS, g, t, d, 10**14, 10**14, 0.0, 0.05)
    for name in METHODS:
        assert endless[name] == pytest.approx(limits[name], abs=1e-4)
        assert found.bounds[name] >= limits[name] >= true_vote(RATES)
    assert limits["C-bound"] == pytest.approx(limits["Chebyshev-Cantelli"])  # two classes: the same thing


def vote_failures(runs, delta, n=80):
    random = np.random.default_rng(7)
    failed = dict.fromkeys(METHODS, 0)
    for _ in range(runs):
        # The weights are chosen by the rows: better voters get more. Rows are independent given nothing, voters were fixed.
        hard = random.random(n) < 0.25  # rows on which all voters are worse: they are dependent
        wrong = random.random((n, 5)) < np.where(hard[:, None], 0.75, 0.15)
        weights = np.exp(-8.0 * wrong.mean(axis=0))
        true = 0.0
        for bits in range(32):
            pattern = np.array([bits >> i & 1 for i in range(5)], bool)
            if weights[pattern].sum() >= 0.5 * weights.sum():
                true += (
                    0.25 * 0.75 ** pattern.sum() * 0.25 ** (~pattern).sum()
                    + 0.75 * 0.15 ** pattern.sum() * 0.85 ** (~pattern).sum()
                )
        for name in METHODS:
            failed[name] += true > votes(wrong, weights, delta=delta, methods=name).bounds[name]
    return failed


def test_coverage_of_votes():
    assert all(count <= 100 * 0.2 for count in vote_failures(100, 0.2).values())


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0.05, 0.2])
def test_coverage_of_votes_on_2000_samples(delta):
    assert all(count <= 2000 * delta for count in vote_failures(2000, delta).values())


def test_rows_that_made_the_voters_void_it():
    # Voters that have learned the rows by heart: no errors on them, coin tosses on new ones. Counted where they were not in the
    # bag, they are seen for what they are.
    random = np.random.default_rng(8)
    n, m = 300, 9
    bags = random.random((n, m)) < 0.632
    wrong = np.where(bags, False, random.random((n, m)) < 0.5)
    assert votes(wrong).best[1] < 0.45 < 0.5  # the truth is 1/2
    assert votes(wrong, counted=~bags).best[1] >= 0.5


def test_out_of_bag_counts_use_the_smallest_overlap():
    random = np.random.default_rng(9)
    out = random.random((500, 6)) < 0.37
    wrong = (random.random((500, 6)) < 0.1) & out
    found = votes(wrong, counted=out, methods="tandem")
    overlaps = [(out[:, i] & out[:, j]).sum() for i in range(6) for j in range(6)]
    assert found.pairs == min(overlaps)
    assert found.n == out.sum(axis=0).min()
    tandem = np.mean(
        [(wrong[:, i] & wrong[:, j]).sum() / (out[:, i] & out[:, j]).sum() for i in range(6) for j in range(6)]
    )
    assert found.tandem == pytest.approx(tandem)
    assert found.bounds["tandem"] == pytest.approx(
        4 * kl_upper(tandem, math.log(2 * math.sqrt(min(overlaps)) / 0.05) / min(overlaps))
    )


def test_delta_is_shared_out():
    wrong = np.random.default_rng(0).random((200, 3)) < 0.1
    assert votes(wrong).bounds["tandem"] == votes(wrong, delta=0.01, methods="tandem").bounds["tandem"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pb.gibbs(1.5, 10), "between 0 and 1"),
        (lambda: pb.gibbs(0.5, 10, -1.0), "not be negative"),
        (lambda: pb.gibbs(0.5, 10, 0.0, 0.0), "strictly between"),
        (lambda: pb.linear([1.0], np.ones((2, 2)), [1, -1]), "X must be 2 x 1"),
        (lambda: pb.linear([1.0, 1.0], np.ones((2, 2)), [1, 0]), "-1 and 1"),
        (lambda: pb.linear([0.0, 0.0], np.ones((2, 2)), [1, -1]), "no direction"),
        (lambda: pb.informed([1.0], [1.0], np.ones((1, 1)), [1], etas=[]), "etas"),
        (lambda: pb.dirichlet_vote([1, 0]), "rows by voters"),
        (lambda: pb.dirichlet_vote([[1, 0]], alpha=[1.0]), "2 positive numbers"),
        (lambda: pb.dirichlet_vote([[1, 0]], prior=0.0), "prior must be positive"),
        (lambda: votes([[0.5]]), "0 and 1"),
        (lambda: votes([[1, 0]], weights=[1.0]), "weights must be 2"),
        (lambda: votes([[1, 0]], methods="best"), "methods are"),
        (lambda: votes([[1, 0]], methods=()), "no method"),
        (lambda: votes([[1, 0]], prior=[1.0, 0.0]), "prior 0"),
        (lambda: votes([[1, 0]], counted=[[True, False]]), "has no row"),
        (lambda: votes([[1, 0]], counted=[[True]]), "shape of losses"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
