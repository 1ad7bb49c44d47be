"""Kernel machines: the matrix of kernel values in long double, P and D of each pair of classes, the width and the shift."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from .case import Case, L, Lies, absent, exact, is_count, number, status_of_parts
from .linear import figures_claims, gap_claims, sums, unkept

#: What a certificate may admit beside |P| and |D|; a hard margin is coarse, and says so.
SHARE, HARD_SHARE = 4e-9, 1e-4
KINDS = {"SVC": "c_svc", "NuSVC": "nu_svc", "SVR": "epsilon_svr", "NuSVR": "nu_svr", "OneClassSVM": "one_class"}
USED = {"poly": ("gamma", "coef0", "degree"), "rbf": ("gamma",), "sigmoid": ("gamma", "coef0")}


def find(case: Case, lies: Lies) -> None:
    problem, p, facts, subs = case.problem, case.p, case.facts, case.block["subproblems"]
    kind = KINDS[case.document["estimator"]]
    lies.unless(problem["kind"] == kind, "kind")
    classifier = kind in ("c_svc", "nu_svc")
    index, targets = np.zeros(case.n, dtype=int), np.zeros(case.n)
    if classifier:
        index, K = facts.index(), len(facts.labels)
        case.head(lies, (index, "<i8"))
        case.class_weights(lies, problem["class_weight"], p["class_weight"], index, facts.labels)
        pairs: list[Any] = [(1, 0)] if K == 2 else [(i, j) for i in range(K) for j in range(i + 1, K)]
        weight = np.array([number(v) for v in problem["class_weight"]])[index]
    else:
        targets = targets if kind == "one_class" else np.asarray(facts.y, dtype=np.float64)
        case.head(lies, (targets[:, None] + 0.0, "<f8"))
        lies.unless(problem["class_weight"] is None, "class_weight")
        pairs, weight = [(None, None)], np.ones(case.n)
    lies.unless([(sub["positive"], sub["negative"]) for sub in subs] == pairs, "subproblems")
    lies.unless(
        not any(isinstance(sub[k], bool | float) for sub in subs for k in ("positive", "negative")), "subproblems"
    )
    for key, default in (("C", 1.0), ("nu", 0.0), ("epsilon", 0.0)):
        value = number(problem[key])
        lies.unless(
            number(p.get(key, default)) == value and value >= 0 and (value > 0 or key == "epsilon" or key not in p), key
        )
        lies.unless(math.isfinite(value) or (key == "C" and kind == "c_svc"), key)
    case.same(lies, "tol", p["tol"], case.block["tol"])
    lies.unless(number(case.block["tol"]) > 0, "tol")
    C = number(problem["C"])
    hard = math.isinf(C)
    c = (1.0 * case.w if hard else C * case.w) * weight
    gap = case.block["kind"] == "gap"
    _kernel(case, lies, c, gap)
    lies.unless(not gap or problem["kernel"]["name"] != "sigmoid", "kind")
    case.shapes(lies, **_support(case, lies, len(pairs), kind))
    for sub, (outside, *part) in zip(subs, parts(case, c, index, targets, pairs), strict=True):
        lies.unless(not outside.any(), "dual")
        _subproblem(case, lies, sub, (kind, hard, gap), *part)
    sums(lies, case.block, ("primal", "dual", "gap", "rounding") if gap else ("primal", "rounding"))
    if gap:
        gap_claims(lies, case.block, len(subs) + 3)
    else:
        lies.unless(all(absent(case.block[key]) for key in ("dual", "gap", "relative_gap")), "no gap")
    status_of_parts(lies, case.block["status"], [sub["status"] for sub in subs])


def parts(case: Case, c: np.ndarray, index: np.ndarray, targets: np.ndarray, pairs: list[Any]) -> Any:
    """Of each pair: the dual of other rows, and the matrix, targets, costs, dual and scalars of its own."""
    G = matrix(case)
    for k, (one, other) in enumerate(pairs):
        inside = (c > 0) & (np.ones(case.n, dtype=bool) if one is None else (index == one) | (index == other))
        y, u = targets if one is None else np.where(index == one, 1.0, -1.0), case.a["dual"][k]
        yield u[~inside], G[np.ix_(inside, inside)], y[inside], c[inside], u[inside], case.a["scalars"][k]


def figures(case: Case) -> list[tuple[Any, Any]]:
    """P and D of each problem of an honest statement with a finite C."""
    kind, index, weight = KINDS[case.document["estimator"]], np.zeros(case.n, dtype=int), np.ones(case.n)
    targets, pairs = np.zeros(case.n), [(None, None)]
    if kind in ("c_svc", "nu_svc"):
        index, K = case.facts.index(), len(case.facts.labels)
        weight = np.array([number(v) for v in case.problem["class_weight"]])[index]
        pairs = [(1, 0)] if K == 2 else [(i, j) for i in range(K) for j in range(i + 1, K)]
    elif kind != "one_class":
        targets = np.asarray(case.facts.y, dtype=np.float64)
    c = (number(case.problem["C"]) * case.w) * weight
    return [soft_figures(case, kind, *part)[:2] for _, *part in parts(case, c, index, targets, pairs)]


def matrix(case: Case) -> np.ndarray:
    """K of all rows, in long double."""
    kernel, X = case.problem["kernel"], case.facts.X
    gamma, coef0, degree = L(number(kernel["gamma"])), L(number(kernel["coef0"])), kernel["degree"]
    with np.errstate(all="ignore"):
        if kernel["name"] == "rbf":
            return np.exp(-gamma * ((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2))
        if kernel["name"] in ("precomputed", "callable"):
            return (X + X.T) / 2 + L(number(kernel["shift"])) * np.eye(case.n, dtype=L)
        inner = X @ X.T
        if kernel["name"] == "linear":
            return inner
        base = gamma * inner + coef0
        return np.tanh(base) if kernel["name"] == "sigmoid" else base**degree


def _kernel(case: Case, lies: Lies, c: np.ndarray, gap: bool) -> None:
    p, kernel, X = case.p, case.problem["kernel"], case.facts.X
    name = kernel["name"]
    lies.unless(p["kernel"] == (None if name == "callable" else name), "kernel")
    lies.unless(
        name not in ("precomputed", "callable") or case.honest["problem"]["kernel"]["name"] == "precomputed", "kernel"
    )
    used = USED.get(name, ())
    gamma, wanted, room = number(kernel["gamma"]), 0.0, 0.0
    if "gamma" in used:
        if p["gamma"] == "scale":
            w = case.w.astype(L)[:, None] * np.ones_like(X)
            mean = (w * X).sum() / w.sum()
            wanted = float(1 / (X.shape[1] * ((w * (X - mean) ** 2).sum() / w.sum())))
            room = 2e-9 * wanted
        else:
            wanted = 1.0 / X.shape[1] if p["gamma"] == "auto" else number(p["gamma"])
        lies.unless(wanted > 0, "gamma")
    lies.unless_near("gamma", gamma, wanted, room)
    lies.unless(number(kernel["coef0"]) == (number(p["coef0"]) if "coef0" in used else 0.0), "coef0")
    lies.unless(is_count(kernel["degree"]) and kernel["degree"] == (p["degree"] if "degree" in used else 0), "degree")
    shift = number(kernel["shift"])
    if name not in ("precomputed", "callable"):
        lies.unless(shift == 0.0, "shift")
        if gap and name == "poly" and number(kernel["coef0"]) < 0:
            values = np.linalg.eigvalsh(matrix(case)[np.ix_(c > 0, c > 0)].astype(float))
            lies.unless(values[0] >= -1e-12 * values[-1], "kernel is semidefinite")
        return
    if not gap:
        lies.unless(shift == 0.0, "shift")
        return
    keep = c > 0
    K = np.asarray(case.facts.floats)[np.ix_(keep, keep)]
    least, size = float(np.linalg.eigvalsh(K)[0]), float(np.trace(np.abs(K)))
    lies.unless(least + shift >= -1e-13 * size, "shift is enough")
    lies.unless(shift <= 65.0 * max(0.0, -least) + 1e-12 * size, "shift is needed")


def _support(case: Case, lies: Lies, S: int, kind: str) -> dict[str, Any]:
    """The form of the arrays; and that the vectors are the rows with a part in some problem."""
    block, a = case.problem["support"], case.a
    rows = np.flatnonzero(a["dual"].any(axis=0))
    lies.unless(is_count(block["rows"]) and block["rows"] == rows.size, "support.rows")
    forms: dict[str, Any] = {"dual": ("f8", (S, case.n)), "scalars": ("f8", (S, 2 if kind.startswith("nu") else 1))}
    lies.unless(
        (block["stored"] == "none") == (case.problem["kernel"]["name"] in ("precomputed", "callable")), "stored"
    )
    X = case.facts.floats[rows]
    if block["stored"] == "dense":
        forms["vectors"] = ("f8", X.shape)
        lies.unless(block["values"] == X.size and np.array_equal(a["vectors"], X), "vectors")
    elif block["stored"] == "csr":
        values, columns, starts = (a[f"vector_{key}"] for key in ("values", "columns", "starts"))
        m = block["values"]
        forms |= {
            "vector_values": ("f8", (m,)),
            "vector_columns": ("i8", (m,)),
            "vector_starts": ("i8", (rows.size + 1,)),
        }
        table = np.zeros(X.shape)
        lies.unless(starts[0] == 0 and starts[-1] == values.size and (np.diff(starts) >= 0).all(), "vectors")
        for i in range(rows.size):
            own = slice(int(starts[i]), int(starts[i + 1]))
            lies.unless((columns[own] >= 0).all() and len(set(columns[own].tolist())) == columns[own].size, "vectors")
            table[i, columns[own]] = values[own]
        lies.unless(np.array_equal(table, X), "vectors")
    else:
        lies.unless(block["stored"] == "none" and block["values"] == 0, "support.values")
    lies.unless(is_count(block["values"]), "support.values")
    return forms


def _subproblem(case: Case, lies: Lies, sub: Any, how: Any, G: Any, y: Any, c: Any, u: Any, scalars: Any) -> None:
    kind, hard, gap = how
    tol = number(case.block["tol"])
    if y.size == 0 or (kind in ("c_svc", "nu_svc") and abs(y.sum()) == y.size):
        # Of one class alone nothing is learnt: a constant that names it.
        names, figures = ("primal", "rounding", "violation"), ("dual", "gap", "relative_gap")
        lies.unless(not u.any() and all(number(sub[key]) == 0.0 for key in names), "one class")
        lies.unless(all(number(sub[key]) == 0.0 if gap else absent(sub[key]) for key in figures), "one class")
        side = float(np.sign(y.sum()))
        lies.unless(y.size == 0 or scalars[0] * side > 0, "one class, offset")
        lies.unless(sub["status"] == "converged", "status")
        return
    if hard:
        P, D, slack, kept = hard_figures(G, y, u, scalars)
        if unkept(sub):
            lies.unless(sub["status"] != "converged", "margins are not proved kept")
            lies.unless_near("violation", number(sub["violation"]), slack, 1e-9)
            return
        lies.unless(kept, "margins are kept")
        rounding = number(sub["rounding"])
        lies.unless(0 <= rounding <= HARD_SHARE * P, "rounding")
        for key, true in (("primal", P), ("dual", D), ("gap", P - D)):
            lies.unless_near(key, number(sub[key]), true, rounding + 1e-15 * P)
        lies.unless_near("violation", number(sub["violation"]), slack, 1e-9)
    else:
        P, D, sizes, worst, wobble = soft_figures(case, kind, G, y, c, u, scalars)
        if gap:
            figures_claims(lies, sub, P, D, float(sizes), SHARE)
        else:
            rounding = number(sub["rounding"])
            lies.unless(D is not None and 0 <= rounding <= SHARE * sizes, "rounding")
            lies.unless_near("primal", number(sub["primal"]), P, rounding + 1e-15 * sizes)
            lies.unless(all(absent(sub[key]) for key in ("dual", "gap", "relative_gap")), "no gap")
        lies.unless_near("violation", number(sub["violation"]), worst, 1e-8 * wobble)
    reached = number(sub["violation"]) <= tol
    if gap:
        reached = gap_claims(lies, sub) <= tol
        largest = max(abs(number(sub[key])) for key in ("primal", "dual", "gap"))
        small = largest <= number(sub["rounding"]) <= 1e-9 * float(np.abs(u).sum()) ** 2
        reached = reached or (kind in ("one_class", "nu_svc") and small)
    lies.unless((sub["status"] == "converged") == reached, "status")


def soft_figures(case: Case, kind: str, G: Any, y: Any, c: Any, u: Any, scalars: Any) -> tuple[Any, ...]:
    """P, D (None: not feasible), what they are small beside, the violation, and what that is small beside."""
    n, U = y.size, u.astype(L)
    nu, epsilon = L(number(case.problem["nu"])), L(number(case.problem["epsilon"]))
    f = G @ U
    square, R2 = U @ f, np.abs(np.diag(G)).max()
    b, t = L(scalars[0]), L(scalars[1]) if kind.startswith("nu") else L(0)
    twice = kind.endswith("svr")
    s = np.repeat([1.0, -1.0], n) if twice else (np.ones(n) if kind == "one_class" else y)
    at, cost = (np.tile(np.arange(n), 2), np.tile(c, 2)) if twice else (np.arange(n), c)
    tau = np.full(s.size, L(1) if kind == "c_svc" else L(0))
    if twice:
        tau = s * np.tile(y, 2).astype(L) - (epsilon if kind == "epsilon_svr" else 0)
    beta = np.maximum(s * u[at], 0.0)
    feasible = bool((beta <= cost).all()) and (twice or bool((s * u[at] >= 0).all()))
    h = tau - s * (f[at] + b) - t
    T = nu * c.astype(L).sum() if kind in ("one_class", "nu_svc", "nu_svr") else L(0)
    loss = (cost.astype(L) * np.maximum(h, 0)).sum()
    P = square / 2 + T * (t if kind.startswith("nu") else b) + loss
    plus, minus = (sum(exact(beta[s == sign]), Fraction(0)) for sign in (1.0, -1.0))
    total = Fraction(float(nu)) * sum(exact(c), Fraction(0)) if T else Fraction(0)
    length = np.sqrt(R2) * T if kind in ("one_class", "nu_svc") else np.sqrt(2 * max(P, 0))
    B = np.abs(tau).max() + np.sqrt(R2) * length
    if kind == "nu_svr":
        missed = abs(plus - minus) + max(Fraction(0), plus + minus - total)
    elif kind == "nu_svc":
        missed = abs(total / 2 - plus) + abs(total / 2 - minus)
    else:
        missed = abs(total - plus) if kind == "one_class" else abs(plus - minus)
    D = (tau * beta).sum() - square / 2 - B * L(float(missed)) if feasible else None
    sizes = np.abs(P) + np.abs(square) + (np.abs(tau) * beta).sum() + loss + R2 * T * T
    kink = s * tau - f[at]
    rising, falling = np.where(s > 0, beta < cost, beta > 0), np.where(s > 0, beta > 0, beta < cost)
    worst = L(0)
    for side in (s > 0, s < 0) if kind.startswith("nu") else (s != 0,):
        if (side & rising).any() and (side & falling).any():
            worst = max(worst, kink[side & rising].max() - kink[side & falling].min())
    return P, D, sizes, worst, np.abs(f).max() + np.abs(tau).max()


def hard_figures(G: Any, y: Any, u: Any, scalars: Any) -> tuple[Any, ...]:
    """The hard margin: P = 1/2 |w|^2 against the best multiple of u, the largest slack, and whether there is none."""
    U = u.astype(L)
    f = G @ U
    square, R2, mass = U @ f, np.abs(np.diag(G)).max(), np.abs(U).sum()
    margins = y * (f + L(scalars[0]))
    missed = L(float(abs(sum(exact(u), Fraction(0)))))
    D = (mass / 2 - (1 + np.sqrt(R2 * square)) * missed) * mass / square
    return square / 2, D, np.maximum(0, 1 - margins).max(), bool((y * u >= 0).all() and (margins >= 1).all())
