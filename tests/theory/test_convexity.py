"""Convex or not: the usual list as a table, sets, exact verdicts against eigenvalues, rules, standard forms and CVXPY."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from gapless import descend
from gapless.theory.optimisation import convexity as c


def smooth_max(z):
    return float(np.log(np.exp(z).sum()))


DESIGN = np.random.default_rng(0).normal(size=(20, 3))
TARGET = np.random.default_rng(1).normal(size=20)
PLANE, SPACE = [(-2.0, 2.0)] * 2, [(-2.0, 2.0)] * 3

# name, function, domain, gradient or None, convex?
FUNCTIONS = [
    ("squared norm", lambda z: z @ z, PLANE, lambda z: 2 * z, True),
    ("minus the squared norm", lambda z: -(z @ z), PLANE, lambda z: -2 * z, False),
    ("e^z", np.exp, (-3.0, 3.0), np.exp, True),
    ("e^-z", lambda z: np.exp(-z), (-3.0, 3.0), lambda z: -np.exp(-z), True),
    ("minus e^z", lambda z: -np.exp(z), (-3.0, 3.0), None, False),
    ("log sum exp", smooth_max, SPACE, None, True),
    ("-log z", lambda z: -np.log(z), (1e-3, 5.0), lambda z: -1 / z, True),
    ("log z", np.log, (1e-3, 5.0), None, False),
    ("-sqrt z", lambda z: -np.sqrt(z), (0.0, 5.0), None, True),
    ("sqrt z", np.sqrt, (0.0, 5.0), None, False),
    ("affine", lambda z: z @ [1.0, -2.0] + 3.0, PLANE, None, True),
    ("minus affine", lambda z: -(z @ [1.0, -2.0] + 3.0), PLANE, None, True),
    ("maximum of affine functions", lambda z: max(z @ [1.0, 1.0], z @ [-1.0, 2.0] + 1, -z[0]), PLANE, None, True),
    ("minimum of affine functions", lambda z: min(z @ [1.0, 1.0], z @ [-1.0, 2.0] + 1, -z[0]), PLANE, None, False),
    ("sum with a negative weight, convex all the same", lambda z: 2 * z**2 - z**2, (-2.0, 2.0), None, True),
    ("sum with a negative weight, not convex", lambda z: z**2 - z**4, (-2.0, 2.0), None, False),
    ("least squares", lambda w: float(np.mean((DESIGN @ w - TARGET) ** 2)), SPACE, None, True),
    ("hinge loss", lambda w: float(np.mean(np.maximum(0, 1 - TARGET * (DESIGN @ w)))), SPACE, None, True),
    ("logistic loss", lambda w: float(np.mean(np.logaddexp(0, -TARGET * (DESIGN @ w)))), SPACE, None, True),
    ("0-1 loss", lambda w: float(np.mean(TARGET * (DESIGN @ w) < 0)), SPACE, None, False),
    ("sine", np.sin, (-3.0, 3.0), np.cos, False),
    ("cube", lambda z: z**3, (-2.0, 2.0), None, False),
    ("cube, right of 0", lambda z: z**3, (0.0, 2.0), None, True),
    ("two wells", lambda z: (z**2 - 1) ** 2, (-2.0, 2.0), None, False),
    ("a small dent", lambda z: z**2 - 0.1 * np.exp(-((10 * (z - 0.3)) ** 2)), (-2.0, 2.0), None, False),
    ("a product", lambda z: z[0] * z[1], PLANE, None, False),
    ("norm", lambda z: math.hypot(*z), PLANE, None, True),
    ("a network with a hidden unit", lambda w: (w[1] * math.tanh(w[0]) - 0.5) ** 2, PLANE, None, False),
]


@pytest.mark.parametrize(
    ("f", "box", "gradient", "convex"), [row[1:] for row in FUNCTIONS], ids=[row[0] for row in FUNCTIONS]
)
def test_the_usual_list(f, box, gradient, convex):
    found = c.of_function(f, box, gradient, trials=1500)
    if convex:
        assert found.convex is None
        assert found.verdict == "no witness found"
        assert found.share() == pytest.approx(1 - 0.05 ** (1 / 1500))
        return
    assert found.convex is False
    w = found.witness
    take = (lambda x: f(float(x[0]))) if np.ndim(box[0]) == 0 else f
    if w.kind == "tangent":
        a, b = w.points[0], w.between
        slope = np.atleast_1d(gradient(float(a[0]) if np.ndim(box[0]) == 0 else a))
        assert take(a) + slope @ (b - a) > take(b)
    else:
        assert w.weights.sum() == pytest.approx(1.0)
        assert (w.weights >= 0).all()
        assert w.weights @ w.points == pytest.approx(w.between)
        assert take(w.between) > w.weights @ [take(p) for p in w.points]
        points, below = w.epigraph
        assert len(points) == len(w.weights)
        assert below[-1] < take(below[:-1])
    assert w.violation > 1e-4 * max(1e-9, abs(w.value))
    assert "not convex" in str(found)


def test_minus_a_convex_function_is_convex_only_where_it_is_affine():
    for name, f, box, _, convex in FUNCTIONS:
        if convex and "affine" not in name:
            assert c.of_function(lambda z, f=f: -f(z), box, trials=1500).convex is False, name
    for kind in ("convex", "concave", "affine"):
        assert (-c.Curve(kind)).convex == (kind != "convex")
    assert (
        c.of_function(lambda z: 2 * z + 1, (-1, 1)).convex
        is c.of_function(lambda z: -2 * z - 1, (-1, 1)).convex
        is None
    )


def test_a_tangent_is_a_witness_too():
    found = c.of_function(lambda z: z**3, (-1.0, 1.0), lambda z: 3 * z**2, trials=8)
    kinds = {c.of_function(np.sin, (-3.0, 3.0), np.cos, trials=12, seed=s).witness.kind for s in range(12)}
    assert found.trials == 8
    assert "tangent" in kinds


def test_values_of_infinity_are_outside():
    assert c.of_function(lambda z: -math.log(z) if z > 0 else math.inf, (-1.0, 2.0)).convex is None
    with pytest.raises(ValueError, match="nan"):
        c.of_function(lambda z: math.nan, (-1.0, 1.0))
    ring = c.of_function(lambda z: z @ z, PLANE, inside=lambda z: z[0] > z[1])
    assert ring.convex is None


def notched(x):
    """A square with a wedge cut out of its top."""
    return bool(abs(x[0]) <= 1 and -1 <= x[1] <= 1 and not x[1] > abs(x[0]))


SETS = [
    ("disc", lambda x: x @ x <= 4.0, True),
    ("doughnut", lambda x: 1.0 <= x @ x <= 4.0, False),
    ("halfplane", lambda x: x @ [1.0, 2.0] <= 0.5, True),
    ("square", lambda x: np.abs(x).max() <= 1.0, True),
    ("square with a notch", notched, False),
    ("two discs", lambda x: min((x - 1.4) @ (x - 1.4), (x + 1.4) @ (x + 1.4)) <= 0.3, False),
    ("epigraph of the square", lambda x: x[1] >= x[0] ** 2, True),
    ("below the square", lambda x: x[1] <= x[0] ** 2, False),
    ("intersection of a disc and a halfplane", lambda x: x @ x <= 4.0 and x[0] >= 0.3, True),
]


@pytest.mark.parametrize(("inside", "convex"), [row[1:] for row in SETS], ids=[row[0] for row in SETS])
def test_sets(inside, convex):
    found = c.of_set(inside, PLANE, trials=800)
    assert found.convex is (None if convex else False)
    if not convex:
        w = found.witness
        assert all(inside(p) for p in w.points)
        assert not inside(w.between)
        assert w.weights @ w.points == pytest.approx(w.between)
        assert "lies between" in str(found)


def test_quadratics_against_eigenvalues():
    random = np.random.default_rng(2)
    seen = set()
    for _ in range(200):
        n = int(random.integers(1, 6))
        B = random.integers(-3, 4, size=(int(random.integers(1, n + 1)), n))
        Q = B.T @ B - (np.diag(random.integers(0, 2, size=n)) if random.random() < 0.5 else 0)
        found = c.quadratic(Q)
        assert found.convex == (np.linalg.eigvalsh(Q.astype(float))[0] > -1e-9)
        if found.convex:
            assert all(p > 0 for p in found.pivots)
            assert len(found.pivots) == np.linalg.matrix_rank(Q)
        else:
            v = found.direction
            assert sum(v[i] * int(Q[i, j]) * v[j] for i in range(n) for j in range(n)) == found.curvature < 0
        seen.add(found.convex)
    assert seen == {True, False}


def test_exact_where_floats_would_not_be():
    tiny = 2.0**-60
    assert c.quadratic([[1.0, 1.0], [1.0, 1.0]]).convex
    assert not c.quadratic([[Fraction(1), Fraction(1)], [Fraction(1), 1 - Fraction(1, 2**60)]]).convex
    assert c.polynomial([0, 0, tiny]).convex
    assert not c.polynomial([0, 0, -tiny, 0, 1]).convex
    assert c.polynomial([0, 0, tiny, 0, 1]).convex


def test_polynomials():
    # (z - 1)^2 (z - 3)^2 has its second derivative negative between; z^4 and (z - 1)^4 have none.
    for p, interval, convex in [
        ([0, 0, 0, 0, 1], None, True), ([1, -4, 6, -4, 1], None, True), ([9, -24, 22, -8, 1], None, False),
        ([9, -24, 22, -8, 1], (3, 10), True), ([0, 0, 0, 1], None, False), ([0, 0, 0, 1], (0, 5), True),
        ([0, 0, 0, -1], (-5, 0), True), ([0, 0, 0, 1], (-math.inf, 1), False), ([0, 0, 0, 1], (0, math.inf), True),
        ([0, 0, -1], None, False), ([5, 3], None, True), ([2], None, True), ([0, 0, 0, 0, 0, 1], (0, 1), True),
        ([0, 0, 1, 0, 0, 0, -1], (-0.5, 0.5), True), ([0, 0, 1, 0, 0, 0, -1], (-1, 1), False),
    ]:  # fmt: skip
        found = c.polynomial(p, interval) if interval else c.polynomial(p)
        assert found.convex == convex, (p, interval)
        if not convex:
            z = found.direction[0]
            assert (
                sum(k * (k - 1) * Fraction(v) * z ** (k - 2) for k, v in enumerate(p) if k > 1) == found.curvature < 0
            )
            assert interval is None or interval[0] <= z <= interval[1]


def test_polynomials_against_a_grid():
    random = np.random.default_rng(4)
    seen = {True: 0, False: 0}
    for _ in range(150):
        # p'' as a product of known factors, squared ones among them: double roots change no sign.
        roots = random.integers(-4, 5, size=int(random.integers(0, 3)))
        second = np.poly1d([1.0])
        for r in roots:
            second = second * np.poly1d([1.0, -r]) ** int(random.integers(1, 4))
        p = second.integ().integ()
        coefficients = [Fraction(v).limit_denominator(10**6) for v in p.coeffs[::-1]]
        grid = np.linspace(-3.9, 3.9, 2001)
        found = c.polynomial(coefficients, (-3.9, 3.9))
        assert found.convex == bool((second(grid) >= -1e-9).all())
        seen[found.convex] += 1
    assert min(seen.values()) > 20


def test_rules():
    square, exp, affine = c.convex(), c.convex(1), c.affine()
    residual = c.compose(square, affine)
    assert residual.convex
    assert c.weighted_sum([1 / 20] * 20, [residual] * 20).convex  # least squares
    assert c.compose(exp, square).convex
    assert c.compose(c.convex(-1), c.concave()).convex
    assert c.compose(square, square).convex is None  # (z^2 - 1)^2 is such a one
    assert c.compose(c.concave(1), c.concave()).kind == "concave"
    assert c.maximum(square, affine, exp).convex
    assert c.maximum(square, c.concave()).convex is None
    assert (square - square).convex is None  # if, not only if
    assert (square - affine).convex
    assert (-square).kind == "concave"
    assert (-affine).kind == "affine"
    assert (-2.0 * c.concave()).convex
    assert "weights" in str(square + square)
    with pytest.raises(ValueError, match="one weight for each"):
        c.weighted_sum([1.0], [square, square])
    with pytest.raises(ValueError, match="kind must be"):
        c.Curve("wavy")


def test_rules_never_call_convex_what_is_not():
    # Random sums, maxima and compositions of known functions: what the rules prove survives the search for a witness.
    atoms = [
        (np.exp, c.convex(1)), (lambda z: z * z, c.convex()), (lambda z: 2 * z - 1, c.affine(1)), (abs, c.convex()),
        (lambda z: -z, c.affine(-1)), (lambda z: -np.exp(-z), c.concave(1)), (lambda z: -z * z, c.concave()),
    ]  # fmt: skip
    random = np.random.default_rng(8)
    proved = 0
    for _ in range(60):
        (f, p), (g, q) = (atoms[int(i)] for i in random.integers(len(atoms), size=2))
        how = int(random.integers(3))
        weights = random.normal(size=2)
        function, rule = [
            (lambda z, f=f, g=g: f(g(z)), c.compose(p, q)),
            (lambda z, f=f, g=g: max(f(z), g(z)), c.maximum(p, q)),
            (lambda z, f=f, g=g, w=weights: w[0] * f(z) + w[1] * g(z), c.weighted_sum(weights, [p, q])),
        ][how]
        if rule.convex:
            proved += 1
            assert c.of_function(function, (-1.5, 1.5), trials=300).convex is None
        if rule.kind == "concave":
            assert c.of_function(lambda z, h=function: -h(z), (-1.5, 1.5), trials=300).convex is None
    assert proved > 10


def test_the_standard_form_names_what_breaks_it():
    good = c.standard_form(c.quadratic(np.eye(2)), {"budget": c.affine()}, {"sum": c.affine()})
    assert good.convex is True
    assert good.breaks == []
    bad = c.standard_form(
        lambda x: x @ x,
        {"disc": lambda x: x @ x - 1, "ring": lambda x: 1 - x @ x},
        {"circle": lambda x: x @ x - 1},
        box=PLANE,
    )
    assert bad.convex is False
    assert bad.breaks == ["ring", "circle"]  # a convex g is not enough: {x : |x| = 1} is no convex set
    assert "because of ring, circle" in str(bad)
    unknown = c.standard_form(lambda x: x @ x, [lambda x: x[0] - 1], [lambda x: x[0] + x[1]], box=PLANE)
    assert unknown.convex is None
    assert c.standard_form(c.convex(), [], [c.quadratic(np.zeros((2, 2)))]).convex
    assert c.standard_form(c.convex(), [], [c.polynomial([0, 0, 1])]).breaks == ["g1"]
    with pytest.raises(ValueError, match="give the box"):
        c.standard_form(lambda x: x)
    with pytest.raises(ValueError, match="must be a function"):
        c.standard_form(3)


def test_a_problem_stated_in_cvxpy():
    cp = pytest.importorskip("cvxpy")
    x = cp.Variable(2)
    found = c.program(cp.Problem(cp.Minimize(cp.sum_squares(x - np.array([1.0, 2.0]))), [cp.sum(x) == 1, x >= 0]))
    assert found.accepted
    assert found.status == "optimal"
    assert found.value == pytest.approx(2.0, abs=1e-6)
    assert x.value == pytest.approx([0.0, 1.0], abs=1e-5)
    bad = c.program(cp.Problem(cp.Minimize(cp.sum_squares(x)), [x[0] <= 3, cp.sum_squares(x) >= 1]))
    assert not bad.accepted
    assert len(bad.breaks) == 1
    assert bad.breaks[0].startswith("constraint 2")
    up = c.program(cp.Problem(cp.Maximize(cp.sum_squares(x)), [x <= 1]))
    assert up.breaks[0].startswith("the objective")
    with pytest.raises(ValueError, match=r"needs a cvxpy.Problem"):
        c.program("minimise x")


def test_without_cvxpy_it_says_what_to_install(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "cvxpy", None)
    with pytest.raises(ImportError, match=r"gapless\[convex\]"):
        c.program(None)


def test_every_local_minimum_is_global_but_it_need_not_exist_nor_be_unique():
    # A flat bottom: different minima, one value.
    def bowl(x):
        return float(np.maximum(0.0, np.abs(x[0]) - 1.0) ** 2)

    def slope(x):
        return np.array([2.0 * np.sign(x[0]) * max(0.0, abs(x[0]) - 1.0)])

    assert c.of_function(lambda z: bowl([z]), (-3, 3)).convex is None
    ends = [descend((bowl, slope), np.array([s]), schedule=0.25, stop=200) for s in (-3.0, 3.0, 0.5)]
    assert [e.value for e in ends] == pytest.approx([0.0] * 3, abs=1e-12)
    assert len({round(float(e.theta[0]), 3) for e in ends}) == 3
    # e^-z: convex, bounded below by 0, and no minimum: from any point a step to the right is lower.
    assert c.of_function(lambda z: math.exp(-z), (-5, 5)).convex is None
    went = descend((lambda x: float(np.exp(-x[0])), lambda x: -np.exp(-x)), np.zeros(1), schedule=1.0, stop=300)
    assert went.theta[0] > 5.0
    assert math.exp(-went.theta[0] - 1) < went.value


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: c.of_function(np.exp, (1, 1)), "low < high"),
        (lambda: c.of_function(np.exp, (0, math.inf)), "finite"),
        (lambda: c.of_function(np.exp, (0, 1), trials=0), "at least 1"),
        (lambda: c.of_set(lambda x: False, (0, 1)), "fewer than two"),
        (lambda: c.of_set(lambda x: x[0] > 0.5, [(0, 1)], points=[[0.1], [0.2]]), "not in the set"),
        (lambda: c.quadratic([[1, 2]]), "square matrix"),
        (lambda: c.quadratic([[math.nan]]), "finite"),
        (lambda: c.polynomial(["x"]), "not a real number"),
        (lambda: c.polynomial([1, 2, 3], (2, 1)), "a < b"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
