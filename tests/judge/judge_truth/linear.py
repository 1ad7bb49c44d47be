"""Linear classifiers with a penalty: P and D by their formulas, row by row, and what follows from them."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from .case import Case, L, Lies, dot, exact, number, status_of_parts

#: How far a figure may be from the truth: what the certificate admits as its rounding, and no more than this share of its size.
SHARE = 1e-10
ULPS = 4e-16
__all__ = ["figures_claims", "find", "gap_claims", "statement", "totals"]


def find(case: Case, lies: Lies) -> None:
    index = case.facts.index()
    case.head(lies, (index, "<i8"))
    statement(case, lies, index)
    problem, subs = case.problem, case.block["subproblems"]
    K, softmax = len(case.facts.labels), problem["loss"] == "softmax"
    S = K if softmax else len(subs)
    case.shapes(lies, coef=(case.real, (S, case.d)), intercept=(case.real, (S,)), dual=("f8", (S, case.n)))
    positives = [None] if softmax else [1] if K == 2 else list(range(K))
    lies.unless([sub["positive"] for sub in subs] == positives, "positive")
    lies.unless(not any(isinstance(sub["positive"], bool | float) for sub in subs), "positive")
    lies.unless(problem["offset"] != "none" or not case.a["intercept"].any(), "intercept")
    null, found = figures(case)
    for sub, (P, D) in zip(subs, found, strict=True):
        figures_claims(lies, sub, P, D, null)
    totals(case, lies)


def figures(case: Case) -> tuple[float, list[tuple[Any, Any]]]:
    """The loss of no model, and P and D of each subproblem."""
    problem, index, K = case.problem, case.facts.index(), len(case.facts.labels)
    C = number(problem["C"])
    hard = math.isinf(C)
    weight = np.array([number(v) for v in problem["class_weight"]])[index]
    c = ((1.0 if hard else C) * case.w) * weight
    if hard:
        c = ((case.w > 0) & (weight > 0)).astype(float)
    if problem["loss"] == "softmax":
        return float(c.sum()), [softmax_figures(case, c, index)]
    found = []
    for k, positive in enumerate([1] if K == 2 else range(K)):
        w, b, u = (case.a[name][k].astype(np.float64) for name in ("coef", "intercept", "dual"))
        found.append(binary_figures(case, c, np.where(index == positive, 1, -1), w, float(b), u, hard))
    return 0.0 if hard else float(c.sum()), found


def statement(case: Case, lies: Lies, index: np.ndarray, penalty: bool = True) -> None:
    """Parameters and problem say the same."""
    p, problem, K = case.p, case.problem, len(case.facts.labels)
    name = case.document["estimator"]
    loss = p["loss"] if name == "LinearSVC" else "logistic" if K == 2 else "softmax"
    allowed = ("hinge", "squared_hinge") if name == "LinearSVC" else ("logistic", "softmax")
    lies.unless(problem["loss"] == loss and loss in allowed, "loss")
    lies.unless(p.get("penalty", "l2") in ("l2", "deprecated"), "penalty")
    ratio = p.get("l1_ratio")
    lies.unless(ratio in (None, "deprecated") or number(ratio) == 0.0, "l1_ratio")
    words = ("multinomial", "auto", "deprecated") if loss == "softmax" else ("ovr", "auto", "deprecated")
    lies.unless(p.get("multi_class", "auto") in words, "multi_class")
    case.same(lies, "C", p["C"], problem["C"])
    C = number(problem["C"])
    lies.unless(C > 0 and (math.isfinite(C) or name == "LinearSVC") if penalty else C == math.inf, "C")
    case.same(lies, "tol", p["tol"], case.block["tol"])
    lies.unless(number(case.block["tol"]) >= 0, "tol")
    fit, punished = p["fit_intercept"], p["penalize_intercept"]
    lies.unless(isinstance(fit, bool) and isinstance(punished, bool), "fit_intercept")
    offset = "none" if not fit else "penalised" if punished and penalty else "free"
    lies.unless(problem["offset"] == offset, "offset")
    scale = number(p["intercept_scaling"])
    lies.unless(math.isfinite(scale) and scale > 0, "intercept_scaling")
    lies.unless(number(problem["offset_scale"]) == (scale if offset == "penalised" else 1.0), "offset_scale")
    lies.unless(offset != "free" or punished or scale == 1.0, "intercept_scaling")
    case.class_weights(lies, problem["class_weight"], p["class_weight"], index, case.facts.labels)


def binary_figures(
    case: Case, c: np.ndarray, y: np.ndarray, w: np.ndarray, b: float, u: np.ndarray, hard: bool
) -> tuple[Any, Any]:
    """P(w, b) and the dual bound of u; None where u is outside its domain, or a hard margin is not kept."""
    problem, keep = case.problem, c > 0
    X, c, y = case.facts.X[keep], c[keep].astype(L), y[keep]
    loss = "hard" if hard else problem["loss"]
    alpha = u[keep] * y
    if u[~keep].any() or (alpha < 0).any() or (loss in ("hinge", "logistic") and (alpha > c).any()):
        return _primal(case, loss, X, y, c, w, b), None
    P = _primal(case, loss, X, y, c, w, b)
    a, U = alpha.astype(L), u[keep].astype(L)
    if loss == "logistic":
        share = np.stack([a / c, (c - a) / c])
        with np.errstate(all="ignore"):
            terms = -c * np.where(share > 0, share * np.log(share), 0).sum(axis=0)
    else:
        terms = a - (a * a / (4 * c) if loss == "squared_hinge" else 0)
    D = terms.sum() - ((U @ X) ** 2).sum() / 2
    r, s = U.sum(), L(number(problem["offset_scale"]))
    if problem["offset"] == "penalised":
        D -= (s * r) ** 2 / 2
    if problem["offset"] == "free" and sum(exact(u[keep]), Fraction(0)):
        if P is None:
            return None, None
        reach = np.sqrt(2 * P * (X**2).sum(axis=1).max())
        plus, minus = c[y > 0].sum(), c[y < 0].sum()
        D -= ((np.abs(np.log(plus / minus)) if loss == "logistic" else 1) + reach) * np.abs(r)
    return P, D


def _primal(case: Case, loss: str, X: Any, y: Any, c: Any, w: np.ndarray, b: float) -> Any:
    W, scale = w.astype(L), L(number(case.problem["offset_scale"]))
    P = (W**2).sum() / 2 + ((L(b) / scale) ** 2 / 2 if case.problem["offset"] == "penalised" else 0)
    if loss == "hard":
        rows, theta = X.astype(np.float64).tolist(), exact(w)
        margins = [dot(exact(x), theta) + Fraction(b) for x in rows]
        return P if all(m * int(s) >= 1 for m, s in zip(margins, y, strict=True)) else None
    m = y * (X @ W + L(b))
    slack = np.maximum(0, 1 - m)
    with np.errstate(all="ignore"):
        soft = np.maximum(0, -m) + np.log1p(np.exp(-np.abs(m)))
    return P + (c * {"hinge": slack, "squared_hinge": slack**2, "logistic": soft}[loss]).sum()


def softmax_figures(case: Case, c: np.ndarray, index: np.ndarray) -> tuple[Any, Any]:
    W, b, U = (case.a[name].astype(np.float64) for name in ("coef", "intercept", "dual"))
    K, s, offset = len(W), L(number(case.problem["offset_scale"])), case.problem["offset"]
    keep = c > 0
    X, rows = case.facts.X, np.arange(case.n)
    Z = X @ W.T.astype(L) + b.astype(L)
    Z = Z - Z[rows, index][:, None]
    top = Z.max(axis=1)
    with np.errstate(all="ignore"):
        losses = top + np.log(np.exp(Z - top[:, None]).sum(axis=1))
    P = (W.astype(L) ** 2).sum() / 2 + (c[keep] * losses[keep]).sum()
    P += ((b.astype(L) / s) ** 2).sum() / 2 if offset == "penalised" else 0
    full = U.T.astype(L).copy()
    feasible = True
    for i in range(case.n):
        others = [Fraction(v) for k, v in enumerate(U[:, i].tolist()) if k != index[i]]
        t = -sum(others, Fraction(0))
        feasible &= all(v <= 0 for v in others) and t <= Fraction(float(c[i]))
        feasible &= abs(Fraction(float(U[index[i], i])) - t) <= t * K * Fraction(2) ** -50
        full[i, index[i]] = -np.delete(full[i], index[i]).sum()
    if not feasible:
        return P, None
    cost = c[keep].astype(L)[:, None]
    p = -full[keep] / cost
    p[np.arange(len(p)), index[keep]] += 1
    with np.errstate(all="ignore"):
        entropy = -(cost * np.where(p > 0, p * np.log(p), 0)).sum()
    V, r = full[keep].T @ X[keep], full[keep].sum(axis=0)
    D = entropy - (V**2).sum() / 2 - (((s * r) ** 2).sum() / 2 if offset == "penalised" else 0)
    if offset == "free":
        masses = np.array([c[index == k].astype(L).sum() for k in range(K)])
        B = np.log(masses.max() / masses.min()) / 2 + np.sqrt(P * (X[keep] ** 2).sum(axis=1).max())
        D -= B * np.abs(r).sum()
    return P, D


def figures_claims(lies: Lies, sub: dict[str, Any], P: Any, D: Any, null: float, share: float = SHARE) -> None:
    """Primal, dual, gap and rounding. ``null`` is what P would be without a model: below its rounding there is nothing.

    The judge adds up dual and gap in float64 too, and its enclosure of them is as wide again as the stated rounding."""
    if unkept(sub):
        lies.unless(sub["status"] != "converged", "margins are not proved kept")
        return
    if P is None or D is None:
        lies.append("dual is feasible and margins are kept")
        return
    primal, dual, gap, rounding = (number(sub[key]) for key in ("primal", "dual", "gap", "rounding"))
    size = abs(P) + null
    both = size + abs(D)
    lies.unless(0 <= rounding <= share * both, "rounding")
    lies.unless_near("primal", primal, P, min(rounding, share * size) + ULPS * size)
    lies.unless_near("dual", dual, D, min(2.0 * rounding, share * both) + ULPS * both)
    lies.unless_near("gap", gap, P - D, min(2.0 * rounding, share * both) + ULPS * both)


def unkept(block: dict[str, Any]) -> bool:
    """A hard margin whose margins are not proved kept: P is infinite, and P* >= 0 is all that is said."""
    silent = number(block["primal"]) == number(block["gap"]) == math.inf and number(block["dual"]) == 0.0
    return silent and number(block["rounding"]) == 0.0 and math.isnan(number(block["relative_gap"]))


def gap_claims(lies: Lies, block: dict[str, Any], parts: int = 1) -> float:
    """The gap is the difference, the relative gap its share; returns that."""
    if unkept(block):
        return math.inf
    P, D, gap, rounding = (number(block[key]) for key in ("primal", "dual", "gap", "rounding"))
    size = max(abs(P), abs(D))
    lies.unless_near("gap", gap, P - D, rounding + parts * 4 * ULPS * size)
    relative = number(block["relative_gap"])
    share = gap / size if size else 0.0
    lies.unless_near("relative_gap", relative, share, 1e-14 * abs(share))
    return relative


def totals(case: Case, lies: Lies) -> None:
    """Sums over the subproblems; each is converged where its relative gap is within tol."""
    block = case.block
    subs, tol = block["subproblems"], number(block["tol"])
    for sub in subs:
        lies.unless((gap_claims(lies, sub) <= tol) == (sub["status"] == "converged"), "status")
    sums(lies, block, ("primal", "dual", "gap", "rounding"))
    gap_claims(lies, block, len(subs) + 3)
    status_of_parts(lies, block["status"], [sub["status"] for sub in subs])


def sums(lies: Lies, block: dict[str, Any], names: tuple[str, ...]) -> None:
    for name in names:
        parts = [L(number(sub[name])) for sub in block["subproblems"]]
        if np.isinf(sum(parts)):
            lies.unless(number(block[name]) == sum(parts), name)
            continue
        lies.unless_near(name, number(block[name]), sum(parts), ULPS * len(parts) * sum(map(abs, parts)))
