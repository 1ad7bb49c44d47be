"""Certificates of perceptrons: the mistakes were these, there can be no more than so many, or nothing separates the rows.

    theta = theta_0 + rate sum_i m_i c_i y_i x_i           m_i the mistakes made on row i;  x stands for (x, 1) with an offset

A bound K is not computed again: it is put into the inequality that proves it.  With a direction t, T = |t|, the margin
mu <= min_i y_i <t, x_i>, R >= max |x_i|, a = <t, theta_0>/rate, B = |theta_0|/rate, the k-th mistake would leave

    a + k mu <= <t, theta_k>/rate <= T |theta_k|/rate <= T sqrt(B^2 + k R^2)

f(k) = (a + k mu)^2 - T^2 (B^2 + k R^2) is convex and f(0) <= 0, so that f(K) >= 0 and a + K mu >= 0 make it positive for every
k > K: there is no such mistake.  What float64 can do to a run is allowed for (mu and R are replaced by mu - T e and R'): with
|theta_k|/rate <= M for k <= K + 1, scores are off by gamma_(d+4) |x| M and corrections by e = 3u (M + R).  The inequality is
checked in fractions.

Multipliers m_i > 0 with sum_i m_i y_i x_i = 0, in fractions, prove that no direction has all y_i <t, x_i> > 0: their
sum, weighted by m, would be 0 (Gordan).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from ..arithmetic.compare import at_most, between, capped, equal, worst
from ..arithmetic.rounding import TINY, UNIT, gamma, total_of
from ..case import Case, Rigour
from ..form.entries import is_finite, number
from ..rows import place


class PerceptronCase(Case):
    """Weights c of the rows, those that count, and how many rows a run held out."""

    tiers = {False: "float64 and fractions", True: "float64 and fractions", "exact": "float64 and fractions"}

    def read_data(self, X: Any, y: Any, sample_weight: Any) -> None:
        super().read_data(X, y, sample_weight)
        self.variant, self.rate = self.problem["variant"], number(self.problem["rate"])
        self.constant = 1.0 if self.problem["offset"] == "constant" else 0.0

    def judge(self, rigorous: Rigour) -> None:
        sound = self._statement_claims()
        if self.claim("figures", "recomputed", None, sound, "from the data"):
            for k in range(len(self.parts)):
                self._subproblem_claims(k)
        passes, stated = max(sub["passes"] for sub in self.parts), self.block["n_iter"]
        self.same_claim("passes", stated, passes, "the most of a subproblem")
        self.status_claim()
        kind, proved = self.block["kind"], all(sub["bound"] != sub["witness"] for sub in self.parts)  # not None both
        self.claim("kind", kind, None, kind == "bound" or not proved, "files of before say bound without one")
        self.unchecked.append("the order of visits")
        if self.variant in ("averaged", "voted"):
            self.unchecked.append("how the mean of the weights came about")
        if self.variant == "voted":
            self.unchecked += [f"array {name}: the voters answer" for name in ("coef", "intercept")]
        if self.problem["penalty"] is not None:
            self.unchecked.append("how a penalty shrank the weights, and with it array updates and the mistakes")

    def _statement_claims(self) -> bool:
        p, problem = self.parameters, self.problem
        self.number_claim("rate", problem["rate"], "eta0")
        fit = p.get("fit_intercept")
        offset = ("constant" if fit else "none") if isinstance(fit, bool) else ""
        self.same_claim("offset", problem["offset"], offset)
        self.same_claim("penalty", problem["penalty"], p.get("penalty"))
        self.same_claim("variant", self.variant, p.get("variant"))
        agree = self.class_claims(problem["class_weight"])
        positives, wanted = [sub["positive"] for sub in self.parts], [1] if self.K == 2 else list(range(self.K))
        self.same_claim("subproblems", positives, wanted)
        self.finite_claim("weights", *self.arrays.values())
        if not self.constant:
            self.no_offset_claim(self.arrays["intercept"], self.arrays["last"][:, -1])
        counts = (self.arrays["updates"] >= 0).all()
        self.claim("counts", "mistakes of each row", None, counts, "none is negative")
        votes = self.arrays.get("votes")
        if votes is not None:
            self.claim("votes", "of each voter", None, (votes > 0).all(), "each has some")
        if not agree:
            return False
        self.c = self.weights * np.array([number(w) for w in problem["class_weight"]])[self.index]
        self.counted = self.c > 0.0
        self.held_out = 0
        if p.get("early_stopping") is not False:  # rows that a run never visits, though they count
            share = p.get("validation_fraction")
            good = p.get("early_stopping") is True and is_finite(share) and between(number(share), 0.0, 1.0)
            self.claim("validation_fraction", share, None, good, "a share of the rows")
            self.held_out = math.ceil(number(share) * self.c.size) if good else 0
            rest = at_most(self.held_out + self.K, self.c.size)
            self.claim("rows held out", self.held_out, None, rest, "each class has one that is not")
        self.weights_claim(self.c, some=False)
        return self.all_hold()

    def _subproblem_claims(self, k: int) -> None:
        sub, which = self.parts[k], self.which(k)
        y = np.where(self.index == sub["positive"], 1.0, -1.0)
        last, start = self.arrays["last"][k], self.arrays["start"][k]
        model = np.append(self.arrays["coef"][k], self.arrays["intercept"][k])
        updates = self.arrays["updates"][k]
        total, most = int(sum(updates.tolist())), int(updates.max(initial=0))
        self.same_claim(which + "mistakes", sub["mistakes"], total, "the sum of those of the rows")
        once = at_most(most, sub["passes"] + 1)
        self.claim(which + "visits", sub["passes"], most, once, "a row is visited once a pass")
        plain = self.problem["penalty"] is None
        if plain:
            self._sum_claim(which, y, updates, start, last, total)
        wrong, learned = self._wrong(y, last), self._wrong(y, last, updates > 0)
        if self.variant == "voted":
            low, high = self._outvoted(y, k)
            few = at_most(high - low, max(1.0, 0.05 * y.size))  # rows that rounding decides about
            self.claim(which + "errors", sub["errors"], high, few and between(sub["errors"], low, high), "of the vote")
        else:
            errors = wrong if np.array_equal(model, last) else self._wrong(y, model)
            self.same_claim(which + "errors", sub["errors"], errors, "in exact arithmetic")
        status, witness = sub["status"], sub["witness"]
        if status == "converged":
            fine = plain and learned == 0 and at_most(wrong, self.held_out)
            self.claim(which + "converged", "no error", wrong, fine, "of the last weights, on rows not held out")
        constant = status in ("time_limit", "interrupted") and self._is_constant(model, sub["positive"])
        if self.variant == "plain" and status != "infeasible":
            fine = constant or np.array_equal(model, last)
            self.claim(which + "weights", "the last ones", None, fine, "or, of a fit that was stopped, a constant")
        alike = bool((self.c[self.counted] == 1.0).all())
        if self.variant == "pocket" or (self.variant == "plain" and status == "infeasible"):
            good = constant or at_most(sub["errors"], wrong) or not alike
            self.claim(which + "pocket", sub["errors"], wrong, good, "no more errors than the last weights")
        self.claim(which + "infeasible", status, None, (status == "infeasible") == (witness is not None))
        if witness is not None:
            self.claim(which + "not separable", "multipliers", None, self._gordan(y, witness), "in fractions")
        none = sub["bound"] is not None or not self.arrays["direction"][k].any()
        self.claim(which + "direction", "of the bound", None, none)
        if sub["bound"] is not None:
            applies = plain and alike and not self.held_out
            self.claim(which + "bound applies", True, None, applies, "no penalty, no weights")
            self._bound_claims(which, sub, y, self.arrays["direction"][k], start)

    def _sum_claim(
        self, which: str, y: np.ndarray, updates: np.ndarray, start: np.ndarray, last: np.ndarray, total: int
    ) -> bool:
        """last = start + rate sum m c y x, up to what the additions of a run can be off by."""
        u = self.rate * updates * self.c
        signed = u * y
        found, size = start.copy(), np.abs(start)
        for block in self.rows.blocks():
            part = place(block)
            for piece in block.combine(signed[None, part]):
                found[: self.d] += piece[0]
            for piece in block.absolute().combine(u[None, part]):
                size[: self.d] += piece[0]
        found[self.d] += self.constant * total_of(signed)
        size[self.d] += self.constant * total_of(u)
        # A mistake does not lengthen theta by more than its correction: |theta|^2 <= |start|^2 + rate^2 sum m c^2 |x|^2.
        steps = self.rate * self.c * self._row_lengths()
        longest = _length(np.append(start, np.sqrt(updates) * steps))
        room = 4.0 * gamma(total + 64) * longest + 2.0 * gamma(self.rows.shape[0] + 64) * size
        whole = _length(last) + _length(start) + float(steps.max(initial=0.0))
        room = capped(room, whole, 1e-6)
        holds = equal(last, found, room) and not updates[~self.counted].any()
        note = "start + rate sum m y x; the largest difference over what rounding allows"
        return self.claim(which + "last weights", "as recomputed", worst(last, found, room), holds, note)

    def _row_lengths(self) -> np.ndarray:
        """An upper bound on |(x, constant)| of each row, by sums of absolute values where squares leave the range of floats."""
        found = []
        ones = np.ones((1, self.d))
        for block in self.rows.blocks():
            squares = block.squares()
            safe = (squares > 1e-280) & (squares < 1e280)  # neither rounded to 0 nor to infinity
            found.append(np.where(safe, np.sqrt(squares), block.absolute().scores(ones)[:, 0]))
        return np.concatenate(found) + self.constant

    def _is_constant(self, model: np.ndarray, positive: int) -> bool:
        """No weights, and as offset the share of the weight of rows by which the class outweighs the others; 2^-40 of none."""
        whole = float(self.c.sum())
        share = (2.0 * float(self.c[self.index == positive].sum()) - whole) / whole
        room = 2.0 * gamma(self.c.size + 8) + 2.0**-40
        return bool(self.constant) and not model[:-1].any() and equal(model[-1], share, room)

    def _scores(self, theta: np.ndarray) -> Any:
        """Blocks with their scores, and how far off each can be."""
        W, b = theta[None, : self.d], self.constant * float(theta[self.d])
        for block in self.rows.blocks():
            z = block.scores(W)[:, 0] + b
            size = block.absolute().scores(np.abs(W))[:, 0] + abs(b)
            yield block, z, 2.0 * gamma(block.depth + 8) * size + (block.depth + 2) * TINY

    def _wrong(self, y: np.ndarray, theta: np.ndarray, some: np.ndarray | None = None) -> int:
        """Rows that count (and are among ``some``) with y <theta, x> <= 0, decided by fractions where float64 cannot."""
        chosen = self.counted if some is None else self.counted & some
        wrong = 0
        exact = [Fraction(v) for v in theta.tolist()]
        for block, z, off in self._scores(theta):
            margin, counted = y[place(block)] * z, chosen[place(block)]
            sure = np.abs(margin) > off  # false where a score overflows
            wrong += int(np.count_nonzero(counted & sure & (margin < 0.0)))
            unsure = np.flatnonzero(counted & ~sure)
            if unsure.size and _whole(block, theta, off[unsure]):
                wrong += int(np.count_nonzero(~(margin[unsure] > 0.0)))
                continue
            for i in unsure.tolist():
                score = exact[self.d] * int(self.constant)
                for j, value in zip(*block.row(i), strict=True):
                    score += exact[j] * Fraction(value)
                wrong += score * int(y[block.start + i]) <= 0
        return wrong

    def _outvoted(self, y: np.ndarray, k: int) -> tuple[int, int]:
        """Least and most rows on the wrong side of the vote: a score near 0 may be for either side, one of zeros is for none."""
        first = sum(self.problem["voters"][:k])
        part = slice(first, first + self.problem["voters"][k])
        votes = self.arrays["votes"][part].astype(np.float64)
        voters = self.arrays["voters"][part] * np.append(np.ones(self.d), self.constant)
        # Sides do not depend on lengths. Of the voters 1024 at a time have scores in 16 MB.
        voters = np.ldexp(voters, -np.frexp(np.abs(voters).max(axis=1, keepdims=True))[1])
        W, b, step = voters[:, : self.d], voters[:, self.d], 1024
        low = high = 0
        for block in self.rows.blocks():
            rows, margin, room = place(block), np.zeros(block.n), np.zeros(block.n)
            for at in (slice(start, start + step) for start in range(0, len(W), step)):
                z = block.scores(W[at]) + b[at]
                size = block.absolute().scores(np.abs(W[at])) + np.abs(b[at])
                off = 2.0 * gamma(block.depth + 8) * size
                sure = np.abs(z) > off
                for v in np.flatnonzero((~sure & (size != 0.0)).any(axis=0)):
                    sure[:, v] |= _whole(block, voters[at][v], off[:, v])
                margin += y[rows] * (np.where(sure, np.sign(z), 0.0) @ votes[at])
                room += (~sure & (size != 0.0)) @ votes[at]
            low += int(np.count_nonzero(self.counted[rows] & (margin + room <= 0.0)))
            high += int(np.count_nonzero(self.counted[rows] & (margin - room <= 0.0)))
        return low, high

    def _gordan(self, y: np.ndarray, witness: dict[str, Any]) -> bool:
        """sum m y x = 0 for multipliers m > 0 on rows that count, in fractions."""
        numbers, multipliers = witness["rows"], [Fraction(m) for m in witness["multipliers"]]
        n = self.rows.shape[0]
        if not numbers or len(numbers) != len(multipliers) or len(set(numbers)) != len(numbers):
            return False
        if max(numbers) >= n or any(m <= 0 for m in multipliers) or not self.counted[numbers].all():
            return False
        of_row = dict(zip(numbers, multipliers, strict=True))
        total: dict[int, Fraction] = {}
        level = Fraction(0)
        for block in self.rows.blocks():
            for i in range(block.n):
                m = of_row.get(block.start + i)
                if m is None:
                    continue
                a = m * int(y[block.start + i])
                level += a
                for j, value in zip(*block.row(i), strict=True):
                    total[j] = total.get(j, Fraction(0)) + a * Fraction(value)
        return not any(total.values()) and (level == 0 or not self.constant)

    def _bound_claims(self, which: str, sub: dict[str, Any], y: np.ndarray, t: np.ndarray, start: np.ndarray) -> None:
        K, radius, margin = (number(sub[name]) for name in ("bound", "radius", "margin"))
        R2 = 0.0
        low = high = math.inf
        for block, z, off in self._scores(t):
            part = place(block)
            counted = self.counted[part]
            if counted.any():
                squares = (block.squares()[counted] + self.constant) * (1.0 + 2.0 * gamma(block.depth + 4))
                R2 = max(R2, float(squares.max()))
                low = min(low, float((y[part] * z - off)[counted].min()))
                high = min(high, float((y[part] * z + off)[counted].min()))
        R = math.sqrt(R2) * (1.0 + 4.0 * UNIT)
        T2 = sum((Fraction(v) ** 2 for v in t.tolist()), Fraction(0))
        T = math.sqrt(float(T2)) * (1.0 + 4.0 * UNIT)
        finite = all(map(math.isfinite, (R, low, high, T))) and T != 0.0
        self.claim(which + "radius", radius, R, equal(radius, R, 1e-9 * R), "the longest row")
        room = 32.0 * gamma(self.d + 8) * R
        holds = finite and between(margin, low / T * (1.0 - 1e-9) - room, high / T * (1.0 + 1e-9))
        self.claim(which + "margin", margin, low / T if finite else math.nan, holds, "of the direction")
        holds = finite and low > 0.0 and self._no_more(K, R, low, T, T2, t, start)
        self.claim(which + "bound", K, None, holds, "one mistake more would contradict it")
        self.claim(which + "mistakes <= bound", sub["mistakes"], K, at_most(sub["mistakes"], K))

    def _no_more(
        self, bound: float, radius: float, low: float, T: float, T2: Fraction, t: np.ndarray, start: np.ndarray
    ) -> bool:
        K, R, mu, rate = Fraction(bound), Fraction(radius), Fraction(low), Fraction(self.rate)
        first = [Fraction(v) / rate for v in start.tolist()]
        a = sum((Fraction(v) * s for v, s in zip(t.tolist(), first, strict=True)), Fraction(0))
        B2 = sum((s * s for s in first), Fraction(0))
        try:
            M = Fraction(2.0 * math.sqrt(float(B2 + (K + 1) * R * R)) * (1.0 + 8.0 * UNIT))
        except OverflowError:
            return False
        e, g = 3 * Fraction(UNIT) * (M + R), Fraction(gamma(self.d + 4))
        wide = R * R + 2 * g * R * M + 2 * e * (M + R) + e * e
        mu -= e * Fraction(T)
        reach = a + K * mu
        return bool(B2 + (K + 1) * wide <= M * M and mu > 0 and reach >= 0 and reach * reach >= T2 * (B2 + K * wide))


def _whole(block: Any, theta: np.ndarray, off: np.ndarray) -> bool:
    """Whether scores are sums of less than 2^53 steps, which float64 adds without error."""
    values = block.values if hasattr(block, "values") else block.data
    # off is gamma |x|.|theta|: divided by UNIT it is well above |x|.|theta|.
    return float(off.max(initial=0.0)) < min(1.0, _step(values)) * _step(theta)


def _step(values: np.ndarray) -> float:
    """The largest power of two of which all values are multiples."""
    part, power = np.frexp(values[values != 0.0])
    whole = np.ldexp(part, 53).astype(np.int64)
    return float(np.ldexp((whole & -whole).astype(np.float64), power - 53).min(initial=np.inf))


def _length(v: np.ndarray) -> float:
    """|v|, also where its square is beyond the range of floats."""
    largest = float(np.abs(v).max(initial=0.0))
    return largest * float(np.linalg.norm(v / largest)) if 0.0 < largest < np.inf else largest
