"""The answers: published tables, closed forms, fifty digits, scikit-learn, and what does not depend on the way."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import sklearn.linear_model
from scipy import sparse
from scipy.special import expit

from gapless import LogisticRegression, SeparationWarning, verify
from tests.likelihood.cases import loss_of, optimum_of, problem_of
from tests.shared_data import folder, needs_data


def fit(X, y, sample_weight=None, **given):
    """Without a single warning."""
    with warnings.catch_warnings(action="error"):
        return LogisticRegression(C=np.inf, **given).fit(X, y, sample_weight=sample_weight)


def reference(name):
    return np.load(folder() / "reference" / f"{name}.npz", allow_pickle=False)


@needs_data
def test_south_african_heart():
    """The Elements of Statistical Learning, tables 4.2 and 4.3: coefficients and deviance."""
    z = reference("sa_heart")
    X, y, names = z["X"], z["y"], [str(name) for name in z["names"]]
    model = fit(X, y)
    wanted = [0.00576068, 0.07952563, 0.18477933, 0.93918549, -0.03454343, 0.00060650, 0.04254121]
    np.testing.assert_allclose(model.coef_[0], wanted, atol=5.1e-9)
    assert model.intercept_[0] == pytest.approx(-4.12959973, abs=5.1e-9)
    assert model.certificate_.deviance == pytest.approx(483.174032365, abs=5.1e-10)
    small = [names.index(name) for name in ("tobacco", "ldl", "famhist", "age")]
    model = fit(X[:, small], y)
    np.testing.assert_allclose(model.coef_[0], [0.08070059, 0.16758415, 0.92411669, 0.04404247], atol=5.1e-9)
    assert model.intercept_[0] == pytest.approx(-4.20427542, abs=5.1e-9)
    assert model.certificate_.deviance == pytest.approx(485.443861006, abs=5.1e-10)


@needs_data
def test_standard_errors_of_south_african_heart():
    """The same table's Z scores: coefficients over the roots of the diagonal of the inverse information."""
    z = reference("sa_heart")
    X, y = z["X"], z["y"]
    model = fit(X, y)
    A = np.column_stack([np.ones(len(y)), X])
    p = model.predict_proba(X)[:, 1]
    error = np.sqrt(np.diag(np.linalg.inv(A.T @ (A * (p * (1 - p))[:, None]))))
    Z = np.append(model.intercept_, model.coef_) / error
    np.testing.assert_allclose(Z, [-4.283, 1.023, 3.034, 3.219, 4.177, -1.187, 0.136, 4.181], atol=6e-4)


@needs_data
def test_vowel():
    """The same book, table 4.1: 0.22 and 0.51, which are these counts."""
    z = reference("vowel")
    model = fit(z["X_train"], z["y_train"])
    assert int((model.predict(z["X_train"]) != z["y_train"]).sum()) == 118
    assert int((model.predict(z["X_test"]) != z["y_test"]).sum()) == 237
    assert model.certificate_.loss == pytest.approx(338.498924071, abs=5.1e-10)


@needs_data
def test_spam():
    """The same book, 9.1.2: 7.6 % of the test set."""
    z = reference("spam_esl")
    model = fit(z["X_train"], z["y_train"])
    assert int((model.predict(z["X_test"]) != z["y_test"]).sum()) == 117


@pytest.mark.parametrize("K", [2, 3, 4])
@pytest.mark.parametrize("offset", [True, False])
def test_fifty_digits(K, offset):
    X, y, c = problem_of(K, n=60, d=2, K=K)
    X = X / np.abs(X).max(axis=0)  # only for mpmath's damped start
    best, theta = optimum_of(X, y, c, K, offset)
    model = fit(X, y, c, fit_intercept=offset)
    W = np.column_stack([model.coef_, model.intercept_])[:, : 2 + offset]
    found = W if K == 2 else W[1:] - W[0]
    np.testing.assert_allclose(found, theta, rtol=1e-9, atol=1e-10)
    assert model.certificate_.loss == pytest.approx(float(best), rel=1e-13)
    if K > 2:
        np.testing.assert_allclose(model.coef_.sum(axis=0), 0.0, atol=1e-12)
        assert model.intercept_.sum() == pytest.approx(0.0, abs=1e-12)


def test_one_column_of_zeros_and_ones_in_closed_form():
    """A 2 x 2 table: b = logit of the first row, b + w that of the second."""
    X, y = np.repeat([[0.0], [0.0], [1.0], [1.0]], [30, 12, 7, 21], axis=0), np.repeat([0, 1, 0, 1], [30, 12, 7, 21])
    model = fit(X, y)
    assert model.intercept_[0] == pytest.approx(np.log(12 / 30), rel=1e-14)
    assert model.coef_[0, 0] == pytest.approx(np.log(21 / 7) - np.log(12 / 30), rel=1e-14)


