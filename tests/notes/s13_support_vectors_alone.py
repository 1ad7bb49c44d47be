"""S13. The support vectors alone give the same solution; and what such a compression says of new rows."""

import numpy as np
from scipy.stats import binom

from gapless import LinearSVC, reduce, theory, verify

X = np.array([[-1.0, 0.0], [1.0, 0.0], [-3.0, 1.0], [4.0, 2.0], [-2.0, -5.0], [2.5, -1.0]])
y = np.array([-1, 1, -1, 1, -1, 1])
model = LinearSVC(C=np.inf).fit(X, y)

# The nearest two rows alone fix w = (1, 0) and b = 0.
found = reduce(model, X, y)
assert found.rows.tolist() == [0, 1]
again = found.estimator().fit(X[found.rows], y[found.rows])
assert np.allclose(again.coef_, [[1.0, 0.0]], atol=1e-9)
assert np.allclose(model.coef_, again.coef_, atol=1e-9)
assert verify(found.certificate, X[found.rows], y[found.rows])

# A soft margin without a free support vector: rows with alpha = 0 that fix the ends of the offset's interval stay too.
rows, labels = np.array([[-2.0], [-1.0], [1.0], [2.0]]), np.array([-1, -1, 1, 1])
soft = LinearSVC(loss="hinge", C=0.05, tol=1e-10).fit(rows, labels)
kept = reduce(soft, rows, labels)
refit = kept.estimator().fit(rows[kept.rows], labels[kept.rows], sample_weight=kept.sample_weight)
assert np.allclose(refit.coef_, soft.coef_, atol=1e-6)
assert np.allclose(refit.intercept_, soft.intercept_, atol=1e-6)

# k of N rows determine the model: epsilon solves delta P(Bin(N, e) > k) = e N P(Bin(N, e) = k), far below the classical bound.
k, N, delta = 10, 1000, 0.05
epsilon = theory.compression.one_sided(k, N, delta).high
assert np.isclose(delta * binom.sf(k, N, epsilon), epsilon * N * binom.pmf(k, N, epsilon), rtol=1e-6)
assert epsilon < theory.compression.classical(k, N, delta).high
