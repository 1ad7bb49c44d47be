"""Small kernel machines by numpy: LIBSVM's point, its cap, what it refuses, and what goes on from there."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import sklearn.svm
from sklearn.datasets import load_iris

import gapless
from gapless.backends.numpy import kernel_libsvm
from gapless.backends.numpy.kernel import solve_small
from gapless.backends.numpy.kernel_gram import hold_matrix, hold_rows
from gapless.backends.numpy.kernel_libsvm import run_libsvm
from gapless.gram.blocks import build_gram
from gapless.kernels import RBF, Linear, Polynomial, Precomputed
from gapless.problems.kernel import KernelDual, evaluate_point
from gapless.solvers.kernel.solve import solve_kernel
from gapless.solvers.loop import Stop

from .problems import KINDS, random_problem


def held(problem: KernelDual) -> KernelDual:
    """The same problem on a matrix that numpy holds."""
    every = np.arange(problem.n_points)
    gram = hold_matrix(Precomputed(), problem.gram.block(every, every))
    return KernelDual(gram, problem.at, problem.sign, problem.tau, problem.c, problem.totals, problem.kind)


@pytest.mark.parametrize("seed", range(60))
def test_both_backends_find_the_optimum(seed):
    """Their duals differ by at most the sum of their gaps, and both points are feasible."""
    problem = random_problem(seed)
    small, usual = solve_small(held(problem), Stop(1e-6)), solve_kernel(problem, Stop(1e-6))
    assert small.status == "converged"
    found = []
    for solution in (small, usual):
        beta = solution.u
        assert (beta >= 0.0).all()
        assert (beta <= problem.c).all()
        assert max(map(abs, problem.equality_residuals(beta))) <= 1e-12 * problem.c.sum()
        found.append(evaluate_point(problem, beta, problem.scores(beta)))
    ours, theirs = found
    assert ours.gap <= max(1e-6 * abs(ours.primal), problem.negligible_gap)
    assert abs(ours.primal - theirs.primal) <= ours.gap + theirs.gap + 1e-12 * abs(ours.primal)


@pytest.mark.parametrize("kernel", [RBF(0.3), RBF(40.0), Polynomial(3, 0.5, 1.0), Linear()])
@pytest.mark.parametrize("shift", [0.0, 1e5])
def test_the_matrix_is_that_of_tiles(kernel, shift):
    """Values, products, sizes and diagonal of rows, of some of them and of rows that stand twice."""
    random = np.random.default_rng(3)
    X = random.normal(size=(300, 7)) + shift
    if not kernel.of_distances:
        X = random.normal(size=(300, 7))
    twice = random.integers(0, 300, 400)
    small, usual = hold_rows(kernel, X).part(twice), build_gram(kernel, X[twice])
    room = 2.0 * (small.error + usual.error) + 1e-15
    rows, at, v = random.permutation(400)[:50], random.permutation(400)[:90], random.random(50)
    assert np.abs(small.block(rows, at) - usual.block(rows, at)).max() <= room
    assert np.abs(small.block(rows) - usual.block(rows)).max() <= room
    assert np.abs(small.product(rows, v) - usual.product(rows, v)).max() <= 50 * room
    assert np.abs(small.product(rows, v, at) - usual.product(rows, v, at)).max() <= 50 * room
    assert small.sizes(rows, v, at) == pytest.approx(usual.sizes(rows, v, at), rel=1e-6)
    assert small.diagonal == pytest.approx(usual.diagonal, abs=room)


def classes(n: int, noise: float = 0.5):
    random = np.random.default_rng(n)
    X = random.normal(size=(n, 4))
    return X, (np.sin(2.0 * X[:, 0]) + X[:, 1] + noise * random.normal(size=n) > 0.0).astype(int)


@pytest.mark.parametrize("name", ["SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM"])
def test_weights_are_repetitions_and_rows_have_no_order(name):
    """To the bit: gamma, the matrix and LIBSVM's point come from the distinct rows in an order of their own."""
    X, y = classes(120)
    random = np.random.default_rng(0)
    counts = random.integers(1, 4, len(y))
    again = random.permutation(np.repeat(np.arange(len(y)), counts))
    options = {"nu": 0.3} if name == "NuSVC" else {}
    weighted = getattr(gapless, name)(**options).fit(X, y, counts.astype(float))
    repeated = getattr(gapless, name)(**options).fit(X[again], y[again])
    assert weighted.certificate_.backend == repeated.certificate_.backend == "cpu numpy"
    assert weighted.intercept_ == pytest.approx(repeated.intercept_, abs=1e-9)
    new = random.normal(size=(50, 4))
    raw = "score_samples" if name == "OneClassSVM" else "predict" if name.endswith("R") else "decision_function"
    assert getattr(weighted, raw)(new) == pytest.approx(getattr(repeated, raw)(new), abs=1e-9)


