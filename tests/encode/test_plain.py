"""Data that is ready is told so, and whatever scikit-learn would convert or refuse is not."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.utils.validation import validate_data

from gapless import LinearSVC
from gapless.encode.clean import ready

X = np.arange(12.0).reshape(4, 3)
y = np.array([0, 1, 0, 1])


def checked(X, y):
    model = LinearSVC()
    options = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "order": "C", "accept_large_sparse": True}
    return validate_data(model, X, y, **options), model


@pytest.mark.parametrize("form", [np.array, sparse.csr_matrix, sparse.csr_array])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("labels", [y, y.astype(np.uint8), y == 1])
def test_ready_is_what_scikit_learn_returns_as_it_is(form, dtype, labels):
    given, model = form(X.astype(dtype)), LinearSVC()
    model.feature_names_in_ = np.array(["a", "b", "c"], dtype=object)  # of an earlier fit
    assert ready(model, given, labels)
    (read, read_labels), other = checked(given, labels)
    assert read is given
    assert read_labels.dtype == labels.dtype
    assert np.array_equal(read_labels, labels)
    assert model.n_features_in_ == other.n_features_in_ == 3
    assert not hasattr(model, "feature_names_in_")


def wrong(at, value):
    changed = X.copy()
    changed[at] = value
    return changed


@pytest.mark.parametrize(
    ("X", "y"),
    [
        (X.tolist(), y),
        (X.astype(int), y),
        (np.asfortranarray(X), y),
        (X[:, ::2], y),
        (X[:, 0], y),
        (X[:, :0], y),
        (X[:0], y[:0]),
        (wrong((1, 1), np.nan), y),
        (wrong((3, 2), np.inf), y),
        (wrong((0, 0), -np.inf), y),
        (sparse.csr_matrix(wrong((1, 1), np.nan)), y),
        (sparse.csc_matrix(X), y),
        (X.astype(">f8"), y),
        (X, y[:3]),
        (X, y[:, None]),
        (X, y.astype(float)),
        (X, y.tolist()),
        (X, y.astype(object)),
        (X, None),
        (np.full((4, 3), 1e308), y),  # fine, and seen to be so by a closer look
    ],
)
def test_in_doubt_not(X, y):
    model = LinearSVC()
    assert not ready(model, X, y)
    assert not hasattr(model, "n_features_in_")
