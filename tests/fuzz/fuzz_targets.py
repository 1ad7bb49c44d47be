"""What is done with a file: it is read, and what was read is compared with a peer's reading; a model has to answer, too.

``trial(kind, path)`` gives "refused", "accepted" or "compared". Any other ending is an exception: `Wrong` where a value is
another one than the peer's or too much memory was taken, else what the reader raised.
"""

from __future__ import annotations

import gc
import math
import os
import re
import warnings
from contextlib import suppress
from typing import Any

import numpy as np
from fuzz_corpus import MODELS

MEGABYTES = 100 << 20


class Wrong(AssertionError):
    """Another value, or too much memory."""


class Memory:
    """The most memory that this process holds between `start` and `used`, above what it held before."""

    def start(self) -> None:
        gc.collect()
        self.measured = True
        try:
            with open("/proc/self/clear_refs", "w", encoding="ascii") as stream:
                stream.write("5")
        except OSError:
            self.measured = False  # no Linux: nothing is said about memory
        self.before = self._status("VmRSS")

    def used(self) -> int:
        return max(self._status("VmHWM") - self.before, 0) if self.measured else 0

    @staticmethod
    def _status(key: str) -> int:
        with suppress(OSError), open("/proc/self/status", encoding="ascii") as stream:
            for line in stream:
                if line.startswith(key + ":"):
                    return int(line.split()[1]) << 10
        return 0


def trial(kind: str, path: str) -> str:
    """Read a file, and compare."""
    from gapless import DataError, ModelFileError

    memory = Memory()
    memory.start()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            read, size = (_model if kind == "model" else _data)(path)
    except (DataError, ModelFileError) as error:
        most = 20 * os.path.getsize(path) + MEGABYTES
        if memory.used() > most:
            raise Wrong(
                f"{memory.used() >> 20} MB to refuse a file of {os.path.getsize(path)} bytes ({error})"
            ) from None
        if "\n" in str(error) or not str(error):
            raise Wrong(f"a message of several lines, or of none: {str(error)!r}") from None
        if kind in ("csv", "svmlight", "npz"):
            _judged(path, None)
        return "refused"
    if memory.used() > 4 * max(size, os.path.getsize(path)) + MEGABYTES:
        raise Wrong(f"{memory.used() >> 20} MB for a table of {size} bytes")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if kind in ("csv", "svmlight", "npz"):
            _judged(path, read)
        return {"model": _use, "csv": _as_pandas, "svmlight": _as_sklearn, "npz": _as_numpy}.get(kind, _as_arrow)(
            path, read
        )


# -- model files


def _model(path: str) -> tuple[Any, int]:
    import gapless

    model = gapless.load(path)
    return model, sum(array.nbytes for array in model.certificate_.arrays.values())


def rows_of(name: str) -> tuple[Any, Any, Any]:
    """X, y and weights of an honest model file."""
    with np.load(MODELS / f"{name}.npz") as archive:
        own = dict(archive)
    X = own.get("X")
    if X is None:
        from scipy.sparse import csr_matrix

        X = csr_matrix((own["X_data"], own["X_indices"], own["X_indptr"]), shape=tuple(own["X_shape"]))
    return X, own["y"], own.get("sample_weight")


def _use(path: str, model: Any) -> str:
    """A model that was accepted answers, and its claims are judged; other data than those of the fit are a CertificateError."""
    import gapless

    width = model.n_features_in_
    X = np.random.default_rng(5).integers(-3, 4, size=(6, min(width, 10_000))) * 0.5
    n_rows = model.certificate_.fingerprint["n_rows"]
    if getattr(model, "kernel", None) == "precomputed":
        X = np.ones((6, min(int(n_rows), 10_000)))
    if X.shape[1] < (n_rows if getattr(model, "kernel", None) == "precomputed" else width):
        return "accepted"
    answers = model.predict(X)
    if len(answers) != 6:
        raise Wrong(f"{len(answers)} answers to 6 rows")
    for method in ("decision_function", "predict_proba", "transform"):
        if hasattr(model, method):
            getattr(model, method)(X)
    numbers = np.asarray(answers).dtype.kind == "f"
    if hasattr(model, "score") and not (numbers and not np.isfinite(answers).all()):
        model.score(X, answers)  # scikit-learn's score takes no answers that overflowed
    str(model), repr(model), str(model.certificate_), model.get_params()
    for name in _alike(model):
        rows, y, weights = rows_of(name)
        given = {} if weights is None else {"sample_weight": weights}
        with suppress(gapless.CertificateError):
            gapless.verify(model, rows, y, **given)
        with suppress(gapless.CertificateError):
            gapless.report(model, rows, y, pictures=False, check=True, **given)
    return "compared"


