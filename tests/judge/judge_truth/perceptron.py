"""Perceptrons: the weights as the sum of their corrections, errors in fractions, bounds and witnesses by their inequalities."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from .case import ENDINGS, Case, L, Lies, dot, exact, is_count, number, status_of_parts

#: What the additions of a run may be off by, as a share of the weights and of one correction.
ROOM = 1e-9


def find(case: Case, lies: Lies) -> None:
    problem, p, subs = case.problem, case.p, case.block["subproblems"]
    index, K = case.facts.index(), len(case.facts.labels)
    case.head(lies, (index, "<i8"))
    S, d = 1 if K == 2 else K, case.d
    voters = problem["voters"]
    lies.unless(len(voters) == S and all(map(is_count, voters)), "voters")
    forms: dict[str, Any] = {"coef": ("f8", (S, d)), "intercept": ("f8", (S,)), "updates": ("i8", (S, case.n))}
    forms |= dict.fromkeys(("last", "start", "direction"), ("f8", (S, d + 1)))
    if problem["variant"] == "voted":
        forms |= {"voters": ("f8", (sum(voters), d + 1)), "votes": ("i8", (sum(voters),))}
        lies.unless((case.a["votes"] > 0).all(), "votes")
    else:
        lies.unless(not any(voters), "voters")
    case.shapes(lies, **forms)
    lies.unless([sub["positive"] for sub in subs] == ([1] if K == 2 else list(range(K))), "positive")
    lies.unless(all(is_count(sub["positive"]) for sub in subs), "positive")
    case.same(lies, "rate", p["eta0"], problem["rate"])
    lies.unless(0 < number(problem["rate"]) < math.inf, "rate")
    lies.unless(isinstance(p["fit_intercept"], bool), "fit_intercept")
    lies.unless(problem["offset"] == ("constant" if p["fit_intercept"] else "none"), "offset")
    lies.unless(problem["penalty"] == p["penalty"] and problem["variant"] == p["variant"], "variant")
    lies.unless(problem["variant"] in ("plain", "pocket", "averaged", "voted"), "variant")
    lies.unless(problem["penalty"] is None or isinstance(problem["penalty"], str), "penalty")
    case.class_weights(lies, problem["class_weight"], p["class_weight"], index, case.facts.labels)
    if lies:
        return
    c = case.w * np.array([number(v) for v in problem["class_weight"]])[index]
    constant = float(p["fit_intercept"])
    A = np.hstack([case.facts.floats, np.full((case.n, 1), constant)])
    if not constant:
        lies.unless(not case.a["intercept"].any() and not case.a["last"][:, -1].any(), "intercept")
    for k, sub in enumerate(subs):
        Part(case, lies, k, sub, c, np.where(index == sub["positive"], 1, -1), A).find()
    lies.unless(all(map(is_count, (case.block["n_iter"], *(sub["passes"] for sub in subs)))), "passes")
    lies.unless(case.block["n_iter"] == max(sub["passes"] for sub in subs), "n_iter")
    without = any(sub["bound"] is None and sub["witness"] is None for sub in subs)
    lies.unless(case.block["kind"] == "bound" or (without and case.block["kind"] == "heuristic"), "kind")
    status_of_parts(lies, case.block["status"], [sub["status"] for sub in subs])


class Part:
    """One class against the others."""

    def __init__(self, case: Case, lies: Lies, k: int, sub: dict[str, Any], c: Any, y: Any, A: Any) -> None:
        self.case, self.lies, self.k, self.sub, self.c, self.y, self.A = case, lies, k, sub, c, y, A
        self.rows = [exact(line) for line in A]
        self.counted = c > 0

    def wrong(self, theta: Any, some: Any = None) -> int:
        """Rows that count with y <theta, x> <= 0, exactly."""
        t, chosen = exact(theta), self.counted if some is None else self.counted & some
        return sum(dot(self.rows[i], t) * int(self.y[i]) <= 0 for i in np.flatnonzero(chosen).tolist())

    def find(self) -> None:
        case, lies, sub, k = self.case, self.lies, self.sub, self.k
        a, p, variant = case.a, case.p, case.problem["variant"]
        last, start, updates = a["last"][k], a["start"][k], a["updates"][k]
        model = np.append(a["coef"][k], a["intercept"][k])
        plain, rate = case.problem["penalty"] is None, number(case.problem["rate"])
        lies.unless((updates >= 0).all() and not updates[~self.counted].any(), "updates")
        lies.unless(is_count(sub["mistakes"]) and sub["mistakes"] == sum(updates.tolist()), "mistakes")
        lies.unless(max(updates.tolist()) <= sub["passes"] + 1, "passes")
        if plain:
            steps = L(rate) * updates.astype(L) * self.c.astype(L)
            found = start.astype(L) + (steps * self.y) @ self.A.astype(L)
            longest = rate * float((self.c * np.sqrt((self.A**2).sum(axis=1))).max())
            size = float(np.abs(last).max()) + float(np.abs(start).max()) + longest
            lies.unless_near("last", last, found, ROOM * size)
        wrong = self.wrong(last)
        errors = sub["errors"]
        if variant == "voted":
            low, high = self.outvoted()
            lies.unless(is_count(errors) and low <= errors <= high, "errors")
        else:
            lies.unless(is_count(errors) and errors == self.wrong(model), "errors")
        status, witness = sub["status"], sub["witness"]
        lies.unless(status in ENDINGS, "status")
        held = 0
        if p["early_stopping"] is True:
            held = math.ceil(number(p["validation_fraction"]) * case.n) + len(case.facts.labels)
        if status == "converged":
            lies.unless(plain and wrong <= held and self.wrong(last, updates > 0) == 0, "converged")
        constant = status in ("time_limit", "interrupted") and self.is_constant(model)
        if variant == "plain" and status != "infeasible":
            lies.unless(constant or np.array_equal(model, last), "coef")
        alike = bool((self.c[self.counted] == 1.0).all())
        if variant == "pocket" or (variant == "plain" and status == "infeasible"):
            lies.unless(constant or not alike or errors <= wrong, "pocket")
        lies.unless((status == "infeasible") == (witness is not None), "infeasible")
        if witness is not None:
            lies.unless(self.gordan(witness), "witness")
        figures = [sub[name] for name in ("bound", "radius", "margin")]
        if sub["bound"] is None:
            lies.unless(figures == [None] * 3 and not a["direction"][k].any(), "direction")
        else:
            lies.unless(plain and alike and not held, "bound applies")
            self.bound(a["direction"][k], start, rate)

    def is_constant(self, model: Any) -> bool:
        whole = self.c.sum()
        share = (self.c[self.y > 0].sum() - self.c[self.y < 0].sum()) / whole
        return bool(self.A[0, -1] == 1.0 and not model[:-1].any() and abs(model[-1] - share) <= 1e-11)

    def outvoted(self) -> tuple[int, int]:
        """Rows wrong for certain, and perhaps: a score of next to 0 is a vote for either side."""
        counts = self.case.problem["voters"]
        part = slice(sum(counts[: self.k]), sum(counts[: self.k + 1]))
        voters, votes = self.case.a["voters"][part], self.case.a["votes"][part]
        Z = self.A.astype(L) @ voters.T.astype(L)
        size = np.abs(self.A).astype(L) @ np.abs(voters.T).astype(L)
        sure = np.where(np.abs(Z) > 1e-13 * size, np.sign(Z), 0)
        margin = self.y * (sure * votes).sum(axis=1)
        open_ = (((sure == 0) & (size > 0)) * votes).sum(axis=1)
        return int((self.counted & (margin + open_ <= 0)).sum()), int((self.counted & (margin - open_ <= 0)).sum())

    def gordan(self, witness: dict[str, Any]) -> bool:
        rows, multipliers = witness["rows"], [Fraction(m) for m in witness["multipliers"]]
        good = witness.keys() == {"rows", "multipliers"} and len(rows) == len(multipliers) == len(set(rows)) > 0
        good = good and all(is_count(i) and i < self.case.n and self.counted[i] for i in rows)
        if not good or min(multipliers) <= 0:
            return False
        sides = [m * int(self.y[i]) for m, i in zip(multipliers, rows, strict=True)]
        return not any(dot(sides, [self.rows[i][j] for i in rows]) for j in range(len(self.rows[0])))

    def bound(self, direction: Any, start: Any, rate: float) -> None:
        """The least k that (a + k mu)^2 >= T^2 (B^2 + k R^2) has from there on: no bound may be below it."""
        lies, sub, t = self.lies, self.sub, direction.astype(L)
        A = self.A[self.counted].astype(L)
        y = self.y[self.counted]
        T, R = np.sqrt((t**2).sum()), np.sqrt((A**2).sum(axis=1).max())
        if not T > 0:
            lies.append("direction")
            return
        mu = (y * (A @ t)).min()
        lies.unless_near("radius", number(sub["radius"]), R, 4e-9 * R)
        lies.unless_near("margin", number(sub["margin"]), mu / T, 1e-8 * R)
        a, B2 = t @ start.astype(L) / L(rate), (start.astype(L) ** 2).sum() / L(rate) ** 2
        # mu^2 k^2 + (2 a mu - T^2 R^2) k + a^2 - T^2 B^2 = 0
        middle, last = 2 * a * mu - T**2 * R**2, a**2 - T**2 * B2
        root = (-middle + np.sqrt(middle**2 - 4 * mu**2 * last)) / (2 * mu**2) if mu > 0 else np.inf
        K = number(sub["bound"])
        lies.unless(mu > 0 and math.isfinite(K) and root * (1 - ROOM) <= K, "bound")
        lies.unless(sub["mistakes"] <= K, "bound")
