"""Weights are repetitions, to 1e-7 in decision_function, with default arguments.

The two sides of each comparison are two different training sets that state the same problem: rows repeated against
integer weights, rows removed against zero weights, rows in another order.
"""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.utils.class_weight import compute_class_weight

from tests.linear.sets import LOSSES, OFFSETS, THREE_CLASSES, TWO_CLASSES, form, load, model, trusted

CLOSE = 1e-7
FORMS = ("dense", "csr")


def same_scores(first, second, X):
    """As scikit-learn's check compares: relative and absolute 1e-7, at each training point; and 1e-9 of the sum of |w_j x_j|: a
    score is no better known than that. On raw columns (condition 1e6) two optima, both to the last digit, differ by as much.
    """
    ours, theirs = first.decision_function(X), second.decision_function(X)
    size = np.asarray(abs(X) @ np.abs(second.coef_).T).reshape(theirs.shape)
    assert (np.abs(ours - theirs) <= CLOSE * (1.0 + np.abs(theirs)) + 1e-9 * size).all(), np.abs(ours - theirs).max()


def counts(y):
    weights = np.random.default_rng(3).integers(0, 4, y.size)
    for label in np.unique(y):  # whatever was drawn, every class stays
        weights[np.flatnonzero(y == label)[:2]] = 2
    return weights


def check_laws(name, loss, offset, kind):
    X, y = load(name)
    weights = counts(y)
    rows = np.repeat(np.arange(y.size), weights)
    plain = form(X, kind)
    weighted = model(loss, offset).fit(plain, y, sample_weight=weights)
    repeated = model(loss, offset).fit(plain[rows], y[rows])
    same_scores(weighted, repeated, plain)

    kept = weights > 0
    removed = model(loss, offset).fit(plain[kept], y[kept], sample_weight=weights[kept])
    same_scores(weighted, removed, plain)

    order = np.random.default_rng(4).permutation(y.size)
    shuffled = model(loss, offset).fit(plain[order], y[order], sample_weight=weights[order])
    same_scores(weighted, shuffled, plain)
    # The dual point belongs to the row, wherever it stands.
    assert shuffled.alpha_.shape == weighted.alpha_.shape
    trusted(shuffled, plain[order], y[order], weights[order])

    twice = model(loss, offset).fit(
        _stack(plain, plain), np.concatenate([y, y]), sample_weight=np.concatenate([weights, weights]) / 2
    )
    same_scores(weighted, twice, plain)


def _stack(a, b):
    from scipy import sparse

    return sparse.vstack([a, b], format="csr") if sparse.issparse(a) else np.vstack([a, b])


@pytest.mark.parametrize("kind", FORMS)
@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", TWO_CLASSES)
def test_two_classes(name, loss, offset, kind):
    check_laws(name, loss, offset, kind)


@pytest.mark.parametrize("kind", FORMS)
@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", THREE_CLASSES)
def test_three_classes(name, loss, offset, kind):
    check_laws(name, loss, offset, kind)


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("loss", LOSSES)
def test_beyond_small_data(loss, offset):
    check_laws("large", loss, offset, "dense")


@pytest.mark.slow
@pytest.mark.parametrize("kind", FORMS)
@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", ["large", "large_three"])
def test_beyond_small_data_in_all_forms(name, loss, offset, kind):
    check_laws(name, loss, offset, kind)


@pytest.mark.parametrize("C", [1e-3, 30.0])
@pytest.mark.parametrize("loss", LOSSES)
def test_other_costs(loss, C):
    """C scales the weights: C = 6 with weights w is C = 1 with weights 6 w."""
    X, y = load("breast_cancer_scaled")
    weights = counts(y)
    first = model(loss, C=C).fit(X, y, sample_weight=weights)
    second = model(loss).fit(X, y, sample_weight=weights * C)
    same_scores(first, second, X)


