"""Every loss × every property that its verbs must have; values against mpmath to 4 units in the last place."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from gapless import losses
from gapless._compile.jit import compiled
from gapless.losses import verbs
from gapless.losses.scalar import entropy, exp_below, log1p_share

LOSSES = {**losses.BY_NAME, "perceptron": losses.Perceptron()}
NAMES = list(LOSSES)
#: From kinks over ordinary sizes to |z| = 1e4, both signs, and values whose rounding is awkward.
POINTS = [
    s * z
    for z in (0.0, 1e-300, 1e-12, 0.1, 1 / 3, 0.9999999, 1.0, 1.0000001, 2.5, 17.0, 36.9, 700.1, 1e4)
    for s in (1, -1)
]
TARGETS = (1.0, -1.0)


@pytest.fixture(autouse=True)
def enough_digits():
    with mpmath.workdps(400):  # 1 - 1e-300 must not be 1
        yield


def exact(name, verb, *args):
    """The definition, in 400 digits, written independently of the code."""
    a = [mpmath.mpf(x) for x in args]
    if verb == "conjugate":
        v, y = a
        t = -v * y
        if name == "squared":
            return v * y + v**2 / 2
        if t < 0 or (name != "squared_hinge" and t > 1):
            return mpmath.inf
        if name == "perceptron":
            return mpmath.mpf(0)
        if name == "hinge":
            return -t
        if name == "squared_hinge":
            return -t + t**2 / 4
        if name != "logistic":
            raise KeyError(name)
        xlogx = [x * mpmath.log(x) if x > 0 else mpmath.mpf(0) for x in (t, 1 - t)]
        return xlogx[0] + xlogx[1]
    z, y = a
    m = y * z
    table = {
        "hinge": {"value": max(mpmath.mpf(0), 1 - m), "slope": -y if m < 1 else 0, "curvature": 0},
        "perceptron": {"value": max(mpmath.mpf(0), -m), "slope": -y if m < 0 else 0, "curvature": 0},
        "squared_hinge": {
            "value": max(mpmath.mpf(0), 1 - m) ** 2,
            "slope": -2 * y * max(mpmath.mpf(0), 1 - m),
            "curvature": 2 if m < 1 else 0,
        },
        "logistic": {
            "value": mpmath.log(1 + mpmath.exp(-m)) if m < 40 else mpmath.exp(-m) - mpmath.exp(-2 * m) / 2,
            "slope": -y / (1 + mpmath.exp(m)),
            "curvature": mpmath.exp(-m) / (1 + mpmath.exp(-m)) ** 2,
        },
        "squared": {"value": (y - z) ** 2 / 2, "slope": z - y, "curvature": 1},
    }
    return mpmath.mpf(table[name][verb])


def ulps(computed: float, true: mpmath.mpf) -> float:
    if math.isinf(computed) or mpmath.isinf(true):
        return 0.0 if mpmath.mpf(computed) == true else math.inf
    nearest = float(true)
    return float(abs(mpmath.mpf(computed) - true) / mpmath.mpf(np.spacing(max(abs(nearest), 5e-324))))


@compiled
def _call(loss, which, a, y):
    if which == 0:
        return verbs.value(loss, a, y)
    if which == 1:
        return verbs.slope(loss, a, y)
    if which == 2:
        return verbs.curvature(loss, a, y)
    if which == 3:
        return verbs.conjugate(loss, a, y)
    return verbs.dual_of(loss, a, y)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("verb", ["value", "slope", "curvature"])
def test_exact_to_4_ulps(name, verb):
    loss = LOSSES[name]
    which = ["value", "slope", "curvature"].index(verb)
    for z in POINTS:
        for y in TARGETS:
            true = exact(name, verb, z, y)
            for computed in (getattr(verbs, verb)(loss, z, y), _call(loss, which, z, y)):
                # e^-10000 is below the smallest float: 0 is its correct rounding.
                assert ulps(computed, true) <= 4.0, (z, y, computed, true)


@pytest.mark.parametrize("name", NAMES)
def test_conjugate_exact_to_4_ulps(name):
    loss = LOSSES[name]
    for t in (0.0, 1e-300, 1e-17, 0.1, 1 / 3, 0.5, 0.75, 1 - 2**-53, 1.0, 1.0000001, 3.7, -1e-9):
        for y in TARGETS:
            v = -t * y
            for computed in (verbs.conjugate(loss, v, y), _call(loss, 3, v, y)):
                assert ulps(computed, exact(name, "conjugate", v, y)) <= 4.0, (t, y, computed)


@pytest.mark.parametrize("name", NAMES)
def test_fenchel_young(name):
    """l(z) + l*(v) >= vz, with equality at v = l'(z): then dual_of = -v."""
    loss = LOSSES[name]
    random = np.random.default_rng(0)
    for _ in range(500):
        y = float(random.choice(TARGETS))
        z, other = random.normal(size=2) * 3
        v = verbs.slope(loss, z, y)
        assert verbs.dual_of(loss, z, y) == -v
        scale = 1 + abs(v * z)
        assert abs(verbs.value(loss, z, y) + verbs.conjugate(loss, v, y) - v * z) <= 1e-13 * scale
        assert verbs.value(loss, other, y) + verbs.conjugate(loss, v, y) >= v * other - 1e-13 * (1 + abs(v * other))


