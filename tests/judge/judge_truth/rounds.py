"""AdaBoost: the weights of the rows made anew in every round, and everything that is said of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .case import ENDINGS, Case, L, Lies, is_count, number

#: Shares by which honest sums differ; votes that differ by less are equal.
ROOM, TIE = 4e-8, 4e-9


def find(case: Case, lies: Lies) -> None:
    if case.document["estimator"] == "AdaBoostRegressor":
        _regressor(case, lies)
        return
    problem, p, block, a = case.problem, case.p, case.block, case.a
    index, K = case.facts.index(), len(case.facts.labels)
    case.head(lies, (index, "<i8"))
    T, stump = problem["rounds"], problem["learner"] == "stump"
    lies.unless(is_count(T) and T > 0, "rounds")
    lies.unless(problem["learner"] == case.honest["problem"]["learner"] and problem["cuts"] is None, "learner")
    forms: dict[str, Any] = dict.fromkeys(("errors", "stage_weights", "factors", "training"), ("f8", (T,)))
    if stump:
        forms |= {"feature": ("i4", (T,)), "threshold": ("f8", (T,)), "classes": ("i4", (T, 2))}
        forms |= {"masses": ("f8", (T, 2, K)), "counts": ("i8", (T, 2))}
        forms |= {"edges": ("f8", (T,))} if K == 2 else {}
        forms |= {"against": ("f8", (case.n,))} if "best" in block else {}
    else:
        forms["answers"] = ("u1", (T, case.n))
    case.shapes(lies, **forms)
    case.same(lies, "rate", p["learning_rate"], problem["rate"])
    rate = number(problem["rate"])
    lies.unless(0 < rate < math.inf and block["status"] in ENDINGS, "rate")
    fewer = block["status"] != "converged" or a["errors"][-1] == 0
    lies.unless(is_count(p["n_estimators"]) and (T == p["n_estimators"] or (fewer and p["n_estimators"] > T)), "rounds")
    if lies:
        return
    there = case.w > 0
    X, y = case.facts.floats[there].astype(np.float32), index[there]
    first = case.w[there].astype(L) / case.w[there].astype(L).sum()
    alphas = a["stage_weights"].astype(L)
    lies.unless((alphas > 0).all(), "stage_weights")
    s, votes, rows = np.zeros(y.size, dtype=L), np.zeros((y.size, K), dtype=L), np.arange(y.size)
    errors, loss = [], L(1)
    clean: list[Any] = [None, None]
    low = high = 0
    for t in range(T):
        w = first * np.exp(s - s.max())
        w /= w.sum()
        if stump:
            answer, right = _stump(case, lies, t, X)
            _sides(case, lies, t, w, y, right, K)
        else:
            answer = a["answers"][t][there].astype(int)
            lies.unless((answer <= K).all(), "answers")
        wrong = answer != y
        e = w[wrong].sum()
        errors.append(e)
        lies.unless_near("errors", a["errors"][t], e, ROOM * e)
        wanted = L(rate) * (np.log1p(-e) - np.log(e) + math.log(K - 1)) if e > 0 else L(1)
        if not (block["status"] == "not_finite" and t == T - 1):
            lies.unless_near("stage_weights", alphas[t], wanted, 2e-6 * np.abs(wanted) + (1e-10 * rate if e > 0 else 0))
        Z = w[~wrong].sum() * np.exp(-alphas[t] / 2) + e * np.exp(alphas[t] / 2)
        loss *= Z
        lies.unless_near("factors", a["factors"][t], Z, ROOM * Z)
        s += alphas[t] * wrong
        known = answer < K
        votes[rows[known], answer[known]] += alphas[t]
        rest = votes.copy()
        rest[rows, y] = -np.inf
        behind, tie = rest.max(axis=1) - votes[rows, y], TIE * alphas[: t + 1].sum()
        sure, maybe = behind > tie, behind >= -tie
        training = a["training"][t]
        lies.unless(first[sure].sum() - ROOM <= training <= first[maybe].sum() + ROOM, "training")
        for place, bad in enumerate((sure, maybe)):
            if clean[place] is None and not bad.any():
                clean[place] = t + 1
        low, high = int(sure.sum()), int(maybe.sum())
    lies.unless(is_count(block["mistakes"]) and low <= block["mistakes"] <= high, "mistakes")
    claimed, (begin, end) = block["clean_round"], clean
    if claimed is None:
        lies.unless(end is None, "clean_round")
    else:
        lies.unless(is_count(claimed) and begin is not None and begin <= claimed <= (end or T), "clean_round")
    lies.unless_near("loss", number(block["loss"]), loss, 1e-7 * loss)
    margins = -(rest.max(axis=1) - votes[rows, y]) / alphas.sum()
    margins = 1 - 2 * s / alphas.sum() if K == 2 else margins
    lies.unless_near("margin", number(block["margin"]), margins.min(), TIE)
    lies.unless_near("median_margin", number(block["median_margin"]), np.median(margins.astype(float)), TIE)
    alike = K == 2 and rate == 1.0 and bool((case.w == case.w[0]).all())
    _enough(lies, block, alike, max(errors), y.size, T)
    if stump and K == 2:
        _edges(case, lies, X, y, first, alphas)


def _stump(case: Case, lies: Lies, t: int, X: Any) -> tuple[Any, Any]:
    a, K = case.a, len(case.facts.labels)
    j, (left, right) = int(a["feature"][t]), a["classes"][t].tolist()
    lies.unless(-1 <= j < case.d and 0 <= left < K and 0 <= right < K, "feature and classes")
    side = X[:, j] > a["threshold"][t] if j >= 0 else np.zeros(len(X), dtype=bool)
    return np.where(side, right, left), side


def _sides(case: Case, lies: Lies, t: int, w: Any, y: Any, right: Any, K: int) -> None:
    for side, here in enumerate((~right, right)):
        masses = np.array([w[here & (y == k)].sum() for k in range(K)])
        lies.unless_near("masses", case.a["masses"][t, side], masses, ROOM)
        lies.unless(case.a["counts"][t, side] == here.sum(), "counts")
        lies.unless(not here.any() or masses[case.a["classes"][t, side]] >= masses.max() - ROOM, "classes")


def _enough(lies: Lies, block: Any, alike: bool, worst: Any, n: int, T: int) -> None:
    edge = L(0.5) - worst
    wanted = float(math.log(2 * n) / (2 * edge * edge)) if alike and edge > 0 else math.inf
    claimed = block["enough"]
    if claimed is None:
        lies.unless(wanted > 2.0**52, "enough")
        return
    # As many rounds as that are sure to be enough; fewer are not, and more than the next whole number were not computed so.
    lies.unless(is_count(claimed) and wanted * (1 - 1e-6) <= claimed <= wanted * (1 + 1e-6) + 1, "enough")
    lies.unless(claimed > T or block["mistakes"] == 0, "enough")


def _edges(case: Case, lies: Lies, X: Any, y: Any, first: Any, alphas: Any) -> None:
    """The largest weighted margin of any stump, by trying every threshold."""
    s, sign = np.zeros(y.size, dtype=L), np.where(y == 1, L(1), L(-1))

    def largest(w: Any) -> Any:
        w = sign * w / w.sum()
        best = np.abs(w.sum())
        for j in range(case.d):
            for v in np.unique(X[:, j])[:-1]:
                right = X[:, j] > v
                best = max(best, np.abs(w[right].sum() - w[~right].sum()))
        return best

    edges = []
    for t in range(len(alphas)):
        edges.append(largest(first * np.exp(s - s.max())))
        answer, _ = _stump(case, lies, t, X)
        s += alphas[t] * (answer != y)
    lies.unless_near("edges", case.a["edges"], edges, 1e-6 * np.array(edges))
    if "best" in case.block:  # any weights that are not negative prove a bound on the margin: theirs
        against = case.a["against"][case.w > 0].astype(L)
        lies.unless(bool((against >= 0).all()) and 0 < against.sum() < np.inf, "against")
        lies.unless_near("best", number(case.block["best"]), largest(against), 2e-9)


def _regressor(case: Case, lies: Lies) -> None:
    problem, p, block, a = case.problem, case.p, case.block, case.a
    y = np.asarray(case.facts.y)
    kind = "<i8" if problem["labels"] == "i" else "<f8"
    lies.unless(problem["labels"] in ("i", "f"), "labels")
    case.head(lies, (y.astype(kind), kind))
    T = problem["members"]
    case.shapes(lies, seeds=("i8", (0,)), errors=("f8", (T,)), stage_weights=("f8", (T,)))
    wanted = {
        "draws": case.n,
        "features": case.d,
        "replacement": True,
        "features_replacement": False,
        "weighted": False,
    }
    wanted |= {"seeds": 0, "labels": problem["labels"], "members": T}
    lies.unless(problem == wanted and [type(v) for v in problem.values()] == _types(case), "problem")
    rate = number(p["learning_rate"])
    lies.unless(0 < rate < math.inf and block["status"] in ENDINGS, "learning_rate")
    fewer = block["status"] != "converged" or a["errors"][-1] == 0
    lies.unless(
        is_count(p["n_estimators"]) and (T == p["n_estimators"] or (fewer and p["n_estimators"] > T)), "members"
    )
    none = ("in_bag_probability", "in_bag_share", "estimate", "estimated")
    lies.unless(all(block[key] is None for key in none), "no bags")
    e = a["errors"].astype(L)
    lies.unless(((e >= 0) & (e <= 1)).all(), "errors")
    for t in range(T):
        usual = 0 < e[t] < 0.5
        lies.unless(usual or t == T - 1, "errors")
        lies.unless(e[t] < 0.5 or T == 1, "errors")
        alpha = L(rate) * (np.log1p(-e[t]) - np.log(e[t])) if usual else L(1)
        lies.unless_near("stage_weights", a["stage_weights"][t], alpha, 4e-9 * (np.abs(alpha) + rate))


def _types(case: Case) -> list[type]:
    return [type(v) for v in case.honest["problem"].values()]
