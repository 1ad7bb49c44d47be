"""Each peer's own tolerance, from loose to tight, until its answer is as close as the tightest target asks."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchmarks.core.child import Child, Failed
from benchmarks.studies.solvers import Solver

SHORT = 1.0  # seconds: a fit below this is run three times, each with a seed of its own, and medians are taken
LOOSER = 3  # decades that may be tried above the loosest tolerance where that was tighter than needed
STALLED = 3  # tighter tolerances in a row that brought nothing
STARTED = 0.1  # above this distance a solver has not really begun
HOPELESS = 2.0  # times slower than another peer that is there already
SLOW, FAR = 3.0, 30.0  # a fit of more seconds than this, and so many times too far away: the next decade is left out


def sweep(
    child: Child,
    solver: Solver,
    loss: str,
    C: float,
    lower: float,
    targets: Sequence[float],
    cap: float,
    best: Mapping[float, float],
    say: Callable[[str], None] = print,
) -> dict[str, Any]:
    """{"points": [{"tol", "seconds", "distance"}, ...], "ended": why}. `best`: seconds of the fastest peer for each
    target so far."""
    points: list[dict[str, Any]] = []

    def try_at(tol: float) -> str | None:
        runs = [child.fit(solver.name, loss, C, tol, cap)]
        while runs[0].seconds < SHORT and len(runs) < 3:
            runs.append(child.fit(solver.name, loss, C, tol, cap, seed=len(runs)))
        seconds = statistics.median(run.seconds for run in runs)
        distance = None if runs[0].killed else (statistics.median(run.primal for run in runs) - lower) / lower
        points.append({"tol": tol, "seconds": seconds, "distance": distance})
        shown = "killed" if distance is None else f"{distance:.1e}"
        say(f"    {solver.name:<24} tol {tol:<8.2g} {seconds:8.3f} s  {shown}")
        return f"killed after {cap:g} s" if distance is None else None

    ended = "tightest tolerance"
    closest, waiting, skip = math.inf, 0, False
    left_out: float | None = None
    try:
        for tol in solver.tolerances:
            if skip:
                skip, left_out = False, tol
                continue
            if stop := try_at(tol):
                ended = stop
                if left_out is not None:
                    try_at(left_out)
                break
            left_out = None
            seconds, distance = points[-1]["seconds"], points[-1]["distance"]
            missing = [target for target in targets if fastest(points, target) is None]
            if not missing:
                ended = "reached"
                break
            waiting = 0 if distance < 0.9 * closest or distance > STARTED else waiting + 1
            closest = min(closest, distance)
            if waiting >= STALLED:
                ended = "stalled"
                break
            limit = HOPELESS * max(best[target] for target in missing)
            if seconds > limit:  # once more: the machine may have been busy
                points.pop()
                if stop := try_at(tol):
                    ended = stop
                    break
                seconds = min(seconds, points[-1]["seconds"])
                points[-1]["seconds"] = seconds
            if seconds > limit:
                ended = f"{seconds:.2g} s, slower than another that was there"
                break
            skip = seconds > SLOW and distance > FAR * max(missing)
        for target in targets:
            there = fastest(points, target)
            if there is None or there["seconds"] > HOPELESS * best[target]:
                continue
            for _ in range(LOOSER):
                loosest = max(points, key=lambda point: point["tol"])
                if loosest["distance"] > target:
                    break
                try_at(10.0 * loosest["tol"])
            if between := _between(points, target):
                try_at(between)
    except Failed as error:
        ended = str(error)
        say(f"    {solver.name:<24} {ended}")
    return {"points": points, "ended": ended}


def _between(points: list[dict[str, Any]], target: float) -> float | None:
    """Half a decade between the loosest tolerance that reached the target and its looser neighbour."""
    reached = [p["tol"] for p in points if p["distance"] is not None and p["distance"] <= target]
    if not reached:
        return None
    looser = [p["tol"] for p in points if p["tol"] > max(reached)]
    return math.sqrt(min(looser) * max(reached)) if looser else None


def fastest(points: list[dict[str, Any]], target: float) -> dict[str, Any] | None:
    """The fastest try that reached the target."""
    reached = [p for p in points if p["distance"] is not None and p["distance"] <= target]
    return min(reached, key=lambda p: p["seconds"]) if reached else None
