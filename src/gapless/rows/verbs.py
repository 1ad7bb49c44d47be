"""What a set of rows offers to a kernel: eight verbs on one row.  Dense and sparse differ here and nowhere else.

Vectors that live with the rows have one entry more than there are features: the last one belongs to a constant
feature of value ``rows.constant`` (0: no offset, 1: a free offset, s: a penalised offset of scale s).  Data is read in
the user's precision and summed in float64.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from inspect import signature
from typing import Any

from gapless._compile.jit import inlined

_functions: dict[tuple[type, str], Any] = {}


def with_verbs(*named: Any, **verbs: Any) -> Any:
    """Bind the verbs of a kind of rows to its class: functions with the names of the verbs, and others by name."""

    def bind(cls: type) -> type:
        for function in named:
            _functions[cls, function.__name__] = function
        for name, function in verbs.items():
            _functions[cls, name] = function
        return cls

    return bind


def _verb(declared: Callable[..., Any]) -> Any:
    """A function that calls the one of the rows' class, in Python and in kernels.

    Inlined by numba itself and not by LLVM alone: a call would count a reference to each array of ``rows``, for every row,
    which costs more than the products of a short row.
    """
    name = declared.__name__

    def verb(rows: Any, *given: Any) -> Any:
        return _functions[type(rows), name](rows, *given)

    def of_kind(rows: Any, *given: Any) -> Any:
        return _functions[rows.instance_class, name]

    of_kind.__signature__ = signature(declared)  # type: ignore[attr-defined]
    verb = update_wrapper(verb, declared)
    inlined(verb)(of_kind)
    return verb


@_verb
def row_dot(rows: Any, i: int, theta: Any) -> float:  # type: ignore[empty-body]
    """<x_i, theta>"""


@_verb
def row_axpy(rows: Any, i: int, a: float, theta: Any) -> None:
    """theta += a x_i"""


@_verb
def row_norm2(rows: Any, i: int) -> float:  # type: ignore[empty-body]
    """|x_i|^2, the constant feature included"""


@_verb
def row_fill(rows: Any, i: int, a: float, out: Any) -> None:
    """out = a x_i, written out densely"""


@_verb
def row_squares(rows: Any, i: int, a: float, out: Any) -> None:
    """out += a x_i^2, entry by entry"""


@_verb
def row_truncate(rows: Any, i: int, drawn: float, scale: float, v: Any, pulled: Any) -> None:
    """Draw the entries of scale v that x_i has towards 0, not across it, until each was drawn by ``drawn`` in all"""


@_verb
def row_ahead(rows: Any, i: int) -> None:
    """Ask the memory for x_i, which is needed soon."""


@_verb
def row_fetch(rows: Any, i: int) -> None:
    """The same for more of x_i than its beginning, where rows are visited in no order."""
