"""What a least squares fit claims: the orthogonality of its residuals, or, with a penalty, a gap.

Without a penalty least squares has no duality gap of ours, and none is made up.  What stands in its place, kind
``orthogonality``, is the largest cosine between the residuals and a column (0 at the optimum), with the residual sum of
squares, R2, rank and condition.  Where every target has alpha > 0, kind ``gap``: primal and dual of

    P = 1/2 |w|^2 + sum_i c_i 1/2 (y_i - <w, x_i> - b)^2,    c_i = weight_i / alpha       (the objective over 2 alpha)
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from gapless._compile.backend import backend
from gapless._runtime.results import result
from gapless._runtime.written import written
from gapless.certificates.base import NO_KEY, BaseCertificate, Block, HasStatus
from gapless.certificates.fingerprint import digest_of_ones, digest_of_rows
from gapless.certificates.model_document import decode_float
from gapless.certificates.subproblem import ROUNDING_SHARE, certify_values
from gapless.errors import Shortfall, above_optimum, convergence_message, short, tolerance
from gapless.judge.fingerprint import digest
from gapless.numbers import relative_gap
from gapless.problems.examples.protocol import Handle
from gapless.problems.examples.protocol_targets import TargetExamples
from gapless.problems.r_squared import r_squared


@result
@dataclass(frozen=True)
class Target(HasStatus, Block):
    """The figures of one target. With a gap: primal, dual, gap, relative_gap; without: orthogonality. The others of
    these are None. ``rounding`` bounds the rounding in the gap or in the orthogonality.

    Attributes
    ----------
    status : how this target ended
    rss : residual sum of squares
    r2 : R squared
    rounding : bound on the rounding of the gap, or of the orthogonality
    orthogonality : largest cosine between residuals and a column; None with a penalty
    primal : P; None without a penalty
    dual : D; None without a penalty
    gap : P - D; None without a penalty
    relative_gap : gap / max(|P|, |D|); None without a penalty
    """

    status: str
    rss: float
    r2: float
    rounding: float
    orthogonality: float | None = None
    primal: float | None = None
    dual: float | None = None
    gap: float | None = None
    relative_gap: float | None = None

    def __str__(self) -> str:
        figure = (
            f"orthogonality {self.orthogonality:.1e}"
            if self.relative_gap is None
            else f"relative gap {self.relative_gap:.1e}"
        )
        return f"{self.status}: residual sum of squares {self.rss:.10g}, R2 {self.r2:.6g}, {figure}"


def certify_least_squares(
    problem: TargetExamples, solution: tuple[np.ndarray, np.ndarray], ending: str, *, tol: float, dtype: Any
) -> tuple[tuple[Target, ...], Handle | None]:
    """The targets' figures, and the dual points (K, n) where there is a gap.

    ``solution`` is (W, b) as the solver found it; what is certified is that, rounded to ``dtype``: the model as the user
    gets it, whose offset is rounded with the common part of the targets.  The dual point comes from the unrounded one,
    which is the better for it.
    """
    common = np.zeros(problem.K) if problem.common is None else problem.common
    W, b = (np.asarray(a, dtype=dtype).astype(np.float64) for a in (solution[0], solution[1] + common))
    b = b - common
    left, gradient = problem.residuals(W, b)
    rss = problem.rss(left)
    r2 = r_squared(rss, problem.tss, problem.mass, problem.largest)
    finite = bool(np.isfinite(rss).all())
    targets: list[Target] = []
    if not finite and problem.alpha.min() > 0.0:  # the residuals overflow: nothing is known of the gap
        unknown = dict.fromkeys(("primal", "dual", "gap", "relative_gap"), math.nan)
        lost = (Target("not_finite", float(rss[k]), float(r2[k]), math.inf, **unknown) for k in range(problem.K))
        return tuple(lost), problem.zero_duals()
    if finite and problem.alpha.min() > 0.0:
        dual = None
        same = np.dtype(dtype) == np.float64 and np.array_equal(b, solution[1])
        best = left if same else problem.residuals(*solution)[0]
        squares, reach = problem.varying
        for k in range(problem.K):
            own = problem.own_gap(k, W[:, k], float(b[k])) if best is left else None
            if own is None:
                u = problem.dual_point(k, best)
                found = problem.gap(k, W[:, k], float(b[k]), u)
            else:
                found, u = own
            if not found.primal - found.dual <= tol * abs(found.primal):
                # An early stop, whose dual point may be too long, or rounding, which centred columns have less of.
                other = problem.dual_point(k, problem.centred_residuals(solution[0])[0])
                for v in (problem.stretched(u, found.stretch), other):
                    again = problem.gap(k, W[:, k], float(b[k]), v)
                    if again.dual > found.dual:
                        found, u = again, v
            primal, below = found.primal, found.dual
            # Sums of many terms of this size, and what bounds their rounding, have to stay floats.
            room = found.rounding if math.isfinite(below) and primal < 1e290 else math.inf
            whole = max(abs(primal), abs(below)) + float(squares[k]) / float(problem.alpha[k])
            if not room <= ROUNDING_SHARE * whole:  # the figures are rounding, and say nothing
                primal = below = math.nan
            sub = certify_values(primal, below, tol=tol, ending=ending, rounding=room)
            # Where all is 0 but for rounding a relative gap means nothing, and a gap below its rounding is none; but
            # rounding that is large against the targets themselves excuses nothing: mass |y|^2 / alpha >= 2 P(0).
            excused = room <= tol * problem.mass * float(reach[k]) ** 2 / float(problem.alpha[k])
            status = "converged" if sub.gap <= room and excused else sub.status
            targets.append(
                Target(
                    status, float(rss[k]), float(r2[k]), room,
                    primal=primal, dual=below, gap=sub.gap, relative_gap=sub.relative_gap,
                )
            )  # fmt: skip
            dual = problem.put_dual(dual, k, u)
        return tuple(targets), dual
    return _cosines(problem, (W, b), left, gradient, ending, tol, np.dtype(dtype) == np.float32), None


def _cosines(
    problem: TargetExamples,
    model: tuple[np.ndarray, np.ndarray],
    left: Handle,
    gradient: np.ndarray,
    ending: str,
    tol: float,
    single: bool,
) -> tuple[Target, ...]:
    """The targets' figures without a gap, of a model that is kept in float32 or not."""
    rss = problem.rss(left)
    r2 = r_squared(rss, problem.tss, problem.mass, problem.largest)
    error = problem.residual_error(*model, 2.0**-24 if single else 0.0)
    finite = bool(np.isfinite([*rss, *problem.tss, *error]).all())
    cosine = problem.orthogonality(left, gradient)
    room_of = problem.orthogonality_error(left, error)
    targets = []
    for k in range(problem.K):
        reached = bool(cosine[k] <= tol + room_of[k])
        status = "converged" if reached else "stalled" if ending in ("converged", "not_finite") else ending
        targets.append(
            Target(
                status if finite else "not_finite",
                float(rss[k]), float(r2[k]), float(room_of[k]), orthogonality=float(cosine[k]),
            )
        )  # fmt: skip
    return tuple(targets)


