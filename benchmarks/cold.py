"""What the first fit of a new process costs while no kernel is kept: processor seconds, and functions that numba compiles.

    python -m benchmarks.cold                    every case, and the table in benchmarks/results/cold.md
    python -m benchmarks.cold LinearSVC Ridge    these cases, printed
    python -m benchmarks.cold LinearSVC --profile    where the compiling goes, function by function

Each case is a new process with an empty folder of kernels (`GAPLESS_CACHE`); import and data are timed apart. The same case then
runs again in another process with the kernels of the first: that is "warm".
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULTS = Path(__file__).resolve().parent / "results" / "cold.md"


#: Functions that one processor needs for a fit and another does not, and that are not counted: BLAS and vector registers add up
#: in other orders, and the last digits decide whether scores are computed anew, and whether a better dual point is looked for.
BY_LAST_DIGITS = {
    "fill_scores", "expit", "_dual_of", "_dual_of.<locals>.<lambda>", "dual_of", "ol_max.<locals>.impl",
    "add_room_to_move", "move_towards_balance", "turn_scores_into_dual",
}  # fmt: skip


def _tumours() -> tuple[Any, Any]:
    """Breast cancer, 569 x 30, columns scaled."""
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def _classifier(name: str, **parameters: Any) -> Callable[[], Callable[[], object]]:
    def prepare() -> Callable[[], object]:
        import gapless

        X, y = _tumours()
        model = getattr(gapless, name)(**parameters)
        return lambda: model.fit(X, y)

    return prepare


def _regressor(name: str, **parameters: Any) -> Callable[[], Callable[[], object]]:
    def prepare() -> Callable[[], object]:
        import gapless

        X, _ = _tumours()
        model = getattr(gapless, name)(**parameters)
        return lambda: model.fit(X[:, 1:], X[:, 0])

    return prepare


def _separability() -> Callable[[], object]:
    import gapless

    X, y = _tumours()
    return lambda: gapless.separability(X, y)


def _rows_csv() -> tuple[Path, Path]:
    """The folder of the run, and the tumours in a file there."""
    import numpy as np

    X, y = _tumours()
    folder = Path(os.environ["GAPLESS_COLD_FOLDER"])
    names = ",".join([*(f"x{j}" for j in range(X.shape[1])), "y"])
    if not (rows := folder / "rows.csv").exists():
        np.savetxt(rows, np.column_stack((X, y)), delimiter=",", header=names, comments="", fmt="%.17g")
    return folder, rows


def _command(*arguments: str) -> Callable[[], object]:
    from gapless.cli import main

    def run() -> None:
        if (code := main(arguments)) != 0:
            raise SystemExit(f"gapless {' '.join(arguments)}: exit code {code}")

    return run


def _verify() -> Callable[[], object]:
    """A model that another process has trained, with other kernels, and its rows."""
    folder, rows = _rows_csv()
    model = folder / "model.gapless"
    if not model.exists():
        command = [
            sys.executable,
            "-m",
            "gapless",
            "train",
            str(rows),
            "--model",
            "svm",
            "--no-report",
            "-o",
            str(model),
        ]
        environment = {name: value for name, value in os.environ.items() if name != "GAPLESS_CACHE"}
        subprocess.run(command, check=True, capture_output=True, env=environment)
    return _command("verify", str(model), str(rows))


def _predict() -> Callable[[], object]:
    _verify()
    folder, rows = _rows_csv()
    return _command("predict", str(folder / "model.gapless"), str(rows), "-o", str(folder / "answers.csv"))


def _train() -> Callable[[], object]:
    """A table of 891 passengers, where the folder of data is there."""
    from benchmarks.readers import folder as data
    from benchmarks.studies.tables import write_csv

    folder = Path(os.environ["GAPLESS_COLD_FOLDER"])
    if (source := data()) is None:
        raise SystemExit("train needs the folder of data: set GAPLESS_DATA")
    write_csv("titanic", source, folder / "all.csv")
    table = folder / "titanic.csv"
    table.write_text("".join((folder / "all.csv").read_text().splitlines(keepends=True)[:892]))
    return _command("train", str(table), "--target", "survived", "-o", str(folder / "model.gapless"))


CASES: dict[str, Callable[[], Callable[[], object]]] = {
    "LinearRegression": _regressor("LinearRegression"),
    "Ridge": _regressor("Ridge"),
    "LinearSVC": _classifier("LinearSVC"),
    "LinearSVC hinge": _classifier("LinearSVC", loss="hinge"),
    "LogisticRegression": _classifier("LogisticRegression"),
    "SVC": _classifier("SVC"),
    "SVR": _regressor("SVR"),
    "Perceptron": _classifier("Perceptron"),
    "AdaBoost": _classifier("AdaBoostClassifier"),
    "DecisionTree": _classifier("DecisionTreeClassifier"),
    "Bagging": _classifier("BaggingClassifier"),
    "separability": _separability,
    "verify": _verify,
    "predict": _predict,
    "train": _train,
}


class Compiled:
    """What numba compiled: every function, its own and ours, with the processor seconds of its own."""

    def __init__(self) -> None:
        self.functions: Counter[str] = Counter()
        self.kernels: Counter[str] = Counter()
        self.own: defaultdict[str, float] = defaultdict(float)
        self.passes: defaultdict[str, float] = defaultdict(float)
        self.whole: list[tuple[float, float, str, str]] = []
        self._open: list[list[Any]] = []

    @property
    def seconds(self) -> float:
        return sum(self.own.values())


@contextmanager
def watched() -> Iterator[Compiled]:
    """Count what numba compiles inside the block, in this thread."""
    from numba.core import event

    found = Compiled()

    class Kernels(event.Listener):
        def on_start(self, occasion: Any) -> None:
            found._open.append([time.thread_time(), 0.0])

        def on_end(self, occasion: Any) -> None:
            began, inner = found._open.pop()
            took = time.thread_time() - began
            if found._open:
                found._open[-1][1] += took
            function = occasion.data["dispatcher"].py_func
            name = f"{function.__module__}.{function.__qualname__}"
            found.kernels[name] += 1
            found.own[name] += took - inner
            found.whole.append((took - inner, took, name, str(occasion.data["args"])))

    class Functions(event.Listener):
        def on_start(self, occasion: Any) -> None:
            self.began = time.thread_time()
            name = occasion.data["qualname"]
            if occasion.data["name"].startswith("native_lowering") and name not in BY_LAST_DIGITS:
                found.functions[name] += 1

        def on_end(self, occasion: Any) -> None:
            found.passes[occasion.data["name"].split(" ")[0]] += time.thread_time() - self.began

    with event.install_listener("numba:compile", Kernels()), event.install_listener("numba:run_pass", Functions()):
        yield found


def child(case: str, profile: bool) -> None:
    began = time.process_time()
    import numba  # noqa: F401

    import gapless

    work = CASES[case]()
    imported = time.process_time() - began
    before = _seconds()
    # Of a fit the kernels, which larger data needs; `train` as it is.
    with gapless.config_context(backend="auto" if case == "train" else "numba"), watched() as found:
        work()
    took = _seconds() - before
    if profile:
        _print_profile(found)
    print(json.dumps({"import": imported, "seconds": took, "functions": found.functions.total()}))


def _seconds() -> float:
    """Processor seconds of this process and of the processes that it waited for."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def _print_profile(found: Compiled) -> None:
    print(f"{'own':>8}{'whole':>8}  kernel (its first arguments)")
    for own, whole, name, arguments in sorted(found.whole, reverse=True)[:60]:
        print(f"{own:8.3f}{whole:8.3f}  {name} {arguments}")
    ours = sum(took for name, took in found.own.items() if name.startswith("gapless"))
    print(f"{found.seconds:.2f} s: {ours:.2f} in our functions, {found.seconds - ours:.2f} in numba's")
    print(f"{found.functions.total()} functions; {found.kernels.total()} by dispatchers")
    print("by pass:", ", ".join(f"{n} {s:.2f}" for n, s in sorted(found.passes.items(), key=lambda p: -p[1])[:10]))


