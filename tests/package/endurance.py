"""What a long-lived process goes through: run as a process, one line of JSON.

python -m tests.package.endurance fits NUMBER | threads NUMBER | fork NUMBER | loky NUMBER | memory NUMBER | few SEED | twice SEED
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

import gapless
from tests.package.families import MODELS

KINDS = [name for name in MODELS if name.split()[0] not in ("OneClassSVM",)]
#: Fits after which a process has all that it keeps, and bytes that may come on top of that.
SETTLED, ROOM = 0.25, 48 << 20


def data(name: str, n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(5)
    X = random.normal(size=(n, 4))
    values = X[:, 0] - X[:, 1] + 0.5 * random.normal(size=n)
    if name.split()[0] in (
        "SVR",
        "LinearRegression",
        "Ridge",
        "Lasso",
        "ElasticNet",
        "DecisionTreeRegressor",
        "AdaBoostRegressor",
    ):
        return X, values
    return X, np.digitize(values, [-0.7, 0.7]) if "three" in name else (values > 0).astype(int)


def answers(name: str, n: int = 60, **more: Any) -> bytes:
    """What a new model says of its rows, to the bit."""
    X, y = data(name, n)
    with warnings.catch_warnings(), gapless.config_context(convergence="ignore"):
        warnings.simplefilter("ignore")
        model = getattr(gapless, name.split()[0])(**MODELS[name], **more).fit(X, y)
        asked = model.decision_function if hasattr(model, "decision_function") else model.predict
        return np.ascontiguousarray(asked(X)).tobytes()


def resident() -> int:
    """Bytes of memory that this process has now."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def fits(number: int) -> dict[str, Any]:
    """So many fits, each right; by how much the process has grown since it was settled."""
    right = {name: answers(name) for name in KINDS}
    wrong: list[str] = []
    settled = 0
    for k in range(number):
        name = KINDS[k % len(KINDS)]
        if answers(name) != right[name]:
            wrong.append(name)
        if k == int(SETTLED * number):
            gc.collect()
            settled = resident()
    gc.collect()
    grown = resident() - settled
    wrong += [f"the process grew by {grown >> 20} MiB"] if grown > ROOM else []
    return {"done": number, "wrong": wrong, "grown": grown, "threads": threading.active_count()}


def at_once(number: int) -> dict[str, Any]:
    """So many fits at the same time, each in a thread of its own."""
    names = [KINDS[k % len(KINDS)] for k in range(number)]
    right = {name: answers(name, 400) for name in set(names)}
    gate = threading.Barrier(number, timeout=120)

    def one(k: int) -> str:
        gate.wait()
        return "" if answers(names[k], 400, **threaded(names[k], k)) == right[names[k]] else names[k]

    with ThreadPoolExecutor(number) as pool:
        wrong = list(filter(None, pool.map(one, range(number))))
    return {"done": number, "wrong": wrong}


def threaded(name: str, k: int) -> dict[str, Any]:
    """Every second fit asks for threads of its own, where its estimator knows of them."""
    known = getattr(gapless, name.split()[0])().get_params()
    return {"n_jobs": 2} if "n_jobs" in known and k % 2 else {}


def forked(number: int) -> dict[str, Any]:
    """A fork while helpers wait for the next fit; the child fits with helpers of its own."""
    wrong = []
    for k in range(number):
        name = KINDS[k % len(KINDS)]
        right = answers(name, 400, **threaded(name, 1))
        child = os.fork()
        if child == 0:
            fine = False
            try:
                fine = answers(name, 400, **threaded(name, 1)) == right
            finally:
                os._exit(0 if fine else 1)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        wrong += [f"{name}: exit code {code}"] if code else []
        wrong += [f"{name}: wrong in the parent"] if answers(name, 400) != right else []
    return {"done": number, "wrong": wrong}


def in_loky(number: int) -> dict[str, Any]:
    from joblib import Parallel, delayed

    names = [KINDS[k % len(KINDS)] for k in range(number)]
    right = {name: answers(name, 400) for name in set(names)}
    found = Parallel(n_jobs=2, backend="loky")(delayed(answers)(name, 400) for name in names)
    return {"done": number, "wrong": [name for name, each in zip(names, found) if each != right[name]]}


#: Fits that need more memory than there is: estimator, options, rows, columns.
LARGE: list[tuple[str, dict[str, Any], int, int]] = [
    ("LinearSVC", {"loss": "hinge"}, 100_000, 40),
    ("LinearSVC", {"loss": "hinge", "n_jobs": 2}, 100_000, 40),
    ("LinearSVC", {}, 100_000, 40),
    ("LogisticRegression", {"n_jobs": 2}, 100_000, 40),
    ("SVC", {"cache_size": 4000}, 12_000, 40),
    ("SVR", {"cache_size": 4000}, 12_000, 40),
    ("Perceptron", {"variant": "averaged"}, 100_000, 40),
    ("Ridge", {}, 100_000, 40),
    ("LinearRegression", {}, 100_000, 40),
    ("LinearDiscriminantAnalysis", {}, 100_000, 40),
    ("QuadraticDiscriminantAnalysis", {}, 100_000, 40),
    ("DecisionTreeClassifier", {}, 100_000, 40),
    ("DecisionTreeRegressor", {"n_jobs": 2}, 100_000, 40),
    ("BaggingClassifier", {"n_estimators": 4, "n_jobs": 2}, 100_000, 40),
    ("AdaBoostClassifier", {"n_estimators": 5}, 100_000, 40),
    ("AdaBoostRegressor", {"n_estimators": 2}, 100_000, 40),
]


