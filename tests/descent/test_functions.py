"""descend on functions: quadratics whose curvature is known, and what a step size does to them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from gapless import Schedule, Until, descend, linear_risk


def quadratic(seed, d=5, kappa=20.0, second=1.0):
    """1/2 (x - best)' H (x - best) with eigenvalues 1, kappa and others from ``second`` to kappa (times a random scale), a start,
    and both ends."""
    random = np.random.default_rng(seed)
    Q, _ = np.linalg.qr(random.normal(size=(d, d)))
    scale = 10.0 ** random.uniform(-2, 2)
    bends = scale * np.concatenate([[1.0, kappa], random.uniform(second, kappa, size=d - 2)])
    H = (Q * bends) @ Q.T
    H = 0.5 * (H + H.T)
    best = random.normal(size=d)
    f = (lambda x: 0.5 * float((x - best) @ H @ (x - best)), lambda x: H @ (x - best), lambda x: H)
    return f, best, random.normal(size=d), float(bends.min()), float(bends.max())


@pytest.mark.parametrize("seed", range(50))
def test_a_fixed_rate_converges_below_two_over_L_and_diverges_above(seed):
    f, best, start, least, L = quadratic(seed)
    small = Until(steps=3000, gradient=1e-9 * L)
    for share in (0.3, 1.0, 1.95):
        found = descend(f, start, schedule=share / L, stop=small, trace=False)
        assert found.converged
        assert np.linalg.norm(found.theta - best) <= 1e-9 * L / least  # |theta - best| <= |gradient| / least curvature
    found = descend(f, start, schedule=2.05 / L, stop=small, trace=False)
    assert found.status == "diverged"
    assert found.value <= f[0](start)  # the last good point: none is worse than the start
    assert np.isfinite(found.theta).all()


@pytest.mark.parametrize("seed", range(50))
def test_the_same_on_a_linear_problem_by_the_compiled_steps(seed):
    random = np.random.default_rng(seed)
    X = random.normal(size=(30, 4)) * random.uniform(0.5, 2.0, size=4)
    y = random.normal(size=30)
    lam = 0.1
    risk = linear_risk(X, y, loss="squared", lam=lam, offset="none")
    H = lam * np.eye(4) + X.T @ X / 30
    best = np.linalg.solve(H, X.T @ y / 30)
    L = np.linalg.eigvalsh(H)[-1]
    assert L <= risk.smoothness <= 1.02 * L + lam
    start = random.normal(size=4)
    below = descend(risk, start, schedule=1.99 / L, stop=Until(steps=20_000, gradient=1e-10), trace=False)
    assert below.converged
    assert np.linalg.norm(below.w - best) <= 1e-8
    assert below.gap <= 1e-14
    above = descend(risk, start, schedule=2.01 / L, stop=20_000, trace=False)
    assert above.status == "diverged"
    assert above.value <= risk.value(risk.hidden(start)) * (1 + 1e-12)
    assert above.point == "lowest"
    assert "rose" in above.why


@pytest.mark.parametrize("seed", range(50))
def test_newton_ends_in_one_step(seed):
    f, best, start, _, L = quadratic(seed)
    for schedule in (1.0, "backtracking", "exact"):
        found = descend(f, start, "newton", schedule=schedule, stop=Until(gradient=1e-9 * L))
        assert (found.status, found.steps) == ("converged", 1)
        assert found.theta == pytest.approx(best, abs=1e-9)
    X = np.random.default_rng(seed).normal(size=(30, 4))
    y = X @ [1.0, 2.0, -1.0, 0.5] + 0.3
    risk = linear_risk(X, y, loss="squared", lam=0.1)
    found = descend(risk, method="newton", schedule=1.0)
    assert (found.status, found.steps) == ("converged", 1)
    assert abs(found.gap) <= 1e-13


def test_the_descent_lemma_holds_wherever_it_is_claimed():
    """At rates up to 1/L every step of every trace is marked as sufficient, and is: recomputed from the trace's own thetas."""
    checked = 0
    for seed in range(20):
        f, _, start, _, L = quadratic(seed)
        for share in (0.1, 0.5, 0.999):
            found = descend(f, start, schedule=share / L, stop=60, trace=1)
            assert found.broke is None
            checked += recomputed(found, f[0], found.trace)
    for loss in ("squared", "squared_hinge", "logistic", "softmax"):
        for offset in ("none", "free", "penalised"):
            risk = small_risk(loss, offset)
            for method, schedule in (("gd", 1.0 / risk.smoothness), ("gd", 0.3 / risk.smoothness), ("gd", "exact")):
                found = descend(risk, "random", method, schedule=schedule, stop=40, trace=1, seed=3)
                if schedule == "exact":
                    continue  # the best step may be longer than 1/L: nothing is claimed of it
                assert found.broke is None
                value = lambda shown, risk=risk: risk.value(risk.hidden(shown.reshape(shown_shape(risk))))  # noqa: E731
                checked += recomputed(found, value, found.trace)
    assert checked > 3000


