"""S19. Bayes rule and Gaussian classes: one sigma, one covariance, a covariance for each class."""

import numpy as np
from scipy.stats import multivariate_normal

from gapless import GaussianDiscriminant, LogisticRegression, bayes_rule
from gapless.plots import GaussianDisplay

# Bayes rule by hand: densities (1/2, 1/2) and (1/10, 3/10) at two points, priors 3/4 and 1/4.
rule = bayes_rule([[0.5, 0.1], [0.5, 0.3]], priors=[0.75, 0.25])
assert np.allclose(rule.posterior, [[0.75, 0.25], [0.5, 0.5]])

random = np.random.default_rng(0)
X = np.vstack(
    [random.multivariate_normal([0, 0], [[2, 0.6], [0.6, 1]], 150), random.normal([2, 1], [1, 1.5], (150, 2))]
)
y = np.repeat([0, 1], 150)
means = [X[y == k].mean(axis=0) for k in (0, 1)]
own = [np.cov(X[y == k].T, bias=True) for k in (0, 1)]
shared = 0.5 * (own[0] + own[1])

kinds = {}
for covariance in ("spherical", "shared", "per_class"):
    model = GaussianDiscriminant(covariance=covariance).fit(X, y)
    kinds[covariance] = model.boundary(0, 1).kind
    sigma = {"spherical": np.trace(shared) / 2.0 * np.eye(2), "shared": shared, "per_class": None}[covariance]
    logs = [multivariate_normal(means[k], own[k] if sigma is None else sigma).logpdf(X) for k in (0, 1)]
    posterior = 1.0 / (1.0 + np.exp(logs[0] - logs[1]))  # equal priors
    assert np.allclose(model.predict_proba(X)[:, 1], posterior)
assert kinds == {"spherical": "line", "shared": "line", "per_class": "conic"}

# A shared covariance implies logistic coefficients: Sigma^-1 (m1 - m0). The fitted ones are close, and not the same.
model = GaussianDiscriminant(covariance="shared").fit(X, y)
assert np.allclose(model.logistic_coef_[0], np.linalg.solve(shared, means[1] - means[0]))
fitted = LogisticRegression(C=np.inf).fit(X, y)
assert np.allclose(fitted.coef_, model.logistic_coef_, atol=0.5)
assert not np.allclose(fitted.coef_, model.logistic_coef_, atol=1e-3)
assert GaussianDisplay.from_estimator(model, X, y).wrong == int((model.predict(X) != y).sum())
