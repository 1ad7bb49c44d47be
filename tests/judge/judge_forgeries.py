"""Changes that make a claim of a valid model document false, with every checksum made right again.

`forgeries(case, rng)` yields (name, forged case).  It needs nothing but a document, its arrays and its data,
so it also serves for documents of real fits.  Every change is really false: it moves a figure by far more
than rounding, or contradicts the document or the data outright.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gapless.judge import fingerprint

FIGURES = ("primal", "dual", "gap", "relative_gap", "rounding")


def forgeries(case: Any, rng: np.random.Generator) -> Iterator[tuple[str, Any]]:
    """Forged copies of a valid case."""
    for change in CHANGES:
        forged = case.copy()
        if change(forged, rng) is not False:
            yield change.__name__, forged
    for key in ("C", "tol", "fit_intercept", "class_weight"):
        forged = case.copy()
        del forged.document["parameters"][key]
        yield f"without the parameter {key}", forged
    for path in list(_paths(case.document)):
        if path[0] != "parameters" and rng.random() < 0.1:
            forged = case.copy()
            _parent(forged.document, path).pop(path[-1])
            yield f"without {path}", forged
    for path in list(_paths(case.document)):
        if path[0] != "parameters" and rng.random() < 0.1:
            forged = case.copy()
            _parent(forged.document, path)[path[-1]] = {"an": "object"}
            yield f"an object for {path}", forged


def _paths(block: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every entry of a document; lists of numbers or labels count as one."""
    if isinstance(block, dict):
        for key, value in block.items():
            yield (*path, key)
            yield from _paths(value, (*path, key))
    elif isinstance(block, list) and block and isinstance(block[0], dict):
        for k, value in enumerate(block):
            yield from _paths(value, (*path, k))


def _parent(document: Any, path: tuple[Any, ...]) -> Any:
    for key in path[:-1]:
        document = document[key]
    return document


# ------------------------------------------------------------------- tools


def _index(case: Any) -> np.ndarray:
    values = case.document["classes"]["values"]
    return np.array([values.index(label) for label in case.y.tolist()])


def _refingerprint(case: Any, index: np.ndarray | None = None) -> None:
    index = _index(case) if index is None else index
    case.document["certificate"]["fingerprint"] = fingerprint(case.X, index, case.sample_weight)


def _subs(case: Any) -> list[dict[str, Any]]:
    return case.document["certificate"]["subproblems"]


def _some(case: Any, rng: np.random.Generator) -> dict[str, Any]:
    return _subs(case)[rng.integers(len(_subs(case)))]


def _amount(block: dict[str, Any], rng: np.random.Generator) -> float:
    """Far beyond rounding, still a small share of the figures."""
    size = abs(block["primal"]) + abs(block["dual"])
    return float(10.0 ** rng.uniform(-6, -1)) * size + 1e4 * abs(block["rounding"]) + 1e-9


def _restate(block: dict[str, Any]) -> None:
    size = max(abs(block["primal"]), abs(block["dual"]))
    block["relative_gap"] = block["gap"] / size if size else 0.0


def _settle(case: Any) -> None:
    """Statuses and totals that fit the (false) figures."""
    block = case.document["certificate"]
    for sub in block["subproblems"]:
        reached = sub["relative_gap"] <= block["tol"]
        if reached != (sub["status"] == "converged"):
            sub["status"] = "converged" if reached else "max_iter"
    for name in ("primal", "dual", "gap", "rounding"):
        block[name] = sum(sub[name] for sub in block["subproblems"])
    _restate(block)
    bad = [sub["status"] for sub in block["subproblems"] if sub["status"] != "converged"]
    block["status"] = bad[0] if bad else "converged"


def _softmax(case: Any) -> bool:
    """K lines are one problem, and the entry of a row's true class is minus the sum of the others."""
    return case.document["problem"]["loss"] == "softmax"


def _close(case: Any) -> None:
    """Entries of the true classes that fit the (changed) others; a line of another loss stands for itself."""
    if _softmax(case):
        u, index = case.arrays["dual"], _index(case)
        rows = np.arange(index.size)
        u[index, rows] = 0.0
        u[index, rows] = -u.sum(axis=0)


