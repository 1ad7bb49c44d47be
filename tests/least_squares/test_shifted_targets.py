"""Targets that have much in common: what a fit claims does not grow with it, and is what fractions say."""

from __future__ import annotations

import copy
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from gapless import LeastSquaresClassifier, LinearRegression, Ridge, judge, verify

SHIFTS = [0.0, 0.1, 1e3, -1e6, 1e9, 1e11, -1e13, 1e14, 1e15, 1e16]


def data(shift, *, form="dense", weighted=False, targets=1, scale=1.0, n=30, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 2)) * [1.0, 3.0] + [0.0, 5.0]
    Y = X @ random.normal(size=(2, targets)) + random.normal(size=(n, targets))
    Y = scale * (Y + shift * (1.0 + np.arange(targets)))
    weight = random.uniform(0.5, 2.0, n) * (np.arange(n) != 0) if weighted else None  # the first row does not count
    X = sparse.csr_matrix(X) if form == "sparse" else X.astype("f4") if form == "float32" else X
    return X, Y if targets > 1 else Y[:, 0], weight


def exact_figures(model, X, y, weight, k, alpha):
    """P of the model and P* of its objective, over 2 alpha, and half the sum of squares about the mean: in fractions."""
    fractions = np.vectorize(Fraction, otypes=[object])
    X = fractions(np.asarray(X.todense() if sparse.issparse(X) else X, dtype=np.float64))
    y = fractions(np.asarray(y, dtype=np.float64).reshape(len(X), -1)[:, k])
    s = fractions(np.ones(len(X)) if weight is None else weight)
    w = fractions(np.atleast_2d(model.coef_)[k].astype(np.float64))
    b, alpha = Fraction(float(np.atleast_1d(model.intercept_)[k])), Fraction(alpha)
    A = np.column_stack([X, fractions(np.ones(len(X)))])
    normal = (A * s[:, None]).T @ A + np.diag([alpha, alpha, Fraction(0)])
    best = solve_exactly(normal, (A * s[:, None]).T @ y)

    def objective(theta):
        r = y - A @ theta
        return float(((s * r * r).sum() + alpha * (theta[:-1] ** 2).sum()) / (2 * alpha))

    centred = y - (s * y).sum() / s.sum()
    return objective(np.append(w, b)), objective(best), float((s * centred**2).sum() / (2 * alpha))


def solve_exactly(M, v):
    """Gauss and Jordan."""
    T = np.column_stack([M, v])
    for p in range(len(T)):
        T[p] = T[p] / T[p, p]
        for i in range(len(T)):
            if i != p:
                T[i] = T[i] - T[i, p] * T[p]
    return T[:, -1]


@pytest.mark.filterwarnings("ignore:Ridge stalled")
@pytest.mark.parametrize("form", ["dense", "sparse", "float32"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("targets", [1, 2])
@pytest.mark.parametrize("shift", SHIFTS)
def test_the_gap_of_ridge_is_that_of_what_varies(shift, targets, weighted, form):
    for alpha, scale in ((1.0, 1.0), (1e-3, 1e-9), (100.0, 1e7)):
        X, y, weight = data(shift, form=form, weighted=weighted, targets=targets, scale=scale)
        model = Ridge(alpha).fit(X, y, sample_weight=weight)
        assert verify(model, X, y, sample_weight=weight)
        assert verify(model, X, y, sample_weight=weight, rigorous=True)
        for k, target in enumerate(model.certificate_.targets):
            primal, best, whole = exact_figures(model, X, y, weight, k, alpha)
            assert target.rounding <= 1e-4 * max(primal, whole)
            assert abs(target.primal - primal) <= target.rounding + 1e-14 * primal
            assert target.dual - target.rounding <= best
            assert primal - best <= target.gap + target.rounding
            assert target.converged == (target.relative_gap <= 1e-4)


@pytest.mark.parametrize("form", ["dense", "sparse", "float32"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("targets", [1, 2])
@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.filterwarnings("ignore:LinearRegression stalled", "ignore:LinearRegression ended")
def test_the_residuals_of_linear_regression_are_those_of_what_varies(shift, targets, weighted, form):
    X, y, weight = data(shift, form=form, weighted=weighted, targets=targets)
    model = LinearRegression().fit(X, y, sample_weight=weight)
    assert verify(model, X, y, sample_weight=weight)
    assert verify(model, X, y, sample_weight=weight, rigorous="exact")
    for k, target in enumerate(model.certificate_.targets):
        rss = 2.0 * exact_figures(model, X, y, weight, k, 1e-100)[0] * 1e-100
        assert target.rss == pytest.approx(rss, rel=1e-9)


def test_a_rounding_of_the_common_part_is_refused():
    """What fits of before stated: at most 188 above an optimum of 37, "converged"."""
    X, y, _ = data(1e14)
    model = Ridge().fit(X, y)
    document, arrays = model.certificate_.document(), dict(model.certificate_.arrays)
    assert judge.check(document, arrays, X, y)
    for rounding in (188.0, 1.0, 1e-3):
        forged = copy.deepcopy(document)
        target = forged["certificate"]["targets"][0]
        target["rounding"], target["status"], forged["certificate"]["status"] = rounding, "converged", "converged"
        assert not judge.check(forged, arrays, X, y)
        arrays_of_another = {**arrays, "coef": -arrays["coef"]}
        assert not judge.check(forged, arrays_of_another, X, y)
        forged["problem"].pop("common_part")  # as if nothing had been taken
        if rounding >= 1.0:
            assert not judge.check(forged, arrays, X, y)
            assert not judge.check(forged, arrays_of_another, X, y)


def test_a_false_common_part_is_refused():
    X, y, _ = data(1e6)
    model = Ridge().fit(X, y)
    document, arrays = model.certificate_.document(), dict(model.certificate_.arrays)
    for false in (y[1], 2.0 * y[0], -y[0], 1e300, 1.0):
        forged = copy.deepcopy(document)
        forged["problem"]["common_part"] = [float(false)]
        assert not judge.check(forged, arrays, X, y)
    for broken in ([], [y[0], 0.0], None, "inf", ["nan"]):
        forged = copy.deepcopy(document)
        forged["problem"]["common_part"] = broken
        with pytest.raises(judge.CertificateError):
            judge.check(forged, arrays, X, y)


def test_nothing_is_taken_where_there_is_no_free_offset_or_little_in_common():
    X, y, _ = data(1e6)
    for model, target in (
        (Ridge(fit_intercept=False), y),
        (Ridge(), y - y.mean()),
        (Ridge(), np.append(y[:-1], 0.0)),
        (LeastSquaresClassifier(1.0), np.sign(y - y.mean())),
    ):
        assert "common_part" not in model.fit(X, target).certificate_.document()["problem"]
        assert verify(model, X, target)


def test_an_offset_far_from_the_common_part_has_it_back():
    """Columns far from 0: b is not within a factor of 2 of the targets, and what is taken from it would be rounded."""
    X, y, _ = data(1e5)
    X = X + 1e6
    model = Ridge(1e-3).fit(X, y)
    assert abs(model.intercept_) > 2.0 * np.abs(y).max()
    assert "common_part" not in model.certificate_.document()["problem"]
    assert verify(model, X, y)
