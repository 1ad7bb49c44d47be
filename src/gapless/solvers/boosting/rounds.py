"""AdaBoost's rounds: the weights d_t, the weighted errors, the stage weights, and what they add up to.

Round t has weights d_t (sum 1) and a classifier h_t, of K classes, that gets the weight e_t = sum of d_t over its mistakes wrong:

    a_t = rate (ln((1 - e_t)/e_t) + ln(K - 1))                   scikit-learn's estimator_weights_; 1 where e_t = 0
    d_(t+1) ~ d_t exp(a_t [h_t wrong])                           the same as d_t exp(-+ a_t/2): for two classes d_t exp(-y
    (a_t/2) h_t) Z_t = (1 - e_t) exp(-a_t/2) + e_t exp(a_t/2)
    prod_t Z_t = sum_i d_1i exp(sum_t (a_t/2)([h_t wrong] - [h_t right]))     exactly, whatever the a_t are

The stage weight of the two-class literature is a_t/2.  The vote of the ensemble is wrong only where some other class has at least
the votes of the right one, and then that exponent is not negative: the training error is at most prod_t Z_t, after every round.
At rate 1, Z_t = K sqrt(e_t (1 - e_t)/(K - 1)), and h_t has error 1 - 1/K under d_(t+1).  A learner with e_t >= 1 - 1/K has
a_t <= 0: it is useless, and ends the run.

With s_i = sum_t a_t [h_t wrong on i] and A = sum_t a_t the weights are d_1 exp(s) up to their sum, and for two classes the margin
of a row, its share of right votes less that of wrong ones, is 1 - 2 s_i / A.  The weights are multiplied up and made anew from s
now and then: one that underflowed comes back.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np

from gapless._compile.jit import compiled


def order_by_class(index: np.ndarray, K: int, there: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """The rows (of ``there``, if given) in the order of their classes, and where each class begins."""
    index = index.astype(np.uint8 if K <= 256 else np.int64) if index.dtype.itemsize > 1 else index
    order = np.argsort(index, kind="stable") if there is None else there[np.argsort(index[there], kind="stable")]
    counts = np.bincount(index if there is None else index[there], minlength=K)
    return order, np.concatenate(([0], np.cumsum(counts))).astype(np.int64)


class Rounds:
    """The state of a run. Rows are in the order of their classes: class k has starts[k] to starts[k + 1]."""

    def __init__(self, starts: np.ndarray, first: np.ndarray | None, rate: float) -> None:
        """``first`` are the weights to begin with, all positive; None: all the same."""
        self.starts, self.K, self.n, self.rate = starts, starts.size - 1, int(starts[-1]), float(rate)
        self.first = np.array([1.0 / self.n]) if first is None else first / first.sum()
        self.weights = np.full(self.n, 1.0 / self.n) if first is None else self.first.copy()
        self.s = np.zeros(self.n)
        self.votes = np.zeros((self.n, 1 if self.K == 2 else self.K))
        self.total = 0.0  #: A
        self.errors: list[float] = []
        self.alphas: list[float] = []
        self.factors: list[float] = []
        self.training: list[float] = []  #: weighted error of the vote after each round
        self.mistakes = 0  #: rows that the vote now gets wrong
        self.clean: int | None = None  #: the first round after which it got none wrong

    def __len__(self) -> int:
        return len(self.alphas)

    def weigh_answer(self, answer: np.ndarray) -> tuple[float, float]:
        """The weight that ``answer`` (class indices) has right and wrong, as shares."""
        right, wrong = 0.0, 0.0
        for k in range(self.K):
            part = slice(int(self.starts[k]), int(self.starts[k + 1]))
            r, m = _weigh_right_and_wrong(answer[part], k, self.weights[part])
            right, wrong = right + r, wrong + m
        total = right + wrong
        return right / total, wrong / total

    def is_useless(self, wrong: float) -> bool:
        """Whether a learner is no better than guessing; 1e-12 is rounding: the last learner again has error 1 - 1/K exactly."""
        return wrong >= 1.0 - 1.0 / self.K - 1e-12

    def stage_weight(self, right: float, wrong: float) -> float:
        """a_t of above."""
        if wrong <= 0.0:
            return 1.0
        return self.rate * (math.log(right) - math.log(wrong) + math.log(self.K - 1.0))

    def add_learner(self, answer: np.ndarray, right: float, wrong: float, alpha: float) -> None:
        """Let the classifier join the vote, and make the weights of the next round."""
        half = alpha / 2.0
        factor = right * math.exp(-half) + (wrong * math.exp(half) if wrong > 0.0 else 0.0)
        # Whatever alpha is, neither of these overflows.
        shrink = math.exp(-alpha)
        total = right * shrink + wrong
        for k in range(self.K):
            part = slice(int(self.starts[k]), int(self.starts[k + 1]))
            _update_weights(answer[part], k, self.weights[part], self.s[part], shrink / total, 1.0 / total, alpha)
        _add_to_votes(answer, self.votes, alpha)
        self.total += alpha
        self.errors.append(wrong)
        self.alphas.append(alpha)
        self.factors.append(factor)
        # Every 16 rounds the weights are computed again from s, so that rounding does not pile up.
        if len(self) % 16 == 0 or alpha > 30.0 or not total > 0.0:
            self._recompute_weights()
        share, self.mistakes = self._count_mistakes()
        self.training.append(share)
        if self.mistakes == 0 and self.clean is None:
            self.clean = len(self)

    def _recompute_weights(self) -> None:
        top = float(self.s.max())
        step = 1 << 18  # rows at a time: no second array of all rows
        for start in range(0, self.n, step):
            part = slice(start, start + step)
            self.weights[part] = self.first[part] if self.first.size > 1 else self.first[0]
            self.weights[part] *= np.exp(self.s[part] - top)
        self.weights /= self.weights.sum()

    def find_heaviest_class(self) -> int:
        """The class of the largest first weight; of equal ones the first."""
        ends = self.starts.tolist()
        sums = [b - a if self.first.size == 1 else float(self.first[a:b].sum()) for a, b in pairwise(ends)]
        return int(np.argmax(sums))

    def _count_mistakes(self) -> tuple[float, int]:
        """The weight and the number of the rows that the vote gets wrong."""
        share, number = 0.0, 0
        for k in range(self.K):
            a, b = int(self.starts[k]), int(self.starts[k + 1])
            first = self.first if self.first.size == 1 else self.first[a:b]
            m, c = _count_outvoted(self.votes[a:b], k, first)
            share, number = share + m, number + c
        return share, number

    @property
    def bound(self) -> float:
        """prod Z_t."""
        return math.exp(math.fsum(math.log(z) for z in self.factors)) if all(self.factors) else 0.0

    def loss(self) -> float:
        """sum_i d_1i exp(s_i - A/2), the other side of the identity."""
        grown = np.exp(self.s - self.total / 2.0)
        return float(np.sum(grown * self.first))

    def margins(self) -> np.ndarray:
        """Votes for the right class less the most for another, over all votes; in the order of classes."""
        if self.K == 2:
            return 1.0 - 2.0 * self.s / self.total
        found = np.empty(self.n)
        for k in range(self.K):
            part = self.votes[self.starts[k] : self.starts[k + 1]]
            others = np.delete(part, k, axis=1).max(axis=1)
            found[self.starts[k] : self.starts[k + 1]] = (part[:, k] - others) / self.total
        return found


@compiled(vectorise=True, allocates=False)
def _weigh_right_and_wrong(answer, k, w):
    """The weight of the rows whose answer is k, and the weight of the other rows."""
    right = 0.0
    wrong = 0.0
    for i in range(w.size):
        fine = answer[i] == k
        right += w[i] if fine else 0.0
        wrong += 0.0 if fine else w[i]
    return right, wrong


@compiled(allocates=False)
def _update_weights(answer, k, w, s, right, wrong, alpha):
    """Multiply the weights of class k by ``right`` or ``wrong``, and add alpha to s where the answer is wrong."""
    for i in range(w.size):
        fine = answer[i] == k
        w[i] *= right if fine else wrong
        s[i] += 0.0 if fine else alpha


@compiled(allocates=False)
def _add_to_votes(answer, votes, alpha):
    """Two classes: +alpha for class 1 and -alpha for class 0 in one column; more: alpha in the column of the class."""
    if votes.shape[1] == 1:
        for i in range(answer.size):
            votes[i, 0] += alpha if answer[i] == 1 else -alpha
    else:
        for i in range(answer.size):
            votes[i, answer[i]] += alpha


@compiled(allocates=False)
def _count_outvoted(votes, k, first):
    """Weight and number of the rows of class k that the vote gives another; of equal votes the first class wins."""
    mass = 0.0
    number = 0
    for i in range(votes.shape[0]):
        if votes.shape[1] == 1:
            winner = 1 if votes[i, 0] > 0.0 else 0
        else:
            winner = 0
            for j in range(1, votes.shape[1]):
                if votes[i, j] > votes[i, winner]:
                    winner = j
        if winner != k:
            number += 1
            mass += first[i] if first.size > 1 else 0.0
    return (mass if first.size > 1 else number * first[0]), number


def find_weighted_median(predictions: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The weighted median of each row: the smallest of its values that has half the weight at or below it."""
    order = np.argsort(predictions, axis=1, kind="stable")
    mass = np.cumsum(weights[order], axis=1)
    at = np.argmax(mass >= 0.5 * mass[:, -1:], axis=1)
    rows = np.arange(predictions.shape[0])
    return predictions[rows, order[rows, at]]


def compute_regression_losses(distance: np.ndarray, kind: str) -> np.ndarray:
    """Drucker's losses in [0, 1] of |prediction - y|: its share of the largest, that squared, or 1 - exp of minus that."""
    top: Any = distance.max(initial=0.0)
    share = distance / top if top > 0.0 else distance
    if kind == "square":
        return share**2
    return 1.0 - np.exp(-share) if kind == "exponential" else share
