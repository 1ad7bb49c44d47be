"""Two classes and a kernel with C = inf: the hard margin, or the proof that there is none."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from gapless._runtime.clock import now
from gapless.certificates.kernel import KERNEL_ROUNDING_SHARE, Pair
from gapless.certificates.subproblem import certify_values
from gapless.gram.blocks import Gram
from gapless.problems.hard_margin_kernel import HardMarginFigures, stretch_to_margins
from gapless.solvers.hard_margin.gram import hard_margin_gram
from gapless.solvers.loop import Interruption, Stop


def fit_hard(
    name: str, gram: Gram, y: np.ndarray, weights: np.ndarray, pair: tuple[int, int], stop: Stop,
    interruption: Interruption | None,
) -> tuple[HardMarginFigures, Pair]:  # fmt: skip
    """The point and its claim, or NotSeparable with its witness.

    A search that was stopped before it had a point returns a constant: the share by which the weight of one class is larger.
    """
    started = now()
    if y.size > 6_000:  # the factor of the kernel matrix of so many rows takes a minute
        raise MemoryError(
            f"{name}(C=inf) factors the matrix of {y.size} x {y.size} kernel values, {24.0 * y.size**2 / 2**30:.1f} GB. Use a "
            "large finite C."
        )
    every = np.arange(y.size)
    aim = replace(stop, relative_gap=min(stop.relative_gap, 1e-8))
    found = hard_margin_gram(gram.block(every, every), y, stop=aim, interruption=interruption)
    b = found.b if found.u.any() else float(np.average(y, weights=weights))
    best = stretch_to_margins(gram, y, found.u, b)
    ending = "stalled" if found.status == "converged" else found.status
    base = certify_values(
        best.primal, best.dual, tol=stop.relative_gap, ending=ending, rounding=best.rounding, n_iter=found.n_iter,
        seconds=now() - started, solver="hard_margin_gram", positive=pair[0], hard=True,
    )  # fmt: skip
    if not best.rounding <= KERNEL_ROUNDING_SHARE * max(abs(best.primal), abs(best.dual)):
        nan = math.nan
        base = replace(base, status="not_finite", primal=nan, dual=nan, gap=nan, relative_gap=nan)
    slack = float(np.maximum(0.0, 1.0 - y * (best.scores + best.b)).max(initial=0.0))
    return best, Pair(**base.__dict__, negative=pair[1], violation=slack)
