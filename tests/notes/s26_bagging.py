"""S26. The bootstrap, bagging, and why averaging helps."""

import numpy as np

from gapless import BaggingClassifier, DecisionTreeRegressor, theory

random = np.random.default_rng(0)
X = random.normal(size=(100, 2))
y = np.where(X[:, 0] + 0.7 * random.normal(size=100) > 0.0, 1, 0)

# A row is in a bag with probability 1 - (1 - 1/n)^n, about 63.2 %; what was drawn is near it.
bags = BaggingClassifier(n_estimators=40, oob_score=True, random_state=0).fit(X, y)
assert np.isclose(bags.in_bag_probability_, 1.0 - (1.0 - 1.0 / 100) ** 100)
assert np.isclose(theory.bias_variance.distinct_share(100), 1.0 - (1.0 - 1.0 / 100) ** 100)
share = np.mean([np.unique(rows).size / 100 for rows in bags.estimators_samples_])
assert np.isclose(bags.in_bag_share_, share)
assert abs(share - bags.in_bag_probability_) < 0.03

# The out-of-bag score: for each row the learners that did not see it. Below the score on rows seen.
votes = np.zeros((100, 2))
for learner, rows in zip(bags.estimators_, bags.estimators_samples_):
    left_out = np.setdiff1d(np.arange(100), rows)
    votes[left_out] += learner.predict_proba(X[left_out])
assert np.isclose(bags.oob_score_, np.mean(votes.argmax(axis=1) == y))
assert bags.oob_score_ < bags.score(X, y)


# sigma^2/m for fresh samples, rho sigma^2 + (1 - rho) sigma^2/m for bootstrap samples, which are correlated.
def sample(n, generator):
    x = generator.uniform(0.0, 1.0, (n, 1))
    return x, np.sin(2.0 * np.pi * x[:, 0]) + 0.3 * generator.normal(size=n)


points = np.linspace(0.05, 0.95, 20)[:, None]
found = theory.averaging.averaging(DecisionTreeRegressor(), sample, points, n=50, members=5, repetitions=60, seed=0)
fresh, boot = found["fresh"], found["bootstrap"]
assert abs(fresh.correlation) < 0.15
assert np.isclose(fresh.seen, fresh.variance / 5.0, rtol=0.35)
assert boot.correlation > fresh.correlation
assert np.isclose(
    boot.seen, boot.correlation * boot.variance + (1.0 - boot.correlation) * boot.variance / 5.0, rtol=0.35
)
