"""Complete, quasi or overlap: linear programs on growing subsets of rows say which, `separation_proofs` proves it.

    given  the rows a of `problems/separation`
    find   theta and alpha >= 0 with A theta >= 0, A'alpha = 0 and, in each row, a'theta > 0 or alpha > 0 (Goldman, Tucker)

One linear program on a subset R tells which rows are which (its dual is in Konis, 2007):

    minimise sum mu   subject to   A'alpha = 0,  alpha + mu >= 1,  alpha, mu >= 0

At every optimum mu is 0 or 1: mu = 0 and alpha >= 1 on the rows that every such theta has on its plane, mu = 1 on those that
the theta found, the multiplier of A'alpha = 0, has at a'theta >= 1.  Rows that theta gets wrong join R.  Where the rows of the
first kind have full rank, a subset's overlap is the whole's: there is no need to look at the others.

Where columns are many a machine is tried first: it often separates, and an exact look at its signs settles it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg, sparse

from gapless import losses
from gapless.problems.linear import LinearProblem
from gapless.problems.multinomial import Multinomial
from gapless.problems.separation import Separation
from gapless.solvers.exact.rational import Integers
from gapless.solvers.exact.signs import Direction, exact_signs
from gapless.solvers.exact.simplex import classify_exactly, simplex_is_small
from gapless.solvers.linear.solve import solve, solve_multinomial
from gapless.solvers.loop import Stop
from gapless.solvers.separation.columns import Sharp
from gapless.solvers.separation.frame import Frame, Undecided, linear_program
from gapless.solvers.separation.proofs import (
    Proof,
    complete,
    complete_by,
    exactly,
    inseparable,
    overlap,
    quasi,
    separated,
)
from gapless.solvers.separation.thresholds import SEPARATION_THRESHOLDS


def separate(problem: Separation, seed: int = 0, brief: bool = False) -> Proof:
    """Decide, and prove. Raises Undecided where rounding leaves no way to a proof.

    ``brief`` asks for less: some theta that has every row strictly on its side, or the smallest relation that was found
    which proves that there is none, of d + 2 rows at most. The first subset that has one is enough.
    """
    try:
        return _separate(problem, np.random.default_rng(seed), Frame, brief)
    except Undecided as error:
        undecided = error
    try:  # columns may be dependent but for rounding
        return _separate(problem, np.random.default_rng(seed), Sharp, brief)
    except Undecided:
        if not simplex_is_small(problem.n_pairs, problem.size):
            raise undecided from None
    A = problem.gather(np.arange(problem.n_pairs))
    whole = Integers(A.toarray() if sparse.issparse(A) else A)
    theta, alpha = classify_exactly(whole.values)
    return exactly(problem, whole, theta, alpha)


def _separate(problem: Separation, random: np.random.Generator, coordinates: type[Frame], brief: bool) -> Proof:
    limits, guess = SEPARATION_THRESHOLDS, None
    few_rows = problem.n <= limits.machine_rows_per_coefficient * problem.size
    if coordinates is Frame and problem.size >= limits.machine_coefficients and few_rows:
        guess = _guess_by_machine(problem)
        if np.isfinite(guess).all() and np.all(exact_signs(problem, Direction(guess)) > 0):
            return separated(problem, guess) if brief else complete_by(problem, guess)
    R = _choose_first_subset(problem, random, guess)
    for _ in range(limits.rounds):
        frame = coordinates(problem, R)
        A = frame.gather(R)
        theta, alpha = _solve_program(A)
        theta = theta.reshape(problem.K - 1, problem.width)
        held = alpha > 0.5
        if brief and held.any():
            return inseparable(problem, frame, R[held], random)
        space = _Space(A[held])
        if space.rank == problem.size:
            return overlap(problem, frame, R[held], random)
        wrong = _find_wrong_pairs(problem, frame, theta, space, R)
        if wrong.size == 0 and held.all():  # no row leaves the space
            return overlap(problem, frame, R, random)
        if wrong.size == 0:
            if held.any():
                return quasi(problem, frame, theta, R[held], R[~held], random)
            return complete(problem, frame, theta, R, brief)
        R = np.concatenate([R, wrong])
    raise Undecided(f"the rows did not settle in {limits.rounds} rounds")


def _guess_by_machine(problem: Separation) -> np.ndarray:
    """Fit a support vector machine, or softmax, to rows of length 1, nearly without a penalty. Returns its theta."""
    everything, limits = np.arange(problem.n), SEPARATION_THRESHOLDS
    frame = Frame(problem, problem.pairs(everything), shifted=False)
    x, cost = frame.examples(everything), np.full(problem.n, limits.machine_cost)
    if problem.K > 2 and problem.size <= limits.softmax_coefficients:
        softmax = Multinomial.build(x, problem.index, cost, problem.K, "none")
        W = softmax.split(solve_multinomial(softmax, Stop(1e-2, limits.machine_newton_steps)).theta)[0]
    else:  # one class against the rest
        lines = []
        for k in (1,) if problem.K == 2 else range(problem.K):
            y = np.where(problem.index == k, np.int8(1), np.int8(-1))
            machine = LinearProblem.build(x, y, cost, losses.BY_NAME["squared_hinge"], "none")
            stop = Stop(1e-2, limits.machine_passes)
            lines.append(machine.split(solve(machine, stop, solver="coordinate_descent").theta)[0])
        W = np.array(lines)
    theta = W if problem.K == 2 else W[1:] - W[0]
    return frame.back(np.asarray(theta, dtype=np.float64))


def _choose_first_subset(problem: Separation, random: np.random.Generator, theta: np.ndarray | None) -> np.ndarray:
    """Choose the first subset: all pairs where they are few, else a sample, half of it where a given theta fails most."""
    limits = SEPARATION_THRESHOLDS
    most = max(limits.first_rows_per_coefficient * problem.size, limits.first_rows)
    if problem.n_pairs <= (2 if theta is None else 1) * most:
        return np.arange(problem.n_pairs)
    if theta is not None:
        value = problem.values(theta).ravel()
        worst = np.argpartition(value, most // 2)[: most // 2]
        return np.union1d(worst, random.choice(problem.n_pairs, most // 2, replace=False))
    rows = np.sort(random.choice(problem.n, max(1, most // (problem.K - 1)), replace=False))
    return problem.pairs(rows)


def _solve_program(A: Any) -> tuple[np.ndarray, np.ndarray]:
    """Solve the program of the module's docstring for (theta, alpha)."""
    m = A.shape[0]
    T = sparse.csc_matrix(A.T) if sparse.issparse(A) else np.ascontiguousarray(A.T)
    stacked = sparse.hstack([T, -T], format="csc") if sparse.issparse(T) else np.hstack([T, -T])
    bounds = np.zeros((2 * m, 2))
    bounds[:m, 1], bounds[m:, 1] = np.inf, 1.0
    cost = np.concatenate([np.zeros(m), np.ones(m)])
    found = linear_program(cost, stacked, -np.asarray(A.sum(axis=0)).ravel(), bounds)
    return -found.eqlin.marginals, 1.0 + found.x[:m] - found.x[m:]


