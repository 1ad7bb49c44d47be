"""The line before the first compile names the call and an estimate of its seconds; the one at the end has the true ones."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import threading

import numpy as np
import pytest

import gapless
from gapless._compile import compile_time, kernel_cache
from gapless._runtime import clock
from gapless._warmup.names import CALLS
from gapless.cli.commands import train
from gapless.registry import MODULES, with_kernels
from tests.package.processes import environment, start
from tests.package.test_cold import COLD

FIRST = re.compile(
    r"gapless: compiling kernels of LinearRegression, once: about (\d+) s of processor time, an estimate "
    r"\(`python -m gapless warmup` does it ahead\)\n"
)
LAST = re.compile(r"gapless: compiled (\d+) kernels? in (\d+\.\d) s, to be found again\n")
FIT = (
    "import numpy as np, gapless; kernels = gapless.config_context(backend='numba'); kernels.__enter__(); "
    "model = gapless.LinearRegression().fit(np.eye(5, 2), np.arange(5.0)); "
)


def test_what_and_how_long_before_and_after(tmp_path):
    """Against what the fit says itself, and what is on disk."""
    code = FIT + "print(model.certificate_.compile_seconds)"
    out, said = start(code, environment(GAPLESS_CACHE=str(tmp_path))).communicate(timeout=300)
    first, last = said.splitlines(keepends=True)
    estimate = float(FIRST.fullmatch(first)[1])
    count, seconds = LAST.fullmatch(last).groups()
    assert int(count) == len(list(tmp_path.rglob("*.nbc"))) > 0
    assert float(out) - 0.1 <= float(seconds)
    assert estimate == max(1, round(compile_time.SECONDS["LinearRegression"]))
    out, said = start(code, environment(GAPLESS_CACHE=str(tmp_path))).communicate(timeout=300)
    assert said == ""
    assert float(out) == 0.0


def test_nothing_is_said_where_nobody_wants_to_know(tmp_path):
    process = start(FIT, environment(GAPLESS_CACHE=str(tmp_path), GAPLESS_QUIET="1"))
    assert process.communicate(timeout=300) == ("", "")
    assert list(tmp_path.rglob("*.nbc"))


def test_every_estimator_has_an_estimate_or_compiles_next_to_nothing():
    for name in MODULES:
        assert name in with_kernels("gaussian") or compile_time.expected(name)[1] > 0.0
    for name in {*train.ESTIMATORS.values(), "train"}:
        assert compile_time.expected(name) == (name, compile_time.SECONDS[compile_time.ALIKE.get(name, name)])
    assert set(compile_time.ALIKE.values()) - {None} <= set(compile_time.SECONDS)
    assert {*compile_time.SECONDS, *compile_time.ALIKE} <= {*MODULES, *CALLS}


@pytest.mark.parametrize("name", compile_time.SECONDS)
def test_estimates_are_those_that_the_cold_tests_hold(name):
    """Within a factor of 2 of the seconds that `test_cold` holds to be true within a factor of 2, which has the work too."""
    case = name.removesuffix("Classifier")
    assert COLD[case][1] / 2.0 - 0.6 <= compile_time.SECONDS[name] <= COLD[case][1]


def said_inside(monkeypatch, run):
    """What would be told at the first row hash of a call, which all fits make."""
    from gapless.rows import hashes

    told = []
    whole = hashes._hash
    monkeypatch.setattr(hashes, "_hash", lambda *given: told.append(compile_time.expected()) or whole(*given))
    with gapless.config_context(convergence="ignore", backend="numba"):
        run()
    return told[0]


@pytest.mark.parametrize(
    "name", ["LinearSVC", "SVC", "Perceptron", "Ridge", "DecisionTreeClassifier", "BaggingClassifier"]
)
def test_the_call_is_found_on_the_stack(name, monkeypatch):
    X, y = np.random.default_rng(0).normal(size=(40, 3)), np.arange(40) % 2
    assert said_inside(monkeypatch, lambda: getattr(gapless, name)().fit(X, y)) == compile_time.expected(name)


def test_the_outermost_call_is_named(monkeypatch):
    X, y = np.random.default_rng(0).normal(size=(40, 3)), np.arange(40) % 2
    model = gapless.LinearSVC()
    told = said_inside(monkeypatch, lambda: gapless.tune(model, X, y, {"C": [1.0, 2.0]}, cv=2, n_jobs=1))
    assert told == ("tune", compile_time.SECONDS["LinearSVC"])

    class Mine(gapless.LinearSVC):
        pass

    assert said_inside(monkeypatch, lambda: Mine().fit(X, y)) == compile_time.expected("LinearSVC")


def test_outside_of_all_calls_nothing_is_named():
    found = []
    thread = threading.Thread(target=lambda: found.append(compile_time.expected()))
    thread.start()
    thread.join()
    assert [*found, compile_time.expected()] == [("", None)] * 2


@pytest.mark.skipif(os.name != "posix", reason="needs a terminal of its own")
def test_a_terminal_is_told_while_it_waits(tmp_path):
    """What is compiled, how long it has taken and about how long it takes, in a line that is gone at the end."""
    import pty

    ours, theirs = pty.openpty()
    run = subprocess.Popen(
        [sys.executable, "-c", FIT],
        env=environment(GAPLESS_CACHE=str(tmp_path)),
        stderr=theirs,
        stdout=subprocess.DEVNULL,
    )
    os.close(theirs)
    said = b""
    with contextlib.suppress(OSError):  # the terminal ends with the process
        while part := os.read(ours, 4096):
            said += part
    os.close(ours)
    assert run.wait(timeout=300) == 0
    text = said.decode().replace("\r\n", "\n")
    rest = "(?:about 1 s in all|1 s of processor time were estimated)"
    waiting = rf"\r\x1b\[2Kgapless: compiling kernels of LinearRegression, once: \d+ s so far, {rest}"
    assert re.search(waiting, text)
    lasting = re.sub(rf"(?:{waiting})+\r\x1b\[2K", "", text)
    assert FIRST.match(lasting)
    assert LAST.fullmatch(lasting[FIRST.match(lasting).end() :])


def test_the_line_of_train_tells_it_too(monkeypatch):
    """Where rich draws on the terminal it draws that line; without a compile it says what is tried alone."""
    from gapless.cli.progress import _Line

    line = _Line("trying linear SVM")
    assert str(line.__rich__()) == "trying linear SVM"
    monkeypatch.delenv("GAPLESS_QUIET", raising=False)
    monkeypatch.setattr(kernel_cache, "_announced", True)
    monkeypatch.setattr(clock, "compiling_now", lambda: True)
    for estimate, seconds, told in (
        (18.8, 7.2, "compiling kernels, once: 7 s so far, about 19 s in all"),
        (18.8, 52.0, "compiling kernels, once: 52 s so far, 19 s of processor time were estimated"),
        (None, 3.0, "compiling kernels, once: 3 s so far"),
    ):
        monkeypatch.setattr(kernel_cache, "_expected", ("train", estimate))
        monkeypatch.setattr(clock, "compile_seconds", lambda seconds=seconds: seconds)
        assert str(line.__rich__()) == f"trying linear SVM: {told}"
        assert kernel_cache.under_way() == told.replace("kernels,", "kernels of train,")
    monkeypatch.setenv("GAPLESS_QUIET", "1")
    assert str(line.__rich__()) == "trying linear SVM"
