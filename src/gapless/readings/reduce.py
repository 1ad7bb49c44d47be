"""`reduce`: the rows that alone give the same w and b, with the proof.

Let (w, b) and alpha be optimal for the rows, and T contain every row with alpha > 0.  Leaving the others out takes away
losses that are 0 at (w, b), so P_T(w, b) = P(w, b), and alpha is feasible for T with the same dual value: (w, b) is optimal
on T too, and w is the only one.  The offset needs more where it is free.  The optimal ones are, for the hinge,

    all b with  y f >= 1 where alpha = 0,   y f <= 1 where alpha = c,   y f = 1 where 0 < alpha < c.

A row with 0 < alpha < c pins b down, and it is in T.  If there is none this is an interval, whose ends may be fixed by rows
with alpha = 0: one for each end at most, and they stay, so that the interval and its midpoint are the same on T.  The
squared hinge has one best b, and with C = inf every alpha > 0 is free.  Costs c are kept: C, weights, and class weights as
they were resolved on all rows.

For SVC and SVR with a kernel the same holds, with beta for alpha and h for y f - 1; every row with u != 0 stays.  The width
of the kernel and the class weights are kept as numbers: "scale" and "balanced" would be others on fewer rows.  NuSVC, NuSVR
and OneClassSVM share nu times the weight of *all* rows: they have no such subset.

The proof is the certificate of the *same* w, b and alpha on the rows of T, which ``verify`` recomputes.  Where the fit
has a gap, so has this certificate.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_array

from gapless import kernels, losses
from gapless._runtime.results import result
from gapless._runtime.threads import one_blas_thread
from gapless.certificates.fingerprint import fingerprint
from gapless.certificates.kernel import KernelCertificate, Pair, assemble_kernel, certify_kernel, kernel_from_block
from gapless.certificates.least_squares import target_fingerprint
from gapless.certificates.linear import Certificate, assemble
from gapless.certificates.model_document import decode_float, encode_parameters
from gapless.certificates.sparse.certificate import SparseCertificate
from gapless.certificates.subproblem import certify
from gapless.certificates.verify import last_step
from gapless.encode.labels import encode_labels
from gapless.encode.weights import check_sample_weight, costs
from gapless.errors import CertificateError, short
from gapless.gram.blocks import build_gram
from gapless.kernels.named import takes_gamma
from gapless.problems.hard_margin import HardMargin
from gapless.problems.kernel import KernelDual
from gapless.problems.linear import LinearProblem
from gapless.solvers.loop import audible
from gapless.solvers.solution import Solution

#: Rows that fix an end of the interval of best offsets, and the interval.
Interval = tuple[np.ndarray, tuple[float, float]]

#: A multiplier within this share of its bound c from 0 or from c counts as lying there.
BOUND_SHARE = 1e-9


@result
@dataclass(frozen=True, eq=False, repr=False)
class Reduction:
    """``X[r.rows], y[r.rows]`` (and ``r.sample_weight``) give ``r.estimator()`` the same w and b.

    Attributes
    ----------
    n_rows : rows of the first fit
    model : the model of all rows
    rows : the rows that stay, rising
    support : rows with alpha > 0 in some subproblem
    ends : rows with alpha = 0 that fix an end of the offset's interval
    kept_for_class : rows that stay only so that every class has one
    offsets : (S, 2): the interval of optimal offsets of each subproblem, both ends equal where it is one number
    sample_weight : weights of ``rows``, None where there were none
    certificate : of the same w, b and alpha on these rows alone: ``verify(r.certificate, X[r.rows], y[r.rows], r.sample_weight)``
    radius : how far the w of an optimal fit on these rows can be from this one, and this one from the optimum on all
    """

    rows: np.ndarray
    support: np.ndarray
    ends: np.ndarray
    kept_for_class: np.ndarray
    offsets: np.ndarray
    n_rows: int
    sample_weight: np.ndarray | None
    certificate: Certificate
    radius: float
    model: Any

    def estimator(self) -> Any:
        """An unfitted copy of the model, with the class weights that all rows gave."""
        weight = self.certificate.statement["parameters"].get("class_weight")
        copy = clone(self.model)
        return copy if weight is None else copy.set_params(class_weight=dict(weight))

    def __str__(self) -> str:
        length = short(float(np.linalg.norm(self.certificate.arrays["coef"])), 4)
        return self._sentence("w, b and alpha", f", whose length is {length}")

    def _sentence(self, shared: str, length: str = "") -> str:
        extra = [f"{self.support.size} with alpha > 0"]
        if self.ends.size:
            extra.append(f"{self.ends.size} that fix the ends of the offset's interval")
        if self.kept_for_class.size:
            extra.append(f"{self.kept_for_class.size} so that every class has a row")
        return (
            f"{self.rows.size} of {self.n_rows} rows give the same w and b ({', '.join(extra)}): on them alone the same {shared} "
            f"have relative gap {self.certificate.relative_gap:.1e}, so that the optimum of these rows and that of all lie "
            f"within {short(self.radius, up=True)} of this w{length}."
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__} to {self.rows.size} of {self.n_rows} rows>"


class KernelReduction(Reduction):
    """A Reduction of an SVC or SVR with a kernel: ``r.estimator()`` also has the kernel width that all rows gave."""

    def estimator(self) -> Any:
        """An unfitted copy of the model, with the width and the class weights that all rows gave."""
        copy = super().estimator()
        if isinstance(self.model.gamma, str) and takes_gamma(self.model.kernel):
            copy.set_params(gamma=self.model._gamma)
        return copy

    def __str__(self) -> str:
        return self._sentence("w and b")


@audible()
def reduce(model: Any, X: Any, y: Any, sample_weight: Any = None) -> Reduction:
    """The rows that alone give the same w and b.

    Parameters
    ----------
    model : a fitted LinearSVC (hinge or squared hinge), SVC or SVR, or a pipeline that ends in one; X is then taken
        through the steps before it, and ``rows`` are to be taken of that.
    X, y, sample_weight : the data that it was trained on; other data raise CertificateError.

    Returns
    -------
    Reduction or KernelReduction : rows, and a certificate of the same model on them
    """
    model, X = last_step(model, X)
    certificate = getattr(model, "certificate_", None)
    name = type(model).__name__
    if certificate is None and hasattr(model, "fit") and not hasattr(model, "n_features_in_"):
        raise NotFittedError(
            f"This {name} instance is not fitted yet. Call 'fit' with appropriate arguments before using it."
        )
    if not isinstance(certificate, Certificate) or isinstance(certificate, SparseCertificate):
        raise TypeError(f"{name} cannot be reduced: it has no dual point. reduce takes a LinearSVC, an SVC or an SVR.")
    trained: TrainedModel
    if isinstance(certificate, KernelCertificate):
        trained = TrainedKernelModel.read(model, X, y, sample_weight)
    else:
        trained = TrainedLinearModel.read(model, X, y, sample_weight)
    found = trained.fingerprint()
    for key, what in (("n_rows", "data"), ("rows", "data"), ("labels", "labels"), ("weights", "weights")):
        if found[key] != certificate.fingerprint[key]:
            raise CertificateError(f"other {what}: reduce needs exactly what fit was given")
    with one_blas_thread(), np.errstate(all="ignore"):
        return trained.reduce()


class TrainedModel(ABC):
    """A fitted model with a gap, the rows that it was trained on, and their costs c; ``index`` says the class of each row."""

    #: |w - w*|^2 is at most this number times the gap.
    distance2_per_gap: float
    result: type[Reduction]

    def __init__(self, model: Any, X: Any, index: np.ndarray, weights: np.ndarray, weighted: bool) -> None:
        self.model, self.X, self.index = model, X, index
        self.weights, self.given = weights, weights if weighted else None
        self.certificate: Certificate = model.certificate_
        self.problem = self.certificate.statement["problem"]
        resolved = self.problem["class_weight"]
        self.n_classes = 0 if resolved is None else len(resolved)
        self.class_weight = np.ones(1) if resolved is None else np.array([decode_float(w) for w in resolved])
        self.hard = decode_float(self.problem["C"]) == math.inf

    def rows_of_X(self, rows: np.ndarray | None) -> Any:
        return self.X if rows is None else self.X[rows]

    def fingerprint(self, rows: np.ndarray | None = None) -> dict[str, Any]:
        """The fingerprint of these rows, or of all."""
        chosen = slice(None) if rows is None else rows
        return fingerprint(self.rows_of_X(rows), self.index[chosen], None if self.given is None else self.given[chosen])

    @abstractmethod
    def offset_interval(self, k: int) -> Interval:
        """Rows with alpha = 0 that fix an end of the interval of subproblem k's best offsets, and the interval."""

    @abstractmethod
    def certify_on(self, rows: np.ndarray) -> Certificate:
        """The certificate of the same coefficients and multipliers on these rows."""

    def reduce(self) -> Reduction:
        cost = costs(1.0 if self.hard else decode_float(self.problem["C"]), self.weights, self.class_weight, self.index)
        self.c = cost.restore(cost.c)
        support = self.certificate.arrays["dual"].any(axis=0)
        ends, intervals = np.zeros(support.size, dtype=bool), []
        for k in range(len(self.certificate.subproblems)):
            fixing, interval = self.offset_interval(k)
            ends[fixing] = True
            intervals.append(interval)
        ends &= ~support
        for_class = np.zeros(support.size, dtype=bool)
        for k in range(self.n_classes):
            members = self.index == k
            if members.any() and not (members & (support | ends)).any():
                for_class[np.flatnonzero(members)[0]] = True
        rows = np.flatnonzero(support | ends | for_class)
        kept = self.certify_on(rows)
        gaps = [max(sub.gap, 0.0) + sub.rounding for sub in (*kept.subproblems, *self.certificate.subproblems)]
        return self.result(
            rows, np.flatnonzero(support), np.flatnonzero(ends), np.flatnonzero(for_class), np.array(intervals), support.size,
            None if self.given is None else self.given[rows], kept, math.sqrt(self.distance2_per_gap * max(gaps)), self.model,
        )  # fmt: skip

    def statement(self) -> dict[str, Any]:
        """The model's statement without its claims about all rows, with the class weights as numbers."""
        stated = {key: value for key, value in self.certificate.statement.items() if key not in ("bounds", "origin")}
        if stated["parameters"].get("class_weight") is not None:
            pairs = dict(zip(self.model.classes_.tolist(), self.class_weight.tolist()))
            stated["parameters"] = {**stated["parameters"], **encode_parameters({"class_weight": pairs})}
        return stated


