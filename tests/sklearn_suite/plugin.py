"""A pytest plugin: scikit-learn's own test modules see our classes; the tests that may fail are named, each with a reason.

It has to be loaded by ``-p`` before any test module: then imports, instances at module level, subclasses and lists of
parameters all hold our classes. What scikit-learn uses inside keeps its own. ``run`` starts it; the environment says where the
outcomes go.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import json
import os
import pkgutil
import tomllib
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

EXPECTED = Path(__file__).parent / "expected.toml"

_ours: dict[type, type] = {}  # our class -> scikit-learn's
_fitted: defaultdict[str, set[str]] = defaultdict(set)  # test -> our classes that it fitted
_outcomes: dict[str, dict[str, Any]] = {}
_running: list[str] = [""]
_expected: set[str] = set()


def _import_all() -> None:
    """Import what scikit-learn has, but its tests and the tables of its checks, which are keyed by class."""
    import sklearn

    left_out = {"tests", "conftest", "externals", "_test_common", "estimator_checks", "__check_build", "_build_utils"}
    for module in pkgutil.walk_packages(sklearn.__path__, "sklearn."):
        if not left_out & set(module.name.split(".")):
            try:
                importlib.import_module(module.name)
            except ImportError:  # an experimental module that asks to be enabled first
                continue


def _watch(kind: type) -> None:
    """Note which tests fit a class."""
    for name in ("fit", "partial_fit"):
        method = inspect.getattr_static(kind, name, None)
        if inspect.isfunction(method):

            def spy(self: Any, *args: Any, _method: Any = method, **named: Any) -> Any:
                _fitted[_running[0]].add(type(self).__name__)
                return _method(self, *args, **named)

            setattr(kind, name, functools.wraps(method)(spy))


def _install() -> None:
    import sklearn.utils
    from sklearn.utils import discovery

    import gapless
    from gapless.estimators import patch

    originals = {place: getattr(importlib.import_module(f"sklearn.{place[0]}"), place[1]) for place in patch._shared()}
    gapless.patch()
    for place, ours in patch._shared().items():
        _ours[ours] = originals[place]
        _watch(ours)
    scan, theirs = discovery.all_estimators, set(originals.values())

    @functools.wraps(scan)
    def all_estimators(*args: Any, **named: Any) -> list[tuple[str, type]]:
        # Modules that use a class inside (calibration: LinearSVC) still hold scikit-learn's.
        return [(name, kind) for name, kind in scan(*args, **named) if kind not in theirs]

    discovery.all_estimators = sklearn.utils.all_estimators = all_estimators


_import_all()
_install()


# -- which tests, and which may fail


def identity(item: Any) -> str:
    """``svm.tests.test_svm::test_libsvm_iris[42]``."""
    return f"{item.module.__name__.removeprefix('sklearn.')}::{item.name}"


def holds_ours(value: Any) -> bool:
    """Whether an estimator is ours, or has one of ours among its parameters."""
    if type(value) in _ours:
        return True
    try:
        parameters = value.get_params(deep=True) if hasattr(value, "get_params") and not isinstance(value, type) else {}
    except (TypeError, AttributeError, ValueError):
        parameters = {}
    return any(type(each) in _ours for each in parameters.values())


def expected_failures() -> list[dict[str, Any]]:
    """The groups of tests that may fail: ``reason`` and ``tests``, each one id or a function with all its parameters."""
    groups: list[dict[str, Any]] = tomllib.loads(EXPECTED.read_text(encoding="utf-8"))["group"]
    return groups


def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    kept = []
    for item in items:
        common = item.module.__name__ == "sklearn.tests.test_common"
        values = item.callspec.params.values() if hasattr(item, "callspec") else ()
        if not common or any(map(holds_ours, values)):
            kept.append(item)
    items[:] = kept
    if os.environ.get("SKLEARN_SUITE_STRICT") != "1":
        return
    wanted = {test: group for group in expected_failures() for test in group["tests"]}
    met = set()
    for item in items:
        name = identity(item)
        for key in (name, name.split("[")[0]):
            if key in wanted:
                met.add(key)
                _expected.add(name)
                # One that passes fails the run: the list only gets shorter.
                strict = wanted[key].get("strict", True)
                item.add_marker(pytest.mark.xfail(reason=wanted[key]["reason"], strict=strict))
                break
    modules = {identity(item).split("::")[0] for item in items}
    stale = [test for test in wanted if test not in met and test.split("::")[0] in modules]
    if stale:
        raise pytest.UsageError(f"expected.toml names tests that are not there: {stale}")


# -- outcomes


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: Any, nextitem: Any) -> Any:
    _running[0] = identity(item)
    fresh = {"outcome": "passed", "seconds": 0.0, "expected": _running[0] in _expected}
    _outcomes.setdefault(_running[0], fresh)
    yield
    _running[0] = ""


def pytest_runtest_logreport(report: Any) -> None:
    entry = _outcomes[_running[0]]
    entry["seconds"] += report.duration
    if hasattr(report, "wasxfail"):
        entry["outcome"] = "xfailed" if report.outcome == "skipped" else "xpassed"
    elif report.outcome != "passed":
        entry["outcome"] = report.outcome
        if report.outcome == "failed":
            entry["message"] = str(report.longrepr)[-2000:]


def pytest_sessionfinish(session: Any) -> None:
    for test, entry in _outcomes.items():
        entry["fitted"] = sorted(_fitted.get(test, ()))
    Path(os.environ["SKLEARN_SUITE_OUTCOMES"]).write_text(json.dumps(_outcomes, indent=0))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    counts = Counter(entry["outcome"] for entry in _outcomes.values())
    terminalreporter.write_line(f"{dict(counts)}, {sum(map(bool, _fitted.values()))} fitted a class of ours")
