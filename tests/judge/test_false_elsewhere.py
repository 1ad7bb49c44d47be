"""Once accepted though it is false: another problem with figures of its own, limits that no fit has, data cut to the claim;
and what made the judge fall, or filled the memory."""

from __future__ import annotations

import copy
import math
from functools import partial

import numpy as np
import pytest
from judge_accepts import accepted, honest, of
from judge_zoo import ZOO, fit_of

import gapless
from gapless.judge import CertificateError, check
from gapless.judge.fingerprint import digest, row_hashes

RNG = np.random.default_rng(5)
X = RNG.normal(size=(40, 3))
COUNTS = RNG.integers(0, 5, 40)


def refused(fit, rows=None, y=None, weights=None, rigorous=False, document=None, arrays=None) -> bool:
    """Whether the judge says so in words, and does not fall."""
    data = [own if given is None else given for own, given in zip(fit.data, (rows, y, weights), strict=True)]
    try:
        return not check(
            fit.document if document is None else document, fit.arrays if arrays is None else arrays, *data, rigorous
        )
    except CertificateError as error:
        return "cannot be judged" not in str(error)


@pytest.mark.parametrize("make", [gapless.BaggingRegressor, gapless.AdaBoostRegressor])
def test_targets_are_not_cut_to_whole_numbers(make):
    fit = of(make(n_estimators=2, random_state=0), X, COUNTS)
    assert honest(fit)
    assert check(fit.document, fit.arrays, X, COUNTS.astype(float))
    assert refused(fit, y=COUNTS + 0.3)


@pytest.mark.parametrize("name", ["Ridge", "SVR", "DecisionTreeRegressor", "BaggingRegressor"])
def test_complex_numbers_are_no_targets_and_no_weights(name):
    fit = fit_of(name)
    weights = np.ones(30) if fit.data.sample_weight is None else fit.data.sample_weight
    assert refused(fit, y=fit.data.y + 3j)
    assert refused(fit, weights=weights + 2j)


@pytest.mark.parametrize("name", ["Ridge", "SVR", "DecisionTreeRegressor", "BaggingRegressor", "LinearSVC"])
def test_numbers_too_large_for_floats_are_told(name):
    fit = fit_of(name)
    huge = np.array([10**400] * 30, dtype=object)
    assert refused(fit, y=huge)
    assert refused(fit, weights=huge)
    assert refused(fit, rows=np.array([[10**400] * 3] * 30, dtype=object))


def test_a_matrix_that_is_indefinite_has_no_shift():
    fit = fit_of("SVC precomputed indefinite")
    K, y = fit.data.X, fit.data.y
    shift = -1.05 * float(np.linalg.eigvalsh(K)[0])
    moved = of(gapless.SVC(kernel="precomputed"), K + shift * np.eye(len(K)), y)

    def change(document, arrays):
        mark = document["certificate"]["fingerprint"]
        document["certificate"] = {**moved.document["certificate"], "fingerprint": mark}
        document["problem"] = copy.deepcopy(moved.document["problem"])
        document["problem"]["kernel"]["shift"] = shift
        arrays.update(moved.arrays)

    assert honest(fit)
    assert not accepted(fit, change)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "precomputed"])
def test_a_kernel_with_a_dual_claims_its_gap(kernel):
    """As a heuristic it would be converged where only violations are small."""
    rows = X @ X.T + 0.1 * np.eye(40) if kernel == "precomputed" else X
    fit = of(gapless.SVC(kernel=kernel, C=100.0, max_iter=3, coef0=1.0), rows, COUNTS > 2)

    def change(document, arrays):
        block = document["certificate"]
        block["kind"] = "heuristic"
        for part in (block, block["subproblems"][0]):
            part.update(dual=None, gap=None, relative_gap=None, status="converged")
        document["parameters"]["tol"] = block["tol"] = block["subproblems"][0]["violation"] + 1.0

    assert honest(fit)
    assert not accepted(fit, change)


def test_a_penalty_that_there_is_not():
    fit = fit_of("Perceptron penalty")
    assert any("mistakes" in text for text in check(fit.document, fit.arrays, *fit.data).unchecked)

    def change(document, arrays):
        document["parameters"]["penalty"] = document["problem"]["penalty"] = "foo"

    assert not accepted(fit, change)


@pytest.mark.parametrize("voters", ["zero", "beyond floats", "across all rows"])
def test_voters_have_the_errors_that_are_claimed(voters):
    """Scores that are 0, that overflow or that are rounding were votes for either side: any number of errors was accepted."""
    wide = np.random.default_rng(0).normal(size=(12, 30))
    fit = of(gapless.Perceptron(variant="voted", max_iter=2, fit_intercept=False), wide, np.arange(12) % 2)
    across = np.linalg.svd(wide)[2][-1]  # a direction in which no row lies

    def change(document, arrays):
        last = {"zero": 0.0 * across, "beyond floats": across * 1.7e308, "across all rows": across}[voters]
        arrays["voters"][:, :-1] = last
        document["certificate"]["subproblems"][0]["errors"] = 0

    assert honest(fit)
    assert not accepted(fit, change)


