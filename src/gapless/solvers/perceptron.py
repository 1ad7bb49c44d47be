"""The perceptron (Rosenblatt 1958): find theta with y_i <theta, x_i> > 0 for every row, by correcting one row at a time.

    visit the rows in turn;  where y_i <theta, x_i> <= 0:  theta <- theta + rate c_i y_i x_i        (a mistake)
    until a whole pass has no mistake

With an offset x stands for (x, 1).  ``certificates/perceptron`` proves how many mistakes there can be.  On data that no
hyperplane separates it never stops by itself; theta stays bounded all the same (Block and Levin 1970), so that on integer or
dyadic data and in a fixed order its state must come back: ``drive`` finds that (Brent 1980), and the rows corrected on the
way round, as often as they were, add up to sum_i m_i c_i y_i x_i = 0, which proves that nothing separates them.

Variants: ``pocket`` keeps the weights with the fewest errors (Gallant 1990: looked at when a run of right answers is the
longest so far), ``averaged`` the mean of the weights over all visits, ``voted`` all of them with the visits that each
survived (Freund and Schapire 1999).  A penalty shrinks the weights at each visit (l1: Tsuruoka et al. 2009), as in
scikit-learn; then there is no clean pass to wait for.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np

from gapless._compile.jit import compiled
from gapless.rows import Rows, is_dense, n_stored, scores
from gapless.rows.verbs import row_axpy, row_dot, row_fetch, row_truncate
from gapless.solvers.loop import Ended, Loop

__all__ = ["Ending", "Penalty", "Run", "Update", "drive"]

#: How a drive ends: a pass without a mistake; the loss or the validation score stood still; a limit; a state came back; it is
#: time to ask whether the rows can be separated at all; the numbers overflowed.
Ending = Literal["clean", "still", "max_iter", "cycle", "ask", "not_finite"]

#: Rows that are asked of the memory this far ahead.
AHEAD = 8
#: Values read between two looks at the clock.
CHUNK = 40_000_000
#: Values of X up to which a pocket looks at all weights, not only at those with the longest run of right answers.
EAGER = 20_000
#: The bytes that voters may take.
MOST_VOTERS = 1_000_000_000


class Penalty(NamedTuple):
    """alpha ((1 - l1_ratio)/2 |w|^2 + l1_ratio |w|_1)"""

    alpha: float
    l1_ratio: float


class Update(NamedTuple):
    """One correction, as it was made. ``broke`` are rows that were right before it and are not after, ``mended`` the others."""

    pass_: int
    row: int
    before: float  #: y <theta, x> of the row
    after: float
    broke: tuple[int, ...]
    mended: tuple[int, ...]
    norm: float  #: |theta| after it
    theta: np.ndarray  #: (w, b) after it


@dataclass
class Run:
    """The state of a perceptron: weights, counts, and what its variant keeps besides."""

    rows: Rows
    y: np.ndarray  #: int8, +1 or -1
    visit: np.ndarray  #: the rows that count, in the order of their visits
    theta: np.ndarray  #: (w, b); the start, then the last weights
    rate: float = 1.0
    steps: np.ndarray = field(default_factory=lambda: np.empty(0))  #: c, or nothing where all are 1
    shuffle: bool = False
    seed: int = 0
    variant: str = "plain"
    penalty: Penalty | None = None
    traced: bool = False
    fast: Any = None  #: the rows as kernels shall read them, if not as they are

    def __post_init__(self) -> None:
        self.start = self.theta.copy()
        self.visit = np.array(self.visit, dtype=np.int32)
        self.updates = np.zeros(self.y.size, dtype=np.int32)
        if self.fast is None:
            self.fast = self.rows
        self.mistakes = self.passes = self.visits = 0
        self.loss = math.inf  # of the last pass, in the mean
        self.lag = np.zeros(self.theta.size if self.variant == "averaged" else 0)
        self.voters: list[np.ndarray] = []
        self.votes: list[int] = []
        self.survived = 0
        self.cycle = np.zeros(0, dtype=np.int32)  # where a state came back: how often each row was corrected on the way
        self.trace: list[Update] = []
        self.random = np.array([0xD1B54A32D192ED03 * (self.seed + 1) % 2**64], dtype=np.uint64)
        self.pocket = self.theta.copy()
        self.run = np.zeros(2, dtype=np.int64)  # right answers in a row: now, and the most so far
        self.fewest = np.array([math.inf])
        if n_stored(self.rows) <= EAGER:
            self.run[1] = -2  # every run is looked at
        self.pulled = np.zeros(self.theta.size if self.penalty is not None and self.penalty.l1_ratio else 0)
        self.drawn = np.zeros(1)  # what the l1 penalty has drawn so far, from a weight that was always there
        self.slices = max(1, math.ceil(n_stored(self.rows) / CHUNK))

    # -- one pass

    def advance(self, tick: Callable[[], None]) -> int:
        """Visit every row once. Returns the mistakes made."""
        n = self.visit.size
        if self.shuffle:
            _shuffle(self.visit, self.random)
        made, loss = 0, 0.0
        ends = [n * k // self.slices for k in range(self.slices + 1)]
        for first, last in pairwise(ends):
            m, cost = self._slice(first, last)
            made, loss = made + m, loss + cost
            self.visits += last - first
            self.mistakes += m
            tick()
        self.passes += 1
        self.loss = loss / max(1, n)
        return made

    def _slice(self, first: int, last: int) -> tuple[int, float]:
        rows, y, visit, theta, rate, steps = self.fast, self.y, self.visit, self.theta, self.rate, self.steps
        if self.penalty is not None:
            alpha, ratio = self.penalty
            shrink = max(0.0, 1.0 - (1.0 - ratio) * rate * alpha)
            bare = self.rows._replace(constant=0.0)
            return _visit_penalised(
                bare, y, visit, first, last, theta, rate, steps, self.updates, rows.constant, shrink,
                ratio * rate * alpha, self.pulled, self.drawn,
            )  # fmt: skip
        if self.traced or self.variant == "voted":
            return self._step_by_step(first, last)
        if self.variant == "pocket":
            return _visit_pocket(
                rows, y, visit, first, last, theta, rate, steps, self.updates, self.run, self.fewest, self.pocket
            )
        kernel = _visit_dense if is_dense(rows) else _visit_sparse
        return kernel(rows, y, visit, first, last, theta, rate, steps, self.updates, self.lag, self.visits - first)

    def _step_by_step(self, first: int, last: int) -> tuple[int, float]:
        """The same, one mistake at a time, so that each can be looked at."""
        rows, y, visit, theta = self.rows, self.y, self.visit, self.theta
        made, loss, at = 0, 0.0, first
        before = scores(rows, theta) * y if self.traced else None  # the weights change at mistakes alone
        counted = np.zeros(y.size, dtype=bool)
        counted[visit] = True
        while True:
            p, z = _next_mistake(rows, y, visit, at, last, theta)
            self.survived += p - at
            self.run[0] += p - at
            if p == last:
                return made, loss
            i = int(visit[p])
            step = self.rate * (self.steps[i] if self.steps.size else 1.0) * y[i]
            if self.variant == "voted":
                self._retire()
            elif self.variant == "pocket":
                _into_pocket(rows, y, visit, theta, self.steps, self.run, self.fewest, self.pocket)
            self.run[0] = 0
            _correct(rows, i, step, theta)
            if self.lag.size:
                _correct(rows, i, (self.visits + p - first) * step, self.lag)
            self.survived = 1
            self.updates[i] += 1
            made, loss, at = made + 1, loss + max(0.0, -y[i] * z), p + 1
            if before is not None:
                after = scores(rows, theta) * y
                broke = np.flatnonzero(counted & (before > 0.0) & ~(after > 0.0))
                mended = np.flatnonzero(counted & ~(before > 0.0) & (after > 0.0))
                self.trace.append(
                    Update(
                        self.passes + 1, i, float(before[i]), float(after[i]), tuple(broke.tolist()),
                        tuple(mended.tolist()), float(np.linalg.norm(theta)), theta.copy(),
                    )
                )  # fmt: skip
                before = after

    def _retire(self) -> None:
        """Put the weights of now among the voters, with the visits they survived."""
        if self.survived:
            if (len(self.voters) + 1) * self.theta.nbytes > MOST_VOTERS:
                raise MemoryError(
                    f"variant='voted' keeps weights for each of more than {len(self.voters)} mistakes: over "
                    f"{MOST_VOTERS / 1e9:g} GB. variant='averaged' keeps their mean alone."
                )
            self.voters.append(self.theta.copy())
            self.votes.append(self.survived)
            self.survived = 0

    # -- what comes out

    def weights(self) -> np.ndarray:
        """The weights of the variant: the last ones, those with the fewest errors, or the mean over all visits."""
        if self.variant == "pocket":
            return self.look_into_pocket()
        if self.variant == "averaged":
            return self.theta - self.lag / self.visits if self.visits else self.theta.copy()
        if self.variant == "voted":
            voters, votes = self.electorate()
            return votes @ voters / votes.sum() if votes.size else self.theta.copy()
        return self.theta.copy()

    def electorate(self) -> tuple[np.ndarray, np.ndarray]:
        """Voters and their votes, the last one included."""
        last = [self.theta] if self.survived else []
        voters = np.array([*self.voters, *last]).reshape(-1, self.theta.size)
        return voters, np.array([*self.votes, *([self.survived] if last else [])], dtype=np.int64)

    def look_into_pocket(self) -> np.ndarray:
        """The better of the pocket and the last weights."""
        self.run[1] = min(-1, self.run[1])
        _into_pocket(self.fast, self.y, self.visit, self.theta, self.steps, self.run, self.fewest, self.pocket)
        return self.pocket.copy()

    def fill_pocket(self, passes: int, tick: Callable[[], None]) -> np.ndarray:
        """The pocket of some more passes from here, as many as ``tick`` allows. Weights and counts stay as they are."""
        other = Run(
            self.rows, self.y, self.visit, self.theta.copy(), self.rate, self.steps, self.shuffle, self.seed + 1,
            "pocket", fast=self.fast,
        )  # fmt: skip
        other.look_into_pocket()
        other.run[:] = 0, min(0, other.run[1])
        with suppress(Ended):  # the time is over, or Ctrl-C: the pocket so far is as good as it is
            for _ in range(passes):
                if other.advance(tick) == 0 or other.fewest[0] == 0.0:
                    break
        return other.look_into_pocket()


def drive(
    run: Run,
    loop: Loop,
    *,
    tol: float | None,
    patience: int,
    ask_after: Callable[[Run], bool],
    score: Callable[[Run], float] | None = None,
    note: Callable[[Run, int], None] | None = None,
) -> Ending:
    """Pass after pass until there is nothing to correct, or no sense in going on.

    Still is where the mean loss of ``patience`` passes in a row was not below its best less ``tol``; with ``score``, where that
    did not rise by ``tol``.  ``loop`` may end it as well (time limit, Ctrl-C).
    """
    best, idle = math.inf, 0
    seen: np.ndarray | None = None  # Brent: the weights of pass 1, 2, 4, 8 ...
    counted, next_look = run.updates.copy(), run.passes + 1
    while run.passes < loop.stop.passes:
        made = run.advance(loop.tick)
        loop.n_iter = run.passes
        if note is not None:
            note(run, made)
        if not np.isfinite(run.theta).all():
            return "not_finite"
        if made == 0 and run.penalty is None:
            return "clean"
        if run.penalty is None and not run.shuffle:
            if seen is not None and np.array_equal(seen, run.theta):
                run.cycle = run.updates - counted
                return "cycle"
            if run.passes >= next_look:
                seen, counted, next_look = run.theta.copy(), run.updates.copy(), 2 * run.passes
        value = run.loss if score is None else -score(run)
        if tol is not None:
            idle = idle + 1 if value > best - tol else 0
            if idle >= patience:
                return "still"
        best = min(best, value)
        if run.passes < loop.stop.passes and ask_after(run):
            return "ask"
    return "max_iter"


@compiled
def _shuffle(order, random):
    # Fisher and Yates, by splitmix64 (Steele, Lea and Flood 2014): two numbers of 32 bits from each of its words.
    x = random[0]
    word = np.uint64(0)
    for i in range(order.size - 1, 0, -1):
        if (order.size - 1 - i) & 1 == 0:
            x += np.uint64(0x9E3779B97F4A7C15)
            word = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            word ^= word >> np.uint64(31)
        else:
            word <<= np.uint64(32)
        j = np.int64(((word >> np.uint64(32)) * np.uint64(i + 1)) >> np.uint64(32))
        order[i], order[j] = order[j], order[i]
    random[0] = x


def _visit(rows, y, visit, first, last, theta, rate, steps, updates, lag, before):
    mistakes, loss = 0, 0.0
    for p in range(first, last):
        if p + AHEAD < last:
            row_fetch(rows, visit[p + AHEAD])
        i = visit[p]
        margin = y[i] * row_dot(rows, i, theta)
        if not margin > 0.0:  # not a number counts as wrong
            step = rate * y[i]
            if steps.size:
                step *= steps[i]
            row_axpy(rows, i, step, theta)
            if lag.size:
                row_axpy(rows, i, (before + p) * step, lag)
            updates[i] += 1
            mistakes += 1
            loss -= margin
    return mistakes, loss


# Sums over a dense row are to be reordered; over a sparse one that would make gathers of them, which are slower (rows/csr.py).
# Each kind of rows goes to one of the two alone: on disk they have the same name.
_visit_dense, _visit_sparse = compiled(_visit, vectorise=True), compiled(_visit)


@compiled(vectorise=True)
def _visit_pocket(rows, y, visit, first, last, theta, rate, steps, updates, run, fewest, pocket):
    mistakes, loss = 0, 0.0
    for p in range(first, last):
        if p + AHEAD < last:
            row_fetch(rows, visit[p + AHEAD])
        i = visit[p]
        margin = y[i] * row_dot(rows, i, theta)
        if margin > 0.0:
            run[0] += 1
            continue
        _into_pocket(rows, y, visit, theta, steps, run, fewest, pocket)
        run[0] = 0
        step = rate * y[i]
        if steps.size:
            step *= steps[i]
        row_axpy(rows, i, step, theta)
        updates[i] += 1
        mistakes += 1
        loss -= margin
    return mistakes, loss


@compiled(vectorise=True)
def _into_pocket(rows, y, visit, theta, steps, run, fewest, pocket):
    """Keep theta if its run is the longest so far and its errors are fewer; counting ends where they are not."""
    if run[0] <= run[1]:
        return
    if run[1] > -2:
        run[1] = run[0]
    errors = 0.0
    for p in range(visit.size):
        i = visit[p]
        if not y[i] * row_dot(rows, i, theta) > 0.0:
            errors += steps[i] if steps.size else 1.0
            if errors >= fewest[0]:
                return
    fewest[0] = errors
    for j in range(pocket.size):
        pocket[j] = theta[j]


@compiled(vectorise=True)
def _visit_penalised(
    rows, y, visit, first, last, theta, rate, steps, updates, constant, shrink, draw, pulled, drawn
):  # fmt: skip
    # theta = (scale v, b): the whole of w is shrunk by one product.
    mistakes, loss, scale = 0, 0.0, 1.0
    d = theta.size - 1
    for p in range(first, last):
        i = visit[p]
        margin = y[i] * (scale * row_dot(rows, i, theta) + constant * theta[d])
        step = 0.0
        if not margin > 0.0:
            step = rate * y[i]
            if steps.size:
                step *= steps[i]
            updates[i] += 1
            mistakes += 1
            loss -= margin
        scale *= shrink
        if scale < 1e-9:
            for j in range(d):
                theta[j] *= scale
            scale = 1.0
        if step != 0.0:
            row_axpy(rows, i, step / scale, theta)
            theta[d] += step * constant
        if pulled.size:
            drawn[0] += draw
            row_truncate(rows, i, drawn[0], scale, theta, pulled)
    for j in range(d):
        theta[j] *= scale
    return mistakes, loss


@compiled(vectorise=True)
def _next_mistake(rows, y, visit, first, last, theta):
    for p in range(first, last):
        z = row_dot(rows, visit[p], theta)
        if not y[visit[p]] * z > 0.0:
            return p, z
    return last, 0.0


@compiled(vectorise=True)
def _correct(rows, i, step, theta):
    row_axpy(rows, i, step, theta)
