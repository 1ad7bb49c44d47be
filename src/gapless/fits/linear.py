"""The way of the data, once: encode -> problem -> solver -> certify -> decode, for linear classifiers.

Two classes are one problem.  With more, logistic regression is one problem of K scores (softmax); the SVMs are K problems
of one class against the rest, on the same rows.  `linear_encode` has the first step, `linear_subproblem` the next three.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from gapless import losses
from gapless._runtime.backend import use_backend
from gapless._runtime.clock import Stopwatch
from gapless._runtime.threads import map_threads
from gapless.backends.choose import backend_for, device_title, linear_device, rows_for
from gapless.backends.gpu.device import memory_of_card
from gapless.certificates.linear import assemble
from gapless.certificates.model_document import problem_block, statement
from gapless.encode.labels import Labels
from gapless.solvers.loop import Watch
from gapless.solvers.solution import Event

from .frame import Frame, Keeper
from .linear_encode import LinearRequest, LinearRows, encode_linear
from .linear_subproblem import LinearSubproblemFit, fit_all_classes, fit_class, reached, solve_classes_at_once


@dataclass(frozen=True, eq=False)
class LinearFit:
    """What the estimator gets back: arrays with a row for each class (one for two classes), and their certificate."""

    labels: Labels
    coef: np.ndarray
    intercept: np.ndarray
    scores: np.ndarray | None  #: None of rows in blocks
    history: list[Event]
    certificate: Any  # a Certificate, or a GradientCertificate where there is no penalty
    c: np.ndarray | None
    outcome: Any = None  # what the warnings of a fit without penalty need besides


def fit_linear(
    request: LinearRequest,
    X: Any,
    y: Any,
    sample_weight: Any,
    *,
    feature_names: Any = None,
    start: Any = None,
    watch: Watch = Watch(),
    keeper: Keeper | None = None,
) -> LinearFit:
    """Fit a linear classifier; ``start`` is a fitted model or certificate whose coefficients and dual point it resumes from."""
    frame = Frame(request.stop, request.n_jobs)

    def fit_on(backend: str) -> LinearFit:
        with use_backend(device_title(backend)):
            with memory_of_card(), frame.running():
                data = encode_linear(request, rows_for(backend, X), y, sample_weight, start, watch)
                softmax = request.loss == "logistic" and data.labels.n_classes > 2
                own = replace(request, loss="softmax") if softmax else request
                if keeper is not None:
                    about = X.shape[1], feature_names, frame.stopwatch
                    keeper.assemble = lambda so_far: decode(
                        own, data, so_far_parts(own, data, frame, so_far), data.fingerprint(), *about
                    )
                parts = fit_parts(own, data, frame, keeper)
                named = data.fingerprint()
            return decode(own, data, parts, named, X.shape[1], feature_names, frame.stopwatch)

    chosen = _choose_backend(request, X, y)
    found = fit_on(chosen)
    if chosen == "numpy" and found.certificate.status == "not_finite":
        return fit_on("numba")  # whose sums may keep what numpy's products lost, at the ends of the floats
    return found


def _choose_backend(request: LinearRequest, X: Any, y: Any) -> str:
    """The backend of a fit; a solver that was asked for by name and a fit without a penalty run on kernels."""
    held = not (isinstance(X, np.ndarray) or sparse.issparse(X))
    if (request.device != "cpu" or held) and linear_device(request, X, lambda: _has_several_classes(y)) == "cuda":
        return "cuda"
    if request.solver not in ("auto", "newton") or math.isinf(request.C):
        return "numba"
    return backend_for(X, losses.BY_NAME[request.loss])


def _has_several_classes(y: Any) -> bool:
    """Whether there are more than two; what cannot be labels is told apart later."""
    values = np.asarray(y)
    if values.dtype.kind in "iub" and values.size:
        return not bool(((values == values.min()) | (values == values.max())).all())
    try:
        return len(np.unique(values)) > 2
    except TypeError:
        return False


def fit_parts(
    request: LinearRequest, data: LinearRows, frame: Frame, keeper: Keeper | None = None
) -> list[LinearSubproblemFit]:
    """Solve and certify all subproblems."""

    def kept(k: int) -> LinearRows:
        return data if keeper is None else replace(data, watch=keeper.watching(k, data.watch))

    if request.loss == "softmax":
        return [fit_all_classes(request, kept(0), frame)]
    every = range(len(data.labels.positives))
    solved = solve_classes_at_once(request, data, frame)
    return map_threads(lambda k: fit_class(request, kept(k), k, frame, solved.get(k)), every, request.n_jobs)


def so_far_parts(
    request: LinearRequest, data: LinearRows, frame: Frame, so_far: dict[int, Any]
) -> list[LinearSubproblemFit]:
    """All subproblems as far as they are solved, certified: what a fit would return that was stopped now."""
    if request.loss == "softmax":
        return [fit_all_classes(request, data, frame, so_far[0])]
    return [
        fit_class(request, data, k, frame, reached(request, data, k, so_far.get(k)))
        for k in range(len(data.labels.positives))
    ]


def decode(
    request: LinearRequest,
    data: LinearRows,
    parts: list[LinearSubproblemFit],
    named: dict[str, Any],
    d: int,
    feature_names: Any,
    stopwatch: Stopwatch,
) -> LinearFit:
    """The answer in the user's rows and classes, with its certificate."""
    labels, cost = data.labels, data.cost
    arrays = {
        "coef": np.concatenate([part.coef for part in parts]),
        "intercept": np.concatenate([part.intercept for part in parts]),
        "dual": _stack([cost.restore(part.dual) for part in parts]),
    }
    scores = _stack([part.scores for part in parts])
    if cost.rows is not None:
        seen, scores = scores, np.full(arrays["dual"].shape, np.nan)
        scores[:, cost.rows] = seen
    certificate = assemble(
        [part.claim for part in parts],
        statement(
            request.estimator,
            request.parameters,
            labels.classes,
            d,
            problem_block(request.loss, request.offset.kind, request.C, data.class_weight, request.offset.scale),
            feature_names=feature_names,
            dtype=request.dtype,
        ),
        arrays,
        named,
        request.stop.relative_gap,
        stopwatch.seconds,
        compile_seconds=stopwatch.compile_seconds,
    )
    worst = max(parts, key=lambda part: part.claim.relative_gap)
    c = cost.c if math.isfinite(request.C) else np.full(cost.c.shape, math.inf)
    return LinearFit(labels, arrays["coef"], arrays["intercept"], scores, worst.history, certificate, cost.restore(c))


def _stack(lines: list[np.ndarray]) -> np.ndarray:
    return lines[0] if len(lines) == 1 else np.concatenate(lines)
