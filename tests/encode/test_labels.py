"""Labels of any type go in, come back, and bad ones are named."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gapless.encode.labels import decode_labels, encode_labels


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        ([3, 1, 1, 2], [1, 2, 3]),
        (np.array([3, 1, 1, 2], dtype=np.uint8), [1, 2, 3]),
        (np.array([-100, 100, -100], dtype=np.int8), [-100, 100]),  # the difference does not fit into int8
        ([1.0, -1.0, 1.0], [-1.0, 1.0]),
        ([0.0, -0.0, 5.0], [0.0, 5.0]),
        ([True, False, True], [False, True]),
        (["b", "a", "b"], ["a", "b"]),
        (np.array(["b", "a", "ß", "Z"], dtype=object), ["Z", "a", "b", "ß"]),
        (np.array([5, 7, 5], dtype=object), [5, 7]),
        (np.array([True, False], dtype=object), [False, True]),
        (np.array([0, 10**12, 0]), [0, 10**12]),  # too wide for a table
        (np.array([2**63, 2**63 + 2**40], dtype=np.uint64), [2**63, 2**63 + 2**40]),
        (np.array([2**63 + 1, 2**63], dtype=np.uint64), [2**63, 2**63 + 1]),
        (pd.Series(["x", "y", "x"], dtype="category"), ["x", "y"]),
        (pd.Series([2, 1, 2], dtype="Int64"), [1, 2]),
        (pd.Series(["x", "y"], dtype="string"), ["x", "y"]),
        (pd.Series([True, False], dtype="boolean"), [False, True]),
        (pl.Series(["x", "y", "x"]), ["x", "y"]),
        (pl.Series([2, 1, 2]), [1, 2]),
        (pd.DataFrame({"y": [1, 0]}), [0, 1]),
    ],
)
def test_classes_are_sorted_and_come_back(y, classes):
    labels = encode_labels(y)
    assert labels.classes.tolist() == classes
    assert labels.index.dtype == np.int64
    again = labels.decode(labels.index)
    plain = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y).ravel()
    assert again.tolist() == plain.tolist()
    assert np.array_equal(encode_labels(again, labels.classes).index, labels.index)


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint16, np.float32, np.float64, bool])
def test_the_type_of_the_labels_is_kept(dtype):
    y = np.array([1, 0, 1, 0], dtype=dtype)
    assert encode_labels(y).classes.dtype == dtype
    assert encode_labels(["a", "b"]).classes.dtype.kind == "U"
    assert encode_labels(np.array(["a", "b"], dtype=object)).classes.dtype == object


@given(
    st.one_of(
        st.lists(st.integers(-(2**62), 2**62), min_size=2),
        st.lists(st.integers(-50, 50), min_size=2),
        st.lists(st.text(alphabet="abäz0 ", max_size=3), min_size=2),
        st.lists(st.booleans(), min_size=2),
    ).filter(lambda y: len(set(y)) > 1)
)
def test_same_as_numpy_unique(y):
    classes, index = np.unique(np.asarray(y), return_inverse=True)
    labels = encode_labels(y)
    assert np.array_equal(labels.classes, classes)
    assert labels.classes.dtype == classes.dtype
    assert np.array_equal(labels.index, index)


def test_signs_of_one_against_the_rest():
    two = encode_labels(["no", "yes", "no"])
    assert two.positives == (1,)
    assert two.signs(1).tolist() == [-1.0, 1.0, -1.0]
    three = encode_labels([20, 10, 30, 10])
    assert three.positives == (0, 1, 2)
    signs = np.array([three.signs(k) for k in three.positives])
    assert signs.tolist() == [[-1, 1, -1, 1], [1, -1, -1, -1], [-1, -1, 1, -1]]
    assert (signs.sum(axis=0) == -1).all()  # each row is positive once


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (
            [1, 1, 1],
            "This solver needs samples of at least 2 classes in the data, but the data contains only one class: 1",
        ),
        (["a", "a"], "only one class: 'a'"),
        ([0.5, 1.5, 2.0], "Unknown label type: continuous"),
        ([1.0, np.nan], "Input y contains NaN"),
        ([1.0, np.inf], "Input y contains infinity"),
        (
            np.array(["a", None, "b"], dtype=object),
            r"mixes labels of different types: row 0 is 'a' \(str\), row 1 is None",
        ),
        (np.array(["a", 1], dtype=object), "row 1 is 1"),
        ([[1, 2], [0, 1]], "1d array"),
        ([], "0 sample"),
        (None, "y is None"),
        (np.array(["2020-01-01", "2020-01-02"], dtype="datetime64[D]"), "Unknown label type"),
        (np.array([1, 2 + 1j]), "Complex data not supported"),
    ],
)
def test_bad_labels_are_named(y, message):
    with pytest.raises(ValueError, match=message):
        encode_labels(y)


def test_unknown_label_of_an_existing_model_is_named():
    with pytest.raises(
        ValueError, match=r"label 'c' in row 2, which the model does not know; its classes are \['a', 'b'\]"
    ):
        encode_labels(["a", "b", "c"], np.array(["a", "b"]))
    # fewer classes than the model has are fine, and 1.0 is 1
    assert encode_labels([1.0, 1.0], np.array([0, 1])).index.tolist() == [1, 1]


def test_decode_takes_indices_of_any_integer_type():
    assert decode_labels(np.array(["a", "b"]), np.array([1, 0], dtype=np.uint8)).tolist() == ["b", "a"]