@pytest.mark.parametrize("share", [1.0, 0.99, 0.95])
def test_not_all_rows_are_held_out(share):
    fit = fit_of("Perceptron overlap")

    def change(document, arrays):
        arrays["updates"][:] = 0
        arrays["start"][:] = arrays["last"]
        arrays["coef"][:], arrays["intercept"][:] = arrays["last"][:, :-1], arrays["last"][:, -1]
        document["parameters"].update(early_stopping=True, validation_fraction=share)
        block, part = document["certificate"], document["certificate"]["subproblems"][0]
        A = np.column_stack([fit.data.X, np.ones(30)])
        errors = int(np.count_nonzero((A @ arrays["last"][0] > 0) != (fit.data.y == 1)))
        part.update(status="converged", witness=None, mistakes=0, passes=1, errors=errors)
        part.update(bound=None, radius=None, margin=None)
        block.update(status="converged", n_iter=1)
        arrays["direction"][:] = 0.0

    assert honest(fit_of("Perceptron early"))
    assert not accepted(fit, change)


def test_few_values_need_no_bins():
    rows = RNG.normal(size=(60, 2))
    y = (rows[:, 0] > 0) ^ (rows[:, 1] > 0)
    fit = of(gapless.DecisionTreeClassifier(max_depth=1), rows, y)

    def change(document, arrays):
        document["parameters"]["max_depth"] = None
        document["problem"]["exact"] = document["certificate"]["best"] = False

    assert honest(fit)
    assert not accepted(fit, change)
    binned = of(gapless.DecisionTreeClassifier(max_bins=4), rows, y)
    assert honest(binned)
    assert any("leaves" in text for text in check(binned.document, binned.arrays, *binned.data).unchecked)


def test_cuts_are_not_left_out():
    """The bracket of the best margin is over all stumps that there are."""
    from gapless.judge.boosting import BoostingCase

    fit = of(gapless.AdaBoostClassifier(n_estimators=5), X, COUNTS > 2)

    def change(document, arrays):
        document["problem"]["cuts"] = 0
        arrays["cuts"], arrays["cut_ends"] = np.zeros(0), np.zeros(3, dtype=np.int64)
        case, s, weights = BoostingCase(document, arrays, *fit.data), np.zeros(40), []
        for t, a in enumerate(arrays["stage_weights"]):
            weights.append(np.exp(s - s.max()) / np.exp(s - s.max()).sum())
            s += a * (case._answer(t)[0] != case.own)
        arrays["edges"] = case._edges(np.array(weights))
        w = arrays["against"] / arrays["against"].sum()
        document["certificate"]["best"] = float(case._edges(w[None, :])[0])

    assert honest(fit)
    assert not accepted(fit, change)


@pytest.mark.parametrize("model", [
    gapless.GaussianDiscriminant(), gapless.LinearDiscriminantAnalysis(solver="eigen"),
])  # fmt: skip
def test_a_direction_that_can_be_seen_is_not_left_out(model):
    z, x = RNG.normal(size=200), RNG.normal(size=200)
    fit = of(model, np.column_stack([x, x + 1e-5 * z]), (z > 0).astype(int))

    def change(document, arrays):
        S, means, priors = arrays["covariance"][0], arrays["means"], arrays["priors"]
        scale = np.sqrt(np.diag(S))
        values, vectors = np.linalg.eigh(S / np.outer(scale, scale))
        v = vectors[:, -1]
        w = v * (v @ ((means[1] - means[0]) / scale)) / values[-1] / scale
        arrays["coef"][0] = w
        arrays["intercept"][0] = math.log(priors[1] / priors[0]) - w @ means.mean(axis=0)
        document["certificate"]["rank"] = [1]

    assert honest(fit)
    assert not accepted(fit, change)


def test_moments_far_away_have_no_room_beyond_a_share():
    rows = RNG.normal(size=(60, 2)) + 1e14
    fit = of(gapless.GaussianDiscriminant(covariance="per_class"), rows, np.arange(60) % 2)

    def change(document, arrays):
        arrays["covariance"] *= 2.0
        arrays["whitening"] /= math.sqrt(2.0)
        arrays["log_det"] += 2.0 * math.log(2.0)

    assert honest(fit)
    assert not accepted(fit, change)


# -- what made the judge fall


@pytest.mark.parametrize("key", ["max_samples", "max_features", "random_state"])
@pytest.mark.parametrize("value", [1e308, -1e308, -0.5, 2**53, 2**1022])
def test_shares_that_are_none(key, value):
    fit = fit_of("BaggingClassifier")
    assert not accepted(fit, lambda document, arrays: document["parameters"].update({key: value}))


