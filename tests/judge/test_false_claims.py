"""What was once accepted though it is false, each as a class: NaN and infinity, rooms that a claim widens, flags that switch a
claim off, entries that nobody looked at."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
from judge_accepts import accepted, honest, of
from judge_zoo import fit_of
from sklearn.datasets import make_classification, make_regression

import gapless
from gapless.judge import CertificateError, check


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", None, "text", 1e300, -1.0])
def test_priors_that_are_no_shares(value):
    fit = fit_of("LinearDiscriminantAnalysis lsqr")

    def change(document, arrays):
        document["parameters"]["priors"] = [value, 0.3, 0.5]
        arrays["covariance"] *= 7.0
        arrays["coef"] = -arrays["coef"]

    assert honest(fit)
    assert not accepted(fit, change)
    assert not accepted(fit, lambda document, arrays: document["parameters"].update(priors=[value] * 3))


@pytest.mark.parametrize("value", ["nan", "inf", 1e300, -0.5, 1.5, "auto", [0.1]])
def test_regularisation_that_is_no_share(value):
    fit = fit_of("QuadraticDiscriminantAnalysis")

    def change(document, arrays):
        document["parameters"]["reg_param"] = value
        arrays["covariance"] *= 4.0  # and the rule that goes with it
        arrays["scalings"] *= 4.0

    assert honest(fit)
    assert not accepted(fit, change)


@pytest.mark.parametrize("value", ["nan", "inf", 1e300, -0.5])
def test_shrinkage_that_is_no_share(value):
    fit = fit_of("GaussianDiscriminant per class")

    def change(document, arrays):
        document["parameters"]["shrinkage"] = "auto"
        document["problem"]["shrinkage"] = [value] * 3
        arrays["covariance"] *= 4.0  # and the rule that goes with it
        arrays["whitening"] /= 2.0
        arrays["log_det"] += 3.0 * math.log(4.0)

    assert honest(fit)
    assert not accepted(fit, change)


@pytest.mark.parametrize("name", ["LinearDiscriminantAnalysis", "GaussianDiscriminant"])
@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_infinite_intercepts(name, value):
    fit = fit_of(name)
    assert honest(fit)
    assert not accepted(fit, lambda document, arrays: arrays["intercept"].fill(value))
    assert not accepted(fit, lambda document, arrays: arrays["intercept"].__setitem__(0, value))


@pytest.mark.parametrize(
    "name", ["LinearDiscriminantAnalysis", "LinearDiscriminantAnalysis lsqr", "GaussianDiscriminant"]
)
@pytest.mark.parametrize("common", [1e6, 1e12, 1e15, 1e18])
def test_what_scores_have_in_common_widens_no_room(name, common):
    fit = fit_of(name)

    def change(document, arrays):
        arrays["coef"] = common - arrays["coef"]

    assert not accepted(fit, change)
    assert not accepted(
        fit, lambda document, arrays: arrays.update(coef=-arrays["coef"], intercept=arrays["intercept"] + common)
    )
    assert accepted(fit, lambda document, arrays: arrays.update(intercept=arrays["intercept"] + 8.0))


@pytest.mark.parametrize("rigorous", [False, True])
@pytest.mark.parametrize("name", ["LogisticRegression no penalty three", "LogisticRegression softmax"])
def test_intercepts_in_common_widen_no_loss(name, rigorous):
    fit = fit_of(name)
    for common in (1e6, 1e12, 1e18):

        def change(document, arrays, common=common):
            arrays["coef"] = -arrays["coef"]
            arrays["intercept"] = (arrays["intercept"] + common).astype(arrays["intercept"].dtype)

        assert not accepted(fit, change, rigorous)
    assert accepted(fit, lambda document, arrays: None, rigorous)


@pytest.mark.parametrize("rigorous", [False, True, "exact"])
def test_coefficients_that_the_data_cannot_see_widen_no_room(rigorous):
    X, y = make_regression(60, 3, noise=5.0, random_state=0)
    X = np.column_stack([X, X[:, 0]])
    fit = of(gapless.LinearRegression(), X, y)
    assert accepted(fit, lambda document, arrays: None, rigorous)

    def change(document, arrays):
        w = -arrays["coef"].copy()
        w[0, 0] += 1e18
        w[0, 3] -= 1e18
        r = y - np.column_stack([X[:, :3]]) @ np.r_[w[0, 0] + w[0, 3], w[0, 1:3]] - arrays["intercept"][0]
        cosines = np.abs((X - X.mean(axis=0)).T @ r) / np.linalg.norm(X - X.mean(axis=0), axis=0) / np.linalg.norm(r)
        arrays["coef"] = w
        for target in document["certificate"]["targets"]:
            target.update(rss=float(r @ r), r2=1.0 - float(r @ r) / float(((y - y.mean()) ** 2).sum()))
            target.update(orthogonality=float(cosines.max()), rounding=2.0)

    assert not accepted(fit, change, rigorous)
    X, y = make_classification(80, 4, random_state=0, flip_y=0.3)
    X = np.column_stack([X, X[:, 0]])
    twins = of(gapless.LogisticRegression(C=np.inf), X, y)
    if rigorous != "exact":

        def other(document, arrays):
            arrays["coef"] = -arrays["coef"]
            arrays["coef"][0, 0] += 1e18
            arrays["coef"][0, -1] -= 1e18

        assert accepted(twins, lambda document, arrays: None, rigorous)
        assert not accepted(twins, other, rigorous)


def test_a_gap_is_not_excused_by_where_the_rows_lie():
    """nu-SVC on rows far from the origin: relative gap 1.7, and "converged"."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3)) + 1e7
    y = (X[:, 0] + 0.5 * rng.normal(size=40) > 1e7).astype(int)
    fit = of(gapless.NuSVC(kernel="linear", nu=0.5, max_iter=1), X, y)
    sub = fit.document["certificate"]["subproblems"][0]
    if sub["status"] != "converged":

        def change(document, arrays):
            document["certificate"]["status"] = "converged"
            document["certificate"]["subproblems"][0]["status"] = "converged"

        assert not accepted(fit, change)
    # A point that is far from optimal, with figures that are its own.
    from gapless.judge.kernel.figures import evaluate, posed
    from gapless.judge.kernel.values import Values
    from gapless.judge.rows import as_rows

    n, u = 40, np.zeros(40)
    plus, minus = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
    u[plus[:10]], u[minus[:10]] = 1.0, -1.0
    values = Values(as_rows(X), fit.document["problem"]["kernel"], np.arange(n), False)
    f, off = values.sums(u)
    problem = posed("nu_svc", np.ones(n), np.where(y == 1, 1.0, -1.0), 0.5, 0.0)
    found = evaluate(problem, u, np.zeros(2), f, off, values.radius2(), values.rough(u))
    if not all(map(math.isfinite, (found.primal.low, found.gap.up))):
        return

    def far(document, arrays):
        arrays["dual"], arrays["scalars"] = u[None, :], np.zeros((1, 2))
        primal, gap = found.primal.low / 2 + found.primal.up / 2, found.gap.low / 2 + found.gap.up / 2
        dual = primal - gap
        values = {"primal": primal, "dual": dual, "gap": gap, "relative_gap": gap / max(abs(primal), abs(dual))}
        for block in (document["certificate"], document["certificate"]["subproblems"][0]):
            block.update(values, status="converged", rounding=found.textbook)
        document["certificate"]["subproblems"][0]["violation"] = found.violation.up
        arrays["vectors"] = X[np.flatnonzero(u)]
        document["problem"]["support"].update(rows=20, values=60)

    assert not accepted(fit, far)


