"""The way of the data, once: encode -> problem -> solver -> certify -> decode, for linear classifiers.

Two classes are one problem.  With more, logistic regression is one problem of K scores (softmax); the SVMs are K problems
of one class against the rest, on the same rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gapless import losses
from gapless._runtime.clock import Stopwatch, now
from gapless._runtime.threads import in_background, map_threads, n_threads, one_blas_thread, thread_team
from gapless._runtime.written import written
from gapless.certificates.fingerprint import fingerprint
from gapless.certificates.linear import assemble
from gapless.certificates.model_document import problem_block, statement
from gapless.certificates.subproblem import Subproblem, certify
from gapless.encode.equal_rows import LARGEST, Distinct, distinct
from gapless.encode.labels import Labels, encode_labels
from gapless.encode.offset import Offset
from gapless.encode.weights import Costs, check_sample_weight, costs, resolve_class_weight, weightless_classes
from gapless.problems.constant import separate_equal_constants
from gapless.problems.linear import LinearProblem
from gapless.problems.multinomial import Multinomial
from gapless.rows.hashes import row_hashes
from gapless.solvers.linear.solve import solve, solve_multinomial
from gapless.solvers.linear.warm_restart import KeptCurvature, solve_from_neighbour
from gapless.solvers.loop import SMALL_FIT_VALUES, Interruption, Stop
from gapless.solvers.solution import Event

from .hard_margin import fit_hard_margin


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
    on_separation: str = "warn"
    schedule: Any = None


@dataclass(frozen=True, eq=False)
class Fitted:
    """What it gets back: arrays with a row for each class (one for two classes), and the certificate of them."""

    labels: Labels
    coef: np.ndarray
    intercept: np.ndarray
    scores: np.ndarray
    history: list[Event]
    certificate: Any  # a Certificate, or a GradientCertificate where there is no penalty
    c: np.ndarray
    outcome: Any = None  # what the warnings of a fit without penalty need besides


@dataclass(frozen=True, eq=False)
class Part:
    """The outcome of one subproblem: lines of coefficients, dual points and scores, and its claim."""

    coef: np.ndarray
    intercept: np.ndarray
    dual: np.ndarray
    scores: np.ndarray
    claim: Subproblem
    history: list[Event]
    combined: np.ndarray | None = None  # sum u x, with the constant feature last


@dataclass(frozen=True, eq=False)
class Encoded:
    """The data in the problem's units: rows that count, their classes and costs, equal rows grouped."""

    X: Any
    index: np.ndarray
    labels: Labels
    cost: Costs
    groups: Distinct | None
    order: np.ndarray | None
    weights: np.ndarray
    class_weight: np.ndarray
    fingerprint: Callable[[], dict[str, Any]]
    start: Any
    callback: Callable[[Event], None] | None
    interruption: Interruption | None
    given: Any = None  # X as it came, with the rows of weight 0
    shared: dict[Any, Any] | None = None  # problems of other C on the same rows: those and their norms are used again

    def small(self) -> tuple[Any, np.ndarray, np.ndarray]:
        """Rows, classes and costs as the solver sees them: equal rows once."""
        if self.groups is None:
            return self.X, self.index, self.cost.c
        return self.X[self.groups.first], self.index[self.groups.first], self.groups.c

    def at(self, C: float, start: Any) -> Encoded:
        """The same rows for another C."""
        cost = costs(C, self.weights, self.class_weight, self.labels.index)
        return replace(self, cost=cost, groups=None if self.groups is None else self.groups.at(cost.c), start=start)

    def problem(self, key: Any, c: np.ndarray, build: Callable[[], Any]) -> Any:
        """A problem with these costs: where one on the same rows is shared, its rows are not looked at again."""
        if self.shared is None:
            return build()
        known = self.shared.get(key)
        found = build() if known is None else replace(known, c=np.ascontiguousarray(c, float))
        if known is not None:
            found.__dict__.update({name: known.__dict__[name] for name in ("norms2", "R2") if name in known.__dict__})
        self.shared[key] = found
        return found

    def expand(self, u: np.ndarray) -> np.ndarray:
        return u if self.groups is None else self.groups.expand(u)

    def gather(self, u: np.ndarray) -> np.ndarray:
        return u if self.groups is None else self.groups.gather(u)


