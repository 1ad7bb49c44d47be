"""Measures cells in a process of its own, which is killed where a fit takes too long; and the figures of what was measured."""

from __future__ import annotations

import math
import multiprocessing
import os
import time
import warnings
from typing import Any

import numpy as np

from benchmarks.core.map_cells import Cell, make_data
from benchmarks.core.map_clock import in_turns, timed
from benchmarks.core.map_fits import KINDS, arguments, distance, subproblems
from benchmarks.core.map_peers import duel, engine_of

#: Seconds of one fit of scikit-learn beyond which a cell is drawn anew; of all that is measured against it; and of its peers.
MOST, PATIENCE, PEERS = 20.0, 200.0, 90.0
#: Seconds in which the process that fits has to be loaded, and those in which the data of a cell have to be made.
LOADING, MAKING = 300.0, 60.0
#: Seconds of a fit of scikit-learn from which on ratios count; below, the milliseconds that we take more.
LONG = 0.02


def measure(cell: Cell, repeats: int, clock: str, peers: bool, tell: Any) -> None:
    """Tell ("peer", seconds) after scikit-learn's first fit, then ("default", row), then ("peers", row or None)."""
    kind, began = KINDS[cell.estimator], time.perf_counter()
    X, y, weights = make_data(cell)
    given, more = arguments(cell, X, y, weights)
    tell(("data",))
    peer, first, why = _first_fit(kind, cell, given, more)
    tell(("peer", first, why))
    if why or first > MOST:
        return
    judged = distance(cell, peer, X, y, weights)
    ours = kind.ours(cell.C)
    asked = ours.get_params().get("tol")
    if judged is not None and judged > asked:
        asked = min(judged, 0.5)
        ours.set_params(tol=asked)
    _, own_first = timed(lambda: ours.fit(*given, **more), "wall")  # kernels are loaded
    fits = {"ours": lambda: ours.fit(*given, **more), "peer": lambda: kind.peer(cell.C).fit(*given, **more)}
    row = in_turns(fits, repeats, clock, max(first, own_first))
    row |= {"judged": judged, "asked": asked, "status": getattr(ours, "status_", None)}
    row |= {"engine": engine_of(ours), "subproblems": subproblems(cell)}
    tell(("default", row | {"spent_s": round(time.perf_counter() - began, 3)}))
    if peers:
        tell(("peers", duel(cell, X, y, repeats, clock)))


def _first_fit(kind: Any, cell: Cell, given: Any, more: Any) -> tuple[Any, float, str]:
    """scikit-learn's model, the seconds of its fit (of the second one where it is short), and why there is none."""
    peer = kind.peer(cell.C)
    try:
        _, seconds = timed(lambda: peer.fit(*given, **more), "wall")
        if seconds < 0.1:
            _, seconds = timed(lambda: peer.fit(*given, **more), "wall")
        return peer, seconds, ""
    except Exception as error:  # data that scikit-learn refuses are no cell
        return peer, 0.0, f"{type(error).__name__}: {error}"[:200]


def cores_of_workers(workers: int, threads: int) -> list[list[int] | None]:
    """The cores of each worker; one worker has them all, and several share none."""
    if workers == 1:
        return [None]
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_setaffinity") else []
    if len(cores) < workers * threads:
        raise SystemExit(
            f"{workers} workers of {threads} threads need {workers * threads} cores; there are {len(cores)}."
        )
    return [cores[k * threads : (k + 1) * threads] for k in range(workers)]


def _work(pipe: Any, threads: int, cores: list[int] | None) -> None:
    if cores is not None:
        os.sched_setaffinity(0, cores)
    import sklearn.svm  # noqa: F401
    from threadpoolctl import threadpool_limits

    import gapless  # noqa: F401  loaded before the clock of a cell starts
    from gapless._compile.on_demand import wake

    wake()  # a process in use: what a new one does while numba is not there is measured by benchmarks.cold

    warnings.simplefilter("ignore")
    with threadpool_limits(threads):
        pipe.send(("ready",))
        while True:
            request = pipe.recv()
            if request is None:
                return
            try:
                measure(*request, pipe.send)
            except Exception as error:
                pipe.send(("failed", f"{type(error).__name__}: {error}"[:500]))
            pipe.send(("end",))


