"""`reduce`: the rows that alone give the same w and b, with the proof.

Let (w, b) and alpha be optimal for the rows, and T contain every row with alpha > 0.  Leaving the others out takes away
losses that are 0 at (w, b), so P_T(w, b) = P(w, b), and alpha is feasible for T with the same dual value: (w, b) is optimal
on T too, and w is the only one.  The offset needs more where it is free.  The optimal ones are, for the hinge,

    all b with  y f >= 1 where alpha = 0,   y f <= 1 where alpha = c,   y f = 1 where 0 < alpha < c.

A row with 0 < alpha < c pins b down, and it is in T.  If there is none this is an interval, whose ends may be fixed by rows
with alpha = 0: one for each end at most, and they stay, so that the interval and its midpoint are the same on T.  The
squared hinge has one best b, and with C = inf every alpha > 0 is free.  Costs c are kept: C, weights, and class weights as
they were resolved on all rows.

What is handed out is checked, not believed: the certificate of the *same* w, b and alpha on the rows of T, which
``verify`` recomputes.  Where the fit has a gap, so has the statement.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_array

from gapless import losses
from gapless._runtime.results import result
from gapless._runtime.threads import one_blas_thread
from gapless.certificates.fingerprint import fingerprint
from gapless.certificates.kernel import KernelCertificate
from gapless.certificates.linear import Certificate, assemble
from gapless.certificates.linear_model import last_step
from gapless.certificates.model_document import decode_float, encode_parameters
from gapless.certificates.subproblem import certify
from gapless.encode.labels import Labels, encode_labels
from gapless.encode.weights import check_sample_weight, costs
from gapless.errors import CertificateError, short
from gapless.problems.hard_margin import HardMargin
from gapless.problems.linear import LinearProblem
from gapless.readings.kernel_reduce import KernelReduction, reduce_kernel
from gapless.solvers.loop import audible
from gapless.solvers.solution import Solution

__all__ = ["Reduction", "reduce"]

#: alpha within this share of c from 0 and from c counts as free.
FREE = 1e-9


@result
@dataclass(frozen=True, eq=False, repr=False)
class Reduction:
    """``X[r.rows], y[r.rows]`` (and ``r.sample_weight``) give ``r.estimator()`` the same w and b.

    Attributes
    ----------
    n_rows : rows of the first fit
    model : the model of all rows
    rows : the rows that stay, rising
    support : those with alpha > 0 in some subproblem
    ends : those with alpha = 0 that fix an end of the offset's interval
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
        weight = self.certificate.statement["parameters"]["class_weight"]
        copy = clone(self.model)
        return copy if weight is None else copy.set_params(class_weight=dict(weight))

    def __str__(self) -> str:
        length = float(np.linalg.norm(self.certificate.arrays["coef"]))
        extra = [f"{self.support.size} with alpha > 0"]
        if self.ends.size:
            extra.append(f"{self.ends.size} that fix the ends of the offset's interval")
        if self.kept_for_class.size:
            extra.append(f"{self.kept_for_class.size} so that every class has a row")
        return (
            f"{self.rows.size} of {self.n_rows} rows give the same w and b ({', '.join(extra)}): on them alone the same w, b "
            f"and alpha have relative gap {self.certificate.relative_gap:.1e}, so that the optimum of these rows and that of "
            f"all lie within {short(self.radius, up=True)} of this w, whose length is {short(length, 4)}."
        )

    def __repr__(self) -> str:
        return f"<Reduction to {self.rows.size} of {self.n_rows} rows>"


@audible()
def reduce(model: Any, X: Any, y: Any, sample_weight: Any = None) -> Reduction | KernelReduction:
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
    if isinstance(certificate, KernelCertificate):
        return reduce_kernel(model, X, y, sample_weight)
    if not isinstance(certificate, Certificate):
        raise TypeError(f"{name} cannot be reduced: it has no dual point. reduce takes a LinearSVC, an SVC or an SVR.")
    if certificate.statement["problem"]["loss"] not in ("hinge", "squared_hinge"):
        raise TypeError(
            f"{name} cannot be reduced: every row has a part in its w. reduce takes a LinearSVC, an SVC or an SVR."
        )
    X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", accept_large_sparse=True)
    labels = encode_labels(y, model.classes_)
    if labels.index.size != X.shape[0]:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: {[X.shape[0], labels.index.size]}"
        )
    weights = check_sample_weight(sample_weight, X.shape[0])
    given = None if sample_weight is None else weights
    _refuse_other_data(certificate, fingerprint(X, labels.index, given))
    with one_blas_thread(), np.errstate(all="ignore"):
        return _reduced(model, certificate, X, labels, weights, given)


def _refuse_other_data(certificate: Certificate, found: dict[str, Any]) -> None:
    for key, what in (("n_rows", "data"), ("rows", "data"), ("labels", "labels"), ("weights", "weights")):
        if found[key] != certificate.fingerprint[key]:
            raise CertificateError(f"other {what}: reduce needs exactly what fit was given")


