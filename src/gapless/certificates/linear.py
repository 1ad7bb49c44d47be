"""The certificate of a fit: primal, dual and the gap between them, of each subproblem and in sum.

Whatever the solver did, the objective of the returned model is at most ``gap`` above the best one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gapless._compile.backend import backend
from gapless._runtime.results import result
from gapless._runtime.written import written
from gapless.certificates.base import NO_KEY, BaseCertificate
from gapless.certificates.model_document import decode_float
from gapless.certificates.subproblem import Subproblem, worst_of
from gapless.errors import Shortfall, above_optimum, convergence_message, short, tolerance
from gapless.judge.fingerprint import digest
from gapless.numbers import relative_gap
from gapless.problems.units_of_C import Objective, objective
from gapless.solvers.solution import DESCENTS


@result
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Certificate(BaseCertificate):
    """What a fit claims: the figures of all its subproblems, what was fitted, on which data, and the dual
    point.

    primal, dual, gap and rounding are sums over the subproblems, relative_gap is that of the sums, n_iter
    the largest; the status is ``converged`` where every subproblem converged, else that of the worst one.

    Attributes
    ----------
    status : how the fit ended: "converged", "max_iter", "time_limit", "stalled", "interrupted", ...
    primal : P, the value of the objective at the model
    dual : D, the value of the dual at the dual point; the optimum is at least this
    gap : P - D, which bounds P - P* from above
    relative_gap : gap / max(|P|, |D|)
    tol : the tolerance that was asked for
    rounding : bound on the rounding error of the figure that is claimed
    n_iter : passes over the data
    seconds : seconds of work, compiling left out
    solver : the algorithm that found the model
    fingerprint : what identifies the data: numbers of rows and features, and hashes of rows, labels and weights
    subproblems : a `Subproblem` for each class against the rest; one for two classes
    statement : the model document without its certificate: estimator, parameters, classes, problem
    arrays : name -> array of the model file: coefficients, offsets, dual point
    backend : what computed it: "cpu", or the name of a device
    kind : "gap"
    """

    kind: str = "gap"
    tol: float
    status: str
    primal: float
    dual: float
    gap: float
    relative_gap: float
    rounding: float
    n_iter: int
    seconds: float
    compile_seconds: float = 0.0
    backend: str = field(default_factory=backend)
    solver: str
    fingerprint: Mapping[str, Any]
    subproblems: tuple[Subproblem, ...]
    statement: Mapping[str, Any] = field(default_factory=dict, metadata=NO_KEY)
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict, metadata=NO_KEY)

    @property
    def worst(self) -> Subproblem:
        """The subproblem with the largest relative gap, those that did not converge first."""
        return worst_of(self.subproblems)

    @property
    def objective(self) -> Objective:
        """The formula that was minimised, with its numbers."""
        problem, n = self.statement["problem"], int(self.fingerprint["n_rows"])
        return objective(
            problem["loss"],
            decode_float(problem["C"]),
            n,
            problem["offset"],
            offset_scale=decode_float(problem["offset_scale"]),
            weighted=self.fingerprint["weights"] != digest(np.ones(n), "<f8"),
            class_weight=[decode_float(w) for w in problem["class_weight"]],
            classes=self.statement["classes"]["values"],
        )

    def class_name(self, positive: int | None) -> str:
        """The label of a class index, as the user writes it. ``positive`` is the index; None stands for all classes."""
        values = self.statement.get("classes", {}).get("values", [])
        if positive is None:
            return "all classes"
        return repr(values[positive]) if 0 <= positive < len(values) else f"class {positive}"

    def shortfall(self, max_iter: int | None = None, time_limit: float | None = None) -> str | None:
        """The sentence of the ConvergenceWarning, with the figures of the worst subproblem; None where all
        is well.

        ``max_iter`` and ``time_limit`` are the limits that the fit had.
        """
        if self.converged:
            return None
        worst = self.worst
        fit = Shortfall(
            worst.status, self.seconds, worst.relative_gap, self.tol, worst.primal, worst.dual, worst.rounding, worst.n_iter,
            max_iter, time_limit,
        )  # fmt: skip
        return convergence_message(
            self.estimator,
            fit,
            worst=f"{self.class_name(worst.positive)} against the rest",
            unconverged=sum(not sub.converged for sub in self.subproblems),
            subproblems=len(self.subproblems),
            diverged=worst.solver if worst.status == "not_finite" and worst.solver in DESCENTS else None,
        )

    def _ending(self) -> str:
        passes = f"{self.n_iter} pass" + ("" if self.n_iter == 1 else "es")
        how = {
            "converged": f"converged in {passes}",
            "max_iter": f"stopped at max_iter after {passes}",
            "time_limit": f"stopped at time_limit after {passes}",
        }.get(self.status, f"{self.status.replace('_', ' ')} after {passes}")
        parts = [how, self._duration, self.solver]
        if self.backend not in ("cpu", "cpu numpy"):
            parts.append(self.backend)
        return ", ".join(part for part in parts if part)

    def _claim(self, primal: float) -> str:
        """How far the objective, at most ``primal``, can be above its optimum, and the figures."""
        if self.primal == math.inf:  # the objective of a hard margin; of any other it overflows
            kept = sum(math.isfinite(sub.primal) for sub in self.subproblems)
            known = f"of {len(self.subproblems)} margins {kept} are kept" if kept else "no margin is kept yet"
            return f"{known}, so that nothing is known about the distance to the optimum ({self._ending()})"
        figures = (
            f"primal {self.primal:.10g}, dual {self.dual:.10g}, relative gap {self.relative_gap:.1e} "
            f"{'<=' if self.relative_gap <= self.tol else '>'} tol {tolerance(self.tol)}; {self._ending()}"
        )
        if not (math.isfinite(self.primal) and math.isfinite(self.dual)):
            return f"nothing is known about the distance to the optimum ({figures})"
        most = above_optimum(primal, self.dual, self.rounding)
        return f"the objective is at most {most} above its optimum ({figures})"

    def __str__(self) -> str:
        text = f"{self.estimator}: {self._claim(self.primal)}."
        if len(self.subproblems) > 1:
            done = sum(sub.converged for sub in self.subproblems)
            worst = self.worst
            text += (
                f" {len(self.subproblems)} problems of one class against the rest, "
                f"{'all' if done == len(self.subproblems) else done} converged; the worst is "
                f"{self.class_name(worst.positive)} with relative gap {worst.relative_gap:.1e} "
                f"({worst.status})."
            )
        return text + self._sentence_of_new_rows()

    def __repr__(self) -> str:
        return (
            f"Certificate({self.estimator}: {self.status}, primal={written(self.primal)}, dual={written(self.dual)}, "
            f"relative_gap={'None' if self.relative_gap is None else format(self.relative_gap, '.3g')}, tol={self.tol:g})"
        )

    def _problem_name(self, sub: Subproblem) -> str:
        return f"{self.class_name(sub.positive)} against the rest"

    def _table(self) -> tuple[tuple[str, ...], list[list[Any]]]:
        """What a notebook shows: a line for each problem, and their sum."""
        head = ("problem", "status", "primal", "dual", "gap", "relative gap", "rounding", "passes", "seconds", "solver")

        def line(name: str, part: Certificate | Subproblem) -> list[Any]:
            known = (_figure(part.dual, ".10g"), _figure(part.gap, ".3g"), _figure(part.relative_gap, ".2e"))
            seconds = short(part.seconds, 3) + _compiled(part)
            return [
                name, part.status, f"{part.primal:.10g}", *known, f"{part.rounding:.1e}", part.n_iter, seconds, part.solver,
            ]  # fmt: skip

        if len(self.subproblems) <= 1:
            return head, [line(self.estimator, self)]
        lines = [line(self._problem_name(sub), sub) for sub in self.subproblems[:50]]
        if len(self.subproblems) > 50:
            lines.append([f"… {len(self.subproblems) - 50} more", *[""] * (len(head) - 1)])
        return head, [*lines, line("sum", self)]


def _compiled(part: Certificate | Subproblem) -> str:
    """Of the time of a whole fit, what compiling took."""
    compiling = part.compile_seconds if isinstance(part, Certificate) else 0.0
    return f" + {short(compiling, 3)} compiling" if compiling else ""


def assemble(
    subproblems: Iterable[Subproblem],
    statement: Mapping[str, Any],
    arrays: Mapping[str, np.ndarray],
    fingerprint: Mapping[str, Any],
    tol: float,
    seconds: float,
    compile_seconds: float = 0.0,
    kind: type[Certificate] = Certificate,
) -> Any:
    """The certificate of a fit from those of its subproblems; ``kind`` is its class."""
    subs = tuple(subproblems)
    if not subs:
        raise ValueError("a certificate needs at least one subproblem")
    primal = _sum(sub.primal for sub in subs)
    dual = _sum(sub.dual for sub in subs)
    gap = _sum(sub.gap for sub in subs)
    return kind(
        status="converged" if all(sub.converged for sub in subs) else worst_of(subs).status,
        primal=primal,
        dual=dual,
        gap=gap,
        relative_gap=relative_gap(primal, dual, gap),
        tol=float(tol),
        rounding=_sum(sub.rounding for sub in subs),
        n_iter=max(sub.n_iter for sub in subs),
        seconds=float(seconds),
        solver=", ".join(dict.fromkeys(sub.solver for sub in subs)),
        fingerprint=dict(fingerprint),
        subproblems=subs,
        statement=dict(statement),
        arrays=arrays if getattr(arrays, "stays", False) else dict(arrays),
        compile_seconds=float(compile_seconds),
    )


def _sum(values: Iterable[float]) -> float:
    values = list(values)
    # fsum refuses inf - inf; the plain sum says nan, which is what a certificate without finite values must
    # say.
    return math.fsum(values) if all(math.isfinite(v) for v in values) else float(sum(values))


def _figure(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)
