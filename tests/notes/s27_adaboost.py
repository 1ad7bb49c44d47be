"""S27. AdaBoost: weights, stage weights, normalisation, and how many rounds are enough."""

import numpy as np

from gapless import AdaBoostClassifier, verify

random = np.random.default_rng(1)
X = random.normal(size=(40, 2))
y = np.where(X.sum(axis=1) > 0.0, 1, -1)
model = AdaBoostClassifier(n_estimators=30).fit(X, y)

# Every round again: e_t is the weight that h_t gets wrong, a_t = ln((1 - e)/e), Z_t = 2 sqrt(e (1 - e)).
d, vote, product = np.full(40, 1.0 / 40.0), np.zeros(40), 1.0
for h, a, error in zip(model.estimators_, model.estimator_weights_, model.estimator_errors_):
    wrong = h.predict(X) != y
    assert np.isclose(d[wrong].sum(), error)
    assert np.isclose(a, np.log((1.0 - error) / error))
    product *= 2.0 * np.sqrt(error * (1.0 - error))
    vote += a * h.predict(X)
    assert (
        np.mean(np.sign(vote) != y) <= product + 1e-12
    )  # the training error is at most Z_1 ... Z_t, after every round
    d = d * np.exp(a * wrong)
    d /= d.sum()
    assert np.isclose(d[wrong].sum(), 0.5)  # h_t has error 1/2 under the next weights: it cannot be taken again
assert np.isclose(model.certificate_.bound, product)
assert (model.predict(X) == np.sign(vote)).all()

# T >= ln(2n)/(2 gamma^2) rounds of edge gamma = 1/2 - e leave no row wrong: e^(-2 T gamma^2) <= 1/(2n).
edge = float((0.5 - model.estimator_errors_).min())
assert np.isclose(model.certificate_.edge, edge)
assert model.certificate_.enough == int(np.ceil(np.log(2 * 40) / (2.0 * edge**2)))
assert verify(model, X, y)
print(model.stop_reason_)

# Three classes (SAMME): the error under the next weights is 1 - 1/K.
z = np.digitize(X[:, 0], [-0.4, 0.4])
three = AdaBoostClassifier(n_estimators=3).fit(X, z)
d = np.full(40, 1.0 / 40.0)
for h, a in zip(three.estimators_, three.estimator_weights_):
    wrong = h.predict(X) != z
    d = d * np.exp(a * wrong)
    d /= d.sum()
    assert np.isclose(d[wrong].sum(), 1.0 - 1.0 / 3.0)
