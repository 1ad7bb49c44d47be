"""S25. A decision tree, its depth and overfitting."""

import numpy as np

from gapless import DecisionTreeClassifier, DecisionTreeRegressor, verify

# One split, by hand: labels change between 1 and 2, so that the best cut is 1.5 and leaves no impurity.
x, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
stump = DecisionTreeClassifier(max_depth=1).fit(x, y)
assert stump.tree_.threshold[0] == 1.5
assert (stump.get_depth(), stump.get_n_leaves()) == (1, 2)
assert (stump.predict(x) == y).all()
assert np.isclose(stump.tree_.impurity[0], 0.5)  # Gini: 1 - 1/4 - 1/4
assert verify(stump, x, y)

# The leaves of a regression tree are means.
mean = DecisionTreeRegressor(max_depth=1).fit(x, [1.0, 3.0, 10.0, 14.0])
assert mean.predict([[0.5], [2.5]]).tolist() == [2.0, 12.0]

# Labels that are a coin: a full tree learns the noise by heart, and new rows show it.
random = np.random.default_rng(0)
X = random.normal(size=(400, 3))
z = np.where((X[:, 0] > 0.0) ^ (random.random(400) < 0.2), 1, 0)  # 20 % of the labels are turned
scores = {}
for depth in (1, 3, None):
    tree = DecisionTreeClassifier(max_depth=depth, random_state=0).fit(X[:200], z[:200])
    scores[depth] = (tree.score(X[:200], z[:200]), tree.score(X[200:], z[200:]))
assert scores[None][0] == 1.0
assert scores[1][1] > scores[None][1] + 0.05
