"""What a fit with a sparse or signed penalty claims: the gap, and which coefficients are 0 in every optimal model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gapless._runtime.results import result
from gapless._runtime.written import written
from gapless.certificates.fingerprint import digest_of_ones
from gapless.certificates.linear import Certificate
from gapless.certificates.model_document import decode_float
from gapless.certificates.subproblem import ROUNDING_SHARE, Subproblem, certify_values
from gapless.numbers import relative_gap
from gapless.problems.sparse.problem import DualPoint, Point, SparseProblem
from gapless.problems.units_of_C import Objective


@result
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class SparseCertificate(Certificate):
    """The claim of Lasso, ElasticNet and of every model with an L1 penalty or with coefficients of one sign.

    primal, dual, gap and rounding are sums over the targets or classes; ``arrays["zeros"]`` marks the coefficients that are 0 in
    every optimal model.

    Attributes
    ----------
    status : how the fit ended: "converged", "max_iter", "time_limit", "stalled", "interrupted", ...
    primal : P, the value of the objective at the model
    dual : D, the value of the dual at the dual point; the optimum is at least this
    gap : P - D, which bounds P - P* from above
    relative_gap : gap / max(|P|, |D|)
    tol : the tolerance that was asked for
    rounding : bound on the rounding error of the figure that is claimed
    n_iter : sweeps over the columns of working sets
    seconds : seconds of work, compiling left out
    solver : the algorithm that found the model
    fingerprint : what identifies the data: numbers of rows and features, and hashes of rows, labels and weights
    subproblems : a `Subproblem` for each target, or for each class against the rest
    statement : the model document without its certificate: estimator, parameters, classes, problem
    arrays : name -> array of the model file: coefficients, offsets, dual point, proved zeros
    backend : what computed it: "cpu", or the name of a device
    kind : "gap"
    """

    @property
    def proved_zeros(self) -> np.ndarray:
        """Whether a coefficient is 0 in every optimal model, a line for each target or class."""
        return self.arrays["zeros"] != 0

    @property
    def objective(self) -> Objective:
        """The formula that was minimised, with its numbers."""
        n = int(self.fingerprint["n_rows"])
        weighted = self.fingerprint["weights"] != digest_of_ones(n)
        return sparse_objective(self.statement["problem"], n, weighted)

    def class_name(self, positive: int | None) -> str:
        """The label of a class index, as the user writes it. ``positive`` is the index; None stands for a target."""
        return "a target" if positive is None else super().class_name(positive)

    def _problem_name(self, sub: Subproblem) -> str:
        return "target" if sub.positive is None else super()._problem_name(sub)

    def __str__(self) -> str:
        text = f"{self.estimator}: {self._claim(self.primal)}."
        zeros = self.arrays.get("zeros")
        if zeros is not None and decode_float(self.statement["problem"]["l1"]) > 0.0:
            coef = self.arrays["coef"]
            used, proved = int(np.count_nonzero(coef)), int(np.count_nonzero(zeros))
            text += f" Of {coef.size} coefficients {used} are not 0; {proved} are 0 in every optimal model."
        if len(self.subproblems) > 1:
            done = sum(sub.converged for sub in self.subproblems)
            text += f" {len(self.subproblems)} problems, {'all' if done == len(self.subproblems) else done} converged."
        return text + self._sentence_of_new_rows()

    def __repr__(self) -> str:
        return "Sparse" + super().__repr__()


def sparse_objective(problem: Mapping[str, Any], n: int, weighted: bool) -> Objective:
    """The formula with its numbers, from the block of the document."""
    formulas = {
        "squared": ("1/2 (y_i - z_i)^2", r"\tfrac12 (y_i - z_i)^2"),
        "logistic": ("ln(1 + exp(-y_i z_i))", r"\ln\bigl(1 + e^{-y_i z_i}\bigr)"),
        "squared_hinge": ("max(0, 1 - y_i z_i)^2", r"\max(0,\, 1 - y_i z_i)^2"),
        "squared_epsilon_insensitive": ("max(0, |y_i - z_i| - {epsilon})^2", r"\max(0,\, |y_i - z_i| - {epsilon})^2"),
    }
    l1, l2, C = (decode_float(problem[name]) for name in ("l1", "l2", "C"))
    plain, latex = (text.replace("{epsilon}", f"{problem['epsilon']:g}") for text in formulas[problem["loss"]])
    s = "s_i " if weighted or any(w != 1.0 for w in problem["class_weight"] or ()) else ""
    terms, terms_tex = [], []
    if l1 > 0.0:
        terms.append(f"{written(l1)} |w|_1")
        terms_tex.append(rf"{written(l1)}\, \|w\|_1")
    if l2 > 0.0:
        terms.append(f"{written(l2)}/2 |w|^2")
        terms_tex.append(rf"\tfrac{{{written(l2)}}}{{2}} \|w\|^2")
    sign = ", w >= 0" if problem["positive"] else ""
    offset = {"none": "no offset", "penalised": "offset penalised as one more coefficient", "free": "offset free"}
    z = "z_i = <w,x_i>" + ("" if problem["offset"] == "none" else " + b")
    told = " + ".join((f"{written(C)} * sum_i {s}{plain}", *terms))
    drawn = " + ".join((rf"{written(C)} \sum_{{i=1}}^{{{n}}} {s}{latex}", *terms_tex))
    return Objective(
        f"minimise {told} over {n} rows, {z}{sign}, {offset[problem['offset']]}",
        rf"\min {drawn}" + (r",\quad w \ge 0" if sign else ""),
    )


def certify_sparse(
    problem: SparseProblem,
    point: Point,
    dual: DualPoint,
    *,
    tol: float,
    ending: str,
    positive: int | None,
    way: tuple[int, float, str],
) -> tuple[Subproblem, np.ndarray]:
    """The figures of a model and a dual point as they are returned, and the coefficients that are 0 at the optimum.

    ``way`` is passes, seconds and solver.
    """
    primal = problem.primal(point)
    below = problem.dual(dual, primal) if np.isfinite(primal) else -np.inf
    rounding = np.inf
    if np.isfinite(primal) and np.isfinite(below):
        rounding = problem.rounding(point, dual, primal)
        size = max(abs(primal), abs(below))
        if not rounding <= ROUNDING_SHARE * size:
            rounding = np.inf
    n_iter, seconds, solver = way
    sub = certify_values(
        primal,
        below if np.isfinite(below) else np.nan,
        tol=tol,
        ending=ending,
        rounding=rounding,
        n_iter=n_iter,
        seconds=seconds,
        solver=solver,
        positive=positive,
    )
    zeros = np.zeros(problem.d, dtype=bool)
    if np.isfinite(sub.gap) and np.isfinite(relative_gap(primal, below)):
        zeros = problem.proved_zeros(dual, sub.gap, rounding) & (point.w == 0.0)
    return sub, zeros
