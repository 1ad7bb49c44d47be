"""One matrix for all pairs of classes: its values, its products with their bounds, and fits that read it."""

import numpy as np
import pytest

import gapless
from gapless._runtime.threads import thread_team
from gapless.gram.blocks import build_gram
from gapless.gram.class_pairs import ClassPairGram, ClassPairTiles, PairwiseGram
from gapless.kernels.rbf import RBF
from gapless.problems.kernel import quantile_interval
from gapless.solvers.kernel.inner_loop import take_pairs


def points(n: int, d: int, classes: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    y = random.integers(0, classes, n)
    return random.normal(size=(n, d)) + random.normal(size=(classes, d))[y], y


@pytest.mark.parametrize("threads", [1, 2])
def test_rows_and_products_are_those_of_the_kernel(threads: int) -> None:
    X, y = points(900, 5, 3, 0)
    y[:600] = 0  # more than one part of a class
    whole = build_gram(RBF(0.3), X)
    K = np.exp(-0.3 * ((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2))
    random = np.random.default_rng(1)
    with thread_team(threads):
        together = PairwiseGram(whole.laid_out, y, 3)
    for pair in ((1, 0), (0, 2), (1, 2)):
        index = np.flatnonzero((y == pair[0]) | (y == pair[1]))
        tiles = ClassPairGram(whole, index, together, pair).single
        own = K[np.ix_(index, index)][np.ix_(tiles.order, tiles.order)]
        assert sorted(tiles.order) == list(range(index.size))
        assert (np.diff(y[index][tiles.order]) >= 0).all()
        some = random.permutation(index.size)[:100]
        tiles.load(some)
        np.testing.assert_allclose(tiles.rows[some, : index.size], own[some], atol=2e-6)
        assert (tiles.rows[some, index.size :] == 0.0).all()
        np.testing.assert_allclose(tiles.square(some)[:, : some.size], own[np.ix_(some, some)], atol=2e-6)
        v, at = random.normal(size=some.size), np.flatnonzero(random.random(index.size) < 0.3)
        for where in (None, at):
            n = index.size if where is None else at.size
            out, off = np.zeros(n), np.zeros((n, 2))
            tiles.add(out, some, v, where, None, off)
            exact = own[:, some] @ v if where is None else own[np.ix_(at, some)] @ v
            full = np.zeros((index.size, 2))
            full[slice(None) if where is None else at] = off
            bound = tiles.rates.bound(full, float(np.abs(v).sum()))[slice(None) if where is None else at]
            assert (np.abs(out - exact) <= bound).all()
            assert bound.max() < 1e-3


def test_rows_brought_when_needed_give_the_same_pairs() -> None:
    X, y = points(700, 3, 2, 2)
    whole = build_gram(RBF(0.5), X)
    couple = ClassPairTiles(PairwiseGram(whole.laid_out, y, 2), np.arange(700), (0, 1))
    every = ClassPairTiles(PairwiseGram(whole.laid_out, y, 2), np.arange(700), (0, 1))
    every.load(np.arange(700))
    sign = np.where(y[couple.order] == 1, 1.0, -1.0)
    low, high = np.minimum(0.0, 5.0 * sign), np.maximum(0.0, 5.0 * sign)
    found = []
    for tiles in (couple, every):
        v, u = np.zeros(tiles.rows.shape[1], np.float32), np.zeros(700)
        v[:700] = sign
        everybody = np.ones(700, bool)
        if tiles is every:
            done = take_pairs(tiles.rows, None, tiles.diagonal, v, u, (low, high), [everybody], 1e-3, 5000)
        else:
            done = take_pairs(tiles.rows, tiles.pair_rows, tiles.diagonal, v, u, (low, high), [everybody], 1e-3, 5000)
        found.append((done, u, v))
    assert not couple.pair_rows.loaded.all()  # some were never needed
    assert 100 < found[0][0] == found[1][0] < 5000
    np.testing.assert_array_equal(found[0][1], found[1][1])
    np.testing.assert_array_equal(found[0][2], found[1][2])
    rises, falls = u < high, u > low
    assert v[:700][rises].max() - v[:700][falls].min() <= 1e-3


def test_fits_read_it_and_prove_what_they_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = points(3300, 4, 4, 3)
    used = []
    begin = ClassPairTiles.__init__
    monkeypatch.setattr(ClassPairTiles, "__init__", lambda self, *args: (used.append(1), begin(self, *args))[1])
    fits = [gapless.SVC(gamma=0.2, n_jobs=jobs).fit(X, y) for jobs in (1, 2)]
    assert len(used) == 12
    np.testing.assert_array_equal(fits[0].dual_coef_, fits[1].dual_coef_)
    np.testing.assert_array_equal(fits[0].intercept_, fits[1].intercept_)
    assert gapless.verify(fits[0], X, y)
    assert fits[0].certificate_.relative_gap <= 1e-4
    used.clear()
    other = gapless.SVC(gamma=0.2, cache_size=10, tol=1e-7).fit(X, y)  # no room: every pair by itself
    assert not used
    for ours, best in zip(fits[0].certificate_.subproblems, other.certificate_.subproblems):
        assert ours.dual <= best.primal + ours.rounding + best.rounding
        assert ours.primal >= best.dual - ours.rounding - best.rounding
    np.testing.assert_allclose(fits[0].decision_function(X), other.decision_function(X), atol=0.05)
    tight = gapless.SVC(gamma=0.2, tol=1e-9).fit(X, y)
    assert used
    assert tight.certificate_.relative_gap <= 1e-9
    weights = np.random.default_rng(4).random(y.size)
    weights[::50] = 0.0
    weighted = gapless.NuSVC(nu=0.8, gamma=0.2).fit(X, y, weights)
    assert weighted.certificate_.relative_gap <= 1e-4
    assert gapless.verify(weighted, X, y, sample_weight=weights)


def test_no_time_for_it() -> None:
    X, y = points(3300, 4, 4, 3)
    with gapless.config_context(convergence="ignore"):
        model = gapless.SVC(gamma=0.2, time_limit=1e-6).fit(X, y)
    assert model.status_ == "time_limit"
    assert gapless.verify(model, X, y)


def test_the_best_offsets_of_equal_costs_are_those_of_any_costs() -> None:
    random = np.random.default_rng(5)
    for _ in range(2000):
        n = int(random.integers(1, 30))
        kinks, c = random.normal(size=n).round(1), np.full(n, random.choice([1.0, 0.1, 1.0 / 3.0, 1e6]))
        wanted = float(c[0] * random.integers(0, n + 1)) if random.random() < 0.7 else float(random.random() * c.sum())
        # By enumeration: the slope at v is (what was passed) - wanted.
        values = np.array([float(c @ np.maximum(0.0, v - kinks)) - wanted * v for v in kinks])
        low, high = quantile_interval(kinks, c, wanted)
        best = values.min()
        for end in (low, high):
            assert float(c @ np.maximum(0.0, end - kinks)) - wanted * end <= best + 1e-9 * (1.0 + abs(best))
        ties = kinks[values <= best + 1e-9 * float(c.sum())]
        assert low == ties.min()
        assert high == ties.max()
