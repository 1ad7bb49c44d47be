"""`reduce` for SVC and SVR with a kernel: the rows that alone give the same w and b, with the proof.

Every row with u != 0 stays.  The others cost nothing at (w, b), so that without them P is the same there, and u has the same
dual value: (w, b) is optimal on the rows that stay, and w is the only one.  The best offsets are all b with h <= 0 where
beta = 0, h >= 0 where beta = c and h = 0 where it is free; where none is free this is an interval, and a row with beta = 0 that
fixes one of its ends stays too.  The width of the kernel and the class weights are kept as numbers: "scale" and "balanced"
would be others on fewer rows.  NuSVC, NuSVR and OneClassSVM share nu times the weight of *all* rows: they have no such subset.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_array

from gapless import kernels
from gapless._runtime.results import result
from gapless._runtime.threads import one_blas_thread
from gapless.certificates.fingerprint import fingerprint
from gapless.certificates.kernel import KernelCertificate, Pair, assemble_kernel, certify_kernel
from gapless.certificates.least_squares import target_fingerprint
from gapless.certificates.model_document import decode_float, encode_parameters
from gapless.encode.labels import encode_labels
from gapless.encode.weights import check_sample_weight, costs
from gapless.errors import CertificateError, short
from gapless.gram.blocks import build_gram
from gapless.problems.kernel import KernelDual
from gapless.solvers.solution import Solution

__all__ = ["KernelReduction", "kernel_of", "reduce_kernel"]

#: beta within this share of c from 0 and from c counts as free.
FREE = 1e-9


@result
@dataclass(frozen=True, eq=False, repr=False)
class KernelReduction:
    """``X[r.rows], y[r.rows]`` (and ``r.sample_weight``) give ``r.estimator()`` the same w and b.

    Attributes
    ----------
    n_rows : rows of the first fit
    sample_weight : weights of ``rows``, None where there were none
    model : the model of all rows
    rows : the rows that stay, rising
    support : those with a part in w
    ends : those with alpha = 0 that fix an end of the offset's interval
    kept_for_class : rows that stay only so that every class has one
    offsets : (S, 2): the interval of optimal offsets of each subproblem, both ends equal where it is one number
    certificate : of the same w and b on these rows alone: ``verify(r.certificate, X[r.rows], y[r.rows], r.sample_weight)``
    radius : how far the w of an optimal fit on these rows can be from this one, and this one from the optimum on all
    """

    rows: np.ndarray
    support: np.ndarray
    ends: np.ndarray
    kept_for_class: np.ndarray
    offsets: np.ndarray
    n_rows: int
    sample_weight: np.ndarray | None
    certificate: KernelCertificate
    radius: float
    model: Any

    def estimator(self) -> Any:
        """An unfitted copy of the model, with the width and the class weights that all rows gave."""
        copy = clone(self.model)
        if isinstance(self.model.gamma, str) and self.model.kernel in ("rbf", "poly", "sigmoid"):
            copy.set_params(gamma=self.model._gamma)
        weight = self.certificate.statement["parameters"].get("class_weight")
        return copy if weight is None else copy.set_params(class_weight=dict(weight))

    def __str__(self) -> str:
        extra = [f"{self.support.size} with alpha > 0"]
        if self.ends.size:
            extra.append(f"{self.ends.size} that fix the ends of the offset's interval")
        if self.kept_for_class.size:
            extra.append(f"{self.kept_for_class.size} so that every class has a row")
        return (
            f"{self.rows.size} of {self.n_rows} rows give the same w and b ({', '.join(extra)}): on them alone the same w and b "
            f"have relative gap {self.certificate.relative_gap:.1e}, so that the optimum of these rows and that of all lie "
            f"within {short(self.radius, up=True)} of this w."
        )

    def __repr__(self) -> str:
        return f"<KernelReduction to {self.rows.size} of {self.n_rows} rows>"


def kernel_of(block: Any) -> Any:
    """The kernel of a document's block."""
    gamma, coef0, shift = (decode_float(block[key]) for key in ("gamma", "coef0", "shift"))
    return {
        "linear": lambda: kernels.Linear(),
        "poly": lambda: kernels.Polynomial(block["degree"], gamma, coef0),
        "rbf": lambda: kernels.RBF(gamma),
        "sigmoid": lambda: kernels.Sigmoid(gamma, coef0),
        "precomputed": lambda: kernels.Precomputed(shift),
        "callable": lambda: kernels.Precomputed(shift),
    }[block["name"]]()


