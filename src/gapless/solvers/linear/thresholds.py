"""Linear models: the shapes of data at which another way is taken, and the effort that each way may take.

The values were found by comparing the ways on the data sets of benchmarks/core.
"""

from __future__ import annotations

from typing import NamedTuple


class LinearThresholds(NamedTuple):
    """Each field: its unit, and the reason for its value."""

    #: Passes of coordinate descent that cost as much as semismooth Newton's whole way on sparse rows.
    affordable_passes: int = 20
    #: Passes without halving the gap after which coordinate descent gives way, on sparse rows with many columns: its passes are
    #: cheap there. A free offset closes linearly, so that more passes than that do not help.
    patient_passes: int = 1000
    patient_passes_free: int = 400
    #: Rows for each column below which the band of semismooth Newton holds most rows, so that its matrices cost too much ...
    wide_rows_per_column: float = 3.5
    #: ... and below which, on dense rows, some passes of coordinate descent come first.
    square_rows_per_column: float = 12
    #: Mean of c |x|^2 up to which the penalty rules the curvature: conjugate gradients then end after an iteration or two ...
    weak_curvature: float = 0.05
    #: ... and the columns up to which their products pay, because a vector of that length stays near the core.
    near_columns: int = 1 << 15
    #: Tolerance up to which a small hinge fit goes by interior point to its active sets: semismooth Newton ends near there ...
    polish_tolerance: float = 1e-8
    #: ... and the relative gap that it must reach before these are guessed.
    polish_relative_gap: float = 1e-11
    #: Share of a fit's multiplications, or of Newton's steps, that going on beyond the tolerance may add.
    polish_share: float = 0.2
    #: Free examples of the polish: their matrix takes 18 MB.
    polish_free_examples: int = 1500
    #: Rows up to which one more vector of their length is negligible memory: 2 MB.
    few_rows: int = 1 << 18
    #: Rows, and rows for each column, from which a smooth fit starts on an eighth of its rows: fewer rows do not tell enough.
    newton_subset: tuple[tuple[int, int], ...] = ((16_000, 32), (4_000, 256))
    #: Rows, and rows for each column, from which semismooth Newton does.
    semismooth_subset: tuple[int, int] = (8_000, 8)
    #: First width of its band, in units of the margin, without a start: from 0.5 on the first steps were as many again.
    first_band: float = 2.0
    #: Rows of a subset, or rows for each column if that is more, beyond which more rows do not improve the start.
    subset_rows: int = 100_000
    subset_rows_per_column: int = 2_000
    #: Columns from which the sum of the changed multipliers' rows is cheaper than the sum of all rows.
    changed_rows_columns: int = 32
    #: Values of a row from which coordinate descent visits stretches of rows: reading neighbours gains more than it loses.
    stretch_row_values: int = 32
    #: Steps of Newton's method, with nothing proved yet, after which the squared losses go through smaller costs.
    straight_steps: int = 24
    #: Columns up to which a path keeps second derivatives from one C to the next.
    kept_curvature_columns: int = 500
    #: Multiplications up to which the Hessian of softmax is written out.
    softmax_multiplications: float = 2e10
    #: Columns up to which its diagonal blocks are factored as a preconditioner.
    softmax_block_columns: int = 1000
    #: Values of the matrices of examples, one a class, that its inverse may hold where examples are fewer than columns: 320 MB.
    softmax_examples_values: float = 4e7


LINEAR_THRESHOLDS = LinearThresholds()