def encode(task: Task, X: Any, y: Any, sample_weight: Any, *, start: Any, callback: Any, interruption: Any) -> Encoded:
    """Labels, weights and rows in the problem's units. Without a penalty (C = inf) the costs are the weights alone."""
    labels = encode_labels(y)
    if labels.n_classes < 128:
        labels = replace(labels, index=labels.index.astype(np.int8))
    weights = check_sample_weight(sample_weight, X.shape[0])
    class_weight = resolve_class_weight(task.class_weight, labels, weights)
    gone = weightless_classes(labels, weights, class_weight)
    if gone and task.loss == "logistic" and task.offset.kind == "free":
        other = ", or set penalize_intercept=True" if math.isfinite(task.C) else ""
        raise ValueError(
            f"the class {written(gone[0])} has no weight: with a free offset its log-odds would be minus infinity. Remove the "
            f"class, give it weight{other}."
        )
    cost = costs(task.C if math.isfinite(task.C) else 1.0, weights, class_weight, labels.index)
    index = cost.take(labels.index)
    given = None if sample_weight is None else weights
    groups = order = hashes = None
    # Small fits go to machine precision, and there equal problems shall give equal answers; elsewhere tol decides.
    if 0 < index.size <= LARGEST and index.size * (X.shape[1] + 1) <= SMALL_FIT_VALUES:
        hashes = row_hashes(X)
        groups = distinct(cost.take(hashes), index, cost.c)
    named = in_background(lambda: fingerprint(X, labels.index, given, hashes=hashes))
    if groups is not None and groups.first.size == index.size:  # no two are equal: their order alone is of use
        order, groups = groups.first, None
    rows = X if cost.rows is None else X[cost.rows]
    return Encoded(
        rows, index, labels, cost, groups, order, weights, class_weight, named, start, callback, interruption, X
    )  # fmt: skip


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
    stopwatch = Stopwatch()
    deadline = None if task.stop.seconds is None else stopwatch.started + task.stop.seconds
    # Overflow is found by looking at the gap; it is no news to the user.
    with one_blas_thread(), thread_team(task.n_jobs), np.errstate(all="ignore"):
        data = encode(task, X, y, sample_weight, start=start, callback=callback, interruption=interruption)
        if task.loss == "logistic" and data.labels.n_classes > 2:
            task = replace(task, loss="softmax")
        parts = fit_parts(task, data, deadline)
        named = data.fingerprint()
    return decode(task, data, parts, named, X.shape[1], feature_names, stopwatch)


def fit_parts(task: Task, data: Encoded, deadline: float | None = None) -> list[Part]:
    """All subproblems, solved and certified."""
    if task.loss == "softmax":
        return [_all_classes(task, data, deadline)]
    every = range(len(data.labels.positives))
    return map_threads(lambda k: _one_class(task, data, k, deadline), every, task.n_jobs)


def decode(
    task: Task,
    data: Encoded,
    parts: list[Part],
    named: dict[str, Any],
    d: int,
    feature_names: Any,
    stopwatch: Stopwatch,
) -> Fitted:
    """What the estimator gets back, in the user's rows and classes."""
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
            task.estimator,
            task.parameters,
            labels.classes,
            d,
            problem_block(task.loss, task.offset.kind, task.C, data.class_weight, task.offset.scale),
            feature_names=feature_names,
            dtype=task.dtype,
        ),
        arrays,
        named,
        task.stop.relative_gap,
        stopwatch.seconds,
        compile_seconds=stopwatch.compile_seconds,
    )
    worst = max(parts, key=lambda part: part.claim.relative_gap)
    c = cost.c if math.isfinite(task.C) else np.full(cost.c.shape, math.inf)
    return Fitted(labels, arrays["coef"], arrays["intercept"], scores, worst.history, certificate, cost.restore(c))


def _stack(lines: list[np.ndarray]) -> np.ndarray:
    return lines[0] if len(lines) == 1 else np.concatenate(lines)


def _stop(task: Task, deadline: float | None, share: float = 1.0) -> Stop:
    """What is left of the time, or a share of it."""
    if deadline is None:
        return task.stop
    return replace(task.stop, seconds=min(1.0, share) * max(0.0, deadline - now()))


