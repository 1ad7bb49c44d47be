"""Sparse and signed penalties: P, D and the proved zeros by their formulas, in long double, and what follows from them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .case import Case, L, Lies, is_count, number
from .linear import figures_claims, totals


def find(case: Case, lies: Lies) -> None:
    problem, facts = case.problem, case.facts
    Y, c, classes = _targets(case, lies)
    S, subs = len(Y), case.block["subproblems"]
    lies.unless(len(subs) == S, "subproblems")
    case.shapes(
        lies, coef=(case.real, (S, case.d)), intercept=(case.real, (S,)), dual=("f8", (S, case.n)), zeros=("i1", (S, case.d))
    )  # fmt: skip
    positives: list[int | None] = [None] * S
    if classes:
        positives = [1] if len(facts.labels) == 2 else list(range(len(facts.labels)))
    lies.unless([sub["positive"] for sub in subs] == positives, "positive")
    lies.unless(not any(isinstance(sub["positive"], bool | float) for sub in subs), "positive")
    _statement(case, lies)
    lies.unless(problem["offset"] != "none" or not case.a["intercept"].any(), "intercept")
    lies.unless(bool(np.isin(case.a["zeros"], (0, 1)).all()), "zeros")
    common = [number(value) for value in problem["common_part"]]
    lies.unless(len(common) == S, "common_part")
    for k, sub in enumerate(subs):
        y, b = Y[k].astype(L), L(case.a["intercept"][k])
        kept = y[c > 0]
        first = kept[0] if problem["offset"] == "free" and not classes else L(0)
        near = bool((np.abs(kept - first) <= np.abs(first) / 1024).all() and 2 * np.abs(b - first) <= np.abs(first))
        lies.unless(common[k] == (first if near else 0), "common_part")
        P, D, zeros = figures(case, y - L(common[k]), b - L(common[k]), c, k)
        figures_claims(lies, sub, P, D, 1e-6 * float(c.sum()) if classes else 0.0)
        if zeros is not None:
            lies.unless(not (case.a["zeros"][k].astype(bool) & ~zeros).any(), "zeros")
    totals(case, lies)


def _targets(case: Case, lies: Lies) -> tuple[np.ndarray, np.ndarray, bool]:
    """Targets, a line each, and the weights of the rows."""
    problem, C = case.problem, number(case.problem["C"])
    classes = case.document["classes"] is not None
    if classes:
        index = case.facts.index()
        case.head(lies, (index, "<i8"))
        case.class_weights(lies, problem["class_weight"], case.p["class_weight"], index, case.facts.labels)
        lies.unless(problem["columns_of_y"] is None, "columns_of_y")
        K = len(case.facts.labels)
        Y = np.array([np.where(index == k, 1.0, -1.0) for k in ([1] if K == 2 else range(K))])
        return Y, C * case.w * np.array([number(v) for v in problem["class_weight"]])[index], True
    Y = np.asarray(case.facts.y, dtype=np.float64).reshape(case.n, -1).T
    case.head(lies, (Y.T + 0.0, "<f8"))
    lies.unless(problem["class_weight"] is None, "class_weight")
    columns = problem["columns_of_y"]
    lies.unless((columns is None and len(Y) == 1) or (is_count(columns) and columns == len(Y)), "columns_of_y")
    return Y, C * case.w, False


def _statement(case: Case, lies: Lies) -> None:
    p, problem, name = case.p, case.problem, case.document["estimator"]
    l1, l2, C, positive = _wanted(case)
    for key, wanted in (("l1", l1), ("l2", l2), ("C", C)):
        lies.unless(number(problem[key]) == wanted and math.isfinite(wanted) and wanted >= 0, key)
    lies.unless(problem["positive"] is positive, "positive")
    lies.unless(number(problem["epsilon"]) == 0.0, "epsilon")
    lies.unless(
        problem["loss"] == {"LinearSVC": "squared_hinge", "LogisticRegression": "logistic"}.get(name, "squared"), "loss"
    )
    fit = p["fit_intercept"]
    lies.unless(isinstance(fit, bool), "fit_intercept")
    punished = p.get("penalize_intercept", False)
    offset = "none" if not fit else "penalised" if punished is True else "free"
    lies.unless(problem["offset"] == offset, "offset")
    scale = number(p.get("intercept_scaling", 1.0))
    lies.unless(number(problem["offset_scale"]) == (scale if offset == "penalised" else 1.0), "offset_scale")
    if name in ("LinearSVC", "LogisticRegression"):
        lies.unless(isinstance(punished, bool), "penalize_intercept")
        lies.unless(math.isfinite(scale) and scale > 0, "intercept_scaling")
        lies.unless(offset != "free" or scale == 1.0, "intercept_scaling")
        lies.unless(p.get("multi_class", "ovr") in ("ovr", "auto", "deprecated"), "multi_class")
    if name == "LinearSVC":
        lies.unless(p["penalty"] == "l1", "penalty")
        lies.unless(p["loss"] == "squared_hinge", "loss")
    if name == "LogisticRegression":
        lies.unless(p.get("penalty", "deprecated") == "deprecated", "penalty")
    case.same(lies, "tol", p["tol"], case.block["tol"])
    lies.unless(number(case.block["tol"]) >= 0, "tol")


def _wanted(case: Case) -> tuple[float, float, float, Any]:
    """l1, l2, C and positive as the parameters have them."""
    p, name = case.p, case.document["estimator"]
    if name == "LogisticRegression":
        ratio = number(p["l1_ratio"])
        return ratio, 1.0 - ratio, number(p["C"]), False
    if name == "LinearSVC":
        return 1.0, 0.0, number(p["C"]), False
    total, alpha = math.fsum(case.w.tolist()), number(p["alpha"])
    ratio = 1.0 if name == "Lasso" else number(p["l1_ratio"])
    return alpha * ratio, 0.0 if name == "Lasso" else alpha * (1.0 - ratio), 1.0 / total, p["positive"]


def figures(case: Case, y: Any, b: Any, weights: np.ndarray, k: int) -> tuple[Any, Any, Any]:
    """P, D and where w* is 0 for certain; None where u is outside its domain, or a sign is not kept."""
    problem, keep = case.problem, weights > 0
    l1, l2, positive, loss = L(number(problem["l1"])), L(number(problem["l2"])), problem["positive"], problem["loss"]
    w, u = case.a["coef"][k].astype(L), case.a["dual"][k]
    X, y, c = case.facts.X[keep].astype(L), y[keep], weights[keep].astype(L)
    offset, s = problem["offset"], L(number(problem["offset_scale"]))
    m = y * (X @ w + b)
    P = {
        "squared": lambda: (c * (y - X @ w - b) ** 2).sum() / 2,
        "logistic": lambda: (c * np.logaddexp(L(0), -m)).sum(),
        "squared_hinge": lambda: (c * np.maximum(0, 1 - m) ** 2).sum(),
    }[loss]()
    P += l1 * np.abs(w).sum() + l2 * (w * w).sum() / 2
    if offset == "penalised":
        P += l1 * np.abs(b / s) + l2 * (b / s) ** 2 / 2
    alpha = u[keep] * y.astype(float)
    outside = (loss != "squared" and (alpha < 0).any()) or (loss == "logistic" and (alpha > weights[keep]).any())
    if u[~keep].any() or outside or (positive and (w < 0).any()):
        return P, None, None
    u = u[keep].astype(L)
    if loss == "logistic":
        share = np.stack([u * y / c, (c - u * y) / c])
        with np.errstate(all="ignore"):
            terms = -c * np.where(share > 0, share * np.log(share), 0).sum(axis=0)
    else:
        terms = u * y - u * u / ({"squared": 2, "squared_hinge": 4}[loss] * c)
    v = u @ X
    if offset == "penalised":
        v = np.append(v, s * u.sum())
    e = np.maximum((v if positive else np.abs(v)) - l1, 0)
    costs = [e.max() * P / l1] if l1 > 0 else []
    costs += [(e * e).sum() / (2 * l2)] if l2 > 0 else []
    cost = L(0) if not e.any() else min(costs, default=None)
    if cost is None:
        return P, None, None
    D = terms.sum() - cost
    missed = np.abs(u.sum())
    if offset == "free" and missed > 0:
        reach = [np.abs(X).max() * P / l1] if l1 > 0 else []
        reach += [np.sqrt(2 * P / l2 * (X * X).sum(axis=1).max())] if l2 > 0 else []
        start = {"squared": lambda: np.abs(y).max(), "squared_hinge": lambda: L(1),
                 "logistic": lambda: np.abs(np.log(c[y > 0].sum() / c[y < 0].sum()))}[loss]()  # fmt: skip
        D -= (start + min(reach)) * missed
    mean = c @ X / c.sum() if offset == "free" else np.zeros(case.d, L)
    spread = (c[:, None] * (X - mean) ** 2).sum(axis=0)
    bend = {"squared": 1.0, "logistic": 0.25, "squared_hinge": 2.0}[loss]
    radius = np.sqrt(2 * max(P - D, L(0)) * L(bend) * spread) + np.abs(mean) * missed
    size = (v if positive else np.abs(v))[: case.d]
    return P, D, np.asarray(size + radius <= l1 * (1 + L(1e-12)))
