"""SMO on problems too large for one working set: nested parts, rows left out, both precisions, all five kinds."""

from __future__ import annotations

import time

import numpy as np
import pytest
import sklearn.svm
from sklearn.datasets import make_classification

import gapless
from gapless.gram.blocks import build_gram
from gapless.kernels import RBF
from gapless.problems.kernel import KernelDual, evaluate_point
from gapless.solvers.kernel.free_set import take_newton_steps
from gapless.solvers.kernel.inner_loop import take_pairs
from gapless.solvers.kernel.level import (
    NestedLevel,
    ProductPace,
    level_sizes,
    level_sizes_in_time,
    start_from_smaller_level,
)
from gapless.solvers.kernel.polish import polish
from gapless.solvers.kernel.smo import solve_level, solve_single_precision
from gapless.solvers.kernel.solve import solve_kernel
from gapless.solvers.loop import Ended, Loop, Stop


def data(n, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 4))
    signal = np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1]
    return X, signal, random


def problems(n, seed=0):
    X, signal, random = data(n, seed)
    matrix, c = build_gram(RBF(0.3), X), random.uniform(0.3, 3.0, n)
    y = np.where(signal + 0.3 * random.normal(size=n) > 0, 1.0, -1.0)
    target = signal + 0.2 * random.normal(size=n)
    return {
        "c_svc": KernelDual.c_svc(matrix, y, c),
        "nu_svc": KernelDual.nu_svc(matrix, y, c, 0.4),
        "epsilon_svr": KernelDual.epsilon_svr(matrix, target, c, 0.1),
        "nu_svr": KernelDual.nu_svr(matrix, target, c, 0.4),
        "one_class": KernelDual.one_class(matrix, c, 0.1),
    }


@pytest.mark.parametrize("kind", ["c_svc", "nu_svc", "epsilon_svr", "nu_svr", "one_class"])
def test_all_kinds_beyond_one_working_set(kind):
    """The gap is recomputed from beta alone, and beta is feasible: the equalities to rounding, the box exactly."""
    problem = problems(3000)[kind]
    solution = solve_kernel(problem, Stop(1e-5, 10_000))
    assert solution.status == "converged"
    beta = solution.u
    assert (beta >= 0.0).all()
    assert (beta <= problem.c).all()
    assert max(map(abs, problem.equality_residuals(beta))) <= 1e-12 * problem.c.sum()
    _, primal, _, gap = evaluate_point(problem, beta, problem.scores(beta))
    assert 0.0 <= gap <= 1e-5 * abs(primal)


def test_the_optimum_of_libsvm():
    X, signal, random = data(5000)
    y = np.where(signal + 0.3 * random.normal(size=5000) > 0, 1, -1)
    ours = gapless.SVC(C=2.0, gamma=0.3, tol=1e-8).fit(X, y)
    peer = sklearn.svm.SVC(C=2.0, gamma=0.3, tol=1e-6).fit(X, y)
    scale = np.abs(ours.decision_function(X)).max()
    assert np.abs(ours.decision_function(X) - peer.decision_function(X)).max() <= 1e-4 * scale
    assert abs(ours.n_support_ - peer.n_support_).max() <= 3


def test_the_same_bits_for_any_number_of_threads():
    X, y = make_classification(6000, 10, n_informative=6, random_state=0)
    models = [gapless.SVC(n_jobs=n).fit(X, y) for n in (1, 2, 3)]
    assert len({model.dual_coef_.tobytes() + model.intercept_.tobytes() for model in models}) == 1


def test_scores_follow_whoever_is_left_out():
    """After a level is solved its v are those of its u, for all variables."""
    problem = problems(4000)["c_svc"]
    loop, order = Loop(Stop(0.0, 10_000)), np.random.default_rng(1).permutation(4000)
    parts = level_sizes(problem, order)
    assert len(parts) == 1
    tiles = problem.gram.tiles(order, np.float64)
    small = NestedLevel(problem, tiles.first(1000), order[:1000], 4.0)
    small.set_point(np.zeros(1000), np.zeros(1000))
    assert solve_level(small, loop, 1e-3, np.random.default_rng(0))
    large = NestedLevel(problem, tiles, order)
    start_from_smaller_level(small, large, loop)
    assert abs(large.u.sum()) <= 1e-9 * np.abs(large.u).sum()
    assert np.abs(large.u).sum() == pytest.approx(np.abs(small.u).sum(), rel=0.05)
    for level in (small, large):
        if level is large:
            assert solve_level(large, loop, 1e-4, np.random.default_rng(0))
        chosen = order[: level.n]
        exact = problem.gram.block(chosen, chosen) @ level.u
        np.testing.assert_allclose(level.scores(), exact, atol=1e-10)


def test_a_start_by_parts_is_near_the_optimum():
    problem = problems(9000)["c_svc"]
    beta, _ = solve_single_precision(problem, Loop(Stop(0.0, 10_000)))
    _, primal, _, gap = evaluate_point(problem, beta, problem.scores(beta))
    assert gap <= 1e-4 * primal


