"""numpy's .npz: X (or its parts X_data, X_indices, X_indptr, X_shape), y, sample_weight, feature_names."""

from __future__ import annotations

import io
import os
import zipfile
from typing import Any, cast

import numpy as np

from gapless.files.csv.columns import Request, assign
from gapless.files.dataset import Dataset, Labels
from gapless.files.expected import Expected
from gapless.files.problems import check_file, data_error
from gapless.judge.errors import DataError

CSR_PARTS = ("X_data", "X_indices", "X_indptr", "X_shape")


def read_npz(path: str | os.PathLike[str], *, labels: Labels = "required", expected: Expected | None = None) -> Dataset:
    """Read arrays saved by `numpy.savez` or `savez_compressed`; pickled objects are refused."""
    place = check_file(path)
    arrays = _load(place)
    X = _rows(arrays, place)
    n, d = X.shape
    if expected is not None and d != expected.n_features:
        raise data_error(f"the model has {expected.n_features} features, X has {d}", place)
    y, weights, names = (arrays.get(name) for name in ("y", "sample_weight", "feature_names"))
    if y is None and labels == "required":
        raise data_error("no array y (the labels)", place)
    for name, vector in (("y", y), ("sample_weight", weights)):
        if vector is not None and vector.shape != (n,):
            raise data_error(f"{name} has shape {vector.shape}, X has {n} rows", place)
    if weights is not None:
        weights = _weights(weights, place)
    for name, texts in (("y", y), ("feature_names", names)):
        if texts is not None and texts.dtype.kind == "U" and not _is_text(texts):
            raise data_error(f"{name} holds signs that Unicode does not have", place)
    if names is not None and (names.shape != (d,) or names.dtype.kind != "U"):
        raise data_error(f"feature_names must be {d} strings", place)
    X, listed = _in_order(X, None if names is None else names.tolist(), expected, place)
    return Dataset(X=X, y=y, names=listed, weights=weights, notes=("npz",), path=place)


def _rows(arrays: dict[str, np.ndarray], path: str) -> Any:
    """X, dense or of its parts: finite numbers."""
    if "X" in arrays:
        X: Any = arrays["X"]
        if X.ndim != 2:
            raise data_error(f"X has {X.ndim} dimensions, it needs 2 (rows, features)", path)
    elif all(part in arrays for part in CSR_PARTS):
        X = _csr(arrays, path)
    else:
        found = ", ".join(arrays) or "nothing known"
        raise data_error(f"no array X (or {', '.join(CSR_PARTS)}); found: {found}", path)
    _refuse_no_numbers("X", X, path)
    n, d = X.shape
    if n == 0 or d == 0:
        raise data_error(f"X is empty ({n} rows, {d} features)", path)
    if not np.isfinite(X.data if hasattr(X, "indptr") else X).all():
        raise data_error("X has values that are not finite", path)
    return X


def _weights(weights: np.ndarray, path: str) -> np.ndarray:
    _refuse_no_numbers("sample_weight", weights, path)
    weights = weights.astype(np.float64)
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise data_error("sample_weight has values that are negative or not finite", path)
    return weights


def _refuse_no_numbers(name: str, array: Any, path: str) -> None:
    if array.dtype.kind not in "fiub":
        raise data_error(f"{name} holds {array.dtype}, not numbers", path)


def _is_text(array: np.ndarray) -> bool:
    """Whether all signs are of Unicode: Python makes no text of others, nor a file of a text with half a sign."""
    signs = np.frombuffer(array.tobytes(), dtype=np.dtype(np.uint32).newbyteorder(array.dtype.byteorder))
    return bool(((signs < 0xD800) | ((signs > 0xDFFF) & (signs <= 0x10FFFF))).all())


def _in_order(X: Any, names: list[str] | None, expected: Expected | None, path: str) -> tuple[Any, list[str] | None]:
    """Columns in the model's order, where both have names."""
    if expected is None or expected.names is None or names is None or names == expected.names:
        return X, names
    roles = assign(names, len(names), path, Request(labels="optional", expected=expected))
    return X[:, roles.features], list(expected.names)


def _load(path: str) -> dict[str, np.ndarray]:
    """The known arrays; no array is made before its declared size is compared with what the archive holds."""
    deflate_most = 1100  # deflate packs at most 1032 to 1: more is a lie about the size
    try:
        with zipfile.ZipFile(path) as archive:
            arrays = {}
            for name in ("X", *CSR_PARTS, "y", "sample_weight", "feature_names"):
                if f"{name}.npy" not in archive.namelist():
                    continue
                info = archive.getinfo(f"{name}.npy")
                if info.file_size > deflate_most * info.compress_size + 4096:
                    raise data_error(f"{name} declares more bytes than its archive can hold", path)
                with archive.open(info) as stream:
                    version = np.lib.format.read_magic(stream)
                    header = {
                        (1, 0): np.lib.format.read_array_header_1_0,
                        (2, 0): np.lib.format.read_array_header_2_0,
                    }.get(version)
                    if header is None:
                        raise data_error(f"{name} is in .npy version {version}; 1.0 and 2.0 are read", path)
                    shape, fortran, dtype = header(stream)
                    if dtype.hasobject:
                        raise data_error(f"{name} holds pickled objects, which are never loaded", path)
                    start = stream.tell()
                    count = 1
                    for side in shape:
                        count *= int(side)
                    if count * dtype.itemsize != info.file_size - start:
                        raise data_error(f"{name} is truncated (or its declared shape {shape} is false)", path)
                    raw = bytearray(count * dtype.itemsize)
                    view, got, source = memoryview(raw), 0, cast(io.BufferedIOBase, stream)
                    while got < len(raw) and (read := source.readinto(view[got : got + (1 << 24)])):
                        got += read
                    if got != len(raw):
                        raise data_error(f"{name} is truncated", path)
                flat = np.frombuffer(raw, dtype=dtype, count=count)
                arrays[name] = flat.reshape(shape, order="F" if fortran else "C")
            return arrays
    except DataError:
        raise
    except MemoryError:
        raise data_error("the arrays do not fit in memory", path) from None
    except (zipfile.BadZipFile, ValueError, EOFError, NotImplementedError, RuntimeError, OSError) as error:
        raise data_error(f"is not a readable .npz ({error})", path) from None
    except Exception as error:  # zlib.error and what else a broken archive can throw
        raise data_error(f"is not a readable .npz ({type(error).__name__}: {error})", path) from None


def _csr(arrays: dict[str, np.ndarray], path: str) -> Any:
    from scipy.sparse import csr_matrix

    data, indices, indptr, shape = (arrays[part] for part in CSR_PARTS)
    for name, part in zip(CSR_PARTS[1:], (indices, indptr, shape), strict=True):
        if part.ndim != 1 or part.dtype.kind not in "iu":
            raise data_error(f"{name} must be a list of whole numbers", path)
    if shape.shape != (2,) or (shape < 0).any() or indptr.shape != (int(shape[0]) + 1,):
        raise data_error("X_shape and X_indptr do not fit together", path)
    _refuse_no_numbers("X_data", data, path)
    try:
        X = csr_matrix((data, indices, indptr), shape=(int(shape[0]), int(shape[1])))
        X.check_format(full_check=True)
    except ValueError as error:
        raise data_error(f"the CSR parts of X do not fit together ({error})", path) from None
    X.sum_duplicates()
    return X
