"""The compiled row hashes give the judge's bits on everything, and the stated formula's."""

from __future__ import annotations

import hashlib
import importlib
import struct
import time

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import sparse

from gapless.certificates.fingerprint import fingerprint
from gapless.rows.hashes import row_hashes

judge = importlib.import_module("gapless.judge.fingerprint")  # the module; the package shows the function
MASK = 2**64 - 1


def by_hand(row, lane):
    """The formula in Python integers."""
    total = 0
    for j, value in enumerate(row):
        z = (judge.SEEDS[lane] + j + 0x9E3779B97F4A7C15) & MASK
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        multiplier = (z ^ (z >> 31)) | 1
        bits = struct.unpack("<Q", struct.pack("<d", float(value) + 0.0))[0]
        bits ^= bits >> 44
        t = (bits * multiplier) & MASK
        t ^= t >> 32
        t = (t * judge.MIXERS[lane]) & MASK
        t ^= t >> 29
        total += t
    return total & MASK


def random_matrix(n=57, d=13, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-5, 5, size=(n, d))
    X[rng.random((n, d)) < 0.5] = 0.0
    X[rng.random((n, d)) < 0.1] = -0.0
    return X


def test_the_formula():
    X = random_matrix(5, 4)
    assert row_hashes(X).tolist() == [[by_hand(row, 0), by_hand(row, 1)] for row in X]


FORMS = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "strided": lambda X: np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
    "reversed": lambda X: np.ascontiguousarray(X[::-1])[::-1],
    "list": lambda X: X.tolist(),
    "big-endian": lambda X: X.astype(">f8"),
    "read-only": lambda X: np.frombuffer(X.tobytes()).reshape(X.shape),
    "pandas": pd.DataFrame,
    "polars": lambda X: pl.DataFrame(X),
    "object": lambda X: X.astype(object),
    "csr": sparse.csr_matrix,
    "csr_array": sparse.csr_array,
    "csc": sparse.csc_matrix,
    "coo": sparse.coo_array,
    "lil": sparse.lil_matrix,
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("shape", [(57, 13), (1, 1), (3, 0), (0, 3), (5000, 9)])
def test_one_result_for_every_form(form, shape):
    if form in ("list", "polars") and 0 in shape:
        pytest.skip("a list or a polars frame without rows or columns has no shape")
    X = random_matrix(*shape)
    expected = judge.row_hashes(X)
    assert np.array_equal(row_hashes(FORMS[form](X)), expected)
    assert np.array_equal(judge.row_hashes(FORMS[form](X)), expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int64, np.int8, np.uint32, bool])
@pytest.mark.parametrize("form", [np.ascontiguousarray, np.asfortranarray, sparse.csr_array])
def test_other_dtypes_are_their_float64_values(dtype, form):
    X = random_matrix(300, 7).clip(0, 100).astype(dtype)
    if form is sparse.csr_array and dtype == np.float16:
        pytest.skip("scipy has no sparse float16")
    assert np.array_equal(row_hashes(form(X)), row_hashes(X.astype(np.float64)))


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_csr_in_any_shape(index, dtype):
    X = random_matrix(400, 30).astype(dtype)
    S = sparse.csr_array(X)
    S.indices, S.indptr = S.indices.astype(index), S.indptr.astype(index)
    expected = judge.row_hashes(X)
    assert np.array_equal(row_hashes(S), expected)
    S.data[::3] = 0.0  # explicit zeros
    S.data[1::3] = -0.0
    assert np.array_equal(row_hashes(S), judge.row_hashes(S.toarray()))
    shuffled = S.copy()  # columns in falling order
    for i in range(S.shape[0]):
        part = slice(S.indptr[i], S.indptr[i + 1])
        shuffled.indices[part] = S.indices[part][::-1]
        shuffled.data[part] = S.data[part][::-1]
    shuffled.has_sorted_indices = False
    assert np.array_equal(row_hashes(shuffled), judge.row_hashes(S.toarray()))


def test_entries_of_the_same_place_are_added_up():
    S = sparse.csr_array((np.array([1.0, 2.0, 5.0, -5.0]), np.array([2, 2, 0, 0]), np.array([0, 2, 4])), shape=(2, 3))
    assert np.array_equal(row_hashes(S), row_hashes(np.array([[0.0, 0.0, 3.0], [0.0, 0.0, 0.0]])))
    assert np.array_equal(row_hashes(S), judge.row_hashes(S))
    assert S.nnz == 4  # the user's matrix is left as it was


@settings(deadline=None)
@given(arrays.arrays(np.float64, st.tuples(st.integers(1, 8), st.integers(1, 8)), elements=st.floats(allow_nan=False)))
def test_same_as_the_judge(X):
    assert np.array_equal(row_hashes(X), judge.row_hashes(X))
    assert np.array_equal(row_hashes(sparse.csr_array(X)), judge.row_hashes(X))


def test_a_change_anywhere_changes_the_hash():
    X = random_matrix(6, 5)
    base = row_hashes(X)
    for i, j in np.ndindex(X.shape):
        Y = X.copy()
        Y[i, j] = np.nextafter(Y[i, j], np.inf)
        changed = (row_hashes(Y) != base).all(axis=1)
        assert changed.tolist() == [k == i for k in range(6)]
    assert (row_hashes(X[:, ::-1].copy()) != base).any()


def test_what_is_no_matrix_is_refused():
    for bad in (np.zeros(3), np.array([["a", "b"]]), np.zeros((2, 2), dtype=complex)):
        with pytest.raises(ValueError, match="X"):
            row_hashes(bad)


def test_fingerprint():
    X, index, weight = random_matrix(20, 3), np.arange(20) % 2, np.linspace(0, 1, 20)
    mine = fingerprint(X, index, weight)
    assert mine == judge.fingerprint(X, index, weight)
    assert (mine["n_rows"], mine["n_features"]) == (20, 3)
    assert mine["labels"] == hashlib.blake2b(index.astype("<i8").tobytes(), digest_size=16).hexdigest()
    assert fingerprint(X, index) == fingerprint(X.tolist(), index.astype(np.int8), np.ones(20))
    assert fingerprint(X, index)["weights"] != mine["weights"]
    assert fingerprint(X, 1 - index)["labels"] != mine["labels"]
    assert fingerprint(X[::-1], index)["rows"] != mine["rows"]
    with pytest.raises(ValueError, match="20 rows, labels of shape"):
        fingerprint(X, index[:5])


@pytest.mark.slow
def test_memory_speed():
    X = np.random.default_rng(0).normal(size=(400_000, 50))
    row_hashes(X[:10])
    best = min(_seconds(X) for _ in range(5))
    assert X.nbytes / best > 1.0e9, f"{X.nbytes / best / 1e9:.2f} GB/s"


def _seconds(X):
    start = time.perf_counter()
    row_hashes(X)
    return time.perf_counter() - start
