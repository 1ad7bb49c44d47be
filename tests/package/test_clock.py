"""The one clock: when it stands still, when it runs on, and that there is no other."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import threading
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest

import gapless
from gapless import LinearSVC, judge, verify
from gapless._runtime import clock as _clock
from gapless._runtime.clock import Errand, Mutex, Stopwatch, now, stood_still
from gapless._runtime.helpers import Helper, Job
from gapless._runtime.threads import map_threads

PACKAGE = Path(gapless.__file__).parent


@pytest.fixture
def time(monkeypatch):
    """A time that passes when it is told to, the same for all threads."""

    class Time:
        seconds = 1000.0

        def __call__(self):
            return self.seconds

        def passes(self, seconds):
            self.seconds += seconds

    told = Time()
    monkeypatch.setattr(_clock, "perf_counter", told)
    monkeypatch.setattr(_clock, "_compiles", _clock._Compiles())
    return told


@contextmanager
def locked():
    """What numba tells of a thread that asks for its lock, gets it and leaves it."""
    _clock.lock_asked()
    try:
        yield
    finally:
        _clock.lock_left()


@contextmanager
def compiled():
    with locked():
        _clock.compile_began()
        try:
            yield
        finally:
            _clock.compile_ended()


class Other:
    """A thread that does one thing after another, each when it is told to, so that a test is a story in one order."""

    def __init__(self):
        self._todo, self._done = threading.Semaphore(0), threading.Semaphore(0)
        self._function = self._value = None
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            self._todo.acquire()
            self._value = self._function()
            self._done.release()

    def starts(self, function):
        self._function = function
        self._todo.release()

    def result(self):
        assert self._done.acquire(timeout=60)
        return self._value

    def does(self, function):
        self.starts(function)
        return self.result()


# -- one thread -----------------------------------------------------------------------------------------------


def test_it_stands_still_during_a_compile_of_its_own(time):
    stopwatch = Stopwatch()
    time.passes(1.0)
    with compiled():
        time.passes(7.0)
        assert stopwatch.seconds == 1.0
        assert stopwatch.compile_seconds == 7.0
    time.passes(2.0)
    assert stopwatch.seconds == 3.0
    assert stopwatch.compile_seconds == 7.0


def test_nested_compiles_count_once(time):
    stopwatch = Stopwatch()
    with compiled():
        time.passes(1.0)
        with compiled():
            time.passes(2.0)
            with locked():
                time.passes(4.0)
        time.passes(8.0)
    assert (stopwatch.seconds, stopwatch.compile_seconds) == pytest.approx((0.0, 15.0))


def test_a_kernel_that_is_read_from_disk_is_work(time):
    """numba holds its lock for that, and compiles nothing."""
    stopwatch = Stopwatch()
    with locked():
        time.passes(3.0)
    assert (stopwatch.seconds, stopwatch.compile_seconds) == pytest.approx((3.0, 0.0))


def test_what_numba_does_not_announce(time):
    """Writing a kernel to disk, after its compile, and under numba's lock; alone; and around a compile."""
    stopwatch = Stopwatch()
    with locked():
        time.passes(1.0)
        with _clock.compiling():
            time.passes(2.0)
        time.passes(4.0)
    with _clock.compiling():
        time.passes(8.0)
        with compiled():
            time.passes(16.0)
        time.passes(32.0)
    assert (stopwatch.seconds, stopwatch.compile_seconds) == pytest.approx((5.0, 58.0))


def test_a_compile_that_fails_ends(time):
    stopwatch = Stopwatch()
    with suppress(ValueError), compiled():
        time.passes(2.0)
        raise ValueError("no such type")
    time.passes(1.0)
    assert (stopwatch.seconds, stopwatch.compile_seconds) == pytest.approx((1.0, 2.0))


# -- several threads ------------------------------------------------------------------------------------------


def test_a_compile_in_the_background_stops_no_other_clock(time):
    other, stopwatch = Other(), Stopwatch()
    theirs = other.does(Stopwatch)
    other.does(lambda: (_clock.lock_asked(), _clock.compile_began()))
    time.passes(5.0)
    assert (stopwatch.seconds, stopwatch.compile_seconds) == pytest.approx((5.0, 0.0))
    assert other.does(lambda: (theirs.seconds, theirs.compile_seconds)) == (0.0, 5.0)
    with locked():  # a compile that ended, and a kernel read from disk
        other.does(lambda: (_clock.compile_ended(), _clock.lock_left()))
        time.passes(1.0)
    assert (stopwatch.seconds, stopwatch.compile_seconds) == pytest.approx((6.0, 0.0))