def test_levels_are_as_small_as_the_time_that_is_left_asks(monkeypatch):
    """Scores of all 9,000 points by one support vector take 9 s here, 3 times that are kept for them: nothing is begun that
    could not be claimed in time."""
    problem, order = problems(9000)["c_svc"], np.random.default_rng(1).permutation(9000)
    usual = level_sizes(problem, order)
    assert usual == [2250, 9000]
    asked = []
    monkeypatch.setattr(ProductPace, "try_product", lambda pace, of: asked.append(of) or pace.note(1e6, 1e3))

    def sizes(seconds):
        return level_sizes_in_time(problem, order, Loop(Stop(0.0, 10_000, seconds)), ProductPace())

    assert sizes(None) == usual
    assert not asked
    assert sizes(27.0 * 2260) == usual
    assert sizes(27.0 * 2240) == [562, *usual]
    assert sizes(27.0 * 500) == [140, 562, *usual]
    assert sizes(1.0) == [140, 562, *usual]  # of fewer than 50 points nothing can be said
    started = Loop(Stop(0.0, 10_000, 5.0))
    with pytest.raises(Ended):
        solve_single_precision(problem, started)
    assert started.status == "time_limit"
    assert started.best_u is not None
    assert np.count_nonzero(started.best_u) * 27.0 <= 5.0


@pytest.mark.parametrize("limit", [0.02, 0.1])
def test_time_limits_leave_a_model_with_a_true_gap(limit):
    X, y = make_classification(12_000, 12, n_informative=8, flip_y=0.2, random_state=0)
    with gapless.config_context(convergence="ignore"):
        gapless.SVC(C=1e4, tol=1e-12, time_limit=0.5).fit(X[:3000], y[:3000])
        started, worked = time.perf_counter(), time.process_time()
        model = gapless.SVC(C=1e4, tol=1e-12, time_limit=limit).fit(X, y)
        taken, worked = time.perf_counter() - started, time.process_time() - worked
    assert model.status_ == "time_limit"
    assert (taken - limit) * min(1.0, worked / taken) <= 1.0  # one product in double precision is not cut
    assert gapless.verify(model, X, y)


class Short(Loop):
    """Its time is over at the given look at the clock."""

    def __init__(self, looks):
        super().__init__(Stop(0.0, 10_000))
        self.looks = looks

    def tick(self):
        self.looks -= 1
        if self.looks < 0:
            self.end("time_limit")


def test_what_is_offered_is_returned_at_the_end_of_time():
    problem = problems(9000)["c_svc"]
    offered = []
    for looks in (0, 3, 10, 30, 60):
        loop = Short(looks)
        try:
            solve_single_precision(problem, loop)
        except Ended:
            offered.append(loop.best_u is not None)
            if offered[-1]:
                assert max(map(abs, problem.equality_residuals(loop.best_u))) <= 1e-9 * problem.c.sum()
    assert not offered[0]
    assert sum(offered) >= 2


@pytest.mark.parametrize("kink", [0.0, 0.3])
def test_pairs_and_newton_steps_go_down_and_keep_the_sums(kink):
    random = np.random.default_rng(2)
    X = random.normal(size=(256, 3))
    K = build_gram(RBF(0.5), X).block(np.arange(256), np.arange(256))
    target = random.normal(size=256)
    low, high = -random.uniform(0.1, 2.0, 256), random.uniform(0.1, 2.0, 256)
    u = 0.5 * (low + high)
    sums = u.sum()
    v = target - K @ u

    def objective():
        return 0.5 * u @ K @ u - target @ u + kink * np.abs(u).sum()

    last = objective()
    for _ in range(6):
        take_pairs(K, None, np.diagonal(K).copy(), v, u, (low, high), [np.ones(256, bool)], 1e-12, 40, kink)
        assert objective() < last
        last = objective()
        take_newton_steps(K, v, u, low, high, np.zeros(256, np.int8), kink)
        assert objective() <= last + 1e-12
        last = objective()
        np.testing.assert_allclose(v, target - K @ u, atol=1e-9)
        assert u.sum() == pytest.approx(sums, abs=1e-10)
        assert ((u >= low) & (u <= high)).all()


def test_what_is_settled_is_the_optimum():
    """Whatever sets the polish starts from: also where every variable ends at a bound and the equality does not hold."""
    random = np.random.default_rng(9)
    settled = 0
    for _ in range(300):
        n = int(random.integers(3, 12))
        X, y = random.normal(size=(n, 2)), np.where(random.random(n) < 0.5, 1.0, -1.0)
        y[:2] = 1.0, -1.0
        problem = KernelDual.c_svc(build_gram(RBF(1.0), X), y, 0.3 * random.uniform(0.5, 2.0, n))
        beta = problem.repair(problem.c * random.integers(0, 3, n) / 2.0)
        found = polish(problem, Loop(Stop(0.0, 100)), beta, problem.scores(beta))
        settled += found.settled
        if found.settled:
            assert found.gap <= 1e-9 * float(problem.c.sum())
    assert settled > 100


def test_a_row_of_a_regression_crosses_zero_within_a_working_set():
    """With a large C most rows are free and change sides: a set that holds one side of each row alone takes 16 passes here."""
    random = np.random.default_rng(5)
    X = random.normal(size=(350, 7))
    y = X @ random.normal(size=7) + 2.0 * random.normal(size=350)
    with gapless.config_context(backend="numba"):
        model = gapless.SVR(C=100.0, gamma=0.02).fit(X, y)
    assert model.certificate_.relative_gap <= 1e-4
    assert model.certificate_.n_iter <= 4
    peer = sklearn.svm.SVR(C=100.0, gamma=0.02, tol=1e-5).fit(X, y)
    assert np.abs(model.predict(X) - peer.predict(X)).max() < 0.1 * np.std(y)
