"""VC dimension, shattering with its proofs, the four bounds, sample complexity and the ghost sample."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from gapless import separability
from gapless.theory.generalisation import growth, vc
from gapless.theory.generalisation.ghost import largest_deviation, largest_difference


@pytest.mark.parametrize(
    ("delta", "how", "sizes"),
    [
        (0.1, "power", (29_299, 38_997, 48_915, 100_652)),
        (0.05, "power", (29_903, 39_601, 49_519, 101_254)),
    ],
)
def test_sample_sizes(delta, how, sizes):
    for d, n in zip((3, 4, 5, 10), sizes):
        found = vc.sample_size(0.1, delta, d, growth=how)
        assert round(found.n_real) == n
        assert found.n == math.ceil(found.n_real)


def test_sample_sizes_with_sauers_sum():
    assert [vc.sample_size(0.1, 0.05, d).n for d in (3, 4, 5, 10)] == [28_341, 36_826, 45_336, 88_053]


def test_homework():
    found = vc.sample_size(0.05, 0.05, 10, growth="power")
    assert found.n == 452_957
    assert found.rule_of_thumb == 100
    assert "habit" in str(found)


@pytest.mark.parametrize("kind", vc.BOUNDS)
@pytest.mark.parametrize("how", ["exact", "power"])
def test_the_size_is_the_smallest(kind, how):
    for epsilon, delta, d in ((0.1, 0.05, 3), (0.02, 1e-12, 7), (0.5, 0.2, 40), (0.9, 0.5, 0)):
        n = vc.sample_size(epsilon, delta, d, kind, how).n
        assert vc.bound(n, d, delta, kind, how).value <= epsilon
        assert n == 1 or vc.bound(n - 1, d, delta, kind, how).value > epsilon
        for later in (n + 1, 2 * n, 10 * n):
            assert vc.bound(later, d, delta, kind, how).value <= epsilon


@pytest.mark.parametrize(
    ("n", "values"), [(10_000, (0.632175, 0.331309, 0.223698, 0.215228)), (5, (4.2546, 2.8137, 1.7440, 2.2645))]
)
def test_four_bounds(n, values):
    digits = 6 if n > 5 else 4
    found = [vc.bound(n, 50, 0.05, kind, "power").value for kind in ("vc", "rademacher", "parrondo", "devroye")]
    assert [round(v, digits) for v in found] == list(values)


def test_implicit_bounds_solve_their_equations():
    n, d, delta = 700, 6, 0.03
    for kind in ("parrondo", "devroye"):
        e = vc.bound(n, d, delta, kind).value
        right = {
            "parrondo": (2 * e + math.log(6 * growth.sauer(2 * n, d) / delta)) / n,
            "devroye": (4 * e * (1 + e) + math.log(4 * growth.sauer(n * n, d) / delta)) / (2 * n),
        }[kind]
        assert e * e == pytest.approx(right, rel=1e-12)
    assert vc.bound(2, 3, 0.05, "devroye").vacuous


def test_one_dimension():
    assert [round(vc.bound(n, 1, 0.1, growth="power").value, 5) for n in (100, 10_000)] == [0.84816, 0.10428]


def test_large_and_small_numbers():
    found = vc.bound(10**7, 3, 1e-12)
    true = math.sqrt(8 / 10**7 * (math.log(4) + math.log(growth.sauer(2 * 10**7, 3)) + 12 * math.log(10)))
    assert found.value == pytest.approx(true, rel=1e-13)
    assert not found.vacuous
    assert vc.bound(10**7, "convex sets").vacuous
    assert vc.bound(10**7, 10**6, 1e-12).value > 1.0


def test_a_class_brings_its_own_growth_function():
    exact = vc.bound(1000, growth.halfspaces(2), 0.05).value
    assert exact < vc.bound(1000, 3, 0.05).value < vc.bound(1000, 3, 0.05, growth="power").value
    assert exact == pytest.approx(math.sqrt(8 / 1000 * math.log(4 * growth.growth("halfspaces", 2000, d=2) / 0.05)))


def test_dimensions():
    table = {"rays": 1, "intervals": 2, "convex sets": math.inf}
    assert {name: vc.dimension(name) for name in table} == table
    assert vc.dimension("intervals", k=3) == 6
    assert [vc.dimension("halfspaces", d=d) for d in (1, 2, 10)] == [2, 3, 11]
    assert vc.dimension("boxes", d=3) == 6


@pytest.mark.parametrize("d", [1, 2, 3, 6])
def test_d_plus_one_points_are_shattered_and_d_plus_two_never(d):
    found = vc.shatters(vc.independent_points(d))
    assert found.shattered
    assert found.check()
    random = np.random.default_rng(d)
    for n in (d + 2, d + 5):
        X = random.normal(size=(n, d))
        proof = vc.radon(X)
        assert not proof.shattered
        assert proof.check()
        assert len(proof.rows) <= d + 2
        assert separability(X, proof.labelling).status != "complete"
    with pytest.raises(ValueError, match="d \\+ 2 points"):
        vc.radon(random.normal(size=(d + 1, d)))


def test_shattering_is_what_counting_says():
    random = np.random.default_rng(1)
    seen = set()
    for _ in range(150):
        n, d = int(random.integers(1, 6)), int(random.integers(1, 4))
        X = random.integers(-1, 2, size=(n, d)).astype(float)
        found = vc.shatters(X)
        assert found.shattered == growth.dichotomies(X).shattered
        assert found.check()
        if not found.shattered:
            listed = {tuple(row) for row in growth.dichotomies(X).labels.tolist()}
            assert tuple(found.labelling.tolist()) not in listed
        seen.add(found.shattered)
    assert seen == {True, False}


def test_shattered_points_have_a_hyperplane_for_every_labelling():
    X = np.array([[0.1, 0.2, 5.0], [0.3, -0.7, 1.0], [1e-3, 2.0, -4.0]])
    found = vc.shatters(X)
    for y in itertools.product((-1, 1), repeat=3):
        w, b = found.hyperplane(y)
        assert [float(sum(v * u for v, u in zip(row, w)) + b) for row in X.tolist()] == pytest.approx(y, abs=1e-9)
    with pytest.raises(ValueError, match="-1 or 1"):
        found.hyperplane([0, 1, 1])
    with pytest.raises(ValueError, match="not shattered"):
        vc.shatters([[0.0], [1.0], [2.0]]).hyperplane([1, 1, 1])


def test_effective_parameters():
    random = np.random.default_rng(0)
    X = random.integers(-5, 6, size=(20, 3)).astype(float)
    assert vc.effective_dimension(X) == 4
    again = np.column_stack([X, X[:, 0] + X[:, 1], np.ones(20)])  # two parameters more, no dichotomy more
    assert vc.effective_dimension(again) == 4
    assert growth.count_dichotomies(again[:9]) == growth.count_dichotomies(X[:9])


@pytest.mark.parametrize(("dtype", "shift"), [(np.float64, 0.0), (np.float64, 1e6), (np.float32, 0.0)])
def test_effective_parameters_of_floats(dtype, shift):
    # x0 + x1 in floats is off by a rounding: no parameter more, though exact arithmetic sees one.
    random = np.random.default_rng(1)
    X = random.normal(size=(200, 3)).astype(dtype) * np.array([1.0, 1e-3, 1e3], dtype) + dtype(shift)
    again = np.column_stack([X, X[:, 0] + X[:, 1]])
    assert again.dtype == dtype
    exact = np.column_stack([again.astype(object), np.ones(200, object)])
    fractions = [[Fraction(float(v)) for v in row] for row in exact[:12]]
    assert rank_in_fractions(fractions) == 5  # exact arithmetic sees the rounding
    assert vc.effective_dimension(again[:12], tol=0) == 5
    assert vc.effective_dimension(X) == 4
    found = vc.effective_dimension(again)
    assert found == 4
    assert isinstance(found, int)
    unit = 2.0**-52 if dtype == np.float64 else 2.0**-23
    assert found.tolerance == 200 * unit
    assert found.largest_dropped < found.tolerance < found.smallest_counted
    assert f"singular values above {200 * unit:.2g} of the largest count" in str(found)
    assert "4 effective of 5 parameters" in str(found)
    # A column that differs by more than rounding is one of its own.
    other = np.column_stack([X, X[:, 0] + X[:, 1] + dtype(max(shift, 1.0) * 1e-2) * random.normal(size=200)])
    assert vc.effective_dimension(other) == 5
    assert vc.effective_dimension(X, offset=False) == 3


def rank_in_fractions(rows):
    rank = 0
    for j in range(len(rows[0])):
        place = next((i for i in range(rank, len(rows)) if rows[i][j] != 0), None)
        if place is None:
            continue
        rows[rank], rows[place] = rows[place], rows[rank]
        for i in range(rank + 1, len(rows)):
            factor = rows[i][j] / rows[rank][j]
            rows[i] = [a - factor * b for a, b in zip(rows[i], rows[rank])]
        rank += 1
    return rank


def test_sparse_rows_are_rows():
    X = np.array([[0.0, 1.0], [2.0, 0.0], [0.0, 0.0], [1.0, 1.0]])
    sparse = csr_matrix(X)
    assert vc.effective_dimension(sparse) == vc.effective_dimension(X) == 3
    assert vc.shatters(sparse).shattered is vc.shatters(X).shattered
    assert growth.dichotomies(sparse).count == growth.dichotomies(X).count


def test_effective_parameters_refuse():
    with pytest.raises(ValueError, match="must be a matrix"):
        vc.effective_dimension([1.0, 2.0])
    with pytest.raises(ValueError, match="finite"):
        vc.effective_dimension([[1.0, np.nan]])
    with pytest.raises(ValueError, match="tol must be a number of at least 0; got -1"):
        vc.effective_dimension([[1.0, 2.0]], tol=-1)
    assert vc.effective_dimension(np.zeros((3, 2)), offset=False) == 0
    assert vc.effective_dimension([[1e300, 1e-300], [2e300, 1e-300], [1.0, 5e-300]]) == 3


def test_the_crude_shape():
    for d in (1, 5, 30):
        n = vc.crude_sample_size(1e-5, d)
        assert vc.crude(n, d) == pytest.approx(math.log(1e-5), abs=1e-9)
        assert n > d
    assert vc.crude_sample_size(1e-3, 0) == pytest.approx(math.log(1000))
    sizes = [vc.crude_sample_size(1e-5, d) for d in (20, 40, 80)]
    assert all(1.6 < b / a < 2.3 for a, b in itertools.pairwise(sizes))


def test_the_tradeoff():
    found = vc.tradeoff([1, 2, 3, 4, 8], [0.5, 0.3, 0.2, 0.19, 0.185], 10_000)
    assert (np.diff(found.penalty) > 0).all()
    assert found.best == 3
    assert found.total == pytest.approx(found.e_in + found.penalty)
    alone = vc.bound(10_000, 3, 0.05 / 5).value
    assert found.penalty[2] == pytest.approx(alone)  # delta shared out: the lowest sum may be chosen
    with pytest.raises(ValueError, match="one E_in for each"):
        vc.tradeoff([1, 2], [0.1], 10)
    with pytest.raises(ValueError, match="between 0 and 1"):
        vc.tradeoff([1], [1.1], 10)


def test_suprema_over_rays():
    random = np.random.default_rng(5)
    for _ in range(20):
        noise = float(random.choice([0.0, 0.1, 0.4]))
        x, x2 = random.random(7), random.random(7)
        y, y2 = (np.where(random.random(7) < 0.5, 1, -1) for _ in range(2))
        grid = np.linspace(0.0, 1.0, 2_001)
        wrong, wrong2 = (
            np.mean(np.where(points > grid[:, None], 1, -1) != labels, axis=1) for points, labels in ((x, y), (x2, y2))
        )
        true = noise + (1 - 2 * noise) * np.abs(grid - 0.5)
        assert largest_deviation(x, y, noise) == pytest.approx(np.abs(wrong - true).max(), abs=1e-3)
        assert largest_difference(x, y, x2, y2) == pytest.approx(np.abs(wrong - wrong2).max())


@pytest.mark.parametrize(("n", "epsilon"), [(50, 0.15), (100, 0.2), (100, 0.12), (400, 0.1)])
def test_the_ghost_sample(n, epsilon):
    found = vc.ghost_sample(n, epsilon, draws=1000)
    slack = 4 * math.sqrt(0.25 / 1000)
    assert found.factor * found.out <= found.ghost + slack
    assert found.ghost <= min(1.0, found.ghost_bound)
    assert found.out <= min(1.0, found.vc_bound)


def test_the_ghost_bounds_where_they_say_something():
    found = vc.ghost_sample(1000, 0.4, draws=200)
    assert found.vc_bound < 0.1
    assert found.out == found.ghost == 0.0
    assert found.step_holds
    assert found.vc_bound == pytest.approx(4 * growth.growth("rays", 2000) * math.exp(-0.16 * 1000 / 8))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: vc.bound(100, 3, 0.0), "strictly between 0 and 1"),
        (lambda: vc.bound(100, 3, 1.5), "strictly between 0 and 1"),
        (lambda: vc.bound(100.5, 3), "n must be a whole number"),
        (lambda: vc.bound(100, -1), "d must be at least 0"),
        (lambda: vc.bound(100, 3, kind="best"), "kind must be one of vc, rademacher"),
        (lambda: vc.bound(100, 3, growth="fast"), "exact"),
        (lambda: vc.bound(100, "trees"), "no growth function of 'trees'"),
        (lambda: vc.sample_size(0.0, 0.1, 3), "epsilon must be a positive number"),
        (lambda: vc.sample_size(0.1, 0.1, "convex sets"), "no number of rows is enough"),
        (lambda: vc.crude_sample_size(1e9, 3), "never above"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
