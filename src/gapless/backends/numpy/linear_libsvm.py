"""Linear machines with hinge loss on few rows: the dual point of every class by LIBSVM, which scikit-learn brings compiled.

The products of the rows with each other are the matrix of all classes. A first fit of some hundred rows otherwise is mostly
calls. Nothing that LIBSVM says is believed: its point is repaired, and one whose gap is above the tolerance is left to our
solvers. It knows neither a time limit nor Ctrl-C: a cap on its steps, some milliseconds, ends it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from sklearn.svm import SVC

from gapless.backends.numpy.kernel_libsvm import Effort, make_silent, run_engine
from gapless.numbers import relative_gap
from gapless.problems.linear import LinearProblem
from gapless.rows.in_numpy import by_numpy, row_products
from gapless.solvers.loop import Loop, Stop, Watch
from gapless.solvers.solution import Event, Solution


def suits_libsvm(problem: LinearProblem, stop: Stop) -> bool:
    """Whether numpy computes here, the offset is LIBSVM's, rows are few, and no smaller gap is asked for than it can give."""
    most_rows, least_gap = 700, 3e-5  # LIBSVM holds its matrix in single precision
    least_passes = 50  # it counts other steps than ours: a fit that is to be stopped early keeps to ours
    few = 1 < problem.n <= most_rows and stop.relative_gap >= least_gap and stop.passes >= least_passes
    return few and problem.free and by_numpy(problem.rows)


def libsvm_of_classes(
    problem: LinearProblem, signs: np.ndarray, order: np.ndarray | None, stop: Stop, watch: Watch
) -> dict[int, Solution]:
    """The solutions of the classes whose gap is small enough, by their number; ``signs`` (n, K) has +1 for the rows of a class.

    ``order`` is one of the rows that does not depend on theirs: LIBSVM sees them in it, so that equal problems go one way.
    """
    loop, at = Loop(stop, watch), np.arange(problem.n) if order is None else order
    found: dict[int, Solution] = {}
    with np.errstate(all="ignore"), loop.catch_end():
        if not by_numpy(problem.rows) or not np.isfinite(problem.R2):
            return found
        products = row_products(problem.rows, at)
        for k in range(signs.shape[1]):
            own = replace(problem, y=signs[:, k].astype(np.int8))
            own.__dict__.update({name: problem.__dict__[name] for name in ("norms2", "R2") if name in problem.__dict__})
            solution = _solve(own, products, at, loop)
            if solution is not None:
                found[k] = solution
                if watch.callback is not None:
                    watch.callback(solution.history[0])
    return found


def _solve(problem: LinearProblem, products: np.ndarray, at: np.ndarray, loop: Loop) -> Solution | None:
    """The solution of one class, in a second try where the first shows which violation belongs to the gap."""
    n, tolerance = problem.n, loop.stop.relative_gap
    affordable = 5_000 + int(1e6 / n)  # steps: some 5 to 20 ms, about twice what our solvers take
    most = max(1, min(affordable, loop.stop.passes * n))
    turn = int(problem.y[at[0]])  # a class and the rest go the same way, whichever of the two is +1
    violation, steps = max(0.3 * tolerance, 1e-5), 0
    for _ in range(2):
        loop.tick()
        engine = make_silent(SVC, Effort(violation, most), C=1.0, random_state=0)
        if not run_engine(engine, products, turn * problem.y[at], problem.c[at]):
            return None
        u = np.zeros(n)
        u[at[engine.support_]] = turn * engine.dual_coef_[0]
        u = problem.repair(u)
        combined = problem.combine(u)
        theta = problem.primal_from_dual(u, combined)
        scores = problem.scores(theta)
        primal = problem.primal(theta, scores)
        dual = problem.dual(u, primal, combined)
        last, gap = int(np.max(engine.n_iter_)), relative_gap(primal, dual)
        steps += last
        if gap <= tolerance:
            passes = max(1, -(-steps // n))
            past = [Event(passes, loop.seconds, primal, dual)]
            return Solution(
                theta, u, "converged", passes, loop.seconds, "libsvm", past, scores=scores, combined=combined
            )
        violation *= 0.3 * tolerance / gap
        if last >= most or not violation >= 1e-7:
            return None
    return None