@pytest.mark.parametrize("shift", [50.0, 1.0, 1e-3, 1e-6, "inf", "nan", -1.0])
def test_a_shift_has_to_be_needed(shift):
    fit = fit_of("SVC precomputed")
    K, y = fit.data.X, fit.data.y
    assert honest(fit)
    if isinstance(shift, float) and shift > 0:
        moved = of(gapless.SVC(kernel="precomputed"), K + shift * np.eye(len(K)), y)

        def change(document, arrays):  # everything is that of the other problem, which the shift would make of this one
            mark = document["certificate"]["fingerprint"]
            document["certificate"] = {**moved.document["certificate"], "fingerprint": mark}
            document["problem"] = copy.deepcopy(moved.document["problem"])
            document["problem"]["kernel"]["shift"] = shift
            arrays.update(moved.arrays)

        assert not accepted(fit, change)
    assert not accepted(fit, lambda document, arrays: document["problem"]["kernel"].update(shift=shift))


@pytest.mark.parametrize("name", ["SVC sigmoid", "SVR sigmoid"])
@pytest.mark.parametrize("key", ["dual", "gap", "relative_gap"])
@pytest.mark.parametrize("value", [0.0, 1.0, "inf"])
def test_a_kernel_without_a_dual_has_no_gap_anywhere(name, key, value):
    fit = fit_of(name)
    assert honest(fit)
    assert not accepted(fit, lambda document, arrays: document["certificate"].update({key: value}))
    assert not accepted(fit, lambda document, arrays: document["certificate"]["subproblems"][0].update({key: value}))


