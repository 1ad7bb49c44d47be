"""A map instead of seven sets: every estimator beside scikit-learn's on data that a seed draws, a new one each time.

Default fit against default fit, in turns, medians; where scikit-learn's own result is judged farther from its optimum than our
tol, we are asked for that distance. And at equal judged distance against liblinear, LIBSVM, scikit-learn-intelex and snapml
where they are installed. A cell where scikit-learn needs over 20 s is drawn anew.

    python -m benchmarks.map --cells 400 --json map.json --picture map.png
    python -m benchmarks.map --seed 7 --cells 40 --budget 600 --only SVC,Ridge
    python -m benchmarks.map --cells 400 --workers 8 --json map.json     # 8 cells at once, each on two cores of its own
    python -m benchmarks.map --cells 400 --workers 8 --json map.json --resume     # goes on with the seed of that file
    python -m benchmarks.map --clock processor --threads 1 --no-peers    # where others work on the machine
    python -m benchmarks.map --read map.json other.json --picture map.png
"""

from __future__ import annotations

import argparse
import json
import secrets
import threading
import time
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.core import limits, machine


def main(arguments: list[str] | None = None) -> int:
    options = _options(arguments)
    if options.read:
        result = together([json.loads(path.read_text()) for path in options.read])
    else:
        limits.limit_threads(options.threads)
        result = travel(options)
    print(report(result))
    if options.picture and result["rows"]:
        from benchmarks.core.map_picture import draw

        draw(result["rows"], options.picture, f"{len(result['rows'])} cells of seed {result['seed']}")
    return 0


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.map", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=None, help="of the drawing; without it a new one")
    parser.add_argument("--cells", type=int, default=400)
    parser.add_argument("--budget", type=float, default=float("inf"), help="seconds after which no further cell begins")
    parser.add_argument("--only", default="", help="estimators, by commas: LinearSVC, LinearSVC hinge, SVC, Ridge ...")
    parser.add_argument("--repeats", type=int, default=limits.REPEATS)
    parser.add_argument("--threads", type=int, default=limits.THREADS)
    parser.add_argument(
        "--workers", type=int, default=1, help="cells at once, each on cores of its own: --threads of them"
    )
    parser.add_argument(
        "--clock", choices=("wall", "processor"), default="wall", help="processor: where others work on the machine"
    )
    parser.add_argument("--no-peers", action="store_true", help="scikit-learn only")
    parser.add_argument("--json", type=Path, help="where the results go, after each cell")
    parser.add_argument("--resume", action="store_true", help="go on with the seed and the cells of that file")
    parser.add_argument("--picture", type=Path, help="where the heat map goes (png, svg, pdf; needs matplotlib)")
    parser.add_argument("--read", type=Path, nargs="+", help="report on results of before and measure nothing")
    options = parser.parse_args(arguments)
    options.kept = json.loads(options.json.read_text()) if options.resume and options.json.exists() else None
    if options.kept is not None:
        if options.seed not in (None, options.kept["seed"]):
            raise SystemExit(f"{options.json} is of seed {options.kept['seed']}.")
        options.seed = options.kept["seed"]
    options.seed = secrets.randbelow(10**6) if options.seed is None else options.seed
    options.only = [name.strip() for name in options.only.split(",") if name.strip()]
    return options


