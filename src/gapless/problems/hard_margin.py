"""The hard margin: the shortest w that keeps every example on its side of the margin.

    P(w, b) = 1/2 |w|^2           where y_i (<w, x_i> + b) >= 1 for all i, else infinite
    D(u)    = sum_i u_i y_i - 1/2 |sum_i u_i x_i|^2,     u_i y_i = alpha_i >= 0,   free offset: sum_i u_i = 0

It is the hinge with c = inf, whatever the weights of the examples: the loss is 0 or infinite, and only rows of weight 0 are
left out.  1/|w| is the distance of the margin boundary.  Weak duality needs no optimality, as for finite c: for a feasible
(w, b) and any such u,  D(u) <= sum_i alpha_i y_i f_i - 1/2 |V|^2 = <w, V> + b sum u - 1/2 |V|^2 <= P(w, b) + b sum u.

Whether y f >= 1 is decided with the rounding of f taken into account: `stretch_to_feasible` stretches a nearly feasible
(w, b) by the few units of rounding that make it so in exact arithmetic.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gapless import rows as R
from gapless._runtime.cached import lazy
from gapless.losses import Hinge
from gapless.numbers import UNIT, gamma
from gapless.problems.linear import LinearProblem
from gapless.problems.linear_sums import BLOCK, SLICE


class HardMargin(LinearProblem):
    """P, D and the maps between them, for rows X and signs y."""

    #: P is infinite where a margin is not kept.
    hard = True

    @classmethod
    def from_rows(cls, X: Any, y: np.ndarray, offset: str, offset_scale: float = 1.0) -> HardMargin:
        c = np.broadcast_to(np.inf, y.size)
        built = LinearProblem.build(X, np.asarray(y, np.int8), np.ones(0), Hinge(), offset, offset_scale)
        return cls(built.rows, built.y, c, built.loss, offset)

    def subset(self, index: np.ndarray, scale: float = 1.0) -> HardMargin:
        return HardMargin(R.take_rows(self.rows, index), self.y[index], self.c[index], self.loss, self.offset)

    # -- values --------------------------------------------------------------------------------------------------

    @lazy
    def norms(self) -> np.ndarray:
        """|x_i|, the constant feature included, rounded up."""
        return np.sqrt(self.norms2) * (1.0 + gamma(self.depth + 4))

    @lazy
    def depth(self) -> int:
        """The most products in one score."""
        longest = R.longest_row(self.rows)
        return int(longest) + 1

    def certain_margins(self, theta: np.ndarray, z: np.ndarray) -> np.ndarray:
        """y f of every row, less a bound on the rounding of its score z: Higham's gamma_k |x|.|w| for any order of the sum.

        |x| |w| in place of |x|.|w| is good enough for rows that are far from their margin.
        """
        k = gamma(self.depth + 8)
        margins = self.y * z
        sure = margins - k * (1.0 + 1e-10) * float(np.linalg.norm(theta)) * self.norms
        near = np.flatnonzero(sure < 1.0 + 1e-6)
        if near.size <= 100_000:  # of more rows the sums of products would cost as much as a pass
            part = R.take_rows(self.rows, near)
            part = part._replace(values=np.abs(part.values), constant=abs(part.constant))
            sure[near] = margins[near] - k * (1.0 + 1e-10) * R.scores(part, np.abs(theta))
        return sure

    def loss_sum(self, z: np.ndarray) -> float:
        raise NotImplementedError("a hard margin has no loss; `primal` asks whether it is kept")

    def primal(self, theta: np.ndarray, z: np.ndarray | None = None) -> float:
        """1/2 |w|^2, infinite unless every margin is kept for certain."""
        z = self.scores(theta) if z is None else z
        return self.penalty(theta) if float(self.certain_margins(theta, z).min()) >= 1.0 else np.inf

    def conjugate_sum(self, u: np.ndarray) -> float:
        return float((u * self.y).sum())

    def dual(self, u: np.ndarray, primal: float, combined: np.ndarray | None = None) -> float:
        """A lower bound on P*: D(u), less B|sum u| where the offset is free; ``primal`` is an upper bound on P*."""
        if self.free and not np.isfinite(primal) and float(u.sum()) == 0.0:
            combined = self.combine(u) if combined is None else combined
            return self.conjugate_sum(u) - self.penalty(combined)
        return super().dual(u, primal, combined)

    # -- maps ----------------------------------------------------------------------------------------------------

    def repair(self, u: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """alpha >= 0 and, where the offset is free, a sum of exactly 0.

        The class with the larger sum is scaled down; then alpha is rounded to multiples of one power of two, coarse enough that
        sums of them are exact, and the remaining difference is taken from the largest alpha.
        """
        alpha = np.maximum(u * self.y, 0.0)
        if self.free:
            plus = self.y > 0
            sums = float(alpha[plus].sum()), float(alpha[~plus].sum())
            if min(sums) <= 0.0:
                return np.zeros(self.n)
            for side, mine, other in ((plus, *sums), (~plus, *sums[::-1])):
                if mine > other:
                    alpha[side] *= other / mine
            grid = 2.0 ** (np.ceil(np.log2(min(sums))) - 51.0)
            if grid > 0.0 and np.isfinite(grid):
                alpha = np.round(alpha / grid) * grid
                for _ in range(4):
                    r = float(alpha[plus].sum() - alpha[~plus].sum())
                    if r == 0.0:
                        break
                    much = np.flatnonzero(plus if r > 0.0 else ~plus)
                    at = much[np.argmax(alpha[much])]
                    alpha[at] = max(0.0, alpha[at] - abs(r))
        found = alpha * self.y
        if out is None:
            return found
        out[...] = found
        return out

    def scale_dual(self, u: np.ndarray) -> np.ndarray:
        """t u with the t >= 0 that lifts D highest."""
        square = 2.0 * self.penalty(self.combine(u))
        return u * (max(0.0, self.conjugate_sum(u)) / square) if square > 0.0 else u

    def offset_interval(self, z: np.ndarray, near: float | None = None) -> tuple[float, float]:
        """The two ends of the best offsets; they are equal, since the best offset of a hard margin is unique."""
        b = self.best_offset(z)
        return b, b

    def best_offset(self, z: np.ndarray, near: float | None = None) -> float:
        """The b for which the smallest y (z + b) is largest."""
        plus, minus = self.y > 0, self.y < 0
        if not plus.any() or not minus.any():
            return 0.0
        return 0.5 * float((-z[minus]).min() - z[plus].min())

    def stretch_to_feasible(self, theta: np.ndarray) -> np.ndarray | None:
        """The multiple of (w, b) that keeps every margin, a free offset moved to its best value; None if no multiple does."""
        theta = theta.copy()
        for attempt in range(6):
            z = self.scores(theta)
            if self.free and attempt == 0:
                shift = self.best_offset(z)
                theta[-1] += shift
                z += shift
            sure = self.certain_margins(theta, z)
            at = int(np.argmin(sure))
            if not (sure[at] > 0.0 and np.isfinite(sure[at])):
                return None
            hidden = float(self.y[at] * z[at] - sure[at])
            if 1.0 <= sure[at] <= 1.0 + 4.0 * hidden + 1e-14:
                break
            # The scores of the stretched point are rounded anew: half of their bound more, and the point is certainly feasible.
            theta = theta * ((1.0 + 0.5 * hidden + 4.0 * UNIT) / sure[at])
        return theta

    @lazy
    def lengths(self) -> np.ndarray:
        """|x| of each row without the constant of a free offset, in whose sum the length of a small row would be lost."""
        return np.sqrt(R.norms2(self.rows._replace(constant=0.0))) * (1.0 + 1e-12)

    @lazy
    def R2(self) -> float:
        return float(self.lengths.max(initial=0.0)) ** 2 if self.free else super().R2

    def rounding(self, theta: np.ndarray, z: np.ndarray, u: np.ndarray, combined: np.ndarray, primal: float) -> float:
        """A bound on |computed - exact| of P - D, as for a finite c but without a loss."""
        d, reach, total = self.d + 1, 0.0, 0.0
        lengths = self.lengths if self.free else self.norms
        for start in range(0, self.n, SLICE):
            part = slice(start, min(self.n, start + SLICE))
            heights = np.abs(u[part])
            reach += float(heights @ lengths[part])
            total += float(heights.sum())
        error = gamma(d + 3) * self.penalty(theta)
        combined_error = gamma(min(R.sum_length(self.rows), self.n + 20.0)) * reach
        length = float(np.linalg.norm(combined))
        error += combined_error * (length + 0.5 * combined_error) + gamma(d + 3) * 0.5 * length**2
        error += gamma(min(BLOCK, self.n) + 80) * total
        if self.free:
            error += self.offset_bound(primal) * (64 * UNIT * total + 1e-11 * abs(float(u.sum())))
        return error * (1.0 + 1e-10)
