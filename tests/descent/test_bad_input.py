"""What descend refuses, and what it says."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gapless import Schedule, Until, descend, linear_risk

SQUARE = (lambda x: float(x @ x), lambda x: 2 * x)


@pytest.fixture(scope="module")
def risk():
    random = np.random.default_rng(0)
    X = random.normal(size=(20, 3))
    return linear_risk(X, np.where(X[:, 0] > 0, 1, -1), lam=0.1)


@pytest.mark.parametrize("rate", [0.0, -0.1, float("nan"), float("inf")])
def test_rates_are_positive_and_finite(rate):
    with pytest.raises(ValueError, match=r"rate must be a float in the range \(0.0, inf\)"):
        descend(SQUARE, [1.0], schedule=rate)
    for make in (Schedule.constant, Schedule.inverse, Schedule.inverse_root, Schedule.backtracking):
        with pytest.raises(ValueError, match="rate must be"):
            make(rate)


def test_a_schedule_of_the_wrong_type():
    for wrong in (True, [0.1], object(), {"rate": 0.1}, lambda t: 0.1):
        with pytest.raises(TypeError, match="schedule must be a Schedule, a rate or one of"):
            descend(SQUARE, [1.0], schedule=wrong)
    with pytest.raises(ValueError, match="schedule must be among"):
        descend(SQUARE, [1.0], schedule="slower")
    with pytest.raises(TypeError, match="rate must be a number; got str"):
        Schedule.constant("0.1")
    with pytest.raises(ValueError, match=r"shrink must be a float in the range \(0.0, 1.0\)"):
        Schedule.backtracking(shrink=1.0)
    with pytest.raises(ValueError, match="this function has no lam"):
        descend(SQUARE, [1.0], schedule="pegasos")
    with pytest.raises(ValueError, match="optimum must be finite"):
        Schedule.polyak(float("nan"))


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_gradient_that_is_not_finite_names_its_step_and_theta(bad):
    def gradient(x):
        g = 2 * x
        if x[0] < 0.5:
            g[1] = bad
        return g

    with pytest.raises(ValueError, match=r"the gradient is not finite \(entry 1\) at step 4, theta = \[0.4") as caught:
        descend((SQUARE[0], gradient), [1.0, 1.0], schedule=0.1)
    theta = float(str(caught.value).split("[")[1].split(",")[0])
    assert theta == pytest.approx(0.8**4, rel=1e-15)


def test_a_value_that_is_no_number():
    with pytest.raises(ValueError, match="the value is not finite at step 0, theta = "):
        descend((lambda x: float("nan"), lambda x: x), [1.0])
    with pytest.raises(ValueError, match="one number"):
        descend((lambda x: x, lambda x: x), [1.0, 2.0])
    with pytest.raises(ValueError, match=r"shape of theta, \(2,\); it has \(3,\)"):
        descend((SQUARE[0], lambda x: np.zeros(3)), [1.0, 2.0])


def test_overflow_is_divergence_and_no_error():
    found = descend((lambda x: float(x[0] ** 4), lambda x: 4 * x**3), [3.0], schedule=1.0)
    assert found.status == "diverged"
    assert found.theta == pytest.approx([3.0])
    assert found.broke.step == 0
    assert 0 < found.broke.largest_rate < 1.0


def test_newton_needs_what_it_needs(risk):
    with pytest.raises(ValueError, match="needs the Hessian"):
        descend(SQUARE, [1.0], "newton")
    with pytest.raises(ValueError, match=r"Hessian must have shape \(1, 1\)"):
        descend((*SQUARE, lambda x: np.eye(2)), [1.0], "newton")
    with pytest.raises(ValueError, match="Hinge has none"):
        descend(risk, method="newton")


def test_batches(risk):
    with pytest.raises(ValueError, match="batch=21 is larger than the number of examples, 20"):
        descend(risk, method="minibatch", batch=21)
    for wrong in (0, -1, 2.5, True):
        with pytest.raises(ValueError, match=r"batch must be an int in the range \[1, n\]"):
            descend(risk, method="minibatch", batch=wrong)
    with pytest.raises(ValueError, match="takes 1 examples a step"):
        descend(risk, method="sgd", batch=2)
    with pytest.raises(ValueError, match="a function has none"):
        descend(SQUARE, [1.0], batch=2)


def test_methods_and_objectives(risk):
    with pytest.raises(ValueError, match="method must be among"):
        descend(SQUARE, [1.0], "lbfgs")
    for method in ("sgd", "minibatch"):
        with pytest.raises(ValueError, match="takes examples one by one"):
            descend(SQUARE, [1.0], method)
        with pytest.raises(ValueError, match="looks at the whole objective"):
            descend(risk, method=method, schedule="exact")
    for wrong in (3, SQUARE[0], (SQUARE[0],), (1, 2)):
        with pytest.raises(TypeError, match="objective must be"):
            descend(wrong, [1.0])
    with pytest.raises(ValueError, match="literal=True is the step of one example"):
        descend(risk, method="gd", literal=True)
    with pytest.raises(ValueError, match="average must be among"):
        descend(risk, average="weighted")
    with pytest.raises(ValueError, match="betas must be"):
        descend(risk, method="momentum", betas=1.0)


def test_starts(risk):
    for start in (None, "zero", "random"):
        with pytest.raises(ValueError, match="start must be an array"):
            descend(SQUARE, start)
    with pytest.raises(ValueError, match="start must be finite; entry 1"):
        descend(SQUARE, [1.0, np.nan])
    with pytest.raises(ValueError, match=r"shape \(3,\) or \(4,\)"):
        descend(risk, np.zeros(5))
    with pytest.raises(ValueError, match="'zero' or 'random'"):
        descend(risk, "ones")


def test_visits(risk):
    with pytest.raises(ValueError, match="visits must be among"):
        descend(risk, method="sgd", visits="backwards")
    with pytest.raises(ValueError, match="names row 20; there are 20 rows"):
        descend(risk, method="sgd", visits=[0, 20])
    with pytest.raises(ValueError, match="row numbers"):
        descend(risk, method="sgd", visits=[0.5])


def test_stopping(risk):
    for wrong in ({"steps": -1}, {"steps": 2.5}, {"epochs": -1}, {"seconds": "long"}, {"gap": float("nan")}):
        with pytest.raises(ValueError, match="must be"):
            Until(**wrong)
    assert descend(risk, method="sgd", stop=0).steps == 0
    assert descend(SQUARE, [1.0], stop=0).status == "max_iter"
    assert descend(SQUARE, [0.0]).status == "converged"
    found = descend(risk, method="sgd", stop=Until(seconds=0.1), trace=False)
    assert found.status == "time_limit"
    found = descend(risk, method="sgd", stop=Until(epochs=2.5))
    assert (found.steps, found.epochs) == (50, 2.5)
    found = descend(risk, method="sgd", stop=Until(epochs=100_000, gap=1e-2))
    assert found.converged
    assert found.relative_gap <= 1e-2


def test_risks():
    X, y = np.eye(3), [0, 1, 2]
    with pytest.raises(ValueError, match="loss must be among"):
        linear_risk(X, y, loss="log", lam=1.0)
    with pytest.raises(ValueError, match="use loss='softmax'"):
        linear_risk(X, y, lam=1.0)
    with pytest.raises(ValueError, match="one of them"):
        linear_risk(X, y)
    with pytest.raises(ValueError, match="one of them"):
        linear_risk(X, y, lam=1.0, C=1.0)
    for bad in (-1.0, math.inf, math.nan, True, "small"):
        with pytest.raises(ValueError, match=r"lam must be a float in the range \[0.0, inf\)"):
            linear_risk(X, y, lam=bad)
    with pytest.raises(ValueError, match=r"C must be a float in the range \(0.0, inf\)"):
        linear_risk(X, y, C=0.0)
    with pytest.raises(ValueError, match="offset must be among"):
        linear_risk(X, y, lam=1.0, offset="big")
