"""Every public name, parameter and field is in the documentation; results print as sentences and show as tables."""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass
from types import ModuleType

import numpy as np
import pytest

import gapless
from tests.package import surface
from tests.package.families import MODELS as FAMILIES

MODELS = {**FAMILIES, "Perceptron trace": {"trace": True}, "NuSVR": {}, "BaggingRegressor": {"n_estimators": 3}}

pytestmark = pytest.mark.skipif(not surface.API.is_file(), reason="not run from a checkout")


def test_nothing_public_is_undocumented():
    assert list(surface.faults()) == []


def test_every_entry_of_the_page_exists():
    for name, members in surface.listed().items():
        found = surface.lookup(name)
        for member in members:
            assert hasattr(found, member), f"docs/api.md shows {name}.{member}, which does not exist"


@pytest.mark.parametrize(
    "name", ["Margins", "Slackness", "Threshold", "Explanation", "HeldOut", "Urn", "Decomposition", "PacBayes", "Votes",
             "Trace", "Path", "Verdict", "Averaged", "Study", "Curve", "Thresholded", "EnsembleCertificate"],
)  # fmt: skip
def test_the_walk_reaches(name):
    assert name in {cls.__name__ for cls in surface.results()}


# ---------------------------------------------------------------- the test of the test
def planted_module() -> ModuleType:
    """A public function whose result, of two classes, has one fault of each kind."""
    module = ModuleType("gapless.planted")

    @dataclass(frozen=True)
    class Inner:
        """Reached by a field alone.

        Attributes
        ----------
        known : explained
        """

        known: int
        hidden: int

    @dataclass(frozen=True)
    class Planted:
        """A result.

        Attributes
        ----------
        inner : explained
        silent :
        """

        inner: Inner
        silent: float

        @property
        def computed(self) -> float:
            return 0.0

        @property
        def unlisted(self) -> float:
            """Explained here, and not in docs/api.md."""
            return 0.0

        def method(self, amount: int) -> None:
            """Do it."""

    def planted(told: int, untold: int = 0) -> Planted | None:
        """A function.

        Parameters
        ----------
        told : explained
        """

    Planted.__annotations__["inner"] = Inner
    planted.__annotations__["return"] = Planted | None
    for value in (Inner, Planted, planted):
        value.__module__, value.__qualname__ = module.__name__, value.__name__
        setattr(module, value.__name__, value)
    return module


def test_a_planted_fault_of_each_kind_is_found(monkeypatch):
    module = planted_module()
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(gapless._HOME, "planted", module.__name__)
    monkeypatch.setattr(gapless, "planted", module.planted, raising=False)
    found = [fault.replace(" (from gapless.planted)", "") for fault in surface.faults()]
    assert sorted(found) == sorted(
        [
            "gapless.planted is not in docs/api.md",
            "gapless.planted: no Parameters entry of 'untold'",
            "gapless.planted.Planted is not in docs/api.md",
            "gapless.planted.Planted: no Attributes entry of 'silent'",
            "gapless.planted.Planted: the property 'computed' has no docstring",
            "gapless.planted.Planted: docs/api.md does not show the property 'unlisted'",
            "gapless.planted.Planted: docs/api.md does not show the method 'method'",
            "gapless.planted.Planted: method() does not mention its parameter 'amount'",
            "gapless.planted.Inner is not in docs/api.md",
            "gapless.planted.Inner: no Attributes entry of 'hidden'",
        ]
    )


# ---------------------------------------------------------------- what a fit sets
def fitted(name: str):
    """A small fit, as tests/package/families.py has it."""
    random = np.random.default_rng(5)
    X = random.normal(size=(40, 3))
    values = X[:, 0] - X[:, 1] + 0.5 * random.normal(size=40)
    kind = name.split()[0]
    numbers = kind in ("SVR", "NuSVR", "LinearRegression", "Ridge", "Lasso", "ElasticNet") or kind.endswith("Regressor")
    y = values if numbers else np.digitize(values, [-0.7, 0.7]) if "three" in name else (values > 0).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return getattr(gapless, kind)(**MODELS.get(name, {})).fit(X, y)


@pytest.mark.parametrize("name", MODELS)
def test_fitted_attributes_are_documented(name):
    model = fitted(name)
    known = surface.explained(type(model))
    missing = [key for key in vars(model) if key.endswith("_") and not key.startswith("_") and key not in known]
    assert missing == []
    walked = surface.results()
    for key, value in vars(model).items():
        inner = value[0] if isinstance(value, list | tuple) and type(value) in (list, tuple) and value else value
        if not key.startswith("_") and surface.is_public(type(inner)) and not surface.is_estimator(type(inner)):
            assert type(inner) in walked, (
                f"{key} of {name} is a {type(inner).__name__}, which the documentation does not have"
            )


def test_every_estimator_is_fitted_above():
    estimators = {name.rpartition(".")[2] for name, value in surface.names().items() if surface.is_estimator(value)}
    assert {name.split()[0] for name in MODELS} == estimators
