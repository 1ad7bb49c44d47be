"""The table of the linear classifiers: peers swept, the fastest one timed against gapless, taking turns.

Whatever is finished is kept at once (.kept/sweeps.json, .kept/rows.json); a run that is stopped loses one fit.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.core import datasets, limits, objective
from benchmarks.core.child import Child, Failed
from benchmarks.core.sweep import fastest, sweep
from benchmarks.studies.solvers import OURS, PEERS, Solver

Say = Callable[[str], None]


def problem_key(data: str, loss: str, C: float) -> str:
    return f"{data} {loss} C={C:g}"


def run(
    folder: Path,
    sets: list[str],
    losses: list[str],
    strengths: list[float],
    *,
    fresh: bool,
    duels: bool,
    full: bool,
    say: Say,
) -> None:
    """Every problem asked for: references, sweeps of the peers, then (with `duels`) ours against the fastest."""
    for data in sets:
        chosen = [loss for loss in losses if data in datasets.SETS_OF[loss]]
        if not chosen:
            continue
        X, y = datasets.load(data, folder)
        say(f"{data}: {X.shape[0]} x {X.shape[1]}, {datasets.SETS[data][0]}")
        references = {(loss, C): objective.reference(X, y, C, loss, data) for loss in chosen for C in strengths}
        absent = {peer.name: why for loss in chosen for peer in PEERS[loss] if (why := peer.declines(X))}
        del X, y  # the child has its own
        for name, why in absent.items():
            say(f"  without {name}: {why}")
        with Child(data, folder) as child:
            for (loss, C), reference in references.items():
                say(f"  {loss}, C = {C:g}: P* = {reference['lower']:.10g}")
                peers = [peer for peer in PEERS[loss] if peer.name not in absent]
                swept = _sweeps(child, peers, loss, C, reference["lower"], fresh, full, say)
                if duels:
                    own = _own_curve(child, loss, C, reference["lower"], say)
                    for target in limits.TARGETS[loss]:
                        row = _duel(child, loss, C, reference["lower"], target, own, swept, say)
                        objective.keep(
                            "rows.json", f"{problem_key(data, loss, C)} to {target:g}", row | {"absent": absent}
                        )


def _sweeps(
    child: Child, peers: list[Solver], loss: str, C: float, lower: float, fresh: bool, full: bool, say: Say
) -> dict[str, Any]:
    """{solver: {"points", "ended"}}, from the file where this version of the peer was swept before."""
    targets = limits.TARGETS[loss]
    key = problem_key(child.data, loss, C)
    swept: dict[str, Any] = {}
    best, endless = dict.fromkeys(targets, math.inf), dict.fromkeys(targets, math.inf)
    for peer in peers:
        known = objective.read("sweeps.json").get(key, {}).get(peer.name)
        if fresh or known is None or known["version"] != peer.version:
            known = sweep(child, peer, loss, C, lower, targets, limits.SECONDS, endless if full else best, say)
            known["version"] = peer.version
            objective.keep("sweeps.json", key, objective.read("sweeps.json").get(key, {}) | {peer.name: known})
        swept[peer.name] = known
        for target in targets:
            if there := fastest(known["points"], target):
                best[target] = min(best[target], there["seconds"])
    return swept


def _own_curve(child: Child, loss: str, C: float, lower: float, say: Say) -> dict[str, Any]:
    """Ours at every tolerance, down to where the bound on the optimum ends."""
    own = OURS[loss]
    targets = (*limits.TARGETS[loss], 10 * objective.TIGHT)
    swept = sweep(child, own, loss, C, lower, targets, limits.SECONDS, dict.fromkeys(targets, math.inf), say)
    key = problem_key(child.data, loss, C)
    objective.keep(
        "sweeps.json", key, objective.read("sweeps.json").get(key, {}) | {own.name: swept | {"version": own.version}}
    )
    return swept


def _duel(
    child: Child, loss: str, C: float, lower: float, target: float, own: Any, swept: dict[str, Any], say: Say
) -> dict[str, Any]:
    """Ours against the two fastest peers as swept, in one process, taking turns; medians over as many seeds.

    Ours runs twice: with the tolerance that the sweep found for this distance, as everybody, and with the target itself as
    its tolerance, so that its own certificate proves the distance.
    """
    mine, proved = OURS[loss].name, f"{OURS[loss].name}, proved"
    loosest = fastest(own["points"], target)
    there = sorted(
        (point["seconds"], name, point["tol"])
        for name, found in swept.items()
        if (point := fastest(found["points"], target))
    )[:2]
    runners = {mine: loosest["tol"] if loosest else target, proved: target} | {name: tol for _, name, tol in there}
    runs: dict[str, list[Any]] = {name: [] for name in runners}
    first = child.fit(mine, loss, C, target, limits.SECONDS)
    turns = limits.repeats(max([first.seconds, *(seconds for seconds, _, _ in there)]))
    for turn in range(turns):
        for name, tol in runners.items():
            try:
                runs[name].append(child.fit(name.removesuffix(", proved"), loss, C, tol, limits.SECONDS, seed=turn))
            except Failed as error:
                say(f"    {error}")
    medians = {name: statistics.median(run.seconds for run in done) for name, done in runs.items() if done}
    distances = {
        name: (statistics.median(run.primal for run in done) - lower) / lower for name, done in runs.items() if done
    }
    if distances[mine] > target:  # what the sweep reached by luck does not count, ...
        medians[mine], distances[mine], runners[mine] = medians[proved], distances[proved], target
    # ... but for a peer that misses by less than a factor of 2
    reached = [name for name in medians if name not in (mine, proved) and distances[name] <= 2 * target]
    peer = min(reached, key=medians.__getitem__, default=None)
    row = {
        "data": child.data,
        "loss": loss,
        "C": C,
        "target": target,
        "seconds": medians[mine],
        "tol": runners[mine],
        "proved": medians[proved],
        "distance": distances[mine],
        "way": runs[mine][-1].note,
        "peer": peer,
        "peer_tol": runners[peer] if peer else None,
        "peer_seconds": medians[peer] if peer else limits.SECONDS,
        "peer_distance": distances[peer] if peer else None,
        "turns": turns,
    }
    row["ratio"] = row["peer_seconds"] / row["seconds"]
    say(
        f"    to {target:g}: {row['seconds']:.3f} s ({row['way']}, {row['distance']:.1e}), "
        f"{peer or 'no peer'} {row['peer_seconds']:.3f} s: {'' if peer else '> '}{row['ratio']:.2f} x"
    )
    return row


def peers_table() -> str:
    """The fastest peer for every problem that was swept, as swept: one run each."""
    lines = [f"{'data':<16} {'loss':<9} {'C':>5} {'target':>7}  fastest peers as swept (seconds, tolerance, distance)"]
    for key, found in objective.read("sweeps.json").items():
        data, loss, C = key.split(" ")
        peers = {name: solver for name, solver in found.items() if name != OURS[loss].name}
        for target in limits.TARGETS[loss]:
            there = sorted(
                (point["seconds"], f"{point['seconds']:.3f} s {name} (tol {point['tol']:.2g}, {point['distance']:.0e})")
                for name, solver in peers.items()
                if (point := fastest(solver["points"], target))
            )
            shown = "; ".join(text for _, text in there[:3]) or f"> {limits.SECONDS:g} s: nobody"
            lines.append(f"{data:<16} {loss:<9} {C[2:]:>5} {target:>7g}  {shown}")
    return "\n".join(lines)
