"""Models with a sparse or signed penalty: P, D, the gap and the proved zeros, recomputed and compared."""

from __future__ import annotations

import numpy as np

from ..arithmetic.compare import at_most
from ..arithmetic.rounding import UNIT
from ..case import ROUNDING_FACTOR, GapCase, Rigour, size_of
from ..classes import label_index, targets_of
from ..errors import CertificateError
from ..form.entries import number
from ..linear.recompute import Task, row_weights
from ..rows import as_rows
from ..same_data import same_rows, same_targets
from .exact import exact_sparse
from .figures import ColumnSums, Found, Omega, column_sums, evaluate_sparse, proved_zeros
from .statement import statement_claims


class SparseCase(GapCase):
    """S problems, of targets or of classes against the rest; the model in float64."""

    def read_data(self, X: object, y: object, sample_weight: object) -> None:
        self.rows = as_rows(X)
        self.weights = same_rows(self.document, self.rows, sample_weight)
        n, S = self.rows.shape[0], len(self.parts)
        self.W, self.b, self.U = (self.arrays[name].astype(np.float64) for name in ("coef", "intercept", "dual"))
        self.index = label_index(y, self.document["classes"], n) if self.K else None
        if self.K:
            self.positives = [1] if self.K == 2 else list(range(self.K))
            self.Y = np.where(self.index[None, :] == np.array(self.positives)[:, None], 1.0, -1.0)
            same_targets(self.document, self.index, "<i8")
        else:
            self.Y = np.ascontiguousarray(targets_of(y, n, several=True).T)
            same_targets(self.document, self.Y.T, "<f8", "targets")
        if len(self.Y) != S:
            raise CertificateError(f"the certificate cannot be read: {S} problems, y has {len(self.Y)}")
        self.c = self.costs()
        # The model depends on no value that targets have in common; within a factor of 2 what is left is exact (Sterbenz).
        self.common = np.zeros(S)
        for k, target in enumerate(self.Y[:, self.c > 0] if self.problem["offset"] == "free" and not self.K else ()):
            first = float(target[0]) if target.size else 0.0
            near = at_most(np.abs(target - first), 2.0**-10 * abs(first)) and at_most(abs(first), 2.0**500)
            self.common[k] = first if near and at_most(abs(self.b[k] - first), 0.5 * abs(first)) else 0.0
        self.Y, self.b = self.Y - self.common[:, None], self.b - self.common

    def costs(self) -> np.ndarray:
        """c of each row."""
        weight, C = self.problem["class_weight"], number(self.problem["C"])
        if weight is None:
            return row_weights(C, self.weights, np.ones(1), np.zeros(self.weights.size, dtype=np.intp))
        return row_weights(C, self.weights, np.array([number(w) for w in weight]), self.index)

    def judge(self, rigorous: Rigour) -> None:
        sound = statement_claims(self, self.common)
        sound &= self.finite_claim("coef, intercept, dual", self.W, self.b, self.U, note="not finite")
        zeros = self.arrays["zeros"]
        sound &= self.claim("zeros", "0 or 1", None, bool(((zeros == 0) | (zeros == 1)).all()))
        if self.problem["offset"] == "none":
            self.no_offset_claim(self.b)
        if sound and self.weights_claim(self.c, note="C times weights overflows"):
            loss, scale = self.problem["loss"], number(self.problem["offset_scale"])
            target = self.Y.astype(np.int8) if self.K else self.Y
            task = Task(self.rows, target, self.c, loss, self.problem["offset"], scale)
            omega = Omega(number(self.problem["l1"]), number(self.problem["l2"]), self.problem["positive"])
            self._figure_claims(task, omega, rigorous)
        self.claim("figures", "recomputed", None, len(self.bounds) == len(self.parts), "from the data")
        self.total_claims()

    def _figure_claims(self, task: Task, omega: Omega, rigorous: Rigour) -> None:
        """Primal, dual, gap and rounding of each problem, and its zeros."""
        columns = column_sums(task)
        figures = evaluate_sparse(task, omega, self.W, self.b, self.U, columns)
        exact = exact_sparse(task, omega, self.W, self.b, self.U) if rigorous == "exact" else [None] * len(figures)
        null = (
            1e-6 * float(task.c.sum()) if self.K else 0.0
        )  # of the loss of w = 0: below that an objective is rounding
        for k, (sub, found, fractions) in enumerate(zip(self.parts, figures, exact, strict=True)):
            which, plain = self.which(k), found.figures
            ends = fractions.floats() if fractions is not None else None
            primal, dual, gap = ends or (plain.primal, plain.dual, plain.gap)
            self.bounds.append((primal.up, dual.low, gap.up))
            if omega.positive:
                self.claim(which + "signs", ">= 0", None, at_most(0.0, self.W[k]), "no coefficient is below 0")
            self.feasible_claim(which, plain.feasible)
            size, alone = size_of(primal, dual) + null, size_of(primal, primal) + null
            stated = self.rounding_claim(which, number(sub["rounding"]), ROUNDING_FACTOR * plain.textbook, plain.finite)
            room = stated + 4.0 * UNIT * size
            near = min(room, ROUNDING_FACTOR * plain.own + 4.0 * UNIT * alone)
            for name, interval, reach, whole in (
                ("primal", primal, near, alone), ("dual", dual, room, size), ("gap", gap, room, size)
            ):  # fmt: skip
                self.figure_claim(which + name, number(sub[name]), interval, reach, whole, plain.finite)
            self._zeros_claim(k, task, omega, found, columns)

    def _zeros_claim(self, k: int, task: Task, omega: Omega, found: Found, columns: ColumnSums) -> None:
        """Each zero that is claimed is proved again, and stands as one in the model."""
        claimed = self.arrays["zeros"][k] != 0
        proved = proved_zeros(task, omega, found, columns)[: claimed.size]
        good = bool((proved | ~claimed).all()) and not (claimed & (self.W[k] != 0.0)).any()
        note = "0 in every optimal model"
        self.claim(self.which(k) + "zeros", int(claimed.sum()), int(proved.sum()), good, note)
