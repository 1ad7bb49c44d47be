"""The public surface, walked mechanically: names, their parameters, and the fields of what they return.

The names are those of the lazy tables (`gapless._HOME`, `plots._HOME`, the modules of `theory`). From there the walk follows
annotations: a function leads to the classes that its return annotation names, a class to those of its fields, properties and
methods. A class counts where it is defined in gapless; its public members are the fields of a dataclass or NamedTuple, and the
properties and methods that do not begin with an underscore.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import pkgutil
import re
import textwrap
import typing
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from types import UnionType
from typing import Any

import gapless
from gapless.plots.style import Display

API = Path(gapless.__file__).parents[2] / "docs" / "api.md"
#: Classes of the machinery that a public object leads to, and the walk leaves out: nobody calls them.
MACHINERY = {
    "LinearProblem": "the problem as solvers see it, behind `LinearRisk.problem`",
    "Multinomial": "the same of softmax",
    "CsrRows": "sparse rows as kernels read them",
    "DenseRows": "dense rows as kernels read them",
}


#: Methods that scikit-learn's machinery calls, and its own documentation explains.
OF_SCIKIT_LEARN = {"get_metadata_routing"}
#: Parameters that mean the same everywhere: rows, labels, weights of rows, matplotlib axes.
CONVENTIONS = {"X", "y", "sample_weight", "ax"}


def listed() -> dict[str, set[str]]:
    """Dotted name of every entry of docs/api.md -> the members that are shown with it."""
    found: dict[str, set[str]] = {}
    for entry in re.split(r"^(?=\.\. auto)", API.read_text("utf-8"), flags=re.M):
        if head := re.match(r"\.\. auto(?:class|function|exception):: ([\w.]+)\n", entry):
            members = re.search(r"^   :members: (.*)$", entry, re.M)
            found[head[1]] = set(re.findall(r"\w+", members[1] if members else ""))
            found[head[1]] |= set(re.findall(r"^   \.\. automethod:: (\w+)", entry, re.M))
    return found


def lookup(name: str) -> Any:
    """The object of a dotted name."""
    home, _, last = name.rpartition(".")
    return getattr(importlib.import_module(home), last)


def certificates() -> list[type]:
    """Every class of certificate: what ``certificate_`` of some estimator can be."""
    for module in pkgutil.iter_modules(importlib.import_module("gapless.certificates").__path__):
        importlib.import_module(f"gapless.certificates.{module.name}")
    open_ = list(importlib.import_module("gapless.certificates.base").BaseCertificate.__subclasses__())
    found: list[type] = []
    while open_:
        cls = open_.pop()
        open_ += cls.__subclasses__()
        if "__dataclass_fields__" in vars(cls):  # a base of several has none of its own
            found.append(cls)
    return found


def names() -> dict[str, Any]:
    """Dotted public name -> the object."""
    found = {f"gapless.{name}": getattr(gapless, name) for name in gapless._HOME}
    found |= {f"gapless.plots.{name}": getattr(gapless.plots, name) for name in gapless.plots._HOME}
    for module in gapless.theory._MODULES:
        home = importlib.import_module(f"gapless.theory.{module}")
        found |= {f"gapless.theory.{module}.{name}": getattr(home, name) for name in home.__all__}
    return {name: value for name, value in found.items() if inspect.isclass(value) or inspect.isroutine(value)}


def is_public(cls: type) -> bool:
    """Defined in gapless, under a name without an underscore."""
    return cls.__module__.startswith("gapless.") and not cls.__name__.startswith("_")


def is_estimator(value: Any) -> bool:
    return inspect.isclass(value) and hasattr(value, "get_params")


def is_display(value: Any) -> bool:
    return inspect.isclass(value) and issubclass(value, Display)


def hints(value: Any) -> dict[str, Any]:
    """Annotations as objects; one that only a type checker can resolve stays a string."""
    try:
        return typing.get_type_hints(value)
    except (NameError, TypeError):
        return dict(getattr(value, "__annotations__", {}))


def classes_in(annotation: Any, home: Any) -> Iterator[type]:
    """The classes of gapless that an annotation names, inside unions, lists and dictionaries too."""
    if isinstance(annotation, str):
        module = inspect.getmodule(home)
        for word in re.findall(r"[A-Za-z_][\w.]*", annotation):
            found = getattr(module, word, None)
            if inspect.isclass(found):
                yield from classes_in(found, home)
    elif inspect.isclass(annotation) and not typing.get_args(annotation):
        if annotation.__module__.startswith("gapless"):
            yield annotation
    elif isinstance(annotation, UnionType) or typing.get_args(annotation):
        for part in typing.get_args(annotation):
            yield from classes_in(part, home)


def own_members(cls: type) -> dict[str, Any]:
    """Public attributes that gapless defines, bases included: name -> the descriptor or function."""
    found: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        if base.__module__.startswith("gapless"):
            found |= {name: value for name, value in vars(base).items() if not name.startswith("_")}
    return found


def assigned(cls: type) -> list[str]:
    """Public attributes that the constructors of gapless's own classes set: ``self.name = ...``."""
    found: list[str] = []
    for base in reversed(cls.__mro__):
        if base.__module__.startswith("gapless") and "__init__" in vars(base):
            tree = ast.parse(textwrap.dedent(inspect.getsource(base.__init__)))
            found += [
                node.attr
                for node in ast.walk(tree)
                if isinstance(node, ast.Attribute)
                and isinstance(node.ctx, ast.Store)
                and isinstance(node.value, ast.Name)
                and node.value.id == "self"
            ]
    return found


