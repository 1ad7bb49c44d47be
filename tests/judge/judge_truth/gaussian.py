"""Gaussian classes: means, covariances and the rule of Bayes for them, by their formulas in long double."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .case import Case, L, Lies, is_count, number, solve

#: Shares by which honest computations differ, of float64 and of float32 models; near a threshold of rank either side will do.
ROOM, NEAR = {"f8": 1e-8, "f4": 2e-5}, 2e-3
RULES = {"GaussianDiscriminant": None, "LinearDiscriminantAnalysis": "shared", "QuadraticDiscriminantAnalysis": "axes"}


def find(case: Case, lies: Lies) -> None:
    p, problem, facts, a = case.p, case.problem, case.facts, case.a
    name, K, d = case.document["estimator"], len(facts.labels), case.d
    there = case.w > 0
    index = np.where(there, facts.index(), -1)
    case.head(lies, (index, "<i8"))
    rule = RULES[name] or p["covariance"]
    lies.unless(problem["rule"] == rule and rule in ("spherical", "shared", "per_class", "axes"), "rule")
    solver = p.get("solver") if name == "LinearDiscriminantAnalysis" else None
    lies.unless(solver in (None, "svd", "lsqr", "eigen"), "solver")
    by_priors = solver in ("lsqr", "eigen")
    lies.unless(problem["pooled_by"] == ("priors" if by_priors else "shares"), "pooled_by")
    lies.unless(p.get("covariance_estimator") is None, "covariance_estimator")
    lies.unless(case.block["status"] == "converged", "status")
    _forms(case, lies, rule, K)
    room = ROOM[case.real]
    X, w = facts.X, case.w.astype(L)
    classes = [(X[index == k], w[index == k]) for k in range(K)]
    mass = np.array([v.sum() for _, v in classes])
    share = mass / mass.sum()
    means = np.array([v @ x / v.sum() for x, v in classes])
    scatter = [((x - m).T * v) @ (x - m) / v.sum() for (x, v), m in zip(classes, means, strict=True)]
    lies.unless_near("means", a["means"], means, room * np.abs(X).max())
    priors = share
    if p["priors"] is not None:
        given = np.array([number(v) for v in p["priors"]], dtype=L)
        lies.unless(len(given) == K and (given >= 0).all() and given.sum() > 0, "priors")
        priors = given / given.sum()
    lies.unless_near("priors", a["priors"], priors, room)
    shrunk = _shrunk(case, lies, classes, means, scatter, rule)
    if rule in ("shared", "spherical"):
        S = sum(weight * each for weight, each in zip(priors if by_priors else share, shrunk, strict=True))
        S = S if rule == "shared" else np.trace(S) / d * np.ones((1, 1), dtype=L)
        shrunk = [S]
    lies.unless_near("covariance", a["covariance"], np.array(shrunk), room * max(np.abs(S).max() for S in shrunk))
    if lies:
        return
    if "coef" in a:
        _linear(case, lies, shrunk[0], means, priors, solver, int(there.sum()), room)
    else:
        _quadratic(case, lies, shrunk, room)


def _forms(case: Case, lies: Lies, rule: str, K: int) -> None:
    problem, d, real = case.problem, case.d, case.real
    lies.unless(is_count(problem["directions"]) and is_count(problem["components"]), "directions")
    M, side = (K if rule in ("per_class", "axes") else 1), (1 if rule == "spherical" else d)
    of_priors = real if case.document["estimator"] == "LinearDiscriminantAnalysis" else "f8"
    forms: dict[str, Any] = {
        "means": (real, (K, d)),
        "priors": (of_priors, (K,)),
        "covariance": ("f8", (M, side, side)),
    }
    if rule == "per_class":
        forms |= {"whitening": ("f8", (K, d, d)), "log_det": ("f8", (K,))}
    elif rule == "axes":
        forms |= {"rotations": (real, (K, d, d)), "scalings": (real, (K, d))}
    else:
        S = 1 if K == 2 else K
        forms |= {"coef": (real, (S, d)), "intercept": (real, (S,))}
        if problem["components"]:
            forms |= {"scalings": (real, (d, problem["directions"])), "ratio": (real, (problem["components"],))}
            forms["xbar"] = (real, (d,))
    case.shapes(lies, **forms)
    ranks = case.block["rank"]
    lies.unless(len(ranks) == M and all(map(is_count, ranks)), "rank")


def _shrunk(case: Case, lies: Lies, classes: Any, means: Any, scatter: Any, rule: str) -> list[np.ndarray]:
    """Each class's covariance, shrunk and mixed with I, as the parameters ask."""
    p, d, out = case.p, case.d, []
    asked, claimed = p["shrinkage"], [number(v) for v in case.problem["shrinkage"]]
    lies.unless(len(claimed) == len(classes), "shrinkage")
    regular = (
        number(p.get("reg_param") or 0.0) if case.document["estimator"] == "QuadraticDiscriminantAnalysis" else 0.0
    )
    lies.unless(0 <= regular <= 1, "reg_param")
    for (x, v), mean, S, s in zip(classes, means, scatter, claimed, strict=True):
        target = np.full(d, np.trace(S) / d)
        if asked == "auto" and rule != "spherical":
            unit = np.sqrt(np.diag(S))
            Z, R = (x - mean) / unit, S / np.outer(unit, unit)
            square = (R**2).sum()
            beta = (v @ (Z**2).sum(axis=1) ** 2 / v.sum() - square) / (d * v.sum())
            delta = (square - d) / d
            beta = max(min(beta, delta), 0)
            lies.unless_near("shrinkage", s, beta / delta if beta > 0 else 0, 2e-6)
            target = unit**2
        else:
            lies.unless(s == (0.0 if asked is None or rule == "spherical" else number(asked)), "shrinkage")
        lies.unless(0 <= s <= 1, "shrinkage")
        S = (1 - L(s)) * S + L(s) * np.diag(target)
        out.append((1 - L(regular)) * S + L(regular) * np.eye(d))
    return out


