"""rigorous="exact": objective, optimum and orthogonality without rounding, against fractions of another making."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from gapless import LeastSquaresClassifier, LinearRegression, Ridge, judge, verify
from gapless.judge.least_squares.case import Case
from gapless.judge.least_squares.exact import exact_targets
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
    case = Case(document, arrays, sparse.csr_matrix(X) if form == "csr" else X, Y, s)
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