def fields(cls: type) -> list[str]:
    """Public fields, then public properties."""
    if is_estimator(cls):
        stored = []  # a fit sets them: see the test
    elif dataclasses.is_dataclass(cls):
        stored = [field.name for field in dataclasses.fields(cls)]
    elif hasattr(cls, "_fields"):
        stored = list(cls._fields)
    else:
        stored = assigned(cls)
    computed = [name for name, value in own_members(cls).items() if isinstance(value, property | cached_property)]
    return [name for name in dict.fromkeys([*stored, *computed]) if not name.startswith("_")]


def is_result(cls: type) -> bool:
    """What public functions return, and no estimator, picture, error or loss is."""
    return not (
        cls.__module__.startswith("gapless.losses")
        or is_estimator(cls)
        or is_display(cls)
        or issubclass(cls, BaseException)
    )


def methods(cls: type) -> dict[str, Any]:
    """Public methods of gapless's own."""
    return {
        name: getattr(cls, name)
        for name, value in own_members(cls).items()
        if inspect.isfunction(value) or isinstance(value, classmethod | staticmethod)
    }


def results() -> dict[type, str]:
    """Every class of gapless that a public name returns, near or far -> the first public name that leads to it."""
    found: dict[type, str] = {}
    open_: list[tuple[Any, str]] = [(value, name) for name, value in names().items()]
    open_ += [(lookup(name), name) for name in listed()]
    open_ += [(cls, "certificate_") for cls in certificates()]
    while open_:
        value, origin = open_.pop()
        if inspect.isclass(value):
            if value in found or value.__name__ in MACHINERY:
                continue
            found[value] = origin
            leads: list[tuple[Any, Any]] = [
                (hint, value) for name, hint in hints(value).items() if not name.startswith("_")
            ]
            open_ += [(cls, origin) for cls in value.__subclasses__() if is_public(cls)]
            for member in own_members(value).values():
                function = (
                    getattr(member, "fget", None)
                    or getattr(member, "func", None)
                    or getattr(member, "__func__", member)
                )
                leads.append((hints(function).get("return"), function))
        else:
            leads = [(hints(value).get("return"), value)]
        for annotation, home in leads:
            open_ += [(cls, origin) for cls in classes_in(annotation, home)]
    return found