def short_of_memory(number: int) -> dict[str, Any]:
    """Fits under RLIMIT_AS, at limits from next to nothing to nearly enough: MemoryError or a model; then a fit that has room."""
    import resource

    random = np.random.default_rng(number)
    wrong, refused, fitted = [], 0, 0
    held = resource.getrlimit(resource.RLIMIT_AS)
    for k in range(number):
        name, options, n, d = LARGE[k % len(LARGE)]
        X = random.normal(size=(n, d))
        y = X[:, 0] + random.normal(size=n)
        y = (
            y
            if name in ("SVR", "Ridge", "LinearRegression", "DecisionTreeRegressor", "AdaBoostRegressor")
            else (y > 0) * 1
        )
        model = getattr(gapless, name)(**options)
        if "time_limit" in model.get_params():
            model.set_params(time_limit=0.5)
        with warnings.catch_warnings(), gapless.config_context(convergence="ignore"):
            warnings.simplefilter("ignore")
            model.fit(X[:200], y[:200])  # its kernels are loaded
            with open("/proc/self/statm") as file:
                size = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
            room = int(10 ** random.uniform(6.0, 8.3))
            resource.setrlimit(resource.RLIMIT_AS, (size + room, held[1]))
            try:
                model.fit(X, y)
                fitted += 1
            except MemoryError:
                refused += 1
            except BaseException as error:
                wrong.append(f"{name}{options}, {room >> 20} MiB: {type(error).__name__}: {error}"[:400])
            finally:
                resource.setrlimit(resource.RLIMIT_AS, held)
            model.fit(X[:200], y[:200])
            if not gapless.verify(model, X[:200], y[:200]):
                wrong.append(f"{name}: the next fit is wrong")
    return {"done": number, "wrong": wrong, "refused": refused, "fitted": fitted}


def seconds_of_first_fit(name: str, X: np.ndarray, y: np.ndarray) -> float:
    """How long the first fit of a process takes here, kernels loaded: measured in a fork of this one before its first fit."""
    reads, writes = os.pipe()
    if os.fork() == 0:
        started = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            getattr(gapless, name.split()[0])(**MODELS[name]).fit(X, y)
        os.write(writes, str(time.perf_counter() - started).encode())
        os._exit(0)
    os.close(writes)
    os.wait()
    return float(os.read(reads, 64))


def pressed_twice(seed: int) -> dict[str, Any]:
    """Ctrl-C twice, while the first fit of the process loads its kernels."""
    random = np.random.default_rng(seed)
    name = KINDS[int(random.integers(len(KINDS)))]
    X, y = data(name, 200)
    kind = getattr(gapless, name.split()[0])
    import pandas  # noqa: F401  a module whose import was cut short is Python's own affair

    kind(**MODELS[name])
    first = float(random.uniform(0.0, seconds_of_first_fit(name, X, y)))
    second = float(10 ** random.uniform(-4.0, -1.0))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    ended = threading.Event()

    def press() -> None:
        for seconds in (first, second):
            if ended.wait(seconds):
                return
            os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=press, daemon=True)
    heard, wrong = False, []
    try:
        try:
            thread.start()
            kind(**MODELS[name]).fit(X, y)
        finally:
            ended.set()
            thread.join()
    except KeyboardInterrupt:
        heard = True
    except BaseException as error:
        wrong.append(f"{name}: {type(error).__name__}: {error}")
    try:
        time.sleep(0.01)
    except KeyboardInterrupt:
        heard = True
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        wrong.append(f"{name}: the handler of SIGINT is another one afterwards")
    with warnings.catch_warnings(), gapless.config_context(convergence="ignore"):
        warnings.simplefilter("ignore")
        if not gapless.verify(kind(**MODELS[name]).fit(X, y), X, y):
            wrong.append(f"{name}: the next fit is wrong")
    return {"done": int(heard), "wrong": wrong, "name": name}


def few_of_each(seed: int) -> dict[str, Any]:
    """Few of each in one process: a fork and fits at once after others, as in a program that does all of it."""
    numbers = {fits: 2 * len(KINDS), at_once: 8, forked: 4, in_loky: 4, short_of_memory: len(LARGE)}
    wrong = [f"{run.__name__}: {each}" for run, number in numbers.items() for each in run(number)["wrong"]]
    return {"done": sum(numbers.values()), "wrong": wrong}


RUNS = {
    "fits": fits,
    "few": few_of_each,
    "threads": at_once,
    "fork": forked,
    "loky": in_loky,
    "memory": short_of_memory,
    "twice": pressed_twice,
}

if __name__ == "__main__":
    print(json.dumps(RUNS[sys.argv[1]](int(sys.argv[2]))))
