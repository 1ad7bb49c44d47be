"""Growth functions, B(n, k), and the dichotomies of given points against enumeration and linear programs."""

from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np
import pytest
from scipy.optimize import linprog

from gapless.theory.generalisation import growth as g


def test_published_rows():
    assert [g.growth("halfspaces", n, d=2) for n in range(1, 7)] == [2, 4, 8, 14, 22, 32]
    assert [g.growth("perceptron", n, d=3) for n in range(1, 7)] == [2, 4, 8, 16, 30, 52]
    for how in ("closed", "recursion"):
        assert [g.B(n, 3, how) for n in range(1, 7)] == [2, 4, 7, 11, 16, 22]
        assert [g.B(n, 4, how) for n in range(1, 7)] == [2, 4, 8, 15, 26, 42]
    assert [g.growth("rays", n) for n in (1, 5, 100)] == [2, 6, 101]
    assert [g.growth("intervals", n) for n in range(1, 6)] == [math.comb(n + 1, 2) + 1 for n in range(1, 6)]
    assert g.growth("convex sets", 100) == 2**100


def test_the_recursion_is_the_closed_form():
    for n in range(1, 25):
        for k in range(1, 28):
            assert g.B(n, k, "recursion") == g.B(n, k)


def shattered(patterns: set[tuple[int, ...]], k: int, n: int) -> bool:
    return any(
        len({tuple(p[i] for i in some) for p in patterns}) == 2**k for some in itertools.combinations(range(n), k)
    )


@pytest.mark.parametrize(("n", "k"), [(2, 2), (3, 1), (3, 2), (3, 3), (4, 2)])
def test_B_is_what_it_says_by_enumeration(n, k):
    everything = list(itertools.product((0, 1), repeat=n))
    size = g.B(n, k)
    if math.comb(2**n, size + 1) <= 20_000:
        assert all(shattered(set(some), k, n) for some in itertools.combinations(everything, size + 1))
    assert any(not shattered(set(some), k, n) for some in itertools.combinations(everything, size))


def runs(pattern: tuple[int, ...]) -> int:
    return sum(1 for i, v in enumerate(pattern) if v and (i == 0 or not pattern[i - 1]))


@pytest.mark.parametrize("n", range(1, 11))
def test_classes_on_the_line_by_enumeration(n):
    patterns = list(itertools.product((0, 1), repeat=n))
    assert g.growth("rays", n) == sum(list(p) == sorted(p) for p in patterns)
    for k in (1, 2, 3):
        assert g.growth(g.intervals(k), n) == sum(runs(p) <= k for p in patterns)


@pytest.mark.parametrize("make", [g.rays, g.intervals, lambda: g.intervals(3), lambda: g.halfspaces(2), lambda: g.halfspaces(5),
                                  lambda: g.halfspaces(3, offset=False), lambda: g.of_dimension(4)])  # fmt: skip
def test_break_points(make):
    known = make()
    first = next(k for k in range(1, 50) if known.bound(k) < 2**k)
    assert known.break_point == first == known.vc_dimension + 1
    for n in range(30):
        assert (
            known.bound(n) <= g.sauer(n, known.vc_dimension) <= max(1, n) ** known.vc_dimension + 1
            or n <= known.vc_dimension
        )


def test_intervals_have_dimension_two():
    # 3 is their break point, not their dimension: some two points are shattered, no three are.
    assert g.intervals().vc_dimension == 2
    assert g.break_point("intervals") == 3
    assert g.growth("intervals", 2) == 4
    assert g.growth("intervals", 3) == 7


def test_boxes_have_only_sauers_bound():
    assert g.boxes(1).growth(5) == g.intervals().growth(5)
    assert g.boxes(2).vc_dimension == 4
    with pytest.raises(ValueError, match="no closed form of the growth function of boxes in R\\^2"):
        g.growth("boxes", 5, d=2)
    # Boxes in the plane, by brute force: bounding boxes of all subsets.
    random = np.random.default_rng(0)
    for n in (4, 6, 8):
        X = random.normal(size=(n, 2))
        found = set()
        for some in itertools.product((False, True), repeat=n):
            inside = X[list(some)]
            box = (
                (X >= inside.min(axis=0)).all(1) & (X <= inside.max(axis=0)).all(1)
                if len(inside)
                else np.zeros(n, bool)
            )
            found.add(tuple(box))
        assert len(found) <= g.boxes(2).bound(n) == g.sauer(n, 4)