def reduce_kernel(model: Any, X: Any, y: Any, sample_weight: Any = None) -> KernelReduction:
    """Of a fitted SVC or SVR; called by ``gapless.reduce``."""
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
    n = X.shape[0]
    weights = check_sample_weight(sample_weight, n)
    given = None if sample_weight is None else weights
    if kind == "c_svc":
        index = encode_labels(y, model.classes_).index
        named = fingerprint(X, index, given)
        targets = None
    else:
        index, targets = np.zeros(n, np.int64), np.asarray(y, dtype=np.float64)
        named = target_fingerprint(X, targets[:, None], np.asarray(weights))
    for key, what in (("n_rows", "data"), ("rows", "data"), ("labels", "labels"), ("weights", "weights")):
        if named[key] != certificate.fingerprint[key]:
            raise CertificateError(f"other {what}: reduce needs exactly what fit was given")
    with one_blas_thread(), np.errstate(all="ignore"):
        return _reduced(model, certificate, X, index, targets, weights, given)


def _reduced(
    model: Any,
    certificate: KernelCertificate,
    X: Any,
    index: np.ndarray,
    targets: np.ndarray | None,
    weights: np.ndarray,
    given: np.ndarray | None,
) -> KernelReduction:
    problem = certificate.statement["problem"]
    matrix = problem["kernel"]["name"] in ("precomputed", "callable")
    resolved = problem["class_weight"]
    class_weight = np.ones(1) if resolved is None else np.array([decode_float(w) for w in resolved])
    hard = decode_float(problem["C"]) == math.inf
    cost = costs(1.0 if hard else decode_float(problem["C"]), weights, class_weight, index)
    c = cost.restore(cost.c)
    dual, scalars = certificate.arrays["dual"], certificate.arrays["scalars"]
    support = dual.any(axis=0)
    ends, intervals = np.zeros(c.size, dtype=bool), []
    pairs = [None if sub.positive is None else (sub.positive, sub.negative) for sub in certificate.subproblems]  # type: ignore[attr-defined]
    for k, pair in enumerate(pairs):
        inside = np.flatnonzero((c > 0.0) & _member(index, pair))
        b = float(scalars[k, 0])
        interval = (b, b)
        if not hard and inside.size:
            part = _posed(problem, X, inside, c, index, targets, pair, matrix)
            found, interval = _ends(part, dual[k][inside], b)
            ends[inside[found]] = True
        intervals.append(interval)
    ends &= ~support
    for_class = np.zeros(c.size, dtype=bool)
    for k in range(class_weight.size if resolved is not None else 0):
        mine = index == k
        if mine.any() and not (mine & (support | ends)).any():
            for_class[np.flatnonzero(mine)[0]] = True
    rows = np.flatnonzero(support | ends | for_class)
    stated = {
        key: value for key, value in certificate.statement.items() if key not in ("bounds", "origin")
    }  # of all rows
    parameters = dict(stated["parameters"])
    if parameters.get("class_weight") is not None:
        pairs_of = dict(zip(model.classes_.tolist(), class_weight.tolist()))
        parameters |= encode_parameters({"class_weight": pairs_of})
    if isinstance(parameters.get("gamma"), str) and not matrix:
        parameters["gamma"] = problem["kernel"]["gamma"]
    part_X = X[np.ix_(rows, rows)] if matrix else X[rows]
    stated |= {"parameters": parameters, "n_features": int(part_X.shape[1])}
    claims: list[Pair] = []
    for k, pair in enumerate(pairs):
        claims.append(_claim(certificate, problem, X, rows, c, index, targets, pair, k, matrix, hard))
    arrays = {"dual": dual[:, rows], "scalars": scalars}
    vectors = {
        name: certificate.arrays[name] for name in certificate.arrays if name.startswith("vector")
    }  # the same ones
    named = (
        fingerprint(part_X, index[rows], None if given is None else given[rows])
        if targets is None
        else target_fingerprint(part_X, targets[rows][:, None], np.asarray(weights[rows]))
    )
    kept = assemble_kernel(claims, stated, {**arrays, **vectors}, named, certificate.tol, 0.0, True)
    gaps = [max(sub.gap, 0.0) + sub.rounding for sub in (*kept.subproblems, *certificate.subproblems)]
    return KernelReduction(
        rows, np.flatnonzero(support), np.flatnonzero(ends), np.flatnonzero(for_class), np.array(intervals), c.size,
        None if given is None else given[rows], kept, math.sqrt(max(gaps)), model,
    )  # fmt: skip


