"""Ctrl-C at random moments of every public estimator and function, and what a time limit of half a second costs."""

from __future__ import annotations

import ast
import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gapless
from gapless._compile import kernel_cache
from gapless.estimators.shared.ensemble_trees import SharedTrees
from gapless.solvers.loop import audible
from tests.package import stop_cases
from tests.package.processes import environment

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path(gapless.__file__).parent


def moments(seed: int, wanted: int, number: int = 0, numbers: int = 1) -> list[dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.package.stops", *map(str, (seed, wanted, number, numbers))],
        env=environment(GAPLESS_QUIET="1"), cwd=ROOT, capture_output=True, text=True, timeout=3000, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def told(reports: list[dict[str, Any]]) -> list[str]:
    return [f"{report['name']}: {report['wrong']}" for report in reports if report["wrong"]]


@pytest.mark.alone
def test_ctrl_c_at_some_moments():
    reports = moments(seed=int(os.environ.get("GAPLESS_SEED", 0)), wanted=30)
    assert told(reports) == []
    assert len(reports) == 30
    assert len({report["family"] for report in reports}) >= 15


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_ctrl_c_at_many_moments():
    wanted, numbers = int(os.environ.get("GAPLESS_STOPS", 400)), max(1, min(8, (os.cpu_count() or 1) // 2))
    seed = int(os.environ.get("GAPLESS_SEED", 1))
    shares = [wanted // numbers + (number < wanted % numbers) for number in range(numbers)]
    with ThreadPoolExecutor(numbers) as pool:
        found = pool.map(lambda number: moments(seed, shares[number], number, numbers), range(numbers))
        reports = [report for part in found for report in part]
    counts = Counter(report["family"] for report in reports)
    wrong = Counter(report["family"] for report in reports if report["wrong"])
    longest = max(reports, key=lambda report: report["delay"])
    print(f"\nCtrl-C at {len(reports)} moments, {wrong.total()} wrong; seed {seed}")
    for family, count in sorted(counts.items()):
        print(f"  {family:30}{count:5}{f'   {wrong[family]} wrong' if wrong[family] else ''}")
    print(f"  the longest way out: {longest['delay']:.2f} s, {longest['name']}")
    assert told(reports) == []
    assert len(reports) >= 0.95 * wanted


# -- what is raised inside a fit -------------------------------------------------------------------------------


class Alarm(BaseException):
    """What a handler of a signal may raise."""


def raising(*_: Any, **__: Any) -> Any:
    raise Alarm


@pytest.mark.parametrize(
    ("model", "place"),
    [
        (gapless.DecisionTreeClassifier(), "gapless.fits.tree.grow_tree"),
        (gapless.BaggingClassifier(n_estimators=2), "gapless.fits.tree.grow_tree"),
        (gapless.GaussianDiscriminant(), "gapless.estimators.gaussian.moments"),
        (gapless.LinearDiscriminantAnalysis(), "gapless.estimators.discriminant_analysis.moments"),
        (gapless.LeastSquaresClassifier(), "gapless.fits.least_squares.solve"),
        (gapless.LinearSVC(), "gapless.estimators.shared.linear_classifier.fit_linear"),
        (gapless.SVC(), "gapless.estimators.shared.kernel_machine.fit_kernel"),
        (gapless.Perceptron(), "gapless.estimators.perceptron.fit_perceptron"),
        (gapless.AdaBoostClassifier(n_estimators=3), "gapless.fits.boosting.find_best_stump"),
    ],
    ids=lambda given: type(given).__name__ if not isinstance(given, str) else "",
)
def test_what_is_raised_leaves_the_estimator_as_it_was(model, place, monkeypatch):
    """A second fit, on rows with more columns, is cut short: the first model is still there, whole."""
    random = np.random.default_rng(0)
    X = random.normal(size=(80, 4))
    y = (X[:, 0] + 0.3 * random.normal(size=80) > 0).astype(int)
    with gapless.config_context(convergence="ignore"):
        model.fit(X[:, :3], y)
        before = model.predict(X[:, :3])
        monkeypatch.setattr(place, raising)
        with pytest.raises(Alarm):
            model.fit(X, y)
    assert model.n_features_in_ == 3
    assert np.array_equal(model.predict(X[:, :3]), before)
    assert gapless.verify(model, X[:, :3], y)


@pytest.mark.parametrize("kind", [Alarm, KeyboardInterrupt, TimeoutError, ValueError])
@pytest.mark.parametrize(
    ("ensemble", "base", "fitted_by"),
    [
        (gapless.AdaBoostClassifier, gapless.DecisionTreeClassifier(max_depth=2), gapless.DecisionTreeClassifier),
        (gapless.AdaBoostRegressor, gapless.DecisionTreeRegressor(max_depth=2), SharedTrees),  # columns are ranked once
        (gapless.AdaBoostRegressor, gapless.Ridge(), gapless.Ridge),
    ],
    ids=lambda given: given.__name__ if isinstance(given, type) else "",
)
def test_what_a_round_raises_comes_out_as_it_was(kind, ensemble, base, fitted_by, monkeypatch):
    random = np.random.default_rng(1)
    X = random.normal(size=(120, 3))
    y = X[:, 0] + random.normal(size=120)
    y = (y > 0).astype(int) if ensemble is gapless.AdaBoostClassifier else y
    raised, fits, fit = kind("in the middle"), [], fitted_by.fit

    def third(self, *given, **named):
        fits.append(1)
        if len(fits) == 3:
            raise raised
        return fit(self, *given, **named)

    monkeypatch.setattr(fitted_by, "fit", third)
    model = ensemble(base, n_estimators=6, random_state=0)
    with pytest.raises(kind) as caught:
        model.fit(X, y)
    assert caught.value is raised
    assert len(model.estimators_) == 2
    assert model.status_ == ("interrupted" if kind is KeyboardInterrupt else "stalled")
    assert np.isfinite(model.predict(X)).all()


def test_a_handler_that_raises_keyboard_interrupt_stops_a_path_and_keeps_a_fit(monkeypatch):
    X = np.random.default_rng(2).normal(size=(60, 3))
    y = (X[:, 0] > 0.2).astype(int)

    def pressed(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("gapless.solvers.linear.solve._plan", pressed)
    with pytest.raises(KeyboardInterrupt):
        gapless.path(gapless.LinearSVC(), X, y, [0.1, 1.0])
    model = gapless.LinearSVC()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.status_ == "interrupted"
    assert gapless.verify(model, X, y)


@pytest.mark.skipif(threading.current_thread() is not threading.main_thread(), reason="signals need the main thread")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_ctrl_c_that_python_ignores_is_raised_at_the_end():
    class Last:
        def __del__(self):
            signal.raise_signal(signal.SIGINT)

    old = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        done = []

        def call() -> None:
            with audible():
                Last()
                done.append("the end of the block")

        with pytest.raises(KeyboardInterrupt):
            call()
        assert done
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, old)


def test_a_ctrl_c_that_becomes_another_error_is_a_keyboard_interrupt():
    old = signal.signal(signal.SIGINT, signal.default_int_handler)

    def call() -> None:
        with audible():
            try:
                signal.raise_signal(signal.SIGINT)
            except KeyboardInterrupt:  # as numpy does where it compares records
                raise TypeError("cannot compare") from None

    try:
        with pytest.raises(KeyboardInterrupt):
            call()
    finally:
        signal.signal(signal.SIGINT, old)


@pytest.mark.parametrize("what", ["load", "compile"])
def test_no_room_for_a_kernel_is_a_memory_error(what, monkeypatch):
    kernel_cache._check_memory(what)

    def full(_file: int, length: int) -> None:
        raise OSError(f"no room for {length} bytes")

    monkeypatch.setattr(kernel_cache.mmap, "mmap", full)
    with pytest.raises(MemoryError, match=f"MiB of memory are needed to {what} a kernel"):
        kernel_cache._check_memory(what)


# -- time limits -----------------------------------------------------------------------------------------------


def test_stumps_of_some_columns_where_time_is_over():
    """Coding the columns takes longer than the limit: the stumps are of those that are coded, and nothing false is said."""
    random = np.random.default_rng(3)
    X = random.normal(size=(2000, 40))
    y = (X[:, 0] + X[:, 39] + random.normal(size=2000) > 0).astype(int)
    with gapless.config_context(convergence="ignore"):
        model = gapless.AdaBoostClassifier(time_limit=1e-9).fit(X, y)
    assert model.status_ == "time_limit"
    assert len(model.estimators_) == 1
    assert gapless.verify(model, X, y)
    assert model.score(X, y) > 0.5


def test_the_best_offsets_of_softmax_end_at_rounding(monkeypatch):
    """Newton's method in K numbers: a few steps, and slopes as small as sums of so many terms can be."""
    from gapless.problems.multinomial import Multinomial

    random = np.random.default_rng(4)
    n, K = 30_000, 6
    X, index = random.normal(size=(n, 5)), random.integers(0, K, size=n)
    problem = Multinomial.build(X, index, np.full(n, 1e3), K, "free", 1.0)
    asked, probabilities = [], Multinomial.probabilities
    monkeypatch.setattr(Multinomial, "probabilities", lambda self, Z: asked.append(1) or probabilities(self, Z))
    Z = 0.7 * random.normal(size=(n, K)) + random.normal(size=K)
    b = problem.best_offsets(Z)
    assert len(asked) <= 15
    P = np.exp(Z + b - (Z + b).max(axis=1, keepdims=True))
    P /= P.sum(axis=1, keepdims=True)
    slopes = 1e3 * P.sum(axis=0) - 1e3 * np.bincount(index, minlength=K)
    assert np.abs(slopes).max() <= 1e-12 * 1e3 * n


# -- all of it -------------------------------------------------------------------------------------------------


def test_every_public_name_is_stopped_or_idle():
    """The families of the cases, and the names that do no work, are the public names."""
    tree = ast.parse(Path(stop_cases.__file__).read_text())
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    families = {name for name in gapless.__all__ if name in texts - stop_cases.IDLE}
    assert families | stop_cases.IDLE == set(gapless.__all__)
    assert not families & stop_cases.IDLE
