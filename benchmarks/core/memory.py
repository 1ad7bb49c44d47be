"""How much a process grows during a fit: the peak of its resident memory less what it held before (Linux).

Each fit has a process of its own that has loaded and compiled everything on fewer rows before. The bound is
0.3 x the bytes of X plus 48 bytes for each row.
"""

from __future__ import annotations

import gc
import multiprocessing
import re
import warnings
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.core import datasets, limits, objective

MODELS = ("LinearSVC hinge", "LinearSVC squared_hinge", "LogisticRegression", "LinearRegression", "Ridge")
LONG = (9_000_000, 5)


def bound(X: np.ndarray) -> float:
    return 0.3 * X.nbytes + 48.0 * X.shape[0]


def run(folder: Path | None, say: Callable[[str], None]) -> None:
    if not Path("/proc/self/clear_refs").exists():
        say("memory: needs Linux's /proc, left out")
        return
    context = multiprocessing.get_context("spawn")
    for data in ("long", *(["covtype"] if folder else [])):
        for model in MODELS:
            ours, theirs = context.Pipe()
            process = context.Process(target=_measure, args=(theirs, data, folder, model), daemon=True)
            process.start()
            theirs.close()
            try:
                row = ours.recv()
            except EOFError:
                say(f"  memory of {model} on {data}: its process ended")
                continue
            process.join()
            say(f"  {model} on {row['data']}: grew by {row['grew'] / 1e6:.0f} MB, bound {row['bound'] / 1e6:.0f} MB")
            objective.keep("memory.json", f"{model} {data}", row)


def _measure(pipe: Connection, data: str, folder: Path | None, name: str) -> None:
    import gapless

    warnings.simplefilter("ignore")
    X, y = _long() if data == "long" else datasets.load(data, folder)  # type: ignore[arg-type]
    if name in ("LinearRegression", "Ridge"):
        y = y.astype(X.dtype)
    word, *loss = name.split()
    options = {"loss": loss[0]} if loss else {}
    model = getattr(gapless, word)(n_jobs=limits.THREADS, **options)
    model.fit(X[::100], y[::100])
    del model
    gc.collect()
    model = getattr(gapless, word)(n_jobs=limits.THREADS, **options)
    grew = peak_growth(lambda: model.fit(X, y))
    shape = f"{X.shape[0]} x {X.shape[1]} {X.dtype}"
    row: dict[str, Any] = {"model": name, "data": shape if data == "long" else f"{data}, {shape}", "grew": grew}
    pipe.send(row | {"bound": bound(X), "X": X.nbytes})


def peak_growth(work: Callable[[], Any]) -> int:
    """Bytes by which the process is larger at its peak than before."""
    before = _kilobytes("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    work()
    return (_kilobytes("VmHWM") - before) * 1024


def _long() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal(LONG, dtype=np.float32)
    noise = rng.standard_normal(LONG[0], dtype=np.float32)
    return X, np.where(X @ np.arange(1, LONG[1] + 1, dtype=np.float32) + 3.0 * noise > 0.0, 1, -1)


def _kilobytes(field: str) -> int:
    found = re.search(rf"^{field}:\s+(\d+) kB", Path("/proc/self/status").read_text(), re.MULTILINE)
    return int(found.group(1)) if found else 0
