"""Every entry of a document of a model with a sparse or signed penalty."""

from __future__ import annotations

from ..form.document import PARTS, SHARED, STATUS, agree, free
from ..form.entries import (
    is_count,
    is_dict,
    is_finite,
    is_flag,
    is_positive,
    is_size,
    list_of,
    one_of,
    or_none,
)
from ..form.schema import Table, derived, recomputed

_parameters: Table = {
    **agree("tol", "fit_intercept", "positive"),
    **free(
        "precompute", "max_iter", "copy_X", "warm_start", "random_state", "selection", "time_limit", "n_jobs", "init",
        "verbose", "device",
    ),
}  # fmt: skip
tables: dict[str, Table] = {
    **SHARED,
    "": {
        **SHARED[""],
        "estimator": derived(
            one_of("Lasso", "ElasticNet", "LogisticRegression", "LinearSVC"), "the parameters and the problem"
        ),
        "classes": derived(or_none(is_dict), "entry by entry below"),
    },
    "Lasso.parameters.": agree("alpha") | _parameters,
    "ElasticNet.parameters.": agree("alpha", "l1_ratio") | _parameters,
    "LogisticRegression.parameters.": agree(
        "C", "penalty", "l1_ratio", "class_weight", "penalize_intercept", "intercept_scaling"
    )
    | agree("tol", "fit_intercept")
    | free("dual", "random_state", "solver", "schedule", "max_iter", "verbose", "warm_start", "n_jobs", "on_separation")
    | free("time_limit", "init", "device", "checkpoint"),
    "LinearSVC.parameters.": agree("C", "penalty", "loss", "class_weight", "penalize_intercept", "intercept_scaling")
    | agree("tol", "fit_intercept", "multi_class")
    | free("dual", "random_state", "solver", "schedule", "max_iter", "verbose", "warm_start", "n_jobs")
    | free("time_limit", "init", "device", "checkpoint"),
    "problem.": {
        "loss": derived(one_of("squared", "logistic", "squared_hinge"), "estimator, parameter loss"),
        "epsilon": derived(is_size, "parameter epsilon, where the loss has one; else 0"),
        "offset": derived(one_of("none", "penalised", "free"), "parameters fit_intercept and penalize_intercept"),
        "offset_scale": derived(is_positive, "parameter intercept_scaling"),
        "C": recomputed(is_positive, "parameter C, or 1 over the sum of the weights"),
        "class_weight": recomputed(or_none(list_of(is_size)), "parameter class_weight and the labels"),
        "l1": derived(is_size, "parameters alpha, l1_ratio, penalty"),
        "l2": derived(is_size, "parameters alpha, l1_ratio, penalty"),
        "positive": derived(is_flag, "parameter positive"),
        "columns_of_y": derived(
            or_none(lambda v: is_count(v) and v > 0), "the columns of y; null: y was a vector, or labels"
        ),
        "common_part": recomputed(
            list_of(is_finite, 1), "the first value of each target, where the others and b are near it; else 0"
        ),
    },
    "certificate.": {
        "kind": derived(one_of("gap"), "the only one"),
        "tol": derived(is_size, "parameter tol"),
        "status": STATUS,
        **PARTS["gap"],
        **PARTS["clock"],
        **PARTS["way"],
        "fingerprint": derived(is_dict, "entry by entry below"),
        "subproblems": derived(list_of(is_dict, 1), "one for each target, or for each class against the rest"),
    },
    "certificate.subproblems[].": {
        "positive": derived(or_none(is_count), "the classes, in order; null: a target"),
        "status": STATUS,
        **PARTS["gap"],
        "seconds": PARTS["clock"]["seconds"],
        **PARTS["way"],
    },
    "arrays.": {
        "coef": recomputed(is_dict, "the primal"),
        "intercept": recomputed(is_dict, "the primal"),
        "dual": recomputed(is_dict, "the dual: in the domain of the loss without rounding"),
        "zeros": recomputed(is_dict, "dual point, gap and data: each that is claimed is proved again"),
    },
}
