"""`bounds`: how wrong a fitted model can be on new rows, every statement that its training (and test) rows allow, tightest first.

    held-out       errors on rows that nothing was chosen by: the exact binomial
    compression    LinearSVC, SVC: margin violations, by how many rows the model needs (`theory.compression`)
    PAC-Bayes      linear classifiers: margins, prior N(0, I) in the units of X; twice the bound of the randomised one
    VC             linear classifiers: training error, and the dichotomies of halfspaces (Devroye's form)
    votes          BaggingClassifier: errors of members, and of pairs of them, on the rows out of their bags; AdaBoostClassifier:
                   stumps of a pool of cuts that was fixed without the rows
    leave-one-out  LinearSVC (hinge), SVC: true in expectation, not with high probability

All but the last hold with probability 1 - delta *together*: delta is divided by their number, and for compression and
bagging by ``tried``, the number of settings (C, kernel widths ...) among which the training rows may have chosen; VC and
PAC-Bayes hold for all hyperplanes at once, however they were chosen.  What a condition forbids is listed with the reason,
never printed as valid; what says nothing is called vacuous, never hidden.

The table goes into the model's certificate, and with it into the model file, where the judge makes every bound anew.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from gapless._runtime.results import result
from gapless._runtime.written import written
from gapless.certificates.verify import as_matrix, last_step
from gapless.judge.files.inputs import learned
from gapless.judge.fingerprint import digest, row_hashes
from gapless.solvers.loop import audible
from gapless.theory.fitted_rows import check_fitted_rows, is_pipeline, share_of_known_rows
from gapless.theory.generalisation import bound_methods
from gapless.theory.generalisation.bound_methods import Bound, Job
from gapless.theory.inputs import as_probability, as_whole

__all__ = ["METHODS", "Bound", "Bounds", "bounds"]

METHODS = ("held-out", "compression", "PAC-Bayes", "VC", "votes", "leave-one-out")


@result
@dataclass(frozen=True, eq=False)
class Bounds:
    """All of them, tightest first, and what was refused.

    Attributes
    ----------
    rows : a `Bound` for each method, tightest first
    refused : method -> why it says nothing here
    delta : probability with which the statement may fail
    tried : settings among which the training rows may have chosen
    shared : share of the test rows that occur among the training rows
    tested : models that were compared on the test rows
    """

    rows: tuple[Bound, ...]
    refused: dict[str, str]
    delta: float
    tried: int
    shared: float | None
    tested: int = 1

    @property
    def best(self) -> Bound:
        """The tightest that holds with high probability."""
        found = [row for row in self.rows if row.delta is not None]
        if not found:
            raise ValueError("no bound holds with high probability here: " + "; ".join(self.refused.values()))
        return found[0]

    def __getitem__(self, method: str) -> Bound:
        for row in self.rows:
            if row.method == method:
                return row
        raise KeyError(self.refused.get(method, f"no {written(method)}; there are {', '.join(METHODS)}"))

    def document(self) -> dict[str, Any]:
        """The table as it stands in the certificate and the model file: JSON values only."""
        rows = [
            {
                "method": row.method,
                "value": row.value,
                "randomised": row.randomised,
                "delta": row.delta,
                "what": row.what,
                "assumes": list(row.assumes),
                "figures": row.figures,
            }
            for row in self.rows
        ]
        return {
            "delta": self.delta,
            "tried": self.tried,
            "tested": self.tested,
            "shared": self.shared,
            "rows": rows,
            "refused": self.refused,
        }

    def _table(self) -> tuple[tuple[str, ...], list[list[Any]]]:
        """What a notebook shows: the bounds, then the methods that were refused, with the reason."""
        rows: list[list[Any]] = [[row.method, row.value, row.holds, row.delta, row.what] for row in self.rows]
        rows += [[method, None, "refused", None, reason] for method, reason in self.refused.items()]
        return ("method", "bound", "holds", "delta", "what"), rows

    def __str__(self) -> str:
        lines = [
            f"on new rows, together but for a failure of probability {self.delta:g}:",
            *(f"  {row}" for row in self.rows),
        ]
        lines += [f"  {'refused':>10}  {method}: {reason}" for method, reason in self.refused.items()]
        assumed = dict.fromkeys(a for row in self.rows for a in row.assumes)
        lines += ["  assuming that " + "; ".join(assumed)] if assumed else []
        return "\n".join(lines)


@audible()
def bounds(
    model: Any,
    X: Any,
    y: Any,
    delta: Any = 0.05,
    X_test: Any = None,
    y_test: Any = None,
    tried: Any = None,
    methods: Any = METHODS,
    tested: Any = None,
    pool: Any = None,
) -> Bounds:
    """Every bound on new rows that a fitted classifier allows; the table goes into its certificate too.

    Parameters
    ----------
    model : a fitted classifier of gapless
    X, y : the rows that it was trained on; other data raise CertificateError
    delta : the probability that any of the bounds fails
    X_test, y_test : rows that were not trained on
    tried : settings among which the training rows may have chosen this one: all that could have been, not only those visited;
        the list of them (as of a grid) does as well; by default the candidates of `gapless.tune`, else 1
    methods : which to compare; delta is divided by the number of those that apply
    tested : models that were compared on the test rows; by default the candidates, where these rows chose among them, else 1
    pool : AdaBoostClassifier: (feature, threshold) of every cut that its stumps could have, fixed without the training rows
    """
    with warnings.catch_warnings():
        # The fingerprint says that the rows are those of the fit: an array in place of a frame is no reason to warn.
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        return _bounds(model, X, y, delta, X_test, y_test, tried, methods, tested, pool)


def _bounds(
    model: Any, X: Any, y: Any, delta: Any, X_test: Any, y_test: Any, tried: Any, methods: Any, tested: Any, pool: Any
) -> Bounds:
    delta = as_probability(delta)
    chosen = (methods,) if isinstance(methods, str) else tuple(dict.fromkeys(methods))
    for name in chosen:
        if name not in METHODS:
            raise ValueError(f"methods are {', '.join(METHODS)}; got {written(name)}")
    if (X_test is None) != (y_test is None):
        raise ValueError("X_test and y_test come together")
    step = model[-1] if is_pipeline(model) else model
    if not hasattr(step, "classes_") or not hasattr(step, "predict"):
        raise ValueError(f"{type(step).__name__} is no fitted classifier: there is no error to bound")
    tried = _tried(step, tried)
    job = _job(model, X, y, X_test, y_test, tried, 1, pool)
    tested = _tested(step, job.X_test, tested)
    job = replace(job, tested=tested)
    shared = share_of_known_rows(job.X, job.X_test) if job.X_test is not None and "held-out" in chosen else None
    make_ready: dict[str, Callable[[Job], Callable[[float], Bound]]] = {
        "held-out": bound_methods.held_out,
        "compression": bound_methods.compression,
        "PAC-Bayes": bound_methods.pac_bayes,
        "VC": bound_methods.vc,
        "votes": bound_methods.votes,
    }
    refused: dict[str, str] = {}
    ready, shares = {}, 0
    for name in chosen:
        if name == "held-out" and X_test is None:
            refused[name] = "no test rows were given"
            continue
        if name == "leave-one-out":
            continue
        try:
            ready[name] = make_ready[name](job)
            shares += 1
        except ValueError as error:
            if name == "held-out":
                raise
            refused[name] = str(error)
            # What the rows refused is counted, so that they do not choose the shares of delta.
            shares += type(error).__name__ == "NotSettled"
    share = _share(delta, max(1, shares))
    rows = [told(share) for told in ready.values()]
    if "leave-one-out" in chosen:
        try:
            rows.append(bound_methods.leave_one_out(job))
        except ValueError as error:
            refused["leave-one-out"] = str(error)
    found = Bounds(tuple(sorted(rows, key=lambda row: row.value)), refused, delta, tried, shared, tested)
    stated = {**step.certificate_.statement, "bounds": found.document()}
    step.certificate_ = replace(step.certificate_, statement=stated)
    return found


def candidates(step: Any) -> int:
    """Settings among which the training rows may have chosen, as `tune` and `train` wrote it into the certificate."""
    return int((_tuned(step) or {}).get("candidates", 1))


def _tried(step: Any, given: Any) -> int:
    """What was given, or what the certificate says."""
    known = candidates(step)
    if given is None:
        return known
    found = len(given) if isinstance(given, list | tuple) and given else as_whole(given, "tried")
    if found < known:
        raise ValueError(
            f"tried={found}: the certificate says that the rows may have chosen among {known:,} candidates"
        )
    return found


def _tested(step: Any, X_test: Any, given: Any) -> int:
    """What was given; by default every candidate where these rows are the ones that chose among them."""
    tuned = _tuned(step)
    known = 1
    if tuned and tuned["held_out"] is not None and X_test is not None:
        known = tuned["candidates"] if digest(row_hashes(as_matrix(X_test)), "<u8") == tuned["held_out"] else 1
    if given is None:
        return int(known)
    found = as_whole(given, "tested")
    if found < known:
        raise ValueError(f"tested={found}: these rows chose among {known:,} candidates")
    return found


def _tuned(step: Any) -> Any:
    return (getattr(getattr(step, "certificate_", None), "statement", None) or {}).get("tuning")


def _share(delta: float, parts: int) -> float:
    """delta/parts, rounded so that the parts together are not more than delta."""
    share = delta / parts
    while Fraction(share) * parts > Fraction(delta):
        share = math.nextafter(share, 0.0)
    return share


def _job(model: Any, X: Any, y: Any, X_test: Any, y_test: Any, tried: int, tested: int, pool: Any) -> Job:
    """Raises CertificateError for other data than those of the fit."""
    step, rows, new = model, X, X_test
    if is_pipeline(model):
        step, rows = last_step(model, X)
        new = X_test if X_test is None else last_step(model, X_test)[1]
    if getattr(getattr(step, "certificate_", None), "fingerprint", None) is None:
        raise ValueError(f"{type(step).__name__} has no certificate that names its training rows")
    check_fitted_rows(step, rows, y)
    piped = (is_pipeline(model) and len(model.steps) > 1) or _by_rows(step)
    return Job(step, rows, y, tried, tested, pool, piped, new, y_test)


def _by_rows(model: Any) -> bool:
    """Whether the training rows scaled, filled or coded the columns of a table that became the features."""
    encoding = getattr(model, "encoding_", None)
    return encoding is not None and learned(encoding.columns)
