"""This tree against another one: the same fits, in turns, on one machine. The gate of a change that should cost no time.

    python -m benchmarks.against OTHER                 OTHER is a checkout (its src/ is taken), usually of the state before
    python -m benchmarks.against OTHER --only kernel,tree --turns 21
    python -m benchmarks.against OTHER --processor     seconds of the processor, where others use the machine

Each tree has one process, which makes the data and fits every row once before anything is timed. Then the two take turns; a
row's figure is the ratio of the medians of 11 turns, this tree's over the other's. A row repeats its call until it takes 40 ms.
A row that is 10 % slower, or a table whose geometric mean is 3 % slower, is marked, and the command then ends with 1.

The rows are a sample of the tables of benchmarks/RESULTS.md, small enough for a few minutes; they use public names alone.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

Call = Callable[[], object]
ROW_LIMIT, TABLE_LIMIT = 1.10, 1.03


@cache
def data(n: int, d: int, form: str = "dense", classes: int = 2) -> tuple[Any, Any, Any]:
    """Rows with noise, their classes, and numbers to be predicted. Forms: dense, float32, CSR, marks (columns of two values)."""
    import numpy as np
    from scipy import sparse

    random = np.random.default_rng(n + d + classes)
    if form == "CSR":
        X: Any = sparse.random(n, d, density=0.01, random_state=np.random.RandomState(1), format="csr")
    elif form == "marks":
        X = (random.random((n, d)) < 0.15).astype(float)
        X[:, : d // 5] = random.normal(size=(n, d // 5))
    else:
        X = random.normal(size=(n, d)).astype(np.float32 if form == "float32" else np.float64)
    scores = np.asarray(X @ random.normal(size=(d, classes)))
    scores = scores / scores.std() + 0.6 * random.normal(size=scores.shape)
    return X, scores.argmax(axis=1), scores[:, 0]


def fit(name: str, of: tuple[Any, Any, Any], numbers: bool = False, **parameters: Any) -> Call:
    import gapless

    X, y, values = of
    return lambda: getattr(gapless, name)(**parameters).fit(X, values if numbers else y)


def call(function: str, name: str, of: tuple[Any, Any, Any], **parameters: Any) -> Call:
    """A public function of a fitted model and its data."""
    import gapless

    model = fit(name, of, **parameters)()
    return lambda: getattr(gapless, function)(model, of[0], of[1])


def predict(name: str, of: tuple[Any, Any, Any], **parameters: Any) -> Call:
    model: Any = fit(name, of, **parameters)()
    return lambda: model.predict(of[0])


def tune(name: str, of: tuple[Any, Any, Any], grid: dict[str, list[float]], **parameters: Any) -> Call:
    import gapless

    return lambda: gapless.tune(getattr(gapless, name)(**parameters), of[0], of[1], grid, cv=3)


def path(name: str, of: tuple[Any, Any, Any], **parameters: Any) -> Call:
    import gapless

    return lambda: gapless.path(getattr(gapless, name)(**parameters), of[0], of[1], [0.01, 0.1, 1.0, 10.0])


def separability(of: tuple[Any, Any, Any]) -> Call:
    import gapless

    return lambda: gapless.separability(of[0], of[1])


def descend(of: tuple[Any, Any, Any], **parameters: Any) -> Call:
    import gapless

    return lambda: gapless.descend(of[0], of[1], **parameters)


def read(rows: int, columns: int, words: bool) -> Call:
    import gapless

    file = Path(tempfile.mkdtemp()) / "table.csv"
    X, y, _ = data(rows, columns)
    lines = [",".join([*(f"v{k}" for k in range(columns)), "class"])]
    lines += [",".join([*(f"{v:.6g}" for v in row), f"k{label}" if words else str(label)]) for row, label in zip(X, y)]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return lambda: gapless.read_data(file, target="class")


def save_and_load(name: str, of: tuple[Any, Any, Any], **parameters: Any) -> Call:
    import gapless

    model: Any = fit(name, of, **parameters)()
    file = Path(tempfile.mkdtemp()) / "model.gapless"

    def run() -> object:
        gapless.save(model, file)
        return gapless.load(file)

    return run


ROWS: dict[str, dict[str, Callable[[], Call]]] = {
    "hinge": {
        "dense 20,000 x 50": lambda: fit("LinearSVC", data(20_000, 50), loss="hinge", tol=1e-3),
        "dense 300 x 10": lambda: fit("LinearSVC", data(300, 10), loss="hinge"),
        "CSR 5,000 x 2,000": lambda: fit("LinearSVC", data(5000, 2000, "CSR"), loss="hinge", tol=1e-3),
        "marks 20,000 x 50": lambda: fit("LinearSVC", data(20_000, 50, "marks"), loss="hinge", tol=1e-3),
        "coordinate descent": lambda: fit(
            "LinearSVC", data(4000, 30), loss="hinge", C=0.001, solver="coordinate_descent", tol=1e-3
        ),
        "five classes": lambda: fit("LinearSVC", data(3000, 20, classes=5), loss="hinge", tol=1e-3),
        "squared, dense": lambda: fit("LinearSVC", data(20_000, 50)),
        "squared, CSR": lambda: fit("LinearSVC", data(5000, 2000, "CSR")),
        "squared, penalised offset": lambda: fit("LinearSVC", data(20_000, 50), penalize_intercept=True),
    },
    "logistic": {
        "dense 20,000 x 50": lambda: fit("LogisticRegression", data(20_000, 50)),
        "float32 20,000 x 50": lambda: fit("LogisticRegression", data(20_000, 50, "float32")),
        "dense 300 x 10": lambda: fit("LogisticRegression", data(300, 10)),
        "CSR 5,000 x 2,000": lambda: fit("LogisticRegression", data(5000, 2000, "CSR")),
        "five classes": lambda: fit("LogisticRegression", data(3000, 20, classes=5)),
        "no penalty": lambda: fit("LogisticRegression", data(3000, 20), C=math.inf),
    },
    "least squares": {
        "LinearRegression 50,000 x 50": lambda: fit("LinearRegression", data(50_000, 50), numbers=True),
        "LinearRegression 300 x 10": lambda: fit("LinearRegression", data(300, 10), numbers=True),
        "Ridge 50,000 x 50": lambda: fit("Ridge", data(50_000, 50), numbers=True),
        "Ridge CSR": lambda: fit("Ridge", data(5000, 2000, "CSR"), numbers=True),
        "LDA 5,000 x 40": lambda: fit("LinearDiscriminantAnalysis", data(5000, 40, classes=4)),
        "QDA 5,000 x 40": lambda: fit("QuadraticDiscriminantAnalysis", data(5000, 40, classes=4)),
    },
    "perceptron": {
        "overlapping 3,000 x 20": lambda: fit("Perceptron", data(3000, 20), max_iter=50),
        "separability 300 x 20": lambda: separability(data(300, 20)),
        "separable 40 x 60": lambda: separability(data(40, 60)),
        "hard margin 40 x 60": lambda: fit("LinearSVC", data(40, 60), loss="hinge", C=math.inf),
    },
    "descent": {
        "sgd, hinge": lambda: fit("LinearSVC", data(5000, 30), loss="hinge", solver="sgd", max_iter=20),
        "sgd, CSR": lambda: fit("LinearSVC", data(5000, 2000, "CSR"), loss="hinge", solver="sgd", max_iter=20),
        "mini-batch, logistic": lambda: fit(
            "LogisticRegression", data(5000, 30), solver="minibatch", max_iter=20, tol=1e-9
        ),
        "gradient, logistic": lambda: fit("LogisticRegression", data(5000, 30), solver="gd", max_iter=50, tol=1e-9),
    },
    "kernel": {
        "SVC rbf 2,000 x 10": lambda: fit("SVC", data(2000, 10)),
        "SVC rbf 300 x 10": lambda: fit("SVC", data(300, 10)),
        "SVC four classes": lambda: fit("SVC", data(1500, 10, classes=4)),
        "SVC poly": lambda: fit("SVC", data(1000, 10), kernel="poly"),
        "SVC marks": lambda: fit("SVC", data(1500, 40, "marks")),
        "SVR 1,500 x 10": lambda: fit("SVR", data(1500, 10), numbers=True),
        "NuSVC 1,000 x 10": lambda: fit("NuSVC", data(1000, 10), nu=0.5),
        "OneClassSVM 1,500 x 10": lambda: fit("OneClassSVM", data(1500, 10)),
        "SVC hard margin": lambda: fit("SVC", data(300, 10), C=math.inf),
        "predict": lambda: predict("SVC", data(2000, 10)),
    },
    "tree": {
        "classifier 10,000 x 20": lambda: fit("DecisionTreeClassifier", data(10_000, 20), random_state=0),
        "classifier 300 x 10": lambda: fit("DecisionTreeClassifier", data(300, 10), random_state=0),
        "regressor 10,000 x 20": lambda: fit("DecisionTreeRegressor", data(10_000, 20), numbers=True, random_state=0),
        "entropy, five classes": lambda: fit(
            "DecisionTreeClassifier", data(5000, 20, classes=5), criterion="entropy", random_state=0
        ),
        "predict": lambda: predict("DecisionTreeClassifier", data(10_000, 20), random_state=0),
    },
    "ensembles": {
        "bagging 20 trees": lambda: fit("BaggingClassifier", data(3000, 20), n_estimators=20, random_state=0),
        "bagging regressor": lambda: fit(
            "BaggingRegressor", data(3000, 20), numbers=True, n_estimators=10, random_state=0
        ),
        "AdaBoost 50 stumps": lambda: fit("AdaBoostClassifier", data(5000, 20), n_estimators=50),
        "AdaBoost, small": lambda: fit("AdaBoostClassifier", data(300, 10), n_estimators=50),
        "AdaBoostRegressor": lambda: fit(
            "AdaBoostRegressor", data(1000, 10), numbers=True, n_estimators=10, random_state=0
        ),
    },
    "tuning": {
        "tune LinearSVC": lambda: tune("LinearSVC", data(2000, 20), {"C": [0.01, 0.1, 1.0]}),
        "tune SVC": lambda: tune("SVC", data(500, 10), {"C": [0.1, 1.0, 10.0], "gamma": [0.01, 0.1]}),
        "tune Ridge": lambda: tune("Ridge", (*data(2000, 20)[::2], None), {"alpha": [0.1, 1.0, 10.0]}),
        "path hinge": lambda: path("LinearSVC", data(500, 10), loss="hinge"),
        "path logistic": lambda: path("LogisticRegression", data(2000, 20)),
        "path SVC": lambda: path("SVC", data(500, 10)),
    },
    "judge": {
        "verify LinearSVC": lambda: call("verify", "LinearSVC", data(20_000, 50)),
        "verify SVC": lambda: call("verify", "SVC", data(1000, 10)),
        "verify a tree": lambda: call("verify", "DecisionTreeClassifier", data(2000, 10), random_state=0),
        "verify AdaBoost": lambda: call("verify", "AdaBoostClassifier", data(2000, 10), n_estimators=20),
        "verify LDA": lambda: call("verify", "LinearDiscriminantAnalysis", data(5000, 20, classes=3)),
        "margins": lambda: call("margins", "LinearSVC", data(2000, 20)),
        "reduce": lambda: call("reduce", "LinearSVC", data(500, 20), loss="hinge"),
        "save and load": lambda: save_and_load("SVC", data(1000, 10)),
    },
    "files": {
        "CSV 20,000 x 20": lambda: read(20_000, 20, False),
        "CSV 300 x 10, words": lambda: read(300, 10, True),
    },
}


def serve() -> None:
    """Answer on standard output what each row asked for on standard input takes: seconds, or why it cannot be run."""
    warnings.simplefilter("ignore")
    made: dict[str, Call] = {}
    answer = os.fdopen(os.dup(1), "w")  # what a fit prints must not mix with the answers
    os.dup2(2, 1)
    for line in sys.stdin:
        asked = json.loads(line)
        table, row = asked["row"]
        try:
            if f"{table}: {row}" not in made:
                made[f"{table}: {row}"] = ROWS[table][row]()
                made[f"{table}: {row}"]()
            told: dict[str, Any] = {"seconds": timed(made[f"{table}: {row}"], asked["times"], asked["processor"])}
        except Exception as error:
            told = {"failed": f"{type(error).__name__}: {error}"}
        print(json.dumps(told), file=answer, flush=True)


def timed(run: Call, times: int, processor: bool) -> float:
    clock = time.process_time if processor else time.perf_counter
    started = clock()
    for _ in range(times):
        run()
    return (clock() - started) / times


class Tree:
    """A process that runs the rows with the sources of one checkout."""

    def __init__(self, root: Path) -> None:
        source = root / "src" if (root / "src").is_dir() else root
        if not (source / "gapless").is_dir():
            raise SystemExit(f"{root} is no checkout of gapless: there is no src/gapless in it")
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).resolve()), "--serve"],
            env={**os.environ, "PYTHONPATH": str(source), "GAPLESS_QUIET": "1"},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def seconds(self, table: str, row: str, times: int, processor: bool) -> float:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"row": [table, row], "times": times, "processor": processor}) + "\n")
        self.process.stdin.flush()
        told = json.loads(self.process.stdout.readline() or '{"failed": "its process ended"}')
        if "failed" in told:
            raise SystemExit(f"{table}: {row}: {told['failed']}")
        return told["seconds"]


def compare(mine: Tree, other: Tree, table: str, row: str, turns: int, processor: bool) -> tuple[float, float]:
    """Medians of this tree's seconds and of the other's; who begins alternates."""
    pair = (mine, other)
    first = [tree.seconds(table, row, 1, processor) for tree in pair]
    times = max(1, round(0.04 / max(min(first), 1e-6)))
    found: tuple[list[float], list[float]] = ([], [])
    for turn in range(turns):
        for which in (0, 1) if turn % 2 else (1, 0):
            found[which].append(pair[which].seconds(table, row, times, processor))
    return statistics.median(found[0]), statistics.median(found[1])


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.against", description=__doc__.splitlines()[0])
    parser.add_argument("other", type=Path, help="the checkout that this tree is compared with")
    parser.add_argument("--only", default=",".join(ROWS), help=f"of {','.join(ROWS)}")
    parser.add_argument("--turns", type=int, default=11)
    parser.add_argument("--processor", action="store_true", help="seconds of the processor in the place of the clock's")
    given = parser.parse_args()
    mine, other = Tree(Path(__file__).resolve().parents[1]), Tree(given.other)
    slower = []
    print(f"{'':44} {'this':>9} {'other':>9}   ratio", flush=True)
    for table in given.only.split(","):
        ratios = []
        for row in ROWS[table]:
            now, before = compare(mine, other, table, row, given.turns, given.processor)
            ratios.append(now / before)
            mark = "  SLOWER" if ratios[-1] > ROW_LIMIT else ""
            slower += [f"{table}: {row}"] if mark else []
            print(
                f"{table + ': ' + row:44} {1e3 * now:6.1f} ms {1e3 * before:6.1f} ms   {ratios[-1]:5.3f}{mark}",
                flush=True,
            )
        mean = math.exp(statistics.fmean(map(math.log, ratios)))
        mark = "  SLOWER" if mean > TABLE_LIMIT else ""
        slower += [table] if mark else []
        print(f"{table + ', geometric mean':44} {'':9} {'':9}   {mean:5.3f}{mark}", flush=True)
    return 1 if slower else 0


if __name__ == "__main__":
    if sys.argv[1:] == ["--serve"]:
        serve()
    else:
        sys.exit(main())
