"""How far scikit-learn's NuSVC, SVR, NuSVR and OneClassSVM end from their optimum: the gap of the dual point that they return.

    distance = sum of (P - D) over all pairs / sum of max(|P|, |D|)

D is the dual value of their point, moved onto its equalities; P the primal value of the same w with the best offset and rho or
epsilon.  Theirs may be worse: nobody is asked for more than what they reached.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.core.map_cells import Cell
from benchmarks.studies import kernel
from gapless.problems.kernel import KernelDual, KernelFigures, evaluate_point


def distance_of_kernel_machine(cell: Cell, model: Any, X: Any, y: np.ndarray, weights: np.ndarray | None) -> float:
    """For a model with a Gaussian kernel."""
    X = X.toarray() if sparse.issparse(X) else X
    c = float(cell.C or 1.0) * np.ones(len(y)) if weights is None else float(cell.C or 1.0) * weights
    found = [_figures(problem, X[rows], u, model._gamma) for problem, rows, u in _problems(cell, model, X, y, c)]
    return sum(each.gap for each in found) / sum(max(abs(each.primal), abs(each.dual)) for each in found)


def _problems(cell: Cell, model: Any, X: np.ndarray, y: np.ndarray, c: np.ndarray) -> Any:
    """Each problem, its rows, and the coefficients of scikit-learn's point there."""
    every = np.arange(len(y))
    if cell.estimator == "NuSVC":
        classes = np.unique(y)
        for (i, j), u in kernel.coefficients(model, X, y).items():
            rows = np.flatnonzero((y == classes[i]) | (y == classes[j]))
            sign = np.where(y[rows] == classes[i], 1.0, -1.0)
            problem = KernelDual.nu_svc(_known(rows.size), sign, c[rows], model.nu)
            own = u[rows] * sign
            mass = max(float(np.abs(own).sum()), 1e-300)
            yield problem, rows, sign * own * (problem.totals[1] / mass)  # scikit-learn's are divided by rho
        return
    u = np.zeros(len(y))
    dual = model.dual_coef_
    u[model.support_] = (dual.toarray() if sparse.issparse(dual) else np.asarray(dual))[0]
    gram = _known(len(y))
    if cell.estimator == "OneClassSVM":
        yield KernelDual.one_class(gram, c, model.nu), every, u
    elif cell.estimator == "SVR":
        yield KernelDual.epsilon_svr(gram, y.astype(float), c, model.epsilon), every, u
    else:
        yield KernelDual.nu_svr(gram, y.astype(float), c, model.nu), every, u


def _known(n: int) -> Any:
    """What a problem asks of a Gaussian matrix, besides the scores, which are given."""
    return SimpleNamespace(n=n, diagonal=np.ones(n))


def _figures(problem: KernelDual, X: np.ndarray, u: np.ndarray, gamma: float) -> KernelFigures:
    """The figures of a point, as it is or with its equalities mended, whichever are better."""
    beta = np.abs(u) if problem.at is None else problem.beta(u)
    found = []
    for each in (np.minimum(beta, problem.c), problem.repair(beta)):
        scores = kernel._scores(X, problem.u(each), gamma)
        found.append(evaluate_point(problem, each, scores))
    return min(found, key=lambda one: one.gap)
