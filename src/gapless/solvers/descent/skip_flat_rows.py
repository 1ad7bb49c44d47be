"""Examples that certainly need no step, found without reading them.

The hinge and its square are flat from yz = 1 on.  At a point v0 all products z0_i = <v0, x_i> are written down.  Later, at v,

    <v, x_i> = c z0_i + <v - c v0, x_i>,      |<v - c v0, x_i>| <= |v - c v0| |x_i|         for any c,

so that an example with  y_i (s c z0_i + b) - |s| |v - c v0| |x_i| >= 1  has no slope, and its row need not be read: the
step is the one that it would have been, to the last bit.  The least |v - c v0| is known for nothing: a step  v += a x_i  has
<v, x_i> at hand, and adds  2 a <v, x_i> + a^2 |x_i|^2  to |v|^2 and  a z0_i  to <v, v0>.  What rounding can have done to
these sums is summed with them, and widens the bound.

v0 costs a pass, and what it spares falls from epoch to epoch: it is taken anew when an epoch spared less than the epochs since
the last one did on average, that pass deducted.  Whether it would pay at all is seen on a sample of the rows.  In a copy the rows
that will be read are moved to its front, for the memory brings whatever lies between them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gapless._compile.jit import compiled
from gapless.losses import Hinge, SquaredHinge
from gapless.rows.copies.straight import StraightRows, brought_forward
from gapless.rows.verbs import row_dot, row_norm2

#: Places in ``known``: is there a v0; |v|^2, <v, v0>, and bounds on what they are off by; the rounding of a product over |v| |x|;
#: |v0|, 1/|v0|^2, and what |v0|^2 is off by; c; the bound on |v - c v0|, the rounding of products included; a bound on |v|; the
#: margin that is enough; examples not read.
(
    HELD,
    SQUARE,
    ACROSS,
    SQUARE_OFF,
    ACROSS_OFF,
    ROUNDING,
    LENGTH,
    INVERSE,
    OWN_OFF,
    FACTOR,
    RADIUS,
    REACH,
    ENOUGH,
    SPARED,
) = range(14)
#: Scores that could be so large are read.
FAR = 1e80
EPS = float(np.finfo(float).eps)
#: Losses that are flat from yz = 1 on.
FLAT = (Hinge, SquaredHinge)
#: Values of a row from which on reading it takes longer than asking whether to.
LONG = 64
#: Epochs before the first sample, and by what factor later ones are apart; the factor where v0 did not pay.
FIRST, APART, AFTER_LOSS = 4, 1.25, 1.5
#: One row of so many is in a sample, and the share of it that must be spared.
ONE_OF, PROMISED = 32, 0.2
#: A pass of products over an epoch, which has steps too; and a share of rows that is not worth the asking.
PASS, TOO_FEW = 0.7, 0.05
#: How far from v0 half of the epochs are: over the distance after the first of them, and after the last.
AFTER_FIRST, AFTER_LAST = 1.0, 0.8
#: A copy's rows that lie among the wrong ones are worth moving from that share on, and if for so many epochs in all.
ASTRAY, EPOCHS_ASTRAY = 0.12, 6.0


class Certain:
    """What is known of the examples of one descent by single steps, of so many epochs at most."""

    def __init__(self, loss: Any, rows: Any, y: np.ndarray, stored: int, longest: int, epochs: float) -> None:
        """Rows of ``stored`` values in all, ``longest`` at most."""
        self.possible = isinstance(loss, FLAT) and stored >= LONG * y.size
        self.rows, self.y, self.longest, self.epochs = rows, y, float(longest), epochs
        self.margins = self.lengths = np.zeros(1)
        self.known = np.zeros(14)
        self.in_front = np.ones(1, bool)
        self.next_try = float(FIRST)
        self.since, self.seen, self.total = 0, 0.0, 0.0

    def begin(self, epoch: int, v: np.ndarray, s: float, b: float, before: np.ndarray) -> None:
        """Before an epoch: s v is its point and ``before`` that of the epoch before, whose last entry does not count. It may
        replace ``rows``."""
        if not self.possible:
            return
        if self.known[HELD]:
            share = (self.known[SPARED] - self.seen) / self.y.size
            self.seen = self.known[SPARED]
            self.total += share
            gain = (self.total - PASS) / (epoch - self.since)
            if share < gain:
                self._refer(epoch, v, s, b, AFTER_LAST * abs(s) * self.known[RADIUS])
            elif gain <= 0.0 and share < TOO_FEW:
                self.known[HELD] = 0.0
                self.next_try = AFTER_LOSS * epoch
        elif epoch >= self.next_try:
            apart = abs(s) * distance(v, before)
            if promise(self.rows, self.y, v, s, b, apart, ONE_OF) >= PROMISED:
                self._refer(epoch, v, s, b, AFTER_FIRST * apart)
            self.next_try = APART * epoch

    def told(self) -> tuple[np.ndarray | None, np.ndarray | None, np.ndarray | None]:
        """What the steps ask."""
        return (self.margins, self.lengths, self.known) if self.known[HELD] else (None, None, None)

    def _refer(self, epoch: int, v: np.ndarray, s: float, b: float, apart: float) -> None:
        """v0 = v; s v will mostly be ``apart`` from it."""
        if self.margins.size != self.y.size:
            self.margins, self.lengths = np.empty(self.y.size), np.empty(self.y.size)
            self.in_front = np.ones(self.y.size, bool)
            measure(self.rows, self.longest, self.lengths)
        refer(self.rows, self.y, v, b, self.longest, self.margins, self.known)
        self.since, self.seen, self.total = epoch, 0.0, 0.0
        if isinstance(self.rows, StraightRows):
            wanted = s * self.margins + b * self.y - apart * self.lengths < 1.0
            astray = np.mean(wanted != self.in_front)
            if astray >= max(ASTRAY, EPOCHS_ASTRAY / max(1.0, self.epochs - epoch)):
                self.rows, self.in_front = brought_forward(self.rows, wanted), wanted


@compiled(vectorise=True)
def measure(rows, longest, lengths):
    """|x_i|, rounded up."""
    for i in range(lengths.size):
        lengths[i] = math.sqrt(row_norm2(rows, i)) * (1.0 + EPS * (longest + 16.0))


@compiled(vectorise=True)
def distance(v, before):
    """Of v to the nearest multiple of ``before``, without their last entries."""
    own = across = square = 0.0
    for j in range(v.size - 1):
        own += before[j] * before[j]
        across += before[j] * v[j]
        square += v[j] * v[j]
    return math.sqrt(max(0.0, square - across * across / own)) if own > 0.0 else math.inf


@compiled(vectorise=True)
def promise(rows, y, v, s, b, apart, one_of):
    """The share of examples that would be spared ``apart`` from s v; a sample tells."""
    spared = 0
    for i in range(0, y.size, one_of):
        spared += y[i] * (s * row_dot(rows, i, v) + b) - apart * math.sqrt(row_norm2(rows, i)) >= 1.0
    return spared * one_of / y.size


@compiled(vectorise=True)
def refer(rows, y, v, b, longest, margins, known):
    """v0 = v: a pass over the rows."""
    square = 0.0
    for j in range(v.size):
        square += v[j] * v[j]
    for i in range(y.size):
        margins[i] = y[i] * row_dot(rows, i, v)
    known[SQUARE] = known[ACROSS] = square
    known[INVERSE] = 1.0 / square  # of 0 it is infinite, and nothing certain
    known[SQUARE_OFF] = known[ACROSS_OFF] = known[OWN_OFF] = EPS * v.size * square
    known[LENGTH] = math.sqrt(square) * (1.0 + EPS * v.size)
    known[ROUNDING] = EPS * (longest + 16.0)
    known[SPARED] = 0.0
    bound(known, b)
    known[HELD] = 1.0


@compiled
def moved(known, a, dot, before, length, b):
    """After v += a x, where b is the offset of now: dot is <v, x> of before it, and before <v0, x>."""
    step = abs(a) * length
    reach = known[REACH] + step  # |v|, then and now
    known[SQUARE] += a * (2.0 * dot + a * (length * length))
    known[ACROSS] += a * before
    # The rounding of products and lengths; that of each entry of v, and of these sums.
    known[SQUARE_OFF] += 4.0 * known[ROUNDING] * step * reach + 16.0 * EPS * (reach * reach)
    known[ACROSS_OFF] += (2.0 * known[ROUNDING] * step + 8.0 * EPS * reach) * known[LENGTH]
    bound(known, b)


@compiled
def bound(known, b):
    """c, and how far v can be from c v0."""
    square, across = known[SQUARE], known[ACROSS]
    c = across * known[INVERSE]
    off = known[SQUARE_OFF] + 2.0 * abs(c) * known[ACROSS_OFF] + c * c * known[OWN_OFF]
    # No maximum with 0: a root of what is negative, or no number, shall be none, for no comparison with it holds.
    apart = math.sqrt(square - c * across + off + 16.0 * EPS * (square + abs(c * across)))
    reach = (1.0 + 16.0 * EPS) * math.sqrt(square + known[SQUARE_OFF])
    known[FACTOR], known[REACH] = c, reach
    known[RADIUS] = (1.0 + 16.0 * EPS) * apart + 2.0 * known[ROUNDING] * (reach + abs(c) * known[LENGTH])
    known[ENOUGH] = 1.0 + 16.0 * EPS * (1.0 + abs(b)) if abs(b) < FAR else math.inf


@compiled
def rescaled(known, s):
    """After v *= s."""
    known[SQUARE] *= s * s
    known[SQUARE_OFF] = s * s * known[SQUARE_OFF] + 16.0 * EPS * known[SQUARE]
    known[ACROSS] *= s
    known[ACROSS_OFF] = abs(s) * known[ACROSS_OFF] + 16.0 * EPS * math.sqrt(known[SQUARE]) * known[LENGTH]
    known[FACTOR] *= s
    known[REACH] *= abs(s) * (1.0 + 16.0 * EPS)
    # A little more, for the rounding of each entry, which is at most that of |v|.
    known[RADIUS] = abs(s) * known[RADIUS] * (1.0 + 16.0 * EPS) + 16.0 * EPS * math.sqrt(known[SQUARE])
