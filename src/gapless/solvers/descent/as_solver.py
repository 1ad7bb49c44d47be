"""The same descents as solvers of the estimators: gd, sgd, minibatch, momentum and adam, from the same compiled steps.

Rates that need no tuning, unless a schedule is given: 1/L for full gradients of a smooth loss, else 1/(lam (t + shift)) with
the shift at which the first step is no longer than one over the curvature of an example.  After ever more passes the point
is certified; what is returned is the best point and the best dual point seen.  Rows of which few are larger than the others by
orders of magnitude can still make steps too long: a descent that diverges ends at once, as ``not_finite``, with the best point
before.  They are here to be watched and compared: those that `linear/solve` picks are faster.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gapless._runtime.written import written
from gapless.problems.descent import LinearRisk
from gapless.problems.linear import LinearProblem
from gapless.problems.multinomial import Multinomial
from gapless.solvers.descent.engine import Engine
from gapless.solvers.descent.plan import DescentPlan
from gapless.solvers.descent.schedules import Schedule, as_schedule
from gapless.solvers.loop import Loop
from gapless.solvers.solution import DESCENTS


def next_certificate(done: int, most: int) -> int:
    """The pass of the next certificate, which costs about a pass itself: a fourth of the passes later, but at most 50."""
    return min(most, done + max(1, min(done // 4, 50)))


def gradient_fit(
    problem: LinearProblem | Multinomial,
    loop: Loop,
    method: str,
    start: np.ndarray | None = None,
    *,
    seed: int = 0,
    order: np.ndarray | None = None,
    schedule: Any = None,
) -> None:
    """Descend and record points in ``loop``. ``order`` is a first order of the examples that does not depend on how they
    stand; ``schedule`` are the rates, None for rates that need no tuning."""
    risk = LinearRisk.of(problem)
    theta = np.zeros(risk.shape) if start is None else start.reshape(risk.shape)
    size = batch_size(method, risk.n)
    steps = loop.stop.passes * -(-risk.n // size)
    engine = Engine(
        risk, theta, DescentPlan(method, rates_for(risk, method, schedule), steps, size, seed=seed, first_order=order)
    )
    passes, next_look = loop.n_iter, 1
    before = np.inf
    while True:
        going = engine.advance(
            (next_look - passes) * engine.per_epoch + engine.steps if engine.full else _all(loop, engine)
        )
        done = engine.steps // engine.per_epoch
        loop.n_iter = max(loop.n_iter, -(-engine.steps // engine.per_epoch))
        loop.tick()
        if done >= next_look or not going or loop.n_iter >= loop.stop.passes:
            point = engine.theta()
            if not np.isfinite(point).all():
                loop.end("not_finite")
            primal, dual, u = risk.certified(point, engine.u())
            # Too far up to come back, and still rising; a first rise alone is no divergence, later rates are shorter.
            lost = not (risk.lam * primal <= max(engine.limit, before))
            diverged = engine.ending == "diverged" or (lost and np.isfinite(before))
            before = risk.lam * primal
            loop.record(point, u, primal, dual, ends=not diverged)
            if diverged:
                loop.end("not_finite")
            passes = done
            next_look = next_certificate(done, loop.stop.passes)
        if not going:
            return


def batch_size(method: str, n: int) -> int:
    """Examples a step."""
    return 1 if method == "sgd" else min(64, n) if method in ("minibatch", "adam") else n


def check_schedule(solver: str, given: Any) -> None:
    """Refuse a schedule for a solver without rates, and one whose rates depend on the whole objective."""
    if given is None:
        return
    if solver not in DESCENTS:
        raise ValueError(
            f"schedule={written(given)} gives the rates of a descent, and solver={written(solver)} has none: use one of "
            f"{DESCENTS}"
        )
    if as_schedule(given).searches:
        raise ValueError(
            f"schedule={written(given)} looks at the whole objective at every step; a fit takes rates: `descend` has both"
        )


def rates_for(risk: LinearRisk, method: str, given: Any) -> Schedule:
    """The rates that were asked for, or such as need no tuning."""
    if given is None:
        return steady_schedule(risk, method, -(-risk.n // batch_size(method, risk.n)))
    return as_schedule(given).with_lam(risk.lam)


def _all(loop: Loop, engine: Engine) -> int:
    """Steps that the passes allow."""
    return max(1, loop.stop.passes) * engine.per_epoch


def steady_schedule(risk: LinearRisk, method: str, per_epoch: int) -> Schedule:
    """Rates for data of any scale."""
    if method == "adam":
        # A step moves each entry by about the rate, whatever the gradient: it falls as 1/sqrt(t) so late that the steps can reach
        # what the targets ask for before they settle.
        size = (
            np.sqrt(float(risk.unit * risk.problem.c @ np.square(risk.problem.y, dtype=float))) if risk.squared else 1.0
        )
        # steps after which the rate has fallen to 1/sqrt(2) of its first, 0.05 of the targets' size
        settled = max(per_epoch, 100)
        return Schedule.inverse_root(0.05 * (size or 1.0) * np.sqrt(settled), shift=settled)
    full = method in ("gd", "momentum") or (per_epoch == 1 and risk.lam == 0.0)
    if full and risk.smooth:
        return Schedule.constant(1.0 / risk.smoothness)
    bend = risk.loss.largest_curvature if risk.smooth else 1.0
    curvature = bend * float(risk.unit * risk.problem.c @ risk.problem.norms2)
    if risk.lam == 0.0:
        # No penalty, no 1/(lam t): from one over the curvature of an example down as 1/sqrt(t).
        settled = 4 * per_epoch  # steps after which the rate has fallen to 1/sqrt(2) of its first
        return Schedule.inverse_root(np.sqrt(settled) / (curvature or 1.0), shift=settled)
    return Schedule.pegasos(risk.lam, shift=min(curvature / risk.lam, 1e15))