def test_threads_that_wait_for_the_lock_stand_still_while_its_holder_compiles(time):
    first, second = Other(), Other()
    watches = [first.does(Stopwatch), second.does(Stopwatch)]
    mine = Stopwatch()
    _clock.lock_asked()
    time.passes(1.0)  # reads from disk
    _clock.compile_began()
    time.passes(2.0)
    first.does(_clock.lock_asked)  # asks, and waits from here on
    time.passes(4.0)
    second.does(_clock.lock_asked)
    time.passes(8.0)
    _clock.compile_ended()
    time.passes(16.0)  # the lock is still held, for work
    _clock.lock_left()
    first.does(_clock.compile_began)  # the first has the lock; the second goes on waiting
    time.passes(32.0)
    first.does(lambda: (_clock.compile_ended(), _clock.lock_left()))
    time.passes(64.0)  # the second reads from disk
    second.does(_clock.lock_left)
    time.passes(128.0)

    def figures(watch):
        return watch.seconds, watch.compile_seconds

    assert figures(mine) == (1.0 + 16.0 + 32.0 + 64.0 + 128.0, 2.0 + 4.0 + 8.0)
    assert first.does(lambda: figures(watches[0])) == (1.0 + 2.0 + 16.0 + 64.0 + 128.0, 4.0 + 8.0 + 32.0)
    assert second.does(lambda: figures(watches[1])) == (1.0 + 2.0 + 4.0 + 16.0 + 64.0 + 128.0, 8.0 + 32.0)


def test_who_waits_for_an_errand_waits_for_its_compiles(time):
    """The compile has begun before the giver waits: the seconds before that are the giver's work."""
    with compiled():
        time.passes(100.0)  # an earlier fit of the giver
    other, stopwatch, errand = Other(), Stopwatch(), Errand()
    other.does(lambda: (errand.begin(), _clock.lock_asked(), _clock.compile_began()))
    time.passes(1.0)
    assert stopwatch.seconds == 1.0
    with errand.awaited():
        time.passes(2.0)
        other.does(lambda: (_clock.compile_ended(), _clock.lock_left()))
        time.passes(4.0)
        left = other.does(lambda: stopwatch.started + 10.0 - now())  # a deadline of the giver's, asked by the doer
        assert left == 10.0 - 4.0
        other.does(lambda: (_clock.lock_asked(), _clock.compile_began()))
        time.passes(8.0)
        other.does(lambda: (_clock.compile_ended(), _clock.lock_left(), errand.end()))
        other.does(lambda: (_clock.lock_asked(), _clock.compile_began()))
        time.passes(16.0)  # no longer for this errand
    assert (stopwatch.seconds, stopwatch.compile_seconds) == (1.0 + 4.0 + 16.0, 2.0 + 8.0)


def test_an_errand_that_has_not_begun_stops_nothing(time):
    other, stopwatch, errand = Other(), Stopwatch(), Errand()
    with errand.awaited():
        time.passes(1.0)
        other.does(errand.begin)
        other.does(lambda: (_clock.lock_asked(), _clock.compile_began()))
        time.passes(2.0)
        other.does(lambda: (_clock.compile_ended(), _clock.lock_left(), errand.end()))
    assert (stopwatch.seconds, stopwatch.compile_seconds) == pytest.approx((1.0, 2.0))


@pytest.fixture
def waits(monkeypatch):
    """Set as soon as a thread's clock begins to follow something."""
    event, follow = threading.Event(), _clock._ThreadClock.follow

    def noted(clock, source):
        follow(clock, source)
        event.set()

    monkeypatch.setattr(_clock._ThreadClock, "follow", noted)
    return event


def test_who_waits_for_a_mutex_waits_for_the_compiles_of_its_holder(time, waits):
    other, mutex = Other(), Mutex()
    theirs = other.does(Stopwatch)
    with mutex:
        with compiled():
            time.passes(1.0)
        waits.clear()
        other.starts(mutex.__enter__)
        assert waits.wait(60)
        time.passes(2.0)
        with compiled():
            time.passes(4.0)
    other.result()
    time.passes(8.0)
    assert other.does(lambda: (theirs.seconds, theirs.compile_seconds)) == (11.0, 4.0)
    other.does(lambda: mutex.__exit__())


def test_jobs_of_helpers_and_items_of_the_pool_are_errands(time, waits):
    """Each compiles for two seconds and works for one, as soon as somebody waits for it."""
    turn = threading.Lock()

    def job(_=None):
        assert waits.wait(60)
        with turn:
            with compiled():
                time.passes(2.0)
            time.passes(1.0)

    stopwatch, helper = Stopwatch(), Helper()
    given = Job(job)
    helper.give(given)
    given.result()
    helper.end()
    assert (stopwatch.seconds, stopwatch.compile_seconds) == pytest.approx((1.0, 2.0))
    waits.clear()
    map_threads(job, range(2), 2)
    # While the first is waited for, the second may be done already: then its seconds are those of a compile in the background.
    assert stopwatch.seconds + stopwatch.compile_seconds == 9.0
    assert stopwatch.compile_seconds in (4.0, 6.0)


def test_a_deadline_holds_in_every_thread_of_the_pool(time):
    with compiled():
        time.passes(50.0)
    deadline = now() + 3.0
    assert map_threads(lambda _: deadline - now(), range(4), 2) == [3.0] * 4


# -- numba itself ----------------------------------------------------------------------------------------------


