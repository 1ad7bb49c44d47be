"""The descents as solvers of the estimators: scikit-learn's own checks, certificates, weights in distribution."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.preprocessing import MaxAbsScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from gapless import (
    ConvergenceWarning,
    LinearSVC,
    LogisticRegression,
    Until,
    config_context,
    descend,
    linear_risk,
    verify,
)
from gapless.solvers.linear.solve import DESCENTS

MODELS = [LinearSVC(solver="gd"), LogisticRegression(solver="sgd")]
OTHERS = [
    *(LinearSVC(solver=solver) for solver in DESCENTS if solver != "gd"),
    *(LogisticRegression(solver=solver) for solver in DESCENTS if solver != "sgd"),
    LinearSVC(loss="hinge", solver="sgd"),
]


@parametrize_with_checks(MODELS)
def test_check(estimator, check):
    """None is expected to fail: small data is brought into one order and equal rows are one, weights or not."""
    with config_context(convergence="ignore"):
        check(estimator)


@pytest.mark.slow
@parametrize_with_checks(OTHERS)
def test_check_others(estimator, check):
    with config_context(convergence="ignore"):
        check(estimator)


@pytest.fixture(scope="module")
def data():
    return make_classification(300, 8, n_informative=4, flip_y=0.1, random_state=0)


@pytest.fixture(scope="module")
def three():
    return make_classification(300, 8, n_informative=4, n_classes=3, random_state=0)


@pytest.mark.parametrize("solver", DESCENTS)
def test_certified_and_near_the_optimum(data, three, solver):
    for X, y in (data, three):
        for model in (LinearSVC(C=0.01), LinearSVC(C=0.01, loss="hinge"), LogisticRegression(C=0.01, max_iter=1000)):
            best = model.fit(X, y)
            lowest = best.certificate_.dual
            with config_context(convergence="ignore"):
                found = type(model)(**{**model.get_params(), "solver": solver}).fit(X, y)
            proof = found.certificate_
            assert proof.solver == solver
            assert verify(found, X, y)
            assert proof.primal >= lowest * (1 - 1e-9)
            assert proof.primal - lowest <= proof.gap + 1e-9
            assert proof.primal <= 1.05 * best.certificate_.primal
            assert found.score(X, y) >= best.score(X, y) - 0.03


def test_more_passes_get_closer(data):
    X, y = data
    for solver in DESCENTS:
        gaps = []
        for passes in (5, 50, 500):
            with config_context(convergence="ignore"):
                model = LogisticRegression(C=0.01, solver=solver, max_iter=passes).fit(X, y)
            assert model.n_iter_[0] <= passes
            gaps.append(model.certificate_.relative_gap)
        assert gaps[0] >= gaps[1] >= gaps[2]
        assert gaps[2] <= 1e-2


def test_what_is_refused(data):
    X, y = data
    for solver in DESCENTS:
        with pytest.raises(ValueError, match="needs a penalty"):
            LogisticRegression(C=np.inf, solver=solver).fit(X, y)
    with pytest.raises(ValueError, match="solver"):
        LinearSVC(solver="sdg").fit(X, y)
    for name in ("lbfgs", "liblinear", "newton-cg", "newton-cholesky", "sag", "saga"):
        LogisticRegression(solver=name).fit(X, y)


def test_random_state_is_the_order_of_visits(data):
    X, y = data
    with config_context(convergence="ignore"):
        one, same, other = (
            LinearSVC(C=0.01, solver="sgd", max_iter=10, random_state=s).fit(X, y).coef_ for s in (0, 0, 1)
        )
    assert (one == same).all()
    assert (one != other).any()


@pytest.mark.parametrize("method", ["sgd", "minibatch"])
def test_weights_are_repetitions_in_distribution(method):
    """A row of weight 3 and the row three times lead, over many orders, to the same mean: within 4.5 standard errors,
    where weights that are left out are off by dozens."""
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 3))
    y = np.where(X[:, 0] + 0.5 * random.normal(size=60) > 0, 1, -1)
    weight = random.integers(1, 4, size=60)
    index = np.repeat(np.arange(60), weight)
    options = {"loss": "squared_hinge", "lam": 0.1}
    weighted = linear_risk(X, y, sample_weight=weight, **options)
    repeated = linear_risk(X[index], y[index], **options)
    ignored = linear_risk(X, y, **options)

    def ends(risk):
        stop = Until(steps=1500 if method == "sgd" else 150)
        return np.array(
            [
                descend(
                    risk,
                    method=method,
                    visits="random",
                    stop=stop,
                    seed=s,
                    trace=False,
                    batch=16 if method == "minibatch" else None,
                ).theta
                for s in range(150)
            ]
        )

    def apart(a, b):
        return np.abs(a.mean(axis=0) - b.mean(axis=0)) / np.sqrt(a.var(axis=0) / len(a) + b.var(axis=0) / len(b))

    one, other, without = ends(weighted), ends(repeated), ends(ignored)
    assert apart(one, other).max() < 4.5
    assert apart(one, without).max() > 12


@pytest.mark.parametrize(
    ("model", "size"),
    [
        (LinearSVC(solver="sgd"), 1e50),
        (LinearSVC(solver="minibatch"), 1e101),
        (LinearSVC(loss="hinge", solver="gd"), 1e50),
        (LinearSVC(loss="hinge", solver="momentum"), 1e150),
        (LogisticRegression(solver="sgd"), 1e150),
    ],
)
def test_divergence_is_named_and_the_best_point_before_it_returned(model, size):
    random = np.random.default_rng(0)
    X, y = random.normal(size=(100, 5)), random.integers(0, 2, 100)
    X[3] *= size
    with pytest.warns(
        ConvergenceWarning, match=f"diverged with solver='{model.solver}'.*best model before that"
    ) as seen:
        found = clone(model).fit(X, y)
    assert found.status_ == "not_finite"
    assert np.isfinite(found.coef_).all()
    assert found.certificate_.primal <= len(y)  # that of theta = 0, at the most: 1, 1 or log 2 a row
    assert np.max(found.n_iter_) <= 2
    assert verify(found, X, y)
    assert "Scale the columns" in str(seen[0].message)
    # ... which helps.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clone(model).set_params(solver="auto").fit(MaxAbsScaler().fit_transform(X), y)


def test_a_first_rise_is_no_divergence():
    """Rates of 1/(lam t) begin long: the value may rise before it falls, and is not to be stopped there."""
    X, y = make_classification(200, 6, random_state=3)
    with config_context(convergence="ignore"):
        found = LinearSVC(loss="hinge", C=1e4, solver="sgd", max_iter=300).fit(100.0 * X, y)
    assert found.status_ == "max_iter"
    assert found.n_iter_ == 300
