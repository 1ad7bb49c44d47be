"""Kernel machines: the user's rows, labels and weights as rows of a problem, with their Gram matrix.

This is done once for all subproblems, and for all C of a path.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from gapless import kernels
from gapless._runtime.clock import now
from gapless._runtime.threads import in_background
from gapless.backends.choose import kernel_backend, kernel_device, lay_out_gram
from gapless.backends.numpy.kernel_gram import HeldGram, hold_rows
from gapless.backends.numpy.kernel_libsvm import PairPoints, effort_for, run_libsvm_on_pairs
from gapless.certificates.fingerprint import fingerprint
from gapless.certificates.least_squares import target_fingerprint
from gapless.encode.equal_rows import MAX_SORTED_ROWS, EqualRows, find_equal_rows
from gapless.encode.gamma import resolve_gamma
from gapless.encode.labels import Labels, encode_labels, one_class_error
from gapless.encode.pairs import pairs_of_classes
from gapless.encode.weights import Costs, check_sample_weight, costs, resolve_class_weight
from gapless.gram.blocks import Gram, SubGram, build_gram
from gapless.gram.bytes import ByteTiles
from gapless.gram.class_pairs import PairwiseGram
from gapless.gram.dense import DenseGram, PartOfDense
from gapless.gram.tiles import RowTiles
from gapless.kernels.named import named_kernel
from gapless.kernels.positive import MOST_ROWS, PositiveProof, prove_positive, symmetric_part
from gapless.rows.hashes import row_hashes
from gapless.solvers.kernel.thresholds import KERNEL_THRESHOLDS
from gapless.solvers.loop import Stop, Watch

#: (positive class, negative class); None: the problem has no classes.
ClassPair = tuple[int, int] | None


@dataclass(frozen=True)
class KernelRequest:
    """The parameters of an estimator that its fit needs."""

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
    device: str = "cpu"


@dataclass(frozen=True, eq=False)
class SharedRows:
    """The distinct rows of all classes, class by class, ordered by their values: each pair takes its part."""

    groups: EqualRows
    starts: np.ndarray  #: the first row of each class, and the end of the last one
    gram: DenseGram | HeldGram | None  #: their matrix, where that is small

    def part(self, pair: tuple[int, int], inside: np.ndarray) -> tuple[EqualRows, Gram | None]:
        """The rows ``inside`` of a pair of classes as distinct rows, and the matrix of these."""
        own = self.groups
        (a, b), (c, d) = sorted((int(self.starts[k]), int(self.starts[k + 1])) for k in pair)
        every, group = np.concatenate([np.arange(a, b), np.arange(c, d)]), own.group[inside]
        place = np.where(group < b, group - a, group - c + (b - a))
        first = np.searchsorted(inside, own.first[every])
        groups = EqualRows(first, place, own.share[inside], own.c[every], own.value[every])
        if isinstance(self.gram, HeldGram):
            return groups, self.gram.part(every)
        return groups, None if self.gram is None else PartOfDense(self.gram, every)


@dataclass(frozen=True, eq=False)
class KernelRows:
    """The rows of positive weight, in the problem's units: X, Gram matrix, costs, class indices or targets.

    The problem is solved with ``gram`` and certified with ``judged``; these differ for a given matrix by the shift of its
    diagonal. ``positive`` says whether the dual bounds anything.
    """

    X: Any
    gram: Gram
    judged: Gram
    kernel: Any
    cost: Costs
    index: np.ndarray
    targets: np.ndarray | None
    positive: PositiveProof
    start: Any
    watch: Watch
    matrix: bool  #: the kernel is given as a matrix, or by a function of the user
    n_pairs: int = 1  #: problems that are solved, perhaps at once
    groups: EqualRows | None = None  #: equal rows as one, of all problems; None where there are many rows
    shared: SharedRows | None = None  #: what the problems of all pairs of classes have in common
    pairwise: PairwiseGram | None = None  #: one matrix for the problems of all pairs of classes
    backend: str = "numba"  #: what solves the problems: "numba", "numpy" or "cuda"
    points: PairPoints | None = None  #: LIBSVM's points of all pairs of classes
    first: np.ndarray | None = None  #: u of all pairs of classes on all rows, which the card found at once

    def member(self, pair: ClassPair) -> np.ndarray:
        """Which rows are in the problem of a pair of classes."""
        if pair is None:
            return np.ones(self.index.size, bool)
        return (self.index == pair[0]) | (self.index == pair[1])


@dataclass(frozen=True, eq=False)
class EncodedKernel:
    """A fit's data: the rows of the problem, and the way back to the user's rows and labels."""

    given: Any
    labels: Labels | None
    targets: np.ndarray | None
    weights: np.ndarray
    class_weight: np.ndarray
    classes: np.ndarray  #: the class index of each given row
    data: KernelRows
    pairs: list[ClassPair]
    fingerprint: Callable[[], dict[str, Any]]

    def with_C(self, C: float) -> EncodedKernel:
        """The same data for another C."""
        cost = costs(C, self.weights, self.class_weight, self.classes)
        groups = None if self.data.groups is None else self.data.groups.with_costs(cost.c)
        return replace(self, data=replace(self.data, cost=cost, groups=groups))


def encode_kernel(
    request: KernelRequest,
    X: Any,
    y: Any,
    sample_weight: Any,
    start: Any = None,
    watch: Watch = Watch(),
    *,
    small: bool = False,
) -> EncodedKernel:
    """Encode labels and weights, resolve the kernel, and make the Gram matrix; ``small``: by numpy where the data is small."""
    n = X.shape[0]
    _refuse_masking_weights(request, y, sample_weight, n)
    weights = check_sample_weight(sample_weight, n)
    labels = targets = None
    index = np.zeros(n, np.int64)
    if request.kind in ("c_svc", "nu_svc"):
        labels = encode_labels(y)
        index = labels.index
    elif request.kind != "one_class":
        targets = np.asarray(y, dtype=np.float64)
    class_weight = np.ones(1) if labels is None else resolve_class_weight(request.class_weight, labels, weights)
    cost = costs(request.C if math.isfinite(request.C) else 1.0, weights, class_weight, index)
    if cost.c.size == 0 and n:
        raise ValueError("Invalid input - all samples have zero or negative weights.")
    given, hashes = X, None
    matrix = request.kernel == "precomputed" or callable(request.kernel)
    groups = None
    largest = _largest_problem(request, cost.take(index))
    card = small and kernel_device(request.device, request.kernel, X, largest, math.isinf(request.C)) == "cuda"
    if not matrix and not card:
        X = _dense_where_small(X)
        hashes = _hash_where_groupable(request, X, index, class_weight, cost)
    if not card:
        marks = in_background(lambda: _fingerprint(given, labels, targets, sample_weight, weights, hashes))
    if hashes is not None:
        groups = _find_groups(request, hashes, index if targets is None else targets, weights, class_weight, cost)
    backend = "cuda" if card else "numba"
    if not card and small and not math.isinf(request.C):
        backend = _choose_backend(request, X, cost, index, groups)
    kernel, X, proved, centre = _resolve_kernel(request, X, cost, weights, matrix, groups, backend == "numpy")
    if backend == "cuda" and proved.shift is None:
        backend = "numba"  # this kernel is not positive semidefinite: pairs
    if backend == "numpy" and groups is not None and labels is not None and labels.n_classes > 2:
        groups = groups.sort_by(cost.take(index))
    whole, judged = lay_out_gram(kernel, X, groups, centre, backend, request.cache_bytes)
    if backend == "cuda" and cost.rows is None:
        hashes = getattr(whole, "row_hashes", None)
    if card:
        marks = in_background(lambda: _fingerprint(given, labels, targets, sample_weight, weights, hashes))
    data = KernelRows(
        X, whole, judged, kernel, cost, cost.take(index), None if targets is None else cost.take(targets), proved, start,
        watch, matrix, backend=backend,
    )  # fmt: skip
    pairs = _class_pairs(labels, data)
    data = replace(data, n_pairs=len(pairs), groups=groups)
    return EncodedKernel(given, labels, targets, weights, class_weight, index, data, pairs, marks)


def is_groupable(rows: int, columns: int, largest: int) -> bool:
    """Whether to look for equal rows costs little; ``largest``: the rows of the largest problem."""
    most_values = 4_000_000  # hashing more takes longer than the fit gains
    return largest <= 2 * KERNEL_THRESHOLDS.small_points and rows <= MAX_SORTED_ROWS and rows * columns <= most_values


def group_equal_rows(data: KernelRows, inside: np.ndarray) -> EqualRows | None:
    """Equal rows as one, in an order of their own, where that costs little: equal problems have equal answers to the last bit."""
    if data.groups is not None and inside.size == data.index.size:
        return data.groups
    if data.matrix or not is_groupable(inside.size, data.X.shape[1], inside.size):
        return None
    labels = data.index[inside] if data.targets is None else data.targets[inside]
    return find_equal_rows(row_hashes(data.X[inside]), labels, data.cost.c[inside])


def share_rows(request: KernelRequest, encoded: EncodedKernel) -> SharedRows | None:
    """What the pairs of classes would each find out anew: equal rows, and the matrix where that is small."""
    data = encoded.data
    laid_out, n = getattr(data.gram, "laid_out", None), data.gram.n
    most_pair = int(np.sort(np.bincount(data.index))[-2:].sum())
    groups = data.groups
    if groups is None or len(encoded.pairs) < 2 or data.pairwise is not None or math.isinf(request.C):
        return None
    groups = groups.sort_by(data.index)  # so that a pair's part is two runs of each row
    gram: DenseGram | HeldGram | None = None
    fits = n <= KERNEL_THRESHOLDS.dense_points and 8 * n * n <= request.cache_bytes
    if isinstance(data.kernel, kernels.Linear) and request.kind == "c_svc":  # solved by its rows, unless few pairs do
        fits = fits and most_pair <= KERNEL_THRESHOLDS.trial.rows
    if isinstance(data.gram, HeldGram):
        gram = data.gram.part(groups.first)
    elif fits and laid_out is not None:
        gram = DenseGram(SubGram(data.gram, groups.first), laid_out.reorder(groups.first, np.float64))
        gram.K  # noqa: B018 - made here, by all threads, before the pairs take their parts
    assert encoded.labels is not None
    starts = np.searchsorted(data.index[groups.first], np.arange(encoded.labels.n_classes + 1))
    return SharedRows(groups, starts, gram)


def start_pairs(request: KernelRequest, encoded: EncodedKernel, shared: SharedRows | None) -> PairPoints | None:
    """LIBSVM's points of all pairs of more than two classes, from one call; None where each problem asks for its own."""
    data = encoded.data
    gram, index, c = data.gram, data.index, data.cost.c
    if shared is not None and shared.gram is not None:
        gram, index, c = shared.gram, data.index[shared.groups.first], shared.groups.c
    if not isinstance(gram, HeldGram) or len(encoded.pairs) < 2 or data.start is not None:
        return None
    largest = _largest_problem(request, index)
    nu, passes = None if request.kind == "c_svc" else request.nu, request.stop.passes
    effort = effort_for(request.stop.relative_gap, 1.0, largest, largest, (passes, len(encoded.pairs), nu is not None))
    return run_libsvm_on_pairs(gram.whole, index, c, nu, effort)


