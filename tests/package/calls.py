"""Public calls, one for each estimator, option, form of rows and precision: what `warmup` has to have compiled for."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import gapless
from gapless.registry import with_kernels

FORMS = ("dense float64", "dense float32", "CSR float64", "CSR float32")
DESCENTS = ("gd", "sgd", "minibatch", "momentum", "adam")

#: Estimator, its options one by one, and whether it takes CSR rows.
CLASSIFIERS: dict[str, tuple[list[dict[str, Any]], bool]] = {
    "LinearSVC": (
        [{"loss": loss, **more} for loss in ("hinge", "squared_hinge") for more in (
            {}, {"C": 1e4}, {"C": 1e-4}, {"penalize_intercept": True}, {"fit_intercept": False}, {"class_weight": "balanced"},
            {"solver": "coordinate_descent"}, {"tol": 1e-9},
            *({"solver": way, "max_iter": 3} for way in DESCENTS),
        )] + [{"loss": "hinge", "solver": "semismooth"}, {"loss": "hinge", "solver": "interior_point"},
              {"solver": "newton"}, {"C": np.inf}, {"C": np.inf, "loss": "hinge", "fit_intercept": False}],
        True,
    ),
    "LogisticRegression": (
        [{}, {"C": 1e4}, {"C": np.inf}, {"penalize_intercept": True}, {"fit_intercept": False}, {"solver": "newton"},
         {"solver": "coordinate_descent"}, {"solver": "liblinear"}, {"tol": 1e-9},
         *({"solver": way, "max_iter": 3} for way in DESCENTS)],
        True,
    ),
    "SVC": (
        [{"kernel": kernel} for kernel in ("rbf", "poly", "sigmoid", "linear")]
        + [{"C": 1e3}, {"C": np.inf}, {"tol": 1e-9}, {"class_weight": "balanced"}, {"kernel": "linear", "C": np.inf}],
        True,
    ),
    "NuSVC": ([{"nu": 0.3, "tol": 1e-2}, {"nu": 0.3, "kernel": "linear"}], True),
    "Perceptron": (
        [{"variant": variant} for variant in ("plain", "pocket", "voted", "averaged")]
        + [{"penalty": penalty} for penalty in ("l2", "l1", "elasticnet")]
        + [{"certify": True}, {"early_stopping": True}, {"shuffle": False}, {"class_weight": "balanced"}],
        True,
    ),
    "LeastSquaresClassifier": ([{}, {"alpha": 1.0}, {"class_weight": "balanced"}], True),
    "GaussianDiscriminant": ([{"covariance": kind} for kind in ("shared", "per_class", "spherical")], False),
    "LinearDiscriminantAnalysis": ([{"solver": way} for way in ("svd", "lsqr", "eigen")], False),
    "QuadraticDiscriminantAnalysis": ([{}, {"reg_param": 0.1}], False),
    "DecisionTreeClassifier": (
        [{}, {"criterion": "entropy"}, {"splitter": "random"}, {"max_leaf_nodes": 5}, {"max_features": 2}, {"ccp_alpha": 0.01},
         {"class_weight": "balanced"}, {"min_samples_leaf": 5, "max_depth": 3}, {"max_bins": 16},
         {"monotonic_cst": [1, 0, 0, 0, 0]}],
        True,
    ),
    "BaggingClassifier": ([{"n_estimators": 3}, {"n_estimators": 3, "oob_score": True, "max_features": 0.5}], True),
    "AdaBoostClassifier": ([{"n_estimators": 5}, {"n_estimators": 5, "learning_rate": 0.5}], True),
}  # fmt: skip
REGRESSORS: dict[str, tuple[list[dict[str, Any]], bool]] = {
    "LinearRegression": ([{}, {"fit_intercept": False}], True),
    "Lasso": ([{"alpha": 0.01}, {"alpha": 1e-4, "positive": True}, {"fit_intercept": False}], True),
    "ElasticNet": ([{"alpha": 0.01}], True),
    "Ridge": ([{}, {"alpha": 1e-6}, {"solver": "svd"}, {"fit_intercept": False}], True),
    "SVR": ([{"kernel": kernel} for kernel in ("rbf", "linear", "poly")] + [{"C": 1e3}], True),
    "NuSVR": ([{}], True),
    "OneClassSVM": ([{}, {"kernel": "linear"}], True),
    "DecisionTreeRegressor": (
        [{}, {"max_depth": 3}, {"splitter": "random"}, {"max_leaf_nodes": 5}, {"criterion": "absolute_error"}],
        True,
    ),
    "BaggingRegressor": ([{"n_estimators": 3}], True),
    "AdaBoostRegressor": ([{"n_estimators": 3, "loss": loss} for loss in ("linear", "square", "exponential")], True),
}  # fmt: skip


def shaped(X: np.ndarray, form: str) -> Any:
    kind, dtype = form.split()
    return sparse.csr_matrix(X.astype(dtype)) if kind == "CSR" else X.astype(dtype)


def tables(random: np.random.Generator) -> dict[str, np.ndarray]:
    """Rows of several kinds, five columns or more."""
    n = 160
    plain = random.normal(size=(n, 5))
    marks = np.hstack((random.normal(size=(n, 2)), (random.random((n, 20)) < 0.15).astype(float)))
    scaled = (marks - marks.mean(axis=0)) / marks.std(axis=0)
    whole = random.integers(0, 4, size=(n, 6)).astype(float)
    bits = (random.random((n, 24)) < 0.3).astype(float)
    wide = np.where(random.random((60, 300)) < 0.05, random.normal(size=(60, 300)), 0.0)
    long = random.normal(size=(5000, 6))
    return {"plain": plain, "marks": marks, "scaled": scaled, "whole": whole, "bits": bits, "wide": wide, "long": long}


def answers(X: np.ndarray, classes: int, random: np.random.Generator) -> np.ndarray:
    scores = X @ random.normal(size=(X.shape[1], classes))
    return (scores + scores.std() * random.normal(size=scores.shape)).argmax(axis=1)


def fits(thorough: bool) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Each estimator in each form; with ``thorough`` each of its options on plain rows, and its default on rows of all kinds.

    Judging, saving and loading do not depend on options: the default's fit of plain rows goes that far.
    """
    random = np.random.default_rng(0)
    rows = tables(random)
    for name, (options, takes_csr) in {**CLASSIFIERS, **REGRESSORS}.items():
        for form in FORMS:
            if "CSR" in form and not takes_csr:
                continue
            for number, given in enumerate(options if thorough else options[:1]):
                for kind in rows if thorough and number == 0 else ("plain",):
                    if kind == "long" and name in with_kernels("kernel_machines") and form != "dense float64":
                        continue  # seconds each; `rare_calls` has 3,100 rows in every form
                    X, far = shaped(rows[kind], form), number == 0 and kind == "plain"
                    label = f"{name}({', '.join(f'{k}={v!r}' for k, v in given.items())}), {form}, {kind}"
                    if name in REGRESSORS:
                        y = rows[kind] @ random.normal(size=rows[kind].shape[1]) + random.normal(
                            size=rows[kind].shape[0]
                        )
                        yield label, partial(fit, name, given, X, y, far)
                        continue
                    for classes in (2, 3) if thorough and (far or form == "dense float64") else (2,):
                        y = answers(rows[kind], classes, random)
                        yield f"{label}, {classes} classes", partial(fit, name, given, X, y, far)


