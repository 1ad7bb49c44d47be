"""The same descents as solvers of the estimators: gd, sgd, minibatch, momentum and adam, from the same compiled steps.

Rates that need no tuning: 1/L for full gradients of a smooth loss, else 1/(lam (t + shift)) with the shift at which
the first step is no longer than one over the curvature of an example.  After ever more passes the point is certified;
what is returned is the best point and the best dual point seen.  Rows of which few are larger than the others by orders of
magnitude can still make steps too long: a descent that diverges ends at once, as ``not_finite``, with the best point before.
They are here to be watched and compared: the solvers of `choose` are faster.
"""

from __future__ import annotations

import numpy as np

from gapless.problems.linear_erm import LinearERM
from gapless.problems.linear_risk import LARGEST_BEND, SOFTMAX_BEND, LinearRisk
from gapless.problems.multinomial import Multinomial
from gapless.solvers.gradient_epochs import Engine
from gapless.solvers.gradient_schedule import Schedule
from gapless.solvers.loop import Loop

DESCENTS = ("gd", "sgd", "minibatch", "momentum", "adam")
#: Passes between two certificates, at most.
MOST_BETWEEN = 50
#: Examples a step of minibatch and adam.
BATCH = 64


def gradient_fit(
    problem: LinearERM | Multinomial,
    loop: Loop,
    method: str,
    start: np.ndarray | None = None,
    *,
    seed: int = 0,
    order: np.ndarray | None = None,
) -> None:
    """Records its points in ``loop``. ``order`` is a first order of the examples that does not depend on theirs."""
    risk = LinearRisk.of(problem)
    theta = np.zeros(risk.shape) if start is None else start.reshape(risk.shape)
    size = 1 if method == "sgd" else min(BATCH, risk.n) if method in ("minibatch", "adam") else risk.n
    schedule = steady_schedule(risk, method, -(-risk.n // size))
    engine = Engine(risk, theta, method, schedule, size=size, seed=seed, first=order, epochs=loop.stop.passes)
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
            lost = not (risk.lam * primal <= max(engine.watch.limit, before))
            diverged = engine.ending == "diverged" or (lost and np.isfinite(before))
            before = risk.lam * primal
            loop.record(point, u, primal, dual, ends=not diverged)
            if diverged:
                loop.end("not_finite")
            passes = done
            next_look = min(loop.stop.passes, done + max(1, min(done // 4, MOST_BETWEEN)))
        if not going:
            return


def _all(loop: Loop, engine: Engine) -> int:
    """Steps that the passes allow."""
    return max(1, loop.stop.passes) * engine.per_epoch


def steady_schedule(risk: LinearRisk, method: str, per_epoch: int) -> Schedule:
    """Rates for data of any scale."""
    if method == "adam":
        # Falls from the second epoch on: as 1/sqrt(t), so that it settles.
        return Schedule.inverse_root(0.05 * np.sqrt(per_epoch), shift=per_epoch)
    if method in ("gd", "momentum") and risk.smooth:
        return Schedule.constant(1.0 / risk.smoothness)
    bend = SOFTMAX_BEND if risk.many else LARGEST_BEND.get(type(risk.problem.loss), 1.0)  # type: ignore[union-attr]
    curvature = bend * float(risk.lam * risk.problem.c @ risk.problem.norms2)
    return Schedule.pegasos(risk.lam, shift=min(curvature / risk.lam, 1e15))
