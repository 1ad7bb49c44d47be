"""The form of a document of a perceptron: counts, a bound with the direction that proves it, or multipliers."""

from __future__ import annotations

import re
from typing import Any

from ..form.document import PARTS, SHARED, STATUS, agree, free
from ..form.entries import is_count, is_dict, is_flag, is_positive, is_size, is_text, list_of, one_of, or_none
from ..form.schema import Arrays, Table, derived, optional, recomputed, unchecked


def _fractions(value: Any) -> bool:
    pattern = r"[0-9]{1,2000}(/[1-9][0-9]{0,1999})?"
    return isinstance(value, list) and all(isinstance(m, str) and re.fullmatch(pattern, m) for m in value)


_HELD_OUT = "which rows were held out leaves no trace; where a run converged, no more rows than that are wrong"
_WAY = "the order of visits leaves no trace in the model"
TABLES: dict[str, Table] = {
    **SHARED,
    "": {
        **SHARED[""],
        "estimator": derived(one_of("Perceptron"), "the problem, the parameters"),
        "dtype": derived(one_of("float64"), "the only one"),
    },
    "Perceptron.parameters.": {
        **agree("eta0", "fit_intercept", "penalty", "class_weight", "variant"),
        **free("alpha", "l1_ratio", "max_iter", "tol", "shuffle", "verbose", "n_jobs", "random_state", why=_WAY),
        **free("n_iter_no_change", "warm_start", "init", "certify", "trace", "time_limit", "device", why=_WAY),
        "early_stopping": optional(unchecked(is_flag, _HELD_OUT)),
        "validation_fraction": optional(unchecked(is_size, _HELD_OUT)),
    },
    "problem.": {
        "offset": derived(one_of("none", "constant"), "parameter fit_intercept"),
        "rate": derived(is_positive, "parameter eta0"),
        "penalty": derived(or_none(one_of("l2", "l1", "elasticnet")), "parameter penalty"),
        "variant": derived(one_of("plain", "pocket", "averaged", "voted"), "parameter variant"),
        "class_weight": recomputed(list_of(is_size), "parameter class_weight and the labels"),
        "voters": derived(list_of(is_count), "the arrays voters and votes"),
    },
    "certificate.": {
        "kind": derived(one_of("bound", "heuristic"), "heuristic: a subproblem has neither a bound nor a witness"),
        "status": STATUS,
        "n_iter": derived(is_count, "the most passes of a subproblem"),
        **PARTS["clock"],
        "fingerprint": derived(is_dict, "entry by entry below"),
        "subproblems": derived(list_of(is_dict, 1), "one for each class against the rest"),
    },
    "certificate.subproblems[].": {
        "positive": derived(is_count, "the classes, in order"),
        "status": STATUS,
        "mistakes": recomputed(is_count, "the array updates, which gives the last weights"),
        "passes": unchecked(is_count, _WAY + "; but no row has more mistakes than passes"),
        "errors": recomputed(is_count, "model and data, in exact arithmetic"),
        "why": unchecked(is_text, "words on why there is no bound"),
        "radius": recomputed(or_none(is_positive), "the longest row"),
        "margin": recomputed(or_none(is_positive), "the array direction and the rows"),
        "bound": recomputed(or_none(is_size), "the inequality that one mistake more would contradict"),
        "witness": recomputed(or_none(is_dict), "multipliers whose sum of rows is 0, in fractions"),
    },
    "certificate.subproblems[].witness.": {
        "rows": recomputed(list_of(is_count), "rows of the data, each once"),
        "multipliers": recomputed(_fractions, "their sum of rows is 0, in fractions"),
    },
    "arrays.": {
        "coef": recomputed(is_dict, "last, where the variant keeps the last weights; the errors"),
        "intercept": recomputed(is_dict, "last, where the variant keeps the last weights; the errors"),
        "last": recomputed(is_dict, "start and the mistakes of each row, where there is no penalty"),
        "start": unchecked(is_dict, "where a run began is the user's choice"),
        "direction": recomputed(is_dict, "the margin that it has"),
        "updates": recomputed(is_dict, "the last weights"),
        "voters": unchecked(is_dict, _WAY + "; the errors of the vote are recomputed"),
        "votes": unchecked(is_dict, _WAY + "; the errors of the vote are recomputed"),
    },
}


def defect(document: Any) -> str | None:
    subs, problem = document["certificate"]["subproblems"], document["problem"]
    K = len(document["classes"]["values"])
    for k, sub in enumerate(subs):
        if len({sub[name] is None for name in ("radius", "margin", "bound")}) > 1:
            return f"certificate.subproblems[{k}] has not all of radius, margin and bound, or none"
    if len(subs) != (1 if K == 2 else K) or len(problem["voters"]) != len(subs):
        return "there is not one subproblem and one number of voters for each class"
    if len(problem["class_weight"]) != K:
        return "problem.class_weight has not one number for each class"
    if problem["variant"] != "voted" and any(problem["voters"]):
        return "problem.voters are of another variant"
    return None


def array_shapes(document: dict[str, Any]) -> Arrays:
    S, d = len(document["certificate"]["subproblems"]), document["n_features"]
    n, V = document["certificate"]["fingerprint"]["n_rows"], sum(document["problem"]["voters"])
    shapes: Arrays = {name: ("<f8", [S, d + 1]) for name in ("last", "start", "direction")}
    shapes |= {"coef": ("<f8", [S, d]), "intercept": ("<f8", [S]), "updates": ("<i8", [S, n])}
    if document["problem"]["variant"] == "voted":
        shapes |= {"voters": ("<f8", [V, d + 1]), "votes": ("<i8", [V])}
    return shapes