def fit(name: str, given: dict[str, Any], X: Any, y: np.ndarray, far: bool) -> None:
    """Fit and predict; with ``far`` judge, save and load too."""
    with warnings.catch_warnings(), gapless.config_context(convergence="ignore"):
        warnings.simplefilter("ignore")
        try:
            model = getattr(gapless, name)(**given).fit(X, y)
        except (gapless.NotSeparable, NotImplementedError, ValueError):
            return  # a hard margin of rows that overlap, a tree of sparse rows: nothing was fitted
        model.predict(X)
        if hasattr(model, "decision_function"):
            model.decision_function(X)
        if not far:
            return
        if name != "OneClassSVM":
            gapless.verify(model, X, y)
        with tempfile.TemporaryDirectory() as folder:
            gapless.save(model, Path(folder) / "model.gapless")
            gapless.load(Path(folder) / "model.gapless").predict(X)


def functions(thorough: bool) -> Iterator[tuple[str, Callable[[], Any]]]:
    """The functions, on rows of each form."""
    random = np.random.default_rng(1)
    plain, long = random.normal(size=(160, 5)), random.normal(size=(20_000, 6))
    # Each precision and each form of rows once, where not all are asked for: functions fit what `fits` has in all four.
    for form in FORMS if thorough else ("dense float64", "CSR float32"):
        X, y = shaped(plain, form), answers(plain, 2, random)
        three = answers(plain, 3, random)
        yield f"separability, {form}", partial(gapless.separability, X, y)
        yield f"separability of classes apart, {form}", partial(gapless.separability, X, (plain[:, 0] > 0).astype(int))
        for loss in ("hinge", "squared_hinge"):
            model = gapless.LinearSVC(loss=loss)
            yield f"path of {loss}, {form}", partial(gapless.path, model, X, y, [0.1, 1.0, 10.0])
            yield f"reduce, {loss}, {form}", lambda m=model, X=X, y=y: gapless.reduce(m.fit(X, y), X, y)
            yield f"tune {loss}, {form}", partial(gapless.tune, model, X, y, {"C": [0.1, 1.0]}, cv=3)
        yield (
            f"exact path, {form}",
            partial(gapless.path, gapless.LinearSVC(loss="hinge"), X, y, (0.1, 1.0), exact=True),
        )
        yield f"path of SVC, {form}", partial(gapless.path, gapless.SVC(), X, y, [0.5, 1.0])
        yield (
            f"path of Ridge, {form}",
            partial(gapless.path, gapless.Ridge(), X, plain[:, 0] + plain[:, 1] ** 2, [0.5, 1.0]),
        )
        yield f"path of logistic, {form}", partial(gapless.path, gapless.LogisticRegression(), X, y, [0.5, 1.0])
        for name, grid in (
            ("SVC", {"C": [1.0, 10.0], "gamma": [0.1, 1.0]}),
            ("LogisticRegression", {"C": [1.0, 10.0]}),
        ):
            for labels in (y, three):
                model = getattr(gapless, name)()
                yield (
                    f"tune {name}, {form}, {labels.max() + 1} classes",
                    partial(gapless.tune, model, X, labels, grid, cv=3),
                )
        target = plain[:, 0] + plain[:, 1] ** 2
        yield f"tune Ridge, {form}", partial(gapless.tune, gapless.Ridge(), X, target, {"alpha": [0.1, 1.0]}, cv=3)
        yield f"tune SVR, {form}", partial(gapless.tune, gapless.SVR(), X, target, {"C": [0.1, 1.0]}, cv=3)
        for name in ("LinearSVC", "LogisticRegression", "SVC"):

            def judged(name=name, X=X, y=y) -> None:
                model = getattr(gapless, name)().fit(X[:120], y[:120])
                gapless.bounds(model, X[:120], y[:120], X_test=X[120:], y_test=y[120:])
                if name != "SVC":
                    gapless.margins(model, X[:120], y[:120])
                gapless.verify(model, X[:120], y[:120], rigorous=True)
                for method in ("sigmoid", "isotonic", "beta"):
                    gapless.calibrate(model, X[120:], y[120:], method=method)
                if name != "SVC":
                    gapless.explain(model)
                if name == "LogisticRegression":
                    gapless.threshold_for(model, [[0.0, 1.0], [5.0, 0.0]], X[120:], y[120:])

            yield f"bounds, margins, calibrate, {name}, {form}", judged
        for loss in ("hinge", "squared_hinge", "logistic"):
            risk = partial(gapless.linear_risk, X, y, loss=loss, lam=0.01)
            for method in (*DESCENTS, "newton"):
                if method == "newton" and loss != "logistic":
                    continue
                yield (
                    f"descend {loss} by {method}, {form}",
                    lambda risk=risk, m=method: gapless.descend(risk(), method=m, stop=gapless.Until(epochs=3)),
                )
            if thorough or form == "dense float64":
                more = partial(gapless.linear_risk, shaped(long, form), answers(long, 2, random), loss=loss, lam=1e-4)
                for method in ("sgd", "minibatch"):
                    for visits in ("shuffled", "random"):
                        yield (
                            f"long descent of {loss} by {method}, {visits}, {form}",
                            lambda risk=more, m=method, v=visits: gapless.descend(
                                risk(), method=m, visits=v, stop=gapless.Until(epochs=40), average="uniform"
                            ),
                        )