@pytest.mark.parametrize("value", [0, 1, 1_000_000])
def test_tied_votes_leave_open_only_what_is_tied(value):
    X = np.array([[0.0], [0.0], [1.0], [1.0], [2.0], [2.0], [2.0], [3.0]])
    y = np.array([0, 1, 0, 1, 1, 0, 1, 0])
    fit = of(gapless.AdaBoostClassifier(n_estimators=4), X, y)
    assert honest(fit)
    truth = fit.document["certificate"]["mistakes"]
    votes = fit.model
    assert votes is None
    assert truth >= 2
    assert not accepted(fit, lambda document, arrays: document["certificate"].update(mistakes=value))
    assert not accepted(fit, lambda document, arrays: document["certificate"].update(clean_round=1))


def test_counts_of_a_perceptron_admit_no_other_weights():
    fit = fit_of("Perceptron overlap")
    assert honest(fit)
    for count in (5 * 10**15, 4 * 10**15, 10**12):

        def change(document, arrays, count=count):
            sub = document["certificate"]["subproblems"][0]
            arrays["updates"][0, 3] = count
            sub.update(mistakes=int(arrays["updates"].sum()), passes=count)
            document["certificate"]["n_iter"] = count
            arrays["last"][:] = [[9.0, -9.0, 9.0, 9.0]]

        assert not accepted(fit, change)


def test_early_stopping_admits_no_errors_on_rows_that_were_learned():
    for name in ("Perceptron early", "Perceptron overlap"):
        fit = fit_of(name)

        def change(document, arrays):
            document["parameters"]["early_stopping"] = True
            for block in (document["certificate"], document["certificate"]["subproblems"][0]):
                block["status"] = "converged"
            document["certificate"]["subproblems"][0]["witness"] = None

        assert not accepted(fit, change)


@pytest.mark.parametrize(
    "limits",
    [
        {"max_leaf_nodes": 1000},
        {"ccp_alpha": 1e-12},
        {"min_impurity_decrease": 1e-12},
        {"min_samples_split": 2, "max_leaf_nodes": 3},
    ],
)
def test_a_stump_is_no_tree_with_a_limit_that_it_does_not_reach(limits):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 2))
    y = ((X[:, 0] > 0) ^ (X[:, 1] > 0)).astype(int) + (X[:, 0] > 1)
    fit = of(gapless.DecisionTreeClassifier(max_depth=1), X, y)
    assert honest(fit)
    assert not accepted(fit, lambda document, arrays: document["parameters"].update({"max_depth": None, **limits}))
    free = of(gapless.DecisionTreeClassifier(**limits), X, y)
    assert honest(free)


def test_another_estimator_is_another_claim():
    fit = fit_of("Ridge")
    assert honest(fit)
    for name in ("LinearRegression", "LeastSquaresClassifier", "LinearSVC", "SVR", "Unknown"):
        assert not accepted(fit, lambda document, arrays, name=name: document.update(estimator=name))

    def bare(document, arrays):
        document["estimator"] = "LinearRegression"
        document["parameters"] = {"fit_intercept": True, "tol": document["parameters"]["tol"], "positive": False}

    assert not accepted(fit, bare)


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("AdaBoostClassifier", "masses"),
        ("AdaBoostClassifier three", "masses"),
        ("AdaBoostClassifier", "counts"),
        ("AdaBoostClassifier", "classes"),
        ("AdaBoostRegressor", "stage_weights"),
        ("BaggingClassifier", "feature_lists"),
        ("BaggingClassifier", "seeds"),
        ("BaggingRegressor", "feature_lists"),
    ],
)
def test_arrays_that_nobody_looked_at(name, array):
    fit = fit_of(name)
    assert honest(fit)
    for change in (lambda a: a + 1, lambda a: a * 0 + 1, lambda a: a[::-1] if len(a) > 1 else a + 2):
        forged = change(fit.arrays[array]).astype(fit.arrays[array].dtype)
        if not np.array_equal(forged, fit.arrays[array]):
            assert not accepted(fit, lambda document, arrays, forged=forged: arrays.update({array: forged}))


@pytest.mark.parametrize("key", ["in_bag_probability", "in_bag_share", "estimate", "estimated"])
def test_rounds_have_no_bags(key):
    fit = fit_of("AdaBoostRegressor")
    assert honest(fit)
    assert not accepted(fit, lambda document, arrays: document["certificate"].update({key: 1}))


