"""S29. Hoeffding, the urn, the central limit, and why the chosen hypothesis needs the union bound."""

import math

import numpy as np

from gapless.plots import HoeffdingDisplay, UrnDisplay
from gapless.theory import hoeffding

# P(|nu - mu| > epsilon) <= 2 e^(-2 epsilon^2 n), solved for each of the three.
assert hoeffding.solve(epsilon=0.05, delta=0.03).n == math.ceil(math.log(2 / 0.03) / (2 * 0.05**2)) == 840
assert math.isclose(hoeffding.solve(n=840, epsilon=0.05).delta, 2 * math.exp(-2 * 0.05**2 * 840))
assert hoeffding.solve(epsilon=0.05, delta=0.03, hypotheses=100).n == math.ceil(math.log(200 / 0.03) / (2 * 0.05**2))

# The urn: ten marbles of a fair urn, |nu - 1/2| > 0.3 is 0, 1, 9 or 10 red ones: 22 of 1,024.
found = hoeffding.urn(0.5, 10, 0.3, draws=20_000)
assert math.isclose(found.exact, 22 / 1024)
assert abs(found.seen - found.exact) < 4 * found.error
assert found.exact <= found.hoeffding

# The central limit: nu has deviation sqrt(mu (1 - mu)/n), and Berry and Esseen bound its distance from the normal one.
limit = hoeffding.central_limit(0.3, 200, draws=20_000)
assert math.isclose(limit.expected_deviation, math.sqrt(0.3 * 0.7 / 200))
assert limit.distance <= limit.berry_esseen
assert np.allclose(limit.within, [0.6827, 0.9545, 0.9973], atol=0.06)

# 1,000 fair coins, ten flips each: the one with the fewest heads has none but for (1 - 2^-10)^1000 of the time.
coins = hoeffding.verification(hypotheses=1000, n=10, draws=2000)
assert math.isclose(coins.chosen_exact, 1 - (1 - 2**-10) ** 1000, rel_tol=1e-9)
assert coins.fails  # the bound for one fixed coin is broken by the chosen one
assert coins.chosen_exact <= min(1.0, coins.union_bound)
assert coins.fixed <= coins.single_bound

# The pictures: the bound against n with the simulation, and the distribution of nu.
assert (np.diff([each.hoeffding for each in HoeffdingDisplay.from_simulation(draws=500).urns]) < 0.0).all()
assert UrnDisplay.from_urn(found).urn.n == 10
