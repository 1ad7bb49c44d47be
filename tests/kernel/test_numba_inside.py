"""Compiled fits whose classes nearly meet go on by an interior point where pairs stall."""

from __future__ import annotations

import numpy as np
import pytest

import gapless
from gapless.problems.kernel import evaluate_point
from gapless.solvers.kernel.solve import solve_kernel
from gapless.solvers.loop import Stop

from .test_interior_point import near_classes


@pytest.mark.parametrize("n", [300, 500])
def test_pairs_that_stall_are_left(n):
    """They ended as stalled."""
    problem = near_classes(n, 0.03)
    found = solve_kernel(problem, Stop(1e-4))
    assert found.status == "converged"
    assert found.solver == "smo+interior_point"
    _, primal, _, gap = evaluate_point(problem, found.u, problem.scores(found.u))
    assert gap <= max(1e-4 * abs(primal), 1e-10 * problem.largest(found.u))


def test_a_compiled_fit_of_classes_that_meet_ends():
    random = np.random.default_rng(1)
    X = random.normal(size=(300, 2)) * [1.0, 1e-3]
    y = random.integers(0, 2, 300)
    with gapless.config_context(backend="numba"):
        model = gapless.NuSVC(nu=0.6).fit(X, y)
    assert model.certificate_.status == "converged"
    assert "w = 0" in str(model.certificate_)
    assert gapless.verify(model, X, y)