@pytest.mark.parametrize(
    ("key", "value"),
    [("draws", 3), ("features", 1), ("replacement", False), ("features_replacement", True), ("weighted", True)],
)
@pytest.mark.parametrize("name", ["BaggingClassifier", "AdaBoostRegressor"])
def test_draws_are_what_the_parameters_ask_for(name, key, value):
    fit = fit_of(name)
    assert not accepted(fit, lambda document, arrays: document["problem"].update({key: value}))


def test_entries_beside_the_fit_are_listed_with_their_reasons():
    fit = fit_of("DecisionTreeRegressor")

    def listed(**entries):
        document = {**copy.deepcopy(fit.document), **entries}
        return "; ".join(check(document, fit.arrays, *fit.data).unchecked)

    tuning = {"method": "grid", "candidates": 7, "visited": 7, "folds": 5, "held_out": None}
    for key, block in {"target": "price", "dtype": "float32", "tuning": tuning}.items():
        assert f"{key}: " in listed(**{key: block})
    column = {"kind": "number", "fill": 0.0, "mean": 1.0, "scale": 2.0, "indicator": False}
    made = {"columns": [{"name": name, **column} for name in "abc"], "dtype": "float64"}
    assert "input: " in listed(input=made)
    with pytest.raises(CertificateError):
        listed(input={"columns": made["columns"][:2], "dtype": "float64"})
    with pytest.raises(CertificateError):
        listed(tuning={**tuning, "more": 1})


def test_flags_are_no_numbers():
    for name in ("LinearSVC", "SVC", "DecisionTreeClassifier missing", "AdaBoostClassifier"):
        fit = fit_of(name)

        def change(document, arrays):
            block = {"type": "bool", "values": [False, True]}
            document["classes"] = block
            if "outputs" in document["problem"]:
                document["problem"]["outputs"] = [block]

        assert not accepted(fit, change)
    fit = fit_of("LinearSVC stopped")
    assert fit.document["classes"]["type"] == "bool"
    assert not accepted(fit, lambda document, arrays: document.update(classes={"type": "int", "values": [0, 1]}))


@pytest.mark.parametrize("value", [None, "text", [], {}, "nan", True, 1e400, 10**400, [[]]])
def test_no_entry_makes_the_judge_fall(value):
    """Every entry of a document of each family set to something that it cannot be."""
    for name in ("LinearSVC", "Ridge", "SVC", "Perceptron", "GaussianDiscriminant", "DecisionTreeClassifier"):
        fit = fit_of(name)
        for path in ("problem", "certificate", "parameters", "classes"):
            for key in fit.document[path] or ():
                if fit.document[path][key] != value:
                    accepted(fit, lambda document, arrays, p=path, k=key: document[p].update({k: value}))
        for key in fit.document:
            accepted(fit, lambda document, arrays, k=key: document.update({k: value}))
        accepted(fit, lambda document, arrays: document.update(more=value))


def test_a_document_that_is_very_deep_is_refused():
    fit = fit_of("LinearSVC")
    deep: list = []
    for _ in range(100_000):
        deep = [deep]
    assert not accepted_plain({**fit.document, "parameters": {"C": deep}}, fit)
    assert not accepted_plain({**fit.document, "tuning": deep}, fit)


def accepted_plain(document, fit):
    try:
        return bool(check(document, fit.arrays, *fit.data))
    except CertificateError:
        return False


def test_a_constant_is_the_one_that_the_rows_give():
    """A perceptron that was stopped may be a constant: the share by which a class outweighs the other, and no other one."""
    X = np.random.default_rng(1).normal(size=(40, 2)) + 5.0
    fit = of(gapless.Perceptron(time_limit=1e-9, shuffle=False), X, np.arange(40) < 36)
    assert fit.document["certificate"]["status"] == "time_limit"
    assert not fit.arrays["coef"].any()
    assert fit.arrays["intercept"][0] == pytest.approx((36 - 4) / 40)
    assert honest(fit)
    for offset in (0.8 * (1 + 1e-6), 0.5, 1.0, 1e18):  # all of them err on the same rows
        assert not accepted(fit, lambda document, arrays, b=offset: arrays["intercept"].fill(b))
    ended = {"status": "max_iter"}

    def another_ending(document, arrays):
        document["certificate"].update(ended)
        document["certificate"]["subproblems"][0].update(ended)

    assert not accepted(fit, another_ending)
