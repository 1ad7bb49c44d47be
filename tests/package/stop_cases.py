"""Calls that Ctrl-C may stop: every public estimator, with its options, and every public function that works for a while."""

from __future__ import annotations

import contextlib
import io
import os
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

import gapless

#: Public names that do no work which could be stopped: values, settings, and what only looks at its arguments.
IDLE = {
    "CertificateError", "ConvergenceWarning", "BackendWarning", "DataError", "Dataset", "Encoding", "IllConditionedWarning",
    "ModelFileError", "NotSeparable", "Schedule", "SeparationWarning", "Until", "__version__", "bayes_rule", "config_context",
    "convert", "estimate_cost", "gap_scorer", "get_config", "linear_risk", "patch", "show_versions", "certify",
    "unpatch", "to_onnx", "to_sklearn",
    "warmup",  # its kernels are compiled in threads of their own: tests/package/test_signals.py
}  # fmt: skip


class Case(NamedTuple):
    """A call, what it leaves behind, and whether it promises a model where it is stopped."""

    family: str
    name: str
    run: Callable[[], Any]
    #: The figures of a complete result, equal to the bit from one call to the next.
    figures: Callable[[Any], Any]
    #: What is wrong with what a stopped call left behind: nothing, or a sentence.
    left: Callable[[], str] = str
    #: Results of a stopped call that are as good as KeyboardInterrupt.
    fine: Callable[[Any], bool] = lambda result: False


