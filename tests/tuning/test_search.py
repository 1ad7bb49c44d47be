"""`tune`: the scores are those of separate fits, the choice is that of scikit-learn's search, and every ending is usable."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, make_classification, make_regression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gapless
from gapless import SVC, LinearSVC, LogisticRegression, Ridge, gap_scorer, tune
from gapless.solvers.least_squares.many_penalties import ridge_chain
from gapless.tuning.search import lattice as L
from gapless.tuning.search.methods import bisection, budget


@pytest.fixture(scope="module")
def two():
    return make_classification(240, 6, n_informative=4, flip_y=0.1, random_state=3)


FOLDS = StratifiedKFold(4, shuffle=True, random_state=5)
GRID = {"C": [0.1, 1.0, 10.0], "gamma": [0.03, 0.3]}


def by_hand(model, X, y, params):
    return cross_val_score(model.set_params(**params), X, y, cv=FOLDS)


# -- the scores are those of separate fits ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "grid"),
    [
        (gapless.Perceptron(random_state=0), {"alpha": [1e-4, 1e-2]}),
        (gapless.AdaBoostClassifier(), {"n_estimators": [2, 5]}),
        (gapless.DecisionTreeClassifier(random_state=0), {"max_depth": [1, 3]}),
    ],
    ids=str,
)
def test_models_whose_certificate_has_no_gap(model, grid, two):
    with gapless.config_context(convergence="ignore"):
        found = tune(model, *two, grid, cv=FOLDS)
        for row in found.tuning_.table:
            alone = by_hand(type(model)(**model.get_params()), *two, row["params"])
            np.testing.assert_allclose(row["folds"], alone, rtol=1e-12)


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_shared_kernel_matrix_gives_the_scores_of_separate_fits(two, kernel):
    X, y = two
    found = tune(SVC(kernel=kernel, coef0=1.0, degree=2), X, y, GRID, cv=FOLDS, n_jobs=2)
    for row in found.tuning_.table:
        alone = by_hand(SVC(kernel=kernel, coef0=1.0, degree=2), X, y, row["params"])
        assert np.abs(np.array(row["folds"]) - alone).max() <= 1.01 / 60  # a row on the boundary may go either way
        assert np.mean(row["folds"]) == pytest.approx(np.mean(alone), abs=0.6 / 60)
        assert row["gap"] <= 1e-3
    assert found.certificate_.relative_gap <= 1e-4


def test_chain_is_as_near_to_the_optimum_as_it_says(two):
    """The decision values of a fold against a fit to 1e-10, for every C of a chain."""
    from gapless.solvers.kernel import folds as K
    from gapless.solvers.loop import Loop, Stop

    X, y = two
    s = np.where(y == 1, 1.0, -1.0)
    c = np.ones(len(y))
    c[::4] = 0.0
    held = K.hold_matrix(gapless.kernels.RBF(0.2), X)
    Cs = [0.05, 0.5, 5.0, 50.0, 500.0]
    for C, point in zip(Cs, K.solve_chain(held, s, c, Cs, 1e-5, Loop(Stop(0.0, 10**9)))):
        exact = SVC(C=C, gamma=0.2, tol=1e-10).fit(X[c > 0], y[c > 0])
        assert point.converged
        assert point.relative_gap <= 1e-5
        # strong convexity: |w - w*|^2 <= 2 gap, and |phi| = 1
        room = np.sqrt(2 * 1e-5 * exact.certificate_.primal)
        assert np.abs(point.scores - exact.decision_function(X)).max() <= 4 * room + 1e-4


def test_more_classes_weights_and_pipelines():
    X, y = load_iris(return_X_y=True)
    weight = np.where(np.arange(150) % 5 == 0, 2.0, 1.0)
    model = SVC(class_weight={0: 1.0, 1: 2.0, 2: 1.0})
    found = tune(model, X, y, {"C": [0.5, 8.0], "gamma": [0.1]}, cv=FOLDS, sample_weight=weight)
    for row in found.tuning_.table:
        expected = []
        for train, test in FOLDS.split(X, y):
            fit = SVC(class_weight=model.class_weight, **row["params"]).fit(X[train], y[train], weight[train])
            expected.append(np.average(fit.predict(X[test]) == y[test], weights=weight[test]))
        assert row["folds"] == pytest.approx(expected, abs=0.06)
    piped = tune(
        make_pipeline(StandardScaler(), SVC()), X, y, {"svc__C": [1.0, 4.0], "svc__gamma": ["scale", 0.5]}, cv=FOLDS
    )
    for row in piped.tuning_.table:
        alone = by_hand(make_pipeline(StandardScaler(), SVC()), X, y, row["params"])
        assert row["folds"] == pytest.approx(alone.tolist(), abs=0.03)


@pytest.mark.parametrize("model", [LinearSVC(), LogisticRegression()])
def test_warm_starts_change_no_score(two, model):
    X, y = two
    found = tune(model, X, y, {"C": [0.01, 0.1, 1.0, 10.0]}, cv=FOLDS, scoring="roc_auc")
    for row in found.tuning_.table:
        model.set_params(**row["params"])
        assert row["folds"] == pytest.approx(
            cross_val_score(model, X, y, cv=FOLDS, scoring="roc_auc").tolist(), abs=2e-3
        )


@pytest.mark.parametrize("shape", [(80, 12), (30, 60)])
def test_one_decomposition_for_all_penalties(shape):
    X, y = make_regression(*shape, noise=5.0, random_state=1)
    weight = np.linspace(0.5, 2.0, len(y))
    alphas = [1e-3, 0.1, 10.0]
    for alpha, (W, b) in zip(alphas, ridge_chain(X, y[:, None], weight, alphas, True)):
        alone = Ridge(alpha=alpha, tol=1e-12).fit(X, y, weight)
        assert W.ravel() == pytest.approx(alone.coef_, rel=1e-7, abs=1e-7)
        assert float(b[0]) == pytest.approx(float(alone.intercept_), rel=1e-7, abs=1e-7)
    shared = tune(Ridge(), X, y, {"alpha": alphas}, cv=3)
    for row in shared.tuning_.table:
        alone = tune(Ridge(), X, y, {"alpha": [row["params"]["alpha"]]}, cv=3)  # one alone goes by its own fit
        assert row["folds"] == pytest.approx(alone.tuning_.table[0]["folds"], rel=1e-8)


# -- the lattice -------------------------------------------------------------------------------------------------


def test_lattice_is_fixed_in_advance_and_counts_what_could_have_been_tried(two):
    X, y = two
    space = {"C": (1e-2, 1e2), "gamma": (0.1, 0.5), "class_weight": [None, "balanced"]}
    found = tune(SVC(), X, y, space=space, points=5, method="random", n_iter=3, cv=2)
    assert found.tuning_.n_candidates == 50
    assert found.tuning_.n_visited == 3
    axes = {axis.name: axis.values for axis in found.tuning_.lattice.parts[0].axes}
    assert axes["C"] == pytest.approx([1e-2, 1e-1, 1.0, 10.0, 100.0])
    assert axes["gamma"] == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.5])  # less than a factor of 10: linear
    assert L.from_space({"C": (1e-3, 1e3)}).parts[0].shape == (17,)
    several = L.from_grid([{"C": [3, 1, 2]}, {"C": [1], "kernel": ["linear", "rbf"]}])
    assert [several.parameters(k) for k in several][:2] == [{"C": 1}, {"C": 2}]
    assert [several.number(*several.place(k)) for k in several] == list(range(5))


def test_bisection_finds_the_top_of_a_hill_in_few_looks():
    for n in (1, 2, 3, 9, 17, 100, 129):
        lattice = L.from_grid({"C": list(range(n))})
        for top in range(n):
            seen: set[int] = set()

            def score(k, top=top):
                return -abs(k - top)

            last: list[int] = []
            for asked in bisection(lattice, score, 0, 0):
                seen |= set(asked)
                last = asked
            assert top in seen, (n, top)
            assert max(seen, key=score) == top
            assert len(seen) <= 10 + 2 * np.ceil(np.log2(max(n, 2))), last


def test_searches_that_visit_few_stay_within_their_budget_and_find_what_the_grid_finds():
    pytest.importorskip("bayes_opt")
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)[::2]
    grid = {"C": 2.0 ** np.arange(-5, 10, 2), "gamma": 2.0 ** np.arange(-15, 2, 2)}
    everything = tune(SVC(), X, y[::2], grid, cv=3)
    some = tune(SVC(), X, y[::2], grid, method="bayes", cv=3)
    assert some.tuning_.n_visited <= 0.25 * everything.tuning_.n_visited
    assert some.tuning_.best_score >= everything.tuning_.best_score - 0.008  # two rows of 285
    assert budget(everything.tuning_.lattice, None) == 18


def test_bayes_without_its_package_says_what_to_install(two, monkeypatch):
    monkeypatch.setitem(sys.modules, "bayes_opt", None)
    with pytest.raises(ImportError, match=r"gapless\[tune\]"):
        tune(SVC(), *two, GRID, method="bayes")


# -- endings -----------------------------------------------------------------------------------------------------


class Clock:
    """Time passes when it is looked at: the same on every machine."""

    def __init__(self):
        self.seconds = 0.0

    def __call__(self):
        self.seconds += 10.0
        return self.seconds


def test_time_limit_gives_the_best_so_far(two, monkeypatch):
    clock = Clock()
    monkeypatch.setattr("gapless.tuning.search.tune.now", clock)
    monkeypatch.setattr("gapless.tuning.search.evaluate.now", clock)
    grid = {"C": [1.0, 10.0], "gamma": list(np.geomspace(1e-3, 1, 40))}
    found = tune(SVC(), *two, grid, cv=2, time_limit=600.0)
    assert found.tuning_.status == "time_limit"
    assert 0 < found.tuning_.n_visited < 80 == found.tuning_.n_candidates
    assert found.certificate_.converged
    with pytest.raises(TimeoutError, match="no candidate"):
        tune(SVC(), *two, grid, cv=2, time_limit=15.0)


def test_ctrl_c_gives_the_best_so_far(two):
    X, y = two
    calls = []

    def progress(step):
        calls.append(step)
        if len(calls) == 5:
            os.kill(os.getpid(), signal.SIGINT)

    found = tune(SVC(), X, y, {"C": [1.0, 10.0], "gamma": list(np.geomspace(1e-3, 1, 30))}, cv=3, progress=progress)
    assert found.tuning_.status == "interrupted"
    assert 1 <= found.tuning_.n_visited < 60
    assert found.tuning_.best_score == max(row["score"] for row in found.tuning_.table)
    assert found.certificate_.converged


def test_ctrl_c_with_the_last_score_is_not_lost(two):
    X, y = two
    calls = []

    def progress(step):
        calls.append(step)
        if step.done == step.total == 9:  # three candidates on three folds: every score is there
            os.kill(os.getpid(), signal.SIGINT)

    found = tune(SVC(), X, y, {"C": [0.1, 1.0, 10.0]}, cv=3, progress=progress)
    assert calls[-1].done == 9
    assert found.tuning_.status == "interrupted"
    assert found.tuning_.n_visited == 3


def test_file_is_read_and_another_search_is_refused(two, tmp_path):
    X, y = two
    path = tmp_path / "search.json"
    first = tune(SVC(), X, y, GRID, cv=3, file=path)
    again = tune(SVC(), X, y, GRID, cv=3, file=path)
    assert again.tuning_.n_fits == 0
    assert again.tuning_.resumed == 18
    assert again.tuning_.table == first.tuning_.table
    assert np.array_equal(again.dual_coef_, first.dual_coef_)
    for other in ({"seed": 1}, {"cv": 4}, {"method": "random"}):
        with pytest.raises(ValueError, match="another search"):
            tune(SVC(), X, y, GRID, file=path, **({"cv": 3} | other))
    with pytest.raises(ValueError, match="its rows differs"):
        tune(SVC(), X + 1.0, y, GRID, cv=3, file=path)
    path.write_text("{}")
    with pytest.raises(ValueError, match="no tuning file"):
        tune(SVC(), X, y, GRID, cv=3, file=path)


KILLED = """
    import sys, time
    import numpy as np
    from sklearn.datasets import make_classification
    from gapless import SVC, tune
    X, y = make_classification(240, 6, n_informative=4, flip_y=0.1, random_state=3)
    tune(SVC(), X, y, {"C": [0.1, 1.0, 10.0], "gamma": np.geomspace(0.01, 1, 6).tolist()}, cv=4, method=sys.argv[2], seed=7,
         n_iter=14, file=sys.argv[1], progress=lambda step: time.sleep(0.1))
