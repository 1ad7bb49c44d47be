"""S09. The hard margin with a free, a penalised and no offset; infeasible where nothing separates."""

import numpy as np

from gapless import LinearSVC, NotSeparable
from gapless.plots import OffsetsDisplay

X, y = np.array([[1.0, 1.0], [-1.0, -1.0]]), np.array([1, -1])


def hard(rows, **offset):
    model = LinearSVC(C=np.inf, **offset).fit(rows, y)
    return np.append(model.coef_[0], model.intercept_[0])


# min 1/2 |w|^2 with y (<w, x> + b) >= 1, both active: w = (1/2, 1/2), b = 0 for all three.
free, penalised, none = {}, {"penalize_intercept": True}, {"fit_intercept": False}
for kind in (free, penalised, none):
    assert np.allclose(hard(X, **kind), [0.5, 0.5, 0.0], atol=1e-9)

# A constant added to X: the free offset takes it up, the others move. By hand, with both constraints active:
shift = np.array([2.0, 0.0])
assert np.allclose(hard(X + shift, **free), [0.5, 0.5, -1.0], atol=1e-9)
assert np.allclose(hard(X + shift, **penalised), [1.0 / 6.0, 5.0 / 6.0, -1.0 / 3.0], atol=1e-9)
assert np.allclose(hard(X + shift, **none), [0.0, 1.0, 0.0], atol=1e-9)
sides = {side.kind: side for side in OffsetsDisplay.from_data(X, y, shift=shift).sides}
assert len(sides) == 3  # side by side

# Nothing separates 1 from 0 and 2: the error carries the proof, 1 = (0 + 2)/2, multipliers as 1 : 2 : 1.
try:
    LinearSVC(C=np.inf).fit([[0.0], [1.0], [2.0]], [1, -1, 1])
    shares = None
except NotSeparable as error:
    shares = dict(zip(error.rows, error.multipliers))
assert shares is not None
assert shares[1] == 2 * shares[0] == 2 * shares[2]
