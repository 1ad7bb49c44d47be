"""S34. lambda (C) between under- and overfitting: the whole path, a gap at every point, the best C."""

import numpy as np

from gapless import SVC, LinearSVC, LogisticRegression, path, verify
from gapless.plots import PathDisplay

# Rows -1 and 1: alpha = min(C, 1/2) at every C, with the one break at 1/2.
X, y = np.array([[-1.0], [1.0]]), np.array([-1, 1])
exact = path(SVC(kernel="linear"), X, y, exact=True)
assert np.allclose(exact.breaks, [0.5])
for C in (0.01, 0.3, 0.6, 3.0):
    assert np.allclose(exact.dual_at(C) * y, min(C, 0.5))
assert float(exact.relative_gap.max()) < 1e-9

# A path of logistic regressions: every point certified, and a bound on the gap of every C between two of them.
random = np.random.default_rng(0)
X = random.normal(size=(120, 10))
y = np.where(X[:, 0] + 1.5 * random.normal(size=120) > 0.0, 1, -1)
found = path(LogisticRegression(), X[:60], y[:60], Cs=np.geomspace(1e-3, 1e2, 11))
assert found.converged
assert (found.primal >= found.dual - 1e-9 * np.abs(found.primal)).all()
middle = float(np.sqrt(found.Cs[4] * found.Cs[5]))
model = found.model_at(middle)
assert model.certificate_.relative_gap <= found.between[4] + 1e-12
assert verify(model, X[:60], y[:60])
alone = LogisticRegression(C=float(found.Cs[3]), tol=1e-8).fit(X[:60], y[:60])
assert np.allclose(found.coef[3], alone.coef_, atol=1e-2)

# The best C on rows that were not fitted lies inside: too small underfits, too large overfits.
scores = found.scores(X[60:], y[60:])
best = found.best(X[60:], y[60:])
assert np.isclose(best, found.Cs[np.flatnonzero(scores == scores.max())[0]])
assert np.isclose(PathDisplay.from_path(found, X_test=X[60:], y_test=y[60:]).best, best)
small, large = LinearSVC(C=1e-4).fit(X[:60], y[:60]), LinearSVC(C=1e3).fit(X[:60], y[:60])
assert np.linalg.norm(small.coef_) < np.linalg.norm(large.coef_)