"""


@pytest.mark.parametrize(
    ("method", "after"), [("grid", 8), ("bayes", 42)]
)  # the design of bayes has 40: it chooses by then
def test_killed_search_resumes_and_ends_with_the_same_answer(two, tmp_path, method, after):
    if method == "bayes":
        pytest.importorskip("bayes_opt")
    script = tmp_path / "search.py"
    script.write_text(textwrap.dedent(KILLED))
    whole, broken = tmp_path / "whole.json", tmp_path / "broken.json"

    def search(path):
        grid = {"C": [0.1, 1.0, 10.0], "gamma": np.geomspace(0.01, 1, 6).tolist()}
        return tune(SVC(), *two, grid, cv=4, method=method, seed=7, n_iter=14, file=path)

    expected = search(whole)
    process = subprocess.Popen([sys.executable, str(script), str(broken), method])
    limit = time.monotonic() + 120
    while time.monotonic() < limit:  # some scores are there, not all
        if broken.exists() and len(json.loads(broken.read_text())["entries"]) >= after:
            break
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    left = json.loads(broken.read_text())["entries"]  # whole, whenever the kill came
    assert after <= len(left) < len(json.loads(whole.read_text())["entries"])
    found = search(broken)
    assert found.tuning_.resumed == len(left)
    assert found.tuning_.best_params == expected.tuning_.best_params
    assert found.tuning_.table == expected.tuning_.table
    assert np.array_equal(found.dual_coef_, expected.dual_coef_)
    assert json.loads(broken.read_text()) == json.loads(whole.read_text())


# -- what it says of new rows ------------------------------------------------------------------------------------


@pytest.mark.parametrize("runs", [60, pytest.param(500, marks=pytest.mark.slow)])
def test_bound_after_tuning_holds_and_would_not_without_paying(runs):
    """Labels are fair coins: every classifier has an error of exactly 1/2 on new rows."""
    held = naive = 0
    for seed in range(runs):
        random = np.random.default_rng(seed)
        X, y = random.standard_normal((120, 3)), random.integers(0, 2, 120)
        grid = {"C": [0.1, 1.0, 10.0, 100.0], "gamma": [0.1, 1.0, 10.0, 100.0]}
        found = tune(SVC(), X, y, grid, cv=0.5, refit=False, seed=seed)
        held += found.tuning_.bound(0.05).value >= 0.5
        naive += found.tuning_.bound(0.05, paid=False).value >= 0.5
    print(f"{runs} runs: held in {held}, without paying in {naive}")
    assert held >= 0.95 * runs
    assert naive < 0.95 * runs


def test_certificate_knows_the_candidates_and_bounds_pays_for_them(two, tmp_path):
    X, y = two
    found = tune(SVC(), X, y, GRID, cv=3, method="random", n_iter=2)
    assert found.certificate_.statement["tuning"]["candidates"] == 6
    paid, plain = gapless.bounds(found, X, y), gapless.bounds(SVC(**found.get_params()).fit(X, y), X, y)
    assert (paid.tried, plain.tried) == (6, 1)
    assert paid["compression"].value > plain["compression"].value
    with pytest.raises(ValueError, match="among 6 candidates"):
        gapless.bounds(found, X, y, tried=5)
    gapless.save(found, tmp_path / "m.gapless")
    again = gapless.load(tmp_path / "m.gapless")
    assert gapless.bounds(again, X, y).tried == 6
    document, arrays = again.certificate_.document(), again.certificate_.arrays
    assert not [
        c for c in gapless.judge.check(document, arrays, X, y).claims if c.name == "bounds: tried" and not c.holds
    ]
    document["bounds"]["tried"] = 1  # forged
    assert [c for c in gapless.judge.check(document, arrays, X, y).claims if c.name == "bounds: tried" and not c.holds]
    document["tuning"]["candidates"] = 0
    with pytest.raises(gapless.CertificateError, match="tuning.candidates"):
        gapless.judge.check(document, arrays, X, y)


def test_rows_that_chose_are_paid_for_as_test_rows(two):
    X, y = two
    found = tune(SVC(), X, y, GRID, cv=0.4, refit=False)
    train, test = found.tuning_.folds.splits[0]
    told = gapless.bounds(found, X[train], y[train], X_test=X[test], y_test=y[test], methods=["held-out"])
    assert told.tested == 6
    mine = found.tuning_.bound(0.05).value
    assert mine <= told["held-out"].value <= mine * (1.0 + 1e-6)  # there it is rounded up, for the judge


def test_nested_scores_are_of_rows_that_chose_nothing(two):
    X, y = two
    found = tune(SVC(), X, y, GRID, cv=3, nested=4)
    assert found.tuning_.nested.scores.shape == (4,)
    outer = StratifiedKFold(4, shuffle=True, random_state=1)
    for (train, test), params, score in zip(
        outer.split(X, y), found.tuning_.nested.params, found.tuning_.nested.scores
    ):
        inner = tune(SVC(), X[train], y[train], GRID, cv=3)
        assert inner.tuning_.best_params == params
        assert inner.score(X[test], y[test]) == pytest.approx(score)


def test_bound_of_folds_is_refused_where_errors_are_not_counted(two):
    X, y = two
    found = tune(SVC(), X, y, GRID, cv=3, sample_weight=np.ones(len(y)))
    with pytest.raises(ValueError, match="without weights"):
        found.tuning_.bound()
    assert 0.0 < tune(SVC(), X, y, GRID, cv=3).tuning_.bound().value < 1.0
    with pytest.raises(ValueError, match="single split"):
        tune(SVC(), X, y, GRID, refit=False)


# -- with scikit-learn -------------------------------------------------------------------------------------------


def test_gap_scorer_in_grid_search(two):
    X, y = two
    scoring = {"accuracy": "accuracy", "gap": gap_scorer}
    for model in (SVC(gamma=0.3), LinearSVC(), LogisticRegression()):
        search = GridSearchCV(model, {"C": [0.1, 1.0, 10.0]}, scoring=scoring, refit="accuracy", cv=FOLDS).fit(X, y)
        gaps = -search.cv_results_["mean_test_gap"]
        assert ((gaps >= 0.0) & (gaps <= 1e-4)).all()
        mine = tune(model, X, y, {"C": [0.1, 1.0, 10.0]}, cv=FOLDS)
        assert mine.tuning_.best_score == pytest.approx(search.best_score_, abs=0.01)
    assert tune(SVC(), X, y, GRID, cv=3, scoring=gap_scorer).tuning_.best_score <= 0.0
    with pytest.raises(ValueError, match="no certificate_"):
        gap_scorer(StandardScaler())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"param_grid": {"D": [1]}}, "Invalid parameter 'D'"),
        ({"param_grid": {"C": []}}, "no values of 'C'"),
        ({"param_grid": {"C": 3}}, "must be a list"),
        ({"space": {"C": (3, 1)}}, "low must be below high"),
        ({"param_grid": GRID, "space": {"C": (1, 3)}}, "exclude each other"),
        ({"method": "magic"}, "method must be one of"),
        ({"cv": 1}, "at least 2 folds"),
        ({"cv": 1.5}, "between 0 and 1"),
        ({"cv": [(np.arange(5), np.arange(5))]}, "rows that it trains on"),
        ({"time_limit": 0}, "time_limit"),
        ({"n_iter": 0, "method": "random"}, "n_iter"),
        ({"param_grid": {"C": [-1.0]}}, "'C' parameter"),
        ({"file": "/nowhere/at/all.json"}, "does not exist"),
    ],
)
def test_bad_input_says_what_is_wrong(two, arguments, message):
    with pytest.raises(ValueError, match=message):
        tune(SVC(), *two, **arguments)


def test_candidates_that_cannot_be_fitted_are_left_out(two):
    X, y = two
    found = tune(gapless.NuSVC(gamma=0.3), X, y, {"nu": [0.3, 0.999]}, cv=3)
    assert found.tuning_.best_params == {"nu": 0.3}
    assert "infeasible" in next(iter(found.tuning_.failed.values()))


def test_gaussian_process_against_its_closed_form():
    """One setting of lengths: mean and variance at new places are those of scikit-learn's regression, its level included."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import Matern

    from gapless.tuning.search import gaussian_process as bayes

    random = np.random.default_rng(0)
    places, at = random.random((9, 2)), random.random((5, 2))
    scores = np.sin(5 * places[:, 0]) + places[:, 1]
    one = bayes._fit_setting(places, scores, (0.3, 0.7), 0.01)
    peer = GaussianProcessRegressor(Matern([0.3, 0.7], nu=2.5), alpha=0.01, optimizer=None).fit(
        places, scores - one.level
    )
    mean, deviation = peer.predict(at, return_std=True)
    across = np.linalg.solve(one.factor, bayes._matern(places, at, one.lengths))
    assert one.level + across.T @ one.whitened == pytest.approx(mean + one.level)
    assert np.sqrt(1.0 - (across**2).sum(axis=0)) == pytest.approx(deviation)
    weights = [weight for weight, _, _ in bayes.posteriors(places, scores, at)]
    assert sum(weights) == pytest.approx(1.0)
    assert len(bayes._settings(5)) <= 5 * 200


def test_what_the_process_sees_keeps_the_order_and_stands_unfitted_candidates():
    from gapless.tuning.search.gaussian_process import transform_scores

    seen = transform_scores(np.array([0.5, np.nan, 0.9, 0.91, 0.6]))
    assert seen[1] == seen[0] == seen.min()
    assert list(np.argsort(seen[[0, 4, 2, 3]])) == [0, 1, 2, 3]
    assert not transform_scores(np.full(3, 0.7)).any()
    assert not transform_scores(np.full(3, np.nan)).any()
