"""docs/corrections.md, row by row: the usual statement fails on a small example, the true one holds."""

from __future__ import annotations

import numpy as np
import pytest

import gapless
from gapless import LinearSVC, Perceptron, convert, explain, margins, separability

TIGHT = 1e-10


@pytest.fixture(scope="module")
def overlapping():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(120, 3))
    y = np.where(X @ [1.0, -2.0, 0.5] + rng.normal(size=120) > 0, 1, -1)
    X[:3] += 4.0 * np.outer(-y[:3], [1.0, -2.0, 0.5])  # far on the wrong side
    return X, y


@pytest.fixture(scope="module")
def hinge(overlapping):
    return LinearSVC(loss="hinge", C=0.5, tol=TIGHT).fit(*overlapping)


def test_C_is_one_over_n_lambda(overlapping):
    X, y = overlapping
    n, lam = len(y), 0.02
    C = convert(lam=lam, n=n, to="C")
    assert C == pytest.approx(1.0 / (n * lam))
    model = LinearSVC(loss="squared_hinge", C=C, tol=TIGHT, fit_intercept=False).fit(X, y)
    usual = LinearSVC(loss="squared_hinge", C=1.0 / lam, tol=TIGHT, fit_intercept=False).fit(X, y)

    def slope(w):  # of lam/2 |w|^2 + mean loss
        rest = np.maximum(0.0, 1.0 - y * (X @ w))
        return lam * w - 2.0 * (X.T @ (y * rest)) / n

    assert np.abs(slope(model.coef_[0])).max() < 1e-4 * lam
    assert np.abs(slope(usual.coef_[0])).max() > 0.1 * lam


def test_the_dual_has_a_half():
    model = LinearSVC(loss="hinge", C=10.0, tol=TIGHT, fit_intercept=False).fit([[1.0], [-1.0]], [1, -1])
    # Two mirrored examples are one with twice its C: alpha sums to 1.
    a = np.linspace(0.0, 10.0, 10_001)
    assert (a - 0.5 * a**2).max() == pytest.approx(0.5)
    assert (a - a**2).max() == pytest.approx(0.25)  # without it: a gap of 1/4 that is not there
    assert model.certificate_.primal == pytest.approx(0.5)
    assert model.certificate_.dual == pytest.approx(0.5)
    assert model.alpha_.sum() == pytest.approx(1.0)


def test_max_min_is_the_dual(hinge):
    # The value of min max is the primal's; that of max min never exceeds it.
    proof = hinge.certificate_
    assert proof.dual <= proof.primal + proof.rounding


def test_slack_is_what_is_missing_to_one(overlapping, hinge):
    X, y = overlapping
    yf = y * hinge.decision_function(X)
    full = hinge.alpha_ > 0.5 - 1e-9
    xi = hinge.slack_
    assert full.any()
    assert (xi >= 0).all()
    assert np.abs(1.0 - yf - xi)[full].max() < 1e-6
    assert np.abs(1.0 - yf + xi)[full].max() > 0.5


def test_who_contributes_to_w(overlapping, hinge):
    X, y = overlapping
    yf, alpha = y * hinge.decision_function(X), hinge.alpha_
    assert alpha[yf > 1 + 1e-6] == pytest.approx(0.0, abs=1e-7)
    assert alpha[yf < 1 - 1e-6] == pytest.approx(0.5, abs=1e-7)
    assert (yf < 0).any(), "misclassified examples are among them"
    assert (alpha * y) @ X == pytest.approx(hinge.coef_[0], abs=1e-6)


def test_outside_the_strip_is_not_outside_the_margin(overlapping, hinge):
    X, y = overlapping
    found = margins(hinge, X, y)
    width = 1.0 / np.linalg.norm(hinge.coef_)
    assert np.array_equal(found.violates, found.gamma < width)
    assert np.array_equal(found.in_strip, np.abs(found.gamma) < width)
    wrong = found.gamma < -width
    assert wrong.any()
    assert found.violates[wrong].all()
    assert not found.in_strip[wrong].any()
    # The worst of all violations lies outside the strip.
    assert not found.in_strip[np.argmax(hinge.slack_)]


