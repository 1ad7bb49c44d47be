"""What the active sets and interior point ask of one block: see `problems/examples/hinge_sets` and `hinge_barrier`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gapless import rows as R
from gapless.backends.blocks.walk import Low
from gapless.problems.examples.hinge_sets import HingeSets
from gapless.problems.linear import LinearProblem

# -- active sets -----------------------------------------------------------------------------------------------------


def clipped(part: LinearProblem, u: np.ndarray) -> tuple[Any, ...]:
    return None, np.clip(u * part.y, 0.0, part.c)


def signed(part: LinearProblem, alpha: np.ndarray) -> tuple[Any, ...]:
    return None, alpha * part.y


def _sets(part: LinearProblem, alpha: Any, z: Any, lower: Any = None, upper: Any = None) -> HingeSets:
    sets = HingeSets.__new__(HingeSets)
    sets.problem, sets.alpha = part, alpha
    sets.look(z)
    if lower is not None:
        sets.lower, sets.upper, sets.free = lower, upper, np.flatnonzero(~(lower | upper))
    return sets


def guess(part: LinearProblem, alpha: np.ndarray, z: np.ndarray) -> tuple[Any, ...]:
    sets = _sets(part, alpha, z)
    return sets.guess(), sets.lower, sets.upper


def fix(part: LinearProblem, alpha: Any, z: Any, lower: Any, upper: Any) -> tuple[Any, ...]:
    sets = _sets(part, alpha.copy(), z, lower, upper)
    sets.fix()
    return None, sets.alpha


def take_free(part: LinearProblem, alpha: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> tuple[Any, ...]:
    free = np.flatnonzero(~(lower | upper))
    return ((R.take_rows(part.rows, free), part.y[free], alpha[free]),)


def set_free(part: LinearProblem, found: np.ndarray, alpha: Any, lower: Any, upper: Any) -> tuple[Any, ...]:
    """``found`` has the alpha of the free examples of this block."""
    changed = alpha.copy()
    changed[~(lower | upper)] = found
    return None, changed


def settled(part: LinearProblem, alpha: Any, z: Any, lower: Any, upper: Any) -> tuple[Any, ...]:
    return (_sets(part, alpha, z, lower, upper).settled(),)


# -- interior point --------------------------------------------------------------------------------------------------


class Iterate(NamedTuple):
    """The iterates of a block: alpha and its slack t = c - alpha, s and xi, and the scores of theta."""

    alpha: np.ndarray
    s: np.ndarray
    xi: np.ndarray


class Aim(NamedTuple):
    """What a right-hand side was made of."""

    r1: np.ndarray
    r2: np.ndarray
    rho: np.ndarray
    weight: np.ndarray


class Direction(NamedTuple):
    """The steps of alpha, s and xi."""

    alpha: np.ndarray
    s: np.ndarray
    xi: np.ndarray


def first_iterate(part: LinearProblem, start: np.ndarray | None) -> tuple[Any, ...]:
    n, c = part.n, part.c
    if start is None:
        return None, Iterate(0.5 * c, np.full(n, 0.5), np.full(n, 1.5))
    return None, Iterate(np.clip(start * part.y, 0.05 * c, 0.95 * c), np.full(n, 0.5), np.full(n, 1.5))


def dual_of_iterate(part: LinearProblem, at: Iterate) -> tuple[Any, ...]:
    return None, at.alpha * part.y


def complementary(part: LinearProblem, z: np.ndarray, at: Iterate) -> tuple[Any, ...]:
    """s and xi that go with the scores of a warm start."""
    slack = part.y * z - 1.0
    return None, at._replace(s=np.maximum(slack, 0.0) + 0.1, xi=np.maximum(-slack, 0.0) + 0.1)


def look_at_iterate(part: LinearProblem, theta: np.ndarray, at: Iterate) -> tuple[Any, ...]:
    u = at.alpha * part.y
    left = float(at.alpha @ at.s + (part.c - at.alpha) @ at.xi)
    return (left, part.combine(u)), part.scores(theta), u


def weigh(part: LinearProblem, at: Iterate) -> tuple[Any, ...]:
    return None, 1.0 / (at.s / at.alpha + at.xi / (part.c - at.alpha))


def right(
    part: LinearProblem, centre: float | None, z: np.ndarray, at: Iterate, weight: np.ndarray, last: Direction | None
) -> tuple[Any, ...]:
    t = part.c - at.alpha
    if centre is None or last is None:
        r1, r2 = -at.alpha * at.s, -t * at.xi
    else:
        r1 = centre - at.alpha * at.s - last.alpha * last.s
        r2 = centre - t * at.xi + last.alpha * last.xi
    residual = part.y * z - 1.0 + at.xi - at.s
    rho = -residual - r2 / t + r1 / at.alpha
    return part.combine(weight * rho * part.y), Aim(r1, r2, rho, weight)


def directed(part: LinearProblem, step: np.ndarray, at: Iterate, aim: Aim) -> tuple[Any, ...]:
    alpha = aim.weight * (aim.rho - part.y * part.scores(step))
    s = (aim.r1 - at.s * alpha) / at.alpha
    xi = (aim.r2 + at.xi * alpha) / (part.c - at.alpha)
    way = Direction(alpha, s, xi)
    return Low(_reach(part, at, way)), way


def _reach(part: LinearProblem, at: Iterate, way: Direction) -> float:
    ways = ((at.alpha, way.alpha), (part.c - at.alpha, -way.alpha), (at.s, way.s), (at.xi, way.xi))
    found = [np.inf]
    for x, dx in ways:
        falling = dx < 0.0
        if falling.any():
            found.append(float(np.min(-x[falling] / dx[falling])))
    return min(found)


def aimed(part: LinearProblem, reach: float, at: Iterate, way: Direction) -> tuple[Any, ...]:
    down = (at.alpha + reach * way.alpha) @ (at.s + reach * way.s)
    return (float(down + (part.c - at.alpha - reach * way.alpha) @ (at.xi + reach * way.xi)),)


def moved(part: LinearProblem, length: float, at: Iterate, way: Direction) -> tuple[Any, ...]:
    alpha = np.minimum(np.clip(at.alpha + length * way.alpha, 1e-300, None), part.c * (1.0 - 2.0**-52))
    s, xi = np.maximum(at.s + length * way.s, 1e-300), np.maximum(at.xi + length * way.xi, 1e-300)
    return None, Iterate(alpha, s, xi)
