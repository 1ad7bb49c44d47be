"""Readers against their peers, in turns, in one process: svmlight against scikit-learn, CSV against pandas' C engine.

    python -m benchmarks.readers [svmlight] [csv] [memory]

The arrays have to be the same, bit for bit, and the texts. A ratio is that of the medians; of the turns one by one, a tenth is
below the span that follows it and a tenth above. One core: `taskset -c 0 python -m benchmarks.readers csv`. `memory` writes a CSV
of 1 GB into a temporary folder, reads it once in a process of its own, and compares that process's peak with the size of the
arrays; it is not part of the default.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

TURNS, SECONDS = 11, 0.2  # at least; of each reader
PEAK = """
import resource, sys, threading, time
from gapless.files import read_csv
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
start = time.perf_counter()
data = read_csv(sys.argv[1])
seconds = time.perf_counter() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
arrays = data.X.nbytes + data.y.nbytes
print(f"{data.X.shape[0]} x {data.X.shape[1]}: {seconds:.1f} s, arrays {arrays / 1e6:.0f} MB, "
      f"peak {peak * 1024 / 1e6:.0f} MB, {before * 1024 / 1e6:.0f} MB of it before; "
      f"peak / arrays {peak * 1024 / arrays:.2f}")
"""


def folder() -> Path | None:
    here = Path(__file__).resolve().parents[1]
    for place in (os.environ.get("GAPLESS_DATA"), here.parent / "shared" / "data"):
        if place and (Path(place) / "a9a.npz").exists():
            return Path(place)
    return None


def duel(ours: Callable[[], Any], theirs: Callable[[], Any]) -> tuple[float, float, float, float]:
    """Median seconds of each, in turns; ratios that nine of ten turns are above, and below."""
    times: tuple[list[float], list[float]] = ([], [])
    while len(times[0]) < TURNS or sum(times[1]) < SECONDS:
        for run, taken in zip((ours, theirs), times, strict=True):
            start = time.perf_counter()
            run()
            taken.append(time.perf_counter() - start)
    ratios = sorted(b / a for a, b in zip(*times, strict=True))
    tenth = len(ratios) // 10
    return statistics.median(times[0]), statistics.median(times[1]), ratios[tenth], ratios[-1 - tenth]


def svmlight(place: Path, source: Path) -> None:
    from scipy.sparse import csr_matrix
    from sklearn.datasets import dump_svmlight_file, load_svmlight_file
    from sklearn.feature_extraction.text import TfidfTransformer

    from gapless.files import read_svmlight

    for name in ("a9a", "news20", "news20 tf-idf"):
        with np.load(source / f"{name.split()[0]}.npz") as file:
            parts = [file[f"X_train_{key}"] for key in ("data", "indices", "indptr", "shape")]
            X = csr_matrix(tuple(part for part in parts[:3]), shape=tuple(parts[3])).astype(np.float64)
            y = file["y_train"]
        X = TfidfTransformer().fit_transform(X) if "tf-idf" in name else X
        path = place / f"{name.replace(' ', '_')}.svm"
        dump_svmlight_file(X, y, str(path), zero_based=False)
        data, (theirs, labels) = read_svmlight(path), load_svmlight_file(str(path), zero_based=False)
        assert data.X.shape == theirs.shape
        assert data.X.data.tobytes() == theirs.data.tobytes()
        for part in ("indices", "indptr"):  # theirs are 64-bit numbers
            assert np.array_equal(getattr(data.X, part), getattr(theirs, part)), part
        assert data.y is not None
        assert (data.y == labels).all()
        a, b, *_ = duel(lambda path=path: read_svmlight(path), lambda path=path: load_svmlight_file(str(path)))
        size = path.stat().st_size / 1e6
        print(f"{name:<14} {size:6.1f} MB  gapless {a:.3f} s ({size / a:.0f} MB/s)  sklearn {b:.3f} s  {b / a:.1f} x")


def csv(place: Path, source: Path | None) -> None:
    import pandas as pd

    from gapless.files import read_csv

    random = np.random.default_rng(0)
    tables = {
        "17 digits": random.normal(size=(60_000, 30)),
        "6 decimals": random.normal(size=(150_000, 30)).round(6),
        "small integers": random.integers(0, 100, size=(300_000, 30)),
        "1,000 rows": random.normal(size=(1_000, 10)).round(3),
    }
    for name, X in tables.items():
        path = place / f"{name.replace(' ', '_')}.csv"
        frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
        frame["y"] = random.integers(0, 2, size=len(frame))
        frame.to_csv(path, index=False)
        data = read_csv(path)
        assert data.X.tobytes() == np.ascontiguousarray(X, dtype=np.float64).tobytes()
        _tell(name, path, *duel(lambda path=path: read_csv(path), lambda path=path: pd.read_csv(path, engine="c")))
    frames = {
        "texts": _texts(150_000, 12, random),
        "mixed": _texts(100_000, 6, random),
        "quoted": _texts(50_000, 6, random),
    }
    for name, frame in frames.items():
        if name != "texts":
            for j in range(6):
                frame[f"x{j}"] = random.normal(size=len(frame)).round(4)
        frame["y"] = random.integers(0, 2, size=len(frame))
        frame.to_csv(place / f"{name}.csv", index=False, quoting=2 if name == "quoted" else 0)
    named = {name: (place / f"{name}.csv", "y") for name in frames}
    if source is not None:
        from benchmarks.studies.tables import TARGET, write_csv

        for name in ("adult", "bank", "titanic"):
            write_csv(name, source, place / f"{name}.csv")
            named[name] = place / f"{name}.csv", TARGET[name]
        head = (place / "adult.csv").read_text(encoding="utf-8").splitlines(keepends=True)[:1001]
        (place / "few.csv").write_text("".join(head), encoding="utf-8")
        named["adult, 1,000"] = place / "few.csv", TARGET["adult"]
    for name, (path, target) in named.items():
        data, frame = read_csv(path, typed=True, target=target), pd.read_csv(path, engine="c", na_values=["?"])
        for j, (called, levels) in enumerate(zip(data.names or (), data.levels or (), strict=True)):
            column = frame[called]
            same = column.to_numpy(dtype=np.float64)[~column.isna()] if levels is None else column.dropna().tolist()
            read = data.X[~np.isnan(data.X[:, j]), j]
            assert np.array_equal(read if levels is None else [levels[int(code)] for code in read], same), called
        _tell(
            name,
            path,
            *duel(
                lambda path=path, target=target: read_csv(path, typed=True, target=target),
                lambda path=path: pd.read_csv(path, engine="c"),
            ),
        )


def _texts(rows: int, columns: int, random: np.random.Generator) -> Any:
    """Columns of 3 to 300 different texts of 3 to 22 letters."""
    import pandas as pd

    kinds = [("red", 3), ("colour", 8), ("the name of a place", 20), ("x", 50), ("street", 100), ("category", 300)]
    frame = {}
    for j in range(columns):
        word, many = kinds[j % len(kinds)]
        told = np.array([f"{word} {k}" for k in range(many)], dtype=object)
        frame[f"t{j}"] = told[random.integers(0, many, size=rows)]
    return pd.DataFrame(frame)


def _tell(name: str, path: Path, ours: float, theirs: float, least: float, most: float) -> None:
    size = path.stat().st_size / 1e6
    print(
        f"{name:<14} {size:6.1f} MB  gapless {1e3 * ours:6.2f} ms ({size / ours:4.0f} MB/s)  pandas {1e3 * theirs:6.2f} ms  "
        f"{theirs / ours:.2f} x ({least:.2f} to {most:.2f})",
        flush=True,
    )


def memory(place: Path) -> None:
    path = place / "large.csv"
    random = np.random.default_rng(0)
    with open(path, "w", encoding="ascii") as stream:
        stream.write(",".join(f"x{j}" for j in range(20)) + ",y\n")
        lines = [
            ",".join(f"{v:.10g}" for v in row) + f",{k % 2}\n"
            for k, row in enumerate(random.normal(size=(20_000, 20)).tolist())
        ]
        text = "".join(lines)
        for _ in range(int(1e9 // len(text)) + 1):
            stream.write(text)
    print(f"{path.stat().st_size / 1e9:.2f} GB")
    try:
        subprocess.run([sys.executable, "-c", PEAK, str(path)], check=True)
    finally:
        path.unlink()


def main(asked: list[str]) -> None:
    source = folder()
    with tempfile.TemporaryDirectory(prefix="gapless-readers-") as made:
        place = Path(made)
        for what in asked or ["svmlight", "csv"]:
            if what == "svmlight" and source is not None:
                svmlight(place, source)
            elif what == "svmlight":
                print("svmlight: no data sets; set GAPLESS_DATA to their folder")
            elif what == "csv":
                csv(place, source)
            elif what == "memory":
                memory(place)


if __name__ == "__main__":
    main(sys.argv[1:])
