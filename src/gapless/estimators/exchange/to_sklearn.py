"""`to_sklearn`: a fitted scikit-learn estimator with the answers of one of ours, for tools that ask for its very classes.

Nothing is fitted: parameters and fitted attributes are the same numbers. Kernel machines need the names under which
scikit-learn keeps what LIBSVM is given; these are not public there, and the tests hold them against the installed version.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.preprocessing import LabelBinarizer
from sklearn.utils.validation import check_is_fitted

from gapless.estimators.patch import original


def twin_of(name: str) -> tuple[str, tuple[str, ...]] | None:
    """Where scikit-learn has a class that answers as ours of this name, and the attributes that are copied if they are there."""
    linear = ("coef_", "intercept_", "n_iter_")
    kernel = (
        "support_",
        "dual_coef_",
        "intercept_",
        "class_weight_",
        "shape_fit_",
        "fit_status_",
        "n_iter_",
        "offset_",
    )
    moments = ("means_", "priors_", "xbar_", "scalings_", "rotations_", "covariance_", "explained_variance_ratio_")
    tree = ("tree_", "n_outputs_", "n_classes_", "max_features_")
    out_of_bag = ("oob_score_", "oob_decision_function_", "oob_prediction_")
    ensemble = ("n_classes_", "estimator_weights_", "estimator_errors_", "estimators_features_", *out_of_bag)
    places: dict[str, dict[str, tuple[str, ...]]] = {
        "svm": {"LinearSVC": linear, **dict.fromkeys(("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM"), kernel)},
        "linear_model": {
            "LogisticRegression": linear,
            "Perceptron": (*linear, "t_"),
            "LinearRegression": ("coef_", "intercept_", "rank_", "singular_"),
            "Ridge": (*linear, "solver_"),
            "LeastSquaresClassifier": ("coef_", "intercept_"),
        },
        "discriminant_analysis": {
            "LinearDiscriminantAnalysis": ("coef_", "intercept_", "_max_components", *moments),
            "QuadraticDiscriminantAnalysis": moments,
        },
        "tree": dict.fromkeys(("DecisionTreeClassifier", "DecisionTreeRegressor"), tree),
        "ensemble": dict.fromkeys(
            ("AdaBoostClassifier", "AdaBoostRegressor", "BaggingClassifier", "BaggingRegressor"), ensemble
        ),
    }
    kind = "RidgeClassifier" if name == "LeastSquaresClassifier" else name
    return next(((f"{module}.{kind}", each[name]) for module, each in places.items() if name in each), None)


def to_sklearn(model: Any) -> Any:
    """A fitted scikit-learn estimator that answers as this model does.

    For tools that look up the class of an estimator, and know scikit-learn's alone: exporters, trusted lists, fast
    explainers. The certificate stays behind.

    Parameters
    ----------
    model : a fitted model of ours; ensembles of ours with their learners. Anything else is given back as it is
    """
    name = next((each.__name__ for each in type(model).__mro__ if each.__module__.startswith("gapless.")), None)
    if name is None or type(model).__module__.startswith("sklearn."):
        return model
    check_is_fitted(model)
    twin_is = twin_of(name)
    if twin_is is None or getattr(model, "variant", "plain") == "voted":
        raise ValueError(f"scikit-learn has no estimator that answers as this {name} does")
    module, kind = twin_is[0].split(".")
    twin = original_class(module, kind)(**_parameters(model, module, kind))
    for attribute in ("n_features_in_", "feature_names_in_", "classes_", *twin_is[1]):
        if hasattr(model, attribute):
            setattr(twin, attribute, getattr(model, attribute))
    if module == "ensemble":
        _finish_ensemble(model, twin)
    elif name == "LeastSquaresClassifier":
        twin._label_binarizer = LabelBinarizer(pos_label=1, neg_label=-1).fit(model.classes_)
    elif name == "Perceptron":
        twin.t_ = float(getattr(model, "t_", 1.0))
    elif module == "svm" and name != "LinearSVC":
        _finish_kernel(model, twin)
    return twin


def original_class(module: str, kind: str) -> Any:
    """scikit-learn's class, also where `patch` has put ours in its place."""
    return original(module, kind) or getattr(import_module(f"sklearn.{module}"), kind)


def _parameters(model: Any, module: str, kind: str) -> dict[str, Any]:
    """The parameters that both have and that change answers, not those of the way to the fit."""
    way = {
        "solver",
        "tol",
        "max_iter",
        "verbose",
        "probability",
        "warm_start",
        "n_jobs",
        "cache_size",
        "shrinking",
        "penalty",
    }
    theirs = original_class(module, kind)().get_params(deep=False)
    given = {key: value for key, value in model.get_params(deep=False).items() if key in theirs and key not in way}
    if "estimator" in given and type(given["estimator"]).__module__.startswith("gapless."):
        given["estimator"] = None
    return given


def _finish_kernel(model: Any, twin: Any) -> None:
    """What predictions of scikit-learn's kernel machines read: LIBSVM's own signs and sizes, rows as an array."""

    def dense(values: Any) -> np.ndarray:
        return np.ascontiguousarray(values.toarray() if sparse.issparse(values) else values, dtype=np.float64)

    twin._sparse = False
    twin.support_ = np.asarray(model.support_, dtype=np.int32)
    twin.support_vectors_, twin.dual_coef_ = dense(model.support_vectors_), dense(model.dual_coef_)
    twin.class_weight_ = np.asarray(getattr(model, "class_weight_", np.empty(0)), dtype=np.float64)
    twin.shape_fit_ = tuple(getattr(model, "shape_fit_", (0, model.n_features_in_)))
    two = hasattr(model, "classes_") and len(model.classes_) == 2
    sign = -1.0 if two else 1.0
    twin._dual_coef_ = np.ascontiguousarray(sign * twin.dual_coef_)
    twin._intercept_ = np.ascontiguousarray(sign * np.atleast_1d(model.intercept_).astype(np.float64))
    labelled = hasattr(model, "classes_")
    counts = np.asarray(model.n_support_) if labelled else np.array([twin.support_.size, 0])
    twin._n_support = counts.astype(np.int32)
    twin._gamma, twin._num_iter = float(model._gamma), np.atleast_1d(model.n_iter_)
    map_: Any = getattr(model, "_probability_map", None)
    platt = two and hasattr(map_, "slope")
    twin._probA = np.array([-map_.slope]) if platt else np.empty(0)
    twin._probB = np.array([map_.offset]) if platt else np.empty(0)
    if platt:
        twin.probability = True
    twin._effective_probability = platt


def _finish_ensemble(model: Any, twin: Any) -> None:
    twin.estimators_ = [to_sklearn(each) for each in model.estimators_]
    twin.estimator_ = clone(twin.estimators_[0])
    twin._n_features_out = len(twin.estimators_)
    if hasattr(model, "estimators_features_"):
        twin._max_features = len(model.estimators_features_[0])
