"""Long sparse rows are copied in the order of their visits, with other column numbers: none of it may be seen from outside."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from gapless import LinearSVC, Until, descend, linear_risk
from gapless.rows import as_rows
from gapless.rows.copies import choose
from gapless.rows.copies.words import FREQUENT_COLUMNS, make_ordered_packed_rows
from gapless.rows.verbs import row_axpy, row_dot
from gapless.solvers.descent.engine import Engine
from gapless.solvers.descent.plan import DescentPlan
from gapless.solvers.descent.schedules import Schedule
from gapless.solvers.descent.visits import Visits


@pytest.fixture(scope="module")
def data():
    """2,500 rows of 60 values in 900 columns, some frequent and some never seen: more than a core's cache."""
    rng = np.random.default_rng(7)
    n, d, filled = 2500, 900, 60
    columns = np.sort(np.argsort(rng.random((n, 700)) * np.arange(1, 701) ** 0.5, axis=1)[:, :filled], axis=1)
    columns = rng.permutation(d)[columns]
    X = sparse.csr_matrix((rng.normal(size=n * filled), columns.ravel(), np.arange(n + 1) * filled), shape=(n, d))
    X.sort_indices()
    y = np.where(X @ rng.normal(size=d) + 3.0 * rng.normal(size=n) > 0.5, 1, -1)
    return X, y


@pytest.fixture
def copied(monkeypatch):
    """Counts the copies."""
    made = []
    monkeypatch.setattr(
        choose, "make_ordered_packed_rows", lambda *given: made.append(1) or make_ordered_packed_rows(*given)
    )
    return made


@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csr_matrix.toarray])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_of_any_length(dtype, form):
    X = sparse.random(40, 25, density=0.2, format="lil", random_state=3, dtype=dtype)
    X[3], X[4, :] = 0, 1.5
    X = sparse.csr_matrix(X)
    order = np.random.default_rng(0).permutation(40)
    rows = make_ordered_packed_rows(as_rows(form(X), 0.5), order)
    place = rows.place
    assert sorted(place[:25]) == list(range(25))
    assert place[25] == 25
    often = np.bincount(X.indices, minlength=25)
    assert (np.diff(often[np.argsort(place[:25])]) <= 0).all()  # the frequent ones first
    theta = np.random.default_rng(1).normal(size=26)
    beside = np.empty(26)
    beside[place] = theta
    want = X.toarray().astype(float) @ theta[:25] + 0.5 * theta[25]
    np.testing.assert_allclose([row_dot(rows, k, beside) for k in range(40)], want[order], rtol=1e-13, atol=1e-14)
    out = np.zeros(26)
    for k in range(40):
        row_axpy(rows, k, k + 1.0, out)
    weights = np.empty(40)
    weights[order] = np.arange(1.0, 41.0)
    np.testing.assert_allclose(out[place][:25], weights @ X.toarray().astype(float), rtol=1e-13, atol=1e-13)
    assert out[25] == 0.5 * weights.sum()


