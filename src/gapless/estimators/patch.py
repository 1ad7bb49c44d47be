"""`patch` puts our classes where a program looks for scikit-learn's, and `unpatch` takes them back.

Only the public modules change (``sklearn.svm.SVC``): whatever scikit-learn itself uses inside keeps its own classes. A name that
was imported before stays what it was; it is listed, because the program has to import it again.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from types import FunctionType
from typing import Any

from gapless import registry
from gapless._runtime.results import result
from gapless.estimators import linear_svc

#: What was there before: (module, name) -> scikit-learn's class.
_originals: dict[tuple[str, str], type] = {}


def _with_defaults(function: Any, **defaults: Any) -> Any:
    """The same function with other defaults of parameters that are given by name."""
    copy = FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__)
    copy.__kwdefaults__ = {**function.__kwdefaults__, **defaults}
    return copy


class LinearSVC(linear_svc.LinearSVC):
    """The LinearSVC that `patch` installs: it penalises the offset unless told otherwise, which is scikit-learn's problem."""

    _model_of = linear_svc.LinearSVC

    # scikit-learn reads the parameters off the signature of this very class.
    __init__ = _with_defaults(linear_svc.LinearSVC.__init__, penalize_intercept=True)


@result
@dataclass(frozen=True)
class Patched:
    """What `patch` or `unpatch` did.

    Attributes
    ----------
    swapped : names in scikit-learn's modules, ``"svm.SVC"``, that are now gapless's (after `unpatch`: scikit-learn's again)
    left : estimators of the same modules that stay scikit-learn's
    held : names outside scikit-learn, ``"__main__.SVC"``, that were imported before and still are what they were
    ours : whether the swapped names are gapless's now
    """

    swapped: tuple[str, ...]
    left: tuple[str, ...]
    held: tuple[str, ...]
    ours: bool

    def __str__(self) -> str:
        whose = "gapless's" if self.ours else "scikit-learn's again"
        names = [name.split(".")[1] for name in self.swapped]
        said = f"{', '.join(names)} {'is' if len(names) == 1 else 'are'} {whose}" if names else "nothing was swapped"
        if self.ours and self.left:
            said += f"; {len(self.left)} estimators of the same modules stay scikit-learn's"
        if self.held:
            said += f". Imported before and unchanged: {', '.join(self.held)}; import them again"
        return said + "."


def patch(names: str | Iterable[str] | None = None) -> Patched:
    """From now on scikit-learn's modules give our classes to whoever imports them.

    Call it before the imports that are to be changed. Models stay interchangeable: parameters, attributes and methods are
    scikit-learn's, and ``certificate_`` comes on top. ``LinearSVC`` penalises the offset here, as scikit-learn's does.

    Parameters
    ----------
    names : names of estimators, by default all that both have
    """
    wanted = {names} if isinstance(names, str) else None if names is None else set(names)
    there = _shared()
    unknown = sorted((wanted or set()) - {name for _, name in there})
    if unknown:
        raise ValueError(f"patch knows no {', '.join(unknown)}; it has {', '.join(sorted(name for _, name in there))}")
    swapped, held = [], []
    for place, ours in there.items():
        module, name = place
        if wanted is not None and name not in wanted:
            continue
        theirs = _originals.setdefault(place, getattr(import_module(f"sklearn.{module}"), name))
        if hasattr(theirs, "register"):
            theirs.register(ours)  # what asks isinstance(model, scikit-learn's class) is answered yes
        setattr(sys.modules[f"sklearn.{module}"], name, ours)
        swapped.append(f"{module}.{name}")
        held += _holders(name, theirs)
    return Patched(tuple(swapped), _left(), tuple(held), True)


def unpatch() -> Patched:
    """scikit-learn's modules give scikit-learn's classes again."""
    back, held = [], []
    for (module, name), theirs in _originals.items():
        place = sys.modules[f"sklearn.{module}"]
        held += _holders(name, getattr(place, name))
        setattr(place, name, theirs)
        back.append(f"{module}.{name}")
    _originals.clear()
    return Patched(tuple(back), (), tuple(held), False)


def original(module: str, name: str) -> type | None:
    """scikit-learn's class where it is patched, else None."""
    return _originals.get((module, name))


def _shared() -> dict[tuple[str, str], type]:
    """(scikit-learn's module, name) -> our class, of the estimators that both have."""
    found: dict[tuple[str, str], type] = {}
    for module in ("svm", "linear_model", "discriminant_analysis", "tree", "ensemble"):
        public = import_module(f"sklearn.{module}")
        for entry in registry.ESTIMATORS:
            if hasattr(public, entry.name):
                own = LinearSVC if entry.name == "LinearSVC" else getattr(import_module(entry.module), entry.name)
                found[module, entry.name] = own
    return found


def _left() -> tuple[str, ...]:
    """The estimators of the patched modules that are still scikit-learn's."""
    found = []
    for module in dict.fromkeys(module for module, _ in _originals):
        public = sys.modules[f"sklearn.{module}"]
        for name in public.__all__:
            value = getattr(public, name, None)
            if isinstance(value, type) and hasattr(value, "fit") and (module, name) not in _originals:
                found.append(f"{module}.{name}")
    return tuple(found)


def _holders(name: str, held: type) -> list[str]:
    """Modules of the program, not of scikit-learn or gapless, whose global ``name`` is this class."""
    own = ("sklearn", "gapless")
    modules = [(key, module) for key, module in list(sys.modules.items()) if key.split(".")[0] not in own]
    return [f"{key}.{name}" for key, module in modules if getattr(module, "__dict__", {}).get(name) is held]
