"""The public functions: separation, descent, choosing, paths, and what is read off a model."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import gapless
from tests.package.snapshot.cases import DESCENTS, Case
from tests.package.snapshot.data import classes_of, numbers_of, rows_of, weights_of
from tests.package.snapshot.digests import bits_of, fitted, told_by_judge, told_by_model

Told = dict[str, Any]


def told_by_result(result: Any, **more: Any) -> Told:
    """A result's public fields, and what is asked of it by name."""
    return {"bits": {"fields": bits_of(result), **{name: bits_of(value) for name, value in more.items()}}}


def separation() -> Iterator[Case]:
    for data in ("two", "apart", "three", "wide", "equal"):
        for form in ("dense64", "csr64"):
            yield "separation", f"separability {data} {form}", partial(separate, data, form)
    yield "separation", "separability apart float32", partial(separate, "apart", "dense32")
    yield (
        "separation",
        "separability apart without an offset",
        partial(separate, "apart", "dense64", fit_intercept=False),
    )
    yield "separation", "separability medium weighted", partial(separate, "medium", "dense64", weighted=True)
    yield "separation", "separability whole", partial(separate, "whole", "dense64")


def separate(data: str, form: str, weighted: bool = False, **more: Any) -> Told:
    weights = weights_of(data) if weighted else None
    found = gapless.separability(rows_of(data, form), classes_of(data), sample_weight=weights, **more)
    return {**told_by_result(found), "status": str(found.status)}


def schedules(method: str) -> list[Any]:
    Schedule = gapless.Schedule
    if method == "gd":
        return [Schedule.constant(0.1), Schedule.backtracking(), Schedule.exact(), Schedule.polyak(0.1)]
    if method == "sgd":
        return [Schedule.pegasos(), Schedule.inverse_root(0.5), Schedule.cosine(0.5, 3000)]
    return [Schedule.inverse(0.5, 10.0)]


def descent() -> Iterator[Case]:
    for loss in ("hinge", "squared_hinge", "logistic"):
        for method in DESCENTS:
            yield "descent", f"{loss} by {method}", partial(go_down, loss, method, "medium", "dense64", {})
        for method, form in (("sgd", "csr64"), ("minibatch", "csr32"), ("gd", "dense32")):
            yield "descent", f"{loss} by {method} {form}", partial(go_down, loss, method, "marks", form, {})
    yield "descent", "logistic by newton", partial(go_down, "logistic", "newton", "two", "dense64", {})
    for method in DESCENTS:
        for number, schedule in enumerate(schedules(method)):
            words = f"logistic by {method}, schedule {number}: {schedule.kind}"
            yield "descent", words, partial(go_down, "logistic", method, "two", "dense64", {"schedule": schedule})
    for average in ("uniform", "tail"):
        for visits in ("shuffled", "random"):
            more = {"average": average, "visits": visits, "seed": 4}
            yield (
                "descent",
                f"hinge by sgd, {average}, {visits}",
                partial(go_down, "hinge", "sgd", "long", "dense64", more),
            )
    yield "descent", "hinge by sgd, literal", partial(go_down, "hinge", "sgd", "two", "dense64", {"literal": True})
    yield "descent", "hinge by batches of 7", partial(go_down, "hinge", "minibatch", "two", "csr64", {"batch": 7})
    for method in ("gd", "momentum", "adam", "newton"):
        yield "descent", f"a function of two numbers by {method}", partial(go_down_a_function, method)


def go_down(loss: str, method: str, data: str, form: str, more: dict[str, Any]) -> Told:
    risk = gapless.linear_risk(rows_of(data, form), classes_of(data), loss=loss, lam=0.01)
    found = gapless.descend(risk, method=method, stop=gapless.Until(epochs=4), **more)
    names = ("theta", "value", "point", "dual", "gap", "average", "gradient_norm", "steps", "examples")
    return {
        "bits": {
            **{name: bits_of(getattr(found, name)) for name in names},
            "trace": bits_of(found.trace),
        },
        "status": str(found.status),
    }


class Bowl:
    """A function with its gradient and second derivatives."""

    def value(self, w: np.ndarray) -> float:
        return float(w[0] ** 4 + 2.0 * w[1] ** 2 + w[0] * w[1])

    def gradient(self, w: np.ndarray) -> np.ndarray:
        return np.array([4.0 * w[0] ** 3 + w[1], 4.0 * w[1] + w[0]])

    def hessian(self, w: np.ndarray) -> np.ndarray:
        return np.array([[12.0 * w[0] ** 2, 1.0], [1.0, 4.0]])


def go_down_a_function(method: str) -> Told:
    bowl = Bowl()
    functions = (bowl.value, bowl.gradient, bowl.hessian) if method == "newton" else (bowl.value, bowl.gradient)
    schedule = {} if method == "newton" else {"schedule": 0.02}
    found = gapless.descend(functions, np.array([1.5, -1.0]), method=method, stop=40, **schedule)
    return {"bits": {"theta": bits_of(found.theta), "value": bits_of(found.value), "trace": bits_of(found.trace)}}


def choosing() -> Iterator[Case]:
    grids: list[tuple[str, dict[str, Any], str, str]] = [
        ("SVC", {"C": [1.0, 10.0, 100.0], "gamma": [0.1, 1.0]}, "two", "dense64"),
        ("SVC", {"C": [1.0, 10.0], "gamma": [0.1]}, "three", "csr64"),
        ("SVR", {"C": [0.1, 1.0], "epsilon": [0.1, 0.3]}, "two", "dense64"),
        ("Ridge", {"alpha": [0.01, 1.0, 100.0]}, "two", "dense64"),
        ("Ridge", {"alpha": [0.01, 1.0]}, "wide", "dense64"),
        ("LeastSquaresClassifier", {"alpha": [0.0, 1.0]}, "three", "dense64"),
        ("LinearSVC", {"C": [0.01, 1.0, 100.0]}, "two", "dense64"),
        ("LinearSVC", {"C": [0.01, 1.0]}, "text", "csr64"),
        ("LogisticRegression", {"C": [0.01, 1.0, 100.0]}, "three", "dense64"),
        ("LogisticRegression", {"C": [0.01, 1.0]}, "medium", "dense32"),
        ("DecisionTreeClassifier", {"max_depth": [2, 4]}, "two", "dense64"),
        ("GaussianDiscriminant", {"shrinkage": [0.0, 0.5]}, "two", "dense64"),
        ("OneClassSVM", {}, "two", "dense64"),
    ]
    for name, grid, data, form in grids:
        if grid:
            label = f"tune {name} {grid} {data} {form}"
            yield "tuning", label, partial(choose, name, data, form, {"param_grid": grid, "cv": 3})
    for method, more in (("bisection", {}), ("bayes", {"n_iter": 5}), ("random", {"n_iter": 4})):
        given = {"space": {"C": (1e-2, 1e2)}, "points": 9, "method": method, "cv": 3, "seed": 1, **more}
        yield "tuning", f"tune LinearSVC by {method}", partial(choose, "LinearSVC", "two", "dense64", given)
    nested = {"param_grid": {"C": [0.1, 10.0]}, "cv": 3, "nested": 3}
    yield "tuning", "tune LogisticRegression nested", partial(choose, "LogisticRegression", "two", "dense64", nested)
    weighted = {"param_grid": {"C": [0.1, 10.0]}, "cv": 3}
    yield "tuning", "tune SVC weighted", partial(choose, "SVC", "two", "dense64", weighted, weighted=True)
    for name in ("LinearSVC", "LogisticRegression", "SVC"):
        for method in ("sigmoid", "isotonic", "beta"):
            yield "tuning", f"calibrate {name} by {method}", partial(calibrated, name, method)
    yield "tuning", "calibrate with folds", partial(calibrated, "LinearSVC", "sigmoid", cv=3)
    yield "tuning", "threshold for costs", threshold


def choose(name: str, data: str, form: str, given: dict[str, Any], weighted: bool = False) -> Told:
    X = rows_of(data, form)
    y = numbers_of(data) if name in ("Ridge", "SVR") else classes_of(data)
    weights = weights_of(data) if weighted else None
    chosen = gapless.tune(getattr(gapless, name)(), X, y, sample_weight=weights, **given)
    found = chosen.tuning_
    told = told_by_model(chosen, X, y, weights)
    told["bits"]["scores"] = bits_of([(key, np.asarray(found.scores[key])) for key in sorted(found.scores)])
    told["bits"]["entries"] = bits_of({key: [tuple(each) for each in part] for key, part in found.entries.items()})
    told["chosen"] = f"{found.best_index} of {found.n_candidates}, {found.status}"
    return told


def calibrated(name: str, method: str, **more: Any) -> Told:
    X, y = rows_of("medium"), classes_of("medium")
    model = getattr(gapless, name)().fit(X[:1000], y[:1000])
    found = gapless.calibrate(model, X[1000:2000], y[1000:2000], method=method, **more)
    return {
        "bits": {"probabilities": bits_of(found.predict_proba(X[2000:])), "answers": bits_of(found.predict(X[2000:]))}
    }


def threshold() -> Told:
    X, y = rows_of("medium"), classes_of("medium")
    model = gapless.LogisticRegression().fit(X[:1000], y[:1000])
    found = gapless.threshold_for(model, [[0.0, 1.0], [5.0, 0.0]], X[1000:], y[1000:])
    parts = {name: getattr(found, name) for name in ("theory", "data", "as_it_is", "probability", "fixed")}
    return {"bits": {name: bits_of(value) for name, value in parts.items()}}


def paths() -> Iterator[Case]:
    Cs = [0.01, 0.1, 1.0, 10.0]
    for name, options, data, form in (
        ("LinearSVC", {"loss": "hinge"}, "two", "dense64"), ("LinearSVC", {"loss": "hinge"}, "text", "csr64"),
        ("LinearSVC", {}, "two", "csr64"), ("LinearSVC", {}, "long", "dense64"), ("LinearSVC", {}, "three", "dense64"),
        ("LogisticRegression", {}, "two", "dense64"), ("LogisticRegression", {}, "three", "dense64"),
        ("LogisticRegression", {}, "medium", "dense32"), ("Ridge", {}, "two", "dense64"), ("Ridge", {}, "wide", "csr64"),
        ("SVC", {}, "two", "dense64"), ("SVC", {}, "medium", "dense64"), ("SVC", {}, "three", "csr64"),
    ):  # fmt: skip
        yield "path", f"{name} {options} {data} {form}", partial(follow, name, options, data, form, Cs, {})
    for name in ("LinearSVC", "LogisticRegression", "SVC"):
        yield "path", f"{name} between", partial(follow, name, {}, "two", "dense64", [0.1, 1.0], {"between": 0.05})
    for form in ("dense64", "csr64"):
        yield "path", f"exact {form}", partial(follow_exactly, form)


def follow(name: str, options: dict[str, Any], data: str, form: str, Cs: list[float], more: dict[str, Any]) -> Told:
    X = rows_of(data, form)
    y = numbers_of(data) if name in ("Ridge", "SVR") else classes_of(data)
    found = gapless.path(getattr(gapless, name)(**options), X, y, Cs, **more)
    values: dict[str, Any] = {}
    for part in ("Cs", "primal", "dual", "relative_gap", "coef", "intercept", "dual_points", "between", "screened"):
        try:
            values[part] = getattr(found, part)
        except (AttributeError, ValueError, NotImplementedError, TypeError):
            values[part] = "none"
    told = told_by_model(found.model_at(Cs[1]), X, y)
    told["bits"] |= {f"path {part}": bits_of(value) for part, value in values.items()}
    return told


def follow_exactly(form: str) -> Told:
    X, y = rows_of("two", form), classes_of("two")
    found = gapless.path(gapless.LinearSVC(loss="hinge"), X, y, (0.01, 1.0), exact=True)
    told = told_by_model(found.model_at(0.3), X, y)
    parts = {
        name: bits_of(getattr(found, name)) for name in ("breaks", "Cs", "primal", "dual", "gap", "reach", "stalled")
    }
    told["bits"] |= {f"path {name}": value for name, value in parts.items()}
    told["bits"]["path at 0.2"] = bits_of([found.dual_at(0.2), found.intercept_at(0.2), found.scores(X, y)])
    return told


def readings() -> Iterator[Case]:
    for name, options in (
        ("LinearSVC", {"loss": "hinge"}), ("LinearSVC", {}), ("LogisticRegression", {}), ("SVC", {}), ("Perceptron", {}),
        ("DecisionTreeClassifier", {"max_depth": 3}), ("BaggingClassifier", {"n_estimators": 15, "random_state": 0}),
        ("AdaBoostClassifier", {"n_estimators": 10, "random_state": 0}), ("GaussianDiscriminant", {}),
    ):  # fmt: skip
        linear = name in ("LinearSVC", "LogisticRegression", "Perceptron")
        for what in (bounds, *((margins, explain) if linear else ())):
            yield "readings", f"{what.__name__} of {name} {options}", partial(read, what, name, options, "dense64")
    for name, options in (
        ("LinearSVC", {"loss": "hinge"}),
        ("LinearSVC", {}),
        ("SVC", {}),
        ("SVC", {"kernel": "linear", "C": np.inf}),
    ):
        data = "apart" if "C" in options else "two"
        for form in ("dense64", "csr64"):
            yield "readings", f"reduce of {name} {options} {form}", partial(read, reduced, name, options, form, data)
    yield "readings", "cost of SVC", partial(read, cost, "SVC", {}, "dense64")
    yield "readings", "weights and starts of the linear family", warm_starts
    yield "readings", "warm starts of kernel machines", warm_kernels
    yield "readings", "convert", conversions
    yield "readings", "bayes_rule", bayes
    yield "readings", "a table with texts, dates and gaps", typed_table


def read(what: Callable[..., Told], name: str, options: dict[str, Any], form: str, data: str = "two") -> Told:
    X, y = rows_of(data, form), classes_of(data)
    return what(getattr(gapless, name)(**options).fit(X, y), X, y)


def bounds(model: Any, X: Any, y: Any) -> Told:
    random = np.random.default_rng(3)
    new = random.normal(size=(120, X.shape[1]))
    found = gapless.bounds(model, X, y, X_test=new, y_test=(new[:, 0] > 0).astype(int))
    rows = [(row.method, row.value, row.randomised, row.figures) for row in found.rows]
    return {"bits": {"rows": bits_of(rows), "refused": bits_of(sorted(found.refused)), "shared": bits_of(found.shared)}}


def margins(model: Any, X: Any, y: Any) -> Told:
    found = gapless.margins(model, X, y)
    names = ("index", "predicted", "width", "score", "gamma", "angle", "in_strip", "violates", "correct", "radius")
    return {"bits": {name: bits_of(getattr(found, name)) for name in names}}


def explain(model: Any, X: Any, y: Any) -> Told:
    found = gapless.explain(model, X)
    return {
        "bits": {name: bits_of(getattr(found, name)) for name in ("weights", "order", "ranking", "norm", "intercept")}
    }


def cost(model: Any, X: Any, y: Any) -> Told:
    found = gapless.estimate_cost(model, X)
    return {"bits": {"bytes": bits_of(found.bytes)}}


def reduced(model: Any, X: Any, y: Any) -> Told:
    found = gapless.reduce(model, X, y)
    names = ("rows", "support", "offsets", "n_rows", "sample_weight", "radius")
    told: Told = {"bits": {name: bits_of(getattr(found, name, "none")) for name in names}}
    if getattr(found, "model", None) is not None:
        told["bits"]["model"] = bits_of(fitted(found.model))
    return told


