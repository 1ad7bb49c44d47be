"""The table of estimators, and those who read it."""

from __future__ import annotations

from sklearn.base import BaseEstimator

import gapless
from gapless import registry
from gapless.judge.kinds import KINDS


def test_every_public_estimator_stands_in_it_once():
    public = {name: getattr(gapless, name) for name in gapless.__all__}
    estimators = {name for name, each in public.items() if isinstance(each, type) and issubclass(each, BaseEstimator)}
    assert estimators == set(registry.MODULES)
    assert len(registry.ESTIMATORS) == len(estimators)
    assert all(public[name].__module__ == module for name, module in registry.MODULES.items())


def test_its_families_are_those_of_the_judge():
    for entry in registry.ESTIMATORS:
        rooms = {kind.case.__module__.split(".")[2] for kind in KINDS if entry.name in kind.estimators}
        assert entry.family in rooms, entry.name
    assert {name for kind in KINDS for name in kind.estimators} == set(registry.MODULES)


def test_every_estimator_can_be_made_from_a_file():
    assert all(callable(getattr(gapless, name)._from_document) for name in registry.MODULES)


def test_the_models_of_the_command_line():
    assert registry.COMMANDS["svm"] == "LinearSVC"
    assert set(registry.COMMANDS.values()) <= set(registry.MODULES)
    assert registry.with_kernels("stumps") == ("AdaBoostClassifier",)
