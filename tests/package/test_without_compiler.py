"""NUMBA_DISABLE_JIT=1 and NUMBA_OPT=0: slow, and right."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.package import families
from tests.package.processes import environment

ROOT = Path(__file__).resolve().parents[2]
QUICK = ("LinearSVC", "SVC", "LogisticRegression three", "DecisionTreeClassifier", "AdaBoostClassifier", "Ridge")


def told(names: tuple[str, ...], **changes: str) -> dict[str, dict]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.package.families", *names],
        env=environment(**changes), cwd=ROOT, capture_output=True, text=True, timeout=580, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@cache
def usual(names: tuple[str, ...]) -> dict[str, dict]:
    return families.told(list(names))


def agree(names: tuple[str, ...], found: dict[str, dict]) -> None:
    """The judge accepts both; the intervals [dual, primal] of the optimum overlap; the answers are the same."""
    expected = usual(names)
    assert found.keys() == expected.keys()
    for name, here in found.items():
        there = expected[name]
        assert here["verdict"], name
        assert here["status"] == there["status"], name
        if here["dual"] is not None and there["dual"] is not None:
            slack = 1e-9 * max(1.0, abs(there["primal"]))
            assert here["dual"] <= there["primal"] + slack, name
            assert there["dual"] <= here["primal"] + slack, name
        assert here["answers"] == pytest.approx(there["answers"], rel=1e-3, abs=1e-3), name


def test_without_compiling_anything():
    agree(QUICK, told(QUICK, NUMBA_DISABLE_JIT="1"))


@pytest.mark.slow
def test_every_family_without_compiling_anything():
    agree(tuple(families.MODELS), told(tuple(families.MODELS), NUMBA_DISABLE_JIT="1"))


@pytest.mark.slow
@pytest.mark.parametrize("name", families.MODELS)
def test_every_family_without_optimising(name, tmp_path_factory):
    """Kernels of NUMBA_OPT=0 have a folder of their own beside those of NUMBA_OPT=3."""
    place = tmp_path_factory.getbasetemp() / "unoptimised"
    agree((name,), told((name,), NUMBA_OPT="0", GAPLESS_CACHE=str(place)))
    assert len(list(place.glob("kernels-*"))) == 1


def test_a_command_without_compiling_anything(tmp_path):
    """The readers of files too: a table with texts, gaps and exponents."""
    table = tmp_path / "table.csv"
    lines = [f"{k % 7 - 3.5},{k / 8:.3e},{'red' if k % 3 else ''},{'yes' if k % 7 > 3 else 'no'}" for k in range(60)]
    table.write_text("\n".join(["a,b,colour,answer", *lines]) + "\n")
    answers = []
    for changes in ({"NUMBA_DISABLE_JIT": "1"}, {}):
        model = tmp_path / f"model{len(answers)}.gapless"
        done = subprocess.run(
            [sys.executable, "-m", "gapless", "train", table, "--model", "svm", "--target", "answer", "-o", model, "--json"],
            env=environment(**changes), capture_output=True, text=True, timeout=500, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        answers.append(json.loads(done.stdout))
        assert os.path.getsize(model)
    plain, compiled = answers
    assert plain["certificate"]["primal"] == pytest.approx(compiled["certificate"]["primal"], rel=1e-4)
    assert plain["notes"] == compiled["notes"]
    assert plain["training"] == compiled["training"]