def shown_shape(risk):
    return (*risk.shape[:-1], risk.shape[-1] - (risk.problem.offset == "none"))


def recomputed(found, value, trace):
    count = 0
    for row, following in zip(trace, list(trace)[1:]):
        if following.step != row.step + 1:
            continue
        step = following.theta - row.theta
        before, after = value(row.theta), value(following.theta)
        assert before == pytest.approx(row.loss, rel=1e-9, abs=1e-12)
        gradient = -row.direction * row.gradient_norm
        assert step == pytest.approx(-row.rate * gradient, rel=1e-7, abs=1e-12)
        assert after <= before - 0.5 * row.rate * row.gradient_norm**2 + 1e-12 * (1 + abs(before))
        assert row.held is True
        count += 1
    return count


def small_risk(loss, offset="free", n=40, d=3, seed=0, **options):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d)) + 0.3
    z = X @ random.normal(size=d) + 0.2
    noisy = z + 0.5 * random.normal(size=n)
    y = (
        noisy
        if loss == "squared"
        else np.digitize(noisy, [-0.5, 0.5])
        if loss == "softmax"
        else np.where(noisy > 0, 1, -1)
    )
    return linear_risk(X, y, loss=loss, lam=options.pop("lam", 0.1), offset=offset, **options)


def test_the_step_that_broke_and_the_largest_rate_that_would_have_held():
    """On a quadratic the decrease is sufficient up to |g|^2 / g'Hg, exactly."""
    broken = 0
    for seed in range(30):
        f, _, start, _, L = quadratic(seed)
        H = f[2](start)
        for rate in (1.3 / L, 1.9 / L):
            found = descend(f, start, schedule=rate, stop=200, trace=1)
            first = next((row for row in found.trace if row.held is False), None)
            if first is None:
                assert found.broke is None
                continue
            broken += 1
            g = f[1](first.theta)
            assert found.broke.step == first.step
            assert found.broke.rate == rate
            assert found.broke.largest_rate == pytest.approx((g @ g) / (g @ H @ g), rel=1e-6)
            assert found.broke.largest_rate < rate
    assert broken > 20
    # The compiled steps: the same on a linear problem.
    X, y = np.random.default_rng(1).normal(size=(30, 3)), np.random.default_rng(2).normal(size=30)
    risk = linear_risk(X, y, loss="squared", lam=0.05, offset="none")
    H = 0.05 * np.eye(3) + X.T @ X / 30
    found = descend(risk, [1.0, -1.0, 2.0], schedule=1.9 / np.linalg.eigvalsh(H)[-1], stop=50, trace=1)
    row = found.trace[found.broke.step]
    assert row.held is False
    g = row.direction
    assert found.broke.largest_rate == pytest.approx(1.0 / (g @ H @ g), rel=1e-6)


def fitted_slope(x, y):
    """The 95 % interval of the slope of a straight line."""
    fit = stats.linregress(x, y)
    half = stats.t.ppf(0.975, len(x) - 2) * fit.stderr
    return fit.slope - half, fit.slope + half


@pytest.mark.parametrize("kappa", [5.0, 50.0, 500.0])
def test_gd_at_one_over_L_contracts_by_one_minus_one_over_kappa(kappa):
    """|theta_k - theta*| <= (1 - 1/kappa)^k |theta_0 - theta*|, the loss its square, and asymptotically with equality."""
    rate = math.log1p(-1.0 / kappa)
    for seed in range(5):
        # The others stand apart, so that half the way down the slowest direction is alone.
        f, best, start, _, L = quadratic(seed, kappa=kappa, second=kappa / 2)
        steps = int(12 / -rate)
        found = descend(f, start, schedule=1.0 / L, stop=Until(steps=steps, gradient=0.0), trace=1)
        k = found.trace.step
        distance = np.linalg.norm(found.trace.theta - best, axis=1)
        assert (np.log(distance / distance[0]) <= rate * k + 1e-9).all()
        assert (np.log(found.trace.loss / found.trace.loss[0]) <= 2 * rate * k + 1e-9).all()
        tail = k >= steps // 2
        low, high = fitted_slope(k[tail], np.log(distance[tail]))
        assert low - 1e-3 * abs(rate) <= rate <= high + 1e-3 * abs(rate)
        assert high - low <= 0.01 * abs(rate)
        low, high = fitted_slope(k[tail], np.log(found.trace.loss[tail]))
        assert low - 2e-3 * abs(rate) <= 2 * rate <= high + 2e-3 * abs(rate)


