"""S32. Bias and variance, for squared and for 0-1 loss."""

import numpy as np

from gapless.theory import bias_variance

# Two points of sin(pi x), x even on [-1, 1]: the notes' constants and lines, at Gauss-Legendre points.
x, weights = np.polynomial.legendre.leggauss(40)


def truth(points):
    return np.sin(np.pi * np.asarray(points).ravel())


def draw(random):
    two = random.uniform(-1.0, 1.0, 2)
    return two, truth(two)


def constant(points, values):
    return lambda t: np.full(len(t), values.mean())


def line(points, values):
    slope = (values[1] - values[0]) / (points[1] - points[0])
    return lambda t: slope * (np.asarray(t) - points[0]) + values[0]


for learner, bias, variance in ((constant, 1 / 2, 1 / 4), (line, 0.2067, 1.6763)):
    found = bias_variance.decompose(learner, draw, x, truth, draws=20_000, weights=weights / 2.0)
    assert abs(found.bias - bias) < 4.0 * found.bias_error
    assert abs(found.variance - variance) < 4.0 * found.variance_error
    assert np.isclose(found.expected, found.bias + found.variance, rtol=1e-9)


# 0-1 loss: a coin of heads with probability 0.7 learned from three flips. The main prediction is right; variance is what errs.
def flips(random):
    return np.zeros((3, 1)), (random.random(3) < 0.7).astype(int)


def majority(X, y):
    return lambda t: np.full(len(t), int(y.sum() >= 2))


found = bias_variance.decompose(majority, flips, [[0.0]], [1], loss="zero_one", draws=20_000)
wrong = 0.3**3 + 3 * 0.7 * 0.3**2  # at most one head of three
assert found.bias == 0.0
assert abs(found.variance - wrong) < 4.0 * found.variance_error
assert np.isclose(found.expected, found.bias + found.unbiased_variance)
