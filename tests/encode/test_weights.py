"""Weights: what is accepted, what is refused, c_i, and the rows that are left out."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.utils.class_weight import compute_class_weight

from gapless.encode.labels import encode_labels
from gapless.encode.weights import check_sample_weight, costs, resolve_class_weight, weightless_classes


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, [1, 1, 1]),
        (2, [2, 2, 2]),
        (np.float32(0.5), [0.5, 0.5, 0.5]),
        ([1, 0, 3], [1, 0, 3]),
        (np.array([True, False, True]), [1, 0, 1]),
        (pd.Series([1.0, 2.0, 3.0], index=[7, 8, 9]), [1, 2, 3]),
        (np.array([1, 2, 3], dtype=object), [1, 2, 3]),
    ],
)
def test_accepted(given, expected):
    weight = check_sample_weight(given, 3)
    assert weight.dtype == np.float64
    assert weight.tolist() == expected


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([1, -2, 3], "Negative values in data passed to `sample_weight`: row 1 has -2"),
        (-1.0, "Negative values"),
        ([1, math.nan, 3], "sample_weight contains NaN: row 1"),
        ([1, 2, math.inf], "sample_weight contains infinity: row 2"),
        ([1, 2], r"sample_weight.shape == \(2,\), expected \(3,\)!"),
        ([[1, 2, 3]], "Sample weights must be 1D array or scalar"),
        ([0, 0, 0], "Sample weights must contain at least one non-zero number."),
        (0, "at least one non-zero number"),
        (["a", "b", "c"], "must hold numbers"),
        (np.array(["a", 1, 2], dtype=object), "must hold numbers"),
    ],
)
def test_refused(given, message):
    with pytest.raises(ValueError, match=message):
        check_sample_weight(given, 3)


def test_balanced_uses_the_weights_as_counts():
    y = np.array([0, 0, 0, 1, 2])
    w = np.array([1.0, 2.0, 0.0, 4.0, 1.0])
    labels = encode_labels(y)
    # sum 8, K = 3, masses 3, 4, 1
    exact = [Fraction(8, 9), Fraction(8, 12), Fraction(8, 3)]
    got = resolve_class_weight("balanced", labels, w)
    assert [Fraction(g) == Fraction(float(e)) for g, e in zip(got, exact)] == [True] * 3
    repeated = np.repeat(y, w.astype(int))
    np.testing.assert_allclose(got, compute_class_weight("balanced", classes=np.unique(y), y=repeated), rtol=1e-15)


def test_balanced_leaves_a_class_without_weight_at_one():
    labels = encode_labels([0, 1, 2])
    got = resolve_class_weight("balanced", labels, np.array([1.0, 1.0, 0.0]))
    assert got.tolist() == [2 / 3, 2 / 3, 1.0]


def test_dict():
    labels = encode_labels(["a", "b", "c"])
    ones = np.ones(3)
    assert resolve_class_weight({"a": 2, "c": np.float32(0.5)}, labels, ones).tolist() == [2.0, 1.0, 0.5]
    assert resolve_class_weight(None, labels, ones).tolist() == [1.0, 1.0, 1.0]
    # a fold of a cross-validation that lacks a class: every class is named, one more than needed
    assert resolve_class_weight({"a": 2, "b": 1, "c": 3, "d": 4}, labels, ones).tolist() == [2.0, 1.0, 3.0]
    numbers = encode_labels(np.array([0, 1], dtype=np.int32))
    assert resolve_class_weight({0: 1, 1: 5}, numbers, np.ones(2)).tolist() == [1.0, 5.0]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("even", "class_weight must be dict, 'balanced', or None, got: 'even'"),
        ([1, 2], "class_weight must be dict"),
        ({"A": 2, "b": 1}, r"The classes, \['a'\], are not in class_weight, and class_weight names \['A'\]"),
        ({"a": -1}, r"class_weight\['a'\] must be a finite number >= 0, got -1"),
        ({"a": math.nan}, "finite number"),
        ({"a": math.inf}, "finite number"),
        ({"a": "2"}, "finite number"),
    ],
)
def test_bad_class_weights(given, message):
    with pytest.raises(ValueError, match=message):
        resolve_class_weight(given, encode_labels(["a", "b"]), np.ones(2))


def test_costs_and_the_way_back():
    labels = encode_labels([0, 1, 0, 1])
    sample = np.array([1.0, 2.0, 0.0, 3.0])
    c = costs(0.5, sample, np.array([4.0, 0.25]), labels.index)
    assert c.rows.tolist() == [0, 1, 3]
    assert c.c.tolist() == [2.0, 0.25, 0.375]
    assert c.take(labels.signs(1)).tolist() == [-1.0, 1.0, 1.0]
    assert c.restore(np.array([7.0, 8.0, 9.0])).tolist() == [7.0, 8.0, 0.0, 9.0]
    both = c.restore(np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
    assert both.tolist() == [[1, 2, 0, 3], [4, 5, 0, 6]]


def test_costs_without_zeros_copy_nothing():
    values = np.arange(3.0)
    c = costs(1.0, np.ones(3), np.ones(2), np.array([0, 1, 0]))
    assert c.rows is None
    assert c.take(values) is values
    assert c.restore(values) is values


def test_order_of_the_products_is_fixed():
    """(C * s) * w and C * (s * w) differ in the last bit; the judge multiplies in the first order."""
    C, s, w = 0.1, 0.3, 0.7
    assert (C * s) * w != C * (s * w)
    assert costs(C, np.array([s]), np.array([w, w]), np.array([0])).c[0] == (C * s) * w


def test_hard_margin_keeps_zero_weights_out():
    c = costs(math.inf, np.array([1.0, 0.0, 2.0]), np.array([1.0, 1.0]), np.array([0, 1, 1]))
    assert c.rows.tolist() == [0, 2]
    assert c.c.tolist() == [math.inf, math.inf]


def test_classes_that_lose_all_their_weight():
    labels = encode_labels(["a", "b", "c", "c"])
    assert weightless_classes(labels, np.array([1.0, 1.0, 0.0, 1.0]), np.ones(3)) == []
    assert weightless_classes(labels, np.array([1.0, 1.0, 0.0, 0.0]), np.ones(3)) == ["c"]
    assert weightless_classes(labels, np.ones(4), np.array([0.0, 1.0, 1.0])) == ["a"]
    with pytest.raises(ValueError, match=r"at least 2 classes .* only one class: 'b' after the rows of weight zero"):
        weightless_classes(labels, np.array([0.0, 1.0, 0.0, 0.0]), np.ones(3))
    with pytest.raises(ValueError, match="every weight is zero"):
        weightless_classes(labels, np.ones(4), np.zeros(3))
