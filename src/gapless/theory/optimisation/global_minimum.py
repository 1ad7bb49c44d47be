"""Local against global search, and when a local minimum is a global one.

`at_point` decides that for models with more directions than data (rank(A) = n, see
`theory/optimisation/global_minimum_rank.py`); `wide`, `deep` and
`skip` are networks that do and do not have them.

Descent ends where its start leads it: in one of two wells, or, from a start on the ridge, on a saddle.  A search over
a grid or over random points looks everywhere instead, and pays for it: k points along each of d axes are k^d
evaluations, 17^d in the usual example.

    two_wells     f(x) = (x_1^2 - 1)^2 + tilt x_1 + sum_(j > 1) x_j^2       minima near x_1 = -1 (the global one) and +1
    saddle        f(x) = (x_2^2 - 1)^2/4 + x_1^2/2                          minima at (0, -1) and (0, 1), a saddle at (0, 0)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gapless._runtime.clock import now
from gapless._runtime.results import result
from gapless._runtime.written import written
from gapless.solvers.descent.descend import descend
from gapless.solvers.descent.trace import Descent
from gapless.theory.optimisation.global_minimum_rank import AtPoint, at_point, of_torch
from gapless.theory.optimisation.networks import Network, deep, fit, skip, wide

__all__ = [
    "AtPoint", "Ends", "Landscape", "Network", "Search", "at_point", "deep", "ends", "fit", "grid_cost", "grid_search",
    "of_torch", "random_search", "saddle", "skip", "two_wells", "wide",
]  # fmt: skip


@result
@dataclass(frozen=True)
class Landscape:
    """A function with its gradient and Hessian, and where its minima are.

    Attributes
    ----------
    name : formula in words
    value : theta -> f
    gradient : theta -> gradient
    hessian : theta -> matrix of second derivatives
    minima : all local minima
    global_minimum : the lowest of them
    """

    name: str
    value: Callable[[np.ndarray], float]
    gradient: Callable[[np.ndarray], np.ndarray]
    hessian: Callable[[np.ndarray], np.ndarray]
    minima: tuple[tuple[float, ...], ...]
    global_minimum: tuple[float, ...]

    def kind(self, theta: Any) -> str:
        """What theta is: "global minimum", "local minimum", "saddle", "maximum" or "no critical point"."""
        # Gradients shorter than this, relative to the size of the Hessian, are those of a critical point.
        critical_gradient = 1e-6
        theta = np.asarray(theta, float)
        H = self.hessian(theta)
        if np.linalg.norm(self.gradient(theta)) > critical_gradient * max(1.0, float(np.abs(H).max())):
            return "no critical point"
        bends = np.linalg.eigvalsh(H)
        if bends[0] > 0.0:
            lowest = self.value(np.asarray(self.global_minimum, float))
            return "global minimum" if self.value(theta) <= lowest + 1e-9 * max(1.0, abs(lowest)) else "local minimum"
        return "maximum" if bends[-1] < 0.0 else "saddle"

    def __str__(self) -> str:
        lowest = ", ".join(f"{v:.6g}" for v in self.global_minimum)
        return f"{self.name}: {len(self.minima)} local minima, the lowest at ({lowest})"


def two_wells(d: int = 1, tilt: float = 0.2) -> Landscape:
    """(x_1^2 - 1)^2 + tilt x_1 + sum of the other x_j^2. For 0 < tilt < 8/(3 sqrt 3) = 1.5396... the left well is the lower one.

    The critical points along x_1 are the roots of 4 x^3 - 4 x + tilt, which are all real up to that tilt.

    Parameters
    ----------
    d : number of coordinates
    tilt : slope that makes one well lower
    """
    if not 0.0 < tilt < 8.0 / (3.0 * math.sqrt(3.0)):
        raise ValueError(f"two wells need 0 < tilt < 1.5396; got {written(tilt)}")
    if d < 1:
        raise ValueError(f"d must be at least 1; got {written(d)}")
    # Three real roots of x^3 - x + tilt/4, by Viete: 2/sqrt(3) cos(phi/3 - 2 pi k/3).
    phi = math.acos(-3.0 * math.sqrt(3.0) * tilt / 8.0)
    roots = sorted(2.0 / math.sqrt(3.0) * math.cos((phi - 2.0 * math.pi * k) / 3.0) for k in range(3))
    rest = (0.0,) * (d - 1)

    def value(x: np.ndarray) -> float:
        return float((x[0] ** 2 - 1.0) ** 2 + tilt * x[0] + x[1:] @ x[1:])

    def gradient(x: np.ndarray) -> np.ndarray:
        g = 2.0 * x
        g[0] = 4.0 * x[0] * (x[0] ** 2 - 1.0) + tilt
        return g

    def hessian(x: np.ndarray) -> np.ndarray:
        H = 2.0 * np.eye(len(x))
        H[0, 0] = 12.0 * x[0] ** 2 - 4.0
        return H

    left, right = (roots[0], *rest), (roots[2], *rest)
    return Landscape(f"two wells, tilt {tilt:g}", value, gradient, hessian, (left, right), left)


def saddle() -> Landscape:
    """(x_2^2 - 1)^2/4 + x_1^2/2: both minima are global; every start with x_2 = 0 leads gradient descent onto the saddle."""

    def value(x: np.ndarray) -> float:
        return float(0.25 * (x[1] ** 2 - 1.0) ** 2 + 0.5 * x[0] ** 2)

    def gradient(x: np.ndarray) -> np.ndarray:
        return np.array([x[0], x[1] * (x[1] ** 2 - 1.0)])

    def hessian(x: np.ndarray) -> np.ndarray:
        return np.diag([1.0, 3.0 * x[1] ** 2 - 1.0])

    return Landscape("saddle", value, gradient, hessian, ((0.0, -1.0), (0.0, 1.0)), (0.0, -1.0))


Value = Callable[[np.ndarray], float] | Landscape


@result
@dataclass(frozen=True, eq=False)
class Search:
    """The best point of a search, and what it cost.

    Attributes
    ----------
    theta : best point
    value : value there
    evaluations : values that were computed
    seconds : seconds of work, compiling left out
    cost : what it cost, in words
    """

    theta: np.ndarray
    value: float
    evaluations: int
    seconds: float
    cost: str

    def __str__(self) -> str:
        shown = np.array2string(self.theta, precision=6, threshold=8)
        return f"value {self.value:.8g} at {shown}: {self.cost}, {self.seconds:.3g} s"


def grid_cost(d: int, points: int = 17) -> str:
    """points^d written out: ``17^3 = 4,913 evaluations``.

    Parameters
    ----------
    d : number of axes
    points : values along each axis
    """
    total = points**d
    text = (
        f"{total:,}"
        if total < 10**18
        else f"about {total // 10 ** (len(str(total)) - 3) / 100:.2f}e{len(str(total)) - 1}"
    )
    return f"{points}^{d} = {text} evaluations"


def grid_search(value: Value, bounds: Sequence[Any], points: int = 17) -> Search:
    """The lowest value on a grid of ``points`` values along each axis. ``bounds`` has (low, high) for each axis.

    A grid of more than ten million points is refused, with its cost written out.

    Parameters
    ----------
    value : function of a vector
    bounds : (low, high) for each axis
    points : values along each axis
    """
    low, high = _bounds(bounds)
    if points < 2:
        raise ValueError(f"points must be at least 2; got {written(points)}")
    d = low.size
    cost = grid_cost(d, points)
    if points**d > 10_000_000:
        took = points**d * 1e-6
        raise ValueError(f"a grid costs {cost}, at a microsecond each {_span(took)}; descend from a few starts instead")
    axes = [np.linspace(a, b, points) for a, b in zip(low, high)]
    indices = np.ndindex(*(points,) * d)
    return _searched(value, (np.array([axes[j][i] for j, i in enumerate(index)]) for index in indices), cost)


def random_search(value: Value, bounds: Sequence[Any], evaluations: int, seed: int = 0) -> Search:
    """The lowest of ``evaluations`` values at points drawn evenly from the box.

    Parameters
    ----------
    value : function of a vector
    bounds : (low, high) for each axis
    evaluations : number of points
    seed : number that all random draws follow from
    """
    low, high = _bounds(bounds)
    if evaluations < 1:
        raise ValueError(f"evaluations must be at least 1; got {written(evaluations)}")
    random = np.random.default_rng(seed)
    drawn = (low + (high - low) * random.random(low.size) for _ in range(evaluations))
    return _searched(value, drawn, f"{evaluations:,} evaluations drawn at random")


def _searched(value: Any, points: Any, cost: str) -> Search:
    started = now()
    f = value.value if isinstance(value, Landscape) else value
    best, lowest, count = None, math.inf, 0
    for point in points:
        found = float(f(point))
        count += 1
        if math.isnan(found):
            raise ValueError(f"the value is not a number at {point}")
        if best is None or found < lowest:
            best, lowest = point, found
    assert best is not None
    return Search(best, lowest, count, now() - started, cost)


def _bounds(bounds: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
    box = np.asarray(bounds, float)
    if box.ndim != 2 or box.shape[1] != 2 or box.shape[0] == 0:
        raise ValueError(f"bounds must be a (low, high) for each axis; got an array of shape {box.shape}")
    if not np.isfinite(box).all() or (box[:, 0] >= box[:, 1]).any():
        raise ValueError("bounds must be finite, with low < high on each axis")
    return box[:, 0], box[:, 1]


def _span(seconds: float) -> str:
    for unit, size in (("years", 31_557_600.0), ("days", 86_400.0), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= size:
            return f"{seconds / size:,.3g} {unit}"
    return f"{seconds:.3g} seconds"


@result
@dataclass(frozen=True, eq=False)
class Ends:
    """Where descents from several starts ended.

    Attributes
    ----------
    landscape : function that was descended
    starts : a start in each row
    descents : a `Descent` for each start
    kinds : kind of each end: "global minimum", "local minimum", "saddle", "maximum" or "no critical point"
    """

    landscape: Landscape
    starts: np.ndarray
    descents: tuple[Descent, ...]
    kinds: tuple[str, ...]

    def __str__(self) -> str:
        lines = [f"{self.landscape.name}: {len(self.starts)} starts"]
        for start, found, kind in zip(self.starts, self.descents, self.kinds):
            shown = [np.array2string(point, precision=4, suppress_small=True) for point in (start, found.theta)]
            lines.append(
                f"  {shown[0]} -> {shown[1]}  value {found.value:.6g}  {kind}, {found.evaluations} evaluations"
            )
        return "\n".join(lines)


def ends(landscape: Landscape, starts: Any, method: Any = "gd", schedule: Any = 0.02, **options: Any) -> Ends:
    """Descend from each start, and say what each end is. The rate is small, so that no step jumps out of its basin.

    Parameters
    ----------
    landscape : `Landscape`, as of `two_wells`
    starts : a start in each row
    method, schedule : of `gapless.descend`
    options : further options of `gapless.descend`
    """
    points = np.atleast_2d(np.asarray(starts, float))
    found = tuple(descend(landscape, point, method, schedule=schedule, **options) for point in points)
    return Ends(landscape, points, found, tuple(landscape.kind(descent.theta) for descent in found))
