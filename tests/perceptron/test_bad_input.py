"""Awkward data and parameters: the right status, known by hand, or an error that says what is wrong."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse

from gapless import ConvergenceWarning, Perceptron, verify


def fitted(X, y, **options):
    model = Perceptron(**{"tol": None, "max_iter": 200, **options})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    assert verify(model, X, y), model.certificate_
    return model


@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("form", [np.array, sparse.csr_matrix])
def test_equal_points_with_opposite_labels(form, shuffle):
    X = form(np.array([[0.5, 2.0], [0.5, 2.0], [3.0, 1.0], [-3.0, 1.0]]))
    model = fitted(X, [0, 1, 1, 0], shuffle=shuffle)
    assert model.status_ == "infeasible"
    assert set(model.certificate_.witness.rows) == {0, 1}


def test_a_row_of_zeros_without_an_offset():
    X = np.array([[0.0, 0.0], [1.0, 2.0], [-1.0, -2.0]])
    model = fitted(X, [1, 1, 0], fit_intercept=False)
    assert model.status_ == "infeasible"
    assert model.certificate_.witness.rows == (0,)
    assert fitted(X, [1, 1, 0]).status_ == "converged"


def test_quasi_separation_is_no_separation():
    """x = 0 stands with both labels; everything else is on its side."""
    X, y = np.array([[-1.0], [0.0], [0.0], [1.0]]), [0, 0, 1, 1]
    model = fitted(X, y)
    assert model.status_ == "infeasible"
    assert set(model.certificate_.witness.rows) == {1, 2}


@pytest.mark.parametrize("labels", [[1, 1, 1], [0]])
def test_one_class(labels):
    with pytest.raises(ValueError, match="only one class"):
        Perceptron().fit(np.arange(len(labels))[:, None] + 1.0, labels)


def test_two_rows():
    model = fitted(np.array([[1.0], [2.0]]), ["a", "b"], max_iter=-1)
    assert model.status_ == "converged"
    assert list(model.predict([[0.0], [3.0]])) == ["a", "b"]


def test_constant_columns():
    X = np.array([[1.0, 7.0, 0.0], [2.0, 7.0, 0.0], [4.0, 7.0, 0.0], [5.0, 7.0, 0.0]])
    assert fitted(X, [0, 0, 1, 1], max_iter=-1).status_ == "converged"
    assert fitted(X[:, 1:], [0, 0, 1, 1]).status_ == "infeasible"


@pytest.mark.parametrize("offset", [True, False])
def test_huge_values(offset):
    X = np.array([[1e300, 2e300], [-1e300, 1e300], [3e300, 1e299], [-2e300, -1e300]])
    model = fitted(X, [1, 0, 1, 0], fit_intercept=offset)
    assert model.status_ == "converged"
    assert (model.predict(X / 1e300) == [1, 0, 1, 0]).all()
    assert "out of the range" in model.certificate_.subproblems[0].why
    X[3] = X[0]
    assert fitted(X, [1, 0, 1, 0], fit_intercept=offset).status_ == "infeasible"


def test_tiny_values():
    X = 1e-300 * np.array([[1.0, 2.0], [-1.0, 1.0], [3.0, 0.1], [-2.0, -1.0]])
    y = [1, 0, 1, 0]
    assert fitted(X, y, fit_intercept=False).status_ == "converged"
    # With an offset the margin of (x, 1) is 1e-300: as many mistakes as no computer makes.
    assert fitted(X, y).status_ == "max_iter"
    X[3] = X[0]
    for offset in (True, False):
        assert fitted(X, y, fit_intercept=offset).status_ == "infeasible"


def test_overflow_is_an_error():
    with pytest.raises(ValueError, match="Scaling input data"):
        Perceptron(eta0=1e300).fit(np.array([[1e200], [-1e200]]), [1, 0])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"penalty": "l3"}, "'penalty' parameter of Perceptron must be"),
        ({"alpha": -1.0}, "'alpha'"),
        ({"l1_ratio": 2.0}, "'l1_ratio'"),
        ({"eta0": 0.0}, "'eta0'"),
        ({"eta0": np.inf}, "'eta0'"),
        ({"tol": -1.0}, "'tol'"),
        ({"max_iter": 0}, "'max_iter'"),
        ({"max_iter": 2.5}, "'max_iter'"),
        ({"n_iter_no_change": 0}, "'n_iter_no_change'"),
        ({"validation_fraction": 1.0}, "'validation_fraction'"),
        ({"variant": "best"}, "'variant'"),
        ({"certify": "always"}, "'certify'"),
        ({"shuffle": "yes"}, "'shuffle'"),
        ({"time_limit": 0}, "'time_limit'"),
        ({"penalty": "l2", "variant": "pocket"}, "penalty=None"),
        ({"penalty": "l2", "trace": True}, "penalty=None"),
        ({"class_weight": {5: 1.0}}, "class_weight"),
    ],
)
def test_parameters(options, words):
    with pytest.raises(ValueError, match=words):
        Perceptron(**options).fit(np.array([[0.0], [1.0]]), [0, 1])


def test_start_values_that_do_not_fit():
    X, y = np.eye(3), [0, 1, 1]
    with pytest.raises(ValueError, match="coef_init does not match dataset"):
        Perceptron().fit(X, y, coef_init=np.zeros((1, 2)))
    with pytest.raises(ValueError, match="intercept_init does not match dataset"):
        Perceptron().fit(X, y, intercept_init=np.zeros(2))
    with pytest.raises(ValueError, match="not finite"):
        Perceptron().fit(X, y, coef_init=[[np.nan, 0.0, 0.0]])


def test_weights_that_leave_nothing():
    X, y = np.eye(3), [0, 1, 1]
    with pytest.raises(ValueError, match="at least one non-zero"):
        Perceptron().fit(X, y, sample_weight=np.zeros(3))
    with pytest.raises(ValueError, match="only one class"):
        Perceptron().fit(X, y, sample_weight=[0.0, 1.0, 1.0])


def test_no_probabilities():
    assert not hasattr(Perceptron(), "predict_proba")
    with pytest.raises(AttributeError) as caught:
        _ = Perceptron().predict_proba
    assert "CalibratedClassifierCV" in str(caught.value.__cause__)


def test_partial_fit_wants_the_classes():
    X, y = np.eye(3), [0, 1, 2]
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        Perceptron().partial_fit(X, y)
    model = Perceptron().partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="not the same as on last call"):
        model.partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="does not know"):
        model.partial_fit(X, [0, 1, 7])
    with pytest.raises(AttributeError) as caught:
        _ = Perceptron(variant="voted").partial_fit
    assert "needs all rows at once" in str(caught.value.__cause__)
