"""A fit that was stopped at once is still the best constant, with its true gap: never w = 0, b = 0 that calls every row the first
class."""

from __future__ import annotations

import copy
import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize, minimize_scalar

import gapless
from gapless import (
    SVC,
    SVR,
    AdaBoostClassifier,
    AdaBoostRegressor,
    ElasticNet,
    Lasso,
    LeastSquaresClassifier,
    LinearRegression,
    LinearSVC,
    LogisticRegression,
    NuSVC,
    NuSVR,
    OneClassSVM,
    Perceptron,
    Ridge,
    judge,
    verify,
)
from gapless.registry import MODULES
from gapless.solvers.loop import Interruption

ONCE = 1e-9
pytestmark = pytest.mark.filterwarnings("ignore")

CLASSIFIERS = {
    "squared hinge": LinearSVC(),
    "squared hinge, penalised": LinearSVC(penalize_intercept=True, intercept_scaling=3.0),
    "hinge": LinearSVC(loss="hinge"),
    "hinge, penalised": LinearSVC(loss="hinge", penalize_intercept=True),
    "hinge, tiny C": LinearSVC(loss="hinge", C=1e-4, penalize_intercept=True),
    "hinge, threads": LinearSVC(loss="hinge", n_jobs=2),
    "coordinate descent": LinearSVC(loss="hinge", solver="coordinate_descent"),
    "interior point": LinearSVC(loss="hinge", solver="interior_point"),
    "semismooth": LinearSVC(loss="hinge", solver="semismooth"),
    "balanced": LinearSVC(class_weight="balanced"),
    "class weights": LogisticRegression(class_weight={"a": 1.0, "b": 5.0, "c": 2.0}),
    "logistic": LogisticRegression(),
    "logistic, penalised": LogisticRegression(penalize_intercept=True),
    "logistic, no penalty": LogisticRegression(C=np.inf, on_separation="ignore"),
    **{f"svm by {solver}": LinearSVC(solver=solver) for solver in ("sgd", "adam", "gd", "minibatch", "momentum")},
    **{f"logistic by {solver}": LogisticRegression(solver=solver) for solver in ("sgd", "adam")},
    "rbf": SVC(),
    "rbf, wide": SVC(gamma=1e-3, C=100.0),
    "linear kernel": SVC(kernel="linear"),
    "polynomial": SVC(kernel="poly", degree=2),
    "nu": NuSVC(nu=0.005),
    "hard margin": LinearSVC(C=np.inf),
    "hard margin, penalised": LinearSVC(C=np.inf, loss="hinge", penalize_intercept=True),
    "hard margin, balanced": LinearSVC(C=np.inf, class_weight="balanced"),
    "hard margin, rbf": SVC(C=np.inf, gamma=5.0),
    "hard margin, rbf, balanced": SVC(C=np.inf, gamma=5.0, class_weight="balanced"),
    "least squares": LeastSquaresClassifier(),
    "AdaBoost": AdaBoostClassifier(),
    **{f"perceptron, {variant}": Perceptron(variant=variant) for variant in ("plain", "pocket", "averaged", "voted")},
    "perceptron, penalty": Perceptron(penalty="l2"),
}
#: The shares of the classes; none of three has half of the rows, or the first is not the largest.
SHARES = {
    "second": (1 / 201, 200 / 201),
    "first": (200 / 201, 1 / 201),
    "even": (0.5, 0.5),
    "last of three": (0.27, 0.31, 0.42),
    "middle of three": (0.02, 0.95, 0.03),
}


def table(shares, sparse_rows=False):
    random = np.random.default_rng(7)
    n = 402
    edges = np.round(np.cumsum((0.0, *shares)) * n).astype(int)
    y = np.repeat(np.array(["a", "b", "c"])[: len(shares)], np.diff(edges))
    X = random.normal(size=(n, 4)) + 2.0
    X[:, 0] += 0.7 * (y == "a")
    order = random.permutation(n)
    X = np.round(X[order], 2)
    return (sparse.csr_matrix(X * (X > 2.0)) if sparse_rows else X), y[order]


def weights_of(y):
    """The last class in the alphabet counts most."""
    return np.where(y == np.unique(y)[-1], 30.0, 1.0)


def fitted(model, X, y, **weights):
    model = type(model)(**model.get_params())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y, **weights)


