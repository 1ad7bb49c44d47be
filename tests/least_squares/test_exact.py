"""rigorous="exact": objective, optimum and orthogonality without rounding, against fractions of another making."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from gapless import LeastSquaresClassifier, LinearRegression, Ridge, judge, verify
from gapless.judge.form.document import read_arrays
from gapless.judge.kinds import array_shapes
from gapless.judge.least_squares.data import SquaresData
from gapless.judge.least_squares.exact import exact_targets
from gapless.problems.least_squares import LeastSquares
from tests.least_squares.test_answers import problem_of


def optimum(X, y, s, alpha, offset):
    """min sum s (y - Xw - b)^2 + alpha |w|^2, by Gauss's elimination of the normal equations in fractions."""
    d = X.shape[1]
    A = [[*map(Fraction, row), *([Fraction(1)] if offset else [])] for row in X.tolist()]
    y, s = list(map(Fraction, y.tolist())), list(map(Fraction, s.tolist()))
    width, rows = d + offset, range(len(A))
    M = [[sum(s[i] * A[i][j] * A[i][k] for i in rows) for k in range(width)] for j in range(width)]
    for j in range(d):
        M[j][j] += Fraction(alpha)
    right = [sum(s[i] * A[i][j] * y[i] for i in rows) for j in range(width)]
    for j in range(width):
        M[j].append(right[j])
    free = []
    for j in range(width):  # Gauss-Jordan; a zero column of what is left is a free variable, taken as 0
        pivot = next((i for i in range(j, width) if M[i][j] != 0), None)
        if pivot is None:
            free.append(j)
            continue
        M[j], M[pivot] = M[pivot], M[j]
        M[j] = [v / M[j][j] for v in M[j]]
        for i in range(width):
            if i != j and M[i][j]:
                M[i] = [a - M[i][j] * b for a, b in zip(M[i], M[j], strict=True)]
    theta = [Fraction(0) if j in free else M[j][-1] for j in range(width)]
    left = [y[i] - sum(a * t for a, t in zip(A[i], theta, strict=True)) for i in rows]
    return sum(s[i] * left[i] ** 2 for i in rows) + Fraction(alpha) * sum(t * t for t in theta[:d])


@pytest.mark.filterwarnings("ignore:the columns .* are linearly dependent")
@pytest.mark.parametrize("offset", [True, False])
@pytest.mark.parametrize("shape", [(12, 3), (5, 7), (9, 9)])
@pytest.mark.parametrize("collinear", [False, True])
@pytest.mark.parametrize("form", ["dense", "csr"])
def test_the_optimum_itself(shape, offset, collinear, form):
    X, Y, s = problem_of(60, *shape)
    s[1] = 0.0
    if collinear:
        X[:, -1] = 2.0 * X[:, 0]
        X[:, 1] = 3.0
    model = Ridge([0.0, 0.7], fit_intercept=offset).fit(X, Y, s)
    model.coef_[1, 0] += 1e-3  # away from the optimum
    document, arrays = model.certificate_.document(), dict(model.certificate_.arrays)
    arrays = read_arrays(arrays, array_shapes(document))
    case = SquaresData(document, arrays, sparse.csr_matrix(X) if form == "csr" else X, Y, s)
    for k, (found, alpha) in enumerate(zip(exact_targets(case), [0.0, 0.7], strict=True)):
        w, b = map(Fraction, arrays["coef"][k].tolist()), Fraction(float(arrays["intercept"][k]))
        w = list(w)
        left = [
            Fraction(y) - b - sum(Fraction(x) * v for x, v in zip(row, w, strict=True))
            for row, y in zip(X.tolist(), Y[:, k].tolist(), strict=True)
        ]
        rss = sum(Fraction(weight) * r * r for weight, r in zip(s.tolist(), left, strict=True))
        value = rss + Fraction(alpha) * sum(v * v for v in w)
        assert found.objective == value
        assert found.objective - found.excess == optimum(X, Y[:, k], s, alpha, offset)
        assert found.rss == float(rss)
        high, low, gap = found.bounds
        assert Fraction(low) <= value - found.excess <= value <= Fraction(high)
        assert found.excess <= Fraction(gap)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("offset", [True, False])
