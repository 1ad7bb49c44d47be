"""F - F* of least squares, bounded in float64 for exact arithmetic.

F is quadratic: F - F* = g'(A'A + alpha I)^-1 g <= |D^-1 g|^2 / sigma^2, with D the lengths of the columns and sigma any
lower bound on the smallest singular value of A D^-1.  g is enclosed by Higham's bounds, and sigma proved by a
Cholesky factorisation that goes through (Rump): if it does for the computed matrix less c I, then sigma^2 >= c - (what the
factorisation and the products can be off by).  Where that proves nothing, F* >= 0 is all that is claimed.  A shift of the
columns by constants changes neither F* nor r, as long as there is an offset.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arithmetic.rounding import UNIT, Interval, Sums, down, exactly, gamma, middle_of, smallest_eigenvalue, up
from ..case import Bounds
from ..linear.recompute import Combination, score_bounds
from ..rows import filled
from .data import SquaresData


class Products(NamedTuple):
    """The matrix A'A of the shifted columns (and 1), scaled to a diagonal of 1.

    Columns that are 0 stay 0 with length 0.  Entries are off by at most gamma_depth relative to the product of the
    lengths: the largest block + the number of blocks + 16 (shift, weights, scaling).
    """

    matrix: np.ndarray
    lengths: np.ndarray
    shift: np.ndarray
    depth: int


def products(case: SquaresData) -> Products:
    width = case.d + 1
    G = np.zeros((width, width))
    shift: np.ndarray | None = None
    depth = blocks = 0
    for block, s, _ in case.blocks():
        values = filled(block)
        if shift is None:
            shift = values[0].copy() if case.free else np.zeros(case.d)
        t = np.hstack([values - shift, np.full((block.n, 1), 1.0 if case.free else 0.0)])
        G += t.T @ (t * s[:, None])
        blocks += 1
        depth = max(depth, block.n)
    assert shift is not None
    lengths = np.sqrt(np.maximum(np.diag(G), 0.0))
    inverse = np.divide(1.0, lengths, out=np.zeros(width), where=lengths > 0)
    return Products(0.5 * (G + G.T) * inverse * inverse[:, None], lengths, shift, depth + blocks + 16)


def sure_rank(case: SquaresData, varies: np.ndarray) -> int:
    """A rank that the columns which vary have beyond rounding; 0 where there are too many to tell.

    ``varies`` has units of what fits take for rounding: within a factor of 2 a column may count or not.
    """
    if case.d > case.most_columns:
        return 0
    G, _, _, depth = products(case)
    if not np.isfinite(G).all():
        return 0
    kept = np.flatnonzero(varies > 2.0)
    means, G = G[kept, -1], G[np.ix_(kept, kept)]
    values, V = np.linalg.eigh(G - np.outer(means, means) if case.free else G)
    noise = 1e-10 + 100.0 * gamma(depth) * (case.d + 1)
    # Fits leave out directions that columns far from 0 hardly have; 2^-44 of a column is a unit of ``varies``.
    noise = noise * max(1.0, float(values.max(initial=0.0))) + np.square(
        16.0 * UNIT * 2.0**44 / varies[kept]
    ) @ np.square(V)
    return int((values > noise).sum())


def most_rank(case: SquaresData, varies: np.ndarray) -> int:
    """No fit finds a larger rank: columns about their means, scaled to length 1, at half of what fits take for rounding."""
    # Values of a matrix whose rank is also bounded from above.
    most_values = 4_000_000
    blocks = list(case.blocks())
    n = sum(block.n for block, _, _ in blocks)
    if case.d > case.most_columns or not 0 < n * case.d <= most_values:
        return case.d
    A, s = (np.concatenate(parts) for parts in zip(*((filled(block), s / case.s.max()) for block, s, _ in blocks)))
    A = (A - np.average(A, axis=0, weights=s) if case.free else A) * np.sqrt(s)[:, None]
    A = A[:, ~(varies <= 0.5)]
    A /= np.maximum(np.linalg.norm(A, axis=0), 1e-300)
    sigma = np.linalg.svd(A, compute_uv=False) if np.isfinite(A).all() else np.ones(case.d)
    return int((sigma > max(n, case.d) * UNIT * sigma.max(initial=0.0)).sum())


def visible(case: SquaresData, lengths: np.ndarray, mean: np.ndarray, raw: np.ndarray) -> np.ndarray:
    """Orthonormal directions (d, r) of the columns about their means, scaled to length 1, in which a model changes a score beyond
    rounding, that of the columns' own values included."""
    R, scale = np.zeros((0, case.d)), np.where(lengths > 0, lengths, 1.0)
    for block, s, _ in case.blocks(case.grain):
        R = np.asarray(np.linalg.qr(np.vstack([R, (filled(block) - mean) / scale * np.sqrt(s)[:, None]]), mode="r"))
    if not np.isfinite(R).all():
        return np.zeros((case.d, 0))
    _, sigma, Vt = np.linalg.svd(R, full_matrices=False)
    lost = np.maximum((case.d + 1) * float(sigma.max(initial=0.0)), np.linalg.norm(Vt * (raw / scale), axis=1))
    return Vt[sigma > 4.0 * UNIT * lost].T


def prove(case: SquaresData) -> list[Bounds]:
    """(F from above, F* from below, F - F* from above) of each target, in exact arithmetic."""
    combined, slopes = Combination((case.S, case.d)), Sums(case.S)
    low_sum, high_sum = Sums(case.S), Sums(case.S)
    for block, s, y in case.blocks():
        magnitude = block.absolute()
        z_low, z_high = score_bounds(block, magnitude, case.W, case.b)
        low, high = down(y - z_high), up(y - z_low)
        near, far = np.maximum(0.0, np.maximum(low, -high)), np.maximum(np.abs(low), np.abs(high))
        low_sum.add(np.maximum(0.0, down(s * down(near * near))))
        high_sum.add(up(s * up(far * far)))
        middle, spread = middle_of(down(s * low), up(s * high))
        combined.add(block, magnitude, middle, spread)
        slopes.add(middle, spread)
    v, reach = combined.result()
    lows, highs, sums = low_sum.intervals(), high_sum.intervals(), slopes.intervals()
    least, lengths, shift = 0.0, np.zeros(0), np.zeros(case.d)
    if case.d <= case.most_columns:
        G, lengths, shift, depth = products(case)
        kept = lengths > 0
        if not lengths[kept].min(initial=1.0) < 1e-140:  # squares that underflow prove nothing
            core = G[np.ix_(kept, kept)]
            least = smallest_eigenvalue(core, float(up(gamma(depth) * 4.0 * len(core))))
    bounds = []
    for k in range(case.S):
        square = sum((exactly(x).square() for x in case.W[k].tolist()), Interval(0.0, 0.0))
        penalty = exactly(float(case.alpha[k])) * square
        total = Interval(lows[k].low, highs[k].up).positive() + penalty
        excess = total.up
        if least > 0.0:
            step = Interval(0.0, 0.0)
            for j in np.flatnonzero(lengths > 0).tolist():
                if j == case.d:
                    g = sums[k]
                else:
                    g = Interval.outward(v[k, j] - reach[k, j], v[k, j] + reach[k, j])
                    g = g - exactly(float(shift[j])) * sums[k]
                    g = g - exactly(float(case.alpha[k])) * exactly(float(case.W[k, j]))
                step = step + (abs(g) / exactly(float(lengths[j]))).square()
            excess = min(excess, (step / exactly(least)).up)
        bounds.append((total.up, max(0.0, (exactly(total.low) - exactly(excess)).low), excess))
    return bounds