def costs(model, y, w):
    """What each row costs where it is wrong."""
    given = getattr(model, "class_weight", None)
    if given == "balanced":
        names = np.unique(y)
        given = {name: w.sum() / (names.size * w[y == name].sum()) for name in names}
    return w if given is None else w * np.array([given[label] for label in y])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shares", SHARES)
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_errors_are_those_of_the_largest_class_at_most(name, shares, weighted):
    X, y = table(SHARES[shares])
    model = CLASSIFIERS[name]
    if isinstance(model.get_params().get("class_weight"), dict) and len(SHARES[shares]) < 3:
        model = type(model)(class_weight={"a": 1.0, "b": 5.0})
    w = weights_of(y) if weighted else np.ones(y.size)
    given = {"sample_weight": w} if weighted else {}
    if isinstance(model, NuSVC) and weighted:
        masses = [w[y == label].sum() for label in np.unique(y)]
        model = NuSVC(nu=min(masses) / sum(masses))  # half of what the classes allow
    model = fitted(model.set_params(time_limit=ONCE), X, y, **given)
    assert model.status_ in ("time_limit", "converged")
    c = costs(model, y, w)
    best = c.sum() - max(c[y == label].sum() for label in np.unique(y))
    assert c[model.predict(X) != y].sum() <= best * (1 + 1e-12)
    assert verify(model, X, y, **given)


@pytest.mark.parametrize("name", ["squared hinge", "hinge", "logistic", "rbf", "perceptron, plain"])
def test_sparse_rows(name):
    X, y = table(SHARES["second"], sparse_rows=True)
    model = fitted(CLASSIFIERS[name].set_params(time_limit=ONCE), X, y)
    assert (model.predict(X) == "b").mean() >= np.mean(y == "b")
    assert verify(model, X, y)


def hinge(z, power):
    return np.maximum(0.0, 1.0 - z) ** power


@pytest.mark.parametrize("penalised", [False, True])
@pytest.mark.parametrize(
    ("name", "loss"),
    [
        ("hinge", lambda z: hinge(z, 1)),
        ("squared hinge", lambda z: hinge(z, 2)),
        ("logistic", lambda z: np.logaddexp(0.0, -z)),
    ],
)
def test_the_offset_is_the_best_one(name, loss, penalised):
    """Against a search in one number, on 1 : 200 rows with weights."""
    X, y = table(SHARES["second"])
    w = weights_of(y)
    model = CLASSIFIERS[name].set_params(time_limit=ONCE, penalize_intercept=penalised, intercept_scaling=1.0, C=0.3)
    model = fitted(model, X, y, sample_weight=w)
    sign = np.where(y == "b", 1.0, -1.0)

    def primal(b):
        return 0.5 * penalised * b * b + 0.3 * w @ loss(sign * b)

    best = minimize_scalar(primal, bounds=(-20.0, 20.0), method="bounded", options={"xatol": 1e-12})
    assert not model.coef_.any()
    assert model.certificate_.primal == pytest.approx(primal(model.intercept_[0]), rel=1e-12)
    assert best.fun * (1 - 1e-6) <= model.certificate_.primal <= best.fun * (1 + 1e-12)


@pytest.mark.parametrize("penalised", [False, True])
def test_the_offsets_of_several_classes_are_the_best_ones(penalised):
    """Against a search in three numbers; without a penalty they are the log of the priors."""
    X, y = table(SHARES["last of three"])
    w = weights_of(y)
    model = LogisticRegression(time_limit=ONCE, penalize_intercept=penalised, C=0.01)
    model = fitted(model, X, y, sample_weight=w)
    masses = np.array([w[y == label].sum() for label in "abc"])

    def primal(b):
        return 0.5 * penalised * b @ b + 0.01 * (masses.sum() * np.logaddexp.reduce(b) - masses @ b)

    best = minimize(primal, np.zeros(3), tol=1e-14)
    assert not model.coef_.any()
    assert model.certificate_.primal == pytest.approx(best.fun, rel=1e-9)
    if not penalised:
        assert model.predict_proba(X[:1])[0] == pytest.approx(masses / masses.sum(), rel=1e-9)


REGRESSORS = [
    Ridge(),
    Lasso(alpha=0.01),
    ElasticNet(alpha=0.01),
    LinearRegression(),
    SVR(),
    SVR(kernel="linear"),
    NuSVR(),
    NuSVR(nu=0.9),
    AdaBoostRegressor(random_state=0),
]


def test_every_estimator_with_a_time_limit_is_here():
    """OneClassSVM has a test of its own; the others have no such parameter."""
    limited = {name for name in MODULES if "time_limit" in getattr(gapless, name)().get_params()}
    assert limited == {type(model).__name__ for model in (*CLASSIFIERS.values(), *REGRESSORS, OneClassSVM())}