def test_pairs_go_on_where_the_cap_ends_libsvm(monkeypatch):
    """A cap of a few steps: the fit still converges, and says who took part."""
    X, y = classes(150)
    monkeypatch.setattr(kernel_libsvm.Effort, "__new__", _few_steps(kernel_libsvm.Effort.__new__))
    monkeypatch.setattr(
        "gapless.backends.numpy.kernel.polish", lambda problem, loop, beta, scores, rounds: _as_it_is(beta, scores)
    )
    for solver in ("interior_point", "smo"):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = gapless.SVC(C=10.0).fit(X, y)
        assert model.certificate_.solver == f"libsvm+{solver}"
        assert model.certificate_.converged
        assert gapless.verify(model, X, y)
        monkeypatch.setattr("gapless.backends.numpy.kernel.solve_by_interior_point", lambda problem, loop, wanted: None)


def _few_steps(new):
    return lambda cls, violation, steps: new(cls, violation, 3)


def _as_it_is(beta, scores):
    from gapless.solvers.kernel.polish import PolishedPoint

    return PolishedPoint(beta, scores, np.inf, False)


def test_what_libsvm_refuses_goes_on_without_it(monkeypatch):
    def refuse(*args, **more):
        raise ValueError("no")

    X, y = classes(80)
    monkeypatch.setattr(sklearn.svm.SVC, "fit", refuse)
    model = gapless.SVC().fit(X, y)
    assert model.certificate_.solver == "smo"
    assert gapless.verify(model, X, y)


def test_our_class_in_the_place_of_scikit_learns_does_not_call_itself(monkeypatch):
    X, y = load_iris(return_X_y=True)
    usual = gapless.SVC().fit(X, y)
    monkeypatch.setattr(sklearn.svm, "SVC", gapless.SVC)
    again = sklearn.svm.SVC().fit(X, y)
    assert again.dual_coef_.tobytes() == usual.dual_coef_.tobytes()
    assert again.certificate_.solver.startswith("libsvm")


def test_max_iter_counts_passes_of_libsvm():
    """A pass is as many steps as there are rows; the fit that is cut short says so."""
    X, y = classes(600, noise=2.0)
    whole = gapless.SVC(C=100.0).fit(X, y)
    assert whole.certificate_.converged
    with pytest.warns(gapless.ConvergenceWarning, match="stopped at max_iter=1 "):
        cut = gapless.SVC(C=100.0, max_iter=1).fit(X, y)
    assert cut.n_iter_[0] == 1 < whole.n_iter_[0]
    assert cut.certificate_.relative_gap > whole.certificate_.relative_gap
    assert gapless.verify(cut, X, y)


def test_a_start_that_reaches_the_gap_needs_no_engine():
    X, y = classes(200)
    model = gapless.SVC(warm_start=True).fit(X, y)
    before = model.certificate_.dual
    model.fit(X, y)
    assert model.certificate_.solver == "none"
    assert model.certificate_.dual == pytest.approx(before, rel=1e-12)
    model.C = 3.0
    model.fit(X, y)
    assert model.certificate_.converged
    assert gapless.verify(model, X, y)


@pytest.mark.parametrize("kind", KINDS)
def test_libsvm_solves_the_problem_that_is_certified(kind):
    """Costs, totals and targets reach it in its own units: its repaired point is nearly optimal."""
    problem = held(random_problem(5, n=40, kind=kind))
    unit = 1.0 if kind == "c_svc" else float(np.std(problem.kinks(problem.scores(problem.start()))))
    point = run_libsvm(problem, kernel_libsvm.effort_for(1e-5, unit, 40, problem.n, (1000, 1, False)))
    assert point is not None
    found = evaluate_point(problem, point.beta, problem.scores(point.beta))
    assert found.gap <= 1e-3 * abs(found.primal)


def test_the_engine_warns_nobody_and_keeps_errors_that_are_not_its_own(monkeypatch):
    """That the cap on its steps was reached is for the certificate to say; a handler of a signal may raise while it runs."""
    random = np.random.default_rng(0)
    X, y = random.normal(size=(40, 3)), np.arange(40) % 2
    engine = kernel_libsvm.make_silent(sklearn.svm.SVC, kernel_libsvm.Effort(1e-9, 2), C=10.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert kernel_libsvm.run_engine(engine, X @ X.T, y, np.ones(40))
    assert int(engine.n_iter_[0]) == 2

    class Alarm(ValueError):
        pass

    def ring(*given, **named):
        raise Alarm

    monkeypatch.setattr(engine, "fit", ring)
    with pytest.raises(Alarm):
        kernel_libsvm.run_engine(engine, X @ X.T, y, np.ones(40))


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_weights_whose_squares_overflow_are_refused(backend):
    """In the words for what overflows: a power of Python's floats raised an OverflowError of its own."""
    random = np.random.default_rng(0)
    X, heavy = random.normal(size=(40, 3)), np.full(40, 1e300)
    with gapless.config_context(backend=backend), pytest.raises(ValueError, match="not finite.*large values"):
        gapless.NuSVC().fit(X, (X[:, 0] > 0) * 1, heavy)
