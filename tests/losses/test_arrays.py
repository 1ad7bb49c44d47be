"""The losses on numbers and arrays: against the compiled verbs, against difference quotients, and against the definition of the
conjugate, a supremum over a grid of scores."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest

from gapless import losses
from gapless.losses import verbs
from gapless.losses.compiled.softmax import softmax_row

COMPILED = [*losses.BY_NAME.values(), losses.Perceptron()]
SCALAR = [
    *COMPILED,
    losses.Exponential(),
    losses.EpsilonInsensitive(0.3),
    losses.EpsilonInsensitive(0.0),
]
TARGETS = (1.0, -1.0)
GRID = np.linspace(-40.0, 40.0, 160_001)  # steps of 0.0005, all kinks at 0, 0.7, 1 and 1.3 on it
#: Values of v inside, on the edge of and outside each domain; the losses of a margin get them times y.
SLOPES = (-2.5, -1.0000001, -1.0, -0.75, -0.5, -1e-3, 0.0, 1e-3, 0.5, 1.0, 1.0000001, 2.5)


def named(loss):
    return repr(loss)


@pytest.mark.parametrize("loss", COMPILED, ids=named)
def test_the_numbers_of_the_kernels(loss):
    z = np.concatenate([np.random.default_rng(0).normal(size=200) * 5, [0.0, 1.0, -1.0, 700.1, -700.1, 1e4, -1e4]])
    for y in TARGETS:
        for verb in ("value", "slope", "conjugate"):
            with np.errstate(under="ignore"):
                found = getattr(loss, verb)(z, y)
            wanted = np.array([getattr(verbs, verb)(loss, at, y) for at in z])
            np.testing.assert_allclose(found, wanted, rtol=1e-14, atol=0, err_msg=f"{verb}, y = {y}")


@pytest.mark.parametrize("loss", SCALAR, ids=named)
def test_slope_is_the_derivative_of_value(loss):
    h = 1e-6
    for y in TARGETS:
        for z in (-3.3, -0.71, 0.2, 0.55, 0.95, 1.4, 6.0):
            quotient = (loss.value(z + h, y) - loss.value(z - h, y)) / (2 * h)
            assert loss.slope(z, y) == pytest.approx(quotient, rel=1e-7, abs=1e-8), (z, y)


def test_at_a_kink_the_slope_nearest_to_0():
    assert losses.Hinge().slope([1.0, -1.0], [1, -1]).tolist() == [0.0, 0.0]
    assert losses.Perceptron().slope(0.0, [1, -1]).tolist() == [0.0, 0.0]
    assert losses.EpsilonInsensitive(0.5).slope([1.5, 0.5], 1.0).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("loss", SCALAR, ids=named)
def test_conjugate_is_the_supremum(loss):
    """Inside the domain the largest vz - l(z) of a fine grid is found but for its step; outside it grows with the grid."""
    for y in TARGETS:
        values = loss.value(GRID, y)
        inner = np.abs(GRID) <= 20
        for v in SLOPES:
            seen = v * GRID - values
            found = loss.conjugate(v, y)
            if math.isinf(found):
                assert found > 0
                assert seen.max() > seen[inner].max() + 1e-6  # no end in sight
            else:
                assert found >= seen.max() - 1e-12 * (1 + abs(found)), (v, y)
                assert found <= seen.max() + 1e-6, (v, y)


DOMAIN = {
    "Hinge": lambda v, y: -1 <= v * y <= 0,
    "SquaredHinge": lambda v, y: v * y <= 0,
    "Logistic": lambda v, y: -1 <= v * y <= 0,
    "Squared": lambda v, y: True,
    "Perceptron": lambda v, y: -1 <= v * y <= 0,
    "Exponential": lambda v, y: v * y <= 0,
    "EpsilonInsensitive": lambda v, y: abs(v) <= 1,
}


@pytest.mark.parametrize("loss", SCALAR, ids=named)
def test_conjugate_is_infinite_outside_its_domain_alone(loss):
    inside = DOMAIN[type(loss).__name__]
    for y in TARGETS:
        for v in SLOPES:
            assert math.isfinite(loss.conjugate(v, y)) == inside(v, y), (v, y)


@pytest.mark.parametrize("loss", SCALAR, ids=named)
def test_fenchel_and_young(loss):
    """l(z) + l*(v) >= vz, with equality at v = l'(z)."""
    random = np.random.default_rng(1)
    z, other = random.normal(size=(2, 500)) * 3
    y = random.choice(TARGETS, 500)
    v = loss.slope(z, y)
    size = 1e-12 * (1 + np.abs(v * z) + loss.value(z, y))
    assert np.all(np.abs(loss.value(z, y) + loss.conjugate(v, y) - v * z) <= size)
    assert np.all(loss.value(other, y) + loss.conjugate(v, y) >= v * other - 1e-12 * (1 + np.abs(v * other)))


@pytest.mark.parametrize("loss", SCALAR, ids=named)
def test_the_largest_curvature_is_the_largest(loss):
    h, z = 1e-4, np.linspace(-6, 6, 12_001)  # every kink on it
    bend = (loss.slope(z + h, 1.0) - loss.slope(z - h, 1.0)) / (2 * h)
    if math.isfinite(loss.largest_curvature):
        assert bend.max() == pytest.approx(loss.largest_curvature, rel=1e-4)
    else:
        assert bend.max() > 100


