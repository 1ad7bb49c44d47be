"""C-SVC by a Cholesky factor of K, where SMO does not converge: kernels of huge or tiny values, large C.

K = LL' (Cholesky with pivots, of K over its largest diagonal value) are the inner products of the rows of L, and for rows an
interior point solves the problem, whatever the scale of C (`solvers/linear/solve`); where C does not bind it is a hard margin.
u is divided by the factor that K was multiplied by.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.linalg.lapack import dpstrf

from gapless.errors import NotSeparable
from gapless.losses import Hinge
from gapless.problems.kernel import KernelDual, KernelFigures, evaluate_point
from gapless.problems.linear import LinearProblem
from gapless.solvers.hard_margin.gram import hard_margin_gram
from gapless.solvers.linear.solve import solve
from gapless.solvers.loop import Loop, Watch


def solve_by_cholesky(problem: KernelDual, loop: Loop) -> np.ndarray | None:
    """A beta near the optimum of a C-SVC with one variable for each point; None where K has no factor."""
    loose_bound = 1e7  # times K scaled to 1: the bound c on alpha hardly ever binds above it, and the margin is hard
    every = np.arange(problem.n_points)
    K = problem.gram.block(every, every, tick=loop.tick)
    top = float(np.max(np.diagonal(K), initial=0.0))
    if not (np.isfinite(K).all() and top > 0.0):
        return None
    K /= top
    left = loop.stop
    if left.seconds is not None:
        left = replace(left, seconds=max(0.0, left.seconds - loop.seconds))
    found = []
    if float(problem.c.max()) * top > loose_bound:
        try:
            margin = hard_margin_gram(K, problem.sign, stop=replace(left, relative_gap=1e-10, passes=1000))
            found.append(np.abs(margin.u) / top)
        except NotSeparable:
            pass
        except ValueError as error:  # K is no matrix of inner products
            if type(error) is not ValueError:  # of the handler of a signal
                raise
    factor, order, rank, _ = dpstrf(K, lower=1)
    if rank > 0 and (not found or (found[0] > problem.c).any()):
        L = np.empty((K.shape[0], rank))
        L[order - 1] = np.tril(factor)[:, :rank]
        linear = LinearProblem.build(L, problem.sign.astype(np.int8), problem.c * top, Hinge(), "free")
        solution = solve(
            linear, replace(left, relative_gap=1e-9, passes=1000), watch=Watch(interruption=loop.interruption)
        )
        found.append(np.abs(solution.u) / top)
    best, least = None, np.inf
    for beta in found:
        beta = problem.repair(beta)
        gap = evaluate_point(problem, beta, problem.scores(beta, loop.tick))[3]
        if gap < least:
            best, least = beta, gap
    return best


def lengthen_until_no_hinge(
    problem: KernelDual, beta: np.ndarray, scores: np.ndarray, known: KernelFigures
) -> tuple[np.ndarray, np.ndarray]:
    """Multiply w by 1 + its largest hinge where no alpha is bounded and all hinges are rounding; return the better point.

    With a large C, hinges of a few units of rounding cost more than |w|^2; the longer w has no hinge. ``known`` are the
    figures of the given point.
    """
    if problem.kind != "c_svc" or (beta >= problem.c).any():
        return beta, scores
    scalars, _, _, gap = known
    worst = float(problem.hinges(scalars, scores).max(initial=0.0))
    if not 0.0 < worst < 1e-6:
        return beta, scores
    factor = (1.0 + 4.0 * np.finfo(float).eps) / (1.0 - 1.01 * worst)
    longer = beta * factor
    if (longer >= problem.c).any():
        return beta, scores
    own = problem.scores(longer)
    return (longer, own) if evaluate_point(problem, longer, own)[3] < gap else (beta, scores)
