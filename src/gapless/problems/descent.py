"""The same problems in the units of descent: a mean loss and lam.

    J(w, b) = lam/2 |w|^2 + 1/n sum_i p_i l(y_i, <w, x_i> + b),        mean of p = 1

J = lam P of `linear` (or of `multinomial`, K scores a row) with c_i = p_i / (n lam), so that both have the same minimum and
a gap of P is lam times one of J.  Steps are taken on J: the update of one example then reads as it stands in the textbooks,
and rates do not depend on n.  Without a penalty (lam = 0) c_i = p_i / n, J is the sum of losses alone, and has no gap; but of the
perceptron criterion the minimum is known, 0 at w = 0 and b = 0, with a penalty or without.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gapless import rows as R
from gapless._runtime.cached import lazy
from gapless._runtime.results import result
from gapless.losses import Softmax
from gapless.problems.linear import LinearProblem
from gapless.problems.linear_sums import LossAtScores
from gapless.problems.multinomial import Multinomial


@result
@dataclass(frozen=True, eq=False)
class LinearRisk:
    """J of a linear problem. ``lam`` is kept beside it: 1/sum(c) would be off by a rounding.

    Attributes
    ----------
    problem : the same problem as solvers see it, in the units of C
    lam : factor of the penalty; kept, since 1/sum(c) would be off by a rounding
    """

    problem: LinearProblem | Multinomial
    lam: float

    @classmethod
    def of(cls, problem: LinearProblem | Multinomial) -> LinearRisk:
        """J of a problem in the units of C: ``problem`` is a `LinearProblem` or a `Multinomial`."""
        return cls(problem, 1.0 / float(problem.c.sum()))

    @property
    def unit(self) -> float:
        """What J is in units of the sum of c l: lam, for c that were divided by it; 1 without a penalty."""
        return self.lam if self.lam > 0.0 else 1.0

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.problem.n

    @property
    def many(self) -> bool:
        """Whether a row has K scores."""
        return isinstance(self.problem, Multinomial)

    @property
    def loss(self) -> Any:
        """What one example costs."""
        return self.problem.loss if isinstance(self.problem, LinearProblem) else Softmax()

    @property
    def smooth(self) -> bool:
        """Whether the loss has a derivative everywhere."""
        return bool(np.isfinite(self.loss.largest_curvature))

    @property
    def squared(self) -> bool:
        """Whether targets are numbers, in units of their own."""
        return bool(self.loss.one_score and not self.loss.of_margin)

    @property
    def least(self) -> float | None:
        """The minimum of J, where it is known beforehand: the perceptron criterion is 0 at 0, on any data."""
        return self.loss.least_sum  # type: ignore[no-any-return]

    @property
    def least_told(self) -> str:
        """The same in words, and where it is; "" where it is not known."""
        b = " and b = 0" if self.problem.offset != "none" else ""
        return "" if self.least is None else f"its minimum is {self.least:g}, at w = 0{b}, on any data"

    @property
    def has_gap(self) -> bool:
        """Whether there is a lower bound on the minimum: a penalty makes one, by duality."""
        return self.lam > 0.0 or self.least is not None

    @property
    def shape(self) -> tuple[int, ...]:
        """Of theta inside: one entry (a score) more than there are features."""
        d = self.problem.d + 1
        return (self.problem.K, d) if isinstance(self.problem, Multinomial) else (d,)

    @property
    def weighted(self) -> bool:
        """Whether rows have different weights."""
        return self.p.size > 1

    @lazy
    def p(self) -> np.ndarray:
        """The weights, of mean 1; a single one where all are equal."""
        c = self.problem.c
        return np.ones(1) if c.size == 0 or c.min() == c.max() else c * (self.n * self.unit)

    # -- the user's theta: (w, b), without b where there is no offset ------------------------------------------------

    def shown(self, theta: np.ndarray) -> np.ndarray:
        """``theta`` as the user sees it: (w, b), or w alone where there is no offset."""
        constant = self.problem.rows.constant
        if constant == 0.0:
            return theta[..., :-1].copy()
        out = theta.copy()
        out[..., -1] *= constant
        return out

    def hidden(self, shown: np.ndarray) -> np.ndarray:
        """The inverse of `shown`; w alone is taken with b = 0."""
        d, constant = self.problem.d, self.problem.rows.constant
        out = np.zeros(self.shape)
        out[..., : shown.shape[-1]] = shown
        if shown.shape[-1] > d and constant:
            out[..., -1] /= constant
        return out

    # -- values ----------------------------------------------------------------------------------------------------

    def value(self, theta: np.ndarray) -> float:
        """J at ``theta``."""
        problem: Any = self.problem
        if self.lam > 0.0:
            return self.lam * problem.primal(theta)
        Z = problem.scores(theta)
        return problem.probabilities(Z)[1] if self.many else problem.loss_sum(Z)

    def pull(self, theta: np.ndarray) -> np.ndarray:
        """The gradient of 1/2 |w|^2, at ``theta``."""
        out = theta.copy()
        if self.problem.free:
            out[..., -1] = 0.0
        return out

    def value_and_gradient(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """J and its gradient at ``theta``."""
        problem: Any = self.problem
        Z = problem.scores(theta)
        if self.many:
            P, loss = problem.probabilities(Z)
            data = -problem.combine(problem.dual_of(P))
        else:
            g = np.empty_like(Z)
            loss, _, _ = problem.derivatives_along(LossAtScores(Z, g, np.empty_like(Z)), Z, 0.0)
            data = problem.combine(g)
        gradient = self.lam * (data + self.pull(theta)) if self.lam > 0.0 else data
        if problem.rows.constant == 0.0:
            gradient[..., -1] = 0.0
        return self.lam * (problem.penalty(theta) + loss) if self.lam > 0.0 else loss, gradient

    @lazy
    def smoothness(self) -> float:
        """L: the gradient changes by at most L |step|. Infinite for a loss with a kink.

        The largest eigenvalue of 1/n sum p x x' by Lanczos' method, at most its trace; 1 % is added for what the iteration
        leaves out.
        """
        if not self.smooth:
            return np.inf
        return self.lam + self.loss.largest_curvature * self._spread

    @lazy
    def _spread(self) -> float:
        """The largest eigenvalue of 1/n sum p x x', or a little more."""
        problem: Any = self.problem
        share = self.unit * problem.c
        return min(float(share @ problem.norms2), 1.01 * _largest_eigenvalue(problem, share))

    @property
    def smoothness_told(self) -> str:
        """Where L comes from, or why there is none."""
        if not self.smooth:
            return f"{type(self.loss).__name__} has a kink, where its slope jumps"
        bend = self.loss.largest_curvature
        penalty = f"lam {self.lam:.4g} + " if self.lam > 0.0 else ""
        return (
            f"L = {penalty}{bend:g} x {self._spread:.4g} = {self.smoothness:.4g}: the largest curvature of "
            f"{type(self.loss).__name__} times the largest eigenvalue of the mean of xx'"
        )

    # -- how far from the best -------------------------------------------------------------------------------------

    def certified(self, theta: np.ndarray, u: np.ndarray | None = None) -> tuple[float, float, np.ndarray]:
        """P(theta), and the best of the dual values that theta and u give; with its dual point. With a penalty only."""
        problem: Any = self.problem
        primal = problem.primal(theta)
        own = problem.dual_from_primal(theta)
        found = [own if self.many else problem.scale_dual(own)]
        if u is not None:
            found.append(problem.repair(u))
        best = max(found, key=lambda u: problem.dual(u, primal))
        return primal, problem.dual(best, primal), best

    def bounded(self, theta: np.ndarray, u: np.ndarray | None = None) -> tuple[float, float | None]:
        """J(theta), and a lower bound on its minimum, None where there is none. ``u`` is a dual point, where one is known."""
        if self.least is not None or self.lam == 0.0:
            return self.value(theta), self.least
        primal, dual, _ = self.certified(theta, u)
        return self.lam * primal, self.lam * dual if np.isfinite(dual) else -np.inf

    def __str__(self) -> str:
        problem: Any = self.problem
        loss = type(self.loss).__name__
        b = {"none": "", "free": " + b", "penalised": " + b"}[problem.offset]
        squares = "|w|^2 + b^2" if problem.offset == "penalised" else "|w|^2"
        what = f"{self.n:,} rows of {problem.d:,} features"
        penalty = f"{self.lam:g}/2 ({squares}) + " if self.lam > 0.0 else ""
        known = f"; {self.least_told}" if self.least_told else ""
        return f"J = {penalty}mean of {loss}(y, <w, x>{b}), {what}{known}"

    def __repr__(self) -> str:
        return f"<LinearRisk: {self}>"


def _largest_eigenvalue(problem: LinearProblem | Multinomial, share: np.ndarray, steps: int = 30) -> float:
    """Of X' diag(share) X, from below, by Lanczos' method with full orthogonalisation."""
    d = problem.d + 1
    q = np.random.default_rng(0).normal(size=d)
    q /= np.linalg.norm(q)
    basis, diagonal, beside = [q], [], []
    for _ in range(min(steps, d)):
        r = R.curved(problem.rows, share, basis[-1])
        diagonal.append(float(basis[-1] @ r))
        for earlier in basis:
            r -= (earlier @ r) * earlier
        length = float(np.linalg.norm(r))
        if not length > 1e-12 * max(diagonal):
            break
        beside.append(length)
        basis.append(r / length)
    k = len(diagonal)
    T = np.diag(diagonal) + np.diag(beside[: k - 1], 1) + np.diag(beside[: k - 1], -1)
    return float(np.linalg.eigvalsh(T)[-1]) if np.isfinite(T).all() else np.inf