def test_the_norm_and_the_right_angle(hinge):
    w = hinge.coef_[0]
    found = explain(hinge)
    assert found.norm[0] == pytest.approx(np.sqrt((w**2).sum()))
    assert abs(found.norm[0] - w.sum()) > 0.1
    assert np.linalg.norm(found.direction[0]) == pytest.approx(1.0)
    level = np.array([[w[1], -w[0], 0.0]])  # <w, x> = 0
    assert level @ w == pytest.approx(0.0, abs=1e-12)
    assert margins(hinge, level, [1]).angle[0] == pytest.approx(90.0)


def test_downhill_has_one_minus():
    def f(x):
        return float(x[0] ** 2 + 3.0 * x[1] ** 2)

    start, small = np.array([1.0, -2.0]), 1e-3
    row = gapless.descend((f, lambda x: np.array([2.0, 6.0]) * x), start, schedule=0.01, stop=1).trace[0]
    gradient = np.array([2.0, -12.0])
    assert row.direction == pytest.approx(-gradient / np.linalg.norm(gradient))
    assert f(start + small * row.direction) < f(start)
    assert f(start - small * (-gradient) / np.linalg.norm(gradient)) > f(start)


def test_the_page_says_where_to_look():
    for name in ("convert", "margins", "explain"):
        assert name in gapless.__all__


def test_support_vectors_alone_need_the_ends_of_the_offset():
    X, y = np.array([[1.0], [-1.0], [6.0], [8.0], [-5.5], [-9.0]]), np.array([1, -1, 1, 1, -1, -1])
    model = LinearSVC(loss="hinge", C=0.1).fit(X, y)
    support = model.alpha_ > 0
    usual = LinearSVC(loss="hinge", C=0.1).fit(X[support], y[support])
    assert usual.coef_[0, 0] == pytest.approx(model.coef_[0, 0], abs=1e-9)
    assert abs(usual.intercept_[0] - model.intercept_[0]) > 0.01
    rows = gapless.reduce(model, X, y).rows
    true = LinearSVC(loss="hinge", C=0.1).fit(X[rows], y[rows])
    assert true.intercept_[0] == pytest.approx(model.intercept_[0], abs=1e-9)
    # A hard margin needs no more than its support vectors.
    hard = LinearSVC(C=np.inf).fit(X, y)
    support = hard.alpha_ > 0
    again = LinearSVC(C=np.inf).fit(X[support], y[support])
    assert again.coef_[0, 0] == pytest.approx(hard.coef_[0, 0], abs=1e-12)
    assert again.intercept_[0] == pytest.approx(hard.intercept_[0], abs=1e-12)


@pytest.fixture(scope="module")
def apart():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 2))
    y = np.where(X @ [1.0, 2.0] > 0.3, 1, -1)
    return X + 0.2 * np.outer(y, [1.0, 2.0]) / np.sqrt(5.0), y


def test_the_plain_mistake_bound_is_for_a_start_of_0(apart):
    X, y = apart
    w = Perceptron(tol=None).fit(X, y).certificate_.direction
    away = Perceptron(tol=None, max_iter=-1, eta0=0.01).fit(X, y, coef_init=[-9.0 * w[:2]], intercept_init=-9.0 * w[2:])
    plain = (away.certificate_.radius / away.certificate_.margin) ** 2
    assert plain < away.mistakes_ <= away.certificate_.bound
    assert away.certificate_.bound <= (plain + 2 * 9.0 / (0.01 * away.certificate_.margin)) * (1 + 1e-6)


def test_a_mistake_adds_at_most_the_square_of_its_row(apart):
    X, y = apart
    model = Perceptron(tol=None, trace=True).fit(X, y)
    rows = np.column_stack([X, np.ones(60)])
    before = 0.0
    strictly = 0
    for step in model.trace_:
        most = before + rows[step.row] @ rows[step.row]
        assert step.norm**2 <= most * (1 + 1e-12)
        assert step.norm <= model.certificate_.radius * np.sqrt(step.k) * (1 + 1e-12)
        strictly += step.norm**2 < most * (1 - 1e-6)  # the usual statement fails
        before = step.norm**2
    assert strictly


