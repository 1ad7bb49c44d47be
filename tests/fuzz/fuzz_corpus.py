"""The files that mutations start from, by kind. Text and npz files are made here; Arrow and Parquet files by pyarrow, where it
is installed; model files are those of tests/judge/files_0_1_0. ``found`` holds small files that once ended badly."""

from __future__ import annotations

import functools
import io
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
MODELS = HERE.parent / "judge" / "files_0_1_0"
FOUND = HERE / "found"
ENDINGS = {
    "model": ".gapless",
    "csv": ".csv",
    "svmlight": ".svm",
    "npz": ".npz",
    "arrow": ".arrow",
    "parquet": ".parquet",
}
KINDS = tuple(ENDINGS)


def needs(kind: str) -> str | None:
    """The library without which files of this kind are not read; None: none."""
    return "pyarrow" if kind in ("arrow", "parquet") else None


@functools.cache
def seeds(kind: str) -> dict[str, bytes]:
    """The honest files of a kind, by name, and those that were found."""
    made = {
        "model": lambda: {path.stem: path.read_bytes() for path in sorted(MODELS.glob("*.gapless"))},
        "csv": csv_files,
        "svmlight": svmlight_files,
        "npz": npz_files,
        "arrow": lambda: arrow_files("arrow"),
        "parquet": lambda: arrow_files("parquet"),
    }[kind]()
    return made | found(kind)


def found(kind: str) -> dict[str, bytes]:
    return {path.stem: path.read_bytes() for path in sorted(FOUND.glob("*" + ENDINGS[kind]))}


def _lines(rows: list[list[str]], separator: str, end: str = "\n") -> bytes:
    return "".join(separator.join(row) + end for row in rows).encode()


def csv_files() -> dict[str, bytes]:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 3)) * [1.0, 100.0, 1e-5]
    label = [str(k % 2) for k in range(40)]
    plain = [["a", "b", "c", "y"], *([*map(repr, row.tolist()), label[i]] for i, row in enumerate(X))]
    german = [["Größe", "Preis", "Farbe", "Klasse"]]
    german += [
        [
            f"{row[0]:.2f}".replace(".", ","),
            f"{abs(row[1]) * 100:,.2f}".translate(str.maketrans(",.", ".,")),
            "rot",
            "ja",
        ]
        for row in X[:20]
    ]
    typed = [["day", "price", "colour", "size", "kind"]]
    for i in range(30):
        size = "" if i % 7 == 3 else str(i % 5)
        typed.append(
            [f"{1 + i % 28:02d}.{1 + i % 12:02d}.2019", f"{i * 1.5:.2f} EUR", ("red", "blue")[i % 2], size, "ab"[i % 2]]
        )
    quoted = [['"a, b"', '"say ""x"""', '"two\nlines"', "label"]]
    quoted += [[f'"{i}"', f'"{i / 8}"', f"{i * i}", f'"{["no", "yes"][i % 2]}"'] for i in range(12)]
    bare = [[f"{i}", f"{i % 3}", f"{i * 0.25}", label[i]] for i in range(25)]
    titled = _lines([["A report of 2020"], [""], ["a", "b", "y"], *[["1", str(i), label[i]] for i in range(9)]], ",")
    return {
        "plain": _lines(plain, ","),
        "german": _lines(german, ";"),
        "tabs": _lines(plain, "\t", "\r\n"),
        "typed": _lines(typed, ";"),
        "quoted": _lines(quoted, ","),
        "bare": _lines(bare, ","),
        "titled": titled + b"Total,99,\n",
        "utf16": _lines(typed, "\t").decode().encode("utf-16"),
        "latin": _lines(german, ";").decode().encode("cp1252"),
        "wide": _lines([[f"x{j}" for j in range(60)], *[[str((i * j) % 7) for j in range(60)] for i in range(8)]], ","),
    }


