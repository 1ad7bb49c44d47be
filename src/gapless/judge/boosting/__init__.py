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

from ..classes import sorted_unique
from ..document import TIMES, is_number, number, refuse_unreadable
from ..errors import CertificateError
from ..rows import Rows, SparseRows, as_rows
from ..statement import same_data
from ..verdict import Claim, Verdict
from .document import ESTIMATORS, array_forms, flaw

#: What two ways of adding up float64 may differ by, relatively: n u for n up to 10^8, with the exponents' own error.
ROOM = 1e-8
#: Numbers of all rounds' weights that are held at a time.
HELD = 20_000_000


def speaks_of(document: Any) -> bool:
    """Whether a document is one of these."""
    return isinstance(document, Mapping) and document.get("estimator") in ESTIMATORS


def check(document: Mapping[str, Any], arrays: Mapping[str, Any], X: Any, y: Any, sample_weight: Any = None) -> Verdict:
    """Judge the rounds of a document; the verdict and the errors are those of ``judge.check``."""
    refuse_unreadable(document, flaw)
    case = _Case(dict(document), arrays, X, y, sample_weight)
    claims = [Claim("data", "fingerprint", "fingerprint", True, "rows, labels and weights are those of the fit")]
    with np.errstate(all="ignore"):
        if case.statement_claims(claims):
            case.round_claims(claims)
    claims = [claim._replace(holds=bool(claim.holds)) for claim in claims]
    others = [str(name)[:40] for name in document["parameters"] if name not in ("learning_rate", "n_estimators")]
    unchecked = [*TIMES, "backend", "version", "names of features", "which ending, and its reason"]
    unchecked += ["that stumps have the least impurity"] if case.stumps else ["that the learners give these answers"]
    return Verdict(claims, [*unchecked, *(f"parameter {name}" for name in others[:40])], [], "float64")


def _close(a: Any, b: Any, room: float = ROOM) -> bool:
    return bool(np.all(np.abs(np.asarray(a) - np.asarray(b)) <= room * np.abs(np.asarray(b)) + 1e-300))