def test_numbas_own_compiles_are_seen():
    import numba

    from gapless._compile.on_demand import wake

    wake()  # numba tells the clock

    @numba.njit
    def inner(x):
        return x + 1

    @numba.njit
    def outer(x):
        return inner(x) * inner(x + 1)

    inner(1.0)  # numba is ready
    before, watch = stood_still(), _clock.perf_counter()
    outer(1)
    wall, first = _clock.perf_counter() - watch, stood_still() - before
    assert 0.5 * wall < first <= wall  # and nested ones not twice
    outer(2)
    assert stood_still() - before == first


def test_a_thread_that_compiles_leaves_this_one_alone():
    import numba

    from gapless._compile.on_demand import wake

    wake()

    @numba.njit
    def function(x):
        return np.sqrt(x) + 1

    found = []
    stopwatch = Stopwatch()
    thread = threading.Thread(target=lambda: (function(1.0), found.append(stood_still())))
    thread.start()
    thread.join()
    assert found[0] > 0.0
    assert stopwatch.compile_seconds == 0.0


# -- the certificate -------------------------------------------------------------------------------------------


def test_the_certificate_says_apart_what_compiling_took(monkeypatch):
    random = np.random.default_rng(0)
    X = random.normal(size=(40, 3))
    y = (X[:, 0] > 0).astype(int)
    LinearSVC().fit(X, y)  # which imports numba, if no other fit has done so
    warm = LinearSVC().fit(X, y).certificate_
    from gapless.fits import linear as _fit

    fit_parts = _fit.fit_parts

    def slowly(*arguments):
        with _clock.compiling():
            threading.Event().wait(0.75)
        return fit_parts(*arguments)

    monkeypatch.setattr(_fit, "fit_parts", slowly)
    model = LinearSVC(time_limit=0.6).fit(X, y)
    proof = model.certificate_
    assert proof.converged
    assert proof.compile_seconds >= 0.75
    assert proof.seconds < 0.6
    assert "s of compiling" in str(proof)
    assert "compiling" in proof._repr_html_()
    assert "compiling" not in str(warm)
    assert warm.compile_seconds == 0.0
    again = type(proof).from_json(proof.to_json(), proof.arrays)
    assert again.compile_seconds == proof.compile_seconds
    verdict = verify(model, X, y)
    assert verdict
    assert {"seconds", "compile_seconds"} <= {line.partition(":")[0] for line in verdict.unchecked}


def test_a_file_of_an_earlier_version_has_no_compile_seconds():
    X = np.arange(12.0).reshape(6, 2) % 5
    y = np.array([0, 1, 0, 1, 1, 0])
    proof = LinearSVC().fit(X, y).certificate_
    document = proof.document()
    del document["certificate"]["compile_seconds"]
    assert judge.check(document, dict(proof.arrays), X, y)
    assert type(proof).from_document(document, proof.arrays).compile_seconds == 0.0
    document["certificate"]["compile_seconds"] = "soon"
    with pytest.raises(judge.CertificateError, match="compile_seconds"):
        judge.check(document, dict(proof.arrays), X, y)


# -- no other clock --------------------------------------------------------------------------------------------

#: Where another clock may be read, and why.
OTHERS = {
    "_runtime/clock.py": {"perf_counter"},  # this one
    # The date, to tell how old a file is; and for how long another process says that it compiles.
    "_compile/kernel_store.py": {"monotonic", "time"},
}
CLOCKS = {"time", "timeit"}
#: What reads the clock on the wall; the other names of datetime are of dates in tables.
DATES = {"now", "utcnow", "today"}


def clocks(source: str) -> set[str]:
    """What a module takes from the modules that know the time, ``sleep`` apart."""
    tree = ast.parse(source)
    names: dict[str, str] = {}
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {(each.asname or each.name): each.name for each in node.names if each.name in CLOCKS}
        elif isinstance(node, ast.ImportFrom) and node.module in CLOCKS and not node.level:
            found |= {each.name for each in node.names}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            of_clock = isinstance(node.value, ast.Name) and node.value.id in names
            owner = getattr(node.value, "id", getattr(node.value, "attr", ""))
            of_dates = node.attr in DATES and owner in ("datetime", "date")
            found |= {node.attr} if of_clock or of_dates else set()
    return found - {"sleep"}


def test_no_other_clock_is_read():
    found = {str(file.relative_to(PACKAGE)): clocks(file.read_text()) for file in sorted(PACKAGE.rglob("*.py"))}
    assert {name: read for name, read in found.items() if read} == OTHERS


@pytest.mark.parametrize(
    "source",
    [
        "import time\nstart = time.perf_counter()",
        "import time as t\nt.monotonic()",
        "from time import process_time",
        "def f():\n    from timeit import default_timer as now",
        "import datetime\ndatetime.datetime.now()",
        "from datetime import date\ndate.today()",
    ],
)
def test_the_search_for_other_clocks_finds_them(source):
    assert clocks(source)


def test_the_clock_loads_nothing_but_the_standard_library():
    code = """
import json, sys
import gapless._runtime.clock
gapless._runtime.clock.now()
heavy = {"numpy", "numba", "scipy", "sklearn", "llvmlite"}
print(json.dumps(sorted(heavy & set(sys.modules))))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == []
