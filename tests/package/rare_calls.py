"""Public calls on data as people have it: other types and orders of numbers, weights, missing values, categories, several
outputs, rows in the tens of thousands; and with options that hardly anybody gives."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import gapless
from tests.package.calls import CLASSIFIERS, FORMS, REGRESSORS, shaped
from tests.package.rare_fits import Call, fit, fit_shaped, quietly
from tests.package.rare_tree_calls import ensembles, trees


def rare_calls() -> Iterator[Call]:
    for calls in (
        types,
        weights,
        separable,
        trees,
        ensembles,
        machines,
        linear,
        squares,
        perceptrons,
        large,
        descents,
        functions,
        files,
    ):
        for label, run in calls():
            yield label, quietly(run)


def read_only(array: np.ndarray) -> np.ndarray:
    array = array.copy()
    array.flags.writeable = False
    return array


def other_types(X: np.ndarray) -> dict[str, Any]:
    """The same table, whole numbers, in types and orders that a kernel is not compiled for."""
    csr = sparse.csr_matrix(X)
    wide = csr.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    still = csr.copy()
    still.data, still.indices, still.indptr = map(read_only, (csr.data, csr.indices, csr.indptr))
    unsorted = sparse.csr_matrix(
        (csr.data[::-1].copy(), csr.indices[::-1].copy(), csr.nnz - csr.indptr[::-1].copy()), X.shape
    )
    return {
        "int64": X.astype(np.int64), "int8": X.astype(np.int8), "bool": X > 0, "float16": X.astype(np.float16),
        "big endian": X.astype(">f8"), "Fortran order": np.asfortranarray(X), "every second row": np.repeat(X, 2, axis=0)[::2],
        "read-only": read_only(X), "list": X.tolist(), "CSC": sparse.csc_matrix(X), "COO": sparse.coo_matrix(X),
        "CSR with 64-bit indices": wide, "CSR, read-only": still, "CSR, unsorted": unsorted, "CSR of int64": csr.astype(np.int64),
        "CSR array": sparse.csr_array(X),
    }  # fmt: skip


def whole_numbers(n: int = 80) -> np.ndarray:
    return np.random.default_rng(3).integers(0, 3, size=(n, 5)).astype(float)


def types() -> Iterator[Call]:
    X = whole_numbers()
    random = np.random.default_rng(4)
    for name in (*CLASSIFIERS, *REGRESSORS):
        labels = (X[:, 0] + random.normal(size=80) > 1.0).astype(int)
        numbers = X[:, 0] + random.normal(size=80)
        few = (
            {"n_estimators": 3} if name.startswith(("Bagging", "AdaBoost")) else {"nu": 0.3} if name == "NuSVC" else {}
        )
        if name == "OneClassSVM":
            targets: dict[str, Any] = {"": None}
        elif name in CLASSIFIERS:
            targets = {
                "": labels,
                "texts": np.array(["no", "yes"])[labels],
                "bool": labels > 0,
                "int8": read_only(labels.astype(np.int8)),
                "float32": labels.astype(np.float32),
                "list": labels.tolist(),
            }
        else:
            targets = {
                "": numbers,
                "float32": numbers.astype(np.float32),
                "int32": np.round(numbers).astype(np.int32),
                "read-only": read_only(numbers),
                "every second": np.repeat(numbers, 2)[::2],
            }
        for kind, given in other_types(X).items():
            yield f"{name}, X {kind}", partial(fit, partial(getattr(gapless, name), **few), given, targets[""])
        for kind, y in targets.items():
            yield f"{name}, y {kind}", partial(fit, partial(getattr(gapless, name), **few), X, y)


def weights() -> Iterator[Call]:
    random = np.random.default_rng(5)
    X = random.normal(size=(80, 5))
    w = random.integers(1, 4, size=80).astype(float)
    for name, form in product((*CLASSIFIERS, *REGRESSORS), FORMS):
        if name in ("LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"):
            continue
        few = (
            {"n_estimators": 3} if name.startswith(("Bagging", "AdaBoost")) else {"nu": 0.3} if name == "NuSVC" else {}
        )
        y = None if name == "OneClassSVM" else X[:, 0] if name in REGRESSORS else np.arange(80) % 2
        kinds = {
            "float64": w,
            "float32": w.astype(np.float32),
            "int64": w.astype(np.int64),
            "read-only": read_only(w),
            "some 0": w - 1.0,
        }
        for kind, given in kinds.items() if form == "dense float64" else [("float64", w)]:
            yield (
                f"{name}, weights {kind}, {form}",
                partial(fit, partial(getattr(gapless, name), **few), shaped(X, form), y, sample_weight=given),
            )


def separable() -> Iterator[Call]:
    """Hard margins, and logistic regression without a penalty, where classes are apart and where they are not."""
    random = np.random.default_rng(6)
    X = random.normal(size=(90, 3))
    apart = X + 6.0 * np.eye(3)[np.arange(90) % 3]
    for form, classes, n_jobs in product(FORMS, (2, 3), (None, 2)):
        y = np.arange(90) % 3 % classes
        for loss in ("hinge", "squared_hinge"):
            for more in ({}, {"fit_intercept": False}, {"penalize_intercept": True}):
                model = partial(gapless.LinearSVC, C=np.inf, loss=loss, n_jobs=n_jobs, **more)
                yield f"hard margin, {loss}, {more}, {form}, {classes}", partial(fit, model, shaped(apart, form), y)
        for kernel in ("rbf", "linear", "poly"):
            model = partial(gapless.SVC, C=np.inf, kernel=kernel, n_jobs=n_jobs)
            yield f"hard margin, {kernel}, {form}, {classes}", partial(fit, model, shaped(apart, form), y)
        for rows in (X, apart):
            model = partial(gapless.LogisticRegression, C=np.inf, n_jobs=n_jobs)
            yield f"no penalty, {form}, {classes}", partial(fit, model, shaped(rows, form), y)


def machines() -> Iterator[Call]:
    random = np.random.default_rng(10)
    X = random.normal(size=(80, 4))
    names = ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM")
    tables = {
        "plain": X,
        "bits": (random.random((80, 40)) < 0.3).astype(float),
        "whole": random.integers(0, 256, size=(80, 200)).astype(float),
        "wide": random.normal(size=(40, 300)),
    }
    for name, (kind, rows), form, kernel in product(names, tables.items(), FORMS, ("rbf", "poly", "sigmoid", "linear")):
        few = {"nu": 0.3} if name == "NuSVC" else {}
        y = rows[:, 0] if name.endswith("R") else None if name == "OneClassSVM" else np.arange(rows.shape[0]) % 3
        model = partial(getattr(gapless, name), kernel=kernel, **few)
        yield f"{name}, {kernel}, {kind}, {form}", partial(fit, model, shaped(rows, form), y, judged=False)
    for name in names:
        few = {"nu": 0.3} if name == "NuSVC" else {}
        y = X[:, 0] if name.endswith("R") else None if name == "OneClassSVM" else np.arange(80) % 2
        for kind, K in {
            "float64": X @ X.T,
            "float32": (X @ X.T).astype(np.float32),
            "Fortran": np.asfortranarray(X @ X.T),
            "read-only": read_only(X @ X.T),
        }.items():
            for C in ({}, {"C": 100.0}) if name in ("SVC", "SVR") else ({},):
                model = partial(getattr(gapless, name), kernel="precomputed", **few, **C)
                yield f"{name}, precomputed {kind}", partial(fit, model, K, y, judged=False)
        model = partial(getattr(gapless, name), kernel=lambda A, B: A @ B.T + 1.0, **few)
        yield f"{name}, callable", partial(fit, model, X, y, judged=False)
    many = random.normal(size=(3100, 4))
    for form, kernel, name in product(FORMS, ("rbf", "linear"), ("SVC", "SVR")):
        y = many[:, 0] + random.normal(size=3100)
        made = partial(getattr(gapless, name), kernel=kernel, C=0.1, tol=1e-2)
        target = y if name == "SVR" else (y > 0).astype(int)
        yield f"{name}, {kernel}, 3100 rows, {form}", partial(fit, made, shaped(many, form), target, judged=False)
    bits = (random.random((3100, 40)) < 0.3).astype(float)
    for form in FORMS:
        yield (
            f"SVC, 3100 rows of bits, {form}",
            partial(
                fit,
                partial(gapless.SVC, tol=1e-2),
                shaped(bits, form),
                (bits[:, 0] + bits[:, 1] > 1).astype(int),
                judged=False,
            ),
        )
    for form in FORMS:
        given_rows = shaped(X, form)

        def again(X=given_rows) -> None:
            y = np.arange(80) % 2
            model = gapless.SVC(warm_start=True).fit(X, y)
            model.set_params(C=2.0).fit(X, y)
            gapless.SVC(init=model).fit(X, y)
            gapless.reduce(model, X, y)
            gapless.bounds(model, X, y)

        yield f"SVC resumed and reduced, {form}", again


def linear() -> Iterator[Call]:
    random = np.random.default_rng(11)
    X = random.normal(size=(80, 4))
    models: list[tuple[str, dict[str, Any]]] = [
        ("LinearSVC", {"loss": "hinge"}), ("LinearSVC", {}), ("LogisticRegression", {}), ("Perceptron", {}),
    ]  # fmt: skip
    for (name, given), form, classes in product(models, FORMS, (2, 3)):
        y = np.digitize(X[:, 0] + random.normal(size=80), [-0.5, 0.5][: classes - 1])

        given_rows = shaped(X, form)

        def again(name=name, given=given, X=given_rows, y=y) -> None:
            model = getattr(gapless, name)(warm_start=True, **given).fit(X, y)
            model.fit(X, y)
            getattr(gapless, name)(init=model, **given).fit(X, y)
            model.sparsify().predict(X)
            if name == "Perceptron":
                gapless.Perceptron().partial_fit(X, y, classes=np.unique(y)).partial_fit(X, y)
                return
            if name == "LinearSVC" or len(model.classes_) == 2:
                assert model.slack_ is not None
                assert model.slackness_ is not None
            gapless.margins(model, X, y)
            gapless.explain(model, X)
            gapless.verify(model, X, y, rigorous=True)

        yield f"{name} resumed and read, {given}, {form}, {classes} classes", again
        for limit in ({"n_jobs": 2}, {"time_limit": 1e-9}, {"max_iter": 1}):
            made = partial(getattr(gapless, name), **limit, **given)
            yield f"{name}, {limit}, {form}, {classes}", partial(fit, made, shaped(X, form), y)


def squares() -> Iterator[Call]:
    random = np.random.default_rng(12)
    X = random.normal(size=(80, 4))
    wide = random.normal(size=(30, 60))
    Y = np.stack([X[:, 0], X[:, 1] ** 2], axis=1)
    w = random.integers(1, 3, size=80).astype(float)
    for form, weighted in product(FORMS, (False, True)):
        more = {"sample_weight": w} if weighted else {}
        for label, model in (
            ("LinearRegression", gapless.LinearRegression),
            ("Ridge", gapless.Ridge),
            ("two alphas", partial(gapless.Ridge, [1.0, 2.0])),
        ):
            for y in (Y, Y[:, 0], Y.astype(np.float32)):
                if label == "two alphas" and y.ndim == 1:
                    continue
                yield f"{label}, {form}, {y.shape}, {weighted}", partial(fit, model, shaped(X, form), y, **more)
        twice = shaped(np.hstack([X, X[:, :1]]), form)
        yield f"LinearRegression, equal columns, {form}", partial(fit, gapless.LinearRegression, twice, Y, **more)
    for form, model in product(FORMS, (gapless.LinearRegression, gapless.Ridge)):
        yield f"{model.__name__}, wide, {form}", partial(fit, model, shaped(wide, form), wide[:, 0] ** 2)


def perceptrons() -> Iterator[Call]:
    random = np.random.default_rng(13)
    X = random.normal(size=(80, 4))
    apart = X + 5.0 * (np.arange(80) % 2)[:, None]
    variants: tuple[dict[str, Any], ...] = (
        {}, {"variant": "pocket"}, {"variant": "averaged"}, {"variant": "voted"}, {"penalty": "l1"}, {"penalty": "elasticnet"},
    )  # fmt: skip
    extras: tuple[dict[str, Any], ...] = (
        {}, {"early_stopping": True}, {"class_weight": "balanced"}, {"shuffle": False}, {"certify": True}, {"trace": True},
        {"time_limit": 1e-9}, {"max_iter": 1}, {"fit_intercept": False}, {"eta0": 0.5}, {"n_jobs": 2},
    )  # fmt: skip
    for variant, extra, form, (kind, rows), classes in product(
        variants, extras, FORMS, {"noise": X, "apart": apart}.items(), (2, 3)
    ):
        if classes == 3 and (extra or form != "dense float64"):
            continue
        yield (
            f"Perceptron({variant}, {extra}), {form}, {kind}, {classes} classes",
            partial(
                fit,
                partial(gapless.Perceptron, **variant, **extra),
                shaped(rows, form),
                np.arange(80) % classes,
                judged=False,
            ),
        )


def large() -> Iterator[Call]:
    """Rows that are copied into less memory: mostly zeros, columns of two values, sparse rows of ones; and rows that are not."""
    random = np.random.default_rng(14)
    n, d = 40_000, 101
    tables = {
        "thin": np.where(random.random((n, d)) < 0.05, 1.5, 0.0),
        "marks": np.where(random.random((n, d)) < 0.1, 2.0, -0.5),
        "ones": (random.random((n, d)) < 0.05).astype(float),
    }
    models: list[tuple[str, dict[str, Any]]] = [
        ("LinearSVC", {"loss": "hinge"}),
        ("LinearSVC", {}),
        ("LogisticRegression", {}),
        ("Perceptron", {"max_iter": 3}),
        ("Ridge", {}),
    ]
    for (kind, X), (name, given), form in product(tables.items(), models, FORMS):
        y = (X[:, :50].sum(axis=1) + random.normal(size=n) > X[:, 50:].sum(axis=1)).astype(int)
        made = partial(getattr(gapless, name), **given, **({} if name == "Ridge" else {"tol": 1e-2}))
        yield f"{name}({given}), 40,000 rows, {kind}, {form}", partial(fit_shaped, made, X, form, y)


def descents() -> Iterator[Call]:
    random = np.random.default_rng(15)
    X = random.normal(size=(60, 4))
    y = (X[:, 0] + random.normal(size=60) > 0).astype(int)
    wide = sparse.csr_matrix(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    forms: dict[str, Any] = {form: shaped(X, form) for form in FORMS} | {"CSR with 64-bit indices": wide}
    methods: list[dict[str, Any]] = [{"method": m} for m in ("gd", "sgd", "minibatch", "momentum", "adam", "newton")]
    methods += [{"method": "sgd", "literal": True}]
    extras: list[dict[str, Any]] = [
        {},
        {"average": "uniform"},
        {"trace": False},
        {"trace": 3},
        {"visits": "sequential"},
        {"visits": np.arange(60)},
        {"batch": 7},
        {"start": "random"},
        {"schedule": 0.01},
        {"schedule": "inverse"},
        {"schedule": "backtracking"},
        {"schedule": "exact"},
    ]
    for (form, rows), method, extra, loss in product(
        forms.items(), methods, extras, ("hinge", "squared_hinge", "logistic")
    ):

        def run(rows=rows, method=method, extra=extra, loss=loss) -> None:
            try:
                gapless.descend(
                    gapless.linear_risk(rows, y, loss=loss, lam=0.01), stop=gapless.Until(epochs=3), **method, **extra
                )
            except (ValueError, NotImplementedError):
                return  # a rule that does not go with this method

        yield f"descend({method}, {extra}), {loss}, {form}", run
    many = random.normal(size=(8_100, 51))
    for form, loss, method in product(FORMS, ("hinge", "squared_hinge", "logistic"), methods):
        if method["method"] != "newton":
            big = partial(gapless.linear_risk, shaped(many, form), (many[:, 0] > 0).astype(int), loss=loss, lam=0.01)
            yield (
                f"descend({method}), {loss}, {form}, 413,100 values",
                lambda r=big, m=method: gapless.descend(r(), stop=gapless.Until(epochs=2), **m),
            )
    for form, name in product(FORMS, ("LinearSVC", "LogisticRegression")):
        for solver in ("sgd", "minibatch", "gd", "momentum", "adam"):
            for classes in (2, 3):
                made = partial(getattr(gapless, name), solver=solver, max_iter=2)
                y_many = np.digitize(many[:, 0], [-0.5, 0.5][: classes - 1])
                yield (
                    f"{name} by {solver}, {form}, {classes} classes, 413,100 values",
                    partial(fit, made, shaped(many, form), y_many, judged=False),
                )
    for form, rows in forms.items():
        for offset, w in product(("free", "penalized", "none"), (None, np.arange(60) % 3 + 1.0)):
            for method in ("gd", "sgd", "minibatch"):

                def run(rows=rows, offset=offset, w=w, method=method) -> None:
                    try:
                        risk = gapless.linear_risk(rows, y, lam=0.01, offset=offset, sample_weight=w)
                    except ValueError:
                        return
                    gapless.descend(risk, method=method, stop=gapless.Until(epochs=3))

                yield f"descend {method}, offset {offset}, {'weights' if w is not None else ''}, {form}", run


def functions() -> Iterator[Call]:
    random = np.random.default_rng(16)
    X = random.normal(size=(80, 4))
    y = (X[:, 0] + random.normal(size=80) > 0).astype(int)
    w = random.integers(1, 3, size=80).astype(float)
    for kind, rows in other_types(whole_numbers()).items():
        if kind != "list":
            yield f"separability, {kind}", lambda X=rows: gapless.separability(X, y)
    for form, intercept in product(FORMS, (False, True)):
        rows = shaped(X, form)
        yield (
            f"separability, {form}, {intercept}, weights",
            lambda X=rows, i=intercept: gapless.separability(X, y, i, w),
        )
    for form in FORMS:
        rows = shaped(X, form)
        for name, given, grid in (
            ("LinearSVC", {"loss": "hinge"}, [0.1, 1.0]), ("LinearSVC", {}, [0.1, 1.0]), ("LogisticRegression", {}, [0.1, 1.0]),
            ("SVC", {}, [0.1, 1.0]), ("Ridge", {}, [0.1, 1.0]), ("SVR", {}, [0.1, 1.0]),
        ):  # fmt: skip
            for target in (y, np.arange(80) % 3):
                model = partial(getattr(gapless, name), **given)
                values = X[:, 0] ** 2 if name in ("Ridge", "SVR") else target

                def follow(model=model, X=rows, y=values, grid=grid) -> None:
                    try:
                        found = gapless.path(model(), X, y, grid, sample_weight=w)
                    except (NotImplementedError, ValueError, TypeError):
                        return
                    found.model_at(0.5)

                yield f"path of {name}({given}), {form}, weights", follow
        for name in (
            "LinearSVC",
            "LogisticRegression",
            "SVC",
            "DecisionTreeClassifier",
            "Perceptron",
            "AdaBoostClassifier",
            "BaggingClassifier",
        ):

            def judged(name=name, X=rows) -> None:
                few = {"n_estimators": 3} if name.startswith(("Bagging", "AdaBoost")) else {}
                model = fit(partial(getattr(gapless, name), **few), X[:60], y[:60])
                if model is None:
                    return
                gapless.bounds(model, X[:60], y[:60], X_test=X[60:], y_test=y[60:])
                gapless.verify(model, X[:60], y[:60], rigorous=True)
                for method in ("sigmoid", "isotonic", "beta"):
                    gapless.calibrate(model, X, y, method=method, cv=2)
                gapless.report(model, X[:60], y[:60], pictures=False)

            yield f"bounds, calibrate and report of {name}, {form}", judged
    for name, grid in (
        ("DecisionTreeClassifier", {"max_depth": [1, 2]}),
        ("Perceptron", {"alpha": [1e-4, 1e-2]}),
        ("AdaBoostClassifier", {"n_estimators": [2, 3]}),
        ("NuSVC", {"nu": [0.2, 0.3]}),
        ("LeastSquaresClassifier", {"alpha": [0.1, 1.0]}),
        ("LinearSVC", {"C": [0.1, 1.0]}),
    ):
        for form in ("dense float64", "CSR float32"):
            model = getattr(gapless, name)()
            yield (
                f"tune {name}, {form}, weights",
                partial(gapless.tune, model, shaped(X, form), y, grid, cv=2, sample_weight=w),
            )


def files() -> Iterator[Call]:
    random = np.random.default_rng(17)
    for n, dtype in product((50, 3000), (np.float64, np.float32)):

        def read(n=n, dtype=dtype) -> None:
            X = random.normal(size=(n, 3))
            with tempfile.TemporaryDirectory() as place:
                folder = Path(place)
                (folder / "a.csv").write_text(
                    "a,b,c,y\n" + "".join(f"{a:.6f},{b:.3e},{c:.2f},{'pq'[k % 2]}\n" for k, (a, b, c) in enumerate(X))
                )
                (folder / "b.csv").write_text(
                    "a;b;c;y\n"
                    + "".join(f"{a:.3f};{b:.3f};x{k % 4};{k % 2}\n".replace(".", ",") for k, (a, b, _) in enumerate(X))
                )
                (folder / "c.svm").write_text(
                    "".join(f"{k % 2} 1:{a:.4f} 3:{c:.4f}\n" for k, (a, _, c) in enumerate(X))
                )
                np.savez(folder / "d.npz", X=X, y=np.arange(n) % 2)
                for path in sorted(folder.iterdir()):
                    for typed in (False, True):
                        try:
                            gapless.read_data(
                                path, dtype=dtype, typed=typed, **({"target": "y"} if path.suffix == ".csv" else {})
                            )
                        except (gapless.DataError, ValueError):
                            continue  # texts where numbers are asked for

        yield f"read_data, {n} rows, {np.dtype(dtype).name}", read
