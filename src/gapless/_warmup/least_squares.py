"""Least squares, and the path of Ridge."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from gapless._warmup.samples import Samples
from gapless._warmup.step import Step
from gapless.estimators.least_squares import Ridge
from gapless.problems.least_squares import LeastSquares
from gapless.registry import with_kernels
from gapless.rows.second_moments import moments
from gapless.tuning.path.path import path


def steps(samples: Samples) -> Iterator[Step]:
    """Moments and residuals of dense rows; a path of Ridge on each variant of rows."""
    for name, X in samples.variants():
        yield Step(f"path of Ridge, {name}", ("path", "Ridge"), partial(_follow_path, samples, X))
        if "dense" in name:
            yield Step(f"least squares, {name}", with_kernels("least_squares"), partial(_take_moments, samples, X))


def _take_moments(samples: Samples, X: Any) -> None:
    problem = LeastSquares.build(X, samples.y[:, None].astype(np.float64), None, np.ones(1), True)
    w, b = np.zeros(problem.d), np.zeros(1)
    moments(problem.rows, None, problem.Y, w, b)
    problem.residuals(w[:, None], b)
    problem.own_gap(0, w, 0.0)


def _follow_path(samples: Samples, X: Any) -> None:
    path(Ridge(), X, samples.dense[:, 0] + samples.dense[:, 1] ** 2, [0.5, 1.0])
