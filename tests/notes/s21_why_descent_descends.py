"""S21. Why descent descends: the step-size condition, checked along the trace."""

import numpy as np

from gapless import Until, descend

# f = 5 x^2 has L = 10: f(x - eta f') <= f - eta/2 f'^2 holds up to eta = 1/L, and every eta < 2/L still goes downhill.
bowl = (lambda x: 5.0 * float(x @ x), lambda x: 10.0 * x)
good = descend(bowl, [1.0], schedule=0.1, stop=Until(steps=5))
assert good.broke is None
assert (np.asarray(good.trace.held)[:-1] == 1.0).all()

downhill = descend(bowl, [1.0], schedule=0.15, stop=Until(steps=5))
assert downhill.value < 5.0
assert downhill.broke.step == 0  # the first one: downhill, but not by half of what the slope promises
assert np.isclose(downhill.broke.largest_rate, 0.1, rtol=1e-6)

uphill = descend(bowl, [1.0], schedule=0.21, stop=Until(steps=5))
losses = np.asarray(uphill.trace.loss)
assert (np.diff(losses) > 0.0).all()
assert np.isclose(losses[1], 5.0 * (1.0 - 10.0 * 0.21) ** 2)

# The steepest direction of length 1 is minus the gradient over its norm.
two = descend((lambda x: float(x @ x), lambda x: 2.0 * x), [3.0, 4.0], schedule=0.1, stop=Until(steps=1))
assert np.allclose(two.trace.direction[0], [-0.6, -0.8])
