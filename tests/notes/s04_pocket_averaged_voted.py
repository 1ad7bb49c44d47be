"""S04. The pocket, the averaged and the voted perceptron."""

import warnings

import numpy as np

from gapless import Perceptron, theory

X = np.array([[0.0, 1.0], [1.0, 2.0], [2.0, 1.0], [-1.0, -1.0], [-2.0, 0.0], [0.0, -2.0], [1.0, 1.5]])
y = np.array([1, 1, 1, -1, -1, -1, -1])  # the last row lies among the others' side

# The pocket keeps the weights with the fewest errors. The least that any line can make: over all dichotomies of these points.
least = int((theory.growth.dichotomies(X).labels != y).sum(axis=1).min())
assert least == 1
pocket = Perceptron(variant="pocket", random_state=0, certify=True).fit(X, y)
assert int((pocket.predict(X) != y).sum()) == least

# The averaged perceptron's weights are the mean over all visits: on two rows, by hand.
rows, labels = np.array([[1.0], [-2.0]]), np.array([1, -1])
averaged = Perceptron(variant="averaged", fit_intercept=False, shuffle=False, tol=None).fit(rows, labels)
assert averaged.coef_.tolist() == [[1.0]]  # 1 after the first visit and ever after

# The voted perceptron lets every weight vector vote, as often as it survived: on separable rows it separates them.
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    voted = Perceptron(variant="voted", random_state=0).fit(X[:-1], y[:-1])
assert (voted.predict(X[:-1]) == y[:-1]).all()
