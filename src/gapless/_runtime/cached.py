"""A property that is computed once.

functools.cached_property does the same, but up to Python 3.11 under a lock of its own, and a process forked while another
thread holds it waits for ever.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class lazy(Generic[T]):
    def __init__(self, compute: Callable[[Any], T]) -> None:
        self.compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type | None = None) -> T:
        # No __set__: once the value is in the instance's own dict, Python finds it there first.
        value = instance.__dict__[self.name] = self.compute(instance)
        return value
