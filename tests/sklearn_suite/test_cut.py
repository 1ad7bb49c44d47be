"""A cut of scikit-learn's own tests with our classes: nothing fails that is not expected to, and no test has gone.

`make test-sklearn` runs all of them.
"""

from __future__ import annotations

import json
import sys

import pytest
import sklearn

from tests.sklearn_suite import run as suite


@pytest.mark.skipif(
    sklearn.__version__ != json.loads(suite.COUNTS.read_text())["scikit-learn"],
    reason="the lists are for another release",
)
@pytest.mark.skipif(sys.platform == "win32", reason="scikit-learn's lists of expected digits are for Linux and macOS")
def test_the_cut_passes_as_expected():
    result = suite.run(suite.CUT)
    failed = [test for test, entry in result.outcomes.items() if entry["outcome"] == "failed"]
    assert failed == [], result.output[-4000:]
    assert result.returncode == 0, result.output[-4000:]
    assert suite.gone(result.outcomes, suite.CUT) == []
    fitted = sum(bool(entry["fitted"]) for entry in result.outcomes.values())
    assert fitted > len(result.outcomes) // 4  # our classes were fitted, not scikit-learn's


def test_a_module_that_is_not_there_is_found():
    outcomes = {"svm.tests.test_svm::test_gone[0]": {"outcome": "passed", "expected": False}}
    kept = json.loads(suite.COUNTS.read_text())["tests"]
    missing = suite.gone(outcomes, ("svm.tests.test_svm",))
    assert len(missing) == sum(test.startswith("svm.tests.test_svm::") for test in kept)