def _one_class(task: Task, data: Encoded, k: int, deadline: float | None) -> Part:
    """One class against the others."""
    positives = data.labels.positives
    if math.isinf(task.C):
        return Part(
            **fit_hard_margin(task, data, k, _stop(task, deadline, n_threads(task.n_jobs) / (len(positives) - k)))
        )
    positive = positives[k]
    loss = losses.BY_NAME[task.loss]

    def build(X: Any, index: np.ndarray, c: np.ndarray) -> LinearProblem:
        y = np.where(index == positive, np.int8(1), np.int8(-1))
        return LinearProblem.build(X, y, c, loss, task.offset.kind, task.offset.scale)

    problem = data.problem((k, "all"), data.cost.c, lambda: build(data.X, data.index, data.cost.c))
    small = problem
    if data.groups is not None:
        small = data.problem((k, "small"), data.groups.c, lambda: build(*data.small()))
    kept = None
    if data.shared is not None and data.start is not None:
        kept = data.shared.setdefault((k, "curvature"), KeptCurvature())
    predicted = kept is not None and getattr(data.start, "guessed", False) and kept.can_predict(small)
    earlier = None if predicted else _earlier(data, problem.d, len(positives))
    start = None
    if earlier is not None:
        coef, intercept, dual = earlier
        theta = problem.join(coef[k], float(intercept[k]))
        u = problem.dual_from_primal(theta) if dual is None else problem.repair(dual[k])
        start = theta, data.gather(u)
    # A fair share of the time that is left, for the problems that are left.
    stop = _stop(task, deadline, n_threads(task.n_jobs) / (len(positives) - k))
    options: dict[str, Any] = {"callback": data.callback, "interruption": data.interruption, "seed": task.seed}
    if kept is not None:
        ready = getattr(data.start, "ready", False)
        solution = solve_from_neighbour(small, stop, start, ready=ready, curvature=kept, order=data.order, **options)
    else:
        solution = solve(
            small, stop, solver=task.solver, start=start, order=data.order, schedule=task.schedule, **options
        )
    if len(positives) > 1 and solution.status != "converged":
        theta = separate_equal_constants(problem, solution.theta)
        solution = solution if theta is solution.theta else replace(solution, theta=theta, scores=None)
    combined = solution.combined if data.groups is None else None
    if combined is None:
        u = problem.repair(data.expand(solution.u))
        if kept is not None and data.groups is None and np.array_equal(u, solution.u):
            combined = kept.combined
        solution = replace(solution, u=u)
    w, b = problem.split(solution.theta)
    returned = np.append(w, b).astype(task.dtype)
    theta = problem.join(returned[:-1], float(returned[-1]))
    z = solution.scores if data.groups is None and np.array_equal(theta, solution.theta) else None
    z = problem.scores(theta) if z is None else z
    combined = problem.combine(solution.u) if combined is None else combined
    claim = certify(
        problem, solution, tol=task.stop.relative_gap, theta=theta, positive=positive, scores=z, combined=combined
    )
    return Part(returned[None, :-1], returned[-1:], solution.u[None, :], z[None, :], claim, solution.history, combined)


def _all_classes(task: Task, data: Encoded, deadline: float | None) -> Part:
    """All classes at once, by softmax."""
    K = data.labels.n_classes

    def build(X: Any, index: np.ndarray, c: np.ndarray) -> Multinomial:
        return Multinomial.build(X, index, c, K, task.offset.kind, task.offset.scale)

    problem = data.problem("all", data.cost.c, lambda: build(data.X, data.index, data.cost.c))
    earlier = _earlier(data, problem.d, K)
    small = problem
    if data.groups is not None:
        small = data.problem("small", data.groups.c, lambda: build(*data.small()))
    start = None
    if earlier is not None:
        coef, intercept, dual = earlier
        theta = problem.join(coef, intercept)
        U = problem.dual_from_primal(theta) if dual is None else problem.repair(dual.T)
        start = theta, small.repair(data.gather(U))
    solution = solve_multinomial(
        small,
        _stop(task, deadline),
        solver=task.solver,
        start=start,
        callback=data.callback,
        interruption=data.interruption,
        seed=task.seed,
        order=data.order,
        schedule=task.schedule,
    )
    solution = replace(solution, u=problem.repair(data.expand(solution.u)))
    W, b = problem.split(solution.theta)
    W, b = W.astype(task.dtype), b.astype(task.dtype)
    theta = problem.join(W, b)
    Z = problem.scores(theta)
    combined = problem.combine(solution.u)
    claim = certify(
        problem, solution, tol=task.stop.relative_gap, theta=theta, positive=None, scores=Z, combined=combined
    )
    return Part(W, b, np.ascontiguousarray(solution.u.T), np.ascontiguousarray(Z.T), claim, solution.history, combined)


def _earlier(data: Encoded, d: int, lines: int) -> tuple[np.ndarray, np.ndarray, np.ndarray | None] | None:
    """Coefficients, intercepts and, where the rows are as many as now, dual points of the fit to resume from."""
    if data.start is None:
        return None
    arrays = getattr(data.start, "certificate_", data.start).arrays
    if arrays["coef"].shape != (lines, d):
        return None
    dual = arrays.get("dual")  # a fit without a penalty has none
    same_rows = dual is not None and dual.shape[1] == data.cost.n_rows
    return arrays["coef"], arrays["intercept"], data.cost.take(dual.T).T if same_rows else None
