"""Newton by conjugate gradients: the sample's factor, the same factor for many steps, and rows that a sample misses."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit

from gapless import losses
from gapless import rows as R
from gapless.problems.linear import LinearProblem
from gapless.solvers import newton_system as normal_equations
from gapless.solvers.linear import newton as newton_file
from gapless.solvers.linear import newton_point
from gapless.solvers.linear.solve import solve
from gapless.solvers.linear.thresholds import LINEAR_THRESHOLDS
from gapless.solvers.loop import Stop
from gapless.solvers.newton_system_cg import NewtonSystemCG


def problem(n, d, offset="none", kind="dense", loss="logistic", seed=0, scales=True):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d))
    if scales:
        X *= 10.0 ** random.uniform(-3, 3, d)
    if kind == "csr":
        X *= random.random((n, d)) < 0.2
    y = np.where(X @ (random.normal(size=d) / np.maximum(X.std(axis=0), 1e-12)) + random.normal(size=n) > 0, 1.0, -1.0)
    X = sparse.csr_matrix(X) if kind == "csr" else X
    return LinearProblem.build(X, y, np.full(n, 0.7), losses.BY_NAME[loss], offset)


@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize("offset", ["none", "free"])
def test_the_step_solves_the_system(kind, offset):
    """Against the matrix, written out by numpy, on columns whose units differ by 1e6."""
    P = problem(5_000, 40, offset, kind)
    random = np.random.default_rng(1)
    h, right = random.random(5_000), random.normal(size=41)
    X = np.column_stack([P.rows.values if kind == "dense" else _dense(P.rows), np.full(5_000, P.rows.constant)])
    ridge = np.append(np.ones(40), 1e-3)
    step = NewtonSystemCG(P).solve(h, right, 1e-3, 1e-9 * float(np.linalg.norm(right)))
    left = (X.T * h) @ (X @ step) + ridge * step - right
    assert np.linalg.norm(left) <= 1e-7 * np.linalg.norm(right)


def _dense(rows):
    return sparse.csr_array(
        (rows.values, rows.indices, rows.indptr), shape=(rows.indptr.size - 1, rows.n_features)
    ).toarray()


def test_rows_that_the_sample_misses():
    """Ten rows outweigh all others together, in directions of their own: the sample cannot know them."""
    P = problem(20_000, 60, scales=False)
    heavy = np.random.default_rng(2).choice(20_000, 10, replace=False)
    P.rows.values[heavy] *= 1e5
    random = np.random.default_rng(3)
    h, right = random.random(20_000), random.normal(size=61)
    step = NewtonSystemCG(P).solve(h, right, 1.0, 1e-9)
    X = P.rows.values
    left = np.append((X.T * h) @ (X @ step[:-1]) + step[:-1] - right[:-1], step[-1] - right[-1])
    assert np.linalg.norm(left) <= 1e-6 * np.linalg.norm(right)


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
@pytest.mark.parametrize("offset", ["none", "penalised", "free"])
@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_the_optimum_is_that_of_written_out_systems(monkeypatch, loss, offset, kind):
    P = problem(17_000, 60, offset, kind, loss)  # fewer rows go without nesting, fewer columns are written out
    iterated = solve(P, Stop(1e-10, 200), solver="newton")
    for file in (newton_file, newton_point):
        monkeypatch.setattr(file, "SMALL_FIT_VALUES", 10**9)
    monkeypatch.setattr(newton_file, "LINEAR_THRESHOLDS", LINEAR_THRESHOLDS._replace(newton_subset=()))
    written = solve(P, Stop(1e-10, 200), solver="newton")
    best = P.primal(written.theta)
    assert P.gap(written.theta, written.u) <= 1e-9 * best
    assert P.gap(iterated.theta, iterated.u) <= 2e-10 * best
    assert P.primal(iterated.theta) == pytest.approx(best, rel=1e-9)


def test_the_gap_of_a_newton_point_is_half_the_squared_gradient():
    """Fenchel's equality, by numpy alone: P - D = 1/2 |grad P|^2 at u = -c l'(z)."""
    P = problem(400, 8)
    random = np.random.default_rng(4)
    for _ in range(20):
        theta = np.append(random.normal(size=8), 0.0) * 10.0 ** random.uniform(-3, 0)
        z = P.rows.values @ theta[:-1]
        u = P.c * P.y * expit(-P.y * z)
        gradient = theta[:-1] - P.rows.values.T @ u
        gap = P.primal(theta) - P.dual(u, P.primal(theta))
        assert gap == pytest.approx(0.5 * float(gradient @ gradient), rel=1e-6, abs=1e-9 * P.primal(theta))


def test_a_start_worse_than_zero_is_dropped():
    """Scores in the thousands have no curvature: from there Newton's steps lead anywhere."""
    P = problem(2_000, 5, scales=False)
    far = np.append(np.random.default_rng(0).normal(size=5) * 1e4, 0.0)
    assert P.primal(far) > P.primal_at_zero()
    solution = solve(P, Stop(1e-8, 12), solver="newton", start=(far, np.zeros(P.n)))
    assert solution.n_iter <= 12
    assert P.gap(solution.theta, solution.u) <= 1e-8 * P.primal(solution.theta)


@pytest.mark.parametrize("d", [4, 40])
def test_rows_as_a_mask_are_numbered_in_slices(d, monkeypatch):
    """The system of many rows, numbered slice by slice, is that of their numbers."""
    random = np.random.default_rng(5)
    X, weights = random.integers(-9, 9, size=(9000, d)).astype(float), np.ones(9000)
    inside = random.random(9000) < 0.5
    P = LinearProblem.build(X, np.ones(9000, np.int8), weights, losses.BY_NAME["hinge"], "free")
    right = random.normal(size=d + 1)
    expected = normal_equations.NewtonSystem(P, weights, inside, 0.5).solve(right)
    monkeypatch.setattr(LinearProblem, "slice_rows", 1000)
    gram, sizes = R.gram, []
    monkeypatch.setattr(R, "gram", lambda *args: sizes.append(len(args[2])) or gram(*args))
    found = normal_equations.NewtonSystem(P, weights, inside, 0.5)
    assert found.way == "cholesky"
    assert len(sizes) == 9  # never numbered as a whole
    assert sum(sizes) == np.count_nonzero(inside)
    assert np.array_equal(found.solve(right), expected)  # whole numbers: the sums are exact in any order
