"""What a set of rows offers to a kernel: eight verbs on one row.  Dense and sparse differ here and nowhere else.

Vectors that live with the rows have one entry more than there are features: the last one belongs to a constant
feature of value ``rows.constant`` (0: no offset, 1: a free offset, s: a penalised offset of scale s).  Data is read in
the user's precision and summed in float64.
"""

from __future__ import annotations

from typing import Any

from gapless._compile.inline import inlined

_functions: dict[tuple[type, str], Any] = {}


def with_verbs(**verbs: Any) -> Any:
    """Bind the verbs of a kind of rows to its class."""

    def bind(cls: type) -> type:
        for name, function in verbs.items():
            _functions[cls, name] = function
        return cls

    return bind


def row_dot(rows: Any, i: int, theta: Any) -> float:
    """<x_i, theta>"""
    return _functions[type(rows), "row_dot"](rows, i, theta)


def row_axpy(rows: Any, i: int, a: float, theta: Any) -> None:
    """theta += a x_i"""
    return _functions[type(rows), "row_axpy"](rows, i, a, theta)


def row_norm2(rows: Any, i: int) -> float:
    """|x_i|^2, the constant feature included"""
    return _functions[type(rows), "row_norm2"](rows, i)


def row_fill(rows: Any, i: int, a: float, out: Any) -> None:
    """out = a x_i, written out densely"""
    return _functions[type(rows), "row_fill"](rows, i, a, out)


def row_squares(rows: Any, i: int, a: float, out: Any) -> None:
    """out += a x_i^2, entry by entry"""
    return _functions[type(rows), "row_squares"](rows, i, a, out)


def row_truncate(rows: Any, i: int, drawn: float, scale: float, v: Any, pulled: Any) -> None:
    """Draw the entries of scale v that x_i has towards 0, not across it, until each was drawn by ``drawn`` in all"""
    return _functions[type(rows), "row_truncate"](rows, i, drawn, scale, v, pulled)


def row_ahead(rows: Any, i: int) -> None:
    """Ask the memory for x_i, which is needed soon."""
    return _functions[type(rows), "row_ahead"](rows, i)


def row_fetch(rows: Any, i: int) -> None:
    """The same for more of x_i than its beginning, where rows are visited in no order."""
    return _functions[type(rows), "row_fetch"](rows, i)


# Inlined by numba itself and not by LLVM alone: a call would count a reference to each array of `rows`, for every row,
# which costs more than the products of a short row.
@inlined(row_dot)
def _row_dot(rows, i, theta):
    return _functions[rows.instance_class, "row_dot"]


@inlined(row_axpy)
def _row_axpy(rows, i, a, theta):
    return _functions[rows.instance_class, "row_axpy"]


@inlined(row_norm2)
def _row_norm2(rows, i):
    return _functions[rows.instance_class, "row_norm2"]


@inlined(row_fill)
def _row_fill(rows, i, a, out):
    return _functions[rows.instance_class, "row_fill"]


@inlined(row_squares)
def _row_squares(rows, i, a, out):
    return _functions[rows.instance_class, "row_squares"]


@inlined(row_truncate)
def _row_truncate(rows, i, drawn, scale, v, pulled):
    return _functions[rows.instance_class, "row_truncate"]


@inlined(row_ahead)
def _row_ahead(rows, i):
    return _functions[rows.instance_class, "row_ahead"]


@inlined(row_fetch)
def _row_fetch(rows, i):
    return _functions[rows.instance_class, "row_fetch"]
