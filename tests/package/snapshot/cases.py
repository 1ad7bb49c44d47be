"""Fits of every estimator in the forms and options that take a route of their own; the other cases are in `calls.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import gapless
from tests.package.snapshot.data import classes_of, numbers_of, rows_of, weights_of, with_categories
from tests.package.snapshot.digests import told_by_model

#: family, name, and what makes the case's figures.
Case = tuple[str, str, Callable[[], dict[str, Any]]]
REGRESSORS = {
    "LinearRegression",
    "Ridge",
    "SVR",
    "NuSVR",
    "DecisionTreeRegressor",
    "BaggingRegressor",
    "AdaBoostRegressor",
}
DESCENTS = ("gd", "sgd", "minibatch", "momentum", "adam")
FORMS = ("dense64", "dense32", "csr64")


def fit(name: str, options: dict[str, Any], data: str, form: str, weighted: bool, rigorous: Any) -> dict[str, Any]:
    X = rows_of(data, form)
    y = numbers_of(data) if name in REGRESSORS else classes_of(data)
    weights = weights_of(data) if weighted else None
    given = {key: value() if isinstance(value, Maker) else value for key, value in options.items()}
    model = getattr(gapless, name)(**given)
    more = {} if weights is None else {"sample_weight": weights}
    model.fit(X, y, **more)
    return told_by_model(model, X, y, weights, rigorous)


class Maker:
    """An option that is made when its case runs, so that listing the cases loads nothing."""

    def __init__(self, name: str, **options: Any) -> None:
        self.name, self.options = name, options

    def __call__(self) -> Any:
        return getattr(gapless, self.name)(**self.options)

    def __repr__(self) -> str:
        return self.name + "".join(f" {value}" for value in self.options.values())


def fits(
    family: str,
    name: str,
    *options: dict[str, Any],
    data: str = "two",
    forms: tuple[str, ...] = ("dense64",),
    weighted: bool = False,
    rigorous: Any = False,
) -> Iterator[Case]:
    """One case for each option and form."""
    for given in options or ({},):
        for form in forms:
            words = [name, *(f"{key}={value!r}" for key, value in given.items()), data, form]
            label = " ".join([*words, *(["weighted"] if weighted else []), *(["rigorous"] if rigorous else [])])
            yield family, label, partial(fit, name, given, data, form, weighted, rigorous)


def linear() -> Iterator[Case]:
    add = partial(fits, "linear")
    for name, losses in (("LinearSVC", ({"loss": "hinge"}, {"loss": "squared_hinge"})), ("LogisticRegression", ({},))):
        for loss in losses:
            yield from add(name, loss, forms=(*FORMS, "csr32", "fortran"))
            routes: list[dict[str, Any]] = [
                {"C": 1e4}, {"C": 1e-4}, {"penalize_intercept": True, "intercept_scaling": 2.0}, {"fit_intercept": False},
                {"class_weight": "balanced"}, {"tol": 1e-9}, {"solver": "coordinate_descent"},
            ]  # fmt: skip
            yield from add(name, *({**loss, **each} for each in routes))
            yield from add(name, loss, weighted=True, forms=("dense64", "csr64"))
            yield from add(name, loss, data="equal", forms=("dense64", "csr64"))
            yield from add(name, loss, data="three", forms=("dense64", "csr64"), rigorous=True)
            yield from add(name, loss, data="long")
            yield from add(name, loss, data="text", forms=("csr64",))
            yield from add(name, loss, {**loss, "tol": 1e-2}, data="marks")
            yield from add(name, loss, data="wide", forms=("dense64", "csr64"))
            yield from add(name, loss, data="bits", forms=("csr64", "dense32"))
        for way in DESCENTS:
            yield from add(name, {"solver": way, "max_iter": 10, "random_state": 3}, data="medium")
        yield from add(name, {"solver": "sgd", "max_iter": 5, "random_state": 3}, data="text", forms=("csr64",))
        yield from add(
            name, {"solver": "sgd", "max_iter": 30, "random_state": 3}, data="three", forms=("dense64", "csr32")
        )
    yield from add(
        "LinearSVC", {"loss": "hinge", "solver": "semismooth"}, {"loss": "hinge", "solver": "interior_point"}
    )
    yield from add("LinearSVC", {"loss": "hinge", "tol": 1e-1}, data="long", forms=("dense32",))
    yield from add("LinearSVC", {"loss": "hinge", "solver": "coordinate_descent"}, data="text", forms=("csr64",))
    yield from add("LinearSVC", {"solver": "newton"}, rigorous="exact")
    yield from add("LogisticRegression", {"solver": "newton"}, {"solver": "liblinear"}, forms=("dense64", "csr64"))
    yield from add("LogisticRegression", {"C": 100.0, "penalize_intercept": True}, data="text", forms=("csr64",))
    yield from add("LogisticRegression", {"C": 10.0, "class_weight": "balanced"}, data="three", weighted=True)


def hard_margin() -> Iterator[Case]:
    add = partial(fits, "hard_margin", data="apart")
    endless = {"C": np.inf}
    yield from add(
        "LinearSVC", endless, {**endless, "loss": "hinge", "fit_intercept": False}, forms=("dense64", "csr64")
    )
    yield from add("LinearSVC", endless, weighted=True)
    yield from add("SVC", {**endless, "kernel": "linear"}, {**endless, "kernel": "rbf"}, forms=FORMS)
    yield from fits("hard_margin", "LinearSVC", endless, data="wide", forms=("dense64", "csr64"), rigorous=True)
    yield from fits("hard_margin", "SVC", {**endless, "gamma": 1.0}, data="three")


def kernel() -> Iterator[Case]:
    add = partial(fits, "kernel")
    yield from add("SVC", forms=(*FORMS, "csr32"))
    yield from add("SVC", *({"kernel": name} for name in ("linear", "poly", "sigmoid")), forms=("dense64", "csr64"))
    yield from add(
        "SVC", {"C": 1e3}, {"C": 1e-3}, {"tol": 1e-9}, {"class_weight": "balanced"}, {"kernel": "rbf", "gamma": 5.0}
    )
    yield "kernel", "SVC of a callable", kernel_of_the_user
    yield from add("SVC", weighted=True, forms=("dense64", "csr64"))
    yield from add("SVC", {}, {"decision_function_shape": "ovo"}, {"break_ties": True}, data="three")
    yield from add("SVC", data="equal", forms=("dense64", "csr64"), rigorous=True)
    yield from add("SVC", {}, {"C": 100.0}, data="machine")
    yield from add("SVC", data="machine", forms=("dense32",))
    yield from add("SVC", {"C": 10.0}, data="bits", forms=("dense64", "csr64"))
    yield from add("SVC", {"kernel": "poly", "degree": 2}, data="whole")
    yield from add("SVC", data="marks")
    yield from add("NuSVC", {"nu": 0.3}, {"nu": 0.3, "kernel": "linear"}, forms=("dense64", "csr64"))
    yield from add("NuSVC", {"nu": 0.2}, data="three")
    yield from add("SVR", {}, {"C": 1e3, "epsilon": 0.01}, {"kernel": "linear"}, {"kernel": "poly"})
    yield from add("SVR", forms=("dense32", "csr64"), weighted=True)
    yield from add("SVR", {"C": 10.0}, data="medium")
    yield from add("NuSVR", {}, {"nu": 0.2, "C": 10.0}, forms=("dense64", "csr64"))
    yield from add("OneClassSVM", {}, {"kernel": "linear", "nu": 0.1}, {"nu": 0.05}, forms=("dense64", "csr64"))


def kernel_of_the_user() -> dict[str, Any]:
    X, y = rows_of("two"), classes_of("two")
    return told_by_model(gapless.SVC(kernel=laplacian).fit(X, y), X, y)


def laplacian(A: Any, B: Any) -> np.ndarray:
    """A kernel as a function of the user's."""
    return np.exp(-0.2 * np.abs(A[:, None, :] - B[None, :, :]).sum(axis=2))


