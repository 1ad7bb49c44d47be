"""The claims of each bound: conditions, counts from the data, and the value that these give."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..arithmetic.compare import at_most, between, equal
from ..arithmetic.rounding import Interval, exactly, gamma, total_of
from ..classes import label_index
from ..fingerprint import digest, row_hashes
from ..form.entries import number
from ..kernel.labels import safe_sides
from ..kernel.values import Values
from ..linear.labels import gap_safe_labels
from ..rows import as_rows, filled, place
from . import binomial, divergence
from .answers import answers, hyperplane, scores
from .case import BoundsCase
from .votes import members_claim, recount

# -- held out


def held_out(case: BoundsCase, row: dict[str, Any]) -> None:
    figures = row["figures"]
    k, n, delta = figures["errors"], figures["n"], case.delta(row, case.block["tested"])
    if not 0 <= k <= n or n == 0 or min(k, n - k) > 20_000_000:  # beyond, no tail is summed
        case.count_claim(row, "errors", None, False)
        return
    proved = at_most(number(row["value"]), 1.0) and binomial.held_out_holds(k, n, number(row["value"]), delta)
    note = "P(Bin <= k) <= delta, in integers" if n <= binomial.EXACT else "P(Bin <= k) <= delta, rounded outward"
    case.value_claim(row, binomial.held_out(k, n, float(delta)), proved, note)
    case.drawn_claim(row)
    if case.test is None:
        other = figures["rows"] != case.document["certificate"]["fingerprint"]["rows"]
        case.count_claim(row, "rows", None, other, "test rows that are not those of the fit")
        what = "errors on the test rows, and how many occur in training (give the judge these rows too)"
        case.unchecked.append(f"bounds: {what}")
        return
    rows = as_rows(case.test[0])
    index = label_index(case.test[1], case.document["classes"], rows.shape[0])
    same = digest(row_hashes(rows), "<u8") == figures["rows"] and digest(index, "<i8") == figures["labels"]
    case.count_claim(row, "n", rows.shape[0], same and n == rows.shape[0], "the test rows are those of the count")
    fitting = rows.shape[1] == case.rows.shape[1]
    if fitting and rows.shape[0] > 0:
        _new_rows_claims(case, rows, row)
    told = answers(case.document, case.arrays, rows) if fitting else None
    if told is None:
        case.unchecked.append(f"bounds: errors on the test rows (the judge cannot run {case.document['estimator']})")
        return
    wrong = int(np.count_nonzero(told.classes != index))
    case.count_claim(row, "errors", wrong, equal(k, wrong, int(told.open.sum())), "counted anew")


def _new_rows_claims(case: BoundsCase, rows: Any, row: dict[str, Any]) -> None:
    """That the test rows are neither the training rows nor taken from them, and the share that occurs there."""
    known, new = (np.ascontiguousarray(row_hashes(part)).view("V16").ravel() for part in (case.rows, rows))
    n, m = known.size, new.size
    starts = np.flatnonzero(known[: max(0, n - m + 1)] == new[0]).tolist() if m <= n else []
    block = m > 1 and any(np.array_equal(known[s : s + m], new) for s in starts)
    taken = block or (m == n and np.array_equal(np.sort(known), np.sort(new)))
    share = float(np.isin(new, known).mean())
    if share == 1.0 and m >= 10 and np.unique(new).size == m:  # once in both: independent rows coincide twice too
        values, times = np.unique(known, return_counts=True)
        taken = taken or bool(np.isin(new, values[times == 1]).all())
    shared = case.block["shared"]
    same = shared is not None and equal(number(shared), share, 1e-12)
    case.count_claim(row, "rows", None, not taken, "test rows that are neither those of the fit nor taken from them")
    case.claim("shared", shared, share, same, "test rows that occur in training")


# -- compression


def compression(case: BoundsCase, row: dict[str, Any]) -> None:
    k, n = row["figures"]["k"], row["figures"]["n"]
    broken = _broken(case)
    kept = case.claim("compression, conditions", "kept", broken or "kept", broken is None)
    case.drawn_claim(row)
    if not kept:
        return
    least, how = _kept(case, k)
    case.count_claim(row, "k", least, between(k, least, n), how)
    case.count_claim(row, "n", case.n, n == case.n)
    if k > n or n != case.n:
        return
    delta = case.delta(row, case.block["tried"])
    proved = at_most(number(row["value"]), 1.0) and binomial.change_holds(k, n, number(row["value"]), delta)
    note = "in integers" if n <= binomial.EXACT else "rounded outward"
    case.value_claim(row, binomial.change(k, n, float(delta)), proved, f"Campi and Garatti's sum, {note}")


def _broken(case: BoundsCase) -> str | None:
    """The condition that the document itself shows to be broken."""
    name, p, block = case.document["estimator"], case.parameters, case.document["certificate"]
    if name not in ("LinearSVC", "SVC") or case.K != 2:
        return "a support vector machine of two classes"
    if block["kind"] != "gap" or block["status"] not in ("converged", "stalled"):
        return "an optimum"
    if isinstance(p.get("class_weight"), str) or any(not number(w) > 0.0 for w in case.problem["class_weight"]):
        return "class weights that no row chose, and none of them 0"
    if not case.alike:
        return "rows that count alike"
    if name == "SVC":
        if case.problem["kernel"]["name"] not in ("linear", "poly", "rbf"):
            return "a kernel that no row chose"
        if case.problem["kernel"]["name"] != "linear" and p.get("gamma") == "scale":
            return "a width that no row chose"
    return None


def _kept(case: BoundsCase, k: int) -> tuple[int, str]:
    """How many rows determine the model, at least, and how that is known."""
    # Up to this relative gap support vectors are counted as they stand.
    exact_gap = 1e-9
    alpha, c, _, inner = case.multipliers()
    linear, hard = case.document["estimator"] == "LinearSVC", number(case.problem["C"]) == math.inf
    # The squared hinge, the hard margin and a penalised offset need no row of the offset's own.
    tied = hard or (linear and (case.problem["loss"] == "squared_hinge" or case.problem["offset"] != "free"))
    ends = 0 if tied or inner else 2
    support = int(np.count_nonzero(alpha > 0.0)) + ends
    sub = case.document["certificate"]["subproblems"][0]
    if sub["relative_gap"] is not None and at_most(number(sub["relative_gap"]), exact_gap) and support <= k:
        return min(case.n, support), "rows with alpha > 0 at a gap of rounding size"
    if hard:
        return case.n, "no row of a hard margin is proved to be free of it"
    sign, u = np.where(case.index == 1, 1.0, -1.0), case.arrays["dual"][0]
    if linear:
        w, b = case.arrays["coef"].astype(np.float64)[0], float(case.arrays["intercept"][0])
        loss, offset, scale = case.problem["loss"], case.problem["offset"], number(case.problem["offset_scale"])
        side = -gap_safe_labels(case.rows, sign, c, loss, offset, w, b, u, scale).side
    else:
        values = Values(case.rows, case.problem["kernel"], np.arange(case.n), False)
        f, off = values.sums(u)
        radius = math.sqrt(abs(number(sub["gap"])) + abs(number(sub["rounding"])))
        reach = values.norms * radius * (1.0 + 1e-9) + off
        side = safe_sides(f - reach, f + reach, np.arange(case.n), sign, np.ones(case.n), c, (0.0,))
    return min(case.n, int(np.count_nonzero(side >= 0)) + ends), "rows that the gap does not prove to be none"


# -- PAC-Bayes


def _plane(case: BoundsCase) -> tuple[np.ndarray, float | None] | None:
    """(w, b), b None where the model has no offset; of a linear SVC w is put together."""
    found = hyperplane(case.document, case.arrays)
    if found is not None:
        return (found[0], None) if case.parameters.get("fit_intercept", True) is False else found
    linear = case.document["estimator"] == "SVC" and case.problem["kernel"]["name"] == "linear"
    if not linear or case.K != 2:
        return None
    u, w = case.arrays["dual"][0], np.zeros(case.rows.shape[1])
    for block in case.rows.blocks():
        w += u[place(block)] @ filled(block)
    return w, float(case.arrays["scalars"][0, 0])


def pac_bayes(case: BoundsCase, row: dict[str, Any]) -> None:
    plane, mu = _plane(case), number(row["figures"]["mu"])
    case.claim("PAC-Bayes, conditions", "kept", None, plane is not None, "a hyperplane, two classes")
    case.count_claim(row, "n", case.n, row["figures"]["n"] == case.n)
    if plane is None or not 0.0 < mu < 1e8:
        case.count_claim(row, "mu", None, False)
        return
    w, b = plane
    size = math.sqrt(total_of(w * w) + (0.0 if b is None else b * b))
    low, high = scores(case.rows, w, 0.0 if b is None else b)
    squares = np.concatenate([block.squares() for block in case.rows.blocks()]) + (0.0 if b is None else 1.0)
    length = np.sqrt(squares)
    sign = np.where(case.index == 1, 1.0, -1.0)
    length = np.where(length > 0.0, length, 1.0)
    margins = np.where(sign > 0.0, low, -high) / (size * length)  # from below
    # A margin is at most 1, and |w||x| off by gamma of its products relatively; Phi has slope below 0.4.
    depth = max((block.depth for block in case.rows.blocks()), default=1)
    off = 0.4 * mu * gamma(depth + 64) + divergence.NORMAL_ERROR
    seen = min(1.0, float(divergence.normal_below(-mu * margins).mean()) * (1.0 + gamma(case.n)) + off)
    kl = exactly(mu).square() * exactly(0.5)
    delta = Interval.outward(number(row["delta"]), number(row["delta"]))
    drawn = divergence.kl_upper(seen, divergence.budget(case.n, kl, delta))
    case.drawn_claim(row, drawn)
    case.value_claim(row, min(1.0, 2.0 * drawn), None, "kl inequality, from the margins")


# -- VC


def vc(case: BoundsCase, row: dict[str, Any]) -> None:
    plane, figures, n = _plane(case), row["figures"], case.n
    case.claim("VC, conditions", "kept", None, plane is not None, "a hyperplane, two classes")
    case.count_claim(row, "n", n, figures["n"] == n)
    case.drawn_claim(row)
    if plane is None:
        return
    w, b = plane
    low, high = scores(case.rows, w, 0.0 if b is None else b)
    wrong = int(np.count_nonzero((low + high > 0.0) != (case.index == 1)))
    # SVC's own w is another sum of the same numbers: what is next to 0 may fall on either side.
    near = (low <= 0.0) & (high >= 0.0) if "coef" in case.arrays else np.abs(low + high) < 1e-9
    k = figures["errors"]
    counted = equal(k, wrong, np.count_nonzero(near)) and at_most(k, n)
    case.count_claim(row, "errors", wrong, counted, "counted anew")
    dimension = w.size + (b is not None)
    case.count_claim(row, "dimension", dimension, figures["dimension"] == dimension)
    omega = 1.0 if n <= 2 else _devroye(n, dimension, number(row["delta"]))
    case.value_claim(row, min(1.0, float(np.nextafter(k / n, 2.0)) + omega), None, "Devroye's form, Cover's count")


def _devroye(n: int, dimension: int, delta: float) -> float:
    """(2 + sqrt(4 + a L))/a, a = 2n - 4, L = ln(4 m(n^2)/delta), rounded up; m = 2 sum_(i < dimension) C(n^2 - 1, i)."""
    points, term, total = n * n - 1, 1, 1
    for i in range(1, min(dimension - 1, points) + 1):
        term = term * (points - i + 1) // i
        total += term
        if total.bit_length() > 4 * n + 100_000:  # then the bound is above 1
            return 1.0
    L = divergence.log_of_count(8 * total) - divergence.log(exactly(delta))
    a = exactly(2.0 * n - 4.0)
    return ((exactly(2.0) + (exactly(4.0) + a * L).sqrt()) / a).up


# -- votes


def votes(case: BoundsCase, row: dict[str, Any]) -> None:
    figures, found = row["figures"], recount(case, row["figures"])
    orders = figures["orders"]
    plain = {"first order", "tandem"} | ({"disagreement", "Chebyshev-Cantelli", "C-bound"} if case.K == 2 else set())
    fitting = set(orders) <= plain and len(set(orders)) == len(orders)
    case.count_claim(row, "orders", sorted(plain), fitting)
    if isinstance(found, str):
        case.unchecked.append(f"bounds: errors of the voters ({found})")
    else:
        for name, fresh in found.items():
            near = equal(number(figures[name]), fresh, 1e-9 * (1.0 + abs(fresh)))
            case.count_claim(row, name, fresh, near, "counted anew")
        members_claim(case)
    means = (number(figures["gibbs"]), number(figures["tandem"]), number(figures["disagreement"]))
    n, pairs, kl = figures["n"], figures["pairs"], number(figures["divergence"])
    if not (between(means, 0.0, 1.0) and at_most(1, pairs) and fitting):
        case.count_claim(row, "n", None, False)
        return
    delta = float(case.delta(row, max(1, case.block["tried"]) * len(orders)))
    values, drawn = _orders(orders, means, n, pairs, kl, delta)
    case.drawn_claim(row, drawn)
    case.value_claim(row, min(1.0, *values.values()), None, "kl inequality, from these counts")


def _orders(
    orders: list[str], means: tuple[float, float, float], n: int, pairs: int, kl: float, delta: float
) -> tuple[dict[str, float], float]:
    g, t = (min(1.0, x * (1.0 + 1e-12)) for x in means[:2])
    low = {name: x * (1.0 - 1e-12) for name, x in zip("gtd", means, strict=True)}

    def room(rows: int, times: float, share: float) -> Interval:
        return divergence.budget(rows, exactly(times * kl), Interval.outward(share, share))

    one, two = room(n, 1.0, 0.5 * delta), room(pairs, 2.0, 0.5 * delta)
    drawn = divergence.kl_upper(g, room(n, 1.0, delta))
    g_up, t_up = divergence.kl_upper(g, one), divergence.kl_upper(t, two)
    g_low, t_low, d_low = (
        divergence.kl_lower(low["g"], one), divergence.kl_lower(low["t"], two), divergence.kl_lower(low["d"], two)
    )  # fmt: skip
    found = {}
    for name in orders:
        if name == "first order":
            found[name] = 2.0 * drawn
        elif name == "tandem":
            found[name] = 4.0 * divergence.kl_upper(t, room(pairs, 2.0, delta))
        elif name == "disagreement":
            found[name] = 4.0 * g_up - 2.0 * d_low
        elif name == "Chebyshev-Cantelli":
            below = t_low - g_up + 0.25
            found[name] = (t_up - g_low**2) / below if g_up < 0.5 and below > 0.0 else 1.0
        else:
            sharp = g_up < 0.5 and d_low < 0.5
            found[name] = 1.0 - (1.0 - 2.0 * g_up) ** 2 / (1.0 - 2.0 * d_low) if sharp else 1.0
    return found, drawn
