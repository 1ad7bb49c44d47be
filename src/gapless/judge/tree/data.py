"""A tree's document with the data it speaks of: that these are the data of the fit, and which rows each node holds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from ..arithmetic.compare import at_most, capped, equal
from ..arithmetic.rounding import gamma
from ..case import Case
from ..classes import as_array, class_weights_agree, floats_of, label_index, sorted_unique
from ..errors import CertificateError
from ..form.entries import is_count, is_number, number
from ..rows import as_rows, filled, place
from ..same_data import same_rows, same_targets
from .criteria import bounds_of, in_order, loss, medians, signs_of
from .document import defect_of_arrays


class TreeData(Case):
    """X in float32, targets Y (n, P) as 0 and 1 of the classes or as numbers, weights, and the arrays of the tree."""

    #: No room is wider than this share of what it excuses: of a weight, of a target's size, of an impurity.
    share = 1e-6

    def read_data(self, X: Any, y: Any, sample_weight: Any) -> None:
        self.X = rows_in_float32(X)
        self.given = same_rows(self.document, as_rows(self.X), sample_weight, gaps=True)
        self._read_targets(y, len(self.X))
        same_targets(self.document, self.marks, self.kind, "targets")
        self.levels = levels_of(self.document, self.arrays)

    def _read_targets(self, y: Any, n: int) -> None:
        outputs = self.problem["outputs"]
        table = as_array(y, "other targets: y cannot be read")
        columns = outputs if isinstance(outputs, int) else len(outputs)
        if table.ndim not in (1, 2) or table.shape[0] != n or table.size != n * columns:
            told = f"y has shape {table.shape}, X has {n} rows and the tree {columns} outputs"
            raise CertificateError(f"other targets: {told}")
        table = table.reshape(n, columns)
        self.weights = self.given
        self.index = None
        if isinstance(outputs, int):
            self.marks, self.kind = floats_of(table) + 0.0, "<f8"
            self.Y, self.starts = self.marks, np.arange(columns + 1)
            return
        self.index = np.column_stack([label_index(table[:, o], block, n) for o, block in enumerate(outputs)])
        self.marks, self.kind = self.index, "<i8"
        self.starts = np.concatenate([[0], np.cumsum([len(block["values"]) for block in outputs])]).astype(np.int64)
        self.Y = np.zeros((n, int(self.starts[-1])))
        for o in range(columns):
            self.Y[np.arange(n), self.starts[o] + self.index[:, o]] = 1.0
        for o, of_class in enumerate(self.problem["class_weight"] or []):
            self.weights = self.weights * np.array([number(w) for w in of_class])[self.index[:, o]]

    def statement_claims(self) -> bool:
        p, problem, n = self.parameters, self.problem, self.X.shape[0]
        names = {"log_loss": "entropy", "friedman_mse": "squared_error"}
        asked = names.get(str(p.get("criterion")), p.get("criterion"))
        self.signs = signs_of(self)
        self.same_claim("criterion", problem["criterion"], asked)
        if self.index is not None:
            values = [block["values"] for block in problem["outputs"]]
            good = all(map(sorted_unique, values))
            present = all(np.unique(self.index[:, o]).size == len(each) for o, each in enumerate(values))
            self.claim("classes", [len(each) for each in values], None, good and present, "sorted, all there")
            self._class_weight_claims()
        total = float(self.weights.sum())
        there = bool(np.isfinite(self.weights).all() and (self.weights > 0).any() and np.isfinite(self.Y).all())
        self.claim("row weights", "finite, not all 0", None, there)
        leaf, split = p.get("min_samples_leaf"), p.get("min_samples_split")
        wanted_leaf = _count(leaf, n)
        wanted_split = None if wanted_leaf is None else _count(split, n)
        if wanted_split is not None and wanted_leaf is not None:
            wanted_split = max(2, wanted_split, 2 * wanted_leaf)
        self.same_claim("min_samples_leaf", problem["min_leaf"], wanted_leaf)
        self.same_claim("min_samples_split", problem["min_split"], wanted_split)
        share = p.get("min_weight_fraction_leaf")
        least, room = number(problem["min_weight"]), capped(gamma(2 * n + 8), total, self.share)
        good = is_number(share) and equal(least, number(share) * total, room * total)
        self.claim("min_weight_fraction_leaf", least, share, good)
        all_tried = problem["exact"] and p.get("splitter") == "best" and problem["max_features"] >= self.d
        self.same_claim("all splits tried", self.block["best"], all_tried)
        bins, most = p.get("max_bins", "auto"), max(np.unique(self.X[:, j]).size for j in range(self.d))
        # Up to 200,000 rows a fit has no bins unless it is asked for them.
        few = most < bins if is_count(bins) else bins is None or n <= 200_000
        self.claim("bins", problem["exact"], bins, problem["exact"] or not few, "none where values are few")
        features = _features(p.get("max_features"), self.d)
        self.same_claim("max_features", problem["max_features"], features)
        missing = np.flatnonzero(np.isnan(self.X).any(axis=0)).tolist()
        self.same_claim("missing values", problem["missing"], missing)
        self.same_claim("status", self.block["status"], "converged", "growth ends by itself")
        self.claim("splitter", p.get("splitter"), None, p.get("splitter") in ("best", "random"), "best or random")
        return self.all_hold()

    def _class_weight_claims(self) -> None:
        asked, resolved = self.parameters.get("class_weight"), self.problem["class_weight"]
        if asked is None or resolved is None:
            self.claim("class weights", resolved, asked, asked is None and resolved is None)
            return
        outputs = self.problem["outputs"]
        each = [asked] if len(outputs) == 1 else [asked] * len(outputs) if asked == "balanced" else asked
        good = isinstance(each, list) and len(each) == len(outputs)
        for o, block in enumerate(outputs if good else []):
            values = [number(w) for w in resolved[o]]
            assert self.index is not None
            good = good and class_weights_agree(each[o], block["values"], values, self.index[:, o], self.given)[0]
        self.claim("class weights", resolved, asked, good)

    def form_claims(self) -> bool:
        """Whether the arrays are a tree at all, and its size and depth."""
        left, right, feature = (self.arrays[name].astype(np.int64) for name in ("left", "right", "feature"))
        N, ends = left.size, left < 0
        inner, good = np.flatnonzero(~ends), defect_of_arrays(self.document, self.arrays) is None
        known = [(j, each) for j, each in enumerate(self.levels) if each is not None]
        present = [np.unique(self.X[~np.isnan(self.X[:, j]), j]) for j, _ in known]
        good = good and all(np.array_equal(each, values) for (_, each), values in zip(known, present, strict=True))
        good = good and not self.arrays["threshold"][np.isin(feature, [j for j, _ in known])].any()
        self.claim("tree", f"{N} nodes", None, good, "every node but the root has one parent, above it")
        if not good:
            return False
        depth = np.zeros(N, dtype=np.int64)
        for t in inner.tolist():
            depth[left[t]] = depth[right[t]] = depth[t] + 1
        self.left, self.right, self.feature, self.ends, self.depth = left, right, feature, ends, depth
        deepest, leaves = int(depth.max()), int(ends.sum())
        self.same_claim("depth", self.block["depth"], deepest)
        self.same_claim("leaves", self.block["leaves"], leaves)
        most, widest = self.parameters.get("max_depth"), self.parameters.get("max_leaf_nodes")
        self.claim("max_depth", most, deepest, most is None or at_most(deepest, most))
        self.claim("max_leaf_nodes", widest, leaves, widest is None or at_most(leaves, widest))
        return True

    def goes_left(self, node: int, rows: np.ndarray) -> np.ndarray:
        """Which of some rows go left at a node."""
        j = int(self.feature[node])
        return goes_left(self.arrays, self.levels[j], node, self.X[rows, j])

    def send_rows(self) -> None:
        """The rows of every node, those of weight 0 left out."""
        self.held: list[np.ndarray] = [np.empty(0, dtype=np.int64)] * self.left.size
        self.held[0] = np.flatnonzero(self.weights > 0)
        for t in np.flatnonzero(~self.ends).tolist():
            here = self.goes_left(t, self.held[t])
            self.held[self.left[t]], self.held[self.right[t]] = self.held[t][here], self.held[t][~here]

    def node_claims(self) -> None:
        N, P = self.left.size, self.Y.shape[1]
        counts = np.array([rows.size for rows in self.held])
        self._same("rows of the nodes", self.arrays["n_samples"], counts, np.zeros(N))
        if not self.claim("rows of the nodes", "at least 1", int(counts.min()), at_most(1, int(counts.min()))):
            return
        astray = [t for t in np.flatnonzero(~self.ends).tolist() if not self._sends_others(t, counts)]
        note = f"node {astray[0]} does not" if astray else "where more rows go"
        self.claim("values that no row of a node has go", "at every split", None, not astray, note)
        weight, value, impurity, room = np.zeros(N), np.zeros((N, P)), np.zeros(N), np.zeros(N)
        largest, apart = np.zeros(N), np.zeros((N, P))
        for t, rows in enumerate(self.held):
            w, Y = self.weights[rows], self.Y[rows]
            weight[t] = w.sum()
            value[t], apart[t] = self.value_of(w, Y)
            impurity[t] = self.impurity_of(w, Y)
            largest[t] = np.abs(Y).max()
            room[t] = gamma(8 * rows.size + 64)
        # What two ways of summing the same numbers can differ by.
        room = capped(room, 1.0, self.share)
        self._same("weights of the nodes", self.arrays["weighted_n"], weight, room * weight)
        near = 4.0 * room * (np.maximum(largest, 1.0) if self.index is not None else largest)
        wide = near[:, None] + apart
        if self.signs.any():
            value, wide = self._within_bounds(value, apart, near)
        self._same("values of the nodes", self.arrays["value"], value, wide * np.ones(P))
        spread = 1.0 if self.index is not None else np.maximum(impurity, (largest * room) ** 2)
        spread = spread if self.problem["criterion"] != "entropy" else 64.0
        steep = np.sqrt(impurity) * 4.0
        if self.problem["criterion"] in ("absolute_error", "poisson"):
            spread, steep = (1.0 + 64.0 * (self.problem["criterion"] == "poisson")) * largest, np.ones(N)
        wide = 16.0 * room * spread + near * steep
        self._same("impurities of the nodes", self.arrays["impurity"], impurity, wide)
        error = self._error(weight, impurity)
        size = 1.0 if self.index is not None else float(impurity[0]) + float(np.max(room * spread))
        slack = capped(gamma(64 * N + 8 * self.X.shape[0]), 1.0, self.share) * size
        claimed = number(self.block["error"])
        self.claim("training error", claimed, error, equal(claimed, error, 4.0 * slack))
        ends = np.flatnonzero(self.ends)
        least = int(counts[ends].min())
        leaf = self.problem["min_leaf"]
        self.claim("rows of a leaf", leaf, least, N == 1 or at_most(leaf, least))
        light, floor = float(weight[ends].min()), number(self.problem["min_weight"])
        kept = N == 1 or at_most(floor, light, float(room.max()) * weight[0])
        self.claim("weight of a leaf", floor, light, kept)
        self.weight, self.impurity = weight, impurity

    def value_of(self, w: np.ndarray, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The means of some rows, or the middles of their medians, and how far a median may lie from there."""
        if self.problem["criterion"] == "absolute_error":
            ends = np.array([medians(w, column) for column in Y.T])
            return ends[:, 0] / 2.0 + ends[:, 1] / 2.0, (ends[:, 1] - ends[:, 0]) / 2.0
        return Y[0] + w @ (Y - Y[0]) / float(w.sum()), np.zeros(Y.shape[1])

    def _within_bounds(self, value: np.ndarray, apart: np.ndarray, near: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The values that constraints leave of these, and how far each may be off; of two classes the second has the bounds."""
        low, high = value[:, -1] - apart[:, -1], value[:, -1] + apart[:, -1]
        self.below, self.above = bounds_of(self, low, high, near)
        least = np.minimum(np.maximum(low - near, self.below[:, 0]), self.above[:, 0])
        most = np.minimum(np.maximum(high + near, self.below[:, 1]), self.above[:, 1])
        told = "the values on both sides of each split on a feature that is asked for"
        self.claim("monotonic_cst", [int(s) for s in self.signs], None, in_order(self), told)
        middle, wide = least / 2.0 + most / 2.0, near + np.maximum(most - least, 0.0) / 2.0
        if value.shape[1] == 1:
            return middle[:, None], wide[:, None]
        return np.column_stack([1.0 - middle, middle]), np.column_stack([wide, wide])

    def _sends_others(self, node: int, counts: np.ndarray) -> bool:
        """Whether what no row of a node has, a category or a missing value, goes where more rows go."""
        j, more = int(self.feature[node]), counts[self.left[node]] > counts[self.right[node]]
        x, known = self.X[self.held[node], j], self.levels[j]
        bits = np.unpackbits(self.arrays["categories"][node].astype("<u4").view(np.uint8), bitorder="little")
        size = 0 if known is None else known.size
        open_ = bits[:size][~np.isin(known, x)] if known is not None else bits
        fine = bool(np.isnan(x).any()) or bool(self.arrays["missing_left"][node]) == more
        return fine and not bits[size:].any() and bool((open_ == more).all() or known is None)

    def _same(self, name: str, claimed: np.ndarray, found: np.ndarray, room: np.ndarray) -> bool:
        off = np.abs(claimed.astype(np.float64) - found)
        node = int(np.argmax(off.reshape(off.shape[0], -1).max(axis=1)))
        shown = f"off by at most {float(off.max()):.1e}, at node {node}"
        return self.claim(name, f"{claimed.shape[0]} nodes", shown, equal(claimed, found, room))

    def impurity_of(self, w: np.ndarray, Y: np.ndarray) -> float:
        W = float(w.sum())
        mean, outputs = self.value_of(w, Y)[0], self.starts.size - 1
        if self.problem["criterion"] == "squared_error":
            return float((w / W @ (Y - mean) ** 2).sum() / Y.shape[1])
        if self.index is None:
            return loss(self.problem["criterion"], w / W, Y, mean) / outputs
        if self.problem["criterion"] == "gini":
            return float(outputs - (mean**2).sum()) / outputs
        return -math.fsum(float(p) * math.log2(p) for p in mean if p > 0) / outputs

    def _error(self, weight: np.ndarray, impurity: np.ndarray) -> float:
        """What the leaves lose: where nothing moves their values, that is their impurity."""
        mass, moved, told = weight[self.ends] / weight[0], self.signs.any(), self.arrays["value"]
        if self.index is None and not moved:
            return float(mass @ impurity[self.ends])
        outputs, wrong = self.starts.size - 1, 0.0
        for t in np.flatnonzero(self.ends).tolist():
            rows = self.held[t]
            if self.index is None:
                wrong += loss(self.problem["criterion"], self.weights[rows], self.Y[rows], told[t]) / outputs
            for o in range(outputs if self.index is not None else 0):
                assert self.index is not None
                sums = np.bincount(self.index[rows, o], weights=self.weights[rows], minlength=2)
                right = sums[int(np.argmax(told[t]))] if moved else sums.max()
                wrong += float(sums.sum() - right) / outputs
        return wrong / float(weight[0])


def levels_of(document: Mapping[str, Any], arrays: Mapping[str, Any]) -> list[np.ndarray | None]:
    """The categories of each column, None of a column of numbers."""
    ends = np.cumsum([0, *document["problem"]["levels"]])
    return [np.asarray(arrays["levels"])[a:b] if b > a else None for a, b in pairwise(ends.tolist())]


def goes_left(arrays: Mapping[str, Any], known: np.ndarray | None, node: int, x: np.ndarray) -> np.ndarray:
    """Which of some values go left at a node, whose column has the categories ``known``."""
    to_left = bool(arrays["missing_left"][node])
    if known is None:
        return np.where(np.isnan(x), to_left, x <= arrays["threshold"][node])
    rank = np.minimum(np.searchsorted(known, x), known.size - 1)
    bits = (np.asarray(arrays["categories"])[node, rank // 32] >> (rank % 32).astype(np.uint32)) & 1
    return np.where(known[rank] == x, bits == 1, to_left)


def rows_in_float32(X: Any) -> np.ndarray:
    """The values as a tree sees them: float32, with one NaN for all."""
    rows = as_rows(X)
    out = np.empty(rows.shape, dtype=np.float32)
    for block in rows.blocks():
        out[place(block)] = filled(block)
    if np.isinf(out).any():
        raise CertificateError("other data: X has a value that is infinite in float32; no fit was made on it")
    out[np.isnan(out)] = np.nan
    return out


def _count(value: Any, n: int) -> int | None:
    """A limit in rows, from a number of rows or a share of them."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if isinstance(value, int) else math.ceil(value * n)


def _features(value: Any, d: int) -> int | None:
    if value is None:
        return d
    if isinstance(value, str):
        return max(1, int(math.sqrt(d) if value == "sqrt" else math.log2(d))) if value in ("sqrt", "log2") else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if isinstance(value, int) else max(1, int(value * d))
