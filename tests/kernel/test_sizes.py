"""Bounds on sums of |K| by sums of columns: not below the sums of the matrix, and as near as Cauchy's inequality."""

import numpy as np
import pytest

from gapless.kernels import Linear, Polynomial


@pytest.mark.parametrize("scale", [1e-60, 1e-3, 1.0, 1e4])
@pytest.mark.parametrize(
    ("kernel", "of_lengths"),
    [
        (Linear(), lambda t: t),
        *((Polynomial(p, g, c), lambda t, p=p, g=g, c=c: (g * t + abs(c)) ** p)
          for p in (0, 1, 2, 3, 7) for g in (0.1, 3.0) for c in (0.0, 0.5, -2.0)),
    ],
)  # fmt: skip
def test_sums_by_columns_are_those_of_the_matrix(kernel, of_lengths, scale):
    rng = np.random.default_rng(3)
    left, right = scale * rng.random(9), scale * rng.random(14)
    weights = 10.0 ** rng.uniform(-8, 8, 14)
    by_matrix = of_lengths(np.outer(left, right)) @ weights
    assert kernel.bound_sums(left, right, weights) == pytest.approx(by_matrix, rel=1e-12, abs=0.0)


def test_sums_that_overflow_are_infinite():
    lengths = np.array([0.0, 1e200])
    assert np.isinf(Polynomial(3, 1.0, 1e200).bound_sums(lengths, lengths, np.ones(2))).all()
    assert np.isinf(Polynomial(2000, 1.0, 3.0).bound_sums(lengths, lengths, np.ones(2))).all()
