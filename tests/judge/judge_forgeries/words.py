"""Changes of what the document says: the problem, classes, subproblems and its form."""

from __future__ import annotations

import numpy as np

from .tools import is_softmax, refingerprint, settle, some, subproblems


def C_changed(case, rng):
    C = case.document["problem"]["C"] * float(rng.choice([0.5, 0.99, 1.01, 2.0]))
    case.document["problem"]["C"] = case.document["parameters"]["C"] = C


def C_of_one_place(case, rng):
    place = case.document["parameters"] if rng.random() < 0.5 else case.document["problem"]
    place["C"] *= 1 + 1e-15 if rng.random() < 0.5 else 2.0


def C_impossible(case, rng):
    C = [0.0, -1.0, "inf", "nan", 1e308, 10**400][rng.integers(6)]
    if C == 1e308:
        case.document["problem"]["class_weight"] = [10.0] * len(case.document["problem"]["class_weight"])
    case.document["problem"]["C"] = case.document["parameters"]["C"] = C


def loss_changed(case, rng):
    others = {"hinge": "squared_hinge", "squared_hinge": "hinge", "logistic": "hinge", "softmax": "logistic"}
    other = others[case.document["problem"]["loss"]]
    case.document["problem"]["loss"] = other
    case.document["parameters"]["loss"] = other


def loss_of_one_place(case, rng):
    case.document["problem"]["loss"] = str(rng.choice(["squared", "absolute"]))


def estimator_changed(case, rng):
    name = case.document["estimator"]
    other = {"LinearSVC": "LogisticRegression", "LogisticRegression": "LinearSVC"}[name]
    case.document["estimator"] = other if rng.random() < 0.7 else "SVC"


def offset_kind_changed(case, rng):
    problem, parameters = case.document["problem"], case.document["parameters"]
    if np.abs(case.arrays["intercept"]).max() < 1e-3:
        return False
    problem["offset"] = {"free": "penalised", "penalised": "free"}[problem["offset"]]
    problem["offset_scale"] = parameters["intercept_scaling"] = 1.0
    parameters["penalize_intercept"] = problem["offset"] == "penalised"


def offset_of_one_place(case, rng):
    key = str(rng.choice(["fit_intercept", "penalize_intercept"]))
    if key == "penalize_intercept" and case.document["problem"]["offset"] == "none":
        key = "fit_intercept"
    case.document["parameters"][key] = not case.document["parameters"][key]


def offset_scale_changed(case, rng):
    if case.document["problem"]["offset"] == "penalised" and np.abs(case.arrays["intercept"]).max() < 1e-3:
        return False
    case.document["problem"]["offset_scale"] *= 2.0
    case.document["parameters"]["intercept_scaling"] *= 2.0


def penalty_changed(case, rng):
    case.document["parameters"]["penalty"] = [None, "l1", "elasticnet"][rng.integers(3)]


def class_weight_changed(case, rng):
    problem = case.document["problem"]
    k = int(rng.integers(len(problem["class_weight"])))
    problem["class_weight"][k] *= 1.25
    pairs = [[v, w] for v, w in zip(case.document["classes"]["values"], problem["class_weight"], strict=True)]
    case.document["parameters"]["class_weight"] = pairs


def class_weight_of_one_place(case, rng):
    problem = case.document["problem"]
    problem["class_weight"][0] *= 1 + 1e-6


def class_weight_parameter(case, rng):
    parameters = case.document["parameters"]
    options = [
        [[case.document["classes"]["values"][0], 1.5]],
        "unbalanced",
        3,
        [[1]],
        [[[], 2.0]],
        {"0": 1.0},
    ]
    parameters["class_weight"] = options[rng.integers(len(options))]


def classes_swapped(case, rng):
    case.document["classes"]["values"].reverse()
    refingerprint(case)


def classes_renamed(case, rng):
    block = case.document["classes"]
    block["values"] = [
        {"int": lambda v: v + 10, "float": lambda v: v + 0.5, "bool": lambda v: v, "str": lambda v: v + "x"}[
            block["type"]
        ](value)
        for value in block["values"]
    ]
    if block["type"] == "bool":
        return False


def class_added(case, rng):
    block = case.document["classes"]
    if block["type"] == "bool":
        return False
    block["values"].append({"int": 99, "float": 99.0, "str": "zz"}[block["type"]])
    case.document["problem"]["class_weight"].append(1.0)


def class_dropped(case, rng):
    case.document["classes"]["values"].pop()
    case.document["problem"]["class_weight"].pop()


def class_twice(case, rng):
    values = case.document["classes"]["values"]
    values[1] = values[0]


def class_type_changed(case, rng):
    block = case.document["classes"]
    block["type"] = {"int": "str", "float": "bool", "bool": "str", "str": "int"}[block["type"]]


def subproblem_dropped(case, rng):
    subproblems(case).pop()


def subproblem_dropped_with_its_arrays(case, rng):
    if len(subproblems(case)) < 2:
        return False
    subproblems(case).pop()
    case.arrays = {name: array[:-1] for name, array in case.arrays.items()}
    settle(case)


def subproblem_twice_with_its_arrays(case, rng):
    subproblems(case).append(dict(subproblems(case)[0]))
    case.arrays = {name: np.concatenate([array, array[:1]]) for name, array in case.arrays.items()}
    settle(case)


def positive_class_changed(case, rng):
    sub = some(case, rng)
    sub["positive"] = int(rng.choice([(sub["positive"] or 0) + 1, 10**6]))


def positive_class_none(case, rng):
    if is_softmax(case):
        return False
    some(case, rng)["positive"] = None


def one_against_rest(case, rng):
    """The K lines of a softmax fit as K problems of two classes."""
    if not is_softmax(case):
        return False
    case.document["problem"]["loss"] = "logistic"
    sub = subproblems(case)[0]
    case.document["certificate"]["subproblems"] = [
        {**sub, "positive": k} for k in range(len(case.document["classes"]["values"]))
    ]
    settle(case)


def softmax_of_another_loss(case, rng):
    """K problems of two classes as one of K classes."""
    if is_softmax(case) or len(subproblems(case)) < 2:
        return False
    case.document["problem"]["loss"] = "softmax"
    case.document["certificate"]["subproblems"] = [{**subproblems(case)[0], "positive": None}]
    settle(case)


def dtype_changed(case, rng):
    case.document["dtype"] = "float32" if case.document["dtype"] == "float64" else "float64"


def kind_changed(case, rng):
    case.document["certificate"]["kind"] = str(rng.choice(["gradient", "bound", ""]))


def schema_changed(case, rng):
    case.document["schema"] = [0, 2, 99, "1", None, True, 1.5][rng.integers(7)]


def format_changed(case, rng):
    case.document["format"] = "gapless"


def entry_added(case, rng):
    blocks = [case.document, case.document["certificate"], case.document["problem"], some(case, rng)]
    blocks[rng.integers(len(blocks))]["proved"] = True


def feature_names_too_many(case, rng):
    case.document["feature_names"] = ["a"] * (case.document["n_features"] + 1)
