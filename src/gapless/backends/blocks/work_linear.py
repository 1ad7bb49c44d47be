"""What is asked of one block of a linear problem. Each function takes the block's problem, numbers, and parts of vectors.

They return a tuple: a small result, and the new parts. Nothing that they are given is written to.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gapless import losses
from gapless import rows as R
from gapless.backends.blocks.walk import High, Low
from gapless.problems.examples.hinge_band import HingeBand
from gapless.problems.linear import LinearProblem, constant_feature
from gapless.problems.linear_sums import turn_scores_into_dual


class LinearSpec(NamedTuple):
    """``positive`` is the class that is +1."""

    loss: str
    offset: str
    scale: float
    positive: int
    d: int

    def build(self, rows: Any, index: np.ndarray, c: np.ndarray, norms2: np.ndarray) -> LinearProblem:
        """The problem of a block; rows of None are those of a job that reads none."""
        X = np.empty((0, self.d)) if rows is None else rows
        y = np.where(index == self.positive, np.int8(1), np.int8(-1))
        part = LinearProblem(
            R.as_rows(X, constant_feature(self.offset, self.scale)), y, c, losses.BY_NAME[self.loss], self.offset
        )
        constant = part.rows.constant
        part.__dict__["norms2"] = norms2 + constant * constant
        return part


def facts(part: LinearProblem) -> tuple[Any, ...]:
    """Masses of both classes, sum of c, and the largest norm."""
    return ((*part.masses, float(part.c.sum()), High(part.R2)),)


def look(part: LinearProblem, theta: np.ndarray) -> tuple[Any, ...]:
    at = part.new_point()
    loss, gradient = part.loss_and_gradient(theta, at)
    return (loss, gradient, float(at.h.sum()), *_ends(at.h)), at.z, at.g, at.h


def scores(part: Any, theta: np.ndarray) -> tuple[Any, ...]:
    return None, part.scores(theta)


def equal_scores(part: Any, z: float) -> tuple[Any, ...]:
    return None, part.equal_scores(z)


def zero_dual(part: Any) -> tuple[Any, ...]:
    return None, part.zero_dual()


def combine(part: Any, u: np.ndarray) -> tuple[Any, ...]:
    return (part.combine(u),)


def curve(part: LinearProblem, p: np.ndarray, weights: np.ndarray) -> tuple[Any, ...]:
    return (part.curve(weights, p),)


def squares(part: Any, weights: np.ndarray) -> tuple[Any, ...]:
    return (part.squares(weights),)


def gram(part: Any, single: bool, weights: np.ndarray, inside: np.ndarray | None) -> tuple[Any, ...]:
    return (part.gram(weights, inside, single=single),)


def gram_of_sample(part: Any, size: int, single: bool, weights: np.ndarray) -> tuple[Any, ...]:
    """``size`` is of all blocks' rows in a thousand million."""
    matrix, mass = part.gram_of_sample(weights, max(1, min(part.n, round(size * 1e-9 * part.n))), single=single)
    return ((matrix, mass),)


def products_of_take(part: Any, weights: np.ndarray, inside: np.ndarray | None) -> tuple[Any, ...]:
    found = part.take(weights, inside)
    return ((found.rows, found.weights, found.numbers),)


def sample(part: Any, share: float) -> tuple[Any, ...]:
    """Rows, targets and costs of some examples; a whole block where the share asks for it."""
    size = max(1, min(part.n, round(share * part.n)))
    index = R.sample(part.n, size)
    return ((R.take_rows(part.rows, index), part.y[index], part.c[index] * (part.n / index.size)),)


# -- vectors ---------------------------------------------------------------------------------------------------------


def total(part: Any, v: np.ndarray) -> tuple[Any, ...]:
    return (float(v.sum()),)


def count(part: Any, v: np.ndarray) -> tuple[Any, ...]:
    return (int(np.count_nonzero(v)),)


def ends_of(part: Any, v: np.ndarray) -> tuple[Any, ...]:
    return (_ends(v),)


def _ends(v: np.ndarray) -> tuple[Low, High]:
    return Low(v.min(initial=np.inf)), High(v.max(initial=-np.inf))


def above(part: Any, threshold: float, v: np.ndarray) -> tuple[Any, ...]:
    found = v > threshold
    return int(np.count_nonzero(found)), found


def masked(part: Any, scale: float, weights: np.ndarray, inside: np.ndarray | None) -> tuple[Any, ...]:
    return None, part.masked(weights, inside, scale)


def weigh_norms2(part: Any, weights: np.ndarray) -> tuple[Any, ...]:
    return (part.weigh_norms2(weights),)


def scale_costs(part: LinearProblem, factor: float) -> tuple[Any, ...]:
    return None, part.c * factor


def count_free(part: LinearProblem, u: np.ndarray) -> tuple[Any, ...]:
    return (part.count_free(u),)


# -- values ----------------------------------------------------------------------------------------------------------


