"""Row hashes: a reference in plain Python, and equality over layouts; rows of every kind of matrix."""

from __future__ import annotations

import hashlib
import struct
import types

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from gapless.judge import CertificateError, fingerprint, row_hashes
from gapless.judge.fingerprint import MIXERS, SEEDS
from gapless.judge.rows import SparseRows, as_rows, first_non_finite

MASK = 2**64 - 1


def splitmix64(x):
    z = (x + 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def reference(X):
    out = np.zeros((len(X), 2), dtype=np.uint64)
    for i, row in enumerate(np.asarray(X, dtype=np.float64).tolist()):
        for k in range(2):
            lane = 0
            for j, value in enumerate(row):
                bits = struct.unpack("<Q", struct.pack("<d", value + 0.0))[0]
                bits ^= bits >> 44
                t = (bits * (splitmix64((SEEDS[k] + j) & MASK) | 1)) & MASK
                t ^= t >> 32
                t = (t * MIXERS[k]) & MASK
                t ^= t >> 29
                lane = (lane + t) & MASK
            out[i, k] = lane
    return out


@pytest.fixture
def X():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 7)).astype(np.float32).astype(np.float64)
    X[rng.random(X.shape) < 0.6] = 0.0
    X[5] = 0.0
    X[299] = 0.0
    X[7] = -0.0
    return X


def test_hashes_are_those_of_the_contract(X):
    assert np.array_equal(row_hashes(X), reference(X))
    assert row_hashes(X).dtype == np.uint64
    assert not row_hashes(X)[5].any()
    assert not row_hashes(X)[7].any()


def test_all_layouts_agree(X):
    wanted = row_hashes(X)
    frame = pd.DataFrame(X, columns=list("abcdefg"))
    others = [
        np.asfortranarray(X),
        X.astype(np.float32),
        X.tolist(),
        X[:, ::-1][:, ::-1],
        frame,
        pl.DataFrame(X),
        frame.astype(object),
        sp.csr_matrix(X),
        sp.csr_array(X),
        sp.csc_matrix(X),
        sp.coo_matrix(X),
        sp.csr_matrix(X.astype(np.float32)),
        np.repeat(X, 2, axis=0)[::2],
    ]
    for other in others:
        assert np.array_equal(row_hashes(other), wanted), type(other)
    integers = np.arange(12).reshape(4, 3)
    assert np.array_equal(row_hashes(integers), row_hashes(integers.astype(float)))
    assert np.array_equal(row_hashes(integers > 5), row_hashes((integers > 5).astype(float)))


def test_many_blocks_agree():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(20_000, 9))
    X[rng.random(X.shape) < 0.5] = 0
    wanted = row_hashes(X)
    assert np.array_equal(wanted, row_hashes(sp.csr_matrix(X)))
    assert np.array_equal(wanted[12_345:12_348], reference(X[12_345:12_348]))


def test_duplicates_and_disorder_in_csr_are_settled(X):
    csr = sp.csr_matrix(X)
    data, indices, indptr = [], [], [0]
    for i in range(csr.shape[0]):
        part = slice(csr.indptr[i], csr.indptr[i + 1])
        columns, values = csr.indices[part][::-1], csr.data[part][::-1]
        data += [*(values * 0.25), *(values * 0.75), 0.0]
        indices += [*columns, *columns, 3]
        indptr.append(len(data))
    before = (list(data), list(indices))
    untidy = sp.csr_matrix((np.array(data), np.array(indices), np.array(indptr)), shape=X.shape)
    assert np.array_equal(row_hashes(untidy), row_hashes(X))
    assert (untidy.data.tolist(), untidy.indices.tolist()) == before  # the caller's matrix is left alone


def test_what_differs_has_other_hashes(X):
    base = row_hashes(X)
    swapped = X[:, [1, 0, 2, 3, 4, 5, 6]]
    assert (base != row_hashes(swapped)).any()
    moved = X.copy()
    moved[0, 0] = np.nextafter(moved[0, 0], 9)
    assert (base[0] != row_hashes(moved)[0]).all()
    assert np.array_equal(base[1:], row_hashes(moved)[1:])


@pytest.mark.parametrize("values", [(0, 1), (0, 1, 2), (-1, 1), (0, 0.5), (2, 3), (1, 2, 4, 8), (0, 255), (0, 1e-3)])
def test_rows_of_few_values_do_not_collide(values):
    """One-hot and small whole numbers: their bits are nearly all zero. Each lane alone must tell them
    apart."""
    rng = np.random.default_rng(3)
    many = rng.choice(np.array(values, dtype=float), size=(40_000, 60))
    many[:3000] = values[0]
    many[np.arange(1800), np.repeat(np.arange(60), 30)] = values[-1]
    many[np.arange(1800), np.tile(np.arange(30, 60), 60)] = values[-1]
    distinct = np.unique(many, axis=0)
    hashes = row_hashes(distinct)
    for lane in range(2):
        assert len(np.unique(hashes[:, lane])) == len(distinct)


