"""The benchmarks find their data, their tables and the tree that they measure."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.against import Tree, compare
from benchmarks.core import datasets, objective, table
from tests.package.processes import environment

ROOT = Path(__file__).resolve().parents[2]


def test_the_places_that_are_read_and_written():
    assert datasets.REPOSITORY == ROOT
    assert objective.KEPT.parent == ROOT / "benchmarks"
    assert table.RESULTS == ROOT / "benchmarks" / "results"
    text = table.PAGE.read_text("utf-8")
    assert text.count(table.START) == text.count(table.END) == 1


@pytest.mark.parametrize("module", ["benchmarks", "benchmarks.against", "benchmarks.cold"])
def test_its_help(module):
    done = subprocess.run(
        [sys.executable, "-m", module, "--help"],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "usage" in done.stdout


def test_a_tree_against_itself_runs_every_kind_of_call():
    one, other = Tree(ROOT), Tree(ROOT)
    for name, row in (("least squares", "LinearRegression 300 x 10"), ("judge", "save and load"), ("tree", "predict")):
        now, before = compare(one, other, name, row, turns=3, processor=True)
        assert 0.0 < now < 10.0
        assert 0.0 < before < 10.0


def test_a_folder_without_sources_is_refused(tmp_path):
    with pytest.raises(SystemExit, match="no checkout of gapless"):
        Tree(tmp_path)
