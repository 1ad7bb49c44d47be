"""Exceptions and warnings, and the sentences they say.

Every sentence says what happened, how bad it is in the user's units, and what to do. A user who follows the advice of a warning
gets no further warning.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Real
from typing import Any, NamedTuple

from sklearn.exceptions import ConvergenceWarning as _SklearnConvergenceWarning

from gapless._runtime.written import written
from gapless.judge.errors import CertificateError, DataError, ModelFileError

__all__ = [
    "STATUSES", "BackendWarning", "CertificateError", "ConvergenceWarning", "DataError", "IllConditionedWarning",
    "ModelFileError", "NotSeparable", "SeparationWarning", "Shortfall", "Witness", "above_optimum", "at_zero",
    "backend_message", "backend_mismatch_message", "convergence_message", "invalid_parameter", "listed",
    "no_probabilities_message", "not_separable_message", "separation_message", "short", "tolerance",
    "unproved_message",
]  # fmt: skip

#: How a fit can end: a closed list, each word with its sentence.
STATUSES = {
    "converged": "the relative gap is at most tol",
    "max_iter": "the limit of passes came first",
    "time_limit": "the limit of time came first",
    "stalled": "rounding kept the gap from falling further",
    "interrupted": "the user stopped the fit",
    "infeasible": "no model satisfies the constraints, or none attains the optimum",
    "not_finite": "the numbers overflowed or were lost to rounding, or a descent diverged",
}


class Witness(NamedTuple):
    """Rows that no hyperplane has strictly on their sides: multipliers >= 0, not all 0, with sum_i alpha_i y_i (x_i, 1) = 0
    (without the 1 where there is no offset). ``rivals``: for more than two classes, the class that each multiplier sets against
    the row's own.
    """

    rows: Any
    multipliers: Any
    rivals: Any = None


class NotSeparable(ValueError):
    """No hyperplane separates the classes.

    Attributes
    ----------
    witness : the proof: an object with ``rows`` and ``multipliers``, or None
    """

    def __init__(self, message: str, witness: Any = None) -> None:
        super().__init__(message, witness)
        self.witness = witness

    @property
    def rows(self) -> Any:
        """The rows that prove it."""
        return getattr(self.witness, "rows", None)

    @property
    def multipliers(self) -> Any:
        """Their multipliers, in the order of ``rows``."""
        return getattr(self.witness, "multipliers", None)

    def __str__(self) -> str:
        return str(self.args[0])


class ConvergenceWarning(_SklearnConvergenceWarning):  # type: ignore[misc]
    """The fit ended before its relative gap reached ``tol``. The model is usable; the message says how far off."""


class SeparationWarning(UserWarning):
    """The classes are separated: the estimate without penalty does not exist."""


class IllConditionedWarning(UserWarning):
    """Rounding can change digits of the answer that are shown."""


class BackendWarning(UserWarning):
    """Another device or backend than the one asked for did the work."""


def short(value: float, digits: int = 2, *, up: bool = False) -> str:
    """A number with few digits, ``3.2e-03`` or ``0.32``; ``up`` never shows less than the value."""
    value = float(value)
    if not math.isfinite(value):
        return str(value)
    if value == 0.0:
        return "0"
    exponent = math.floor(math.log10(abs(value)))
    plain = -4 < exponent < 6

    def shown(v: float) -> str:
        if plain:
            places = max(digits - 1 - exponent, 0)
            return f"{v:.{places}f}"
        mantissa, power = f"{v:.{digits - 1}e}".split("e")
        return f"{mantissa}e{power}"

    text = shown(value)
    if up and float(text) < value:
        # Add one unit of the last digit to the text's own value, so that a second rounding cannot undo it.
        unit = 10.0 ** (exponent - digits + 1) if not plain else 10.0 ** -max(digits - 1 - exponent, 0)
        text = shown(float(text) + unit)
    return text


def tolerance(tol: float) -> str:
    """``1e-04`` where one digit gives the value exactly, else as many digits as ``:g`` shows."""
    text = f"{tol:.0e}"
    return text if float(text) == tol and tol < 1e-2 else f"{tol:g}"


def above_optimum(primal: float, dual: float, rounding: float = 0.0) -> str:
    """``0.32 %`` (gap / dual) where the optimum is known to be positive, else the absolute gap; both are rounded up."""
    gap = max(primal - dual, 0.0) + rounding
    if not math.isfinite(gap):
        return "an unknown amount"
    low = dual - rounding
    if low > 0.0 and math.isfinite(100.0 * gap / low):
        return short(100.0 * gap / low, up=True) + " %"
    return short(gap, up=True)


def _accept(relative_gap: float) -> str | None:
    """``tol=`` with the smallest one-digit tolerance that the model already meets; None if that is 0.1 or more."""
    if not math.isfinite(relative_gap) or relative_gap >= 0.1:
        return None
    value = max(relative_gap, 1e-15)
    exponent = math.floor(math.log10(value))
    digit = math.ceil(value / 10.0**exponent)
    # A restart sums in another order: a value within 0.05 of the next digit gets one digit more.
    if digit - value / 10.0**exponent < 0.05:
        digit += 1
    if digit >= 10:
        digit, exponent = 1, exponent + 1
    return f"tol={digit}e{exponent:+03d}".replace("e+00", "")


class Shortfall(NamedTuple):
    """A fit that ended before its relative gap was at most ``tol``; the figures are those of its worst subproblem."""

    status: str
    seconds: float
    relative_gap: float
    tol: float
    primal: float
    dual: float
    rounding: float = 0.0
    n_iter: int | None = None  #: passes that the fit made
    max_iter: int | None = None  #: the limit of passes that the user set; -1 and None leave the limit to us
    time_limit: float | None = None


def convergence_message(
    estimator_name: str,
    fit: Shortfall,
    *,
    worst: str | None = None,
    unconverged: int = 1,
    subproblems: int = 1,
    what: str = "classes",
    diverged: str | None = None,
) -> str:
    """The sentence about a fit that did not converge: where it stopped, how far the optimum can be, what to do.

    ``worst`` describes the worst subproblem, e.g. ``"'cat' against the rest"``. ``diverged`` is the name of a descent whose
    steps were too long.
    """
    if fit.status not in STATUSES or fit.status == "converged":
        raise ValueError(f"status is {fit.status!r}; a fit without convergence ends as one of {[*STATUSES][1:]}")
    todo = ", or ".join(_advise(fit, diverged)) + "."
    text = f"{_describe_end(estimator_name, fit, diverged)}: {_describe_gap(fit)} {todo[0].upper()}{todo[1:]}"
    if subproblems > 1 and worst is not None:
        text += f" ({unconverged} of {subproblems} {what}; worst: {worst}.)"
    return text


def _describe_end(estimator_name: str, fit: Shortfall, diverged: str | None) -> str:
    """Who stopped where, and after how many seconds."""
    passes = f" (pass {fit.n_iter})" if fit.n_iter is not None else ""
    if diverged is not None:
        return (
            f"{estimator_name} diverged with solver={diverged!r}{passes} after {_seconds(fit.seconds)}, its steps being too long "
            "for these rows, and returns the best model before that"
        )
    limit = "its cap of passes" if fit.n_iter is None else f"its cap of {fit.n_iter} passes"
    if fit.max_iter is not None and fit.max_iter >= 0:
        limit = f"max_iter={fit.max_iter}"
    seconds_limit = f"time_limit={fit.time_limit:g}" if fit.time_limit is not None else "its time limit"
    stopped = {
        "max_iter": f"stopped at {limit}",
        "time_limit": f"stopped at {seconds_limit}{passes}",
        "stalled": f"stalled{passes}",
        "interrupted": f"was interrupted{passes}",
        "infeasible": f"found no feasible model{passes}",
        "not_finite": f"met numbers that are not finite, or are lost to rounding{passes}",
    }[fit.status]
    return f"{estimator_name} {stopped} after {_seconds(fit.seconds)}"


def _describe_gap(fit: Shortfall) -> str:
    """How far the objective can be above the optimum."""
    if not math.isfinite(fit.relative_gap) or fit.status == "infeasible":
        return "there is no finite duality gap, so nothing is known about the distance to the optimum."
    return (
        f"relative duality gap {fit.relative_gap:.1e} > tol={tolerance(fit.tol)}. "
        f"The objective is at most {above_optimum(fit.primal, fit.dual, fit.rounding)} above the optimum."
    )


def _advise(fit: Shortfall, diverged: str | None) -> list[str]:
    """What the user can do, the best advice first."""
    advice: list[str] = {
        "max_iter": ["raise max_iter (init=est resumes from this model)"],
        "time_limit": ["raise time_limit (init=est resumes from this model)"],
        "stalled": ["scale the columns of X (StandardScaler, MaxAbsScaler), which makes rounding smaller"],
        "interrupted": ["fit again with init=est to resume"],
        "infeasible": ["use a finite C"],
        "not_finite": ["scale the columns of X (StandardScaler, MaxAbsScaler) or lower C and the weights"],
    }[fit.status]
    if diverged is not None:
        advice = ["scale the columns of X (StandardScaler, MaxAbsScaler) and use solver='auto'"]
    accept = _accept(fit.relative_gap)
    if accept is None or fit.status in ("infeasible", "not_finite"):
        return advice
    # More passes do not lower rounding: for a stalled fit a larger tolerance is the first advice.
    return [f"accept {accept}", *advice] if fit.status == "stalled" else [*advice, f"accept {accept}"]


def lost_scale_message(estimator_name: str) -> str:
    """Warning for a model whose figures the judge did not confirm, at scales where float64 keeps no bound on rounding."""
    return (
        f"{estimator_name} has status not_finite: numbers of these sizes overflow, vanish or swallow each other in float64, and "
        "nothing is claimed. Scale the columns of X (StandardScaler, MaxAbsScaler), the targets and the weights."
    )


def separation_message(
    status: str,
    *,
    margin: float | None = None,
    columns: Sequence[Any] = (),
    rows_on_plane: int | None = None,
    n_rows: int | None = None,
    advice: str = "Use a finite C, or on_separation='raise'.",
) -> str:
    """The sentence about an estimate without penalty whose classes a hyperplane separates (``complete`` or ``quasi``)."""
    if status == "complete":
        how = "" if margin is None else f" (margin {short(margin)}, witness in est.certificate_.separation)"
        head = f"the classes are completely separated{how};"
    elif status == "quasi":
        where = ""
        if rows_on_plane is not None and n_rows is not None:
            where = f": {rows_on_plane} of {n_rows} rows lie on the separating hyperplane"
        head = f"the classes are quasi-separated{where};"
    else:
        raise ValueError(f"status is {status!r}; a separation is 'complete' or 'quasi'")
    names = f" Columns involved: {listed(columns)}." if len(columns) else ""
    return (
        f"{head} the unpenalised maximum-likelihood estimate does not exist and coefficients grow "
        "without bound."
        f"{names} {advice}"
    )


def invalid_parameter(estimator_name: str, name: str, wanted: str, value: Any) -> str:
    """scikit-learn's sentence about a parameter out of its range; for C = 0 it also explains that limit."""
    text = f"The {name!r} parameter of {estimator_name} must be {wanted}. Got {written(value)} instead."
    zero = name == "C" and isinstance(value, Real) and not isinstance(value, bool) and value == 0.0
    return f"{text} {at_zero()}" if zero else text


