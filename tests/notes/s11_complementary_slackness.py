"""S11. Complementary slackness: the class of every row, read from alpha and from the margin."""

import numpy as np

from gapless import LinearSVC
from gapless.plots import MarginDisplay

random = np.random.default_rng(3)
X = random.normal(size=(60, 2)) + np.repeat([[-1.0, -1.0], [1.0, 1.0]], 30, axis=0)
y = np.repeat([-1, 1], 30)
model = LinearSVC(loss="hinge", C=0.5, tol=1e-10).fit(X, y)

# Read it again here: alpha = 0 goes with yf >= 1, 0 < alpha < C with yf = 1, alpha = C with yf <= 1.
alpha, yf = model.alpha_, y * (X @ model.coef_[0] + model.intercept_[0])
zero, full = alpha < 1e-8, alpha > 0.5 - 1e-8
assert (yf[zero] >= 1.0 - 1e-4).all()
assert (yf[full] <= 1.0 + 1e-4).all()
assert np.allclose(yf[~zero & ~full], 1.0, atol=1e-4)
assert min(zero.sum(), full.sum(), (~zero & ~full).sum()) > 0  # all three classes occur

found = model.slackness_
assert found.consistent.all()
assert found.from_dual.tolist() == np.where(zero, 0, np.where(full, 2, 1)).tolist()
assert found.counts.sum() == 60
assert max(found.largest.values()) < 1e-4  # alpha (1 - yf - xi), beta xi, alpha + beta - C
xi = np.maximum(0.0, 1.0 - yf)
assert np.allclose(found.residuals["beta xi"], (0.5 - alpha) * xi, atol=1e-6)
display = MarginDisplay.from_estimator(model, X, y)
assert int(display.support.sum()) == int((~zero).sum())
