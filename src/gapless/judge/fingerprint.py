"""Which data a certificate speaks of: 128-bit hashes of rows, and digests of rows, labels and weights.

A row's hash is two sums (mod 2^64), one for each lane k, over its features j, with pseudo-random odd A_k[j]:

    b = bits of the float64 value;  b ^= b >> SHIFT_0
    t = b * A_k[j];  t ^= t >> SHIFT_1;  t *= MIXER_k;  t ^= t >> SHIFT_2;  lane_k += t

A zero adds 0, so dense and sparse rows agree; -0 counts as 0; the order of features matters, the layout in memory does not.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from .rows import Rows, SparseBlock, StreamedRows, as_rows, place, row_sums

#: Of the two lanes: where the stream of multipliers starts, and the odd multiplier in the middle of the mix.
SEEDS = (0x243F6A8885A308D3, 0x13198A2E03707344)  # digits of pi
MIXERS = (0xD6E8FEB86659FD93, 0xCA9B0C7EBA1DA115)
#: Small whole numbers have zeros in nearly all bits but the upper ones, and their products with A_k[j] would
#: keep 12 bits of it: so the upper bits are folded onto the lower ones first.
SHIFT_0 = 44
SHIFT_1 = 32
SHIFT_2 = 29


def splitmix64(x: np.ndarray) -> np.ndarray:
    """One output of Steele, Lea and Flood's generator for each state in x (uint64)."""
    z = x + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def lane_multipliers(lane: int, n_features: int) -> np.ndarray:
    """A_k[j] = splitmix64(SEED_k + j) | 1, the odd multiplier of each feature."""
    return splitmix64(np.arange(n_features, dtype=np.uint64) + np.uint64(SEEDS[lane])) | np.uint64(1)


def row_hashes(X: Any) -> np.ndarray:
    """The (n, 2) uint64 hashes of the rows of X."""
    # Values hashed at a time: with the temporaries of one lane they stay in the cache.
    block_values = 1 << 15
    rows = as_rows(X)
    n, d = rows.shape
    multipliers = [lane_multipliers(lane, d) for lane in range(2)]
    out = np.zeros((n, 2), dtype=np.uint64)
    for block in rows.blocks(block_values, block_values):
        if isinstance(block, SparseBlock):
            bits = _bits(block.data)
            for lane in range(2):
                out[place(block), lane] = row_sums(_mix(bits, multipliers[lane][block.indices], lane), block.indptr)
        else:
            bits = _bits(block.values)
            for lane in range(2):
                np.add.reduce(_mix(bits, multipliers[lane], lane), axis=1, out=out[place(block), lane])
    return out


def _bits(values: np.ndarray) -> np.ndarray:
    bits = (values + 0.0).view(np.uint64)  # + 0.0: -0 becomes 0
    bits ^= bits >> np.uint64(SHIFT_0)
    return bits


def _mix(bits: np.ndarray, multipliers: np.ndarray, lane: int) -> np.ndarray:
    t = bits * multipliers
    t ^= t >> np.uint64(SHIFT_1)
    t *= np.uint64(MIXERS[lane])
    t ^= t >> np.uint64(SHIFT_2)
    return t


def digest(values: np.ndarray, dtype: str) -> str:
    """blake2b-16 of the values' little-endian bytes."""
    at_once = 1 << 20  # entries of which a copy is made
    found = hashlib.blake2b(digest_size=16)
    for start in range(0, max(1, len(values)), at_once):
        found.update(np.ascontiguousarray(values[start : start + at_once], dtype=dtype).data)
    return found.hexdigest()


def row_digests(X: Any, sizes: Iterable[int]) -> list[str]:
    """The digest of the hashes of the rows of X, cut into blocks of these sizes; the hashes are not kept."""
    left = list(sizes)
    found, current = [], hashlib.blake2b(digest_size=16)
    room = left.pop(0) if left else 0
    for hashes in _hashes_in_turn(as_rows(X)):
        at = 0
        while at < len(hashes):
            while room == 0 and left:
                found.append(current.hexdigest())
                current, room = hashlib.blake2b(digest_size=16), left.pop(0)
            take = min(room, len(hashes) - at) or len(hashes) - at
            current.update(np.ascontiguousarray(hashes[at : at + take], dtype="<u8").data)
            at, room = at + take, max(0, room - take)
    found.append(current.hexdigest())
    return [*found, *(hashlib.blake2b(digest_size=16).hexdigest() for _ in left)]


def _hashes_in_turn(rows: Rows) -> Iterator[np.ndarray]:
    if isinstance(rows, StreamedRows):
        for _, part in rows.parts():
            yield row_hashes(part)
        return
    yield row_hashes(rows)


def digest_of_blocks(digests: Iterable[str]) -> str:
    """The digest of data in blocks: of the letters of the blocks' digests, one after the other."""
    return hashlib.blake2b("".join(digests).encode("ascii"), digest_size=16).hexdigest()


def fingerprint(X: Any, label_index: Any, sample_weight: Any = None) -> dict[str, Any]:
    """The "fingerprint" block of a certificate: sizes and digests of rows, class indices and sample weights."""
    rows = as_rows(X)
    n, d = rows.shape
    weights = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64) + 0.0
    return {
        "n_rows": n,
        "n_features": d,
        "rows": digest(row_hashes(rows), "<u8"),
        "labels": digest(np.asarray(label_index), "<i8"),
        "weights": digest(weights, "<f8"),
    }
