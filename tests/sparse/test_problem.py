"""The lower bound and the proof of zeros, attacked by random points; a false neighbour of each part of the formula is caught."""

from __future__ import annotations

import numpy as np
import pytest

from gapless.losses import BY_NAME
from gapless.problems.sparse.problem import DualPoint, SparseProblem
from gapless.solvers.loop import Stop
from gapless.solvers.sparse.solve import solve_sparse
from tests.sparse.problems import draw, upper_bound

SEEDS = range(30)


def problem_of(case):
    return SparseProblem.build(case.X, case.y, case.c, BY_NAME[case.kind], case.offset, case.l1, case.l2, case.positive)


class NoExcess(SparseProblem):
    """False: u may break |x_j'u| <= l1 for nothing."""

    def cost(self, v, primal):
        return 0.0


class HalfExcess(SparseProblem):
    """False: half the length bound."""

    def length_bound(self, primal):
        return 0.5 * super().length_bound(primal) if self.l2 == 0.0 else super().length_bound(primal)


class HalfSquares(SparseProblem):
    """False: sum e^2 / (4 l2) in place of sum e^2 / (2 l2)."""

    def cost(self, v, primal):
        e = self.excess(v)
        return 0.5 * super().cost(v, primal) if self.l2 > 0.0 and e.any() else super().cost(v, primal)


class NoOffsetTerm(SparseProblem):
    """False: sum u may be anything."""

    def offset_bound(self, primal):
        return 0.0


class ShortRadius(SparseProblem):
    """False: a ball for the zeros of a tenth of the radius."""

    @property
    def spreads(self):
        return 0.01 * SparseProblem.__dict__["spreads"].compute(self)


def attacked(kind):
    """(wrong lower bounds, wrong zeros, zeros claimed) of a kind of problem over all seeds."""
    above = false = claimed = 0
    for seed in SEEDS:
        case = draw(seed)
        made = problem_of(case)
        problem = kind(
            *(getattr(made, name) for name in ("columns", "y", "c", "loss", "offset", "l1", "l2", "positive"))
        )
        w, b, best = upper_bound(seed)
        r = np.random.default_rng(seed)
        for size in (0.0, 1e-6, 1e-3, 0.1, 1.0):
            v = w + size * r.normal(size=w.size) * (np.abs(w).max() + 0.01)
            v = np.maximum(v, 0.0) if case.positive else v
            point = problem.at(v, b + size * r.normal() * (case.offset == "free"))
            primal, u = problem.primal(point), -problem.slopes(point.z)
            u = problem.centred(u) if r.random() < 0.7 else u
            fits = case.l1 / max(1e-300, float(np.abs(case.X.T @ u).max()))
            for scale in (1.0, min(1.0, fits), 1.5 * fits, r.random()):
                dual = DualPoint(scale * u, problem.columns.combine(scale * u))
                below = problem.dual(dual, primal)
                above += below > best + 1e-9 * abs(best)
                if np.isfinite(below):
                    zeros = problem.proved_zeros(dual, primal - below, 0.0)
                    claimed += int(zeros.sum())
                    false += int((np.abs(w[zeros]) > 1e-3 * (1e-3 + np.abs(w).max())).sum())
    return above, false, claimed


def test_no_lower_bound_is_above_the_optimum_and_no_proved_zero_is_another_number():
    above, false, claimed = attacked(SparseProblem)
    assert (above, false) == (0, 0)
    assert claimed > 300


@pytest.mark.parametrize("kind", [NoExcess, HalfExcess, HalfSquares, NoOffsetTerm])
def test_a_false_neighbour_of_the_bound_is_caught(kind):
    assert attacked(kind)[0] > 0


def test_a_false_neighbour_of_the_radius_is_caught():
    assert attacked(ShortRadius)[1] > 0


@pytest.mark.parametrize("seed", range(30))
def test_the_solver_reaches_the_optimum(seed):
    case = draw(seed)
    problem = problem_of(case)
    solution = solve_sparse(problem, Stop(1e-9, 100_000))
    best = upper_bound(seed)[2]
    w, b = solution.theta[:-1], float(solution.theta[-1])
    assert solution.status == "converged"
    value = case.value(w, b)
    assert value <= best + 1e-8 * abs(best)
    assert solution.history[-1].dual <= best + 1e-12 * abs(best)
    assert not case.positive or (w >= 0.0).all()