def slopes_along(part: LinearProblem, ts: Sequence[float], z: np.ndarray, along: np.ndarray) -> tuple[Any, ...]:
    at = part.new_point()._replace(z=z)
    return (np.array(part.slopes_along(at, along, ts)),)


def loss_sum(part: LinearProblem, z: np.ndarray) -> tuple[Any, ...]:
    return (part.loss_sum(z),)


def dual_sums(part: LinearProblem, u: np.ndarray) -> tuple[Any, ...]:
    """- sum c l*, sum c |l*| and sum u."""
    return ((part.conjugate_sum(u), part.conjugate_sizes(u), float(u.sum())),)


def rounding_sums(part: LinearProblem, theta: np.ndarray, unit: float, z: np.ndarray, u: np.ndarray) -> tuple[Any, ...]:
    return (part.rounding_sums(theta, z, u, unit),)


def derivatives_in_offset(part: LinearProblem, b: float, z: np.ndarray) -> tuple[Any, ...]:
    return (part.derivatives_in_offset(z, b),)


def negative(part: Any, g: np.ndarray) -> tuple[Any, ...]:
    return None, np.negative(g)


def multiple(part: Any, factor: float, u: np.ndarray) -> tuple[Any, ...]:
    return None, u * factor


def dual_of_scores(part: LinearProblem, z: np.ndarray) -> tuple[Any, ...]:
    u = z.copy()
    turn_scores_into_dual(part.weighted_loss, u)
    return None, u


def pull_into_box(part: LinearProblem, u: np.ndarray) -> tuple[Any, ...]:
    """The nearest point of the box; its sum, and the room to go down and up from there."""
    inside = part.pull_into_box(u, np.empty(part.n))
    return _with_rooms(part, inside)


def move_towards_balance(
    part: LinearProblem, lower: bool, inside_only: bool, share: float, u: np.ndarray
) -> tuple[Any, ...]:
    moved = u.copy()
    part.move_towards_balance(moved, lower, inside_only, share)
    return _with_rooms(part, moved)


def _with_rooms(part: LinearProblem, u: np.ndarray) -> tuple[Any, ...]:
    return (float(u.sum()), part.room_to_move(u, True), part.room_to_move(u, False)), u


def dual_norms(part: LinearProblem, u: np.ndarray) -> tuple[Any, ...]:
    """sum u^2/c and sum u y"""
    return ((float((u * u / part.c).sum()), float(u @ part.y)),)


# -- the offset of the hinge -----------------------------------------------------------------------------------------


def masses_between(part: LinearProblem, edges: np.ndarray, z: np.ndarray) -> tuple[Any, ...]:
    """The mass of c between neighbouring edges of t = y - z: below the first, ..., at and above the last."""
    place = np.searchsorted(edges, part.y - z, side="right")
    return (np.bincount(place, weights=part.c, minlength=edges.size + 1),)


def next_kinks(part: LinearProblem, low: float, high: float, z: np.ndarray) -> tuple[Any, ...]:
    """The t in [low, high) with their masses: few."""
    t = part.y - z
    found = np.flatnonzero((t >= low) & (t < high))
    return ((t[found], part.c[found]),)


def ends_of_kinks(part: LinearProblem, z: np.ndarray) -> tuple[Any, ...]:
    return (_ends(part.y - z),)


# -- the hinge -------------------------------------------------------------------------------------------------------


def _band(part: LinearProblem, z: np.ndarray | None = None, share: np.ndarray | None = None) -> HingeBand:
    band = HingeBand(part, None, False)
    band.z = band.z if z is None else z
    band.share = band.share if share is None else share
    return band


def first_shares(part: LinearProblem, start: np.ndarray | None) -> tuple[Any, ...]:
    return None, HingeBand(part, start, False).share


def find(part: LinearProblem, steep: float, with_gram: bool, z: np.ndarray, share: np.ndarray) -> tuple[Any, ...]:
    """Multipliers and who is inside; and what a step from here needs of the rows: sum u x and the matrix of those inside."""
    band = _band(part, z, share)
    loss, gain = band.find(steep)
    m = int(np.count_nonzero(band.inside))
    matrix = part.gram(part.c, band.inside) if with_gram else None
    return (loss, gain, m, part.mass(band.inside), part.combine(band.u), matrix), band.u, band.inside


def accepted(part: LinearProblem, u: np.ndarray) -> tuple[Any, ...]:
    return None, u * part.y / part.c


def slopes(part: LinearProblem, steep: float, ts: Sequence[float], z: Any, share: Any, along: Any) -> tuple[Any, ...]:
    band = _band(part, z, share)
    band.along = along
    return (np.array(band.slopes(steep, ts)),)


def moved_scores(part: Any, t: float, z: np.ndarray, along: np.ndarray) -> tuple[Any, ...]:
    return None, z + t * along


def sides(part: Any, u: np.ndarray, inside: np.ndarray) -> tuple[Any, ...]:
    return (np.packbits(inside).tobytes() + np.packbits(u == 0.0).tobytes(),)


def difference(part: Any, u: np.ndarray, v: np.ndarray) -> tuple[Any, ...]:
    return None, u - v
