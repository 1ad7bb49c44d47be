"""S23. Convexity: chord, tangent, epigraph, Jensen; composition; sets; the standard form; a convex solver."""

import importlib.util
import math

import numpy as np

from gapless.plots import ConvexityDisplay, ConvexSetDisplay
from gapless.theory import convexity

# Decided exactly: x'Qx by its pivots, polynomials by the sign of p''.
assert convexity.quadratic([[2, 1], [1, 2]]).convex
bent = convexity.quadratic([[1, 2], [2, 1]])  # eigenvalues 3 and -1
assert not bent.convex
v = [float(x) for x in bent.direction]
assert v[0] ** 2 + 4 * v[0] * v[1] + v[1] ** 2 < 0.0
assert not convexity.polynomial([0, 0, -2, 0, 1]).convex  # z^4 - 2 z^2
assert convexity.polynomial([0, 0, -2, 0, 1], (1, math.inf)).convex  # p'' = 12 z^2 - 4 > 0 from z = 1 on

# The list of the notes, by chords, tangents and means: a witness disproves, no witness is evidence.
convex = {"e^x": math.exp, "x^2": lambda x: x * x, "|x|": abs, "max(0, 1 - x)": lambda x: max(0.0, 1.0 - x)}
bend_down = {"sin": math.sin, "x^3": lambda x: x**3, "sqrt|x|": lambda x: math.sqrt(abs(x))}
for f in convex.values():
    assert convexity.of_function(f, (-3.0, 3.0)).convex is None
for f in bend_down.values():
    found = convexity.of_function(f, (-3.0, 3.0))
    assert found.convex is False
    a, b = found.witness.points[0, 0], found.witness.points[-1, 0]
    if found.witness.kind == "chord":
        lam = found.witness.weights[0]
        assert f(lam * a + (1.0 - lam) * b) > lam * f(a) + (1.0 - lam) * f(b)

# Composition: e^g is convex for convex g (e^x is convex and grows), e^(-g) is not known; a maximum of convex ones is convex.
exp = convexity.convex(slope=1)
assert convexity.compose(exp, convexity.convex()).convex is True
assert convexity.compose(exp, convexity.concave()).convex is None
assert convexity.maximum(convexity.convex(), convexity.affine()).convex is True

# A set: a segment leaves the doughnut. Both ends are in it, the point between is not.
doughnut = convexity.of_set(lambda x: 1.0 <= x @ x <= 4.0, [(-2.0, 2.0)] * 2)
ends, between = doughnut.witness.points, doughnut.witness.between
assert all(1.0 <= end @ end <= 4.0 for end in ends)
assert not 1.0 <= between @ between <= 4.0

# The standard form: minimise f0 with fi <= 0 convex and gj = 0 affine; it names the constraint that breaks it.
problem = convexity.standard_form(
    convexity.quadratic(np.eye(2)),
    {"ring": lambda x: 1.0 - float(x @ x)},
    {"sum": convexity.affine()},
    box=[(-2.0, 2.0)] * 2,
)
assert problem.convex is False
assert list(problem.breaks) == ["ring"]
if importlib.util.find_spec("cvxpy"):
    import cvxpy

    x = cvxpy.Variable(2)
    solved = convexity.program(cvxpy.Problem(cvxpy.Minimize(cvxpy.sum_squares(x)), [x[0] + x[1] == 2]))
    assert solved.accepted
    assert np.isclose(solved.value, 2.0)

# The pictures.
assert ConvexityDisplay.from_function(math.exp, (-1.0, 1.0), gradient=math.exp).found.convex is None
assert ConvexSetDisplay.from_set(lambda x: 1.0 <= x @ x <= 4.0, [(-2.2, 2.2)] * 2, resolution=41).outside.any()
