"""What was once accepted though it is false, where several entries agree with each other, or one has another to hide behind."""

from __future__ import annotations

import numpy as np
import pytest
from judge_accepts import accepted, honest, of
from judge_restate import restated
from judge_zoo import fit_of, rows_of

import gapless
from gapless.judge import check


@pytest.mark.parametrize(
    "name", ["LinearSVC", "LinearSVC penalised", "Ridge", "Ridge targets", "LeastSquaresClassifier ridge"]
)
@pytest.mark.parametrize("size", [1e3, 1e6, 1e14])
def test_a_dual_gives_the_primal_no_room(name, size):
    """A dual point that is far off has a large rounding; the primal does not depend on it."""
    fit = fit_of(name)
    arrays = {**fit.arrays, "dual": fit.arrays["dual"] * size}
    for room in (0.0, 0.5):

        def change(document, given, room=room):
            document.update(restated(fit, document, arrays, True, room))
            given.update(arrays)

        assert accepted(fit, change) is (room == 0.0)


@pytest.mark.parametrize(
    "name", ["SVC class without weight", "SVC sigmoid class without weight", "NuSVC class without weight"]
)
def test_of_one_class_a_constant_is_all_that_there_is(name):
    fit = fit_of(name)
    assert honest(fit)
    for k in (1, 2):  # the pairs with the class that has no weight
        for b in (-1.0, 7.0, 1e9, 0.0):
            assert not accepted(fit, lambda document, arrays, b=b, k=k: arrays["scalars"].__setitem__((k, 0), b))
        for key in ("violation", "primal", "dual", "gap", "relative_gap", "rounding"):
            for value in (1e-9, -1e-12, "nan"):
                if value == "nan" and fit.document["certificate"]["subproblems"][k][key] is None:
                    continue  # files of 0.1.0 write NaN where there is no such figure, later ones None

                def change(document, arrays, k=k, key=key, value=value):
                    document["certificate"]["subproblems"][k][key] = value

                assert not accepted(fit, change)


@pytest.mark.parametrize("name", ["SVR", "SVR sigmoid", "NuSVR", "OneClassSVM"])
@pytest.mark.parametrize("key", ["positive", "negative"])
def test_what_has_no_classes_has_no_pair_of_them(name, key):
    assert not accepted(
        fit_of(name), lambda document, arrays: document["certificate"]["subproblems"][0].update({key: 0})
    )


def test_fewer_rounds_than_are_enough_are_not_enough():
    fit = fit_of("AdaBoostClassifier")
    enough = fit.document["certificate"]["enough"]
    for value in (enough - 1, enough + 1, enough - 2, 1):
        assert not accepted(fit, lambda document, arrays, value=value: document["certificate"].update(enough=value))


@pytest.mark.parametrize("tol", [0.2, 0.5, 0.7, 0.9])
def test_a_tolerance_leaves_out_directions_and_admits_no_others(tol):
    """LDA by svd: directions between the classes are kept or left out by tol; the claim of a large one widens no room."""
    fit, rng = fit_of("LinearDiscriminantAnalysis"), np.random.default_rng(0)
    other = of(gapless.LinearDiscriminantAnalysis(tol=tol), fit.data.X, fit.data.y)
    assert honest(other)
    assert not accepted(fit, lambda document, arrays: document["parameters"].update(tol=tol))
    moved = other.arrays["coef"] + 1e-4 * rng.normal(size=other.arrays["coef"].shape)
    assert not accepted(other, lambda document, arrays: arrays.update(coef=moved))
    for rank in (1, 2):
        if [rank] != other.document["certificate"]["rank"]:
            assert not accepted(other, lambda document, arrays, r=rank: document["certificate"].update(rank=[r]))


