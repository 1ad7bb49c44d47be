"""S31. The VC dimension, shattering with its proof, the bound, how many rows are enough, and the ghost sample."""

import math
from fractions import Fraction

import numpy as np

from gapless.plots import CrudeBoundDisplay, TradeoffDisplay
from gapless.theory import vc

# d + 1 points are shattered: 0 and the unit vectors. No d + 2 are, as multipliers prove.
assert vc.dimension("halfspaces", d=2) == 3
three = vc.shatters(vc.independent_points(2))
assert three.shattered
assert three.check()
square = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
four = vc.radon(square)
assert not four.shattered  # opposite corners against each other
for column in (*square.T, np.ones(4)):
    total = sum(m * int(four.labelling[i]) * Fraction(float(column[i])) for i, m in zip(four.rows, four.multipliers))
    assert total == 0
assert vc.effective_dimension(np.array([[0.0, 0.0], [1.0, 2.0], [2.0, 4.0]])) == 2  # all on one line: rank of (x, 1)

# Omega = sqrt(8/N ln(4 m(2N)/delta)), here with m(n) <= n^d + 1.
omega = vc.bound(10_000, 3, delta=0.1, growth="power")
assert math.isclose(omega.value, math.sqrt(8 / 10_000 * math.log(4 * (20_000**3 + 1) / 0.1)))

# Rows for epsilon = delta = 0.1 and d = 3: N = 8/epsilon^2 ln(4 ((2N)^3 + 1)/delta), about 30,000; the rule of thumb says 30.
size = vc.sample_size(0.1, 0.1, 3, growth="power")
assert size.n == math.ceil(size.n_real)
assert math.isclose(size.n_real, 800 * math.log(40 * ((2 * size.n_real) ** 3 + 1)), rel_tol=1e-9)
assert 29_000 < size.n < 30_000
assert size.rule_of_thumb == 30

# E_in, Omega and their sum; N^d e^(-N).
dimensions = np.arange(1, 20)
found = vc.tradeoff(dimensions, 0.5 * np.exp(-dimensions / 3.0), n=20_000)
assert np.allclose(found.total, found.e_in + found.penalty)
assert found.best == dimensions[np.argmin(found.total)]
assert TradeoffDisplay.from_tradeoff(found).tradeoff.best == found.best
n = vc.crude_sample_size(0.05, 5)
assert math.isclose(n**5 * math.exp(-n), 0.05)
assert math.isclose(vc.crude(n, 5), math.log(0.05))
assert CrudeBoundDisplay.from_dimensions((2, 5)).sizes[1] == n

# The ghost sample: a second sample that is never drawn replaces E_out; each step holds in a simulation.
ghost = vc.ghost_sample(100, 0.2, draws=500)
assert ghost.step_holds
assert ghost.ghost <= min(1.0, ghost.ghost_bound)
assert ghost.out <= min(1.0, ghost.vc_bound)
