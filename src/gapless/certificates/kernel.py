"""The certificate of a kernel machine: the gap of each pair of classes (or of the one problem there is), and in sum.

w = sum u phi(x) exactly, so that u and the free scalars are the whole model, and the gap is a sum over rows of terms that are
none below 0 (`problems.kernel`).  Where the kernel is not positive semidefinite the dual bounds nothing: there the kind
is ``heuristic``, there is no gap, and what is claimed is the largest violation of the optimality conditions.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gapless._runtime.results import result
from gapless.certificates.base import NO_KEY
from gapless.certificates.linear import Certificate, assemble
from gapless.certificates.model_document import decode_float, encode_float
from gapless.certificates.subproblem import Subproblem, certify_values
from gapless.errors import Shortfall, convergence_message, short, tolerance
from gapless.kernels.named import named_kernel
from gapless.kernels.precomputed import Precomputed
from gapless.problems.kernel import KernelDual
from gapless.problems.units_of_C import Objective
from gapless.solvers.kernel.meeting_hulls import is_nothing
from gapless.solvers.solution import Solution

#: Nothing is claimed where rounding may be more than this share of the objective.
KERNEL_ROUNDING_SHARE = 0.01


@result
@dataclass(frozen=True)
class Pair(Subproblem):
    """The gap of one problem: class ``positive`` against class ``negative``; both None where there are no classes.

    Attributes
    ----------
    negative : index of the class that is -1; None where all classes are in the problem
    violation : largest violation of the optimality conditions, where no gap exists
    """

    negative: int | None
    violation: float = math.nan


@result
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class KernelCertificate(Certificate):
    """What a kernel machine claims; ``witness`` is a v with v'Kv < 0, where K is no kernel.

    There kind is "heuristic", and dual, gap and relative_gap are None, here and in each subproblem.

    Attributes
    ----------
    witness : v with v'Kv < 0, where K is no kernel; else None
    engine : whose solver found a point that was repaired and certified here: "libsvm"; None where all steps are our own
    """

    dual: Any
    gap: Any
    relative_gap: Any
    subproblems: tuple[Pair, ...]
    engine: str | None = None
    witness: np.ndarray | None = field(default=None, metadata=NO_KEY)

    @property
    def objective(self) -> Objective:
        """The formula that was minimised, with its numbers."""
        return _objective(self.statement["problem"])

    def pair_name(self, sub: Pair) -> str:
        """The two labels of the subproblem ``sub``, as the user writes them."""
        if sub.positive is None:
            return self.estimator
        return f"{self.class_name(sub.positive)} against {self.class_name(sub.negative)}"

    def shortfall(self, max_iter: int | None = None, time_limit: float | None = None) -> str | None:
        """The sentence of the ConvergenceWarning; None where all is well. ``max_iter``, ``time_limit``: limits of the fit."""
        if self.converged:
            return None
        worst: Any = self.worst
        if self.kind == "heuristic" and worst.status != "not_finite":
            return (
                f"{self.estimator} stopped ({worst.status}) where the optimality conditions are violated by "
                f"{short(worst.violation)} > tol={tolerance(self.tol)}; this kernel has no dual bound. Raise max_iter or "
                "time_limit, or accept a larger tol."
            )
        gap, dual = (math.nan if figure is None else figure for figure in (worst.relative_gap, worst.dual))
        fit = Shortfall(
            worst.status, self.seconds, gap, self.tol, worst.primal, dual, worst.rounding, worst.n_iter, max_iter, time_limit
        )  # fmt: skip
        return convergence_message(
            self.estimator,
            fit,
            worst=self.pair_name(worst),
            unconverged=sum(not sub.converged for sub in self.subproblems),
            subproblems=len(self.subproblems),
            what="pairs of classes",
        )

    def __str__(self) -> str:
        if self.kind == "heuristic":
            subs: Any = self.subproblems
            worst = max(sub.violation for sub in subs)
            return (
                f"{self.estimator}: this kernel is not positive semidefinite, so that no dual bound exists; the optimality "
                f"conditions are violated by at most {short(worst, up=True)} (primal {self.primal:.10g}; {self._ending()})."
            )
        text = f"{self.estimator}: {self._claim(self.dual + self.gap)}."
        if len(self.subproblems) > 1:
            done = sum(sub.converged for sub in self.subproblems)
            pair: Any = self.worst
            text += (
                f" {len(self.subproblems)} pairs of classes, {'all' if done == len(self.subproblems) else done} converged; the "
                f"worst is {self.pair_name(pair)} with relative gap {pair.relative_gap:.1e} ({pair.status})."
            )
        nothing = sum(sub.converged and not sub.relative_gap <= self.tol for sub in self.subproblems)
        if nothing:
            of = f" of {nothing} of them" if len(self.subproblems) > 1 else ""
            text += (
                f" The optimum{of} is w = 0 up to rounding: no direction parts the rows, and no relative gap exists."
            )
        return text + self._sentence_of_new_rows()

    def _problem_name(self, sub: Subproblem) -> str:
        return self.pair_name(sub)  # type: ignore[arg-type]


def certify_kernel(
    problem: KernelDual, solution: Solution, *, tol: float, pair: tuple[int, int] | None, positive: bool
) -> Pair:
    """Primal, dual, gap and rounding of what is returned, in float64, from scores of the returned beta."""
    beta, scalars, scores = solution.u, solution.theta, solution.scores
    assert scores is not None
    primal = problem.primal(beta, scalars, scores)
    gap = problem.gap(beta, scalars, scores, primal)
    dual = problem.dual(beta, scores, primal)
    finite = math.isfinite(primal) and math.isfinite(dual) and math.isfinite(gap)
    base = certify_values(
        primal if finite else math.nan,
        primal - gap if finite else math.nan,
        tol=tol,
        ending=solution.status,
        rounding=problem.rounding(beta, scalars, scores, primal, dual) if finite else math.inf,
        n_iter=solution.n_iter,
        seconds=solution.seconds,
        solver=solution.solver,
        positive=None if pair is None else pair[0],
    )
    scale = max(abs(base.primal), abs(base.dual))
    # Of the beta that u stands for: of the two of a row one is 0.
    own = beta if problem.at is None else np.maximum(problem.sign * problem.u(beta)[problem.at], 0.0)
    violation = problem.violation(own, scores) if finite else math.inf
    found = Pair(**base.__dict__, negative=None if pair is None else pair[1], violation=violation)
    if not finite:
        return found
    if not found.rounding <= KERNEL_ROUNDING_SHARE * max(scale, problem.largest(beta)):
        nan = math.nan
        return replace(found, status="not_finite", primal=nan, dual=nan, gap=nan, relative_gap=nan, violation=math.inf)
    relative = gap / scale if scale > 0.0 else 0.0
    found = replace(found, gap=gap, relative_gap=relative)  # of rows: P - D has lost these digits
    if positive:
        # An optimum of at most 1e-9 of the largest it could be is 0 (one class around the origin, nu-SVC with equal rows in both
        # classes): a relative gap says nothing.
        nothing = is_nothing(problem, beta, max(scale, gap), found.rounding)
        ended = (
            "converged"
            if relative <= tol or nothing
            else ("stalled" if solution.status == "converged" else solution.status)
        )
        return replace(found, status=ended)
    status = "converged" if violation <= tol else ("stalled" if solution.status == "converged" else solution.status)
    nan = math.nan
    return replace(found, status=status, dual=nan, gap=nan, relative_gap=nan)


def assemble_kernel(
    subproblems: Iterable[Pair],
    statement: Mapping[str, Any],
    arrays: Mapping[str, np.ndarray],
    fingerprint: Mapping[str, Any],
    tol: float,
    seconds: float,
    positive: bool,
    witness: np.ndarray | None = None,
    compile_seconds: float = 0.0,
) -> KernelCertificate:
    base = assemble(subproblems, statement, arrays, fingerprint, tol, seconds, compile_seconds=compile_seconds)
    engine = "libsvm" if "libsvm" in base.solver else None
    found = KernelCertificate(**base.__dict__, engine=engine, witness=witness)
    if positive:
        return found
    return _without_gap(replace(found, kind="heuristic"))


def _without_gap(found: KernelCertificate) -> KernelCertificate:
    none: dict[str, Any] = dict.fromkeys(("dual", "gap", "relative_gap"))
    return replace(found, subproblems=tuple(replace(sub, **none) for sub in found.subproblems), **none)


def kernel_block(kernel: Any) -> dict[str, Any]:
    """A kernel in JSON values."""
    return {
        "name": kernel.name,
        "degree": int(getattr(kernel, "degree", 0)),
        "gamma": encode_float(getattr(kernel, "gamma", 0.0)),
        "coef0": encode_float(getattr(kernel, "coef0", 0.0)),
        "shift": encode_float(getattr(kernel, "shift", 0.0)),
    }


def kernel_from_block(block: Mapping[str, Any]) -> Any:
    """The kernel that a document's block describes: the inverse of `kernel_block`."""
    gamma, coef0, shift = (decode_float(block[key]) for key in ("gamma", "coef0", "shift"))
    if block["name"] in ("precomputed", "callable"):
        return Precomputed(shift)
    return named_kernel(block["name"], block["degree"], gamma, coef0)


