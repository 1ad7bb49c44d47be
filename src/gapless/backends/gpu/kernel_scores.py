"""Scores of a dual point, in float64 wherever they can count: of many support vectors, rough ones say where that is.

The scores are summed roughly once, with a bound on the error of each; the points that may count get float64's, all others
keep their bound.  Later points differ from that one in few columns: their scores are corrected by these, in float64.

A rough value is off by a share of itself.  With a = (2^-21 + (D + 6) 2^-23) gamma |x|^2 of a row of D numbers the share is at
most a_i + a_j: float16 pieces leave 2^-21 of each product out, and the tensor cores add D + 6 terms in float32, each off by a
unit of the sum of sizes, which is at most gamma (|x|^2 + |z|^2).  exp2, v in float32 and the sum of a tile's columns add at most
144 2^-24.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch

from gapless.backends.gpu.kernel_gram import CardGram
from gapless.problems.kernel import KernelDual
from gapless.solvers.kernel.float64_scores import ApproximateScores, may_count


class _Kept(NamedTuple):
    """The last point, its scores, bounds on their errors, bounds on the sums of |u| K, and how often it was corrected."""

    u: np.ndarray
    scores: np.ndarray
    off: np.ndarray
    sizes: np.ndarray
    times: int


class CardScores:
    """The scores of the dual points of a search."""

    many_rows = (
        50_000  #: support vectors from which rough scores pay, and corrections are within what their bound has room for
    )

    def __init__(self, problem: KernelDual) -> None:
        self.problem = problem
        self._kept: _Kept | None = None

    def look(self, beta: np.ndarray, tick: Callable[[], None]) -> ApproximateScores:
        """The scores of beta, and bounds on the errors of those that surely do not count."""
        problem, gram = self.problem, self.problem.gram
        u = problem.u(beta)
        rows = np.flatnonzero(u)
        if not isinstance(gram, CardGram) or gram.tiles_on_card.pieces is None or rows.size < self.many_rows:
            return ApproximateScores(problem.scores(beta, tick), np.zeros(problem.n_points))
        found = self._corrected(gram, u, rows.size, tick) or self._rough(gram, u, rows)
        scores, off, sizes = found.scores.copy(), found.off.copy(), found.sizes.copy()

        def refine(points: np.ndarray) -> None:
            own = gram.sums(rows, u[rows], points, True, tick)
            scores[points], sizes[points], off[points] = own[:, 0], own[:, 1], 0.0

        if (open_ := rows[off[rows] > 0.0]).size:
            refine(open_)
        while (open_ := np.flatnonzero(may_count(problem, ApproximateScores(scores, off)))).size:
            refine(open_)
        self._kept = _Kept(u, scores, off, sizes, found.times)
        gram.know_sizes(rows, u[rows], sizes)
        return ApproximateScores(scores.copy(), off.copy())

    def _rough(self, gram: CardGram, u: np.ndarray, rows: np.ndarray) -> _Kept:
        """All scores from float16 pieces."""
        tiles, kernel = gram.tiles_on_card, gram.kernel
        places, v = torch.from_numpy(rows).to(tiles.device), torch.from_numpy(u[rows]).to(tiles.device)
        scores = tiles.add(places, v, exact=False).cpu().numpy()
        width = tiles.pieces.hi.shape[1]
        a = (2.0**-21 + (width + 6) * 2.0**-23) * kernel.gamma * gram.norms2
        rate = 144 * 2.0**-24 + a + float(a[rows].max())
        sizes = (1.0 + 2.0 * rate) * tiles.add(places, v.abs(), exact=False).cpu().numpy()
        smallest = 1e-30 * float(np.abs(u).sum())  # values below float32's
        off = 1.01 * rate * sizes + smallest
        off[rate > 0.02] = np.inf  # beyond it e^a is not 1 + a any more
        return _Kept(u, scores, off, sizes + smallest, 0)

    def _corrected(self, gram: CardGram, u: np.ndarray, support: int, tick: Callable[[], None]) -> _Kept | None:
        """The last scores, corrected by the columns that changed; None where all cost no more, or a few times did.

        Float64 sums go by parts of at most some thousand terms: their rounding is a small part of what the bound for a sum of
        ``many_rows`` allows, which has room for some corrections.
        """
        most_times, share = 8, 0.25
        kept = self._kept
        if kept is None or kept.times >= most_times:
            return None
        change = u - kept.u
        moved = np.flatnonzero(change)
        if moved.size > share * support or np.abs(change).sum() > np.abs(u).sum():
            return None
        found = gram.sums(moved, change[moved], None, True, tick) if moved.size else np.zeros((u.size, 2))
        return _Kept(u, kept.scores + found[:, 0], kept.off, kept.sizes + found[:, 1], kept.times + 1)