def _linear(case: Case, lies: Lies, S: Any, means: Any, priors: Any, solver: Any, n: int, room: float) -> None:
    """Differences of scores: S c = difference of means, and the offset half way between them, moved by the priors."""
    d, K, rank = case.d, len(means), case.block["rank"][0]
    S = S[0, 0] * np.eye(d) if S.shape == (1, 1) else S
    scale = np.sqrt(np.diag(S))
    values, V = np.linalg.eigh((S / np.outer(scale, scale)).astype(float))
    tol = number(case.p["tol"]) if solver == "svd" else 0.0
    lies.unless(0 <= tol < math.inf, "tol")
    roots = np.sqrt(np.maximum(values, 0.0))
    # The data of these tests are far from collinear, or columns are equal: between lies nothing but rounding.
    sure, most = int((roots > max(1e-5, tol * (1 + NEAR))).sum()), int((roots > max(1e-5, tol * (1 - NEAR))).sum())
    lies.unless(sure <= rank <= most and rank >= 1, "rank")
    if lies:
        return
    if rank == d:
        white = means @ solve(S, np.eye(d))  # rows times S^-1
    else:
        kept = V[:, d - rank :] / np.sqrt(values[d - rank :])
        white = (means / scale) @ kept @ kept.T / scale
    choices = [white - white[0]]
    if solver == "svd":
        choices = _kept(means, priors, S, scale, values, V, rank, tol, n)
    coef, intercept = case.a["coef"].astype(L), case.a["intercept"].astype(L)
    lines = np.vstack([np.zeros(d), coef[0]]) if K == 2 else coef - coef[0]
    steps = np.array([L(0), intercept[0]]) if K == 2 else intercept - intercept[0]
    size = np.abs(white).max() + 1 / scale.min()
    good = [white for white in choices if np.all(np.abs(lines - white) <= 10 * room * size)]
    lies.unless(good, "coef")
    with np.errstate(all="ignore"):
        logs = np.log(priors / priors[0])
    wanted = logs - (lines * (means + means[0]) / 2).sum(axis=1)
    reach = 20 * room * (1 + np.abs(logs) + (size * (np.abs(means) + scale)).sum())
    with np.errstate(all="ignore"):
        fine = (np.abs(steps - wanted) <= reach) | (steps == wanted)
    lies.unless(fine.all(), "intercept")


def _kept(means: Any, priors: Any, S: Any, scale: Any, values: Any, V: Any, rank: int, tol: float, n: int) -> list[Any]:
    """The lines of the svd solver: directions between classes whose singular value is within tol of the first are left out."""
    d, K = means.shape[1], len(means)
    W = V[:, d - rank :] / np.sqrt(values[d - rank :]) / scale[:, None].astype(float)
    apart = (means - priors @ means).astype(float)
    between = np.sqrt(n * priors.astype(float) / (K - 1))[:, None] * (apart @ W)
    _, sigma, Vt = np.linalg.svd(between, full_matrices=False)
    sure, most = (int((sigma > tol * sigma[0] * (1 + sign * NEAR)).sum()) for sign in (1, -1))
    real = int((sigma > 1e-9 * sigma[0]).sum())
    out = []
    for kept in range(min(sure, real), most + 1):
        M = W @ Vt[:kept].T
        lines = apart @ M @ M.T
        out.append(lines - lines[0])
    return out


def _quadratic(case: Case, lies: Lies, shrunk: list[Any], room: float) -> None:
    for k, S in enumerate(shrunk):
        lies.unless(case.block["rank"][k] == case.d, "rank")
        if case.problem["rule"] == "per_class":
            W, log_det = case.a["whitening"][k].astype(L), L(case.a["log_det"][k])
        else:
            variances = case.a["scalings"][k].astype(L)
            W, log_det = case.a["rotations"][k].astype(L) / np.sqrt(variances), np.log(variances).sum()
        lies.unless_near("whitening", W.T @ S @ W, np.eye(case.d), 100 * room)
        wanted = np.log(np.linalg.eigvalsh(S.astype(float))).sum()
        lies.unless_near("log_det", log_det, wanted, 100 * room * (1 + abs(wanted)))
