"""A cut of scores and what it costs on given rows, with an interval."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gapless._runtime.results import result

from .intervals import MeanInterval, mean_interval


@result
@dataclass(frozen=True)
class Cut:
    """Call the second class where the score is above ``score``; ``inclusive``: where the probability is at least ``probability``,
    and ``score`` is the number just below the one that has it.

    Attributes
    ----------
    score : the second class is called where the score is above this
    probability : the same as a probability of the model, where it has some
    cost : the mean cost on the rows given
    interval : of the expected cost on new rows; None where nothing holds, and ``reason`` says why
    counts : rows (weights) of class i that are called j
    reason : why there is no interval
    inclusive : whether a row at the cut itself is called the second class
    """

    score: float
    probability: float | None
    cost: float
    interval: MeanInterval | None
    counts: np.ndarray
    reason: str = ""
    inclusive: bool = False

    def __str__(self) -> str:
        sign = ">=" if self.inclusive else ">"
        at = f"score {sign} {self.score:.6g}" + (
            "" if self.probability is None else f" (probability {sign} {self.probability:.6g})"
        )
        sure = str(self.interval) if self.interval is not None else f"{self.cost:.6g} on these rows; {self.reason}"
        return f"{at}: expected cost {sure}"


class CutRows:
    """Scores and labels of rows, on which cuts have their costs."""

    def __init__(
        self, s: np.ndarray, up: np.ndarray, weights: np.ndarray | None, matrix: np.ndarray, a: float, b: float,
        delta: float, known: bool,
    ) -> None:  # fmt: skip
        self.s, self.up, self.weights, self.matrix = s, up, weights, matrix
        self.a, self.b, self.delta, self.known = a, b, delta, known
        self.mass = np.ones(s.size) if weights is None else weights

    def cut(self, at: float, probability: float | None, chosen: bool) -> Cut:
        """The cost of cutting at ``at``. ``chosen``: the cut was selected on these rows, so that the interval has to hold for all
        cuts at once."""
        called = self.s > at
        counts = np.zeros((2, 2))
        for i in (0, 1):
            for j in (0, 1):
                counts[i, j] = float(self.mass[(self.up == bool(i)) & (called == bool(j))].sum())
        cost = float((counts * self.matrix).sum() / self.mass.sum())
        interval, reason = self._expected_cost(called, cost, chosen)
        return Cut(at, probability, cost, interval, counts, reason)

    def _expected_cost(self, called: np.ndarray, cost: float, chosen: bool) -> tuple[MeanInterval | None, str]:
        if self.known:
            return None, "these rows were trained on: no interval follows"
        low, high = float(self.matrix.min()), float(self.matrix.max())
        each = self.matrix[self.up.astype(int), called.astype(int)]
        if not chosen:
            if self.weights is None:
                return mean_interval(each, low, high, self.delta), ""
            return self._weighted_mean(each), ""
        if self.weights is not None:
            return None, "the rows chose the cut, and have weights: no interval follows"
        n = self.s.size
        right = float(self.matrix[1, 1] - self.matrix[0, 0])
        parts = 2 if right == 0.0 else 3
        width = (self.a + self.b) * math.sqrt(math.log(2.0 * parts / self.delta) / (2.0 * n))
        width += abs(right) * math.sqrt(math.log(2.0 * parts / self.delta) / (2.0 * n)) if parts == 3 else 0.0
        return MeanInterval(
            cost, max(low, cost - width), min(high, cost + width), self.delta, "all cuts at once, Massart"
        ), ""

    def _weighted_mean(self, each: np.ndarray) -> MeanInterval:
        """E[w c] / E[w], both means enclosed at delta/2."""
        top = float(self.mass.max())
        w = mean_interval(self.mass, 0.0, top, 0.5 * self.delta)
        shifted = each - float(self.matrix.min())
        wc = mean_interval(self.mass * shifted, 0.0, top * float(np.ptp(self.matrix)), 0.5 * self.delta)
        base, most = float(self.matrix.min()), float(self.matrix.max())
        high = most if w.low <= 0.0 else min(most, base + wc.high / w.low)
        return MeanInterval(
            base + wc.value / w.value, base + wc.low / w.high, high, self.delta, "empirical Bernstein, weighted"
        )

    def cheapest(self, near: float) -> float:
        """The cut with the least cost; of equally good cuts the one nearest to ``near``."""
        order = np.argsort(self.s, kind="stable")
        s, up, mass = self.s[order], self.up[order], self.mass[order]
        # Entry k: the first k rows are below the cut, positive rows among them are missed, negative rows above are false alarms.
        missed = np.concatenate([[0.0], np.cumsum(np.where(up, mass, 0.0))])
        alarms = np.concatenate([[0.0], np.cumsum(np.where(up, 0.0, mass))])
        cost = self.a * missed + self.b * (alarms[-1] - alarms)
        allowed = np.concatenate([[True], s[1:] > s[:-1], [True]])
        best = float(cost[allowed].min())
        places = np.flatnonzero(allowed & (cost <= best * (1.0 + 1e-12)))
        ends = np.concatenate([[-math.inf], s, [math.inf]])
        cuts = []
        for k in places:
            low, high = float(ends[k]), float(ends[k + 1])  # the cut lies in [low, high)
            if low <= near < high:
                return float(near)
            inside = math.isfinite(low) and math.isfinite(high)
            cuts.append(0.5 * (low + high) if inside else low)
        finite = [c for c in cuts if math.isfinite(c)]
        return float(min(finite, key=lambda c: abs(c - near))) if finite else cuts[0]
