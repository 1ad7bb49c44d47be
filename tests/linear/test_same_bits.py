"""The same fit gives the same bits: again, on more threads, among other fits, in workers and in a forked child."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import select
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits, make_classification

from tests.linear.sets import LOSSES, OFFSETS, bits, form, load, model

#: BLAS has threads of its own here: elsewhere two workers have one each.
pytestmark = pytest.mark.alone
SETS = ("breast_cancer", "wine", "digits")


def cases():
    """Estimators with their data; small, large and sparse ones, all losses and offsets."""
    large = make_classification(20_000, 20, n_informative=10, flip_y=0.1, random_state=0)
    for loss in LOSSES:
        for offset in OFFSETS:
            X, y = load(SETS[len(loss + offset) % len(SETS)])
            yield model(loss, offset), X, y
            yield model(loss, offset), form(X, "csr"), y
        yield model(loss), *large
        yield model(loss, solver="coordinate_descent", tol=1e-3), *load("breast_cancer_scaled")
    yield model("hinge", solver="semismooth"), *large
    yield model("hinge", solver="interior_point", random_state=3), *load("wine")


@pytest.fixture(scope="module")
def alone():
    """Each case, and its bits when nothing else runs."""
    return [(estimator, X, y, bits(estimator.fit(X, y))) for estimator, X, y in cases()]


def fit_again(case):
    estimator, X, y, _ = case
    return bits(clone(estimator).fit(X, y))


def test_again(alone):
    for case in alone:
        assert fit_again(case) == case[3]


@pytest.mark.parametrize("loss", LOSSES)
def test_one_other_thread(loss):
    """20,000 numbers in a sum: OpenBLAS would use two threads for it, and give other bits."""
    X, y = make_classification(20_000, 20, n_informative=10, flip_y=0.1, random_state=0)
    here = bits(model(loss).fit(X, y))
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(lambda: bits(model(loss).fit(X, y))).result() == here
    assert bits(model(loss).fit(X, y)) == here


def test_eight_threads_at_once(alone):
    barrier = threading.Barrier(8)

    def work(k):
        barrier.wait()
        # Each thread takes some of the cases from another place on, so that different fits meet.
        order = [alone[(k * 5 + j) % len(alone)] for j in range(4)]
        return [(fit_again(case), case[3], case[0]) for case in order]

    with ThreadPoolExecutor(8) as pool:
        for results in pool.map(work, range(8)):
            for got, expected, estimator in results:
                assert got == expected, estimator


def test_the_same_estimator_data_in_eight_threads():
    """All at the same moment on the same arrays: nobody writes to them."""
    X, y = load("breast_cancer")
    copy = X.copy()
    expected = bits(model("hinge").fit(X, y))
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(lambda _: bits(model("hinge").fit(X, y)), range(32))) == {expected}
    assert (X == copy).all()


def test_loky(alone):
    chosen = alone[::6]
    with joblib.parallel_backend("loky", n_jobs=2):
        fitted = joblib.Parallel()(
            joblib.delayed(type(estimator).fit)(clone(estimator), X, y) for estimator, X, y, _ in chosen
        )
    for (*_, expected), got in zip(chosen, fitted):
        assert bits(got) == expected, got


@pytest.mark.skipif(sys.platform != "linux", reason="fork is safe on Linux only")
def test_a_forked_child(alone):
    # Threads have run in this process, and BLAS has its pool: what a fork must not stumble over.
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(fit_again, alone[:2]))
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            with os.fdopen(writer, "wb") as out:
                pickle.dump([fit_again(case) for case in alone], out)
        finally:
            os._exit(0)
    os.close(writer)
    ready, _, _ = select.select([reader], [], [], 120)
    if not ready:
        os.kill(child, signal.SIGKILL)
    with os.fdopen(reader, "rb") as source:
        got = pickle.load(source) if ready else "the child hangs"
    os.waitpid(child, 0)
    assert got == [case[3] for case in alone]


@pytest.mark.skipif(sys.platform != "linux", reason="fork is safe on Linux only")
def test_a_fork_in_the_middle_of_other_fits(alone):
    """The child may be born while another thread holds our lock; it must not wait for that thread forever."""
    stop = threading.Event()
    X, y = load("breast_cancer_scaled")

    def busy():
        while not stop.is_set():
            model("squared_hinge").fit(X, y)

    noise = threading.Thread(target=busy)
    noise.start()
    try:
        expected = bits(model("logistic").fit(X, y))
        context = multiprocessing.get_context("fork")
        for _ in range(5):
            queue = context.SimpleQueue()
            child = context.Process(target=lambda q=queue: q.put(bits(model("logistic").fit(X, y))))
            child.start()
            child.join(60)
            assert child.exitcode == 0
            assert queue.get() == expected
    finally:
        stop.set()
        noise.join()


@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize("loss", LOSSES)
def test_n_jobs(loss, kind):
    X, y = load_digits(return_X_y=True) if kind == "dense" else load("digits")
    X = form(X, kind)
    one = model(loss, n_jobs=1).fit(X, y)
    for jobs in (2, 4):
        other = model(loss, n_jobs=jobs).fit(X, y)
        assert bits(other) == bits(one)
        assert [part.primal for part in other.certificate_.subproblems] == [
            part.primal for part in one.certificate_.subproblems
        ]


@pytest.mark.parametrize("threads", [1, 2])
def test_the_number_of_blas_threads_does_not_matter(threads):
    from threadpoolctl import threadpool_limits

    X, y = make_classification(3_000, 200, n_informative=50, flip_y=0.1, random_state=0)
    expected = bits(model("logistic").fit(X, y))
    with threadpool_limits(threads):
        assert bits(model("logistic").fit(X, y)) == expected


GIVEN_BACK = """
import sys
from concurrent.futures import ThreadPoolExecutor
from threadpoolctl import threadpool_info
from sklearn.datasets import load_iris
from gapless import LinearSVC

def blas():
    return [(lib["filepath"], lib["num_threads"]) for lib in threadpool_info() if lib["user_api"] == "blas"]

def fit(_):
    return LinearSVC(loss="hinge").fit(X, y)

X, y = load_iris(return_X_y=True)
before = blas()
if sys.argv[1] == "main first":
    fit(0)
    assert blas() == before, "after a fit in the main thread"
with ThreadPoolExecutor(4) as pool:
    list(pool.map(fit, range(12)))
assert blas() == before, "after fits in threads"
try:
    LinearSVC().fit(X, [1] * len(y))
except ValueError:
    assert blas() == before, "after a fit that failed"
fit(0)
assert blas() == before, "after a fit in the main thread, again"
"""


@pytest.mark.parametrize("who", [pytest.param("main first", marks=pytest.mark.slow), "threads first"])
def test_blas_threads_are_given_back(who):
    done = subprocess.run([sys.executable, "-c", GIVEN_BACK, who], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def test_the_seed_of_numpy_is_not_touched():
    np.random.seed(5)  # noqa: NPY002
    before = np.random.get_state()  # noqa: NPY002
    for estimator, X, y in cases():
        estimator.fit(X, y)
    after = np.random.get_state()  # noqa: NPY002
    assert (before[1] == after[1]).all()
    assert before[2] == after[2]
