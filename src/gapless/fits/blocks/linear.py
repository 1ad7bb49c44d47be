"""The way of the data through linear classifiers where rows lie in blocks: survey -> costs -> problem -> solve -> certify.

Solvers and certificates are those of rows in memory; `backends/blocks` answers what they ask. What the fit gives back has no
figures of single training rows but the dual point.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gapless._runtime.backend import use_backend
from gapless._runtime.written import written
from gapless.backends.blocks.linear import BlockLinear
from gapless.backends.blocks.softmax import BlockSoftmax
from gapless.backends.blocks.survey import (
    Classes,
    Encoded,
    Surveyed,
    encode_blocks,
    find_classes,
    fingerprint_of_blocks,
)
from gapless.backends.blocks.walk import Walk
from gapless.backends.blocks.work_linear import LinearSpec
from gapless.backends.blocks.work_softmax import SoftmaxSpec
from gapless.certificates.linear import assemble
from gapless.certificates.model_document import problem_block, statement
from gapless.certificates.subproblem import Subproblem, certify
from gapless.encode.labels import Labels, one_class_error
from gapless.encode.weights import resolve_by_masses
from gapless.fits.frame import Frame, Keeper
from gapless.fits.linear import LinearFit
from gapless.fits.linear_encode import LinearRequest
from gapless.problems.constant import separate_equal_constants
from gapless.solvers.linear.solve import solve, solve_multinomial
from gapless.solvers.loop import Interruption, Watch
from gapless.solvers.solution import Event, Solution


@dataclass(frozen=True, eq=False)
class BlockRows:
    """The blocks in the problem's units."""

    walk: Walk
    seen: Surveyed
    classes: Classes
    class_weight: np.ndarray
    encoded: Encoded
    start: Any
    watch: Watch


@dataclass(frozen=True, eq=False)
class LinePart:
    """The outcome of one subproblem; ``dual`` still lies in blocks."""

    coef: np.ndarray
    intercept: np.ndarray
    dual: Any
    claim: Subproblem
    history: list[Event]


def fit_linear_blocks(
    request: LinearRequest, walk: Walk, *, start: Any = None, watch: Watch = Watch(), keeper: Keeper | None = None
) -> LinearFit:
    """Fit a linear classifier to the blocks of a walk."""
    if math.isinf(request.C):
        raise NotImplementedError("C=inf is not offered for rows in blocks: give X and y in memory, or a large C")
    if request.solver not in ("auto", "newton", "semismooth", "interior_point"):
        raise ValueError(
            f"solver={written(request.solver)} visits rows one by one, which rows in blocks are not made for: leave solver='auto'"
        )
    frame = Frame(request.stop, request.n_jobs)
    with frame.running(), use_backend(walk.backend):
        data, request = _encode(request, walk, start, watch)
        softmax = request.loss == "logistic" and data.classes.values.size > 2
        request = replace(request, loss="softmax") if softmax else request
        lines = 1 if softmax else len(_positives(data))
        parts: list[LinePart] = []

        def fit(k: int, so_far: Any = None, watched: BlockRows = data) -> LinePart:
            return (
                _fit_all_classes(request, watched, frame, so_far)
                if softmax
                else _fit_class(request, watched, k, frame, so_far)
            )

        def assembled(so_far: dict[int, Any]) -> LinearFit:
            rest = [fit(k, so_far.get(k, (None, None, None))) for k in range(len(parts), lines)]
            return _decode(request, data, [*parts, *rest], frame)

        for k in range(lines):
            watched = data
            if keeper is not None:
                keeper.assemble = assembled
                watched = replace(data, watch=keeper.watching(k, watch))
            parts.append(fit(k, None, watched))
        return _decode(request, data, parts, frame)


def _positives(data: BlockRows) -> tuple[int, ...]:
    return Labels(data.classes.values, np.empty(0)).positives


def _encode(request: LinearRequest, walk: Walk, start: Any, watch: Watch) -> tuple[BlockRows, LinearRequest]:
    interruption = watch.interruption or Interruption()
    tick = interruption.check  # nothing can be returned yet
    seen = walk.survey(True, tick)
    classes = find_classes(seen.facts)
    masses = classes.masses
    class_weight = resolve_by_masses(request.class_weight, classes.values, lambda: masses, lambda: float(masses.sum()))
    _refuse_weightless(request, classes, class_weight)
    encoded = encode_blocks(walk, seen, request.C, class_weight, classes.tables, tick)
    walk.count_only(encoded.kept, encoded.sizes)
    keeps = request.dtype == np.float32 or (request.estimator == "LogisticRegression" and seen.single)
    dtype = np.dtype(np.float32 if keeps and seen.single else np.float64)
    return BlockRows(walk, seen, classes, class_weight, encoded, start, watch), replace(request, dtype=dtype)


def _refuse_weightless(request: LinearRequest, classes: Classes, class_weight: np.ndarray) -> None:
    mass = classes.masses * class_weight
    left = classes.values[mass > 0.0]
    if left.size < 2:
        raise one_class_error(left, " after the rows of weight zero are taken out")
    if left.size < classes.values.size and request.loss == "logistic" and request.offset.kind == "free":
        gone = classes.values[mass <= 0.0].tolist()[0]
        raise ValueError(
            f"the class {written(gone)} has no weight: with a free offset its log-odds would be minus infinity. Remove the "
            "class, give it weight, or set penalize_intercept=True."
        )


