"""One public call in a process of its own, and a digest of the model that came of it: `python first_contact.py CASE [SECONDS]`.

With SECONDS every limit that the call takes is set to that, and the first compile of the process sleeps for longer:
a limit that counted compiling would bind.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import sys
import tempfile
import time
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

#: Entries of a model file that hold times, or the limit itself.
TIMED = ("seconds", "compile_seconds", "time_limit", "origin")

Case = Callable[[float | None], list[str]]


def classes(K: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """90 rows with 5 columns, K overlapping classes named by texts."""
    random = np.random.default_rng(5)
    X = random.normal(size=(90, 5))
    scores = X[:, :1] * np.arange(K) + 0.8 * random.normal(size=(90, K))
    return X, np.array([f"class {k}" for k in scores.argmax(axis=1)])


def numbers() -> tuple[np.ndarray, np.ndarray]:
    """90 rows with 5 columns, and a target that is not quite linear in them."""
    random = np.random.default_rng(6)
    X = random.normal(size=(90, 5))
    return X, X @ [1.0, -2.0, 0.5, 0.0, 3.0] + np.sin(X[:, 0]) + 0.1 * random.normal(size=90)


def digest_of_file(path: Path) -> list[str]:
    """A line for each member of a model file, times left out."""
    with zipfile.ZipFile(path) as archive:
        lines = []
        for name in sorted(archive.namelist()):
            content = archive.read(name)
            if name == "model.json":
                content = json.dumps(without_times(json.loads(content)), sort_keys=True).encode()
            lines.append(f"{name} {hashlib.sha256(content).hexdigest()}")
        return lines


def without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_times(item) for key, item in value.items() if key not in TIMED}
    return [without_times(item) for item in value] if isinstance(value, list) else value


def digest_of_arrays(*arrays: Any) -> list[str]:
    return [hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest() for array in arrays]


def fit(name: str, data: tuple[np.ndarray, np.ndarray], **parameters: Any) -> Case:
    """The estimator's file, and its predictions."""

    def run(seconds: float | None) -> list[str]:
        import gapless

        model = getattr(gapless, name)(**parameters)
        if seconds is not None and "time_limit" in model.get_params():
            model.set_params(time_limit=seconds)
        X, y = data
        model.fit(X, y)
        with tempfile.TemporaryDirectory() as folder:
            gapless.save(model, Path(folder) / "model")
            predicted = "\n".join(map(str, model.predict(X).tolist()))
            return [*digest_of_file(Path(folder) / "model"), hashlib.sha256(predicted.encode()).hexdigest()]

    return run


def command(*options: str, target: Callable[[], tuple[np.ndarray, np.ndarray]] = classes, limited: bool = True) -> Case:
    """`gapless train` or `tune` on a CSV, then predict, verify and bounds of the file that it wrote."""

    def run(seconds: float | None) -> list[str]:
        from gapless.cli.app import main

        def call(*arguments: str) -> str:
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                code = main([*arguments])
            if code != 0:
                raise SystemExit(f"{arguments}: exit code {code}\n{out.getvalue()}")
            return out.getvalue()

        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            X, y = target()
            rows = [",".join([*(repr(float(v)) for v in x), str(label)]) for x, label in zip(X, y)]
            Path("table.csv").write_text("\n".join(["a,b,c,d,e,target", *rows]) + "\n")
            limit = [] if seconds is None or not limited else ["--time-limit", f"{seconds:g}"]
            call(options[0], "table.csv", "--target", "target", "--out", "model.gapless", *options[1:], *limit)
            lines = digest_of_file(Path("model.gapless"))
            call("verify", "model.gapless", "table.csv")
            if options[0] == "train" and target is not numbers:
                call("bounds", "model.gapless", "table.csv")
            call("report", "model.gapless", "table.csv", "--out", "page.html")
            predicted = call("predict", "model.gapless", "table.csv")
            return [*lines, hashlib.sha256(predicted.encode()).hexdigest()]

    return run


def separable(seconds: float | None) -> list[str]:
    import gapless

    X, y = classes()
    found = gapless.separability(X, y)
    apart = gapless.separability(X, X[:, 0] + X[:, 1] > 0.1)
    return [found.status, str(found.rows), str(found.multipliers), apart.status, *digest_of_arrays(apart.w, apart.b)]


def tuned(seconds: float | None) -> list[str]:
    import gapless

    X, y = classes()
    lines = []
    for model, grid in (
        (gapless.SVC(), {"C": [0.1, 1.0], "gamma": [0.1, 0.5]}),
        (gapless.LinearSVC(), {"C": [0.1, 1.0]}),
    ):
        found = gapless.tune(model, X, y, grid, time_limit=seconds)
        lines += [repr(found), *digest_of_arrays(found.decision_function(X))]
    return lines


