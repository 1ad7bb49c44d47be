"""What is asked of one block of a least-squares problem: see `problems/least_squares`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gapless.judge.fingerprint import digest
from gapless.problems.least_squares import LeastSquares
from gapless.rows.second_moments import columns, residuals


class TargetSpec(NamedTuple):
    """The penalty of each target, and whether there is an offset."""

    alpha: np.ndarray
    offset: bool
    d: int

    def build(self, rows: Any, Y: np.ndarray, s: np.ndarray | None) -> LeastSquares:
        X = np.empty((0, self.d)) if rows is None else rows
        return LeastSquares.build(X, Y, s, self.alpha, self.offset)


class TargetFacts(NamedTuple):
    """Sums over the targets of a block."""

    mass: float
    total: np.ndarray
    squares: np.ndarray
    largest: np.ndarray
    first: np.ndarray


def signs(parts: tuple[Any, ...], positives: tuple[int, ...], weighted: bool) -> tuple[Any, ...]:
    """Targets of +1 and -1 for each class against the rest, and the weights of the rows."""
    index, c = parts
    return None, np.where(index[:, None] == np.array(positives), 1.0, -1.0), c if weighted else None


def weighed(parts: tuple[Any, ...], weighted: bool) -> tuple[Any, ...]:
    """Targets and weights of the rows that count, which these are, their number, and the digest of all targets."""
    Y, w = parts
    named = digest(Y + 0.0, "<f8")
    if not weighted:
        return (named, len(Y)), Y, None, None
    w = np.ones(len(Y)) if w is None else w
    kept = None if (w > 0.0).all() else np.flatnonzero(w > 0.0)
    return (named, len(Y) if kept is None else kept.size), *((Y, w) if kept is None else (Y[kept], w[kept])), kept


def facts(part: LeastSquares) -> tuple[Any, ...]:
    Y, largest = part.Y, np.abs(part.Y).max(axis=0, initial=0.0)
    first = Y[0] if len(Y) else np.full(part.K, np.nan)
    return (TargetFacts(part.mass, part.sums(Y), part.sums(Y * Y), largest, first),)


def spread(part: LeastSquares, mean: np.ndarray, first: np.ndarray) -> tuple[Any, ...]:
    """Sums about the mean, and how far targets are from the first one."""
    away = part.Y - mean
    return ((part.sums(away * away), part.sums(away), np.abs(part.Y - first).max(axis=0, initial=0.0)),)


def typical_row(part: LeastSquares) -> tuple[Any, ...]:
    return (part.typical_row(),)


def column_sizes(part: LeastSquares) -> tuple[Any, ...]:
    return (columns(part.rows, part.s),)


def moments(part: LeastSquares, centre: np.ndarray, centre_y: np.ndarray) -> tuple[Any, ...]:
    return (part.moments(centre, centre_y),)


def triangle(part: LeastSquares, centre: Any, centre_y: np.ndarray, scale: np.ndarray) -> tuple[Any, ...]:
    return (part.triangle(centre, centre_y, scale),)


def measure(part: LeastSquares, W: np.ndarray, b: np.ndarray, centre: np.ndarray, centred: bool) -> tuple[Any, ...]:
    left, gradient = residuals(part.rows, part.s, part.Y, W, b, centre, None, centred=centred)
    return (gradient, part.sums(left * left), part.sums(left)), left


def dual_point(part: LeastSquares, k: int, mean: float, left: np.ndarray) -> tuple[Any, ...]:
    u = (left[:, k] - mean) * (1.0 if part.s is None else part.s) / part.alpha[k]
    return None, u


def stretched(part: LeastSquares, t: float, u: np.ndarray) -> tuple[Any, ...]:
    return None, t * u


def zero_dual(part: LeastSquares) -> tuple[Any, ...]:
    return None, np.zeros(part.n)


def gap_pieces(part: LeastSquares, k: int, w: np.ndarray, b: float, u: np.ndarray) -> tuple[Any, ...]:
    return (part.gap_pieces(k, w, b, u),)