def least_squares() -> Iterator[Case]:
    add = partial(fits, "least_squares")
    for name in ("LinearRegression", "Ridge", "LeastSquaresClassifier"):
        yield from add(name, forms=(*FORMS, "csr32"))
        yield from add(name, {"fit_intercept": False})
        yield from add(name, weighted=True, forms=("dense64", "csr64"))
        yield from add(name, data="long")
        yield from add(name, data="wide", forms=("dense64", "csr64"))
        yield from add(name, {"solver": "sgd", "max_iter": 20, "random_state": 3}, {"solver": "gd", "max_iter": 20})
    yield from add("Ridge", {"alpha": 1e-6}, {"alpha": 1e6}, {"solver": "svd"}, {"solver": "cholesky"}, {"tol": 1e-10})
    yield from add("Ridge", data="text", forms=("csr64",))
    yield from add("LinearRegression", data="equal")
    yield from add("LeastSquaresClassifier", {}, {"alpha": 1.0, "class_weight": "balanced"}, data="three")


def likelihood() -> Iterator[Case]:
    add = partial(fits, "likelihood", "LogisticRegression")
    endless = {"C": np.inf}
    yield from add(endless, forms=FORMS)
    yield from add({**endless, "fit_intercept": False}, {**endless, "class_weight": "balanced"}, weighted=True)
    yield from add(endless, data="three", forms=("dense64", "csr64"), rigorous=True)
    yield from add(endless, data="apart")
    yield from add(endless, data="medium")


