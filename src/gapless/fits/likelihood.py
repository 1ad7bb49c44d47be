"""The same way of the data where there is no penalty: encode -> likelihood -> Newton -> certify by the gradient -> decode."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from gapless import rows as R
from gapless._runtime.clock import Stopwatch
from gapless._runtime.threads import one_blas_thread
from gapless.certificates.likelihood import GradientCertificate, certify_gradient
from gapless.certificates.model_document import problem_block, statement
from gapless.certificates.separation import Separability, decide
from gapless.errors import separation_message, unproved_message
from gapless.problems.likelihood import Basis, Likelihood, no_basis
from gapless.solvers.likelihood import solve_likelihood, too_large
from gapless.solvers.loop import Ended, Loop, Watch
from gapless.solvers.newton_system import FACTORED_COLUMNS
from gapless.solvers.solution import Solution

from .frame import TRUSTED_CONDITION, Frame
from .linear import LinearFit
from .linear_encode import LinearRequest, LinearRows, encode_linear


class Outcome(NamedTuple):
    """What the solver itself says of its ending, and the coordinates it worked in: what the warnings need."""

    ending: str
    basis: Basis


def fit_unpenalised(
    request: LinearRequest,
    X: Any,
    y: Any,
    sample_weight: Any,
    *,
    feature_names: Any = None,
    start: Any = None,
    watch: Watch = Watch(),
) -> LinearFit:
    """``start`` is a fitted model or certificate whose coefficients this fit resumes from."""
    frame = Frame(request.stop, request.n_jobs)
    # Where nothing is penalised, neither is the offset.
    request = replace(
        request, offset=request.offset._replace(kind="free" if request.offset.kind != "none" else "none", scale=1.0)
    )
    data = encode_linear(request, X, y, sample_weight, start, watch)
    labels, cost = data.labels, data.cost
    if labels.n_classes > 2:
        request = replace(request, loss="softmax")
    _refuse_size(data)
    with frame.running():
        small, solution = _solve(request, data, frame.stopwatch)
        coef, intercept = small.split(solution.theta, request.dtype)
        problem = small if data.groups is None else small.on(data.X, data.index, cost.c)
        claims = certify_gradient(problem, coef, intercept, solution.status, request.stop.relative_gap)
        scores = np.full((coef.shape[0], cost.n_rows), np.nan)
        lines = np.column_stack([coef, intercept]).astype(float)
        scores[:, slice(None) if cost.rows is None else cost.rows] = R.scores_many(problem.rows, lines).T
    certificate = GradientCertificate(
        tol=request.stop.relative_gap,
        **claims,
        n_iter=solution.n_iter,
        seconds=frame.stopwatch.seconds,
        compile_seconds=frame.stopwatch.compile_seconds,
        solver=solution.solver,
        fingerprint=data.fingerprint(),
        statement=statement(
            request.estimator,
            request.parameters,
            labels.classes,
            X.shape[1],
            problem_block(request.loss, request.offset.kind, math.inf, data.class_weight),
            feature_names=feature_names,
            dtype=request.dtype,
        ),
        arrays={"coef": coef, "intercept": intercept},
    )
    outcome = Outcome(solution.status, small.basis)
    if wants_proof(certificate, outcome, request.on_separation, data):
        certificate = replace(certificate, separation=_separation(data, request.offset.kind == "free", feature_names))
    return LinearFit(labels, coef, intercept, scores, solution.history, certificate, cost.restore(cost.c), outcome)


def _refuse_size(data: LinearRows) -> None:
    n, d = data.X.shape
    if n * d * float(min(n, d)) > 1e11:  # multiplications to make the columns orthonormal: a minute
        raise NotImplementedError(_too_large(f"{n} rows of {d} columns"))


def _too_large(what: str) -> str:
    return f"C=inf on {what} is more than Newton's method can factor here; use a large finite C, whose certificate is a gap."


def _solve(request: LinearRequest, data: LinearRows, stopwatch: Stopwatch) -> tuple[Likelihood, Solution]:
    """The problem with equal rows merged, in its coordinates, and its solution."""
    loop = Loop(request.stop, data.watch, started=stopwatch.started)
    K, offset = data.labels.n_classes, request.offset.kind == "free"
    try:
        problem = Likelihood.build(*data.take_distinct(), K, offset, TRUSTED_CONDITION, loop.tick)
    except Ended:
        # Not even coordinates: the model of the offset alone, which needs none.
        X, index, c = data.take_distinct()
        problem = Likelihood(R.as_rows(X, float(offset)), index, c, K, no_basis(X.shape[1], c, offset))
        return problem, Solution(problem.start(), np.zeros(0), loop.status or "time_limit", 0, loop.seconds, "start")
    if too_large(problem):
        raise NotImplementedError(
            _too_large(f"{problem.S * problem.basis.width} independent coefficients (at most {FACTORED_COLUMNS})")
        )
    stop = request.stop
    if stop.seconds is not None:
        stop = replace(stop, seconds=max(0.0, stop.seconds - stopwatch.seconds))
    theta = None
    if data.start is not None:
        arrays = getattr(data.start, "certificate_", data.start).arrays
        if arrays["coef"].shape == (K if K > 2 else 1, problem.d):
            theta = problem.coordinates(arrays["coef"].astype(float), arrays["intercept"].astype(float))
    return problem, solve_likelihood(problem, stop, start=theta, watch=data.watch)


def wants_proof(certificate: GradientCertificate, outcome: Outcome, on_separation: str, data: LinearRows) -> bool:
    """Whether to ask if the classes are separated: where no optimum was found and the fit was not stopped by the clock."""
    if certificate.reach < 1.0:  # the optimum exists
        return False
    if outcome.ending == "max_iter":  # perhaps only slow: where it costs little
        return data.X.shape[0] * data.X.shape[1] <= 2_000_000
    return outcome.ending == "stalled" or (outcome.ending == "infeasible" and on_separation != "ignore")


def _separation(data: LinearRows, offset: bool, names: Any) -> Separability | None:
    with one_blas_thread(), np.errstate(all="ignore"):
        try:
            return decide(data.X, data.labels, data.cost.rows, offset, data.fingerprint(), names)
        except ArithmeticError:
            return None


def separation(certificate: GradientCertificate, outcome: Outcome) -> str | None:
    """What to say where the optimum does not exist, or seems not to; None where it does, or the fit was stopped."""
    proof = certificate.separation
    if proof is not None and proof.status != "overlap":
        return separation_message(
            proof.status,
            margin=proof.margin,
            columns=proof.named_columns,
            rows_on_plane=int(proof.on_plane.size),
            n_rows=proof.n_counted,
        )
    if certificate.status == "infeasible":
        return separation_message("complete", advice="Use a finite C.")
    if proof is None and outcome.ending == certificate.status == "stalled" and not certificate.reach < 1.0:
        return unproved_message(certificate.estimator, certificate.n_iter, certificate.loss, certificate.reach)
    return None


def dependent_columns(certificate: GradientCertificate, outcome: Outcome) -> str | None:
    """The sentence of an IllConditionedWarning; None where the columns determine the coefficients well."""
    weak = outcome.basis.weak
    if not len(weak) or outcome.ending not in ("converged", "stalled"):
        return None
    size = np.abs(weak).max(axis=0)
    found = np.flatnonzero(size >= 0.1 * size.max())
    found = found[np.argsort(-size[found], kind="stable")]
    names = certificate.statement["feature_names"]
    most = 6  # columns that a warning names
    shown = ", ".join(repr(names[j]) if names is not None else str(j) for j in sorted(found[:most].tolist()))
    more = "" if found.size <= most else f" and {found.size - most} more"
    if certificate.condition <= TRUSTED_CONDITION:
        rank = f"rank {certificate.rank} of {size.size}"
        what = f"linearly dependent up to rounding ({rank}): the coefficients of least norm are given"
    else:
        what = (
            f"nearly linearly dependent (condition {certificate.condition:.1e}, columns scaled to equal length, above "
            f"{TRUSTED_CONDITION:.0e}): digits of coef_ that are shown can be wrong"
        )
    proof = ""
    if not certificate.converged:
        proof = " Rounding in them leaves the optimum unproved."
    return (
        f"the columns {shown}{more} are {what}.{proof} Probabilities hardly depend on this. Remove one of these columns, or use "
        "a finite C."
    )