def rows(n: int, d: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Rows; two classes that overlap, three of them, and numbers."""
    random = np.random.default_rng(n)
    X = random.normal(size=(n, d))
    score = X @ random.normal(size=d)
    score = score / score.std() + 0.7 * random.normal(size=n)
    return X, (score > 0).astype(int), np.digitize(score, [-0.6, 0.6]), score


# -- estimators ----------------------------------------------------------------------------------------------

#: Estimator, its options, rows × columns, and its target: 2 or 3 classes, 1: two classes that are apart, 0: a number.
FITS: list[tuple[str, dict[str, Any], tuple[int, int], int]] = [
    ("LinearSVC", {"loss": "hinge", "C": 10.0}, (8_000, 20), 2),
    ("LinearSVC", {"loss": "hinge", "solver": "coordinate_descent", "tol": 1e-8}, (3_000, 20), 2),
    ("LinearSVC", {"loss": "hinge", "solver": "interior_point"}, (4_000, 20), 2),
    ("LinearSVC", {"C": 10.0, "n_jobs": 2}, (20_000, 20), 2),
    ("LinearSVC", {"loss": "hinge"}, (3_000, 10), 3),
    ("LinearSVC", {"loss": "hinge", "n_jobs": 2}, (3_000, 10), 3),
    ("LinearSVC", {"solver": "sgd", "max_iter": 100}, (4_000, 10), 2),
    ("LinearSVC", {"C": np.inf}, (1_500, 8), 1),
    ("LogisticRegression", {"C": 10.0}, (20_000, 20), 2),
    ("LogisticRegression", {"solver": "coordinate_descent", "tol": 1e-8}, (3_000, 20), 2),
    ("LogisticRegression", {}, (8_000, 10), 3),
    ("LogisticRegression", {"C": np.inf}, (8_000, 10), 2),
    ("LogisticRegression", {"solver": "gd", "max_iter": 300}, (4_000, 10), 3),
    ("SVC", {"C": 10.0}, (2_500, 6), 2),
    ("SVC", {"C": 10.0}, (1_200, 6), 3),
    ("SVC", {"C": np.inf, "gamma": 2.0}, (300, 6), 1),
    ("SVC", {"kernel": "sigmoid"}, (800, 6), 2),
    ("NuSVC", {"nu": 0.4}, (1_500, 6), 2),
    ("SVR", {"C": 10.0}, (1_500, 6), 0),
    ("NuSVR", {}, (1_500, 6), 0),
    ("OneClassSVM", {"nu": 0.3}, (2_500, 6), -1),
    ("Perceptron", {"max_iter": 300}, (8_000, 10), 2),
    ("Perceptron", {"variant": "pocket", "max_iter": 100}, (4_000, 10), 3),
    ("Perceptron", {"variant": "averaged", "certify": True, "max_iter": 60}, (4_000, 10), 2),
    ("LinearRegression", {}, (60_000, 30), 0),
    ("Ridge", {}, (60_000, 30), 0),
    ("Lasso", {"alpha": 1e-3}, (20_000, 200), 0),
    ("ElasticNet", {"alpha": 1e-3}, (20_000, 200), 0),
    ("LeastSquaresClassifier", {}, (60_000, 20), 3),
    ("GaussianDiscriminant", {}, (60_000, 20), 3),
    ("LinearDiscriminantAnalysis", {}, (40_000, 20), 3),
    ("QuadraticDiscriminantAnalysis", {}, (40_000, 20), 3),
    ("DecisionTreeClassifier", {}, (10_000, 10), 3),
    ("DecisionTreeClassifier", {"max_leaf_nodes": 50, "n_jobs": 2}, (10_000, 10), 2),
    ("DecisionTreeRegressor", {}, (6_000, 10), 0),
    ("BaggingClassifier", {"n_estimators": 8, "random_state": 0}, (3_000, 10), 2),
    ("BaggingClassifier", {"n_estimators": 6, "random_state": 0, "n_jobs": 2, "oob_score": True}, (3_000, 10), 3),
    ("BaggingRegressor", {"n_estimators": 8, "random_state": 0}, (3_000, 10), 0),
    ("AdaBoostClassifier", {"n_estimators": 60}, (10_000, 10), 2),
    ("AdaBoostClassifier", {"n_estimators": 12, "random_state": 0, "estimator": "tree"}, (2_000, 8), 3),
    ("AdaBoostRegressor", {"n_estimators": 12, "random_state": 0}, (2_000, 8), 0),
]
#: Estimators that keep the model reached so far; the others are left as they were.
KEEP = {
    "LinearSVC", "LogisticRegression", "SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM", "Perceptron", "LinearRegression", "Ridge",
    "LeastSquaresClassifier", "AdaBoostClassifier", "AdaBoostRegressor",
}  # fmt: skip


class Fit:
    """A fit of a new estimator, and the estimator as the last fit left it."""

    def __init__(self, name: str, options: dict[str, Any], shape: tuple[int, int], target: int, thin: bool) -> None:
        X, two, three, numbers = rows(*shape)
        self.X: Any = sparse.csr_matrix(np.where(np.abs(X) > 0.6, X, 0.0)) if thin else X
        apart = np.where(X[:, 0] + 0.5 * X[:, 1] > 0, 1, 0)
        if target == 1:
            X[:, 0] += np.where(apart, 0.1, -0.1)
        self.y = {0: numbers, 1: apart, 2: two, 3: three, -1: None}[target]
        self.kind, self.options = getattr(gapless, name), options
        self.model: Any = None

    def new(self) -> Any:
        options = dict(self.options)
        if options.get("estimator") == "tree":
            options["estimator"] = gapless.DecisionTreeClassifier(max_depth=4)
        return self.kind(**options)

    def __call__(self) -> Any:
        self.model = self.new()
        return self.model.fit(self.X) if self.y is None else self.model.fit(self.X, self.y)

    def figures(self, model: Any) -> Any:
        return model.predict(self.X[:500])

    def left(self) -> str:
        name = self.kind.__name__
        if name not in KEEP:
            # A Ctrl-C that came when the fit was complete finds it complete.
            return "" if not fitted(self.model) or self.complete() else "it is half fitted"
        if not fitted(self.model):  # before the fit had begun
            return "" if not hasattr(self.model, "n_features_in_") else "it kept no model"
        certificate = self.model.certificate_
        if not np.isfinite(np.asarray(self.model.predict(self.X[:500]), dtype=float)).all():
            return "its answers are not finite"
        y = np.zeros(self.X.shape[0]) if self.y is None else self.y
        verdict = gapless.verify(self.model, self.X, y)
        # A hard margin that is not kept has an infinite objective, and the judge says so.
        if not verdict and getattr(certificate, "primal", 0.0) != np.inf:
            return f"its certificate is not true: {verdict}"
        return ""

    def complete(self) -> bool:
        return hasattr(self.model, "certificate_") and bool(gapless.verify(self.model, self.X, self.y))


def fitted(model: Any) -> bool:
    return any(name.endswith("_") and not name.startswith("_") and name not in ("n_features_in_", "feature_names_in_")
               for name in vars(model))  # fmt: skip


def estimators() -> Iterator[Case]:
    for name, options, shape, target in FITS:
        told = ", ".join(f"{key}={value}" for key, value in options.items())
        # Every third fit reads sparse rows, where its estimator takes them.
        for thin in (
            (False, True) if name in ("LinearSVC", "LogisticRegression", "SVC", "Ridge") and not options else (False,)
        ):
            fit = Fit(name, options, shape, target, thin)
            label = f"{name}({told}), {3 if target == 3 else 2} classes" if target > 0 else f"{name}({told})"
            yield Case(name, label + (", CSR" if thin else ""), fit, fit.figures, fit.left)


# -- functions -----------------------------------------------------------------------------------------------


def functions(folder: Path) -> Iterator[Case]:
    X, two, three, numbers = rows(1_000, 6)
    small, small_two = X[:400], two[:400]
    svm = gapless.LinearSVC(loss="hinge").fit(X[:800], two[:800])
    logistic = gapless.LogisticRegression().fit(X[:800], two[:800])
    machine = gapless.SVC().fit(small, small_two)
    tree = gapless.DecisionTreeClassifier(max_depth=6, random_state=0).fit(X, two)

    def interrupted(model: Any) -> bool:
        return model.tuning_.status == "interrupted"

    def of_tuning(model: Any) -> Any:
        return [str(model.tuning_.best_params), model.predict(X[:200])]

    for name, model, y, grid in (
        ("LinearSVC", gapless.LinearSVC(loss="hinge"), two, {"C": [0.01, 0.1, 1.0, 10.0]}),
        ("LogisticRegression", gapless.LogisticRegression(), three, {"C": [0.1, 1.0]}),
        ("SVC", gapless.SVC(), two, {"C": [1.0, 10.0], "gamma": [0.1, 1.0]}),
        ("Ridge", gapless.Ridge(), numbers, {"alpha": [0.1, 1.0, 10.0]}),
        ("tree", gapless.DecisionTreeClassifier(random_state=0), two, {"max_depth": [2, 4, 8]}),
    ):
        yield Case("tune", f"tune {name}", partial(gapless.tune, model, X, y, grid, cv=3), of_tuning, fine=interrupted)

    def of_path(path: Any) -> Any:
        return [path.Cs, path.model_at(1.0).predict(X[:200])]

    for name, model, y in (
        ("hinge", gapless.LinearSVC(loss="hinge"), two), ("squared hinge", gapless.LinearSVC(), two),
        ("logistic", gapless.LogisticRegression(), two), ("SVC", gapless.SVC(), two), ("Ridge", gapless.Ridge(), numbers),
    ):  # fmt: skip
        yield Case("path", f"path of {name}", partial(gapless.path, model, X, y, [0.01, 0.1, 1.0, 10.0]), of_path)
    exact = partial(gapless.path, gapless.LinearSVC(loss="hinge"), small, small_two, (0.01, 1.0), exact=True)
    yield Case("path", "exact path", exact, lambda path: [path.Cs])

    new = (X[800:], two[800:])
    for method in ("sigmoid", "isotonic", "beta"):
        yield Case("calibrate", f"calibrate by {method}", partial(gapless.calibrate, svm, *new, method=method),
                   lambda found: found.predict_proba(X[:100]))  # fmt: skip
    bounds = partial(gapless.bounds, svm, X[:800], two[:800], X_test=new[0], y_test=new[1])
    yield Case("bounds", "bounds", bounds, lambda found: [str(found)])
    yield Case(
        "bounds", "bounds of an SVC", partial(gapless.bounds, machine, small, small_two), lambda found: [str(found)]
    )
    overlap = partial(gapless.separability, X, two)
    apart = partial(gapless.separability, X[:800], (X[:800, 0] > 0.0).astype(int))
    yield Case("separability", "separability", overlap, lambda found: [found.status])
    yield Case("separability", "separability of classes apart", apart, lambda found: [found.status, found.margin])
    yield Case("reduce", "reduce", partial(gapless.reduce, svm, X[:800], two[:800]), lambda found: [str(found)])
    yield Case("margins", "margins", partial(gapless.margins, svm, X[:800], two[:800]), lambda found: [str(found)])
    yield Case("explain", "explain", partial(gapless.explain, logistic), lambda found: [str(found)])
    cost = [[0.0, 1.0], [5.0, 0.0]]
    yield Case("threshold_for", "threshold_for", partial(gapless.threshold_for, logistic, cost, *new),
               lambda found: [str(found)])  # fmt: skip
    for rigorous in (False, True):
        check = partial(gapless.verify, svm, X[:800], two[:800], rigorous=rigorous)
        yield Case("verify", f"verify, rigorous={rigorous}", check, lambda found: [bool(found)])
    yield Case("verify", "verify a tree", partial(gapless.verify, tree, X, two), lambda found: [bool(found)])
    risk = gapless.linear_risk(X, two, loss="logistic", lam=0.01)
    for method in ("gd", "sgd", "newton"):
        yield Case("descend", f"descend by {method}",
                   partial(gapless.descend, risk, method=method, stop=gapless.Until(epochs=200)),
                   lambda found: [found.theta])  # fmt: skip
    yield from of_files(folder, X, two, svm)


def of_files(folder: Path, X: np.ndarray, y: np.ndarray, model: Any) -> Iterator[Case]:
    table, saved, kept = folder / "table.csv", folder / "saved.gapless", folder / "kept.gapless"
    colour = np.random.default_rng(0).choice(["red", "green", "blue"], size=y.size)
    lines = [
        ",".join([*map(repr, row.tolist()), word, "yes" if label else "no"]) for row, word, label in zip(X, colour, y)
    ]
    table.write_text("\n".join(["a,b,c,d,e,f,colour,answer", *lines]) + "\n")
    gapless.save(model, kept)

    def reloaded(path: Path) -> str:
        """A file is whole or is not there."""
        if path.exists():
            gapless.load(path)
        return ""

    def save() -> Any:
        gapless.save(model, saved)
        return gapless.load(saved)

    yield Case("save", "save", save, lambda found: found.predict(X[:100]), partial(reloaded, saved))
    yield Case("load", "load", partial(gapless.load, kept), lambda found: found.predict(X[:100]))
    plain = folder / "numbers.csv"
    plain.write_text(
        "\n".join(["a,b,c,d,e,f,answer", *(",".join([*line.split(",")[:6], "1"]) for line in lines)]) + "\n"
    )
    yield Case(
        "read_data", "read_data", partial(gapless.read_data, plain, target="answer"), lambda found: [found.X.shape]
    )
    yield Case(
        "read_blocks",
        "read_blocks",
        lambda: list(gapless.read_blocks(plain, target="answer")),
        lambda found: [block[0].shape for block in found],
    )
    import pandas

    frame = pandas.read_csv(table)
    yield Case(
        "from_frame", "from_frame", partial(gapless.from_frame, frame, target="answer"), lambda found: [found.X.shape]
    )
    page = folder / "page.html"
    yield Case(
        "report", "report", partial(gapless.report, model, X[:800], y[:800], file=page), lambda found: [page.exists()]
    )

    from gapless.cli.app import main
    from gapless.cli.guard import Code

    def command(*arguments: str) -> int:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            return main(list(arguments))

    made, brief = folder / "made.gapless", folder / "brief.csv"
    brief.write_text("\n".join(["a,b,c,d,e,f,colour,answer", *lines[:300]]) + "\n")
    for name, given in (
        ("train", ("train", table, "--model", "svm", "-C", "10")),
        ("train", ("train", brief, "--time-limit", "1", "--no-report")),
        ("tune", ("tune", table, "--model", "svm", "--grid", "C=0.1,1", "--folds", "3")),
    ):
        line = (*map(str, given), "--target", "answer", "-o", str(made))
        # How far a comparison comes in a second depends on the machine: it ends well, that is all.
        yield Case(name, f"gapless {' '.join(map(str, given[2:]))}", partial(command, *line), lambda code: [code],
                   partial(reloaded, made), lambda code: code in (0, Code.interrupted))  # fmt: skip


def cases() -> list[Case]:
    folder = Path(tempfile.mkdtemp(prefix=f"gapless-stops-{os.getpid()}-"))
    return [*estimators(), *functions(folder)]
