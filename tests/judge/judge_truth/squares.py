"""Least squares: residuals and their cosines with the columns, and the gap where there is a penalty."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .case import Case, L, Lies, is_count, number, status_of_parts
from .linear import figures_claims

#: Shares by which honest computations differ.
SQUARES, COSINE, ADMITTED = 1e-9, 2e-11, {"f8": 1e-9, "f4": 1e-4}


def find(case: Case, lies: Lies) -> None:
    problem, block, p, facts = case.problem, case.block, case.p, case.facts
    Y, weight = targets_of(case)
    if case.document["estimator"] == "LeastSquaresClassifier":
        index = facts.index()
        case.head(lies, (index, "<i8"))
        case.class_weights(lies, problem["class_weight"], p["class_weight"], index, facts.labels)
        lies.unless(problem["columns_of_y"] is None, "columns_of_y")
    else:
        case.head(lies, (Y.T + 0.0, "<f8"))
        lies.unless(problem["class_weight"] is None, "class_weight")
        columns = problem["columns_of_y"]
        lies.unless((columns is None and len(Y) == 1) or (is_count(columns) and columns == len(Y)), "columns_of_y")
    S, gap = len(Y), block["kind"] == "gap"
    targets = block["targets"]
    lies.unless(len(targets) == S, "targets")
    form = {"coef": (case.real, (S, case.d)), "intercept": (case.real, (S,))}
    case.shapes(lies, **form, **({"dual": ("f8", (S, case.n))} if gap else {}))
    alpha = [number(v) for v in problem["alpha"]]
    _statement(case, lies, alpha, S)
    keep = weight > 0
    free = problem["offset"] == "free"
    common = common_of(case, S)
    first, b = Y[:, keep][:, 0].astype(L), case.a["intercept"].astype(L)
    near = (np.abs(Y[:, keep] - first[:, None]).max(axis=1) <= np.abs(first) / 1024) & (
        2 * np.abs(b - first) <= np.abs(first)
    )
    lies.unless("common_part" not in problem or bool((common == np.where(free & near, first, 0)).all()), "common_part")
    rank = int(np.linalg.matrix_rank(_centred(case, keep, weight).astype(float)))
    lies.unless(block["rank"] is None or (is_count(block["rank"]) and block["rank"] == rank), "rank")
    for k, target in enumerate(targets):
        y, s = Y[k][keep].astype(L), weight[keep].astype(L)
        tss = (s * (y - s @ y / s.sum()) ** 2).sum()
        size = tss if free else (s * y * y).sum()
        about = y - y[0] if free else y
        rss, r2, cosine = residuals(case, Y[k], weight, k)
        lies.unless_near("rss", number(target["rss"]), rss, SQUARES * size + 4e-16 * rss)
        lies.unless_near("r2", number(target["r2"]), r2, SQUARES * (size + rss) / tss)
        tol, rounding = number(block["tol"]), number(target["rounding"])
        if not gap:
            claimed = number(target["orthogonality"])
            lies.unless_near("orthogonality", claimed, cosine, COSINE + 1e-8 * cosine)
            lies.unless(0 <= rounding <= ADMITTED[case.real], "rounding")
            reached = claimed <= tol + rounding
        else:
            P, D = penalised(case, k, Y[k], weight)
            figures_claims(lies, target, P, D, float(size) / alpha[k], 1e-9)
            reached = _reached(lies, target, tol, float(s.sum() * np.abs(about).max() ** 2) / alpha[k])
        lies.unless((target["status"] == "converged") == reached, "status")
    status_of_parts(lies, block["status"], [target["status"] for target in targets])


def targets_of(case: Case) -> tuple[np.ndarray, np.ndarray]:
    """Targets, a line each, and the weights of the rows."""
    facts = case.facts
    if case.document["estimator"] != "LeastSquaresClassifier":
        return np.asarray(facts.y, dtype=np.float64).reshape(case.n, -1).T, case.w
    index, K = facts.index(), len(facts.labels)
    Y = np.array([np.where(index == k, 1.0, -1.0) for k in ([1] if K == 2 else range(K))])
    return Y, case.w * np.array([number(v) for v in case.problem["class_weight"]])[index]


def common_of(case: Case, S: int) -> np.ndarray:
    """What is taken from targets and offsets; nothing where the document says nothing."""
    stated = case.problem.get("common_part")
    return np.array([L(number(v)) for v in stated] if stated is not None else [L(0)] * S)


def _statement(case: Case, lies: Lies, alpha: list[float], S: int) -> None:
    p, problem = case.p, case.problem
    given = p.get("alpha", 0.0)
    given = given if isinstance(given, list) else [given]
    lies.unless(alpha == [number(v) for v in (given * S if len(given) == 1 else given)] and min(alpha) >= 0, "alpha")
    lies.unless(case.document["estimator"] != "LinearRegression" or not any(alpha), "alpha")
    lies.unless(case.block["kind"] == ("gap" if min(alpha) > 0 else "orthogonality"), "kind")
    lies.unless(problem["loss"] == "squared", "loss")
    lies.unless(isinstance(p["fit_intercept"], bool), "fit_intercept")
    lies.unless(problem["offset"] == ("free" if p["fit_intercept"] else "none"), "offset")
    lies.unless(p["fit_intercept"] or not case.a["intercept"].any(), "intercept")
    lies.unless(p.get("positive", False) is False, "positive")
    case.same(lies, "tol", p["tol"], case.block["tol"])


def _centred(case: Case, keep: np.ndarray, weight: np.ndarray) -> np.ndarray:
    X, s = case.facts.X[keep], weight[keep].astype(L)
    return X - s @ X / s.sum() if case.problem["offset"] == "free" else X


def residuals(case: Case, target: np.ndarray, weight: np.ndarray, k: int) -> tuple[Any, Any, Any]:
    """Sum of squares, R2, and the largest cosine of the residuals with a column."""
    keep = weight > 0
    X, s, y = case.facts.X[keep], weight[keep].astype(L), target[keep].astype(L)
    w, b, alpha = case.a["coef"][k].astype(L), L(case.a["intercept"][k]), L(number(case.problem["alpha"][k]))
    r, centred = y - X @ w - b, _centred(case, keep, weight)
    rss, tss = (s * r * r).sum(), (s * (y - s @ y / s.sum()) ** 2).sum()
    lengths = np.sqrt((s[:, None] * centred**2).sum(axis=0))
    cosine = (np.abs((s * r) @ centred - alpha * w) / (lengths * np.sqrt(rss))).max()
    if case.problem["offset"] == "free":
        cosine = max(cosine, np.abs((s * r).sum()) / np.sqrt(s.sum() * rss))
    return rss, 1 - rss / tss, cosine


def penalised(case: Case, k: int, target: np.ndarray, weight: np.ndarray) -> tuple[Any, Any]:
    """P and D of one target, with c = weight / alpha; no D where a row without weight has a part."""
    keep, alpha = weight > 0, L(number(case.problem["alpha"][k]))
    common = common_of(case, k + 1)[k]
    X, y, c = case.facts.X[keep], target[keep].astype(L) - common, weight[keep].astype(L) / alpha
    w, b, u = case.a["coef"][k].astype(L), L(case.a["intercept"][k]) - common, case.a["dual"][k]
    if u[~keep].any():
        return L(0), None
    u = u[keep].astype(L)
    P = (w**2).sum() / 2 + (c * (y - X @ w - b) ** 2).sum() / 2
    D = (u * y - u * u / (2 * c)).sum() - ((u @ X) ** 2).sum() / 2
    if case.problem["offset"] == "free":
        D -= (np.abs(y).max() + np.sqrt(2 * P * (X**2).sum(axis=1).max())) * np.abs(u.sum())
    return P, D


def _reached(lies: Lies, target: dict[str, Any], tol: float, largest: float) -> bool:
    """Within tol; or the gap is below its rounding, which is small beside the targets."""
    P, D, gap, relative, rounding = (number(target[k]) for k in ("primal", "dual", "gap", "relative_gap", "rounding"))
    size = max(abs(P), abs(D))
    lies.unless_near("relative_gap", relative, gap / size if size else 0.0, 1e-14 * abs(relative))
    lies.unless(math.isfinite(relative), "relative_gap")
    return relative <= tol or (gap <= rounding <= tol * largest)
