"""A kernel SVM that says how far it is from its optimum, which rows are certain, and which rows would do alone."""

import numpy as np
from sklearn.datasets import make_moons

from gapless import SVC, OneClassSVM, estimate_cost, reduce, verify

X, y = make_moons(400, noise=0.25, random_state=0)

model = SVC(C=10.0)
print("before the fit:", estimate_cost(model, X))
model.fit(X, y)
print(model.certificate_)
print(model.objective_)

# Every row is read twice, from alpha and from its margin; the gap proves most of it.
slackness = model.slackness_
print(slackness)

# A stranger with the data checks all of it; `rigorous` gives bounds that hold in exact arithmetic.
verdict = verify(model, X, y, rigorous=True)
print(bool(verdict), verdict.bounds)

# The rows that alone give the same model.
found = reduce(model, X, y)
print(found)
again = found.estimator().fit(X[found.rows], y[found.rows])
print("largest difference of scores:", np.abs(again.decision_function(X) - model.decision_function(X)).max())

# One-class: at most nu of the rows lie outside.
outside = OneClassSVM(nu=0.1).fit(X)
print(f"{np.mean(outside.predict(X) < 0):.3f} of the rows lie outside; nu = 0.1")