def test_large_numbers_are_exact():
    n = 10**7
    assert g.growth("halfspaces", n, d=10) == 2 * sum(math.comb(n - 1, k) for k in range(11))
    assert g.growth("convex sets", n).bit_length() == n + 1
    assert g.log_growth("convex sets", n) == pytest.approx(n * math.log(2))
    assert g.log_growth(3000, n) == pytest.approx(math.log(g.sauer(n, 3000)), rel=1e-13)
    assert g.log_growth(50, 20_000, "power") == pytest.approx(50 * math.log(20_000))
    assert g.log_growth(50, 10, "power") == g.log_growth(50, 10) == pytest.approx(10 * math.log(2))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: g.growth("networks", 5), "no growth function of 'networks' is known here, only of rays"),
        (lambda: g.growth("interval", 5), "did you mean 'intervals'"),
        (lambda: g.growth("halfspaces", 5), "need their dimension"),
        (lambda: g.growth("rays", 2.5), "n must be a whole number"),
        (lambda: g.growth("rays", -1), "n must be at least 0"),
        (lambda: g.B(3, 0), "k must be at least 1"),
        (lambda: g.B(3, 2, "guess"), "closed"),
        (lambda: g.halfspaces(0), "d must be at least 1"),
        (lambda: g.dichotomies([1.0, 2.0]), "rows of a matrix"),
        (lambda: g.dichotomies([[np.nan]]), "finite"),
        (lambda: g.dichotomies([["a"]]), "real numbers"),
        (lambda: g.dichotomies([[1.0, 0.0], [0.0, 0.0]], offset=False), "row 1 is 0"),
        (lambda: g.dichotomies(np.random.default_rng(0).normal(size=(40, 2)), most=100), "1,562 dichotomies"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def by_linear_programs(X: np.ndarray, offset: bool = True) -> set[tuple[int, ...]]:
    """Labellings with max t > 0: y_i <a_i, theta> >= t, |theta_j| <= 1. One of y and -y is tried."""
    A = np.column_stack([X, np.ones(len(X))]) if offset else X
    n, p = A.shape
    found = set()
    for rest in itertools.product((-1, 1), repeat=n - 1):
        y = np.array([1, *rest])
        result = linprog([*[0.0] * p, -1.0], A_ub=np.column_stack([-y[:, None] * A, np.ones(n)]), b_ub=np.zeros(n),
                         bounds=[(-1, 1)] * p + [(None, 1)], method="highs")  # fmt: skip
        assert result.status == 0
        if -result.fun > 1e-9:
            found |= {tuple(y.tolist()), tuple((-y).tolist())}
    return found


def configuration(random: np.random.Generator, most: int) -> np.ndarray:
    """General position, small whole numbers, points on lines and circles, repeated points."""
    n, d = int(random.integers(3, most + 1)), int(random.integers(2, 4))
    kind = int(random.integers(5))
    if kind == 0:
        return random.integers(-1000, 1000, size=(n, d)) / 64.0
    if kind == 1:
        return random.integers(-1, 2, size=(n, d)).astype(float)
    X = random.integers(-3, 4, size=(n, d)).astype(float)
    if kind == 2:
        X[: n // 2] = np.outer(random.integers(-4, 5, size=n // 2), random.integers(-2, 3, size=d))  # on a line
    if kind == 3:
        X[-2:] = X[0]
    if kind == 4:
        X[:, -1] = X[:, 0] + 1.0  # all in a hyperplane
    return X


def agrees(X: np.ndarray, offset: bool) -> bool:
    found = g.dichotomies(X, offset)
    listed = {tuple(row) for row in found.labels.tolist()}
    assert found.check()
    assert len(listed) == found.count == g.count_dichotomies(X, offset)
    return listed == by_linear_programs(X, offset)


@pytest.mark.parametrize("seed", range(16))
def test_dichotomies_are_those_of_linear_programs(seed):
    X = configuration(np.random.default_rng(seed), 7)
    assert agrees(X, True)
    if (X != 0).any(axis=1).all():
        assert agrees(X, False)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(200))
def test_dichotomies_are_those_of_linear_programs_on_200_configurations(seed):
    assert agrees(configuration(np.random.default_rng(1000 + seed), 12), True)


def test_general_position_has_covers_number():
    random = np.random.default_rng(3)
    for n, d in ((1, 2), (4, 2), (9, 2), (8, 3), (7, 5), (6, 1)):
        found = g.dichotomies(random.normal(size=(n, d)))
        assert found.general_position
        assert found.count == g.growth("halfspaces", n, d=d)
        assert found.shattered == (n <= d + 1)
    assert g.count_dichotomies(random.normal(size=(200, 2))) == g.growth("halfspaces", 200, d=2)


def test_the_witness_is_in_the_users_units():
    X = np.array([[1e-8, 3.0], [2e-8, -1.5], [-5e-9, 0.125], [0.0, 7.0]])
    found = g.dichotomies(X)
    for i in range(found.count):
        w, b = found.hyperplane(i)
        from fractions import Fraction

        values = [sum(Fraction(v) * u for v, u in zip(row, w)) + b for row in X.tolist()]
        assert [1 if v > 0 else -1 for v in values] == found.labels[i].tolist()
        assert all(v != 0 for v in values)


def test_equal_points_take_equal_labels():
    found = g.dichotomies([[0.0, 1.0], [0.0, 1.0], [2.0, 2.0]])
    assert found.count == 4
    assert (found.labels[:, 0] == found.labels[:, 1]).all()
    opposite = g.dichotomies([[1.0, 2.0], [-2.0, -4.0]], offset=False)
    assert (opposite.labels[:, 0] == -opposite.labels[:, 1]).all()
    assert opposite.count == 2


def points_of(seed: int) -> np.ndarray:
    """Points in any position: on lines, twice the same."""
    random = np.random.default_rng(seed)
    return random.integers(-2, 3, size=(int(random.integers(2, 8)), int(random.integers(1, 4))))


def shattered_by_hand(labels: np.ndarray, size: int) -> bool:
    """Whether some ``size`` columns show every pattern."""
    return any(
        len({tuple(row) for row in labels[:, list(columns)].tolist()}) == 2**size
        for columns in itertools.combinations(range(labels.shape[1]), size)
    )


@pytest.mark.parametrize("seed", range(20))
def test_the_split_counts_what_it_says(seed):
    X = points_of(seed)
    found = g.split(X)
    labels = g.dichotomies(X).labels
    whole = {tuple(row) for row in labels.tolist()}
    without = [row[:-1] for row in whole]
    assert found.alpha == sum(without.count(row) == 1 for row in set(without))
    assert found.beta == sum(without.count(row) == 2 for row in set(without))
    assert found.total == len(whole) == g.count_dichotomies(X)
    assert {tuple(row) for part in (found.s1, found.s2_plus, found.s2_minus) for row in part.tolist()} == whole
    assert (found.s2_plus[:, -1] == 1).all()
    assert (found.s2_minus[:, -1] == -1).all()
    assert shattered_by_hand(labels, found.k - 1)
    assert found.k > found.n or not shattered_by_hand(labels, found.k)
    assert found.check()


def test_the_split_of_any_class():
    rays = np.array([[1, 1, 1], [-1, 1, 1], [-1, -1, 1], [-1, -1, -1]])
    found = g.split(labels=rays)
    assert (found.k, found.alpha, found.beta, found.bound) == (2, 2, 1, 4)  # B(3, 2) = 4, which rays reach
    assert found.check()
    square = [[-1, -1], [-1, 1], [1, -1], [1, 1]]  # points whose coordinates look like labels
    assert g.split(square).total == 14
    assert g.split(g.dichotomies(square)).total == 14
    with pytest.raises(ValueError, match="give points X, or the labels"):
        g.split(square, labels=rays)
    with pytest.raises(ValueError, match="stands twice"):
        g.split(labels=[[1, 1], [1, 1]])
    with pytest.raises(ValueError, match="-1 and 1"):
        g.split(labels=[[0, 1]])
    with pytest.raises(ValueError, match="two or more"):
        g.split(labels=[[1], [-1]])


def test_a_false_split_is_not_accepted():
    good = g.split([[0.0], [1.0], [2.0]])
    assert good.check()
    assert not dataclasses.replace(good, s2_minus=good.s2_minus[::-1]).check()
    assert not dataclasses.replace(good, bound_of_pairs=good.beta - 1).check()


def test_the_recursion_is_pascals():
    table = g.recursion(9, 6)
    for n in range(1, 10):
        for k in range(1, 7):
            assert table[n - 1, k - 1] == sum(math.comb(n, i) for i in range(k))
