"""S33. Learning curves, in the VC and in the bias-variance view."""

import numpy as np
from gapless.theory.learning_curve import learning_curve

from gapless import LinearRegression
from gapless.plots import LearningCurveDisplay

w, noise = np.array([1.0, -2.0, 0.5]), 0.5


def data(n, random):
    X = random.normal(size=(n, 3))
    return X, X @ w + noise * random.normal(size=n)


found = learning_curve(
    LinearRegression(fit_intercept=False), data, [10, 20, 40, 80], "squared", repeats=60, test=400,
    truth=lambda X: X @ w, noise=noise**2,
)  # fmt: skip

# Linear regression with d columns: E_in = sigma^2 (1 - d/N) exactly, E_out = sigma^2 (1 + d/(N - d - 1)) for normal rows.
n = found.n
assert (np.abs(found.e_in - noise**2 * (1.0 - 3.0 / n)) < 2.0 * found.e_in_half).all()
assert (np.abs(found.e_out - noise**2 * (1.0 + 3.0 / (n - 4.0))) < 3.0 * found.e_out_half).all()

# Two readings: E_in and what generalisation costs; bias (0: the truth is a line), variance and noise.
assert np.allclose(found.gap, found.e_out - found.e_in)
assert (np.abs(found.bias) < 0.02).all()
assert (np.diff(found.variance) < 0.0).all()
assert found.exponent > 0.5  # faster than the O(1/sqrt(N)) of the VC bound
assert (found.gap <= found.constant / np.sqrt(n) * (1.0 + 1e-12)).all()
display = LearningCurveDisplay.from_curve(found).plot()
assert len(display.axes_) == 3
