"""Separation: the sizes of data at which another way is taken, and how long each way is tried."""

from __future__ import annotations

from typing import NamedTuple


class SeparationThresholds(NamedTuple):
    """Each field: its unit, and the reason for its value."""

    #: Rows of the first subset, for each coefficient, and at least: the linear program on them takes some 50 ms.
    first_rows_per_coefficient: int = 4
    first_rows: int = 1200
    #: Rows that may join the subset in a round, unless there are more coefficients: more would make programs of their own size.
    joining_rows: int = 400
    #: A row of length 1 counts as on a plane, or in a space, within this length: HiGHS holds its constraints to it.
    near: float = 1e-7
    #: Rounds of programs; subsets settle in some ten.
    rounds: int = 80
    #: Coefficients from which on a machine is tried before the programs, which then take seconds.
    machine_coefficients: int = 150
    #: Rows for each coefficient up to which it is tried: more rows are seldom separable.
    machine_rows_per_coefficient: int = 10
    #: The machine's cost of an error: nearly no penalty, on rows of length 1.
    machine_cost: float = 1e4
    #: Passes, and steps of Newton's method, of the machine: counts and not seconds, so that a slow computer finds the same.
    machine_passes: int = 300
    machine_newton_steps: int = 40
    #: Coefficients up to which one softmax takes all classes; its Hessian has that many rows.
    softmax_coefficients: int = 5_000
    #: Columns up to which dependent ones are told apart in exact arithmetic, some seconds of work.
    exact_columns: int = 400
    #: Coefficients, and numbers of a program, up to which few columns are looked for.
    few_columns_coefficients: int = 400
    few_columns_numbers: int = 2_000_000
    #: Numbers of that program up to which columns are then left out one by one, and how many are tried: each costs a program.
    spared_numbers: int = 200_000
    spared_columns: int = 20
    #: Seconds for the largest margin, and numbers of X that may be converted for it.
    margin_seconds: float = 10.0
    margin_numbers: int = 30_000_000


SEPARATION_THRESHOLDS = SeparationThresholds()
