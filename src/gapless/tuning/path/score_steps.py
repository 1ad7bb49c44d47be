"""The accuracy along an exact path as a function of C: constant between the C at which a row changes side.

On a segment of the path (`solvers/linear/hinge_path`) the score of a row x is C times a straight line in lam = 1/C,

    f(x; C) = C g(lam),      g(lam) = sum_j nu_j(lam) K(x, x_j) + beta(lam)

so that x changes side at most once on a segment, at the root of g, and otherwise only at a break point where the offset
jumps.  All roots are found; the accuracy between two neighbouring roots is counted, not sampled.

boundary   A row with g = 0 on a whole segment (to rounding) has the score 0, which `predict` gives to the first class.
touch      A row with g = 0 at one end of a segment has the sign of the other end on all of the segment.
ties       Roots nearer to each other than their rounding are one step.  A row that changes side twice in it has not moved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from gapless._runtime.results import result
from gapless.solvers.linear.hinge_path import HingePath

#: |g| below this share of the sum of the sizes of its terms is 0: rounding of nu is some 1e-13 of it after a long walk.
ZERO_SHARE = 1e-12


@result
@dataclass(frozen=True, eq=False)
class ScoreSteps:
    """The accuracy on given rows at every C of an exact path.

    Attributes
    ----------
    edges : array, ascending
        The ends of the path (0 and infinity are possible) and between them each C at which a row changes side.
    scores : array, one number fewer
        The accuracy between two neighbouring edges. At an edge itself a row lies on the boundary.
    rows : list of arrays, one for each inner edge
        The rows that change side there.
    """

    edges: np.ndarray
    scores: np.ndarray
    rows: list[np.ndarray]

    def inside(self, k: int) -> float:
        """A C in the middle of interval k: the geometric mean of its ends; half of the upper end where the lower one is 0,
        twice the lower one where the upper one is infinite, 1 where both are so."""
        low, high = float(self.edges[k]), float(self.edges[k + 1])
        if low == 0.0:
            return 1.0 if high == np.inf else 0.5 * high
        return 2.0 * low if high == np.inf else float(np.sqrt(low) * np.sqrt(high))

    def score_at(self, Cs: object) -> np.ndarray:
        """The accuracy at each of ``Cs``; at an edge that of larger C."""
        place = np.searchsorted(self.edges, np.asarray(Cs, float), side="right") - 1
        return self.scores[np.clip(place, 0, self.scores.size - 1)]

    @property
    def best_interval(self) -> tuple[float, float]:
        """The ends of the first interval, that of smallest C, whose accuracy no other exceeds."""
        k = int(np.argmax(self.scores))
        return float(self.edges[k]), float(self.edges[k + 1])

    @property
    def best(self) -> float:
        """The C in the middle of ``best_interval``, as ``inside`` has it."""
        return self.inside(int(np.argmax(self.scores)))

    def __str__(self) -> str:
        (low, high), top = self.best_interval, self.scores.max()
        return (
            f"accuracy over C from {self.edges[0]:.4g} to {self.edges[-1]:.4g}: {self.scores.size - 1} steps, from "
            f"{self.scores.min():.4g} to {top:.4g}; best {top:.4g} for C between {low:.6g} and {high:.6g}"
        )

    __repr__ = __str__


def score_steps(
    found: HingePath,
    lines: Callable[[np.ndarray], np.ndarray],
    size: np.ndarray,
    positive: np.ndarray,
    known: np.ndarray,
) -> ScoreSteps:
    """All steps of the accuracy on new rows.

    lines : maps coefficients (k, training rows) to sums over kernel values (new rows, k)
    size : for each new row x a bound on |K(x, x_j)|, whatever the training row x_j
    positive, known : whether a new row has the second class; whether its label is a class of the model
    """
    low, high = found.reach
    at, row, doubt = [], [], []
    first = before = None
    for side in _segment_by_segment(found, lines, size):
        if before is None:
            first = side.left
        else:
            jumped = np.flatnonzero(side.left != before)
            at.append(np.full(jumped.size, side.low))
            row.append(jumped)
            doubt.append(np.full(jumped.size, ZERO_SHARE * side.low))
        crossed = np.flatnonzero(side.left != side.right)
        at.append(side.crossing[crossed])
        row.append(crossed)
        doubt.append(side.doubt[crossed])
        before = side.right
    assert first is not None
    edges, changed = _merge_ties(np.concatenate(at), np.concatenate(row), np.concatenate(doubt))
    right = known & (first == positive)
    scores = [right.mean()]
    for rows in changed:
        right[rows] = known[rows] & ~right[rows]
        scores.append(right.mean())
    return ScoreSteps(np.concatenate([[low], edges, [high]]), np.array(scores), changed)


@dataclass(frozen=True, eq=False)
class _SegmentSides:
    """The rows on one segment: whether predicted positive at its smaller and at its larger C, and the C of the change."""

    low: float  #: the smaller end, C
    left: np.ndarray
    right: np.ndarray
    crossing: np.ndarray
    doubt: np.ndarray  #: how far rounding can move a crossing


def _segment_by_segment(
    found: HingePath, lines: Callable[[np.ndarray], np.ndarray], size: np.ndarray
) -> Iterator[_SegmentSides]:
    # Segments whose lines are computed together: their kernel values are computed once for all of them.
    segments_at_once = 256
    for begin in range(0, len(found.segments), segments_at_once):
        part = found.segments[begin : begin + segments_at_once]
        values = np.stack([segment.solution_at(segment.start, found.y, found.s)[0] for segment in part])
        slopes = np.zeros_like(values)
        for slope, segment in zip(slopes, part):
            slope[segment.moving] = segment.slope
        G, dG = lines(values), lines(slopes)
        for k, segment in enumerate(part):
            g, rate = G[:, k] + segment.beta, dG[:, k] + segment.beta_slope
            room = ZERO_SHARE * (size * float(np.abs(values[k]).sum()) + abs(segment.beta))
            rate_room = ZERO_SHARE * (size * float(np.abs(slopes[k]).sum()) + abs(segment.beta_slope))
            yield _segment_sides(segment.start, segment.end, g, rate, room, rate_room)


def _segment_sides(
    start: float, end: float, g: np.ndarray, rate: np.ndarray, room: np.ndarray, rate_room: np.ndarray
) -> _SegmentSides:
    top, bottom = max(start, end), min(start, end)
    signs = []
    for lam in (top, bottom):
        if lam == np.inf:
            sign = np.where(np.abs(rate) > rate_room, np.sign(rate), _sign_beyond(g, room))
        else:
            by = lam - start
            sign = _sign_beyond(g + by * rate, room + abs(by) * rate_room)
        signs.append(sign)
    left = np.where(signs[0] == 0, signs[1], signs[0])
    right = np.where(signs[1] == 0, signs[0], signs[1])
    with np.errstate(all="ignore"):
        lam = np.clip(start - g / rate, bottom, top)
        crossing = 1.0 / lam
        doubt = crossing * (room / np.abs(rate) / lam)
    low = 0.0 if top == np.inf else 1.0 / top
    return _SegmentSides(low, left > 0, right > 0, crossing, doubt)


def _sign_beyond(g: np.ndarray, room: np.ndarray) -> np.ndarray:
    return np.where(np.abs(g) <= room, 0.0, np.sign(g))


def _merge_ties(at: np.ndarray, row: np.ndarray, doubt: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """The steps in the order of C, steps within their rounding merged to one, and the rows that change side at each."""
    order = np.argsort(at, kind="stable")
    at, row, doubt = at[order], row[order], doubt[order]
    edges, changed = [], []
    k = 0
    while k < at.size:
        reach, last = at[k] + doubt[k], k + 1
        while last < at.size and at[last] - doubt[last] <= reach:
            reach, last = max(reach, at[last] + doubt[last]), last + 1
        rows, times = np.unique(row[k:last], return_counts=True)
        if (times % 2).any():
            edges.append(0.5 * (at[k] + at[last - 1]))
            changed.append(rows[times % 2 == 1])
        k = last
    return np.array(edges), changed
