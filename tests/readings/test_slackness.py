"""Classes of training examples read twice, on solutions known by hand and on a fitted SVM."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from gapless.readings.slackness import slackness


def test_two_points_by_hand():
    """x = ±1, y = ±1, C = 1: alpha = 1/2, y f = 1: free, on the boundary. With C = 1/4: alpha = C, y f =
    1/2, xi = 1/2.
    """
    s = slackness([0.5, 0.5], [1.0, 1.0], [1.0, 1.0])
    assert s.from_dual.tolist() == [1, 1]
    assert s.from_primal.tolist() == [1, 1]
    assert s.beta.tolist() == [0.5, 0.5]
    assert set(s.largest.values()) == {0.0}
    s = slackness([0.25, 0.25], 0.25, [0.5, 0.5])
    assert s.from_dual.tolist() == [2, 2]
    assert s.from_primal.tolist() == [2, 2]
    assert s.xi.tolist() == [0.5, 0.5]
    assert s.beta.tolist() == [0.0, 0.0]
    assert set(s.largest.values()) == {0.0}
    assert s.consistent.all()


def test_all_pairs_that_may_and_may_not_be():
    alpha = np.repeat([0.0, 0.5, 1.0], 3)
    yf = np.tile([2.0, 1.0, 0.0], 3)
    s = slackness(alpha, 1.0, yf)
    assert s.counts.tolist() == [[1, 1, 1], [1, 1, 1], [1, 1, 1]]
    assert s.consistent.tolist() == [True, True, False, False, True, False, False, True, True]
    # each false pair has a product that does not vanish: alpha (1 - yf - xi) or beta xi
    product, beta_xi = s.residuals["alpha (1 - yf - xi)"], s.residuals["beta xi"]
    assert np.array_equal((product != 0) | (beta_xi != 0), ~s.consistent)
    assert product.tolist() == [0, 0, 0, -0.5, 0, 0, -1, 0, 0]
    assert beta_xi.tolist() == [0, 0, 1, 0, 0, 0.5, 0, 0, 0]
    assert "readings that do not fit together: 4" in str(s)


def test_note_003_at_alpha_C_the_slack_is_subtracted():
    """At alpha = C: 1 - y f - xi = 0. With the sign of the notes, 1 - y f + xi, it does not vanish."""
    yf = np.array([0.5, -3.0])
    s = slackness([1.0, 1.0], 1.0, yf)
    assert (1 - yf - s.xi == 0).all()
    assert (1 - yf + s.xi != 0).all()
    assert (-s.xi <= 0).all()


def test_note_003_points_below_the_margin_do_contribute():
    """y f > 1 never enters w, y f < 1 always does, misclassified ones too."""
    rng = np.random.default_rng(0)
    X, y = make_blobs(200, centers=[[-1, 0], [1, 0]], cluster_std=1.0, random_state=4)
    y = 2 * y - 1
    C = 0.5
    fitted = SVC(kernel="linear", C=C, tol=1e-10).fit(X, y)
    alpha = np.zeros(200)
    alpha[fitted.support_] = np.abs(fitted.dual_coef_[0])
    yf = y * fitted.decision_function(X)
    s = slackness(alpha, C, yf, tol=1e-6, tol_alpha=1e-8)
    assert s.consistent.all()
    assert not s.support[yf > 1 + 1e-6].any()
    assert s.support[yf < 1 - 1e-6].all()
    wrong = yf < 0
    assert wrong.sum() > 5
    assert (s.from_dual[wrong] == 2).all()
    assert max(s.largest.values()) < 1e-5
    assert s.counts.sum() == 200
    # w is the sum over the support, and loses its meaning without the points at alpha = C
    np.testing.assert_allclose((alpha * y)[s.support] @ X[s.support], fitted.coef_[0], atol=1e-8)
    free = s.from_dual == 1
    assert np.linalg.norm((alpha * y)[free] @ X[free] - fitted.coef_[0]) > 0.1
    # shuffled multipliers are found out
    assert not slackness(rng.permutation(alpha), C, yf).consistent.all()


def test_alpha_outside_its_box_is_seen():
    s = slackness([-0.1, 1.5], 1.0, [1.0, 1.0])
    assert s.residuals["outside the box"].tolist() == [0.1, 0.5]
    assert slackness([5.0], 1.0, [1.0], loss="squared_hinge").largest["outside the box"] == 0.0


def test_squared_hinge_ties_alpha_to_the_slack():
    """w = x = 1, C = 1, no offset: minimise w^2/2 + (1 - w)^2, w = 2/3 = alpha = 2 C xi with xi = 1/3."""
    s = slackness([2 / 3], 1.0, [2 / 3], loss="squared_hinge")
    assert s.largest["stationarity"] < 1e-15
    assert s.from_dual.tolist() == [1]  # there is no upper bound to be at
    assert s.consistent.all()
    assert slackness([3.0], 1.0, [-0.5], loss="squared_hinge").from_dual.tolist() == [1]
    assert not slackness([0.0], 1.0, [0.5], loss="squared_hinge").consistent.any()
    assert not slackness([0.5], 1.0, [1.5], loss="squared_hinge").consistent.any()


def test_logistic_and_squared_loss_have_an_equation():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = np.sign(X[:, 0] + 0.5 * rng.normal(size=80))
    fitted = LogisticRegression(C=2.0, tol=1e-12, max_iter=2000).fit(X, y)
    yf = y * fitted.decision_function(X)
    alpha = 2.0 / (1 + np.exp(yf))
    s = slackness(alpha, 2.0, yf, loss="logistic")
    assert list(s.largest) == ["stationarity", "outside the box"]  # there is no slack to be complementary to
    assert s.largest["stationarity"] < 1e-14
    assert (s.from_dual == 1).all()
    np.testing.assert_allclose((alpha * y) @ X, fitted.coef_[0], atol=1e-6)
    assert not slackness(alpha[::-1], 2.0, yf, loss="logistic").consistent.all()
    extreme = slackness([0.0, 2.0], 2.0, [1e4, -1e4], loss="logistic")
    assert extreme.largest["stationarity"] == 0.0
    # squared: u = c (y - z), alpha = c (1 - y z), of either sign
    s = slackness([0.5, -0.5], 0.5, [0.0, 2.0], loss="squared")
    assert s.largest["stationarity"] == 0.0
    assert s.support.all()


def test_rows_without_cost_are_left_out():
    s = slackness([0.0, 0.5], [0.0, 1.0], [-3.0, 1.0])
    assert s.from_dual.tolist() == [-1, 1]
    assert s.consistent.all()
    assert s.counts.sum() == 1
    assert s.support.tolist() == [False, True]
    assert "left out (c = 0): 1" in str(s)


def test_hard_margin():
    s = slackness([0.5, 0.5, 0.0], math.inf, [1.0, 1.0, 3.0])
    assert s.from_dual.tolist() == [1, 1, 0]
    assert s.consistent.all()
    assert set(s.largest.values()) == {0.0}


def test_several_subproblems():
    alpha = np.array([[0.0, 0.5, 1.0], [1.0, 0.0, 0.5]])
    yf = np.array([[2.0, 1.0, 0.0], [0.0, 2.0, 1.0]])
    s = slackness(alpha, np.array([1.0, 1.0, 1.0]), yf)
    assert s.from_dual.tolist() == [[0, 1, 2], [2, 0, 1]]
    assert s.counts.trace() == 6
    assert s.consistent.shape == (2, 3)


def test_bad_arguments():
    with pytest.raises(ValueError, match="unknown loss '0-1'"):
        slackness([0.0], 1.0, [1.0], loss="0-1")
    with pytest.raises(ValueError, match=r"alpha has shape \(2,\), yf has shape \(1,\)"):
        slackness([0.0, 0.0], 1.0, [1.0])
    with pytest.raises(ValueError, match="negative"):
        slackness([0.0], -1.0, [1.0])
