"""Linear classifiers with a penalty: P, D and the gap of each subproblem, recomputed and compared.

A figure is accepted where it lies in the judge's own enclosure of it, widened by the rounding error the certificate admits for
itself; and neither that error nor the enclosure may be larger than plain float64 arithmetic on this problem can make it, or
than a share of the problem's own size.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from ..arithmetic.compare import at_most, between, capped, equal
from ..arithmetic.rounding import UNIT, Interval
from ..document import TABLES, array_forms, flaw, number, read_arrays
from ..rows import as_rows
from ..schema import Kind
from ..statement import ESTIMATORS, same_data, statement_claims, unused
from ..verdict import Claim, Verdict
from .losses import HARD
from .recompute import Figures, Task, evaluate, row_weights
from .rigorous import ExactFigures, exact_figures, float_interval
from .softmax import evaluate_softmax, exact_softmax

#: A certificate may admit at most this many times the textbook bound for plain sums in float64.
ROUNDING_FACTOR = 4.0
#: No room, and no enclosure, is wider than this share of the larger of |P| and |D|, with a millionth of the loss of w = 0: below
#: that an objective is rounding.
SHARE = 0.01
NULL_SHARE = 1e-6
#: What underflows is off by more than any share of itself.
LEAST = 1e-300

Rigour = bool | Literal["exact"]
TIERS = {False: "float64", True: "proved bounds, float64", "exact": "proved bounds, exact arithmetic"}


def check(
    document: dict[str, Any], arrays: Mapping[str, Any], X: Any, y: Any, sample_weight: Any, rigorous: Rigour
) -> Verdict:
    """Judge the gap of a linear classifier; the verdict and the errors are those of ``judge.check``."""
    rows = as_rows(X)
    read = read_arrays(document, arrays, array_forms(document))
    coef, intercept, dual = (read[name].astype(np.float64) for name in ("coef", "intercept", "dual"))
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
    if sound and finite and claimed_positives == positives:
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
            loss, scale = HARD if hard else problem["loss"], number(problem["offset_scale"])
            task = Task(rows, target, c, loss, problem["offset"], scale)
            proved = _figure_claims(claims, document, task, coef, intercept, dual, rigorous)
    claims.append(Claim("figures", "recomputed", None, len(proved) == len(subs), "from the data"))
    _total_claims(claims, document)
    return Verdict(claims, unused(document), proved if rigorous else [], TIERS[rigorous])


def inside(claimed: float, found: Interval, room: float, size: float) -> bool:
    """Whether a figure lies in its enclosure, which is no wider than a share of ``size``."""
    size = size + LEAST
    narrow = at_most(found.up, found.low, SHARE * size)
    return narrow and between(claimed, found.low, found.up, capped(room, size, SHARE))


def size_of(primal: Interval, dual: Interval) -> float:
    """The larger of |P| and |D|, as the judge has them."""
    return max(abs(primal.low), abs(primal.up), abs(dual.low), abs(dual.up))


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
    null = 0.0 if task.loss == HARD else NULL_SHARE * float(task.c.sum()) * math.log(max(3, len(coef)))
    subs = document["certificate"]["subproblems"]
    for k, (sub, found, fractions) in enumerate(zip(subs, figures, exact, strict=True)):
        primal, below, gap = found.primal, found.dual, found.gap
        if fractions is not None and fractions.kept and fractions.dual is not None:
            primal, below = float_interval(fractions.primal), float_interval(fractions.dual)
            low, high = fractions.primal[0] - fractions.dual[1], fractions.primal[1] - fractions.dual[0]
            gap = float_interval((low, high))
        bounds.append((primal.up, below.low, gap.up))
        which = f"[{k}] " if len(subs) > 1 else ""
        if task.loss == HARD and unbounded(sub):
            claims.append(margins_not_proved(which, sub, not dual[k].any()))
            bounds[-1] = math.inf, 0.0, math.inf
            continue
        if task.loss == HARD:
            note = "y f >= 1 for every row, for certain"
            claims.append(Claim(which + "margins kept", True, found.kept, found.kept, note))
        _subproblem_claims(claims, which, sub, found, primal, below, gap, null)
    return bounds


def _subproblem_claims(
    claims: list[Claim],
    which: str,
    sub: dict[str, Any],
    found: Figures,
    primal: Interval,
    dual: Interval,
    gap: Interval,
    null: float,
) -> None:
    values = {key: number(sub[key]) for key in ("primal", "dual", "gap", "rounding")}
    note = "exactly in its domain" if found.feasible else "outside its domain: there is no dual value"
    claims.append(Claim(which + "dual feasible", True, found.feasible, found.feasible, note))
    computed, size = found.finite, size_of(primal, dual) + null
    most = ROUNDING_FACTOR * found.textbook
    honest = computed and between(values["rounding"], 0.0, most)
    claims.append(Claim(which + "rounding", values["rounding"], most, honest, "is at most what float64 can need"))
    # Half an ulp of a figure is no error: it is how a float is written. A dual point gives the primal no room.
    room = (values["rounding"] if honest else 0.0) + 4.0 * UNIT * size
    alone = size_of(primal, primal) + null
    near = min(room, ROUNDING_FACTOR * found.own + 4.0 * UNIT * alone)
    for name, interval, reach, whole in (
        ("primal", primal, near, alone),
        ("dual", dual, room, size),
        ("gap", gap, room, size),
    ):
        holds = computed and inside(values[name], interval, reach, whole)
        middle = 0.5 * interval.low + 0.5 * interval.up
        claims.append(Claim(which + name, values[name], middle, holds, "" if computed else "overflows"))


def unbounded(block: dict[str, Any]) -> bool:
    """Whether figures say that nothing is known: P and the gap are infinite, and there is no relative gap."""
    infinite = number(block["primal"]) == number(block["gap"]) == math.inf
    return infinite and math.isnan(number(block["relative_gap"]))


def margins_not_proved(which: str, sub: dict[str, Any], silent: bool = True) -> Claim:
    """A hard margin whose margins are not proved kept has an infinite P; of the optimum it may say no more than P* >= 0, which
    holds whether or not they are kept."""
    plain = silent and number(sub["dual"]) == number(sub["rounding"]) == 0.0 and sub["status"] != "converged"
    return Claim(which + "margins proved kept", False, None, plain, "P is infinite, and P* >= 0 is all it says")


def gap_claims(claims: list[Claim], which: str, block: dict[str, Any], tol: float, parts: int = 1) -> bool:
    """gap = primal - dual, relative_gap and converged follow from the block's own figures; returns
    relative_gap <= tol.  What the figures differ by is what the block admits as its rounding, which is judged elsewhere; an
    infinite P, too."""
    if unbounded(block):
        return False
    primal, dual, gap, relative = (number(block[key]) for key in ("primal", "dual", "gap", "relative_gap"))
    difference, size = primal - dual, max(abs(primal), abs(dual))
    room = number(block["rounding"]) + (12.0 + 4.0 * parts) * UNIT * size
    claims.append(Claim(which + "gap = primal - dual", gap, difference, equal(gap, difference, room)))
    expected = gap / size if size != 0.0 else 0.0
    holds = equal(relative, expected, 8.0 * UNIT * abs(expected))
    claims.append(Claim(which + "relative gap", relative, expected, holds))
    return at_most(relative, tol)


def _total_claims(claims: list[Claim], document: dict[str, Any]) -> None:
    """Status of each subproblem; totals are sums, and the whole is converged where every part is."""
    block = document["certificate"]
    subs, tol = block["subproblems"], number(block["tol"])
    for k, sub in enumerate(subs):
        which = f"[{k}] " if len(subs) > 1 else ""
        reached = gap_claims(claims, which, sub, tol)
        claims.append(ending_claim(which, sub["status"], reached, unbounded(sub)))
    sum_claims(claims, block, ("primal", "dual", "gap", "rounding"))
    gap_claims(claims, "total ", block, tol, len(subs))
    status_claim(claims, block["status"], [sub["status"] for sub in subs])


def sum_claims(claims: list[Claim], block: dict[str, Any], names: tuple[str, ...]) -> None:
    """Figures of the whole are the sums of those of its subproblems."""
    subs = block["subproblems"]
    for name in names:
        parts = [number(sub[name]) for sub in subs]
        total = sum(parts)
        total = math.fsum(parts) if math.isfinite(total) else total
        room = (len(subs) + 2) * UNIT * sum(map(abs, parts)) if len(subs) > 1 else 0.0
        claimed = number(block[name])
        holds = claimed == total if total == math.inf else equal(claimed, total, room)
        claims.append(Claim(f"total {name}", claimed, total, holds, "the sum"))


def ending_claim(which: str, status: str, reached: bool, unsolved: bool = False) -> Claim:
    """Converged where it is, and infeasible only where there is no point with a finite objective."""
    wanted = "converged" if reached else "not converged"
    holds = (status == "converged") == reached and (status != "infeasible" or unsolved)
    return Claim(which + "status", status, wanted, holds)


def status_claim(claims: list[Claim], status: str, parts: Sequence[str]) -> None:
    """The whole is converged where every part is, else it ends as one of the others does."""
    fitting = {"converged"} if set(parts) == {"converged"} else set(parts) - {"converged"}
    claims.append(Claim("status", status, " or ".join(sorted(fitting)), status in fitting))


KIND = Kind(
    "Linear classifiers",
    tuple(ESTIMATORS),
    ("gap",),
    TABLES,
    flaw,
    array_forms,
    check,
    ("which ending, if not converged",),
)
