"""How much work a thread takes, how long it goes on, and how much memory it fills: in one place for all products of rows."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RowThresholds:
    """Sizes of the parts that products of rows are cut into. They depend on the shape of the data alone, and so do the bits."""

    #: Values touched between two looks at the clock: about 50 ms of one core.
    values_per_tick: int = 40_000_000
    #: Values of dense rows that are worth a thread of their own: some 0.05 ms of one core. Half as many of sparse ones.
    values_per_thread: int = 100_000
    #: Bytes that the sums of the parts may take.
    sums_bytes: int = 64_000_000
    #: Bytes of a tile of rows, dense and of float64: it should stay in the second-level cache.
    tile_bytes: int = 1 << 20
    #: Columns up to which `outer` is faster than a BLAS.
    narrow_columns: int = 128


ROW_THRESHOLDS = RowThresholds()
