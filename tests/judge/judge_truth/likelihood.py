"""Logistic regression without a penalty: loss, decrement, reach and what they prove, by elimination in long double."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .case import ENDINGS, Case, L, Lies, number, solve
from .linear import statement

#: Shares by which honest computations differ: of the loss of no model, of the root of it, of a decrement.
LOSS, DECREMENT, PART = 1e-9, 1e-9, 1e-5


def find(case: Case, lies: Lies) -> None:
    index = case.facts.index()
    case.head(lies, (index, "<i8"))
    statement(case, lies, index, penalty=False)
    K = len(case.facts.labels)
    S = 1 if K == 2 else K
    case.shapes(lies, coef=(case.real, (S, case.d)), intercept=(case.real, (S,)))
    weight = np.array([number(v) for v in case.problem["class_weight"]])[index]
    F, lam, rho, margin, rank = figures(case, (1.0 * case.w) * weight, index)
    _claims(case, lies, F, lam, rho, margin, rank, float((case.w * weight).sum()) * math.log(K))


def figures(case: Case, c: np.ndarray, index: np.ndarray) -> tuple[Any, Any, Any, Any, int]:
    """Loss, decrement, the widest row, the smallest margin, and the rank of the columns."""
    keep = c > 0
    X, c, index = case.facts.X[keep], c[keep].astype(L), index[keep]
    K, free = len(case.facts.labels), case.problem["offset"] == "free"
    kept: list[int] = []  # of columns that depend on each other some, which span the same
    moved = X - X.mean(axis=0) if free else X
    for j in range(X.shape[1]):
        kept += [j] if np.linalg.matrix_rank(moved[:, [*kept, j]].astype(float)) > len(kept) else []
    A = np.hstack([moved[:, kept], np.ones((len(X), 1), dtype=L)]) if free else moved[:, kept]
    W, b = case.a["coef"].astype(L), case.a["intercept"].astype(L)
    Z = X @ W.T + b
    Z = np.hstack([np.zeros_like(Z), Z]) if K == 2 else Z - Z[:, :1]
    rows = np.arange(len(X))
    own = Z[rows, index]
    with np.errstate(all="ignore"):
        top = Z.max(axis=1, keepdims=True)
        E = np.exp(Z - top)
        p = E / E.sum(axis=1, keepdims=True)
        F = (c * (top[:, 0] + np.log(E.sum(axis=1)) - own)).sum()
    others = Z.copy()
    others[rows, index] = -np.inf
    margin = (own - others.max(axis=1)).min()
    slope = p.copy()
    slope[rows, index] = 0
    slope[rows, index] = -slope.sum(axis=1)
    m, S = A.shape[1], K - 1
    g = np.concatenate([(c * slope[:, k]) @ A for k in range(1, K)])
    H = np.zeros((S * m, S * m), dtype=L)
    for k in range(S):
        for j in range(S):
            bend = p[:, k + 1] * ((1 if k == j else 0) - p[:, j + 1])
            H[k * m : (k + 1) * m, j * m : (j + 1) * m] = A.T @ (A * (c * bend)[:, None])
    with np.errstate(all="ignore"):
        inverse = solve(H, np.eye(S * m))
        lam = np.sqrt(g @ inverse @ g)
        wide = L(0)
        for k in range(S):
            for j in (None, *range(k)):
                v = np.zeros((len(A), S * m), dtype=L)
                v[:, k * m : (k + 1) * m] = A
                if j is not None:
                    v[:, j * m : (j + 1) * m] -= A
                wide = max(wide, np.einsum("ij,jk,ik->i", v, inverse, v).max())
    return F, lam, np.sqrt(wide), margin, len(kept)


def bound(lam: Any, reach: Any, loss: Any) -> Any:
    if not reach < 1:
        return loss
    return min(loss, lam * lam * min(1, 0.5 + reach / (6 * (1 - reach))))


def _claims(case: Case, lies: Lies, F: Any, lam: Any, rho: Any, margin: Any, rank: int, null: float) -> None:
    block = case.block
    names = ("loss", "decrement", "reach", "excess", "relative_excess", "rounding")
    loss, decrement, reach, excess, relative, rounding = (number(block[name]) for name in names)
    lies.unless_near("loss", loss, F, LOSS * (F + null))
    lies.unless(block["rank"] is None or (isinstance(block["rank"], int) and block["rank"] == rank), "rank")
    room = DECREMENT * math.sqrt(null) + PART * lam
    known = bool(np.isfinite(lam) and np.isfinite(rho))
    if reach < 1:
        lies.unless_near("decrement", decrement, lam, room)
        low, high = max(0, lam - room), lam + room
        lies.unless(known and rho * low * (1 - PART) <= reach <= rho * high * (1 + PART), "reach")
        below, above = bound(low, rho * low, loss), bound(high, rho * high * (1 + PART), loss)
        lies.unless(known and below * (1 - PART) <= excess <= above * (1 + PART), "excess")
    else:
        if math.isnan(decrement) or not known:
            lies.unless(not math.isfinite(decrement) and reach == math.inf, "reach")
        else:
            lies.unless_near("decrement", decrement, lam, 0.2 * lam + room)
            lies.unless_near("reach", reach, rho * lam, 0.7 * rho * lam)
        lies.unless(reach >= 1 and excess == loss, "excess")
    lies.unless_near("relative_excess", relative, excess / loss if loss else 0.0, 1e-14 * abs(relative))
    lies.unless(0 <= rounding <= excess, "rounding")
    status = block["status"]
    lies.unless(status in ENDINGS, "status")
    lies.unless((status == "converged") == (reach < 1 and relative <= number(block["tol"])), "status")
    lies.unless(status != "infeasible" or margin > 0, "status")
