"""Rows of the table: printed as they come, kept as JSON lines."""

from __future__ import annotations

import json
import os
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any


class Table:
    """What was measured; it survives a failure and a time limit."""

    def __init__(self, out: Path) -> None:
        out.mkdir(parents=True, exist_ok=True)
        self.file = (out / "rows.jsonl").open("a")

    def add(self, what: str, seconds: float | list[float], **figures: Any) -> None:
        spread = {} if isinstance(seconds, float) else {"from": min(seconds), "to": max(seconds), "fits": len(seconds)}
        row = {"what": what, "seconds": seconds if isinstance(seconds, float) else median(seconds), **spread, **figures}
        print(
            "  ".join(
                f"{key} {value:.6g}" if isinstance(value, float) else f"{key} {value}" for key, value in row.items()
            ),
            flush=True,
        )
        self.file.write(json.dumps(row) + "\n")
        self.file.flush()

    def run(self, name: str, measure: Callable[[], None]) -> None:
        print(f"== {name}", flush=True)
        started = time.perf_counter()
        try:
            measure()
        except Exception:
            traceback.print_exc(limit=12)
        print(f"== {name} took {time.perf_counter() - started:.1f} s", flush=True)


def fits(make: Callable[[], Any], X: Any, y: Any, repeats: int) -> tuple[Any, list[float]]:
    """The last of some models, and the seconds of all fits but the first."""
    model = make().fit(X, y)
    seconds = []
    for _ in range(min(repeats, int(os.environ.get("GAPLESS_REPEATS", "5")))):
        started = time.perf_counter()
        model = make().fit(X, y)
        seconds.append(time.perf_counter() - started)
    return model, seconds
