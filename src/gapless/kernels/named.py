"""The kernel that a name stands for, with its numbers; what it takes are the fields of its class."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, get_args

from gapless.kernels import Kernel


def named_kernel(name: str, degree: int, gamma: float, coef0: float) -> Any:
    """The kernel called ``name`` by an estimator's parameter and in a model file."""
    kernel = {each.name: each for each in get_args(Kernel) if each.name != "callable"}[name]
    given = {"degree": int(degree), "gamma": gamma, "coef0": float(coef0)}
    return kernel(**{field.name: given[field.name] for field in fields(kernel) if field.name in given})


def takes_gamma(name: Any) -> bool:
    """Whether ``name`` is a kernel that has a width."""
    return any(each.name == name for each in get_args(Kernel) if "gamma" in {field.name for field in fields(each)})
