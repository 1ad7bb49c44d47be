"""lam = 0: the mean loss alone, against closed forms and a minimiser of scipy's; the perceptron criterion; 2/L."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize

from gapless import LinearSVC, Schedule, Until, descend, linear_risk, losses

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(60, 3))
T = X @ [1.0, -2.0, 0.5] + 0.3 + 0.5 * RANDOM.normal(size=60)
Y = np.where(T + RANDOM.normal(size=60) > 0, 1, -1)
WEIGHTS = RANDOM.uniform(0.2, 3.0, size=60)
ROWS = np.column_stack([X, np.ones(60)])


def mean_loss(loss, theta, y, weights=None):
    return float(np.average(loss.value(ROWS @ theta, y), weights=weights))


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["equal", "weighted"])
@pytest.mark.parametrize(
    ("method", "near"),
    [("gd", 1e-12), ("momentum", 1e-12), ("newton", 1e-12), ("minibatch", 1e-9), ("adam", 1e-2), ("sgd", 5e-2)],
)
def test_squared_ends_at_the_normal_equations(method, near, weights):
    scale = np.ones(60) if weights is None else np.sqrt(weights)
    best = np.linalg.lstsq(ROWS * scale[:, None], T * scale, rcond=None)[0]
    least = mean_loss(losses.Squared(), best, T, weights)
    risk = linear_risk(X, T, loss="squared", lam=0, sample_weight=weights)
    assert risk.value(best) == pytest.approx(least, rel=1e-13)
    found = descend(risk, method=method, stop=Until(epochs=1000))
    assert least * (1 - 1e-12) <= found.value <= least * (1 + near)
    assert found.value == pytest.approx(mean_loss(losses.Squared(), found.theta, T, weights), rel=1e-12)
    assert found.gap is found.dual is found.relative_gap is None
    assert "gap" not in str(found)


@pytest.mark.parametrize("method", ["gd", "momentum", "newton", "sgd", "minibatch"])
def test_logistic_ends_at_the_likelihood(method):
    logistic = losses.Logistic()
    best = optimize.minimize(lambda theta: mean_loss(logistic, theta, Y), np.zeros(4), method="BFGS", tol=1e-10)
    found = descend(linear_risk(X, Y, loss="logistic", lam=0), method=method, stop=Until(epochs=2000))
    assert best.fun - 1e-10 <= found.value <= best.fun * (1 + 5e-3)


def test_softmax_of_two_classes_is_logistic():
    one = descend(linear_risk(X, Y, loss="logistic", lam=0), method="newton")
    two = descend(linear_risk(X, Y, loss="softmax", lam=0), method="newton")
    assert two.value == pytest.approx(one.value, rel=1e-9)
    assert two.w[1] - two.w[0] == pytest.approx(one.w, rel=1e-4)


def test_gradients_are_difference_quotients():
    for loss, y in (("squared", T), ("logistic", Y), ("softmax", Y)):
        risk = linear_risk(X, y, loss=loss, lam=0, sample_weight=WEIGHTS)
        theta = RANDOM.normal(size=risk.shape)
        _, gradient = risk.value_and_gradient(theta)
        for j in np.ndindex(risk.shape):
            e = np.zeros(risk.shape)
            e[j] = 1e-6
            quotient = (risk.value(theta + e) - risk.value(theta - e)) / 2e-6
            assert gradient[j] == pytest.approx(quotient, abs=1e-7)


def test_the_literal_step_has_no_shrinking():
    """theta <- theta + rate y x on a mistake, and nothing else: Rosenblatt's step."""
    risk = linear_risk(X, Y, loss="perceptron", lam=0)
    start = RANDOM.normal(size=4)
    found = descend(risk, start, "sgd", literal=True, visits="sequential", schedule=0.25, stop=60)
    theta = start.copy()
    for x, y in zip(ROWS, Y):
        z = sum(a * b for a, b in zip(theta[:3], x[:3])) + theta[3]
        if y * z < 0:
            theta = theta + 0.25 * (x * y)
    np.testing.assert_array_equal(found.theta, theta)


@pytest.mark.parametrize("lam", [0.0, 0.1])
def test_the_perceptron_criterion_has_its_minimum_at_0(lam):
    risk = linear_risk(X, Y, loss="perceptron", lam=lam)
    assert "its minimum is 0, at w = 0 and b = 0, on any data" in str(risk)
    still = descend(risk, method="gd")
    assert still.value == still.gap == 0.0
    assert not still.theta.any()
    assert "its minimum is 0, at w = 0 and b = 0, on any data" in str(still)
    for method in ("gd", "sgd", "minibatch", "momentum", "adam"):
        found = descend(risk, "random", method, stop=Until(epochs=300), seed=3)
        start = descend(risk, "random", method, stop=0, seed=3)
        assert found.dual == 0.0
        assert found.gap == found.value
        assert (
            found.value < (0.1 if method == "sgd" else 1.0) * start.value
        )  # full steps whose rates fall are slow here
        theta = found.theta
        penalty = 0.5 * lam * theta[:3] @ theta[:3]
        assert found.value == pytest.approx(mean_loss(losses.Perceptron(), theta, Y) + penalty, rel=1e-12, abs=1e-300)
    assert descend(risk, "random", stop=Until(gap=0.5, epochs=5)).status == "max_iter"


