"""Softmax of more columns than rows: the Newton step by matrices of the examples, and its fits beside scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.special import logsumexp
from sklearn.linear_model import LogisticRegression as SkLogisticRegression

from gapless import LogisticRegression, verify
from gapless.problems.multinomial import Multinomial
from gapless.solvers.newton_system_softmax import ExamplesInverse


@pytest.mark.parametrize("offset", ["none", "penalised", "free"])
@pytest.mark.parametrize(("n", "d", "K"), [(20, 33, 4), (7, 30, 3), (30, 30, 5)])
def test_the_inverse_of_few_examples_is_that_of_the_hessian_written_out(offset, n, d, K):
    random = np.random.default_rng(n)
    X, y = random.normal(size=(n, d)), np.arange(n) % K
    problem = Multinomial.build(X, y, random.uniform(0.1, 9.0, n), K, offset, 1.7)
    theta, ridge, at = random.normal(size=(K, d + 1)), np.ones(d + 1), problem.new_point()
    if offset == "none":
        theta[:, -1] = 0.0
    if offset == "free":
        ridge[-1] = 1e-3
    problem.move_to(at, theta)
    # The Hessian by its own definition: sum c (diag(p) - pp') (x) xx', and the ridge.
    Z = np.column_stack([X, np.full(n, problem.constant)])
    H = np.diag(np.tile(ridge, K))
    for x, p, c in zip(Z, at.P, problem.c):
        H += c * np.kron(np.diag(p) - np.outer(p, p), np.outer(x, x))
    right = random.normal(size=(K, d + 1))
    if offset == "none":
        right[:, -1] = 0.0
    step = ExamplesInverse(problem, ridge, lambda: None).at(at)(right)
    assert np.abs(step.ravel() - np.linalg.solve(H, right.ravel())).max() <= 1e-9 * np.abs(step).max()


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("sparse_rows", [False, True])
def test_more_columns_than_rows_in_units_of_their_own(C, sparse_rows):
    """scikit-learn's objective at our point is within our gap of what its own solver finds, asked for much."""
    random = np.random.default_rng(8)
    X = random.normal(size=(45, 160)) * (random.random((45, 160)) < 0.4) * 10.0 ** random.uniform(-2.0, 2.0, 160)
    y = (X[:, :3] + random.gumbel(size=(45, 3))).argmax(axis=1)
    X = sparse.csr_matrix(X) if sparse_rows else X
    ours = LogisticRegression(C=C, tol=1e-9).fit(X, y)
    assert ours.certificate_.converged
    peer = SkLogisticRegression(C=C, tol=1e-10, solver="newton-cg", max_iter=1000).fit(X, y)
    scores = X @ peer.coef_.T + peer.intercept_
    theirs = 0.5 * np.sum(peer.coef_**2) + C * np.sum(logsumexp(scores, axis=1) - scores[np.arange(45), y])
    assert ours.certificate_.dual <= theirs * (1.0 + 1e-12)
    assert theirs <= ours.certificate_.primal * (1.0 + 1e-6)
    assert verify(ours, X, y)