def test_rare_columns_are_numbered_as_the_rows_come_upon_them():
    d = FREQUENT_COLUMNS + 3000
    X = sparse.random(300, d, density=0.01, format="csr", random_state=4)
    order = np.random.default_rng(0).permutation(300)
    rows = make_ordered_packed_rows(as_rows(X, 0.0), order)
    place = rows.place
    assert sorted(place) == list(range(d + 1))
    often = np.bincount(X.indices, minlength=d)
    by_number = np.argsort(place[:d])
    assert (np.diff(often[by_number[:FREQUENT_COLUMNS]]) <= 0).all()
    assert often[by_number[FREQUENT_COLUMNS:]].max() <= often[by_number[FREQUENT_COLUMNS - 1]]
    met = np.concatenate([X.indices[X.indptr[i] : X.indptr[i + 1]] for i in order])
    rare = list(dict.fromkeys(met[place[met] >= FREQUENT_COLUMNS]))
    assert list(place[rare]) == list(range(FREQUENT_COLUMNS, FREQUENT_COLUMNS + len(rare)))
    theta = np.random.default_rng(1).normal(size=d + 1)
    beside = np.empty(d + 1)
    beside[place] = theta
    np.testing.assert_allclose(
        [row_dot(rows, k, beside) for k in range(300)], (X @ theta[:d])[order], rtol=1e-12, atol=1e-13
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_what_comes_back_is_of_the_users_columns_and_rows(data, copied, weighted):
    X, y = data
    weight = np.random.default_rng(5).uniform(0.5, 2.0, y.size) if weighted else None
    risk = linear_risk(X, y, loss="hinge", lam=1e-3, sample_weight=weight)
    found = descend(risk, method="sgd", stop=Until(epochs=25), average="uniform", trace=True)
    assert copied
    # Value, gradient, trace and average, each computed once more from X itself.
    p = np.ones(y.size) if weight is None else weight / weight.mean()

    def value(theta):
        return 5e-4 * theta[:-1] @ theta[:-1] + np.mean(p * np.maximum(0.0, 1.0 - y * (X @ theta[:-1] + theta[-1])))

    assert found.value == pytest.approx(value(found.theta), rel=1e-12)
    np.testing.assert_allclose(found.trace.loss, [value(theta) for theta in found.trace.theta], rtol=1e-12)
    inside = y * (X @ found.trace.theta[5][:-1] + found.trace.theta[5][-1]) < 1.0
    gradient = np.append(
        -(X.T @ (p * y * inside)) / y.size + 1e-3 * found.trace.theta[5][:-1], -np.mean(p * y * inside)
    )
    np.testing.assert_allclose(found.trace.direction[5], -gradient / np.linalg.norm(gradient), atol=1e-12)
    assert value(found.average) < value(np.zeros(901))
    assert 0.0 <= found.relative_gap < 1.0


def test_dense_rows_that_are_mostly_zeros_are_copied_too(data, copied):
    X, y = data
    sparse_rows, dense_rows = (linear_risk(form, y, loss="hinge", lam=1e-3) for form in (X, X.toarray()))
    ways = [descend(risk, method="sgd", stop=Until(epochs=20), trace=False) for risk in (sparse_rows, dense_rows)]
    assert len(copied) == 2
    np.testing.assert_allclose(ways[0].theta, ways[1].theta, rtol=1e-9, atol=1e-12)
    full = linear_risk(np.random.default_rng(0).normal(size=(2000, 100)), np.arange(2000) % 2, loss="hinge", lam=1e-3)
    descend(full, method="sgd", stop=Until(epochs=20), trace=False)
    assert len(copied) == 2


def test_the_dual_point_belongs_to_the_users_rows(data, copied):
    """From 0 without an offset: w = sum u_i x_i, whatever the order."""
    X, y = data
    risk = linear_risk(X, y, loss="hinge", lam=1e-3, offset="none")
    engine = Engine(risk, np.zeros(901), DescentPlan("sgd", Schedule.pegasos(1e-3, 50.0), 50 * y.size))
    assert copied
    engine.advance(10**9)
    np.testing.assert_allclose(X.T @ engine.u(), engine.theta()[:-1], rtol=1e-10, atol=1e-12)


def test_a_start_goes_in_and_comes_out(data, copied):
    X, y = data
    start = np.random.default_rng(2).normal(size=901)
    risk = linear_risk(X, y, loss="hinge", lam=1e-3)
    still = descend(risk, method="sgd", schedule=1e-300, start=start, stop=Until(epochs=20), trace=False)
    assert copied
    np.testing.assert_allclose(still.theta, start, rtol=1e-12)


def test_a_copy_ends_where_the_rows_themselves_do(data, monkeypatch):
    """Other orders, the same optimum: after as many epochs the values agree as those of two seeds do."""
    X, y = data
    risk = linear_risk(X, y, loss="hinge", lam=1e-2)
    with_copy = [descend(risk, method="sgd", stop=Until(epochs=30), seed=s, trace=False).value for s in range(4)]
    monkeypatch.setattr(choose, "COPY_THRESHOLDS", replace(choose.COPY_THRESHOLDS, ordered_epochs=10**9))
    without = [descend(risk, method="sgd", stop=Until(epochs=30), seed=s, trace=False).value for s in range(4)]
    best = float(LinearSVC(C=100.0 / y.size, tol=1e-8).fit(X, y).certificate_.dual) * 1e-2
    assert 0.3 < np.mean(np.subtract(with_copy, best)) / np.mean(np.subtract(without, best)) < 3.0


def test_few_epochs_short_rows_and_orders_of_the_user_need_no_copy(data, copied):
    X, y = data
    risk = linear_risk(X, y, loss="hinge", lam=1e-3)
    descend(risk, method="sgd", stop=Until(epochs=3), trace=False)
    descend(risk, method="sgd", stop=Until(epochs=20), visits=np.arange(50), trace=False)
    descend(risk, method="sgd", stop=Until(epochs=20), visits="sequential", trace=False)
    descend(linear_risk(X[:100], y[:100], loss="hinge", lam=1e-3), method="sgd", stop=Until(epochs=20), trace=False)
    assert not copied


def test_each_epoch_of_a_copy_visits_every_row_once(data):
    visits = Visits("shuffled", as_rows(data[0], 0.0), 3)
    assert sorted(visits.once()) == list(range(2500))
    visits.settle(1 << 21)
    one, two = visits.next_epoch().copy(), visits.next_epoch().copy()
    assert sorted(one) == sorted(two) == list(range(2500))
    assert (one != two).any()