def commands(folder: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Commands, one after the other, on tables with numbers, texts and gaps in them: two and three classes, a regression."""
    for name in ("two", "three", "numbers"):
        yield f"train, verify, predict, bounds, tune: {name}", partial(command_lines, folder, name)


def command_lines(folder: Path, name: str) -> None:
    from gapless.cli.app import main

    random = np.random.default_rng(2)
    n = 400
    number, other = random.normal(size=n), random.normal(size=n)
    text = random.choice(["red", "green", "blue"], size=n)
    label = {
        "two": lambda: np.where(number + (text == "red") + 0.5 * random.normal(size=n) > 0, "yes", "no"),
        "three": lambda: np.asarray(["a", "b", "c"])[np.digitize(number + 0.3 * random.normal(size=n), [-0.5, 0.5])],
        "numbers": lambda: 3.0 * number + (text == "red") + random.normal(size=n),
    }[name]()
    table, model = folder / f"{name}.csv", str(folder / f"{name}.gapless")
    cells = ["" if random.random() < 0.03 else f"{value:.6f}" for value in number]
    lines = [f"{a},{b:.6f},{c},{d}" for a, b, c, d in zip(cells, other, text, label)]
    table.write_text("\n".join(["first,second,colour,answer", *lines]) + "\n")
    main(["train", str(table), "--target", "answer", "-o", model, "--no-report"])
    main(["verify", model, str(table)])
    main(["predict", model, str(table), "-o", str(folder / f"{name}.out.csv")])
    if name != "numbers":
        main(["bounds", model, str(table)])
    if name == "two":
        main(["tune", str(table), "--target", "answer", "-o", str(folder / "tuned.gapless")])
