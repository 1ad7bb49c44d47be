"""S05. The perceptron criterion D(w, b) = sum max(0, -y (<w, x> + b)): value, slope, and why its minimum finds nothing."""

import numpy as np

from gapless import Until, descend, linear_risk, losses
from gapless.plots import LossDisplay

loss = losses.Perceptron()
assert loss.value([-2.0, 0.0, 3.0], 1).tolist() == [2.0, 0.0, 0.0]  # only the wrong side costs
assert loss.value([-2.0, 0.0, 3.0], -1).tolist() == [0.0, 0.0, 3.0]
assert loss.slope([-2.0, 3.0], 1).tolist() == [-1.0, 0.0]
assert loss.conjugate([-0.5, 0.5], 1).tolist() == [0.0, np.inf]

# A step against the slope of one row's term is the perceptron's update: w <- w + rate y x where the row is wrong.
w, x, label, rate = np.array([1.0, -1.0]), np.array([0.0, 2.0]), 1, 0.5
z = float(w @ x)
assert z < 0.0
assert np.array_equal(w - rate * loss.slope(z, label) * x, w + rate * label * x)

# Its minimum is 0 at (w, b) = 0, on any data, separable or not; a descent from there stays, and it is said.
X, y = np.array([[1.0, 2.0], [1.0, 2.0], [-1.0, 0.0]]), np.array([1, -1, 1])
nothing = linear_risk(X, y, loss="perceptron", lam=0)
stays = descend(nothing)
assert (stays.value, stays.steps) == (0.0, 0)
assert "its minimum is 0, at w = 0 and b = 0, on any data" in str(stays)

# On rows that can be separated a descent from elsewhere ends where no row is on the wrong side.
X, y = np.array([[2.0, 1.0], [1.0, 3.0], [-1.0, -2.0], [-2.0, -1.0]]), np.array([1, 1, -1, -1])
risk = linear_risk(X, y, loss="perceptron", lam=0)
start = np.array([-1.0, 0.5, 0.0])
assert np.isclose(risk.value(start), np.maximum(0.0, -y * (X @ start[:2] + start[2])).mean())
for method in ("gd", "sgd", "minibatch"):
    found = descend(risk, start, method, schedule=0.5, stop=Until(epochs=200))
    assert found.value == 0.0
    assert (y * (X @ found.w + found.b) >= 0.0).all()

# All losses in one picture.
picture = LossDisplay.from_losses().plot()
assert np.allclose(picture.values_["Perceptron"].get_ydata(), np.maximum(0.0, -picture.z))
