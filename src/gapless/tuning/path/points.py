"""The paths of all models: points, warm starts between them, and points added where the gap between two is too wide.

A *session* has read and encoded the data once; ``point(C, start)`` solves and certifies at one C, ``model(point)`` makes the
fitted estimator of it.  The start of a point is the line through its neighbours: u and the coefficients are linear in C as in
`problems/between_two_C`, which for the hinge is the exact path between two break points.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from .between_two_C import PathPoint, largest_relative_gap


@dataclass(frozen=True, eq=False)
class Point:
    """One C: the arrays of its certificate, and the figures that the bounds to its neighbours need."""

    C: float
    certificate: Any
    arrays: Mapping[str, np.ndarray]  #: taken as linear in C between neighbours
    shapes: list[PathPoint]  #: one for each subproblem
    fitted: Any
    asked: bool
    screened: float = 0.0  #: share of the rows whose side the gap of the start had proved
    followed: bool = False  #: scores of a kernel machine that followed the dual point


class Start:
    """The arrays of a certificate to resume from, computed when first read.

    ``ready``: its gap is known to be small enough.  ``guessed``: a solver with a better guess may use its own.
    """

    def __init__(
        self,
        arrays: Mapping[str, np.ndarray] | Callable[[], Mapping[str, np.ndarray]],
        ready: bool = False,
        guessed: bool = False,
    ) -> None:
        self._arrays, self.ready, self.guessed = arrays, ready, guessed

    @property
    def arrays(self) -> Mapping[str, np.ndarray]:
        if callable(self._arrays):
            self._arrays = self._arrays()
        return self._arrays


class Session(Protocol):
    """A model's data, encoded once, on which a point for each C is solved."""

    parameter: str
    X: Any  # the training rows

    @property
    def tol(self) -> float: ...

    def prepare(self, Cs: np.ndarray) -> None: ...

    def point(self, C: float, start: Start | None, asked: bool) -> Point: ...

    def model(self, point: Point) -> Any: ...


def follow(session: Session, Cs: np.ndarray, between: float) -> tuple[list[Point], np.ndarray]:
    """Certified points at all Cs, with points added between them where needed, and the gap that holds between neighbours."""
    session.prepare(Cs)
    points: list[Point] = []
    for C in Cs.tolist():
        points.append(session.point(C, _start_from(points, C, session.tol), True))
    most = 20 * len(points)  # points, however many the bounds would need
    k = 0
    bounds: list[float] = []
    while k + 1 < len(points):
        first, second = points[k], points[k + 1]
        bound = largest_gap_between(first, second)
        own = max(_largest_own_gap(first), _largest_own_gap(second))
        if bound <= max(between, own) or len(points) >= most or second.C <= first.C * (1.0 + 1e-9):
            bounds.append(bound)
            k += 1
            continue
        # The bound falls with the square of the width.
        pieces = int(min(16, max(2, math.ceil(math.sqrt(bound / max(between, own))))))
        added = [first.C * (second.C / first.C) ** (j / pieces) for j in range(1, pieces)]
        points[k + 1 : k + 1] = [session.point(C, start_on_line(first, second, C), False) for C in added]
    return points, np.array(bounds)


def _start_from(points: list[Point], C: float, tol: float) -> Start | None:
    """The last point as it is, where its gap at the new C is known to be small; else the line through the last two.

    Kernel machines scale the last point: its scores scale too, and no column of the matrix is needed.  (Cut back into the box
    the line is the worse start where many rows reach a bound.)
    """
    if not points:
        return None
    if points[-1].shapes[0].f is not None:
        return start_scaled(points[-1], C)
    if all(one.f is None and one.relative_gap_at(C) <= 0.9 * tol for one in points[-1].shapes):
        return start_scaled(points[-1], C, ready=True)
    return start_scaled(points[-1], C) if len(points) == 1 else start_on_line(points[-2], points[-1], C)


def largest_gap_between(first: Point, second: Point) -> float:
    """The relative gap that the interpolated model keeps between two points: the largest of its subproblems' gaps."""
    return max(largest_relative_gap(a, b) for a, b in zip(first.shapes, second.shapes))


def _largest_own_gap(point: Point) -> float:
    return max((s.gap / s.dual if s.dual > 0.0 else math.inf) for s in point.shapes)


def start_on_line(first: Point, second: Point, C: float) -> Start:
    """The arrays at C on the line through two points; beyond them it is a guess, and cut back into the box by the solver."""
    t = (C - first.C) / (second.C - first.C)

    def make() -> dict[str, np.ndarray]:
        if t <= 1.0:
            return {name: (1.0 - t) * value + t * second.arrays[name] for name, value in first.arrays.items()}
        return {
            name: second.arrays[name] + (t - 1.0) * (second.arrays[name] - value)
            for name, value in first.arrays.items()
        }

    return Start(make, guessed=True)


def start_scaled(point: Point, C: float, ready: bool = False) -> Start:
    """The dual point grows with C; the coefficients stay."""

    def make() -> dict[str, np.ndarray]:
        return {name: value * (C / point.C) if name == "dual" else value for name, value in point.arrays.items()}

    return Start(make, ready, guessed=True)
