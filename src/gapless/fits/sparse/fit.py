"""Sparse and signed penalties: labels or targets and weights to problems, and their solutions to a certificate."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from gapless._runtime.backend import use_backend
from gapless._runtime.threads import in_background
from gapless._runtime.written import written
from gapless.certificates.fingerprint import fingerprint
from gapless.certificates.least_squares import target_fingerprint
from gapless.certificates.linear import assemble
from gapless.certificates.model_document import encode_float, statement
from gapless.certificates.sparse.certificate import SparseCertificate, certify_sparse
from gapless.certificates.subproblem import Subproblem
from gapless.encode.common_part import common_parts, keeps
from gapless.encode.labels import Labels, encode_labels
from gapless.encode.offset import Offset
from gapless.encode.weights import Costs, check_sample_weight, costs, resolve_class_weight, weightless_classes
from gapless.fits.frame import Frame
from gapless.fits.linear_encode import LinearRequest
from gapless.losses import BY_NAME
from gapless.problems.sparse.problem import DualPoint, SparseProblem
from gapless.rows.columns import Columns, as_columns
from gapless.solvers.loop import Stop, Watch
from gapless.solvers.solution import Event, Solution
from gapless.solvers.sparse.solve import solve_sparse


@dataclass(frozen=True)
class SparseRequest:
    """What an estimator asks for. ``C`` multiplies the losses; None: 1 over the sum of the weights."""

    estimator: str
    parameters: Mapping[str, Any]
    loss: str
    C: float | None
    l1: float
    l2: float
    positive: bool
    offset: Offset
    stop: Stop
    n_jobs: int | None
    dtype: np.dtype
    class_weight: Any = None
    columns_of_y: int | None = None
    epsilon: float = 0.0


@dataclass(frozen=True, eq=False)
class SparseFit:
    """What the estimator gets back."""

    certificate: SparseCertificate
    history: list[Event]
    labels: Labels | None
    scores: np.ndarray
    c: np.ndarray

    @property
    def coef(self) -> np.ndarray:
        return self.certificate.arrays["coef"]

    @property
    def intercept(self) -> np.ndarray:
        return self.certificate.arrays["intercept"]


class _Data(NamedTuple):
    """The rows that count, as columns, with their weights, and the targets, a column for each problem."""

    columns: Columns
    cost: Costs
    Y: np.ndarray
    positives: list[int | None]
    labels: Labels | None
    class_weight: np.ndarray | None
    C: float
    common: np.ndarray
    weights: np.ndarray | None  #: as they were given


class _Part(NamedTuple):
    """One problem, solved and certified."""

    coef: np.ndarray
    intercept: float
    dual: np.ndarray
    scores: np.ndarray
    claim: Subproblem
    zeros: np.ndarray
    common: float
    history: list[Event]


def request_of(task: LinearRequest) -> SparseRequest:
    """What a linear classifier with an L1 penalty asks for."""
    return SparseRequest(
        task.estimator, task.parameters, task.loss, task.C, task.l1, task.l2, False, task.offset, task.stop, task.n_jobs,
        task.dtype, class_weight=task.class_weight,
    )  # fmt: skip


def fit_sparse(
    request: SparseRequest,
    X: Any,
    y: Any,
    sample_weight: Any,
    *,
    feature_names: Any = None,
    start: Any = None,
    watch: Watch = Watch(),
) -> SparseFit:
    """Fit; ``y`` has labels where the loss is one of the margin, else targets (n, S)."""
    frame = Frame(request.stop, request.n_jobs)
    with use_backend("numba"), frame.running():
        data, named = _encode(request, X, y, sample_weight)
        parts, known = [], None
        for k in range(data.Y.shape[1]):
            problem = _problem(request, data, k, known)
            known = problem
            parts.append(_fit_one(request, data, problem, k, frame, _start(start, k, data, X.shape[1]), watch))
        marks = named()
    return _decode(request, data, parts, marks, X.shape[1], feature_names, frame)


def _encode(request: SparseRequest, X: Any, y: Any, sample_weight: Any) -> tuple[_Data, Any]:
    """The data in the problem's units, and a function that returns the fingerprint."""
    weights = check_sample_weight(sample_weight, X.shape[0])
    given = None if sample_weight is None else weights
    total = 1.0
    if request.C is None:
        total = float(weights.size) if given is None else math.fsum(weights.tolist())
        if not total > 0.0:
            raise ValueError("Sample weights leave no row: every weight is zero.")
    C = 1.0 / total if request.C is None else request.C
    loss = _loss(request)
    if loss.of_margin:
        labels = encode_labels(y)
        class_weight = resolve_class_weight(request.class_weight, labels, weights)
        gone = weightless_classes(labels, weights, class_weight)
        if gone and loss.entropic and request.offset.kind == "free":
            raise ValueError(
                f"the class {written(gone[0])} has no weight: with a free offset its log-odds would be minus infinity. Remove "
                "the class, or give it weight."
            )
        cost = costs(C, weights, class_weight, labels.index)
        positives: list[int | None] = list(labels.positives)
        Y = np.where(labels.index[:, None] == np.array(labels.positives), 1.0, -1.0)
        named = in_background(lambda: fingerprint(X, labels.index, given))
        common = np.zeros(Y.shape[1])
    else:
        labels, class_weight = None, None
        cost = costs(C, weights, np.ones(1), np.zeros(X.shape[0], np.intp))
        Y, positives = y, [None] * y.shape[1]
        named = in_background(lambda: target_fingerprint(X, y, given))
        common = np.zeros(Y.shape[1])
        if request.offset.kind == "free":
            common = common_parts(Y if cost.rows is None else Y[cost.rows])
    rows = X if cost.rows is None else X[cost.rows]
    Y = Y if cost.rows is None else Y[cost.rows]
    if not cost.c.size:
        raise ValueError("Sample weights leave no row: every weight is zero.")
    if request.offset.kind == "penalised":
        constant = np.full((rows.shape[0], 1), request.offset.scale, rows.dtype)
        rows = sparse.hstack([rows, constant], "csr") if sparse.issparse(rows) else np.hstack([rows, constant])
    return _Data(as_columns(rows), cost, Y, positives, labels, class_weight, C, common, given), named


