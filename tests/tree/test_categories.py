"""Sets of categories: the best of all sets for one target; unseen ones and missing ones have a way."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from gapless import DecisionTreeClassifier, DecisionTreeRegressor, verify
from tests.tree.exhaustive import fractions, spread


@pytest.mark.parametrize("seed", range(40))
def test_the_best_of_all_sets(seed):
    random = np.random.default_rng(seed)
    n, K = int(random.integers(6, 40)), int(random.integers(2, 7))
    x = random.choice([3, 7, 11, 500, 501, 70000][:K], n).astype(float)
    two = bool(seed % 2)
    y = random.integers(0, 2, n) if two else random.integers(-6, 7, n) / 2
    if len(set(y.tolist())) < 2:
        y[0], y[1] = 0, 1
    model = (DecisionTreeClassifier if two else DecisionTreeRegressor)(max_depth=1, categorical_features=[0])
    model.fit(x[:, None], y)
    Y = fractions(np.eye(2)[y] if two else y)

    def cost(left):
        sides = [[Y[i] for i in range(n) if left[i] == side] for side in (True, False)]
        return sum((spread(side, [Fraction(1)] * len(side)) for side in sides), Fraction(0))

    levels = np.unique(x)
    sets = [s for size in range(1, levels.size) for s in combinations(levels.tolist(), size)]
    if not sets:
        assert model.get_n_leaves() == 1
        return
    best = min(cost(np.isin(x, s)) for s in sets)
    assert cost(model.apply(x[:, None]) == 1) == best
    assert verify(model, x[:, None], y)


def test_unseen_categories_go_with_the_most():
    x = np.array([0, 0, 0, 1, 1, 2.0])[:, None]
    y = [0, 0, 0, 1, 1, 1]
    model = DecisionTreeClassifier(categorical_features=[True]).fit(x, y)
    np.testing.assert_array_equal(model.predict([[0], [1], [2]]), [0, 1, 1])
    # Three and three: the right side is taken where neither is larger.
    right = model.predict(x[model.apply(x) == 2][:1])[0]
    np.testing.assert_array_equal(model.predict([[17], [np.nan], [-1]]), [right] * 3)
    text = model.to_text()
    assert "in {0}" in text
    assert "in {1, 2}" in text
    with pytest.raises(NotImplementedError, match="to_text|export_text"):
        _ = model.tree_


def test_many_categories_and_missing_ones():
    random = np.random.default_rng(0)
    x = random.integers(0, 300, 2000).astype(float)
    good = random.random(300) < 0.5
    y = good[x.astype(int)] ^ (random.random(2000) < 0.05)
    x[random.random(2000) < 0.1] = np.nan
    X = np.column_stack([random.normal(size=2000), x])
    for model in (DecisionTreeClassifier(categorical_features=["x"], max_depth=4), DecisionTreeClassifier(max_depth=4)):
        if model.categorical_features is None:
            numeric = model.fit(X, y).score(X, y)
        else:
            import pandas as pd

            frame = pd.DataFrame(X, columns=["noise", "x"])
            model.fit(frame, y)
            assert verify(model, frame, y)
            sets = model.score(frame, y)
    assert sets > 0.9 > numeric


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([5], "n_features - 1"),
        ([True], "boolean mask"),
        (["a"], "without feature names"),
        ([0.5], "array-like of bool"),
    ],
)
def test_what_is_refused(given, words):
    with pytest.raises(ValueError, match=words):
        DecisionTreeClassifier(categorical_features=given).fit(np.zeros((4, 2)), [0, 1, 0, 1])