class TrainedLinearModel(TrainedModel):
    """A LinearSVC and its rows: P is 1-strongly convex in w, so that |w - w*|^2 <= 2 gap."""

    distance2_per_gap = 2.0
    result = Reduction

    @classmethod
    def read(cls, model: Any, X: Any, y: Any, sample_weight: Any) -> TrainedLinearModel:
        if model.certificate_.statement["problem"]["loss"] not in ("hinge", "squared_hinge"):
            name = type(model).__name__
            raise TypeError(
                f"{name} cannot be reduced: every row has a part in its w. reduce takes a LinearSVC, an SVC or an SVR."
            )
        X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", accept_large_sparse=True)
        index = encode_labels(y, model.classes_).index
        if index.size != X.shape[0]:
            raise ValueError(f"Found input variables with inconsistent numbers of samples: {[X.shape[0], index.size]}")
        weights = check_sample_weight(sample_weight, X.shape[0])
        return cls(model, X, index, weights, sample_weight is not None)

    def signs(self, k: int, rows: np.ndarray) -> np.ndarray:
        return np.where(self.index[rows] == self.certificate.subproblems[k].positive, np.int8(1), np.int8(-1))

    def offset_interval(self, k: int) -> Interval:
        b = float(np.asarray(self.model.intercept_).ravel()[k])
        counted = np.flatnonzero(self.c > 0.0)
        alpha, c = np.abs(self.certificate.arrays["dual"][k][counted]), self.c[counted]
        free_hinge = self.problem["loss"] == "hinge" and self.problem["offset"] == "free"
        if not free_hinge or self.hard or has_free_row(alpha, c):
            return counted[:0], (b, b)
        coef = self.model.coef_.toarray() if hasattr(self.model.coef_, "toarray") else self.model.coef_
        z = np.asarray(self.X @ np.asarray(coef[k], float)).ravel()
        y = self.signs(k, counted).astype(float)
        fixing, interval = interval_ends(y - z[counted], y, alpha, c, np.arange(y.size))
        return counted[fixing], interval

    def certify_on(self, rows: np.ndarray) -> Certificate:
        counted, claims = rows[self.c[rows] > 0.0], []
        arrays = {"coef": self.certificate.arrays["coef"], "intercept": self.certificate.arrays["intercept"]}
        scale, offset = decode_float(self.problem["offset_scale"]), self.problem["offset"]
        for k, sub in enumerate(self.certificate.subproblems):
            X, y = self.X[counted], self.signs(k, counted)
            part: LinearProblem
            if self.hard:
                part = HardMargin.from_rows(X, y, offset, scale)
            else:
                part = LinearProblem.build(X, y, self.c[counted], losses.BY_NAME[self.problem["loss"]], offset, scale)
            theta = part.join(np.asarray(arrays["coef"][k], float), float(arrays["intercept"][k]))
            u = np.ascontiguousarray(self.certificate.arrays["dual"][k][counted])
            same = Solution(theta, u, "stalled", 0, 0.0, "reduce")
            claims.append(certify(part, same, tol=self.certificate.tol, positive=sub.positive))
        arrays["dual"] = self.certificate.arrays["dual"][:, rows]
        return assemble(claims, self.statement(), arrays, self.fingerprint(rows), self.certificate.tol, 0.0)


