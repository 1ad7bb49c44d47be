"""S16. Least squares as a classifier, and how rows far on their own side pull it off."""

import numpy as np

from gapless import LeastSquaresClassifier, LinearSVC
from gapless.plots import ThreeModelsDisplay

near, far = np.array([[-1.0], [1.0]]), np.array([[-1.0], [1.0], [9.0]])


def boundary(model):
    return float(-model.intercept_[0] / model.coef_[0, 0])


# Rows -1 and 1: the boundary is 0. A row at 9, on its own side, moves it to 2/3: w = 8/56, b = 1/3 - 3 w.
assert np.isclose(boundary(LeastSquaresClassifier().fit(near, [-1, 1])), 0.0)
pulled = LeastSquaresClassifier().fit(far, [-1, 1, 1])
assert np.allclose([pulled.coef_[0, 0], pulled.intercept_[0]], [1.0 / 7.0, -2.0 / 21.0])
assert np.isclose(boundary(pulled), 2.0 / 3.0)
assert np.isclose(boundary(LinearSVC(C=np.inf).fit(far, [-1, 1, 1])), 0.0, atol=1e-9)  # the margin does not care

# The picture: the same on two clouds, beside logistic regression and the SVM (or the perceptron).
random = np.random.default_rng(0)
X = random.normal(size=(40, 2)) + np.repeat([[-1.5, 0.0], [1.5, 0.0]], 20, axis=0)
y = np.repeat([-1, 1], 20)
added = np.array([[8.0, -6.0], [9.0, -7.0], [8.5, -6.5]])
for third in ("SVM", "perceptron"):
    display = ThreeModelsDisplay.from_data(X, y, added, np.ones(3), third=third)
    assert display.turned("least squares") > 10.0  # degrees
assert ThreeModelsDisplay.from_data(X, y, added, np.ones(3)).turned("SVM") < 1.0
