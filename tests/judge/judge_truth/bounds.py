"""Bounds on new rows: binomial tails in long double, the other formulas in floats, counts by the model's own answers."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from .case import Case, L, Lies, digest, is_count, number, row_hash

#: A value is at most this share above what its figures give: it was rounded up.
LOOSE = 2e-6


def find(case: Case, honest: dict[str, Any], new: Any, lies: Lies) -> None:
    block, start = case.document["bounds"], honest["bounds"]
    lies.unless(block.keys() == start.keys(), "bounds")
    delta = number(block["delta"])
    rows = block["rows"]
    lies.unless(0 < delta < 1, "delta")
    shares = [Fraction(number(row["delta"])) for row in rows if row["delta"] is not None]
    lies.unless(sum(shares, Fraction(0)) <= Fraction(delta) and all(0 < share < 1 for share in shares), "delta")
    lies.unless(all(is_count(block[key]) and block[key] > 0 for key in ("tried", "tested")), "tried")
    methods, values = [row["method"] for row in rows], [number(row["value"]) for row in rows]
    lies.unless(len(set(methods)) == len(methods) and values == sorted(values), "order")
    if "held-out" not in methods:
        lies.unless(block["shared"] is None, "shared")
    for row in rows:
        method = row["method"]
        known = {each["method"]: each for each in start["rows"]}[method]
        lies.unless(row.keys() == known.keys() and row["figures"].keys() == known["figures"].keys(), "bounds")
        lies.unless((row["delta"] is None) == (method == "leave-one-out"), "delta")
        lies.unless(0 <= number(row["value"]) <= 1, "value")
        if method not in ("PAC-Bayes", "votes"):
            lies.unless(row["randomised"] is None, "randomised")
        {"held-out": _held_out, "compression": _compression, "PAC-Bayes": _pac_bayes, "VC": _vc, "votes": _votes,
         "leave-one-out": _leave_one_out}[method](case, row, new, lies)  # fmt: skip


def _value(lies: Lies, claimed: float, least: float) -> None:
    """At least what the figures give, and hardly more; never above 1."""
    lies.unless(min(1.0, least) * (1 - 1e-9) <= claimed <= min(1.0, least * (1 + LOOSE)), "value")


def _lowest(holds: Callable[[float], bool], low: float) -> float:
    high = 1.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _binomial(k: int, n: int, p: float) -> tuple[Any, Any]:
    """P(Bin = k) and P(Bin <= k)."""
    j = np.arange(k + 1)
    terms = np.array([L(math.comb(n, i)) for i in j]) * L(p) ** j * (1 - L(p)) ** (n - j)
    return terms[-1], terms.sum()


def _held_out(case: Case, row: Any, new: Any, lies: Lies) -> None:
    figures, block = row["figures"], case.document["bounds"]
    k, n, share = figures["errors"], figures["n"], number(row["delta"]) / block["tested"]
    lies.unless(is_count(k) and is_count(n) and k <= n, "errors")
    X, y = np.asarray(new.X, dtype=float), np.asarray(new.y)
    hashes = [row_hash(line) for line in X.tolist()]
    index = np.array([case.facts.labels.index(v) for v in y.tolist()])
    lies.unless(figures["rows"] == digest(np.array(hashes, dtype=np.uint64), "<u8"), "rows")
    lies.unless(figures["labels"] == digest(index, "<i8") and n == len(y), "labels")
    seen = sum(each in set(case.facts.hashes) for each in hashes) / len(hashes)
    lies.unless(block["shared"] is not None and abs(number(block["shared"]) - seen) <= 1e-11, "shared")
    wrong = int((_answers(case, X) != index).sum())
    lies.unless(k == wrong, "errors")
    _value(lies, number(row["value"]), _lowest(lambda p: _binomial(k, n, p)[1] <= share, k / n) if k < n else 1.0)


def _scores(case: Case, X: np.ndarray) -> np.ndarray:
    if "coef" in case.a:
        return X @ case.a["coef"][0].astype(float) + float(case.a["intercept"][0])
    raise LookupError("no scores are known")


def _answers(case: Case, X: np.ndarray) -> np.ndarray:
    return (_scores(case, X) > 0).astype(int)


def _kept(case: Case) -> tuple[int, int]:
    """Rows with a multiplier, and how many more an offset may need."""
    alpha, C = np.abs(case.a["dual"][0]), number(case.problem["C"])
    weight = np.array([number(v) for v in case.problem["class_weight"]])[case.facts.index()]
    inner = (alpha > 1e-9 * C * weight) & (alpha < (1 - 1e-9) * C * weight)
    linear = case.document["estimator"] == "LinearSVC"
    tied = linear and (case.problem["loss"] == "squared_hinge" or case.problem["offset"] != "free")
    # A multiplier of 1e-18 holds up nothing: the row is as far from the optimum's margin as it was with 0.
    return int((alpha > 1e-9 * C * weight).sum()), 0 if tied or inner.any() else 2


def _compression(case: Case, row: Any, new: Any, lies: Lies) -> None:
    figures = row["figures"]
    k, n = figures["k"], figures["n"]
    rows, more = _kept(case)
    lies.unless(case.block["status"] in ("converged", "stalled") and case.p["class_weight"] != "balanced", "conditions")
    lies.unless(is_count(n) and n == case.n and is_count(k) and min(n, rows + more) <= k <= n, "k")
    share = number(row["delta"]) / case.document["bounds"]["tried"]

    def holds(t: float) -> bool:
        one, below = _binomial(k, n, t)
        return bool(share * (1 - below) >= t * n * one)

    _value(lies, number(row["value"]), _lowest(holds, k / n) if k < n else 1.0)


def _leave_one_out(case: Case, row: Any, new: Any, lies: Lies) -> None:
    figures = row["figures"]
    rows, more = _kept(case)
    lies.unless(is_count(figures["n"]) and figures["n"] == case.n, "n")
    lies.unless(is_count(figures["count"]) and rows <= figures["count"] <= rows + more, "count")
    lies.unless(abs(number(row["value"]) - figures["count"] / case.n) <= 1e-11, "value")


def _plane(case: Case) -> tuple[np.ndarray, float, bool]:
    if "coef" in case.a:
        return case.a["coef"][0].astype(float), float(case.a["intercept"][0]), case.p["fit_intercept"]
    if case.problem["kernel"]["name"] != "linear":
        raise LookupError("no hyperplane")
    return case.a["dual"][0] @ case.facts.floats, float(case.a["scalars"][0, 0]), True


def _kl(q: float, p: float) -> float:
    first = q * math.log(q / p) if q else 0.0
    return first + ((1 - q) * math.log((1 - q) / (1 - p)) if q < 1 else 0.0)


def _kl_upper(q: float, n: int, kl: float, delta: float) -> float:
    budget = (kl + math.log(2 * math.sqrt(n) / delta)) / n
    return _lowest(lambda p: p >= 1 or _kl(q, p) >= budget, q) if q < 1 else 1.0


def _kl_lower(q: float, n: int, kl: float, delta: float) -> float:
    budget = (kl + math.log(2 * math.sqrt(n) / delta)) / n
    return 1.0 - _lowest(lambda p: p >= 1 or _kl(1 - q, p) >= budget, 1 - q) if q > 0 else 0.0


def _pac_bayes(case: Case, row: Any, new: Any, lies: Lies) -> None:
    mu, n = number(row["figures"]["mu"]), row["figures"]["n"]
    lies.unless(is_count(n) and n == case.n and 0 < mu < 1e8, "n")
    w, b, offset = _plane(case)
    theta = np.append(w, b) if offset else w
    A = np.hstack([case.facts.floats, np.ones((case.n, 1))]) if offset else case.facts.floats
    sign = np.where(case.facts.index() == 1, 1.0, -1.0)
    margins = sign * (A @ theta) / (np.linalg.norm(theta) * np.linalg.norm(A, axis=1))
    seen = float(np.mean([0.5 * math.erfc(mu * m / math.sqrt(2)) for m in margins]))
    drawn = _kl_upper(seen, n, mu * mu / 2, number(row["delta"]))
    _value(lies, number(row["randomised"]), drawn)
    _value(lies, number(row["value"]), 2 * drawn)


def _vc(case: Case, row: Any, new: Any, lies: Lies) -> None:
    figures = row["figures"]
    w, b, offset = _plane(case)
    n, k, dimension = figures["n"], figures["errors"], figures["dimension"]
    lies.unless(is_count(n) and n == case.n and is_count(dimension) and dimension == len(w) + offset, "n")
    wrong = ((case.facts.floats @ w + b > 0) != (case.facts.index() == 1)).sum()
    lies.unless(is_count(k) and k == wrong, "errors")
    cover = 2 * sum(math.comb(n * n - 1, i) for i in range(dimension))
    size, logs = 2 * n - 4, math.log(4 * cover / number(row["delta"]))
    _value(lies, number(row["value"]), k / n + (2 + math.sqrt(4 + size * logs)) / size)


def _votes(case: Case, row: Any, new: Any, lies: Lies) -> None:
    """The members are not in the document, so that their errors are not known; what follows from these is."""
    f = row["figures"]
    orders = f["orders"]
    g, t, d, kl = (number(f[name]) for name in ("gibbs", "tandem", "disagreement", "divergence"))
    n, pairs = f["n"], f["pairs"]
    lies.unless(0 <= min(g, t, d) and max(g, t, d) <= 1 and kl >= 0 and is_count(n) and is_count(pairs), "figures")
    lies.unless(n > 0 and pairs > 0 and is_count(f["voters"]), "figures")
    known = ("first order", "tandem", "disagreement", "Chebyshev-Cantelli", "C-bound")
    lies.unless(len(set(orders)) == len(orders) > 0 and set(orders) <= set(known), "orders")
    lies.unless(len(case.facts.labels) == 2 or set(orders) <= set(known[:2]), "orders")
    delta = number(row["delta"]) / (case.document["bounds"]["tried"] * len(orders))
    drawn = _kl_upper(g, n, kl, delta)
    g_up, t_up = _kl_upper(g, n, kl, delta / 2), _kl_upper(t, pairs, 2 * kl, delta / 2)
    g_low, t_low, d_low = _kl_lower(g, n, kl, delta / 2), *(_kl_lower(x, pairs, 2 * kl, delta / 2) for x in (t, d))
    below = t_low - g_up + 0.25
    sharp = g_up < 0.5 and d_low < 0.5
    found = {
        "first order": 2 * drawn,
        "tandem": 4 * _kl_upper(t, pairs, 2 * kl, delta),
        "disagreement": 4 * g_up - 2 * d_low,
        "Chebyshev-Cantelli": (t_up - g_low**2) / below if g_up < 0.5 and below > 0 else 1.0,
        "C-bound": 1 - (1 - 2 * g_up) ** 2 / (1 - 2 * d_low) if sharp else 1.0,
    }
    _value(lies, number(row["randomised"]), drawn)
    _value(lies, number(row["value"]), min(found[name] for name in orders))


__all__ = ["find"]
