"""Kernels that every fit needs: the fingerprint of the rows."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from scipy import sparse

from gapless._warmup.names import NAMES
from gapless._warmup.samples import Samples
from gapless._warmup.step import Step
from gapless.rows.hashes import row_hashes


def steps(samples: Samples) -> Iterator[Step]:
    """Hash the rows of each variant."""
    for name, X in samples.variants():
        yield Step(f"fingerprint, {name}", NAMES, partial(row_hashes, X))
    wide = sparse.csr_matrix(samples.thin)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    # Only the fingerprint reads 64-bit indices: all solvers read 32-bit ones.
    yield Step("fingerprint, CSR with 64-bit indices", NAMES, partial(row_hashes, wide))