def _member(index: np.ndarray, pair: Any) -> np.ndarray:
    return np.ones(index.size, dtype=bool) if pair is None else (index == pair[0]) | (index == pair[1])


def _posed(
    problem: Any, X: Any, rows: np.ndarray, c: np.ndarray, index: np.ndarray, targets: Any, pair: Any, matrix: bool
) -> KernelDual:
    whole = build_gram(kernel_of(problem["kernel"]), X[np.ix_(rows, rows)] if matrix else X[rows])
    if pair is not None:
        return KernelDual.c_svc(whole, np.where(index[rows] == pair[0], 1.0, -1.0), c[rows])
    return KernelDual.epsilon_svr(whole, targets[rows], c[rows], decode_float(problem["epsilon"]))


def _claim(
    certificate: KernelCertificate,
    problem: Any,
    X: Any,
    rows: np.ndarray,
    c: np.ndarray,
    index: np.ndarray,
    targets: Any,
    pair: Any,
    k: int,
    matrix: bool,
    hard: bool,
) -> Pair:
    """The figures of the same u and scalars on the rows that stay."""
    inside = rows[(c[rows] > 0.0) & _member(index[rows], pair)]
    u, scalars = certificate.arrays["dual"][k][inside], certificate.arrays["scalars"][k]
    old: Any = certificate.subproblems[k]
    if hard or not u.any():
        return replace(old, n_iter=0, seconds=0.0, solver="reduce")
    part = _posed(problem, X, inside, c, index, targets, pair, matrix)
    beta = part.beta(u)
    solution = Solution(scalars, beta, "stalled", 0, 0.0, "reduce", [], part.scores(beta))
    return certify_kernel(part, solution, tol=certificate.tol, pair=pair, positive=True)


def _ends(problem: KernelDual, u: np.ndarray, b: float) -> tuple[list[int], tuple[float, float]]:
    """Points with beta = 0 that fix the ends of the offset's interval (none where a free one pins it), and the interval."""
    beta, c, s = problem.beta(u), problem.c, problem.sign
    if ((beta > FREE * c) & (beta < (1.0 - FREE) * c)).any():
        return [], (b, b)
    kinks = problem.kinks(problem.scores(beta))
    at = np.arange(problem.n) if problem.at is None else problem.at
    full = beta > FREE * c
    # h <= 0 bounds b from below where s > 0, from above where s < 0; h >= 0 the other way round.
    below = np.where(s > 0, ~full, full)
    found, interval = [], [-math.inf, math.inf]
    used = np.bincount(at, full, minlength=problem.n_points) > 0
    for end, (which, best) in enumerate(((below, np.argmax), (~below, np.argmin))):
        those = np.flatnonzero(which)
        if those.size:
            interval[end] = float(kinks[those[best(kinks[those])]])
            tied = at[those[kinks[those] == interval[end]]]
            if not used[tied].any():
                found.append(int(tied[0]))
    return found, (interval[0], interval[1])
