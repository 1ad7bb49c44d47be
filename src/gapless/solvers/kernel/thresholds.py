"""Kernel machines: the shapes of problems at which another way is taken, and how long each of the three SMO drivers goes on.

The drivers are `smo` (a fit from nothing), `warm_restart` (a neighbouring C) and `folds` (all fits of a cross-validation).
"""

from __future__ import annotations

from typing import NamedTuple


class WorkingSetLimits(NamedTuple):
    """A driver's working set, and the turns of pairs and Newton steps that `working_set` takes in it."""

    #: Rows of the working set.
    rows: int
    #: Pairs for each row before Newton steps on the free rows are tried: Newton steps cost free^3, pairs one row of K each.
    pairs_per_row: int
    #: Turns of pairs and Newton steps.
    turns: int
    #: Turns without progress after which the working set is left as it is: rounding keeps its worst pair from falling.
    idle_turns: int = 8


class KernelThresholds(NamedTuple):
    """Each field: its unit, and the reason for its value."""

    #: Working sets of a fit from nothing: a square of 2,048 float32 values a side stays in the third-level cache.
    cold: WorkingSetLimits = WorkingSetLimits(rows=2048, pairs_per_row=16, turns=30)
    #: Working sets at a neighbouring C: few rows change there. As many rows again are those strictly inside their box.
    warm: WorkingSetLimits = WorkingSetLimits(rows=1024, pairs_per_row=16, turns=30)
    #: Blocks that the fits of a cross-validation share: their pairs are cheap, since the block is gathered once for many C.
    folds: WorkingSetLimits = WorkingSetLimits(rows=4096, pairs_per_row=4, turns=5)

    #: What is tried of a linear kernel before its rows are: where few variables are free, some hundred pairs reach the gap in a
    #: fifth of the time of an interior point; where many are, they do not reach it at all, and shall cost little.
    trial: WorkingSetLimits = WorkingSetLimits(rows=800, pairs_per_row=4, turns=3)
    #: Points up to which a fit may go on to machine precision: there the polish costs less than the last passes of SMO.
    small_points: int = 1500
    #: Share of a fit's multiplications that a polish may add where the gap that was asked for is reached.
    polish_share: float = 0.2
    #: Rounds that must fit into this share for a polish to begin: from a gap of 1e-4 most polishes settle in 2 or 3.
    polish_rounds: int = 3
    #: The time of the calls around a round, in multiplications of kernel values, of which a core does 40 in 1 ns: 0.25 ms ...
    round_multiplications: float = 1e7
    #: ... and of those around a fit: 1.2 ms.
    fit_multiplications: float = 5e7
    #: The time of a multiplication of a factorisation, and of a product with values that are read, in the same unit.
    factor_price: float = 4.0
    read_price: float = 10.0
    #: Multiplications of the map of a kernel value, an exponential.
    map_multiplications: int = 20
    #: Points of the smallest nested level; a smaller one saves no time.
    smallest_level: int = 2000
    #: Each nested level has this many times as many points as the one before.
    level_ratio: int = 4
    #: Rows of a cold working set that are the worst ones; the rest are drawn at random from all that violate.
    worst_rows: int = 512
    #: Active variables up to which all of them are one working set, solved to the end.
    closing_variables: int = 3000
    #: Passes without progress after which a problem is left as it is.
    idle_passes: int = 8
    #: Points up to which the Gram matrix of a problem is held whole, where the budget has room: 72 MB in float64.
    dense_points: int = 3000
    #: Rows that the first block of a cross-validation's fit has: it is chosen before any score is known.
    first_block_rows: int = 2048
    #: Kernel values up to which single precision has enough digits for the fits of a cross-validation.
    single_precision_values: float = 1e4


KERNEL_THRESHOLDS = KernelThresholds()
