"""Baggings: draws and features as the parameters ask, bags drawn again from their seeds."""

from __future__ import annotations

import math

import numpy as np

from .case import ENDINGS, Case, Lies, is_count, number


def find(case: Case, lies: Lies) -> None:
    problem, p, block, n, d, a = case.problem, case.p, case.block, case.n, case.d, case.a
    if case.document["estimator"] == "BaggingClassifier":
        case.head(lies, (case.facts.index(), "<i8"))
        lies.unless(problem["labels"] == case.honest["problem"]["labels"], "labels")
    else:
        kind = "<i8" if problem["labels"] == "i" else "<f8"
        lies.unless(problem["labels"] in ("i", "f"), "labels")
        case.head(lies, (np.asarray(case.facts.y).astype(kind), kind))
    lies.unless(is_count(problem["members"]) and problem["members"] == p["n_estimators"] > 0, "members")
    lies.unless(is_count(p["n_estimators"]), "n_estimators")
    lies.unless(problem["seeds"] == problem["members"] and is_count(problem["seeds"]), "seeds")
    case.shapes(
        lies, seeds=("i8", (problem["seeds"],)), feature_lists=("i4", (problem["members"], problem["features"]))
    )
    for key, name in (("replacement", "bootstrap"), ("features_replacement", "bootstrap_features")):
        lies.unless(isinstance(p[name], bool) and p[name] is problem[key], name)
    alike = bool((case.w == 1.0).all())
    lies.unless(isinstance(problem["weighted"], bool) and (problem["weighted"] or alike), "weighted")
    share, m = p["max_samples"], problem["draws"]
    lies.unless(is_count(m) and m > 0, "draws")
    if share is None or is_count(share):
        lies.unless(m == (n if share is None else share), "max_samples")
    elif problem["weighted"]:
        wanted = number(share) * float(case.w.sum())
        lies.unless(max(1.0, wanted - 1) - 1e-6 <= m <= max(1.0, wanted) + 1e-6, "max_samples")
    else:
        lies.unless(m == max(1, int(number(share) * n)), "max_samples")
    share, f = p["max_features"], problem["features"]
    lies.unless(
        is_count(f) and f == (share if is_count(share) else max(1, int(number(share) * d))) and 0 < f <= d, "features"
    )
    lies.unless(is_count(share) or 0 < number(share) <= 1, "max_features")
    asked, told = p["oob_score"], (block["estimate"] is None, block["estimated"] is None)
    lies.unless(isinstance(asked, bool) and told == (not asked, not asked), "oob_score")
    lies.unless(block["estimated"] is None or (is_count(block["estimated"]) and block["estimated"] <= n), "estimated")
    lies.unless(block["status"] in ENDINGS, "status")
    if lies:
        return
    claimed = block["in_bag_probability"]
    if problem["weighted"]:
        lies.unless(claimed is None, "in_bag_probability")
    else:
        chance = 1.0 - (1.0 - 1.0 / n) ** m if problem["replacement"] else m / n
        lies.unless_near("in_bag_probability", number(claimed), chance, 1e-11)
    seeds, lists = a["seeds"], a["feature_lists"]
    lies.unless(((seeds >= 0) & (seeds < 2**32)).all(), "seeds")
    if p["random_state"] is not None:
        stream = np.random.RandomState(p["random_state"]).randint(2**31 - 1, size=seeds.size)
        lies.unless(is_count(p["random_state"]) and np.array_equal(stream, seeds), "seeds")
    lies.unless(((lists >= 0) & (lists < d)).all(), "feature_lists")
    if not problem["features_replacement"]:
        lies.unless(all(len(set(line)) == f for line in lists.tolist()), "feature_lists")
        lies.unless(f < d or all(line == list(range(d)) for line in lists.tolist()), "feature_lists")
    share = number(block["in_bag_share"])
    if lies:
        return
    if not problem["replacement"]:
        lies.unless_near("in_bag_share", share, m / n, 1e-11)
    elif f < d and not problem["features_replacement"]:
        lies.unless(1 / n - 1e-11 <= share <= min(1.0, m / n) + 1e-11, "in_bag_share")
    else:
        seen = []
        for seed, line in zip(seeds.tolist(), lists.tolist(), strict=True):
            random = np.random.RandomState(seed)
            if problem["features_replacement"]:
                lies.unless(random.randint(0, d, f).tolist() == line, "feature_lists")
            rows = random.choice(n, m, p=case.w / np.sum(case.w)) if problem["weighted"] else random.randint(0, n, m)
            seen.append(len(set(rows.tolist())))
        lies.unless_near("in_bag_share", share, math.fsum(seen) / len(seen) / n, 1e-11)
