"""Write one model file of each estimator, and of options that write other members, with the rows, the labels and the answers.

    python -m tests.judge.keep_files FOLDER

Run it at a state whose files later states have to read; `test_kept_files.py` reads them.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import gapless

#: name -> estimator, options, labels ("two", "three", "numbers", "outputs"), form of the rows
KEPT: dict[str, tuple[str, dict[str, Any], str, str]] = {
    "Perceptron_averaged": ("Perceptron", {"variant": "averaged"}, "three", "dense"),
    "Perceptron_pocket": ("Perceptron", {"variant": "pocket", "class_weight": "balanced"}, "two", "dense"),
    "LinearSVC": ("LinearSVC", {}, "two", "dense"),
    "LinearSVC_hinge_sparse": ("LinearSVC", {"loss": "hinge", "fit_intercept": False}, "two", "sparse"),
    "LinearSVC_hard_margin": ("LinearSVC", {"C": np.inf}, "apart", "dense"),
    "LinearSVC_sgd": ("LinearSVC", {"solver": "sgd", "max_iter": 20, "random_state": 0}, "three", "dense"),
    "SVC_poly": ("SVC", {"kernel": "poly", "degree": 2}, "two", "dense"),
    "SVC_hard_margin": ("SVC", {"C": np.inf, "gamma": 1.0}, "apart", "dense"),
    "SVC_rbf_sparse": ("SVC", {"class_weight": {0: 1.0, 1: 2.0, 2: 0.5}}, "three", "sparse"),
    "SVC_precomputed": ("SVC", {"kernel": "precomputed"}, "two", "gram"),
    "NuSVC": ("NuSVC", {"nu": 0.3}, "three", "dense"),
    "SVR": ("SVR", {"C": 10.0}, "numbers", "dense"),
    "NuSVR_linear": ("NuSVR", {"kernel": "linear"}, "numbers", "dense"),
    "OneClassSVM": ("OneClassSVM", {"nu": 0.2}, "none", "dense"),
    "LogisticRegression": ("LogisticRegression", {"penalize_intercept": True, "intercept_scaling": 2.0}, "two", "dense"),
    "LogisticRegression_softmax_float32": ("LogisticRegression", {}, "three", "float32"),
    "LogisticRegression_no_penalty": ("LogisticRegression", {"C": np.inf}, "two", "dense"),
    "LinearRegression": ("LinearRegression", {}, "numbers", "dense"),
    "Ridge_outputs": ("Ridge", {"alpha": [0.1, 1.0]}, "outputs", "dense"),
    "Lasso": ("Lasso", {"alpha": 0.05}, "numbers", "dense"),
    "ElasticNet_outputs": ("ElasticNet", {"alpha": 0.05, "positive": True}, "outputs", "sparse"),
    "LeastSquaresClassifier": ("LeastSquaresClassifier", {"alpha": 0.5}, "three", "dense"),
    "GaussianDiscriminant_spherical": ("GaussianDiscriminant", {"covariance": "spherical"}, "three", "dense"),
    "LinearDiscriminantAnalysis": ("LinearDiscriminantAnalysis", {"n_components": 1}, "three", "dense"),
    "QuadraticDiscriminantAnalysis": ("QuadraticDiscriminantAnalysis", {"reg_param": 0.1}, "two", "dense"),
    "DecisionTreeClassifier": ("DecisionTreeClassifier", {"max_depth": 3, "class_weight": "balanced"}, "three", "dense"),
    "DecisionTreeClassifier_categories": (
        "DecisionTreeClassifier", {"categorical_features": [4], "max_leaf_nodes": 5}, "two", "categories",
    ),
    "DecisionTreeRegressor": ("DecisionTreeRegressor", {"max_features": 2, "random_state": 0}, "outputs", "dense"),
    "BaggingClassifier_features": (
        "BaggingClassifier", {"n_estimators": 5, "max_features": 0.5, "random_state": 0}, "three", "dense",
    ),
    "BaggingRegressor": ("BaggingRegressor", {"n_estimators": 3, "random_state": 0}, "numbers", "dense"),
    "AdaBoostClassifier": ("AdaBoostClassifier", {"n_estimators": 6}, "three", "dense"),
    "AdaBoostClassifier_linear": ("AdaBoostClassifier", {"n_estimators": 3, "estimator": "LogisticRegression"}, "two", "dense"),
    "AdaBoostRegressor": ("AdaBoostRegressor", {"n_estimators": 3, "random_state": 0}, "numbers", "dense"),
}  # fmt: skip
ANSWERS = ("predict", "decision_function", "predict_proba")


def rows(form: str) -> Any:
    """Some rows, drawn anew each time; categories come with missing values."""
    X = np.random.default_rng(25).normal(size=(36, 4)).round(3)
    if form == "float32":
        return X.astype(np.float32)
    if form == "categories":
        X = np.column_stack((X, np.arange(36.0) % 5))
        X[::7, 1], X[3::11, 4] = np.nan, np.nan
    if form == "gram":
        X = X @ X.T
    return sparse.csr_matrix(np.where(np.abs(X) > 0.4, X, 0.0)) if form == "sparse" else X


def labels(kind: str) -> Any:
    X = rows("dense")
    scores = X @ [1.0, -1.0, 0.5, 0.0]
    noise = np.random.default_rng(26).normal(size=36)
    if kind == "none":
        return None
    if kind == "apart":
        return np.where(scores > 0.0, "yes", "no")
    if kind == "numbers":
        return scores + 0.5 * noise
    if kind == "outputs":
        return np.column_stack((scores + 0.5 * noise, X[:, 0] ** 2))
    return np.digitize(scores + 0.7 * noise, [0.0] if kind == "two" else [-0.7, 0.7])


def weights(kind: str) -> Any:
    """Weights of rows for the fits of numbers, one of them 0."""
    return np.where(np.arange(36) == 5, 0.0, 1.0 + np.arange(36) % 3) if kind == "numbers" else None


def keep(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, (estimator, options, kind, form) in KEPT.items():
        X, y, w = rows(form), labels(kind), weights(kind)
        given = {key: getattr(gapless, value)() if key == "estimator" else value for key, value in options.items()}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = getattr(gapless, estimator)(**given).fit(X, y, **({} if w is None else {"sample_weight": w}))
            answers = {each: getattr(model, each)(X) for each in ANSWERS if hasattr(model, each)}
        gapless.save(model, folder / f"{name}.gapless")
        data = {"X": X.toarray() if sparse.issparse(X) else X}
        if y is not None:
            data["y"] = y
        if w is not None:
            data["sample_weight"] = w
        np.savez_compressed(folder / f"{name}.npz", **data, **answers)


if __name__ == "__main__":
    keep(Path(sys.argv[1]))