def test_the_offset_alone():
    """Constant columns beside a free offset get 0, and the offset is the log-odds."""
    y = np.repeat([0, 1, 2], [5, 3, 2])
    model = fit(np.full((10, 2), 7.0), y)
    assert not model.coef_.any()
    np.testing.assert_allclose(model.predict_proba([[0.0, 0.0]])[0], [0.5, 0.3, 0.2], rtol=1e-14)
    assert model.rank_ == 0
    assert verify(model, np.full((10, 2), 7.0), y)


@pytest.mark.parametrize(("seed", "K"), [(s, K) for s in range(4) for K in (2, 3)])
def test_scikit_learn(seed, K):
    X, y, c = problem_of(seed, n=150, d=4, K=K)
    X = (X - X.mean(axis=0)) / X.std(axis=0)  # for scikit-learn
    ours = fit(X, y, c)
    for solver in ("newton-cholesky", "lbfgs"):
        theirs = sklearn.linear_model.LogisticRegression(C=np.inf, solver=solver, tol=1e-10, max_iter=5000)
        theirs.fit(X, y, sample_weight=c)
        assert ours.certificate_.loss <= loss_of(theirs.coef_, theirs.intercept_, X, y, c) * (1 + 1e-14)
        np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("K", [2, 4])
def test_units_do_not_matter(K):
    X, y, _ = problem_of(11, K=K)
    one, other = fit(X, y), fit(X * [1e-6, 1e5, 3.0] + [0.0, 1e6, -4.0], y)
    np.testing.assert_allclose(other.coef_, one.coef_ / [1e-6, 1e5, 3.0], rtol=1e-6)
    np.testing.assert_allclose(
        one.predict_proba(X), other.predict_proba(X * [1e-6, 1e5, 3.0] + [0.0, 1e6, -4.0]), atol=1e-8
    )


@pytest.mark.parametrize("K", [2, 3])
def test_weights_are_repeats(K):
    X, y, c = problem_of(12, K=K)
    index = np.repeat(np.arange(len(y)), c.astype(int))
    weighted, repeated = fit(X, y, c), fit(X[index], y[index])
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-10)
    by_class = fit(X, y, class_weight={0: 3.0})
    np.testing.assert_allclose(by_class.coef_, fit(X, y, np.where(y == 0, 3.0, 1.0)).coef_, rtol=1e-9)
    balanced = fit(X, y, class_weight="balanced")
    mass = np.bincount(y)
    np.testing.assert_allclose(balanced.coef_, fit(X, y, len(y) / (K * mass)[y]).coef_, rtol=1e-9)
    # The scale of all weights changes nothing but the loss: there is no penalty to weigh them against.
    np.testing.assert_allclose(fit(X, y, 1e-7 * c).coef_, weighted.coef_, rtol=1e-9)


@pytest.mark.parametrize("K", [2, 3])
def test_sparse_and_float32(K):
    random = np.random.default_rng(13)
    X, y, _ = problem_of(13, K=K, d=5)
    X = np.where(random.random(X.shape) < 0.5, 0.0, X).astype(np.float32)
    dense = fit(X.astype(np.float64), y)
    for kind in (sparse.csr_matrix, sparse.csr_array):
        np.testing.assert_allclose(fit(kind(X.astype(np.float64)), y).coef_, dense.coef_, rtol=1e-9, atol=1e-12)
    single = fit(X, y)
    assert single.coef_.dtype == single.intercept_.dtype == np.float32
    np.testing.assert_allclose(single.coef_, dense.coef_, rtol=1e-6)
    long = sparse.csr_matrix(X)
    long.indices, long.indptr = long.indices.astype(np.int64), long.indptr.astype(np.int64)
    np.testing.assert_allclose(fit(long, y).coef_, dense.coef_, rtol=1e-6)
    assert verify(single, X, y)


def test_a_penalised_offset_is_free_where_nothing_is_penalised():
    X, y, _ = problem_of(14)
    free, other = fit(X, y), fit(X, y, penalize_intercept=True, intercept_scaling=5.0)
    assert free.intercept_ == other.intercept_
    assert verify(other, X, y)


@pytest.mark.parametrize("K", [2, 5])
def test_probabilities_scores_and_classes_agree(K):
    X, y, _ = problem_of(15, K=K, n=300)
    model = fit(X, np.array(["a", "b", "c", "d", "e"])[y])
    P, scores = model.predict_proba(X), model.decision_function(X)
    np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=1e-14)
    np.testing.assert_allclose(np.log(P), model.predict_log_proba(X), atol=1e-12)
    index = (scores > 0).astype(int) if K == 2 else scores.argmax(axis=1)
    assert (model.classes_[index] == model.predict(X)).all()
    assert (model.classes_[P.argmax(axis=1)] == model.predict(X)).all()
    if K == 2:
        np.testing.assert_allclose(P[:, 1], expit(scores), rtol=1e-14)
    # At the optimum the probabilities of a class add up to its rows.
    np.testing.assert_allclose(P.sum(axis=0), np.bincount(y), rtol=1e-10)


