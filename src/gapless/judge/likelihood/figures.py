"""Loss, decrement, reach and margin of a model, from the data.

Scores are those of the classes less that of the first one, so there are S = K - 1 of them (two classes: the one score).
Columns are centred where there is an offset, scaled, and turned to orthonormal ones by a QR, tile by tile; as many of its
singular directions are kept as the certificate's rank says, if that is a rank the data can have.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..arithmetic.rounding import TINY, UNIT, Interval, Sums, down, gamma, sum_pairs, up
from ..linear.losses import loss_bounds
from ..linear.recompute import score_bounds
from ..linear.softmax import loss_bounds as softmax_bounds
from ..linear.softmax import true_class
from ..rows import Block, Rows, counted, filled


class Model(NamedTuple):
    """The data and the model that a certificate speaks of: class indices y, weights c, lines W and b."""

    rows: Rows
    y: np.ndarray
    c: np.ndarray
    W: np.ndarray
    b: np.ndarray
    K: int
    offset: bool

    @property
    def S(self) -> int:
        return max(1, self.K - 1)

    def blocks(self) -> Iterator[tuple[Block, np.ndarray, np.ndarray]]:
        """(rows, their weights, their classes) of the rows with weight."""
        return counted(self.rows, self.c, self.y)

    def scores(self, block: Block) -> np.ndarray:
        """(rows, K), the first class at 0 where there are two."""
        z = block.scores(self.W) + self.b
        return np.hstack([np.zeros((block.n, 1)), z]) if self.K == 2 else z


class Columns(NamedTuple):
    """The data's columns: centre, the matrix to orthonormal ones, and what is known of their rank."""

    mean: np.ndarray
    M: np.ndarray  # (d, rank)
    constant: float
    sure: int
    most: int
    dead: np.ndarray  # exactly constant (0 without an offset): they add nothing to the model
    lengths: np.ndarray  # of the columns about their centre

    def turned(self, block: Block) -> np.ndarray:
        t = filled(block) - self.mean
        return np.hstack([t @ self.M, np.full((block.n, 1), self.constant)[:, : int(self.constant > 0.0)]])


@dataclass(frozen=True)
class Found:
    """The judge's own figures. ``lam`` is good to ``delta`` and, with ``rho``, to the part ``loose``."""

    loss: Interval
    room: float  # what plain float64 may be off by in the loss
    lam: float
    delta: float
    rho: float
    loose: float
    margin: float  # no row's true score is less than this above the best other one
    inverse: np.ndarray | None  # L^-1, H = LL'


def columns_of(model: Model, rank: int | None, dtype: str = "float64") -> Columns:
    d = model.rows.shape[1]
    mass, count, first = 0.0, 0, np.zeros(d)
    low, high, total, raw2 = np.full(d, np.inf), np.full(d, -np.inf), np.zeros(d), np.zeros(d)
    for block, c, _ in model.blocks():
        x = filled(block)
        first = x[0].copy() if count == 0 else first
        low, high = np.minimum(low, x.min(axis=0)), np.maximum(high, x.max(axis=0))
        total, raw2 = total + c @ (x - first), raw2 + c @ (x * x)
        mass, count = mass + float(c.sum()), count + block.n
    mean = first + total / mass if model.offset else np.zeros(d)
    length2 = np.zeros(d)
    for block, c, _ in model.blocks():
        length2 += c @ (filled(block) - mean) ** 2
    lengths = np.sqrt(length2)
    scale = lengths
    # A column that varies by less than this part of its length is constant up to rounding.
    flat = scale <= (2.0**-43 * np.sqrt(raw2) if model.offset else 0.0)
    dead = (low == high) if model.offset else (low == 0.0) & (high == 0.0)
    scale = np.where(flat | dead, 1.0, scale)
    R = np.zeros((0, d))
    for block, c, _ in model.blocks():
        t = (filled(block) - mean) / scale * np.sqrt(c)[:, None]
        t[:, flat | dead] = 0.0
        R = np.asarray(np.linalg.qr(np.vstack([R, t]), mode="r"))
    _, sigma, Vt = np.linalg.svd(R, full_matrices=False)
    top = float(sigma.max(initial=0.0))
    most = min(int((sigma > 0.0).sum()), max(0, count - model.offset), d - int(dead.sum()))
    far = np.where(flat | dead, 0.0, np.sqrt(raw2) / scale)  # columns are known to the rounding of their own values
    unit = 16.0 * max(count, d) * UNIT + 4.0 * float(np.finfo(dtype).eps)
    noise = unit * np.maximum(top, np.sqrt((Vt * Vt) @ (far * far)))
    sure = min(int((sigma > noise).sum()), most)
    kept = min(max(sure if rank is None else rank, sure), most)
    M = (Vt[:kept].T / sigma[:kept]) / scale[:, None]
    return Columns(mean, M, 1.0 / math.sqrt(mass) if model.offset else 0.0, sure, most, dead, lengths)


