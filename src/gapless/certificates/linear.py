"""The certificate of a fit: primal, dual and the gap between them, of each subproblem and in sum.

``gap`` is said only of primal - dual at a dual-feasible point, and its sign is kept: a slightly negative gap
is rounding, a clearly negative one is a bug, and neither is hidden. Whatever the solver did, the objective
of the returned model is at most ``gap`` above the best one.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from gapless._compile.kernel_store import backend as machine
from gapless._runtime.results import result
from gapless._runtime.written import written
from gapless.certificates.base import Bounded, times_of
from gapless.certificates.model_document import decode_float, encode_float
from gapless.errors import STATUSES, above_optimum, convergence_message, short, tolerance
from gapless.judge.fingerprint import digest
from gapless.numbers import relative_gap
from gapless.problems.units_of_C import Objective, objective

__all__ = ["Certificate", "Subproblem", "assemble", "certify", "certify_values"]


@result
@dataclass(frozen=True)
class Subproblem:
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
        _check_status(self.status)

    @property
    def converged(self) -> bool:
        """Whether the status is "converged"."""
        return self.status == "converged"

    def document(self) -> dict[str, Any]:
        """The JSON block."""
        return {f.name: _to_json(getattr(self, f.name)) for f in fields(self)}

    @classmethod
    def from_document(cls, block: Mapping[str, Any]) -> Subproblem:
        """The inverse of ``document``. ``block`` is a dictionary of JSON values."""
        return cls(
            positive=None if block["positive"] is None else int(block["positive"]),
            status=str(block["status"]),
            primal=decode_float(block["primal"]),
            dual=_from_json(block["dual"]),
            gap=_from_json(block["gap"]),
            relative_gap=_from_json(block["relative_gap"]),
            rounding=decode_float(block["rounding"]),
            n_iter=int(block["n_iter"]),
            seconds=decode_float(block["seconds"]),
            solver=str(block["solver"]),
        )

    def __str__(self) -> str:
        figures = f"primal {self.primal:.10g}, dual {self.dual:.10g}, relative gap {self.relative_gap:.1e}"
        return f"{self.status}: {figures} ({self.solver})"


#: Where primal and dual can be off by more than this share of the larger of them, and of the loss of w = 0, they are rounding,
#: and nothing is claimed.
LOST = 0.0025


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
    _check_status(ending)
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
    u = np.asarray(solution.u, dtype=np.float64)
    z = problem.scores(theta) if scores is None else scores
    primal = problem.primal(theta, z)
    combined = problem.combine(u) if combined is None else combined
    dual = problem.dual(u, primal, combined)
    hard = bool(getattr(problem, "hard", False))
    rounding = math.inf
    if math.isfinite(primal) and math.isfinite(dual):
        rounding = problem.rounding(theta, z, u, combined, primal)
        size = max(abs(primal), abs(dual))
        if (
            not rounding <= LOST * size and solution.status != "not_finite"
        ):  # a fit that says so keeps the figures it has
            size = max(size, 0.0 if hard else float(problem.primal(np.zeros_like(theta), np.zeros_like(z))))
            rounding = rounding if rounding <= LOST * size else math.inf
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


@result
@dataclass(frozen=True, eq=False, repr=False)
class Certificate(Bounded):
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

    status: str
    primal: float
    dual: float
    gap: float
    relative_gap: float
    tol: float
    rounding: float
    n_iter: int
    seconds: float
    solver: str
    fingerprint: Mapping[str, Any]
    subproblems: tuple[Subproblem, ...]
    statement: Mapping[str, Any] = field(default_factory=dict)
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)
    backend: str = field(default_factory=machine)
    kind: str = "gap"

    def __post_init__(self) -> None:
        _check_status(self.status)

    @property
    def converged(self) -> bool:
        """Whether the status is "converged"."""
        return self.status == "converged"

    @property
    def worst(self) -> Subproblem:
        """The subproblem with the largest relative gap, those that did not converge first."""
        return _worst(self.subproblems)

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

    # ------------------------------------------------------------------ JSON
    def document(self) -> dict[str, Any]:
        """The model document without its arrays: JSON values only."""
        certificate = {
            "kind": self.kind,
            "tol": encode_float(self.tol),
            "status": self.status,
            "primal": encode_float(self.primal),
            "dual": _to_json(self.dual),
            "gap": _to_json(self.gap),
            "relative_gap": _to_json(self.relative_gap),
            "rounding": encode_float(self.rounding),
            "n_iter": int(self.n_iter),
            **self._times(),
            "backend": self.backend,
            "solver": self.solver,
            "fingerprint": dict(self.fingerprint),
            "subproblems": [sub.document() for sub in self.subproblems],
        }
        # Through JSON and back: a document that is handed out shares nothing with this object.
        return json.loads(json.dumps({**self.statement, "certificate": certificate}, allow_nan=False))

    def to_json(self, indent: int | None = 2) -> str:
        """The document as text; every float comes back to the bit. ``indent`` as in json.dumps."""
        return json.dumps(self.document(), indent=indent, allow_nan=False, ensure_ascii=False)

    @classmethod
    def from_document(cls, document: Mapping[str, Any], arrays: Mapping[str, np.ndarray] | None = None) -> Certificate:
        """The inverse of ``document``; the entry "arrays" of a model file is left aside."""
        block = document["certificate"]
        return cls(
            status=str(block["status"]),
            primal=decode_float(block["primal"]),
            dual=_from_json(block["dual"]),
            gap=_from_json(block["gap"]),
            relative_gap=_from_json(block["relative_gap"]),
            tol=decode_float(block["tol"]),
            rounding=decode_float(block["rounding"]),
            n_iter=int(block["n_iter"]),
            **times_of(block),
            solver=str(block["solver"]),
            fingerprint=dict(block["fingerprint"]),
            subproblems=tuple(Subproblem.from_document(sub) for sub in block["subproblems"]),
            statement={k: v for k, v in document.items() if k not in ("certificate", "arrays")},
            arrays=dict(arrays or {}),
            backend=str(block["backend"]),
            kind=str(block["kind"]),
        )

    @classmethod
    def from_json(cls, text: str, arrays: Mapping[str, np.ndarray] | None = None) -> Certificate:
        """The inverse of ``to_json``. ``text`` is the document; ``arrays`` are those of the model file."""
        return cls.from_document(json.loads(text), arrays)

    # ------------------------------------------------------------ sentences
    @property
    def estimator(self) -> str:
        """Name of the estimator."""
        return str(self.statement.get("estimator", "the model"))

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
        diverged = False
        if worst.status == "not_finite":
            from gapless.solvers.linear.solve import DESCENTS  # rarely asked, and heavy

            diverged = worst.solver in DESCENTS
        return convergence_message(
            self.estimator,
            worst.status,
            diverged=worst.solver if diverged else None,
            seconds=self.seconds,
            relative_gap=worst.relative_gap,
            tol=self.tol,
            primal=worst.primal,
            dual=worst.dual,
            rounding=worst.rounding,
            max_iter=max_iter,
            time_limit=time_limit,
            n_iter=worst.n_iter,
            worst=f"{self.class_name(worst.positive)} against the rest",
            unconverged=sum(not sub.converged for sub in self.subproblems),
            subproblems=len(self.subproblems),
        )

    def _ending(self) -> str:
        passes = f"{self.n_iter} pass" + ("" if self.n_iter == 1 else "es")
        how = {
            "converged": f"converged in {passes}",
            "max_iter": f"stopped at max_iter after {passes}",
            "time_limit": f"stopped at time_limit after {passes}",
        }.get(self.status, f"{self.status.replace('_', ' ')} after {passes}")
        parts = [how, self._took, self.solver]
        if self.backend != "cpu":
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
        return text + self._on_new_rows()

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

    # ------------------------------------------------------------- equality
    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Certificate):
            return NotImplemented
        return (
            self.document() == other.document()
            and self.arrays.keys() == other.arrays.keys()
            and all(_same_array(self.arrays[name], other.arrays[name]) for name in self.arrays)
        )

    def __hash__(self) -> int:
        return hash((self.status, self.primal, self.dual, self.subproblems, self.fingerprint.get("rows")))


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
    backend: str | None = None,
    compile_seconds: float = 0.0,
) -> Certificate:
    """The certificate of a fit from those of its subproblems."""
    subs = tuple(subproblems)
    if not subs:
        raise ValueError("a certificate needs at least one subproblem")
    primal = _sum(sub.primal for sub in subs)
    dual = _sum(sub.dual for sub in subs)
    gap = _sum(sub.gap for sub in subs)
    return Certificate(
        status="converged" if all(sub.converged for sub in subs) else _worst(subs).status,
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
        arrays=dict(arrays),
        backend=machine() if backend is None else str(backend),
        compile_seconds=float(compile_seconds),
    )


def _sum(values: Iterable[float]) -> float:
    values = list(values)
    # fsum refuses inf - inf; the plain sum says nan, which is what a certificate without finite values must
    # say.
    return math.fsum(values) if all(math.isfinite(v) for v in values) else float(sum(values))


def _worst(subs: Sequence[Subproblem]) -> Subproblem:
    def badness(sub: Subproblem) -> tuple[bool, bool, float]:
        unknown = sub.relative_gap is None or math.isnan(sub.relative_gap)
        return (not sub.converged, unknown, -math.inf if unknown else sub.relative_gap)

    return max(subs, key=badness)


def _check_status(status: str) -> None:
    if status not in STATUSES:
        raise ValueError(f"unknown status {status!r}; a fit ends as one of {list(STATUSES)}")


def _to_json(value: Any) -> Any:
    return encode_float(value) if isinstance(value, (float, np.floating)) else value


def _from_json(value: Any) -> Any:
    """The inverse; None where the kind has no such figure."""
    return None if value is None else decode_float(value)


def _figure(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


def _same_array(a: np.ndarray, b: np.ndarray) -> bool:
    a, b = np.asarray(a), np.asarray(b)
    return a.dtype == b.dtype and a.shape == b.shape and bool(np.array_equal(a, b, equal_nan=a.dtype.kind == "f"))
