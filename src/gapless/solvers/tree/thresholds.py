"""Decision trees: the shapes of data at which another way is taken, and the sizes of blocks of work."""

from __future__ import annotations

from typing import NamedTuple


class TreeThresholds(NamedTuple):
    """Each field: its unit, and the reason for its value."""

    #: Rows up to which ``max_bins="auto"`` tries every threshold between two values; more rows are cut into bins.
    exact_rows: int = 200_000
    #: Bins of a column beyond that.
    bins: int = 255
    #: Codes, rows times columns, up to which sparse data are accepted: a code takes one or two bytes, zeros have one, too.
    sparse_codes: int = 2 * 10**9
    #: Values of sparse rows that are filled with zeros at a time, to be ranked and on the way to the leaves: 64 MB of float32.
    dense_values: int = 1 << 24
    #: Columns that one thread transposes and ranks at a time.
    columns_per_thread: int = 8
    #: Rows, and values, up to which the order of each column is kept for parts of the tree; beyond, a part sorts its own.
    ordered_rows: int = 1 << 17
    ordered_values: int = 1 << 25
    #: Keys of one part, 4 bytes each: 128 MB.
    part_keys: int = 1 << 25
    #: Rows of a subtree that grows on its own copy of the codes, which the cache then holds.
    block_rows: int = 4096
    #: Rows that one thread sends to the leaves at a time.
    rows_per_thread: int = 16_384
    #: Rows that go through all trees of an ensemble while they are in the cache.
    ensemble_rows: int = 4096
    #: Values, rows times columns, up to which numpy grows trees in a process without numba, and the nodes after which it asks for
    #: numba: a node takes 0.1 ms, so many nodes a second; importing numba takes half a second and compiling three.
    numpy_values: int = 50_000
    numpy_nodes: int = 10_000


TREE_THRESHOLDS = TreeThresholds()