class _Late(Exception):
    """The time is over, or the fit was interrupted, before the matrix of all pairs was made."""


def share_between_pairs(request: KernelRequest, encoded: EncodedKernel, deadline: float | None) -> PairwiseGram | None:
    """One matrix for all pairs of classes, where there are many rows and the budget has room for it."""
    data = encoded.data
    laid_out = getattr(data.gram, "laid_out", None)
    # With nu small pairs have matrices of their own: in single precision those whose optimum is w = 0 have no end.
    rows = int(np.sort(np.bincount(data.index))[-2:].sum()) if request.kind == "nu_svc" else data.gram.n
    worth = (
        len(encoded.pairs) > 1
        and rows > KERNEL_THRESHOLDS.dense_points
        and type(laid_out) in (RowTiles, ByteTiles)
        and isinstance(data.kernel, kernels.RBF)
    )
    if not worth or PairwiseGram.bytes_needed(data.index) > request.cache_bytes or math.isinf(request.C):
        return None
    assert laid_out is not None
    assert encoded.labels is not None

    def tick() -> None:
        late, flag = deadline is not None and now() > deadline, data.watch.interruption
        if late or (flag is not None and flag.requested):
            raise _Late

    try:
        return PairwiseGram(laid_out, data.index, encoded.labels.n_classes, tick)
    except _Late:
        return None