def _heaviest(case: Any, rng: np.random.Generator) -> tuple[int, int]:
    """A line of the dual and its row with the largest |u|; the row is not of the line's class for the softmax loss."""
    s = int(rng.integers(len(case.arrays["dual"])))
    size = np.abs(case.arrays["dual"][s])
    return s, int(np.argmax(np.where(_index(case) == s, 0.0, size) if _softmax(case) else size))


def _row_weights(case: Any) -> np.ndarray:
    weights = np.ones(len(case.y)) if case.sample_weight is None else case.sample_weight
    problem = case.document["problem"]
    return (problem["C"] * weights) * np.array(problem["class_weight"])[_index(case)]


def _costliest(case: Any, rng: np.random.Generator) -> int:
    """The row with the largest loss: any change of it moves the primal. Without losses, the largest |u|."""
    s, heaviest = _heaviest(case, rng)
    coef, offset = case.arrays["coef"][s].astype(float), float(case.arrays["intercept"][s])
    weights = np.ones(len(case.y)) if case.sample_weight is None else case.sample_weight
    if _softmax(case):
        coef, offsets = case.arrays["coef"].astype(float), case.arrays["intercept"].astype(float)
        scores = _dense(case) @ coef.T + offsets
        own = scores[np.arange(len(scores)), _index(case)]
        return int(np.argmax(weights * np.logaddexp.reduce(scores - own[:, None], axis=1)))
    signs = np.where(_index(case) == _subs(case)[s]["positive"], 1.0, -1.0)
    slack = weights * np.maximum(0.0, 1.0 - signs * (_dense(case) @ coef + offset))
    return int(np.argmax(slack)) if slack.max() > 1e-3 else heaviest


def _dense(case: Any) -> np.ndarray:
    return case.X.toarray() if hasattr(case.X, "toarray") else case.X


def _with_dense(case: Any, X: np.ndarray) -> None:
    case.X = type(case.X)(X) if hasattr(case.X, "toarray") else X


# ------------------------------------------------------------------- data


def label_flipped(case, rng):
    i = rng.integers(len(case.y))
    values = case.document["classes"]["values"]
    case.y[i] = values[(values.index(case.y.tolist()[i]) + 1) % len(values)]


def label_flipped_and_sealed(case, rng):
    i = _costliest(case, rng)
    values = case.document["classes"]["values"]
    case.y[i] = values[(values.index(case.y.tolist()[i]) + 1) % len(values)]
    _refingerprint(case)


def labels_shuffled_and_sealed(case, rng):
    before = case.y.tolist()
    case.y = case.y[rng.permutation(len(case.y))]
    if case.y.tolist() == before:
        return False
    _refingerprint(case)


def label_unknown(case, rng):
    case.y = case.y.astype(object)
    case.y[rng.integers(len(case.y))] = "nobody"


def weight_changed(case, rng):
    weights = np.ones(len(case.y)) if case.sample_weight is None else case.sample_weight
    weights[rng.integers(len(weights))] += 0.5
    case.sample_weight = weights


def weight_changed_and_sealed(case, rng):
    i = _costliest(case, rng)
    weights = np.ones(len(case.y)) if case.sample_weight is None else case.sample_weight
    weights[i] *= float(rng.choice([0.5, 0.9, 0.99]))
    case.sample_weight = weights
    _refingerprint(case)


def weights_dropped(case, rng):
    if case.sample_weight is None:
        return False
    case.sample_weight = None


def weights_dropped_and_sealed(case, rng):
    if case.sample_weight is None:
        return False
    case.sample_weight = None
    _refingerprint(case)


def value_changed(case, rng):
    X = _dense(case).copy()
    i, j = rng.integers(len(X)), rng.integers(X.shape[1])
    X[i, j] = np.nextafter(X[i, j], X.dtype.type(np.inf))  # one unit in the last place
    _with_dense(case, X)


def value_changed_and_sealed(case, rng):
    i = _costliest(case, rng)
    X = _dense(case).copy()
    X[i] += 0.3 + rng.random(X.shape[1])
    _with_dense(case, X)
    _refingerprint(case)