class TrainedKernelModel(TrainedModel):
    """An SVC or SVR and its rows: w = sum u phi exactly, so that |w - w*|^2 <= gap."""

    distance2_per_gap = 1.0
    result = KernelReduction
    targets: np.ndarray | None
    matrix: bool  # X is the kernel matrix itself

    @classmethod
    def read(cls, model: Any, X: Any, y: Any, sample_weight: Any) -> TrainedKernelModel:
        certificate, name = model.certificate_, type(model).__name__
        kind = certificate.statement["problem"]["kind"]
        if kind not in ("c_svc", "epsilon_svr"):
            raise TypeError(
                f"{name} cannot be reduced: nu is a share of the weight of all rows. reduce takes an SVC or an SVR."
            )
        if certificate.kind != "gap":
            raise TypeError(f"{name} cannot be reduced: its kernel has no dual bound.")
        if callable(model.kernel):
            X = kernels.Function(model.kernel).values(X, X)
        X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], order="C")
        weights = check_sample_weight(sample_weight, X.shape[0])
        index = encode_labels(y, model.classes_).index if kind == "c_svc" else np.zeros(X.shape[0], np.int64)
        trained = cls(model, X, index, weights, sample_weight is not None)
        trained.targets = np.asarray(y, dtype=np.float64) if kind == "epsilon_svr" else None
        trained.matrix = trained.problem["kernel"]["name"] in ("precomputed", "callable")
        return trained

    def pair(self, k: int) -> tuple[int, int] | None:
        sub = cast(Pair, self.certificate.subproblems[k])
        return None if sub.positive is None or sub.negative is None else (sub.positive, sub.negative)

    def rows_of_X(self, rows: np.ndarray | None) -> Any:
        return self.X[np.ix_(rows, rows)] if rows is not None and self.matrix else super().rows_of_X(rows)

    def fingerprint(self, rows: np.ndarray | None = None) -> dict[str, Any]:
        if self.targets is None:
            return super().fingerprint(rows)
        chosen = slice(None) if rows is None else rows
        return target_fingerprint(self.rows_of_X(rows), self.targets[chosen][:, None], np.asarray(self.weights[chosen]))

    def rows_of_pair(self, k: int, rows: np.ndarray) -> np.ndarray:
        """The rows among these that have a cost and belong to the classes of subproblem k."""
        rows, pair = rows[self.c[rows] > 0.0], self.pair(k)
        return rows if pair is None else rows[(self.index[rows] == pair[0]) | (self.index[rows] == pair[1])]

    def pose(self, k: int, rows: np.ndarray) -> KernelDual:
        """Subproblem k on these rows."""
        gram, pair = build_gram(kernel_from_block(self.problem["kernel"]), self.rows_of_X(rows)), self.pair(k)
        if pair is not None:
            return KernelDual.c_svc(gram, np.where(self.index[rows] == pair[0], 1.0, -1.0), self.c[rows])
        assert self.targets is not None
        return KernelDual.epsilon_svr(gram, self.targets[rows], self.c[rows], decode_float(self.problem["epsilon"]))

    def offset_interval(self, k: int) -> Interval:
        b = float(self.certificate.arrays["scalars"][k, 0])
        inside = self.rows_of_pair(k, np.arange(self.c.size))
        if self.hard or not inside.size:
            return inside[:0], (b, b)
        part = self.pose(k, inside)
        beta = part.beta(self.certificate.arrays["dual"][k][inside])
        if has_free_row(beta, part.c):
            return inside[:0], (b, b)
        at = np.arange(part.n) if part.at is None else part.at
        fixing, interval = interval_ends(part.kinks(part.scores(beta)), part.sign, beta, part.c, at)
        return inside[fixing], interval

    def certify_on(self, rows: np.ndarray) -> Certificate:
        stated, arrays = self.statement(), self.certificate.arrays
        stated["n_features"] = int(self.rows_of_X(rows).shape[1])
        if isinstance(stated["parameters"].get("gamma"), str) and not self.matrix:
            stated["parameters"] = {**stated["parameters"], "gamma": self.problem["kernel"]["gamma"]}
        claims = [self.certify_part(k, rows) for k in range(len(self.certificate.subproblems))]
        vectors = {name: arrays[name] for name in arrays if name.startswith("vector")}
        kept = {"dual": arrays["dual"][:, rows], "scalars": arrays["scalars"], **vectors}
        return assemble_kernel(claims, stated, kept, self.fingerprint(rows), self.certificate.tol, 0.0, True)

    def certify_part(self, k: int, rows: np.ndarray) -> Pair:
        """The figures of the same u and scalars of subproblem k on the rows that stay."""
        inside = self.rows_of_pair(k, rows)
        u, scalars = self.certificate.arrays["dual"][k][inside], self.certificate.arrays["scalars"][k]
        if self.hard or not u.any():
            return replace(cast(Pair, self.certificate.subproblems[k]), n_iter=0, seconds=0.0, solver="reduce")
        part = self.pose(k, inside)
        beta = part.beta(u)
        same = Solution(scalars, beta, "stalled", 0, 0.0, "reduce", [], part.scores(beta))
        return certify_kernel(part, same, tol=self.certificate.tol, pair=self.pair(k), positive=True)


