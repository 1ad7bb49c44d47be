"""The seven functions of a loss that a kernel may call, its verbs; each takes and returns scalars.

A loss is a NamedTuple (its fields are its parameters) to which `losses/compiled` binds plain functions as verbs::

    value(loss, z, y)        l(y, z)
    slope(loss, z, y)        a derivative in z; at a kink the one of smallest absolute value
    curvature(loss, z, y)    the second derivative in z where it exists, else 0
    conjugate(loss, v, y)    l*(y, v) = sup_z vz - l(y, z), infinity outside its domain
    dual_of(loss, z, y)      u/c of an example that sees the score z: minus the slope
    dual_slope(loss, u, z, c, y)     z + d/du [c l*(y, -u/c)]: the derivative of -D in u
    dual_step(loss, u, z, q, c, y)   the u that maximises D along one coordinate, q = |x|^2

One overload a verb sends the call to the function of the loss's own class, so a kernel is written once for all losses,
the call is inlined, and numba finds the kernel in its disk cache (function and jitclass arguments are never found).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from gapless._compile.jit import inlined, overload, register_jitable

VERBS = ("value", "slope", "curvature", "conjugate", "dual_of", "dual_slope", "dual_step")
_functions: dict[tuple[type, str], Callable[..., float]] = {}


def bind(loss: type, functions: dict[str, Any]) -> None:
    """Bind the verbs of a loss, by their names, to its class: ``bind(Hinge, globals())`` at the end of their file."""
    missing = set(VERBS) - set(functions)
    if missing:
        raise TypeError(f"a loss needs all of {VERBS}; missing: {sorted(missing)}")
    for name in VERBS:
        _functions[loss, name] = functions[name]


def function(loss: type, verb: str) -> Callable[..., float]:
    """The function that is bound to a verb of a loss. The first call imports the file of the loss in `losses/compiled`."""
    if (loss, verb) not in _functions:
        importlib.import_module(f"gapless.losses.compiled.{loss.__module__.rpartition('.')[2]}")
    return _functions[loss, verb]


def _jitable(cls: type, verb: str) -> Any:
    return register_jitable(function(cls, verb))


def value(loss: Any, z: float, y: float) -> float:
    return function(type(loss), "value")(loss, z, y)


def slope(loss: Any, z: float, y: float) -> float:
    return function(type(loss), "slope")(loss, z, y)


def curvature(loss: Any, z: float, y: float) -> float:
    return function(type(loss), "curvature")(loss, z, y)


def conjugate(loss: Any, v: float, y: float) -> float:
    return function(type(loss), "conjugate")(loss, v, y)


def dual_of(loss: Any, z: float, y: float) -> float:
    return function(type(loss), "dual_of")(loss, z, y)


def dual_slope(loss: Any, u: float, z: float, c: float, y: float) -> float:
    return function(type(loss), "dual_slope")(loss, u, z, c, y)


def dual_step(loss: Any, u: float, z: float, q: float, c: float, y: float) -> float:
    return function(type(loss), "dual_step")(loss, u, z, q, c, y)


# Numba inlines value, slope, curvature and conjugate: kernels call them together, and LLVM then computes the common exp once.
@inlined(value)
def _value(loss, z, y):
    return function(loss.instance_class, "value")


@inlined(slope)
def _slope(loss, z, y):
    return function(loss.instance_class, "slope")


@inlined(curvature)
def _curvature(loss, z, y):
    return function(loss.instance_class, "curvature")


@inlined(conjugate)
def _conjugate(loss, v, y):
    return function(loss.instance_class, "conjugate")


@overload(dual_of)
def _dual_of(loss, z, y):
    f = _jitable(loss.instance_class, "dual_of")
    return lambda loss, z, y: f(loss, z, y)


@overload(dual_slope)
def _dual_slope(loss, u, z, c, y):
    f = _jitable(loss.instance_class, "dual_slope")
    return lambda loss, u, z, c, y: f(loss, u, z, c, y)


@overload(dual_step)
def _dual_step(loss, u, z, q, c, y):
    f = _jitable(loss.instance_class, "dual_step")
    return lambda loss, u, z, q, c, y: f(loss, u, z, q, c, y)
