"""S20. Reading theta: which features push which way, for the model and for one example."""

import numpy as np

from gapless import LinearSVC, explain

# Rows (3, 4) and -(3, 4) have the hard margin w = (3, 4)/25, b = 0: w/|w| = (0.6, 0.8).
X, y = np.array([[3.0, 4.0], [-3.0, -4.0]]), np.array([1, -1])
model = LinearSVC(C=np.inf).fit(X, y)
found = explain(model, np.array([[1.0, -2.0]]), feature_names=["weight", "height"])
assert np.allclose(found.direction, [[0.6, 0.8]])
assert [name for name, _, _ in found.ranking()] == ["height", "weight"]
assert np.allclose([share for _, share, _ in found.ranking()], [0.8, 0.6])

# Contributions of one example, and their sum: 3/25 - 8/25 = -1/5.
assert np.allclose(found.contributions(), [[3.0 / 25.0, -8.0 / 25.0]])
assert np.allclose(found.contributions().sum() + found.intercept, model.decision_function([[1.0, -2.0]]))
assert np.allclose(found.scores(), -0.2)
print(found.describe(0))
