"""Critical points of models that are not convex: what rank(A) = n proves, and what follows without it."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from gapless.theory.optimisation import global_minimum as gm

RANDOM = np.random.default_rng(0)
X, Y = RANDOM.normal(size=(20, 3)), RANDOM.normal(size=20)


@pytest.mark.parametrize("make", [gm.wide, gm.deep, gm.skip])
def test_jacobians_are_derivatives(make):
    net = make(X, 6, seed=3)
    theta = net.start + 0.01
    numeric = np.stack(
        [(net.model(theta + 1e-6 * e) - net.model(theta - 1e-6 * e)) / 2e-6 for e in np.eye(net.d)], axis=1
    )
    assert net.jacobian(theta) == pytest.approx(numeric, abs=1e-7)
    assert net.d == len(net.start) == net.jacobian(theta).shape[1]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("make", "size"), [(gm.wide, 20), (gm.wide, 50), (gm.skip, 40)])
def test_the_wide_network_and_skip_connections_end_at_the_global_minimum(make, size, seed):
    net = make(X, size, seed)
    found = gm.at_point(net.model, net.jacobian, gm.fit(net, Y), Y)
    assert found.verdict == "global minimum"
    assert found.rank == found.n == 20
    assert found.value <= found.within < 1e-20
    assert np.linalg.norm(found.A @ found.v) == found.gradient
    assert str(found).startswith("global minimum to within")


@pytest.mark.parametrize("seed", range(5))
def test_the_deep_network_of_width_one_has_parameters_and_no_directions(seed):
    net = gm.deep(X, 60, seed)
    assert net.d > 6 * net.n
    found = gm.at_point(net.model, net.jacobian, gm.fit(net, Y), Y)
    assert found.verdict == "rank deficient: nothing follows"
    assert found.rank < 10
    assert found.within is None
    assert found.value > 0.1  # and it is no global minimum: the wide network has 0
    assert "nothing follows" in str(found)


def test_a_saddle_is_not_certified():
    # All weights 0, targets of mean 0: the gradient is 0, and descent along some direction is possible.
    net, y = gm.wide(X, 40), Y - Y.mean()
    found = gm.at_point(net.model, net.jacobian, np.zeros(net.d), y)
    assert found.gradient < 1e-15
    assert found.verdict == "rank deficient: nothing follows"
    lower = gm.fit(net, y, steps=3, theta=1e-3 * net.start)
    assert np.mean((net.model(lower) - y) ** 2) < found.value
    # A critical point of a one-parameter model, h = theta^3 at 0: loss 1, slope 0, not a minimum.
    cubic = gm.at_point(lambda t: t**3, lambda t: np.array([[3 * t[0] ** 2]]), [0.0], [1.0])
    assert cubic.verdict == "rank deficient: nothing follows"


def test_a_start_is_not_critical():
    net = gm.wide(X, 40)
    found = gm.at_point(net.model, net.jacobian, net.start, Y)
    assert found.verdict == "not critical"
    assert found.rank == 20
    assert found.gradient > found.critical
    # Nor is a point on the way, at which the loss is small already.
    near = gm.at_point(net.model, net.jacobian, gm.fit(net, Y, steps=2), Y)
    assert near.verdict in ("not critical", "global minimum")


def test_within_bounds_the_loss():
    # Points at random distances from the minimum: f - inf never exceeds what the gradient and the rank say.
    net = gm.wide(X, 40, 1)
    end = gm.fit(net, Y)
    random = np.random.default_rng(5)
    for size in (1e-10, 1e-7, 1e-5, 1e-3):
        found = gm.at_point(net.model, net.jacobian, end + size * random.normal(size=net.d), Y, critical=10.0)
        assert found.within is None or found.value <= found.within
        assert found.value <= 0.25 * found.n * (found.gradient / (found.singular_values[-1] - found.rounding)) ** 2


def test_logistic_loss():
    y = np.where(Y > 0, 1.0, -1.0)
    net = gm.wide(X, 60, 2)
    theta = gm.fit(net, 20.0 * y)  # far on the right side: a loss of e^-20
    found = gm.at_point(net.model, net.jacobian, theta, y, "logistic")
    assert found.verdict == "global minimum"
    assert 0 < found.value <= found.within < 1e-6
    assert found.v == pytest.approx(-y / (1 + np.exp(y * net.model(theta))) / 20)


def test_without_a_jacobian_the_error_of_differences_counts():
    net = gm.wide(X, 40)
    end = gm.fit(net, Y)
    exact, numeric = (gm.at_point(net.model, J, end, Y) for J in (net.jacobian, None))
    assert np.linalg.norm(exact.A - numeric.A, 2) <= numeric.rounding
    assert numeric.rounding > exact.rounding
    assert numeric.verdict == "global minimum"


def test_the_rank_is_not_claimed_within_rounding():
    # Two rows that differ by less than rounding resolves.
    twice = np.vstack([X, X[:1] * (1 + 1e-15)])
    net = gm.wide(twice, 60)
    y = np.append(Y, Y[0])
    found = gm.at_point(net.model, net.jacobian, gm.fit(net, y), y)
    assert found.rank < found.n
    assert found.verdict == "rank deficient: nothing follows"
    told = gm.at_point(net.model, net.jacobian, gm.fit(net, y), y, jacobian_error=1e6)
    assert told.rank == 0


def test_a_convex_model_needs_no_rank():
    # Least squares of full row rank (d >= n): the minimum interpolates.
    A, y = RANDOM.normal(size=(5, 8)), RANDOM.normal(size=5)
    theta = np.linalg.lstsq(A, y, rcond=None)[0]
    assert gm.at_point(lambda t: A @ t, lambda t: A, theta, y).verdict == "global minimum"
    assert gm.at_point(lambda t: A @ t, lambda t: A, theta + 1, y).verdict == "not critical"


def test_a_torch_module():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(3, 30), torch.nn.Tanh(), torch.nn.Linear(30, 1))
    model, jacobian, theta = gm.of_torch(module, X)
    assert model(theta) == pytest.approx(
        module(torch.tensor(X, dtype=torch.float32)).detach().numpy().ravel(), abs=1e-5
    )
    numeric = np.stack([(model(theta + 1e-6 * e) - model(theta - 1e-6 * e)) / 2e-6 for e in np.eye(theta.size)], axis=1)
    assert jacobian(theta) == pytest.approx(numeric, abs=1e-7)
    net = gm.Network("torch", 20, theta.size, model, jacobian, theta)
    assert gm.at_point(model, jacobian, gm.fit(net, Y), Y).verdict == "global minimum"


def test_without_torch_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r"gapless\[gpu\]"):
        gm.of_torch(None, X)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: gm.at_point(lambda t: t, lambda t: np.eye(2), [1.0, 2.0], [1.0]),
            "2 outputs, and there are 1 targets",
        ),
        (lambda: gm.at_point(lambda t: t, lambda t: np.eye(3), [1.0, 2.0], [1.0, 1.0]), "Jacobian must have|reshape"),
        (lambda: gm.at_point(lambda t: t, lambda t: np.eye(2), [1.0, 2.0], [1.0, 1.0], "hinge"), "loss must be one of"),
        (lambda: gm.at_point(lambda t: t, lambda t: np.eye(2), [1.0, 2.0], [1.0, 0.5], "logistic"), "labels -1 and 1"),
        (lambda: gm.at_point(lambda t: t, lambda t: np.eye(2), [np.nan, 2.0], [1.0, 1.0]), "theta must be finite"),
        (lambda: gm.at_point(lambda t: t, lambda t: np.eye(2), [1, 2], [1, 1], critical=0), "critical must be"),
        (lambda: gm.wide(X[:, 0], 3), "matrix"),
        (lambda: gm.deep(X, 0), "depth must be at least 1"),
        (lambda: gm.fit(gm.wide(X, 3), Y[:4]), "4 targets"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_named(value):
    """NaN targets once came back as "rank deficient": nothing in the sentence spoke of them."""
    net = gm.wide(X, 20)
    bad = Y.copy()
    bad[7] = value
    for call in (lambda: gm.at_point(net.model, net.jacobian, net.start, bad), lambda: gm.fit(net, bad)):
        with pytest.raises(ValueError, match=rf"y must be finite; y\[7\] is {value:g}"):
            call()
    bad[9] = np.nan
    with pytest.raises(ValueError, match=r"y\[7\] is .* \(2 of 20 are not\)"):
        gm.at_point(net.model, None, net.start, bad)
    theta = net.start.copy()
    theta[3] = value
    for call in (lambda: gm.at_point(net.model, net.jacobian, theta, Y), lambda: gm.fit(net, Y, theta=theta)):
        with pytest.raises(ValueError, match=r"theta must be finite; theta\[3\]"):
            call()
    rows = X.copy()
    rows[2, 1] = value
    with pytest.raises(ValueError, match=r"X must be finite; X\[2, 1\]"):
        gm.wide(rows, 5)
    with pytest.raises(ValueError, match="theta must have the 101 parameters"):
        gm.fit(net, Y, theta=np.zeros(3))
