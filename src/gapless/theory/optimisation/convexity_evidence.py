"""Evidence for and against convexity: trials that look for a violated inequality.

chord      f(lam a + (1 - lam) b) <= lam f(a) + (1 - lam) f(b)
tangent    f(b) >= f(a) + <grad f(a), b - a>
Jensen     f(E[X]) <= E[f(X)]
a set      the segment between any two of its points stays in it
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gapless._runtime.results import result
from gapless.theory.inputs import as_probability, as_whole

__all__ = ["Evidence", "Witness", "of_function", "of_set"]


@result
@dataclass(frozen=True, eq=False)
class Witness:
    """Why it is not convex: points, their weights, the point between, and by how much the inequality fails there.

    Attributes
    ----------
    kind : "chord", "tangent", "Jensen" or "segment"
    points : a row each
    weights : weight of each point
    between : the mean of the points; tangent: the point above which the tangent passes
    value : f there
    limit : what it must not exceed (tangent: fall below)
    """

    kind: str
    points: np.ndarray
    weights: np.ndarray
    between: np.ndarray
    value: float
    limit: float

    @property
    def violation(self) -> float:
        """How far the inequality fails."""
        return abs(self.value - self.limit)

    @property
    def epigraph(self) -> tuple[np.ndarray, np.ndarray]:
        """Points of the graph, and a mean of them that lies below it: (points, values) and (between, limit)."""
        return self.points, np.append(self.between, self.limit)

    def __str__(self) -> str:
        at = ", ".join(np.array2string(p, precision=4, suppress_small=True) for p in self.points)
        middle = np.array2string(self.between, precision=4, suppress_small=True)
        if self.kind == "segment":
            return f"{middle} lies between {at}, which are in the set, and is not"
        if self.kind == "tangent":
            return f"the tangent at {at} is {self.limit:.6g} at {middle}, above the value {self.value:.6g}"
        above = "chord" if self.kind == "chord" else "mean of their values"
        return f"the value at {middle}, between {at}, is {self.value:.6g}, above the {above}, {self.limit:.6g}"


@result
@dataclass(frozen=True, eq=False)
class Evidence:
    """``convex`` is False with a witness, else None: not known, however many trials there were.

    Attributes
    ----------
    what : "function" or "set"
    trials : segments, tangents and means that were tried
    witness : a violated inequality, None where none was found
    """

    what: str
    trials: int
    witness: Witness | None = None

    @property
    def convex(self) -> bool | None:
        """False with a witness, else None: not known."""
        return None if self.witness is None else False

    @property
    def verdict(self) -> str:
        """ "not convex" or "no witness found"."""
        return "no witness found" if self.witness is None else "not convex"

    def share(self, delta: Any = 0.05) -> float:
        """At most this share of trials drawn like ours would be a witness, with confidence 1 - delta."""
        return -math.expm1(math.log(as_probability(delta)) / self.trials)

    def __str__(self) -> str:
        if self.witness is not None:
            return f"the {self.what} is not convex: {self.witness}"
        return (
            f"no witness against convexity of the {self.what} in {self.trials:,} trials; at most "
            f"{100 * self.share():.2g} % of such trials would be one (confidence 95 %). That is evidence, not a proof"
        )


def of_function(
    f: Callable[..., Any],
    box: Any,
    gradient: Callable[..., Any] | None = None,
    inside: Callable[[np.ndarray], bool] | None = None,
    trials: Any = 3000,
    rounding: float = 1e-9,
    seed: int = 0,
) -> Evidence:
    """Look for a witness against convexity of f on a box: chords, tangents where a gradient is given, Jensen's inequality.

    ``box``: (low, high) for a function of one number, else a pair for each coordinate.  ``inside``: only points for which it
    is true belong to the domain, which must be convex itself.  Values of +inf are outside of it.

    Parameters
    ----------
    f : function of a number, or of a vector
    box : (low, high) for a function of one number, else a pair for each coordinate
    gradient : its gradient; with it tangents are tried too
    inside : point -> bool: only points for which it holds are used; None: all of the box
    trials : number of chords, tangents and means
    rounding : violations up to this share of the values count as rounding; a function that loses digits needs more
    seed : number that all random draws follow from
    """
    low, high, scalar = _box(box)
    trials = as_whole(trials, "trials")
    random = np.random.default_rng(seed)

    test = _Inequality(f, gradient, scalar, rounding)
    best, worst = None, 1.0
    for points, weights, kind in _trials(random, low, high, trials, gradient is not None):
        if inside is not None and not all(inside(p) for p in points):
            continue
        far, witness = test(points, weights, kind)
        if witness is not None and far > worst:
            best, worst = witness, far
    if best is not None:
        best = _improved(best, worst, test, random, low, high, inside)
    return Evidence("function", trials, best)


@dataclass(frozen=True)
class _Inequality:
    """The inequality of a chord, a tangent or a mean, of a function that is convex."""

    f: Callable[..., Any]
    gradient: Callable[..., Any] | None
    scalar: bool
    rounding: float

    def __call__(self, points: np.ndarray, weights: np.ndarray, kind: str) -> tuple[float, Witness | None]:
        """How far the inequality fails, in units of rounding; at most 1 where it holds."""
        if kind == "tangent":
            a, b = points
            fa, fb = self._value(a), self._value(b)
            if not (math.isfinite(fa) and math.isfinite(fb)):
                return 0.0, None
            limit = fa + float(self._slope(a) @ (b - a))
            size = abs(fa) + abs(fb) + abs(limit - fa)
            return _ratio(limit - fb, size, self.rounding), Witness(kind, a[None], np.ones(1), b, fb, limit)
        middle = weights @ points
        values = np.array([self._value(p) for p in points])
        if not np.isfinite(values).all():
            return 0.0, None
        limit, found = float(weights @ values), self._value(middle)
        size = abs(found) + float(weights @ np.abs(values))
        return _ratio(found - limit, size, self.rounding), Witness(kind, points, weights, middle, found, limit)

    def _value(self, x: np.ndarray) -> float:
        found = float(self.f(float(x[0]) if self.scalar else x))
        if math.isnan(found) or found == -math.inf:
            raise ValueError(f"the function is {found} at {x}, inside its domain")
        return found

    def _slope(self, x: np.ndarray) -> np.ndarray:
        assert self.gradient is not None
        return np.atleast_1d(np.asarray(self.gradient(float(x[0]) if self.scalar else x), float))


def _ratio(excess: float, size: float, rounding: float) -> float:
    return excess / (rounding * size) if size > 0.0 else 0.0


def _trials(
    random: np.random.Generator, low: np.ndarray, high: np.ndarray, trials: int, tangents: bool
) -> Iterator[tuple[np.ndarray, np.ndarray, str]]:
    """Long segments, short ones, segments along an axis, and means of more points."""
    d, width = low.size, high - low
    for k in range(trials):
        kind = "chord"
        a = low + width * random.random(d)
        b = low + width * random.random(d)
        if k % 4 == 1:  # short: to see a small region bend the other way
            b = np.clip(a + width * 10.0 ** random.uniform(-3.0, 0.0) * random.normal(size=d), low, high)
        if k % 4 == 2:
            j = int(random.integers(d))
            b = np.where(np.arange(d) == j, b, a)
        points, lam = np.stack([a, b]), random.uniform(0.05, 0.95) if k % 2 else 0.5
        weights = np.array([lam, 1.0 - lam])
        if k % 4 == 3 and tangents and k % 8 == 3:
            kind = "tangent"
        elif k % 4 == 3:
            kind, m = "Jensen", int(random.integers(3, 7))
            points = low + width * random.random((m, d))
            weights = random.dirichlet(np.ones(m))
        yield points, weights, kind


def _improved(best: Witness, worst: float, test: Any, random: Any, low: Any, high: Any, inside: Any) -> Witness:
    """The same witness, moved about until it fails more clearly."""
    spread = 0.1
    for _ in range(200):
        points = best.points if best.kind != "tangent" else np.vstack([best.points, best.between])
        moved = np.clip(points + spread * (high - low) * random.normal(size=points.shape), low, high)
        if inside is not None and not all(inside(p) for p in moved):
            continue
        far, witness = test(moved, best.weights, best.kind)
        if witness is not None and far > worst:
            best, worst = witness, far
        else:
            spread *= 0.97
    return best


def of_set(
    inside: Callable[[np.ndarray], bool], box: Any, trials: Any = 3000, points: Any = None, seed: int = 0
) -> Evidence:
    """Look for a segment that leaves the set. Points are drawn from the box, or are given: at least two that lie in it.

    Parameters
    ----------
    inside : point -> bool, whether it is in the set
    box : a pair (low, high) for each coordinate
    trials : number of segments
    points : at least two points of the set; None draws them from the box
    seed : number that all random draws follow from
    """
    segment_stops = 16  # points that are tried on each segment
    low, high, _ = _box(box)
    trials = as_whole(trials, "trials")
    random = np.random.default_rng(seed)
    if points is None:
        drawn = low + (high - low) * random.random((max(200, trials), low.size))
        known = drawn[[bool(inside(p)) for p in drawn]]
    else:
        known = np.atleast_2d(np.asarray(points, float))
        if not all(inside(p) for p in known):
            raise ValueError("a given point is not in the set")
    if len(known) < 2:
        raise ValueError(
            f"fewer than two of {max(200, trials):,} points of the box lie in the set; give some by points="
        )
    best, depth = None, 0
    for _ in range(trials):
        a, b = known[random.integers(len(known), size=2)]
        stops = (np.arange(segment_stops) + random.random(segment_stops)) / segment_stops
        out = [lam for lam in stops if not inside(lam * a + (1.0 - lam) * b)]
        if len(out) > depth:  # the segment that is outside for longest is the clearest
            depth, lam = len(out), out[len(out) // 2]
            weights, ends = np.array([lam, 1.0 - lam]), np.stack([a, b])
            best = Witness("segment", ends, weights, lam * a + (1.0 - lam) * b, 0.0, 0.0)
    return Evidence("set", trials, best)


def _box(box: Any) -> tuple[np.ndarray, np.ndarray, bool]:
    ends = np.asarray(box, float)
    scalar = ends.ndim == 1
    ends = np.atleast_2d(ends)
    if ends.ndim != 2 or ends.shape[1] != 2 or not np.isfinite(ends).all() or not (ends[:, 0] < ends[:, 1]).all():
        raise ValueError("box must be (low, high), or such a pair for each coordinate, finite and with low < high")
    return ends[:, 0], ends[:, 1], scalar
