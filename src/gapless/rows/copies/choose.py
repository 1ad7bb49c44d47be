"""The one place that chooses a copy of the rows: which layout a reader reads fastest, and whether making it repays.

    access      reader                                       copy                                           where
    "passes"    passes over all rows, in order               two-value rows, packed rows                    dense float64
    "random"    rows one by one, in an order of its own      packed rows of dense, binary rows of sparse    at most 2^16 columns
    "sgd"       rows one by one, in an order drawn once      ordered packed rows                            mostly zeros

There the memory is what takes the time: rows of a dense matrix that are mostly zeros are read faster as sparse ones, rows of
zeros and ones need no values, and columns of two values only need to say where the rarer one is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from gapless.rows.copies.binary import make_binary_rows
from gapless.rows.copies.two_value import make_two_value_rows, two_value_cost
from gapless.rows.copies.words import make_ordered_packed_rows, make_packed_rows
from gapless.rows.csr import CsrRows
from gapless.rows.dense import DenseRows
from gapless.rows.shape import Rows, n_features, n_stored, sample

Access = Literal["passes", "random", "sgd"]


@dataclass(frozen=True)
class CopyThresholds:
    """From which shape on a copy repays its making. Measured with benchmarks/core on a9a, w8a, mnist, adult and news20."""

    #: Values of X from which on rows are copied for access in any order; smaller data is in the cache anyway.
    random_values: int = 100_000
    #: The same for passes in order, which wait for the memory later.
    pass_values: int = 4_000_000
    #: Share of values other than 0 up to which a sparse copy is read faster row by row ...
    random_filled_share: float = 0.3
    #: ... and in passes, where a copy of a quarter of X is worth it.
    pass_filled_share: float = 0.2
    #: Passes that repay the making of packed rows: dozens. Two-value rows repay it sooner.
    packed_passes: int = 24
    #: Epochs that repay ordered packed rows, whose making takes about as long as ten of them save.
    ordered_epochs: int = 20
    #: What a mark of two-value rows, or a packed value, costs to read; the unit is a value of a dense row.
    mark_cost: float = 2.5
    #: Two-value rows are made only if reading them costs at most this share of reading the rows.
    two_value_cost_share: float = 0.5
    #: Columns that 16 bits, and that 21 bits can number; of the latter one is the constant feature's.
    columns_of_16_bits: int = 1 << 16
    columns_of_21_bits: int = 1 << 21


COPY_THRESHOLDS = CopyThresholds()


def best_copy(
    rows: Rows,
    access: Access,
    *,
    times: float = np.inf,
    least_values: int | None = None,
    draw_order: Callable[[], np.ndarray] | None = None,
) -> Any:
    """The copy of ``rows`` that ``access`` reads fastest, or the rows themselves where no copy repays its making.

    ``times`` is how many passes or epochs are expected, ``least_values`` stands in for the threshold of stored values, and
    ``draw_order`` gives the order of "sgd"; it is called only where a copy is made.
    """
    if access == "passes":
        return _copy_for_passes(rows, times, least_values)
    if access == "random":
        return _copy_for_random_access(rows, least_values)
    if draw_order is None or times < COPY_THRESHOLDS.ordered_epochs:
        return rows
    if n_features(rows) >= COPY_THRESHOLDS.columns_of_21_bits:
        return rows
    if isinstance(rows, DenseRows) and _filled_share(_sample_rows(rows)) > COPY_THRESHOLDS.random_filled_share:
        return rows
    return make_ordered_packed_rows(rows, draw_order())


def _copy_for_random_access(rows: Rows, least_values: int | None) -> Any:
    least = COPY_THRESHOLDS.random_values if least_values is None else least_values
    if n_stored(rows) < least or n_features(rows) > COPY_THRESHOLDS.columns_of_16_bits:
        return rows
    if isinstance(rows, CsrRows):
        return make_binary_rows(rows) or rows
    thin = _filled_share(_sample_rows(rows)) <= COPY_THRESHOLDS.random_filled_share
    return make_packed_rows(rows) if thin else rows


def _copy_for_passes(rows: Rows, times: float, least_values: int | None) -> Any:
    least = COPY_THRESHOLDS.pass_values if least_values is None else least_values
    if not isinstance(rows, DenseRows) or rows.values.dtype != np.float64 or rows.values.size < least:
        return rows
    if n_features(rows) > COPY_THRESHOLDS.columns_of_16_bits:
        return rows
    mark_cost, worth = COPY_THRESHOLDS.mark_cost, COPY_THRESHOLDS.two_value_cost_share
    seen = _sample_rows(rows)
    cost, filled = two_value_cost(seen, mark_cost=mark_cost, worth=worth), _filled_share(seen)
    if cost <= worth and cost < mark_cost * filled and (copy := make_two_value_rows(rows, seen, worth)) is not None:
        return copy
    many = times >= COPY_THRESHOLDS.packed_passes
    return make_packed_rows(rows) if many and filled <= COPY_THRESHOLDS.pass_filled_share else rows


def _sample_rows(rows: DenseRows) -> np.ndarray:
    """About 1000 rows, which stand for all."""
    return rows.values[sample(rows.n_rows, min(1000, rows.n_rows))]


def _filled_share(seen: np.ndarray) -> float:
    """How many of the values are not 0, as a share."""
    return np.count_nonzero(seen) / max(1, seen.size)
