"""What the first fit of a new process costs while no kernel is kept.

The table holds the number of functions that numba compiles, exactly, and processor seconds, within a factor of 2. A number that
changed is told by `python -m benchmarks.cold NAME --profile`, function by function; fewer is a reason to write down fewer.
"""

from __future__ import annotations

from pathlib import Path

import numba
import pytest

from benchmarks.cold import CASES, measured

#: With this numba; the machine of the seconds is that of benchmarks/results/cold.md.
NUMBA = "0.68.1"
#: Functions, seconds.
COLD: dict[str, tuple[int, float]] = {}
QUICK = ("Ridge", "LinearSVC")


def test_every_case_is_in_the_table() -> None:
    assert set(COLD) == set(CASES)


@pytest.mark.parametrize("case", [pytest.param(case, marks=() if case in QUICK else pytest.mark.cold) for case in COLD])
def test_first_fit_compiles_what_the_table_says(case: str, tmp_path: Path) -> None:
    found = measured(case, tmp_path / "kernels")
    functions, seconds = COLD[case]
    if numba.__version__ == NUMBA:
        assert found["functions"] == functions
    else:  # another version has more or fewer functions of its own
        assert found["functions"] <= 1.5 * functions + 5
    assert found["seconds"] <= 2.0 * seconds
