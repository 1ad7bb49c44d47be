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

from . import (
    boosting,
    bounds,
    ensemble,
    gradient,
    kernel_machines,
    least_squares,
    mistakes,
    moments,
    separation,
    training_rows,
    tree,
)
from .document import TIMES, flaw, flaw_of_tuning, n_lines, newer_schema, number
from .errors import CertificateError
from .inputs import flaw_of_input, flaw_of_origin, learned, without_input
from .losses import HARD
from .recompute import Figures, Task, evaluate, row_weights
from .rigorous import ExactFigures, exact_figures, float_interval
from .rounding import UNIT, Interval
from .rows import as_rows
from .softmax import evaluate_softmax, exact_softmax
from .statement import CHECKED, ESTIMATORS, same_data, statement_claims
from .verdict import Claim, Verdict

#: A certificate may admit at most this many times the textbook bound for plain sums in float64.
ROUNDING_FACTOR = 4.0

Rigour = bool | Literal["exact"]


def check(
    document: Mapping[str, Any],
    arrays: Mapping[str, Any],
    X: Any,
    y: Any,
    sample_weight: Any = None,
    rigorous: Rigour = False,
    X_test: Any = None,
    y_test: Any = None,
) -> Verdict:
    """Judge the certificate of a model document with its arrays on the data it speaks of.

    The verdict is true where every claim holds and false where one does not.  Data, labels or weights other
    than those of the fit, and documents that cannot be read, raise CertificateError.  ``rigorous=True`` adds
    bounds on primal, optimum and gap that hold in exact arithmetic, ``"exact"`` computes them without
    rounding (up to some ten thousand rows).  ``X_test`` and ``y_test`` are the rows of a held-out bound, where the
    document has one.
    """
    if rigorous not in (False, True, "exact"):
        raise ValueError(f"rigorous is {rigorous!r}; it is False, True or 'exact'")
    made = document.get("input") if isinstance(document, Mapping) else None
    document = without_input(dict(document)) if isinstance(document, Mapping) else document
    beside = flaw_of_tuning(document) or flaw_of_origin(document)
    if beside:
        raise CertificateError(f"the certificate cannot be read: {beside}")
    named = training_rows.taken(document)
    verdict = _claims(training_rows.without(document), made, arrays, (X, y, sample_weight), rigorous, (X_test, y_test))
    if named is not None:
        verdict.claims.append(training_rows.claim(document, named, arrays, X))
    if isinstance(document, dict) and "origin" in document:
        verdict.unchecked.append("origin: by which command, and why these rows")
    return verdict


def _claims(
    document: Any,
    made: Any,
    arrays: Mapping[str, Any],
    data: tuple[Any, Any, Any],
    rigorous: Rigour,
    new: tuple[Any, Any],
) -> Verdict:
    """What is claimed of the fit, and of new rows."""
    if not isinstance(document, dict) or "bounds" not in document:
        return _check(document, arrays, *data, rigorous)
    block = document.pop("bounds")
    if bounds.flaw(block):
        raise CertificateError(f"the certificate cannot be read: {bounds.flaw(block)}")
    if made is not None and flaw_of_input({"input": made, "n_features": document.get("n_features")}):
        raise CertificateError("the certificate cannot be read: the entry input says nothing of these features")
    by_rows = made is not None and learned(made["columns"])
    verdict = _check(document, arrays, *data, rigorous)
    test = None if any(each is None for each in new) else new
    return bounds.judged(verdict, block, document, arrays, data, test, by_rows)


def _check(document: Any, arrays: Mapping[str, Any], X: Any, y: Any, sample_weight: Any, rigorous: Rigour) -> Verdict:
    """What is claimed of the fit."""
    if separation.speaks_of(document):  # exact whatever is asked
        return separation.check(document, X, y, sample_weight)
    if least_squares.speaks_of(document):
        return least_squares.check(document, arrays, X, y, sample_weight, rigorous)
    if kernel_machines.speaks_of(document):
        return kernel_machines.check(document, arrays, X, y, sample_weight, rigorous)
    if moments.speaks_of(document):  # nothing is optimised: there is nothing to bound beyond the figures
        return moments.check(document, arrays, X, y, sample_weight)
    if tree.speaks_of(document):
        return tree.check(document, arrays, X, y, sample_weight, rigorous)
    if mistakes.speaks_of(document):
        return mistakes.check(document, arrays, X, y, sample_weight)
    if boosting.speaks_of(document):
        return boosting.check(document, arrays, X, y, sample_weight)
    if ensemble.speaks_of(document):  # what it estimates is no claim
        return ensemble.check(document, arrays, X, y, sample_weight)
    if gradient.speaks_of(document):
        return gradient.check(document, arrays, X, y, sample_weight, rigorous)
    _refuse_unreadable(document)
    rows = as_rows(X)
    coef, intercept, dual = _arrays(document, arrays)
    index, weights = same_data(document, rows, y, sample_weight)
    claims = [Claim("data", "fingerprint", "fingerprint", True, "rows, labels and weights are those of the fit")]
    sound = statement_claims(claims, document, index, weights)
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
    proved: list[tuple[float, float, float]] = []
    if sound and finite and len(subs) == len(positives):
        # The hard margin: a row counts or it does not, and the loss is 0 or infinite.
        hard = number(problem["C"]) == math.inf
        class_weight = np.array(problem["class_weight"], dtype=np.float64)
        c = row_weights(1.0 if hard else number(problem["C"]), weights, class_weight, index)
        if hard:
            c = ((weights > 0.0) & (class_weight[index] > 0.0)).astype(np.float64)
        weighty = bool(np.isfinite(c).all())
        claims.append(Claim("row weights", "finite", None, weighty, "" if weighty else "C times weights overflows"))
        if weighty:
            target = index[None, :]
            if not softmax:
                target = np.where(target == np.array(positives)[:, None], 1, -1).astype(np.int8)
            task = Task(
                rows, target, c, HARD if hard else problem["loss"], problem["offset"], number(problem["offset_scale"])
            )
            proved = _figure_claims(claims, document, task, coef, intercept, dual, rigorous)
    _total_claims(claims, document)
    tier = {False: "float64", True: "proved bounds, float64", "exact": "proved bounds, exact arithmetic"}[rigorous]
    return Verdict(claims, _unchecked(document), proved if rigorous else [], tier)


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
        if fractions is not None and fractions.kept and fractions.dual is not None:
            primal, below = float_interval(fractions.primal), float_interval(fractions.dual)
            low, high = fractions.primal[0] - fractions.dual[1], fractions.primal[1] - fractions.dual[0]
            gap = float_interval((low, high))
        bounds.append((primal.up, below.low, gap.up))
        which = f"[{k}] " if len(subs) > 1 else ""
        if task.loss == HARD:
            claims.append(
                Claim(which + "margins kept", True, found.kept, found.kept, "y f >= 1 for every row, for certain")
            )
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
    others = [name for name in document["parameters"] if name not in CHECKED]
    listed = [
        *TIMES,
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
