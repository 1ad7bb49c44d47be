"""Kernel machines: one form for all five.

    P(w, b, t) = 1/2 |w|^2 + T0 b + T1 t + sum_j c_j [h_j]+,      h_j = tau_j - s_j (<w, phi_j> + b) - t
    D(beta)    = tau'beta - 1/2 |sum_j s_j beta_j phi_j|^2,       0 <= beta <= c,   s'beta = T0,   1'beta = T1

with signs s_j = +-1.  t and the last equality are there in the nu forms only (otherwise t = 0).

    C-SVC        s = y, tau = 1, T0 = 0                                                        u = beta y
    eps-SVR      each row twice, s = +1 and -1, tau = s y - eps, T0 = 0                        u = beta+ - beta-
    one-class    s = 1, tau = 0, c = weight, T0 = nu sum(weight)                               rho = -b
    nu-SVC       s = y, tau = 0, c = weight, T0 = 0, T1 = nu sum(weight)                       rho = -t
    nu-SVR       each row twice, tau = s y, T0 = 0, T1 = C nu sum(weight)                      eps = t

The gap, row by row.  Let w = sum s beta phi exactly.  Then |w|^2 = sum beta s <w, phi>, and
sum_j beta_j h_j = tau'beta - |w|^2 - b s'beta - t 1'beta, so that

    P - D = sum_j ( (c_j - beta_j) [h_j]+ + beta_j [-h_j]+ ) + b (T0 - s'beta) + t (T1 - 1'beta):

terms that are none below 0, where P - D itself would lose all digits that P and D have in common.

An equality that is missed: P(w, b, t) >= D(beta) + b (T0 - s'beta) + t (T1 - 1'beta) for all (w, b, t), hence
P* >= D - B |T0 - s'beta| for any B >= |b*|; in the nu forms the two classes of s have a scalar each, b + t and t - b, and a
price each.  In nu-SVR eps* >= 0 (raising an eps < 0 by de saves at least (1 - nu) sum(c) de), so that 1'beta < T1 has none:
where eps* = 0 both variables of a row may be above 0, and what they have in common can be left away.  Some best scalar lies
at a kink, where h_j = 0: |b*| <= max|tau| + R |w*|, with |w*| <= sqrt(2P) where no term of P is below 0, and
|w*| <= R sum(beta) else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gapless._runtime.cached import lazy
from gapless.gram.blocks import Gram
from gapless.numbers import UNIT, gamma
from gapless.rows.products import Tick


@dataclass(frozen=True, eq=False)
class KernelDual:
    """P, D and the maps between them. ``at`` is the point of each variable, None where variable j belongs to point j."""

    gram: Gram
    at: np.ndarray | None
    sign: np.ndarray
    tau: np.ndarray
    c: np.ndarray
    totals: tuple[float, ...]
    kind: str

    # -- the five ------------------------------------------------------------------------------------------------

    @classmethod
    def c_svc(cls, gram: Gram, y: np.ndarray, c: np.ndarray) -> KernelDual:
        sign = np.ascontiguousarray(y, float)
        return cls(gram, None, sign, np.ones(sign.size), np.ascontiguousarray(c, float), (0.0,), "c_svc")

    @classmethod
    def nu_svc(cls, gram: Gram, y: np.ndarray, weight: np.ndarray, nu: float) -> KernelDual:
        sign = np.ascontiguousarray(y, float)
        c = np.ascontiguousarray(weight, float)
        return cls(gram, None, sign, np.zeros(sign.size), c, (0.0, nu * float(c.sum())), "nu_svc")

    @classmethod
    def epsilon_svr(cls, gram: Gram, y: np.ndarray, c: np.ndarray, epsilon: float) -> KernelDual:
        return cls._twice(gram, y, c, epsilon, (0.0,), "epsilon_svr")

    @classmethod
    def nu_svr(cls, gram: Gram, y: np.ndarray, c: np.ndarray, nu: float) -> KernelDual:
        """c = C weight"""
        return cls._twice(gram, y, c, 0.0, (0.0, nu * float(np.sum(c))), "nu_svr")

    @classmethod
    def one_class(cls, gram: Gram, weight: np.ndarray, nu: float) -> KernelDual:
        c = np.ascontiguousarray(weight, float)
        return cls(gram, None, np.ones(c.size), np.zeros(c.size), c, (nu * float(c.sum()),), "one_class")

    @classmethod
    def _twice(
        cls, gram: Gram, y: np.ndarray, c: np.ndarray, epsilon: float, totals: tuple[float, ...], kind: str
    ) -> KernelDual:
        n = len(y)
        sign = np.repeat([1.0, -1.0], n)
        tau = sign * np.concatenate([y, y]) - epsilon
        return cls(gram, np.tile(np.arange(n), 2), sign, tau, np.tile(np.asarray(c, float), 2), totals, kind)

    # -- shape ---------------------------------------------------------------------------------------------------

    @property
    def n(self) -> int:
        """The number of variables."""
        return self.sign.size

    @property
    def n_points(self) -> int:
        return self.gram.n

    @property
    def linear(self) -> np.ndarray:
        """p of the form min 1/2 beta'Q beta + p'beta."""
        return -self.tau

    @property
    def nu_form(self) -> bool:
        return len(self.totals) == 2

    @lazy
    def sides(self) -> tuple[tuple[np.ndarray, float], ...]:
        """The variables that share an equality, and what they sum to: all of them with their signs, or each sign alone."""
        if not self.nu_form:
            return ((np.arange(self.n), self.totals[0]),)
        T0, T1 = self.totals
        return ((np.flatnonzero(self.sign > 0), 0.5 * (T1 + T0)), (np.flatnonzero(self.sign < 0), 0.5 * (T1 - T0)))

    @lazy
    def kink(self) -> float:
        """eps of regression, from the tau of the row whose target is smallest, and so rounded least."""
        first, second = self.tau[: self.n_points], self.tau[self.n_points :]
        row = int(np.argmin(np.abs(first - second)))
        return max(0.0, -0.5 * float(first[row] + second[row]))

    @lazy
    def R2(self) -> float:
        """The largest K(x, x); infinite or NaN where one is."""
        return float(np.max(np.maximum(self.gram.diagonal, 0.0), initial=0.0))

    @lazy
    def negligible_gap(self) -> float:
        """The gap that counts as 0. Where w = 0 is optimal (nu-SVC with hulls that meet, one-class around the origin) P* is 0,
        and no relative gap is small.  P is a sum of terms as large as R^2 T^2."""
        if self.kind not in ("nu_svc", "one_class"):
            return 0.0
        found = 1e-14 * self.R2 * np.square(sum(total for _, total in self.sides))  # where `** 2` raises it is infinite
        return float(found) if np.isfinite(found) else 0.0

    def subset(self, index: np.ndarray, scale: float = 1.0) -> KernelDual:
        """The problem on some variables, their bounds multiplied by ``scale``."""
        at = index if self.at is None else self.at[index]
        c = self.c[index] * scale
        share = float(c.sum()) / float(self.c.sum())
        totals = tuple(total * share for total in self.totals)
        return KernelDual(self.gram, at, self.sign[index], self.tau[index], c, totals, self.kind)

    # -- maps ----------------------------------------------------------------------------------------------------

    def u(self, beta: np.ndarray) -> np.ndarray:
        """The coefficient of each point in w."""
        if self.at is None:
            return self.sign * beta
        return np.bincount(self.at, self.sign * beta, minlength=self.n_points)

    def beta(self, u: np.ndarray) -> np.ndarray:
        """The variables of coefficients u: of the two variables of a row at most one is above 0."""
        own = u if self.at is None else u[self.at]
        return np.maximum(self.sign * own, 0.0)

    def scores(self, beta: np.ndarray, tick: Tick | None = None) -> np.ndarray:
        """<w, phi> of every point."""
        u = self.u(beta)
        rows = np.flatnonzero(u)
        return self.gram.product(rows, u[rows], tick=tick)

    def to_variables(self, scores: np.ndarray) -> np.ndarray:
        """The scores of the variables' points."""
        return scores if self.at is None else scores[self.at]

    def kinks(self, scores: np.ndarray) -> np.ndarray:
        """Where b (nu forms: b + st) makes h_j = 0.  Also the gradient, -s dP/dbeta: pairs of it are what SMO compares."""
        return self.sign * self.tau - self.to_variables(scores)

    def hinges(self, scalars: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """h_j"""
        t = scalars[1] if self.nu_form else 0.0
        return self.tau - self.sign * (self.to_variables(scores) + scalars[0]) - t

    def intervals(self, scores: np.ndarray) -> list[tuple[float, float]]:
        """All best b; in the nu forms all best b + t and t - b."""
        kinks = self.kinks(scores)
        if not self.nu_form:
            positive = float(self.c[self.sign > 0].sum())
            return [quantile_interval(kinks, self.c, positive - self.totals[0])]
        return [
            quantile_interval(self.sign[side] * kinks[side], self.c[side], float(self.c[side].sum()) - total)
            for side, total in self.sides
        ]

    def best_scalars(self, scores: np.ndarray, intervals: list[tuple[float, float]] | None = None) -> np.ndarray:
        """(b,) or (b, t): the midpoint where it is an interval."""
        middles = [0.5 * (low + high) for low, high in intervals or self.intervals(scores)]
        if not self.nu_form:
            return np.array(middles)
        return np.array([0.5 * (middles[0] - middles[1]), 0.5 * (middles[0] + middles[1])])

    def repair(self, beta: np.ndarray) -> np.ndarray:
        """Move beta inside its box and onto its equalities; variables at a bound stay there while free variables have room. What
        the two variables of a regression's row have in common is taken away: it has no part in w."""
        out = np.minimum(np.maximum(beta, 0.0), self.c)
        for side, total in self.sides:
            if self.nu_form:
                s, part, c = np.ones(side.size), out[side], self.c[side]
            else:
                s, part, c = self.sign, out, self.c
            for turn in range(4):
                r = float(s @ part) - total
                if r == 0.0 or (turn and abs(r) <= UNIT * float(part.sum())):
                    break  # what is left is the rounding of the sum
                # Where s r > 0 a variable falls, elsewhere it rises.
                falls = s * r > 0.0
                room = np.where(falls, part, c - part)
                inside = np.where((part > 0.0) & (part < c), room, 0.0)
                use = inside if float(inside.sum()) >= abs(r) else room
                available = float(use.sum())
                if available <= 0.0:
                    break
                step = use * min(1.0, abs(r) / available)
                part = np.minimum(np.maximum(np.where(falls, part - step, part + step), 0.0), c)
            if self.nu_form:
                out[side] = part
            else:
                out = part
        if self.kind == "epsilon_svr":
            out = out - np.tile(np.minimum(out[: self.n_points], out[self.n_points :]), 2)
        return out

    def start(self) -> np.ndarray:
        """A feasible beta: 0, or the first variables at their upper bound until the equalities hold."""
        out = np.zeros(self.n)
        for side, total in self.sides:
            if total > 0.0:
                filled = np.cumsum(self.c[side])
                out[side] = np.clip(total - (filled - self.c[side]), 0.0, self.c[side])
        return self.repair(out)

    def is_infeasible(self) -> bool:
        """Whether no beta in the box keeps the equalities."""
        room = 1e-12 * float(self.c.sum())
        return any(
            total > float(self.c[side][self.sign[side] > 0].sum() if not self.nu_form else self.c[side].sum()) + room
            for side, total in self.sides
        )

    # -- values --------------------------------------------------------------------------------------------------

    def square(self, beta: np.ndarray, scores: np.ndarray) -> float:
        """|w|^2"""
        return float(self.u(beta) @ scores)

    def primal(self, beta: np.ndarray, scalars: np.ndarray, scores: np.ndarray) -> float:
        h = self.hinges(scalars, scores)
        linear = sum(total * float(value) for total, value in zip(self.totals, scalars))
        return 0.5 * self.square(beta, scores) + linear + float(self.c @ np.maximum(h, 0.0))

    def dual(self, beta: np.ndarray, scores: np.ndarray, primal: float) -> float:
        """A lower bound on P*: D less the price of the equalities."""
        return float(self.tau @ beta) - 0.5 * self.square(beta, scores) - self.equality_price(beta, primal)

    def largest(self, beta: np.ndarray) -> float:
        """A bound on |w|^2 of a feasible beta, the scale for P where w = 0 is optimal and P is 0.

        It does not change with a common shift of the rows, except for one class, whose problem depends on the origin.
        """
        if self.kind not in ("nu_svc", "nu_svr", "one_class"):
            return 0.0
        first, diagonal = np.zeros(1, dtype=np.int64), self.gram.diagonal
        spread = diagonal + diagonal[0] - 2.0 * self.gram.block(first)[0]
        square = self.R2 if self.kind == "one_class" else float(np.maximum(spread, 0.0).max(initial=0.0))
        return square * float(np.square(sum(total for _, total in self.sides)))

    def equality_residuals(self, beta: np.ndarray) -> list[float]:
        """T - s'beta of each side."""
        if not self.nu_form:
            return [self.totals[0] - float(self.sign @ beta)]
        return [total - float(beta[side].sum()) for side, total in self.sides]

    def equality_price(self, beta: np.ndarray, primal: float) -> float:
        missed = self.priced_residual(beta)
        return self.scalar_bound(primal, beta) * missed if missed else 0.0

    def priced_residual(self, beta: np.ndarray) -> float:
        """The sum of the equalities' residuals that have a price."""
        if self.kind == "nu_svr":  # eps* >= 0: a sum below T1 has no price
            return abs(float(self.sign @ beta)) + max(0.0, float(beta.sum()) - self.totals[1])
        return sum(map(abs, self.equality_residuals(beta)))

    def scalar_bound(self, primal: float, beta: np.ndarray) -> float:
        """B >= |b*| (nu forms: |b* + t*| and |t* - b*|) for some best b and t."""
        if self.kind in ("one_class", "nu_svc"):
            length = np.sqrt(self.R2) * float(sum(total for _, total in self.sides))
        else:
            length = np.sqrt(2.0 * max(primal, 0.0))
        top = float(np.abs(self.tau).max(initial=0.0))
        return float((top + np.sqrt(self.R2) * length) * (1.0 + 1e-12))

    def gap(self, beta: np.ndarray, scalars: np.ndarray, scores: np.ndarray, primal: float | None = None) -> float:
        """P - D, row by row, with the price of the equalities."""
        h = self.hinges(scalars, scores)
        rows = np.where(h > 0.0, (self.c - beta) * h, -beta * h)
        found = float(rows.sum())
        missed = self.equality_residuals(beta)
        if any(missed):
            primal = self.primal(beta, scalars, scores) if primal is None else primal
            off = [self.totals[0] - float(self.sign @ beta)]
            if self.nu_form:
                off.append(self.totals[1] - float(beta.sum()))
            found += sum(float(v) * r for v, r in zip(scalars, off)) + self.equality_price(beta, primal)
        return found

    def violation(self, beta: np.ndarray, scores: np.ndarray) -> float:
        """The largest pair of kinks in the wrong order: 0 at the optimum."""
        kinks = self.kinks(scores)
        worst = 0.0
        for side, _ in self.sides:
            s, part, c, v = self.sign[side], beta[side], self.c[side], kinks[side]
            up = np.where(s > 0, part < c, part > 0.0)
            low = np.where(s > 0, part > 0.0, part < c)
            if up.any() and low.any():
                worst = max(worst, float(v[up].max() - v[low].min()))
        return worst

    def rounding(self, beta: np.ndarray, scalars: np.ndarray, scores: np.ndarray, primal: float, dual: float) -> float:
        """A bound on the errors of the computed gap, of P and of D.

        A score is a sum of nSV products u K: its error is at most gamma_(nSV + 2) times the sum of |u| max|K|, plus the errors of
        the Gram matrix.  The gap's rows multiply it by at most max(c, beta) = c where h > 0 or beta > 0.  Where that bound is not
        small and the values have a relative bound, the sums of |u| K are computed, too: narrow kernels have few values above 0.
        h takes f + b from targets that may be far from 0: that sum is rounded by a unit of itself, and t by one of t.
        """
        u = np.abs(self.u(beta))
        mass, rows = float(u.sum()), np.flatnonzero(u)
        h = self.hinges(scalars, scores)
        sums = gamma(rows.size + 2)
        off: Any = mass * (self.gram.error + sums * self.R2)
        own = self.to_variables(scores)
        rounded = UNIT * (
            np.abs(own + scalars[0]) * ((own != 0.0) & (scalars[0] != 0.0)) + abs(scalars[-1]) * self.nu_form
        )
        felt = (h > -2.0 * (off + rounded)) | (beta > 0.0)
        feels = off * (float(self.c[felt].sum()) + mass)
        relative = self.gram.relative_error
        cheap = 2e7  # kernel values: some 20 ms on one core, little beside a fit
        small = 1e-9 if rows.size * self.n_points <= cheap else 1e-6
        if relative is not None and feels > small * (abs(primal) + abs(dual)):
            points = np.flatnonzero(felt if self.at is None else np.bincount(self.at, felt, minlength=self.n_points))
            off = np.zeros(self.n_points)  # the errors of all other scores do not change the gap
            off[points] = self.gram.sizes(rows, u[rows], points) * (relative + sums)
            own = off if self.at is None else off[self.at]
            felt &= (h > -2.0 * (own + rounded)) | (beta > 0.0)
            feels = float(self.c[felt] @ own[felt]) + float(u @ off)
        sizes = abs(primal) + abs(dual) + float(np.abs(self.tau) @ beta) + float(self.c @ np.maximum(h, 0.0))
        feels += float(self.c[felt] @ rounded[felt])
        error = feels + gamma(2 * 64 + int(np.sqrt(self.n)) + 32) * sizes
        bound = self.scalar_bound(primal, beta)
        error += bound * (
            gamma(self.n + 2) * float(beta.sum() + sum(map(abs, self.totals))) + 1e-11 * self.priced_residual(beta)
        )
        return error * (1.0 + 1e-9)


def quantile_interval(kinks: np.ndarray, c: np.ndarray, wanted: float) -> tuple[float, float]:
    """The smallest and the largest v that minimise sum_j c_j [k_j - v]+ less (sum c - wanted) times -v.

    The slope in v grows by c_j where v passes k_j, and is 0 once ``wanted`` is passed.
    """
    total = float(c.sum())
    slack = 4.0 * UNIT * c.size * total
    if wanted <= slack:
        return float(kinks.min()), float(kinks.min())
    if wanted >= total - slack:
        return float(kinks.max()), float(kinks.max())
    if (c == c[0]).all():  # the k-th smallest: c has been passed as often as there are kinks before
        first, last = int(np.ceil((wanted - slack) / c[0])) - 1, int((wanted + slack) / c[0])
        ends = max(first, 0), min(last, c.size - 1)
        some = np.partition(kinks, ends)
        return float(some[ends[0]]), float(some[ends[1]])
    order = np.argsort(kinks, kind="stable")
    passed = np.cumsum(c[order])
    first = int(np.searchsorted(passed, wanted - slack))
    last = int(np.searchsorted(passed, wanted + slack, side="right"))
    return float(kinks[order[min(first, c.size - 1)]]), float(kinks[order[min(last, c.size - 1)]])


class KernelFigures(NamedTuple):
    """A point's best scalars, P, D less the price of its equalities, and the gap summed row by row."""

    scalars: np.ndarray
    primal: float
    dual: float
    gap: float


def evaluate_point(problem: KernelDual, beta: np.ndarray, scores: np.ndarray) -> KernelFigures:
    """The figures of one beta, whose scores are known."""
    scalars = problem.best_scalars(scores)
    primal = problem.primal(beta, scalars, scores)
    return KernelFigures(
        scalars, primal, problem.dual(beta, scores, primal), problem.gap(beta, scalars, scores, primal)
    )
