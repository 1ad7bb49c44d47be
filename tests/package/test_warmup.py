"""`warmup`: after it nothing is compiled; and what it can be asked for."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import gapless
from gapless._warmup.compile_ahead import steps_for
from gapless._warmup.first_fits import first_fits
from gapless._warmup.names import CALLS, KINDS, NAMES, parse_names, parse_rows
from gapless.registry import MODULES
from tests.package.processes import environment

ROOT = Path(__file__).resolve().parents[2]


def missing(what: str, names: str = "") -> dict[str, list[str]]:
    """Kernels, by call, that calls ask for after `warmup` in a new process."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.package.after_warmup", what, names],
        env=environment(GAPLESS_QUIET="1"), cwd=ROOT, capture_output=True, text=True, timeout=3000, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_after_warmup_no_estimator_and_no_function_compiles():
    assert missing("some") == {}


@pytest.mark.slow
@pytest.mark.timeout(3000)
def test_after_warmup_no_public_call_compiles():
    """Every estimator × dense and CSR × float32 and float64 × its options, rows of many kinds; the functions and commands; and
    the calls of `rare_calls`. Some 5,000 calls, five processor minutes, on all cores."""
    assert missing("all") == {}


@pytest.mark.slow
@pytest.mark.parametrize("name", MODULES)
def test_warmup_for_one_estimator_is_enough_for_it(name):
    assert missing("some", name) == {}


def test_what_a_kernel_may_give_to_python():
    """`after_warmup` finds kernels that give anything but numbers."""
    from collections import namedtuple

    from numba import float64, int64, types

    from tests.package.after_warmup import gives_numbers

    pair = namedtuple("pair", "a b")
    assert gives_numbers(types.none)
    assert gives_numbers(types.Tuple((int64, types.UniTuple(float64, 2), types.boolean)))
    assert not gives_numbers(float64[:])
    assert not gives_numbers(types.Tuple((int64, float64[:, ::1])))
    assert not gives_numbers(types.NamedTuple((int64, float64), pair))


# -- names ---------------------------------------------------------------------------------------------------


def test_every_estimator_and_command_has_a_name():
    from sklearn.base import BaseEstimator

    from gapless.cli.app import app

    public = (getattr(gapless, name) for name in gapless.__all__)
    estimators = {each.__name__ for each in public if isinstance(each, type) and issubclass(each, BaseEstimator)}
    assert estimators <= set(MODULES)
    commands = {command.callback.__name__ for command in app.registered_commands}
    assert commands - {"doctor", "warmup"} <= set(CALLS)
    assert all(others <= set(NAMES) for others in map(set, CALLS.values()))
    for name in NAMES:
        assert steps_for(name), name


def test_names_are_read_as_they_are_meant():
    assert parse_names("LinearSVC, svc") == ("LinearSVC", "SVC")
    assert parse_names(["train", "LinearSVC", "train"]) == ("train", "LinearSVC")
    with pytest.raises(ValueError, match="warmup knows no 'LinearSVM'; it knows Perceptron, LinearSVC, .* train, tune"):
        gapless.warmup("LinearSVM")
    with pytest.raises(ValueError, match="asked for nothing"):
        gapless.warmup([])
    assert parse_rows("dense float64,csr") == ("dense float64", "CSR")
    with pytest.raises(ValueError, match="knows no rows 'sparse'; it knows dense, CSR, dense float64"):
        parse_rows("sparse")


def test_fewer_names_and_rows_are_fewer_steps():
    everything = {step.what for step in steps_for()}
    assert {step.what for kind in KINDS for step in steps_for(None, (kind,))} == everything
    svm = {step.what for step in steps_for("LinearSVC")}
    assert svm < everything
    assert not any("tree" in what or "stumps" in what for what in svm)
    few = {step.what for step in steps_for("LinearSVC", ("dense float64",))}
    assert few < svm
    assert not any("CSR" in what or "float32" in what for what in few)
    assert "readers of files" in {step.what for step in steps_for("verify")}
    assert len(steps_for("verify")) < 10


def test_the_fits_of_train_are_there_to_be_wished_for():
    """Whatever `train` compares, the second process knows how to compile for it."""
    import numpy as np

    from gapless.cli.commands import compare, train

    fits = first_fits()
    for y, labels in ((np.arange(4) % 2, True), (np.arange(6) % 3, True), (np.arange(4.0), False)):
        assert set(compare.wishes(y, labels)) <= set(fits)
    assert set(train.ESTIMATORS.values()) <= set(fits)
