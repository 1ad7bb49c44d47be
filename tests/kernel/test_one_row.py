"""Predictions of a single row take a way of their own: the same answers as among many rows, and as the formula says."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris

import gapless
from gapless.backends.numpy.kernel_predict import predict_few, predict_one
from gapless.kernels import RBF, Linear, Polynomial, Sigmoid


@pytest.mark.parametrize("kernel", [RBF(0.3), Polynomial(3, 0.5, 1.0), Sigmoid(0.1, 0.2), Linear()])
@pytest.mark.parametrize("ends", [[0, 40], [0, 7, 7, 25, 40], [0, 0, 40]])
def test_sums_of_parts(kernel, ends):
    """Also where a class has no support vectors."""
    random = np.random.default_rng(5)
    x, V, dual = random.normal(size=(1, 6)), random.normal(size=(40, 6)), random.normal(size=(3, 40))
    parts = [slice(a, b) for a, b in pairwise(ends)]
    found = predict_one(kernel, x, V, dual, parts)
    square, inner = ((V - x) ** 2).sum(axis=1), V @ x[0]
    K = kernel.from_distances(square) if kernel.of_distances else kernel.from_products(inner[None], inner[:1], inner)[0]
    truth = np.array([[dual[:, part] @ K[part]] for part in parts])
    assert found.shape == (len(parts), 1, 3)
    assert found == pytest.approx(truth, rel=1e-12, abs=1e-13)
    assert found == pytest.approx(predict_few(kernel, x, V, dual, parts), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("name", ["SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM", "QuadraticDiscriminantAnalysis"])
@pytest.mark.parametrize("classes", [2, 3, 10])
def test_a_row_alone_is_as_among_others(name, classes):
    X, y = load_digits(return_X_y=True) if classes == 10 else load_iris(return_X_y=True)
    X = X[:, [2, 3, 4, 5, 10, 11]] if classes == 10 else X
    keep = y < classes
    X, y = X[keep][:400], y[keep][:400]
    more = {"nu": 0.1} if name == "NuSVC" else {}
    model = getattr(gapless, name)(**more).fit(X, y)
    asked = [call for call in ("predict", "decision_function", "predict_proba") if hasattr(model, call)]
    for call in asked:
        many = getattr(model, call)(X[:30])
        alone = np.concatenate([getattr(model, call)(X[i : i + 1]) for i in range(30)])
        assert alone.shape == many.shape
        assert alone == pytest.approx(many, rel=1e-9, abs=1e-9)


def test_far_rows_of_quadratic_classes_stay_finite():
    X, y = load_iris(return_X_y=True)
    model = gapless.QuadraticDiscriminantAnalysis().fit(X, y)
    far = np.full((2, 4), 1e200)
    assert np.isfinite(model.decision_function(far[:1])).all()
    assert model.predict(far[:1]) == model.predict(far)[:1]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_votes_are_counted_as_before(dtype):
    """Of pairs whose score is 0 the second class has the vote, or the first; NaN has none."""
    from gapless.encode.pairs import count_votes

    scores = np.array([[1.0, 0.0, -1.0], [0.0, np.nan, 2.0]], dtype)
    assert count_votes(scores, 3).tolist() == [[1, 0, 2], [0, 2, 0]]
    assert count_votes(scores, 3, ties_to_first=True).tolist() == [[2, 0, 1], [1, 1, 0]]
