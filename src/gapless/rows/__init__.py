"""X: the data, row by row.  The only room where dense and sparse differ."""

from gapless.rows.csr import CsrRows
from gapless.rows.dense import DenseRows
from gapless.rows.products import (
    BLOCK,
    Rows,
    as_rows,
    block_rows,
    combine,
    combine_many,
    curved,
    gram,
    inner,
    n_features,
    n_rows,
    norms2,
    part,
    sample,
    scores,
    scores_many,
    squares,
    sum_length,
    take,
)

__all__ = [
    "BLOCK",
    "CsrRows",
    "DenseRows",
    "Rows",
    "as_rows",
    "block_rows",
    "combine",
    "combine_many",
    "curved",
    "gram",
    "inner",
    "n_features",
    "n_rows",
    "norms2",
    "part",
    "sample",
    "scores",
    "scores_many",
    "squares",
    "sum_length",
    "take",
]
