"""Exceptions and warnings, and the sentences they say.

Every sentence names what happened, how bad it is in the user's units, and what to do. Following the advice
of a warning leads to no warning.
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
    "STATUSES",
    "BackendWarning",
    "CertificateError",
    "ConvergenceWarning",
    "DataError",
    "IllConditionedWarning",
    "ModelFileError",
    "NotSeparable",
    "SeparationWarning",
    "Witness",
    "above_optimum",
    "at_zero",
    "backend_message",
    "backend_mismatch_message",
    "convergence_message",
    "invalid_parameter",
    "listed",
    "no_probabilities_message",
    "not_separable_message",
    "separation_message",
    "short",
    "tolerance",
    "unproved_message",
]

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
    """No hyperplane separates the classes; ``witness`` is the proof: anything with ``rows`` and ``multipliers``.

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
    """The fit ended before its relative gap reached ``tol``: the model is usable, and the message says how
    far off.
    """


class SeparationWarning(UserWarning):
    """The classes are separated: the estimate without penalty does not exist."""


class IllConditionedWarning(UserWarning):
    """Rounding can change the answer in the digits that are shown."""


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
        # One unit of the last digit more, from the text itself: no second rounding can undo it.
        unit = 10.0 ** (exponent - digits + 1) if not plain else 10.0 ** -max(digits - 1 - exponent, 0)
        text = shown(float(text) + unit)
    return text


def tolerance(tol: float) -> str:
    """``1e-04`` where one digit says it, else all that are needed."""
    text = f"{tol:.0e}"
    return text if float(text) == tol and tol < 1e-2 else f"{tol:g}"


def above_optimum(primal: float, dual: float, rounding: float = 0.0) -> str:
    """``0.32 %`` (gap / dual) where the optimum is known to be positive, else the absolute gap; rounded
    up.
    """
    gap = max(primal - dual, 0.0) + rounding
    if not math.isfinite(gap):
        return "an unknown amount"
    low = dual - rounding
    if low > 0.0 and math.isfinite(100.0 * gap / low):
        return short(100.0 * gap / low, up=True) + " %"
    return short(gap, up=True)


def _accept(relative_gap: float) -> str | None:
    """A tolerance of one digit that the model at hand already meets, where it would still mean something."""
    if not math.isfinite(relative_gap) or relative_gap >= 0.1:
        return None
    value = max(relative_gap, 1e-15)
    exponent = math.floor(math.log10(value))
    digit = math.ceil(value / 10.0**exponent)
    # A restart sums in another order: one digit of room where the value is close to the next one.
    if digit - value / 10.0**exponent < 0.05:
        digit += 1
    if digit >= 10:
        digit, exponent = 1, exponent + 1
    return f"tol={digit}e{exponent:+03d}".replace("e+00", "")


def convergence_message(
    estimator_name: str,
    status: str,
    *,
    seconds: float,
    relative_gap: float,
    tol: float,
    primal: float,
    dual: float,
    max_iter: int | None = None,
    time_limit: float | None = None,
    n_iter: int | None = None,
    rounding: float = 0.0,
    worst: str | None = None,
    unconverged: int = 1,
    subproblems: int = 1,
    what: str = "classes",
    diverged: str | None = None,
) -> str:
    """What a fit that did not converge says: where it stopped, how far the optimum can be, what to do.

    The figures are those of the worst subproblem; ``worst`` describes it, e.g. ``"'cat' against the rest"``. ``diverged``: the
    descent whose steps were too long.
    """
    if status not in STATUSES or status == "converged":
        raise ValueError(f"status is {status!r}; a fit without convergence ends as one of {[*STATUSES][1:]}")
    passes = f" (pass {n_iter})" if n_iter is not None else ""
    limit = "its cap of passes" if n_iter is None else f"its cap of {n_iter} passes"
    if max_iter is not None and max_iter >= 0:  # -1 and None ask for our own cap
        limit = f"max_iter={max_iter}"
    seconds_limit = f"time_limit={time_limit:g}" if time_limit is not None else "its time limit"
    stopped = {
        "max_iter": f"stopped at {limit}",
        "time_limit": f"stopped at {seconds_limit}{passes}",
        "stalled": f"stalled{passes}",
        "interrupted": f"was interrupted{passes}",
        "infeasible": f"found no feasible model{passes}",
        "not_finite": f"met numbers that are not finite, or are lost to rounding{passes}",
    }[status]
    head = f"{estimator_name} {stopped} after {_seconds(seconds)}"
    if diverged is not None:
        head = (
            f"{estimator_name} diverged with solver={diverged!r}{passes} after {_seconds(seconds)}, its steps being too long "
            "for these rows, and returns the best model before that"
        )

    if math.isfinite(relative_gap) and status != "infeasible":
        middle = (
            f"relative duality gap {relative_gap:.1e} > tol={tolerance(tol)}. "
            f"The objective is at most {above_optimum(primal, dual, rounding)} above the optimum."
        )
    else:
        middle = "there is no finite duality gap, so nothing is known about the distance to the optimum."

    accept = _accept(relative_gap)
    advice: list[str] = {
        "max_iter": ["raise max_iter (init=est resumes from this model)"],
        "time_limit": ["raise time_limit (init=est resumes from this model)"],
        "stalled": ["scale the columns of X (StandardScaler, MaxAbsScaler), which makes rounding smaller"],
        "interrupted": ["fit again with init=est to resume"],
        "infeasible": ["use a finite C"],
        "not_finite": ["scale the columns of X (StandardScaler, MaxAbsScaler) or lower C and the weights"],
    }[status]
    if diverged is not None:
        advice = ["scale the columns of X (StandardScaler, MaxAbsScaler) and use solver='auto'"]
    if accept is not None and status not in ("infeasible", "not_finite"):
        # Rounding is not cured by patience: there the tolerance is the first thing to change.
        advice = [f"accept {accept}", *advice] if status == "stalled" else [*advice, f"accept {accept}"]
    todo = ", or ".join(advice) + "."
    text = f"{head}: {middle} {todo[0].upper()}{todo[1:]}"
    if subproblems > 1 and worst is not None:
        text += f" ({unconverged} of {subproblems} {what}; worst: {worst}.)"
    return text


