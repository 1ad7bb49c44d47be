"""Leave-one-out by multipliers against leaving out, and the closed form of least squares."""

from __future__ import annotations

import numpy as np
import pytest

from gapless import SVC, CertificateError, LinearSVC, LogisticRegression, Ridge
from gapless.theory.generalisation import leave_one_out as loo
from tests.shared_data import load, needs_data


def cloud(seed, n=40, apart=1.5):
    random = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1, -1)
    return random.normal(size=(n, 2)) + 0.5 * apart * y[:, None] * [1.0, 0.5], y


def brute(model, X, y):
    from sklearn.base import clone

    errors = 0
    for i in range(len(y)):
        keep = np.arange(len(y)) != i
        errors += int(y[i] * clone(model).fit(X[keep], y[keep]).decision_function(X[i : i + 1])[0] <= 0)
    return errors


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(
    "model",
    [
        LinearSVC(loss="hinge", C=0.3, tol=1e-9),
        LinearSVC(loss="hinge", C=0.05, tol=1e-9, fit_intercept=False),
        LinearSVC(loss="hinge", C=1.0, tol=1e-9, penalize_intercept=True),
        SVC(C=1.0, gamma=0.5, tol=1e-9),
        SVC(C=0.02, kernel="linear", tol=1e-9),
    ],
    ids=["free offset", "no offset", "penalised offset", "rbf", "no free support vector"],
)
def test_against_leaving_out(model, seed):
    X, y = cloud(seed, 24)
    model.fit(X, y)
    found = loo.leave_one_out(model, X, y, count=True)
    true = brute(model, X, y)
    assert found.errors == true
    assert true <= found.bound <= found.support
    assert 0 <= found.span <= found.support
    free_offset = isinstance(model, SVC) or (model.fit_intercept and not model.penalize_intercept)
    assert found.free_offset == free_offset
    assert (found.jaakkola_haussler is None) == free_offset
    assert "expectation" in str(found)


def test_without_a_free_support_vector_xi_alpha_says_nothing():
    # Everything is at its bound: one row less tips the balance of the classes, and the offset goes where it is wrong.
    X, y = cloud(0, 24)
    found = loo.leave_one_out(SVC(C=0.02, kernel="linear", tol=1e-9).fit(X, y), X, y, count=True)
    assert found.xi_alpha is None
    assert found.errors == found.support == 24


@pytest.mark.parametrize(
    "model",
    [SVC(C=1.0, gamma=0.5, tol=1e-12), LinearSVC(loss="hinge", C=0.3, tol=1e-12, fit_intercept=False)],
    ids=["free offset", "no offset"],
)
def test_the_span_is_exact_where_no_row_changes_its_class(model):
    from sklearn.base import clone

    X, y = cloud(3, 40)
    model.fit(X, y)
    K, free_offset = loo._gram(model, X)
    seen = model.slackness_
    squares = loo.spans(K, seen.alpha, seen.c, free_offset)
    kinds = seen.from_dual
    same = 0
    for i in np.flatnonzero(seen.alpha > 0).tolist():
        keep = np.arange(40) != i
        left = clone(model).fit(X[keep], y[keep])
        if not np.array_equal(left.slackness_.from_dual, kinds[keep]):
            continue
        same += 1
        score = y[i] * left.decision_function(X[i : i + 1])[0]
        assert score == pytest.approx(seen.yf[i] - seen.alpha[i] * squares[i], abs=1e-6)
    assert same >= 3


@needs_data
def test_published_counts():
    X, y = load("heart_scale")
    X = np.asarray(X, float)
    rbf = SVC(gamma="auto", tol=1e-8).fit(X, y)
    found = loo.leave_one_out(rbf, X, y)
    assert (found.support, found.xi_alpha, found.span) == (132, 112, 51)
    line = LinearSVC(loss="hinge", tol=1e-8).fit(X, y)
    found = loo.leave_one_out(line, X, y)
    assert (found.support, found.xi_alpha, found.span) == (101, 101, 45)


@needs_data
@pytest.mark.slow
def test_published_leave_one_out_errors():
    X, y = load("heart_scale")
    X = np.asarray(X, float)
    assert loo.leave_one_out(SVC(gamma="auto", tol=1e-8).fit(X, y), X, y, count=True).errors == 49
    assert loo.leave_one_out(SVC(kernel="linear", tol=1e-8).fit(X, y), X, y, count=True).errors == 46


def test_spans_are_distances():
    # Two free vectors and one other: the distance of a point from the line through two others.
    X = np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 3.0]])
    alpha, c = np.array([0.5, 0.5, 1.0]), np.ones(3)
    assert loo.spans(X @ X.T, alpha, c)[2] == pytest.approx(9.0)
    assert loo.spans(X @ X.T, alpha, c)[:2] == pytest.approx([4.0, 4.0])
    far = np.array([[0.0, 1.0], [2.0, 1.0], [1.0, 3.0]])
    assert loo.spans(far @ far.T, alpha, c, free_offset=False)[2] == pytest.approx(0.0, abs=1e-9)  # they span the plane


@pytest.mark.parametrize("offset", [True, False])
@pytest.mark.parametrize("penalty", [0.0, 2.5])
def test_least_squares_exactly(penalty, offset):
    random = np.random.default_rng(2)
    X, y = random.normal(size=(25, 4)) + 1.0, random.normal(size=25)
    found = loo.least_squares(X, y, penalty, offset)
    for i in range(25):
        keep = np.arange(25) != i
        model = Ridge(alpha=max(penalty, 1e-12), fit_intercept=offset).fit(X[keep], y[keep])
        assert y[i] - model.predict(X[i : i + 1])[0] == pytest.approx(found[i], abs=1e-7)


def test_bad_input():
    X, y = cloud(0)
    model = SVC(gamma=0.5).fit(X, y)
    with pytest.raises(CertificateError, match="other data"):
        loo.leave_one_out(model, X + 1, y)
    with pytest.raises(ValueError, match="fitted LinearSVC or SVC"):
        loo.leave_one_out(LogisticRegression().fit(X, y), X, y)
    with pytest.raises(ValueError, match="hinge"):
        loo.leave_one_out(LinearSVC().fit(X, y), X, y)
    with pytest.raises(ValueError, match="two classes"):
        loo.leave_one_out(SVC(gamma=0.5).fit(X, np.arange(40) % 3), X, np.arange(40) % 3)
    with pytest.raises(ValueError, match="must be 2 x 2"):
        loo.from_gram(np.eye(3), [1, -1], [0, 0], [0, 0], 1.0)
    with pytest.raises(ValueError, match="leverage 1"):
        loo.least_squares([[1.0, 0.0], [0.0, 1.0], [0.0, 2.0]], [1.0, 2.0, 3.0], offset=False)
    with pytest.raises(ValueError, match="negative"):
        loo.least_squares(X, y, penalty=-1.0)