class Worker:
    """The process that fits; a new one after each that had to be killed."""

    def __init__(self, threads: int, cores: list[int] | None = None) -> None:
        self.threads, self.cores = threads, cores
        self.process, self.pipe = None, None  # type: ignore[var-annotated]

    def run(self, cell: Cell, repeats: int, clock: str = "wall", peers: bool = True) -> dict[str, Any] | None:
        """What was measured; None where scikit-learn needs too long or refuses the data, so that another cell is to be drawn."""
        self._start()
        self.pipe.send((cell, repeats, clock, peers))
        row: dict[str, Any] = {**cell.as_row(), "text": str(cell)}
        began, patience, stage, refused = time.monotonic(), MAKING, "peer", False
        while True:
            word = self._receive(patience - (time.monotonic() - began))
            if word is None:  # killed, or it died
                if stage == "peer":
                    return None
                return row | ({"failed": f"no end in {PATIENCE:g} s"} if stage == "default" else {"late": True})
            if word[0] == "end":
                return None if refused else row
            if word[0] == "failed":
                refused |= stage == "peer"
                row["failed" if stage == "default" else "peers_failed"] = word[1]
            elif word[0] == "data":
                began, patience = time.monotonic(), MOST + 1.0  # a short first fit is made twice
            elif word[0] == "peer":
                refused = bool(word[2]) or word[1] > MOST
                began, patience, stage = time.monotonic(), PATIENCE, "default"
                row["peer_s"] = word[1]
            else:
                row.update(word[1] if word[0] == "default" else {"peers": word[1]})
                began, patience, stage = time.monotonic(), PEERS, "peers"

    def _start(self) -> None:
        if self.process is None:
            context = multiprocessing.get_context("spawn")
            self.pipe, theirs = context.Pipe()
            self.process = context.Process(target=_work, args=(theirs, self.threads, self.cores), daemon=True)
            self.process.start()
            theirs.close()
            if self._receive(LOADING) is None:
                raise SystemExit(f"the process that fits was not ready in {LOADING:g} s")

    def _receive(self, seconds: float) -> Any:
        try:
            if self.pipe.poll(max(0.0, seconds)):
                return self.pipe.recv()
        except (EOFError, OSError):
            pass
        self._stop()
        return None

    def _stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.pipe.close()
        self.process = self.pipe = None

    def close(self) -> None:
        self._stop()


# ------------------------------------------------------------------------------------------------ figures


def ratio(row: dict[str, Any]) -> float:
    """Scikit-learn's seconds over ours; 0 where ours did not come to an end."""
    return 0.0 if "failed" in row else row["peer_s"] / row["ours_s"]


def more_milliseconds(row: dict[str, Any]) -> float:
    return math.inf if "failed" in row else 1e3 * (row["ours_s"] - row["peer_s"])


def allowed_milliseconds(row: dict[str, Any]) -> float:
    """3 ms, and a tenth for each subproblem."""
    return 3.0 + 0.1 * row.get("subproblems", 1)


def badness(row: dict[str, Any]) -> float:
    """What sorts the worst cells first: how many times what is allowed a cell takes (1 is just allowed)."""
    if "failed" in row:
        return math.inf
    most = row["peer_s"] if row["peer_s"] > LONG else row["peer_s"] + 1e-3 * allowed_milliseconds(row)
    return row["ours_s"] / most


def figures(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The figures that are claimed of the map."""
    long = np.array([ratio(row) for row in rows if row["peer_s"] > LONG])
    short = [row for row in rows if row["peer_s"] <= LONG]
    found: dict[str, Any] = {"cells": len(rows), "failed": sum("failed" in row for row in rows)}
    found["over 20 ms"] = _of_ratios(long)
    extra = np.array([more_milliseconds(row) for row in short])
    kept = np.array([more_milliseconds(row) <= allowed_milliseconds(row) for row in short])
    found["below 20 ms"] = {"cells": len(short)}
    if short:
        found["below 20 ms"] |= {
            "within what is allowed": float(kept.mean()),
            "median ms more": float(np.median(extra)),
        }
    peers = [row["peers"] for row in rows if row.get("peers") and row["peers"]["peer_s"] > LONG]
    for name, own in (("peers over 20 ms", False), ("peers over 20 ms, our engine theirs", True)):
        some = [each for each in peers if (each.get("engine") is not None) == own]
        found[name] = _of_ratios(np.array([each["peer_s"] / each["gapless_s"] for each in some]))
    return found


def _of_ratios(values: np.ndarray) -> dict[str, Any]:
    if values.size == 0:
        return {"cells": 0}
    mean = float(np.exp(np.log(np.maximum(values, 1e-3)).mean()))
    shares = {f"share >= {least:g}": float((values >= least).mean()) for least in (0.5, 1.0)}
    return {"cells": int(values.size), "geometric mean": mean, "least": float(values.min()), **shares}
