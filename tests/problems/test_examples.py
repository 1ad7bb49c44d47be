"""The verbs of `problems/examples/protocol`: solvers that hold no vector with an entry for each example run on rows in blocks."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from gapless import losses
from gapless.certificates.least_squares import certify_least_squares
from gapless.certificates.subproblem import certify
from gapless.problems.least_squares import LeastSquares
from gapless.problems.linear import LinearProblem
from gapless.problems.multinomial import Multinomial
from gapless.solvers.least_squares import solve as least_squares
from gapless.solvers.least_squares.answer import Clock
from gapless.solvers.linear.solve import solve, solve_multinomial
from gapless.solvers.loop import Stop
from tests.problems.blocks import BlockSoftmax, InBlocks
from tests.problems.blocks_linear import BlockLinear
from tests.problems.blocks_targets import BlockTargets

OFFSETS = ["none", "penalised", "free"]


def data(n, d, classes=2, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d)) * random.choice([0.3, 1.0, 3.0], d)
    y = (X @ random.normal(size=(d, classes)) + 2.0 * random.normal(size=(n, classes)) + 0.5).argmax(axis=1)
    return X, y, random.choice([0.5, 1.0, 2.0], n) / n * 50


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic", "hinge"])
@pytest.mark.parametrize("offset", OFFSETS)
def test_rows_in_blocks_have_the_same_optimum_and_certificate(loss, offset):
    X, y, c = data(1700, 6)
    y = np.where(y > 0, 1, -1).astype(np.int8)
    whole = LinearProblem.build(X, y, c, losses.BY_NAME[loss], offset, 2.0)
    blocks = BlockLinear.cut(X, y, c, losses.BY_NAME[loss], offset, 5, 2.0)
    tol = 1e-8
    expected, found = (solve(problem, Stop(tol)) for problem in (whole, blocks))
    assert isinstance(found.u, InBlocks)
    there, here = certify(whole, expected, tol=tol), certify(blocks, found, tol=tol)
    assert (there.status, here.status) == ("converged", "converged")
    assert abs(here.primal - there.primal) <= there.gap + here.gap + there.rounding + here.rounding
    # What the blocks claim of their own point is what the rows in one piece say of it.
    u = np.concatenate(found.u.parts)
    primal = whole.primal(found.theta)
    assert here.primal == pytest.approx(primal, rel=1e-13)
    assert here.dual == pytest.approx(whole.dual(u, primal), rel=1e-12)
    assert np.array_equal(whole.repair(u), u) or whole.free
    room = whole.rounding(found.theta, whole.scores(found.theta), u, whole.combine(u), primal)
    assert here.rounding == pytest.approx(room, rel=0.2)


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("d", [5, 60])
def test_softmax_in_blocks(offset, d):
    X, y, c = data(1500, d, classes=4)
    whole, blocks = Multinomial.build(X, y, c, 4, offset), BlockSoftmax.cut(X, y, c, 4, offset, 6)
    expected, found = (solve_multinomial(problem, Stop(1e-8)) for problem in (whole, blocks))
    there, here = (certify(p, s, tol=1e-8) for p, s in ((whole, expected), (blocks, found)))
    assert (there.status, here.status) == ("converged", "converged")
    assert abs(here.primal - there.primal) <= there.gap + here.gap + there.rounding + here.rounding
    U = np.concatenate(found.u.parts)
    primal = whole.primal(found.theta)
    assert here.primal == pytest.approx(primal, rel=1e-13)
    assert here.dual == pytest.approx(whole.dual(U, primal), rel=1e-12)


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_any_cut_reaches_the_same_optimum_in_few_passes(loss):
    """As many blocks as one likes; and a line search asks for many step lengths in one pass over the scores."""
    X, y, c = data(3000, 8)
    y = np.where(y > 0, 1, -1).astype(np.int8)
    fits = {k: BlockLinear.cut(X, y, c, losses.BY_NAME[loss], "penalised", k) for k in (1, 3, 20)}
    values = {}
    for k, problem in fits.items():
        claim = certify(problem, solve(problem, Stop(1e-6)), tol=1e-6)
        assert claim.status == "converged"
        values[k] = claim.dual, claim.primal
        assert problem.passes <= (80 if loss == "hinge" else 30)
    assert max(low for low, _ in values.values()) <= min(high for _, high in values.values()) * (1 + 1e-12)


class TooLong(AssertionError):
    """A solver holds an array that is as long as a block of examples."""


class Watched:
    """A module, or a problem, whose answers are looked at: no array may be longer than ``most``."""

    def __init__(self, inner, most):
        self.__dict__.update(inner=inner, most=most)

    def __getattr__(self, name):
        found = getattr(self.inner, name)
        if not callable(found) or isinstance(found, type):
            return self.checked(found)
        return lambda *args, **more: self.checked(found(*args, **more))

    def checked(self, found):
        for each in found if isinstance(found, tuple) else (found,):
            if isinstance(each, np.ndarray) and each.size > self.most:
                raise TooLong(f"{each.size} entries")
        return found


@pytest.fixture
def watched(monkeypatch):
    """Every array that solvers and `certify` make by numpy or get from the problem."""
    most = 2000
    rooms = tuple(f"gapless.solvers.{word}" for word in ("linear", "least_squares", "loop", "newton", "line_search"))
    for name, module in list(sys.modules.items()):
        if name.startswith((*rooms, "gapless.certificates.subproblem", "gapless.certificates.least_squares")):
            for each in {"np", "R"} & vars(module).keys():
                monkeypatch.setattr(module, each, Watched(vars(module)[each], most))
    return lambda problem: Watched(problem, most)


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic", "hinge", "softmax"])
@pytest.mark.parametrize("offset", ["penalised", "free"])
def test_no_solver_holds_an_array_as_long_as_the_examples(loss, offset, watched):
    X, y, c = data(20_000, 3, classes=3 if loss == "softmax" else 2)
    if loss == "softmax":
        problem = watched(BlockSoftmax.cut(X, y, c, 3, offset, 8))
        solution = solve_multinomial(problem, Stop(1e-6))
    else:
        y = np.where(y > 0, 1, -1).astype(np.int8)
        problem = watched(BlockLinear.cut(X, y, c, losses.BY_NAME[loss], offset, 8))
        solution = solve(problem, Stop(1e-6))
    assert certify(problem, solution, tol=1e-6).status == "converged"


def test_interior_point_holds_no_array_as_long_as_the_examples(watched):
    X, y, c = data(20_000, 3)
    y = np.where(y > 0, 1, -1).astype(np.int8)
    problem = watched(BlockLinear.cut(X, y, c, losses.BY_NAME["hinge"], "free", 8))
    solution = solve(problem, Stop(1e-6), solver="interior_point")
    assert solution.solver.startswith("interior_point")
    assert certify(problem, solution, tol=1e-6).status == "converged"


def test_the_watch_sees_a_long_array(watched):
    from gapless.solvers.linear import newton

    with pytest.raises(TooLong):
        newton.np.zeros(20_000)
    X, y, c = data(20_000, 3)
    whole = watched(LinearProblem.build(X, y * 2.0 - 1.0, c, losses.BY_NAME["hinge"], "free"))
    with pytest.raises(TooLong):
        whole.scores(np.zeros(4))
    with pytest.raises(AssertionError, match="stays with the rows"):
        np.asarray(InBlocks([np.zeros(3)]))


# -- least squares -------------------------------------------------------------------------------------------------


def solved(problem, tol=1e-8):
    answer = least_squares.solve(problem, Clock(Stop(tol, 1000)), tol=tol)
    targets, duals = certify_least_squares(problem, (answer.W, answer.b), answer.status, tol=tol, dtype=np.float64)
    return answer, targets, duals


@pytest.mark.parametrize("offset", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("alpha", [0.0, 2.0])
def test_least_squares_in_blocks(offset, weighted, alpha):
    X, _, c = data(40_000, 12)
    Y = X[:, :2] * [1.0, -3.0] + np.random.default_rng(1).normal(size=(40_000, 2)) + 5.0
    s, alphas = c if weighted else None, np.full(2, alpha)
    expected, there, _ = solved(LeastSquares.build(X, Y, s, alphas, offset))
    found, here, duals = solved(BlockTargets.cut(X, Y, s, alphas, offset, 7))
    assert expected.method == found.method == "cholesky"
    assert found.W == pytest.approx(expected.W, rel=1e-9, abs=1e-12)
    for one, other in zip(there, here):
        assert (one.status, other.status) == ("converged", "converged")
        assert other.rss == pytest.approx(one.rss, rel=1e-12)
        assert other.r2 == pytest.approx(one.r2, rel=1e-12)
        if alpha:
            assert abs(one.primal - other.primal) <= one.gap + other.gap + one.rounding + other.rounding
            assert other.rounding == pytest.approx(one.rounding, rel=0.5)
        else:
            assert other.orthogonality <= 1e-8 + other.rounding
    assert all(isinstance(u, InBlocks) for u in duals or ())
    assert (duals is not None) == (alpha > 0.0)


def test_dependent_columns_in_blocks():
    """Singular values of the triangles of the blocks, put below each other."""
    X, _, _ = data(30_000, 20)
    X[:, 7] = X[:, 3] - X[:, 5]
    y = X[:, :1] + np.random.default_rng(1).normal(size=(30_000, 1))
    expected, there, _ = solved(LeastSquares.build(X, y, None, np.zeros(1), True))
    found, here, _ = solved(BlockTargets.cut(X, y, None, np.zeros(1), True, 5))
    assert expected.method == found.method == "svd"
    assert found.rank == expected.rank == 19
    assert found.W == pytest.approx(expected.W, rel=1e-7, abs=1e-10)
    assert (there[0].status, here[0].status) == ("converged", "converged")


@pytest.mark.parametrize("alpha", [0.0, 2.0])
def test_least_squares_holds_no_array_as_long_as_the_examples(alpha, watched):
    X, y, _ = data(20_000, 4)
    problem = watched(BlockTargets.cut(X, y[:, None] + X[:, :1], None, np.full(1, alpha), True, 8))
    _, targets, _ = solved(problem)
    assert targets[0].status == "converged"


@pytest.mark.parametrize("offset", OFFSETS)
def test_softmax_of_few_examples_in_blocks(offset):
    """Fewer examples than features come to the solver: the step by their inverse, in one piece and in blocks."""
    X, y, c = data(40, 90, classes=3, seed=4)
    X *= 10.0 ** np.linspace(-2.0, 3.0, 90)  # no diagonal does here
    whole, blocks = Multinomial.build(X, y, c, 3, offset), BlockSoftmax.cut(X, y, c, 3, offset, 4)
    expected, found = (solve_multinomial(problem, Stop(1e-9)) for problem in (whole, blocks))
    there, here = (certify(p, s, tol=1e-9) for p, s in ((whole, expected), (blocks, found)))
    assert (there.status, here.status) == ("converged", "converged")
    assert abs(here.primal - there.primal) <= there.gap + here.gap + there.rounding + here.rounding
