"""The hard margin of many rows, from the hard margins of small working sets.

    minimise over w, b    1/2 |w|^2      subject to  y_i (<w, x_i> + b) >= 1

Most rows never touch the margin.  A working set is solved (interior point), the margins of all rows are computed, the worst
violators join, and so on: the margin of a subset is an upper bound on the margin of all rows, and falls with every round, so that
a subset which no hyperplane separates ends the search at once.  Active sets then settle the last digits, with violators joining
until there is none.  Where too many rows lie on the margin for a factor of their size, see `pivoting`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gapless import rows as R
from gapless.problems.hard_margin import HardMargin
from gapless.solvers.hard_margin.active_set import ActiveSetPoint, solve_active_set
from gapless.solvers.hard_margin.interior_point import NearestPoints, find_nearest_points
from gapless.solvers.hard_margin.pivoting import solve_by_pivoting
from gapless.solvers.hard_margin.thresholds import HARD_MARGIN_THRESHOLDS
from gapless.solvers.loop import Ended, Loop, Stop, Watch
from gapless.solvers.solution import Solution, Status


class HardMarginPoint(NamedTuple):
    """w, b and alpha of the hard margin (y f >= 1 for all rows, alpha >= 0, sum alpha y = 0 with a free offset).

    ``status`` is "converged", or "infeasible": then w and b are 0, and alpha (sum 1) is the witness found, which says that no
    margin is above ``upper``.  ``lower`` = 1/|w| and ``upper`` enclose the largest margin up to rounding.
    """

    w: np.ndarray
    b: float
    alpha: np.ndarray
    status: Status
    lower: float
    upper: float
    n_iter: int


def hard_margin(
    X: Any,
    y: np.ndarray,
    *,
    offset: str = "free",
    offset_scale: float = 1.0,
    stop: Stop | None = None,
    watch: Watch = Watch(),
) -> HardMarginPoint:
    """The largest margin of rows X (dense C-ordered or CSR, float32 or float64) with signs y, both of which occur.

    The status is "infeasible" where |sum alpha y x| is at most 1e-11 of the longest row for some alpha: in floats, so that
    `separability` has to prove it.  With a penalised offset, lower and upper are bounds for the rows with the constant feature.
    """
    problem = HardMargin.from_rows(X, y, offset, offset_scale)
    solution = solve_hard_margin(problem, stop or Stop(1e-8, 10_000), watch)
    theta, u = solution.theta, solution.u
    alpha = u * problem.y
    if solution.status == "infeasible":
        combined = problem.combine(u)
        upper = float(np.sqrt(2.0 * problem.penalty(combined)))
        return HardMarginPoint(np.zeros(problem.d), 0.0, alpha, "infeasible", 0.0, upper, solution.n_iter)
    w, b = problem.split(theta)
    primal, dual = problem.penalty(theta), problem.dual(u, problem.primal(theta))
    with np.errstate(all="ignore"):
        lower, upper = 1.0 / np.sqrt(2.0 * primal), 1.0 / np.sqrt(2.0 * max(dual, 0.0))
    return HardMarginPoint(w, b, alpha, solution.status, float(lower), float(upper), solution.n_iter)


def solve_hard_margin(problem: HardMargin, stop: Stop, watch: Watch = Watch()) -> Solution:
    """Solve the hard margin; where no hyperplane separates, the status is "infeasible" and u the witness (sum alpha = 1)."""
    loop = Loop(stop, watch)
    theta, u, used = np.zeros(problem.d + 1), np.zeros(problem.n), "start"
    with np.errstate(all="ignore"):
        search = _WorkingSetSearch(problem, loop)
        try:
            longest = float(problem.norms2.max()) - problem.free
            limits = HARD_MARGIN_THRESHOLDS
            vanishes = problem.R2 < limits.smallest_square and problem.rows.values.any()
            if not longest < limits.largest_square or vanishes:
                loop.end("not_finite")
            if problem.free and abs(int(problem.y.sum(dtype=np.int64))) == problem.n:
                # With one class, w = 0 keeps all margins, and no alpha > 0 has sum alpha y = 0.
                theta[-1] = float(problem.y[0])
                loop.record(theta, u, 0.0, 0.0, ends=False)
                loop.end("converged")
            wide = min(problem.n, search.width) > limits.factored_rows
            used = "pivoting" if wide else "working_set"
            if wide:
                solve_by_pivoting(problem, loop)
                loop.end("converged" if loop.relative_gap <= stop.relative_gap else "stalled")
            search.run()
        except Ended:
            pass
        except KeyboardInterrupt:
            loop.interrupt()
        except (FloatingPointError, np.linalg.LinAlgError):
            loop.status = loop.status or "stalled"
        if loop.status == "infeasible":
            u = search.witness
        elif loop.best_theta is not None and loop.best_u is not None:
            theta, u = loop.best_theta, loop.best_u
        elif loop.best_u is not None:  # no point kept all margins: theta stays 0
            u = loop.best_u
    status: Status = loop.status or "stalled"
    return Solution(theta, u, status, loop.n_iter, loop.seconds, used, loop.history)


class _WorkingSetSearch:
    """The working set and its rows, and the search for the rows that it misses."""

    def __init__(self, problem: HardMargin, loop: Loop) -> None:
        self.problem, self.loop = problem, loop
        self.y = problem.y
        self.witness = np.zeros(problem.n)
        #: Columns of the working set: the constant feature of a penalised offset is one of them.
        self.width = problem.d + (0 if problem.free or problem.rows.constant == 0.0 else 1)

    def run(self) -> None:
        problem = self.problem
        chosen = self._choose_first_rows()
        alpha = np.zeros(chosen.size)
        while True:
            self._load_rows(chosen)
            hulls = find_nearest_points(self.V, self.gram, self.signs, problem.free, self.loop.tick, alpha)
            self.loop.advance()
            if hulls.touching:
                self._end_infeasible(chosen, hulls.alpha)
            if chosen.size == problem.n:
                break
            self._check_pass_limit()
            fresh = self._find_violators(self._evaluate_all_rows(chosen, hulls.alpha * self.signs), hulls.lower, chosen)
            if fresh.size == 0:
                break
            keep = hulls.slack <= 10.0 * np.median(hulls.slack) if chosen.size > self._most_kept_rows() else slice(None)
            alpha = np.append(hulls.alpha[keep], np.zeros(fresh.size))
            chosen = np.append(chosen[keep], fresh)
        self._settle(chosen, hulls)

    def _check_pass_limit(self) -> None:
        if self.loop.n_iter >= self.loop.stop.passes:
            self.loop.end("max_iter")

    # -- the working set ------------------------------------------------------------------------------------------

    def _most_kept_rows(self) -> int:
        return max(1000, 20 * min(self.width, 400))

    def _choose_first_rows(self) -> np.ndarray:
        """All rows where they are few, else a sample of each class: at least 100 rows, and two for each column."""
        n, width, limits = self.problem.n, self.width, HARD_MARGIN_THRESHOLDS
        if n <= limits.few_rows or n * float(min(n, width)) * width <= limits.multiplications_at_once:
            return np.arange(n)
        parts = []
        for side in (self.y > 0, self.y < 0):
            rows = np.flatnonzero(side)
            parts.append(rows[R.sample(rows.size, min(rows.size, max(100, 2 * min(width, 400))))])
        return np.sort(np.concatenate(parts))

    def _load_rows(self, chosen: np.ndarray) -> None:
        """Load the rows of the working set, dense, or their inner products where there are too many columns."""
        problem = self.problem
        self.signs = self.y[chosen]
        self.part = R.take_rows(problem.rows, chosen)
        if problem.free:
            self.part = self.part._replace(constant=0.0)
        self.V = self.gram = None
        if chosen.size * float(self.width) <= HARD_MARGIN_THRESHOLDS.dense_values:
            self.V = _dense(self.part, self.width)
            if problem.free:
                # Rows far from the origin lose digits in their inner products; a free offset allows to centre them.
                self.V -= self.V.mean(axis=0)
        elif chosen.size <= 2 * HARD_MARGIN_THRESHOLDS.factored_rows:
            self.gram = R.row_products(self.part, np.arange(chosen.size), self.loop.tick)
        else:
            self.loop.end("stalled")

    def _scores(self, u: np.ndarray) -> np.ndarray:
        """<w, x> on the working set for w = sum u x."""
        if self.V is not None:
            return self.V @ (self.V.T @ u)
        return R.scores(self.part, R.combine(self.part, u))

    def _evaluate_all_rows(self, chosen: np.ndarray, u: np.ndarray) -> np.ndarray:
        """y f of all rows for w = sum u x scaled to |w| = 1, with the offset that is best on the working set."""
        problem = self.problem
        full = np.zeros(problem.n)
        full[chosen] = u
        theta = problem.combine(full, self.loop.tick)
        if problem.free:
            theta[-1] = 0.0
        theta /= max(float(np.linalg.norm(theta)), 1e-300)
        z = problem.scores(theta, self.loop.tick)
        if problem.free:
            plus, minus = self.signs > 0, self.signs < 0
            theta[-1] = 0.5 * float((-z[chosen[minus]]).min() - z[chosen[plus]].min())
            z += theta[-1]
        margins = self.y * z
        if float(margins.min()) > 0.0:  # all rows are on their side: stretched, this point is feasible
            u = problem.repair(problem.scale_dual(problem.repair(full)))
            self._record_pair(theta, u)
        return margins

    def _record_pair(self, theta: np.ndarray, u: np.ndarray, last: bool = False) -> None:
        """Record u, and theta stretched until every margin is kept, where a multiple does; the ``last`` pair is returned."""
        feasible = self.problem.stretch_to_feasible(theta)
        primal = np.inf if feasible is None else self.problem.primal(feasible)
        theta, dual = theta if feasible is None else feasible, self.problem.dual(u, primal)
        self.loop.record(theta, u, primal, dual, ends=False)
        if last:
            self.loop.prefer(theta, u, primal, dual)

    def _find_violators(self, margins: np.ndarray, aim: float, chosen: np.ndarray) -> np.ndarray:
        """The worst rows of each class outside the working set, of those below its margin."""
        below = margins < aim * (1.0 - 1e-7) if aim > 0.0 else margins < max(0.0, aim)
        below[chosen] = False
        most = max(50, min(self.width, 400))
        found = []
        for side in (self.y > 0, self.y < 0):
            rows = np.flatnonzero(below & side)
            if rows.size > most:
                rows = rows[np.argpartition(margins[rows], most)[:most]]
            found.append(rows)
        return np.sort(np.concatenate(found))

    # -- the ends -------------------------------------------------------------------------------------------------

    def _end_infeasible(self, chosen: np.ndarray, alpha: np.ndarray) -> None:
        self.witness[chosen] = alpha
        u = self.problem.repair(self.witness * self.y)
        total = float(np.abs(u).sum())
        self.witness = u / total if total > 0.0 else u
        self.loop.end("infeasible")

    def _settle(self, chosen: np.ndarray, hulls: NearestPoints) -> None:
        """Solve by active sets to machine precision; rows that violate the margin join until none does."""
        problem = self.problem
        alpha, slack = hulls.alpha, hulls.slack
        share = alpha / alpha.max()
        near = (share > 1e-9) & (share >= slack / max(hulls.upper**2, 1e-300))
        for _ in range(200):
            held = self._order_held(np.flatnonzero(near), alpha)
            settled = solve_active_set(
                self.V, self.gram, self.signs, problem.free, alpha, held, self._scores, self.loop.tick
            )  # fmt: skip
            self.loop.advance()
            if settled.status == "infeasible":
                self._end_infeasible(chosen, settled.alpha)
            worst = self._record(chosen, settled)
            if worst is None:
                return
            self._check_pass_limit()
            alpha = np.append(settled.alpha, np.zeros(worst.size))
            near = alpha > 0.0
            chosen = np.append(chosen, worst)
            self._load_rows(chosen)

    def _order_held(self, held: np.ndarray, alpha: np.ndarray) -> np.ndarray:
        """Held rows by falling alpha; with a free offset the first two are of different classes."""
        held = held[np.argsort(-alpha[held], kind="stable")]
        if not self.problem.free:
            return held if held.size else np.array([int(np.argmax(alpha))])
        first = [held[self.signs[held] > 0][:1], held[self.signs[held] < 0][:1]]
        for k, side in enumerate((self.signs > 0, self.signs < 0)):
            if first[k].size == 0:
                rows = np.flatnonzero(side)
                first[k] = rows[np.argmax(alpha[rows])][None]
        start = np.concatenate(first)
        return np.append(start, held[~np.isin(held, start)])

    def _record(self, chosen: np.ndarray, settled: ActiveSetPoint) -> np.ndarray | None:
        """Record the point, made feasible; returns the rows to add, or None where no row violates the margin."""
        problem = self.problem
        full = np.zeros(problem.n)
        full[chosen] = settled.alpha
        u = problem.repair(full * self.y)
        theta = problem.combine(u, self.loop.tick)
        if problem.free:
            theta[-1] = 0.0
        z = problem.scores(theta, self.loop.tick)
        if problem.free:
            held = chosen[settled.alpha > 0.0]
            theta[-1] = float(np.mean(self.y[held] - z[held]))
            z += theta[-1]
        margins = self.y * z
        room = 1e-12 + 4.0 * (margins - problem.certain_margins(theta, z))
        below = margins < 1.0 - room
        below[chosen] = False
        self._record_pair(theta, u, last=not below.any())
        if not below.any():
            self.loop.status = "converged" if self.loop.relative_gap <= self.loop.stop.relative_gap else "stalled"
            return None
        return self._find_violators(np.where(below, margins, np.inf), 1.0, chosen)


def _dense(part: R.Rows, width: int) -> np.ndarray:
    """The rows of a working set in float64, with the constant feature where ``width`` has a place for it."""
    if R.is_sparse(part):
        from scipy.sparse import csr_array

        shape = (part.indptr.size - 1, part.n_features)
        values = csr_array((part.values, part.indices, part.indptr), shape=shape).toarray()
    else:
        values = part.values
    values = values.astype(np.float64)
    if width > values.shape[1]:
        values = np.column_stack([values, np.full(values.shape[0], part.constant)])
    return np.ascontiguousarray(values)
