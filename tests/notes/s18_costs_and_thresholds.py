"""S18. Types of errors, their costs, the threshold that follows, and imbalance."""

import numpy as np
from scipy.stats import beta

from gapless import LinearSVC, LogisticRegression, theory, threshold_for

random = np.random.default_rng(0)
X = random.normal(size=(600, 1))
y = (random.random(600) < 1.0 / (1.0 + np.exp(-2.0 * X[:, 0]))).astype(int)
model = LogisticRegression().fit(X[:200], y[:200])

# A false alarm costs 1, a miss 4: call it positive where 4 p > 1 (1 - p), that is p > 1/5.
found = threshold_for(model, {"false_positive": 1.0, "false_negative": 4.0}, X[200:], y[200:])
assert np.isclose(found.probability, 0.2)
assert np.isclose(found.theory.probability, 0.2)
calls = found.predictor("theory").predict(X[200:])
assert np.array_equal(calls, (model.predict_proba(X[200:])[:, 1] > 0.2).astype(int))
cost = 1.0 * ((calls == 1) & (y[200:] == 0)).mean() + 4.0 * ((calls == 0) & (y[200:] == 1)).mean()
assert np.isclose(found.theory.cost, cost)
assert found.data.cost <= found.theory.cost <= found.as_it_is.cost  # the data choose the least, predict cuts at 1/2

# The confusion matrix on rows that were not trained on, with exact binomial intervals.
table = theory.confusion.confusion(model, X[200:], y[200:])
predicted = model.predict(X[200:])
assert table.counts.tolist() == [[int(((y[200:] == i) & (predicted == j)).sum()) for j in (0, 1)] for i in (0, 1)]
wrong = int((predicted != y[200:]).sum())
assert np.isclose(table.error.high, beta.ppf(1.0 - 0.025, wrong + 1, 400 - wrong))
assert np.isclose(table.error.low, beta.ppf(0.025, wrong, 400 - wrong + 1))

# A class weight of 3 is the same as three copies of the rows of that class.
few, labels = X[:60], y[:60]
copies = np.concatenate([np.arange(60), *(2 * [np.flatnonzero(labels == 1)])])
weighted = LinearSVC(loss="hinge", class_weight={1: 3.0}, tol=1e-10).fit(few, labels)
repeated = LinearSVC(loss="hinge", tol=1e-10).fit(few[copies], labels[copies])
assert np.allclose(weighted.coef_, repeated.coef_, atol=1e-5)
