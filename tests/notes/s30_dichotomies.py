"""S30. Dichotomies, growth functions, break points and B(N, k); those of your own points."""

from itertools import product
from math import comb

import numpy as np
from scipy.optimize import linprog

from gapless.plots import SplitDisplay
from gapless.theory import growth

for n in range(1, 8):
    assert growth.growth("rays", n) == n + 1
    assert growth.growth("intervals", n) == n * (n + 1) // 2 + 1
    assert growth.growth("convex sets", n) == 2**n
    assert growth.growth("halfspaces", n, d=2) == 2 * sum(comb(n - 1, k) for k in range(3))
assert growth.growth("halfspaces", 4, d=2) == 14
assert growth.break_point("halfspaces", d=2) == 4
assert growth.break_point("convex sets") is None

# B(N, k) = B(N - 1, k) + B(N - 1, k - 1) = sum of C(N, i) over i < k, and no growth function with break point k is larger.
assert growth.B(5, 3, how="recursion") == growth.B(5, 3) == comb(5, 0) + comb(5, 1) + comb(5, 2)
assert growth.recursion(3, 3).tolist() == [[1, 2, 2], [1, 3, 4], [1, 4, 7]]

# The user's own points: every labelling by linear programming, beside the exact count. Three of these lie on a line.
X = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [0.0, 2.0], [2.0, 0.0]])


def separable(labels):
    rows = -np.asarray(labels)[:, None] * np.column_stack([X, np.ones(len(X))])
    return linprog(np.zeros(3), A_ub=rows, b_ub=-np.ones(len(X)), bounds=[(None, None)] * 3).status == 0


found = growth.dichotomies(X)
assert found.count == sum(separable(labels) for labels in product((-1, 1), repeat=len(X)))
assert found.check()
w, b = found.hyperplane(0)  # exact
assert all(y * (sum(float(u) * v for u, v in zip(w, x)) + float(b)) > 0.0 for x, y in zip(X, found.labels[0]))

# The step of the recursion on them: S1 occurs with one label of the last point, S2+ and S2- with both.
step = growth.split(found)
assert step.total == step.alpha + 2 * step.beta == found.count
assert step.alpha + step.beta <= growth.B(4, step.k)
assert step.beta <= growth.B(4, step.k - 1)
assert step.check()
assert SplitDisplay.from_split(step).found.alpha == step.alpha
