"""Least squares: the shapes and conditions of data at which another way is taken."""

from __future__ import annotations

from typing import NamedTuple


class LeastSquaresThresholds(NamedTuple):
    """Each field: its unit, and the reason for its value."""

    #: Reciprocal condition of the equilibrated normal equations down to which two steps of refinement restore all digits.
    smallest_rcond: float = 1e-15
    #: Share of its length by which a sparse column has to vary: of its variation moments about 0 then keep eight digits.
    least_variation: float = 2.0**-13
    #: Columns of sparse rows up to which the normal equations, d^2 numbers, are formed; more go to conjugate gradients.
    sparse_columns: int = 1500
    #: Rows or columns of sparse data up to which a factor takes over from conjugate gradients that go on for long: 72 MB.
    factored_side: int = 3000
    #: Values of X, n times d, up to which X is written out densely for its singular values: 16 MB.
    dense_values: int = 1 << 21
    #: Operations, n d min(n, d), up to which the singular values are taken at once: some 20 ms.
    svd_operations: int = 40_000_000
    #: A column is part of a dependence where its squared projection on the null space is above this; rounding is 1e-15 a column.
    null_share: float = 1e-10
    #: Ratio of the lengths of columns from which one decomposition of all columns as they are would lose the short ones.
    unequal_columns: float = 1e6
    #: Rows or columns up to which one eigendecomposition costs less than a fit for each penalty.
    shared_decomposition: int = 3000


LEAST_SQUARES_THRESHOLDS = LeastSquaresThresholds()
