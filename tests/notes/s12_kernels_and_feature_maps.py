"""S12. Kernels, and feature maps that make the classes separable."""

import numpy as np

from gapless import SVC, separability
from gapless.plots import FeatureMapDisplay

X = np.array([[-1.0, -1.0], [1.0, 1.0], [-1.0, 1.0], [1.0, -1.0]])
y = np.array([1, 1, -1, -1])  # xor

# Linear it is not; the product of the two coordinates separates it with margin 1.
assert separability(X, y).status == "overlap"
product = X[:, :1] * X[:, 1:]
mapped = separability(product, y)
assert mapped.status == "complete"
assert np.isclose(mapped.margin, 1.0)
display = FeatureMapDisplay.from_data(X, y, lambda rows: rows[:, :1] * rows[:, 1:])
assert (display.before.status, display.after.status) == ("overlap", "complete")

# Squares lift a disc out of the ring around it.
angle = np.linspace(0.0, 2.0 * np.pi, 8, endpoint=False)
circle = np.column_stack([np.cos(angle), np.sin(angle)])
rings, inside = np.vstack([circle, 2.0 * circle]), np.repeat([1, -1], 8)
assert separability(rings, inside).status == "overlap"
assert separability(rings**2, inside).status == "complete"

# Kernels do the same without the map: polynomial, rbf, sigmoid, a matrix, a function.
for kernel in ({"kernel": "poly", "degree": 2, "coef0": 1.0}, {"kernel": "rbf", "gamma": 1.0}):
    assert (SVC(C=100.0, **kernel).fit(X, y).predict(X) == y).all()
K = np.exp(-np.array([[np.sum((a - b) ** 2) for b in X] for a in X]))  # rbf by hand
rbf = SVC(C=10.0, kernel="rbf", gamma=1.0, tol=1e-9).fit(X, y)
matrix = SVC(C=10.0, kernel="precomputed", tol=1e-9).fit(K, y)
function = SVC(C=10.0, kernel=lambda A, B: np.exp(-((A[:, None] - B[None]) ** 2).sum(-1)), tol=1e-9).fit(X, y)
assert np.allclose(rbf.decision_function(X), matrix.decision_function(K), atol=1e-6)
assert np.allclose(rbf.decision_function(X), function.decision_function(X), atol=1e-6)
# By symmetry all alpha are equal, a, and b = 0: yf = a (1 + e^-8 - 2 e^-4) = 1.
assert np.allclose(rbf.alpha_, 1.0 / (1.0 + np.exp(-8.0) - 2.0 * np.exp(-4.0)), rtol=1e-5)
linear = SVC(C=1.0, kernel="linear").fit([[-1.0], [1.0]], [-1, 1])
assert np.allclose(linear.coef_, 1.0, atol=1e-3)