def at_zero(parameter: str = "C") -> str:
    """An explanation of C = 0, the limit in which no row counts."""
    return (
        f"{parameter} = 0 is a limit: no row counts, so that alpha = 0 and w = 0 and the model is a constant. "
        f"Give a {parameter} above 0; gapless.path(model, X, y) shows the models of all C, of the hinge also the limit at C = 0."
    )


def listed(columns: Sequence[Any], most: int = 6) -> str:
    """The first ``most`` columns, names in quotes and numbers without, and the number of the remaining ones."""
    shown = ", ".join(written(c) if isinstance(c, str) else str(c) for c in list(columns)[:most])
    return shown if len(columns) <= most else f"{shown} and {len(columns) - most} more"


def not_separable_message(rows: Sequence[int], advice: str = "Use a finite C.") -> str:
    """The sentence of a model that needs separated classes, on data of which a few rows prove that they are not."""
    shown = listed([int(row) for row in rows])
    many = f"the rows {shown} show" if len(rows) > 1 else f"the row {shown} shows"
    return (
        f"no hyperplane separates the classes: {many} it (exact multipliers in the exception's witness; "
        f"gapless.separability(X, y) says more). {advice}"
    )


def unproved_message(estimator_name: str, steps: int, loss: float, reach: float) -> str:
    """The sentence about an estimate without penalty whose optimum could not be proved to exist."""
    return (
        f"{estimator_name}: after {steps} Newton steps the loss ({loss:.6g}) has stopped falling, but coefficients still grow: "
        f"nothing proves that the unpenalised maximum-likelihood estimate exists (reach {reach:.1e}, below 1 would). The "
        "classes are probably quasi-separated: some rows can be told from the others without error. Use a finite C."
    )


def backend_mismatch_message(backend: str, claimed: float, found: float, tol: float) -> str:
    """The sentence about a gap that a backend reported and the float64 verification did not confirm."""
    return (
        f"backend {backend!r} reported relative gap {claimed:.1e} but float64 verification found {found:.1e} "
        f"(tol {tolerance(tol)}). The model was not returned; retry with device='cpu'."
    )


def backend_message(asked: str, used: str, why: str) -> str:
    """The sentence about a device that replaced the one the user asked for, with the reason."""
    return f"device={asked!r} used {used!r}: {why}. Run 'gapless doctor'."


def no_probabilities_message(estimator_name: str) -> str:
    """The sentence of a model without ``predict_proba``: the reason, and two ways to get probabilities."""
    return (
        f"{estimator_name} has no predict_proba: its scores are distances, not probabilities. "
        "Use CalibratedClassifierCV(est, ensemble=False) or LogisticRegression."
    )


def _seconds(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1.0 else f"{short(seconds)} s"
