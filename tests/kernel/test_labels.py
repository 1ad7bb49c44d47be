"""Certified labels: none is ever wrong, with b perturbed and gaps from 1e-1 to 1e-10."""

from __future__ import annotations

import numpy as np
import pytest

from gapless.judge.kernel.labels import safe_sides
from gapless.readings.slackness import certified_sides
from gapless.solvers.kernel.solve import solve_kernel
from gapless.solvers.loop import Stop
from tests.kernel.problems import random_problem


def wrong_and_certified(seed: int, naive: bool = False) -> tuple[int, int, int]:
    """How many labels of a disturbed point are wrong, how many it certifies, and how many there are."""
    problem = random_problem(
        seed, kind=("c_svc", "nu_svc", "one_class", "c_svc")[seed % 4], spread=5.0 * (seed % 3 == 0)
    )
    solution = solve_kernel(problem, Stop(1e-12, 10_000, None))
    if solution.status != "converged":
        return 0, 0, 0
    rng = np.random.default_rng(seed)
    size = 10.0 ** -rng.uniform(0.5, 10.5)
    beta = problem.repair(solution.u + size * problem.c * rng.normal(size=problem.n))
    scores = problem.scores(beta)
    scalars = problem.best_scalars(scores)
    scalars = scalars + size * 10.0 ** rng.uniform(-1.0, 1.0) * rng.normal(size=scalars.size)
    primal = problem.primal(beta, scalars, scores)
    gap = problem.gap(beta, scalars, scores, primal)
    rounding = problem.rounding(beta, scalars, scores, primal, primal - gap)
    norms = np.sqrt(problem.gram.diagonal + problem.gram.error)
    if naive:  # the offset taken for the optimal one: what is false
        reach = norms * np.sqrt(gap)
        h = problem.hinges(scalars, scores)
        sides = (h > reach).astype(int) - (h < -reach).astype(int)
    else:
        sides = certified_sides(
            scores,
            norms,
            problem.sign,
            problem.tau,
            problem.c,
            problem.totals,
            gap,
            rounding,
            float(np.abs(beta).max()),
        )
    best, c = solution.u, problem.c
    wrong = ((sides > 0) & (best < c * (1.0 - 1e-9))) | ((sides < 0) & (best > c * 1e-9))
    return int(wrong.sum()), int(np.count_nonzero(sides)), problem.n


def test_none_is_wrong():
    counts = np.array([wrong_and_certified(seed) for seed in range(200)])
    assert counts[:, 0].sum() == 0
    assert counts[:, 1].sum() > 0.3 * counts[:, 2].sum()


def test_with_the_offset_at_hand_some_are():
    """The rule without an enclosed offset is the false neighbour."""
    assert sum(wrong_and_certified(seed, naive=True)[0] for seed in range(200)) > 0


@pytest.mark.slow
def test_none_is_wrong_of_two_thousand():
    counts = np.array([wrong_and_certified(seed) for seed in range(2000)])
    assert counts[:, 0].sum() == 0


def test_an_offset_that_can_go_anywhere_certifies_nothing():
    one = np.ones(3)
    assert not safe_sides(-one, one, np.arange(3), one, one, one, (0.0,)).any()
