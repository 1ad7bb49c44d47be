"""What a perceptron claims: how many mistakes it can make at most, or that nothing separates its rows.

Let x stand for (x, 1) where there is an offset, R be the longest row, t a direction of length 1 with y_i <t, x_i> >= margin > 0
for every row, theta_0 the start and rho the rate; A = <t, theta_0>/rho, B = |theta_0|/rho.  The k-th mistake leaves

    <t, theta_k>/rho >= A + k margin             each adds at least margin
    |theta_k|^2/rho^2 <= B^2 + k R^2             each adds |x|^2 and a cross term 2 y <theta, x>, which is not positive

and the first cannot exceed the root of the second: (A + k margin)^2 <= B^2 + k R^2 as soon as A + k margin >= 0.  Hence k is
at most the larger root of that, K = (p + sqrt(p^2 + 4 margin^2 (B^2 - A^2))) / (2 margin^2), p = R^2 - 2 A margin.  From a
start of 0 it is (R/margin)^2; at worst, A = -B, it is (R/margin)^2 + 2 |theta_0| / (rho margin).  Where A + k margin < 0 the
bound holds too, for that k is below the root.

Floating point: a score is off by at most g |x| |theta|, g = gamma_(d+4), so that the cross term can be positive by that much,
and a correction is off by e = 3u (|theta| + rho R) in norm.  With |theta|/rho <= M for all that comes (M^2 >= B^2 + (K + 1)R'^2)
both inequalities hold with R'^2 = R^2 + 2 g R M + 2 e (M + R) + e^2 and margin' = margin - e, e = 3u (M + R), and so does K.
Where margin' is not positive, rounding may go on making mistakes for ever, and there is no bound.

With weights or a penalty the inequalities are others, and no bound is claimed.

That nothing separates the rows is proved by multipliers m_i >= 0, not all 0, with sum_i m_i y_i x_i = 0 exactly (Gordan).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from gapless._compile.backend import backend
from gapless._runtime.results import result
from gapless._runtime.written import counted, written
from gapless.certificates.base import NO_KEY, Block, WithoutGap
from gapless.errors import short
from gapless.numbers import UNIT, gamma
from gapless.rows import Rows, is_sparse, n_features, norms2, scores


class MistakeBound(NamedTuple):
    """Radius and margin of the rows as they were used, and the most mistakes there can be."""

    radius: float
    margin: float  #: min y <t, x> for the direction t of length 1, rounded down
    bound: float


def most_mistakes(radius: float, margin: float, along: float, length: float, d: int) -> float:
    """K of above for R, margin, A and B; infinite where rounding leaves none."""
    bound = _root(radius, margin, along, length)
    for _ in range(60):
        if not math.isfinite(bound):
            return math.inf
        M = 4.0 * math.sqrt(length * length + (bound + 2.0) * radius * radius)
        e = 6.0 * UNIT * (M + radius)
        wide = math.sqrt(radius * radius + 4.0 * gamma(d + 8) * radius * M + 4.0 * e * (M + radius) + 2.0 * e * e)
        if not margin - 2.0 * e > 0.0:
            return math.inf
        found = _root(wide, margin - 2.0 * e, along, length)
        if length * length + (found + 2.0) * wide * wide <= M * M:
            return found * (1.0 + 1e-9)  # wider, so that the judge, who computes it in another way, agrees
        bound = max(2.0 * bound, found)
    return math.inf


def _root(R: float, margin: float, A: float, B: float) -> float:
    unit = math.ldexp(1.0, -max(-1000, min(1000, math.frexp(R)[1])))  # R^4 of rows of 1e-86 would be 0
    R, margin, A, B = R * unit, margin * unit, min(A, B) * unit, B * unit
    p = R * R - 2.0 * A * margin
    q = 4.0 * margin * margin * max(0.0, B * B * (1.0 + 8.0 * UNIT) - A * A * (1.0 - 8.0 * UNIT))
    if q == 0.0 and p <= 0.0:
        return 0.0
    with np.errstate(all="ignore"):
        s = math.sqrt(p * p + q)
        return (p + s) / (2.0 * margin * margin) if p >= 0.0 else q / (2.0 * margin * margin * (s - p))


def mistake_bound(
    rows: Rows, y: np.ndarray, visit: np.ndarray, direction: np.ndarray, start: np.ndarray, rate: float
) -> MistakeBound | None:
    """The bound that a direction proves for the rows of ``visit``; None where it does not separate them, but for rounding."""
    size = float(np.linalg.norm(direction))
    if not 0.0 < size < math.inf:
        return None
    d = n_features(rows)
    t = direction / size
    off = gamma(d + 8)
    R = math.sqrt(float(norms2(rows)[visit].max())) * (1.0 + 4.0 * off)
    margin = float((y * scores(rows, t))[visit].min()) * (1.0 - 8.0 * off) - 4.0 * off * R
    length = float(np.linalg.norm(start)) * (1.0 + 4.0 * off) / rate
    along = float(t @ start) / rate - 8.0 * off * length
    if not (margin > 0.0 and math.isfinite(R)):
        return None
    bound = most_mistakes(R, margin, max(along, -length), length, d)
    return MistakeBound(R, margin, bound) if math.isfinite(bound) else None


@result
class Witness(NamedTuple):
    """Rows and multipliers > 0 with sum m y (x, 1) = 0: no hyperplane has all rows strictly on their side.

    Attributes
    ----------
    rows : numbers of the rows that take part
    multipliers : their positive multipliers, exact
    """

    rows: tuple[int, ...]
    multipliers: tuple[Fraction, ...]

    @classmethod
    def of(cls, rows: Sequence[int], multipliers: Sequence[Any]) -> Witness:
        """A witness of ``rows`` and ``multipliers``, those of 0 left out."""
        pairs = [(int(i), Fraction(m)) for i, m in zip(rows, multipliers) if m != 0]
        return cls(tuple(i for i, _ in pairs), tuple(m for _, m in pairs))

    def document(self) -> dict[str, Any]:
        """The JSON block."""
        return {"rows": list(self.rows), "multipliers": [str(m) for m in self.multipliers]}

    @classmethod
    def from_document(cls, block: Mapping[str, Any]) -> Witness:
        """The inverse of ``document``. ``block`` is a dictionary of JSON values."""
        return cls.of(block["rows"], block["multipliers"])

    def proves(self, rows: Rows, y: np.ndarray) -> bool:
        """Whether the sum is 0, in exact arithmetic. ``rows`` have the constant feature 1 where there is an offset."""
        if not self.rows or any(m <= 0 for m in self.multipliers):
            return False
        total: dict[int, Fraction] = {}
        level = Fraction(0)
        for i, m in zip(self.rows, self.multipliers):
            a = m * int(y[i])
            level += a
            for j, value in zip(*entries(rows, i)):
                total[j] = total.get(j, 0) + a * Fraction(value)
        return not any(total.values()) and (level == 0 or rows.constant == 0.0)

    def __str__(self) -> str:
        shown = ", ".join(map(str, self.rows[:6])) + ("" if len(self.rows) <= 6 else ", ...")
        return f"{len(self.rows)} rows ({shown}) and their multipliers prove that no hyperplane separates the classes"


def entries(rows: Rows, i: int) -> tuple[list[int], list[float]]:
    """Columns and values of a row, zeros left out."""
    if is_sparse(rows):
        part = slice(int(rows.indptr[i]), int(rows.indptr[i + 1]))
        return rows.indices[part].tolist(), rows.values[part].astype(np.float64).tolist()
    columns = np.flatnonzero(rows.values[i])
    return columns.tolist(), rows.values[i, columns].astype(np.float64).tolist()


def count_errors(rows: Rows, y: np.ndarray, visit: np.ndarray, theta: np.ndarray) -> int:
    """Rows of ``visit`` with y <theta, x> <= 0 in exact arithmetic: fractions decide where rounding could."""
    z = y * scores(rows, theta)
    size = float(np.abs(theta).max(initial=0.0)) * math.sqrt(theta.size)  # |theta| at most, and not 0 where squares are
    lengths = np.sqrt(norms2(rows))
    tiny = 2.0**-1073  # the error of a product that underflows
    unsure = ~(np.abs(z) > 2.0 * gamma(n_features(rows) + 8) * lengths * size + theta.size * tiny)
    if size and _whole(rows, theta, float(lengths.max(initial=0.0)) * size):
        unsure[:] = False  # sums of integers below 2^53: every score is exact
    wrong = ~(z > 0.0)
    if size and unsure.any():
        exact = [Fraction(v) for v in theta.tolist()]
        for i in np.flatnonzero(unsure).tolist():
            score = exact[-1] * Fraction(rows.constant)
            for j, value in zip(*entries(rows, i)):
                score += exact[j] * Fraction(value)
            wrong[i] = score * int(y[i]) <= 0
    return int(np.count_nonzero(wrong[visit]))


def _whole(rows: Rows, theta: np.ndarray, largest: float) -> bool:
    if not largest * math.sqrt(theta.size) < 2.0**52 or rows.constant not in (0.0, 1.0):
        return False
    return bool((theta == np.rint(theta)).all() and (rows.values == np.rint(rows.values)).all())


@result
@dataclass(frozen=True)
class Perceived(Block):
    """What is claimed of one class against the others (of the only one, where there are two).

    Attributes
    ----------
    positive : index of the class that is +1
    status : how this problem ended
    mistakes : updates that were made
    passes : passes over the rows
    errors : training rows that the model returned has on the wrong side, or on its hyperplane
    radius : R, the length of the longest row (x, 1)
    margin : gamma of the given or found direction; None where none is known
    bound : most mistakes that there can be; None where no direction is known
    why : why there is no bound
    witness : proof that nothing separates the classes, or None
    """

    positive: int
    status: str
    mistakes: int
    passes: int
    errors: int
    why: str
    radius: float | None
    margin: float | None
    bound: float | None
    witness: Witness | None

    def __str__(self) -> str:
        most = (
            "" if self.bound is None else f" of at most {math.floor(self.bound):,}" if math.isfinite(self.bound) else ""
        )
        made, passes = counted(self.mistakes, "mistake"), counted(self.passes, "pass", "passes")
        return f"{self.status}: {made}{most} in {passes}, {counted(self.errors, 'error')} at the end"


@result
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class BoundCertificate(WithoutGap):
    """What a perceptron claims. There is nothing optimised and no gap.

    ``mistakes``, ``bound``, ``radius``, ``margin`` and ``witness`` are those of the only subproblem of two classes; with more
    classes, look into ``subproblems``.

    Attributes
    ----------
    status : how the fit ended: "converged", "max_iter", "time_limit", "stalled", "interrupted", ...
    subproblems : a `Perceived` for each problem of one class against the rest
    n_iter : passes over the data
    seconds : seconds of work, compiling left out
    fingerprint : what identifies the data: numbers of rows and features, and hashes of rows, labels and weights
    statement : the model document without its certificate: estimator, parameters, classes, problem
    arrays : name -> array of the model file: coefficients, offsets, dual point
    backend : what computed it: "cpu", or the name of a device
    kind : "bound": in each subproblem the number of mistakes is bounded, or a witness proves that nothing separates the
        classes. "heuristic": some subproblem has neither; errors and mistakes are claimed, nothing about what is possible
    """

    kind: str = "bound"
    status: str
    n_iter: int
    seconds: float
    compile_seconds: float = 0.0
    backend: str = field(default_factory=backend)
    fingerprint: Mapping[str, Any]
    subproblems: tuple[Perceived, ...]
    statement: Mapping[str, Any] = field(default_factory=dict, metadata=NO_KEY)
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict, metadata=NO_KEY)

    @property
    def mistakes(self) -> int:
        """Updates of all subproblems together."""
        return sum(sub.mistakes for sub in self.subproblems)

    @property
    def errors(self) -> int:
        """Training rows that are wrong, over all subproblems."""
        return sum(sub.errors for sub in self.subproblems)

    @property
    def bound(self) -> float | None:
        """On the mistakes of all subproblems together; None where one has none."""
        parts = [sub.bound for sub in self.subproblems]
        return None if any(part is None for part in parts) else math.fsum(part for part in parts if part is not None)

    def _only(self, name: str) -> Any:
        if len(self.subproblems) > 1:
            raise AttributeError(f"there is one {name} for each class: see subproblems[k].{name}")
        return getattr(self.subproblems[0], name)

    @property
    def radius(self) -> float | None:
        """R of the worst subproblem."""
        return self._only("radius")

    @property
    def margin(self) -> float | None:
        """gamma of the worst subproblem; None where none is known."""
        return self._only("margin")

    @property
    def witness(self) -> Witness | None:
        """Proof that nothing separates the classes, None where there is none."""
        return self._only("witness")

    @property
    def direction(self) -> np.ndarray | None:
        """The direction of length 1 that has the margin: (w, b), or w where there is no offset."""
        bound = self._only("bound")
        if bound is None:
            return None
        t = self.arrays["direction"][0]
        t = t if self.statement["problem"]["offset"] == "constant" else t[:-1]
        return t / np.linalg.norm(t)

    # ------------------------------------------------------------ sentences
    def shortfall(self, max_iter: int | None = None, time_limit: float | None = None) -> str | None:
        """The sentence of the ConvergenceWarning; None where there is nothing to say.

        ``max_iter`` and ``time_limit`` are the limits that the fit had.
        """
        variant = self.statement["problem"]["variant"]
        open_ = [sub for sub in self.subproblems if sub.status != "converged"]
        many = (
            f" ({len(open_)} of {len(self.subproblems)} classes against the rest)" if len(self.subproblems) > 1 else ""
        )
        p = self.statement["parameters"]
        if self.status == "infeasible" and p["tol"] is not None and p["certify"] is not True:
            return None  # tol ended the fit, as was asked; the proof is an addition
        if self.status == "infeasible" and variant == "plain":
            n, rows = self.fingerprint["n_rows"], [len(sub.witness.rows) for sub in open_ if sub.witness is not None]
            return (
                f"{self.estimator}: no hyperplane separates the classes{many}, as {min(rows)} rows prove exactly "
                f"(certificate_); the perceptron would go on for ever. The model is the best met on the way: "
                f"{counted(self.errors, 'error')}"
                f"{' in all' if many else ''} on {n} rows. variant='pocket' asks for that without this warning; "
                "LinearSVC finds a soft margin."
            )
        if self.status == "infeasible" or self.converged or self.status == "stalled":
            return None
        if self.status == "max_iter" and not any(sub.errors for sub in open_):
            return None  # no pass was clean, but every row is on its side now
        how, advice = {
            "max_iter": (
                f"stopped at max_iter={self.n_iter if max_iter is None or max_iter < 0 else max_iter}",
                "Raise max_iter (init=est resumes from this model)" + self._open_question(open_),
            ),
            "time_limit": ("stopped at time_limit", "Raise time_limit (init=est resumes from this model)"),
            "interrupted": ("was interrupted", "Fit again with init=est to resume"),
            "not_finite": ("met numbers that are not finite", "Scale the columns of X (StandardScaler, MaxAbsScaler)"),
        }[self.status]
        return f"{self.estimator} {how}{many} after {short(self.seconds)} s: {self._claim(open_[0])}. {advice}."

    def _open_question(self, open_: list[Perceived]) -> str:
        """What to do where nobody knows whether more passes would end."""
        if any(sub.bound is not None for sub in open_) or self.statement["problem"]["penalty"] is not None:
            return ""
        return "; certify=True tells whether any hyperplane separates the classes"

    def _claim(self, sub: Perceived) -> str:
        made, errors = counted(sub.mistakes, "mistake"), counted(sub.errors, "error")
        if sub.bound is not None:
            most = short(math.floor(sub.bound), 3, up=True)
            made += f" of at most {most} (R {sub.radius:.4g}, margin {sub.margin:.3g})"
        if sub.status == "converged":
            return f"every row is on its side after {made}" if sub.errors == 0 else f"{made}; {errors}"
        if sub.witness is not None:
            return f"{len(sub.witness.rows)} rows prove exactly that no hyperplane separates the classes; {errors}"
        return f"{made}, {counted(sub.errors, 'row is', 'rows are')} still on the wrong side"

    def __str__(self) -> str:
        classes = self.statement["classes"]["values"]
        lines = []
        for sub in self.subproblems:
            which = f"{written(classes[sub.positive])} against the rest: " if len(self.subproblems) > 1 else ""
            why = "" if sub.bound is not None or sub.witness is not None else f". No bound on mistakes: {sub.why}"
            lines.append(which + self._claim(sub) + why)
        passes = f"{self.n_iter} pass" + ("" if self.n_iter == 1 else "es")
        return f"{self.estimator}: {'; '.join(lines)} ({self.status} in {passes}, {self._duration})."

    def __repr__(self) -> str:
        return f"BoundCertificate({self.estimator}: {self.status}, mistakes={self.mistakes}, bound={self.bound})"

    def _table(self) -> tuple[tuple[str, ...], list[list[Any]]]:
        """What a notebook shows: a line for each class against the rest."""
        names = ("positive", "status", "mistakes", "bound", "radius", "margin", "errors", "passes")
        return names, [[getattr(sub, name) for name in names] for sub in self.subproblems]