@pytest.mark.parametrize(
    "name", ["LinearDiscriminantAnalysis equal columns", "LinearDiscriminantAnalysis lsqr equal columns"]
)
@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3, 1e6])
def test_directions_that_the_data_do_not_have_are_no_part_of_a_rule(name, size):
    """Equal columns: a rank that counts the rounding of their difference, and anything along it."""
    fit = fit_of(name)
    assert honest(fit)
    for tol in (0.0, 1e-12, 1e-4):
        for rank in ([3], [4]):

            def change(document, arrays, tol=tol, rank=rank):
                document["parameters"]["tol"], document["certificate"]["rank"] = tol, rank
                arrays["coef"][1, 0] += size
                arrays["coef"][1, 3] -= size

            assert not accepted(fit, change)


def test_categories_are_those_of_the_column_and_go_where_they_went():
    fit = fit_of("DecisionTreeClassifier categories")
    assert honest(fit)
    sets = np.flatnonzero(fit.arrays["feature"] == 1).tolist()
    for node in sets:
        assert not accepted(fit, lambda document, arrays, t=node: arrays["threshold"].__setitem__(t, 0.5))
        for bit in range(32):  # of categories that no row of the node has, and beyond all categories

            def change(document, arrays, node=node, bit=bit):
                arrays["categories"][node, 0] ^= np.uint32(1 << bit)

            assert not accepted(fit, change)
    for k in range(5):
        assert not accepted(fit, lambda document, arrays, k=k: arrays["levels"].__setitem__(k, k + 0.25))

    def one_more(document, arrays):
        document["problem"]["levels"] = [0, 6, 0]
        arrays["levels"] = np.append(arrays["levels"], np.float32(9))

    assert not accepted(fit, one_more)


