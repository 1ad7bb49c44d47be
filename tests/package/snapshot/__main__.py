"""The gate of a change that should change nothing: what some 500 calls of the public names come to, kept and compared.

    python -m tests.package.snapshot keep FILE [--only FAMILY ...]
    python -m tests.package.snapshot compare FILE [--only FAMILY ...]

`keep` writes one line of JSON a case: hashes of the bits of all fitted arrays and predictions, of the saved model file without
seconds and version, and of the judge's verdict. `compare` makes them again and says which case differs in which part; it ends
with 1 where one does. A change of the judge's prose alone is the part "words", which `--words-may-change` lets pass.
The bits hold for one processor and one set of installed libraries: keep and compare on the same machine.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import scipy.linalg  # noqa: F401  (its BLAS has to be loaded to be limited)
from threadpoolctl import threadpool_limits

import gapless
from tests.package.snapshot.calls import CALLS
from tests.package.snapshot.cases import FITS, Case

Told = dict[str, Any]


def cases(only: list[str] | None) -> Iterator[Case]:
    seen: set[str] = set()
    for group in (*FITS, *CALLS):
        for family, name, run in group():
            if only and family not in only:
                continue
            label = f"{family}: {name}"
            assert label not in seen, f"two cases are called {label}"
            seen.add(label)
            yield family, name, run


def tell(run: Callable[[], Told]) -> Told:
    """The case's figures, with the kinds of its warnings; a case that raises says what."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            told = run()
        except Exception as error:  # what a refused call raises is part of what is kept
            told = {"raised": type(error).__name__}
    kinds = sorted({each.category.__name__ for each in caught} - {"FutureWarning", "DeprecationWarning"})
    return {**told, "warned": kinds}


def all_told(only: list[str] | None, slow: float) -> Iterator[tuple[str, Told]]:
    for family, name, run in cases(only):
        started = time.perf_counter()
        told = tell(run)
        took = time.perf_counter() - started
        if took > slow:
            print(f"{took:6.2f} s  {family}: {name}", file=sys.stderr)
        yield f"{family}: {name}", told


def keep(file: Path, only: list[str] | None, slow: float) -> int:
    lines = [json.dumps({"case": name, **told}) for name, told in all_told(only, slow)]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{len(lines)} cases are kept in {file}")
    return 0


def read(file: Path, only: list[str] | None) -> dict[str, Told]:
    kept = {}
    for line in file.read_text("utf-8").splitlines():
        told = json.loads(line)
        name = told.pop("case")
        if not only or name.split(":")[0] in only:
            kept[name] = told
    return kept


def differences(before: Told, now: Told) -> list[str]:
    """The parts of a case that differ, arrays by their names."""
    found = []
    for part in sorted({*before, *now}):
        old, new = before.get(part), now.get(part)
        if old == new:
            continue
        if isinstance(old, dict) and isinstance(new, dict):
            names = [name for name in sorted({*old, *new}) if old.get(name) != new.get(name)]
            found.append(f"{part} ({', '.join(names)})")
        elif part in ("status", "raised", "warned", "loaded", "verdict"):
            found.append(f"{part} ({old} -> {new})")
        else:
            found.append(part)
    return found


def compare(file: Path, only: list[str] | None, slow: float, words_may_change: bool) -> int:
    kept = read(file, only)
    differing = number = 0
    for name, told in all_told(only, slow):
        number += 1
        told = json.loads(json.dumps(told))
        before = kept.pop(name, None)
        found = ["no such case was kept"] if before is None else differences(before, told)
        found = [part for part in found if not (words_may_change and part == "words")]
        if found:
            differing += 1
            print(f"{name}: {'; '.join(found)}", flush=True)
    for name in kept:
        differing += 1
        print(f"{name}: was kept, and is no case now")
    print(f"{number} cases, {differing} differ from {file}" if differing else f"{number} cases are equal to {file}")
    return int(differing > 0)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.package.snapshot", description=__doc__.splitlines()[0])
    parser.add_argument("action", choices=("keep", "compare"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--only", nargs="+", metavar="FAMILY", help="linear, kernel, tree, ...")
    parser.add_argument("--slow", type=float, default=1e9, metavar="SECONDS", help="name the cases that take longer")
    parser.add_argument("--words-may-change", action="store_true", help="let the judge's prose differ")
    given = parser.parse_args()
    with (
        gapless.config_context(convergence="warn", backend="numba"),
        threadpool_limits(1),
    ):  # the judge's sums go as BLAS cuts them
        if given.action == "keep":
            return keep(given.file, given.only, given.slow)
        return compare(given.file, given.only, given.slow, given.words_may_change)


if __name__ == "__main__":
    sys.exit(main())
