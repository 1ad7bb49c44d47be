"""What a set of rows offers to a kernel: four verbs on one row.  Dense and sparse differ here and nowhere else.

Vectors that live with the rows have one entry more than there are features: the last one belongs to a constant
feature of value ``rows.constant`` (0: no offset, 1: a free offset, s: a penalised offset of scale s).  Data is read in
the user's precision and summed in float64.
"""

from __future__ import annotations

from typing import Any

from numba.extending import overload, register_jitable

_functions: dict[tuple[type, str], Any] = {}


def rows(**verbs: Any) -> Any:
    """Bind the verbs of a kind of rows to its class."""

    def bind(cls: type) -> type:
        for name, function in verbs.items():
            _functions[cls, name] = function
        return cls

    return bind


def _jitable(cls: type, verb: str) -> Any:
    return register_jitable(_functions[cls, verb])


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


@overload(row_dot)
def _row_dot(rows, i, theta):
    f = _jitable(rows.instance_class, "row_dot")
    return lambda rows, i, theta: f(rows, i, theta)


@overload(row_axpy)
def _row_axpy(rows, i, a, theta):
    f = _jitable(rows.instance_class, "row_axpy")
    return lambda rows, i, a, theta: f(rows, i, a, theta)


@overload(row_norm2)
def _row_norm2(rows, i):
    f = _jitable(rows.instance_class, "row_norm2")
    return lambda rows, i: f(rows, i)


@overload(row_fill)
def _row_fill(rows, i, a, out):
    f = _jitable(rows.instance_class, "row_fill")
    return lambda rows, i, a, out: f(rows, i, a, out)
