"""Epochs of the perceptron against scikit-learn's: fits of a fixed number of passes, in turns, in one process.

    seconds an epoch = (fit of 1 + EPOCHS passes - fit of 1 pass) / EPOCHS

so that what is paid once (checks, hashing, proofs) is left out; the whole fits stand beside it.  Nobody may stop early
(tol=None), and no set here is separable, so that nobody does.  One thread: both are sequential.  The weights differ with the
order of visits, and in the order of the rows they are the same (`tests/perceptron/test_variants.py`).
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.core import datasets, limits, objective

SETS = {"a9a": 200, "mnist": 20, "covtype": 20}


def run(folder: Path, sets: list[str], say: Callable[[str], None]) -> None:
    from sklearn.linear_model import Perceptron as Peer

    from gapless import Perceptron

    for name in [name for name in SETS if name in sets]:
        epochs = SETS[name]
        X, y = datasets.load(name, folder)
        for shuffle in (True, False):
            models: dict[str, Callable[[int], Any]] = {
                "gapless": lambda passes: Perceptron(max_iter=passes, tol=None, shuffle=shuffle, certify=False),  # noqa: B023
                "sklearn": lambda passes: Peer(max_iter=passes, tol=None, shuffle=shuffle),  # noqa: B023
            }
            for make in models.values():
                make(8).fit(X[:3000], y[:3000])  # loads and compiles
            once: dict[str, list[float]] = {key: [] for key in models}
            whole: dict[str, list[float]] = {key: [] for key in models}
            for _ in range(limits.REPEATS):
                for key, make in models.items():
                    for passes, taken in ((1, once[key]), (1 + epochs, whole[key])):
                        start = time.perf_counter()
                        model = make(passes).fit(X, y)
                        taken.append(time.perf_counter() - start)
                        assert model.n_iter_ == passes, (key, model.n_iter_)
            epoch = {key: statistics.median(b - a for a, b in zip(once[key], whole[key])) / epochs for key in models}
            fit = {key: statistics.median(whole[key]) for key in models}
            order = "shuffled" if shuffle else "as they stand"
            say(f"perceptron, {name}, rows {order}: {epoch['sklearn'] / epoch['gapless']:.2f} times")
            row = {"data": name, "order": order, "epochs": epochs, "epoch": epoch, "fit": fit}
            objective.keep("perceptron.json", f"{name} {order}", row)
