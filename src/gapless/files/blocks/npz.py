"""numpy's .npz, read block by block: X, or the parts of a CSR matrix, from the archive as it lies; y and weights are kept."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np
from scipy import sparse

from gapless.backends.stream.source import Block, Blocks
from gapless.files.npz import CSR_PARTS
from gapless.files.problems import check_file, data_error
from gapless.judge.files.npz_blocks import Member, open_member


class NpzBlocks(Blocks):
    """The arrays X, y and sample_weight of an archive; ``target`` and ``weight`` name others."""

    def __init__(self, path: Any, target: Any, weight: Any) -> None:
        self.name = check_file(path)
        with zipfile.ZipFile(self.name) as archive:
            there = {name.removesuffix(".npy") for name in archive.namelist()}
            wanted = target or "y"
            if wanted not in there:
                raise data_error(f"there is no array {wanted!r} (the labels)", self.name)
            if weight is not None and weight not in there:
                raise data_error(f"there is no array {weight!r} (the weights)", self.name)
            named = weight or ("sample_weight" if "sample_weight" in there else None)
            self._y = self._whole(archive, wanted)
            self._weight = None if named is None else self._whole(archive, named)
            self._sparse_parts = "X" not in there
            if self._sparse_parts and not set(CSR_PARTS) <= there:
                raise data_error(f"there is no array X (or {', '.join(CSR_PARTS)})", self.name)
            if self._sparse_parts:
                self._indptr = self._whole(archive, "X_indptr").astype(np.int64)
                self._d = int(self._whole(archive, "X_shape")[1])
            if "feature_names" in there:
                self.feature_names = self._whole(archive, "feature_names").astype(object)

    def _whole(self, archive: zipfile.ZipFile, name: str) -> np.ndarray:
        with open_member(archive, name, self.name) as member:
            return member.read(member.shape[0]).reshape(member.shape)

    def __iter__(self) -> Iterator[Block]:
        with zipfile.ZipFile(self.name) as archive:
            yield from self._sparse(archive) if self._sparse_parts else self._dense(archive)

    def _block(self, X: Any, start: int) -> Block:
        part = slice(start, start + X.shape[0])
        return Block(X, self._y[part], None if self._weight is None else self._weight[part])

    def _dense(self, archive: zipfile.ZipFile) -> Iterator[Block]:
        with open_member(archive, "X", self.name) as member:
            n, d = member.table()
            rows = max(1, self.block_bytes // max(1, d * member.dtype.itemsize))
            for start in range(0, n, rows):
                X = member.read(min(rows, n - start) * d).reshape(-1, d)
                yield self._block(X if X.dtype in (np.float32, np.float64) else X.astype(np.float64), start)

    def _sparse(self, archive: zipfile.ZipFile) -> Iterator[Block]:
        indptr, at_once = self._indptr, self.block_bytes // 12
        with ExitStack() as stack:
            data, indices = (
                stack.enter_context(open_member(archive, f"X_{p}", self.name)) for p in ("data", "indices")
            )
            start, n = 0, indptr.size - 1
            while start < n:
                stop = max(start + 1, int(np.searchsorted(indptr, indptr[start] + at_once, side="right")) - 1)
                many = int(indptr[stop] - indptr[start])
                parts = (data.read(many), indices.read(many), indptr[start : stop + 1] - indptr[start])
                X = sparse.csr_matrix(parts, shape=(stop - start, self._d))
                yield self._block(X if X.dtype in (np.float32, np.float64) else X.astype(np.float64), start)
                start = stop


__all__ = ["Member", "NpzBlocks"]