def test_no_bag_is_drawn_that_was_not_asked_for():
    fit = fit_of("BaggingClassifier")

    def change(document, arrays, draws, everywhere):
        document["problem"]["draws"] = draws
        if everywhere:
            document["parameters"]["max_samples"] = draws

    for draws in (2**31, 2**53):
        for everywhere in (False, True):
            assert not accepted(fit, partial(change, draws=draws, everywhere=everywhere))


@pytest.mark.parametrize("name", ["LogisticRegression no penalty", "LogisticRegression no penalty three"])
def test_weights_that_overflow_without_a_penalty(name):
    fit = fit_of(name)
    K = len(fit.document["classes"]["values"])

    def change(document, arrays):
        document["problem"]["class_weight"] = [1e308] * K
        document["parameters"]["class_weight"] = [[k, 1e308] for k in range(K)]

    assert not accepted(fit, change)


@pytest.mark.parametrize("value", [0.0, 1e308])
@pytest.mark.parametrize("name", ["SVC", "SVR", "NuSVC", "OneClassSVM", "AdaBoostClassifier", "BaggingClassifier",
                                  "AdaBoostRegressor", "Perceptron", "LinearSVC bounds"])  # fmt: skip
def test_weights_whose_sum_is_nothing(name, value):
    fit, weights = fit_of(name), np.full(30, value)
    document = copy.deepcopy(fit.document)
    document["certificate"]["fingerprint"]["weights"] = digest(weights, "<f8")
    if "weighted" in document["problem"]:
        document["problem"]["weighted"] = True
    assert refused(fit, weights=weights, document=document)


@pytest.mark.parametrize(
    "name", [name for name in ZOO if name.split()[-1] in ("bounds", "Ridge", "SVC", "BaggingRegressor")]
)
def test_no_rows_at_all(name):
    fit = fit_of(name)
    document, rows = copy.deepcopy(fit.document), fit.data.X[:0]
    mark = document["certificate"]["fingerprint"]
    mark.update(n_rows=0, rows=digest(row_hashes(rows), "<u8"), weights=digest(np.ones(0), "<f8"))
    mark["labels"] = digest(np.zeros(0), "<f8")
    arrays = {
        key: a.take(np.arange(0), axis=a.shape.index(30)) if 30 in a.shape else a for key, a in fit.arrays.items()
    }
    assert refused(fit, rows=rows, y=fit.data.y[:0], document=document, arrays=arrays)


@pytest.mark.parametrize("rigorous", [np.array([1, 2]), [], {}, object(), None, "yes", 2])
def test_rigour_that_there_is_not(rigorous):
    assert refused(fit_of("LinearSVC"), rigorous=rigorous)


def test_documents_that_hold_themselves():
    fit = fit_of("LinearSVC")
    twice: list = []
    twice += [twice, twice]
    wide: list = []
    for _ in range(40):
        wide = [wide, wide]
    loop: dict = {}
    loop["a"] = loop
    for document in (loop, {"a": twice}, {"a": wide}):
        assert refused(fit, document=document)


def test_tails_of_counts_that_nobody_has():
    fit = fit_of("LinearSVC bounds")

    def change(document, arrays):
        for row in document["bounds"]["rows"]:
            if "n" in row["figures"]:
                row["figures"]["n"] = 2**53
                for key in {"errors", "k"} & set(row["figures"]):
                    row["figures"][key] = 2**52

    assert not accepted(fit, change)


@pytest.mark.parametrize(
    "name", ["LinearSVC stopped", "SVC sigmoid", "Ridge", "LinearSVC hard margin", "LogisticRegression"]
)
def test_what_has_a_finite_objective_is_not_infeasible(name):
    fit = fit_of(name)

    def change(document, arrays, status="infeasible"):
        block = document["certificate"]
        document["parameters"]["tol"] = block["tol"] = 1e-300
        for part in (block, *block.get("subproblems", block.get("targets", ()))):
            part["status"] = status

    assert honest(fit)
    assert not accepted(fit, change)


@pytest.mark.parametrize("name", ["DecisionTreeClassifier", "LinearSVC", "BaggingClassifier"])
def test_scalars_of_numpy_make_nothing_fall(name):
    fit = fit_of(name)

    def changed(block, path=()):
        for key, value in block.items():
            yield (*path, key)
            if isinstance(value, dict):
                yield from changed(value, (*path, key))

    for path in changed(fit.document):
        for scalar in (np.float64(0.5), np.str_("x"), np.int64(1), np.bool_(True)):
            document = copy.deepcopy(fit.document)
            block = document
            for key in path[:-1]:
                block = block[key]
            block[path[-1]] = scalar
            told = ""
            try:
                told = str(check(document, fit.arrays, *fit.data).to_json())
            except CertificateError as error:
                told = str(error)
            assert "cannot be judged" not in told, path
