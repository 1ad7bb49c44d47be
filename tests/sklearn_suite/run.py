"""scikit-learn's own tests with our classes in place of its: ``python -m tests.sklearn_suite.run [module ...]``.

Each module runs in a process of its own. Printed are, for each, the tests that concern us, those that pass, and those that are
expected to fail (expected.toml); the exit code is 0 if nothing else failed, nothing expected to fail passed, and no test has gone
(counts.json).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import sklearn

HERE = Path(__file__).parent
#: How many tests of each function concern us, of the release of scikit-learn that the lists are for.
COUNTS = HERE / "counts.json"
MODULES = (
    "svm.tests.test_svm", "svm.tests.test_sparse", "svm.tests.test_bounds", "linear_model.tests.test_base",
    "linear_model.tests.test_common", "linear_model.tests.test_logistic", "linear_model.tests.test_perceptron",
    "linear_model.tests.test_ridge", "tree.tests.test_tree", "tree.tests.test_export", "tree.tests.test_monotonic_tree",
    "ensemble.tests.test_bagging", "ensemble.tests.test_common", "ensemble.tests.test_weight_boosting",
    "tests.test_discriminant_analysis", "inspection.tests.test_partial_dependence",
    "inspection.tests.test_permutation_importance", "inspection._plot.tests.test_boundary_decision_display",
    "inspection._plot.tests.test_plot_partial_dependence", "tests.test_multioutput", "tests.test_multiclass",
    "tests.test_calibration", "model_selection.tests.test_search", "feature_selection.tests.test_rfe",
    "feature_selection.tests.test_from_model", "feature_selection.tests.test_sequential", "tests.test_metaestimators",
    "tests.test_metaestimators_metadata_routing", "tests.test_common",
)  # fmt: skip
#: Those of the default run, in one process: some ten seconds of work.
CUT = (
    "svm.tests.test_svm", "linear_model.tests.test_base", "linear_model.tests.test_perceptron", "tree.tests.test_export",
    "tree.tests.test_monotonic_tree", "ensemble.tests.test_weight_boosting", "tests.test_discriminant_analysis",
)  # fmt: skip


class Result(NamedTuple):
    """What a process said."""

    outcomes: dict[str, dict[str, Any]]
    returncode: int
    output: str


def run(modules: tuple[str, ...], *, strict: bool = True, timeout: float = 3600.0) -> Result:
    """The tests of some modules, in a process of its own; ``strict``: by the list of expected failures."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "empty.ini").write_text("[pytest]\n")
        outcomes = Path(folder) / "outcomes.json"
        environment = {
            **os.environ, "MPLBACKEND": "Agg", "OMP_NUM_THREADS": "1", "SKLEARN_SUITE_OUTCOMES": str(outcomes),
            "SKLEARN_SUITE_STRICT": str(int(strict)), "GAPLESS_QUIET": "1",
            "PYTHONPATH": os.pathsep.join([str(HERE.parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]),
        }  # fmt: skip
        environment.pop("PYTEST_ADDOPTS", None)
        command = [
            sys.executable, "-m", "pytest", "-q", "--tb=short", "-p", "tests.sklearn_suite.plugin", "-p",
            "no:cacheprovider", "-p", "no:xdist", "-c", str(Path(folder) / "empty.ini"), "--timeout=300",
            f"--rootdir={Path(sklearn.__file__).parents[1]}", "--pyargs", *(f"sklearn.{name}" for name in modules),
        ]  # fmt: skip
        done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, timeout=timeout)
        found = json.loads(outcomes.read_text()) if outcomes.exists() else {}
    return Result(found, done.returncode, done.stdout + done.stderr)


def counted(outcomes: dict[str, dict[str, Any]]) -> dict[str, int]:
    """The tests of each function that were run: skipped ones, and those that scikit-learn itself lets fail, check nothing."""
    return dict(Counter(test.split("[")[0] for test, entry in outcomes.items() if concerns_us(entry)))


def concerns_us(entry: dict[str, Any]) -> bool:
    """Whether a test was run that counts."""
    return entry["outcome"] in ("passed", "failed") or (
        entry["outcome"] in ("xfailed", "xpassed") and entry["expected"]
    )


def gone(outcomes: dict[str, dict[str, Any]], modules: tuple[str, ...]) -> list[str]:
    """What is missing of the list of counts."""
    kept: dict[str, int] = json.loads(COUNTS.read_text())["tests"]
    now = counted(outcomes)
    return [
        f"{test}: {now.get(test, 0)} of {count}"
        for test, count in kept.items()
        if test.split("::")[0] in modules and now.get(test, 0) < count
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("modules", nargs="*", default=MODULES, help="without `sklearn.`")
    parser.add_argument("--free", action="store_true", help="without the lists: for another release of scikit-learn")
    parser.add_argument("--keep", action="store_true", help="write counts.json anew")
    parser.add_argument("--outcomes", help="write all outcomes to this file")
    asked = parser.parse_args()
    everything: dict[str, dict[str, Any]] = {}
    good, rows = True, []
    for module in asked.modules:
        result = run((module,), strict=not asked.free)
        everything |= result.outcomes
        concerned = [entry for entry in result.outcomes.values() if concerns_us(entry)]
        passed = sum(entry["outcome"] == "passed" for entry in concerned)
        expected = sum(entry["outcome"] == "xfailed" for entry in concerned)
        rows.append((module, len(concerned), passed, expected))
        print(f"{module:55} {len(concerned):5} concern us, {passed:5} pass, {expected:4} expected to fail", flush=True)
        if result.returncode not in (0, 5) and not asked.free:
            good = False
            print(result.output[-6000:])
    whole, passed = sum(row[1] for row in rows), sum(row[2] for row in rows)
    share = 100 * passed / max(whole, 1)
    print(f"scikit-learn {sklearn.__version__}: {passed} of {whole} tests pass, {share:.2f} %; {whole - passed} do not")
    if asked.outcomes:
        Path(asked.outcomes).write_text(json.dumps(everything, indent=0))
    if asked.keep:
        COUNTS.write_text(
            json.dumps({"scikit-learn": sklearn.__version__, "tests": counted(everything)}, indent=0) + "\n"
        )
    elif not asked.free:
        missing = gone(everything, tuple(asked.modules))
        print(*missing, sep="\n")
        good = good and not missing
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