def test_what_the_margin_depends_on(apart):
    X, y = apart
    whole = Perceptron(tol=None).fit(X, y).certificate_
    some = Perceptron(tol=None).fit(X[:20], y[:20]).certificate_
    assert whole.margin <= some.margin * (1 + 1e-6)
    wider = np.hstack([X, np.zeros((60, 30))])  # thirty dimensions more
    assert Perceptron(tol=None).fit(wider, y).certificate_.bound == pytest.approx(whole.bound, rel=1e-6)
    functional = [np.min(y * (X @ (s * whole.direction[:2]) + s * whole.direction[2])) for s in (1.0, 5.0)]
    assert functional[1] == pytest.approx(5.0 * functional[0])


@pytest.mark.filterwarnings("ignore:Perceptron stopped at max_iter")
def test_the_rate_matters_from_a_start_that_is_not_0(apart):
    X, y = apart
    given = {"tol": None, "shuffle": False, "max_iter": 1, "certify": False}
    one, three = (Perceptron(eta0=rate, **given).fit(X, y) for rate in (1.0, 4.0))
    assert np.allclose(three.coef_, 4.0 * one.coef_)
    one, three = (Perceptron(eta0=rate, **given).fit(X, y, coef_init=[[5.0, -5.0]]) for rate in (1.0, 4.0))
    assert not np.allclose(three.coef_ / np.linalg.norm(three.coef_), one.coef_ / np.linalg.norm(one.coef_), atol=1e-3)


def test_cycles_need_a_fixed_order():
    X, y = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]]), [0, 1, 1, 0]
    fixed = Perceptron(shuffle=False, tol=None, variant="pocket", max_iter=-1).fit(X, y)
    shuffled = Perceptron(tol=None, variant="pocket", max_iter=-1).fit(X, y)
    assert fixed.passes_ < 10
    assert shuffled.passes_ == 100  # no state is waited for: the separation test decides
    assert fixed.status_ == shuffled.status_ == "infeasible"


def test_the_origin_and_the_offset():
    X, y = np.array([[0.0], [1.0], [2.0]]), [-1, 1, 1]
    model = Perceptron(tol=None, max_iter=-1).fit(X, y)
    assert np.sign(model.decision_function([[0.0]])[0]) == np.sign(model.intercept_[0]) == -1.0
    assert separability(X, y).status == "complete"
    assert separability(X, y, fit_intercept=False).status != "complete"


def test_a_stochastic_step_changes_w():
    # w <- w + eta (y - yhat) x, against a rule that adds to a Delta that nobody adds to w.
    X, y = np.array([[1.0, 2.0], [-1.0, 0.5], [0.3, -2.0]]), np.array([1.0, 2.0, -1.0])
    w, delta, eta = np.zeros(2), np.zeros(2), 0.1
    for x, target in zip(X, y):
        w = w + eta * (target - w @ x) * x
        delta = delta + eta * (target - np.zeros(2) @ x) * x  # w itself never moves, nor do the predictions
    risk = gapless.linear_risk(X, y, loss="squared", lam=1e-12, offset="none")
    found = gapless.descend(risk, np.zeros(2), "sgd", schedule=eta, visits=[0, 1, 2], stop=3, literal=True)
    assert found.theta == pytest.approx(w)
    assert not np.allclose(delta, w)


def test_convex_functions_and_their_negatives():
    from gapless.theory.optimisation import convexity

    assert convexity.quadratic([[1.0]]).convex
    assert not convexity.quadratic([[-1.0]]).convex
    assert convexity.quadratic([[0.0]]).convex  # affine: both ways


def test_intervals_shatter_two_points_and_never_three():
    from gapless.theory.generalisation import growth, vc

    patterns = {tuple(a < x < b for x in (1, 2, 3)) for a in np.arange(0.5, 4) for b in np.arange(0.5, 4)}
    assert len(patterns) == growth.growth("intervals", 3) == 7
    assert (True, False, True) not in patterns
    assert len({p[:2] for p in patterns}) == 4
    assert vc.dimension("intervals") == 2


def test_a_bag_has_not_two_thirds_of_the_rows():
    from gapless.theory.samples.bias_variance import distinct_share

    assert distinct_share(100) == pytest.approx(1 - 0.99**100)
    assert abs(distinct_share(10**6) - 0.632) < 1e-3 < abs(distinct_share(10**6) - 0.67)
