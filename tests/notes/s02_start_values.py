"""S02. The solution of a perceptron depends on its start."""

import numpy as np

from gapless import LeastSquaresClassifier, Perceptron
from gapless.plots import StartsDisplay

X = np.array([[2.0, 1.0], [1.0, 3.0], [-1.0, -2.0], [-2.0, -1.0]])
y = np.array([1, 1, -1, -1])

# A start that separates already makes no mistake and stays where it is.
for start in ([[1.0, 0.0]], [[0.0, 1.0]], [[3.0, 1.0]]):
    model = Perceptron(init=(start, [0.0]), shuffle=False, tol=None).fit(X, y)
    assert model.mistakes_ == 0
    assert model.coef_.tolist() == start

# Several starts beside the least-squares line, which has none: any fit gives the same one.
display = StartsDisplay.from_data(X, y, starts=[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])
assert display.errors.tolist() == [0, 0, 0]
assert np.isclose(display.spread, 90.0)  # the first two lines stand at a right angle
line = LeastSquaresClassifier().fit(X, y)
assert np.allclose(display.least_squares, [*line.coef_[0], *line.intercept_])
assert np.allclose(display.least_squares, np.linalg.pinv(np.column_stack([X, np.ones(4)])) @ y)
