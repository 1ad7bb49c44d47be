"""What logistic regression without a penalty claims: how far its loss can be from the infimum, by its gradient.

Without a penalty the dual asks for sum_i u_i x_i = 0 exactly, so there is no duality gap, and none is made up.  What stands
in its place, kind ``gradient``:

    loss        F, the sum of the weighted losses; twice that is the deviance
    decrement   lam: the gradient in units of the curvature, lam^2/2 is what one more Newton step would gain
    reach       s = rho lam, how far the scores of a row can still move; s < 1 proves that the optimum exists
    excess      F - inf F is at most this: lam^2 psi(s) where s < 1, else F itself, for no loss is below 0

The proof is in `problems/likelihood`.  Where columns are linearly dependent up to rounding (rank < number of columns) it
speaks of the models in the directions that are left, the others being taken for equal to them.

A fit has converged if and only if reach < 1 and excess <= tol * loss.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gapless._compile.backend import backend
from gapless._runtime.results import result
from gapless._runtime.written import written
from gapless.certificates.base import NO_KEY, BaseCertificate
from gapless.certificates.model_document import decode_float
from gapless.certificates.separation import Separability
from gapless.errors import short, tolerance
from gapless.judge.fingerprint import digest
from gapless.numbers import gamma
from gapless.problems.likelihood import Likelihood
from gapless.problems.units_of_C import Objective, objective


def certify_gradient(
    problem: Likelihood, coef: np.ndarray, intercept: np.ndarray, ending: str, tol: float
) -> dict[str, Any]:
    """Loss, decrement, reach, excess, rounding and status of the model as the user gets it, in float64.

    Rank and condition are those of the problem's coordinates; where it has none (time was over before) only the loss is known.
    So it is where a large fit was stopped: its proof would cost as much as one more step.
    """
    stopped = ending in ("time_limit", "interrupted")
    work = problem.n * float(problem.S * problem.basis.width) ** 2
    # 2e8 multiplications take less than a time limit may be missed by.
    found = problem.measure(coef, intercept, proof=not stopped or work <= 2e8)
    if not math.isfinite(found.reach):
        off = 2.0 * gamma(problem.d + problem.K + 8) * float(problem.c @ problem.sizes(coef, intercept))
        # Off by more than 2e-7 of the loss of no model, the loss is rounding and says nothing.
        if not off <= 2e-7 * float(problem.c.sum()) * math.log(problem.K):
            found = found._replace(loss=math.nan, excess=math.nan)
    relative = found.excess / found.loss if found.loss > 0.0 else 0.0
    if not math.isfinite(found.loss):
        status = "not_finite"
    elif found.reach < 1.0 and relative <= tol:
        status = "converged"
    elif ending == "infeasible" and not found.margin > 0.0:  # rounding to float32 moved a row across
        status = "stalled"
    else:
        status = "stalled" if ending in ("converged", "not_finite") else ending
    return {
        "status": status,
        "loss": found.loss,
        "decrement": found.decrement,
        "reach": found.reach,
        "excess": found.excess,
        "relative_excess": relative,
        "rounding": found.rounding,
        "rank": problem.basis.rank if problem.basis.known else None,
        "condition": problem.basis.condition,
    }


@result
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class GradientCertificate(BaseCertificate):
    """What a fit without a penalty claims. There is no dual and no gap: these are None.

    Attributes
    ----------
    status : how the fit ended: "converged", "max_iter", "time_limit", "stalled", "interrupted", ...
    tol : the tolerance that was asked for
    loss : -ln of the likelihood at the model
    decrement : Newton decrement: the length of the gradient in the metric of the Hessian
    reach : the argument of the bound; below 1 it holds
    excess : loss - its infimum is at most this
    relative_excess : excess / loss
    rounding : bound on the rounding error of the figure that is claimed
    rank : numerical rank of the columns
    condition : condition number of the columns
    n_iter : passes over the data
    seconds : seconds of work, compiling left out
    solver : the algorithm that found the model
    fingerprint : what identifies the data: numbers of rows and features, and hashes of rows, labels and weights
    statement : the model document without its certificate: estimator, parameters, classes, problem
    arrays : name -> array of the model file: coefficients, offsets, dual point
    backend : what computed it: "cpu", or the name of a device
    kind : "gradient": there is no penalty and no gap
    separation : where classes may be separated: what they are, with its proof
    """

    kind: str = "gradient"
    status: str
    tol: float
    loss: float
    decrement: float
    reach: float
    excess: float
    relative_excess: float
    rounding: float
    condition: float
    seconds: float
    compile_seconds: float = 0.0
    rank: int | None
    n_iter: int
    backend: str = field(default_factory=backend)
    solver: str
    fingerprint: Mapping[str, Any]
    statement: Mapping[str, Any] = field(default_factory=dict, metadata=NO_KEY)
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict, metadata=NO_KEY)
    separation: Separability | None = field(default=None, metadata=NO_KEY)

    @property
    def deviance(self) -> float:
        """-2 ln of the likelihood."""
        return 2.0 * self.loss

    @property
    def primal(self) -> float:
        """The loss."""
        return self.loss

    @property
    def dual(self) -> None:
        """There is none, nor a gap."""
        return None

    gap = relative_gap = dual

    @property
    def objective(self) -> Objective:
        """The formula that was minimised, with its numbers."""
        problem, n = self.statement["problem"], int(self.fingerprint["n_rows"])
        return objective(
            problem["loss"], math.inf, n, problem["offset"],
            weighted=self.fingerprint["weights"] != digest(np.ones(n), "<f8"),
            class_weight=[decode_float(w) for w in problem["class_weight"]],
            classes=self.statement["classes"]["values"],
        )  # fmt: skip

    # ------------------------------------------------------------ sentences
    def shortfall(self, max_iter: int | None = None, time_limit: float | None = None) -> str | None:
        """The sentence of the ConvergenceWarning; None where all is well.

        ``max_iter`` and ``time_limit`` are the limits that the fit had.
        """
        if self.converged:
            return None
        how, advice = {
            "max_iter": (f"stopped at max_iter={self.n_iter}", "Raise max_iter (init=est resumes from this model)"),
            "time_limit": ("stopped at time_limit", "Raise time_limit (init=est resumes from this model)"),
            "interrupted": ("was interrupted", "Fit again with init=est to resume"),
            "infeasible": ("found the classes separated", "Use a finite C"),
            "not_finite": ("met numbers that are not finite", "Scale the columns of X (StandardScaler, MaxAbsScaler)"),
            "stalled": ("stalled", "Use a finite C, or accept a larger tol"),
        }[self.status]
        if self.status == "stalled" and self.statement["dtype"] == "float32":
            advice = "Coefficients in float32 are too coarse for these columns: fit X.astype(numpy.float64), or use a finite C"
        if self.status == "max_iter" and max_iter is not None and max_iter >= 0:
            how = f"stopped at max_iter={max_iter}"
        return f"{self.estimator} {how} after {short(self.seconds)} s: {self._claim()}. {advice}."

    def _claim(self) -> str:
        if not math.isfinite(self.loss):
            return "nothing is known about the distance to the optimum"
        if self.reach < 1.0:
            most = short(100.0 * self.relative_excess, up=True)
            among = (
                "" if self.rank == self.statement["n_features"] else f" over the {self.rank} directions of its columns"
            )
            return f"the loss is at most {most} % above its optimum{among}, which exists"
        if self.status == "infeasible":
            return f"the model separates the classes: its loss, {self.loss:.6g}, tends to 0 as it grows, and no optimum exists"
        if math.isnan(self.decrement):
            return f"nothing is proved about its optimum; the loss {self.loss:.6g} is all that can be above it"
        return (
            f"it is not proved that the optimum exists (reach {self.reach:.1e}, below 1 would prove it); the loss "
            f"{self.loss:.6g} is all that can be above it"
        )

    def __str__(self) -> str:
        steps = f"{self.n_iter} step" + ("" if self.n_iter == 1 else "s")
        return (
            f"{self.estimator}: {self._claim()} (loss {self.loss:.10g}, deviance {self.deviance:.10g}, Newton decrement "
            f"{self.decrement:.1e}, tol {tolerance(self.tol)}; rank {self.rank} of {self.statement['n_features']}, condition "
            f"{self.condition:.1e}; {self.status} in {steps}, {self._duration}, {self.solver}). Logistic regression "
            "without a penalty has no duality gap."
        )

    def __repr__(self) -> str:
        return (
            f"GradientCertificate({self.estimator}: {self.status}, loss={written(self.loss)}, decrement={self.decrement:.3g}, "
            f"relative_excess={self.relative_excess:.3g}, tol={self.tol:g})"
        )

    def _table(self) -> tuple[tuple[str, ...], list[list[Any]]]:
        """What a notebook shows."""
        names = ("status", "loss", "decrement", "reach", "excess", "relative_excess", "rounding", "rank", "condition")
        return names, [[getattr(self, name) for name in names]]