def separation_message(
    status: str,
    *,
    margin: float | None = None,
    columns: Sequence[Any] = (),
    rows_on_plane: int | None = None,
    n_rows: int | None = None,
    advice: str = "Use a finite C, or on_separation='raise'.",
) -> str:
    """What an estimate without penalty says of classes that a hyperplane separates (``complete`` or
    ``quasi``).
    """
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
    """A parameter out of its range, in scikit-learn's words; with what C = 0 is, where that is the value."""
    text = f"The {name!r} parameter of {estimator_name} must be {wanted}. Got {written(value)} instead."
    zero = name == "C" and isinstance(value, Real) and not isinstance(value, bool) and value == 0.0
    return f"{text} {at_zero()}" if zero else text


def at_zero(parameter: str = "C") -> str:
    """What C = 0 is: the limit in which no row counts."""
    return (
        f"{parameter} = 0 is a limit: no row counts, so that alpha = 0 and w = 0 and the model is a constant. "
        f"Give a {parameter} above 0; gapless.path(model, X, y) shows the models of all C, of the hinge also the limit at C = 0."
    )


def listed(columns: Sequence[Any], most: int = 6) -> str:
    """A few names in quotes, or numbers without, and how many more there are."""
    shown = ", ".join(written(c) if isinstance(c, str) else str(c) for c in list(columns)[:most])
    return shown if len(columns) <= most else f"{shown} and {len(columns) - most} more"


def not_separable_message(rows: Sequence[int], advice: str = "Use a finite C.") -> str:
    """What a model that needs separated classes says where a few rows show that they are not."""
    shown = listed([int(row) for row in rows])
    many = f"the rows {shown} show" if len(rows) > 1 else f"the row {shown} shows"
    return (
        f"no hyperplane separates the classes: {many} it (exact multipliers in the exception's witness; "
        f"gapless.separability(X, y) says more). {advice}"
    )


def unproved_message(estimator_name: str, steps: int, loss: float, reach: float) -> str:
    """What an estimate without penalty says where its optimum could not be shown to exist."""
    return (
        f"{estimator_name}: after {steps} Newton steps the loss ({loss:.6g}) has stopped falling, but coefficients still grow: "
        f"nothing proves that the unpenalised maximum-likelihood estimate exists (reach {reach:.1e}, below 1 would). The "
        "classes are probably quasi-separated: some rows can be told from the others without error. Use a finite C."
    )


def backend_mismatch_message(backend: str, claimed: float, found: float, tol: float) -> str:
    """A backend's claim that the float64 verification pass did not confirm."""
    return (
        f"backend {backend!r} reported relative gap {claimed:.1e} but float64 verification found {found:.1e} "
        f"(tol {tolerance(tol)}). The model was not returned; retry with device='cpu'."
    )


def backend_message(asked: str, used: str, why: str) -> str:
    """Which device did the work, and why not the one that was asked for."""
    return f"device={asked!r} used {used!r}: {why}. Run 'gapless doctor'."


def no_probabilities_message(estimator_name: str) -> str:
    """Why there is no ``predict_proba``, and what gives one."""
    return (
        f"{estimator_name} has no predict_proba: its scores are distances, not probabilities. "
        "Use CalibratedClassifierCV(est, ensemble=False) or LogisticRegression."
    )


def _seconds(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1.0 else f"{short(seconds)} s"
