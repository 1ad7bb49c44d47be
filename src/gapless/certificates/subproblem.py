"""The gap of one problem, from its primal and dual values: what a certificate says of each of its subproblems.

``gap`` is said only of primal - dual at a dual-feasible point, and its sign is kept: a slightly negative gap
is rounding, a clearly negative one is a bug, and neither is hidden.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gapless._runtime.results import result
from gapless.certificates.base import Block, HasStatus, check_status
from gapless.numbers import relative_gap


@result
@dataclass(frozen=True)
class Subproblem(HasStatus, Block):
    """The gap of one problem; ``positive`` is the index of the class that is +1, None where all classes are in it.

    Attributes
    ----------
    positive : index of the class that is +1; None where all classes are in the problem
    status : how this problem ended, one of the words of `Certificate.status`
    primal : P, the value of the objective at the model
    dual : D, the value of the dual at the dual point; the optimum is at least this
    gap : P - D, which bounds P - P* from above
    relative_gap : gap / max(|P|, |D|)
    rounding : bound on the rounding error of the figure that is claimed
    n_iter : passes over the data
    seconds : seconds of work, compiling left out
    solver : the algorithm that found the model
    """

    positive: int | None
    status: str
    primal: float
    dual: float
    gap: float
    relative_gap: float
    rounding: float
    n_iter: int
    seconds: float
    solver: str

    def __post_init__(self) -> None:
        check_status(self.status)

    def __str__(self) -> str:
        figures = f"primal {self.primal:.10g}, dual {self.dual:.10g}, relative gap {self.relative_gap:.1e}"
        return f"{self.status}: {figures} ({self.solver})"


#: Nothing is claimed where primal and dual can be off by more than this share of the larger of them, and of the loss of w = 0:
#: the figures are then rounding.
ROUNDING_SHARE = 0.0025


def certify_values(
    primal: float,
    dual: float,
    *,
    tol: float,
    ending: str,
    rounding: float = 0.0,
    n_iter: int = 0,
    seconds: float = 0.0,
    solver: str = "",
    positive: int | None = 1,
    hard: bool = False,
) -> Subproblem:
    """One subproblem from its two values. The gap decides, not the solver.

    ``ending`` is how the solver says it ended. Where the relative gap is at most ``tol`` the status is
    ``converged`` whatever it says; where it is above and the solver claims convergence the status is
    ``stalled``; values that are not finite give ``not_finite``, and so does a solver whose numbers overflowed on the way.
    ``hard`` says that the primal is infinite where a constraint is not kept: all that is then said of the optimum is P* >= 0.
    """
    primal, dual = float(primal), float(dual)
    if hard and primal == math.inf:
        dual = rounding = 0.0
    gap = primal - dual
    relative = relative_gap(primal, dual, gap)
    check_status(ending)
    if math.isfinite(gap) and not math.isfinite(rounding):  # nothing is known of these figures
        primal = dual = gap = relative = math.nan
    if not (math.isfinite(primal) and math.isfinite(dual)):
        # A hard margin that was stopped before any point kept it: the objective is infinite, and nothing overflowed.
        stopped = primal == math.inf and math.isfinite(dual) and hard
        status = ending if ending == "infeasible" or (stopped and ending != "converged") else "not_finite"
    elif relative <= tol:
        status = "converged"
    else:
        status = "stalled" if ending == "converged" else ending
    return Subproblem(
        positive=None if positive is None else int(positive),
        status=status,
        primal=primal,
        dual=dual,
        gap=gap,
        relative_gap=relative,
        rounding=float(rounding),
        n_iter=int(n_iter),
        seconds=float(seconds),
        solver=str(solver),
    )


def certify(
    problem: Any,
    solution: Any,
    *,
    tol: float,
    theta: np.ndarray | None = None,
    positive: int | None = 1,
    scores: np.ndarray | None = None,
    combined: np.ndarray | None = None,
) -> Subproblem:
    """Recompute primal, dual and the rounding bound of what is returned, in float64, and let them decide.

    ``theta`` is the model as the user gets it, where that differs from the solver's (coefficients kept in
    float32), ``scores`` are its scores and ``combined`` is sum u x, where they are known.

    Parameters
    ----------
    problem : a problem of `gapless.problems`
    solution : what a solver returned: theta, u and how it ended
    tol : relative gap up to which the fit counts as converged
    theta : model as the user gets it, where that differs from the solver's (coefficients kept in float32)
    positive : index of the class that is +1
    scores : scores of theta, where they are known
    combined : sum of u x, where it is known
    """
    theta = np.asarray(solution.theta if theta is None else theta, dtype=np.float64)
    u = solution.u
    z = problem.scores(theta) if scores is None else scores
    primal = problem.primal(theta, z)
    combined = problem.combine(u) if combined is None else combined
    dual = problem.dual(u, primal, combined)
    hard = bool(getattr(problem, "hard", False))
    rounding = math.inf
    if math.isfinite(primal) and math.isfinite(dual):
        rounding = problem.rounding(theta, z, u, combined, primal)
        size = max(abs(primal), abs(dual))
        # a fit that says so keeps the figures it has
        if not rounding <= ROUNDING_SHARE * size and solution.status != "not_finite":
            size = max(size, 0.0 if hard else float(problem.primal(np.zeros_like(theta))))
            rounding = rounding if rounding <= ROUNDING_SHARE * size else math.inf
    return certify_values(
        primal,
        dual,
        tol=tol,
        ending=solution.status,
        rounding=rounding,
        n_iter=solution.n_iter,
        seconds=solution.seconds,
        solver=solution.solver,
        positive=positive,
        hard=hard,
    )


def worst_of(subs: Sequence[Subproblem]) -> Subproblem:
    """The subproblem with the largest relative gap, those that did not converge first."""

    def badness(sub: Subproblem) -> tuple[bool, bool, float]:
        unknown = sub.relative_gap is None or math.isnan(sub.relative_gap)
        return (not sub.converged, unknown, -math.inf if unknown else sub.relative_gap)

    return max(subs, key=badness)
