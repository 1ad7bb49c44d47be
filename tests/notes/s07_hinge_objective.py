"""S07. The hinge objective with lambda and its C form, and the way between them."""

import numpy as np

from gapless import LinearSVC, convert, linear_risk

assert convert(C=2.0, n=50, to="lam") == 0.01  # lam = 1/(n C)
assert convert(lam=0.01, n=50, to="C") == 2.0

random = np.random.default_rng(0)
X = random.normal(size=(50, 2))
y = np.where(X[:, 0] + 0.5 * random.normal(size=50) > 0.0, 1, -1)
model = LinearSVC(loss="hinge", C=2.0, tol=1e-9).fit(X, y)
w, b = model.coef_[0], model.intercept_[0]

# P = 1/2 |w|^2 + C sum max(0, 1 - y f), and J = lam/2 |w|^2 + mean max(0, 1 - y f) is lam times that.
hinge = np.maximum(0.0, 1.0 - y * (X @ w + b))
P = 0.5 * w @ w + 2.0 * hinge.sum()
J = 0.5 * 0.01 * w @ w + hinge.mean()
assert np.isclose(model.certificate_.primal, P)
assert np.isclose(J, 0.01 * P)
assert np.isclose(linear_risk(X, y, loss="hinge", lam=0.01).value(np.append(w, b)), J)
assert "2" in str(model.objective_)  # the formula, with the user's numbers
print(model.objective_)
