"""S17. Logistic regression for labels -1, 1 and 0, 1; cross-entropy; probabilities; more than two classes."""

import numpy as np

from gapless import LogisticRegression, losses, theory, verify
from gapless.plots import CrossEntropyDisplay

random = np.random.default_rng(0)
X = random.normal(size=(80, 2))
t = (X[:, 0] + random.normal(size=80) > 0.0).astype(int)  # 0, 1
y = 2 * t - 1  # -1, 1
model = LogisticRegression(C=1.0, tol=1e-12).fit(X, y)
w, b = model.coef_[0], model.intercept_[0]
f = X @ w + b
q = 1.0 / (1.0 + np.exp(-f))

# Both label forms are one loss and one gradient: ln(1 + e^(-yf)) = -t ln q - (1 - t) ln(1 - q).
assert np.allclose(np.log1p(np.exp(-y * f)), -t * np.log(q) - (1 - t) * np.log(1.0 - q))
assert np.allclose(-y / (1.0 + np.exp(y * f)), q - t)
other = LogisticRegression(C=1.0, tol=1e-12).fit(X, t)
assert np.array_equal(model.coef_, other.coef_)
assert np.allclose(model.predict_proba(X)[:, 1], q)

# At the optimum the gradient is 0: w + C sum (q - t) x = 0 and sum (q - t) = 0.
assert np.allclose(w + (q - t) @ X, 0.0, atol=1e-4)
assert np.isclose((q - t).sum(), 0.0, atol=1e-4)
assert np.isclose(model.certificate_.primal, 0.5 * w @ w + np.log1p(np.exp(-y * f)).sum())
assert verify(model, X, y)

# Cross-entropy H(p, q) = H(p) + KL(p, q), by hand and by its names; least, and H(p), at q = p.
assert np.isclose(theory.cross_entropy(0.3, 0.65), -0.3 * np.log(0.65) - 0.7 * np.log(0.35))
assert np.isclose(theory.cross_entropy(0.3, 0.65), theory.entropy(0.3) + theory.kl(0.3, 0.65))
assert theory.kl(0.3, 0.3) == 0.0

# Of a label against the model it is the logistic loss, in both label forms: H(p) = 0 there.
both = np.column_stack([1.0 - q, q])
assert np.allclose(theory.cross_entropy(np.eye(2)[t], both), losses.Logistic().value(f, y))
assert np.allclose(losses.Logistic().slope(f, y), q - t)
picture = CrossEntropyDisplay.from_probability(0.3, 0.65).plot()
assert np.isclose(picture.entropy_.get_ydata()[0], theory.entropy(0.3))

# Three classes, one softmax: rows of probabilities add up to 1, and W_k + C sum (q_k - [y = k]) x = 0.
z = np.digitize(X[:, 0], [-0.5, 0.5])
soft = LogisticRegression(C=1.0, tol=1e-10).fit(X, z)
Q = soft.predict_proba(X)
assert np.allclose(Q.sum(axis=1), 1.0)
assert np.allclose(soft.coef_ + (Q - np.eye(3)[z]).T @ X, 0.0, atol=1e-3)