def _reduced(
    model: Any, certificate: Certificate, X: Any, labels: Labels, weights: np.ndarray, given: np.ndarray | None
) -> Reduction:
    problem = certificate.statement["problem"]
    C, class_weight = decode_float(problem["C"]), np.array([decode_float(w) for w in problem["class_weight"]])
    cost = costs(C if math.isfinite(C) else 1.0, weights, class_weight, labels.index)
    counts = np.zeros(X.shape[0], dtype=bool)
    counts[slice(None) if cost.rows is None else cost.rows] = True
    c = cost.restore(cost.c)
    dual = certificate.arrays["dual"]
    support, ends = np.zeros(counts.size, dtype=bool), np.zeros(counts.size, dtype=bool)
    intervals = []
    for k, sub in enumerate(certificate.subproblems):
        signs = np.where(labels.index == sub.positive, 1.0, -1.0)
        alpha = np.abs(dual[k])
        support |= alpha > 0.0
        b = float(np.asarray(model.intercept_).ravel()[k])
        interval = (b, b)
        if problem["loss"] == "hinge" and problem["offset"] == "free" and math.isfinite(C):
            coef = model.coef_.toarray() if hasattr(model.coef_, "toarray") else model.coef_
            z = np.asarray(X @ np.asarray(coef[k], float)).ravel()
            found, interval = _ends(signs, z, alpha, c, counts, b)
            ends[found] = True
        intervals.append(interval)
    ends &= ~support
    for_class = np.zeros(counts.size, dtype=bool)
    for k in range(labels.n_classes):
        mine = labels.index == k
        if not (mine & (support | ends)).any():
            for_class[np.flatnonzero(mine)[0]] = True
    rows = np.flatnonzero(support | ends | for_class)
    kept = _certified(certificate, model, X, labels, rows, c, given, class_weight)
    gaps = [max(sub.gap, 0.0) + sub.rounding for sub in (*kept.subproblems, *certificate.subproblems)]
    return Reduction(
        rows, np.flatnonzero(support), np.flatnonzero(ends), np.flatnonzero(for_class), np.array(intervals), counts.size,
        None if given is None else given[rows], kept, math.sqrt(2.0 * max(gaps)), model,
    )  # fmt: skip


def _ends(
    y: np.ndarray, z: np.ndarray, alpha: np.ndarray, c: np.ndarray, counts: np.ndarray, b: float
) -> tuple[list[int], tuple[float, float]]:
    """Rows with alpha = 0 that fix the ends of the offset's interval (none where a free row pins it), and the interval."""
    if (counts & (alpha > FREE * c) & (alpha < (1.0 - FREE) * c)).any():
        return [], (b, b)
    t = y - z  # the b at which y f = 1
    zero, full = counts & (alpha <= FREE * c), counts & (alpha > FREE * c)
    # y f >= 1 bounds b from below for a positive row, from above for a negative one; y f <= 1 the other way round.
    below, above = (zero & (y > 0)) | (full & (y < 0)), (zero & (y < 0)) | (full & (y > 0))
    found, interval = [], [-math.inf, math.inf]
    for end, (rows, best) in enumerate(((below, np.argmax), (above, np.argmin))):
        index = np.flatnonzero(rows)
        if index.size:
            interval[end] = float(t[index[best(t[index])]])
            tied = index[t[index] == interval[end]]
            if not full[tied].any():
                found.append(int(tied[0]))
    return found, (interval[0], interval[1])


def _certified(
    certificate: Certificate,
    model: Any,
    X: Any,
    labels: Labels,
    rows: np.ndarray,
    c: np.ndarray,
    given: np.ndarray | None,
    class_weight: np.ndarray,
) -> Certificate:
    """The certificate of the same coefficients and multipliers on these rows."""
    stated = {
        key: value for key, value in certificate.statement.items() if key not in ("bounds", "origin")
    }  # of all rows
    problem, hard = stated["problem"], decode_float(stated["problem"]["C"]) == math.inf
    if stated["parameters"].get("class_weight") is not None:
        # "balanced" would be resolved anew on fewer rows: the costs must stay.
        pairs = dict(zip(labels.classes.tolist(), class_weight.tolist()))
        stated["parameters"] = {**stated["parameters"], **encode_parameters({"class_weight": pairs})}
    index, weighs = labels.index[rows], c[rows] > 0.0
    counted = rows[weighs]
    dual, claims = certificate.arrays["dual"][:, rows], []
    coef, intercept = certificate.arrays["coef"], certificate.arrays["intercept"]
    scale = decode_float(problem["offset_scale"])
    for k, sub in enumerate(certificate.subproblems):
        y = np.where(labels.index[counted] == sub.positive, np.int8(1), np.int8(-1))
        part: LinearProblem
        if hard:
            part = HardMargin.from_rows(X[counted], y, problem["offset"], scale)
        else:
            part = LinearProblem.build(
                X[counted], y, c[counted], losses.BY_NAME[problem["loss"]], problem["offset"], scale
            )
        theta = part.join(np.asarray(coef[k], float), float(intercept[k]))
        u = np.ascontiguousarray(dual[k][weighs])
        solution = Solution(theta, u, "stalled", 0, 0.0, "reduce")
        claims.append(certify(part, solution, tol=certificate.tol, positive=sub.positive))
    named = fingerprint(X[rows], index, None if given is None else given[rows])
    arrays = {"coef": coef, "intercept": intercept, "dual": dual}
    return assemble(claims, stated, arrays, named, certificate.tol, 0.0)
