"""ExactPath.best and score_steps: every C at which a row changes side, against exact fractions and dense scans."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

import gapless
from tests.tuning.problems import random_problem


def validation_rows(seed, X):
    random = np.random.default_rng(1000 + seed)
    rows = X[random.integers(0, len(X), 40)] + random.standard_normal((40, X.shape[1])) * (seed % 2)
    return rows, np.where(random.random(40) < 0.5, 1, -1)


def scan(found, X, y, Cs):
    """The accuracy at each C from the scores of the path themselves."""
    return np.array([np.mean(np.where(found.decision_function(X, C) > 0.0, 1, -1) == y) for C in Cs])


@pytest.mark.parametrize("seed", range(10))
def test_a_dense_scan_finds_nothing_else(seed):
    model, X, y, weight = random_problem(seed)
    found = gapless.path(model, X, y, (0.0, 1e3), sample_weight=weight, exact=True)
    V, v = validation_rows(seed, X)
    steps = found.score_steps(V, v)
    assert np.all(np.diff(steps.edges) > 0.0)
    assert len(steps.rows) == steps.edges.size - 2 == steps.scores.size - 1
    ends = np.concatenate([[1e-4], found.breaks, [1e3]])
    Cs = np.concatenate([np.geomspace(a, b, 12)[1:-1] for a, b in pairwise(ends) if b > a * (1 + 1e-6)])
    near = np.min(np.abs(Cs[:, None] / steps.edges[1:-1] - 1.0), axis=1, initial=np.inf)
    size = np.abs(found.decision_function(V, 1.0)).max()
    clear = [np.abs(found.decision_function(V, C)).min() > 1e-9 * C * size for C in Cs]
    kept = (near > 1e-8) & clear  # elsewhere a scan sees rounding
    assert kept.mean() > 0.9
    Cs = Cs[kept]
    assert np.array_equal(steps.score_at(Cs), scan(found, V, v, Cs))
    middles = np.array([steps.inside(k) for k in range(steps.scores.size)])
    assert np.array_equal(steps.score_at(middles), steps.scores)
    best = found.best(V, v)
    assert best == steps.best
    assert steps.best_interval[0] < best < steps.best_interval[1]
    assert steps.scores.max() >= scan(found, V, v, Cs).max()
    assert found.model_at(best).score(V, v) == steps.scores.max()


def test_by_hand_in_fractions():
    # Rows -1, 0 of class -1 and 1, 2 of class +1 with the offset penalised (scale 1): one w = (w1, b) with no free offset. Until
    # the first break point all alpha = C: w1 = C (1 + 0 + 1 + 2) = 4C and b = C (-1 - 1 + 1 + 1) = 0.
    X, y = np.array([[-1.0], [0.0], [1.0], [2.0]]), np.array([-1, -1, 1, 1])
    model = gapless.LinearSVC(loss="hinge", penalize_intercept=True)
    found = gapless.path(model, X, y)
    # The row 2 reaches its margin where 2 w1 + b = 8C = 1. From then on alpha_4 = a < C and 2 w1 + b = 1 with
    # w1 = 2C + 2a and b = a - C, so that 4C + 4a + a - C = 1, a = (1 - 3C)/5, w1 = (4C + 2)/5 and b = (1 - 8C)/5.
    first = Fraction(1, 8)
    assert found.breaks[0] == pytest.approx(float(first), rel=1e-14)
    # The next break point: a = 0 at C = 1/3, or the row -1 at its margin, w1 - b = (12C + 1)/5 = 1, also at C = 1/3.
    assert found.breaks[1] == pytest.approx(1.0 / 3.0, rel=1e-14)
    # Between them x has the score (x (4C + 2) + 1 - 8C)/5, which is 0 at C = (2x + 1)/(8 - 4x).
    cross = [(2 * x + 1) / (8 - 4 * x) for x in (Fraction(1, 10), Fraction(1, 5))]
    assert all(first < C < Fraction(1, 3) for C in cross)
    steps = found.score_steps(np.array([[0.1], [0.2]]), np.array([1, 1]))
    inside = steps.edges[(steps.edges > 0.125) & (steps.edges < 1.0 / 3.0)]
    assert inside == pytest.approx([float(C) for C in cross], rel=1e-13)
    assert steps.edges[0] == 0.0
    assert steps.scores[:3] == pytest.approx([1.0, 0.5, 0.0])
    assert [rows.tolist() for rows in steps.rows[:2]] == [[0], [1]]
    # Best for C below 3/19, an interval that begins at 0: half of its upper end is returned.
    assert found.best(np.array([[0.1], [0.2]]), np.array([1, 1])) == pytest.approx(3.0 / 38.0, rel=1e-13)
    # An interval with two ends: its geometric mean.
    assert found.best(np.array([[0.1], [0.2]]), np.array([-1, 1])) == pytest.approx(
        float(np.sqrt(3 / 19 * 7 / 36)), rel=1e-13
    )
    # The same row twice changes side once, as one step; a tie of one row for and one against changes no score.
    twice = found.score_steps(np.array([[0.1], [0.1]]), np.array([1, -1]))
    assert np.array_equal(twice.scores, np.full(twice.scores.size, 0.5))
    assert twice.rows[0].tolist() == [0, 1]


def test_a_row_on_the_boundary_for_all_C_has_the_first_class():
    # Symmetric rows: b = 0 for every C, and x = 0 has the score 0 exactly, which predict gives to the first class.
    X, y = np.array([[-2.0], [-1.0], [1.0], [2.0]]), np.array([-1, -1, 1, 1])
    for model in (gapless.SVC(kernel="linear"), gapless.SVC(gamma=0.5), gapless.LinearSVC(loss="hinge")):
        found = gapless.path(model, X, y)
        steps = found.score_steps(np.array([[0.0], [1.0]]), np.array([-1, 1]))
        assert steps.scores.tolist() == [1.0]
        assert steps.edges.tolist() == list(found.reach)
        assert found.score_steps(np.array([[0.0]]), np.array([1])).scores.tolist() == [0.0]


def test_labels_of_any_kind_and_their_refusals():
    random = np.random.default_rng(5)
    X = random.standard_normal((30, 2))
    y = np.where(X[:, 0] + random.standard_normal(30) > 0, "yes", "no")
    found = gapless.path(gapless.SVC(gamma=0.5), X, y)
    V, v = random.standard_normal((25, 2)), np.where(random.random(25) < 0.5, "yes", "no")
    signs = gapless.path(gapless.SVC(gamma=0.5), X, np.where(y == "yes", 1, -1))
    assert found.best(V, v) == signs.best(V, np.where(v == "yes", 1, -1))
    v[3] = "perhaps"  # wrong at every C
    assert found.score_steps(V, v).scores.max() <= 24 / 25
    with pytest.raises(ValueError, match=r"no label of y is a class of this path.*\['no', 'yes'\]"):
        found.best(V, np.full(25, "perhaps"))
    with pytest.raises(ValueError, match="X has 25 rows and y has 24 labels"):
        found.best(V, v[:24])


@pytest.mark.parametrize("balanced", [False, True])
def test_the_limit_at_C_0(balanced):
    random = np.random.default_rng(2)
    X = random.standard_normal((21 if not balanced else 20, 3)) + 0.4
    y = np.where(np.arange(len(X)) % 2 == 0, 1, -1)  # 11 against 10, or 10 against 10
    for model in (gapless.SVC(gamma=0.3), gapless.LinearSVC(loss="hinge")):
        found = gapless.path(model, X, y)
        assert found.reach[0] == 0.0
        # min over b of 11 [1 - b]+ + 10 [1 + b]+ is at b = 1; of 10 and 10 anything in [-1, 1], whose middle is 0.
        limit = 0.0 if balanced else 1.0
        assert found.intercept_at(0.0) == pytest.approx(limit, abs=1e-12)
        assert np.all(found.dual_at(0.0) == 0.0)
        assert found.decision_function(X, 0.0) == pytest.approx(np.full(len(X), limit), abs=1e-12)
        small = type(model)(**{**model.get_params(), "C": 1e-7, "tol": 1e-10}).fit(X, y)
        assert small.decision_function(X) == pytest.approx(found.decision_function(X, 0.0), abs=1e-5)
        assert "At C = 0, a limit: alpha = 0, w = 0, b = " in str(found)
        with pytest.raises(ValueError, match="C = 0 is a limit: no row counts, so that alpha = 0 and w = 0"):
            found.model_at(0.0)


@pytest.mark.parametrize("zero", [0, 0.0, np.float64(0.0), np.int64(0)])
def test_fits_refuse_C_0_and_say_what_it_is(zero):
    X, y = np.array([[-1.0], [1.0]]), np.array([-1, 1])
    for model in (gapless.LinearSVC, gapless.LogisticRegression, gapless.SVC, gapless.SVR):
        with pytest.raises(ValueError, match=r"Got 0(\.0)? instead\. C = 0 is a limit: .* alpha = 0 and w = 0"):
            model(C=zero).fit(X, y)
    with pytest.raises(ValueError, match="C = 0 is a limit"):
        gapless.path(gapless.LogisticRegression(), X, y, [0.0, 1.0])


def test_forms_of_the_same_rows_have_the_same_steps():
    random = np.random.default_rng(8)
    X, V = random.standard_normal((40, 3)), random.standard_normal((30, 3))
    X[random.random(X.shape) < 0.3] = 0.0
    y = np.where(X[:, 0] + random.standard_normal(40) > 0, 1, -1)
    v = np.where(random.random(30) < 0.5, 1, -1)
    wanted = gapless.path(gapless.SVC(kernel="linear"), X, y).score_steps(V, v)
    matrix = gapless.path(gapless.SVC(kernel="precomputed"), X @ X.T, y).score_steps(V @ X.T, v)
    sparse_rows = gapless.path(gapless.LinearSVC(loss="hinge"), sparse.csr_matrix(X), y).score_steps(
        sparse.csr_matrix(V), v
    )
    kernel_rows = gapless.path(gapless.SVC(kernel="linear"), sparse.csr_matrix(X), y).score_steps(
        sparse.csr_matrix(V), v
    )
    assert wanted.scores.size > 5
    for found in (matrix, sparse_rows, kernel_rows):
        assert np.array_equal(found.scores, wanted.scores)
        assert found.edges[1:-1] == pytest.approx(wanted.edges[1:-1], rel=1e-7)
        assert all(np.array_equal(a, b) for a, b in zip(found.rows, wanted.rows))


def test_the_best_of_few_points_is_not_the_best_of_all():
    # The old search looked at break points, or at given ones: here all of them miss the best C.
    missed = 0
    for seed in range(12):
        model, X, y, weight = random_problem(seed)
        found = gapless.path(model, X, y, (0.0, 1e3), sample_weight=weight, exact=True)
        if not len(found):
            continue
        V, v = validation_rows(seed, X)
        at_breaks = scan(found, V, v, found.breaks)
        best = found.score_steps(V, v).scores.max()
        assert best >= at_breaks.max() or np.isclose(best, at_breaks.max())
        missed += best > at_breaks.max() + 1e-12
        given = found.best(V, v, found.breaks)
        assert given in found.breaks
    assert missed >= 1