@pytest.mark.parametrize("model", REGRESSORS, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_numbers(model, weighted):
    """The loss of the model on its rows is no larger than that of the best constant."""
    X, _ = table(SHARES["first"])
    random = np.random.default_rng(1)
    y = 40.0 + np.exp(random.normal(size=X.shape[0]))
    w = 1.0 + (random.random(y.size) < 0.2) * 20.0 if weighted else np.ones(y.size)
    model = fitted(model.set_params(time_limit=ONCE), X, y, **({"sample_weight": w} if weighted else {}))
    z = model.predict(X)
    if isinstance(model, SVR | NuSVR):
        eps = model.epsilon_ if isinstance(model, NuSVR) else model.epsilon

        def loss(values):
            return float(w @ np.maximum(0.0, np.abs(y - values) - eps))

        assert loss(z) <= min(loss(b) for b in y) * (1 + 1e-12)
    else:
        assert w @ (y - z) ** 2 <= w @ (y - np.average(y, weights=w)) ** 2 * (1 + 1e-12)
    assert verify(model, X, y, **({"sample_weight": w} if weighted else {}))


@pytest.mark.parametrize("variant", ["plain", "pocket", "averaged", "voted"])
def test_a_perceptron_that_would_err_more_than_its_constant(variant):
    """Equal weights of the classes and noise alone: half of the weight is wrong, whichever constant it is."""
    random = np.random.default_rng(5)
    X, y = random.normal(size=(60, 2)), np.arange(60) % 2
    X[:, 0] = np.where(random.random(60) < 0.5, 1.0, -1.0) * (1.0 + 40.0 * (np.arange(60) == 58))
    model = fitted(Perceptron(variant=variant, time_limit=ONCE, shuffle=False), X, y)
    assert np.mean(model.predict(X) != y) <= 0.5
    assert verify(model, X, y)


def test_one_class():
    X, _ = table(SHARES["first"])
    model = fitted(OneClassSVM(time_limit=ONCE), X, None)
    assert verify(model, X, np.zeros(X.shape[0]))


def apart():
    """Three classes that a hyperplane each separates from the rest."""
    X, y = table(SHARES["last of three"])
    return np.column_stack([X, 50.0 * (y[:, None] == np.unique(y))]), y


@pytest.mark.parametrize("rigorous", [False, True, "exact"])
@pytest.mark.parametrize("rows", [np.asarray, sparse.csr_matrix], ids=["dense", "CSR"])
@pytest.mark.parametrize("model", [LinearSVC(C=np.inf), SVC(C=np.inf), SVC(C=np.inf, kernel="linear")], ids=str)
def test_a_hard_margin_that_is_not_kept_claims_nothing_but_that(model, rows, rigorous):
    X, y = apart()
    model = fitted(model.set_params(time_limit=ONCE), rows(X), y)
    assert (model.predict(X) == "c").all()
    claimed = model.certificate_
    assert (claimed.status, claimed.primal, claimed.dual, claimed.gap) == ("time_limit", np.inf, 0.0, np.inf)
    assert np.isnan(claimed.relative_gap)
    assert "no margin is kept yet" in str(claimed)
    assert verify(model, X, y, rigorous=rigorous)


def claims_of(model):
    """The document of a model and its arrays, to be altered."""
    return copy.deepcopy(model.certificate_.document()), dict(model.certificate_.arrays)


def shared_out(model, X, y, limits):
    """A fit whose three problems have these limits, in their order."""
    from gapless.fits import hard_margin

    given, solve = iter(limits), hard_margin.solve_hard_margin
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            hard_margin,
            "solve_hard_margin",
            lambda problem, stop, *more: solve(problem, replace(stop, seconds=next(given)), *more),
        )
        return fitted(model, X, y)