def rows_swapped(case, rng):
    X = _dense(case).copy()
    X[[0, 1]] = X[[1, 0]]
    _with_dense(case, X)


def columns_swapped(case, rng):
    X = _dense(case).copy()
    if X.shape[1] < 2:
        return False
    X[:, [0, 1]] = X[:, [1, 0]]
    _with_dense(case, X)


def row_dropped(case, rng):
    case.X, case.y = case.X[1:], case.y[1:]
    if case.sample_weight is not None:
        case.sample_weight = case.sample_weight[1:]


def value_not_finite(case, rng):
    X = _dense(case).copy()
    X[0, 0] = rng.choice([np.nan, np.inf])
    _with_dense(case, X)


# ------------------------------------------------------------------- the point


def alpha_halved(case, rng):
    s, i = _heaviest(case, rng)
    case.arrays["dual"][s, i] *= 0.5
    _close(case)


def alpha_scaled(case, rng):
    s, _ = _heaviest(case, rng)
    case.arrays["dual"][s] *= 1 - 10.0 ** rng.uniform(-2, -0.5)
    _close(case)


def alpha_zero(case, rng):
    case.arrays["dual"][:] = 0.0


def alpha_beyond_its_box(case, rng):
    s, i = _heaviest(case, rng)
    u = case.arrays["dual"]
    if case.document["problem"]["loss"] == "squared_hinge":
        j = int(np.argmin(np.abs(u[s])))
        positive = np.where(_index(case) == _subs(case)[s]["positive"], 1.0, -1.0)
        u[s, j] = -positive[j] * 1e-300
        return None
    c = _row_weights(case)
    if _softmax(case):
        u[:, i] = 0.0
    u[s, i] = (-1.0 if _softmax(case) else np.sign(u[s, i])) * np.nextafter(c[i], np.inf)
    _close(case)


def alpha_of_the_wrong_sign(case, rng):
    s, i = _heaviest(case, rng)
    case.arrays["dual"][s, i] *= -1
    _close(case)


def alpha_of_the_true_class(case, rng):
    if not _softmax(case):
        return False
    _, i = _heaviest(case, rng)
    case.arrays["dual"][_index(case)[i], i] *= 1 + float(rng.choice([-1.0, 1.0])) * 10.0 ** rng.uniform(-13, 0)


def alpha_shares_of_two_classes_exchanged(case, rng):
    if not _softmax(case):
        return False
    s, i = _heaviest(case, rng)
    t = next(k for k in range(len(case.arrays["dual"])) if k not in (s, _index(case)[i]))
    case.arrays["dual"][[s, t], i] = case.arrays["dual"][[t, s], i]


def alpha_not_finite(case, rng):
    s, i = _heaviest(case, rng)
    case.arrays["dual"][s, i] = rng.choice([np.nan, np.inf, -np.inf])


def alpha_permuted(case, rng):
    s, _ = _heaviest(case, rng)
    u = case.arrays["dual"][s]
    shuffled = u[rng.permutation(u.size)]
    if np.array_equal(u, shuffled):
        return False
    case.arrays["dual"][s] = shuffled
    _close(case)


def alpha_on_a_row_without_weight(case, rng):
    if case.sample_weight is None or not (case.sample_weight == 0).any():
        return False
    case.arrays["dual"][0, int(np.argmin(case.sample_weight))] = 1e-12


def w_scaled(case, rng):
    case.arrays["coef"] *= np.asarray(1 + 10.0 ** rng.uniform(-2, 0), dtype=case.arrays["coef"].dtype)


def w_moved(case, rng):
    coef = case.arrays["coef"]
    coef[rng.integers(len(coef)), rng.integers(coef.shape[1])] += 0.1 + np.abs(coef).max()


def w_negated(case, rng):
    case.arrays["coef"] *= -1


def w_not_finite(case, rng):
    case.arrays["coef"][0, 0] = rng.choice([np.nan, np.inf])


def offset_moved(case, rng):
    case.arrays["intercept"][rng.integers(len(case.arrays["intercept"]))] += 3.0


def offset_not_finite(case, rng):
    case.arrays["intercept"][0] = np.nan