def _loss(request: SparseRequest) -> Any:
    return BY_NAME[request.loss]


def _problem(request: SparseRequest, data: _Data, k: int, known: SparseProblem | None) -> SparseProblem:
    """The problem of target k; ``known`` is that of another target on the same columns."""
    y = data.Y[:, k] - data.common[k]
    kind = request.offset.kind
    made = SparseProblem(data.columns, y, data.cost.c, _loss(request), kind, request.l1, request.l2, request.positive)
    return made if known is None else known.with_targets(y)


def _start(start: Any, k: int, data: _Data, d: int) -> tuple[np.ndarray, float] | None:
    """Coefficients and offset of the fit to resume from."""
    if start is None:
        return None
    arrays = getattr(start, "certificate_", start).arrays
    if arrays["coef"].shape != (data.Y.shape[1], d):
        return None
    return arrays["coef"][k].astype(np.float64), float(arrays["intercept"][k]) - float(data.common[k])


def _fit_one(
    request: SparseRequest,
    data: _Data,
    problem: SparseProblem,
    k: int,
    frame: Frame,
    start: tuple[np.ndarray, float] | None,
    watch: Watch,
) -> _Part:
    """Solve and certify what is returned: the model rounded to its type."""
    penalised = request.offset.kind == "penalised"
    if start is not None and penalised:
        start = np.append(start[0], start[1] / request.offset.scale), 0.0
    if start is not None and request.positive:
        start = np.maximum(start[0], 0.0), start[1]
    solution = solve_sparse(problem, frame.share_time(k, data.Y.shape[1]), start, watch)
    w, b = solution.theta[:-1], float(solution.theta[-1])
    common = float(data.common[k])
    if penalised:
        coef, intercept = w[:-1].astype(request.dtype), request.dtype.type(w[-1] * request.offset.scale)
        w, b = np.append(coef.astype(np.float64), float(intercept) / request.offset.scale), 0.0
    else:
        coef, intercept = w.astype(request.dtype), request.dtype.type(b + common)
        if not keeps(np.array([common]), np.array([float(intercept)]))[0]:
            problem, common = problem.with_targets(data.Y[:, k]), 0.0
        w, b = coef.astype(np.float64), float(intercept) - common
    point = problem.at(w, b)
    dual = _best_dual(problem, solution, point.z, problem.primal(point))
    claim, zeros = certify_sparse(
        problem, point, dual, tol=request.stop.relative_gap, ending=solution.status, positive=data.positives[k],
        way=(solution.n_iter, solution.seconds, solution.solver),
    )  # fmt: skip
    d = coef.size
    return _Part(coef, float(intercept), dual.u, point.z + common, claim, zeros[:d], common, solution.history)


def _best_dual(problem: SparseProblem, solution: Solution, z: np.ndarray, primal: float) -> DualPoint:
    """The solver's dual point, or the one that follows from the scores where it has none."""
    if solution.u.any() or solution.history:
        return DualPoint(solution.u, problem.columns.combine(solution.u))
    return problem.best_dual(z, primal)[0]


def _decode(
    request: SparseRequest, data: _Data, parts: list[_Part], marks: Any, d: int, names: Any, frame: Frame
) -> SparseFit:
    """The answer in the user's rows, with its certificate."""
    arrays = {
        "coef": np.stack([part.coef for part in parts]),
        "intercept": np.array([part.intercept for part in parts], dtype=request.dtype),
        "dual": data.cost.restore(np.stack([part.dual for part in parts])),
        "zeros": np.stack([part.zeros for part in parts]).astype(np.int8),
    }
    problem = {
        "loss": request.loss,
        "epsilon": encode_float(request.epsilon),
        "offset": request.offset.kind,
        "offset_scale": encode_float(request.offset.scale),
        "C": encode_float(data.C),
        "class_weight": None if data.class_weight is None else [encode_float(w) for w in data.class_weight],
        "l1": encode_float(request.l1),
        "l2": encode_float(request.l2),
        "positive": request.positive,
        "columns_of_y": request.columns_of_y,
        "common_part": [encode_float(part.common) for part in parts],
    }
    told = statement(
        request.estimator, request.parameters, None if data.labels is None else data.labels.classes, d, problem,
        feature_names=names, dtype=request.dtype,
    )  # fmt: skip
    made = assemble(
        [part.claim for part in parts], told, arrays, marks, request.stop.relative_gap, frame.stopwatch.seconds,
        compile_seconds=frame.stopwatch.compile_seconds, kind=SparseCertificate,
    )  # fmt: skip
    scores = np.stack([part.scores for part in parts])
    if data.cost.rows is not None:
        seen, scores = scores, np.full(arrays["dual"].shape, np.nan)
        scores[:, data.cost.rows] = seen
    worst = max(parts, key=lambda part: part.claim.relative_gap)
    return SparseFit(made, worst.history, data.labels, scores, data.cost.restore(data.cost.c))