def perceptron() -> Iterator[Case]:
    add = partial(fits, "perceptron", "Perceptron")
    yield from add(forms=(*FORMS, "csr32"), data="apart")
    yield from add(
        *({"variant": kind} for kind in ("plain", "pocket", "voted", "averaged")), forms=("dense64", "csr64")
    )
    yield from add(*({"penalty": kind, "max_iter": 20} for kind in ("l2", "l1", "elasticnet")))
    yield from add(
        {"early_stopping": True},
        {"shuffle": False},
        {"certify": True},
        {"certify": False},
        {"trace": True},
        {"eta0": 0.3},
    )
    yield from add({"class_weight": "balanced"}, data="three")
    yield from add(weighted=True)
    yield from add({"max_iter": 20}, data="text", forms=("csr64",))


def gaussian() -> Iterator[Case]:
    for kind in ("shared", "per_class", "spherical"):
        yield from fits(
            "gaussian", "GaussianDiscriminant", {"covariance": kind}, {"covariance": kind, "shrinkage": 0.2}
        )
    for name, more in (
        ("GaussianDiscriminant", {"priors": [0.2, 0.3, 0.5]}),
        ("LinearDiscriminantAnalysis", {"n_components": 1}),
        ("QuadraticDiscriminantAnalysis", {"reg_param": 0.1, "store_covariance": True}),
    ):
        yield from fits("gaussian", name, {}, more, data="three", forms=("dense64", "dense32"))
        yield from fits("gaussian", name, data="medium")
    options = [{"solver": "eigen"}, {"solver": "eigen", "shrinkage": "auto"}, {"solver": "eigen", "shrinkage": 0.3}]
    yield from fits("gaussian", "LinearDiscriminantAnalysis", *options, data="three")
    yield from fits("gaussian", "LinearDiscriminantAnalysis", data="wide")