def warm_starts() -> Told:
    X, y = rows_of("two"), classes_of("two")
    told: Told = {"bits": {}}
    for name, options in (
        ("LinearSVC", {"loss": "hinge"}),
        ("LinearSVC", {}),
        ("LogisticRegression", {}),
        ("Perceptron", {}),
    ):
        model = getattr(gapless, name)(warm_start=True, **options).fit(X, y)
        key = "eta0" if name == "Perceptron" else "C"
        model.set_params(**{key: 3.0}).fit(X, y)
        parts = told_by_model(model, X, y)
        told["bits"][f"{name} {options}"] = bits_of([sorted(parts["bits"].items()), parts["file"], parts["verdict"]])
        other = getattr(gapless, name)(init=model, **options).fit(X, y)
        told["bits"][f"{name} {options} init"] = bits_of(fitted(other))
    return told


def warm_kernels() -> Told:
    X, y, numbers = rows_of("two"), classes_of("two"), numbers_of("two")
    told: Told = {"bits": {}}
    for name, target in (("SVC", y), ("NuSVC", y), ("SVR", numbers), ("NuSVR", numbers), ("OneClassSVM", None)):
        key, value = ("nu", 0.4) if name.startswith(("Nu", "One")) else ("C", 3.0)
        model = getattr(gapless, name)(warm_start=True).fit(X, target)
        model.set_params(**{key: value}).fit(X, target)
        told["bits"][name] = bits_of(fitted(model))
    X, y = rows_of("machine"), classes_of("machine")
    K = np.exp(-0.1 * ((X[:500, None, :] - X[None, :500, :]) ** 2).sum(axis=2))
    told["bits"]["precomputed"] = bits_of(fitted(gapless.SVC(kernel="precomputed", C=5.0).fit(K, y[:500])))
    exact = told_by_judge(gapless.verify(gapless.SVC().fit(X[:300], y[:300]), X[:300], y[:300], rigorous=True))
    return {**told, **exact}


def conversions() -> Told:
    found = gapless.convert(C=2.0, n=100)
    texts = {
        to: gapless.convert(C=2.0, n=100, to=to)
        for to in ("lam", "C_mean", "sgd_alpha", "glmnet_lambda", "ridge_alpha")
    }
    units = ("C", "C_mean", "glmnet_lambda", "lam", "n", "ridge_alpha", "sgd_alpha")
    return {"bits": {**{name: bits_of(getattr(found, name)) for name in units}, "texts": bits_of(texts)}}


def bayes() -> Told:
    from scipy.stats import norm

    densities = [norm(0.0, 1.0).pdf, norm(1.0, 2.0).pdf]
    found = gapless.bayes_rule(densities, [0.4, 0.6], np.linspace(-3.0, 4.0, 50))
    return told_by_result(found)


def typed_table() -> Told:
    """A CSV file read, encoded, fitted, saved with its encoding, loaded, and asked about the file."""
    random = np.random.default_rng(5)
    lines = ["day,price,colour,size,answer"]
    for i in range(200):
        size = "" if i % 11 == 5 else str(i % 7)
        price, colour = random.normal() * 3 + i % 2, ("red", "blue", "green")[int(random.integers(3))]
        lines.append(
            f"20{10 + i % 9}-{1 + i % 12:02d}-{1 + i % 28:02d},{price:.2f},{colour},{size},{'yes' if i % 2 else 'no'}"
        )
    with tempfile.TemporaryDirectory() as folder:
        table, place = Path(folder) / "table.csv", Path(folder) / "model.gapless"
        table.write_text("\n".join(lines) + "\n", encoding="utf-8")
        data = gapless.read_data(table, target="answer", typed=True)
        encoding = gapless.Encoding.fit(data)
        X = encoding.transform(data)
        model = gapless.LogisticRegression().fit(X, data.y)
        gapless.save(model, place, target="answer", encoding=encoding)
        again = gapless.load(place)
        told = told_by_model(model, X, data.y)
        told["bits"] |= {
            "read": bits_of([data.X, data.y, data.names]),
            "encoded": bits_of(X),
            "encoding": bits_of(encoding.document()),
            "again": bits_of(again.predict(again.encoding_.transform(data))),
        }
    return told


CALLS = (separation, descent, choosing, paths, readings)
