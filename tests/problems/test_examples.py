"""The verbs of `problems/examples/protocol`: solvers that hold no vector with an entry for each example run on rows in blocks."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from gapless import losses
from gapless.certificates.subproblem import certify
from gapless.problems.linear import LinearProblem
from gapless.problems.multinomial import Multinomial
from gapless.solvers.linear.solve import solve, solve_multinomial
from gapless.solvers.loop import Stop
from tests.problems.blocks import BlockSoftmax, InBlocks
from tests.problems.blocks_linear import BlockLinear

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
        if name.startswith((*rooms, "gapless.certificates.subproblem")):
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
