"""What the first fit of a new process costs while no kernel is kept.

The table holds the number of functions that numba compiles, exactly (but for the few about which the last digits of BLAS
decide), and processor seconds, within a factor of 2. On a slower machine than the table's all seconds grow as those of the
import do, which is timed in the same process. A number that
changed is told by `python -m benchmarks.cold NAME --profile`, function by function; fewer is a reason to write down fewer.
"""

from __future__ import annotations

from pathlib import Path

import numba
import pytest

from benchmarks.cold import CASES, measured
from tests.shared_data import folder

#: With this numba; the machine of the seconds is that of benchmarks/results/cold.md.
NUMBA = "0.68.1"
#: Functions, seconds. None: a second process compiles too, and time decides which of the two compiles a function.
COLD: dict[str, tuple[int | None, float]] = {
    "LinearRegression": (6, 1.0),
    "Ridge": (7, 1.6),
    "LinearSVC": (22, 3.9),
    "LinearSVC hinge": (25, 3.7),
    "LogisticRegression": (21, 4.6),
    "SVC": (23, 3.9),
    "SVR": (23, 3.6),
    "Perceptron": (5, 1.2),
    "AdaBoost": (18, 2.2),
    "DecisionTree": (33, 5.3),
    "Bagging": (34, 5.5),
    "separability": (7, 1.6),
    "verify": (0, 0.5),
    "predict": (1, 0.8),
    "train": (None, 20.0),
}
QUICK = ("Ridge",)
NEEDS_DATA = ("train",)
#: Processor seconds of the import on the machine of the table.
IMPORT = 1.5


def test_every_case_is_in_the_table() -> None:
    assert set(COLD) == set(CASES)


@pytest.mark.parametrize("case", [pytest.param(case, marks=() if case in QUICK else pytest.mark.cold) for case in COLD])
def test_first_fit_compiles_what_the_table_says(case: str, tmp_path: Path) -> None:
    if case in NEEDS_DATA and folder() is None:
        pytest.skip("no data sets: set GAPLESS_DATA to their folder")
    found = measured(case, tmp_path / "kernels")
    functions, seconds = COLD[case]
    if functions is not None and numba.__version__ == NUMBA:
        assert found["functions"] == functions
    elif functions is not None:  # another version has more or fewer functions of its own
        assert found["functions"] <= 1.5 * functions + 5
    assert found["seconds"] <= 2.0 * seconds * max(found["import"] / IMPORT, 1.0)