def has_free_row(alpha: np.ndarray, c: np.ndarray) -> bool:
    """Whether some multiplier lies strictly between its bounds: its row then fixes the offset."""
    return bool(((alpha > BOUND_SHARE * c) & (alpha < (1.0 - BOUND_SHARE) * c)).any())


def interval_ends(kinks: np.ndarray, sign: np.ndarray, alpha: np.ndarray, c: np.ndarray, at: np.ndarray) -> Interval:
    """Points with alpha = 0 that fix the ends of the interval of best offsets, and the interval; no multiplier is free.

    ``kinks`` are the offsets at which y f = 1, ``at`` says the point of each variable.
    """
    full = alpha > BOUND_SHARE * c
    # Where alpha = 0, y f >= 1 bounds b from below (sign > 0) or above (sign < 0); y f <= 1 (alpha = c) the other way round.
    below = np.where(sign > 0, ~full, full)
    used = np.bincount(at, full) > 0
    fixing, interval = np.full(2, -1), [-math.inf, math.inf]
    for end, (variables, best) in enumerate(((below, np.argmax), (~below, np.argmin))):
        index = np.flatnonzero(variables)
        if index.size:
            interval[end] = float(kinks[index[best(kinks[index])]])
            tied = at[index[kinks[index] == interval[end]]]
            if not used[tied].any():
                fixing[end] = tied[0]
    return fixing[fixing >= 0], (interval[0], interval[1])
