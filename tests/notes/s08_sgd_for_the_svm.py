"""S08. Stochastic descent for the support vector machine: the update of the notes, step by step."""

import numpy as np

from gapless import LinearSVC, Schedule, Until, descend, linear_risk

random = np.random.default_rng(0)
X = random.normal(size=(30, 2))
y = np.where(X[:, 0] - X[:, 1] > 0.0, 1.0, -1.0)
lam, order = 0.1, random.integers(30, size=40)

# The notes:  z = y (<theta, x> + theta_0);  z < 1: theta <- theta + eta x y - eta lam theta, theta_0 <- theta_0 + eta y
theta, offset = np.zeros(2), 0.0
for t, i in enumerate(order, 1):
    eta = 1.0 / (lam * (t + 10.0))
    if y[i] * (X[i] @ theta + offset) < 1.0:
        theta, offset = theta + eta * X[i] * y[i] - eta * lam * theta, offset + eta * y[i]
    else:
        theta = theta - eta * lam * theta

risk = linear_risk(X, y, loss="hinge", lam=lam)
found = descend(
    risk,
    method="sgd",
    literal=True,
    visits=order,
    schedule=Schedule.pegasos(lam, 10.0),
    stop=Until(steps=40),
    start="zero",
)
assert np.allclose(np.append(found.w, found.b), np.append(theta, offset), rtol=1e-12)

# Enough epochs of decaying steps end where the solver's optimum is; the gap says how near, without knowing it.
best = LinearSVC(loss="hinge", C=1.0 / (lam * 30), tol=1e-9).fit(X, y)
long = descend(risk, method="sgd", schedule="pegasos", average="tail", stop=Until(epochs=300))
optimum = lam * best.certificate_.primal
assert 0.0 <= long.value - optimum <= long.gap + 1e-12
assert long.value - optimum < 0.01 * optimum

# A constant rate does not settle: its end is no better, and a random start changes the way and not the goal.
constant = descend(risk, method="sgd", schedule=0.5, stop=Until(epochs=300), start="random")
assert constant.value >= optimum
