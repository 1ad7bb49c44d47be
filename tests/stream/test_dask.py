"""Dask collections: walked here without a client; with one X stays with its workers, and their number changes no bit."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest

from gapless import LinearSVC, LogisticRegression, Ridge, verify
from tests.stream.data import labels, rows, weights

da = pytest.importorskip("dask.array", reason="Dask is the extra `dask`, which is not installed")
distributed = pytest.importorskip("distributed", reason="Dask is the extra `dask`, which is not installed")

N = 3000
pytestmark = pytest.mark.filterwarnings("ignore")  # Dask's own, of a machine that is slow


def collections(X, y, w=None, rows_of_block=500):
    cut = [da.from_array(a, chunks=(rows_of_block, *a.shape[1:])) for a in (X, y)]
    return (*cut, None if w is None else da.from_array(w, chunks=rows_of_block))


def within_gaps(one, other):
    a, b = one.certificate_, other.certificate_
    return abs(a.primal - b.primal) <= a.gap + b.gap + a.rounding + b.rounding


def test_without_a_client_the_blocks_are_walked_here():
    X, w = rows(N), weights(N)
    y = labels(X, 3)
    blocks = collections(X, y, w)
    found, whole = LinearSVC().fit(*blocks), LinearSVC().fit(X, y, w)
    assert "stream" in found.certificate_.backend
    assert within_gaps(found, whole)
    assert verify(found, *blocks)
    assert verify(found, X, y, w)
    lazy = found.predict(blocks[0])
    assert hasattr(lazy, "__dask_graph__")
    assert np.array_equal(lazy.compute(), found.predict(X))


def test_unknown_sizes_and_frames():
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    X = rows(N)
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(9)])
    frame["y"] = pd.Categorical(np.array(["no", "yes"])[labels(X)])
    table = dd.from_pandas(frame, npartitions=5)
    table = table[table.c0 > -0.5]  # how many rows are left in each partition is not known
    kept = frame[frame.c0 > -0.5]
    found = LogisticRegression().fit(table.drop(columns="y"), table.y)
    assert found.feature_names_in_.tolist() == [f"c{j}" for j in range(9)]
    assert within_gaps(found, LogisticRegression().fit(kept.drop(columns="y"), kept.y.astype(str)))
    assert np.allclose(
        found.predict_proba(table.drop(columns="y")).compute(), found.predict_proba(kept.drop(columns="y")), rtol=1e-12
    )


def test_collections_that_are_cut_otherwise_are_refused():
    X = rows(N)
    dX, dy, _ = collections(X, labels(X))
    with pytest.raises(ValueError, match="y is None"):
        LinearSVC().fit(dX)
    with pytest.raises(ValueError, match="in memory, and X has 3000 rows"):
        LinearSVC().fit(dX, labels(X)[:-1])
    assert LinearSVC().fit(dX, dy.rechunk(1000)).status_ == "converged"
    assert LinearSVC().fit(dX.rechunk((500, 4)), labels(X)).status_ == "converged"


# -- with workers --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cluster():
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as made,
        distributed.Client(made),
    ):
        yield made


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("make", [LogisticRegression, lambda: LinearSVC(loss="hinge"), LinearSVC])
def test_workers_reach_the_optimum_of_the_rows_in_memory(cluster, make, classes):
    X, w = rows(N), weights(N)
    y = labels(X, classes)
    found, whole = make().fit(*collections(X, y, w)), make().fit(X, y, w)
    assert "dask" in found.certificate_.backend
    assert within_gaps(found, whole)
    assert verify(found, X, y, w, rigorous=True)
    assert np.array_equal(found.predict(da.from_array(X, chunks=(500, 9))).compute(), found.predict(X))


@pytest.mark.slow
def test_sparse_blocks_and_regressions(cluster):
    X = rows(N, kind="csr")
    y = labels(X)
    dX = da.concatenate([da.from_array(X[k : k + 1000], chunks=(1000, 9), asarray=False) for k in range(0, N, 1000)])
    found = LinearSVC().fit(dX, da.from_array(y, chunks=1000))
    assert within_gaps(found, LinearSVC().fit(X, y))
    dense = rows(N)
    dX, dY, _ = collections(dense, dense[:, :2] + 1.0)
    assert np.allclose(Ridge().fit(dX, dY).coef_, Ridge().fit(dense, dense[:, :2] + 1.0).coef_)


def bits(model):
    return model.coef_.tobytes(), model.intercept_.tobytes(), model.certificate_.arrays["dual"].tobytes()


@pytest.mark.slow
def test_any_number_of_workers_gives_the_same_bits():
    X = rows(N)
    found = []
    for many in (1, 2, 3):
        with (
            distributed.LocalCluster(n_workers=many, threads_per_worker=1, dashboard_address=None) as made,
            distributed.Client(made),
        ):
            found.append([bits(make().fit(*collections(X, labels(X)))) for make in (LogisticRegression, LinearSVC)])
    assert found[0] == found[1] == found[2]


def sent(client):
    """Bytes that workers have sent, to each other and here."""
    return sum(client.run(lambda dask_worker: dask_worker.transfer_outgoing_bytes_total).values())


@pytest.mark.slow
def test_X_does_not_travel(cluster):
    client = distributed.get_client()
    X = rows(200_000, 20)
    dX, dy, _ = (None if a is None else a.persist() for a in collections(X, labels(X), rows_of_block=20_000))
    distributed.wait([dX, dy])
    before = sent(client)
    model = LogisticRegression().fit(dX, dy)
    assert model.status_ == "converged"
    travelled = sent(client) - before
    assert travelled < (1 << 24) + 0.01 * X.nbytes  # a start from some rows may bring 16 MB of them here
    holder = client.who_has(distributed.futures_of(dX)[:1])
    (key,) = holder
    other = next(w for w in client.scheduler_info()["workers"] if w not in holder[key])
    client.submit(len, distributed.futures_of(dX)[0], workers=[other], pure=False).result()
    assert sent(client) - before - travelled >= X.nbytes / 10  # what the counter is for: this block has moved


@pytest.mark.slow
@pytest.mark.parametrize("round_of_death", [1, 5, -1])
def test_a_worker_that_is_killed_changes_nothing(round_of_death):
    X = rows(N)
    y = labels(X)
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as made,
        distributed.Client(made) as client,
    ):
        expected = LogisticRegression().fit(*collections(X, y))
        from gapless.backends.dask.walk import DaskWalk

        each, many = DaskWalk.each, []

        def counted(self, *args):
            many.append(1)
            if len(many) == round_at:
                os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
            return each(self, *args)

        round_at = -1
        DaskWalk.each = counted
        try:
            LogisticRegression().fit(*collections(X, y))
            total, many[:] = len(many), []
            round_at = round_of_death if round_of_death > 0 else total
            found = LogisticRegression().fit(*collections(X, y))
        finally:
            DaskWalk.each = each
        assert bits(found) == bits(expected)
        same = ("primal", "dual", "gap", "rounding", "status", "n_iter", "fingerprint", "solver")
        assert [getattr(found.certificate_, name) for name in same] == [
            getattr(expected.certificate_, name) for name in same
        ]


@pytest.mark.slow
def test_the_client_is_stopped_by_its_time_limit(cluster):
    X = rows(N)
    with pytest.warns(match="time_limit"):
        found = LinearSVC(loss="hinge", tol=1e-13, time_limit=0.5).fit(*collections(X, labels(X)))
    assert verify(found, X, labels(X))


@pytest.mark.slow
def test_ctrl_c_leaves_the_model_reached_so_far(cluster):
    X = rows(N)
    model = LinearSVC(loss="hinge", tol=1e-14, max_iter=10_000)
    threading.Thread(target=lambda: (time.sleep(2.0), os.kill(os.getpid(), signal.SIGINT)), daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        model.fit(*collections(X, labels(X)))
    assert verify(model, X, labels(X))
