"""Maps that make classes separable, and maps that are one degree short of it."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from sklearn.preprocessing import PolynomialFeatures

from gapless import LinearSVC, separability, verify

EXAMPLE = Path(__file__).parents[2] / "examples" / "feature_maps.py"


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("feature_maps", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_xor(example):
    X, y, features = example.xor()
    before = separability(X, y)
    assert before.status == "overlap"
    # The witness that everybody draws: the two diagonals cross.
    assert sorted(before.rows.tolist()) == [0, 1, 2, 3]
    assert verify(before, X, y)
    after = separability(features.fit_transform(X), y)
    assert after.status == "complete"
    assert features.get_feature_names_out()[after.columns].tolist() == ["x0 x1"]
    # w = (0, 0, 1), b = 0: distance 1 in the space of the map, and none is farther.
    assert after.margin == pytest.approx(1.0, rel=1e-12)
    assert after.margin_upper == pytest.approx(1.0, rel=1e-12)


def test_a_disc_and_its_ring(example):
    X, y, features = example.quadratic()
    assert separability(X, y).status == "overlap"
    mapped = features.fit_transform(X)
    after = separability(mapped, y)
    assert after.status == "complete"
    assert verify(after, mapped, y)
    names = features.get_feature_names_out()[after.columns].tolist()
    assert {"x0^2", "x1^2"} <= set(names)
    model = LinearSVC(C=np.inf).fit(mapped, y)
    assert (model.predict(mapped) == y).all()
    assert 1.0 / np.linalg.norm(model.coef_) == pytest.approx(after.margin, rel=1e-9)


@pytest.mark.parametrize("changes", [1, 2, 3, 4, 6])
def test_a_polynomial_needs_a_root_for_each_change_of_label(example, changes):
    X, y, features = example.alternating(changes)
    assert separability(features.fit_transform(X), y).status == "complete"
    for degree in range(1, changes):
        short = PolynomialFeatures(degree, include_bias=False).fit_transform(X)
        assert separability(short, y).status == "overlap"


def test_enough_columns_separate_anything():
    """n points, n - 1 powers: any labels at all. To be separable is no merit where the columns are many."""
    random = np.random.default_rng(1)
    X = np.arange(7.0)[:, None] - 3.0
    powers = PolynomialFeatures(6, include_bias=False).fit_transform(X)
    for _ in range(20):
        y = random.integers(0, 2, 7)
        if 0 < y.sum() < 7:
            assert separability(powers, y).status == "complete"


def test_the_example_runs(example, capsys):
    example.main()
    out = capsys.readouterr().out
    assert out.count("before") == out.count("after") == 3
    assert "x0 x1" in out
