"""`python -m benchmarks`: gapless against its peers, the linear family. README.md says how it is measured.

Without the data folder only the quick comparison with scikit-learn runs, on data that scikit-learn ships.
"""

from __future__ import annotations

import argparse
import time

from benchmarks.core import limits

limits.limit_threads()  # before numpy is loaded

from benchmarks.core import datasets, memory, table  # noqa: E402
from benchmarks.studies import (  # noqa: E402
    costs,
    descent,
    ensembles,
    kernel,
    kernel_grid,
    kernel_growth,
    least_squares,
    linear,
    linear_quick,
    perceptron,
    tree,
    tuning,
)
from benchmarks.studies.solvers import PEERS  # noqa: E402

SECTIONS = (
    "hinge",
    "logistic",
    "offset",
    "threads",
    "least_squares",
    "memory",
    "perceptron",
    "descent",
    "kernel",
    "kernel_grid",
    "kernel_growth",
    "ensembles",
    "tree",
    "tuning",
)


def main() -> None:
    everything = tuple(dict.fromkeys([*datasets.SETS, *kernel.SETS]))
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--data", help="the folder of the data sets (else $GAPLESS_DATA, else ../shared/data)")
    parser.add_argument("--only", type=_among(SECTIONS), default=SECTIONS, help=f"of {','.join(SECTIONS)}")
    parser.add_argument("--sets", type=_among(everything), default=everything, help=f"of {','.join(everything)}")
    parser.add_argument("--C", type=_numbers, default=limits.STRENGTHS, help="of 0.01,1")
    parser.add_argument("--peers", action="store_true", help="sweep the peers only, and print what they take")
    parser.add_argument("--fresh", action="store_true", help="sweep again what was swept before")
    parser.add_argument(
        "--full", action="store_true", help="sweep on where another peer is faster already: whole curves"
    )
    parser.add_argument("--keep-results", action="store_true", help="do not rewrite the tables of RESULTS.md")
    options = parser.parse_args()
    folder = datasets.find_folder(options.data)
    if folder is None:
        print("No data folder (--data, $GAPLESS_DATA or ../shared/data): left out are the real data sets, all peers")
        print("but scikit-learn, and the tables of benchmarks/RESULTS.md. What follows is the quick comparison.\n")
        linear_quick.main([])
        return
    start = time.perf_counter()

    def say(text: str) -> None:
        print(f"[{time.perf_counter() - start:5.0f} s] {text}", flush=True)

    losses = [loss for loss in PEERS if loss in options.only]
    sets, strengths = [name for name in options.sets if name in datasets.SETS], list(options.C)
    try:
        linear.run(
            folder, sets, losses, strengths, fresh=options.fresh, duels=not options.peers, full=options.full, say=say
        )
        if options.peers:
            print(linear.peers_table())
            return
        both = losses or list(PEERS)
        if "offset" in options.only:
            costs.offset(folder, sets, both, strengths, say)
        if "threads" in options.only:
            costs.threads(folder, sets, both, strengths, say)
        if "least_squares" in options.only:
            least_squares.run(say)
        if "descent" in options.only:
            descent.run(folder, sets, say)
        if "memory" in options.only:
            memory.run(folder, say)
        if "perceptron" in options.only:
            perceptron.run(folder, sets, say)
        if "kernel" in options.only:
            kernel.run(folder, [name for name in kernel.SETS if name in options.sets], say)
        if "kernel_grid" in options.only:
            kernel_grid.run(folder, say)
        if "kernel_growth" in options.only:
            kernel_growth.run(folder, say)
        if "ensembles" in options.only:
            ensembles.run(folder, sets, say)
        if "tree" in options.only:
            tree.run(folder, say)
        if "tuning" in options.only:
            tuning.run(folder, list(tuning.SETS), say)
    except KeyboardInterrupt:
        say("stopped; what was finished is kept")
    if not (options.peers or options.keep_results):
        table.rewrite()
    print(table.render())


def _among(known):
    def read(text: str) -> tuple[str, ...]:
        chosen = tuple(text.split(","))
        if strange := [name for name in chosen if name not in known]:
            raise argparse.ArgumentTypeError(f"{', '.join(strange)}: not among {', '.join(known)}")
        return chosen

    return read


def _numbers(text: str) -> tuple[float, ...]:
    return tuple(float(part) for part in text.split(","))


if __name__ == "__main__":
    main()
