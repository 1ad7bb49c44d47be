"""The brief question, a theta or a smallest relation: the same answer as the whole one, proved by the definitions, whatever n."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from gapless import Perceptron, separability
from gapless.problems.separation import Separation
from gapless.solvers.separation import decide, frame, proofs
from gapless.solvers.separation.decide import separate


def exact_pairs(X, index, K, offset):
    """(own class, rival, (x, 1)) of each pair, in fractions, in the order of the pairs."""
    for x, own in zip(X.tolist(), index.tolist()):
        row = [Fraction(v) for v in x] + [Fraction(1)] * offset
        yield from ((own, rival, row) for rival in range(K) if rival != own)


def check(found, X, index, K, offset):
    pairs = list(exact_pairs(X, index, K, offset))
    width = X.shape[1] + offset
    if found.status == "complete":
        lines = [[Fraction(0)] * width, *([Fraction(v) for v in line] for line in found.theta.tolist())]
        for own, rival, row in pairs:
            assert sum(v * (a - b) for v, a, b in zip(row, lines[own], lines[rival])) > 0
        return
    assert found.pairs.size == len(found.multipliers) <= (K - 1) * width + 1
    assert min(found.multipliers) > 0
    total = [[Fraction(0)] * width for _ in range(K)]
    for pair, m in zip(found.pairs.tolist(), found.multipliers):
        own, rival, row = pairs[pair]
        for j, v in enumerate(row):
            total[own][j] += m * v
            total[rival][j] -= m * v
    assert not any(v for line in total[1:] for v in line)


def test_it_is_the_answer_of_the_whole_question():
    random = np.random.default_rng(0)
    seen = set()
    for case in range(150):
        d, K, offset = int(random.integers(1, 6)), int(random.integers(2, 4)), bool(random.integers(2))
        n = int(random.integers(K + 1, 10 if case % 3 else 30))
        X = random.integers(-2, 3, size=(n, d)).astype(float) if case % 2 else random.normal(size=(n, d))
        index = random.integers(0, K, n)
        index[:K] = np.arange(K)
        rows = sparse.csr_matrix(X) if case % 5 == 0 else X
        found = separate(Separation(rows, index, K, offset), brief=True)
        check(found, X, index, K, offset)
        whole = separability(X, index, fit_intercept=offset).status
        assert (found.status == "complete") == (whole == "complete")
        seen.add((K, whole))
    assert len(seen) == 6


def test_what_it_costs_does_not_grow_with_the_rows(monkeypatch):
    """Counted in numbers of the linear programs: the subsets and the relation are as small on a hundred times the rows."""
    programs = []
    original = frame.linear_program

    def counted(cost, matrix, right, bounds):
        programs[-1].append(matrix.shape[0] * matrix.shape[1])
        return original(cost, matrix, right, bounds)

    monkeypatch.setattr(decide, "linear_program", counted)
    monkeypatch.setattr(proofs, "linear_program", counted)
    random = np.random.default_rng(1)
    for n in (2_000, 200_000):
        programs.append([])
        X, y = random.normal(size=(n, 5)), random.integers(0, 2, n)
        found = separate(Separation(X, y, 2, True), brief=True)
        assert found.status == "inseparable"
        assert found.pairs.size <= 7
    few, many = programs
    assert len(many) == len(few) == 2
    assert sum(many) <= 1.2 * sum(few)


@pytest.mark.parametrize("offset", [True, False])
def test_a_perceptron_has_the_smallest_relation(offset):
    random = np.random.default_rng(2)
    X, y = random.normal(size=(500, 4)), random.integers(0, 2, 500)
    with pytest.warns(match="no hyperplane separates the classes"):
        witness = Perceptron(certify=True, fit_intercept=offset).fit(X, y).certificate_.witness
    assert len(witness.rows) <= 4 + offset + 1