def _alike(model: Any) -> list[str]:
    """Honest files of the same rows: those that the certificate's fingerprint names."""
    global _PRINTS
    if _PRINTS is None:
        from gapless import judge

        _PRINTS = {}
        for path in sorted(MODELS.glob("*.gapless")):
            mark = judge.read(path)[0]["certificate"]["fingerprint"]
            _PRINTS.setdefault((type_of(path.stem), mark["rows"]), []).append(path.stem)
    return _PRINTS.get((type(model).__name__, model.certificate_.fingerprint["rows"]), [])[:1]


_PRINTS: dict[tuple[str, str], list[str]] | None = None


def type_of(name: str) -> str:
    return name.partition("_")[0]


# -- data files


def _data(path: str) -> tuple[Any, int]:
    import gapless

    typed = path.endswith((".csv", ".arrow", ".parquet"))
    data = gapless.read_data(path, **({"typed": True} if typed else {}))
    X = data.X
    size = X.nbytes if isinstance(X, np.ndarray) else X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    for levels in data.levels or []:
        size += sum(map(len, levels or []))
    return data, size + (0 if data.y is None else data.y.nbytes)


def _judged(path: str, data: Any) -> None:
    """The judge's own reader, too, ends with rows or a DataError; where both read plain numbers, with the same rows."""
    from gapless import DataError
    from gapless.judge.files.data_file import read_data

    document: dict[str, Any] = {
        "n_features": 3,
        "feature_names": None,
        "target": None,
        "classes": {"type": "int", "values": []},
    }
    if data is not None:
        kind = (
            None
            if data.y is None
            else {"i": "int", "u": "int", "f": "float", "b": "bool"}.get(data.y.dtype.kind, "str")
        )
        values = [] if data.y is None else sorted({str(each) for each in data.y.tolist()})
        classes = None if kind is None else {"type": kind, "values": values if kind == "str" else []}
        document = {
            "n_features": data.n_features,
            "feature_names": data.names,
            "target": data.target,
            "classes": classes,
        }
    with suppress(DataError):
        read = read_data(path, document)
        plain = data is not None and isinstance(data.X, np.ndarray) and data.levels is None and data.reading is None
        if plain and read.X.shape == data.X.shape:
            _same(np.asarray(read.X).ravel(), data.X.ravel(), "the judge")


def _same(mine: Any, theirs: Any, where: str) -> None:
    a, b = np.asarray(mine, dtype=np.float64), np.asarray(theirs, dtype=np.float64)
    both = np.isfinite(a) & np.isfinite(b)
    if not np.array_equal(a[both], b[both]):
        k = int(np.flatnonzero(both & (a != b))[0])
        raise Wrong(f"{where}, row {k}: {a[k]!r}, the peer reads {b[k]!r}")


#: What pandas reads as a number in a column that holds other cells, too, with a decimal point and with a decimal comma.
PLAIN = {
    ".": re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII),
    ",": re.compile(r"[+-]?\d+(,\d+)?", re.ASCII),
}
SEPARATED = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|", "space": " "}


def _lone_returns(path: str) -> bool:
    with open(path, "rb") as stream:
        return b"\r" in stream.read().replace(b"\r\n", b"")


