"""Runs the compiled steps on a linear problem, some of them at a time: for `descend` and for the estimators."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gapless._compile.jit import compiled
from gapless.problems.descent import LinearRisk
from gapless.problems.linear import LinearProblem
from gapless.rows.copies.choose import best_copy
from gapless.rows.shape import from_copy_coordinates, n_stored, take_dense, to_copy_coordinates
from gapless.solvers.descent import steps as K
from gapless.solvers.descent.functions import RISE
from gapless.solvers.descent.schedules import Schedule
from gapless.solvers.descent.visits import Visits
from gapless.solvers.loop import SMALL

#: Values touched between two looks at the clock: some 50 ms.
CHUNK = 30_000_000
#: Epochs before each of which the point is kept, should the descent diverge; later so seldom that one of its numbers may take as
#: long to keep as so many values of the data take to read.
EARLY, KEEPING = 8, 50
#: Values of the dense copy of rows that literal steps read: 0.8 MB.
LITERAL_VALUES = 100_000
RULES = {"gd": K.GD, "minibatch": K.GD, "sgd": K.GD, "momentum": K.MOMENTUM, "adam": K.ADAM}


class Engine:
    """State of one descent by compiled steps."""

    def __init__(
        self,
        risk: LinearRisk,
        theta: np.ndarray,
        method: str,
        schedule: Schedule,
        *,
        size: int,
        visits: Any = "shuffled",
        seed: int = 0,
        first: np.ndarray | None = None,
        average: int = 0,
        begin: int = 0,
        every: int = 0,
        rows: int = 0,
        literal: bool = False,
        betas: tuple[float, float, float] = (0.9, 0.999, 1e-8),
        small: float = 0.0,
        epochs: float = 0.0,
    ) -> None:
        """``first`` is an order of the examples that does not depend on theirs; ``epochs`` how many there will be, at most."""
        problem: Any = risk.problem
        self.risk, self.schedule, self.size = risk, schedule, size
        self.loss = problem.loss if isinstance(problem, LinearProblem) else K.Softmax(problem.K)
        self.per_epoch = -(-risk.n // size)
        # Batches of one score a row need no gradient written out; everything else does.
        plain = not risk.many and method in ("sgd", "minibatch")
        self.way = "literal" if literal else "single" if plain and size == 1 else "batch" if plain else "dense"
        if literal and risk.many:
            raise ValueError("literal=True is the step of one score a row; softmax has several")
        self.full = self.way == "dense" and size == risk.n
        self.rule, self.betas, self.method = RULES[method], np.array(betas), method
        self.visits = Visits(visits, problem.rows, seed, first)
        self.order = None  # of the rows in a copy
        plain = whole = _common(problem.rows)
        if self.way == "single" and self.visits.slow:
            whole = best_copy(plain, "sgd", times=epochs, draw_order=self.visits.once)
        if whole is not plain:
            self.order = whole.order
            self.visits.settle(whole.values.nbytes)
        stepping = whole._replace(constant=0.0) if problem.free and self.way != "dense" else whole
        y = problem.y if not risk.many else problem.y.astype(np.int64, copy=False)
        p = risk.p
        if self.order is not None:
            y, p = y[self.order], p[self.order] if risk.weighted else p
        self.data = K.Data(stepping, whole, y, p, risk.weighted, risk.lam, problem.free, problem.d + 1)
        self._start = np.ascontiguousarray(theta, float).ravel().copy()
        self._theta = to_copy_coordinates(whole, self._start.copy())
        m = self._theta.size
        self.state = np.zeros(8)
        self.state[[K.SCALE, K.DUAL_SCALE]] = 1.0
        self.state[K.BROKEN_OFF] = -1.0
        keep = risk.loss.conjugate_curvature == 0.0 and self.rule == K.GD and not literal
        self.sums = K.Sums(np.zeros(m if average else 1), np.zeros(risk.n if keep else 1), average, begin, keep)
        self.book = K.Book(
            np.zeros(rows, np.int64), np.zeros(rows), np.zeros(rows), np.zeros(rows), np.zeros(rows),
            np.zeros((rows, m)), np.zeros((rows, m)), np.zeros(m), np.zeros(1, np.int64), np.array([every]),
        )  # fmt: skip
        dense = m if self.way == "dense" else 1
        self.memory = K.Memory(*(np.zeros(dense) for _ in range(9)))
        figures = np.zeros(9)
        figures[K.BROKE_STEP], figures[K.BEST], figures[K.PROMISED] = -1.0, math.inf, math.nan
        self.first_value = risk.value(theta)
        limit = self.first_value + RISE * max(1.0, abs(self.first_value))
        self.watch = K.Watch(figures, small, limit)
        self.slopes = np.empty(size if self.way == "batch" else 1)
        self.steps = 0
        self.ending = ""
        self.value = self.norm = math.nan
        self._order = np.arange(risk.n if self.full else 0)
        self._rates = np.empty(0 if self.full else self.per_epoch)
        self._at = self.per_epoch
        self._checkpoint, self._checked = self._theta.copy(), 0  # before the offset leaves it
        self._rest = 1 + KEEPING * m // max(1, n_stored(problem.rows))
        if problem.free and self.way in ("single", "batch"):
            self.state[K.OFFSET], self._theta[-1] = self._theta[-1], 0.0

    # -- steps -----------------------------------------------------------------------------------------------------

    def advance(self, most: int) -> bool:
        """Some more steps, not beyond ``most`` in all, nor beyond the end of an epoch; False where they ended by themselves."""
        if self.full:
            count = min(most - self.steps, max(1, CHUNK // max(1, n_stored(self.risk.problem.rows))))
            rates = self.schedule.rates(self.steps + 1, np.empty(count))
            self._densely(rates, 0, count)
            self.steps += count
            if self.watch.figures[K.ENDING] != K.GOES_ON or self.state[K.BROKEN_OFF] >= 0:
                return self._ended()
            return True
        if self._at >= self.per_epoch:
            self._order = self.visits.next_epoch()
            self._rates = self.schedule.rates(self.steps + 1, self._rates)
            self._at = 0
            epoch = self.steps // self.per_epoch
            if 0 < epoch and (epoch <= EARLY or epoch % self._rest == 0):
                self._beside(self._checkpoint)
                self._checked = self.steps
        per_step = self.size * n_stored(self.risk.problem.rows) / self.risk.n + (
            self._theta.size if self.way != "single" else 0
        )
        count = max(1, int(CHUNK / max(1.0, per_step)))
        first, last = self._at, min(self.per_epoch, self._at + count, self._at + most - self.steps)
        t = self.steps - self._at
        if self.way == "single":
            K.singly(
                self.loss, self.data, self._order, self._rates, first, last, t, self._theta, self.sums, self.state, self.book,
                self.visits.far,
            )  # fmt: skip
        elif self.way == "batch":
            K.in_batches(
                self.loss, self.data, self._order, self.size, self._rates, first, last, t, self._theta, self.sums, self.state,
                self.book, self.visits.far, self.slopes,
            )  # fmt: skip
        elif self.way == "literal":
            self._literally(first, last, t)
        else:
            self._densely(self._rates, first, last, t)
        self.steps += last - first
        self._at = last
        return True if self.state[K.BROKEN_OFF] < 0 else self._ended()

    def _literally(self, first: int, last: int, t: int) -> None:
        """Steps t + first + 1 ... t + last as they read, on dense copies of some rows at a time, and the trace between them."""
        data, book, theta = self.data, self.book, self._theta
        while first < last and self.state[K.BROKEN_OFF] < 0:
            due = K.next_due(book.every[0], t + first) - t
            if first == due:
                J = _look(self.loss, data, theta, book.gradient)
                K.note(book, t + first, self._rates[first], J, float(np.linalg.norm(book.gradient)), theta)
                due = K.next_due(book.every[0], t + first + 1) - t
            stop = min(last, first + max(1, LITERAL_VALUES // theta.size), due if due > first else last)
            chosen = self._order[first:stop]
            X, y, p = take_dense(data.rows, chosen), data.y[chosen], data.p[chosen] if data.weighted else data.p
            K.literally(
                self.loss, X, y, p, data.weighted, data.lam, data.free, self._rates[first:stop], t + first, theta,
                self.sums.average, self.sums.begin, self.sums.B, self.state,
            )  # fmt: skip
            first = stop

    def _densely(self, rates: np.ndarray, first: int, last: int, t: int | None = None) -> None:
        K.densely(
            self.loss, self.data, self._order, self.size, rates, first, last, self.steps if t is None else t, self._theta,
            self.sums, self.state, self.book, self.rule, self.betas, self.memory, self.watch,
        )  # fmt: skip

    def _ended(self) -> bool:
        if self.state[K.BROKEN_OFF] >= 0:
            self.steps = int(self.state[K.BROKEN_OFF]) + 1
            self.ending = "diverged"
        else:
            self.steps = int(self.state[K.LAST])
            self.ending = "converged" if self.watch.figures[K.ENDING] == K.SMALL_GRADIENT else "diverged"
        return False

    def close(self, status: str) -> str:
        """Look at the last point: its value, its gradient, the last row of the trace. The status, which that may change."""
        theta = self._beside()
        gradient = np.zeros_like(theta)
        self.value = float(_look(self.loss, self.data, theta, gradient))
        self.norm = float(np.linalg.norm(gradient))
        if self.full and self.ending == "":
            K.watched(self.value, self.norm, self.steps, theta, self.memory, self.watch, self.book)
            ending = self.watch.figures[K.ENDING]
            status = "converged" if ending == K.SMALL_GRADIENT else "diverged" if ending == K.ROSE else status
        elif not (self.value <= self.watch.limit and math.isfinite(self.norm)):
            status = "diverged"
        if self.book.every[0] and (not self.book.filled[0] or self.book.step[self.book.filled[0] - 1] != self.steps):
            self.book.gradient[:] = gradient
            K.note(self.book, self.steps, math.nan, self.value, self.norm, theta)
        return status

    # -- points ----------------------------------------------------------------------------------------------------

    def outside(self, theta: np.ndarray) -> np.ndarray:
        """The user's theta for one beside the rows that are read."""
        return from_copy_coordinates(self.data.whole, theta)

    def _beside(self, theta: np.ndarray | None = None) -> np.ndarray:
        """The point of now, beside the rows that are read; written into ``theta`` where it is given."""
        kept = self.way in ("single", "batch")
        theta = np.multiply(self._theta, self.state[K.SCALE] if kept else 1.0, out=theta)
        if kept and self.data.free:
            theta[-1] = self.state[K.OFFSET]
        return theta

    def theta(self) -> np.ndarray:
        return self.outside(self._beside()).reshape(self.risk.shape)

    def u(self) -> np.ndarray | None:
        """The dual point that the steps kept, not yet inside its box."""
        if not self.sums.keep:
            return None
        u = self.sums.u * self.state[K.DUAL_SCALE if self.way == "dense" else K.SCALE]
        if self.order is not None:
            u[self.order] = u.copy()
        return u

    def mean(self) -> np.ndarray | None:
        weight = self.state[K.WEIGHTS]
        if not self.sums.average or weight == 0.0:
            return None
        total = -self.sums.B
        if self.way in ("single", "batch"):
            total += self.state[K.SUM] * self._theta
            if self.data.free:
                total[-1] = self.state[K.OFFSET_SUM]
        return self.outside(total / weight)

    def best(self) -> tuple[np.ndarray, float, int]:
        """The point of the lowest value seen, with its value and step."""
        figures = self.watch.figures
        if self.full and math.isfinite(figures[K.BEST]):
            return self.memory.best.copy(), float(figures[K.BEST]), int(figures[K.BEST_STEP])
        found = [(self.first_value, 0, self._start)]
        checkpoint = self.outside(self._checkpoint)
        found.append((self.risk.value(checkpoint.reshape(self.risk.shape)), self._checked, checkpoint))
        found += [
            (float(self.book.loss[k]), int(self.book.step[k]), self.outside(self.book.theta[k]))
            for k in range(int(self.book.filled[0]))
        ]
        value, step, theta = min((f for f in found if math.isfinite(f[0])), key=lambda f: f[0])
        return theta.copy(), value, step

    def broke(self) -> tuple[int, float, np.ndarray, np.ndarray] | None:
        figures = self.watch.figures
        if figures[K.BROKE_STEP] < 0:
            return None
        return int(figures[K.BROKE_STEP]), float(figures[K.BROKE_RATE]), self.memory.broke, self.memory.broke_gradient


def _common(rows: Any) -> Any:
    """Small data in float64, which changes no value: the steps are then compiled for fewer types."""
    return rows if n_stored(rows) > SMALL else rows._replace(values=rows.values.astype(np.float64, copy=False))


@compiled
def _look(loss, data, theta, gradient):
    return K.look(loss, data, theta, gradient)
