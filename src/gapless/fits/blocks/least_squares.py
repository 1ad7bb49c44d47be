"""The way of the data through least squares where rows lie in blocks: survey -> targets -> problem -> solve -> certify."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gapless._compile.backend import backend
from gapless._runtime.backend import use_backend
from gapless._runtime.written import written
from gapless.backends.blocks import work_targets as work
from gapless.backends.blocks.survey import (
    Bare,
    Surveyed,
    encode_blocks,
    find_classes,
    fingerprint_of_blocks,
)
from gapless.backends.blocks.targets import BlockTargets
from gapless.backends.blocks.walk import InBlocks, Job, Walk
from gapless.certificates.least_squares import certify_least_squares
from gapless.encode.labels import Labels, one_class_error
from gapless.encode.weights import resolve_by_masses
from gapless.fits.frame import TRUSTED_CONDITION, Frame
from gapless.fits.least_squares import LeastSquaresFit, LeastSquaresTask
from gapless.solvers.least_squares.answer import Clock
from gapless.solvers.least_squares.solve import solve
from gapless.solvers.loop import Interruption, Stop, Watch


class BlockData(NamedTuple):
    """What a statement says of the data: as `LeastSquaresData`."""

    n_features: int
    columns_of_y: int | None
    feature_names: Any
    labels: Labels | None = None
    class_weight: np.ndarray | None = None


def fit_least_squares_blocks(
    make_task: Callable[[int], LeastSquaresTask],
    walk: Walk,
    interruption: Interruption,
    *,
    n_jobs: int | None = None,
    classify: bool = False,
    class_weight: Any = None,
) -> tuple[LeastSquaresFit, BlockData, LeastSquaresTask]:
    """Solve and certify; ``make_task`` gives the request for so many targets."""
    frame = Frame(Stop(), n_jobs)
    with use_backend(walk.backend), frame.running():
        seen = walk.survey(classify, interruption.check)
        if classify:
            base, kept, sizes, digests, about = _of_classes(walk, seen, class_weight, interruption.check)
        else:
            base, kept, sizes, digests = _of_targets(walk, seen, interruption.check)
            about = BlockData(seen.d, seen.facts[0].targets or None, None)
        walk.count_only(kept, sizes)
        K = len(about.labels.positives) if about.labels is not None else max(1, seen.facts[0].targets)
        task = make_task(K)
        if task.solver != "auto":
            raise ValueError(
                f"solver={written(task.solver)} visits rows one by one: with rows in blocks leave solver='auto'"
            )
        stop = Stop(task.tol, task.passes or 0, task.seconds)
        spec = work.TargetSpec(np.asarray(task.alpha, float), task.fit_intercept, seen.d)
        problem = BlockTargets(walk, spec, base, sparse=seen.facts[0].sparse)
        clock = Clock(stop, Watch(interruption=interruption), started=frame.stopwatch.started)
        answer: Any = solve(problem, clock, tol=task.tol, trusted=TRUSTED_CONDITION, passes=task.passes)  # type: ignore[arg-type]
        dtype = np.dtype(np.float32 if seen.single else np.float64)
        coef, intercept = np.ascontiguousarray(answer.W.T).astype(dtype), answer.b.astype(dtype)
        targets, dual = certify_least_squares(problem, (answer.W, answer.b), answer.status, tol=task.tol, dtype=dtype)
        arrays: Any = {"coef": coef, "intercept": intercept}
        if dual is not None:
            arrays = walk.with_dual(arrays, dual, [f.rows for f in seen.facts])
        told = backend()
    named = fingerprint_of_blocks(seen.facts, digests)
    about = about._replace(feature_names=walk.feature_names)
    return LeastSquaresFit(answer, targets, arrays, named, frame.stopwatch, None, told), about, task


def _of_targets(walk: Walk, seen: Surveyed, tick: Any) -> tuple[Any, InBlocks, list[int], list[str]]:
    job = Job(work.weighed, Bare(), (seen.weighted,), 3)
    found, Y, s, kept = walk.each(job, (seen.codes, seen.weights), (), tick)
    return (Y, s), kept, [f[1] for f in found], [f[0] for f in found]


def _of_classes(
    walk: Walk, seen: Surveyed, class_weight: Any, tick: Any
) -> tuple[Any, InBlocks, list[int], list[str], BlockData]:
    classes = find_classes(seen.facts)
    masses = classes.masses
    resolved = resolve_by_masses(class_weight, classes.values, lambda: masses, lambda: float(masses.sum()))
    left = classes.values[masses * resolved > 0.0]
    if left.size < 2:
        raise one_class_error(left, " after the rows of weight zero are taken out")
    labels = Labels(classes.values, np.empty(0, np.int64))
    encoded = encode_blocks(walk, seen, 1.0, resolved, classes.tables, tick)
    walk.count_only(encoded.kept, encoded.sizes)
    weighted = seen.weighted or bool((resolved != 1.0).any())
    job = Job(work.signs, Bare(), (labels.positives, weighted), 2, wants="nothing")
    _, Y, s = walk.each(job, encoded.base[:2], (), tick)
    about = BlockData(seen.d, None, None, labels, resolved)
    return (Y, s), encoded.kept, encoded.sizes, encoded.label_digests, about
