"""S03. Not separable: the perceptron would go on for ever; the fit ends, with a proof."""

import warnings
from fractions import Fraction

import numpy as np

from gapless import ConvergenceWarning, Perceptron, separability, verify

X = np.array([[-1.0, -1.0], [1.0, 1.0], [-1.0, 1.0], [1.0, -1.0]])
y = np.array([1, 1, -1, -1])  # xor: the diagonals cross at 0

with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    model = Perceptron(shuffle=False, certify=True).fit(X, y)
assert any(issubclass(each.category, ConvergenceWarning) for each in told)
assert model.status_ == "infeasible"

# The witness: multipliers > 0 with sum m y (x, 1) = 0. A direction with all y<t, x> > 0 would make the sum positive.
witness = model.certificate_.witness
for column in (*X.T, np.ones(4)):
    assert (
        sum(m * Fraction(int(y[i])) * Fraction(float(column[i])) for i, m in zip(witness.rows, witness.multipliers))
        == 0
    )
assert all(m > 0 for m in witness.multipliers)
assert verify(model, X, y)
assert separability(X, y).status == "overlap"