def subproblems_exchanged(case, rng):
    if len(case.arrays["coef"]) < 2:
        return False
    case.arrays["coef"][[0, 1]] = case.arrays["coef"][[1, 0]]


def array_missing(case, rng):
    del case.arrays[str(rng.choice(list(case.arrays)))]


def array_of_another_shape(case, rng):
    name = str(rng.choice(list(case.arrays)))
    case.arrays[name] = case.arrays[name][..., :-1]


def array_of_another_type(case, rng):
    name = str(rng.choice(list(case.arrays)))
    case.arrays[name] = case.arrays[name].astype(np.float16)


# ------------------------------------------------------------------- figures


def dual_raised(case, rng):
    sub = _some(case, rng)
    amount = _amount(sub, rng)
    sub["dual"] += amount
    sub["gap"] = sub["primal"] - sub["dual"]
    _restate(sub)
    _settle(case)


def primal_lowered(case, rng):
    sub = _some(case, rng)
    amount = _amount(sub, rng)
    sub["primal"] -= amount
    sub["gap"] = sub["primal"] - sub["dual"]
    _restate(sub)
    _settle(case)


def both_moved(case, rng):
    sub = _some(case, rng)
    amount = _amount(sub, rng)
    sub["primal"] += amount
    sub["dual"] += amount
    _restate(sub)
    _settle(case)


def gap_lowered(case, rng):
    sub = _some(case, rng)
    sub["gap"] -= _amount(sub, rng)
    _restate(sub)
    _settle(case)


def gap_raised(case, rng):
    sub = _some(case, rng)
    sub["gap"] += _amount(sub, rng)
    _restate(sub)
    _settle(case)


def relative_gap_alone(case, rng):
    sub = _some(case, rng)
    sub["relative_gap"] += 1e-6
    sub["status"] = "converged" if sub["relative_gap"] <= case.document["certificate"]["tol"] else "max_iter"


def rounding_huge(case, rng):
    sub = _some(case, rng)
    sub["rounding"] = float(10.0 ** rng.uniform(-3, 3)) * (abs(sub["primal"]) + 1e-3)
    _settle(case)


def rounding_hides_a_gap(case, rng):
    sub = _some(case, rng)
    amount = _amount(sub, rng)
    sub["dual"] += amount
    sub["gap"] = sub["primal"] - sub["dual"]
    sub["rounding"] += 2 * amount
    _restate(sub)
    _settle(case)


def rounding_negative(case, rng):
    sub = _some(case, rng)
    sub["rounding"] = -1e-9
    _settle(case)


def figure_not_finite(case, rng):
    _some(case, rng)[str(rng.choice(FIGURES))] = str(rng.choice(["nan", "inf", "-inf"]))


def total_figure_not_finite(case, rng):
    case.document["certificate"][str(rng.choice(FIGURES))] = str(rng.choice(["nan", "inf", "-inf"]))


def figure_a_raw_nan(case, rng):
    _some(case, rng)[str(rng.choice(FIGURES))] = float(rng.choice([np.nan, np.inf]))


def total_moved(case, rng):
    block = case.document["certificate"]
    name = str(rng.choice(["primal", "dual", "gap"]))
    block[name] += _amount(block, rng)


def total_rounding_moved(case, rng):
    case.document["certificate"]["rounding"] *= 1.0 + 1e-6


# ------------------------------------------------------------------- endings


def ending_flipped(case, rng):
    sub = _some(case, rng)
    sub["status"] = "max_iter" if sub["status"] == "converged" else "converged"
    statuses = [each["status"] for each in _subs(case)]
    bad = [status for status in statuses if status != "converged"]
    case.document["certificate"]["status"] = bad[0] if bad else "converged"


def total_ending_flipped(case, rng):
    block = case.document["certificate"]
    block["status"] = "stalled" if block["status"] == "converged" else "converged"


def ending_unknown(case, rng):
    _some(case, rng)["status"] = "optimal"


def tol_tightened(case, rng):
    relative = min(sub["relative_gap"] for sub in _subs(case))
    if case.document["certificate"]["status"] != "converged" or relative <= 0:
        return False
    case.document["certificate"]["tol"] = case.document["parameters"]["tol"] = relative / 2