def _reached(problem: Any, so_far: tuple[Any, Any, Any], zero: np.ndarray) -> Solution:
    """A problem as far as it is solved; at zero where it was not begun."""
    theta, u, loop = so_far
    if theta is None:
        return Solution(zero, problem.zero_dual(), "interrupted", 0, 0.0, "start", [])
    u = problem.dual_from_primal(theta) if u is None else u
    return Solution(theta, u, "interrupted", loop.n_iter, loop.seconds, "checkpoint", list(loop.history))


def _fit_class(request: LinearRequest, data: BlockRows, k: int, frame: Frame, so_far: Any = None) -> LinePart:
    positives = _positives(data)
    spec = LinearSpec(request.loss, request.offset.kind, request.offset.scale, positives[k], data.seen.d)
    problem = BlockLinear(data.walk, spec, data.encoded.base, shape=data.seen.shape)
    start, earlier = None, _read_start(data, len(positives))
    if earlier is not None and so_far is None:
        theta = problem.join(earlier[0][k], float(earlier[1][k]))
        start = theta, problem.dual_from_primal(theta)
    stop, options = frame.share_time(k, len(positives)), {"watch": data.watch, "seed": request.seed}
    solution: Any
    if so_far is None:
        solution = solve(problem, stop, solver=request.solver, start=start, **options)  # type: ignore[arg-type]
    else:
        solution = _reached(problem, so_far, np.zeros(problem.d + 1))
    if len(positives) > 1 and solution.status != "converged":
        theta = separate_equal_constants(problem, solution.theta)  # type: ignore[arg-type]
        solution = solution if theta is solution.theta else replace(solution, theta=theta, scores=None)
    u = solution.u if solution.combined is not None else problem.repair(solution.u)
    solution = replace(solution, u=u)
    w, b = problem.split(solution.theta)
    returned = np.append(w, b).astype(request.dtype)
    theta = problem.join(returned[:-1], float(returned[-1]))
    z = solution.scores if np.array_equal(theta, solution.theta) else None
    z = problem.scores(theta) if z is None else z
    claim = certify(
        problem, solution, tol=request.stop.relative_gap, theta=theta, positive=positives[k], scores=z,  # type: ignore[arg-type]
        combined=solution.combined,
    )  # fmt: skip
    return LinePart(returned[None, :-1], returned[-1:], [solution.u], claim, solution.history)


def _fit_all_classes(request: LinearRequest, data: BlockRows, frame: Frame, so_far: Any = None) -> LinePart:
    K = data.classes.values.size
    spec = SoftmaxSpec(K, request.offset.kind, request.offset.scale, data.seen.d)
    problem = BlockSoftmax(data.walk, spec, data.encoded.base, shape=data.seen.shape)
    start, earlier = None, _read_start(data, K)
    if earlier is not None and so_far is None:
        theta = problem.join(*earlier[:2])
        start = theta, problem.dual_from_primal(theta)
    solution: Any
    if so_far is None:
        options = {"watch": data.watch, "seed": request.seed}
        solution = solve_multinomial(problem, frame.share_time(), solver=request.solver, start=start, **options)  # type: ignore[arg-type]
    else:
        solution = _reached(problem, so_far, np.zeros((K, problem.d + 1)))
    W, b = problem.split(solution.theta)
    W, b = W.astype(request.dtype), b.astype(request.dtype)
    theta = problem.join(W, b)
    claim = certify(problem, solution, tol=request.stop.relative_gap, theta=theta, positive=None)
    return LinePart(W, b, [solution.u], claim, solution.history)


def _read_start(data: BlockRows, lines: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Coefficients and intercepts of the fit to resume from."""
    if data.start is None:
        return None
    arrays = getattr(data.start, "certificate_", data.start).arrays
    return (arrays["coef"], arrays["intercept"]) if arrays["coef"].shape == (lines, data.seen.d) else None


def _decode(request: LinearRequest, data: BlockRows, parts: list[LinePart], frame: Frame) -> LinearFit:
    classes, walk = data.classes.values, data.walk
    lines = [u for part in parts for u in part.dual]
    arrays = walk.with_dual(
        {
            "coef": np.concatenate([part.coef for part in parts]),
            "intercept": np.concatenate([part.intercept for part in parts]),
        },
        lines,
        [f.rows for f in data.seen.facts],
    )
    certificate = assemble(
        [part.claim for part in parts],
        statement(
            request.estimator,
            request.parameters,
            classes,
            data.seen.d,
            problem_block(request.loss, request.offset.kind, request.C, data.class_weight, request.offset.scale),
            feature_names=walk.feature_names,
            dtype=request.dtype,
        ),
        arrays,
        fingerprint_of_blocks(data.seen.facts, data.encoded.label_digests),
        request.stop.relative_gap,
        frame.stopwatch.seconds,
        compile_seconds=frame.stopwatch.compile_seconds,
    )
    worst = max(parts, key=lambda part: part.claim.relative_gap)
    return LinearFit(
        Labels(classes, np.empty(0, np.int64)),
        arrays["coef"],
        arrays["intercept"],
        None,
        worst.history,
        certificate,
        None,
    )
