"""The interior point of kernel machines: the optimum of another solver, classes that nearly meet, w = 0, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

import gapless
from gapless.backends.numpy.kernel_gram import hold_rows
from gapless.kernels import RBF
from gapless.numbers import relative_gap
from gapless.problems.kernel import KernelDual, evaluate_point
from gapless.solvers.kernel import interior_point
from gapless.solvers.kernel.interior_point import solve_by_interior_point
from gapless.solvers.loop import Loop, Stop

from .problems import KINDS, optimum, random_problem


def solved(problem: KernelDual, gap: float, most: int = 80):
    loop = Loop(Stop(gap))
    with np.errstate(all="ignore"):
        found = solve_by_interior_point(problem, loop, gap)
    assert loop.n_iter <= most
    return found


@pytest.mark.parametrize("seed", range(60))
def test_it_finds_the_optimum_of_another_solver(seed):
    """Feasible, as near as was asked for, and on the right side of Clarabel's value."""
    problem, gap = random_problem(seed), (0.1, 1e-4, 1e-9)[seed // 5 % 3]
    found = solved(problem, gap)
    beta = found.beta
    assert (beta >= 0.0).all()
    assert (beta <= problem.c).all()
    assert max(map(abs, problem.equality_residuals(beta))) <= 1e-12 * problem.c.sum()
    figures = evaluate_point(problem, beta, problem.scores(beta))
    value = optimum(problem)[1]
    room = 1e-7 * abs(value) + 1e-9
    assert figures.gap <= max(gap * max(abs(figures.primal), abs(figures.primal - figures.gap)), problem.negligible_gap)
    assert figures.primal - figures.gap - room <= value <= figures.primal + room


def near_classes(n: int, nu: float, noise: float = 0.1) -> KernelDual:
    """Two noisy classes in the plane under a wide Gaussian: a matrix of few directions, and hulls that nearly meet."""
    random = np.random.default_rng(n)
    X = random.normal(size=(n, 2))
    y = np.where(X[:, 0] + 0.3 * X[:, 1] ** 2 + noise * random.normal(size=n) > 0.2, 1.0, -1.0)
    return KernelDual.nu_svc(hold_rows(RBF(0.2), X), y, random.uniform(0.5, 2.0, n), nu)


@pytest.mark.parametrize(("nu", "part"), [(0.3, 1e-2), (0.15, 1e-3), (0.1, 3e-4), (0.05, 1e-8)])
def test_classes_that_nearly_meet_take_as_few_steps(nu, part):
    """Where |w|^2 is a small ``part`` of what it can be."""
    problem = near_classes(500, nu)
    found = solved(problem, 1e-4, most=40)
    _, primal, _, gap = evaluate_point(problem, found.beta, problem.scores(found.beta))
    assert relative_gap(primal, primal - gap) <= 1e-4
    assert 0.0 > primal > -part * float(problem.largest(found.beta))


@pytest.mark.parametrize("kind", KINDS)
def test_a_factor_of_few_columns_gives_the_same(kind, monkeypatch):
    """K of few directions through its factor, and as a whole."""
    random = np.random.default_rng(7)
    X = random.normal(size=(260, 2))
    gram, c = hold_rows(RBF(0.1), X), random.uniform(0.5, 2.0, 260)
    y, target = np.where(X[:, 0] > 0.3 * random.normal(size=260), 1.0, -1.0), X[:, 0] + 0.3 * random.normal(size=260)
    problem = {
        "c_svc": lambda: KernelDual.c_svc(gram, y, c),
        "nu_svc": lambda: KernelDual.nu_svc(gram, y, c, 0.4),
        "epsilon_svr": lambda: KernelDual.epsilon_svr(gram, target, c, 0.1),
        "nu_svr": lambda: KernelDual.nu_svr(gram, target, c, 0.4),
        "one_class": lambda: KernelDual.one_class(gram, c, 0.3),
    }[kind]()
    assert isinstance(interior_point._system_of(problem, 1.0, Loop(Stop())), interior_point._Factored)
    few = solved(problem, 1e-6)
    monkeypatch.setattr(interior_point, "dpstrf", lambda K, lower: (K, np.arange(1, 261), 260, 0))
    assert isinstance(interior_point._system_of(problem, 1.0, Loop(Stop())), interior_point._Whole)
    whole = solved(problem, 1e-6)
    values = [evaluate_point(problem, each.beta, problem.scores(each.beta)) for each in (few, whole)]
    assert abs(values[0].primal - values[1].primal) <= values[0].gap + values[1].gap + 1e-14 * abs(values[0].primal)
    assert max(each.gap for each in values) <= 1e-6 * abs(values[0].primal)


def test_hulls_that_meet_are_named_in_few_steps():
    """w = 0 up to rounding: converged, and the certificate says that no relative gap exists."""
    random = np.random.default_rng(1)
    X = random.normal(size=(300, 2)) * [1.0, 1e-3]
    y = random.integers(0, 2, 300)
    model = gapless.NuSVC(nu=0.6).fit(X, y)
    assert model.certificate_.status == "converged"
    assert "interior_point" in model.certificate_.solver
    assert "w = 0" in str(model.certificate_)
    assert model.n_iter_.max() <= 200
    assert gapless.verify(model, X, y)


def test_a_class_at_its_bounds_leaves_no_inside():
    problem = near_classes(80, 0.3)
    smaller = min(problem.c[problem.sign > 0].sum(), problem.c[problem.sign < 0].sum())
    full = KernelDual.nu_svc(problem.gram, problem.sign, problem.c, 2.0 * smaller / problem.c.sum())
    assert solved(full, 1e-4) is None


@pytest.mark.parametrize("C", [1e-3, 1.0, 1e4])
def test_nu_svr_whose_tube_is_nothing(C):
    """Targets that a function of the kernel meets: eps is 0, and pairs moved hardly at all."""
    random = np.random.default_rng(3)
    X = random.normal(size=(70, 2))
    y = X @ [1.0, -2.0]
    model = gapless.NuSVR(C=C).fit(X, y)
    assert model.certificate_.status == "converged"
    assert gapless.verify(model, X, y)
