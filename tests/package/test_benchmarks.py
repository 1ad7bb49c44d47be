"""The benchmarks find their data, their tables and the tree that they measure."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.svm import SVC

from benchmarks.against import Tree, compare
from benchmarks.core import datasets, objective, table
from benchmarks.studies import kernel
from tests.package.processes import environment

ROOT = Path(__file__).resolve().parents[2]


def test_the_places_that_are_read_and_written():
    assert datasets.REPOSITORY == ROOT
    assert objective.KEPT.parent == ROOT / "benchmarks"
    assert table.RESULTS == ROOT / "benchmarks" / "results"
    text = table.PAGE.read_text("utf-8")
    assert text.count(table.START) == text.count(table.END) == 1


@pytest.mark.parametrize("module", ["benchmarks", "benchmarks.against", "benchmarks.cold", "benchmarks.map"])
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


class OwnOrder:
    """A model of scikit-learn as LIBSVM's own package would tell it: pairs in the order in which labels first appear."""

    def __init__(self, model, X, y):
        _, first = np.unique(y, return_index=True)
        self.labels = [int(y[i]) for i in np.sort(first)]
        pairs = kernel.coefficients(model, X, y)
        place = {label: k for k, label in enumerate(np.unique(y).tolist())}
        self.support = [i for label in self.labels for i in model.support_.tolist() if y[i] == label]
        self.dual = np.zeros((len(self.labels) - 1, len(self.support)))
        for a in range(len(self.labels)):
            for b in range(a + 1, len(self.labels)):
                one, other = place[self.labels[a]], place[self.labels[b]]
                u = pairs[min(one, other), max(one, other)] * (1.0 if one < other else -1.0)
                for column, i in enumerate(self.support):
                    if y[i] == self.labels[a]:
                        self.dual[b - 1, column] = u[i]
                    elif y[i] == self.labels[b]:
                        self.dual[a, column] = u[i]

    def get_labels(self):
        return self.labels

    def get_sv_coef(self):
        return [tuple(column) for column in self.dual.T]

    def get_sv_indices(self):
        return [i + 1 for i in self.support]


def digits_in_another_order():
    """Four classes whose labels first appear in the order 2, 0, 3, 1."""
    X, y = load_digits(n_class=4, return_X_y=True)
    X, y = X[:300] / 16.0, y[:300]
    first = [int(np.flatnonzero(y == label)[0]) for label in (2, 0, 3, 1)]
    rows = np.r_[first, np.setdiff1d(np.arange(300), first)]
    return X[rows], y[rows]


def test_the_judge_of_kernel_machines_reads_libsvms_own_order_of_labels():
    X, y = digits_in_another_order()
    model = SVC(C=1.0, gamma=0.05, tol=1e-6).fit(X, y)
    told = OwnOrder(model, X, y)
    assert told.labels == [2, 0, 3, 1]
    gap = kernel.relative_gap(model, X, y, 1.0, 0.05)
    assert 0.0 <= gap < 1e-5
    assert kernel.relative_gap(told, X, y, 1.0, 0.05) == pytest.approx(gap, rel=1e-6, abs=1e-12)


def test_libsvm_itself_is_judged_as_scikit_learns():
    pytest.importorskip("libsvm", reason="libsvm-official is not installed")
    X, y = digits_in_another_order()
    model, _ = kernel.peers()["libsvm-official"](X, y, 1.0, 0.05)()
    plain = SVC(C=1.0, gamma=0.05, tol=1e-3).fit(X, y)
    gaps = [kernel.relative_gap(each, X, y, 1.0, 0.05) for each in (model, plain)]
    assert max(gaps) < 1e-2
    assert gaps[0] < 3.0 * gaps[1]