def tol_of_one_place(case, rng):
    place = case.document["parameters"] if rng.random() < 0.5 else case.document["certificate"]
    place["tol"] *= 1.5


def tol_not_a_number(case, rng):
    case.document["certificate"]["tol"] = case.document["parameters"]["tol"] = str(rng.choice(["nan", "inf"]))


# ------------------------------------------------------------------- fingerprint


def digest_edited(case, rng):
    block = case.document["certificate"]["fingerprint"]
    name = str(rng.choice(["rows", "labels", "weights"]))
    k = int(rng.integers(32))
    block[name] = block[name][:k] + ("0" if block[name][k] != "0" else "1") + block[name][k + 1 :]


def digest_in_capitals(case, rng):
    block = case.document["certificate"]["fingerprint"]
    block["rows"] = block["rows"].upper() + "0"


def rows_counted_wrong(case, rng):
    case.document["certificate"]["fingerprint"]["n_rows"] += int(rng.choice([-1, 1, 10**9]))


def features_counted_wrong(case, rng):
    case.document["certificate"]["fingerprint"]["n_features"] += 1


def features_counted_wrong_twice(case, rng):
    case.document["certificate"]["fingerprint"]["n_features"] += 1
    case.document["n_features"] += 1


# ------------------------------------------------------------------- the problem


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


# ------------------------------------------------------------------- classes, subproblems, form


def classes_swapped(case, rng):
    case.document["classes"]["values"].reverse()
    _refingerprint(case)


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
    _subs(case).pop()


def subproblem_dropped_with_its_arrays(case, rng):
    if len(_subs(case)) < 2:
        return False
    _subs(case).pop()
    case.arrays = {name: array[:-1] for name, array in case.arrays.items()}
    _settle(case)


def subproblem_twice_with_its_arrays(case, rng):
    _subs(case).append(dict(_subs(case)[0]))
    case.arrays = {name: np.concatenate([array, array[:1]]) for name, array in case.arrays.items()}
    _settle(case)


def positive_class_changed(case, rng):
    sub = _some(case, rng)
    sub["positive"] = int(rng.choice([(sub["positive"] or 0) + 1, 10**6]))


def positive_class_none(case, rng):
    if _softmax(case):
        return False
    _some(case, rng)["positive"] = None


def one_against_rest(case, rng):
    """The K lines of a softmax fit as K problems of two classes."""
    if not _softmax(case):
        return False
    case.document["problem"]["loss"] = "logistic"
    sub = _subs(case)[0]
    case.document["certificate"]["subproblems"] = [
        {**sub, "positive": k} for k in range(len(case.document["classes"]["values"]))
    ]
    _settle(case)


def softmax_of_another_loss(case, rng):
    """K problems of two classes as one of K classes."""
    if _softmax(case) or len(_subs(case)) < 2:
        return False
    case.document["problem"]["loss"] = "softmax"
    case.document["certificate"]["subproblems"] = [{**_subs(case)[0], "positive": None}]
    _settle(case)


def dtype_changed(case, rng):
    case.document["dtype"] = "float32" if case.document["dtype"] == "float64" else "float64"


def kind_changed(case, rng):
    case.document["certificate"]["kind"] = str(rng.choice(["gradient", "bound", ""]))


def schema_changed(case, rng):
    case.document["schema"] = [0, 2, 99, "1", None, True, 1.5][rng.integers(7)]


def format_changed(case, rng):
    case.document["format"] = "gapless"


def entry_added(case, rng):
    blocks = [case.document, case.document["certificate"], case.document["problem"], _some(case, rng)]
    blocks[rng.integers(len(blocks))]["proved"] = True


def feature_names_too_many(case, rng):
    case.document["feature_names"] = ["a"] * (case.document["n_features"] + 1)


CHANGES: list[Callable[[Any, np.random.Generator], Any]] = [
    value
    for name, value in list(globals().items())
    if callable(value)
    and getattr(value, "__module__", "") == __name__
    and not name.startswith("_")
    and name != "forgeries"
]
