"""When numpy grows trees: in a process that has no numba yet, on small data, and not for long.

Columns, splits and leaves are those of the kernels to the bit: which of both ran cannot be seen in a model, and may depend on
what the process did before.
"""

from __future__ import annotations

from gapless._compile.on_demand import awake
from gapless._runtime.backend import choose_backend
from gapless.solvers.tree.thresholds import TREE_THRESHOLDS


class _Grown:
    """What numpy did in this process."""

    nodes = 0


def numpy_grows(n: int, d: int) -> bool:
    """Whether numpy ranks n x d values and grows trees on them."""
    few = n * d <= TREE_THRESHOLDS.numpy_values and _Grown.nodes <= TREE_THRESHOLDS.numpy_nodes
    return few and not awake() and choose_backend(n, d) == "numpy"


def numpy_walks(n: int, d: int) -> bool:
    """Whether numpy sends n rows of d columns to their leaves."""
    return not awake() and choose_backend(n, d) == "numpy"


def count_nodes(nodes: int) -> None:
    """Who grows many nodes will grow many more: from some number on a process asks for numba."""
    _Grown.nodes += nodes
