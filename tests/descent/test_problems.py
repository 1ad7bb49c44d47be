"""descend on linear problems: every compiled step against numpy, gaps, averages, weights, and the trace."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import gapless
from gapless import LinearSVC, LogisticRegression, Schedule, Until, descend, linear_risk
from tests.shared_data import load, needs_data

LOSSES = ("hinge", "squared_hinge", "logistic", "squared")
OFFSETS = ("none", "free", "penalised")


def made(loss, offset="free", n=50, d=4, seed=0, form=np.asarray, dtype=np.float64, weighted=False, lam=0.2):
    random = np.random.default_rng(seed)
    X = (random.normal(size=(n, d)) * (random.random((n, d)) < 0.7)).astype(dtype)
    noisy = X @ random.normal(size=d) + 0.3 + 0.5 * random.normal(size=n)
    y = (
        noisy
        if loss == "squared"
        else np.digitize(noisy, [-0.5, 0.7])
        if loss == "softmax"
        else np.where(noisy > 0, 1, -1)
    )
    weight = random.uniform(0.5, 2.0, size=n) if weighted else None
    return linear_risk(form(X), y, loss=loss, lam=lam, offset=offset, sample_weight=weight), X.astype(float), y, weight


class Plain:
    """J and its gradients by numpy, from the formula: theta = (w, b)."""

    def __init__(self, loss, offset, X, y, weight, lam, K=1):
        self.loss, self.lam, self.K = loss, lam, K
        self.p = np.ones(len(y)) if weight is None else weight * len(y) / weight.sum()
        self.X = X if offset == "none" else np.column_stack([X, np.ones(len(y))])
        self.y, self.mask = y, np.ones(self.X.shape[1])
        if offset == "free":
            self.mask[-1] = 0.0

    def losses(self, z, y):
        m = y * z
        return {
            "hinge": (np.maximum(0, 1 - m), np.where(m < 1, -y, 0.0)),
            "squared_hinge": (np.maximum(0, 1 - m) ** 2, -2 * y * np.maximum(0, 1 - m)),
            "logistic": (np.logaddexp(0, -m), -y / (1 + np.exp(m))),
            "squared": (0.5 * (y - z) ** 2, z - y),
        }[self.loss]

    def gradient(self, theta, rows):
        X, y, p = self.X[rows], self.y[rows], self.p[rows]
        if self.loss == "softmax":
            theta = theta.reshape(self.K, -1)
            Z = X @ theta.T
            P = np.exp(Z - Z.max(axis=1, keepdims=True))
            P /= P.sum(axis=1, keepdims=True)
            P[np.arange(len(rows)), y] -= 1.0
            return ((p[:, None] * P).T @ X / len(rows) + self.lam * theta * self.mask).ravel()
        _, slope = self.losses(X @ theta, y)
        return (p * slope) @ X / len(rows) + self.lam * theta * self.mask

    def value(self, theta):
        if self.loss == "softmax":
            theta = theta.reshape(self.K, -1)
            Z = self.X @ theta.T
            top = Z.max(axis=1)
            losses = top + np.log(np.exp(Z - top[:, None]).sum(axis=1)) - Z[np.arange(len(Z)), self.y]
            return float(self.p @ losses / len(Z) + self.lam / 2 * ((theta * self.mask) ** 2).sum())
        losses, _ = self.losses(self.X @ theta, self.y)
        return float(self.p @ losses / len(self.y) + self.lam / 2 * ((theta * self.mask) ** 2).sum())


def walked(plain, theta, method, rates, order, size, betas=(0.9, 0.999)):
    """The iterates, from the textbook."""
    n, seen, velocity, square = len(plain.y), [theta], np.zeros_like(theta), np.zeros_like(theta)
    per_epoch = -(-n // size)
    for t, rate in enumerate(rates):
        at = t % per_epoch
        rows = order[t // per_epoch * n :][at * size : min(n, (at + 1) * size)] if size < n else np.arange(n)
        g = plain.gradient(theta, rows)
        if method == "momentum":
            velocity = betas[0] * velocity - rate * g
            theta = theta + velocity
        elif method == "adam":
            velocity = betas[0] * velocity + (1 - betas[0]) * g
            square = betas[1] * square + (1 - betas[1]) * g * g
            hat = velocity / (1 - betas[0] ** (t + 1)) / (np.sqrt(square / (1 - betas[1] ** (t + 1))) + 1e-8)
            theta = theta - rate * hat
        else:
            theta = theta - rate * g
        seen.append(theta)
    return np.array(seen)


@pytest.mark.parametrize(
    ("loss", "form"),
    [
        # Sparse rows differ from dense ones in row_dot and row_axpy, not by the loss: the one that no warm-up compiles is slow.
        pytest.param(
            loss, form, id=f"{loss}-{name}", marks=[pytest.mark.slow] if (loss, name) == ("squared", "csr") else []
        )
        for loss in LOSSES
        for name, form in (("dense", np.asarray), ("csr", sparse.csr_matrix))
    ],
)
@pytest.mark.parametrize("offset", OFFSETS)
def test_every_step_is_the_formula(loss, form, offset):
    """theta, loss, gradient, direction and rate of each row of the trace, for each method."""
    for weighted in (False, True):
        risk, X, y, weight = made(loss, offset, form=form, weighted=weighted)
        plain = Plain(loss, offset, X, y, weight, 0.2)
        n, m = 50, X.shape[1] + (offset != "none")
        random = np.random.default_rng(1)
        start, order = random.normal(size=m), random.integers(0, n, size=4 * n)
        for method, size, steps in (
            ("sgd", 1, 120),
            ("minibatch", 7, 24),
            ("gd", n, 15),
            ("momentum", n, 15),
            ("adam", 7, 24),
        ):
            schedule = Schedule.inverse(0.5, shift=10.0)
            found = descend(
                risk, start, method, schedule=schedule, batch=size if method in ("minibatch", "adam") else None,
                visits=order, stop=Until(steps=steps, gradient=0.0), trace=1,
            )  # fmt: skip
            rates = schedule.rates(1, np.empty(steps))
            expected = walked(plain, start, method, rates, order, size)
            trace = found.trace
            assert trace.step.tolist() == list(range(steps + 1))
            assert trace.theta == pytest.approx(expected, rel=1e-9, abs=1e-10)
            assert trace.rate[:-1] == pytest.approx(rates)
            for row in trace:
                g = plain.gradient(row.theta, np.arange(n))
                assert row.loss == pytest.approx(plain.value(row.theta), rel=1e-9)
                assert row.gradient_norm == pytest.approx(np.linalg.norm(g), rel=1e-7, abs=1e-9)
                assert row.direction * row.gradient_norm == pytest.approx(-g, abs=1e-8)
            per_epoch = -(-n // size)
            assert trace[-1].examples == steps // per_epoch * n + steps % per_epoch * size


@pytest.mark.parametrize("offset", OFFSETS)
def test_every_step_of_softmax_is_the_formula(offset):
    risk, X, y, weight = made("softmax", offset, weighted=True)
    plain = Plain("softmax", offset, X, y, weight, 0.2, K=3)
    n, m = 50, X.shape[1] + (offset != "none")
    random = np.random.default_rng(1)
    start, order = random.normal(size=(3, m)), random.integers(0, n, size=4 * n)
    for method, size, steps in (("sgd", 1, 60), ("minibatch", 7, 24), ("gd", n, 15), ("adam", 7, 24)):
        found = descend(
            risk, start, method, schedule=0.3, batch=size if method in ("minibatch", "adam") else None, visits=order,
            stop=Until(steps=steps, gradient=0.0), trace=1,
        )  # fmt: skip
        expected = walked(plain, start.ravel(), method, [0.3] * steps, order, size)
        assert found.trace.theta == pytest.approx(expected, rel=1e-9, abs=1e-10)
        assert found.trace.loss == pytest.approx([plain.value(row) for row in expected], rel=1e-9)
        assert found.theta.shape == (3, m)
        assert found.gap >= -1e-12


@pytest.mark.parametrize("average", ["uniform", "linear", "tail"])
@pytest.mark.parametrize("method", ["sgd", "minibatch", "gd", "adam"])
def test_averages(method, average):
    """The sparse sums S v - B are the average of the iterates, also where s was multiplied out (Pegasos' first factor is 0)."""
    for schedule in (Schedule.pegasos(), Schedule.constant(0.3)):
        risk, *_ = made("hinge", form=sparse.csr_matrix)
        steps = 180
        found = descend(
            risk, "random", method, schedule=schedule, stop=Until(steps=steps, gradient=0.0), trace=1, average=average
        )
        thetas = found.trace.theta[1:]
        t = np.arange(1, steps + 1)
        weights = {"uniform": np.ones(steps), "linear": t, "tail": t > steps // 2}[average].astype(float)
        assert found.average == pytest.approx(weights @ thetas / weights.sum(), rel=1e-8, abs=1e-9)
        values = [risk.value(risk.hidden(point)) for point in (found.trace.theta[-1], found.average)]
        assert found.value == pytest.approx(min(values), rel=1e-12)
        assert found.point == ("average" if values[1] < values[0] else "last")


@pytest.mark.parametrize("loss", [*LOSSES, "softmax"])
@pytest.mark.parametrize("offset", OFFSETS)
def test_the_gap_bounds_the_true_distance(loss, offset):
    """Against a tight Newton descent: gap >= value - minimum, for every method and length."""
    risk, *_ = made(loss, offset, n=80)
    if loss == "hinge":
        X, y = made(loss, offset, n=80)[1:3]
        options = {"fit_intercept": offset != "none", "penalize_intercept": offset == "penalised"}
        lowest = LinearSVC(loss="hinge", C=1 / (80 * 0.2), tol=1e-12, **options).fit(X, y).certificate_.dual * 0.2
    else:
        best = descend(risk, method="newton", stop=Until(steps=100, gradient=1e-13))
        assert best.relative_gap <= 1e-12
        lowest = best.value - best.gap
    for method in ("gd", "sgd", "minibatch", "momentum", "adam"):
        for epochs in (1, 30):
            found = descend(risk, method=method, stop=Until(epochs=epochs))
            assert found.value - lowest <= found.gap + 1e-12
            assert found.dual <= lowest + 1e-11
            assert found.value >= lowest - 1e-12


def test_the_gap_of_pegasos_closes():
    """The dual point that the steps keep: 400 epochs bring the relative gap of the hinge below 1 %, with any offset."""
    for offset in OFFSETS:
        risk, *_ = made("hinge", offset, n=200)
        short, long = (descend(risk, method="sgd", stop=Until(epochs=epochs), trace=False) for epochs in (1, 400))
        assert long.relative_gap <= 0.01
        assert long.relative_gap < short.relative_gap


def test_the_minimum_is_the_estimators():
    X, y = made("logistic", n=200)[1:3]
    model = LogisticRegression(C=1 / (200 * 0.2), tol=1e-12, max_iter=1000).fit(X, y)
    for method, stop in (("newton", 50), ("gd", 5000), ("momentum", 5000)):
        found = descend(linear_risk(X, y, loss="logistic", lam=0.2), method=method, stop=stop)
        assert found.converged
        assert found.w == pytest.approx(model.coef_[0], abs=1e-6)
        assert found.b == pytest.approx(model.intercept_[0], abs=1e-6)
        assert found.value == pytest.approx(0.2 * model.certificate_.primal, rel=1e-9)


def test_C_and_lam_are_one_problem():
    _, X, y, weight = made("hinge", weighted=True)
    one, other = (
        linear_risk(X, y, C=0.1, sample_weight=weight),
        linear_risk(X, y, lam=1 / (0.1 * weight.sum()), sample_weight=weight),
    )
    theta = np.random.default_rng(0).normal(size=5)
    assert one.value(theta) == pytest.approx(other.value(theta), rel=1e-14)
    assert "J = " in str(one)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_shuffled_visits_see_everybody_once(dtype):
    from gapless.rows import as_rows
    from gapless.solvers.descent.visits import Visits

    for n, d in ((500, 3), (3000, 100)):  # a permutation, and blocks
        visits = Visits("shuffled", as_rows(np.zeros((n, d), dtype), 0.0), seed=1)
        orders = [visits.next_epoch().copy() for _ in range(4)]
        for order in orders:
            assert np.array_equal(np.sort(order), np.arange(n))
        assert not np.array_equal(orders[0], orders[1])
        # Neighbours in the data are not neighbours in time.
        assert np.mean(np.abs(np.diff(orders[0])) == 1) < 0.05
    drawn = Visits("random", as_rows(np.zeros((100, 3)), 0.0), seed=1)
    counts = np.bincount(np.concatenate([drawn.next_epoch().copy() for _ in range(400)]), minlength=100)
    assert abs((counts - 400) / 20).max() < 4.5  # each is binomial(40000, 1/100)


def test_a_diverging_sgd_is_found_and_named():
    X, y = made("squared", n=100)[1:3]
    risk = linear_risk(1e3 * X, y, loss="squared", lam=0.1)
    for trace in (True, False):
        for method in ("sgd", "minibatch", "gd", "momentum"):
            found = descend(risk, method=method, schedule=0.1, trace=trace)
            assert found.status == "diverged"
            assert np.isfinite(found.theta).all()
            assert found.value <= risk.value(np.zeros(5)) * (1 + 1e-9)
            assert "diverged" in str(found)


def test_rare_rows_of_the_trace_leave_the_path_alone():
    """Writing a row multiplies s out; that may change the last bits of the path and nothing else."""
    risk, *_ = made("hinge", n=300, form=sparse.csr_matrix)
    quiet, each = (descend(risk, method="sgd", stop=Until(epochs=5), trace=trace) for trace in (False, 1))
    assert quiet.theta == pytest.approx(each.theta, rel=1e-10)
    assert len(each.trace) == 1501


@needs_data
def test_pegasos_on_a9a_falls_as_log_T_over_T():
    """The true suboptimality of the averaged iterate against T, over seeds, falls as ln(T)/T or faster (95 % interval
    of the slope of its logarithm), and its mean keeps the theorem's bound G^2 (1 + ln T)/(2 lam T), G = 2R
    (Shalev-Shwartz et al., 2011)."""
    X, y = load("a9a")
    lam = 1e-3
    risk = linear_risk(X, y, loss="hinge", lam=lam, offset="none")
    model = LinearSVC(loss="hinge", C=1.0 / (lam * len(y)), fit_intercept=False, tol=1e-8, max_iter=None).fit(X, y)
    lowest = lam * model.certificate_.dual
    steps = np.array([2000, 8000, 32_000, 128_000, 512_000])
    R = float(np.sqrt(X.multiply(X).sum(axis=1).max()))
    above = np.empty((6, steps.size))
    for seed in range(6):
        for k, T in enumerate(steps):
            found = descend(
                risk,
                method="sgd",
                schedule="pegasos",
                visits="random",
                average="uniform",
                stop=int(T),
                seed=seed,
                trace=False,
            )
            above[seed, k] = risk.value(risk.hidden(found.average)) - lowest
    mean = above.mean(axis=0)
    assert (mean > 0).all()
    assert (mean <= (2 * R) ** 2 * (1 + np.log(steps)) / (2 * lam * steps)).all()
    low, _ = interval(np.log(np.tile(np.log(steps) / steps, 6)), np.log(above).ravel())
    assert low >= 0.9  # at least as fast: the bound's slope is 1
    # A rate that does not fall stays where its noise keeps it, and this test sees that.
    stays = [
        descend(risk, method="sgd", schedule=0.05, visits="random", stop=int(T), trace=False).value - lowest
        for T in steps
    ]
    _, high = interval(np.log(np.log(steps) / steps), np.log(stays))
    assert high < 0.9


def interval(x, y):
    from scipy import stats

    fit = stats.linregress(x, y)
    half = stats.t.ppf(0.975, len(x) - 2) * fit.stderr
    return fit.slope - half, fit.slope + half


def test_public_names():
    assert {"descend", "Schedule", "Until", "linear_risk"} <= set(gapless.__all__)
