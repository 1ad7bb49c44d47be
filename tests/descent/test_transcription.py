"""sgd against the update as it is taught for the support vector machine, written out in plain Python.

z = y_i (theta . x_i + theta_0)
if z < 1:   theta <- theta + eta (x_i y_i) - eta lam theta,   theta_0 <- theta_0 + eta y_i
else:       theta <- theta - eta lam theta
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from gapless import Schedule, descend, linear_risk

STEPS = 10_000


def taught(X, y, order, rates, lam, theta, theta0):
    """Lists and floats, one operation after the other."""
    X, y, theta = X.tolist(), y.tolist(), list(theta)
    for i, eta in zip(order, rates):
        x, label = X[i], y[i]
        dot = 0.0
        for a, b in zip(theta, x):
            dot = dot + a * b
        z = label * (dot + theta0)
        if z < 1:
            theta = [t + eta * (v * label) - eta * lam * t for t, v in zip(theta, x)]
            theta0 = theta0 + eta * label
        else:
            theta = [t - eta * lam * t for t in theta]
    return np.array(theta), theta0


def data(integers, n=60, d=6, seed=0):
    random = np.random.default_rng(seed)
    X = random.integers(-4, 5, size=(n, d)).astype(float) if integers else random.normal(size=(n, d))
    y = np.where(X[:, 0] - X[:, 1] + random.normal(size=n) > 0, 1.0, -1.0)
    return X, y


def orders(n, seed):
    random = np.random.default_rng(seed)
    return {"random": random.integers(0, n, size=STEPS), "sequential": np.arange(STEPS) % n}


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
@pytest.mark.parametrize("visits", ["random", "sequential"])
@pytest.mark.parametrize("start", ["zero", "random"])
def test_to_the_last_bit_on_integers_with_dyadic_rates(form, visits, start):
    X, y = data(True)
    lam, eta = 2.0**-6, 2.0**-5
    random = np.random.default_rng(5)
    first = np.zeros(7) if start == "zero" else random.normal(size=7)
    order = orders(60, 1)[visits]
    found = descend(
        linear_risk(form(X), y, loss="hinge", lam=lam), first, "sgd",
        schedule=eta, visits=order if visits == "random" else "sequential", literal=True, stop=STEPS,
    )  # fmt: skip
    theta, theta0 = taught(X, y, order, [eta] * STEPS, lam, first[:6], float(first[6]))
    last = found.trace.theta[-1]
    assert found.steps == STEPS
    assert (last[:6] == theta).all()
    assert last[6] == theta0


@pytest.mark.parametrize("literal", [True, False])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
@pytest.mark.parametrize(
    "schedule",
    [Schedule.constant(0.01), Schedule.inverse(1.0, shift=20.0), Schedule.inverse_root(0.3), Schedule.pegasos()],
)
def test_to_ten_digits_otherwise(literal, form, schedule):
    for seed in range(3):
        X, y = data(False, seed=seed)
        lam = 0.05
        first = np.random.default_rng(seed).normal(size=7)
        order = orders(60, seed)["random"]
        risk = linear_risk(form(X), y, loss="hinge", lam=lam)
        found = descend(risk, first, "sgd", schedule=schedule, visits=order, literal=literal, stop=STEPS)
        rates = schedule.with_lam(lam).rates(1, np.empty(STEPS)).tolist()
        theta, theta0 = taught(X, y, order, rates, lam, first[:6], float(first[6]))
        expected = np.append(theta, theta0)
        assert np.abs(found.trace.theta[-1] - expected).max() <= 1e-10 * np.abs(expected).max()


def test_rates_are_the_formulas():
    t = np.arange(1, 101)
    out = np.empty(100)
    assert (Schedule.constant(0.25).rates(1, out) == 0.25).all()
    assert Schedule.inverse(2.0, 3.0).rates(1, out) == pytest.approx(2.0 / (t + 3.0))
    assert Schedule.inverse_root(2.0).rates(1, out) == pytest.approx(2.0 / np.sqrt(t))
    assert Schedule.pegasos(0.1).rates(1, out) == pytest.approx(1.0 / (0.1 * t))
    cosine = Schedule.cosine(1.0, steps=50, final=0.2).rates(1, out)
    assert cosine[:50] == pytest.approx(0.2 + 0.4 * (1 + np.cos(np.pi * t[:50] / 50)))
    assert cosine[49:] == pytest.approx(0.2)
    assert Schedule.inverse(2.0).rates(41, np.empty(5)) == pytest.approx(2.0 / np.arange(41, 46))


def test_a_random_start_and_the_order_follow_the_seed():
    X, y = data(False)
    risk = linear_risk(X, y, lam=0.1)
    one, same, other = (descend(risk, "random", "sgd", seed=s, stop=100) for s in (1, 1, 2))
    assert (one.theta == same.theta).all()
    assert (one.trace.theta[0] != other.trace.theta[0]).all()


@pytest.mark.parametrize("trace", [False, True, 7])
@pytest.mark.parametrize("average", [None, "uniform"])
@pytest.mark.parametrize("offset", ["free", "none"])
def test_literal_steps_are_the_same_bits_whatever_the_rows(trace, average, offset):
    """Rows of float32 in every form, against the same numbers dense in float64; more rows than are copied at a time."""
    random = np.random.default_rng(3)
    X = np.where(random.random((300, 900)) < 0.3, random.normal(size=(300, 900)), 0.0).astype(np.float32)
    y = np.where(X[:, :20].sum(axis=1) > 0, 1.0, -1.0)
    wide = sparse.csr_matrix(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    weight = random.integers(1, 4, size=300).astype(float)

    def run(rows):
        risk = linear_risk(rows, y, loss="logistic", lam=0.01, offset=offset, sample_weight=weight)
        rates = {
            "schedule": 0.01,
            "visits": np.arange(300),
        }  # the rates and orders of its own choice depend on the form
        found = descend(risk, method="sgd", literal=True, stop=700, average=average, trace=trace, **rates)
        assert found.steps == 700
        return found

    expected = run(X.astype(np.float64))
    for rows in (X, wide, sparse.csr_matrix(X), sparse.csr_matrix(X.astype(np.float64))):
        found = run(rows)
        assert (found.theta == expected.theta).all()
        np.testing.assert_allclose(found.value, expected.value, rtol=1e-12)
        if trace:
            assert (found.trace.step == expected.trace.step).all()
            assert (found.trace.theta == expected.trace.theta).all()
            np.testing.assert_allclose(found.trace.loss, expected.trace.loss, rtol=1e-12)
