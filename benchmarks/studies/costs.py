"""What a free offset costs, and what a second thread gains: gapless against itself, tol = 1e-6."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.core import datasets, limits, objective
from benchmarks.core.child import Child

TOL = 1e-6
THREADED = ("covtype", "mnist")


def offset(
    folder: Path, sets: list[str], losses: list[str], strengths: list[float], say: Callable[[str], None]
) -> None:
    """Seconds with a free offset over seconds without."""
    for data in sets:
        _compare("offset", folder, data, losses, strengths, ("gapless", "gapless offset"), say)


def threads(
    folder: Path, sets: list[str], losses: list[str], strengths: list[float], say: Callable[[str], None]
) -> None:
    """Seconds on one thread over seconds on two."""
    for data in sets:
        if data in THREADED:
            _compare("threads", folder, data, losses, strengths, ("gapless", "gapless 1 thread"), say)


def _compare(
    section: str,
    folder: Path,
    data: str,
    losses: list[str],
    strengths: list[float],
    names: tuple[str, str],
    say: Callable[[str], None],
) -> None:
    with Child(data, folder) as child:
        for loss in (loss for loss in losses if data in datasets.SETS_OF[loss]):
            for C in strengths:
                seconds: dict[str, list[float]] = {name: [] for name in names}
                first = [child.fit(name, loss, C, TOL, 10 * limits.SECONDS).seconds for name in names]
                for _ in range(limits.repeats(max(first))):
                    for name in names:
                        seconds[name].append(child.fit(name, loss, C, TOL, 10 * limits.SECONDS).seconds)
                plain, other = (statistics.median(seconds[name]) for name in names)
                row: dict[str, Any] = {"data": data, "loss": loss, "C": C, "seconds": plain, "other": other}
                say(
                    f"  {data} {loss} C = {C:g}: {names[0]} {plain:.3f} s, {names[1]} {other:.3f} s: {other / plain:.2f} x"
                )
                objective.keep(f"{section}.json", f"{data} {loss} C={C:g}", row)
