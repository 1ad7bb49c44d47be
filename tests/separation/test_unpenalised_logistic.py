"""LogisticRegression(C=inf) on separated classes: what it says, and the proof that it keeps."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris

from gapless import LogisticRegression, SeparationWarning, separability, verify

QUASI = np.array([[-1.0], [0.0], [0.0], [1.0]]), np.array([0, 0, 1, 1])


def fit(X, y, **given):
    return LogisticRegression(C=np.inf, **given).fit(X, y)


def test_the_words_of_a_complete_separation():
    X, y = load_iris(return_X_y=True, as_frame=True)
    with pytest.warns(SeparationWarning) as caught:
        model = fit(X, y == 0)
    text = str(caught[0].message)
    assert len(caught) == 1
    assert "the classes are completely separated (margin 0.82, witness in est.certificate_.separation)" in text
    assert "the unpenalised maximum-likelihood estimate does not exist and coefficients grow without bound" in text
    assert "Columns involved: 'petal" in text
    assert text.endswith("Use a finite C, or on_separation='raise'.")
    proof = model.certificate_.separation
    assert proof.status == "complete"
    assert verify(proof, X, y == 0)
    assert verify(model, X, y == 0)
    # One column is enough, and the proof of that is checked too.
    assert proof.columns.size == 1
    assert separability(X.iloc[:, proof.columns], y == 0).status == "complete"


def test_the_words_of_a_quasi_separation():
    X, y = QUASI
    with pytest.warns(
        SeparationWarning, match="quasi-separated: 2 of 4 rows lie on the separating hyperplane"
    ) as caught:
        model = fit(X, y)
    assert "Columns involved: 0. Use a finite C" in str(caught[0].message)
    assert verify(model.certificate_.separation, X, y)


def test_multinomial():
    X, y = load_iris(return_X_y=True)
    with pytest.warns(SeparationWarning, match="100 of 150 rows"):
        model = fit(X, y)
    assert model.certificate_.separation.status == "quasi"
    assert verify(model.certificate_.separation, X, y)
    X = 20.0 * np.eye(3)[y] + np.random.default_rng(0).normal(size=(150, 3))
    with pytest.warns(SeparationWarning, match="completely separated"):
        assert verify(fit(X, y).certificate_.separation, X, y)


@pytest.mark.parametrize("case", ["complete", "quasi"])
def test_on_separation(case):
    X, y = load_iris(return_X_y=True) if case == "complete" else QUASI
    y = y == 0
    with warnings.catch_warnings(action="error"):
        model = fit(X, y, on_separation="ignore")
        assert np.isfinite(model.coef_).all()
        LogisticRegression(C=100.0, on_separation="raise").fit(X, y)  # a finite C has an optimum
    with pytest.raises(SeparationWarning, match="separated"):
        fit(X, y, on_separation="raise")
    with pytest.raises(ValueError, match="on_separation"):
        fit(X, y, on_separation="perhaps")


def test_no_proof_where_the_optimum_exists():
    X, y = load_iris(return_X_y=True)
    with warnings.catch_warnings(action="error"):
        model = fit(X[50:], y[50:], on_separation="raise")
    assert model.certificate_.separation is None


def test_weights_of_zero_take_rows_out():
    """One row on the wrong side makes an overlap; without its weight the classes are separated."""
    X, y = np.array([[0.0], [1.0], [2.0], [3.0], [2.5]]), np.array([0, 0, 1, 1, 0])
    weight = np.array([1.0, 2.0, 1.0, 1.0, 0.0])
    assert separability(X, y).status == "overlap"
    found = separability(X, y, sample_weight=weight)
    assert found.status == "complete"
    assert verify(found, X, y, weight)
    with pytest.warns(SeparationWarning, match="completely"):
        model = LogisticRegression(C=np.inf).fit(X, y, sample_weight=weight)
    assert verify(model.certificate_.separation, X, y, weight)


def test_one_warning_where_steps_run_out():
    """Two steps are not enough, but more would not help: what is said is the separation."""
    X, y = QUASI
    with pytest.warns(SeparationWarning, match="quasi") as caught:
        fit(X, y, max_iter=2)
    assert len(caught) == 1