def test_the_block_of_a_certificate(X):
    index = np.arange(300) % 2
    block = fingerprint(X, index)
    assert block["n_rows"] == 300
    assert block["n_features"] == 7
    assert block["rows"] == hashlib.blake2b(reference(X).astype("<u8").tobytes(), digest_size=16).hexdigest()
    assert block["labels"] == hashlib.blake2b(index.astype("<i8").tobytes(), digest_size=16).hexdigest()
    assert block["weights"] == hashlib.blake2b(np.ones(300).tobytes(), digest_size=16).hexdigest()
    assert fingerprint(X, index, np.ones(300, dtype=np.float32)) == block
    assert fingerprint(X, index.astype(np.int32), [1] * 300) == block
    assert fingerprint(X, index, np.full(300, 2.0))["weights"] != block["weights"]


def test_empty_matrices():
    assert row_hashes(np.zeros((0, 3))).shape == (0, 2)
    assert row_hashes(np.zeros((3, 0))).tolist() == [[0, 0]] * 3
    assert row_hashes(sp.csr_matrix((4, 5))).tolist() == [[0, 0]] * 4


@pytest.mark.parametrize(
    "X",
    [
        np.zeros(3),
        np.zeros((2, 2, 2)),
        [["a", "b"]],
        np.array([["a"]], dtype=object),
        np.zeros((2, 2), dtype=complex),
        [[1.0], [1.0, 2.0]],
        None,
        np.array([["2020-01-01"]], dtype="datetime64[D]"),
    ],
)
def test_what_is_no_matrix_is_refused(X):
    with pytest.raises(CertificateError):
        as_rows(X)


@pytest.mark.parametrize(
    "change",
    [
        {"indices": np.array([0, 9])},
        {"indices": np.array([-1, 0])},
        {"indptr": np.array([0, 1, 5])},
        {"indptr": np.array([1, 1, 2])},
        {"indptr": np.array([0, 2, 1])},
        {"indptr": np.array([0, 2])},
        {"indices": np.array([0.0, 1.0])},
        {"data": np.array(["a", "b"])},
        {"data": np.ones((1, 2))},
        {"shape": (2,)},
        {"shape": "xy"},
    ],
)
def test_broken_csr_is_refused(change):
    parts = {"data": np.ones(2), "indices": np.array([0, 1]), "indptr": np.array([0, 1, 2]), "shape": (2, 3)}
    as_rows(types.SimpleNamespace(**parts))
    with pytest.raises(CertificateError):
        as_rows(types.SimpleNamespace(**{**parts, **change}))


def test_rows_that_are_not_finite_are_found():
    X = np.ones((9, 2))
    assert first_non_finite(as_rows(X)) is None
    assert first_non_finite(as_rows(X.astype(int))) is None
    X[6, 1] = np.nan
    assert first_non_finite(as_rows(X)) == 6
    X[:6] = 0.0
    assert first_non_finite(as_rows(sp.csr_matrix(X))) == 6


def test_products_of_both_kinds_agree():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(500, 11))
    X[rng.random(X.shape) < 0.7] = 0
    X[13] = 0
    W, U = rng.normal(size=(3, 11)), rng.normal(size=(3, 500))
    dense, sparse = as_rows(X), as_rows(sp.csr_matrix(X))
    assert isinstance(sparse, SparseRows)
    for rows in (dense, sparse):
        scores = np.concatenate([block.scores(W) for block in rows.blocks(700)])
        assert np.allclose(scores, X @ W.T)
        total = sum(
            part for block in rows.blocks(700) for part in block.combine(U[:, block.start : block.start + block.n])
        )
        assert np.allclose(total, U @ X)
        squares = np.concatenate([block.squares() for block in rows.blocks(700)])
        assert np.allclose(squares, (X**2).sum(axis=1))
        keep = rng.random(500) < 0.5
        taken = np.concatenate(
            [block.take(keep[block.start : block.start + block.n]).scores(W) for block in rows.blocks(700)]
        )
        assert np.allclose(taken, (X @ W.T)[keep])
        block = next(iter(rows.blocks()))
        columns, values = block.row(3)
        assert columns == np.flatnonzero(X[3]).tolist()
        assert values == X[3][X[3] != 0].tolist()
