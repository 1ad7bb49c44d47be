"""Newton's method for multinomial logistic regression, any offset.

    minimise  P(W, b) = 1/2 |W|^2 + sum_i c_i [ln sum_k e^(z_ik) - z_iy_i]

The Hessian couples the classes: its block (k, l) is  sum_i c_i (p_ik [k = l] - p_ik p_il) x_i x_i',  plus the penalty.  Where
that costs less than some products with the data it is written out and factored; beyond, conjugate gradients solve for the step,
to the precision that it can use, preconditioned as well as pays (`_Products`); where examples are fewer than features the
dearest way is the inverse itself (`newton_system_softmax`).  With a free offset P does not change along
b + t: that direction gets a small ridge, and the b returned sums to 0.  As for two classes the gap costs nothing:

    P - D = 1/2 |grad_W P|^2 - b'r,     r = sum_i u_i,     less what D loses where r is not 0
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from gapless.problems.examples.protocol import Handle, SoftmaxExamples
from gapless.solvers.line_search import search_along
from gapless.solvers.linear.newton_point import NewtonProgress
from gapless.solvers.linear.thresholds import LINEAR_THRESHOLDS
from gapless.solvers.loop import Loop
from gapless.solvers.newton_system import FACTORED_COLUMNS, conjugate_gradients
from gapless.solvers.newton_system_softmax import ExamplesInverse

Map = Callable[[np.ndarray], np.ndarray]


def newton_softmax(problem: SoftmaxExamples, loop: Loop, start: np.ndarray | None = None) -> None:
    """Record points in ``loop``; go on beyond the tolerance where that is a small part of the fit."""
    theta = _first_theta(problem) if start is None else start.copy()
    progress, system, first = NewtonProgress(), _StepSystem(problem, loop), None
    at = problem.new_point()
    loss = problem.move_to(at, theta, loop.tick)
    while True:
        primal = problem.penalty(theta) + loss
        gradient, gap = _record(problem, loop, theta, at, primal)
        if not progress.is_worth_a_step(problem, loop, gap, equal=system.written) or progress.has_stalled(gap, primal):
            return
        size = float(np.linalg.norm(gradient))
        first = size if first is None else first
        # A gap of tol P needs a gradient of sqrt(2 tol P): closer than half of that is not worth an iteration.
        enough = 0.5 * np.sqrt(2.0 * loop.stop.relative_gap * max(primal, 0.0))
        # Far out the loss is no parabola: steps that take many products are not worth more digits, but a search along them.
        far = not system.written and gap > 1e-3 * primal
        tolerance = (
            max(min(0.3, (size / first) ** (0.25 if far else 0.5)), min(0.5, enough / size)) if size > 0.0 else 0.3
        )
        step = system.solve(at, -gradient, tolerance)
        if problem.constant == 0.0:
            step[:, -1] = 0.0
        along = problem.scores(step, loop.tick)
        t = _search(problem, theta, step, float(np.sum(gradient * step)), at, along, share=0.1 if far else 0.5)
        if t == 0.0:
            return
        theta, loss = theta + t * step, problem.move(at, along, t)
        if problem.free:
            theta[:, -1] -= theta[:, -1].mean()
        loop.advance()


def _first_theta(problem: SoftmaxExamples) -> np.ndarray:
    """W = 0, and the best free offsets for it, which the first steps would otherwise have to find."""
    theta, masses = np.zeros((problem.K, problem.d + 1)), problem.class_weights
    if problem.free and np.all(masses > 0.0):
        theta[:, -1] = np.log(masses) - np.log(masses).mean()
    return theta


def _record(
    problem: SoftmaxExamples, loop: Loop, theta: np.ndarray, at: Handle, primal: float
) -> tuple[np.ndarray, float]:
    """Record the point with its own dual point; grad P and the gap there."""
    U = problem.dual_at(at)
    combined = problem.combine(U, loop.tick)
    gradient = problem.gradient(theta, -combined)
    gap = problem.penalty(gradient)
    if problem.free:
        r, own = problem.column_sums(U), gap
        price = problem.offset_bound(primal) * float(np.abs(r).sum())
        gap += price - float(problem.constant * theta[:, -1] @ r)
        # Where sum u is not 0 its price hides the gap: balance the offsets first, for the dual point only.  Where W alone is not
        # there yet, no better dual point would help.
        if price > 0.1 * gap and own <= loop.stop.relative_gap * primal:
            balanced = problem.balanced_dual_at(at)
            lifted = problem.dual(balanced, primal)
            if primal - lifted < gap:
                U, gap = balanced, primal - lifted
    loop.record(theta, U, primal, primal - gap, ends=False)
    return gradient, gap


def few_examples(problem: SoftmaxExamples) -> bool:
    """Examples are fewer than features, and matrices of their size fit."""
    n = float(problem.n)
    return n <= problem.d and problem.K * n * n <= LINEAR_THRESHOLDS.softmax_examples_values


class _StepSystem:
    """The linear system of a step: written out and factored where that is cheaper than some products, else iterated."""

    def __init__(self, problem: SoftmaxExamples, loop: Loop) -> None:
        self.problem, self.loop = problem, loop
        side, few_products = problem.K * (problem.d + 1), 6.0
        self.ridge = np.ones(problem.d + 1)
        if problem.free:
            self.ridge[-1] = 1e-9 * problem.sum(problem.c) / problem.K  # P does not change along b + t
        self.can_write = (
            not few_examples(problem)
            and side <= FACTORED_COLUMNS
            and 0.5 * problem.n * float(side) ** 2 <= LINEAR_THRESHOLDS.softmax_multiplications
        )
        blocks = 0.5 * problem.K * (problem.K + 1)
        self.cost = blocks * _cost_of_gram(problem) + 0.02 * float(side) ** 3
        self.products = _Products(problem, loop, self.ridge)
        self.written = self.can_write and self.cost <= few_products * self.products.cost

    def solve(self, at: Handle, right: np.ndarray, tolerance: float) -> np.ndarray:
        """The step from this point; ``tolerance`` is what iterations may leave of the residual."""
        if not self.written:
            step = self.products.solve(at, right, tolerance)
            # Data on which a step took more products than the matrix would have cost is ill-conditioned.
            self.written = self.can_write and self.products.spent * self.products.cost > self.cost
            return step
        problem = self.problem
        H = _hessian(problem, self.loop, at)
        H[np.diag_indices_from(H)] += np.tile(self.ridge, problem.K)
        scale = 1.0 / np.sqrt(np.diag(H))
        H *= scale[:, None]
        H *= scale[None, :]
        flat = right.ravel() * scale
        for shift in (0.0, 1e-14, 1e-12, 1e-10):
            try:
                factor = cho_factor(H + shift * np.eye(scale.size) if shift else H, lower=True, check_finite=False)
            except LinAlgError:
                continue
            x = cho_solve(factor, flat, check_finite=False)
            x += cho_solve(factor, flat - H @ x, check_finite=False)
            return (x * scale).reshape(right.shape)
        raise FloatingPointError("the Hessian is not positive definite")


def _cost_of_gram(problem: SoftmaxExamples) -> float:
    call = 2e4  # ns: what a call costs on few rows
    return problem.gram_cost(problem.n) + call


def _hessian(problem: SoftmaxExamples, loop: Loop, at: Handle) -> np.ndarray:
    K, m = problem.K, problem.d + 1
    H = np.empty((K * m, K * m))
    for k in range(K):
        for j in range(k + 1):
            block = problem.gram(problem.bends(at, k, j), None, loop.tick)
            if j != k:
                np.negative(block, out=block)
            H[k * m : (k + 1) * m, j * m : (j + 1) * m] = block
            H[j * m : (j + 1) * m, k * m : (k + 1) * m] = block.T
    return H


class _Products:
    """Steps by conjugate gradients, which need two products with the data an iteration.

    Three preconditioners, each dearer and nearer to the Hessian than the one before: its diagonal; one matrix for all classes, by
    the mean of p(1 - p); its diagonal blocks.  With fewer examples than features: its diagonal, and its inverse.  The dearest
    is made that costs no more than the last step's products, and kept while it is not.
    """

    def __init__(self, problem: SoftmaxExamples, loop: Loop, ridge: np.ndarray) -> None:
        self.problem, self.loop, self.ridge = problem, loop, ridge
        K, m, stored = problem.K, problem.d + 1, float(problem.stored + problem.n)
        call = 4e4  # ns: what a product costs on few rows
        self.cost = 0.2 * stored * K + 3.0 * problem.n * K + call
        few_columns = m <= LINEAR_THRESHOLDS.softmax_block_columns
        gram = _cost_of_gram(problem) + 0.02 * float(m) ** 3 if few_columns else np.inf
        self.ways: list[tuple[float, Callable[[Handle], Map]]] = [(0.5 * stored * K, self._by_diagonal)]
        self.most = 500
        if few_examples(problem):
            inverse = 0.06 * (K + 0.5) * float(problem.n) ** 3 + call
            self.ways.append((inverse, self._by_inverse))
            # More products than the inverse costs, with that of the examples, would have been better spent on it.
            products = 0.03 * float(problem.n) * problem.stored
            self.most = min(self.most, max(10, int((inverse + products) / self.cost)))
        else:
            self.ways += [(gram, self._by_one_matrix), (K * gram, self._by_blocks)]
        self.inverse: ExamplesInverse | None = None
        self.squares: np.ndarray | None = None  #: the mean square of each column, by the costs
        self.way, self.more = -1, 0.0  # what the preconditioner adds to the cost of a product
        self.precondition: Map | None = None
        self.spent = 2  #: products of the last step

    def solve(self, at: Handle, right: np.ndarray, tolerance: float) -> np.ndarray:
        problem, tick, ridge = self.problem, self.loop.tick, self.ridge
        budget = 1.5 * self.spent * (self.cost + self.more)
        way = max((k for k, (cost, _) in enumerate(self.ways) if cost <= budget), default=0)
        if way >= self.way:
            self.way, self.precondition = way, self.ways[way][1](at)
        self.spent = 0

        def apply(V: np.ndarray) -> np.ndarray:
            self.spent += 1
            return ridge * V + problem.hessian_times(at, V, tick)

        assert self.precondition is not None
        return conjugate_gradients(
            apply, self.precondition, right, tolerance, most=self.most, product=lambda a, b: float(np.sum(a * b))
        )

    def _by_diagonal(self, at: Handle) -> Map:
        problem, every = self.problem, range(self.problem.K)
        if (
            not problem.sparse
        ):  # columns differ in their units more than in their examples: a pass for all points and classes
            if self.squares is None:
                self.squares = problem.squares(problem.c, self.loop.tick) / problem.sum(problem.c)
            masses = np.array([problem.sum(problem.bends(at, k, k)) for k in every])
            spread = masses[:, None] * self.squares + self.ridge
            return lambda V: V / spread
        diagonal = np.stack([problem.squares(problem.bends(at, k, k), self.loop.tick) + self.ridge for k in every])
        return lambda V: V / diagonal

    def _by_inverse(self, at: Handle) -> Map:
        if self.inverse is None:
            self.more = self.cost + float(self.problem.K) * float(self.problem.n) ** 2
            self.inverse = ExamplesInverse(self.problem, self.ridge, self.loop.tick)
        return self.inverse.at(at)

    def _by_one_matrix(self, at: Handle) -> Map:
        factor = self._factor(self.problem.mean_bends(at))
        return lambda V: cho_solve(factor, V.T, check_finite=False).T

    def _by_blocks(self, at: Handle) -> Map:
        factors = [self._factor(self.problem.bends(at, k, k)) for k in range(self.problem.K)]
        return lambda V: np.stack([cho_solve(f, v, check_finite=False) for f, v in zip(factors, V)])

    def _factor(self, weights: Handle) -> tuple[np.ndarray, bool]:
        block = self.problem.gram(weights, None, self.loop.tick)
        block[np.diag_indices_from(block)] += self.ridge + 1e-12 * np.diag(block).max()
        return cho_factor(block, lower=True, check_finite=False)


def _search(
    problem: SoftmaxExamples, theta: np.ndarray, step: np.ndarray, start: float, at: Handle, along: Handle, share: float
) -> float:
    """The t near 1 at which dP/dt has fallen to this ``share`` of its size, ``start``.

    Where examples can be separated losses fall like e^-t, and whole steps would be many: a small share is worth a search.
    """
    linear, square = problem.penalty_along(theta, step)

    def slopes(ts: Sequence[float]) -> list[tuple[float, float]]:
        found = problem.slopes_along(at, along, ts)
        return [(linear + t * square + data, square + curvature) for t, (data, curvature) in zip(ts, found)]

    return search_along(slopes, start, share=share, at_once=problem.steps_at_once)
