"""Multinomial logistic regression: one example, K scores.

    P(W, b) = 1/2 |W|^2 + sum_i c_i [ln sum_k e^(z_ik) - z_iy_i],        z_i = W x_i + b
    D(U)    = sum_i c_i H(p_i) - 1/2 |sum_i u_i x_i'|^2,                  u_i = c_i (e_y_i - p_i),  p_i in the simplex

H(p) = - sum_k p_k ln p_k.  A free offset asks for sum_i u_i = 0; where that is r instead, P* >= D(U) - b*.r for every
optimal b*.  The entries of r sum to 0 and P does not change with b + t, so b* may be taken with its midrange at 0, and
|b*_k| <= B with

    2B = max_jk |b*_j - b*_k| <= max_jk |ln(C_j/C_k)| + 2 R sqrt(P),      C_k = sum of c over class k

(the optimal offsets balance sum_i c_i p_ik = C_k, the ratio p_ij/p_ik is e^((w_j - w_k)x + b_j - b_k), and
|w_j - w_k| <= sqrt(2)|W| <= 2 sqrt(P)).  As in `linear`, theta = (W, v) has one column more, for a constant feature.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from gapless import rows as R
from gapless._compile.jit import compiled
from gapless._runtime.cached import lazy
from gapless.losses.compiled.softmax import entropy_row, softmax_row
from gapless.numbers import UNIT, gamma, length_of
from gapless.problems.examples.over_rows import OverRows
from gapless.problems.linear import constant_feature, largest_norm2
from gapless.problems.linear_sums import BLOCK, n_blocks

Tick = Callable[[], None] | None


class SoftmaxAtScores:
    """Scores Z and the probabilities P there; and those at the step length that was looked at last."""

    def __init__(self) -> None:
        self.Z = self.P = self.along = self.own_along = np.empty((0, 0))
        self.last: tuple[float, np.ndarray, float] | None = None  #: t, P and the loss


@dataclass(frozen=True, eq=False)
class Multinomial(OverRows):
    """P, D and the maps between them, for rows X, class indices y, weights c > 0 and K classes."""

    rows: R.Rows
    y: np.ndarray
    c: np.ndarray
    K: int
    offset: str

    #: Step lengths that one pass over the scores answers.
    steps_at_once: ClassVar[int] = 1

    @classmethod
    def build(cls, X: Any, y: np.ndarray, c: np.ndarray, K: int, offset: str, offset_scale: float = 1.0) -> Multinomial:
        rows = R.as_rows(X, constant_feature(offset, offset_scale))
        return cls(rows, np.ascontiguousarray(y, np.int64), np.ascontiguousarray(c, float), K, offset)

    @lazy
    def matrix(self) -> Any:
        """The rows as products of many vectors read them."""
        return R.as_matrix(self.rows)

    @lazy
    def R2(self) -> float:
        """The largest |x_i|^2, without the constant feature where the offset is free."""
        return largest_norm2(self.norms2, self.free)

    @lazy
    def class_weights(self) -> np.ndarray:
        """C_k"""
        return np.bincount(self.y, self.c, minlength=self.K)

    def split(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """theta -> (W, b)"""
        return theta[:, :-1], self.constant * theta[:, -1]

    def join(self, W: np.ndarray, b: np.ndarray) -> np.ndarray:
        """(W, b) -> theta"""
        v = np.asarray(b, float) / self.constant if self.constant else np.zeros(self.K)
        return np.column_stack([np.asarray(W, float), v])

    # -- values --------------------------------------------------------------------------------------------------

    def scores(self, theta: np.ndarray, tick: Tick = None) -> np.ndarray:
        """Z (n, K)"""
        return R.scores_many(self.rows, theta, tick, self.matrix)

    def combine(self, U: np.ndarray, tick: Tick = None) -> np.ndarray:
        """sum_i u_i x_i' (K, d + 1) for U (n, K)"""
        return R.combine_many(self.rows, U, tick)

    def penalty(self, theta: np.ndarray) -> float:
        W = theta[:, :-1] if self.free else theta
        return 0.5 * float(np.sum(W * W))

    def penalty_along(self, theta: np.ndarray, step: np.ndarray) -> tuple[float, float]:
        """The slope of the penalty along the step at theta, and its curvature along the step."""
        W, s = (theta[:, :-1], step[:, :-1]) if self.free else (theta, step)
        return float(np.sum(W * s)), float(np.sum(s * s))

    def gradient(self, theta: np.ndarray, data_part: np.ndarray) -> np.ndarray:
        """grad P, with minus the combined dual point at theta as ``data_part``."""
        gradient = data_part + theta
        if self.free:
            gradient[:, -1] = data_part[:, -1]
        return gradient

    def probabilities(self, Z: np.ndarray) -> tuple[np.ndarray, float]:
        """softmax of each row, and sum c l"""
        P = np.empty_like(Z)
        parts = np.empty(n_blocks(self.n))
        _softmax(Z, self.y, self.c, P, parts)
        return P, float(parts.sum())

    def loss_sum(self, Z: np.ndarray) -> float:
        return self.probabilities(Z)[1]

    def primal(self, theta: np.ndarray, Z: np.ndarray | None = None) -> float:
        return self.penalty(theta) + self.loss_sum(self.scores(theta) if Z is None else Z)

    def entropy(self, U: np.ndarray) -> float:
        """sum c H(p), the part of D that is not the penalty."""
        parts = np.empty(n_blocks(self.n))
        _entropies(U, self.y, self.c, parts)
        return float(parts.sum())

    def dual(self, U: np.ndarray, primal: float, combined: np.ndarray | None = None) -> float:
        """A lower bound on P*, from any upper bound on it; U is feasible."""
        combined = self.combine(U) if combined is None else combined
        below = self.entropy(U) - self.penalty(combined)
        if self.free:
            below -= self.offset_bound(primal) * float(np.abs(self.column_sums(U)).sum())
        return below

    def offset_bound(self, primal: float) -> float:
        """B of the module's text, rounded up."""
        C = self.class_weights
        if not np.all(C > 0.0):
            return np.inf
        spread = float(np.log(C.max() / C.min()))
        return 0.5 * (spread + 2.0 * np.sqrt(max(primal, 0.0) * self.R2)) * (1.0 + 1e-12)

    def gap(self, theta: np.ndarray, U: np.ndarray) -> float:
        primal = self.primal(theta)
        return primal - self.dual(U, primal)

    # -- at a point and along a step -----------------------------------------------------------------------------

    def new_point(self) -> SoftmaxAtScores:
        return SoftmaxAtScores()

    def move_to(self, at: SoftmaxAtScores, theta: np.ndarray, tick: Tick = None) -> float:
        """The scores of theta and the probabilities there; the loss."""
        at.Z, at.last = self.scores(theta, tick), None
        at.P, loss = self.probabilities(at.Z)
        return loss

    def slopes_along(self, at: SoftmaxAtScores, along: np.ndarray, ts: Sequence[float]) -> list[tuple[float, float]]:
        """Slope and curvature of the loss at the scores Z + t along, for each t."""
        if at.along is not along:
            at.along, at.own_along = along, along[np.arange(self.n), self.y]
        found = []
        for t in ts:
            P, loss = self.probabilities(at.Z + t * along)
            at.last = t, P, loss
            Q = P * along
            mean = Q.sum(axis=1)
            Q *= along
            spread = Q.sum(axis=1) - mean * mean
            found.append((float(self.c @ (mean - at.own_along)), float(self.c @ spread)))
        return found

    def move(self, at: SoftmaxAtScores, along: np.ndarray, t: float) -> float:
        """Go on to the scores Z + t along; the loss there."""
        at.Z = at.Z + t * along
        if at.last is not None and at.last[0] == t:
            _, at.P, loss = at.last
        else:
            at.P, loss = self.probabilities(at.Z)
        at.last = None
        return loss

    def bends(self, at: SoftmaxAtScores, k: int, j: int) -> np.ndarray:
        """c p_k (1 - p_k), or c p_k p_j for two classes: minus the weights of a block of the Hessian."""
        weighted = self.c * at.P[:, k]
        return weighted * (1.0 - at.P[:, k] if j == k else at.P[:, j])

    def shares(self, at: SoftmaxAtScores) -> np.ndarray:
        """c p (n, K)"""
        return self.c[:, None] * at.P

    def mean_bends(self, at: SoftmaxAtScores) -> np.ndarray:
        """The mean of c p (1 - p) over the classes, times K/(K - 1)."""
        return self.c * ((1.0 - np.sum(at.P * at.P, axis=1)) / (self.K - 1))

    def hessian_times(self, at: SoftmaxAtScores, V: np.ndarray, tick: Tick = None) -> np.ndarray:
        """The Hessian of the loss times V (K, d + 1)."""
        T = at.P * self.scores(V, tick)
        T -= at.P * T.sum(axis=1, keepdims=True)
        T *= self.c[:, None]
        return R.mix_many(self.rows, T, tick, self.matrix)

    # -- maps ----------------------------------------------------------------------------------------------------

    def zero_dual(self) -> np.ndarray:
        """U = 0: equal scores move no share."""
        return np.zeros((self.n, self.K))

    def dual_at(self, at: SoftmaxAtScores) -> np.ndarray:
        """The dual point of the probabilities that are at hand."""
        return self.dual_of(at.P)

    def balanced_dual_at(self, at: SoftmaxAtScores) -> np.ndarray:
        """The same, after the best offsets are put in where these are free."""
        return self.dual_of(self.probabilities(at.Z + self.best_offsets(at.Z))[0]) if self.free else self.dual_of(at.P)

    def column_sums(self, U: np.ndarray) -> np.ndarray:
        """sum_i u_i (K)"""
        return np.asarray(U.sum(axis=0))

    def dual_of(self, P: np.ndarray) -> np.ndarray:
        """u = c (e_y - p), exactly feasible: the entries of a row sum to 0, those of other classes to at least -c."""
        U = np.empty_like(P)
        # Shrunk by a few units in the last place: the shares of the other classes must not pass c, not even by rounding.
        _dual_of(P, self.y, self.c, 1.0 - 4.0 * self.K * UNIT, U)
        return U

    def repair(self, U: np.ndarray) -> np.ndarray:
        """A dual point moved into its domain: shares of other classes that are too large shrink, the own entry follows."""
        P = np.clip(-U / self.c[:, None], 0.0, 1.0)
        P[np.arange(self.n), self.y] = 0.0
        total = P.sum(axis=1)
        P /= np.maximum(total, 1.0)[:, None]
        return self.dual_of(P)

    def dual_from_primal(self, theta: np.ndarray, Z: np.ndarray | None = None) -> np.ndarray:
        """The dual point at the scores, after the best offsets are put in where these are free."""
        Z = self.scores(theta) if Z is None else Z
        if self.free:
            Z = Z + self.best_offsets(Z)
        return self.dual_of(self.probabilities(Z)[0])

    def best_offsets(self, Z: np.ndarray, steps: int = 50) -> np.ndarray:
        """The shifts b (K) that minimise the loss of Z + b: Newton in K numbers, steps halved while they go uphill."""
        b, least = np.zeros(self.K), np.inf
        P, value = self.probabilities(Z)
        for _ in range(steps):
            g = self.c @ P - self.class_weights
            steepest = float(np.abs(g).max())
            if steepest <= 1e-14 * self.class_weights.sum() or steepest > 0.5 * least:
                break
            H = -(P.T * self.c) @ P
            H[np.diag_indices(self.K)] += self.c @ P
            step = np.linalg.lstsq(H, -g, rcond=1e-13)[0]
            if -float(g @ step) <= 1e-12 * abs(value):
                # What is left to gain is rounding of the loss, which no comparison sees: whole steps, while slopes fall.
                b, least = b + step, steepest
                P, value = self.probabilities(Z + b)
                continue
            t = 1.0
            while t > 1e-6:
                P, new = self.probabilities(Z + b + t * step)
                if new <= value * (1 + 1e-15):
                    break
                t *= 0.5
            b, value = b + t * step, min(new, value)
        return b - b.mean()

    def primal_from_dual(self, U: np.ndarray) -> np.ndarray:
        """W = sum u x', and the best offsets for it."""
        theta = self.combine(U)
        if self.free:
            theta[:, -1] = 0.0
            theta[:, -1] = self.best_offsets(self.scores(theta))
        return theta

    def rounding(self, theta: np.ndarray, Z: np.ndarray, U: np.ndarray, combined: np.ndarray, primal: float) -> float:
        """A bound on |computed - exact| of P - D; see `linear`. The loss changes by at most twice the largest score."""
        d = self.d + 1
        sums = gamma(BLOCK + 64)
        costs, reach, total = self.rounding_sums(U)
        longest = float(np.sqrt(np.max(np.sum(theta * theta, axis=1))))
        error = 2.0 * gamma(d + 3) * longest * costs
        error += (sums + 16 * UNIT) * self.loss_sum(Z) + gamma(d + 3) * self.penalty(theta)
        combined_error = gamma(self.sum_length) * float(np.linalg.norm(reach))
        length = length_of(combined)
        error += combined_error * (length + 0.5 * combined_error) + gamma(self.K * d + 3) * 0.5 * length**2
        error += (sums + 16 * UNIT) * self.entropy(U) + 64 * UNIT * self.K * self.sum(self.c)
        if self.free:
            bound = self.offset_bound(primal)
            error += bound * (64 * UNIT * total + 1e-11 * float(np.abs(self.column_sums(U)).sum()))
        return error * (1.0 + 1e-10)

    def rounding_sums(self, U: np.ndarray) -> tuple[float, np.ndarray, float]:
        """Sums over the examples: c |x|, |u| |x| for each class, and |u|."""
        norms, sizes = np.sqrt(self.norms2) * (1.0 + 1e-12), np.abs(U)
        return float(self.c @ norms), sizes.T @ norms, float(sizes.sum())


@compiled
def _softmax(Z, y, c, P, parts):
    for k in range(parts.size):
        s = 0.0
        for i in range(k * BLOCK, min(y.size, (k + 1) * BLOCK)):
            s += c[i] * softmax_row(Z[i], y[i], P[i])
        parts[k] = s


@compiled
def _entropies(U, y, c, parts):
    for k in range(parts.size):
        s = 0.0
        for i in range(k * BLOCK, min(y.size, (k + 1) * BLOCK)):
            s += c[i] * entropy_row(U[i], y[i], c[i])
        parts[k] = s


@compiled
def _dual_of(P, y, c, shrink, U):
    for i in range(y.size):
        scale = c[i] * shrink
        total = 0.0
        for k in range(P.shape[1]):
            if k != y[i]:
                U[i, k] = -scale * P[i, k]
                total -= U[i, k]
        U[i, y[i]] = total
