"""The way of the data for kernel machines: encode -> Gram matrix -> problem -> solver -> certify -> decode.

Two classes are one problem, more are one for each pair of them, on one Gram matrix; regression and one-class are one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from gapless import kernels, losses
from gapless._runtime.clock import Stopwatch, now
from gapless._runtime.threads import aside, map_threads, n_threads, one_blas_thread, team
from gapless._runtime.written import written
from gapless.certificates.fingerprint import fingerprint
from gapless.certificates.kernel import KernelCertificate, Pair, assemble_kernel, certify_kernel, kernel_block
from gapless.certificates.least_squares import target_fingerprint
from gapless.certificates.model_document import encode_float, statement
from gapless.encode.equal_rows import LARGEST, Distinct, distinct
from gapless.encode.gamma import resolve_gamma
from gapless.encode.labels import Labels, encode_labels, one_class_error
from gapless.encode.pairs import pairs_of_classes
from gapless.encode.weights import Costs, check_sample_weight, costs, resolve_class_weight
from gapless.gram.blocks import SubGram, build_gram
from gapless.gram.bytes import ByteTiles
from gapless.gram.class_pairs import ClassPairGram, PairwiseGram
from gapless.gram.dense import DenseGram
from gapless.gram.interface import Gram
from gapless.gram.tiles import RowTiles
from gapless.kernels.positive import MOST_ROWS, PositiveProof, prove_positive
from gapless.problems.constant import at_least_as_good_as_constant
from gapless.problems.kernel import KernelDual, evaluate_point
from gapless.problems.linear import LinearProblem
from gapless.rows.hashes import row_hashes
from gapless.solvers.kernel.solve import solve_kernel
from gapless.solvers.kernel.thresholds import KERNEL_THRESHOLDS
from gapless.solvers.linear.solve import solve
from gapless.solvers.loop import Interruption, Stop
from gapless.solvers.solution import Event, Solution

from .hard_margin_kernel import fit_hard

#: Equal rows are looked for up to so many values.
MOST_VALUES = 4_000_000
#: Rows up to which a problem's Gram matrix is held whole, where the budget has room for it.
HELD = 2 * KERNEL_THRESHOLDS.small_points
#: A sparse matrix of no more values, zeros counted, is filled.
SMALL_VALUES = 1_000_000


@dataclass(frozen=True)
class KernelTask:
    """What an estimator asks for."""

    estimator: str
    parameters: Mapping[str, Any]
    kind: str
    kernel: Any
    degree: int
    gamma: Any
    coef0: float
    C: float
    nu: float
    epsilon: float
    class_weight: Any
    stop: Stop
    n_jobs: int | None
    cache_bytes: int


@dataclass(frozen=True, eq=False)
class KernelFitted:
    """What it gets back: a line for each subproblem."""

    labels: Labels | None
    class_weight: np.ndarray
    kernel: Any
    u: np.ndarray
    scalars: np.ndarray
    scores: np.ndarray
    off: np.ndarray | None  #: what these can be off by beyond float64, where they have no part in the certificate
    c: np.ndarray
    rows: np.ndarray  #: which rows are in which subproblem (lines, rows)
    targets: np.ndarray | None
    certificate: KernelCertificate
    history: list[Event]
    positive: PositiveProof
    lengths: np.ndarray  #: |phi(x)| of each row


@dataclass(frozen=True, eq=False)
class Solved:
    """The outcome of one subproblem, on its own rows."""

    u: np.ndarray
    scalars: np.ndarray
    scores: np.ndarray
    claim: Pair
    history: list[Event]
    off: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class Prepared:
    """What is done once for all subproblems, and for all C: classes, Gram matrix, fingerprint."""

    given: Any
    labels: Labels | None
    targets: np.ndarray | None
    weights: np.ndarray
    class_weight: np.ndarray
    classes: np.ndarray  #: the class of each row that was given
    data: Data
    pairs: list[tuple[int, int] | None]
    named: Callable[[], dict[str, Any]]

    def at(self, C: float) -> Prepared:
        """The same for another C."""
        cost = costs(C, self.weights, self.class_weight, self.classes)
        return replace(self, data=replace(self.data, cost=cost))


def fit_kernel(
    task: KernelTask,
    X: Any,
    y: Any,
    sample_weight: Any,
    *,
    feature_names: Any = None,
    start: Any = None,
    callback: Callable[[Event], None] | None = None,
    interruption: Interruption | None = None,
) -> KernelFitted:
    """X is the matrix K where the kernel is precomputed or a function. ``start``: a model or certificate to resume from."""
    stopwatch = Stopwatch()
    deadline = None if task.stop.seconds is None else stopwatch.started + task.stop.seconds
    with one_blas_thread(), team(task.n_jobs), np.errstate(all="ignore"):
        ready = prepare(task, X, y, sample_weight, start=start, callback=callback, interruption=interruption)
        pairs = ready.pairs
        data = replace(ready.data, together=_together(task, ready, deadline))
        parts = map_threads(lambda k: _one(task, data, pairs, k, deadline), range(len(pairs)), task.n_jobs)
        marks = ready.named()
    return decode_kernel(task, ready, parts, marks, feature_names, stopwatch)


def prepare(
    task: KernelTask, X: Any, y: Any, sample_weight: Any, *, start: Any, callback: Any, interruption: Any
) -> Prepared:
    """Labels, weights, kernel and Gram matrix."""
    n = X.shape[0]
    _refuse_masked(task, y, sample_weight, n)
    weights = check_sample_weight(sample_weight, n)
    labels = targets = None
    index = np.zeros(n, np.int64)
    if task.kind in ("c_svc", "nu_svc"):
        labels = encode_labels(y)
        index = labels.index
    elif task.kind != "one_class":
        targets = np.asarray(y, dtype=np.float64)
    class_weight = np.ones(1) if labels is None else resolve_class_weight(task.class_weight, labels, weights)
    cost = costs(task.C if math.isfinite(task.C) else 1.0, weights, class_weight, index)
    if cost.c.size == 0 and n:
        raise ValueError("Invalid input - all samples have zero or negative weights.")
    given = X
    named = aside(lambda: _named(given, labels, targets, sample_weight, weights))
    matrix = task.kernel == "precomputed" or callable(task.kernel)
    kernel, X, proved = _kernel(task, X, cost, weights, matrix)
    # Solved by the matrix as it is; what is claimed is claimed of K + shift I.
    whole = build_gram(kernels.Precomputed() if matrix else kernel, X, task.cache_bytes)
    judged = build_gram(kernel, X, task.cache_bytes) if matrix else whole
    if not np.isfinite(getattr(whole, "norms2", 0.0)).all():
        raise ValueError(
            "The dual coefficients or intercepts are not finite. The input data may contain large values and need to be "
            "preprocessed: the squares of the values of X overflow. Scale the columns (StandardScaler, MaxAbsScaler)."
        )
    data = Data(
        X, whole, judged, kernel, cost, cost.take(index), None if targets is None else cost.take(targets), proved, start,
        callback, interruption, matrix,
    )  # fmt: skip
    return Prepared(given, labels, targets, weights, class_weight, index, data, _pairs(labels, data), named)


class _Late(Exception):
    pass


def _together(task: KernelTask, ready: Prepared, deadline: float | None) -> PairwiseGram | None:
    """One matrix for all pairs of classes, where there are many rows and the budget has room for it."""
    data = ready.data
    laid_out, n = getattr(data.gram, "laid_out", None), data.gram.n
    worth = (
        len(ready.pairs) > 1
        and n > HELD
        and type(laid_out) in (RowTiles, ByteTiles)
        and isinstance(data.kernel, kernels.RBF)
    )
    if not worth or PairwiseGram.bytes_needed(data.index) > task.cache_bytes or math.isinf(task.C):
        return None
    assert laid_out is not None
    assert ready.labels is not None

    def tick() -> None:
        late = deadline is not None and now() > deadline
        if late or (data.interruption is not None and data.interruption.requested):
            raise _Late

    try:
        return PairwiseGram(laid_out, data.index, ready.labels.n_classes, tick)
    except _Late:
        return None


def decode_kernel(
    task: KernelTask,
    ready: Prepared,
    parts: list[Solved],
    marks: dict[str, Any],
    feature_names: Any,
    stopwatch: Stopwatch,
) -> KernelFitted:
    """What the estimator gets back, in the user's rows."""
    data, pairs, labels, given = ready.data, ready.pairs, ready.labels, ready.given
    cost, kernel, proved, class_weight = data.cost, data.kernel, data.positive, ready.class_weight
    lengths = cost.restore(np.sqrt(np.maximum(data.gram.diagonal, 0.0) + data.gram.error))
    member = np.stack([data.member(pair) for pair in pairs])
    u, scores = np.zeros((len(pairs), cost.c.size)), np.full((len(pairs), cost.c.size), np.nan)
    off = np.zeros(u.shape) if any(part.off is not None for part in parts) else None
    for line, (inside, part) in enumerate(zip(member, parts)):
        u[line, inside], scores[line, inside] = part.u, part.scores
        if off is not None and part.off is not None:
            off[line, inside] = part.off
    u, seen, off = cost.restore(u), scores, None if off is None else cost.restore(off)
    if cost.rows is not None:
        scores = np.full(u.shape, np.nan)
        scores[:, cost.rows] = seen
    arrays: dict[str, np.ndarray] = {"dual": u, "scalars": np.stack([part.scalars for part in parts])}
    block, vectors = _support(given, u, data.matrix)
    stated = statement(
        task.estimator,
        task.parameters,
        None if labels is None else labels.classes,
        given.shape[1],
        _problem(task, kernel, None if labels is None else class_weight, block),
        feature_names=feature_names,
    )
    certificate = assemble_kernel(
        [part.claim for part in parts], stated, {**arrays, **vectors}, marks, task.stop.relative_gap,
        stopwatch.seconds, proved.shift is not None, proved.witness, stopwatch.compile_seconds,
    )  # fmt: skip
    c = cost.restore(cost.c if math.isfinite(task.C) else np.full(cost.c.size, math.inf))
    worst = max(parts, key=lambda part: -1.0 if math.isnan(part.claim.relative_gap) else part.claim.relative_gap)
    return KernelFitted(
        labels, class_weight, kernel, u, arrays["scalars"], scores, off, c, cost.restore(member.astype(bool)),
        ready.targets, certificate, worst.history, proved, lengths,
    )  # fmt: skip


