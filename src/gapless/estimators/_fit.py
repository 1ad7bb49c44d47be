"""The way of the data, once: encode -> problem -> solver -> certify -> decode, for linear classifiers.

One-against-rest turns K > 2 classes into K problems on the same rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gapless import losses
from gapless._threads import map_threads, n_threads, one_blas_thread
from gapless.certificates.fingerprint import fingerprint, row_hashes
from gapless.certificates.gap import Certificate, Subproblem, assemble, certify
from gapless.certificates.statement import problem_block, statement
from gapless.encode import distinct as distinct_rows
from gapless.encode.labels import Labels, encode_labels
from gapless.encode.offset import Offset
from gapless.encode.weights import Costs, check_sample_weight, costs, resolve_class_weight, weightless_classes
from gapless.problems.linear_erm import LinearERM
from gapless.solvers.choose import solve
from gapless.solvers.loop import Interruption, Stop
from gapless.solvers.solution import Event, Solution


@dataclass(frozen=True)
class Task:
    """What an estimator asks for."""

    estimator: str
    parameters: Mapping[str, Any]
    loss: str
    C: float
    offset: Offset
    class_weight: Any
    stop: Stop
    solver: str
    n_jobs: int | None
    dtype: np.dtype
    seed: int = 0


@dataclass(frozen=True, eq=False)
class Fitted:
    """What it gets back: arrays of S subproblems, and the certificate that speaks of them."""

    labels: Labels
    coef: np.ndarray
    intercept: np.ndarray
    scores: np.ndarray
    history: list[Event]
    certificate: Certificate
    c: np.ndarray


def fit_linear(
    task: Task,
    X: Any,
    y: Any,
    sample_weight: Any,
    *,
    feature_names: Any = None,
    start: Any = None,
    callback: Callable[[Event], None] | None = None,
    interruption: Interruption | None = None,
) -> Fitted:
    """``start`` is a fitted model or certificate whose coefficients and dual point this fit resumes from."""
    started = time.perf_counter()
    labels = encode_labels(y)
    weights = check_sample_weight(sample_weight, X.shape[0])
    class_weight = resolve_class_weight(task.class_weight, labels, weights)
    gone = weightless_classes(labels, weights, class_weight)
    if gone and task.loss == "logistic" and task.offset.kind == "free":
        raise ValueError(
            f"the class {gone[0]!r} has no weight: with a free offset its log-odds would be minus infinity. Remove the "
            "class, give it weight, or set penalize_intercept=True."
        )
    cost = costs(task.C, weights, class_weight, labels.index)
    hashes = row_hashes(X)
    marks = fingerprint(X, labels.index, weights, hashes=hashes)
    Xc = X if cost.rows is None else X[cost.rows]
    index = cost.take(labels.index)
    groups = None
    if index.size <= distinct_rows.LARGEST:
        groups = distinct_rows.distinct(cost.take(hashes), index, cost.c)
    deadline = None if task.stop.seconds is None else started + task.stop.seconds
    threads = n_threads(task.n_jobs)
    loss = losses.BY_NAME[task.loss]

    def one(k: int) -> tuple[Solution, Subproblem, np.ndarray, np.ndarray]:
        positive = labels.positives[k]
        y = np.where(index == positive, 1.0, -1.0)
        problem = LinearERM.build(Xc, y, cost.c, loss, task.offset.kind, task.offset.scale)
        small = problem
        if groups is not None and groups.first.size:
            rows = Xc[groups.first]
            small = LinearERM.build(
                rows,
                y[groups.first],
                groups.c,
                loss,
                task.offset.kind,
                task.offset.scale,
            )
        seconds = None
        if deadline is not None:
            # A fair share of the time that is left, for the problems that are left.
            left = max(0.0, deadline - time.perf_counter())
            seconds = min(left, left * threads / (len(labels.positives) - k))
        solution = solve(
            small,
            Stop(task.stop.relative_gap, task.stop.passes, seconds),
            solver=task.solver,
            start=_start(start, k, problem, cost, groups, labels),
            callback=callback,
            interruption=interruption,
            seed=task.seed,
        )
        u = solution.u if groups is None else problem.repair(groups.expand(solution.u))
        solution = Solution(
            solution.theta, u, solution.status, solution.n_iter, solution.seconds, solution.solver, solution.history
        )
        w, b = problem.split(solution.theta)
        coef = np.append(w, b).astype(task.dtype)
        theta = problem.join(coef[:-1], float(coef[-1]))
        claim = certify(problem, solution, tol=task.stop.relative_gap, theta=theta, positive=positive)
        return solution, claim, coef, problem.scores(theta)

    with one_blas_thread(), np.errstate(under="ignore", over="ignore", invalid="ignore", divide="ignore"):
        parts = map_threads(one, range(len(labels.positives)), task.n_jobs)

    coef = np.stack([part[2][:-1] for part in parts])
    intercept = np.array([part[2][-1] for part in parts], dtype=task.dtype)
    dual = np.stack([cost.restore(part[0].u) for part in parts])
    worst = max(range(len(parts)), key=lambda k: parts[k][1].relative_gap)
    scores = np.full((len(parts), X.shape[0]), np.nan)
    scores[:, slice(None) if cost.rows is None else cost.rows] = [part[3] for part in parts]
    certificate = assemble(
        [part[1] for part in parts],
        statement(
            task.estimator,
            task.parameters,
            labels.classes,
            X.shape[1],
            problem_block(task.loss, task.offset.kind, task.C, class_weight, task.offset.scale),
            feature_names=feature_names,
            dtype=task.dtype,
        ),
        {"coef": coef, "intercept": intercept, "dual": dual},
        marks,
        task.stop.relative_gap,
        time.perf_counter() - started,
    )
    return Fitted(labels, coef, intercept, scores, parts[worst][0].history, certificate, cost.restore(cost.c))


def _start(
    model: Any, k: int, problem: LinearERM, cost: Costs, groups: distinct_rows.Distinct | None, labels: Labels
) -> tuple[np.ndarray, np.ndarray] | None:
    """(theta, u) of an earlier fit, in the units of the problem that is solved now; None where it does not fit."""
    if model is None:
        return None
    arrays = getattr(model, "certificate_", model).arrays
    coef, intercept, dual = arrays["coef"], arrays["intercept"], arrays["dual"]
    if coef.shape != (len(labels.positives), problem.d):
        return None
    theta = problem.join(coef[k], float(intercept[k]))
    if dual.shape[1] == cost.n_rows:
        u = problem.repair(cost.take(dual[k]))
    else:
        u = problem.dual_from_primal(theta)
    return theta, u if groups is None else groups.gather(u)
