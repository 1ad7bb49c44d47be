"""Sparse penalties: sweeps over a matrix and over columns."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from gapless import losses
from gapless._warmup.samples import Samples
from gapless._warmup.step import Step
from gapless.problems.sparse.problem import SparseProblem
from gapless.registry import with_kernels
from gapless.solvers.sparse.columns import minimise_columns
from gapless.solvers.sparse.quadratic import Charge, minimise_gram


def steps(samples: Samples) -> Iterator[Step]:
    """The sweeps; they read float64 whatever the rows are."""
    users = with_kernels("sparse")
    yield Step("sweeps over columns, dense float64", users, partial(_sweep, samples))


def _go_on() -> None:
    """Nothing ends these solves."""


def _sweep(samples: Samples) -> None:
    X = samples.dense.astype(np.float64)
    n, d = X.shape
    y, c = samples.y.astype(np.float64), np.full(n, 1.0 / n)
    problem = SparseProblem.build(X, y, c, losses.BY_NAME["squared"], "free", 0.01, 0.0)
    W, w, charge = np.arange(d), np.zeros(d), Charge(0.01, 0.0, False)
    g = -problem.columns.combine(c * y)
    minimise_gram(problem.columns.gram(W, W, c), w, g, charge, 1e-3, _go_on)
    minimise_columns(problem, W, c, w, g, charge, 1e-3, _go_on)