def tree() -> Iterator[Case]:
    add = partial(fits, "tree")
    for name in ("DecisionTreeClassifier", "DecisionTreeRegressor"):
        yield from add(name, forms=("dense64", "dense32"))
        options = [
            {"max_depth": 3}, {"splitter": "random", "random_state": 1}, {"max_features": 2, "random_state": 1},
            {"ccp_alpha": 0.01}, {"max_leaf_nodes": 9}, {"min_samples_leaf": 5}, {"min_impurity_decrease": 0.01},
            {"max_bins": 16}, {"max_leaf_nodes": 9, "max_features": 3, "random_state": 1},
        ]  # fmt: skip
        yield from add(name, *options)
        yield from add(name, weighted=True)
        yield from add(name, {"max_depth": 6}, data="long")
        yield from add(name, {"max_depth": 4}, {"max_depth": 3, "max_bins": 64}, data="tall")
        yield from add(name, data="marks")
        yield from add(name, data="equal")
        for more in ({}, {"max_depth": 4, "splitter": "random", "random_state": 2}, {"max_leaf_nodes": 12}):
            words = " ".join(f"{key}={value!r}" for key, value in more.items())
            yield "tree", f"{name} categories and missing values {words}", partial(tree_of_categories, name, more)
        yield "tree", f"{name} three outputs", partial(tree_of_outputs, name)
    yield from add("DecisionTreeClassifier", *({"criterion": kind, "max_depth": 5} for kind in ("entropy", "log_loss")))
    yield from add(
        "DecisionTreeClassifier",
        {"class_weight": "balanced"},
        {"max_features": "sqrt", "random_state": 5},
        data="three",
    )


def tree_of_categories(name: str, more: dict[str, Any]) -> dict[str, Any]:
    X, places = with_categories()
    y = numbers_of("two") if "Regressor" in name else classes_of("two")
    return told_by_model(getattr(gapless, name)(categorical_features=places, **more).fit(X, y), X, y)


def tree_of_outputs(name: str) -> dict[str, Any]:
    X = rows_of("two")
    y = numbers_of("two") if "Regressor" in name else classes_of("two")
    Y = np.column_stack((y, np.roll(y, 3), (X[:, 0] > 0).astype(y.dtype)))
    return told_by_model(getattr(gapless, name)(max_depth=5).fit(X, Y), X, Y)


def boosting() -> Iterator[Case]:
    add = partial(fits, "boosting")
    few = {"n_estimators": 12, "random_state": 0}
    yield from add("AdaBoostClassifier", few, {**few, "learning_rate": 0.5}, forms=("dense64", "dense32", "csr64"))
    yield from add("AdaBoostClassifier", few, data="three", rigorous=True)
    yield from add("AdaBoostClassifier", few, weighted=True)
    yield from add("AdaBoostClassifier", few, data="long")
    yield from add("AdaBoostClassifier", few, data="apart")
    for depth in (1, 3):
        learner = Maker("DecisionTreeClassifier", max_depth=depth)
        yield from add("AdaBoostClassifier", {**few, "estimator": learner}, data="three")
    yield from add("AdaBoostClassifier", {**few, "estimator": Maker("LogisticRegression")})
    yield from add(
        "AdaBoostRegressor", *({**few, "n_estimators": 4, "loss": loss} for loss in ("linear", "square", "exponential"))
    )


def bagging() -> Iterator[Case]:
    add = partial(fits, "bagging")
    few = {"n_estimators": 4, "random_state": 0}
    for name in ("BaggingClassifier", "BaggingRegressor"):
        yield from add(
            name,
            few,
            {**few, "max_features": 0.5, "bootstrap_features": True},
            {**few, "bootstrap": False, "max_samples": 0.6},
        )
        yield from add(name, few, weighted=True)
    many = {"n_estimators": 15, "random_state": 0, "oob_score": True}
    yield from add("BaggingClassifier", many, data="three")
    yield from add("BaggingRegressor", many)
    yield from add("BaggingClassifier", {**few, "estimator": Maker("LinearSVC")}, {**few, "estimator": Maker("SVC")})
    yield from add(
        "BaggingClassifier", {**few, "estimator": Maker("DecisionTreeClassifier", max_features=2)}, data="medium"
    )


FITS = (
    linear, hard_margin, kernel, least_squares, likelihood, perceptron, gaussian, tree, boosting, bagging,
)  # fmt: skip
