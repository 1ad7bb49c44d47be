"""e^t in single precision."""

import numba
import numpy as np

from gapless._compile.on_demand import wake
from gapless.gram.float32_exp import exp_single

wake()  # tells numba of the function


@numba.njit
def _all(t, out):
    for i in range(t.size):
        out[i] = exp_single(t[i])


def test_two_units_in_the_last_place():
    t = np.concatenate([np.linspace(-86.9, 1.0, 400_001), -np.logspace(-30, 1.9, 10_001), [0.0]]).astype(np.float32)
    out = np.empty_like(t)
    _all(t, out)
    exact = np.exp(t.astype(np.float64))
    assert np.abs(out / exact - 1.0).max() <= 2.0 * 2.0**-23
    assert out[-1] == 1.0
    deep = np.array([-88.0, -200.0, -1e30, -np.inf], np.float32)
    _all(deep, deep)
    assert (deep <= 2e-38).all()
    assert (deep >= 0.0).all()