@pytest.mark.parametrize("loss", SCALAR, ids=named)
def test_numbers_give_numbers_and_arrays_are_broadcast(loss):
    for verb in ("value", "slope", "conjugate"):
        call = getattr(loss, verb)
        assert type(call(0.25, 1)) is float
        table = call(np.array([[0.25], [-0.5]]), np.array([1, -1, 1]))
        assert table.shape == (2, 3)
        assert table[1, 1] == call(-0.5, -1)


# -- softmax -------------------------------------------------------------------------------------------------


def test_softmax_against_the_kernel_and_the_logistic_loss():
    random = np.random.default_rng(2)
    soft = losses.Softmax()
    for K in (2, 3, 7):
        z = random.normal(size=(50, K)) * 10 ** random.uniform(-2, 2.5, size=(50, 1))
        y = random.integers(K, size=50)
        p = np.empty(K)
        for i in range(50):
            assert soft.value(z[i], y[i]) == pytest.approx(softmax_row(z[i], y[i], p), rel=1e-12, abs=1e-300)
            np.testing.assert_allclose(soft.slope(z[i], y[i]), p - (np.arange(K) == y[i]), rtol=1e-10, atol=1e-15)
        np.testing.assert_array_equal(soft.value(z, y), [soft.value(z[i], y[i]) for i in range(50)])
    m = np.array([-800.0, -3.0, 0.0, 0.2, 40.0, 300.0])
    two = soft.value(np.stack([np.zeros(6), m], axis=-1), 1)
    np.testing.assert_allclose(two, losses.Logistic().value(m, 1), rtol=1e-14)


def test_softmax_conjugate():
    random = np.random.default_rng(3)
    soft = losses.Softmax()
    z = random.normal(size=(40, 4)) * 3
    y = random.integers(4, size=40)
    v = soft.slope(z, y)
    np.testing.assert_allclose(soft.conjugate(v, y), (v * z).sum(-1) - soft.value(z, y), rtol=0, atol=1e-12)
    others = random.normal(size=(40, 4)) * 3
    assert np.all(soft.value(others, y) + soft.conjugate(v, y) >= (v * others).sum(-1) - 1e-12)
    assert soft.conjugate([0.0, 0.0, 0.0], 1) == 0.0  # p = e_y
    assert soft.conjugate([1 / 3, 1 / 3, -2 / 3], 2) == pytest.approx(-math.log(3))
    for outside in ([0.1, 0.0, 0.0], [-0.1, 0.1, 0.0], [0.8, 0.4, -1.2]):
        assert soft.conjugate(outside, 2) == math.inf


# -- what is refused, and what is not needed -----------------------------------------------------------------


def test_labels_that_are_no_signs_are_refused():
    with pytest.raises(ValueError, match=r"y must be -1 or \+1; got 0 \(2y - 1 makes"):
        losses.Logistic().value([0.3, 0.2], [0, 1])
    with pytest.raises(ValueError, match=r"y must be -1 or \+1; got 2$"):
        losses.Hinge().slope(0.3, 2)
    for nothing in (None, [None, 1.0], "1", ["1"], np.datetime64("2020-01-01")):
        with pytest.raises(TypeError, match="z must be a number or an array of numbers"):
            losses.Hinge().value(nothing, 1)
    with pytest.raises(TypeError, match="z must be a number or an array of numbers; got 'high'"):
        losses.Squared().value("high", 1)
    with pytest.raises(ValueError, match="epsilon must be a float in the range"):
        losses.EpsilonInsensitive(-0.1)
    with pytest.raises(ValueError, match="y must be the number of a class, 0 to 2; got 3"):
        losses.Softmax().value([1.0, 2.0, 3.0], 3)
    with pytest.raises(ValueError, match="K >= 2 scores"):
        losses.Softmax().value(1.0, 0)


def test_losses_are_told_apart():
    assert losses.Hinge() == losses.Hinge()
    assert losses.Hinge() != losses.Squared()
    assert losses.Hinge() != ()
    assert losses.EpsilonInsensitive(0.1) != losses.EpsilonInsensitive(0.2)
    assert len({losses.Hinge(), losses.Hinge(), losses.Squared()}) == 2
    assert all(bool(loss) for loss in SCALAR)


def test_no_compiler_is_needed():
    program = (
        "import sys; from gapless import losses; losses.Hinge().value([0.5, 2.0], [1, -1]);"
        "losses.Softmax().conjugate([0.0, 0.0], 0); sys.exit('numba' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_every_verb_is_in_the_key_of_the_kernels():
    """An edit of a verb must make all kernels anew; an edit of what people read must not."""
    from pathlib import Path

    from gapless._compile.kernel_keys import verb_files

    hashed = {str(file) for file in verb_files()}
    for loss in COMPILED:
        for verb in verbs.VERBS:
            assert verbs.function(type(loss), verb).__code__.co_filename in hashed
    assert str(Path(losses.__file__)) not in hashed
    assert str(Path(losses.__file__).with_name("hinge.py")) not in hashed