def measured(case: str, cache: Path, profile: bool = False) -> dict[str, float]:
    """One run of a case in a new process whose kernels are in ``cache``."""
    environment = os.environ | {
        "GAPLESS_CACHE": str(cache),
        "GAPLESS_QUIET": "1",
        "GAPLESS_COLD_FOLDER": str(cache.parent),
    }
    command = [sys.executable, "-m", "benchmarks.cold", "--child", case, *(["--profile"] if profile else [])]
    answer = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True)
    if answer.returncode:
        raise SystemExit(f"{case}:\n{answer.stderr}")
    *shown, figures = answer.stdout.splitlines()
    if profile:
        print("\n".join(shown))
    found: dict[str, float] = json.loads(figures)
    return found


def table(found: dict[str, tuple[dict[str, float], dict[str, float]]]) -> str:
    """The page of results."""
    from benchmarks.core.machine import machine, packages

    lines = [
        "# The first fit of a new process, no kernel kept",
        "",
        "`python -m benchmarks.cold`: processor seconds, import and reading the data apart, of the first fit on breast cancer",
        "(569 x 30, scaled), of a command on that table as a CSV, of `gapless train` on 891 rows. Functions are those that numba",
        "compiled, its own among them, without the few about which the last digits of BLAS decide. Warm: the same in another",
        "process that finds the kernels of the first. Fits are made to use kernels, `train` does what it does by default.",
        "",
        f"{machine()}; {packages()}",
        "",
        "| | import | cold | warm | functions |",
        "|---|---|---|---|---|",
    ]
    for case, (cold, warm) in found.items():
        lines.append(
            f"| {case} | {cold['import']:.1f} | {cold['seconds']:.1f} | {warm['seconds']:.2f} | {cold['functions']:.0f} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description="Processor seconds of the first fit, and functions compiled for it.")
    parser.add_argument(
        "cases", nargs="*", help=f"some of {', '.join(CASES)}; all, and the page of results, if none is named"
    )
    parser.add_argument("--profile", action="store_true", help="say where the compiling goes")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.child, options.profile)
        return
    if unknown := set(options.cases) - set(CASES):
        parser.error(f"no case {', '.join(sorted(unknown))}; there are {', '.join(CASES)}")
    found = {}
    for case in options.cases or CASES:
        with tempfile.TemporaryDirectory() as folder:
            cache = Path(folder) / "kernels"
            cold, warm = measured(case, cache, options.profile), measured(case, cache)
        found[case] = cold, warm
        print(
            f"{case:20} import {cold['import']:.2f}  cold {cold['seconds']:.2f}  warm {warm['seconds']:.2f}"
            f"  functions {cold['functions']}",
            flush=True,
        )
    if not options.cases:
        RESULTS.write_text(table(found), encoding="utf-8")


if __name__ == "__main__":
    main()
