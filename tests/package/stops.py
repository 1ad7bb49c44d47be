"""Ctrl-C at random moments of public calls: run as a process, one line of JSON for each moment.

    python -m tests.package.stops SEED WANTED [NUMBER OF NUMBERS]

Processes that share the work take every so many-th case each.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import threading
import time
import warnings
from typing import Any

import numpy as np

from tests.package.stop_cases import Case, cases


class Press:
    """SIGINT to this process after so many seconds, from a thread that is ready before."""

    def __init__(self, seconds: float) -> None:
        self.sent = 0.0
        self._called_off = threading.Event()
        self._seconds = seconds
        self._thread = threading.Thread(target=self._wait, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def _wait(self) -> None:
        if not self._called_off.wait(self._seconds):
            self.sent = time.perf_counter()
            os.kill(os.getpid(), signal.SIGINT)

    def end(self) -> None:
        self._called_off.set()
        self._thread.join()


def equal(one: Any, other: Any) -> bool:
    if isinstance(one, list):
        return len(one) == len(other) and all(map(equal, one, other))
    return bool(np.array_equal(np.asarray(one), np.asarray(other)))


def stopped(case: Case, seconds: float) -> dict[str, Any] | None:
    """What came of one Ctrl-C; None where the call had ended before."""
    press, ended, result, error = Press(seconds), 0.0, None, None
    try:
        try:
            press.start()
            result = case.run()
            ended = time.perf_counter()
        finally:
            ended = ended or time.perf_counter()
            press.end()
    except KeyboardInterrupt:
        error = "KeyboardInterrupt"
    except BaseException as other:
        error = f"{type(other).__name__}: {other}"
    if not press.sent or (result is not None and press.sent > ended - 1e-3):
        return None  # it came after the call
    report = {"family": case.family, "name": case.name, "delay": ended - press.sent, "wrong": ""}
    if error is None and not case.fine(result):
        report["wrong"] = "the Ctrl-C is lost"
    elif error not in (None, "KeyboardInterrupt"):
        report["wrong"] = str(error)[:500]
    elif signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        report["wrong"] = "the handler of SIGINT is another one afterwards"
    else:
        try:
            report["wrong"] = case.left()
        except Exception as other:
            report["wrong"] = f"what is left raises {type(other).__name__}: {other}"
    return report


def main(seed: int, wanted: int, number: int = 0, numbers: int = 1) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    warnings.simplefilter("ignore")
    draw = random.Random(seed)
    mine = cases()[number::numbers]
    draw.shuffle(mine)
    known: dict[str, tuple[Any, float]] = {}
    counted = tries = 0
    while counted < wanted and tries < 5 * wanted + len(mine):
        case = mine[tries % len(mine)]
        tries += 1
        if case.name not in known:
            case.run()  # kernels are loaded
            started = time.perf_counter()
            figures = case.figures(case.run())
            known[case.name] = figures, time.perf_counter() - started
        figures, usual = known[case.name]
        report = stopped(case, draw.uniform(0.0, usual))
        if report is None:
            continue
        if not report["wrong"] and not equal(case.figures(case.run()), figures):
            report["wrong"] = "the next call gives another result"
        counted += 1
        print(json.dumps(report), flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
