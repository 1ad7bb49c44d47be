"""Trees, and ensembles of trees and others, on numbers, categories and missing values, of few rows and of many."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np

import gapless
from tests.package.calls import FORMS, shaped
from tests.package.rare_fits import Call, fit

#: Rows whose columns have more values than 16 bits can number, and more rows than trees keep in order.
MANY_VALUES, MANY_ROWS = 66_000, 140_000


def tree_table(n: int, kind: str) -> tuple[np.ndarray, dict[str, Any]]:
    random = np.random.default_rng(7)
    X = random.normal(size=(n, 3))
    options: dict[str, Any] = {}
    if "categories" in kind:
        X[:, 0] = random.integers(0, 9, size=n)
        options["categorical_features"] = [0]
    if "missing" in kind:
        X[random.random(n) < 0.1, 1] = np.nan
    return X, options


def trees() -> Iterator[Call]:
    random = np.random.default_rng(8)
    for n, kind in product(
        (70, MANY_VALUES, MANY_ROWS), ("numbers", "categories", "missing", "categories and missing")
    ):
        X, columns = tree_table(n, kind)
        score = np.nan_to_num(X[:, 1]) + X[:, 2]
        targets = {
            "two": (score > 0).astype(int), "three": np.digitize(score, [-0.5, 0.5]), "numbers": score,
            "outputs": np.stack([score, -score], axis=1), "classes of two": np.stack([score > 0, score > 1], axis=1).astype(int),
        }  # fmt: skip
        for target, y in targets.items():
            name = "DecisionTreeRegressor" if y.dtype == float else "DecisionTreeClassifier"
            options: list[dict[str, Any]] = [
                {}, {"max_leaf_nodes": 4}, {"max_features": 1}, {"splitter": "random"}, {"max_bins": 16}, {"min_samples_leaf": 3},
                {"monotonic_cst": [0, 0, 1]}, {"ccp_alpha": 1e-3},
            ]  # fmt: skip
            if name == "DecisionTreeClassifier":
                options += [
                    {"criterion": "entropy"},
                    {"class_weight": "balanced"},
                    {"criterion": "entropy", "max_features": 1},
                ]
            for given in options if n < MANY_ROWS else options[:5]:
                model = partial(getattr(gapless, name), max_depth=3, random_state=0, **columns, **given)
                yield f"{name}, {kind}, {target}, {n} rows, {given}", partial(fit, model, X, y, judged=n < 100)
            yield (
                f"{name}, {kind}, {target}, {n} rows, float32",
                partial(fit, model, X.astype(np.float32), y, judged=False),
            )
            w = random.integers(0, 3, size=n).astype(float)
            for given in ({}, {"max_features": 1}):
                model = partial(getattr(gapless, name), max_depth=3, random_state=0, **columns, **given)
                yield (
                    f"{name}, {kind}, {target}, {n} rows, weights, {given}",
                    partial(fit, model, X, y, judged=False, sample_weight=w),
                )


def ensembles() -> Iterator[Call]:
    random = np.random.default_rng(9)
    for n, kind in product((70, MANY_VALUES), ("numbers", "categories", "missing")):
        X, columns = tree_table(n, kind)
        score = np.nan_to_num(X[:, 1]) + X[:, 2]
        w = random.integers(1, 3, size=n).astype(float)
        for classes in (0, 2, 3):
            y = np.digitize(score, [-0.5, 0.5][: classes - 1]) if classes else score
            ending = "Classifier" if classes else "Regressor"
            tree = getattr(gapless, f"DecisionTree{ending}")
            bases = {
                "none": None,
                "tree": tree(max_depth=2, **columns),
                "thin tree": tree(max_depth=2, max_features=1, **columns),
            }
            for base, model, weighted in product(bases, ("Bagging", "AdaBoost"), (False, True)):
                made = partial(getattr(gapless, model + ending), estimator=bases[base], n_estimators=2, random_state=0)
                more = {"sample_weight": w} if weighted else {}
                yield (
                    f"{model}{ending} of {base}, {kind}, {n} rows, {classes} classes, {'weights' if weighted else ''}",
                    partial(fit, made, X, y, judged=n < 100, **more),
                )
    X = random.normal(size=(80, 4))
    for base, form in product(
        ("LinearSVC", "LogisticRegression", "SVC", "Perceptron", "LeastSquaresClassifier"), FORMS
    ):
        for model in ("BaggingClassifier", "AdaBoostClassifier"):
            made = partial(getattr(gapless, model), getattr(gapless, base)(), n_estimators=2, random_state=0)
            yield f"{model} of {base}, {form}", partial(fit, made, shaped(X, form), np.arange(80) % 2, judged=False)
    for model in ("BaggingRegressor", "AdaBoostRegressor"):
        made = partial(getattr(gapless, model), gapless.Ridge(), n_estimators=2, random_state=0)
        yield f"{model} of Ridge", partial(fit, made, X, X[:, 0] ** 2, judged=False)
    rows, labels = random.normal(size=(600, 3)), np.arange(600) % 300
    for name in ("DecisionTreeClassifier", "AdaBoostClassifier", "BaggingClassifier"):
        yield f"{name}, 300 classes", partial(fit, getattr(gapless, name), rows, labels, judged=False)
    for name in ("LinearSVC", "SVC", "DecisionTreeClassifier", "AdaBoostClassifier", "BaggingClassifier", "Perceptron"):
        y = np.digitize(X[:, 0], [-1.0, -0.5, 0.0, 0.5, 1.0])
        yield f"{name}, six classes", partial(fit, getattr(gapless, name), X, y)