def shares_of(z: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """p (rows, K), and p - [own class] with the own entry as minus the sum of the others, which keeps its digits."""
    e = np.exp(z - z.max(axis=1, keepdims=True))
    p = e / e.sum(axis=1, keepdims=True)
    slopes = p.copy()
    rows = np.arange(y.size)
    slopes[rows, y] = 0.0
    slopes[rows, y] = -slopes.sum(axis=1)
    return p, slopes


def fine_scores(x: np.ndarray, W: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """<w, x> + b between two arrays (S, rows), all but exact: products with their errors (Dekker), sums with theirs; NaN where
    something overflows."""
    w, x = W[:, None, :], x[None, :, :]
    (w1, w2), (x1, x2) = _halves(w), _halves(x)
    product = w * x
    error = ((w1 * x1 - product) + w1 * x2 + w2 * x1) + w2 * x2
    offset = np.broadcast_to(b[:, None, None], (*product.shape[:2], 1))
    s, e, radius = sum_pairs(np.concatenate((product, error, offset), axis=-1))
    reach = up(radius + 4.0 * UNIT * np.abs(e) + 16.0 * x.shape[-1] * TINY)
    return down(down(s + e) - reach), up(up(s + e) + reach)


def _halves(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """a as a sum of two numbers of half its digits (Veltkamp)."""
    large = (2.0**27 + 1.0) * a
    high = large - (large - a)
    return high, a - high


def figures(model: Model, columns: Columns) -> Found:
    """Everything that a certificate claims of the model."""
    # Scores that are enclosed no better than this are summed again without rounding.
    wide = 1e-9
    S, K, d = model.S, model.K, model.rows.shape[1]
    m = columns.M.shape[1] + int(model.offset)
    low_sum, high_sum = Sums(1), Sums(1)
    gradient, sizes, H = np.zeros((S, m)), np.zeros((S, m)), np.zeros((S * m, S * m))
    margin, spread, room, count, height = math.inf, 0.0, 0.0, 0, 0
    for block, c, y in model.blocks():
        own = true_class(y, K)
        magnitude = block.absolute()
        z_low, z_high = score_bounds(block, magnitude, model.W, model.b)
        if not float((z_high - z_low).max()) <= wide:
            fine = fine_scores(filled(block), model.W, model.b)
            z_low, z_high = np.fmax(z_low, fine[0]), np.fmin(z_high, fine[1])
        if K == 2:
            sign = np.where(y == 1, 1.0, -1.0)[None, :]
            low, high = loss_bounds("logistic", sign, z_low, z_high)
            low, high = low[0], high[0]
            nearest = np.where(y == 1, z_low[0], -z_high[0])
        else:
            low, high = softmax_bounds(own, z_low, z_high)
            nearest = np.where(own, z_low, np.inf).min(axis=0) - np.where(own, -np.inf, z_high).max(axis=0)
        margin = min(margin, float(down(nearest).min()))
        low_sum.add(np.maximum(0.0, down(c * low))[None, :])
        high_sum.add(up(c * high)[None, :])
        p, slopes = shares_of(model.scores(block), y)
        t = columns.turned(block)
        slopes = slopes * c[:, None]
        gradient += slopes[:, K - S :].T @ t
        sizes += np.abs(slopes[:, K - S :]).T @ np.abs(t)
        size = (magnitude.scores(np.abs(model.W)) + np.abs(model.b)).max(axis=1)
        error = 2.0 * gamma(d + K + 8) * size
        room += float(c @ error)
        for k in range(S):
            rest = np.delete(p, k + K - S, axis=1).sum(axis=1)
            w = c * p[:, k + K - S] * rest
            spread += float(w @ (error * error))
            H[k * m : (k + 1) * m, k * m : (k + 1) * m] += t.T @ (t * w[:, None])
            for j in range(k):
                part = t.T @ (t * (-c * p[:, k + K - S] * p[:, j + K - S])[:, None])
                H[k * m : (k + 1) * m, j * m : (j + 1) * m] += part
                H[j * m : (j + 1) * m, k * m : (k + 1) * m] += part.T
        count, height = count + block.n, max(height, block.n)
    loss = Interval(low_sum.intervals()[0].low, high_sum.intervals()[0].up).positive()
    room += (gamma(4096 + count / 256) + 16.0 * UNIT) * loss.up
    try:
        inverse = np.linalg.inv(np.linalg.cholesky(H))
    except np.linalg.LinAlgError:
        return Found(loss, room, math.nan, math.inf, math.inf, math.inf, margin, None)
    # At least that of the columns scaled to length 1: sqrt(d) over the smallest singular value that is kept.
    longest = float(((columns.M * columns.lengths[:, None]) ** 2).sum(axis=0).max(initial=1.0))
    condition = math.sqrt(longest * max(1, d))
    noise = gamma(height + count / max(1, height) + 64) * sizes.ravel()
    noise = noise + gamma(d + 8) * math.sqrt(d) * condition * math.sqrt(2.0 * loss.up)
    delta = float(np.linalg.norm(np.abs(inverse) @ noise)) + math.sqrt(spread)
    loose = 64.0 * UNIT * max(1, len(H)) * float(np.linalg.norm(H)) * float(np.sum(inverse * inverse))
    lam = float(np.linalg.norm(inverse @ gradient.ravel()))
    return Found(loss, room, lam, delta, _widest(model, columns, inverse), loose, margin, inverse)


def pairs(S: int, K: int) -> list[tuple[int, int | None]]:
    """Pairs of score coordinates to compare; None stands for the first class, whose score is 0."""
    if K == 2:
        return [(0, None)]
    return [(k, None) for k in range(S)] + [(k, j) for k in range(S) for j in range(k)]


def _widest(model: Model, columns: Columns, inverse: np.ndarray) -> float:
    S, m = model.S, len(inverse) // max(1, model.S)
    worst = 0.0
    for block, _, _ in model.blocks():
        t = columns.turned(block)
        turned = [t @ inverse[:, k * m : (k + 1) * m].T for k in range(S)]
        for k, j in pairs(S, model.K):
            v = turned[k] if j is None else turned[k] - turned[j]
            worst = max(worst, float(np.einsum("ij,ij->i", v, v).max(initial=0.0)))
    return math.sqrt(worst)
