"""Teams: every part once, exceptions where the fit is, and the same bits inside one problem for any number of threads."""

from __future__ import annotations

import os
import threading
import time
import weakref
from contextlib import suppress

import numpy as np
import pytest
from scipy import sparse

from gapless import rows as R
from gapless._runtime.helpers import Helper, Job
from gapless._runtime.threads import in_background, map_threads, run_in_parts, thread_team
from tests.linear.sets import bits, model


@pytest.mark.parametrize("threads", [None, 1, 2, 5])
@pytest.mark.parametrize("parts", [0, 1, 2, 100])
def test_every_part_once(threads, parts):
    seen = np.zeros(max(1, parts), dtype=int)

    def mark(k):
        seen[k] += 1

    with thread_team(threads):
        run_in_parts(mark, parts)
    assert seen[:parts].tolist() == [1] * parts


def test_helpers_take_part():
    """Two parts that wait for each other end only if two threads run them."""
    meet = threading.Barrier(2, timeout=30)
    with thread_team(2):
        run_in_parts(lambda k: meet.wait(), 2)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_fork_in_a_fit_has_helpers_of_its_own():
    with thread_team(2):
        run_in_parts(lambda k: None, 2)
        child = os.fork()
        if child == 0:
            meet = threading.Barrier(2, timeout=30)
            with suppress(BaseException):
                run_in_parts(lambda k: meet.wait(), 2)
                os._exit(0)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_tick_is_called_in_the_callers_thread_and_may_raise():
    caller, ticks = threading.get_ident(), []
    done = []

    def tick():
        ticks.append(threading.get_ident())
        if len(ticks) == 3:
            raise TimeoutError("enough")

    def slow(k):
        time.sleep(0.002)
        done.append(k)

    with thread_team(3), pytest.raises(TimeoutError, match="enough"):
        run_in_parts(slow, 1000, tick)
    assert set(ticks) == {caller}
    assert len(done) < 1000


def test_an_error_in_a_helper_is_not_lost():
    meet = threading.Barrier(2, timeout=30)
    caller = threading.get_ident()

    def fail(k):
        meet.wait()
        if threading.get_ident() != caller:
            raise ZeroDivisionError("in a helper")

    with thread_team(2), pytest.raises(ZeroDivisionError, match="in a helper"):
        run_in_parts(fail, 2)


def test_what_runs_side_by_side_has_no_helpers():
    def threads_of_a_share(_):
        idents = set()
        run_in_parts(lambda k: idents.add(threading.get_ident()), 50)
        return len(idents)

    with thread_team(4):
        assert map_threads(threads_of_a_share, range(4), 4) == [1] * 4


@pytest.mark.parametrize("threads", [1, 2])
def test_aside(threads):
    with thread_team(threads):
        result = in_background(lambda: sum(range(1000)))
        run_in_parts(lambda k: None, 10)
        assert result() == 499_500


def data(kind, n=40_000, d=30):
    """Enough values that every product is cut into many parts."""
    random = np.random.default_rng(0)
    X = random.normal(size=(n, d)) * (random.random((n, d)) < 0.4)
    y = np.where(X @ random.normal(size=d) + random.normal(size=n) > 0.3, 1, -1)
    return (sparse.csr_matrix(X) if kind == "csr" else X), y


@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_products_have_the_same_bits(kind):
    X, _ = data(kind)
    rows = R.as_rows(X, 1.0)
    random = np.random.default_rng(1)
    theta, u, h = random.normal(size=31), random.normal(size=40_000), random.random(40_000)
    every = np.arange(40_000)

    def products():
        return [
            R.scores(rows, theta), R.combine(rows, u), R.curved(rows, h, theta), R.squares(rows, h),
            R.norms2(rows), R.gram(rows, h, every),
        ]  # fmt: skip

    alone = products()
    for threads in (2, 3):
        with thread_team(threads):
            for expected, found in zip(alone, products()):
                np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("offset", ["none", "free"])
@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
def test_fits_have_the_same_bits(loss, kind, offset):
    X, y = data(kind)
    one = model(loss, offset, n_jobs=1).fit(X, y)
    for threads in (2, 3):
        other = model(loss, offset, n_jobs=threads).fit(X, y)
        assert bits(other) == bits(one)
        assert other.certificate_.fingerprint == one.certificate_.fingerprint
        assert other.certificate_.gap == one.certificate_.gap


def test_a_busy_helper_keeps_nothing_of_ours():
    """What a share asked of a helper that had no time is cancelled, but stays in its queue."""
    free = threading.Event()
    with thread_team(2):
        later = in_background(lambda: free.wait(30))
        large = np.ones(10)
        gone = weakref.ref(large)

        def part(k, large=large):
            large[k] = 2.0

        run_in_parts(part, 4)
        del large, part
        assert gone() is None
        free.set()
        assert later()


@pytest.mark.parametrize("threads", [2, 3])
def test_calls_at_any_distance_are_heard(threads):
    """Just after its last part, as a helper goes to sleep, and asleep; every part once, nobody waits for ever."""
    most_pause = 2e-3  # seconds
    random = np.random.default_rng(0)
    seen = np.zeros((600, 7), int)
    with thread_team(threads):
        for call in range(600):
            pause = random.choice([0.0, 0.0, 1e-4 * random.random(), most_pause * random.random()])
            until = time.perf_counter() + pause
            while time.perf_counter() < until:
                pass

            def mark(k, call=call):
                seen[call, k] += 1
                if call % 5 == k:
                    time.sleep(1e-4)  # lets go of Python's lock: some part ends last, in either thread

            run_in_parts(mark, 7)
            assert seen[call].sum() == 7
    assert (seen == 1).all()


def test_a_helper_does_its_jobs_and_gives_back_what_it_did_not_begin():
    helper, done = Helper(), []
    for k in range(20):
        job = Job(lambda k=k: done.append(k))
        helper.give(job)
        job.result()
        assert not job.take_back()
    assert done == list(range(20))
    failing = Job(lambda: 1 / 0)
    helper.give(failing)
    with pytest.raises(ZeroDivisionError):
        failing.result()
    busy, waiting = threading.Event(), Job(lambda: done.append("never"))
    long = Job(lambda: busy.wait(30))
    helper.give(long)
    helper.give(waiting)
    assert waiting.take_back()
    busy.set()
    assert long.result()
    helper.end()
    helper._thread.join(30)
    assert not helper._thread.is_alive()
    assert "never" not in done


def test_threads_are_used_again():
    seen = []
    for _ in range(3):
        with thread_team(2):
            seen.append(in_background(threading.get_ident)())
    assert len(set(seen)) == 1