def travel(options: argparse.Namespace) -> dict[str, Any]:
    """Draw cells and measure them, until there are enough or the time is over.

    Cell k of a seed is the same whoever measures it and however often the cells before it were drawn anew.
    """
    from benchmarks.core.map_fits import KINDS
    from benchmarks.core.map_run import Worker, cores_of_workers

    unknown = [name for name in options.only if name not in KINDS]
    if unknown:
        raise SystemExit(f"no estimator of the map: {', '.join(unknown)}. There are {', '.join(KINDS)}.")
    kinds = [KINDS[name] for name in options.only or KINDS]
    result: dict[str, Any] = {
        "seed": options.seed, "machine": machine.machine(), "packages": machine.packages(), "threads": options.threads,
        "workers": options.workers, "repeats": options.repeats, "clock": options.clock, "drawn anew": 0, "rows": [],
    }  # fmt: skip
    if options.kept is not None:
        result |= {name: options.kept[name] for name in ("drawn anew", "rows")}
    print(f"seed {options.seed}")
    done = {row["number"] for row in result["rows"]}
    numbers = (number for number in count() if number not in done)
    lock, began = threading.Lock(), time.monotonic()

    def measure(cores: list[int] | None) -> None:
        worker = Worker(options.threads, cores)
        try:
            while True:
                with lock:
                    number = next(numbers)
                if number >= options.cells:
                    return
                row, anew = _measured(worker, number, kinds, options, began + options.budget)
                with lock:
                    result["drawn anew"] += anew
                    if row is None:
                        return
                    result["rows"].append(row)
                    print(line(row), flush=True)
                    if options.json:
                        options.json.write_text(json.dumps(result, indent=1))
        finally:
            worker.close()

    threads = [
        threading.Thread(target=measure, args=(cores,)) for cores in cores_of_workers(options.workers, options.threads)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    result["rows"].sort(key=lambda row: row["number"])
    return result


def _measured(
    worker: Any, number: int, kinds: list[Any], options: argparse.Namespace, end: float
) -> tuple[dict[str, Any] | None, int]:
    """The row of one cell, and how often it was drawn anew; None where the time was over before."""
    from benchmarks.core.map_cells import draw_cell

    for anew in count():
        if time.monotonic() >= end:
            return None, anew
        random = np.random.default_rng((options.seed, number, anew))
        cell = draw_cell(random, number, kinds[int(random.integers(len(kinds)))])
        row = worker.run(cell, options.repeats, options.clock, not options.no_peers)
        if row is not None:
            return row | {"anew": anew}, anew
    raise AssertionError("count() has no end")


def together(results: list[dict[str, Any]]) -> dict[str, Any]:
    """Several journeys as one."""
    seeds = ", ".join(str(result["seed"]) for result in results)
    rows = [row for result in results for row in result["rows"]]
    anew = sum(result["drawn anew"] for result in results)
    return results[0] | {"seed": seeds, "rows": rows, "drawn anew": anew}


def line(row: dict[str, Any]) -> str:
    """A cell in words."""
    from benchmarks.core.map_run import ratio

    if "failed" in row:
        return f"{row['text']}: failed, {row['failed']} (scikit-learn {_short(row['peer_s'])})"
    asked = "" if row["judged"] is None or row["judged"] < row["asked"] else f", asked for {row['asked']:.1g}"
    text = f"{row['text']}: {_short(row['ours_s'])} against {_short(row['peer_s'])}, {ratio(row):.2f} times{asked}"
    peers = row.get("peers")
    if peers:
        times = peers["peer_s"] / peers["gapless_s"]
        text += f"; {peers['name']} {_short(peers['peer_s'])}, {times:.2f} times at {peers['distance']:.0e}"
    return text


def _short(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1.0 else f"{1e3 * seconds:.1f} ms"


def report(result: dict[str, Any]) -> str:
    """The figures, and the worst twenty cells."""
    from benchmarks.core.map_run import badness, figures

    found = figures(result["rows"])
    lines = [
        f"seed {result['seed']}: {found.pop('cells')} cells, {found.pop('failed')} failed, {result['drawn anew']} drawn anew",
        result["machine"],
        result["packages"],
        "",
    ]
    for name, values in found.items():
        lines.append(f"{name}: " + ", ".join(f"{key} {value:.3g}" for key, value in values.items()))
    lines += ["", "The worst twenty cells:"]
    worst = sorted(result["rows"], key=badness, reverse=True)[:20]
    lines += [f"{badness(row):6.1f} times what is allowed  {line(row)}" for row in worst]
    return "\n".join(lines)


if __name__ == "__main__":
    raise SystemExit(main())
