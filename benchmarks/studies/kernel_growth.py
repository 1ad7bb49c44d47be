"""How the time of a fit grows with the rows: covtype, class 2 against the rest, standardised, C = 1, gamma = 1/d.

Each fit has a process of its own, which is warm; a peer that would take more than two minutes, by its last step and the cube of
the ratio of sizes, is left out.  Memory: how much the process grows with cache_size=200; allowed are 200 MB and three times X.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.core import datasets, limits, objective
from benchmarks.core.memory import peak_growth
from benchmarks.studies.kernel import CACHE, peers

ROWS = (10_000, 20_000, 40_000, 80_000)
PEERS = ("sklearnex float32", "sklearn SVC")
MOST = 120.0


def rows_of(folder: Path, n: int) -> tuple[np.ndarray, np.ndarray]:
    X, y = datasets.read(folder, "covtype")
    rows = np.random.default_rng(0).permutation(len(y))[:n]
    X, deviation = X[rows], X[rows].std(axis=0)
    X = (X - X.mean(axis=0)) / np.where(deviation > 0.0, deviation, 1.0)
    return np.ascontiguousarray(X), np.where(y[rows] == 2, 1, -1)


def run(folder: Path, say: Callable[[str], None]) -> None:
    last: dict[str, float] = {}
    for n in ROWS:
        seconds: dict[str, float] = {}
        for who in ("gapless", *PEERS):
            if last.get(who, 0.0) * 8.0 > MOST:
                say(f"covtype, {n:,} rows: {who} is left out")
                continue
            if (found := _ask(folder, n, who)) is not None:
                seconds[who] = last[who] = found["seconds"]
        memory = _ask(folder, n, "memory") or {"grew": 0, "bound": 0, "ended": "its process ended"}
        say(f"covtype, {n:,} rows: {seconds}, {memory}")
        objective.keep("kernel_growth.json", f"{n}", {"n": n, "seconds": seconds, **memory})


def _ask(folder: Path, n: int, who: str) -> dict[str, Any] | None:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_measure, args=(theirs, folder, n, who), daemon=True)
    process.start()
    theirs.close()
    try:
        return ours.recv()
    except EOFError:
        return None
    finally:
        process.join()


def _measure(pipe: Connection, folder: Path, n: int, who: str) -> None:
    from gapless import SVC

    X, y = rows_of(folder, n)
    gamma = 1.0 / X.shape[1]
    if who == "memory":
        SVC(gamma=gamma, cache_size=200, n_jobs=limits.THREADS).fit(X[:3000], y[:3000])
        model = SVC(gamma=gamma, cache_size=200, n_jobs=limits.THREADS)
        grew = peak_growth(lambda: model.fit(X, y))
        pipe.send({"grew": grew, "bound": (200 << 20) + 3 * X.nbytes, "ended": model.certificate_.status})
        return
    if who == "gapless":

        def fit(X: np.ndarray, y: np.ndarray) -> Any:
            return SVC(gamma=gamma, cache_size=CACHE, n_jobs=limits.THREADS).fit(X, y)
    else:

        def fit(X: np.ndarray, y: np.ndarray) -> Any:
            return peers()[who](X, y, 1.0, gamma)()

    fit(X[:3000], y[:3000])
    start = time.perf_counter()
    fit(X, y)
    pipe.send({"seconds": time.perf_counter() - start})