def test_a_tree_of_so_many_leaves_was_grown_best_first():
    """A tree that ended elsewhere is no tree of max_leaf_nodes: there the leaf with the best cut is split next."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(90, 3))
    y = ((X[:, 0] > 0) * 2 + (X[:, 1] > 0.3) + (X[:, 2] * X[:, 1] > 0.5)) % 3
    found = 0
    for depth in (2, 3, 4):
        for least in (1, 6):
            tree = of(gapless.DecisionTreeClassifier(max_depth=depth, min_samples_leaf=least), X, y)
            leaves = tree.document["certificate"]["leaves"]
            best = of(gapless.DecisionTreeClassifier(max_leaf_nodes=leaves, min_samples_leaf=least), X, y)
            assert honest(best)
            same = sorted(best.arrays["n_samples"].tolist()) == sorted(tree.arrays["n_samples"].tolist())
            found += not same
            limits = {"max_depth": None, "max_leaf_nodes": leaves}
            assert accepted(tree, lambda document, arrays, p=limits: document["parameters"].update(p)) is same
    assert found > 1


@pytest.mark.parametrize("entry", [{}, {"coef": 1}, {"coef": {"dtype": "<f4", "shape": [9]}}])
def test_arrays_are_as_they_are_described(entry):
    fit = fit_of("LinearSVC")
    assert not accepted(fit, lambda document, arrays: document.update(arrays=entry))
    shapes = {name: {"dtype": "<f8", "shape": list(array.shape)} for name, array in fit.arrays.items()}
    assert accepted(fit, lambda document, arrays: document.update(arrays=shapes))


def test_class_weights_name_classes():
    """Names that are none of the classes, beside classes without a name: no fit was made with these."""
    fit = fit_of("LogisticRegression")
    for pairs, fine in (
        ([[0, 2.0], ["zebra", 5.0]], False),
        ([[0, 2.0], [7, 5.0]], False),
        ([[0, 2.0], [1, 1.0], [7, 5.0]], True),
        ([[0, 2.0], [0, 2.0]], False),
    ):
        assert accepted(fit, lambda document, arrays, p=pairs: document["parameters"].update(class_weight=p)) is fine


def test_a_count_of_rows_left_out_is_not_drawn():
    fit = fit_of("LinearSVC bounds")
    at = [row["method"] for row in fit.document["bounds"]["rows"]].index("leave-one-out")
    for value in (0.0, 0.5, 1.0, "nan"):
        assert not accepted(fit, lambda document, arrays, v=value: document["bounds"]["rows"][at].update(randomised=v))


@pytest.mark.parametrize(
    ("name", "names"),
    [
        ("LinearSVC no offset sparse", ("penalize_intercept", "intercept_scaling")),
        ("LogisticRegression no penalty", ("penalize_intercept",)),
        ("LinearDiscriminantAnalysis lsqr", ("tol",)),
        ("GaussianDiscriminant spherical", ("shrinkage",)),
    ],
)
def test_parameters_without_a_use_are_listed(name, names):
    fit = fit_of(name)
    listed = [line.partition(":")[0] for line in check(fit.document, fit.arrays, *fit.data).unchecked]
    assert {f"parameter {each}" for each in names} <= set(listed)


def test_a_machine_of_one_class_beside_others_is_fitted():
    """NuSVC, where a class of three has no weight: each pair with it is a constant."""
    data = rows_of("three weightless")
    model = gapless.NuSVC(nu=0.3).fit(data.X, data.y, sample_weight=data.sample_weight)
    assert set(model.predict(data.X)) <= {0, 1}
    assert gapless.verify(model, data.X, data.y, data.sample_weight)


def one_class_more(document):
    values = document["classes"]["values"]
    document["classes"]["values"] = [*values, values[-1] + 1 if isinstance(values[-1], int) else f"{values[-1]}x"]
    return values


@pytest.mark.parametrize(
    "name", ["BaggingClassifier", "BaggingClassifier without replacement", "BaggingClassifier bounds"]
)
def test_every_class_has_a_row(name):
    assert not accepted(fit_of(name), lambda document, arrays: one_class_more(document))


def test_a_class_without_a_row_hides_behind_a_target_of_its_own():
    fit = fit_of("LeastSquaresClassifier")

    def change(document, arrays):
        values, weights = one_class_more(document), document["problem"]["class_weight"]
        document["parameters"]["class_weight"] = [[v, w] for v, w in zip(values, weights, strict=True)]
        weights.append(1.0)
        document["problem"]["alpha"].append(0.0)
        target = {**document["certificate"]["targets"][0], "rss": 0.0, "r2": "nan", "orthogonality": 0.0}
        document["certificate"]["targets"].append(target)
        arrays["coef"] = np.vstack([arrays["coef"], np.zeros(3)])
        arrays["intercept"] = np.append(arrays["intercept"], -1.0)

    assert not accepted(fit, change)


def test_a_class_without_a_row_hides_behind_pairs_of_its_own():
    fit = fit_of("SVC three")
    nothing = dict.fromkeys(("primal", "dual", "gap", "relative_gap", "rounding", "violation"), 0.0)

    def change(document, arrays):
        values, weights = one_class_more(document), document["problem"]["class_weight"]
        document["parameters"]["class_weight"] = [[v, w] for v, w in zip(values, weights, strict=True)]
        weights.append(1.0)
        block, dual, scalars = document["certificate"], [], []
        subs = {(sub["positive"], sub["negative"]): (k, sub) for k, sub in enumerate(block["subproblems"])}
        block["subproblems"] = []
        for pair in [(i, j) for i in range(4) for j in range(i + 1, 4)]:
            k, sub = subs.get(pair, (None, {**subs[0, 1][1], **nothing, "positive": pair[0], "negative": pair[1]}))
            block["subproblems"].append(sub)
            dual.append(np.zeros(30) if k is None else arrays["dual"][k])
            scalars.append(np.ones(1) if k is None else arrays["scalars"][k])
        arrays.update(dual=np.array(dual), scalars=np.array(scalars))

    assert not accepted(fit, change)


@pytest.mark.parametrize("degree", [100, 1000, 10_000])
@pytest.mark.parametrize("name", ["SVC poly", "SVC poly negative"])
def test_powers_that_overflow_are_refused(name, degree):
    """And the judge does not fall, which `accepted` looks at."""

    def change(document, arrays):
        document["parameters"]["degree"] = document["problem"]["kernel"]["degree"] = degree

    assert not accepted(fit_of(name), change)
