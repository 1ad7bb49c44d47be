"""Certificates of kernel machines: the gap of each problem from u, the scalars and the training rows.

w = sum u phi(x) is the model itself: there is nothing to compare it with.  The kernel is the judge's own (`values`); for a
matrix that was given, K + shift I is proved to be positive semidefinite, without which the dual would bound nothing.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..arithmetic.compare import at_most, between, capped, equal
from ..arithmetic.rounding import UNIT
from ..case import GAP_SHARE, ROUNDING_FACTOR, GapCase, Rigour, size_of, unbounded
from ..classes import label_index, targets_of
from ..errors import CertificateError
from ..form.entries import is_number, number
from ..linear.recompute import row_weights
from ..rows import DenseRows, SparseRows, as_dense, as_rows, some
from ..same_data import same_rows, same_targets
from .document import MATRICES, defect_of_arrays, pairs_of
from .figures import Found, evaluate, evaluate_hard, posed
from .values import Values, gamma_of_scale, given_matrix, proved_positive


class KernelCase(GapCase):
    """Signs or targets of the rows, and the pair of classes of each subproblem."""

    tiers = {False: "float64", True: "proved bounds, float64", "exact": "proved bounds, float64"}

    def read_data(self, X: Any, y: Any, sample_weight: Any) -> None:
        self.kernel, self.kind = self.problem["kernel"], self.problem["kind"]
        self.gap = self.block["kind"] == "gap"
        self.hard = number(self.problem["C"]) == math.inf
        self.rows = as_rows(X)
        self.matrix = self.kernel["name"] in MATRICES
        n, d = self.rows.shape
        self.weights = same_rows(self.document, self.rows, sample_weight)
        if self.matrix and (n != d or isinstance(self.rows, SparseRows)):
            raise CertificateError("the certificate cannot be read: its kernel is a matrix, and X is no square array")
        self.index, self.targets = np.zeros(n, np.int64), np.zeros(n)
        if self.K:
            self.index = label_index(y, self.document["classes"], n)
            same_targets(self.document, self.index, "<i8")
        else:
            self.targets = np.zeros(n) if self.kind == "one_class" else targets_of(y, n)[:, 0]
            same_targets(self.document, self.targets[:, None] + 0.0, "<f8")
        self.pairs: list[Any] = pairs_of(self.K) if self.K else [(None, None)]

    def judge(self, rigorous: Rigour) -> None:
        sound = self._statement_claims()
        if self.claim("figures", "recomputed", None, sound, "from the data"):
            self._figure_claims(bool(rigorous))
        self.total_claims(self.gap)
        used = {"poly": ("gamma", "coef0", "degree"), "rbf": ("gamma",), "sigmoid": ("gamma", "coef0")}
        known = used.get(self.kernel["name"], ())
        for key in ("gamma", "coef0", "degree"):
            self.unchecked += [] if key in known else [f"parameter {key}: the kernel has none"]

    def _statement_claims(self) -> bool:
        p, problem = self.parameters, self.problem
        sound = True
        for key, default in (("C", 1.0), ("nu", 0.0), ("epsilon", 0.0)):
            asked, value = p.get(key, default), number(problem[key])
            good = is_number(asked) and number(asked) == value
            good = good and (math.isfinite(value) or (key == "C" and self.kind == "c_svc" and self.gap))
            good = good and (value > 0.0 or key == "epsilon" or key not in p)
            sound &= self.claim(key, value, asked, good)
        self.number_claim("tol", self.block["tol"])
        name = p.get("kernel")
        called = "callable" if name is None else name
        sound &= self.claim("kernel", self.kernel["name"], name, self.kernel["name"] == called)
        self._kernel_claims()
        sound &= self.all_hold()
        self.c, resolved = np.zeros(0), np.ones(1)
        if self.K:
            sound &= self.class_claims(problem["class_weight"])
            resolved = np.array([number(w) for w in problem["class_weight"]])
        stated = [(sub["positive"], sub["negative"]) for sub in self.parts]
        sound &= self.claim("subproblems", stated[:5], self.pairs[:5], stated == self.pairs)
        if sound:
            self.c = row_weights(1.0 if self.hard else number(problem["C"]), self.weights, resolved, self.index)
            sound = self.weights_claim(self.c, some=False, note="C times weights overflows")
        finite = self.finite_claim("dual point and scalars", *self.arrays.values())
        return self._support_claim() and sound and finite

    def _kernel_claims(self) -> None:
        p, kernel = self.parameters, self.kernel
        name = kernel["name"]
        gamma, coef0, shift = (number(kernel[key]) for key in ("gamma", "coef0", "shift"))
        allowed = shift == 0.0 or (self.matrix and self.gap)
        self.claim("shift", shift, None if self.matrix else 0.0, allowed, "of a matrix")
        wanted, room, wide = 0.0, 0.0, name in ("poly", "rbf", "sigmoid")
        if wide:
            asked = p.get("gamma")
            if asked == "scale":  # which another program computed in floats
                wanted = gamma_of_scale(self.rows, self.weights)
                room = 1e-9 * wanted
            elif asked == "auto":
                wanted = 1.0 / self.rows.shape[1]
            else:
                wanted = number(asked) if is_number(asked) else math.nan
        self.claim("gamma", gamma, wanted, (wanted > 0.0 or not wide) and equal(gamma, wanted, room))
        asked = p.get("coef0") if name in ("poly", "sigmoid") else 0.0
        self.claim("coef0", coef0, asked, is_number(asked) and number(asked) == coef0)
        degree = p.get("degree") if name == "poly" else 0
        self.claim("degree", kernel["degree"], degree, is_number(degree) and kernel["degree"] == degree)

    def _support_claim(self) -> bool:
        """The support vectors of the file are the rows with a part in some problem."""
        rows = np.flatnonzero(self.arrays["dual"].any(axis=0))
        support = self.problem["support"]
        good = support["rows"] == rows.size
        if good and support["stored"] == "dense":
            good = bool(np.array_equal(as_dense(some(self.rows, rows)), self.arrays["vectors"]))
        elif good and support["stored"] == "csr":
            good = defect_of_arrays(self.document, self.arrays) is None and self._same_csr(rows)
        elif good:
            good = self.matrix
        return self.claim("support vectors", support["rows"], int(rows.size), good, "are rows of X")

    def _same_csr(self, rows: np.ndarray) -> bool:
        values, columns, starts = (self.arrays[f"vector_{key}"].tolist() for key in ("values", "columns", "starts"))
        for block in some(self.rows, rows).blocks():
            for i in range(block.n):
                part = slice(starts[block.start + i], starts[block.start + i + 1])
                theirs = {j: v for j, v in zip(columns[part], values[part], strict=True) if v != 0.0}
                if theirs != {j: v for j, v in zip(*block.row(i), strict=True) if v != 0.0}:
                    return False
        return True

    def _figure_claims(self, proved: bool) -> None:
        counted = self.c > 0.0
        if self.gap:
            self._mercer_claim(np.flatnonzero(counted))
        elif self.kernel["name"] != "sigmoid":  # of a positive semidefinite kernel a gap is claimed, and no less
            self._no_gap_claim(np.flatnonzero(counted))
        for k, pair in enumerate(self.pairs):
            inside = counted if pair[0] is None else counted & ((self.index == pair[0]) | (self.index == pair[1]))
            keep = np.flatnonzero(inside)
            outside = bool(self.arrays["dual"][k][~inside].any())
            self.claim(self.which(k) + "rows", "of its classes", None, not outside, "no other has a part")
            y = self.targets[keep] if pair[0] is None else np.where(self.index[keep] == pair[0], 1.0, -1.0)
            if keep.size == 0 or (pair[0] is not None and abs(float(y.sum())) == y.size):
                self._one_class_claim(k, float(np.sign(y.sum())))
                continue
            found = self._evaluate(k, keep, y, proved)
            if self.gap and found is not None:
                self.bounds.append((found.primal.up, found.dual.low, found.gap.up))

    def _one_class_claim(self, k: int, side: float) -> None:
        """Rows of one class have a constant that names it, and figures of 0."""
        sub, scalars = self.parts[k], self.arrays["scalars"][k]
        zero = ("primal", "rounding", "violation", *(("dual", "gap", "relative_gap") if self.gap else ()))
        none = not self.arrays["dual"][k].any() and all(number(sub[key]) == 0.0 for key in zero)
        none = none and float(scalars[0]) == side and not scalars[1:].any()
        self.claim(self.which(k) + "one class", number(sub["primal"]), 0.0, none, "a constant that names it")

    def _evaluate(self, k: int, keep: np.ndarray, y: np.ndarray, proved: bool) -> Found | None:
        """The figures of subproblem k, with their claims; None where nothing is known of a hard margin."""
        which, sub, u, scalars = self.which(k), self.parts[k], self.arrays["dual"][k][keep], self.arrays["scalars"][k]
        values = Values(self.rows, self.kernel, keep, proved)
        f, off = values.sums(u)
        R2 = values.radius2()
        if not self.hard:
            problem = posed(self.kind, self.c[keep], y, number(self.problem["nu"]), number(self.problem["epsilon"]))
            spread2 = values.spread2() if problem.two else 0.0
            found = evaluate(problem, u, scalars, f, off, R2, self.gap, spread2, values.rough(u))
        else:
            found, held = evaluate_hard(y, u, float(scalars[0]), f, off, R2, values.rough(u))
            if unbounded(sub):
                self.unproved_margins_claim(which, sub)
                self._violation_claim(which, sub, found, 0.0)
                self.bounds.append((math.inf, 0.0, math.inf))
                return None
            self.claim(which + "margins kept", True, held, held, "y f >= 1 for every row, for certain")
        self._subproblem_claims(which, sub, found)
        return found

    def _mercer_claim(self, keep: np.ndarray) -> bool:
        """That the kernel is positive semidefinite: by its form, or proved for the matrix."""
        # Shifts: one is needed where this share of it is not enough; up to NO_SHIFT times the margin of the proof it is none.
        shift_share, no_shift = 1.0 / 64.0, 8.0
        name, shift = self.kernel["name"], number(self.kernel["shift"])
        if self.matrix:
            assert isinstance(self.rows, DenseRows)
            K = given_matrix(self.rows, keep)
            close = equal(self.rows.values, self.rows.values.T, 2e-7 * float(np.abs(K).max(initial=0.0)))
            none = no_shift * (len(K) + 4) * UNIT * float(np.abs(np.diagonal(K)).sum())
            needed = shift <= none or not proved_positive(K, shift_share * shift)
            # Single precision loses less than this share of the largest value; beyond it another problem is certified.
            small = at_most(shift, 2e-6 * float(np.diagonal(K).max(initial=0.0)), none)
            shown = proved_positive(K, shift) and close and needed and small
            note = f"K + {shift:g} I, by a Cholesky factorisation; and it takes a shift, no larger than rounding"
            return self.claim("positive semidefinite", True, shown, shown, note)
        if name == "poly" and number(self.kernel["coef0"]) < 0.0 and self.kernel["degree"] > 0:
            values = Values(self.rows, self.kernel, keep, True)
            X = np.concatenate(list(values._tiles())) if keep.size else np.zeros((0, 1))
            off = values._off(float(values.lengths.max()))
            shown = proved_positive(values._of(X @ X.T) - keep.size * off * np.eye(keep.size), 0.0)
            return self.claim("positive semidefinite", True, shown, shown, "by a Cholesky factorisation")
        return self.claim("positive semidefinite", True, name != "sigmoid", name != "sigmoid", f"by the form of {name}")

    def _no_gap_claim(self, keep: np.ndarray) -> bool:
        """That a kernel without a gap is not one that is positive semidefinite by its form, or with a shift like rounding."""
        name, shown = self.kernel["name"], True
        if self.matrix and 0 < keep.size <= 8_000:
            # Of no more rows a fit tries shifts, up to this share of the largest value.
            K = given_matrix(self.rows, keep)
            shown = not proved_positive(K, 1e-7 * float(np.diagonal(K).max()))
        elif not self.matrix:
            shown = name == "poly" and number(self.kernel["coef0"]) < 0.0
        return self.claim("no gap", "heuristic", None, shown, "the kernel is not positive semidefinite")

    def _subproblem_claims(self, which: str, sub: dict[str, Any], found: Found) -> None:
        self.feasible_claim(which, found.feasible)
        size = size_of(found.primal, found.dual if self.gap else found.primal)
        most = ROUNDING_FACTOR * found.textbook
        if self.hard:  # whose rounding is coarse: this part of its tolerance
            share = 0.05 * number(self.block["tol"]) if sub["status"] == "converged" else GAP_SHARE
            most = max(most, share * found.primal.low)
        room = self.rounding_claim(which, number(sub["rounding"]), most) + 4.0 * UNIT * size
        for name in ("primal", "dual", "gap") if self.gap else ("primal",):
            self.figure_claim(which + name, number(sub[name]), getattr(found, name), room, size + found.largest)
        self._violation_claim(which, sub, found, room)

    def _violation_claim(self, which: str, sub: dict[str, Any], found: Found, room: float) -> None:
        swing = found.violation.up - found.violation.low
        swing += 8.0 * UNIT * found.wobble + float(capped(room, found.wobble, GAP_SHARE))
        claimed = number(sub["violation"])
        holds = between(claimed, found.violation.low, found.violation.up, swing)
        self.claim(which + "violation", claimed, found.violation.up, holds)

    def reached(self, k: int, sub: dict[str, Any]) -> bool:
        if self.gap:
            return super().reached(k, sub) or self._is_nothing(k, sub)
        return at_most(number(sub["violation"]), number(self.block["tol"]))

    def _is_nothing(self, k: int, sub: dict[str, Any]) -> bool:
        """An optimum of 0 up to rounding (one class around the origin, nu-SVC whose hulls meet) has no relative gap: there the
        absolute one decides, if it is small beside the square of what u sums to."""
        primal, dual, gap, rounding = (number(sub[key]) for key in ("primal", "dual", "gap", "rounding"))
        mass = float(np.abs(self.arrays["dual"][k]).sum())
        small = at_most(max(abs(primal), abs(dual), gap), rounding) and at_most(rounding, 1e-9 * mass * mass)
        return self.kind in ("one_class", "nu_svc") and small