def _refuse_masked(task: KernelTask, y: Any, sample_weight: Any, n: int) -> None:
    """Weights that leave nothing, or one class only, in scikit-learn's words."""
    if sample_weight is None:
        return
    try:
        left = np.asarray(sample_weight, dtype=np.float64) > 0.0
    except (TypeError, ValueError):
        return
    if left.shape != (n,):
        return
    if not left.any():
        raise ValueError("Invalid input - all samples have zero or negative weights.")
    if task.kind in ("c_svc", "nu_svc") and np.unique(np.asarray(y)[left]).size == 1 < np.unique(np.asarray(y)).size:
        if task.kind == "nu_svc":
            raise ValueError("specified nu is infeasible: all samples with positive weights belong to the same class")
        raise ValueError("Invalid input - all samples with positive weights belong to the same class")


def _named(X: Any, labels: Labels | None, targets: Any, given: Any, weights: np.ndarray) -> dict[str, Any]:
    if labels is not None:
        return fingerprint(X, labels.index, None if given is None else weights)
    values = np.zeros((X.shape[0], 1)) if targets is None else targets[:, None]
    return target_fingerprint(X, values, np.asarray(weights))


@dataclass(frozen=True, eq=False)
class Data:
    """The rows that count, in the problem's units."""

    X: Any
    gram: Gram
    judged: Gram
    kernel: Any
    cost: Costs
    index: np.ndarray
    targets: np.ndarray | None
    positive: PositiveProof
    start: Any
    callback: Any
    interruption: Any
    matrix: bool
    together: PairwiseGram | None = None  #: where the problems of all pairs of classes read one matrix

    def member(self, pair: tuple[int, int] | None) -> np.ndarray:
        if pair is None:
            return np.ones(self.index.size, bool)
        return (self.index == pair[0]) | (self.index == pair[1])