@pytest.mark.parametrize("loss", LOSSES)
def test_weights_near_one_and_a_small_C(loss):
    # scikit-learn issue 4144: these gave a constant prediction.
    X, y = load("breast_cancer_scaled")
    none = model(loss, C=1e-3).fit(X, y)
    ones = model(loss, C=1e-3).fit(X, y, sample_weight=np.full(y.size, 1.0 + 1e-12))
    np.testing.assert_allclose(ones.coef_, none.coef_, rtol=1e-7, atol=1e-9)
    assert np.unique(ones.predict(X)).size == 2


def test_scalar_and_integer_weights():
    X, y = load("iris_two")
    ones = model("hinge").fit(X, y)
    for same in (1.0, np.ones(y.size, dtype=np.int8), [1] * y.size, np.ones(y.size, dtype=bool)):
        other = model("hinge").fit(X, y, sample_weight=same)
        assert other.coef_.tobytes() == ones.coef_.tobytes()


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", ["breast_cancer_scaled", "wine"])
def test_balanced_counts_the_weights(name, loss):
    X, y = load(name)
    weights = counts(y).astype(float)
    classes = np.unique(y)
    mass = np.array([weights[y == k].sum() for k in classes])
    by_hand = weights.sum() / (classes.size * mass)
    auto = model(loss, class_weight="balanced").fit(X, y, sample_weight=weights)
    hand = model(loss).fit(X, y, sample_weight=weights * by_hand[np.searchsorted(classes, y)])
    same_scores(auto, hand, X)
    # ... and so a weight of two is still the row twice (scikit-learn issue 30056).
    rows = np.repeat(np.arange(y.size), weights.astype(int))
    repeated = model(loss, class_weight="balanced").fit(X[rows], y[rows])
    same_scores(auto, repeated, X)


@pytest.mark.parametrize("loss", LOSSES)
def test_balanced_without_weights_is_scikit_learns(loss):
    X, y = load("wine")
    balanced = compute_class_weight("balanced", classes=np.unique(y), y=y)
    auto = model(loss, class_weight="balanced").fit(X, y)
    hand = model(loss).fit(X, y, sample_weight=balanced[y])
    same_scores(auto, hand, X)


@pytest.mark.parametrize("loss", LOSSES)
def test_class_weight_as_a_dict(loss):
    X, y = load("wine")
    names = np.array(["barolo", "grignolino", "barbera"])[y]
    chosen = {"barolo": 0.25, "barbera": 3.0}  # the third keeps 1
    given = model(loss, class_weight=chosen).fit(X, names)
    hand = model(loss).fit(X, names, sample_weight=[chosen.get(label, 1.0) for label in names])
    same_scores(given, hand, X)
    trusted(given, X, names)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_a_class_of_weight_zero_stays_in_classes(loss):
    # scikit-learn issue 5150: a class whose rows all have weight 0 must not shrink classes_.
    X, y = load("iris")
    weights = (y != 1).astype(float)
    fitted = model(loss).fit(X, y, sample_weight=weights)
    assert fitted.classes_.tolist() == [0, 1, 2]
    assert fitted.decision_function(X).shape == (y.size, 3)
    assert 1 not in fitted.predict(X)
    two = model(loss).fit(X[y != 1], y[y != 1])
    # Class 2 against the rest is then the two-class problem of 2 against 0.
    np.testing.assert_allclose(fitted.decision_function(X)[:, 2], two.decision_function(X), rtol=1e-7, atol=1e-7)
    trusted(fitted, X, y, weights)


def test_rows_of_weight_zero_have_no_alpha_and_no_slack():
    X, y = load("breast_cancer_scaled")
    weights = counts(y)
    fitted = model("hinge").fit(X, y, sample_weight=weights)
    out = weights == 0
    assert out.any()
    assert not fitted.alpha_[out].any()
    assert np.isnan(fitted.slack_[out]).all()
    assert np.isfinite(fitted.slack_[~out]).all()
