"""Distances by hand, the two statuses, and radii within which nothing changes."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from gapless.readings.margins import margins


def model(coef, intercept, classes=(-1, 1)):
    return SimpleNamespace(
        coef_=np.array(coef, float), intercept_=np.array(intercept, float), classes_=np.array(classes)
    )


# w = (3, 4), |w| = 5, b = -5: f = 3 x1 + 4 x2 - 5
HAND = model([[3.0, 4.0]], [-5.0])
X = np.array([[3.0, 4.0], [1.0, 0.5], [1.0, 0.625], [-1.0, 1.0], [0.0, 0.0], [3.0, -1.0]])
Y = np.array([1, 1, 1, 1, -1, -1])


def test_by_hand():
    m = margins(HAND, X, Y)
    assert m.width == 0.2
    np.testing.assert_allclose(m.score, [20, 0, 0.5, -4, -5, 0], atol=1e-15)
    np.testing.assert_allclose(m.gamma, [4, 0, 0.1, -0.8, 1, 0], atol=1e-15)
    assert m.in_strip.tolist() == [False, True, True, False, False, True]
    assert m.violates.tolist() == [False, True, True, True, False, True]
    assert m.correct.tolist() == [True, False, True, False, True, True]  # a score of 0 is the first class
    np.testing.assert_allclose(m.radius, [4, 0, 0.1, 0.8, 1, 0], atol=1e-14)
    np.testing.assert_allclose(m.angle[0], 0.0, atol=1e-6)
    # <w, x> = 1, |x| = sqrt(2): cos = 1 / (5 sqrt 2)
    assert m.angle[3] == pytest.approx(np.degrees(np.arccos(1 / (5 * np.sqrt(2)))))
    assert np.isnan(m.angle[4])  # x = 0 has no direction


def test_note_000_outside_the_strip_is_not_outside_the_loss():
    """|gamma| > 1/|w| says only that the point is not in the strip. Far on the wrong side it violates the
    margin most.
    """
    m = margins(HAND, X, Y)
    far_wrong = 3
    assert abs(m.gamma[far_wrong]) > m.width
    assert not m.in_strip[far_wrong]
    assert m.violates[far_wrong]
    hinge = np.maximum(0, 1 - Y * m.score)
    assert hinge[far_wrong] == hinge.max() == 5.0
    # no hinge loss <=> gamma >= 1/|w|, without the absolute value
    assert np.array_equal(hinge == 0, m.gamma >= m.width)
    assert not np.array_equal(hinge == 0, np.abs(m.gamma) >= m.width)


def test_feet_lie_on_the_hyperplane_at_the_stated_distance():
    m = margins(HAND, X, Y)
    feet = m.foot(X)
    np.testing.assert_allclose(feet @ [3.0, 4.0], 5.0)
    np.testing.assert_allclose(np.linalg.norm(X - feet, axis=1), np.abs(m.gamma), atol=1e-14)
    np.testing.assert_allclose(feet[4], [0.6, 0.8])  # of the origin: b w / |w|^2 by hand
    np.testing.assert_allclose(m.foot(sparse.csr_array(X)), feet)


def test_note_002_the_score_is_zero_at_a_right_angle():
    m = margins(model([[3.0, 4.0]], [0.0]), [[4.0, -3.0], [3.0, 4.0]], [-1, 1])
    assert m.score[0] == 0.0
    np.testing.assert_allclose(m.angle, [90.0, 0.0], atol=1e-6)
    # |w| is the root of the sum of squares, 5, not the sum, 7
    assert m.gamma[1] == pytest.approx(5.0)
    # with an offset the origin has the sign of the offset
    assert margins(HAND, [[0.0, 0.0]], [-1]).score[0] == -5.0


def test_boundaries_are_one_width_away():
    m = margins(HAND, X, Y)
    on = m.foot(X) + m.width * np.array([0.6, 0.8])
    np.testing.assert_allclose(margins(HAND, on, Y).score, 1.0)


def test_scaling_w_and_b_moves_the_strip_but_not_the_distances():
    double = margins(model([[6.0, 8.0]], [-10.0]), X, Y)
    single = margins(HAND, X, Y)
    np.testing.assert_allclose(double.gamma, single.gamma, atol=1e-15)
    np.testing.assert_allclose(double.radius, single.radius, atol=1e-14)
    assert double.width == single.width / 2
    assert double.in_strip.tolist() == [False, True, False, False, False, True]  # f = 1/2 is 1 now


@pytest.mark.parametrize("data", [load_breast_cancer, load_iris])
def test_no_move_within_the_radius_changes_the_prediction(data):
    A, y = data(return_X_y=True)
    A = StandardScaler().fit_transform(A)
    fitted = LinearSVC(C=0.1).fit(A, y)
    m = margins(fitted, A, y)
    assert np.array_equal(fitted.classes_[m.predicted], fitted.predict(A))
    f = fitted.decision_function(A)
    np.testing.assert_allclose(m.score, f, rtol=1e-9, atol=1e-12)
    coef = fitted.coef_
    rows = np.arange(len(A))
    if coef.shape[0] == 1:
        steps = [(-np.sign(f)[:, None] * coef, np.abs(f) / np.linalg.norm(coef))]
    else:
        steps = []
        for k in range(coef.shape[0]):
            gap = coef[k] - coef[m.predicted]
            size = np.linalg.norm(gap, axis=1)
            steps.append(
                (
                    gap,
                    np.divide(f[rows, m.predicted] - f[:, k], size, out=np.full(len(A), np.inf), where=size > 0),
                )
            )
    nearest = np.min([distance for _, distance in steps], axis=0)
    np.testing.assert_allclose(m.radius, nearest, rtol=1e-9, atol=1e-13)
    assert (m.radius <= nearest * (1 + 1e-15)).all()
    # along the worst direction: just inside the prediction stays, just outside it changes
    for direction, distance in steps:
        use = np.isfinite(distance) & (distance > 1e-6)
        unit = direction[use] / np.linalg.norm(direction[use], axis=1, keepdims=True)
        inside = A[use] + (m.radius[use] * (1 - 1e-9))[:, None] * unit
        assert np.array_equal(fitted.predict(inside), fitted.predict(A[use]))
        outside = A[use] + (distance[use] * (1 + 1e-6))[:, None] * unit
        assert (fitted.predict(outside) != fitted.predict(A[use])).all()


def test_one_against_the_rest():
    three = model([[2.0, 0.0], [0.0, 1.0], [-1.0, -1.0]], [0.0, 0.5, 0.0], classes=["a", "b", "c"])
    m = margins(three, [[1.0, 0.0], [1.0, 3.0]], ["a", "c"])
    np.testing.assert_allclose(m.score, [[2, 0.5, -1], [2, 3.5, -4]])
    np.testing.assert_allclose(m.gamma, [[1, -0.5, 1 / np.sqrt(2)], [-1, -3.5, -4 / np.sqrt(2)]])
    np.testing.assert_allclose(m.gamma_true, [1, -4 / np.sqrt(2)])
    assert m.violates.tolist() == [[False, True, False], [True, True, True]]
    assert m.in_strip.tolist() == [[False, True, False], [False, False, False]]
    assert m.violates_true.tolist() == [False, True]
    assert m.correct.tolist() == [True, False]
    # row 0: 'a' leads 'b' by 1.5 over |(2, -1)|, 'c' by 3 over |(3, 1)|; row 1: 'b' leads 'a' by 1.5 over
    # |(2, -1)|
    np.testing.assert_allclose(m.radius, [1.5 / np.sqrt(5), 1.5 / np.sqrt(5)])
    np.testing.assert_allclose(m.width, [0.5, 1.0, 1 / np.sqrt(2)])
    feet = m.foot([[1.0, 0.0]], positive="b")
    np.testing.assert_allclose(feet, [[1.0, -0.5]])
    with pytest.raises(ValueError, match="positive=one of"):
        m.foot([[1.0, 0.0]])
    assert "3 classes" in str(m)


def test_equal_weights_never_change_places():
    m = margins(model([[1.0], [1.0], [0.0]], [1.0, 0.0, -5.0], classes=[0, 1, 2]), [[0.0], [1.0]], [0, 1])
    np.testing.assert_allclose(m.radius, [6.0, 7.0])


def test_zero_w():
    m = margins(model([[0.0, 0.0]], [0.5]), X, Y)
    assert m.width == np.inf
    assert np.isnan(m.gamma).all()
    assert (m.radius == np.inf).all()
    assert m.in_strip.all()
    assert m.violates.tolist() == [True] * 6
    assert "w is zero" in str(m)
    assert "row" in m.table()
    with pytest.raises(ValueError, match="no hyperplane"):
        m.foot(X)


def test_weights_count_in_the_summary():
    s = margins(HAND, X, Y, sample_weight=[1, 2, 4, 8, 16, 0]).summary()
    assert (s["weight"], s["correct"], s["wrong"], s["in_strip"], s["violates"]) == (31, 21, 10, 6, 14)
    assert s["smallest_gamma"] == pytest.approx(-0.8)
    assert "total weight 31" in str(margins(HAND, X, Y, sample_weight=[1, 2, 4, 8, 16, 0]))


def test_forms_of_the_data_agree():
    dense = margins(HAND, X, Y)
    for form in (
        sparse.csr_matrix,
        sparse.csc_array,
        sparse.coo_array,
        pd.DataFrame,
        np.asfortranarray,
        list,
    ):
        other = margins(HAND, form(X), Y)
        np.testing.assert_allclose(other.gamma, dense.gamma, atol=1e-15)
        np.testing.assert_allclose(other.angle, dense.angle, atol=1e-6)


def test_columns_and_table():
    m = margins(HAND, X, np.where(Y > 0, 1, -1))
    frame = pd.DataFrame(m.columns())
    assert frame.shape == (6, 9)
    lines = m.table(3).splitlines()
    assert len(lines) == 4
    assert lines[1].split()[:3] == ["3", "1", "-1"]  # the worst first
    assert "margin 1/|w| = 0.2000" in str(m)


def test_pipeline_measures_where_the_last_step_sees():
    A, y = load_breast_cancer(return_X_y=True)
    pipe = make_pipeline(StandardScaler(), LogisticRegression()).fit(A, y)
    m = margins(pipe, A, y)
    direct = margins(pipe[-1], pipe[0].transform(A), y)
    assert np.array_equal(m.gamma, direct.gamma)


@pytest.mark.parametrize(
    ("thing", "error", "message"),
    [
        (LinearSVC(), NotFittedError, "not fitted yet"),
        (LinearRegression().fit(X, Y), TypeError, "no classes_"),
        (SVC().fit(X, Y), TypeError, "no coef_"),
        (SVC(kernel="linear").fit(np.eye(3), [0, 1, 2]), TypeError, "pairs"),
        (model([[np.nan, 1.0]], [0.0]), ValueError, "not finite"),
    ],
)
def test_models_that_do_not_fit(thing, error, message):
    with pytest.raises(error, match=message):
        margins(thing, X, Y)


def test_bad_data():
    fitted = LogisticRegression().fit(X, Y)
    with pytest.raises(ValueError, match="3 features, but LogisticRegression is expecting 2"):
        margins(fitted, np.zeros((2, 3)), [1, -1])
    with pytest.raises(ValueError, match="expecting 2 features"):
        margins(HAND, np.zeros((2, 3)), [1, -1])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        margins(HAND, X, Y[:3])
    with pytest.raises(ValueError, match="label 7 in row 0"):
        margins(HAND, X, [7, 1, 1, 1, 1, 1])
    with pytest.raises(ValueError, match="NaN"):
        margins(HAND, np.full((1, 2), np.nan), [1])
    named = LogisticRegression().fit(pd.DataFrame(X, columns=["a", "b"]), Y)
    with pytest.raises(ValueError, match="feature names"):
        margins(named, pd.DataFrame(X, columns=["b", "a"]), Y)
