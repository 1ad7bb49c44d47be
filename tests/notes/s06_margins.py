"""S06. The signed distance gamma of every row, its foot point, its angle, and where it stands."""

import numpy as np

from gapless import LinearSVC, margins

# The hard margin of (-1, 0) and (1, 0) is w = (1, 0), b = 0: distances are first coordinates.
model = LinearSVC(C=np.inf).fit([[-1.0, 0.0], [1.0, 0.0]], [-1, 1])
X = np.array([[3.0, 4.0], [0.5, 0.0], [-0.5, 2.0], [-3.0, 0.0]])
y = np.array([1, 1, 1, -1])

found = margins(model, X, y)
assert np.isclose(found.width, 1.0)  # 1/|w|
assert np.allclose(found.gamma, [3.0, 0.5, -0.5, 3.0])
assert np.allclose(found.foot(X), [[0.0, 4.0], [0.0, 0.0], [0.0, 2.0], [0.0, 0.0]])
assert np.isclose(found.angle[0], np.degrees(np.arccos(3.0 / 5.0)))
assert found.in_strip.tolist() == [False, True, True, False]
assert found.violates.tolist() == [False, True, True, False]
assert found.correct.tolist() == [True, True, False, True]
assert np.allclose(found.radius, [3.0, 0.5, 0.5, 3.0])  # no shorter move changes the prediction
print(found)
