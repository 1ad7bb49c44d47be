"""Runs the compiled steps on a linear problem, some of them at a time: for `descend` and for the estimators."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gapless.problems.descent import LinearRisk
from gapless.rows.copies.choose import best_copy
from gapless.rows.shape import from_copy_coordinates, n_stored, take_dense, to_copy_coordinates
from gapless.solvers.descent import steps as compiled_steps
from gapless.solvers.descent.gradients import loss_and_gradient
from gapless.solvers.descent.plan import AVERAGES, DIVERGED_FACTOR, DescentEnd, DescentPlan
from gapless.solvers.descent.state import (
    Examples,
    IterateSums,
    ScoreVectors,
    StepRange,
    StepRule,
    StepVectors,
    TraceBook,
    new_state,
)
from gapless.solvers.descent.trace_book import next_due, watch_full_gradient, write_point
from gapless.solvers.descent.visits import Visits
from gapless.solvers.loop import SMALL_FIT_VALUES


class Engine:
    """State of one descent by compiled steps."""

    def __init__(self, risk: LinearRisk, theta: np.ndarray, plan: DescentPlan) -> None:
        if plan.literal and risk.many:
            raise ValueError("literal=True is the step of one score a row; softmax has several")
        self.risk, self.plan = risk, plan
        self.loss = None if risk.many else risk.loss  # softmax has kernels of its own
        self.per_epoch = -(-risk.n // plan.size)
        self.way = _choose_way(risk, plan)
        self.full = self.way == "dense" and plan.size == risk.n
        self.visits = Visits(plan.visits, risk.problem.rows, plan.seed, plan.first_order)
        self.order: np.ndarray | None = None  # of the rows in a copy
        self.data = self._read_examples()
        self._start = np.ascontiguousarray(theta, float).ravel().copy()
        self._theta = to_copy_coordinates(self.data.whole, self._start.copy())
        self.first_value = risk.value(theta)
        self.limit = self.first_value + DIVERGED_FACTOR * max(1.0, abs(self.first_value))
        self.state = new_state(plan.small, self.limit)
        self._make_vectors()
        self.steps = 0
        self.ending = ""
        self.value = self.norm = math.nan
        self._order = np.arange(risk.n if self.full else 0)
        self._rates = np.empty(0 if self.full else self.per_epoch)
        self._at = self.per_epoch
        self._checkpoint, self._checked = self._theta.copy(), 0  # before the offset leaves it
        if risk.problem.free and self.scaled:
            self.state.offset, self._theta[-1] = self._theta[-1], 0.0

    @property
    def scaled(self) -> bool:
        """Whether the steps keep w = scale v and the offset apart."""
        return self.way in ("single", "batch")

    def _read_examples(self) -> Examples:
        """The data as the steps read it: a faster copy of the rows where one repays its making."""
        risk = self.risk
        problem: Any = risk.problem
        plain = whole = _in_float64(problem.rows)
        if self.way == "single" and self.visits.slow:
            whole = best_copy(plain, "sgd", times=self.plan.steps / self.per_epoch, draw_order=self.visits.once)
        y = problem.y.astype(np.int64, copy=False) if risk.many else problem.y
        p = risk.p
        if whole is not plain:
            order = self.order = whole.order
            self.visits.settle(whole.values.nbytes)
            y, p = y[order], p[order] if risk.weighted else p
        stepping = whole._replace(constant=0.0) if problem.free and self.way != "dense" else whole
        scores = ScoreVectors(np.empty(problem.K), np.empty(problem.K)) if risk.many else None
        return Examples(stepping, whole, y, p, risk.weighted, risk.lam, problem.free, problem.d + 1, scores)

    def _make_vectors(self) -> None:
        """The arrays that the steps write; of those that a way does not need one entry."""
        plan, m, n = self.plan, self._theta.size, self.risk.n
        average, rows = AVERAGES[plan.average], plan.room.rows
        plain = plan.method not in ("momentum", "adam")
        keep = self.risk.loss.conjugate_curvature == 0.0 and plain and not plan.literal
        B, u = np.zeros(m if average else 1), np.zeros(n if keep else 1)
        self.sums = IterateSums(B, u, average, plan.begin, keep)
        self.book = TraceBook(
            np.zeros(rows, np.int64), np.zeros(rows), np.zeros(rows), np.zeros(rows), np.zeros(rows),
            np.zeros((rows, m)), np.zeros((rows, m)), np.zeros(m), np.zeros(1, np.int64), np.array([plan.room.every]),
        )  # fmt: skip
        self.rule = StepRule(plan.method == "momentum", plan.method == "adam", *plan.betas)
        self.vectors = StepVectors(*(np.zeros(m if self.way == "dense" else 1) for _ in StepVectors._fields))
        self._slopes = np.empty(plan.size if self.way == "batch" else 1)

    # -- steps -----------------------------------------------------------------------------------------------------

    def advance(self, most: int) -> bool:
        """Some more steps, not beyond ``most`` in all, nor beyond the end of an epoch; False where they ended by themselves."""
        chunk = 30_000_000  # values touched between two looks at the clock: some 50 ms
        stored = n_stored(self.risk.problem.rows)
        if self.full:
            count = min(most - self.steps, max(1, chunk // max(1, stored)))
            rates = self.plan.schedule.rates(self.steps + 1, np.empty(count))
            self._step(StepRange(self._order, self.plan.size, rates, 0, count, self.steps, False))
            self.steps += count
            return self._goes_on()
        if self._at >= self.per_epoch:
            self._begin_epoch()
        per_step = self.plan.size * stored / self.risk.n + (self._theta.size if self.way != "single" else 0)
        count = max(1, int(chunk / max(1.0, per_step)))
        first, last = self._at, min(self.per_epoch, self._at + count, self._at + most - self.steps)
        t = self.steps - self._at
        self._step(StepRange(self._order, self.plan.size, self._rates, first, last, t, self.visits.far))
        self.steps += last - first
        self._at = last
        return self._goes_on()

    def _begin_epoch(self) -> None:
        self._order = self.visits.next_epoch()
        self._rates = self.plan.schedule.rates(self.steps + 1, self._rates)
        self._at = 0
        # The point is kept before each of the first 8 epochs, should the descent diverge; later so seldom that to keep one of its
        # numbers may take as long as to read 50 values of the data.
        seldom = 1 + 50 * self._theta.size // max(1, n_stored(self.risk.problem.rows))
        epoch = self.steps // self.per_epoch
        if 0 < epoch and (epoch <= 8 or epoch % seldom == 0):
            self._join(self._checkpoint)
            self._checked = self.steps

    def _step(self, steps: StepRange) -> None:
        loss, data, theta, sums, state, book = (
            self.loss, self.data, self._theta, self.sums, self.state, self.book,
        )  # fmt: skip
        if self.way == "single":
            compiled_steps.sgd_steps(loss, data, steps, theta, sums, state, book)
        elif self.way == "batch":
            compiled_steps.minibatch_steps(loss, data, steps, theta, sums, state, book, self._slopes)
        elif self.way == "literal":
            self._step_as_written(steps)
        else:
            compiled_steps.gradient_steps(loss, data, steps, theta, sums, state, book, self.rule, self.vectors)

    def _step_as_written(self, steps: StepRange) -> None:
        """The steps as they read, on dense copies of some rows at a time, and the trace between them."""
        most_values = 100_000  # of a dense copy: 0.8 MB
        data, book, theta, t, first = self.data, self.book, self._theta, steps.t, steps.first
        while first < steps.last and self.state.broken_off < 0:
            due = next_due(book.every[0], t + first) - t
            if first == due:
                J = loss_and_gradient(self.loss, data, data.scores, theta, book.gradient)
                write_point(book, t + first, steps.rates[first], J, float(np.linalg.norm(book.gradient)), theta)
                due = next_due(book.every[0], t + first + 1) - t
            stop = min(steps.last, first + max(1, most_values // theta.size), due if due > first else steps.last)
            chosen = steps.order[first:stop]
            X, y, p = take_dense(data.rows, chosen), data.y[chosen], data.p[chosen] if data.weighted else data.p
            part = steps._replace(order=chosen, rates=steps.rates[first:stop], t=t + first)
            written_out = data._replace(rows=X, whole=X, y=y, p=p)
            compiled_steps.sgd_steps_as_written(self.loss, written_out, part, theta, self.sums, self.state)
            first = stop

    def _goes_on(self) -> bool:
        """Whether the steps did not end by themselves; else ``ending`` says how, and ``steps`` when."""
        state = self.state
        if state.broken_off >= 0:
            self.steps, self.ending = int(state.broken_off) + 1, "diverged"
        elif state.rose or state.converged:
            self.steps, self.ending = int(state.last), "converged" if state.converged else "diverged"
        return self.ending == ""

    def close(self, status: str) -> str:
        """Look at the last point: its value, its gradient, the last row of the trace. The status, which that may change."""
        theta, state, book = self._join(), self.state, self.book
        gradient = np.zeros_like(theta)
        self.value = float(loss_and_gradient(self.loss, self.data, self.data.scores, theta, gradient))
        self.norm = float(np.linalg.norm(gradient))
        if self.full and self.ending == "":
            watch_full_gradient(self.value, self.norm, self.steps, theta, self.vectors, state, book)
            status = "converged" if state.converged else "diverged" if state.rose else status
        elif not (self.value <= self.limit and math.isfinite(self.norm)):
            status = "diverged"
        if book.every[0] and (not book.filled[0] or book.step[book.filled[0] - 1] != self.steps):
            book.gradient[:] = gradient
            write_point(book, self.steps, math.nan, self.value, self.norm, theta)
        return status

    # -- points ----------------------------------------------------------------------------------------------------

    def to_user(self, theta: np.ndarray) -> np.ndarray:
        """The user's theta for one in the coordinates of the rows that are read."""
        return from_copy_coordinates(self.data.whole, theta)

    def _join(self, theta: np.ndarray | None = None) -> np.ndarray:
        """The point of now, in the coordinates of the rows that are read; written into ``theta`` where it is given."""
        theta = np.multiply(self._theta, self.state.scale if self.scaled else 1.0, out=theta)
        if self.scaled and self.data.free:
            theta[-1] = self.state.offset
        return theta

    def theta(self) -> np.ndarray:
        """The point of now."""
        return self.to_user(self._join()).reshape(self.risk.shape)

    def u(self) -> np.ndarray | None:
        """The dual point that the steps kept, not yet inside its box."""
        if not self.sums.keep:
            return None
        u = self.sums.u * (self.state.dual_scale if self.way == "dense" else self.state.scale)
        if self.order is not None:
            u[self.order] = u.copy()
        return u

    def mean(self) -> np.ndarray | None:
        """The average of the iterates; None where it is not kept, or none of them counted yet."""
        weight = self.state.weight_sum
        if not self.sums.average or weight == 0.0:
            return None
        total = -self.sums.B
        if self.scaled:
            total += self.state.scale_sum * self._theta
            if self.data.free:
                total[-1] = self.state.offset_sum
        return self.to_user(total / weight)

    def best(self) -> tuple[np.ndarray, float, int]:
        """The point of the lowest value seen, with its value and step."""
        state, book = self.state, self.book
        if self.full and math.isfinite(state.best):
            return self.vectors.best.copy(), float(state.best), int(state.best_step)
        found = [(self.first_value, 0, self._start)]
        checkpoint = self.to_user(self._checkpoint)
        found.append((self.risk.value(checkpoint.reshape(self.risk.shape)), self._checked, checkpoint))
        found += [
            (float(book.loss[k]), int(book.step[k]), self.to_user(book.theta[k])) for k in range(int(book.filled[0]))
        ]
        value, step, theta = min((f for f in found if math.isfinite(f[0])), key=lambda f: f[0])
        return theta.copy(), value, step

    def end(self, status: str) -> DescentEnd:
        """Where it ended, after `close`."""
        state, vectors = self.state, self.vectors
        broke = None
        if state.broke_step >= 0:
            broke = int(state.broke_step), float(state.broke_rate), vectors.broke, vectors.broke_gradient
        theta = self.theta().ravel()
        return DescentEnd(status, self.steps, theta, self.value, self.norm, self.best(), broke, self.mean(), self.u())


def _choose_way(risk: LinearRisk, plan: DescentPlan) -> str:
    """Batches of one score a row need no gradient written out; everything else does."""
    if plan.literal:
        return "literal"
    if risk.many or plan.method not in ("sgd", "minibatch"):
        return "dense"
    return "single" if plan.size == 1 else "batch"


def _in_float64(rows: Any) -> Any:
    """Small data in float64, which changes no value: the steps are then compiled for fewer types."""
    return (
        rows if n_stored(rows) > SMALL_FIT_VALUES else rows._replace(values=rows.values.astype(np.float64, copy=False))
    )
