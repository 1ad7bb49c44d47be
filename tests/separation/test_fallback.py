"""Where HiGHS leads nowhere: the program in fractions for small problems, a clear error for the others."""

from __future__ import annotations

import numpy as np
import pytest

import gapless.solvers.separation.decide as solver
from gapless import separability, verify
from gapless.solvers.exact.rational import Integers, echelon, solve
from gapless.solvers.separation.frame import Undecided
from tests.separation.exact import proves, status_of


@pytest.fixture
def no_program(monkeypatch):
    def fails(*_):
        raise Undecided("no program today")

    monkeypatch.setattr(solver, "linear_program", fails)


@pytest.mark.usefixtures("no_program")
def test_small_problems_are_solved_in_fractions():
    random, seen = np.random.default_rng(11), set()
    for k in range(40):
        K = 2 + k % 2
        X = random.integers(-2, 3, (int(random.integers(3, 8)), 2)).astype(float)
        y = random.integers(0, K, len(X)) if k % 3 else (X.sum(axis=1) > 0).astype(int)
        classes, index = np.unique(y, return_inverse=True)
        if classes.size < 2:
            continue
        found = separability(X, y)
        assert found.status == status_of(X, index, classes.size)
        assert proves(found, X, y, floats=False)
        assert verify(found, X, y)
        seen.add(found.status)
    assert seen == {"complete", "quasi", "overlap"}


@pytest.mark.usefixtures("no_program")
def test_large_problems_say_what_to_do():
    X = np.random.default_rng(0).normal(size=(300, 5))
    with pytest.raises(ArithmeticError, match="Scale the columns"):
        separability(X, np.arange(300) % 2)


@pytest.mark.parametrize("n", [1, 4, 12])
@pytest.mark.parametrize("kind", ["integers", "floats", "wide range"])
def test_systems_are_solved_exactly(n, kind):
    random = np.random.default_rng(n)
    M = random.integers(-9, 10, (n, n)).astype(float) if kind == "integers" else random.normal(size=(n, n))
    if kind == "wide range":
        M = M * 10.0 ** random.integers(-200, 200, (n, n))
    whole = Integers(M).values.astype(object)
    for right in (np.arange(n, dtype=object), np.zeros(n, dtype=object)):
        numerators, denominator = solve(Integers(M).values, right)
        assert (whole @ np.array(numerators, dtype=object) == right * denominator).all()
        assert denominator > 0


def test_singular_systems_and_ranks():
    random = np.random.default_rng(5)
    for rank in (0, 1, 3, 6):
        M = random.integers(-3, 4, (20, rank)) @ random.integers(-3, 4, (rank, 8))
        rows, columns = echelon(M)
        assert rows.size == columns.size == np.linalg.matrix_rank(M)
        minor = M[rows][:, columns]
        assert rank == 0 or abs(np.linalg.det(minor.astype(float))) > 0.5
    assert solve(np.array([[1, 2], [2, 4]]), np.array([1, 1])) is None