def parameters(function: Any) -> list[str]:
    """The names that a caller can give."""
    kept = inspect.signature(function).parameters.values()
    return [p.name for p in kept if p.name not in ("self", "cls") and not p.name.startswith("_")]


def documented(text: str | None, *titles: str) -> set[str]:
    """The names that numpydoc sections of a docstring explain; several may share a line: ``low, high : ends``."""
    found: set[str] = set()
    lines = inspect.cleandoc(text or "").split("\n")
    inside = False
    for k, line in enumerate(lines):
        following = lines[k + 1] if k + 1 < len(lines) else ""
        if len(following) >= 3 and set(following) == {"-"}:
            inside = line.strip() in titles
        elif inside and line and not line.startswith(" "):
            for part in line.split("; "):
                head, colon, explained = f"{part} ".partition(" : ")
                if colon and (explained.strip() or following.startswith("    ")):
                    found |= {name.strip().lstrip("*") for name in head.split(",")}
    return found


def explained(cls: type) -> set[str]:
    """Names that the docstrings of a class and of its bases explain."""
    return set().union(*(documented(vars(base).get("__doc__"), "Attributes", "Parameters") for base in cls.__mro__))


def faults() -> Iterator[str]:
    """A sentence for everything public that the documentation does not have."""
    api = listed()
    shown = {id(lookup(name)): members for name, members in api.items()}
    public = names()
    functions = {name: value for name, value in public.items() if not inspect.isclass(value)}
    functions |= {name: lookup(name) for name in api if not inspect.isclass(lookup(name))}
    for name, function in functions.items():
        if name not in api:
            yield f"{name} is not in docs/api.md"
        known = documented(function.__doc__, "Parameters", "Other Parameters")
        yield from (f"{name}: no Parameters entry of {p!r}" for p in parameters(function) if p not in known)
    for cls, origin in results().items():
        name = f"{cls.__module__}.{cls.__qualname__} (from {origin})"
        if id(cls) not in shown:
            yield f"{name} is not in docs/api.md"
        if (vars(cls).get("__doc__") or f"{cls.__name__}(").startswith(f"{cls.__name__}("):  # none, or dataclass's own
            yield f"{name} has no docstring"
        yield from _faults_of_members(cls, name, shown.get(id(cls), set()))


def _faults_of_members(cls: type, name: str, shown: set[str]) -> Iterator[str]:
    known = explained(cls)
    yield from (f"{name}: {twice!r} is in its docstring and in docs/api.md" for twice in sorted(shown & known))
    if is_estimator(cls):
        yield from (f"{name}: no Parameters entry of {p!r}" for p in parameters(cls.__init__) if p not in known)
    for field in fields(cls):
        value = own_members(cls).get(field)
        getter = getattr(value, "fget", None) or getattr(value, "func", None)
        if field in known:
            continue
        if getter is None or is_estimator(cls):
            yield f"{name}: no Attributes entry of {field!r}"
        elif not getter.__doc__:
            yield f"{name}: the property {field!r} has no docstring"
        elif field not in shown:
            yield f"{name}: docs/api.md does not show the property {field!r}"
    if issubclass(cls, BaseException):
        return
    for method, function in methods(cls).items():
        if method in OF_SCIKIT_LEARN:
            continue
        text = inspect.getdoc(function) or ""
        if not text:
            yield f"{name}: the method {method!r} has no docstring"
        if method not in shown:
            yield f"{name}: docs/api.md does not show the method {method!r}"
        told = documented(text, "Parameters") | CONVENTIONS
        if not is_estimator(cls):  # scikit-learn's own words fit there
            for p in parameters(function):
                if p not in told and not re.search(rf"(?<![\w.]){re.escape(p)}(?!\w)", text):
                    yield f"{name}: {method}() does not mention its parameter {p!r}"
