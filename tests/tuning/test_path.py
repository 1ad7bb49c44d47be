"""The path over a grid: every point certified, every C between two of them within the proved bound."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification

import gapless
from gapless.tuning.path.between_two_C import largest_relative_gap


def data(n=200, d=6, seed=0):
    return make_classification(n, d, n_informative=4, n_redundant=0, flip_y=0.15, random_state=seed)


def holds(verdict):
    """Every figure of the claim; how much rounding may be claimed is the concern of the tests of kernel machines."""
    return all(claim.holds for claim in verdict.claims if not claim.name.endswith("rounding"))


MODELS = {
    "hinge": gapless.LinearSVC(loss="hinge"),
    "squared hinge": gapless.LinearSVC(),
    "penalised offset": gapless.LinearSVC(penalize_intercept=True, intercept_scaling=2.0),
    "no offset": gapless.LinearSVC(loss="hinge", fit_intercept=False),
    "logistic": gapless.LogisticRegression(),
    "balanced": gapless.LogisticRegression(class_weight="balanced"),
    "rbf": gapless.SVC(gamma=0.2),
    "linear kernel": gapless.SVC(kernel="linear"),
}


@pytest.mark.parametrize("name", MODELS)
def test_points_and_what_lies_between(name):
    model = MODELS[name]
    X, y = data()
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    found = gapless.path(model, X, y, np.logspace(-2, 1, 7), sample_weight=weight, exact=False, between=1e-2)
    assert found.converged
    assert (found.relative_gap <= model.tol).all()
    assert found.between.max() <= 1e-2
    for k in (0, len(found) // 2):
        at = found.model_at(found.Cs[k])
        assert holds(gapless.verify(at, X, y, weight))
        # The true optimum by a tight fit: the claim bounds the distance to it.
        tight = type(model)(**{**model.get_params(), "C": at.C, "tol": 1e-10}).fit(X, y, weight)
        assert at.certificate_.primal <= tight.certificate_.dual * (1 + model.tol) + 1e-9
    for k in range(len(found) - 1):
        C = float(np.sqrt(found.Cs[k] * found.Cs[k + 1]))
        at = found.model_at(C)
        assert at.C == C
        assert at.certificate_.gap <= found.between[k] * at.certificate_.dual * (1 + 1e-9)
    assert holds(gapless.verify(at, X, y, weight))


def test_the_bound_is_not_loose_and_points_are_added():
    X, y = data()
    far = gapless.path(gapless.SVC(gamma=0.2), X, y, [0.1, 10.0], exact=False, between=np.inf)
    middle = far.model_at(1.0).certificate_
    # What is measured is below what is proved, and not by orders of magnitude.
    assert middle.gap <= far.between[0] * middle.dual
    assert middle.gap >= 0.02 * far.between[0] * middle.dual
    near = gapless.path(gapless.SVC(gamma=0.2), X, y, [0.1, 10.0], exact=False, between=1e-2)
    assert len(near) > 2
    assert near.asked.sum() == 2
    assert near.between.max() <= 1e-2 < far.between[0]


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_wide_rows_are_no_slower_than_fits(form):
    """Counted in passes: semismooth Newton between the points of such a path took a hundred times as long as fits."""
    random = np.random.default_rng(3)
    X = random.normal(size=(400, 1500)) * (random.random((400, 1500)) < 0.2)
    y = np.where(X[:, :20].sum(axis=1) + random.normal(size=400) > 0, 1, -1)
    Cs = np.logspace(-2, 1, 12)
    model = gapless.LinearSVC(loss="hinge", fit_intercept=False)
    found = gapless.path(model, form(X), y, Cs, exact=False)
    assert found.converged
    asked = [found.model_at(C) for C in Cs]
    alone = [clone(model).set_params(C=C).fit(form(X), y) for C in Cs]
    assert {one.certificate_.solver for one in asked} <= {"coordinate_descent", "neighbour", "start"}
    assert sum(one.n_iter_ for one in asked) < sum(one.n_iter_ for one in alone)


def test_exact_path_has_no_gap_between_its_break_points():
    # On a straight piece the bound on what lies between is 0 up to rounding.
    X, y = data(60, 4)
    exact = gapless.path(gapless.SVC(kernel="linear"), X, y, (0.01, 1.0), exact=True)
    ends = exact.breaks[[3, 4]]
    inner = [float(ends[0] + t * (ends[1] - ends[0])) for t in (0.01, 0.99)]
    found = gapless.path(gapless.SVC(kernel="linear", tol=1e-9), X, y, inner, exact=False, between=np.inf)
    assert found.between[0] <= 1e-8
    wide = gapless.path(gapless.SVC(kernel="linear", tol=1e-9), X, y, [0.01, 1.0], exact=False, between=np.inf)
    assert wide.between[0] >= 1e-3


@pytest.mark.parametrize(
    "model", [gapless.LinearSVC(loss="hinge"), gapless.LogisticRegression(), gapless.SVC(gamma=0.3)]
)
def test_more_than_two_classes(model):
    X, y = load_iris(return_X_y=True)
    found = gapless.path(model, X, y, np.logspace(-1, 1, 5), exact=False)
    assert found.converged
    at = found.model_at(0.7)
    assert holds(gapless.verify(at, X, y))
    assert at.predict(X).shape == y.shape


def test_ridge():
    random = np.random.default_rng(0)
    X = random.standard_normal((80, 5))
    y = X @ random.standard_normal(5) + random.standard_normal(80)
    alphas = np.logspace(-2, 3, 9)
    found = gapless.path(gapless.Ridge(), X, y, alphas)
    assert found.parameter == "alpha"
    for k, alpha in enumerate(alphas):
        centred = X - X.mean(axis=0)
        w = np.linalg.solve(centred.T @ centred + alpha * np.eye(5), centred.T @ (y - y.mean()))
        assert np.allclose(found.coef[k, 0], w, rtol=1e-9, atol=1e-12)
        assert holds(gapless.verify(found.model_at(alpha), X, y))
    assert found.best(X, y) == alphas[0]
    assert found.model_at(0.5).alpha == 0.5


def test_scores_and_best():
    X, y = data(300)
    found = gapless.path(gapless.LogisticRegression(), X[:200], y[:200], np.logspace(-3, 1, 6))
    curve = found.scores(X[200:], y[200:])
    assert curve.shape == found.Cs.shape
    assert found.best(X[200:], y[200:]) == found.Cs[int(np.argmax(curve))]


def test_prints_a_table_and_leaves_the_model_alone():
    X, y = data()
    model = gapless.LinearSVC(C=3.0)
    found = gapless.path(model, X, y, [0.1, 1.0])
    assert model.C == 3.0
    assert not hasattr(model, "coef_")
    lines = str(found).splitlines()
    assert lines[0].startswith("LinearSVC: ")
    assert len(lines) == 3 + len(found)
    assert found.coef.shape == (len(found), 1, 6)
    assert found.dual_points.shape == (len(found), 1, 200)


def test_bad_input():
    X, y = data(30)
    with pytest.raises(ValueError, match="positive and finite"):
        gapless.path(gapless.LinearSVC(), X, y, [0.0, 1.0])
    with pytest.raises(ValueError, match="positive and finite"):
        gapless.path(gapless.LinearSVC(), X, y, [])
    with pytest.raises(ValueError, match="between"):
        gapless.path(gapless.LinearSVC(), X, y, [1.0], between=0.0)
    with pytest.raises(TypeError, match="use tune"):
        gapless.path(gapless.SVR(), X, y, [1.0])
    found = gapless.path(gapless.LinearSVC(), X, y, [1.0, 2.0])
    with pytest.raises(ValueError, match="outside"):
        found.model_at(3.0)


def test_the_bound_holds_on_many_random_pairs_of_points():
    # Points that are far from optimal too: the bound is about any pair of feasible points.
    from gapless.losses import BY_NAME
    from gapless.problems.linear import LinearProblem
    from gapless.tuning.path.between_two_C import PathPoint

    random = np.random.default_rng(5)
    for _ in range(60):
        n, d = 12, 3
        X, y = random.standard_normal((n, d)), np.where(random.random(n) < 0.5, 1, -1).astype(np.int8)
        s, loss = random.uniform(0.1, 2.0, n), BY_NAME[random.choice(["hinge", "squared_hinge", "logistic"])]
        C1 = float(np.exp(random.uniform(-3, 1)))
        C2 = C1 * float(np.exp(random.uniform(0.05, 2)))
        shapes, points = [], []
        for C in (C1, C2):
            problem = LinearProblem.build(X, y, C * s, loss, "none")
            theta = np.append(random.standard_normal(d), 0.0)
            u = problem.dual_from_primal(np.append(random.standard_normal(d), 0.0))
            p = problem.combine(u)
            primal = problem.primal(theta)
            dual = problem.dual(u, primal, p)
            w = theta[:-1]
            shapes.append(PathPoint(C, (primal - 0.5 * w @ w) / C, primal - dual, dual, primal, 0.0, w, p[:-1]))
            points.append((theta, u))
        bound = largest_relative_gap(*shapes)
        for t in np.linspace(0.0, 1.0, 11):
            C = (1 - t) * C1 + t * C2
            problem = LinearProblem.build(X, y, C * s, loss, "none")
            theta, u = ((1 - t) * a + t * b for a, b in zip(*points))
            primal = problem.primal(theta)
            dual = problem.dual(u, primal)
            assert primal - dual <= bound * (dual if dual > 0 else np.inf) * (1 + 1e-9) or bound == np.inf