def _pairs(labels: Labels | None, data: Data) -> list[tuple[int, int] | None]:
    """(positive, negative): classes 1 and 0, or each pair of more with the first one positive, as in scikit-learn."""
    if labels is None:
        return [None]
    left = np.unique(data.index)
    if left.size < 2:
        raise one_class_error(labels.classes[left], " after the rows of weight zero are taken out")
    return [*pairs_of_classes(labels.n_classes)]


def _kernel(task: KernelTask, X: Any, cost: Costs, weights: np.ndarray, matrix: bool) -> tuple[Any, Any, PositiveProof]:
    """The kernel with its numbers, the rows that count, and whether its dual bounds anything."""
    if matrix:
        K = X if cost.rows is None else X[np.ix_(cost.rows, cost.rows)]
        K = symmetric(np.asarray(K, dtype=np.float64))
        known = prove_positive(K) if K.shape[0] <= MOST_ROWS else PositiveProof(None)
        return kernels.Precomputed(known.shift or 0.0), K, known
    if sparse.issparse(X) and X.shape[0] * X.shape[1] <= SMALL_VALUES:
        X = X.toarray()  # the same bits as for the same values in an array
    gamma = resolve_gamma(task.gamma, X, np.asarray(weights, dtype=np.float64))
    rows = X if cost.rows is None else X[cost.rows]
    kernel: Any = {
        "linear": lambda: kernels.Linear(),
        "poly": lambda: kernels.Polynomial(int(task.degree), gamma, float(task.coef0)),
        "rbf": lambda: kernels.RBF(gamma),
        "sigmoid": lambda: kernels.Sigmoid(gamma, float(task.coef0)),
    }[task.kernel]()
    if kernel.positive is not None:
        return kernel, rows, PositiveProof(0.0 if kernel.positive else None)
    known = PositiveProof(None)
    if rows.shape[0] <= MOST_ROWS // 2:
        every = np.arange(rows.shape[0])
        known = prove_positive(build_gram(kernel, rows).block(every, every))
        known = known if known.shift == 0.0 else known._replace(shift=None)
    return kernel, rows, known