class _Space:
    """The span of some rows, and which rows lie in it (up to ``near``)."""

    def __init__(self, A: Any) -> None:
        self.rank, self.Q = 0, np.zeros((A.shape[1], 0))
        if A.shape[0] == 0:
            return
        dense = A.toarray() if sparse.issparse(A) else A
        if dense.shape[0] > 2 * dense.shape[1]:  # the same space, from a factor of fewer rows
            dense = np.linalg.qr(dense, mode="r")
        _, sigma, Vt = linalg.svd(dense, full_matrices=False)
        self.rank = int((sigma > SEPARATION_THRESHOLDS.near * max(1.0, float(sigma.max(initial=0.0)))).sum())
        self.Q = Vt[: self.rank].T

    def contains(self, A: Any) -> np.ndarray:
        """Whether each row lies in the space."""
        if sparse.issparse(A):
            A = A.toarray()
        left = A - (A @ self.Q) @ self.Q.T
        return np.sqrt(np.einsum("ij,ij->i", left, left)) <= SEPARATION_THRESHOLDS.near


def _find_wrong_pairs(problem: Separation, frame: Frame, theta: np.ndarray, space: _Space, R: np.ndarray) -> np.ndarray:
    """Find the pairs that join the subset: the worst with a'theta < 0, and pairs at 0 that lie outside the space."""
    value = frame.values(theta / max(1e-300, float(np.abs(theta).max()))).ravel()
    new = np.ones(value.size, dtype=bool)
    new[R] = False
    most = max(SEPARATION_THRESHOLDS.joining_rows, problem.size)
    below = np.flatnonzero(new & (value < -SEPARATION_THRESHOLDS.near))
    near = np.flatnonzero(new & (np.abs(value) <= SEPARATION_THRESHOLDS.near))
    joined = below[np.argsort(value[below], kind="stable")[:most]]
    unexplained: list[np.ndarray] = []
    step = max(1, (1 << 21) // problem.size)
    for start in range(0, near.size, step):
        part = near[start : start + step]
        unexplained.append(part[~space.contains(frame.gather(part))])
        if sum(map(len, unexplained)) >= most:
            break
    wrong = np.concatenate([joined, *unexplained])[: 2 * most].astype(np.int64)
    if 0 < wrong.size < most:  # the pairs just above 0 join too: they would be wrong in the next round
        above = np.flatnonzero(new & (value > SEPARATION_THRESHOLDS.near))
        wrong = np.concatenate([wrong, above[np.argsort(value[above], kind="stable")[: most - wrong.size]]])
    return wrong