def _as_pandas(path: str, data: Any) -> str:
    """Where pandas sees rows and columns of the same names, each cell that both read as a number is the same number."""
    try:
        import pandas as pd
    except ImportError:
        return "accepted"
    words = [note.removesuffix("-separated") for note in data.notes if note.endswith("-separated")]
    encoding = next((note for note in data.notes if note.startswith(("utf", "cp1252", "latin"))), "utf-8")
    bare = "no header" in data.notes
    if _lone_returns(path):
        return "accepted"  # pandas ends lines at lone returns, too: its rows are others, even where there are as many
    try:
        frame = pd.read_csv(
            path, sep=SEPARATED[words[0]] if words else ",", dtype=str, encoding=encoding, skipinitialspace=True,
            header=None if bare else 0, keep_default_na=False,
        )  # fmt: skip
    except Exception:  # pandas refuses, or a line of another length moves its cells
        return "accepted"
    label = next((int(note.split()[-1]) for note in data.notes if note.startswith("the label is column ")), 0)
    names = [str(name).strip() for name in frame.columns]
    own = [str(k) for k in range(len(names)) if k != label - 1] if bare else data.names
    if (
        own is None
        or len(own) != data.n_features
        or len({*names}) != len(names)
        or not isinstance(frame.index, pd.RangeIndex)
    ):
        return "accepted"
    if not bare and len(frame) != data.n_rows and data.target in names:
        frame = frame[frame.iloc[:, names.index(data.target)].str.strip() != ""]
    if len(frame) != data.n_rows:
        return "accepted"  # titles above the table, sums below it, rows of which the label says that there is none
    compared = False
    for j, name in enumerate(own):
        style = None if data.reading is None else data.reading.styles[j]
        texts = data.levels is not None and data.levels[j] is not None
        if texts or name not in names or (style is not None and (style.kind != "number" or style.unit)):
            continue
        mark = "." if style is None else style.choice
        cells = [str(cell).strip() for cell in frame.iloc[:, names.index(name)].tolist()]
        theirs = [float(cell.replace(",", ".")) if PLAIN[mark].fullmatch(cell) else math.nan for cell in cells]
        _same(data.X[:, j], theirs, f"column {name!r}")
        compared = compared or not np.isnan(theirs).all()
    return "compared" if compared else "accepted"


def _as_sklearn(path: str, data: Any) -> str:
    try:
        from sklearn.datasets import load_svmlight_file
    except ImportError:
        return "accepted"
    try:
        X, y = load_svmlight_file(path, zero_based="auto", dtype=np.float64)
    except Exception:  # scikit-learn refuses more: labels that are texts, indices that do not rise
        return "accepted"
    if X.shape[0] != data.X.shape[0]:
        if _lone_returns(path):
            return "accepted"  # scikit-learn ends lines at \n alone
        raise Wrong(f"{data.X.shape[0]} rows, scikit-learn reads {X.shape[0]}")
    mine, theirs = data.X.tocoo(), X.tocoo()
    for a, b, what in (
        (mine.row, theirs.row, "rows"),
        (mine.col, theirs.col, "columns"),
        (mine.data, theirs.data, "values"),
    ):
        if not np.array_equal(a, b):
            raise Wrong(f"other {what} than scikit-learn reads")
    if data.y is not None and data.y.dtype.kind in "fiu":
        _same(data.y, y, "labels")
    return "compared"


def _as_numpy(path: str, data: Any) -> str:
    with np.load(path, allow_pickle=False) as archive:
        if "X" in archive.files:
            if not np.array_equal(archive["X"], np.asarray(data.X), equal_nan=False):
                raise Wrong("other values of X than numpy reads")
        else:
            from scipy.sparse import csr_matrix

            parts = tuple(archive[f"X_{name}"] for name in ("data", "indices", "indptr"))
            X = csr_matrix(parts, shape=tuple(archive["X_shape"].tolist()))
            if (X != data.X).nnz:
                raise Wrong("other values of X than scipy makes of its parts")
        if data.y is not None and not np.array_equal(archive["y"], data.y):
            raise Wrong("other labels than numpy reads")
    return "compared"


def _as_arrow(path: str, data: Any) -> str:
    """Only of files that were accepted, and so validated: pyarrow itself trusts offsets."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if path.endswith(".parquet"):
        table = pq.ParquetFile(path).read()
    else:
        with pa.memory_map(path) as source:
            try:
                table = pa.ipc.open_file(source).read_all()
            except pa.ArrowInvalid:
                source.seek(0)
                table = pa.ipc.open_stream(source).read_all()
    compared = False
    for j, name in enumerate(data.names):
        column = table[name]
        plain = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
        if plain and data.n_rows == len(column) and (data.levels is None or data.levels[j] is None):
            values = [math.nan if v is None else float(v) for v in column.to_pylist()]
            _same(data.X[:, j], values, f"column {name!r}")
            compared = True
    return "compared" if compared else "accepted"