def test_some_of_several_hard_margins_are_kept():
    """The kept one is right about its class, and the others give the larger one of theirs."""
    X, y = apart()
    model = shared_out(LinearSVC(C=np.inf, n_jobs=1), X, y, [None, ONCE, ONCE])
    assert [sub.status for sub in model.certificate_.subproblems] == ["converged", "time_limit", "time_limit"]
    assert (model.predict(X) == np.where(y == "a", "a", "c")).all()
    assert "of 3 margins 1 are kept" in str(model.certificate_)
    assert verify(model, X, y)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("primal",), 1.0),
        (("dual",), 1e-3),
        (("gap",), 1.0),
        (("relative_gap",), 0.5),
        (("rounding",), 1e-9),
        (("rounding",), "inf"),
        (("status",), "converged"),
        (("subproblems", 1, "primal"), 1.0),
        (("subproblems", 1, "dual"), 1e-3),
        (("subproblems", 1, "gap"), 1.0),
        (("subproblems", 1, "relative_gap"), 0.0),
        (("subproblems", 1, "rounding"), 1e-9),
        (("subproblems", 1, "status"), "converged"),
    ],
    ids=str,
)
@pytest.mark.parametrize("model", [LinearSVC(C=np.inf), SVC(C=np.inf)], ids=str)
def test_a_margin_that_is_not_kept_may_claim_nothing_else(model, path, value):
    X, y = apart()
    model = fitted(model.set_params(time_limit=ONCE), X, y)
    document, arrays = claims_of(model)
    block = document["certificate"]
    for key in path[:-1]:
        block = block[key]
    block[path[-1]] = value
    assert not judge.check(document, arrays, X, y)


def test_infinite_figures_are_for_hard_margins_alone():
    """There they say that nothing is proved, which is true even where the margins are kept; elsewhere P is finite."""
    X, y = apart()
    for model in (LinearSVC(C=np.inf), SVC(C=np.inf), LinearSVC(), SVC(), LogisticRegression()):
        document, arrays = claims_of(fitted(model, X, y))
        block = document["certificate"]
        for figures in (block, *block["subproblems"]):
            figures |= {"primal": "inf", "dual": 0.0, "gap": "inf", "relative_gap": "nan", "rounding": 0.0}
            figures["status"] = "time_limit"
        if isinstance(model, LinearSVC):
            arrays["dual"] = np.zeros_like(arrays["dual"])
        assert bool(judge.check(document, arrays, X, y)) is (getattr(model, "C", 1.0) == np.inf)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_ctrl_c_at_once(name, monkeypatch):
    """The wish is there before the fit begins."""
    X, y = table(SHARES["second"])
    init = Interruption.__init__

    def wished(self):
        init(self)
        self.requested = True

    model = CLASSIFIERS[name].set_params(time_limit=None)
    if isinstance(model.get_params().get("class_weight"), dict):
        model = LogisticRegression(class_weight={"a": 1.0, "b": 5.0})
    model = type(model)(**model.get_params())
    with monkeypatch.context() as patch:
        patch.setattr(Interruption, "__init__", wished)
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y)
    assert model.status_ == "interrupted"
    c = costs(model, y, np.ones(y.size))
    assert c[model.predict(X) != y].sum() <= min(c[y == "a"].sum(), c[y == "b"].sum()) * (1 + 1e-12)
    assert verify(model, X, y)


@pytest.mark.parametrize("model", [LinearSVC(), LinearSVC(loss="hinge"), LogisticRegression(), SVC(), Ridge()], ids=str)
def test_a_path_that_is_stopped_at_once(model):
    X, y = table(SHARES["second"])
    y = y == "b" if not isinstance(model, Ridge) else (y == "b").astype(float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = gapless.path(model.set_params(time_limit=ONCE), X, y, [0.1, 1.0, 10.0], between=np.inf)
    for C in (0.1, 1.0, 10.0):
        point = found.model_at(C)
        assert verify(point, X, y)
        if not isinstance(model, Ridge):
            assert np.mean(point.predict(X) == y) >= y.mean()


def test_a_fit_without_an_offset_says_the_truth():
    """It cannot have a constant; its gap holds all the same."""
    X, y = table(SHARES["second"])
    for model in (
        LinearSVC(fit_intercept=False),
        LogisticRegression(fit_intercept=False),
        Perceptron(fit_intercept=False),
    ):
        assert verify(fitted(model.set_params(time_limit=ONCE), X, y), X, y)


@pytest.mark.parametrize("shares", SHARES)
@pytest.mark.parametrize("name", [name for name in CLASSIFIERS if "svm by" in name or "hinge" in name])
def test_one_pass_is_no_worse_than_the_constant_by_its_own_objective(name, shares):
    X, y = table(SHARES[shares])
    once = fitted(CLASSIFIERS[name].set_params(time_limit=ONCE, max_iter=1000), X, y)
    one = fitted(CLASSIFIERS[name].set_params(time_limit=None, max_iter=1), X, y)
    assert one.certificate_.primal <= once.certificate_.primal * (1 + 1e-8)
    assert verify(one, X, y)
