"""S14. Linear regression: the formula of one feature, the pseudo-inverse, R squared."""

import numpy as np

from gapless import LinearRegression, Ridge, verify
from gapless.plots import RegressionDisplay

# One feature: w = cov(x, y)/var(x), b = mean y - w mean x.
x, y = np.array([0.0, 1.0, 2.0, 3.0]), np.array([1.0, 3.0, 4.0, 8.0])
model = LinearRegression().fit(x[:, None], y)
w = ((x - x.mean()) * (y - y.mean())).sum() / ((x - x.mean()) ** 2).sum()
assert np.allclose([model.coef_[0], model.intercept_], [w, y.mean() - w * x.mean()])
assert np.allclose([w, y.mean() - w * x.mean()], [2.2, 0.7])
residuals = y - model.predict(x[:, None])
assert np.isclose(model.score(x[:, None], y), 1.0 - (residuals**2).sum() / ((y - y.mean()) ** 2).sum())
assert verify(model, x[:, None], y)

# The squares of R squared: about the line 1.8, about the mean 26.
display = RegressionDisplay.from_estimator(model, x[:, None], y)
assert np.allclose([display.about_line, display.about_mean], [1.8, 26.0])

# More columns than rows: the pseudo-inverse, the shortest of all solutions.
random = np.random.default_rng(1)
A, t = random.normal(size=(4, 7)), random.normal(size=4)
wide = LinearRegression(fit_intercept=False).fit(A, t)
assert np.allclose(wide.coef_, np.linalg.pinv(A) @ t)
assert wide.rank_ == 4

# Ridge: (A'A + alpha I) w = A't.
ridge = Ridge(alpha=0.5, fit_intercept=False).fit(A, t)
assert np.allclose(ridge.coef_, np.linalg.solve(A.T @ A + 0.5 * np.eye(7), A.T @ t))
