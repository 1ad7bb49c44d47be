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

from gapless._compile.on_demand import awake
from gapless._runtime.backend import numpy_in_use
from gapless.rows import Rows, is_dense, n_stored, scores
from gapless.solvers.loop import Ended, Loop
from gapless.solvers.perceptron_in_order import shuffle_few, visit_few
from gapless.solvers.perceptron_thresholds import PERCEPTRON_THRESHOLDS
from gapless.solvers.perceptron_visits import (
    PassSlice,
    Pocket,
    add_row,
    fill_pocket,
    find_mistake,
    shuffle_visits,
    visit_dense,
    visit_penalised,
    visit_pocket,
    visit_sparse,
)

#: How a drive ends: a pass made no mistake; the loss or the validation score stood still; the limit of passes came; a state came
#: back; it is time to ask whether the rows can be separated at all; the numbers overflowed.
Ending = Literal["clean", "still", "max_iter", "cycle", "ask", "not_finite"]


class Penalty(NamedTuple):
    """alpha ((1 - l1_ratio)/2 |w|^2 + l1_ratio |w|_1)"""

    alpha: float
    l1_ratio: float


class Update(NamedTuple):
    """One correction. ``broke`` lists the rows that it put on the wrong side, ``mended`` those on the right one."""

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
    """The state of a perceptron: weights, counts, and the pocket, mean or voters of its variant."""

    rows: Rows
    y: np.ndarray  #: int8, +1 or -1
    visit: np.ndarray  #: the rows that count, in the order of their visits
    theta: np.ndarray  #: (w, b); the start, then the last weights
    rate: float = 1.0
    steps: np.ndarray = field(default_factory=lambda: np.empty(0))  #: c, or nothing where all are 1
    shuffle: bool = False
    seed: int = 1  #: of 31 bits
    variant: str = "plain"
    penalty: Penalty | None = None
    traced: bool = False
    fast: Any = None  #: the rows as kernels shall read them, if not as they are
    held_out: np.ndarray = field(
        default_factory=lambda: np.empty(0, dtype=np.int64)
    )  #: rows of ``visit`` that are left out

    def __post_init__(self) -> None:
        self.start = self.theta.copy()
        self.order = self.visit = np.array(self.visit, dtype=np.int32)
        self.learns = np.ones(self.y.size, dtype=bool)
        self.learns[self.held_out] = False
        self._leave_out()
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
        self.random = np.array([self.seed or 1], dtype=np.uint64)
        self.pocket = Pocket(self.theta.copy(), np.array([math.inf]), np.zeros(2, dtype=np.int64))
        if n_stored(self.rows) <= 20_000:
            # So few values that the pocket looks at all weights, not only at those of the longest run.
            self.pocket.run[1] = -2
        self.pulled = np.zeros(self.theta.size if self.penalty is not None and self.penalty.l1_ratio else 0)
        self.drawn = np.zeros(1)  # how far the l1 penalty has drawn each weight that is still away from 0
        self.slices = max(1, math.ceil(n_stored(self.rows) / 40_000_000))  # the clock is looked at after so many values

    # -- one pass

    def _leave_out(self) -> None:
        """Rows that are held out have a place in the order, as in scikit-learn, and are not visited."""
        if self.held_out.size:
            self.visit = self.order[self.learns[self.order]]

    def advance(self, tick: Callable[[], None]) -> int:
        """Visit every row once. Returns the mistakes made."""
        n = self.visit.size
        if self.shuffle:
            if awake():
                shuffle_visits(self.order, self.random)
            else:
                shuffle_few(self.order, int(self.random[0]))
            self._leave_out()
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
        """Visit rows of a pass. Returns the mistakes and their loss."""
        if self.penalty is not None:
            alpha, ratio = self.penalty
            shrink = max(0.0, 1.0 - (1.0 - ratio) * self.rate * alpha)
            part = self._part(self.rows._replace(constant=0.0), first, last)
            draw = ratio * self.rate * alpha
            return visit_penalised(part, self.fast.constant, shrink, draw, self.pulled, self.drawn)
        if self.traced or self.variant == "voted":
            return self._correct_one_by_one(first, last)
        part = self._part(self.fast, first, last)
        if self.variant == "pocket":
            return visit_pocket(part, self.pocket)
        if numpy_in_use():
            return visit_few(part)
        kernel = visit_dense if is_dense(self.fast) else visit_sparse
        return kernel(part, self.lag, self.visits - first)

    def _part(self, rows: Any, first: int, last: int) -> PassSlice:
        return PassSlice(rows, self.y, self.visit, first, last, self.theta, self.rate, self.steps, self.updates)

    def _correct_one_by_one(self, first: int, last: int) -> tuple[int, float]:
        """The same visits, one mistake at a time, so that each can be looked at."""
        rows, y, visit, theta = self.rows, self.y, self.visit, self.theta
        made, loss, at = 0, 0.0, first
        before = scores(rows, theta) * y if self.traced else None  # the weights change at mistakes alone
        counted = np.zeros(y.size, dtype=bool)
        counted[visit] = True
        while True:
            p, z = find_mistake(rows, y, visit, at, last, theta)
            self.survived += p - at
            self.pocket.run[0] += p - at
            if p == last:
                return made, loss
            i = int(visit[p])
            step = self.rate * (self.steps[i] if self.steps.size else 1.0) * y[i]
            if self.variant == "voted":
                self._retire()
            elif self.variant == "pocket":
                fill_pocket(self._part(rows, first, last), self.pocket)
            self.pocket.run[0] = 0
            add_row(rows, i, step, theta)
            if self.lag.size:
                add_row(rows, i, (self.visits + p - first) * step, self.lag)
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
            if (len(self.voters) + 1) * self.theta.nbytes > 1_000_000_000:
                raise MemoryError(
                    f"variant='voted' keeps weights for each of more than {len(self.voters)} mistakes: over 1 GB. "
                    "variant='averaged' keeps their mean alone."
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

    @property
    def n_voters(self) -> int:
        """The number of voters, the last one included."""
        return len(self.voters) + (self.survived > 0)

    def electorate(self) -> tuple[np.ndarray, np.ndarray]:
        """Voters and their votes, the last one included."""
        last = [self.theta] if self.survived else []
        voters = np.array([*self.voters, *last]).reshape(-1, self.theta.size)
        return voters, np.array([*self.votes, *([self.survived] if last else [])], dtype=np.int64)

    def merge_voters(self, most: int) -> None:
        """Put means of consecutive voters in their place, each with their votes, so that there are at most so many."""
        voters, votes = self.electorate()
        if votes.size > most:
            cuts = np.arange(most) * votes.size // most
            together = np.add.reduceat(votes, cuts)
            means = np.add.reduceat(voters * votes[:, None], cuts) / together[:, None]
            self.voters, self.votes, self.survived = list(means), together.tolist(), 0

    def look_into_pocket(self) -> np.ndarray:
        """The better of the pocket and the last weights."""
        run = self.pocket.run
        run[1] = min(-1, run[1])
        fill_pocket(self._part(self.fast, 0, 0), self.pocket)
        return self.pocket.theta.copy()

    def fill_pocket(self, passes: int, tick: Callable[[], None]) -> np.ndarray:
        """The pocket of some more passes from here, as many as ``tick`` allows. Weights and counts stay as they are."""
        other = Run(
            self.rows, self.y, self.visit, self.theta.copy(), self.rate, self.steps, self.shuffle, self.seed ^ 1,
            "pocket", fast=self.fast,
        )  # fmt: skip
        other.look_into_pocket()
        looks = float(passes) * self.visit.size * n_stored(self.rows)  # values read if each visit were a mistake
        with suppress(Ended):  # the time is over, or Ctrl-C: the pocket so far is as good as it is
            for _ in range(passes):
                # Look at all weights, or at those whose run is the longest so far in their pass.
                other.pocket.run[:] = 0, -2 if looks <= PERCEPTRON_THRESHOLDS.pocket_looks else 0
                if other.advance(tick) == 0 or other.pocket.fewest[0] == 0.0:
                    break
        return other.look_into_pocket()


def drive(
    run: Run,
    loop: Loop,
    *,
    tol: float | None,
    patience: int,
    cycles: bool = True,
    ask_after: Callable[[Run], bool],
    score: Callable[[Run], float] | None = None,
    note: Callable[[Run, int], None] | None = None,
) -> Ending:
    """Run pass after pass until nothing is left to correct, or until going on makes no sense.

    The run stands still where the mean loss of ``patience`` passes in a row was not below its best less ``tol``; with ``score``,
    where the score did not rise by ``tol``.  Where ``cycles`` are looked for, a state that comes back ends it.  ``loop`` may end
    the run as well (time limit, Ctrl-C).
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
        if cycles and run.penalty is None and not run.shuffle:
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
