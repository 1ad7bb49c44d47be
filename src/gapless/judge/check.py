"""Checks a certificate against the data: every claim is recomputed, none is believed.

A figure is accepted where it lies in the judge's own enclosure of it, widened by the rounding error the
certificate admits for itself; and that error may not be larger than plain float64 arithmetic on this problem
can make it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from . import least_squares
from .classes import class_weights_agree, label_index, sorted_unique, weights_of_rows
from .document import flaw, is_number, n_lines, newer_schema, number
from .errors import CertificateError
from .fingerprint import fingerprint
from .recompute import Figures, Task, evaluate, row_weights
from .rigorous import ExactFigures, exact_figures, float_interval
from .rounding import UNIT, Interval
from .rows import Rows, as_rows, first_non_finite
from .softmax import evaluate_softmax, exact_softmax
from .verdict import Claim, Verdict

#: A certificate may admit at most this many times the textbook bound for plain sums in float64.
ROUNDING_FACTOR = 4.0

#: Estimators, the losses they have, and parameters that would make another problem of it (absent counts as
#: fine).
ESTIMATORS: dict[str, tuple[str, ...]] = {
    "LinearSVC": ("hinge", "squared_hinge"),
    "LogisticRegression": ("logistic", "softmax"),
}
_L2_ONLY: dict[str, tuple[Any, ...]] = {
    "penalty": ("l2", "deprecated"),
    "l1_ratio": (0, None, "deprecated"),
    "multi_class": ("ovr", "auto", "deprecated"),
}
_CHECKED = (
    "loss",
    "C",
    "tol",
    "fit_intercept",
    "penalize_intercept",
    "intercept_scaling",
    "class_weight",
    *_L2_ONLY,
)

Rigour = bool | Literal["exact"]


def check(
    document: Mapping[str, Any],
    arrays: Mapping[str, Any],
    X: Any,
    y: Any,
    sample_weight: Any = None,
    rigorous: Rigour = False,
) -> Verdict:
    """Judge the certificate of a model document with its arrays on the data it speaks of.

    The verdict is true where every claim holds and false where one does not.  Data, labels or weights other
    than those of the fit, and documents that cannot be read, raise CertificateError.  ``rigorous=True`` adds
    bounds on primal, optimum and gap that hold in exact arithmetic, ``"exact"`` computes them without
    rounding (up to some ten thousand rows).
    """
    if rigorous not in (False, True, "exact"):
        raise ValueError(f"rigorous is {rigorous!r}; it is False, True or 'exact'")
    document = dict(document) if isinstance(document, Mapping) else document
    if least_squares.speaks_of(document):
        return least_squares.check(document, arrays, X, y, sample_weight, rigorous)
    _refuse_unreadable(document)
    rows = as_rows(X)
    coef, intercept, dual = _arrays(document, arrays)
    index, weights = _same_data(document, rows, y, sample_weight)
    claims = [Claim("data", "fingerprint", "fingerprint", True, "rows, labels and weights are those of the fit")]
    sound = _statement_claims(claims, document, index, weights)
    problem, K = document["problem"], len(document["classes"]["values"])
    softmax = problem["loss"] == "softmax"  # one problem of K lines; of the others there is one for each line
    positives: list[int | None] = [None] if softmax else [1] if K == 2 else list(range(K))
    subs = document["certificate"]["subproblems"]
    claimed_positives = [sub["positive"] for sub in subs]
    claims.append(Claim("subproblems", claimed_positives, positives, claimed_positives == positives))
    finite = bool(np.isfinite(coef).all() and np.isfinite(intercept).all() and np.isfinite(dual).all())
    claims.append(Claim("finite", "coef, intercept, dual", None, finite, "" if finite else "not finite"))
    if problem["offset"] == "none":
        claims.append(Claim("no offset", 0.0, None, not intercept.any(), "the intercept is 0"))
    bounds: list[tuple[float, float, float]] = []
    if sound and finite and len(subs) == len(positives):
        c = row_weights(number(problem["C"]), weights, np.array(problem["class_weight"], dtype=np.float64), index)
        weighty = bool(np.isfinite(c).all())
        claims.append(Claim("row weights", "finite", None, weighty, "" if weighty else "C times weights overflows"))
        if weighty:
            target = index[None, :]
            if not softmax:
                target = np.where(target == np.array(positives)[:, None], 1, -1).astype(np.int8)
            task = Task(rows, target, c, problem["loss"], problem["offset"], number(problem["offset_scale"]))
            bounds = _figure_claims(claims, document, task, coef, intercept, dual, rigorous)
    _total_claims(claims, document)
    tier = {False: "float64", True: "proved bounds, float64", "exact": "proved bounds, exact arithmetic"}[rigorous]
    return Verdict(claims, _unchecked(document), bounds if rigorous else [], tier)


def _refuse_unreadable(document: Any) -> None:
    newer = newer_schema(document)
    if newer:
        raise CertificateError(f"the certificate was {newer}")
    found = flaw(document)
    if found:
        raise CertificateError(f"the certificate cannot be read: {found}")
    kind = document["certificate"]["kind"]
    if kind != "gap":
        raise CertificateError(f"the certificate is of kind {kind[:40]!r}; this judge checks 'gap'")
    if document["estimator"] not in ESTIMATORS:
        raise CertificateError(f"this judge knows {', '.join(ESTIMATORS)}, not {document['estimator'][:40]!r}")


def _arrays(document: dict[str, Any], arrays: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    S, d = n_lines(document), document["n_features"]
    n = document["certificate"]["fingerprint"]["n_rows"]
    wanted = {
        "coef": ((S, d), document["dtype"]),
        "intercept": ((S,), document["dtype"]),
        "dual": ((S, n), "float64"),
    }
    out = []
    for name, (shape, dtype) in wanted.items():
        try:
            array = np.asarray(arrays[name])
        except (KeyError, TypeError, ValueError):
            raise CertificateError(f"the certificate cannot be read: there is no array {name}") from None
        if array.dtype != np.dtype(dtype) or array.shape != shape:
            raise CertificateError(
                f"the certificate cannot be read: {name} is {array.dtype} {array.shape}, it should be {dtype} {shape}"
            )
        out.append(array.astype(np.float64))
    return out[0], out[1], out[2]


def _same_data(document: dict[str, Any], rows: Rows, y: Any, sample_weight: Any) -> tuple[np.ndarray, np.ndarray]:
    """Class indices and weights of the rows; CertificateError unless they are those of the fit."""
    claimed = document["certificate"]["fingerprint"]
    n, d = rows.shape
    if claimed["n_features"] != document["n_features"]:
        raise CertificateError("the certificate cannot be read: it gives two numbers of features")
    if (n, d) != (claimed["n_rows"], claimed["n_features"]):
        fit = f"{claimed['n_rows']} rows and {claimed['n_features']} features"
        raise CertificateError(f"other data: X has {n} rows and {d} features, the certificate speaks of {fit}")
    bad = first_non_finite(rows)
    if bad is not None:
        raise CertificateError(f"other data: row {bad} of X has a value that is not finite; no fit was made on it")
    weights = weights_of_rows(sample_weight, n)
    index = label_index(y, document["classes"], n)
    found = fingerprint(rows, index, weights)
    advice = "give the judge exactly what fit was given"
    if found["rows"] != claimed["rows"]:
        raise CertificateError(f"other data: the rows of X are not those of the fit ({advice})")
    if found["labels"] != claimed["labels"]:
        raise CertificateError(f"other labels: y is not that of the fit ({advice})")
    if found["weights"] != claimed["weights"]:
        missing = "no sample_weight was given" if sample_weight is None else "sample_weight is not that of the fit"
        raise CertificateError(f"other weights: {missing} ({advice})")
    return index, weights


def _statement_claims(claims: list[Claim], document: dict[str, Any], index: np.ndarray, weights: np.ndarray) -> bool:
    """Parameters, classes and problem agree. False where the problem they state cannot be evaluated."""
    parameters, problem = document["parameters"], document["problem"]
    tol, name, losses = (
        document["certificate"]["tol"],
        document["estimator"],
        ESTIMATORS[document["estimator"]],
    )
    K = len(document["classes"]["values"])
    loss = parameters.get("loss") if name == "LinearSVC" else losses[K > 2]
    claims.append(Claim("loss", problem["loss"], loss, problem["loss"] == loss and loss in losses, f"of {name}"))
    for key, allowed in _L2_ONLY.items():
        if key == "multi_class" and loss == "softmax":
            allowed = ("multinomial", *allowed[1:])
        if key in parameters and not any(_same(parameters[key], value) for value in allowed):
            claims.append(Claim(key, parameters[key], None, False, "is another problem than the one certified"))
    C, scale = number(problem["C"]), number(problem["offset_scale"])
    good_C = math.isfinite(C) and C > 0
    claims.append(Claim("C", C, parameters.get("C"), good_C and _equals(parameters.get("C"), C)))
    tol = number(tol)
    good_tol = math.isfinite(tol) and tol >= 0
    claims.append(Claim("tol", tol, parameters.get("tol"), good_tol and _equals(parameters.get("tol"), tol)))
    fit = parameters.get("fit_intercept")
    penalised = parameters.get("penalize_intercept", False)
    scaling = parameters.get("intercept_scaling", 1.0)
    offset = "penalised" if penalised is True else "free"
    offset = "none" if fit is False else offset
    stated = isinstance(fit, bool) and isinstance(penalised, bool) and is_number(scaling)
    stated = stated and (offset != "free" or number(scaling) == 1.0)  # it acts on a penalised offset only
    claims.append(Claim("offset", problem["offset"], offset, stated and problem["offset"] == offset))
    wanted_scale = number(scaling) if stated and offset == "penalised" else 1.0
    good_scale = math.isfinite(scale) and scale > 0
    claims.append(Claim("offset scale", scale, wanted_scale, good_scale and scale == wanted_scale))
    values = document["classes"]["values"]
    resolved = [number(w) for w in problem["class_weight"]]
    agree, expected = class_weights_agree(parameters.get("class_weight", ""), values, resolved, index, weights)
    claims.append(Claim("class weights", resolved, expected, agree))
    claims.append(Claim("classes", f"{len(values)} classes", None, sorted_unique(values), "sorted, each once"))
    present = np.bincount(index, minlength=len(values))[: len(values)] > 0
    claims.append(Claim("classes of y", len(values), int(present.sum()), bool(present.all()), "each has a row"))
    return good_C and good_scale and all(math.isfinite(w) and w >= 0 for w in resolved)


def _same(a: Any, b: Any) -> bool:
    return type(a) is type(b) and a == b if isinstance(a, bool | str) or a is None else a == b


def _equals(parameter: Any, value: float) -> bool:
    return is_number(parameter) and number(parameter) == value


def _inside(claimed: float, found: Interval, room: float) -> bool:
    return math.isfinite(claimed) and found.low - room <= claimed <= found.up + room


def _figure_claims(
    claims: list[Claim],
    document: dict[str, Any],
    task: Task,
    coef: np.ndarray,
    intercept: np.ndarray,
    dual: np.ndarray,
    rigorous: Rigour,
) -> list[tuple[float, float, float]]:
    """Primal, dual, gap, relative gap and rounding of each subproblem."""
    softmax = task.loss == "softmax"
    figures = (evaluate_softmax if softmax else evaluate)(task, coef, intercept, dual)
    exact: Sequence[ExactFigures | None] = [None] * len(figures)
    if rigorous == "exact":
        exact = (exact_softmax if softmax else exact_figures)(task, coef, intercept, dual)
    bounds = []
    subs = document["certificate"]["subproblems"]
    for k, (sub, found, fractions) in enumerate(zip(subs, figures, exact, strict=True)):
        primal, below, gap = found.primal, found.dual, found.gap
        if fractions is not None and fractions.dual is not None:
            primal, below = float_interval(fractions.primal), float_interval(fractions.dual)
            low, high = fractions.primal[0] - fractions.dual[1], fractions.primal[1] - fractions.dual[0]
            gap = float_interval((low, high))
        bounds.append((primal.up, below.low, gap.up))
        which = f"[{k}] " if len(subs) > 1 else ""
        _subproblem_claims(claims, which, sub, found, primal, below, gap)
    return bounds


def _subproblem_claims(
    claims: list[Claim],
    which: str,
    sub: dict[str, Any],
    found: Figures,
    primal: Interval,
    dual: Interval,
    gap: Interval,
) -> None:
    values = {key: number(sub[key]) for key in ("primal", "dual", "gap", "rounding")}
    note = "exactly in its domain" if found.feasible else "outside its domain: there is no dual value"
    claims.append(Claim(which + "dual feasible", True, found.feasible, found.feasible, note))
    computed = found.finite
    most = ROUNDING_FACTOR * found.textbook
    honest = computed and 0.0 <= values["rounding"] <= most
    claims.append(Claim(which + "rounding", values["rounding"], most, honest, "is at most what float64 can need"))
    # Half an ulp of the certificate's own figure is no error: it is how a float is written.
    room = (values["rounding"] if honest else 0.0) + 2.0 * UNIT * (abs(values["primal"]) + abs(values["dual"]))
    for name, interval in (("primal", primal), ("dual", dual), ("gap", gap)):
        holds = computed and _inside(values[name], interval, room)
        middle = 0.5 * interval.low + 0.5 * interval.up
        claims.append(Claim(which + name, values[name], middle, holds, "" if computed else "overflows"))


def _gap_claims(claims: list[Claim], which: str, block: dict[str, Any], tol: float, room: float) -> bool:
    """gap = primal - dual, relative_gap and converged follow from the block's own figures; returns
    relative_gap <= tol."""
    primal, dual, gap, relative = (number(block[key]) for key in ("primal", "dual", "gap", "relative_gap"))
    difference = primal - dual
    size = abs(primal) + abs(dual)
    holds = math.isfinite(difference) and abs(gap - difference) <= room + 4.0 * UNIT * size
    claims.append(Claim(which + "gap = primal - dual", gap, difference, holds))
    scale = max(abs(primal), abs(dual))
    expected = gap / scale if scale > 0 else 0.0
    holds = math.isfinite(relative) and abs(relative - expected) <= 8.0 * UNIT * abs(expected)
    claims.append(Claim(which + "relative gap", relative, expected, holds))
    return relative <= tol


def _total_claims(claims: list[Claim], document: dict[str, Any]) -> None:
    """Status of each subproblem; totals are sums, and the whole is converged where every part is."""
    block = document["certificate"]
    subs, tol = block["subproblems"], number(block["tol"])
    S = len(subs)
    for k, sub in enumerate(subs):
        which = f"[{k}] " if S > 1 else ""
        reached = _gap_claims(claims, which, sub, tol, max(0.0, _finite(sub["rounding"])))
        status = sub["status"]
        wanted = "converged" if reached else "not converged"
        claims.append(Claim(which + "status", status, wanted, (status == "converged") == reached))
    sizes = 0.0
    for name in ("primal", "dual", "gap", "rounding"):
        parts = [number(sub[name]) for sub in subs]
        finite = all(map(math.isfinite, parts))
        total = math.fsum(parts) if finite else math.nan
        size = math.fsum(map(abs, parts)) if finite else math.inf
        sizes += size
        room = (S + 2) * UNIT * size if S > 1 else 0.0
        claimed = number(block[name])
        holds = math.isfinite(claimed) and math.isfinite(size) and abs(claimed - total) <= room
        claims.append(Claim(f"total {name}", claimed, total, holds, "the sum"))
    if math.isfinite(sizes):
        _gap_claims(claims, "total ", block, tol, 4.0 * S * UNIT * sizes + max(0.0, _finite(block["rounding"])))
    statuses = {sub["status"] for sub in subs}
    fitting = {"converged"} if statuses == {"converged"} else statuses - {"converged"}
    claims.append(Claim("status", block["status"], " or ".join(sorted(fitting)), block["status"] in fitting))


def _finite(value: Any) -> float:
    x = number(value)
    return x if math.isfinite(x) else 0.0


def _unchecked(document: dict[str, Any]) -> list[str]:
    others = [name for name in document["parameters"] if name not in _CHECKED]
    listed = [
        "seconds",
        "backend",
        "n_iter",
        "solver",
        "which ending, if not converged",
        "version",
        "names of features",
    ]
    if others:
        listed.append("parameters that do not change the optimum: " + ", ".join(str(name)[:40] for name in others[:40]))
    return listed
