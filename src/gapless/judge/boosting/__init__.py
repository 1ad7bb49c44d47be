"""Certificates of AdaBoost: each round's error under the weights that the rounds before it leave, and what follows.

    w_t,i ~ d_i exp(s_t,i),  s_t,i = sum of a_u over the rounds u < t whose classifier is wrong on row i;   d the sample
    weights, sum 1
    e_t = sum of w_t over the mistakes of round t;   a_t = rate (ln((1 - e_t)/e_t) + ln(K - 1)), or 1 where e_t = 0
    Z_t = (1 - e_t) exp(-a_t/2) + e_t exp(a_t/2);    prod Z_t = sum_i d_i exp(s_i - A/2),  A = sum_t a_t

The judge takes the stage weights a_t as they stand, makes all weights anew from them for every round, and compares.  For the
bracket of two classes it sorts every feature and looks at every threshold that the stumps could have had.  Stumps read
features as
float32, as trees do.  What other learners answered is taken from the document: the judge cannot run them, and says so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..arithmetic.compare import at_most, capped, equal
from ..arithmetic.rounding import total_of
from ..document import is_count, is_number, number, read_arrays
from ..rows import Rows, SparseRows, as_rows
from ..schema import Kind
from ..statement import classes_claim, same_data
from ..verdict import Claim, Verdict
from .document import ESTIMATORS, TABLES, array_forms, flaw, flaw_of_arrays

#: What two ways of adding up float64 may differ by, relatively: n u for n up to 10^8, with the exponents' own error.
ROOM = 1e-8
#: Votes that differ by less than this share of all are equal but for rounding.
TIE = 1e-9
#: No room for a stage weight is wider than this share of it and of the rate.
SHARE = 1e-3
#: Beyond this exp(a / 2) overflows, and a run ends with a stage weight of 1.
LARGEST = 1399.0
#: Rows up to which every value of a feature is told apart.
EXACT_ROWS = 1 << 16
#: Numbers of all rounds' weights that are held at a time.
HELD = 20_000_000


def check(
    document: dict[str, Any], arrays: Mapping[str, Any], X: Any, y: Any, sample_weight: Any, rigorous: Any = False
) -> Verdict:
    """Judge the rounds of a document; the verdict and the errors are those of ``judge.check``."""
    case = _Case(document, arrays, X, y, sample_weight)
    claims = [Claim("data", "fingerprint", "fingerprint", True, "rows, labels and weights are those of the fit")]
    if case.statement_claims(claims):
        case.round_claims(claims)
    open_ = ["that stumps have the least impurity", "where between two values a threshold lies"]
    return Verdict(claims, open_ if case.stumps else [], [], "float64")


class _Case:
    def __init__(self, document: dict[str, Any], arrays: Mapping[str, Any], X: Any, y: Any, sample_weight: Any) -> None:
        self.document, self.problem, self.block = document, document["problem"], document["certificate"]
        rows = as_rows(X)
        index, weights = same_data(document, rows, y, sample_weight)
        self.K, self.T = len(document["classes"]["values"]), self.problem["rounds"]
        self.stumps = self.problem["learner"] == "stump"
        read = read_arrays(document, arrays, array_forms(document))
        self.arrays = {name: array for name, array in read.items() if "." not in name}  # others are the learners'
        self.there = weights > 0.0
        self.labels, self.index, self.all_weights = index, index[self.there], weights
        self.first = weights[self.there] / total_of(weights[self.there])
        self.columns = _Columns(rows, self.there)

    def statement_claims(self, claims: list[Claim]) -> bool:
        p, rate = self.document["parameters"], number(self.problem["rate"])
        asked = p.get("learning_rate")
        claims.append(Claim("rate", rate, asked, is_number(asked) and number(asked) == rate))
        most = p.get("n_estimators")
        # A run of fewer rounds has another ending, or a last round without a mistake.
        fewer = self.block["status"] != "converged" or bool(self.arrays["errors"][-1] == 0.0)
        made = is_count(most) and (self.T == most or (fewer and at_most(self.T, most)))
        claims.append(Claim("rounds", self.T, most, made, "as many as asked for, or no more"))
        claims.append(classes_claim(self.document["classes"]["values"], self.labels))
        finite = all(bool(np.isfinite(a).all()) for a in self.arrays.values() if a.dtype.kind == "f")
        claims.append(Claim("finite", "all numbers", None, finite))
        positive = bool((self.arrays["stage_weights"] > 0.0).all())
        claims.append(Claim("votes", "stage weights", None, positive, "each is positive"))
        fine = flaw_of_arrays(self.document, self.arrays) is None
        claims.append(Claim("rounds name", "columns and classes", None, fine, "that there are"))
        if "cuts" in self.arrays:
            claims.append(self._cuts_claim())
        there = math.isfinite(float(self.first.sum())) and self.index.size > 0
        claims.append(Claim("row weights", "finite, not all 0", None, there))
        return all(claim.holds for claim in claims)

    def _cuts_claim(self) -> Claim:
        """Stumps have thresholds among the cuts; of few rows a column has a cut between any two values, or, where time was
        over, none at all."""
        good = flaw_of_arrays(self.document, self.arrays) is None
        parts = np.split(self.arrays["cuts"], self.arrays["cut_ends"][:-1]) if good else []
        for j, cuts in enumerate(parts):
            used = self.arrays["threshold"][self.arrays["feature"] == j]
            good = good and bool(np.isin(used, cuts).all())
            if self.index.size <= EXACT_ROWS and cuts.size:
                values = np.unique(self.columns.whole(j))
                places = np.searchsorted(values, np.sort(cuts), "right")
                good = good and np.array_equal(places, np.arange(1, values.size))
        note = "those of the stumps, and all of them where rows are few"
        return Claim("cuts", self.problem["cuts"], None, good, note)

    # -- the rounds

    def _answer(self, t: int) -> tuple[np.ndarray, np.ndarray]:
        """What round t answers, and which rows are on the right side of its stump."""
        nowhere = np.zeros(self.index.size, dtype=bool)
        if not self.stumps:
            return self.arrays["answers"][t][self.there].astype(np.int64), nowhere
        j = int(self.arrays["feature"][t])
        left, right = self.arrays["classes"][t]
        side = nowhere if j < 0 else self.columns.whole(j) > self.arrays["threshold"][t]
        return np.where(side, right, left), side

    def round_claims(self, claims: list[Claim]) -> None:
        alphas, rate, K, n = self.arrays["stage_weights"], number(self.problem["rate"]), self.K, self.index.size
        s, votes = np.zeros(n), np.zeros((n, K))
        rows, kept, edges = np.arange(n), list[np.ndarray](), list[float]()
        errors, factors, training = np.empty(self.T), np.empty(self.T), np.empty(self.T)
        decided = np.zeros(n, dtype=bool)
        sure, maybe = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)  # wrong for certain, and wrong perhaps
        least, most = np.empty(self.T), np.empty(self.T)
        clean: list[int | None] = [None, None]  # the first round that may be clean, and the first that is
        masses, counts = np.zeros((self.T, 2, K)), np.zeros((self.T, 2), dtype=np.int64)
        two_and_stumps = self.stumps and K == 2
        for t in range(self.T):
            w = self.first * np.exp(s - s.max())
            w /= w.sum()
            if two_and_stumps:
                kept.append(w)
                if len(kept) * n >= HELD or t == self.T - 1:
                    edges += self._edges(np.array(kept)).tolist()
                    kept.clear()
            answer, right_side = self._answer(t)
            for side in (0, 1) if self.stumps else ():
                here = right_side if side else ~right_side
                masses[t, side] = np.bincount(self.index[here], weights=w[here], minlength=K)
                counts[t, side] = np.count_nonzero(here)
            wrong = answer != self.index
            errors[t] = w[wrong].sum()
            right = w[~wrong].sum()
            a = float(alphas[t])
            factors[t] = right * math.exp(-a / 2.0) + errors[t] * math.exp(min(a / 2.0, 709.0))
            s += a * wrong
            known = answer < K
            votes[rows[known], answer[known]] += a
            # Of two classes the second needs more votes than the first, as of any two; votes that are equal but for
            # rounding may be won by either.
            own = votes[rows, self.index]
            rest = votes.copy()
            rest[rows, self.index] = -np.inf
            behind, tie = rest.max(axis=1) - own, TIE * float(alphas[: t + 1].sum())
            sure, maybe = behind > tie, behind >= -tie
            decided = np.argmax(votes, axis=1) != self.index
            training[t] = self.first[decided].sum()
            least[t], most[t] = self.first[sure].sum(), self.first[maybe].sum()
            for place, bad in enumerate((sure, maybe)):
                if clean[place] is None and not bad.any():
                    clean[place] = t + 1
        claimed = self.arrays
        claims.append(_series("weighted errors", claimed["errors"], errors))
        wanted = np.where(errors > 0.0, rate * (np.log1p(-errors) - np.log(errors) + math.log(K - 1.0)), 1.0)
        capped_last = self.block["status"] == "not_finite"
        # The error is a sum of n weights; near 1/2 the weight is the small difference of two logarithms of it.
        felt = rate * (n + 64) * 2.0**-52 / np.maximum(errors * (1.0 - errors), 1e-300)
        felt = np.where(errors > 0.0, capped(felt, np.abs(wanted) + rate, SHARE), 0.0)
        some = slice(None, -1 if capped_last else None)
        fine = equal(alphas[some], wanted[some], (1e-6 * np.abs(wanted) + felt)[some])
        fine = fine and (not capped_last or (float(alphas[-1]) == 1.0 and not at_most(wanted[-1], LARGEST)))
        claims.append(Claim("stage weights", "as the errors ask", float(wanted[-1]), fine))
        claims.append(_series("Z", claimed["factors"], factors))
        if self.stumps:
            claims.append(_series("masses", claimed["masses"], masses, whole=1.0))
            claims.append(Claim("rows of sides", "counts", None, bool(np.array_equal(claimed["counts"], counts))))
            heaviest = np.take_along_axis(masses, claimed["classes"][:, :, None].astype(np.int64), axis=2)[:, :, 0]
            used = counts > 0
            first = at_most(masses.max(axis=2)[used], heaviest[used], ROOM)
            claims.append(Claim("classes of sides", "the heaviest", None, first))
        within = at_most(least, claimed["training"], ROOM) and at_most(claimed["training"], most, ROOM)
        claims.append(Claim("training errors", float(claimed["training"][-1]), float(training[-1]), within))
        total = float(alphas.sum())
        mistakes = int(np.count_nonzero(decided))
        fewest, some_more = int(np.count_nonzero(sure)), int(np.count_nonzero(maybe))
        holds = at_most(fewest, self.block["mistakes"]) and at_most(self.block["mistakes"], some_more)
        claims.append(Claim("mistakes", self.block["mistakes"], mistakes, holds))
        claims.append(self._clean_claim(clean))
        bounds = np.cumprod(claimed["factors"])
        held = at_most(claimed["training"], bounds, ROOM * bounds)
        last = float(bounds[-1]), float(claimed["training"][-1])
        claims.append(Claim("bound", *last, held, "training error <= prod Z_t, after each round"))
        exponent = math.exp(min(float(np.log(factors).sum()), 700.0))
        loss = float((self.first * np.exp(s - total / 2.0)).sum())
        same = equal(number(self.block["loss"]), loss, ROOM * loss) and equal(exponent, loss, 1e-7 * loss)
        claims.append(Claim("loss", number(self.block["loss"]), loss, same, "equals prod Z_t"))
        self._margin_claims(claims, s, votes, total, np.array(edges))
        self._enough_claim(claims, errors, mistakes)

    def _clean_claim(self, clean: list[int | None]) -> Claim:
        """The first round after which no row is wrong; where votes are tied, from the first that may be."""
        claimed, (first, last) = self.block["clean_round"], clean
        holds = last is None if claimed is None else first is not None and at_most(first, claimed)
        holds = holds and (claimed is None or at_most(claimed, self.T if last is None else last))
        return Claim("clean round", claimed, last, holds)

    def _margin_claims(
        self, claims: list[Claim], s: np.ndarray, votes: np.ndarray, total: float, edges: np.ndarray
    ) -> None:
        if self.K == 2:
            margins = 1.0 - 2.0 * s / total
        else:
            own = votes[np.arange(s.size), self.index]
            rest = votes.copy()
            rest[np.arange(s.size), self.index] = -np.inf
            margins = (own - rest.max(axis=1)) / total
        for name, value in (("margin", float(margins.min())), ("median_margin", float(np.median(margins)))):
            claimed = number(self.block[name])
            claims.append(Claim(name, claimed, value, equal(claimed, value, TIE)))
        if "edges" not in self.arrays:
            return
        claims.append(_series("edges", self.arrays["edges"], edges, 1e-7, 1e-6))
        low, high = float(margins.min()), float(edges.min())
        if "against" in self.arrays:
            w, claimed = self.arrays["against"][self.there], number(self.block["best"])
            w = w / w.max()  # so that no sum of them overflows
            best = float(self._edges(w[None, :] / w.sum())[0])
            claims.append(Claim("best", claimed, best, at_most(0.0, w) and equal(claimed, best, 1e-9)))
            high = min(high, best)
        claims.append(
            Claim("bracket", f"[{low:.6g}, {high:.6g}]", None, at_most(low, high, TIE), "of the best smallest margin")
        )

    def _edges(self, weights: np.ndarray) -> np.ndarray:
        """The largest |sum_i w_i y_i h(x_i)| over all stumps and the constants, for each line of weights."""
        signed = weights * np.where(self.index == 1, 1.0, -1.0)
        total = signed.sum(axis=1)
        best = np.abs(total)
        for j in range(self.document["n_features"]):
            entries, values = self.columns.entries(j)
            order = np.argsort(values, kind="stable")
            values, part = values[order], signed[:, entries[order]]
            if values.size < self.index.size:  # the rows without an entry stand together at 0
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

    def _enough_claim(self, claims: list[Claim], errors: np.ndarray, mistakes: int) -> None:
        """ln(2n) / (2 edge^2) rounds: two classes, rate 1, equal weights."""
        applies = self.K == 2 and number(self.problem["rate"]) == 1.0 and bool((self.first == self.first[0]).all())
        applies = applies and bool((self.all_weights == self.all_weights[0]).all())
        edge = 0.5 - float(errors.max())
        wanted = math.log(2.0 * self.index.size) / (2.0 * edge * edge) if applies and edge > 0.0 else math.inf
        claimed = self.block["enough"]
        if claimed is None:
            claims.append(Claim("enough rounds", None, None, not at_most(wanted, 2.0**52), "no number is claimed"))
            return
        near = at_most(wanted, claimed, 1e-6 * wanted) and at_most(claimed, wanted, 1.0 + 1e-6 * wanted)
        sure = self.T < claimed or mistakes == 0
        claims.append(Claim("enough rounds", claimed, math.ceil(wanted) if wanted < 2.0**52 else None, near and sure))


def _series(name: str, claimed: np.ndarray, found: np.ndarray, room: float = ROOM, whole: float = 0.0) -> Claim:
    """Round by round; ``whole`` is what entries are parts of, where they may be small beside it."""
    wide = room * np.maximum(np.abs(found), whole)
    at = int(np.argmax(np.abs(claimed - found).ravel()))
    shown = float(claimed.ravel()[at]), float(found.ravel()[at])
    return Claim(name, *shown, equal(claimed, found, wide), f"{len(found)} rounds, the one that differs most")


class _Columns:
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
        return np.arange(self.n), self.rows.values[self.there, j].astype(np.float32)

    def whole(self, j: int) -> np.ndarray:
        """The feature of every row."""
        rows, values = self.entries(j)
        out = np.zeros(self.n, dtype=np.float32)
        out[rows] = values
        return out


KIND = Kind("AdaBoost", ESTIMATORS, ("bound",), TABLES, flaw, array_forms, check, (), flaw_of_arrays)
