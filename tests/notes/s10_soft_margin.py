"""S10. The soft margin, primal and dual: rows -1 and 1 solve it by hand for every C."""

import numpy as np

from gapless import SVC, LinearSVC, path

X, y = np.array([[-1.0], [1.0]]), np.array([-1, 1])

# D = 2 a - 1/2 (2 a)^2 with 0 <= a <= C for both rows: a = min(C, 1/2), w = 2 a, b = 0, xi = max(0, 1 - w).
for C in (1e-3, 0.1, 0.5, 2.0, 1e3):
    a = min(C, 0.5)
    model = LinearSVC(loss="hinge", C=C, tol=1e-10).fit(X, y)
    assert np.allclose(model.coef_, 2.0 * a, rtol=1e-6)
    assert np.allclose(model.alpha_, a, rtol=1e-6)
    assert np.allclose(model.slack_, max(0.0, 1.0 - 2.0 * a), atol=1e-6)
    assert np.allclose(model.slackness_.beta, C - a, atol=1e-6 * C)  # beta = C - alpha
    certificate = model.certificate_
    assert np.isclose(certificate.primal, 2.0 * a**2 + 2.0 * C * (1.0 - 2.0 * a), rtol=1e-6)
    assert np.isclose(certificate.dual, 2.0 * a - 2.0 * a**2, rtol=1e-6)
    assert 0.0 <= certificate.gap + certificate.rounding

# C -> infinity is the hard margin, C -> 0 sends w to 0; the path has its one break at C = 1/2.
assert np.allclose(LinearSVC(C=np.inf).fit(X, y).coef_, 1.0)
whole = path(SVC(kernel="linear"), X, y, exact=True)
assert np.allclose(whole.breaks, [0.5])

# C = 0 is that limit itself: no row counts. The path has it; a fit refuses it, and says what it would be.
assert not whole.dual_at(0.0).any()
assert "At C = 0, a limit: alpha = 0, w = 0" in str(whole)
try:
    LinearSVC(C=0).fit(X, y)
    told = ""
except ValueError as error:
    told = str(error)
assert "C = 0 is a limit: no row counts, so that alpha = 0 and w = 0" in told
