"""The way of the data for kernel machines: encode -> Gram matrix -> problem -> solver -> certify -> decode.

Two classes are one problem, more are one for each pair of them, on one Gram matrix; regression and one-class are one.
`kernel_encode` has the first two steps, `kernel_subproblem` the next three.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from gapless._runtime.backend import use_backend
from gapless._runtime.clock import Stopwatch
from gapless._runtime.threads import map_threads
from gapless.backends.choose import device_title, start_pairs_on_card
from gapless.backends.gpu.device import memory_of_card
from gapless.certificates.kernel import KernelCertificate, assemble_kernel, kernel_block
from gapless.certificates.model_document import encode_float, statement
from gapless.encode.labels import Labels
from gapless.kernels.positive import PositiveProof
from gapless.solvers.loop import Watch
from gapless.solvers.solution import Event

from .frame import Frame
from .kernel_encode import (
    ClassPair,
    EncodedKernel,
    KernelRequest,
    KernelRows,
    encode_kernel,
    share_between_pairs,
    share_rows,
    start_pairs,
)
from .kernel_subproblem import KernelSubproblemFit, fit_subproblem


@dataclass(frozen=True, eq=False)
class KernelFit:
    """The answer to an estimator's request, in the user's rows: a line for each subproblem."""

    labels: Labels | None
    class_weight: np.ndarray
    kernel: Any
    u: np.ndarray
    scalars: np.ndarray
    scores: np.ndarray
    off: np.ndarray | None  #: bounds on the errors of scores in single precision, which have no part in the certificate
    c: np.ndarray
    rows: np.ndarray  #: whether a row is in a subproblem: (lines, rows)
    targets: np.ndarray | None
    certificate: KernelCertificate
    history: list[Event]
    positive: PositiveProof
    lengths: np.ndarray  #: |phi(x)| of each row


def fit_kernel(
    request: KernelRequest,
    X: Any,
    y: Any,
    sample_weight: Any,
    *,
    feature_names: Any = None,
    start: Any = None,
    watch: Watch = Watch(),
) -> KernelFit:
    """Fit a kernel machine; X is the matrix K where the kernel is precomputed or a function of the user.

    ``start``: a model or certificate to resume from.
    """
    frame = Frame(request.stop, request.n_jobs)
    with memory_of_card(), frame.running():
        encoded = encode_kernel(request, X, y, sample_weight, start, watch, small=True)
        pairs = encoded.pairs
        pairwise = share_between_pairs(request, encoded, frame.deadline)
        encoded = replace(encoded, data=replace(encoded.data, pairwise=pairwise))
        shared = share_rows(request, encoded)
        data = replace(encoded.data, shared=shared, points=start_pairs(request, encoded, shared))
        data = replace(data, first=_start_pairs_together(request, data, pairs))
        jobs = 1 if data.backend == "cuda" else request.n_jobs  # one card
        parts = map_threads(lambda k: fit_subproblem(request, data, pairs, k, frame), range(len(pairs)), jobs)
        marks = encoded.fingerprint()
    with use_backend(device_title(data.backend)):
        return decode_kernel(request, encoded, parts, marks, feature_names, frame.stopwatch)


def _start_pairs_together(request: KernelRequest, data: KernelRows, pairs: list[ClassPair]) -> np.ndarray | None:
    """u of all pairs of classes from the card at once, where each is small; None where each problem starts by itself."""
    own = [pair for pair in pairs if pair is not None]
    if data.backend != "cuda" or len(own) < 2 or request.kind != "c_svc" or data.start is not None:
        return None
    found: np.ndarray | None = start_pairs_on_card(data.gram, data.index, data.cost.c, own, request.stop.relative_gap)
    return found


def decode_kernel(
    request: KernelRequest,
    encoded: EncodedKernel,
    parts: list[KernelSubproblemFit],
    marks: dict[str, Any],
    feature_names: Any,
    stopwatch: Stopwatch,
) -> KernelFit:
    """Bring the subproblems' fits back to the user's rows, and assemble the certificate."""
    data, pairs, labels, given = encoded.data, encoded.pairs, encoded.labels, encoded.given
    cost, kernel, proved, class_weight = data.cost, data.kernel, data.positive, encoded.class_weight
    lengths = cost.restore(np.sqrt(np.maximum(data.gram.diagonal, 0.0) + data.gram.error))
    member = np.stack([data.member(pair) for pair in pairs])
    u, scores = np.zeros((len(pairs), cost.c.size)), np.full((len(pairs), cost.c.size), np.nan)
    off = np.zeros(u.shape) if any(part.off is not None for part in parts) else None
    for line, part in enumerate(parts):
        inside = np.flatnonzero(member[line])
        u[line, inside], scores[line, inside] = part.u, part.scores
        if off is not None and part.off is not None:
            off[line, inside] = part.off
    u, seen, off = cost.restore(u), scores, None if off is None else cost.restore(off)
    if cost.rows is not None:
        scores = np.full(u.shape, np.nan)
        scores[:, cost.rows] = seen
    arrays: dict[str, np.ndarray] = {"dual": u, "scalars": np.stack([part.scalars for part in parts])}
    block, vectors = _support_block(given, u, data.matrix)
    stated = statement(
        request.estimator,
        request.parameters,
        None if labels is None else labels.classes,
        given.shape[1],
        _problem_block(request, kernel, None if labels is None else class_weight, block),
        feature_names=feature_names,
    )
    certificate = assemble_kernel(
        [part.claim for part in parts], stated, {**arrays, **vectors}, marks, request.stop.relative_gap,
        stopwatch.seconds, proved.shift is not None, proved.witness, stopwatch.compile_seconds,
    )  # fmt: skip
    c = cost.restore(cost.c if math.isfinite(request.C) else np.full(cost.c.size, math.inf))
    worst = max(parts, key=lambda part: -1.0 if math.isnan(part.claim.relative_gap) else part.claim.relative_gap)
    return KernelFit(
        labels, class_weight, kernel, u, arrays["scalars"], scores, off, c, cost.restore(member.astype(bool)),
        encoded.targets, certificate, worst.history, proved, lengths,
    )  # fmt: skip


def _problem_block(
    request: KernelRequest, kernel: Any, class_weight: np.ndarray | None, support: dict[str, Any]
) -> dict[str, Any]:
    """The entry "problem" of the document."""
    block = kernel_block(kernel)
    if callable(request.kernel):
        block["name"] = "callable"
    return {
        "kind": request.kind,
        "kernel": block,
        "C": encode_float(request.C),
        "nu": encode_float(request.nu),
        "epsilon": encode_float(request.epsilon),
        "class_weight": None if class_weight is None else [encode_float(w) for w in class_weight],
        "support": support,
    }


def _support_block(X: Any, u: np.ndarray, matrix: bool) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The number of support vectors, and the vectors as a model file keeps them."""
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
