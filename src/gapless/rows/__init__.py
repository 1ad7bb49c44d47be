"""X: the data, row by row.  The only room where dense and sparse differ."""

from gapless.rows.csr import CsrRows
from gapless.rows.dense import DenseRows
from gapless.rows.products import (
    BLOCK_ROWS,
    as_matrix,
    block_rows,
    combine,
    combine_many,
    curved,
    mix_many,
    norms2,
    scores,
    scores_many,
    squares,
    sum_length,
)
from gapless.rows.shape import (
    Rows,
    as_rows,
    is_dense,
    is_sparse,
    longest_row,
    n_features,
    n_rows,
    n_stored,
    sample,
    slice_rows,
    take_rows,
)
from gapless.rows.weighted_gram import gram, row_products

__all__ = [
    "BLOCK_ROWS", "CsrRows", "DenseRows", "Rows", "as_matrix", "as_rows", "block_rows", "combine", "combine_many", "curved",
    "gram", "is_dense", "is_sparse", "longest_row", "mix_many", "n_features", "n_rows", "n_stored", "norms2", "row_products",
    "sample", "scores", "scores_many", "slice_rows", "squares", "sum_length", "take_rows",
]  # fmt: skip
