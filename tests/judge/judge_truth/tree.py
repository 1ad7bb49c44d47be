"""Decision trees: each row sent down by itself, the figures of every node, every cut tried once more, each leaf with a reason."""

from __future__ import annotations

import math
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from .case import Case, L, Lies, is_count, number

#: Shares by which honest sums differ; splits whose gains differ by less than TIE of the weight are equally good.
ROOM, TIE = 1e-9, 1e-10


def find(case: Case, lies: Lies) -> None:
    tree = _Tree(case, lies)
    tree.statement()
    if lies:
        return
    tree.form()
    if not lies:
        tree.nodes()
    if not lies:
        tree.splits()


class _Tree:
    def __init__(self, case: Case, lies: Lies) -> None:
        self.case, self.lies, self.p, self.problem = case, lies, case.p, case.problem
        facts = case.facts
        self.X = facts.floats
        self.classifier = case.document["estimator"] == "DecisionTreeClassifier"
        self.weights = case.w
        if self.classifier:
            self.index = facts.index()
            case.head(lies, (self.index[:, None], "<i8"))
            self.outputs, K = 1, len(facts.labels)
            self.Y = (self.index[:, None] == np.arange(K)).astype(L)
            if self.problem["class_weight"] is not None:
                weight = self.problem["class_weight"]
                lies.unless(self.p["class_weight"] is not None and len(weight) == 1, "class_weight")
                case.class_weights(lies, weight[0], self.p["class_weight"], self.index, facts.labels)
                self.weights = self.weights * np.array([number(v) for v in weight[0]])[self.index]
            else:
                lies.unless(self.p["class_weight"] is None, "class_weight")
            blocks = self.problem["outputs"]
            lies.unless(blocks == [case.document["classes"]], "outputs")
            case.classes(lies, blocks[0])
            lies.unless(blocks[0]["type"] == case.document["classes"]["type"], "outputs")
        else:
            table = np.asarray(facts.y, dtype=np.float64).reshape(case.n, -1)
            case.head(lies, (table + 0.0, "<f8"))
            self.outputs = table.shape[1]
            self.Y = table.astype(L)
            lies.unless(is_count(self.problem["outputs"]) and self.problem["outputs"] == self.outputs, "outputs")
            lies.unless(self.problem["class_weight"] is None, "class_weight")

    # -- what was asked for

    def statement(self) -> None:
        p, problem, lies, case, n = self.p, self.problem, self.lies, self.case, self.case.n
        asked = {"log_loss": "entropy", "friedman_mse": "squared_error"}.get(p["criterion"], p["criterion"])
        known = ("gini", "entropy") if self.classifier else ("squared_error", "absolute_error", "poisson")
        signs = p.get("monotonic_cst") or [0] * case.d
        lies.unless(len(signs) == case.d and all(number(s) in (-1, 0, 1) for s in signs), "monotonic_cst")
        self.signs = [int(number(s)) for s in signs] if not lies else [0] * case.d
        lies.unless(not any(self.signs) or self.Y.shape[1] <= 1 + self.classifier, "monotonic_cst")
        lies.unless(problem["criterion"] == asked and asked in known, "criterion")
        leaf, split = (_rows(p[key], n) for key in ("min_samples_leaf", "min_samples_split"))
        lies.unless(is_count(problem["min_leaf"]) and problem["min_leaf"] == leaf >= 1, "min_leaf")
        lies.unless(is_count(problem["min_split"]) and problem["min_split"] == max(2, split, 2 * leaf), "min_split")
        total, share = float(self.weights.sum()), number(p["min_weight_fraction_leaf"])
        lies.unless(share >= 0 and split >= (1 if isinstance(p["min_samples_split"], float) else 2), "min_weight")
        lies.unless_near("min_weight", number(problem["min_weight"]), share * total, ROOM * total)
        lies.unless(problem["max_features"] == _columns(p["max_features"], case.d), "max_features")
        lies.unless(is_count(problem["max_features"]), "max_features")
        missing = [j for j in range(case.d) if np.isnan(self.X[:, j]).any()]
        lies.unless(problem["missing"] == missing and all(map(is_count, problem["missing"])), "missing")
        lies.unless(p["splitter"] in ("best", "random") and isinstance(problem["exact"], bool), "splitter")
        tried = problem["exact"] and p["splitter"] == "best" and problem["max_features"] >= case.d
        lies.unless(case.block["best"] is tried, "best")
        lies.unless(case.block["status"] == "converged", "status")
        for name in ("max_depth", "max_leaf_nodes"):
            lies.unless(p[name] is None or is_count(p[name]), name)
        self.least, self.price = (number(p[name]) for name in ("min_impurity_decrease", "ccp_alpha"))
        lies.unless(0 <= self.least < math.inf and 0 <= self.price < math.inf, "min_impurity_decrease")

    def form(self) -> None:
        """A tree, its arrays, its levels; the depth of each node."""
        case, lies, a, problem = self.case, self.lies, self.case.a, self.problem
        N, d = case.block["nodes"], case.d
        counts = problem["levels"]
        lies.unless(is_count(N) and N > 0 and len(counts) == d and all(map(is_count, counts)), "levels")
        words = (max(counts) + 32) // 32 if any(counts) else 0
        lies.unless(is_count(problem["words"]) and problem["words"] == words, "words")
        forms = dict.fromkeys(("feature", "left", "right"), ("i4", (N,)))
        forms |= dict.fromkeys(("threshold", "impurity", "weighted_n"), ("f8", (N,)))
        case.shapes(
            lies, **forms, missing_left=("u1", (N,)), n_samples=("i8", (N,)), value=("f8", (N, self.Y.shape[1])),
            categories=("u4", (N, words)), levels=("f4", (sum(counts),)),
        )  # fmt: skip
        if lies:
            return
        ends = np.cumsum([0, *counts])
        self.levels = [a["levels"][s:e].astype(float) if e > s else None for s, e in pairwise(ends)]
        for j, known in enumerate(self.levels):
            x = self.X[:, j]
            lies.unless(known is None or np.array_equal(known, np.unique(x[~np.isnan(x)])), "levels")
        self.left, self.right = a["left"].tolist(), a["right"].tolist()
        self.leaf = [v < 0 for v in self.left]
        seen, depth = [0], {0: 0}
        for t in range(N):  # children stand behind their parents
            if self.leaf[t]:
                bare = (self.right[t], int(a["feature"][t]), float(a["threshold"][t]), int(a["missing_left"][t]))
                lies.unless(bare == (-1, -2, -2.0, 0) and self.left[t] == -1 and not a["categories"][t].any(), "leaf")
                continue
            lies.unless(0 <= a["feature"][t] < d and a["missing_left"][t] <= 1, "feature")
            for child in (self.left[t], self.right[t]):
                lies.unless(t < child < N, "left and right")
                depth[child] = depth.get(t, 0) + 1
                seen.append(child)
        lies.unless(sorted(seen) == list(range(N)), "left and right")
        if lies:
            return
        self.depth = depth
        lies.unless(is_count(case.block["leaves"]) and case.block["leaves"] == sum(self.leaf), "leaves")
        lies.unless(is_count(case.block["depth"]) and case.block["depth"] == max(depth.values()), "depth")
        lies.unless(self.p["max_depth"] is None or max(depth.values()) <= self.p["max_depth"], "max_depth")
        lies.unless(self.p["max_leaf_nodes"] is None or sum(self.leaf) <= self.p["max_leaf_nodes"], "max_leaf_nodes")

    # -- rows

    def goes_left(self, t: int, i: int) -> bool:
        a, j = self.case.a, int(self.case.a["feature"][t])
        x, known = self.X[i, j], self.levels[j]
        if math.isnan(x) or (known is not None and x not in known):
            return bool(a["missing_left"][t])
        if known is None:
            return bool(np.float32(x) <= a["threshold"][t])
        at = known.tolist().index(x)
        return bool(int(a["categories"][t, at // 32]) >> (at % 32) & 1)

    def nodes(self) -> None:
        case, lies, a = self.case, self.lies, self.case.a
        N = len(self.left)
        rows: list[list[int]] = [[] for _ in range(N)]
        rows[0] = np.flatnonzero(self.weights > 0).tolist()
        for t in range(N):
            if self.leaf[t]:
                continue
            j = int(a["feature"][t])
            lies.unless(self.levels[j] is not None or not math.isnan(float(a["threshold"][t])), "threshold")
            for i in rows[t]:
                rows[self.left[t] if self.goes_left(t, i) else self.right[t]].append(i)
            more = len(rows[self.left[t]]) > len(rows[self.right[t]])
            if not np.isnan(self.X[rows[t], j]).any():
                lies.unless(bool(a["missing_left"][t]) == more, "missing_left")
            self.unseen(t, j, rows[t], more)
        self.rows = [np.array(each, dtype=int) for each in rows]
        lies.unless(a["n_samples"].tolist() == [len(each) for each in rows] and min(map(len, rows)) > 0, "n_samples")
        if lies:
            return
        W, V, G = zip(*(self.figures(each) for each in self.rows), strict=True)
        self.W, self.G = np.array(W), np.array(G)
        lies.unless_near("weighted_n", a["weighted_n"], self.W, ROOM * self.W)
        size = 1.0 if self.classifier else float(np.abs(self.Y).max())
        V = self.values(np.array(V), ROOM * size)
        lies.unless_near("value", a["value"], V, ROOM * size)
        lies.unless_near(
            "impurity", a["impurity"], self.G, 1e-8 * (size if self.classifier else self.G[0] + ROOM * size**2)
        )
        leaves = [t for t in range(N) if self.leaf[t]]
        if self.classifier:
            named = {t: int(np.argmax(a["value"][t])) for t in leaves}
            right = sum(self.weights[self.rows[t]] @ self.Y[self.rows[t], named[t]] for t in leaves)
            best = sum(self.weights[self.rows[t]] @ self.Y[self.rows[t]].max(axis=1) for t in leaves)
            error = (best - right) / self.W[0]
        else:
            error = sum(self.loss(self.rows[t], a["value"][t].astype(L)) for t in leaves) / self.W[0]
        lies.unless_near("error", number(case.block["error"]), error, 1e-8 * (1 if self.classifier else self.G[0]))
        if N > 1:
            lies.unless(min(len(rows[t]) for t in leaves) >= self.problem["min_leaf"], "min_leaf")
            light = number(self.problem["min_weight"])
            lies.unless(min(self.W[t] for t in leaves) >= light - ROOM * self.W[0], "min_weight")

    def loss(self, rows: np.ndarray, value: Any) -> Any:
        """What the rows of a regression lose where the value is predicted, over all weights."""
        w, Y = self.weights[rows].astype(L), self.Y[rows]
        if self.problem["criterion"] == "squared_error":
            each = (Y - value) ** 2
        elif self.problem["criterion"] == "absolute_error":
            each = np.abs(Y - value)
        else:
            here = np.where(Y > 0, Y, 1)
            each = np.where(Y > 0, Y * np.log(here / np.where(Y > 0, value, 1)), 0) - Y + value
        return (w @ each).sum() / self.outputs

    def values(self, means: np.ndarray, room: float) -> np.ndarray:
        """What the values may be: means, any of the medians, and what constraints leave of them."""
        told, low, high = self.case.a["value"].astype(L), means.copy(), means.copy()
        if self.problem["criterion"] == "absolute_error":
            for t, rows in enumerate(self.rows):
                for k in range(self.outputs):
                    low[t, k], high[t, k] = self.medians(rows, k)
        least, most = low[:, -1].copy(), high[:, -1].copy()
        if any(self.signs):
            below, above = {0: (-np.inf, -np.inf)}, {0: (np.inf, np.inf)}
            for t in range(len(self.left)):
                least[t] = min(max(low[t, -1], below[t][0]), above[t][0])
                most[t] = min(max(high[t, -1], below[t][1]), above[t][1])
                if self.leaf[t]:
                    continue
                a, b, s = self.left[t], self.right[t], self.signs[int(self.case.a["feature"][t])]
                for child in (a, b):
                    below[child], above[child] = below[t], above[t]
                if s:
                    lower, upper = (a, b) if s > 0 else (b, a)
                    above[lower] = below[upper] = ((low[a, -1] + low[b, -1]) / 2, (high[a, -1] + high[b, -1]) / 2)
                    under = max(told[leaf, -1] for leaf in self.ends_of(lower))
                    self.lies.unless(under <= min(told[leaf, -1] for leaf in self.ends_of(upper)), "monotonic_cst")
            self.below, self.above = below, above
        low[:, -1], high[:, -1] = least, most
        if self.classifier and any(self.signs) and low.shape[1] == 2:
            low[:, 0], high[:, 0] = 1 - most, 1 - least
        return np.where((told >= low - room) & (told <= high + room), told, low)

    def ends_of(self, t: int) -> list[int]:
        return [t] if self.leaf[t] else self.ends_of(self.left[t]) + self.ends_of(self.right[t])

    def medians(self, rows: np.ndarray, k: int) -> tuple[Any, Any]:
        """The least and the largest number with at most half of the weight on either side."""
        w, y = self.weights[rows], self.Y[rows, k]
        room = ROOM * w.sum()
        good = [v for v in y if w[y < v].sum() <= w.sum() / 2 + room and w[y > v].sum() <= w.sum() / 2 + room]
        return min(good), max(good)

    def fits(self, t: int, j: int, left: np.ndarray) -> bool:
        """Whether a cut of feature j may be made: no value out of order, and of Poisson's deviance no mean of 0."""
        rows, far = self.rows[t], 1e-7 * float(np.abs(self.Y).max())
        if self.problem["criterion"] == "poisson":
            sides = [self.weights[some] @ self.Y[some] for some in (rows[left], rows[~left])]
            if min(side.min() for side in sides) <= 1e-10 * float(np.max(sides)):
                return False
        if self.signs[j] == 0:
            return True
        if self.problem["criterion"] == "absolute_error":
            (a, b), (c, d) = self.medians(rows[left], 0), self.medians(rows[~left], 0)
        else:
            a = b = self.figures(rows[left])[1][-1]
            c = d = self.figures(rows[~left])[1][-1]
        first, second = ((a, b), (c, d)) if self.signs[j] > 0 else ((c, d), (a, b))
        return (
            first[1] + far <= second[0] and first[0] >= self.below[t][1] + far and second[1] <= self.above[t][0] - far
        )

    def unseen(self, t: int, j: int, rows: list[int], more: bool) -> None:
        """A category that no row of the node has goes where more rows go; there are no bits beyond the categories."""
        if self.levels[j] is None:
            self.lies.unless(not self.case.a["categories"][t].any(), "categories")
            return
        bits = sum(int(word) << (32 * k) for k, word in enumerate(self.case.a["categories"][t]))
        here = set(self.X[rows, j].tolist())
        for at, level in enumerate(self.levels[j].tolist()):
            self.lies.unless(level in here or (bits >> at & 1) == more, "categories")
        self.lies.unless(bits >> len(self.levels[j]) == 0, "categories")

    def figures(self, rows: np.ndarray) -> tuple[Any, Any, Any]:
        """Weight, means and impurity of some rows."""
        w, Y = self.weights[rows].astype(L), self.Y[rows]
        W = w.sum()
        if W == 0:
            return L(0), None, L(0)
        mean = w @ Y / W
        if self.problem["criterion"] == "squared_error":
            return W, mean, (w @ (Y - mean) ** 2).sum() / (W * self.outputs)
        if self.problem["criterion"] == "absolute_error":
            middle = np.array([sum(self.medians(rows, k)) / 2 for k in range(self.outputs)], dtype=L)
            return W, middle, self.loss(rows, middle) / W
        if self.problem["criterion"] == "poisson":
            return W, mean, self.loss(rows, mean) / W
        if self.problem["criterion"] == "gini":
            return W, mean, 1 - (mean**2).sum()
        p = mean[mean > 0]
        return W, mean, -(p * np.log2(p)).sum()

    # -- splits

    def gain(self, rows: np.ndarray, left: np.ndarray) -> Any:
        """What a split takes off weight times impurity."""
        return sum(sign * W * G for sign, (W, _, G) in (
            (1, self.figures(rows)), (-1, self.figures(rows[left])), (-1, self.figures(rows[~left]))))  # fmt: skip

    def cuts(self, rows: np.ndarray) -> Any:
        """Every way to send rows left, with its feature: thresholds with missing values on either side, sets of categories."""
        for j, known in enumerate(self.levels):
            x = self.X[rows, j]
            gone = np.isnan(x)
            values = np.unique(x[~gone])
            if known is None:
                for v in values[:-1]:
                    yield j, x <= v
                    if gone.any():
                        yield j, (x <= v) | gone
                if gone.any() and values.size:
                    yield j, ~gone
                continue
            groups = [*(x == v for v in values), *([gone] if gone.any() else [])]
            for m in range(1, len(groups) // 2 + 1):
                for some in combinations(groups, m):
                    yield j, np.any(some, axis=0)

    def best(self, t: int) -> Any:
        """The largest gain of all cuts that respect the limits; None where there is none."""
        rows, leaf, light = self.rows[t], self.problem["min_leaf"], number(self.problem["min_weight"])
        found = None
        for j, left in self.cuts(rows):
            if not self.fits(t, j, left):
                continue
            sides = self.weights[rows[left]], self.weights[rows[~left]]
            if min(map(len, sides)) < leaf or min(float(side.sum()) for side in sides) < light * (1 + 1e-9):
                continue
            gain = self.gain(rows, left)
            found = gain if found is None or gain > found else found
        return found

    def splits(self) -> None:
        lies, p, N = self.lies, self.p, len(self.left)
        spread = L(1) if self.classifier else self.G[0] + 1e-30
        inner = [t for t in range(N) if not self.leaf[t]]
        gains = {t: self.gain(self.rows[t], np.isin(self.rows[t], self.rows[self.left[t]])) for t in inner}
        for t in inner:
            room = TIE * self.W[t] * spread
            lies.unless(gains[t] >= self.least * self.W[0] - room, "min_impurity_decrease")
            lies.unless(len(self.rows[t]) >= self.problem["min_split"], "min_split")
        self.pruned(inner)
        drawn = not self.case.block["best"]
        limits = (self.problem["min_leaf"] - 1, number(self.problem["min_weight"]), self.least, self.price)
        if drawn and not (
            self.problem["exact"]
            and not any(limits)
            and not any(self.signs)
            and self.problem["criterion"] != "poisson"
            and not (p["splitter"] == "random" and self.problem["missing"])
        ):  # one that was drawn may fail a limit, be pruned, or leave missing values alone
            return
        bests = {t: self.best(t) for t in range(N) if self.leaf[t] or not drawn}
        for t in inner if not drawn else ():
            lies.unless(bests[t] is None or gains[t] >= bests[t] - TIE * self.W[t] * spread, "feature and threshold")
        widest = p["max_leaf_nodes"]
        if widest is None or sum(self.leaf) < widest:
            for t in range(N):
                lies.unless(not self.leaf[t] or self.reason(t, bests[t], spread), "leaf has a reason")
        elif not drawn:
            self.grown_best_first(gains, bests, spread)

    def reason(self, t: int, best: Any, spread: Any) -> bool:
        rows, leaf = self.rows[t], self.problem["min_leaf"]
        if (self.Y[rows] == self.Y[rows[0]]).all() or best is None or self.depth[t] == self.p["max_depth"]:
            return True
        if len(rows) < max(self.problem["min_split"], 2 * leaf):
            return True
        if self.W[t] <= 2 * number(self.problem["min_weight"]) * (1 + 1e-9):
            return True
        room = TIE * self.W[t] * spread
        if self.least > 0 and best <= self.least * self.W[0] + room:
            return True
        # A branch of m leaves is pruned where it is worth no more than ccp_alpha (m - 1).
        return self.price > 0 and best <= self.price * (len(rows) // leaf - 1) * self.W[0] + room

    def pruned(self, inner: list[int]) -> None:
        """No branch that is left is worth less than its price."""
        risk, leaves = self.W * self.G / self.W[0], [1] * len(self.left)
        below = risk.copy()
        for t in reversed(inner):
            leaves[t] = leaves[self.left[t]] + leaves[self.right[t]]
            below[t] = below[self.left[t]] + below[self.right[t]]
            worth = (risk[t] - below[t]) / (leaves[t] - 1)
            self.lies.unless(self.price == 0 or worth >= self.price * (1 - 1e-8), "ccp_alpha")

    def grown_best_first(self, gains: dict[int, Any], bests: dict[int, Any], spread: Any) -> None:
        """Of all leaves the one with the best cut is split next, until there are as many as asked for."""
        waiting, leaves = [0], 1
        able = {t: gains[t] if not self.leaf[t] else bests[t] for t in bests}
        room = TIE * self.W[0] * spread
        while leaves < self.p["max_leaf_nodes"]:
            ready = [t for t in waiting if not self.leaf[t]]
            if not ready:
                self.lies.append("max_leaf_nodes")
                return
            top = max(ready, key=lambda t: able[t])
            better = [t for t in waiting if self.leaf[t] and not self.reason(t, bests[t], spread)]
            self.lies.unless(all(able[t] <= able[top] + room for t in better), "best first")
            waiting.remove(top)
            waiting += [self.left[top], self.right[top]]
            leaves += 1


def _rows(value: Any, n: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError("no number of rows")
    return value if isinstance(value, int) else math.ceil(value * n)


def _columns(value: Any, d: int) -> int:
    if value is None:
        return d
    if isinstance(value, str):
        return max(1, int({"sqrt": math.sqrt, "log2": math.log2}[value](d)))
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError("no number of columns")
    return value if isinstance(value, int) else max(1, int(value * d))
