"""Epochs of stochastic descent on the hinge against scikit-learn's SGDClassifier: the same data, penalty and free offset, a new
random order each epoch, and rates 1/(lam (t + t0)).

An epoch is the difference between two runs of different length, over the number of epochs between them, so that neither the
checks of the data, nor a copy of them, nor our certificate counts; "in all" is the longer run with everything.  "traced" writes
the thinned trace: the value and the gradient of the whole objective, some twenty times a run; all that the longer run takes more
for it is spread over its epochs.  Runs take turns; medians.
"""

from __future__ import annotations

import statistics
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.core import datasets, limits, objective

SETS = ("a9a", "mnist", "covtype", "news20")
LAM = 1e-4
#: Epochs of the shorter run, and how many more the longer one has.
FEW = {"a9a": 20, "news20": 20, "mnist": 20, "covtype": 1}
MORE = {"a9a": 200, "news20": 200, "mnist": 40, "covtype": 4}
#: An epoch of ours is to take at most one over this of theirs.
WANTED = {"plain": 3.0, "traced": 1.5}


def _ours(risk: Any, epochs: int, trace: bool) -> Any:
    from gapless import Until, descend

    return descend(risk, method="sgd", stop=Until(epochs=epochs), trace=trace)


def _theirs(X: Any, y: np.ndarray, epochs: int) -> Any:
    from sklearn.linear_model import SGDClassifier

    return SGDClassifier(loss="hinge", alpha=LAM, max_iter=epochs, tol=None, random_state=0).fit(X, y)


def _seconds(run: Callable[[], Any]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def run(folder: Path, sets: list[str], say: Callable[[str], None]) -> None:
    from gapless import linear_risk

    warnings.simplefilter("ignore")  # theirs about max_iter
    for name in SETS:
        if name not in sets:
            continue
        X, y = datasets.load(name, folder)
        risk = linear_risk(X, y, loss="hinge", lam=LAM)
        few, more = FEW[name], MORE[name]
        runs: dict[str, Callable[[int], Any]] = {
            "plain": lambda epochs, risk=risk: _ours(risk, epochs, False),
            "traced": lambda epochs, risk=risk: _ours(risk, epochs, True),
            "sklearn": lambda epochs, X=X, y=y: _theirs(X, y, epochs),
        }
        taken: dict[str, list[float]] = {way: [] for way in runs}
        whole: dict[str, list[float]] = {way: [] for way in runs}
        for run_it in runs.values():
            run_it(few)  # compiles, and brings the data in
        for _ in range(limits.REPEATS):
            for way, run_it in runs.items():
                short = _seconds(lambda run_it=run_it, few=few: run_it(few))
                long = _seconds(lambda run_it=run_it, all_=few + more: run_it(all_))
                taken[way].append((long - short) / more)
                whole[way].append(long)
        epoch = {way: statistics.median(times) for way, times in taken.items()}
        in_all = {way: statistics.median(times) for way, times in whole.items()}
        epoch["traced"] = epoch["plain"] + (in_all["traced"] - in_all["plain"]) / (few + more)
        mine, peer = _ours(risk, few + more, False), _theirs(X, y, few + more)
        theta = np.append(peer.coef_[0], peer.intercept_)
        row = {
            "data": name,
            "seconds": epoch,
            "value": mine.value,
            "relative_gap": mine.relative_gap,
            "peer_value": risk.value(theta),
            "epochs": few + more,
            "in_all": in_all,
        }
        objective.keep("descent.json", name, row)
        ratios = ", ".join(f"{way} {epoch['sklearn'] / epoch[way]:.2f} x (wanted {WANTED[way]:g})" for way in WANTED)
        say(f"  {name}: sklearn {1e3 * epoch['sklearn']:.2f} ms an epoch; {ratios}")