class _Case:
    def __init__(self, document: dict[str, Any], arrays: Mapping[str, Any], X: Any, y: Any, sample_weight: Any) -> None:
        self.document, self.problem, self.block = document, document["problem"], document["certificate"]
        rows = as_rows(X)
        index, weights = same_data(document, rows, y, sample_weight)
        self.K, self.T = len(document["classes"]["values"]), self.problem["rounds"]
        self.stumps = self.problem["learner"] == "stump"
        self.arrays: dict[str, np.ndarray] = {}
        for name, (dtype, shape) in array_forms({**document, "learners": None}).items():
            array = np.asarray(arrays.get(name))
            wanted = np.dtype(dtype).newbyteorder("=")
            if array.dtype != wanted or array.shape != tuple(shape):
                given = f"{name} is {array.dtype} {array.shape}, it should be {wanted} {tuple(shape)}"
                raise CertificateError(f"the certificate cannot be read: {given}")
            self.arrays[name] = array
        self.there = weights > 0.0
        self.index, self.all_weights = index[self.there], weights
        self.first = weights[self.there] / math.fsum(weights[self.there].tolist())
        self.columns = _Columns(rows, self.there)

    def statement_claims(self, claims: list[Claim]) -> bool:
        p, rate = self.document["parameters"], number(self.problem["rate"])
        asked = p.get("learning_rate")
        good = math.isfinite(rate) and rate > 0.0
        claims.append(Claim("rate", rate, asked, good and is_number(asked) and number(asked) == rate))
        most = p.get("n_estimators")
        claims.append(Claim("rounds", self.T, most, isinstance(most, int) and self.T <= most, "no more than asked for"))
        values = self.document["classes"]["values"]
        claims.append(Claim("classes", f"{self.K} classes", None, sorted_unique(values), "sorted, each once"))
        finite = all(bool(np.isfinite(a).all()) for a in self.arrays.values() if a.dtype.kind == "f")
        claims.append(Claim("finite", "all numbers", None, finite))
        positive = bool((self.arrays["stage_weights"] > 0.0).all())
        claims.append(Claim("votes", "stage weights", None, positive, "each is positive"))
        fine = True
        if self.stumps:
            feature, classes = self.arrays["feature"], self.arrays["classes"]
            fine = bool(((feature >= -1) & (feature < self.document["n_features"])).all())
            fine = fine and bool(((classes >= 0) & (classes < self.K)).all())
            claims.append(Claim("stumps", f"{self.T}", None, fine, "features and classes that there are"))
        if "cuts" in self.arrays:
            ends = self.arrays["cut_ends"]
            rising = bool((np.diff(ends, prepend=0) >= 0).all()) and int(ends[-1]) == self.arrays["cuts"].size
            claims.append(Claim("thresholds", "of each feature", None, rising))
            fine = fine and rising
        return good and finite and positive and fine

    # -- the rounds

    def _answer(self, t: int) -> np.ndarray:
        if not self.stumps:
            return self.arrays["answers"][t][self.there]
        j = int(self.arrays["feature"][t])
        left, right = self.arrays["classes"][t]
        if j < 0:
            return np.full(self.index.size, left)
        return np.where(self.columns.whole(j) > self.arrays["threshold"][t], right, left)

    def round_claims(self, claims: list[Claim]) -> None:
        alphas, rate, K, n = self.arrays["stage_weights"], number(self.problem["rate"]), self.K, self.index.size
        s, votes = np.zeros(n), np.zeros((n, K))
        rows, kept, edges = np.arange(n), list[np.ndarray](), list[float]()
        errors, factors, training = np.empty(self.T), np.empty(self.T), np.empty(self.T)
        clean, wrong_now = None, np.zeros(n, dtype=bool)
        two_and_stumps = self.stumps and K == 2
        for t in range(self.T):
            w = self.first * np.exp(s - s.max())
            w /= w.sum()
            if two_and_stumps:
                kept.append(w)
                if len(kept) * n >= HELD or t == self.T - 1:
                    edges += self._edges(np.array(kept)).tolist()
                    kept.clear()
            answer = self._answer(t)
            wrong = answer != self.index
            errors[t] = w[wrong].sum()
            right = w[~wrong].sum()
            a = float(alphas[t])
            factors[t] = right * math.exp(-a / 2.0) + errors[t] * math.exp(min(a / 2.0, 709.0))
            s += a * wrong
            known = answer < K
            votes[rows[known], answer[known]] += a
            # Of two classes the second needs more votes than the first, as of any two.
            wrong_now = np.argmax(votes, axis=1) != self.index
            training[t] = self.first[wrong_now].sum()
            if clean is None and not wrong_now.any():
                clean = t + 1
        claimed = self.arrays
        claims.append(_series("weighted errors", claimed["errors"], errors))
        wanted = np.where(errors > 0.0, rate * (np.log1p(-errors) - np.log(errors) + math.log(K - 1.0)), 1.0)
        capped = self.block["status"] == "not_finite"
        # The error is a sum of n weights; near 1/2 the weight is the small difference of two logarithms of it.
        felt = rate * (n + 64) * 2.0**-52 / np.maximum(errors * (1.0 - errors), 1e-300)
        near = (np.abs(alphas - wanted) <= 1e-6 * np.abs(wanted) + np.where(errors > 0.0, felt, 0.0)) | (
            alphas == wanted
        )
        fine = bool(near[: -1 if capped else None].all())
        claims.append(Claim("stage weights", "as the errors ask", float(wanted[-1]), fine))
        claims.append(_series("Z", claimed["factors"], factors))
        # Where votes are equal but for rounding, two ways of adding them up may see another winner.
        total = float(alphas.sum())
        top = np.sort(votes, axis=1)
        unsure = float(self.first[top[:, -1] - top[:, -2] <= 1e-9 * total].sum()) if n else 0.0
        off = np.abs(claimed["training"] - training)
        claims.append(
            Claim(
                "training errors",
                float(claimed["training"][-1]),
                float(training[-1]),
                bool((off <= unsure + ROOM).all()),
            )
        )
        mistakes = int(np.count_nonzero(wrong_now))
        claims.append(
            Claim("mistakes", self.block["mistakes"], mistakes, unsure > 0.0 or self.block["mistakes"] == mistakes)
        )
        claims.append(
            Claim("clean round", self.block["clean_round"], clean, unsure > 0.0 or self.block["clean_round"] == clean)
        )
        bounds = np.cumprod(claimed["factors"])
        held = bool((claimed["training"] <= bounds * (1.0 + ROOM)).all())
        claims.append(
            Claim(
                "bound",
                float(bounds[-1]),
                float(claimed["training"][-1]),
                held,
                "training error <= prod Z_t, after each round",
            )
        )
        exponent = math.exp(min(float(np.log(factors).sum()), 700.0))
        loss = float((self.first * np.exp(s - total / 2.0)).sum())
        same = _close(number(self.block["loss"]), loss) and _close(exponent, loss, 1e-7)
        claims.append(Claim("loss", number(self.block["loss"]), loss, same, "equals prod Z_t"))
        self._margin_claims(claims, s, votes, total, np.array(edges))
        self._enough_claim(claims, errors, mistakes)

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
            claims.append(Claim(name, claimed, value, abs(claimed - value) <= 1e-9))
        if "edges" not in self.arrays:
            return
        claims.append(_series("edges", self.arrays["edges"], edges, 1e-7))
        low, high = float(margins.min()), float(edges.min())
        claims.append(
            Claim("bracket", f"[{low:.6g}, {high:.6g}]", None, low <= high + 1e-9, "of the best smallest margin")
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
            claims.append(Claim("enough rounds", None, None, not wanted < 2.0**52, "no number is claimed"))
            return
        near = abs(claimed - wanted) <= 1.0 + 1e-6 * wanted
        sure = self.T < claimed or mistakes == 0
        claims.append(Claim("enough rounds", claimed, math.ceil(wanted) if wanted < 2.0**52 else None, near and sure))


def _series(name: str, claimed: np.ndarray, found: np.ndarray, room: float = ROOM) -> Claim:
    worst = int(np.argmax(np.abs(claimed - found)))
    return Claim(
        name,
        float(claimed[worst]),
        float(found[worst]),
        _close(claimed, found, room),
        f"{found.size} rounds, the one that differs most",
    )


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