def _refuse_masking_weights(request: KernelRequest, y: Any, sample_weight: Any, n: int) -> None:
    """Refuse weights that leave no row, or rows of one class only, in scikit-learn's words."""
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
    if request.kind in ("c_svc", "nu_svc") and np.unique(np.asarray(y)[left]).size == 1 < np.unique(np.asarray(y)).size:
        if request.kind == "nu_svc":
            raise ValueError("specified nu is infeasible: all samples with positive weights belong to the same class")
        raise ValueError("Invalid input - all samples with positive weights belong to the same class")


def _fingerprint(
    X: Any, labels: Labels | None, targets: Any, given: Any, weights: np.ndarray, hashes: np.ndarray | None
) -> dict[str, Any]:
    """The hashes of rows, labels or targets, and of the weights where some were given; ``hashes``: those of the rows."""
    if labels is not None:
        return fingerprint(X, labels.index, None if given is None else weights, hashes=hashes)
    values = np.zeros((X.shape[0], 1)) if targets is None else targets[:, None]
    return target_fingerprint(X, values, np.asarray(weights), hashes=hashes)


def _class_pairs(labels: Labels | None, data: KernelRows) -> list[ClassPair]:
    """Classes 1 and 0, or each pair of more classes with the first one positive, as in scikit-learn."""
    if labels is None:
        return [None]
    left = np.unique(data.index)
    if left.size < 2:
        raise one_class_error(labels.classes[left], " after the rows of weight zero are taken out")
    return [*pairs_of_classes(labels.n_classes)]