@result
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class LeastSquaresCertificate(BaseCertificate):
    """What a least squares fit claims. ``kind`` is "orthogonality", or "gap" where every target has a penalty.

    Attributes
    ----------
    kind : "gap" with a penalty, "orthogonality" without
    status : how the fit ended: "converged", "max_iter", "time_limit", "stalled", "interrupted", ...
    tol : the tolerance that was asked for
    targets : a `Target` for each column of y
    rank : numerical rank of the columns
    condition : condition number of the columns
    n_iter : passes over the data
    seconds : seconds of work, compiling left out
    solver : the algorithm that found the model
    fingerprint : what identifies the data: numbers of rows and features, and hashes of rows, labels and weights
    statement : the model document without its certificate: estimator, parameters, classes, problem
    arrays : name -> array of the model file: coefficients, offsets, dual point
    backend : what computed it: "cpu", or the name of a device
    """

    kind: str
    tol: float
    status: str
    rank: int | None
    condition: float
    n_iter: int
    seconds: float
    compile_seconds: float = 0.0
    backend: str = field(default_factory=backend)
    solver: str
    fingerprint: Mapping[str, Any]
    targets: tuple[Target, ...]
    statement: Mapping[str, Any] = field(default_factory=dict, metadata=NO_KEY)
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict, metadata=NO_KEY)

    @property
    def worst(self) -> Target:
        """The target with the largest orthogonality or relative gap, those that did not converge first."""
        return max(self.targets, key=lambda t: (not t.converged, t.relative_gap or t.orthogonality or 0.0))

    def _sum(self, name: str) -> float | None:
        values = [getattr(target, name) for target in self.targets]
        return None if None in values else math.fsum(values) if all(map(math.isfinite, values)) else float(sum(values))

    @property
    def rss(self) -> float:
        """The residual sums of squares, of all targets."""
        return self._sum("rss") or 0.0

    @property
    def r2(self) -> float:
        """The mean of the targets' R2, as scikit-learn's score."""
        return float(np.mean([target.r2 for target in self.targets]))

    @property
    def orthogonality(self) -> float | None:
        """The largest of the targets; None where there is a gap."""
        values = [t.orthogonality for t in self.targets if t.orthogonality is not None]
        return max(values) if values else None

    @property
    def primal(self) -> float | None:
        """The sum over the targets; None where there is no gap, as for dual, gap and relative_gap."""
        return self._sum("primal")

    @property
    def dual(self) -> float | None:
        """D, summed over the targets; None without a penalty."""
        return self._sum("dual")

    @property
    def gap(self) -> float | None:
        """P - D; None without a penalty."""
        return self._sum("gap")

    @property
    def relative_gap(self) -> float | None:
        """gap / max(|P|, |D|); None without a penalty."""
        primal, dual = self.primal, self.dual
        return None if primal is None or dual is None else relative_gap(primal, dual, self.gap)

    @property
    def rounding(self) -> float:
        """With a gap the sum over the targets, else the largest."""
        values = [target.rounding for target in self.targets]
        return math.fsum(values) if self.kind == "gap" and all(map(math.isfinite, values)) else max(values)

    @property
    def objective(self) -> str:
        """The formula that was minimised, with its numbers."""
        problem, n = self.statement["problem"], int(self.fingerprint["n_rows"])
        z = "<w, x_i> + b" if problem["offset"] == "free" else "<w, x_i>"
        text = f"sum_i weight_i (y_i - ({z}))^2 over {n} rows"
        alphas = sorted({decode_float(a) for a in problem["alpha"]})
        if alphas != [0.0]:
            text += f" + {alphas[0]:g} |w|^2" if len(alphas) == 1 else " + alpha_k |w_k|^2 for each target k"
        return text

    # ------------------------------------------------------------ sentences
    def shortfall(self, max_iter: int | None = None, time_limit: float | None = None) -> str | None:
        """The sentence of the ConvergenceWarning; None where all is well.

        ``max_iter`` and ``time_limit`` are the limits that the fit had.
        """
        if self.converged:
            return None
        worst = self.worst
        if worst.relative_gap is not None and worst.primal is not None and worst.dual is not None:
            fit = Shortfall(
                worst.status, self.seconds, worst.relative_gap, self.tol, worst.primal, worst.dual, worst.rounding, self.n_iter,
                max_iter, time_limit,
            )  # fmt: skip
            text = convergence_message(self.estimator, fit)
            return text.replace(" (init=est resumes from this model)", "").replace(" with init=est to resume", "")
        advice = {
            "max_iter": "Raise max_iter or tol.",
            "time_limit": "Raise time_limit.",
            "interrupted": "Fit again.",
        }.get(worst.status, "Scale the columns of X (StandardScaler, MaxAbsScaler) or raise tol.")
        cosine = math.nan if worst.orthogonality is None else worst.orthogonality
        return (
            f"{self.estimator} ended as {worst.status} after {short(self.seconds)} s: the residuals have a cosine of "
            f"{cosine:.1e} > tol={tolerance(self.tol)} with a column; at the least squares solution it is 0. {advice}"
        )

    def __str__(self) -> str:
        rank = "" if self.rank is None else f", rank {self.rank} of {self.statement['n_features']}"
        condition = f", condition {self.condition:.1e}" if math.isfinite(self.condition) else ""
        tail = f"R2 {self.r2:.6g}{rank}{condition}; {self.status}, {self._duration}, {self.solver}"
        primal, dual = self.primal, self.dual
        if primal is not None and dual is not None:
            most = above_optimum(primal, dual, self.rounding)
            return (
                f"{self.estimator}: the objective is at most {most} above its optimum (primal {primal:.10g}, dual "
                f"{dual:.10g}, relative gap {self.relative_gap:.1e}, tol {tolerance(self.tol)}; {tail})."
            )
        figure = f"{self.orthogonality:.1e} (tol {tolerance(self.tol)}, rounding {self.rounding:.1e})"
        head = f"the residuals are orthogonal to the columns to {figure}"
        if self.converged and (self.orthogonality or 0.0) > self.tol:
            head = f"the residuals are orthogonal to the columns as far as rounding allows, {figure}"
        return (
            f"{self.estimator}: {head}; residual sum of squares {self.rss:.10g}, {tail}. "
            "Least squares without a penalty has no duality gap."
        )

    def __repr__(self) -> str:
        figure = (
            f"relative_gap={self.relative_gap:.3g}" if self.kind == "gap" else f"orthogonality={self.orthogonality:.3g}"
        )
        return f"LeastSquaresCertificate({self.estimator}: {self.status}, {figure}, rss={written(self.rss)}, tol={self.tol:g})"

    def _table(self) -> tuple[list[str], list[list[Any]]]:
        """What a notebook shows: a line for each target."""
        names = [f.name for f in fields(Target)]
        return names, [[getattr(target, name) for name in names] for target in self.targets[:50]]


def target_fingerprint(
    X: Any, Y: np.ndarray, weights: np.ndarray | None, *, hashes: np.ndarray | None = None
) -> dict[str, Any]:
    """The "fingerprint" block where the targets are numbers: their float64 bytes stand for the labels.

    Weights of None are ones; ``hashes`` may hold ``row_hashes(X)``.
    """
    return {
        "n_rows": int(X.shape[0]),
        "n_features": int(X.shape[1]),
        "rows": digest_of_rows(X) if hashes is None else digest(hashes, "<u8"),
        "labels": digest(Y + 0.0, "<f8"),
        "weights": digest_of_ones(X.shape[0]) if weights is None else digest(weights + 0.0, "<f8"),
    }


def worst_status(targets: Sequence[Target]) -> str:
    """``converged`` where every target is, else the status of one that is not."""
    return next((target.status for target in targets if not target.converged), "converged")