def walked(seconds: float | None) -> list[str]:
    import gapless

    X, y = classes()
    lines = []
    for model in (gapless.LinearSVC(loss="hinge"), gapless.LogisticRegression(), gapless.SVC()):
        found = gapless.path(model, X, y, Cs=[0.01, 0.1, 1.0])
        lines += digest_of_arrays(*(found.decision_function(X, C) for C in (0.01, 0.1, 1.0)))
    return lines


def descended(seconds: float | None) -> list[str]:
    import gapless

    X, y = classes()
    lines = []
    for method in ("gd", "sgd", "minibatch", "newton", "momentum", "adam"):
        found = gapless.descend(gapless.linear_risk(X, y, loss="logistic", lam=0.1), method=method)
        lines += digest_of_arrays(found.theta)
    return lines


def checked(seconds: float | None) -> list[str]:
    """What is asked of a fitted model."""
    import gapless

    X, y = classes()
    model = gapless.LinearSVC(loss="hinge").fit(X, y)
    judged = gapless.verify(model, X, y, rigorous=True)
    kept = gapless.reduce(model, X, y)
    bounded = gapless.bounds(model, X, y)
    calibrated = gapless.calibrate(model, X, y)
    margins = gapless.margins(model, X, y)
    return [str(bool(judged)), str(kept), str(bounded), *digest_of_arrays(calibrated.predict_proba(X), margins.score)]


#: Cases that numpy computes: nothing is compiled.
WITHOUT_KERNELS = (
    "LinearSVC", "LinearSVC hinge", "LinearSVC three classes", "LinearSVC three classes, two threads", "LogisticRegression",
    "LogisticRegression three classes", "LinearRegression", "Ridge", "LeastSquaresClassifier", "LinearDiscriminantAnalysis",
    "QuadraticDiscriminantAnalysis",
)  # fmt: skip

CASES: dict[str, Case] = {
    "LinearSVC": fit("LinearSVC", classes()),
    "LinearSVC hinge": fit("LinearSVC", classes(), loss="hinge"),
    "LinearSVC three classes": fit("LinearSVC", classes(3), loss="hinge"),
    "LinearSVC three classes, two threads": fit("LinearSVC", classes(3), n_jobs=2),
    "LogisticRegression": fit("LogisticRegression", classes()),
    "LogisticRegression three classes": fit("LogisticRegression", classes(3)),
    "LogisticRegression C=inf": fit("LogisticRegression", classes(), C=np.inf),
    "SVC": fit("SVC", classes()),
    "SVC three classes": fit("SVC", classes(3)),
    "NuSVC": fit("NuSVC", classes(), nu=0.3),
    "SVR": fit("SVR", numbers()),
    "NuSVR": fit("NuSVR", numbers()),
    "OneClassSVM": fit("OneClassSVM", classes()),
    "Perceptron": fit("Perceptron", classes()),
    "LinearRegression": fit("LinearRegression", numbers()),
    "Ridge": fit("Ridge", numbers()),
    "LeastSquaresClassifier": fit("LeastSquaresClassifier", classes()),
    "GaussianDiscriminant": fit("GaussianDiscriminant", classes()),
    "LinearDiscriminantAnalysis": fit("LinearDiscriminantAnalysis", classes()),
    "QuadraticDiscriminantAnalysis": fit("QuadraticDiscriminantAnalysis", classes()),
    "DecisionTreeClassifier": fit("DecisionTreeClassifier", classes(), random_state=0),
    "DecisionTreeRegressor": fit("DecisionTreeRegressor", numbers(), random_state=0),
    "BaggingClassifier": fit("BaggingClassifier", classes(), random_state=0),
    "BaggingRegressor": fit("BaggingRegressor", numbers(), random_state=0),
    "AdaBoostClassifier": fit("AdaBoostClassifier", classes(), random_state=0),
    "AdaBoostRegressor": fit("AdaBoostRegressor", numbers(), random_state=0),
    "separability": separable,
    "tune": tuned,
    "path": walked,
    "descend": descended,
    "verify reduce bounds calibrate margins": checked,
    "gapless train": command("train", "--no-report"),
    "gapless train, a regression": command("train", "--no-report", target=numbers),
    "gapless train --model svm": command("train", "--model", "svm"),
    "gapless tune": command("tune", "--model", "svm"),
}


def sleep_in_first_compile(seconds: float) -> None:
    """Make the first compile of this process last for at least so long."""
    from numba.core import event

    from gapless._compile.on_demand import wake

    wake()  # registers the clock's own listener, which must hear of the compile before this one

    class Sleeper(event.Listener):
        slept = False

        def on_start(self, heard: Any) -> None:
            if not self.slept:
                self.slept = True
                time.sleep(seconds)

        def on_end(self, heard: Any) -> None:
            pass

    event.register("numba:compile", Sleeper())


if __name__ == "__main__":
    limit = float(sys.argv[2]) if len(sys.argv) > 2 else None
    if limit is not None:
        sleep_in_first_compile(limit + 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lines = CASES[sys.argv[1]](limit)
    print(json.dumps(lines))
