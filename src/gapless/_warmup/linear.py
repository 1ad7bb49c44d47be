"""Linear support vector machines and logistic regression: each loss by each of its solvers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from gapless import losses
from gapless._warmup.names import users_of_loss
from gapless._warmup.samples import Samples
from gapless._warmup.step import Step
from gapless.certificates.subproblem import certify
from gapless.problems.linear import LinearProblem
from gapless.problems.multinomial import Multinomial
from gapless.registry import with_kernels
from gapless.rows import as_rows
from gapless.rows.copies.choose import COPY_THRESHOLDS
from gapless.rows.products import curved
from gapless.rows.weighted_gram import gram
from gapless.solvers.linear.solve import SOLVERS, can_minimise, solve, solve_multinomial
from gapless.solvers.loop import Stop


def steps(samples: Samples) -> Iterator[Step]:
    """Each loss × each solver × each variant of rows, and the copies of rows that solvers make."""
    svm, logistic = with_kernels("linear_svm"), with_kernels("logistic")
    for name, X in samples.variants():
        yield Step(f"softmax, {name}", logistic, partial(_solve_softmax, samples, X))
        yield Step(f"products of rows, {name}", (*svm, *logistic), partial(_multiply, samples, X))
        for kind, loss in losses.BY_NAME.items():
            for solver in SOLVERS:
                if can_minimise(solver, loss):
                    run = partial(_solve, samples, X, loss, solver)
                    yield Step(f"{kind} by {solver}, {name}", users_of_loss(kind), run)
    for kind, loss in losses.BY_NAME.items():
        for form, X in (("mostly zeros", samples.thin), ("of two values a column", samples.two_value)):
            solver = "semismooth" if kind == "hinge" else "newton"
            run = partial(_solve_on_copy, samples, X, loss, solver)
            yield Step(f"{kind}, dense, {form}", users_of_loss(kind), run)
    yield Step("hinge by coordinate_descent, CSR rows of ones", svm, partial(_solve_ones, samples))


def _problem(samples: Samples, X: Any, loss: Any) -> LinearProblem:
    return LinearProblem.build(X, samples.y, np.ones(samples.y.size), loss, "free")


def _solve(samples: Samples, X: Any, loss: Any, solver: str) -> None:
    problem = _problem(samples, X, loss)
    solution = solve(problem, Stop(1e-6, 20), solver=solver)
    certify(problem, solution, tol=1e-6)
    problem.dual_from_primal(solution.theta)
    problem.best_offset(problem.scores(solution.theta))


def _solve_on_copy(samples: Samples, X: np.ndarray, loss: Any, solver: str) -> None:
    """Solve on the copy of the rows that full passes read fastest."""
    problem = _problem(samples, X, loss)
    problem.use_fast_copy(0)
    solve(problem, Stop(1e-6, 20), solver=solver)
    curved(problem.pass_rows, problem.c, np.ones(problem.d + 1))


def _multiply(samples: Samples, X: Any) -> None:
    """Multiply rows that are filled into tiles: dense ones of many columns, sparse ones with few zeros."""
    n = samples.y.size
    full = sparse.csr_matrix(samples.dense.astype(X.dtype)) if sparse.issparse(X) else np.tile(X, 40)
    for single in (False, True):
        gram(as_rows(full, 1.0), np.ones(n), np.arange(n), single=single)


def _solve_softmax(samples: Samples, X: Any) -> None:
    n = samples.y.size
    problem = Multinomial.build(X, np.arange(n) % 3, np.ones(n), 3, "free")
    certify(problem, solve_multinomial(problem, Stop(1e-6, 20)), tol=1e-6)


def _solve_ones(samples: Samples) -> None:
    """Solve on rows of ones of many lengths, enough of them for the copy of their column numbers alone."""
    times = COPY_THRESHOLDS.random_values // 1250
    signs = np.tile(samples.y[:50], times)
    ones = sparse.csr_matrix(np.tile(np.tri(50), (times, 1)))
    problem = LinearProblem.build(ones, signs, np.ones(signs.size), losses.BY_NAME["hinge"], "free")
    solve(problem, Stop(1e-6, 2), solver="coordinate_descent")
