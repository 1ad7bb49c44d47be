"""Rows that are equal, found by their bytes."""

from __future__ import annotations

import numpy as np
import pytest

from gapless.encode.equal_rows import find_distinct_rows


@pytest.mark.parametrize("kind", [np.uint8, bool, np.uint64])
def test_distinct_rows_are_those_of_numpy(kind):
    random = np.random.default_rng(3)
    for _ in range(30):
        values = random.integers(0, 2, size=(random.integers(1, 40), random.integers(1, 5))).astype(kind)
        first, counts = find_distinct_rows(values)
        rows, places, sizes = np.unique(values, axis=0, return_index=True, return_counts=True)
        np.testing.assert_array_equal(values[first], rows)
        np.testing.assert_array_equal(first, places)
        np.testing.assert_array_equal(counts, sizes)
