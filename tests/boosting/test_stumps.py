"""The best stump, against enumeration in fractions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from gapless._runtime.threads import thread_team
from gapless.solvers.boosting import features
from gapless.solvers.boosting.features import encode_features
from gapless.solvers.boosting.rounds import order_by_class
from gapless.solvers.boosting.search import find_best_stump
from gapless.solvers.boosting.stumps import sum_sides
from gapless.solvers.boosting.thresholds import BoostingThresholds
from tests.boosting.cases import best_by_enumeration, blobs, small, split_value


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_equals_exhaustive_search_in_fractions(kind):
    none = 0
    for seed in range(300):
        X, y, w, K = small(seed)
        order, starts = order_by_class(y, K)
        data = encode_features(sparse.csr_matrix(X) if kind == "sparse" else X, order)
        found = find_best_stump(data, starts, w[order].astype(float))
        best, edge = best_by_enumeration(X, y, w, K)
        if K == 2:
            assert abs(found.edge - float(edge)) < 1e-14
        if best is None:
            none += 1
            assert found.split is None
            continue
        split = found.split
        assert split_value(X, y, w, K, split.feature, split.threshold)[0] == best
        right = X[order, split.feature] > split.threshold
        assert np.array_equal(split.side > split.cut, right)
        masses = sum_sides(split.side, split.cut, starts, w[order].astype(float))
        for k in range(K):
            assert masses[1, k] == w[(y == k) & (X[:, split.feature] > split.threshold)].sum()
    assert none < 30  # the test had something to look at


def test_ties_go_to_the_lowest_feature_and_threshold():
    X = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [3.0, 3.0]])
    y = np.array([0, 1, 0, 1])  # cuts after the first and before the last value are equally good
    order, starts = order_by_class(y, 2)
    for Z in (X, sparse.csr_matrix(X)):
        split = find_best_stump(encode_features(Z, order), starts, np.ones(4)).split
        assert (split.feature, split.threshold) == (0, 0.5)


def test_bins_hold_all_values_where_these_are_few_and_quantiles_where_not(monkeypatch):
    monkeypatch.setattr(features, "BOOSTING_THRESHOLDS", BoostingThresholds(exact_rows=100))
    rng = np.random.default_rng(0)
    X = np.column_stack((rng.integers(0, 7, 5000), rng.normal(size=5000))).astype(float)
    data = encode_features(X, np.arange(5000))
    assert not data.exact
    assert data.codes.dtype == np.uint8
    assert data.sizes.tolist() == [7, 256]
    assert np.array_equal(data.codes[0], X[:, 0])
    counts = np.bincount(data.codes[1], minlength=256)
    assert counts.min() >= 10
    assert counts.max() <= 40
    x = X[:, 1].astype(np.float32)
    for c in (0, 100, 254):
        assert np.array_equal(data.codes[1] <= c, x <= data.cuts[1][c])


def test_wide_codes_have_the_bits_of_narrow_ones():
    X, y = blobs(600, 2, 3)
    X = np.round(X, 1)
    order, starts = order_by_class(y, 2)
    w = np.random.default_rng(1).random(600)
    data = encode_features(X, order)
    assert data.codes.dtype == np.uint8
    found, wide = (
        find_best_stump(data, starts, w),
        find_best_stump(data._replace(codes=data.codes.astype(np.uint16)), starts, w),
    )
    assert (found.edge, found.split.threshold) == (wide.edge, wide.split.threshold)


def test_rows_of_a_frequent_code_need_not_be_read():
    rng = np.random.default_rng(3)
    for seed in range(20):
        X, y = blobs(400, 2, seed)
        X[:, 0] = np.where(rng.random(400) < 0.8, 0.0, X[:, 0])
        X[:, 1] = np.where((rng.random(400) < 0.9) & (y == 1) if seed % 2 else y >= 0, 0.5, X[:, 1])
        order, starts = order_by_class(y, 2)
        w = rng.integers(1, 9, 400).astype(float)  # whole numbers: sums are exact, whichever way
        data = encode_features(X, order)
        assert data.frequent.common[0] >= 0
        plain = data._replace(frequent=data.frequent._replace(common=np.full_like(data.frequent.common, -1)))
        for weights, rel in ((w, 0.0), (rng.random(400) ** 9, 1e-12)):
            one, other = find_best_stump(data, starts, weights), find_best_stump(plain, starts, weights)
            assert one.edge == pytest.approx(other.edge, rel=rel, abs=0.0)
            assert one.split[:2] == other.split[:2]


@pytest.mark.parametrize("K", [2, 5])
def test_threads_do_not_change_the_bits(K):
    X, y = blobs(20_000, K, 4, d=9)
    order, starts = order_by_class(y, K)
    w = np.random.default_rng(1).random(y.size)
    alone = find_best_stump(encode_features(X, order), starts, w)
    with thread_team(3):
        several = find_best_stump(encode_features(X, order), starts, w)
    assert alone.split.threshold == several.split.threshold
    assert alone.split.feature == several.split.feature
    assert alone.edge == several.edge


def test_values_beyond_float32_are_refused():
    with pytest.raises(ValueError, match="float32"):
        encode_features(np.array([[1e300], [0.0]]), np.arange(2))