def test_every_fit_is_verified(offset, weighted, dtype):
    X, Y, s = problem_of(61, 40, 4)
    X, s = X.astype(dtype), s if weighted else None
    for model, y in (
        (LinearRegression(fit_intercept=offset), Y),
        (LinearRegression(fit_intercept=offset), Y[:, 0]),
        (Ridge([0.5, 3.0], fit_intercept=offset), Y),
        (Ridge([0.0, 3.0], fit_intercept=offset), Y),
        (LeastSquaresClassifier(fit_intercept=offset), Y[:, 0] > np.median(Y[:, 0])),
        (LeastSquaresClassifier(0.5, fit_intercept=offset, class_weight="balanced"), np.argsort(Y[:, 0]) % 3),
    ):
        verdict = verify(model.fit(X, y, s), X, y, s, rigorous="exact")
        assert verdict, verdict
        proved = verify(model, X, y, s, rigorous=True)
        for exact, wide in zip(verdict.bounds, proved.bounds, strict=True):
            assert exact[0] <= wide[0]  # nothing between the two tiers
            assert exact[1] >= wide[1]
            assert exact[2] <= wide[2]
        verdict.to_json()


def test_an_exact_fit_and_a_constant_target():
    X = np.arange(12.0).reshape(6, 2) ** 2
    for y in (X @ [1.0, 2.0] + 3.0, np.full(6, 7.0)):
        verdict = verify(LinearRegression().fit(X, y), X, y, rigorous="exact")
        assert verdict, verdict
        assert verdict.bounds[0][1] == 0.0  # the optimum is 0, exactly


def test_many_columns_fall_back_to_what_floats_prove():
    X, Y, _ = problem_of(62, 150, 101)
    model = LinearRegression().fit(X, Y)
    exact, proved = (verify(model, X, Y, rigorous=tier) for tier in ("exact", True))
    assert exact
    assert exact.bounds == proved.bounds


def test_a_false_model_is_false():
    X, Y, _ = problem_of(63)
    model = LinearRegression().fit(X, Y)
    arrays = dict(model.certificate_.arrays)
    arrays["coef"] = arrays["coef"] + 1e-5
    assert not judge.check(model.certificate_.document(), arrays, X, Y, rigorous="exact")


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("shift", [0.0, 1e3, 1e7])
def test_the_gap_without_a_second_pass(shift, offset, weighted):
    """P and D from one pass, against fractions: their difference is off by no more than is said."""
    random = np.random.default_rng(11)
    for trial in range(8):
        n, d = int(random.integers(2, 40)), int(random.integers(1, 6))
        X = random.normal(size=(n, d)) + shift
        y = X @ random.normal(size=d) + random.normal(size=n)
        s = random.random(n) + 0.1 if weighted else None
        alpha = float(10.0 ** random.integers(-3, 3))
        problem = LeastSquares.build(X, y[:, None], s, np.array([alpha]), offset)
        w, b = random.normal(size=d) * (0.01 if trial % 2 else 1.0), float(random.normal()) if offset else 0.0
        if trial > 3:  # a good model
            A = np.c_[X, np.ones(n)] if offset else X
            w = np.linalg.lstsq(A, y, rcond=None)[0]
            w, b = (w[:-1], float(w[-1])) if offset else (w, 0.0)
        problem.residuals(w[:, None], np.array([b]))
        found, u = problem.own_gap(0, w, b)
        other = problem.gap(0, w, b, u)
        assert found.primal == pytest.approx(other.primal, abs=found.rounding + other.rounding)
        assert found.dual == pytest.approx(other.dual, abs=found.rounding + other.rounding)
        exact = _exact_gap(problem, w, b, u)
        assert abs(found.primal - found.dual - float(exact)) <= found.rounding
        assert trial < 4 or found.rounding <= 20.0 * other.rounding


def _exact_gap(problem, w, b, u):
    """P - D at exactly these numbers; a free offset's sum u is paid for at the bound that `own_gap` used."""
    F = Fraction
    alpha, W, U = F(problem.alpha[0]), [F(v) for v in w], [F(v) for v in u]
    X = [[F(v) for v in row] for row in problem.rows.values]
    y = [F(v) for v in problem.Y[:, 0]]
    c = [F(1) / alpha] * len(y) if problem.s is None else [F(v) / alpha for v in problem.s]
    r = [t - sum(p * q for p, q in zip(x, W)) - F(b) for x, t in zip(X, y)]
    primal = sum(v * v for v in W) / 2 + sum(k * e * e for k, e in zip(c, r)) / 2
    combined = [sum(v * x[j] for v, x in zip(U, X)) for j in range(len(W))]
    dual = sum(v * t - v * v / (2 * k) for v, t, k in zip(U, y, c)) - sum(v * v for v in combined) / 2
    if problem.offset:
        top = max(sum(v * v for v in x) for x in X)
        bound = max(abs(t) for t in y) + F(float(np.sqrt(float(2 * primal * top))))
        dual -= bound * abs(sum(U))
    return primal - dual
