"""Boosting: the shapes of data at which another way is taken."""

from __future__ import annotations

from typing import NamedTuple


class BoostingThresholds(NamedTuple):
    """Each field: its unit, and the reason for its value."""

    #: Rows up to which each value of a feature has its own code, which a uint16 can hold; features of more rows are binned.
    exact_rows: int = 1 << 16
    #: Rows of the sample that quantiles are taken from: enough for 256 bins.
    quantile_sample_rows: int = 200_000
    #: Rows from which on features are searched for a code that three quarters of the rows have; a pass over fewer rows is short.
    frequent_code_rows: int = 256
    #: Values, rows times features, that one thread reads in a round; less work is not worth waking a thread.
    values_per_thread: int = 80_000
    #: Rows times rounds up to which the rows that each stump has right are remembered, one byte each, for the margin game.
    remembered_answers: int = 4_000_000
    #: Rows times distinct stumps up to which the margin game is solved for every run.
    margin_game_cells: int = 2_000
    #: The same for each round of a run of at least ``margin_game_long_run`` rounds, whose own time pays for the programs.
    margin_game_cells_per_round: int = 200
    margin_game_long_run: int = 100
    #: Linear programs that one margin game may solve.
    margin_game_programs: int = 40


BOOSTING_THRESHOLDS = BoostingThresholds()