def test_polyak_exact_and_momentum_on_quadratics():
    for seed in range(10):
        f, best, start, least, L = quadratic(seed, kappa=30.0)
        for method, options in (
            ("gd", {"schedule": "exact"}),
            ("gd", {"schedule": Schedule.polyak(0.0)}),
            ("gd", {"schedule": Schedule.backtracking(1.0 / least)}),
            ("momentum", {"schedule": 1.0 / L, "betas": 0.6}),
        ):
            found = descend(f, start, method, stop=Until(steps=5000, gradient=1e-7 * L), **options)
            assert found.converged, (method, options, found)
            assert np.linalg.norm(found.theta - best) <= 1e-7 * L / least
        # Exact line search: each new gradient is orthogonal to the last direction.
        found = descend(f, start, schedule="exact", stop=5, trace=1)
        for a, b in zip(found.trace, list(found.trace)[1:-1]):
            assert abs(a.direction @ b.direction) <= 1e-5
        # Heavy ball: unstable exactly from 2 (1 + beta)/L on.
        for share, status in ((0.97, "converged"), (1.03, "diverged")):
            found = descend(
                f, start, "momentum", schedule=share * 2 * 1.5 / L, betas=0.5, stop=Until(steps=4000, gradient=1e-6 * L)
            )
            assert found.status == status


def test_adam_is_the_published_recursion():
    f, _, start, _, _ = quadratic(3)
    found = descend(f, start, "adam", schedule=0.02, betas=(0.8, 0.95), stop=25, trace=1)
    x, m, v = start.copy(), np.zeros(5), np.zeros(5)
    for t in range(1, 26):
        g = f[1](x)
        m, v = 0.8 * m + 0.2 * g, 0.95 * v + 0.05 * g * g
        x = x - 0.02 * (m / (1 - 0.8**t)) / (np.sqrt(v / (1 - 0.95**t)) + 1e-8)
    assert found.theta == pytest.approx(x, rel=1e-12)


def test_the_minus_stands_once():
    """The steepest direction is minus the gradient over its norm; with a second minus the value rises."""
    f, _, start, _, L = quadratic(4)
    found = descend(f, start, schedule=0.1 / L, stop=1, trace=1)
    direction = found.trace[0].direction
    assert np.linalg.norm(direction) == pytest.approx(1.0)
    assert direction == pytest.approx(-f[1](start) / np.linalg.norm(f[1](start)))
    tiny = 1e-4
    assert f[0](start + tiny * direction) < f[0](start) < f[0](start - tiny * direction)
    random = np.random.default_rng(0)
    for _ in range(200):
        other = random.normal(size=5)
        assert f[1](start) @ direction <= f[1](start) @ other / np.linalg.norm(other) + 1e-12


def test_averages_are_those_of_the_iterates():
    f, _, start, _, L = quadratic(5)
    for average, weights in (
        ("uniform", lambda t: 1.0),
        ("linear", lambda t: float(t)),
        ("tail", lambda t: float(t > 20)),
    ):
        found = descend(f, start, schedule=0.1 / L, stop=40, trace=1, average=average)
        thetas = found.trace.theta[1:]
        w = np.array([weights(t) for t in range(1, 41)])
        assert found.average == pytest.approx(w @ thetas / w.sum(), rel=1e-12)


def test_printing():
    f, _, start, _, L = quadratic(6)
    found = descend(f, start, schedule=3.0 / L, stop=10_000)
    text = str(found)
    assert "diverged" in text
    assert "would have been" in text
    assert "rows" in str(found.trace)
    assert "held" in str(found.trace)
    assert repr(found).startswith("<Descent: diverged")
    assert found.epochs is None
    with pytest.raises(AttributeError, match="linear problems"):
        _ = found.w


def test_thinning_is_stated():
    f, _, start, _, L = quadratic(7)
    found = descend(f, start, schedule=1e-4 / L, stop=5000)
    trace = found.trace
    assert len(trace) <= 201
    assert trace.every == 32
    assert (trace.step[:-1] % trace.every == 0).all()
    assert trace.step[-1] == 5000
    assert "every 32th of 5,000 steps" in trace.thinning
    assert descend(f, start, schedule=1e-4 / L, stop=100).trace.thinning == "each step"
    assert descend(f, start, schedule=1e-4 / L, stop=100, trace=False).trace is None
