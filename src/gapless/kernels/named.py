"""The kernel that a name stands for, with its numbers."""

from __future__ import annotations

from typing import Any

from gapless.kernels.linear import Linear
from gapless.kernels.polynomial import Polynomial
from gapless.kernels.precomputed import Precomputed
from gapless.kernels.rbf import RBF
from gapless.kernels.sigmoid import Sigmoid


def named_kernel(name: str, degree: int, gamma: float, coef0: float) -> Any:
    """The kernel called ``name`` by an estimator's parameter and in a model file."""
    if name == "linear":
        return Linear()
    if name == "poly":
        return Polynomial(int(degree), gamma, float(coef0))
    if name == "rbf":
        return RBF(gamma)
    if name == "sigmoid":
        return Sigmoid(gamma, float(coef0))
    if name == "precomputed":
        return Precomputed()
    raise KeyError(name)
