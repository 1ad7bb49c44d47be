"""The claims of each bound: conditions, counts from the data, and the value that these give."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from ..arithmetic.compare import at_most, between, equal
from ..arithmetic.rounding import Interval, exactly, gamma, total_of
from ..classes import label_index, weights_of_rows
from ..document import number
from ..fingerprint import digest, row_hashes
from ..kernel.labels import safe_sides
from ..kernel.values import Values
from ..linear.labels import gap_safe_labels
from ..linear.recompute import row_weights
from ..rows import as_rows, filled
from ..verdict import Claim
from . import binomial, divergence
from .answers import answers, hyperplane, scores
from .votes import grown, recount

#: A value may be this share above the one that its figures give: it was rounded up, and not made larger.
LOOSE = 1e-6
#: Test errors, or right answers, beyond which no tail is summed.
MOST_COUNTED = 20_000_000
#: Up to this relative gap support vectors are counted as they stand; alpha within FREE of 0 or c is at its bound.
EXACT_GAP = 1e-9
FREE = 1e-9

Found = tuple[list[Claim], list[str]]


class Case:
    """The document, its data and, if there are any, the test rows."""

    def __init__(
        self,
        document: Mapping[str, Any],
        arrays: Mapping[str, Any],
        X: Any,
        y: Any,
        sample_weight: Any,
        *,
        test: tuple[Any, Any] | None,
        tried: int,
        tested: int,
        shared: Any = None,
    ) -> None:
        self.document, self.arrays, self.test, self.shared = document, arrays, test, shared
        self.parameters, self.problem = document["parameters"], document["problem"]
        self.rows, self.tried, self.tested = as_rows(X), max(1, tried), max(1, tested)
        self.n = self.rows.shape[0]
        self.index = label_index(y, document["classes"], self.n)
        self.alike = bool((weights_of_rows(sample_weight, self.n) == 1.0).all())

    def share(self, row: dict[str, Any], parts: int) -> Fraction:
        return Fraction(number(row["delta"])) / parts


def _value(row: dict[str, Any], found: float, proved: bool | None = None, note: str = "") -> Claim:
    claimed = number(row["value"])
    enough = proved is True or at_most(found, claimed)
    close = at_most(claimed, found, LOOSE * found) or (claimed == 1.0 and at_most(1.0, found, LOOSE))
    holds = at_most(claimed, 1.0) and enough and close
    return Claim(f"bounds: {row['method']}", claimed, min(1.0, found), holds, note)


def _count(row: dict[str, Any], name: str, found: Any, holds: bool, note: str = "") -> Claim:
    return Claim(f"bounds: {row['method']}, {name}", row["figures"][name], found, holds, note)


def _not_randomised(row: dict[str, Any]) -> list[Claim]:
    drawn = row["randomised"]
    return [] if drawn is None else [Claim(f"bounds: {row['method']}, randomised", drawn, None, False)]


def _half(row: dict[str, Any], found: float) -> Claim:
    """The claim for the hypothesis that is drawn."""
    claimed = row["randomised"]
    holds = claimed is not None and between(number(claimed), found, found * (1.0 + LOOSE))
    return Claim(f"bounds: {row['method']}, randomised", claimed, found, holds, "for one that is drawn")


# -- held out


def held_out(case: Case, row: dict[str, Any]) -> Found:
    figures = row["figures"]
    k, n, delta = figures["errors"], figures["n"], case.share(row, case.tested)
    if not 0 <= k <= n or n == 0 or min(k, n - k) > MOST_COUNTED:
        return [_count(row, "errors", None, False)], []
    proved = at_most(number(row["value"]), 1.0) and binomial.held_out_holds(k, n, number(row["value"]), delta)
    note = "P(Bin <= k) <= delta, in integers" if n <= binomial.EXACT else "P(Bin <= k) <= delta, rounded outward"
    claims = [_value(row, binomial.held_out(k, n, float(delta)), proved, note), *_not_randomised(row)]
    if case.test is None:
        other = figures["rows"] != case.document["certificate"]["fingerprint"]["rows"]
        claims.append(_count(row, "rows", None, other, "test rows that are not those of the fit"))
        open_ = "bounds: errors on the test rows, and how many occur in training (give the judge these rows too)"
        return claims, [open_]
    rows = as_rows(case.test[0])
    index = label_index(case.test[1], case.document["classes"], rows.shape[0])
    same = digest(row_hashes(rows), "<u8") == figures["rows"] and digest(index, "<i8") == figures["labels"]
    claims.append(_count(row, "n", rows.shape[0], same and n == rows.shape[0], "the test rows are those of the count"))
    if rows.shape[1] == case.rows.shape[1] and rows.shape[0] > 0:
        claims += _new_rows(case, rows, row)
    told = answers(case.document, case.arrays, rows) if rows.shape[1] == case.rows.shape[1] else None
    if told is None:
        return claims, [f"bounds: errors on the test rows (the judge cannot run {case.document['estimator']})"]
    wrong = int(np.count_nonzero(told.classes != index))
    claims.append(_count(row, "errors", wrong, equal(k, wrong, int(told.open.sum())), "counted anew"))
    return claims, []


def _new_rows(case: Case, rows: Any, row: dict[str, Any]) -> list[Claim]:
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
    note = "test rows that are neither those of the fit nor taken from them"
    same = case.shared is not None and equal(number(case.shared), share, 1e-12)
    return [
        _count(row, "rows", None, not taken, note),
        Claim("bounds: shared", case.shared, share, same, "test rows that occur in training"),
    ]


# -- compression


def compression(case: Case, row: dict[str, Any]) -> Found:
    figures = row["figures"]
    k, n = figures["k"], figures["n"]
    broken = _broken(case)
    claims = [Claim("bounds: compression, conditions", "kept", broken or "kept", broken is None), *_not_randomised(row)]
    if broken is not None:
        return claims, []
    least, how = _kept(case, k)
    claims.append(_count(row, "k", least, between(k, least, n), how))
    claims.append(_count(row, "n", case.n, n == case.n))
    if k > n or n != case.n:
        return claims, []
    delta = case.share(row, case.tried)
    proved = at_most(number(row["value"]), 1.0) and binomial.change_holds(k, n, number(row["value"]), delta)
    note = "in integers" if n <= binomial.EXACT else "rounded outward"
    claims.append(_value(row, binomial.change(k, n, float(delta)), proved, f"Campi and Garatti's sum, {note}"))
    return claims, []


def _broken(case: Case) -> str | None:
    """The condition that the document itself shows to be broken."""
    name, p, block = case.document["estimator"], case.parameters, case.document["certificate"]
    if name not in ("LinearSVC", "SVC") or len(case.document["classes"]["values"]) != 2:
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


def _kept(case: Case, k: int) -> tuple[int, str]:
    """How many rows determine the model, at least, and how that is known."""
    alpha = np.abs(np.asarray(case.arrays["dual"])[0])
    weight = np.array([number(w) for w in case.problem["class_weight"]])
    C = number(case.problem["C"])
    c = row_weights(C if math.isfinite(C) else 1.0, np.ones(case.n), weight, case.index)
    linear = case.document["estimator"] == "LinearSVC"
    squared = linear and case.problem["loss"] == "squared_hinge"
    hard = C == math.inf
    tied = squared or hard or (linear and case.problem["offset"] != "free")  # the offset needs no row of its own
    inner = (alpha > FREE * c) & (alpha < (1.0 - FREE) * c)
    ends = 0 if tied or bool(inner.any()) else 2
    support = int(np.count_nonzero(alpha > 0.0)) + ends
    sub = case.document["certificate"]["subproblems"][0]
    if sub["relative_gap"] is not None and at_most(number(sub["relative_gap"]), EXACT_GAP) and support <= k:
        return min(case.n, support), "rows with alpha > 0 at a gap of rounding size"
    if hard:
        return case.n, "no row of a hard margin is proved to be free of it"
    sign = np.where(case.index == 1, 1.0, -1.0)
    if linear:
        w, b = np.asarray(case.arrays["coef"], float)[0], float(np.asarray(case.arrays["intercept"])[0])
        loss, offset, scale = case.problem["loss"], case.problem["offset"], number(case.problem["offset_scale"])
        u = np.asarray(case.arrays["dual"])[0]
        side = -gap_safe_labels(case.rows, sign, c, loss, offset, w, b, u, scale).side
    else:
        u = np.asarray(case.arrays["dual"])[0]
        values = Values(case.rows, case.problem["kernel"], np.arange(case.n), False)
        f, off = values.sums(u)
        radius = math.sqrt(abs(number(sub["gap"])) + abs(number(sub["rounding"])))
        reach = values.norms * radius * (1.0 + 1e-9) + off
        side = safe_sides(f - reach, f + reach, np.arange(case.n), sign, np.ones(case.n), c, (0.0,))
    return min(case.n, int(np.count_nonzero(side >= 0)) + ends), "rows that the gap does not prove to be none"


# -- PAC-Bayes


def _plane(case: Case) -> tuple[np.ndarray, float | None] | None:
    """(w, b), b None where the model has no offset; of a linear SVC w is put together."""
    found = hyperplane(case.document, case.arrays)
    if found is not None:
        return (found[0], None) if case.parameters.get("fit_intercept", True) is False else found
    linear = case.document["estimator"] == "SVC" and case.problem["kernel"]["name"] == "linear"
    if not linear or len(case.document["classes"]["values"]) != 2:
        return None
    u, w = np.asarray(case.arrays["dual"])[0], np.zeros(case.rows.shape[1])
    for block in case.rows.blocks():
        w += u[block.start : block.start + block.n] @ filled(block)
    return w, float(np.asarray(case.arrays["scalars"])[0, 0])


def pac_bayes(case: Case, row: dict[str, Any]) -> Found:
    plane, mu = _plane(case), number(row["figures"]["mu"])
    claims = [Claim("bounds: PAC-Bayes, conditions", "kept", None, plane is not None, "a hyperplane, two classes")]
    claims.append(_count(row, "n", case.n, row["figures"]["n"] == case.n))
    if plane is None or not 0.0 < mu < 1e8:
        return [*claims, _count(row, "mu", None, False)], []
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
    claims += [_half(row, drawn), _value(row, min(1.0, 2.0 * drawn), None, "kl inequality, from the margins")]
    return claims, []


# -- VC


def vc(case: Case, row: dict[str, Any]) -> Found:
    plane, figures, n = _plane(case), row["figures"], case.n
    claims = [Claim("bounds: VC, conditions", "kept", None, plane is not None, "a hyperplane, two classes")]
    claims += [_count(row, "n", n, figures["n"] == n), *_not_randomised(row)]
    if plane is None:
        return claims, []
    w, b = plane
    low, high = scores(case.rows, w, 0.0 if b is None else b)
    wrong = int(np.count_nonzero((low + high > 0.0) != (case.index == 1)))
    # SVC's own w is another sum of the same numbers: what is next to 0 may fall on either side.
    near = (low <= 0.0) & (high >= 0.0) if "coef" in case.arrays else np.abs(low + high) < 1e-9
    k = figures["errors"]
    counted = equal(k, wrong, np.count_nonzero(near)) and at_most(k, n)
    claims.append(_count(row, "errors", wrong, counted, "counted anew"))
    dimension = w.size + (b is not None)
    claims.append(_count(row, "dimension", dimension, figures["dimension"] == dimension))
    omega = 1.0 if n <= 2 else _devroye(n, dimension, number(row["delta"]))
    claims.append(_value(row, min(1.0, float(np.nextafter(k / n, 2.0)) + omega), None, "Devroye's form, Cover's count"))
    return claims, []


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


def votes(case: Case, row: dict[str, Any]) -> Found:
    figures = row["figures"]
    unchecked: list[str] = []
    found = recount(case, figures)
    claims: list[Claim] = []
    two = len(case.document["classes"]["values"]) == 2
    plain = {"first order", "tandem"} | ({"disagreement", "Chebyshev-Cantelli", "C-bound"} if two else set())
    orders = figures["orders"]
    claims.append(_count(row, "orders", sorted(plain), set(orders) <= plain and len(set(orders)) == len(orders)))
    if isinstance(found, str):
        unchecked.append(f"bounds: errors of the voters ({found})")
    else:
        for name, fresh in found.items():
            claimed = number(figures[name])
            near = equal(claimed, fresh, 1e-9 * (1.0 + abs(fresh)))
            claims.append(_count(row, name, fresh, near, "counted anew"))
        made, rest = grown(case)
        claims += made
        unchecked += rest
    g, t, d = (number(figures[name]) for name in ("gibbs", "tandem", "disagreement"))
    n, pairs, kl = figures["n"], figures["pairs"], number(figures["divergence"])
    good = between((g, t, d), 0.0, 1.0) and at_most(1, pairs)
    if not good or not claims[0].holds:
        return [*claims, _count(row, "n", None, False)], unchecked
    values, drawn = _orders(orders, (g, t, d), n, pairs, kl, float(case.share(row, case.tried * len(orders))))
    claims += [_half(row, drawn), _value(row, min(1.0, *values.values()), None, "kl inequality, from these counts")]
    return claims, unchecked


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


CLAIMS: dict[str, Callable[[Case, dict[str, Any]], Found]] = {
    "held-out": held_out,
    "compression": compression,
    "PAC-Bayes": pac_bayes,
    "VC": vc,
    "votes": votes,
    # It cannot hold with high probability: a delta beside it is a false claim.
    "leave-one-out": lambda case, row: ([Claim("bounds: leave-one-out", "with probability", None, False)], []),
}
