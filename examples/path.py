"""The models of all C: a certified grid, and every break point of a support vector machine.

python examples/path.py
"""

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

import gapless

X, y = load_breast_cancer(return_X_y=True)
X, X_valid, y, y_valid = train_test_split(StandardScaler().fit_transform(X), y, random_state=0)

# 20 values of C, each certified, and a bound on the gap of the interpolated model everywhere between them.
found = gapless.path(gapless.LogisticRegression(), X, y, [10.0 ** (k / 4) for k in range(-12, 8)])
print(found)
best = found.best(X_valid, y_valid)
model = found.model_at(best)
print(f"\nbest C on other rows: {best:.4g}, accuracy {model.score(X_valid, y_valid):.3f}")
print(gapless.verify(model, X, y))

# A support vector machine: all C there are.
exact = gapless.path(gapless.SVC(gamma=0.02), X, y)
print(f"\n{exact}")

# The best of all of them: the accuracy on other rows is constant between the C at which a row changes side.
print(f"\n{exact.score_steps(X_valid, y_valid)}")
best = exact.best(X_valid, y_valid)
print(f"C = {best:.4g}: accuracy {exact.model_at(best).score(X_valid, y_valid):.3f}")
print(f"at C = 0, the limit: every score is {exact.decision_function(X_valid[:1], 0.0)[0]:.3g}")
