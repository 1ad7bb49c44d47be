"""Certificates of kernel machines: the gap of each problem from u, the scalars and the training rows.

w = sum u phi(x) is the model itself: there is nothing to compare it with.  The kernel is the judge's own (`values`); for a
matrix that was given, K + shift I is proved to be positive semidefinite, without which the dual would bound nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..arithmetic.compare import at_most, between, capped, equal
from ..arithmetic.rounding import UNIT
from ..classes import class_weights_agree, floats_of, label_index
from ..document import is_number, number, read_arrays
from ..errors import CertificateError
from ..linear.case import (
    SHARE,
    Rigour,
    ending_claim,
    gap_claims,
    inside,
    margins_not_proved,
    size_of,
    status_claim,
    sum_claims,
    unbounded,
)
from ..linear.recompute import row_weights
from ..rows import DenseRows, SparseRows, as_rows
from ..schema import Kind
from ..statement import classes_claim, same_rows, same_targets
from ..verdict import Claim, Verdict
from .document import ESTIMATORS, MATRICES, TABLES, array_forms, flaw, flaw_of_arrays, pairs_of
from .figures import Found, evaluate, evaluate_hard, posed
from .values import Values, gamma_of_scale, proved_positive

#: A certificate may admit at most this many times what float64 needs; that of a hard margin, which is coarse, this part of
#: its tolerance.
ROUNDING_FACTOR = 4.0
ROUNDING_SHARE = 0.05
#: gamma="scale" was computed by somebody else, in floats.
GAMMA_ROOM = 1e-9
#: An optimum is 0 where it is not above this share of the largest it could be.
ZERO_SHARE = 1e-9
#: A shift is needed where this share of it is not enough; up to NO_SHIFT times the margin of the proof it is none.
SHIFT_SHARE, NO_SHIFT = 1.0 / 64.0, 8.0
#: Of at most so many rows a fit tries shifts up to the first share of the largest diagonal value; single precision loses less
#: than the second, and beyond it another problem is certified.
MOST_ROWS, LEAST_SHIFT, MOST_SHIFT = 8_000, 1e-7, 2e-6


def check(
    document: dict[str, Any], arrays: Mapping[str, Any], X: Any, y: Any, sample_weight: Any, rigorous: Rigour
) -> Verdict:
    """Judge the certificate of a kernel machine; the verdict and the errors are those of ``judge.check``."""
    case = _Case(document, arrays, X, y, sample_weight)
    claims = [Claim("data", "fingerprint", "fingerprint", True, "rows, labels and weights are those of the fit")]
    bounds: list[tuple[float, float, float]] = []
    sound = case.statement_claims(claims)
    claims.append(Claim("figures", "recomputed", None, sound, "from the data"))
    if sound:
        bounds = case.figure_claims(claims, bool(rigorous))
    case.total_claims(claims)
    tier = "proved bounds, float64" if rigorous else "float64"
    used = {"poly": ("gamma", "coef0", "degree"), "rbf": ("gamma",), "sigmoid": ("gamma", "coef0")}
    known = used.get(document["problem"]["kernel"]["name"], ())
    unused = [f"parameter {key}: the kernel has none" for key in ("gamma", "coef0", "degree") if key not in known]
    return Verdict(claims, unused, bounds if rigorous else [], tier)


class _Case:
    def __init__(self, document: dict[str, Any], arrays: Mapping[str, Any], X: Any, y: Any, sample_weight: Any) -> None:
        self.document, self.problem, self.block = document, document["problem"], document["certificate"]
        self.parameters, self.subs = document["parameters"], self.block["subproblems"]
        self.kernel, self.kind = self.problem["kernel"], self.problem["kind"]
        self.gap = self.block["kind"] == "gap"
        self.hard = number(self.problem["C"]) == math.inf
        self.rows = as_rows(X)
        self.matrix = self.kernel["name"] in MATRICES
        n, d = self.rows.shape
        self.weights = same_rows(document, self.rows, sample_weight)
        if self.matrix and (n != d or isinstance(self.rows, SparseRows)):
            raise CertificateError("the certificate cannot be read: its kernel is a matrix, and X is no square array")
        self.index, self.targets = np.zeros(n, np.int64), np.zeros(n)
        if document["classes"] is not None:
            self.index = label_index(y, document["classes"], n)
            same_targets(document, self.index, "<i8")
        else:
            self.targets = np.zeros(n) if self.kind == "one_class" else _targets(y, n)
            same_targets(document, self.targets[:, None] + 0.0, "<f8")
        self.arrays = read_arrays(document, arrays, array_forms(document))
        alone = document["classes"] is None
        self.pairs: list[Any] = [(None, None)] if alone else pairs_of(len(document["classes"]["values"]))

    # -- what was asked for

    def statement_claims(self, claims: list[Claim]) -> bool:
        p, problem, kernel = self.parameters, self.problem, self.kernel
        wanted = {"C": 1.0, "nu": 0.0, "epsilon": 0.0}
        sound = True
        for key, default in wanted.items():
            asked = p.get(key, default)
            value = number(problem[key])
            good = is_number(asked) and number(asked) == value
            good = good and (math.isfinite(value) or (key == "C" and self.kind == "c_svc" and self.gap))
            good = good and (value > 0.0 or key == "epsilon" or key not in p)
            claims.append(Claim(key, value, asked, good))
            sound = sound and good
        tol, asked = number(self.block["tol"]), p.get("tol")
        claims.append(Claim("tol", tol, asked, is_number(asked) and number(asked) == tol))
        name = p.get("kernel")
        same = kernel["name"] == ("callable" if name is None else name)
        claims.append(Claim("kernel", kernel["name"], name, same))
        sound = sound and same and self._kernel_claims(claims)
        values = self.document["classes"]
        self.c = np.zeros(0)
        resolved = np.ones(1)
        if values is not None:
            weights = [number(w) for w in problem["class_weight"]]
            wanted = p.get("class_weight", "")
            agree, expected = class_weights_agree(wanted, values["values"], weights, self.index, self.weights)
            claims.append(Claim("class weights", weights, expected, agree))
            claims.append(classes_claim(values["values"], self.index))
            sound = sound and agree
            resolved = np.array(weights)
        stated = [(sub["positive"], sub["negative"]) for sub in self.subs]
        claims.append(Claim("subproblems", stated[:5], self.pairs[:5], stated == self.pairs))
        sound = sound and stated == self.pairs
        if sound:
            self.c = row_weights(1.0 if self.hard else number(problem["C"]), self.weights, resolved, self.index)
            sound = bool(np.isfinite(self.c).all())
            claims.append(Claim("row weights", "finite", None, sound, "" if sound else "C times weights overflows"))
        finite = all(bool(np.isfinite(a).all()) for a in self.arrays.values())
        claims.append(Claim("finite", "dual point and scalars", None, finite))
        return self._support_claim(claims) and sound and finite

    def _kernel_claims(self, claims: list[Claim]) -> bool:
        p, kernel = self.parameters, self.kernel
        name = kernel["name"]
        gamma, coef0, shift = (number(kernel[key]) for key in ("gamma", "coef0", "shift"))
        fits = shift == 0.0 or (self.matrix and self.gap)
        claims.append(Claim("shift", shift, None if self.matrix else 0.0, fits, "of a matrix"))
        wanted, room = 0.0, 0.0
        if name in ("poly", "rbf", "sigmoid"):
            asked = p.get("gamma")
            if asked == "scale":
                wanted = gamma_of_scale(self.rows, self.weights)
                room = GAMMA_ROOM * wanted
            elif asked == "auto":
                wanted = 1.0 / self.rows.shape[1]
            else:
                wanted = number(asked) if is_number(asked) else math.nan
        used = wanted > 0.0 or name not in ("poly", "rbf", "sigmoid")
        claims.append(Claim("gamma", gamma, wanted, used and equal(gamma, wanted, room)))
        asked = p.get("coef0") if name in ("poly", "sigmoid") else 0.0
        claims.append(Claim("coef0", coef0, asked, is_number(asked) and number(asked) == coef0))
        degree = p.get("degree") if name == "poly" else 0
        claims.append(Claim("degree", kernel["degree"], degree, is_number(degree) and kernel["degree"] == degree))
        return all(claim.holds for claim in claims)

    def _support_claim(self, claims: list[Claim]) -> bool:
        """The support vectors of the file are the rows with a part in some problem."""
        rows = np.flatnonzero(self.arrays["dual"].any(axis=0))
        support = self.problem["support"]
        good = support["rows"] == rows.size
        if good and support["stored"] == "dense":
            mine = self.rows.values[rows] if isinstance(self.rows, DenseRows) else self._filled(rows)
            good = bool(np.array_equal(np.asarray(mine, dtype=np.float64), self.arrays["vectors"]))
        elif good and support["stored"] == "csr":
            good = self._same_csr(rows)
        elif good:
            good = self.matrix
        claims.append(Claim("support vectors", support["rows"], int(rows.size), good, "are rows of X"))
        return good

    def _filled(self, rows: np.ndarray) -> np.ndarray:
        assert isinstance(self.rows, SparseRows)
        out = np.zeros((rows.size, self.rows.n_features))
        for line, i in enumerate(rows.tolist()):
            part = slice(self.rows.indptr[i], self.rows.indptr[i + 1])
            out[line, self.rows.indices[part]] = self.rows.data[part]
        return out

    def _same_csr(self, rows: np.ndarray) -> bool:
        values, columns, starts = (self.arrays[f"vector_{key}"] for key in ("values", "columns", "starts"))
        if flaw_of_arrays(self.document, self.arrays) is not None:
            return False
        for line, i in enumerate(rows.tolist()):
            part = slice(int(starts[line]), int(starts[line + 1]))
            theirs = {int(j): float(v) for j, v in zip(columns[part], values[part], strict=True) if v != 0.0}
            if isinstance(self.rows, SparseRows):
                own = slice(self.rows.indptr[i], self.rows.indptr[i + 1])
                pairs = zip(self.rows.indices[own].tolist(), self.rows.data[own].tolist(), strict=True)
                mine = {int(j): float(v) for j, v in pairs if v != 0.0}
            else:
                row = np.asarray(self.rows.values[i], dtype=np.float64)
                mine = {int(j): float(row[j]) for j in np.flatnonzero(row)}
            if mine != theirs:
                return False
        return True

    # -- figures

    def figure_claims(self, claims: list[Claim], proved: bool) -> list[tuple[float, float, float]]:
        bounds = []
        nu, epsilon = number(self.problem["nu"]), number(self.problem["epsilon"])
        counted = self.c > 0.0
        if self.gap:
            claims.append(self._mercer(np.flatnonzero(counted)))
        elif self.kernel["name"] != "sigmoid":  # of a positive semidefinite kernel a gap is claimed, and no less
            claims.append(self._no_gap(np.flatnonzero(counted)))
        for k, (pair, sub) in enumerate(zip(self.pairs, self.subs, strict=True)):
            which = f"[{k}] " if len(self.subs) > 1 else ""
            inside = counted if pair[0] is None else counted & ((self.index == pair[0]) | (self.index == pair[1]))
            keep = np.flatnonzero(inside)
            u = self.arrays["dual"][k]
            outside = bool(u[~inside].any())
            claims.append(Claim(which + "rows", "of its classes", None, not outside, "no other has a part"))
            y = self.targets[keep] if pair[0] is None else np.where(self.index[keep] == pair[0], 1.0, -1.0)
            if keep.size == 0 or (pair[0] is not None and abs(float(y.sum())) == y.size):
                zero = ("primal", "rounding", "violation", *(("dual", "gap", "relative_gap") if self.gap else ()))
                none = not u.any() and all(number(sub[key]) == 0.0 for key in zero)
                side, scalars = float(np.sign(y.sum())), self.arrays["scalars"][k]
                none = none and float(scalars[0]) == side and not scalars[1:].any()
                claims.append(Claim(which + "one class", number(sub["primal"]), 0.0, none, "a constant that names it"))
                continue
            values = Values(self.rows, self.kernel, keep, proved)
            f, off = values.sums(u[keep])
            R2 = float(values.norms.max(initial=0.0)) ** 2 * (1.0 + 1e-9)
            if self.hard:
                b = float(self.arrays["scalars"][k, 0])
                found, held = evaluate_hard(y, u[keep], b, f, off, R2, values.rough(u[keep]))
                if unbounded(sub):
                    claims.append(margins_not_proved(which, sub))
                    claims.append(self._violation(which, sub, found, 0.0))
                    bounds.append((math.inf, 0.0, math.inf))
                    continue
                claims.append(Claim(which + "margins kept", True, held, held, "y f >= 1 for every row, for certain"))
                self._subproblem_claims(claims, which, sub, found)
                bounds.append((found.primal.up, found.dual.low, found.gap.up))
                continue
            problem = posed(self.kind, self.c[keep], y, nu, epsilon)
            scalars, spread2 = self.arrays["scalars"][k], values.spread2() if problem.two else 0.0
            found = evaluate(problem, u[keep], scalars, f, off, R2, self.gap, spread2, values.rough(u[keep]))
            self._subproblem_claims(claims, which, sub, found)
            bounds.append((found.primal.up, found.dual.low, found.gap.up))
        return bounds if self.gap else []

    def _matrix_of(self, keep: np.ndarray) -> np.ndarray:
        """The given matrix of these rows, made symmetric."""
        assert isinstance(self.rows, DenseRows)
        K = np.asarray(self.rows.values, dtype=np.float64)[np.ix_(keep, keep)]
        return K if np.array_equal(K, K.T) else 0.5 * (K + K.T)

    def _mercer(self, keep: np.ndarray) -> Claim:
        """That the kernel is positive semidefinite: by its form, or proved for the matrix."""
        name, shift = self.kernel["name"], number(self.kernel["shift"])
        if self.matrix:
            assert isinstance(self.rows, DenseRows)
            K = self._matrix_of(keep)
            close = equal(self.rows.values, self.rows.values.T, 2e-7 * float(np.abs(K).max(initial=0.0)))
            none = NO_SHIFT * (len(K) + 4) * UNIT * float(np.abs(np.diagonal(K)).sum())
            needed = shift <= none or not proved_positive(K, SHIFT_SHARE * shift)
            small = at_most(shift, MOST_SHIFT * float(np.diagonal(K).max(initial=0.0)), none)
            shown = proved_positive(K, shift) and close and needed and small
            note = f"K + {shift:g} I, by a Cholesky factorisation; and it takes a shift, no larger than rounding"
            return Claim("positive semidefinite", True, shown, shown, note)
        if name == "poly" and number(self.kernel["coef0"]) < 0.0 and self.kernel["degree"] > 0:
            values = Values(self.rows, self.kernel, keep, True)
            X = np.concatenate(list(values._tiles())) if keep.size else np.zeros((0, 1))
            off = values._off(float(values.lengths.max()))
            shown = proved_positive(values._of(X @ X.T) - off * np.eye(keep.size), 0.0)
            return Claim("positive semidefinite", True, shown, shown, "by a Cholesky factorisation")
        return Claim("positive semidefinite", True, name != "sigmoid", name != "sigmoid", f"by the form of {name}")

    def _no_gap(self, keep: np.ndarray) -> Claim:
        """That a kernel without a gap is not one that is positive semidefinite by its form, or with a shift like rounding."""
        name, shown = self.kernel["name"], True
        if self.matrix and 0 < keep.size <= MOST_ROWS:
            K = self._matrix_of(keep)
            shown = not proved_positive(K, LEAST_SHIFT * float(np.diagonal(K).max()))
        elif not self.matrix:
            shown = name == "poly" and number(self.kernel["coef0"]) < 0.0
        return Claim("no gap", "heuristic", None, shown, "the kernel is not positive semidefinite")

    def _subproblem_claims(self, claims: list[Claim], which: str, sub: dict[str, Any], found: Found) -> None:
        values = {key: number(sub[key]) for key in ("primal", "dual", "gap", "rounding") if sub[key] is not None}
        note = "exactly in its domain" if found.feasible else "outside its domain: there is no dual value"
        claims.append(Claim(which + "dual feasible", True, found.feasible, found.feasible, note))
        size = size_of(found.primal, found.dual if self.gap else found.primal)
        most = ROUNDING_FACTOR * found.textbook
        if self.hard:
            share = ROUNDING_SHARE * number(self.block["tol"]) if sub["status"] == "converged" else SHARE
            most = max(most, share * found.primal.low)
        honest = between(values["rounding"], 0.0, most)
        claims.append(Claim(which + "rounding", values["rounding"], most, honest, "is at most what float64 can need"))
        room = (values["rounding"] if honest else 0.0) + 4.0 * UNIT * size
        known = [("primal", found.primal)]
        if self.gap:
            known += [("dual", found.dual), ("gap", found.gap)]
        for name, interval in known:
            middle = 0.5 * interval.low + 0.5 * interval.up
            holds = inside(values[name], interval, room, size + found.largest)
            claims.append(Claim(which + name, values[name], middle, holds))
        claims.append(self._violation(which, sub, found, room))

    def _violation(self, which: str, sub: dict[str, Any], found: Found, room: float) -> Claim:
        swing = found.violation.up - found.violation.low
        swing += 8.0 * UNIT * found.wobble + float(capped(room, found.wobble, SHARE))
        claimed = number(sub["violation"])
        holds = between(claimed, found.violation.low, found.violation.up, swing)
        return Claim(which + "violation", claimed, found.violation.up, holds)

    # -- totals

    def total_claims(self, claims: list[Claim]) -> None:
        tol = number(self.block["tol"])
        S = len(self.subs)
        for k, sub in enumerate(self.subs):
            which = f"[{k}] " if S > 1 else ""
            reached = at_most(number(sub["violation"]), tol)
            if self.gap:
                reached = gap_claims(claims, which, sub, tol) or self._nothing(sub)
            claims.append(ending_claim(which, sub["status"], reached, self.gap and unbounded(sub)))
        sum_claims(claims, self.block, ("primal", "dual", "gap", "rounding") if self.gap else ("primal", "rounding"))
        if self.gap:
            gap_claims(claims, "total ", self.block, tol, S)
        status_claim(claims, self.block["status"], [sub["status"] for sub in self.subs])

    def _nothing(self, sub: dict[str, Any]) -> bool:
        """An optimum of 0 up to rounding (one class around the origin) has no relative gap: there the absolute one decides,
        if it is small beside the square of what u sums to."""
        primal, dual, gap, rounding = (number(sub[key]) for key in ("primal", "dual", "gap", "rounding"))
        mass = float(np.abs(self.arrays["dual"]).sum())
        small = at_most(max(abs(primal), abs(dual), gap), rounding) and at_most(rounding, ZERO_SHARE * mass * mass)
        return self.kind == "one_class" and small


def _targets(y: Any, n: int) -> np.ndarray:
    values = floats_of(y) + 0.0
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.shape != (n,):
        raise CertificateError(f"other targets: y has shape {values.shape}, X has {n} rows")
    return values


KIND = Kind(
    "Kernel machines",
    tuple(ESTIMATORS),
    ("gap", "heuristic"),
    TABLES,
    flaw,
    array_forms,
    check,
    ("which ending, if not converged",),
    flaw_of_arrays=flaw_of_arrays,
)
