"""Boosted stumps, for two classes and for three, on dense and on sparse columns."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from scipy import sparse

from gapless._warmup.samples import Samples
from gapless._warmup.step import Step
from gapless.estimators.adaboost import AdaBoostClassifier
from gapless.registry import with_kernels
from gapless.solvers.boosting.features import cut_into_bins


def steps(samples: Samples) -> Iterator[Step]:
    """Columns of at most 256 values have narrow codes, columns of more values wide ones."""
    stumps = with_kernels("stumps")
    for K in (2, 3):
        for decimals, codes in ((1, "narrow"), (12, "wide")):
            run = partial(_boost, samples, K, decimals, False)
            yield Step(f"stumps, {K} classes, dense, {codes} codes", stumps, run)
        yield Step(f"stumps, {K} classes, CSR", stumps, partial(_boost, samples, K, 1, True))


def _boost(samples: Samples, K: int, decimals: int, sparse_rows: bool) -> None:
    values = np.round(samples.random.normal(size=(300, 3)), decimals)
    rows = sparse.csr_matrix(values) if sparse_rows else values
    model = AdaBoostClassifier(n_estimators=2).fit(rows, np.arange(300) % K)
    model.predict(rows)
    if not sparse_rows:  # as columns of more than 65,536 rows are cut
        cut_into_bins(values[:, 0].astype(np.float32), np.empty(300, dtype=np.uint8))
