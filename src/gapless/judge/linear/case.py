"""Linear classifiers with a penalty: P, D and the gap of each subproblem, recomputed and compared.

A figure is accepted where it lies in the judge's own enclosure of it, widened by the rounding error the certificate admits for
itself; and neither that error nor the enclosure may be larger than plain float64 arithmetic on this problem can make it, or
than a share of the problem's own size.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..arithmetic.rounding import UNIT, Interval
from ..case import ROUNDING_FACTOR, GapCase, Rigour, size_of, unbounded
from ..form.entries import number
from .losses import HARD
from .recompute import Figures, Task, evaluate, row_weights
from .rigorous import ExactFigures, exact_figures
from .softmax import evaluate_softmax, exact_softmax
from .statement import statement_claims, unused_parameters


class LinearCase(GapCase):
    """Coefficients, intercepts and dual points in float64, a line each."""

    in_blocks = True

    def judge(self, rigorous: Rigour) -> None:
        coef, intercept, dual = (
            self.arrays[name].astype(np.float64, copy=False) for name in ("coef", "intercept", "dual")
        )
        sound = statement_claims(self)
        softmax = self.problem["loss"] == "softmax"  # one problem of K lines; of the others there is one for each line
        positives: list[int | None] = [None] if softmax else [1] if self.K == 2 else list(range(self.K))
        stated = [sub["positive"] for sub in self.parts]
        sound &= self.same_claim("subproblems", stated, positives)
        sound &= self.finite_claim("coef, intercept, dual", coef, intercept, dual, note="not finite")
        if self.problem["offset"] == "none":
            self.no_offset_claim(intercept)
        if sound:
            # The hard margin: a row counts or it does not, and the loss is 0 or infinite.
            hard = number(self.problem["C"]) == math.inf
            class_weight = np.array(self.problem["class_weight"], dtype=np.float64)
            c = row_weights(1.0 if hard else number(self.problem["C"]), self.weights, class_weight, self.index)
            if hard:
                c = ((self.weights > 0.0) & (class_weight[self.index] > 0.0)).astype(np.float64)
            if self.weights_claim(c, some=False, note="C times weights overflows"):
                target = self.index[None, :]
                if not softmax:
                    target = np.where(target == np.array(positives)[:, None], 1, -1).astype(np.int8)
                loss, scale = HARD if hard else self.problem["loss"], number(self.problem["offset_scale"])
                self._figure_claims(
                    Task(self.rows, target, c, loss, self.problem["offset"], scale), coef, intercept, dual, rigorous
                )
        self.claim("figures", "recomputed", None, len(self.bounds) == len(self.parts), "from the data")
        self.total_claims()
        self.unchecked += unused_parameters(self.document)

    def _figure_claims(
        self, task: Task, coef: np.ndarray, intercept: np.ndarray, dual: np.ndarray, rigorous: Rigour
    ) -> None:
        """Primal, dual, gap, relative gap and rounding of each subproblem."""
        softmax, hard = task.loss == "softmax", task.loss == HARD
        figures = (evaluate_softmax if softmax else evaluate)(task, coef, intercept, dual)
        exact: Sequence[ExactFigures | None] = [None] * len(figures)
        if rigorous == "exact":
            exact = (exact_softmax if softmax else exact_figures)(task, coef, intercept, dual)
        # A millionth of the loss of w = 0: below that an objective is rounding.
        null = 0.0 if hard else 1e-6 * float(task.c.sum()) * math.log(max(3, len(coef)))
        for k, (sub, found, fractions) in enumerate(zip(self.parts, figures, exact, strict=True)):
            ends = fractions.floats() if fractions is not None else None
            primal, below, gap = ends or (found.primal, found.dual, found.gap)
            if hard and unbounded(sub):
                self.unproved_margins_claim(self.which(k), sub, not dual[k].any())
                self.bounds.append((math.inf, 0.0, math.inf))
                continue
            self.bounds.append((primal.up, below.low, gap.up))
            if hard:
                note = "y f >= 1 for every row, for certain"
                self.claim(self.which(k) + "margins kept", True, found.kept, found.kept, note)
            self._subproblem_claims(k, found, (primal, below, gap), null)

    def _subproblem_claims(
        self, k: int, found: Figures, ends: tuple[Interval, Interval, Interval], null: float
    ) -> None:
        """``null`` is what sizes are at least."""
        which, sub, (primal, dual, gap) = self.which(k), self.parts[k], ends
        self.feasible_claim(which, found.feasible)
        size, alone = size_of(primal, dual) + null, size_of(primal, primal) + null
        stated = self.rounding_claim(which, number(sub["rounding"]), ROUNDING_FACTOR * found.textbook, found.finite)
        # Half an ulp of a figure is no error: it is how a float is written. A dual point gives the primal no room.
        room = stated + 4.0 * UNIT * size
        near = min(room, ROUNDING_FACTOR * found.own + 4.0 * UNIT * alone)
        self.figure_claim(which + "primal", number(sub["primal"]), primal, near, alone, found.finite)
        self.figure_claim(which + "dual", number(sub["dual"]), dual, room, size, found.finite)
        self.figure_claim(which + "gap", number(sub["gap"]), gap, room, size, found.finite)
