"""The hard margin: the shapes of data at which another way is taken."""

from __future__ import annotations

from typing import NamedTuple


class HardMarginThresholds(NamedTuple):
    """Each field: its unit, and the reason for its value."""

    #: Values of a working set that is held dense: 160 MB.
    dense_values: int = 20_000_000
    #: Rows, and columns, up to which the working set is solved by factors; twice as many rows have their inner products held.
    #: Where both are more, thousands of rows can lie on the margin and pivoting takes over.
    factored_rows: int = 2_500
    #: Rows up to which all rows are the first working set, whatever their columns.
    few_rows: int = 400
    #: Multiplications of an interior-point step on all rows up to which all rows are the first working set.
    multiplications_at_once: float = 2e7
    #: Squared lengths between which |w|^2 neither vanishes nor overflows in float64.
    smallest_square: float = 1e-290
    largest_square: float = 1e290


HARD_MARGIN_THRESHOLDS = HardMarginThresholds()
