"""S15. Batch, stochastic and mini-batch descent; the step size; Newton; and a function whose end depends on the start."""

import numpy as np

from gapless import Schedule, Until, descend, linear_risk, theory

# A bowl with curvatures 1 and 10: every rate below 2/L = 0.2 converges, and none above; Newton's method needs one step.
H = np.diag([1.0, 10.0])
bowl = (lambda x: 0.5 * x @ H @ x, lambda x: H @ x, lambda x: H)
start = [3.0, -2.0]
assert descend(bowl, start, schedule=0.19, stop=Until(steps=2000)).converged
assert descend(bowl, start, schedule=0.21).status == "diverged"
slow = descend(bowl, start, schedule=1e-4, stop=Until(steps=100))
assert not slow.converged  # too small: downhill all the way, and nowhere near
assert np.allclose(slow.theta, [3.0 * (1.0 - 1e-4) ** 100, -2.0 * (1.0 - 1e-3) ** 100])
newton = descend(bowl, start, "newton")
assert newton.converged
assert newton.steps == 1

# Least squares with a penalty has a closed form, where all three end; decaying steps settle, a constant rate does not.
random = np.random.default_rng(0)
X = random.normal(size=(80, 3))
y = X @ [1.0, -2.0, 0.5] + 0.1 * random.normal(size=80)
risk = linear_risk(X, y, loss="squared", lam=0.1, offset="none")
best = np.linalg.solve(X.T @ X / 80 + 0.1 * np.eye(3), X.T @ y / 80)  # lam/2 |w|^2 + mean of 1/2 (y - f)^2
ends = {
    "gd": descend(risk, stop=Until(epochs=500)),
    "sgd": descend(risk, method="sgd", stop=Until(epochs=500)),
    "minibatch": descend(risk, method="minibatch", batch=8, stop=Until(epochs=500)),
    "sequential": descend(risk, method="sgd", visits="sequential", stop=Until(epochs=500)),
}
for end in ends.values():
    assert np.allclose(end.w, best, atol=0.02)
    assert end.value - risk.value(best) <= end.gap + 1e-12
constant = descend(risk, method="sgd", schedule=Schedule.constant(0.2), stop=Until(epochs=500))
assert np.linalg.norm(constant.w - best) > np.linalg.norm(ends["sgd"].w - best)

# Two wells: (x^2 - 1)^2 + 0.2 x. The left one is lower; the start decides.
wells = theory.global_minimum.two_wells(tilt=0.2)
found = theory.global_minimum.ends(wells, [[-2.0], [2.0]])
assert list(found.kinds) == ["global minimum", "local minimum"]
roots = np.sort(np.roots([4.0, 0.0, -4.0, 0.2]).real)
assert np.allclose([each.theta[0] for each in found.descents], [roots[0], roots[2]], atol=1e-5)