def svmlight_files() -> dict[str, bytes]:
    rng = np.random.default_rng(2)

    def rows(labels: list[str], first: int) -> bytes:
        out = []
        for i in range(30):
            columns = np.flatnonzero(rng.random(8) < 0.5) + first
            entries = [f"{j}:{v!r}" for j, v in zip(columns.tolist(), rng.normal(size=columns.size).tolist())]
            out.append(" ".join([labels[i % len(labels)], *entries]))
        return ("\n".join(out) + "\n").encode()

    plain = rows(["1", "-1"], 1)
    return {
        "plain": plain,
        "zero": rows(["0", "1", "2"], 0),
        "floats": rows(["0.5", "-1.25", "3e2"], 1),
        "texts": rows(["cat", "dog"], 1),
        "comments": b"# made by hand\n" + plain.replace(b"\n", b" # a row\n"),
        "queries": plain.replace(b" ", b" qid:3 ", 5),
        "returns": plain.replace(b"\n", b"\r\n"),
    }


def npz_files() -> dict[str, bytes]:
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(20, 3)), np.arange(20) % 2
    sparse = {
        "X_data": X[:, 0],
        "X_indices": np.arange(20) % 3,
        "X_indptr": np.arange(21),
        "X_shape": np.array([20, 3]),
    }
    return {
        "plain": _npz(X=X, y=y),
        "named": _npz(
            X=X.astype(np.float32), y=y.astype(str), sample_weight=np.ones(20), feature_names=np.array(["a", "b", "c"])
        ),
        "fortran": _npz(X=np.asfortranarray(X), y=y.astype(bool)),
        "whole": _npz(X=(X * 10).astype(np.int16), y=y.astype(np.uint8)),
        "sparse": _npz(**sparse, y=y),
        "packed": _npz(packed=True, X=np.ones((50, 4)), y=np.arange(50) % 2),
    }


def _npz(packed: bool = False, **arrays: np.ndarray) -> bytes:
    out = io.BytesIO()
    (np.savez_compressed if packed else np.savez)(out, **arrays)
    return out.getvalue()


def arrow_files(kind: str) -> dict[str, bytes]:
    """Tables of many types; empty where pyarrow is not installed (the tests say so)."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        return {}
    rng = np.random.default_rng(4)
    n = 24
    y = pa.array([k % 2 for k in range(n)])
    numbers = {"a": rng.normal(size=n), "b": np.arange(n), "c": rng.normal(size=n).astype(np.float32)}
    words = pa.array(["red", "blue", None, "green"] * (n // 4))
    tables = {
        "numbers": pa.table({**numbers, "y": y}),
        "gaps": pa.table({"a": pa.array([None if k % 5 == 0 else k * 0.5 for k in range(n)]), "b": words, "y": y}),
        "codes": pa.table({"a": words.dictionary_encode(), "b": numbers["a"], "y": y}),
        "texts": pa.table({"a": [f"{k},5" for k in range(n)], "b": [f"{1 + k}.02.2020" for k in range(n)], "y": y}),
        "dates": pa.table(
            {
                "a": pa.array(np.arange(n), pa.timestamp("ms", "UTC")),
                "b": pa.array(range(n), pa.date32()),
                "c": pa.array(range(n), pa.duration("s")),
                "d": pa.array(range(n), pa.time32("s")),
                "y": y,
            }
        ),
        "small": pa.table(
            {
                "a": pa.array(range(n), pa.int8()),
                "b": pa.array([k % 3 == 0 for k in range(n)]),
                "c": pa.array(range(n), pa.decimal128(10, 2)),
                "d": pa.array(range(n), pa.uint64()),
                "y": [("no", "yes")[k % 2] for k in range(n)],
            }
        ),
        "odd": pa.table({"a": numbers["a"], "b": [[k] for k in range(n)], "y": y}),
        "twice": pa.Table.from_arrays([pa.array(numbers["a"]), pa.array(numbers["b"]), y], names=["a", "a", "y"]),
    }
    files = {}
    for name, table in tables.items():
        out = io.BytesIO()
        if kind == "parquet":
            pq.write_table(table, out, compression="NONE" if name != "numbers" else "snappy")
        else:
            stream = name in ("gaps", "dates")
            writer = (pa.ipc.new_stream if stream else pa.ipc.new_file)(out, table.schema)
            with writer:
                writer.write_table(table, max_chunksize=10)
        files[name] = out.getvalue()
    return files