def test_the_perceptron_criterion_separates_what_can_be_separated():
    y = np.where(X @ [1.0, -2.0, 0.5] > 0.1, 1, -1)
    found = descend(linear_risk(X, y, loss="perceptron", lam=0), "random", "sgd", schedule=0.5, stop=Until(epochs=200))
    assert found.value == 0.0
    assert (y * (X @ found.w + found.b) >= 0.0).all()


def test_what_has_no_gap_is_not_asked_for_one():
    with pytest.raises(ValueError, match="without a penalty .lam=0. there is no gap"):
        descend(linear_risk(X, T, loss="squared", lam=0), stop=Until(gap=1e-3))
    with pytest.raises(ValueError, match=r"1/\(lam t\), and lam is 0 here"):
        descend(linear_risk(X, Y, loss="hinge", lam=0), method="sgd", schedule="pegasos")
    with pytest.raises(ValueError, match="Perceptron has none"):
        descend(linear_risk(X, Y, loss="perceptron", lam=0), "random", "newton")


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("loss", ["squared", "logistic", "hinge"])
def test_adam_arrives_by_its_own_rates(loss, seed):
    """Within 1 % of the optimum in 400 epochs on 60 rows; its rates fall, and the sentence of the descent says how."""
    random = np.random.default_rng(seed)
    rows = random.normal(size=(60, 3))
    target = rows @ random.normal(size=3) * 2.0 + random.normal(size=60)
    y = target if loss == "squared" else np.where(target > 0, 1, -1)
    for lam in (0.1, 0.01):
        risk = linear_risk(rows, y, loss=loss, lam=lam)
        if loss == "hinge":
            best = lam * LinearSVC(loss="hinge", C=1 / (60 * lam), tol=1e-8).fit(rows, y).certificate_.dual
        else:
            best = descend(risk, method="newton").value
        found = descend(risk, method="adam", stop=Until(epochs=400))
        assert found.value <= 1.01 * best
    assert "/sqrt(t + 100)" in str(found)


# -- 2/L -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lam", [0.0, 0.3])
@pytest.mark.parametrize("loss", ["squared", "logistic", "squared_hinge", "softmax"])
@pytest.mark.parametrize("method", ["gd", "sgd", "adam"])
def test_every_trace_of_a_known_curvature_says_2_over_L(loss, lam, method):
    bend = {"squared": 1.0, "logistic": 0.25, "squared_hinge": 2.0, "softmax": 0.5}[loss]
    top = np.linalg.eigvalsh(ROWS.T @ ROWS / 60)[-1]
    found = descend(linear_risk(X, T if loss == "squared" else Y, loss=loss, lam=lam), method=method, stop=3)
    L = found.trace.smoothness
    assert lam + bend * top <= L <= lam + 1.011 * bend * top
    assert found.trace.largest_rate == 2 / L
    for text in (str(found), str(found.trace)):
        assert f"2/L = {2 / L:.4g}, below which a full gradient step descends" in text
        assert "times the largest eigenvalue of the mean of xx'" in text
        assert f"{bend:g} x" in text


def test_2_over_L_is_where_descent_ends():
    """On a quadratic a rate just below it converges, one just above diverges."""
    risk = linear_risk(X, T, loss="squared", lam=0)
    exact = 2 / np.linalg.eigvalsh(ROWS.T @ ROWS / 60)[-1]
    assert descend(risk, schedule=0.99 * exact, stop=3000).status == "converged"
    assert descend(risk, schedule=1.01 * exact, stop=3000).status == "diverged"


def test_a_kink_and_a_function_say_what_is_known():
    assert "no 2/L: Hinge has a kink" in str(descend(linear_risk(X, Y, lam=0.1), stop=2))
    H = np.diag([1.0, 10.0])
    bowl = (lambda x: 0.5 * x @ H @ x, lambda x: H @ x)
    assert "2/L" not in str(descend(bowl, [1.0, 1.0], schedule=0.1, stop=2).trace)
    found = descend((*bowl, lambda x: H), [1.0, 1.0], schedule=Schedule.constant(0.1), stop=2)
    assert found.trace.largest_rate == pytest.approx(0.2)
    assert "largest eigenvalue of the Hessian" in str(found.trace)
