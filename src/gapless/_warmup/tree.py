"""Trees: on sorted columns and node by node, for each kind of target, and bagged."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from gapless._warmup.samples import Samples
from gapless._warmup.step import Step
from gapless.estimators.bagging import BaggingClassifier
from gapless.registry import with_kernels
from gapless.solvers.tree.codes import prepare_columns
from gapless.solvers.tree.prune import prune_tree
from gapless.solvers.tree.tree import TreeLimits, TreeTarget, all_finite, find_leaves, grow_tree, pack_tree


def steps(samples: Samples) -> Iterator[Step]:
    """Both growers, with codes of 16 and of 32 bits."""
    trees = with_kernels("trees")
    yield Step("trees on sorted columns, dense", trees, partial(_grow_sorted, samples))
    yield Step("trees on sorted columns, dense, codes of 32 bits", trees, _grow_sorted_wide)
    for kind in ("numbers", "three", "outputs"):
        for categories in (False, True):
            what = "categories" if categories else "numbers"
            run = partial(_grow_by_node, kind, categories)
            yield Step(f"trees node by node, dense {what}, target {kind}", trees, run)
    for kind, signs in (("medians", None), ("numbers", (1, 0)), ("medians", (1, 0))):
        what = f"target {kind}, {'rising' if signs else 'free'}"
        yield Step(f"trees node by node, dense numbers, {what}", trees, partial(_grow_by_criterion, kind, signs))
    yield Step("bagged trees, dense", trees, partial(_bag, samples))


def _grow(columns: Any, kind: str, **limits: Any) -> Any:
    """A tree; ``kind``: numbers (about means or medians), two or three classes, or two outputs."""
    rows = np.arange(columns.n_rows)
    if kind in ("numbers", "medians"):
        target = TreeTarget.from_values(rows % 7, "medians" if kind == "medians" else "squares")
    elif kind == "outputs":
        target = TreeTarget.from_values(np.stack([rows % 3, rows % 5], axis=1))
    else:
        K = 2 if kind == "two" else 3
        target = TreeTarget.from_classes(rows % K, K)
    return grow_tree(columns, target, None, TreeLimits(max_depth=3, **limits))


def _counting_columns(n: int) -> np.ndarray:
    """Two equal columns that count the rows."""
    return np.arange(n, dtype=np.float32).repeat(2).reshape(n, 2)


def _grow_sorted(samples: Samples) -> None:
    """Trees on sorted columns, exact and in bins; then pruning, and finding the leaves of rows."""
    columns = prepare_columns(_counting_columns(60))
    for kind in ("two", "numbers", "three"):
        for entropy in (False,) if kind == "numbers" else (False, True):
            tree = _grow(columns, kind, entropy=entropy)
    rows = samples.dense.astype(np.float32)
    for missing in (False, True):
        find_leaves(pack_tree(prune_tree(tree, 1e-9)), np.ascontiguousarray(rows[:, :2]), missing=missing)
    all_finite(rows)
    _grow(prepare_columns(rows, bins=9), "two")


def _grow_sorted_wide() -> None:
    """Trees on columns that are not kept in order, with codes of 16 bits (35,000 values) and of 32 bits (140,000)."""
    n = 140_000
    _grow(prepare_columns((np.arange(n) // 4).astype(np.float32).reshape(n, 1)), "two")
    _grow(prepare_columns(_counting_columns(n)), "two", entropy=False)


def _grow_by_node(kind: str, categories: bool) -> None:
    """Trees node by node, depth first and best first; numbers with codes of 16 and of 32 bits."""
    marks = np.array([True, False]) if categories else None
    for n in (60,) if categories or kind == "outputs" else (60, 66_000):
        X = np.arange(2 * n, dtype=np.float32).reshape(n, 2)
        columns = prepare_columns(X, marks)
        if categories:
            prepare_columns(X, marks, bins=9)
        _grow(columns, kind, max_features=1)
        _grow(columns, kind, max_leaves=4)


def _grow_by_criterion(kind: str, signs: tuple[int, ...] | None) -> None:
    """Trees by absolute error, or whose values rise with the first column; depth first and best first."""
    columns = prepare_columns(np.arange(120, dtype=np.float32).reshape(60, 2))
    _grow(columns, kind, signs=signs)
    _grow(columns, kind, signs=signs, max_leaves=4)


def _bag(samples: Samples) -> None:
    BaggingClassifier(n_estimators=2, random_state=0).fit(samples.dense, samples.y).predict(samples.dense)