def symmetric(K: np.ndarray) -> np.ndarray:
    """K as it is where it is symmetric, else its symmetric part where rounding may be the reason; ValueError else."""
    off = np.abs(K - K.T)
    most = float(off.max(initial=0.0))
    if most == 0.0:
        return K
    if most > 1e-7 * float(np.abs(K).max(initial=0.0)):
        i, j = (int(k) for k in np.unravel_index(int(off.argmax()), off.shape))
        raise ValueError(
            f"Precomputed matrix must be symmetric: K[{i}, {j}] = {written(K[i, j])} and K[{j}, {i}] = {written(K[j, i])}. "
            "A kernel K(x, z) does not depend on the order of x and z."
        )
    return 0.5 * (K + K.T)


def _one(task: KernelTask, data: Data, pairs: list[tuple[int, int] | None], k: int, deadline: float | None) -> Solved:
    """One problem: solved on distinct rows where they are few, certified on all."""
    pair = pairs[k]
    inside = np.flatnonzero(data.member(pair))
    share = n_threads(task.n_jobs) / (len(pairs) - k)
    stop = task.stop
    if deadline is not None:
        stop = replace(stop, seconds=min(1.0, share) * max(0.0, deadline - now()))
    present = np.unique(data.index[inside])
    if pair is not None and present.size < 2:  # a class without weight: nothing was seen of it
        return _nothing(task, inside, pair, present)
    if math.isinf(task.C):
        assert pair is not None
        if data.positive.shift is None:
            raise ValueError(
                f"{task.estimator}(C=inf): a hard margin needs a positive semidefinite kernel. Use a finite C."
            )
        y = np.where(data.index[inside] == pair[0], 1.0, -1.0)
        weights = data.cost.c[inside]
        best, claim = fit_hard(task.estimator, SubGram(data.judged, inside), y, weights, pair, stop, data.interruption)
        return Solved(best.u, np.array([best.b]), best.scores, claim, [])
    groups = None if data.together is not None else _groups(data, inside, pair)
    problem = _build(task, data, inside, data.cost.c[inside], pair, hold=groups is None)
    _refuse_infeasible(task, problem, pair)
    start = _start(data, problem, inside, k, len(pairs))
    small = problem
    if groups is not None:
        small = _build(task, data, inside[groups.first], groups.c, pair)
        start = None if start is None else small.beta(groups.gather(problem.u(start)))
    proved = data.positive.shift is not None
    if isinstance(data.kernel, kernels.Linear) and task.kind == "c_svc":
        solution = _linear(data, small, inside if groups is None else inside[groups.first], stop, start)
    else:
        solution = solve_kernel(
            small, stop, start=start, callback=data.callback, interruption=data.interruption, positive=proved
        )
    if groups is not None or data.judged is not data.gram:
        halves = np.split(solution.u, problem.n // problem.n_points)
        beta = solution.u if groups is None else np.concatenate([groups.expand(half) for half in halves])
        problem = _build(task, data, inside, data.cost.c[inside], pair, data.judged, hold=False)
        beta = problem.repair(beta)
        scores = problem.scores(beta)
        theta = problem.best_scalars(scores) if data.judged is data.gram else solution.theta
        solution = replace(solution, u=beta, theta=theta, scores=scores, off=None)
    assert solution.scores is not None
    if solution.status not in ("converged", "stalled"):
        beta, theta, scores = at_least_as_good_as_constant(problem, (solution.u, solution.theta, solution.scores))
        off = solution.off if theta is solution.theta else None
        solution = replace(solution, u=beta, theta=theta, scores=scores, off=off)
    if task.kind in ("nu_svr", "epsilon_svr"):  # what the two variables of a row have in common is not in u
        solution = replace(solution, u=problem.beta(problem.u(solution.u)))
    claim = certify_kernel(problem, solution, tol=task.stop.relative_gap, pair=pair, positive=proved)
    assert solution.scores is not None
    return Solved(problem.u(solution.u), solution.theta, solution.scores, claim, solution.history, solution.off)


def _nothing(task: KernelTask, inside: np.ndarray, pair: tuple[int, int], present: np.ndarray) -> Solved:
    """One class alone: w = 0 and the offset says that class; no loss is left."""
    sign = 0.0 if present.size == 0 else (1.0 if present[0] == pair[0] else -1.0)
    zeros = np.zeros(inside.size)
    claim = Pair(pair[0], "converged", 0.0, 0.0, 0.0, 0.0, 0.0, 0, 0.0, "none", pair[1], 0.0)
    scalars = np.array([sign, 0.0] if task.kind == "nu_svc" else [sign])
    return Solved(zeros, scalars, zeros.copy(), claim, [])


def _build(
    task: KernelTask,
    data: Data,
    rows: np.ndarray,
    c: np.ndarray,
    pair: tuple[int, int] | None,
    of: Gram | None = None,
    *,
    hold: bool = True,
) -> KernelDual:
    """The problem on some rows; ``hold``: many products will be asked of its Gram matrix."""
    of = data.gram if of is None else of
    whole = of if rows.size == of.n and (np.diff(rows) > 0).all() else SubGram(of, rows)
    laid_out = getattr(of, "laid_out", None)
    room = 8 * rows.size**2 * n_threads(task.n_jobs) <= task.cache_bytes
    if data.together is not None and pair is not None:
        whole = ClassPairGram(of, rows, data.together, pair)
    elif hold and laid_out is not None and rows.size <= HELD and room:
        whole = DenseGram(whole, laid_out if whole is of else laid_out.reorder(rows, np.float64))
    if pair is not None:
        y = np.where(data.index[rows] == pair[0], 1.0, -1.0)
        return KernelDual.c_svc(whole, y, c) if task.kind == "c_svc" else KernelDual.nu_svc(whole, y, c, task.nu)
    if task.kind == "one_class":
        return KernelDual.one_class(whole, c, task.nu)
    assert data.targets is not None
    targets = data.targets[rows]
    if task.kind == "epsilon_svr":
        return KernelDual.epsilon_svr(whole, targets, c, task.epsilon)
    return KernelDual.nu_svr(whole, targets, c, task.nu)


def _refuse_infeasible(task: KernelTask, problem: KernelDual, pair: tuple[int, int] | None) -> None:
    if problem.is_infeasible():
        masses = [float(problem.c[side].sum()) for side, _ in problem.sides]
        most = 2.0 * min(masses) / sum(masses)
        raise ValueError(
            f"specified nu is infeasible: nu={task.nu:g} asks for more weight of the smaller class than it has; the classes "
            f"allow nu <= {most:.6g}."
        )


def _groups(data: Data, inside: np.ndarray, pair: tuple[int, int] | None) -> Distinct | None:
    """Equal rows as one, where the fit goes on to machine precision: equal problems shall give equal answers."""
    if (
        data.matrix
        or inside.size > min(LARGEST, 2 * KERNEL_THRESHOLDS.small_points)
        or inside.size * data.X.shape[1] > MOST_VALUES
    ):
        return None
    labels = data.index[inside] if data.targets is None else data.targets[inside]
    found = distinct(row_hashes(data.X[inside]), labels, data.cost.c[inside])
    return found


def _start(data: Data, problem: KernelDual, inside: np.ndarray, k: int, lines: int) -> np.ndarray | None:
    """The dual point of the fit to resume from, where it is of as many rows."""
    if data.start is None:
        return None
    dual = getattr(data.start, "certificate_", data.start).arrays.get("dual")
    if dual is None or dual.shape != (lines, data.cost.n_rows):
        return None
    return problem.repair(problem.beta(data.cost.take(dual[k])[inside]))


def _linear(data: Data, problem: KernelDual, rows: np.ndarray, stop: Stop, start: np.ndarray | None) -> Solution:
    """kernel="linear" by the linear solver: its dual point is u, and w = sum u x.

    The gap of that w may be wider than the one the solver reached with its own; then it goes on.
    """
    X = data.X[rows] if rows.size != data.X.shape[0] or not (np.diff(rows) > 0).all() else data.X
    linear = LinearProblem.build(X, problem.sign.astype(np.int8), problem.c, losses.BY_NAME["hinge"], "free")
    point = None
    if start is not None:
        u = problem.u(start)
        point = linear.primal_from_dual(u), u
    aim = stop.relative_gap
    seconds, history, passes = 0.0, [], 0
    for _ in range(4):
        left = stop if stop.seconds is None else replace(stop, seconds=max(0.0, stop.seconds - seconds))
        found = solve(
            linear, replace(left, relative_gap=aim), start=point, callback=data.callback, interruption=data.interruption
        )  # fmt: skip
        seconds, passes = seconds + found.seconds, passes + found.n_iter
        history += found.history
        beta = problem.repair(problem.sign * found.u)
        scores = problem.scores(beta)
        scalars, primal, _, gap = evaluate_point(problem, beta, scores)
        if gap <= stop.relative_gap * max(abs(primal), abs(primal - gap)) or found.status not in (
            "converged",
            "stalled",
        ):
            break
        aim, point = 0.1 * aim, (found.theta, found.u)
    return Solution(scalars, beta, found.status, passes, seconds, found.solver, history, scores)


def _problem(task: KernelTask, kernel: Any, class_weight: np.ndarray | None, support: dict[str, Any]) -> dict[str, Any]:
    block = kernel_block(kernel)
    if callable(task.kernel):
        block["name"] = "callable"
    return {
        "kind": task.kind,
        "kernel": block,
        "C": encode_float(task.C),
        "nu": encode_float(task.nu),
        "epsilon": encode_float(task.epsilon),
        "class_weight": None if class_weight is None else [encode_float(w) for w in class_weight],
        "support": support,
    }


def _support(X: Any, u: np.ndarray, matrix: bool) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """How many rows have a part in some line, and these rows as a file keeps them."""
    rows = np.flatnonzero(u.any(axis=0))
    if matrix:
        return {"rows": int(rows.size), "stored": "none", "values": 0}, {}
    if sparse.issparse(X):
        part = sparse.csr_matrix(X[rows]).astype(np.float64)
        part.sort_indices()
        arrays = {
            "vector_values": part.data,
            "vector_columns": part.indices.astype(np.int64),
            "vector_starts": part.indptr.astype(np.int64),
        }
        return {"rows": int(rows.size), "stored": "csr", "values": int(part.nnz)}, arrays
    values = np.ascontiguousarray(X[rows], dtype=np.float64)
    return {"rows": int(rows.size), "stored": "dense", "values": int(values.size)}, {"vectors": values}
