"""The rules of the comparison, in one place; and the threads, which must be set before numpy is loaded."""

from __future__ import annotations

import os

THREADS = 2
STRENGTHS = (0.01, 1.0)  # C
TARGETS = {"hinge": (1e-3, 1e-6), "logistic": (1e-6,)}  # (P - P*) / P* to be reached
SECONDS = 60.0  # no fit may take longer; where no peer gets there, this counts
REPEATS = 5
SHORT = 1.0  # a fit shorter than this is made twice in a row, and the second one counts
PAUSE = 0.3  # seconds before each fit: the threads of the last one may still wait for work, which takes a core
LONG = 10.0  # a fit longer than this is repeated 3 times only, one longer than 3 * LONG once

VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def limit_threads(threads: int = THREADS) -> None:
    """For this process and its children. Only libraries that are not loaded yet listen to it."""
    for name in VARIABLES:
        os.environ[name] = str(threads)


def repeats(seconds: float) -> int:
    return REPEATS if seconds <= LONG else 3 if seconds <= 3 * LONG else 1