def test_resuming():
    X, y, _ = problem_of(16, K=3)
    first = fit(X, y)
    assert fit(X, y, init=first).n_iter_[0] <= 1
    model = fit(X, y, warm_start=True)
    np.testing.assert_allclose(model.fit(X, y).coef_, first.coef_, rtol=1e-9)
    assert model.n_iter_[0] <= 1
    penalised = LogisticRegression(C=1.0, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(fit(X, y, init=penalised).coef_, first.coef_, rtol=1e-9)
    np.testing.assert_allclose(
        LogisticRegression(C=1.0, tol=1e-12, init=first).fit(X, y).coef_, penalised.coef_, rtol=1e-6
    )


def test_a_large_C_tends_to_it():
    X, y, _ = problem_of(17)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    limit = fit(X, y)
    assert np.abs(LogisticRegression(C=1e8, tol=1e-9).fit(X, y).coef_ - limit.coef_).max() < 1e-7


@pytest.mark.parametrize("K", [2, 3])
def test_separated_classes_give_a_usable_model(K):
    random = np.random.default_rng(18)
    centres = 20.0 * np.eye(3)[:K]
    y = random.integers(0, K, 60)
    X = centres[y] + random.normal(size=(60, 3))
    with pytest.warns(SeparationWarning, match="completely separated") as caught:
        model = LogisticRegression(C=np.inf).fit(X, y)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert model.status_ == "infeasible"
    assert (model.predict(X) == y).all()
    assert np.isfinite(model.coef_).all()
    assert np.abs(model.coef_).max() < 100.0
    assert model.certificate_.reach >= 1.0
    assert model.certificate_.excess == model.certificate_.loss < 0.02
    assert verify(model, X, y)
    with warnings.catch_warnings(action="error"):  # what the warning says to do
        LogisticRegression(C=100.0).fit(X, y)


QUASI = {
    "four rows": (np.array([[-1.0], [0.0], [0.0], [1.0]]), np.array([0, 0, 1, 1])),
    "a column that decides": (np.eye(2)[[0] * 6 + [1] * 9], np.array([0, 0, 1, 1, 0, 1] + [1] * 9)),
    "one class of three": (np.array([[0.0, 1, 2, 1, 2, 3, 9, 10]]).T, np.array([0, 0, 1, 1, 0, 1, 2, 2])),
}  # fmt: skip


@pytest.mark.parametrize("name", QUASI)
def test_quasi_separated_classes(name):
    X, y = QUASI[name]
    with pytest.warns(SeparationWarning, match="quasi-separated"):
        model = LogisticRegression(C=np.inf).fit(X, y)
    assert model.status_ == "stalled"
    assert np.isfinite(model.coef_).all()
    assert not model.certificate_.reach < 1.0
    assert verify(model, X, y)


def test_an_overlap_of_one_row_is_found():
    """One row on the wrong side, far from the others: the optimum exists, and is proved to."""
    X = np.concatenate([np.linspace(-2, -1, 40), np.linspace(1, 2, 40), [-1.5]])[:, None]
    y = np.array([0] * 40 + [1] * 41)
    model = fit(X, y)
    assert model.certificate_.reach < 1.0
    z = X[:, 0] * model.coef_[0, 0] + model.intercept_[0]
    u = (y == 1) - expit(z)
    assert abs(u.sum()) < 1e-12
    assert abs(u @ X[:, 0]) < 1e-12


def test_random_overlap_against_linear_programming():
    """`infeasible` if and only if a hyperplane has all rows strictly on their sides; `converged` only without any."""
    from scipy.optimize import linprog

    random = np.random.default_rng(19)
    seen = set()
    for _ in range(60):
        n, d = int(random.integers(6, 20)), int(random.integers(1, 5))
        X = random.integers(-2, 3, (n, d)).astype(float)
        y = (X @ random.normal(size=d) + random.choice([0.0, 1.0, 3.0]) * random.normal(size=n) > 0).astype(int)
        if len(set(y)) < 2:
            continue
        A = np.column_stack([X, np.ones(n)]) * np.where(y == 1, 1.0, -1.0)[:, None]
        complete = linprog(np.zeros(d + 1), A_ub=-A, b_ub=-np.ones(n), bounds=(None, None)).status == 0
        # quasi: some direction is >= 0 on all rows and > 0 on one
        best = linprog(-A.sum(axis=0), A_ub=-A, b_ub=np.zeros(n), bounds=(-1, 1))
        quasi = not complete and -best.fun > 1e-9
        with warnings.catch_warnings(action="ignore"):
            status = LogisticRegression(C=np.inf).fit(X, y).status_
        wanted = "infeasible" if complete else "stalled" if quasi else "converged"
        assert status == wanted
        seen.add(wanted)
    assert seen == {"infeasible", "stalled", "converged"}
