"""Sparse penalties: the sizes and shares at which another way is taken."""

from __future__ import annotations

from typing import NamedTuple


class SparseThresholds(NamedTuple):
    """Each field: its unit, and the reason for its value."""

    #: Columns of the first working set: a sweep over so few costs less than the pass over all columns that chose them.
    first_columns: int = 100
    #: Columns up to which the Gram matrix of a working set is kept: 128 MB, and a Cholesky factor in a second.
    gram_columns: int = 4000
    #: Stored values, as a multiple of the columns of a working set squared, above which its Gram matrix costs more than sweeps.
    gram_values: float = 64.0
    #: Sweeps between two Newton steps on the support.
    sweeps: int = 8
    #: Rounds of sweeps and a Newton step on one working set.
    rounds: int = 60
    #: The share of the gap of all columns that a working set is solved to, before the next one is chosen.
    share: float = 0.1
    #: What the penalty falls by from one level to the next: most signs then stay.
    step: float = 0.4
    #: Points of Anderson's extrapolation.
    memory: int = 5


thresholds = SparseThresholds()
