"""What is asked of one block of a problem of K scores: see `problems/multinomial`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gapless import rows as R
from gapless.backends.blocks.walk import High
from gapless.problems.linear import constant_feature
from gapless.problems.multinomial import Multinomial, SoftmaxAtScores


class SoftmaxSpec(NamedTuple):
    """``offset`` is absent, free or penalised, at a constant feature of ``scale``."""

    K: int
    offset: str
    scale: float
    d: int

    def build(self, rows: Any, index: np.ndarray, c: np.ndarray, norms2: np.ndarray) -> Multinomial:
        X = np.empty((0, self.d)) if rows is None else rows
        constant = constant_feature(self.offset, self.scale)
        part = Multinomial(R.as_rows(X, constant), index.astype(np.int64), c, self.K, self.offset)
        part.__dict__["norms2"] = norms2 + constant * constant
        return part


def facts(part: Multinomial) -> tuple[Any, ...]:
    """Masses of the classes, sum of c, and the largest norm."""
    return ((part.class_weights, float(part.c.sum()), High(part.R2)),)


def _at(Z: np.ndarray, P: np.ndarray | None = None) -> SoftmaxAtScores:
    at = SoftmaxAtScores()
    at.Z = Z
    if P is not None:
        at.P = P
    return at


def move_to(part: Multinomial, theta: np.ndarray) -> tuple[Any, ...]:
    at = SoftmaxAtScores()
    loss = part.move_to(at, theta)
    return loss, at.Z, at.P


def move(part: Multinomial, t: float, Z: np.ndarray, along: np.ndarray) -> tuple[Any, ...]:
    at = _at(Z)
    loss = part.move(at, along, t)
    return loss, at.Z, at.P


def slopes_along(part: Multinomial, ts: Sequence[float], Z: np.ndarray, along: np.ndarray) -> tuple[Any, ...]:
    return (np.array(part.slopes_along(_at(Z), along, ts)),)


def bends(part: Multinomial, k: int, j: int, P: np.ndarray) -> tuple[Any, ...]:
    return None, part.bends(_at(P, P), k, j)


def mean_bends(part: Multinomial, P: np.ndarray) -> tuple[Any, ...]:
    return None, part.mean_bends(_at(P, P))


def grams(part: Multinomial, P: np.ndarray) -> tuple[Any, ...]:
    """The blocks (k, j), j <= k, of the Hessian, one after the other, those beside the diagonal without their sign."""
    at = _at(P, P)
    return (np.stack([part.gram(part.bends(at, k, j)) for k in range(part.K) for j in range(k + 1)]),)


def hessian_times(part: Multinomial, V: np.ndarray, P: np.ndarray) -> tuple[Any, ...]:
    return (part.hessian_times(_at(P, P), V),)


def dual_at(part: Multinomial, P: np.ndarray) -> tuple[Any, ...]:
    """The dual point of probabilities, and its sums."""
    U = part.dual_of(P)
    return (part.combine(U), part.column_sums(U), part.entropy(U)), U


def loss_sum(part: Multinomial, Z: np.ndarray) -> tuple[Any, ...]:
    return (part.loss_sum(Z),)


def dual_sums(part: Multinomial, U: np.ndarray) -> tuple[Any, ...]:
    return ((part.column_sums(U), part.entropy(U)),)


def shifted(part: Multinomial, b: np.ndarray, Z: np.ndarray) -> tuple[Any, ...]:
    return None, part.dual_of(part.probabilities(Z + b)[0])


def balance(part: Multinomial, b: np.ndarray, Z: np.ndarray) -> tuple[Any, ...]:
    """Loss, slope and curvature in the offsets at Z + b."""
    P, loss = part.probabilities(Z + b)
    masses = part.c @ P
    return ((loss, masses - part.class_weights, np.diag(masses) - (P.T * part.c) @ P),)


def repaired(part: Multinomial, U: np.ndarray) -> tuple[Any, ...]:
    return None, part.repair(U)


def rounding_sums(part: Multinomial, U: np.ndarray) -> tuple[Any, ...]:
    return (part.rounding_sums(U),)
