"""The same problems in the units of descent: a mean loss and lam.

    J(w, b) = lam/2 |w|^2 + 1/n sum_i p_i l(y_i, <w, x_i> + b),        mean of p = 1

J = lam P of `linear_erm` (or of `multinomial`, K scores a row) with c_i = p_i / (n lam), so that both have the same minimum and
a gap of P is lam times one of J.  Steps are taken on J: the update of one example then reads as it stands in the textbooks,
and rates do not depend on n.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gapless.losses import Hinge, Logistic, Squared, SquaredHinge
from gapless.problems._lazy import lazy
from gapless.problems.linear_erm import LinearERM
from gapless.problems.multinomial import Multinomial

#: The largest second derivative of each smooth loss; of softmax the largest eigenvalue of diag(p) - pp'.
LARGEST_BEND = {Logistic: 0.25, Squared: 1.0, SquaredHinge: 2.0}
SOFTMAX_BEND = 0.5


@dataclass(frozen=True, eq=False)
class LinearRisk:
    """J of a linear problem. ``lam`` is kept beside it: 1/sum(c) would be off by a rounding."""

    problem: LinearERM | Multinomial
    lam: float

    @classmethod
    def of(cls, problem: LinearERM | Multinomial) -> LinearRisk:
        return cls(problem, 1.0 / float(problem.c.sum()))

    @property
    def n(self) -> int:
        return self.problem.n

    @property
    def many(self) -> bool:
        """Whether a row has K scores."""
        return isinstance(self.problem, Multinomial)

    @property
    def smooth(self) -> bool:
        return isinstance(self.problem, Multinomial) or not isinstance(self.problem.loss, Hinge)

    @property
    def shape(self) -> tuple[int, ...]:
        """Of theta inside: one entry (a score) more than there are features."""
        d = self.problem.d + 1
        return (self.problem.K, d) if isinstance(self.problem, Multinomial) else (d,)

    @property
    def weighted(self) -> bool:
        return self.p.size > 1

    @lazy
    def p(self) -> np.ndarray:
        """The weights, of mean 1; a single one where all are equal."""
        c = self.problem.c
        return np.ones(1) if c.size == 0 or c.min() == c.max() else c * (self.n * self.lam)

    # -- the user's theta: (w, b), without b where there is no offset ------------------------------------------------

    def shown(self, theta: np.ndarray) -> np.ndarray:
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
        return self.lam * self.problem.primal(theta)

    def pull(self, theta: np.ndarray) -> np.ndarray:
        """The gradient of 1/2 |w|^2"""
        out = theta.copy()
        if self.problem.free:
            out[..., -1] = 0.0
        return out

    def value_and_gradient(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        problem: Any = self.problem
        Z = problem.scores(theta)
        if self.many:
            P, loss = problem.probabilities(Z)
            data = -problem.combine(problem.dual_of(P))
        else:
            g = np.empty_like(Z)
            loss, _, _ = problem.curve(Z, Z, 0.0, g, np.empty_like(Z))
            data = problem.combine(g)
        gradient = self.lam * (data + self.pull(theta))
        if problem.rows.constant == 0.0:
            gradient[..., -1] = 0.0
        return self.lam * (problem.penalty(theta) + loss), gradient

    @lazy
    def smoothness(self) -> float:
        """L: the gradient changes by at most L |step|. Infinite for a loss with a kink.

        The largest eigenvalue of 1/n sum p x x' by Lanczos' method, at most its trace; 1 % is added for what the iteration
        leaves out.
        """
        problem: Any = self.problem
        if not self.smooth:
            return np.inf
        bend = SOFTMAX_BEND if self.many else LARGEST_BEND[type(problem.loss)]
        share = self.lam * problem.c
        top = min(float(share @ problem.norms2), 1.01 * _largest_eigenvalue(problem, share))
        return self.lam + bend * top

    # -- how far from the best -------------------------------------------------------------------------------------

    def certified(self, theta: np.ndarray, u: np.ndarray | None = None) -> tuple[float, float, np.ndarray]:
        """P(theta), and the best of the dual values that theta and u give; with its dual point."""
        problem: Any = self.problem
        primal = problem.primal(theta)
        own = problem.dual_from_primal(theta)
        found = [own if self.many else problem.rescaled(own)]
        if u is not None:
            found.append(problem.repair(u))
        best = max(found, key=lambda u: problem.dual(u, primal))
        return primal, problem.dual(best, primal), best

    def __str__(self) -> str:
        problem: Any = self.problem
        loss = "softmax" if self.many else type(problem.loss).__name__
        b = {"none": "", "free": " + b", "penalised": " + b"}[problem.offset]
        squares = "|w|^2 + b^2" if problem.offset == "penalised" else "|w|^2"
        what = f"{self.n:,} rows of {problem.d:,} features"
        return f"J = {self.lam:g}/2 ({squares}) + mean of {loss}(y, <w, x>{b}), {what}"

    def __repr__(self) -> str:
        return f"<LinearRisk: {self}>"


def _largest_eigenvalue(problem: LinearERM | Multinomial, share: np.ndarray, steps: int = 30) -> float:
    """Of X' diag(share) X, from below, by Lanczos' method with full orthogonalisation."""
    from gapless import rows as R

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
