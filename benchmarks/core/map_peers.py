"""At equal judged distance: one loss, no offset, no weights, the first class against the others (SVC: all pairs).

Each peer is asked for less and less until the judge finds it within the target; then gapless is asked for the distance of the
fastest one, and for less until it is judged no farther.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.core import objective
from benchmarks.core.map_cells import Cell
from benchmarks.core.map_clock import in_turns, timed
from benchmarks.core.map_fits import KERNEL_ROWS
from benchmarks.studies import kernel, solvers

TARGETS = {"hinge": 1e-3, "squared_hinge": 1e-6, "logistic": 1e-6}
LOSSES = {"LinearSVC": "squared_hinge", "LinearSVC hinge": "hinge", "LogisticRegression": "logistic"}
PACKAGES = ("liblinear-official", "scikit-learn-intelex", "snapml")
SWEEP = (1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-6, 1e-8)
#: Seconds after which no tighter fit of a peer is asked for.
ENOUGH = 5.0


def duel(cell: Cell, X: Any, y: np.ndarray, repeats: int, clock: str = "wall") -> dict[str, Any] | None:
    """Seconds and judged distances of gapless and the fastest peer; None where no peer takes such a cell."""
    if cell.estimator in LOSSES:
        return _linear(cell, X, y, repeats, clock)
    return _kernel(cell, X, y, repeats, clock) if cell.estimator == "SVC" and len(y) <= KERNEL_ROWS else None


def _linear(cell: Cell, X: Any, y: np.ndarray, repeats: int, clock: str) -> dict[str, Any] | None:
    loss, C = LOSSES[cell.estimator], float(cell.C or 1.0)
    peers = [peer for peer in _peers(loss) if not peer.declines(X)]
    if not peers:
        return None
    data = (X, np.where(y == np.unique(y)[0], 1.0, -1.0))
    target = TARGETS[loss]
    tight = solvers.ours(loss, C, 1e-3 * target).set_params(time_limit=30.0).fit(*data)
    lower = float(tight.certificate_.dual)
    if not lower > 0.0 or tight.certificate_.relative_gap > 0.1 * target:
        return None

    def judged(coef: Any) -> float:
        return (objective.primal(coef, *data, C, loss) - lower) / lower

    best: tuple[float, Any, float, float] | None = None
    for peer in peers:
        for tol in SWEEP:
            try:
                coef, seconds = timed(lambda: peer.fit(data, C, tol, 0), "wall")  # noqa: B023
            except Exception:
                break  # a peer that fails is no peer here
            reached = judged(coef)
            if reached <= target:
                if best is None or seconds < best[0]:
                    best = (seconds, peer, tol, reached)
                break
            if seconds > ENOUGH or (best is not None and seconds > 2.0 * best[0]):
                break
    if best is None:
        return None
    seconds, peer, tol, reached = best
    reached = max(reached, 0.01 * target)  # nearer than that distances from this bound are not known
    own = reached
    while True:
        coef = solvers.ours(loss, C, own).fit(*data).coef_
        if judged(coef) <= reached or own < 1e-2 * reached:
            break
        own *= 0.3
    fits = {"gapless": lambda: solvers.ours(loss, C, own).fit(*data), "peer": lambda: peer.fit(data, C, tol, 0)}
    times = in_turns(fits, repeats, clock, seconds)
    return times | {"name": peer.name, "target": target, "distance": reached, "own": judged(coef)}


def _peers(loss: str) -> list[Any]:
    if loss == "squared_hinge":
        return [solvers._lib("-s 2", 2), solvers._lib("-s 1", 1)]
    return [peer for peer in solvers.PEERS[loss] if peer.package in PACKAGES]


def _kernel(cell: Cell, X: Any, y: np.ndarray, repeats: int, clock: str) -> dict[str, Any] | None:
    import gapless

    dense, C = np.ascontiguousarray(X.toarray() if sparse.issparse(X) else X), float(cell.C or 1.0)
    y = np.unique(y, return_inverse=True)[1]
    gamma = 1.0 / (dense.shape[1] * float(dense.var()))
    everybody = kernel.peers()
    fits: dict[str, Any] = {}
    taken: dict[str, float] = {}
    gaps: dict[str, float] = {}
    for name in ("sklearnex float64", "libsvm-official"):
        if name in everybody:
            fits[name] = everybody[name](dense, y, C, gamma)
            (model, _), taken[name] = timed(fits[name], "wall")
            gaps[name] = kernel.relative_gap(model, dense, y, C, gamma)
    good = [name for name in taken if gaps[name] <= 1e-2]
    if not good:
        return None
    fastest = min(good, key=lambda name: taken[name])
    own = max(gaps[fastest], 1e-9)
    while True:
        model = gapless.SVC(C=C, gamma=gamma, tol=own).fit(dense, y)
        reached = kernel.relative_gap(model, dense, y, C, gamma)
        if reached <= max(gaps[fastest], 1e-9) or own < 1e-9:
            break
        own *= 0.3
    pair = {"gapless": lambda: gapless.SVC(C=C, gamma=gamma, tol=own).fit(dense, y), "peer": fits[fastest]}
    found = {"name": fastest, "target": gaps[fastest], "distance": gaps[fastest], "own": reached}
    return in_turns(pair, repeats, clock, taken[fastest]) | found | {"engine": engine_of(model)}


def engine_of(model: Any) -> str | None:
    """The library whose solver our fit used, where the certificate names one."""
    return getattr(getattr(model, "certificate_", None), "engine", None)