def _dense_where_small(X: Any) -> Any:
    """A small sparse matrix as an array: the same bits as for the same values in an array."""
    small_values = 1_000_000  # zeros counted: 8 MB
    return X.toarray() if sparse.issparse(X) and X.shape[0] * X.shape[1] <= small_values else X


def _hash_where_groupable(
    request: KernelRequest, X: Any, index: np.ndarray, class_weight: np.ndarray, cost: Costs
) -> np.ndarray | None:
    """The hashes of all rows, where it costs little to look for equal ones."""
    largest = _largest_problem(request, cost.take(index))
    if not (class_weight > 0.0).all() or not is_groupable(cost.c.size, X.shape[1], largest):
        return None
    return row_hashes(X)


def _largest_problem(request: KernelRequest, index: np.ndarray) -> int:
    """The rows of the largest problem: those of the two largest classes, where there are classes."""
    return int(np.sort(np.bincount(index))[-2:].sum()) if request.kind in ("c_svc", "nu_svc") else index.size


def _choose_backend(request: KernelRequest, X: Any, cost: Costs, index: np.ndarray, groups: EqualRows | None) -> str:
    """The backend by the number of distinct rows: equal problems go the same way, however often a row is written."""
    own = cost.take(index)
    own = own if groups is None else own[groups.first]
    return kernel_backend(X, own.size, _largest_problem(request, own), request.kind in ("nu_svc", "nu_svr"))


def _find_groups(
    request: KernelRequest, hashes: np.ndarray, labels: np.ndarray, weights: np.ndarray, class_weight: np.ndarray,
    cost: Costs,
) -> EqualRows:  # fmt: skip
    """The distinct rows of all problems, with the costs of their whole weights.

    Width and centre of the kernel come from these, so that equal problems have equal matrices to the last bit.
    """
    own = cost.take(labels)
    groups = find_equal_rows(cost.take(hashes), own, cost.c)
    of_class = class_weight[own[groups.first]] if class_weight.size > 1 else class_weight[0]
    C = request.C if math.isfinite(request.C) else 1.0
    return replace(groups, c=(C * np.bincount(groups.group, cost.take(weights))) * of_class)


def _resolve_kernel(
    request: KernelRequest,
    X: Any,
    cost: Costs,
    weights: np.ndarray,
    matrix: bool,
    groups: EqualRows | None,
    small: bool = False,
) -> tuple[Any, Any, PositiveProof, np.ndarray | None]:
    """The kernel with its numbers, the rows of positive weight, whether the dual bounds anything, and the rows' centre."""
    if matrix:
        K = X if cost.rows is None else X[np.ix_(cost.rows, cost.rows)]
        K = symmetric_part(np.asarray(K, dtype=np.float64))
        known = prove_positive(K) if K.shape[0] <= MOST_ROWS else PositiveProof(None)
        return kernels.Precomputed(known.shift or 0.0), K, known, None
    rows, centre = X if cost.rows is None else X[cost.rows], None
    weights = np.asarray(weights, dtype=np.float64)
    if groups is None:
        gamma = resolve_gamma(request.gamma, X, weights)
    else:
        distinct = rows[groups.first]
        gamma = resolve_gamma(request.gamma, distinct, np.bincount(groups.group, cost.take(weights)))
        centre = np.asarray(distinct.mean(axis=0, dtype=np.float64)).ravel()
    kernel = named_kernel(request.kernel, request.degree, gamma, request.coef0)
    if kernel.positive is not None:
        return kernel, rows, PositiveProof(0.0 if kernel.positive else None), centre
    known = PositiveProof(None)
    if rows.shape[0] <= MOST_ROWS // 2:
        every = np.arange(rows.shape[0])
        made = hold_rows(kernel, rows) if small else build_gram(kernel, rows)
        known = prove_positive(made.block(every, every), 2.0 * made.error)  # the judge's bound may be a little wider
        known = known if known.shift == 0.0 else known._replace(shift=None)
    return kernel, rows, known, centre