@pytest.mark.parametrize("name", [name for name, loss in LOSSES.items() if loss.smooth])
def test_derivatives(name):
    """slope and curvature are the derivatives of value, away from the kink."""
    loss = LOSSES[name]
    h = 1e-5
    for z in (-3.3, -0.7, 0.2, 0.95, 1.4, 6.0):
        for y in TARGETS:
            slope = (verbs.value(loss, z + h, y) - verbs.value(loss, z - h, y)) / (2 * h)
            bend = (verbs.slope(loss, z + h, y) - verbs.slope(loss, z - h, y)) / (2 * h)
            assert abs(slope - verbs.slope(loss, z, y)) < 1e-8
            assert abs(bend - verbs.curvature(loss, z, y)) < 1e-8


@pytest.mark.parametrize("name", NAMES)
def test_dual_step_is_the_top_along_a_coordinate(name):
    """The new u maximises -c l*(y, -u/c) - u z0 - q u^2/2, where z0 + q u is the score: no feasible u is better."""
    loss = LOSSES[name]
    random = np.random.default_rng(1)
    for _ in range(300):
        y = float(random.choice(TARGETS))
        c, q = 10.0 ** random.uniform(-3, 3, 2)
        z0 = random.normal() * 3
        bounded = loss.dual_ends[1] < math.inf
        top = c if bounded else 5 * c
        old = y * top * random.uniform(0.01, 0.99)

        def dual(u):
            return -c * verbs.conjugate(loss, -u / c, y) - u * z0 - 0.5 * q * u * u  # noqa: B023

        new = verbs.dual_step(loss, old, z0 + q * old, q, c, y)
        best = dual(new)
        assert np.isfinite(best)
        others = [y * t for t in np.linspace(1e-9, 1, 41) * top] + [new * (1 + d) for d in (-1e-4, 1e-4)] + [old]
        for u in others:
            assert dual(u) <= best + 1e-9 * (1 + abs(best))
        slope = verbs.dual_slope(loss, new, z0 + q * new, c, y) * y
        inside = 1e-6 * c < new * y and (not bounded or new * y < (1 - 1e-6) * c)
        if inside:
            assert abs(slope) <= 1e-6 * (1 + abs(z0) + q * c)


def test_a_loss_must_be_complete():
    with pytest.raises(TypeError, match="missing: \\['conjugate'"):
        verbs.bind(losses.Hinge, {"value": None, "slope": None, "curvature": None})


@compiled(vectorise=True)
def _in_vectors(which, x, out):
    for i in range(x.size):
        if which == 0:
            out[i] = exp_below(x[i])
        elif which == 1:
            out[i] = log1p_share(x[i])
        else:
            out[i] = entropy(x[i])


def _entropy(x):
    left = x * mpmath.log(x) if x > 0 else mpmath.mpf(0)
    return left + ((1 - x) * mpmath.log1p(-x) if x < 1 else 0)


@pytest.mark.parametrize(
    ("which", "true", "points"),
    [
        (
            0,
            mpmath.exp,
            lambda r: np.concatenate([-r.random(1500) * 3, -(10.0 ** r.uniform(-18, 2.84, 1500)), [0.0, -707.9]]),
        ),
        (1, mpmath.log1p, lambda r: np.concatenate([r.random(1500), 10.0 ** r.uniform(-300, 0, 1500), [0.0, 1.0]])),
        (
            2,
            _entropy,
            lambda r: np.concatenate(
                [r.random(1500), 10.0 ** r.uniform(-300, 0, 700), 1 - 10.0 ** r.uniform(-15.9, 0, 700), [0.0, 1.0, 0.5]]
            ),
        ),
    ],
    ids=["exp", "log1p", "entropy"],
)
def test_vector_functions_to_4_ulps(which, true, points):
    """The polynomials that stand for libm in loops, as they come out of vector registers."""
    x = points(np.random.default_rng(0))
    out = np.empty_like(x)
    _in_vectors(which, x, out)
    with mpmath.workdps(50):
        for point, computed in zip(x.tolist(), out.tolist()):
            assert ulps(computed, mpmath.mpf(true(mpmath.mpf(point)))) <= 4.0, point


def test_vector_functions_at_the_ends():
    x = np.array([-np.inf, -1e4, -709.0, np.nan])
    out = np.empty_like(x)
    _in_vectors(0, x, out)
    assert out[:3].tolist() == [0.0, 0.0, 0.0]
    assert np.isnan(out[3])


def test_the_perceptron_criterion_is_least_at_the_origin():
    """0 there on any data, so that its minimum says nothing of the classes; and a step on one row is the perceptron's."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 3)), rng.choice([-1.0, 1.0], 50)
    criterion = losses.Perceptron()

    def total(w):
        return sum(verbs.value(criterion, z, label) for z, label in zip(X @ w, y))

    assert total(np.zeros(3)) == 0.0
    assert min(total(rng.normal(size=3)) for _ in range(200)) > 0.0
    w = rng.normal(size=3)
    slope = sum(verbs.slope(criterion, z, label) * x for z, label, x in zip(X @ w, y, X))
    corrections = sum(label * x for z, label, x in zip(X @ w, y, X) if label * z < 0)
    assert np.allclose(slope, -corrections)
