"""The verbs on arrays against the scalar verbs, which the tests of the losses hold against formulas."""

from __future__ import annotations

import numpy as np
import pytest

from gapless.losses import BY_NAME, verbs
from gapless.losses.vectors import conjugate, differentiate, has_vectors

NAMES = [name for name, loss in BY_NAME.items() if has_vectors(type(loss))]


def test_the_losses_of_small_fits_have_them():
    assert NAMES == ["hinge", "squared_hinge", "logistic"]


@pytest.mark.parametrize("name", NAMES)
def test_derivatives(name):
    loss = BY_NAME[name]
    random = np.random.default_rng(0)
    z = np.concatenate(
        [random.normal(size=500) * 3.0, np.logspace(-12, 4, 100), -np.logspace(-12, 4, 100), [0.0, 1.0, -1.0]]
    )
    y = random.choice([-1.0, 1.0], z.size)
    found = differentiate(loss, z, y)
    for verb, values in (("value", found.value), ("slope", found.slope), ("curvature", found.curvature)):
        scalar = verbs.function(type(loss), verb)
        exact = np.array([scalar(loss, *each) for each in zip(z, y)])
        # exp and log differ by a few units in the last place; e^-708 and less count as 0 in kernels
        np.testing.assert_allclose(values, exact, rtol=1e-14, atol=1e-300)


@pytest.mark.parametrize("name", NAMES)
def test_conjugates(name):
    loss = BY_NAME[name]
    alpha = np.concatenate([np.linspace(-0.5, 1.5, 401), np.logspace(-300, 0, 50), 1.0 - np.logspace(-16, 0, 50)])
    exact = [verbs.function(type(loss), "conjugate")(loss, -each, 1.0) for each in alpha]
    np.testing.assert_allclose(conjugate(loss, alpha), exact, rtol=1e-13, atol=1e-300)
