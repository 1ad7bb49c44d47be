"""What values a parameter may have, as tables; an error says it in scikit-learn's words, at fit and not before.

``_parameter_constraints`` of an estimator is {parameter: constraints}, as in scikit-learn: a value is good where one of its
constraints admits it, and the error lists their texts.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from math import inf
from numbers import Integral, Real
from typing import Any, NamedTuple, NoReturn

import numpy as np

from gapless.errors import invalid_parameter


class Constraint(NamedTuple):
    """A kind of value in words, and whether a value is of it; without words it is admitted, but not mentioned."""

    text: str
    admits: Callable[[Any], bool]


def number(
    low: float, high: float = inf, closed: str = "neither", *, with_inf: bool = False, integers: bool = True
) -> Constraint:
    """A real number between two ends; ``closed`` is "left", "right", "both" or "neither".

    ``with_inf`` admits inf, which the text does not show. ``integers``: whether a number of an integer type is admitted, too.
    """
    left, right = closed in ("left", "both"), closed in ("right", "both")

    def admits(value: Any) -> bool:
        real = isinstance(value, Real) and not isinstance(value, bool)
        if not real or (isinstance(value, Integral) and not integers):
            return False
        above = value >= low if left else value > low
        return bool(above and (value <= high if right or with_inf else value < high))

    return Constraint(f"a float in the range {'[' if left else '('}{low}, {high}{']' if right else ')'}", admits)


def integer(low: int, high: float = inf, *, booleans: bool = False) -> Constraint:
    """An integer from ``low`` to ``high``, both included."""

    def admits(value: Any) -> bool:
        return isinstance(value, Integral) and (booleans or not isinstance(value, bool)) and low <= int(value) <= high

    return Constraint(f"an int in the range [{low}, {'inf)' if high == inf else f'{high}]'}", admits)


def options(*values: Any) -> Constraint:
    """One of some strings, or of strings and True, False and None."""

    def admits(value: Any) -> bool:
        return (value is None or isinstance(value, str | Real | np.bool_)) and value in values

    return Constraint(f"a str among {{{', '.join(sorted(map(repr, values)))}}}", admits)


def implementing(*methods: str) -> Constraint:
    """An object with these methods."""
    text = " and ".join(map(repr, methods))
    return Constraint(f"an object implementing {text}", lambda value: all(hasattr(value, each) for each in methods))


def minus_one() -> Constraint:
    """-1, which stands for a finite cap of ours."""
    return Constraint("-1", lambda value: isinstance(value, Integral) and value == -1)


def nothing(text: str = "None") -> Constraint:
    """None."""
    return Constraint(text, lambda value: value is None)


def path_of_file() -> Constraint:
    """The name of a file."""
    return Constraint("a path", lambda value: isinstance(value, str | os.PathLike))


def boolean(*, integers: bool = True) -> Constraint:
    """True or False; ``integers``: whether 0 and 1, and any other integer, stand for them."""
    kinds: Any = bool | np.bool_ | Integral if integers else bool | np.bool_
    return Constraint("an instance of 'bool'", lambda value: isinstance(value, kinds))


def booleans(*names: str) -> dict[str, list[Constraint]]:
    """The table of parameters that are True or False."""
    return {name: [boolean()] for name in names}


def _is_certified(value: Any) -> bool:
    return value is None or hasattr(getattr(value, "certificate_", value), "arrays")


#: Parameters that several estimators have.
_SHARED: dict[str, list[Constraint]] = {
    "C": [number(0.0, with_inf=True)],
    "nu": [number(0.0, 1.0, "right")],
    "time_limit": [number(0.0, with_inf=True), nothing()],
    "n_jobs": [Constraint("an int other than 0, or None", lambda value: value is None or _is_not_zero(value))],
    "verbose": [integer(0, booleans=True)],
    "device": [options("auto", "cpu", "cuda")],
    "init": [Constraint("a fitted gapless model, its certificate_, or None", _is_certified)],
}


def _is_not_zero(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and value != 0


def shared(*names: str) -> dict[str, list[Constraint]]:
    """The constraints of parameters that several estimators have."""
    return {name: _SHARED[name] for name in names}


def check_parameter(estimator: Any, name: str, constraints: Sequence[Constraint]) -> None:
    """Raise scikit-learn's error where no constraint admits the parameter."""
    value = getattr(estimator, name)
    if not any(constraint.admits(value) for constraint in constraints):
        texts = [constraint.text for constraint in constraints if constraint.text]
        refuse(estimator, name, " or ".join([", ".join(texts[:-1]), texts[-1]]) if texts[1:] else texts[0])


def refuse(estimator: Any, name: str, wanted: str) -> NoReturn:
    """Raise scikit-learn's error of a parameter: what it must be, and what it is."""
    raise ValueError(invalid_parameter(type(estimator).__name__, name, wanted, getattr(estimator, name)))