def _objective(problem: Mapping[str, Any]) -> Objective:
    losses = {
        "c_svc": "{C} * sum_i s_i max(0, 1 - y_i(<w,phi_i> + b))",
        "nu_svc": "sum_i s_i max(0, rho - y_i(<w,phi_i> + b)) - {nu} * rho * sum_i s_i",
        "epsilon_svr": "{C} * sum_i s_i max(0, |y_i - <w,phi_i> - b| - {epsilon})",
        "nu_svr": "{C} * (sum_i s_i max(0, |y_i - <w,phi_i> - b| - eps) + {nu} * eps * sum_i s_i)",
        "one_class": "sum_i s_i max(0, rho - <w,phi_i>) - {nu} * rho * sum_i s_i",
    }
    values = {
        "linear": "<x,z>",
        "poly": "({gamma} <x,z> + {coef0})^{degree}",
        "rbf": "exp(-{gamma} |x - z|^2)",
        "sigmoid": "tanh({gamma} <x,z> + {coef0})",
        "precomputed": "the matrix given",
        "callable": "the function given",
    }
    numbers = {key: short_number(problem[key]) for key in ("C", "nu", "epsilon")}
    kernel = problem["kernel"]
    shown = {key: short_number(kernel[key]) for key in ("gamma", "coef0")}
    if problem["C"] == "inf":
        loss = ""
        plain = "minimise 1/2|w|^2 subject to y_i(<w,phi_i> + b) >= 1"
    else:
        loss = losses[problem["kind"]].format(**numbers)
        plain = f"minimise 1/2|w|^2 + {loss}"
    plain += f",  K(x,z) = {values[kernel['name']].format(**shown, degree=kernel['degree'])}"
    latex = (
        plain.replace("<", r"\langle ").replace(">", r"\rangle ").replace("*", r"\cdot ").replace("sum_i", r"\sum_i")
    )
    return Objective(plain, latex)


def short_number(value: Any) -> str:
    return "-" if value is None else f"{decode_float(value):g}"
