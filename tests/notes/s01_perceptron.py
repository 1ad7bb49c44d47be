"""S01. The perceptron: rate, start values, order of visits, stop after a clean pass, and how many mistakes there can be."""

import numpy as np

from gapless import Perceptron, verify
from gapless.plots import MistakesDisplay

X = np.array([[2.0, 1.0], [1.0, 3.0], [-1.0, -2.0], [-2.0, -1.0]])
y = np.array([1, 1, -1, -1])

# In the order of the rows, from 0: the first row is a mistake (0 is not above 0), and its (x, 1) puts all rows on their side.
model = Perceptron(shuffle=False, tol=None, trace=True).fit(X, y)
assert (model.mistakes_, model.passes_) == (1, 2)
assert model.coef_.tolist() == [[2.0, 1.0]]
assert model.intercept_.tolist() == [1.0]

# The rate scales what a start of 0 ends with, and nothing else.
slow = Perceptron(eta0=0.5, shuffle=False, tol=None).fit(X, y)
assert slow.coef_.tolist() == [[1.0, 0.5]]
assert slow.mistakes_ == 1

# The trace has y<theta, x> of the row before and after, the rows that an update broke, and both sides of the proof.
update = model.trace_[0]
assert (update.before, update.after) == (0.0, 2.0 * 2.0 + 1.0 * 1.0 + 1.0)
assert update.broke == ()
assert update.along >= update.along_least > 0.0
assert update.norm <= update.norm_most
assert 0.0 < update.cosine <= 1.0

# The certificate has R, gamma and theta*; k <= (R/gamma)^2 from a start of 0, and the judge recomputes it.
certificate = model.certificate_
R = np.sqrt((X**2).sum(axis=1).max() + 1.0)
gamma = (y * (np.column_stack([X, np.ones(4)]) @ certificate.direction)).min() / np.linalg.norm(certificate.direction)
assert np.isclose(certificate.radius, R)
assert np.isclose(certificate.margin, gamma)
assert model.mistakes_ <= certificate.bound <= (R / gamma) ** 2 * (1.0 + 1e-6)
assert verify(model, X, y)

# From another start (R/gamma)^2 is false: rows 1 and -1, R = gamma = 1, start -5 make 6 mistakes; the certificate allows them.
started = Perceptron(fit_intercept=False, shuffle=False, tol=None, init=([[-5.0]], [0.0])).fit([[1.0], [-1.0]], [1, -1])
assert started.mistakes_ == 6
assert started.certificate_.bound >= 6.0

# The closer the classes, the more mistakes: k beside its bound.
shrinking = MistakesDisplay.from_gaps([1.0, 0.5, 0.25])
assert (shrinking.mistakes <= shrinking.bounds).all()
assert (np.diff(shrinking.bounds) > 0.0).all()
