"""Certificates of AdaBoost: each round's error under the weights that the rounds before it leave, and what follows.

    w_t,i ~ d_i exp(s_t,i),  s_t,i = sum of a_u over the rounds u < t whose classifier is wrong on row i;   d the sample
    weights, sum 1
    e_t = sum of w_t over the mistakes of round t;   a_t = rate (ln((1 - e_t)/e_t) + ln(K - 1)), or 1 where e_t = 0
    Z_t = (1 - e_t) exp(-a_t/2) + e_t exp(a_t/2);    prod Z_t = sum_i d_i exp(s_i - A/2),  A = sum_t a_t

The judge takes the stage weights a_t as they stand, makes all weights anew from them for every round, and compares.  For the
bracket of two classes it sorts every feature and looks at every threshold that the stumps could have had.  Stumps read features
as float32, as trees do.  What other learners answered is taken from the document: the judge cannot run them, and says so.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..arithmetic.compare import at_most, capped, equal
from ..arithmetic.rounding import total_of
from ..case import Case, Rigour
from ..form.entries import is_count, number
from ..rows import DenseRows, Rows, SparseRows
from .document import defect_of_arrays

#: Rows up to which every value of a feature is told apart.
EXACT_ROWS = 1 << 16


class Rounds(NamedTuple):
    """What the rows say of each round (T,), and of all rounds at the end (rows,)."""

    errors: np.ndarray
    factors: np.ndarray  # Z_t
    training: np.ndarray  # the share of rows that the votes have wrong
    least: np.ndarray  # ... for certain
    most: np.ndarray  # ... perhaps: two classes have the same votes but for rounding
    masses: np.ndarray  # (T, 2, K) weights of the classes on each side of a stump
    counts: np.ndarray  # (T, 2) rows on each side
    #: The largest of any stump under the weights of the round; empty where there are no stumps, or 3 classes.
    edges: np.ndarray
    clean: list[int | None]  # the first round after which perhaps no row is wrong, and the first for certain
    mistakes: tuple[int, int, int]  # for certain, as the votes stand, perhaps
    s: np.ndarray  # stage weights of the rounds that are wrong on a row
    votes: np.ndarray  # (rows, K)


class Columns:
    """Features of the rows that count, as float32."""

    def __init__(self, rows: Rows, there: np.ndarray) -> None:
        self.rows, self.there, self.n = rows, there, int(np.count_nonzero(there))
        if isinstance(rows, SparseRows):
            row = np.repeat(np.arange(there.size), np.diff(rows.indptr))
            kept = there[row] & (rows.data != 0)
            number = np.cumsum(there) - 1
            order = np.argsort(rows.indices[kept], kind="stable")
            self.entry_rows = number[row[kept][order]]
            self.entry_values = rows.data[kept][order].astype(np.float32)
            counts = np.bincount(rows.indices[kept], minlength=rows.n_features)
            self.indptr = np.concatenate(([0], np.cumsum(counts)))

    def entries(self, j: int) -> tuple[np.ndarray, np.ndarray]:
        """Rows and values; all rows where X is dense."""
        if isinstance(self.rows, SparseRows):
            part = slice(int(self.indptr[j]), int(self.indptr[j + 1]))
            return self.entry_rows[part], self.entry_values[part]
        assert isinstance(self.rows, DenseRows)
        return np.arange(self.n), self.rows.values[self.there, j].astype(np.float32)

    def whole(self, j: int) -> np.ndarray:
        """The feature of every row."""
        rows, values = self.entries(j)
        out = np.zeros(self.n, dtype=np.float32)
        out[rows] = values
        return out


class BoostingCase(Case):
    """The rows that count, as places among them; ``first`` are their weights before the first round."""

    #: What two ways of adding up float64 may differ by, relatively: n u for n up to 10^8, with the exponents' own error.
    room = 1e-8
    #: Votes that differ by less than this share of all are equal but for rounding.
    tie = 1e-9

    def read_data(self, X: Any, y: Any, sample_weight: Any) -> None:
        super().read_data(X, y, sample_weight)
        self.T, self.stumps = self.problem["rounds"], self.problem["learner"] == "stump"
        # Names with a point are of the learners' arrays.
        self.arrays = {name: array for name, array in self.arrays.items() if "." not in name}
        self.there = self.weights > 0.0
        self.own = self.index[self.there]
        self.first = self.weights[self.there] / total_of(self.weights[self.there])
        self.columns = Columns(self.rows, self.there)

    def judge(self, rigorous: Rigour) -> None:
        if self._statement_claims():
            self._round_claims()
        if self.stumps:
            self.unchecked += ["that stumps have the least impurity", "where between two values a threshold lies"]

    def _statement_claims(self) -> bool:
        self.number_claim("rate", self.problem["rate"], "learning_rate")
        most = self.parameters.get("n_estimators")
        # A run of fewer rounds has another ending, or a last round without a mistake.
        fewer = self.block["status"] != "converged" or bool(self.arrays["errors"][-1] == 0.0)
        made = is_count(most) and (self.T == most or (fewer and at_most(self.T, most)))
        self.claim("rounds", self.T, most, made, "as many as asked for, or no more")
        self.classes_claim()
        self.finite_claim("all numbers", *(a for a in self.arrays.values() if a.dtype.kind == "f"))
        positive = (self.arrays["stage_weights"] > 0.0).all()
        self.claim("votes", "stage weights", None, positive, "each is positive")
        fine = defect_of_arrays(self.document, self.arrays) is None
        self.claim("rounds name", "columns and classes", None, fine, "that there are")
        if "cuts" in self.arrays:
            self._cuts_claim(fine)
        there = math.isfinite(float(self.first.sum())) and self.own.size > 0
        self.claim("row weights", "finite, not all 0", None, there)
        return self.all_hold()

    def _cuts_claim(self, good: bool) -> bool:
        """Stumps have thresholds among the cuts; of few rows a column has a cut between any two values, or, where time was
        over, none at all."""
        parts = np.split(self.arrays["cuts"], self.arrays["cut_ends"][:-1]) if good else []
        for j, cuts in enumerate(parts):
            used = self.arrays["threshold"][self.arrays["feature"] == j]
            good = good and bool(np.isin(used, cuts).all())
            if self.own.size <= EXACT_ROWS and cuts.size:
                values = np.unique(self.columns.whole(j))
                places = np.searchsorted(values, np.sort(cuts), "right")
                good = good and np.array_equal(places, np.arange(1, values.size))
        note = "those of the stumps, and all of them where rows are few"
        return self.claim("cuts", self.problem["cuts"], None, good, note)

    def _answer(self, t: int) -> tuple[np.ndarray, np.ndarray]:
        """What round t answers, and which rows are on the right side of its stump."""
        nowhere = np.zeros(self.own.size, dtype=bool)
        if not self.stumps:
            return self.arrays["answers"][t][self.there].astype(np.int64), nowhere
        j = int(self.arrays["feature"][t])
        left, right = self.arrays["classes"][t]
        side = nowhere if j < 0 else self.columns.whole(j) > self.arrays["threshold"][t]
        return np.where(side, right, left), side

    def _run(self) -> Rounds:
        """All rounds once more, with the stage weights as they stand."""
        alphas, K, T, n = self.arrays["stage_weights"], self.K, self.T, self.own.size
        s, votes, rows = np.zeros(n), np.zeros((n, K)), np.arange(n)
        errors, factors, training, least, most = (np.empty(T) for _ in range(5))
        masses, counts = np.zeros((T, 2, K)), np.zeros((T, 2), dtype=np.int64)
        kept, edges, clean = list[np.ndarray](), list[float](), list[int | None]((None, None))
        wrong_now = (np.zeros(n, dtype=bool),) * 3
        for t in range(T):
            w = self.first * np.exp(s - s.max())
            w /= w.sum()
            if self.stumps and K == 2:
                kept.append(w)
                if len(kept) * n >= 20_000_000 or t == T - 1:  # numbers that are held at a time
                    edges += self._edges(np.array(kept)).tolist()
                    kept.clear()
            answer, right_side = self._answer(t)
            for side in (0, 1) if self.stumps else ():
                here = right_side if side else ~right_side
                masses[t, side] = np.bincount(self.own[here], weights=w[here], minlength=K)
                counts[t, side] = np.count_nonzero(here)
            wrong, a = answer != self.own, float(alphas[t])
            errors[t] = w[wrong].sum()
            factors[t] = w[~wrong].sum() * math.exp(-a / 2.0) + errors[t] * math.exp(min(a / 2.0, 709.0))
            s += a * wrong
            known = answer < K
            votes[rows[known], answer[known]] += a
            wrong_now = sure, decided, maybe = self._wrong(votes, self.tie * float(alphas[: t + 1].sum()))
            training[t], least[t], most[t] = (self.first[bad].sum() for bad in (decided, sure, maybe))
            for place, bad in enumerate((sure, maybe)):
                if clean[place] is None and not bad.any():
                    clean[place] = t + 1
        fewest, mistakes, some_more = (int(np.count_nonzero(bad)) for bad in wrong_now)
        figures = (errors, factors, training, least, most, masses, counts)
        return Rounds(*figures, np.array(edges), clean, (fewest, mistakes, some_more), s, votes)

    def _wrong(self, votes: np.ndarray, tie: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rows that the votes have wrong for certain, as they stand, and perhaps: of two classes whose votes are equal but for
        rounding either may win."""
        behind = -self._lead(votes)
        return behind > tie, np.argmax(votes, axis=1) != self.own, behind >= -tie

    def _lead(self, votes: np.ndarray) -> np.ndarray:
        """The votes of each row's own class less the most of another one."""
        rows, rest = np.arange(self.own.size), votes.copy()
        rest[rows, self.own] = -np.inf
        return votes[rows, self.own] - rest.max(axis=1)

    def _round_claims(self) -> None:
        found, alphas = self._run(), self.arrays["stage_weights"]
        self._series("weighted errors", "errors", found.errors)
        self._weights_claim(found.errors)
        self._series("Z", "factors", found.factors)
        if self.stumps:
            self._side_claims(found)
        stated, total = self.arrays["training"], float(alphas.sum())
        within = at_most(found.least, stated, self.room) and at_most(stated, found.most, self.room)
        self.claim("training errors", float(stated[-1]), float(found.training[-1]), within)
        (fewest, mistakes, some_more), claimed = found.mistakes, self.block["mistakes"]
        self.claim("mistakes", claimed, mistakes, at_most(fewest, claimed) and at_most(claimed, some_more))
        self._clean_claim(found.clean)
        bounds = np.cumprod(self.arrays["factors"])
        held = at_most(stated, bounds, self.room * bounds)
        note = "training error <= prod Z_t, after each round"
        self.claim("bound", float(bounds[-1]), float(stated[-1]), held, note)
        exponent = math.exp(min(float(np.log(found.factors).sum()), 700.0))
        loss = float((self.first * np.exp(found.s - total / 2.0)).sum())
        same = equal(number(self.block["loss"]), loss, self.room * loss) and equal(exponent, loss, 1e-7 * loss)
        self.claim("loss", number(self.block["loss"]), loss, same, "equals prod Z_t")
        self._margin_claims(found, total)
        self._enough_claim(found.errors, mistakes)

    def _weights_claim(self, errors: np.ndarray) -> None:
        """Stage weights are what the errors ask for."""
        alphas, rate, n = self.arrays["stage_weights"], number(self.problem["rate"]), self.own.size
        wanted = np.where(errors > 0.0, rate * (np.log1p(-errors) - np.log(errors) + math.log(self.K - 1.0)), 1.0)
        # Where exp(a / 2) overflows a run ends, with a stage weight of 1.
        overflow = self.block["status"] == "not_finite"
        # The error is a sum of n weights; near 1/2 the weight is the small difference of two logarithms of it.
        felt = rate * (n + 64) * 2.0**-52 / np.maximum(errors * (1.0 - errors), 1e-300)
        felt = np.where(errors > 0.0, capped(felt, np.abs(wanted) + rate, 1e-3), 0.0)
        some = slice(None, -1 if overflow else None)
        fine = equal(alphas[some], wanted[some], (1e-6 * np.abs(wanted) + felt)[some])
        fine = fine and (not overflow or (float(alphas[-1]) == 1.0 and not at_most(wanted[-1], 1399.0)))
        self.claim("stage weights", "as the errors ask", float(wanted[-1]), fine)

    def _side_claims(self, found: Rounds) -> None:
        self._series("masses", "masses", found.masses, whole=1.0)
        self.claim("rows of sides", "counts", None, np.array_equal(self.arrays["counts"], found.counts))
        classes = self.arrays["classes"][:, :, None].astype(np.int64)
        heaviest = np.take_along_axis(found.masses, classes, axis=2)[:, :, 0]
        used = found.counts > 0
        first = at_most(found.masses.max(axis=2)[used], heaviest[used], self.room)
        self.claim("classes of sides", "the heaviest", None, first)

    def _series(self, name: str, array: str, found: np.ndarray, room: float = room, whole: float = 0.0) -> None:
        """Round by round; ``whole`` is what entries are parts of, where they may be small beside it."""
        claimed, wide = self.arrays[array], room * np.maximum(np.abs(found), whole)
        at = int(np.argmax(np.abs(claimed - found).ravel()))
        shown = float(claimed.ravel()[at]), float(found.ravel()[at])
        self.claim(name, *shown, equal(claimed, found, wide), f"{len(found)} rounds, the one that differs most")

    def _clean_claim(self, clean: list[int | None]) -> bool:
        """The first round after which no row is wrong; where votes are tied, from the first that may be."""
        claimed, (first, last) = self.block["clean_round"], clean
        holds = last is None if claimed is None else first is not None and at_most(first, claimed)
        holds = holds and (claimed is None or at_most(claimed, self.T if last is None else last))
        return self.claim("clean round", claimed, last, holds)

    def _margin_claims(self, found: Rounds, total: float) -> None:
        margins = 1.0 - 2.0 * found.s / total if self.K == 2 else self._lead(found.votes) / total
        for name, value in (("margin", float(margins.min())), ("median_margin", float(np.median(margins)))):
            claimed = number(self.block[name])
            self.claim(name, claimed, value, equal(claimed, value, self.tie))
        if "edges" not in self.arrays:
            return
        self._series("edges", "edges", found.edges, 1e-7, 1e-6)
        low, high = float(margins.min()), float(found.edges.min())
        if "against" in self.arrays:
            w, claimed = self.arrays["against"][self.there], number(self.block["best"])
            w = w / w.max()  # so that no sum of them overflows
            best = float(self._edges(w[None, :] / w.sum())[0])
            self.claim("best", claimed, best, at_most(0.0, w) and equal(claimed, best, 1e-9))
            high = min(high, best)
        held = at_most(low, high, self.tie)
        self.claim("bracket", f"[{low:.6g}, {high:.6g}]", None, held, "of the best smallest margin")

    def _edges(self, weights: np.ndarray) -> np.ndarray:
        """The largest |sum_i w_i y_i h(x_i)| over all stumps and the constants, for each line of weights."""
        signed = weights * np.where(self.own == 1, 1.0, -1.0)
        total = signed.sum(axis=1)
        best = np.abs(total)
        for j in range(self.document["n_features"]):
            entries, values = self.columns.entries(j)
            order = np.argsort(values, kind="stable")
            values, part = values[order], signed[:, entries[order]]
            if values.size < self.own.size:  # the rows without an entry stand together at 0
                at = int(np.searchsorted(values, 0.0))
                part = np.insert(part, at, total - part.sum(axis=1), axis=1)
                values = np.insert(values, at, 0.0)
            if "cuts" in self.arrays:
                ends = self.arrays["cut_ends"]
                cuts = self.arrays["cuts"][ends[j - 1] if j else 0 : ends[j]]
                last = np.searchsorted(values, cuts, side="right") - 1
                last = np.unique(last[(last >= 0) & (last < values.size - 1)])
            else:
                last = np.flatnonzero(values[1:] != values[:-1])
            if last.size:
                left = np.cumsum(part, axis=1)[:, last]
                best = np.maximum(best, np.abs(2.0 * left - total[:, None]).max(axis=1))
        return best

    def _enough_claim(self, errors: np.ndarray, mistakes: int) -> None:
        """ln(2n) / (2 edge^2) rounds: two classes, rate 1, equal weights."""
        applies = self.K == 2 and number(self.problem["rate"]) == 1.0 and bool((self.first == self.first[0]).all())
        applies = applies and bool((self.weights == self.weights[0]).all())
        edge = 0.5 - float(errors.max())
        wanted = math.log(2.0 * self.own.size) / (2.0 * edge * edge) if applies and edge > 0.0 else math.inf
        claimed = self.block["enough"]
        if claimed is None:
            self.claim("enough rounds", None, None, not at_most(wanted, 2.0**52), "no number is claimed")
            return
        near = at_most(wanted, claimed, 1e-6 * wanted) and at_most(claimed, wanted, 1.0 + 1e-6 * wanted)
        sure = self.T < claimed or mistakes == 0
        self.claim("enough rounds", claimed, math.ceil(wanted) if wanted < 2.0**52 else None, near and sure)
