"""Errors of voters, and of pairs of them, on rows that they have not seen.

A bagging's members stand in the file, and its bags are drawn again from their seeds: a member counts on the rows that are in
none of its draws; and its own certificate is judged on its bag, so that no other row had a part in it.  The stumps of AdaBoost
saw every row: they count where each is one of a ``pool`` of cuts that was fixed without the rows: two stumps a cut, and the
two constants; KL is that of their weights from equal ones over all of the pool.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..errors import CertificateError
from ..form.entries import number
from ..form.learners import arrays_of_learner, members_of
from ..rows import as_dense
from .answers import answers
from .case import BoundsCase


def recount(case: BoundsCase, figures: dict[str, Any]) -> dict[str, float] | str:
    """gibbs, tandem, disagreement, n, pairs, voters and divergence; or why the judge cannot count."""
    name = case.document["estimator"]
    if name == "BaggingClassifier" and figures["pool"] is None:
        return _bagging(case)
    if name == "AdaBoostClassifier":
        return _boosting(case, figures["pool"])
    return {"voters": -1.0}  # nothing else has voters


def _bagging(case: BoundsCase) -> dict[str, float] | str:
    problem, learners = case.problem, case.document.get("learners")
    if learners is None:
        return "the members are not in the document: a model file has them"
    every = problem["features"] == case.document["n_features"]
    if problem["weighted"] or not problem["replacement"] or not (every or problem["features_replacement"]):
        return "how these bags are drawn is another library's"
    n, m = case.n, len(learners)
    wrong, counted = np.zeros((n, m), dtype=bool), np.zeros((n, m), dtype=bool)
    X = as_dense(case.rows)
    for j, learner in enumerate(learners):
        seen = np.zeros(n, dtype=bool)
        seen[_bag(case, j)] = True
        out = np.flatnonzero(~seen)
        told = answers(learner, arrays_of_learner(case.arrays, j), X[out][:, _features(case, j)])
        if told is None:
            return f"the judge cannot run {learner['estimator']}"
        # Members know classes by their numbers, of those that their bag held.
        known = np.array([int(value) for value in learner["classes"]["values"]])
        counted[out, j], wrong[out, j] = True, known[told.classes] != case.index[out]
    return _means(wrong, counted, np.full(m, 1.0 / m), 0.0)


def members_claim(case: BoundsCase) -> None:
    """Claim that the members of a bagging are what their bags make of them: each by its own certificate, on its bag alone."""
    learners = members_of(case.document)
    if case.document["estimator"] != "BaggingClassifier" or not learners:
        return
    X, bad, open_splits = as_dense(case.rows), [], 0
    # Rows times features times members whose certificates are judged on their bags: some ten seconds.
    few = min(len(learners), max(1, 4_000_000 // max(1, case.n * case.problem["features"])))
    for j in range(few):
        bag, part, arrays = _bag(case, j), X[:, _features(case, j)], arrays_of_learner(case.arrays, j)
        times = np.bincount(bag, minlength=case.n).astype(np.float64)
        try:
            if learners[j]["certificate"]["fingerprint"]["n_rows"] == case.n:
                verdict = case.check(learners[j], arrays, part, case.index, times)
            else:
                verdict = case.check(learners[j], arrays, part[bag], case.index[bag])
        except (CertificateError, KeyError, TypeError):
            bad.append(j)
            continue
        bad += [] if verdict else [j]
        open_splits += any("whether splits are the best" in text for text in verdict.unchecked)
    if few < len(learners):
        case.unchecked.append(f"bounds: that the members after {few} saw their bags alone")
    if open_splits:
        case.unchecked.append("bounds: that splits were chosen by their bags alone (not all were tried)")
    case.claim("votes, members", f"{few} of their bags", f"{few - len(bad)}", not bad, "by their certificates")


def _bag(case: BoundsCase, j: int) -> np.ndarray:
    random = np.random.RandomState(int(case.arrays["seeds"][j]))
    if case.problem["features_replacement"]:
        random.randint(0, case.document["n_features"], case.problem["features"])
    return random.randint(0, case.n, case.problem["draws"])


def _features(case: BoundsCase, j: int) -> np.ndarray:
    return case.arrays["feature_lists"][j].astype(np.int64)


def _boosting(case: BoundsCase, pool: Any) -> dict[str, float] | str:
    if case.problem["learner"] != "stump" or pool is None or case.K != 2:
        return {"voters": -1.0}  # voters that saw every row
    cuts = {(int(j), number(t)) for j, t in pool}
    weight: dict[tuple[int, float, int], float] = {}
    stumps = zip(case.arrays["feature"], case.arrays["threshold"], case.arrays["classes"], strict=True)
    for (j, t, (left, right)), a in zip(stumps, case.arrays["stage_weights"], strict=True):
        if j >= 0 and (int(j), float(t)) not in cuts:
            return {"voters": -1.0}
        key = (-1, 0.0, int(left)) if j < 0 or left == right else (int(j), float(t), int(left))
        weight[key] = weight.get(key, 0.0) + float(a)
    X = as_dense(case.rows)
    rho = np.array(list(weight.values()))
    rho = rho / rho.sum()
    wrong = np.empty((case.n, len(weight)), dtype=bool)
    for v, (j, t, left) in enumerate(weight):
        told = np.where(X[:, j].astype(np.float32) > t, 1 - left, left) if j >= 0 else left
        wrong[:, v] = told != case.index
    divergence = math.fsum((rho * np.log(rho * (2.0 * len(cuts) + 2.0))).tolist())
    return _means(wrong, np.ones_like(wrong), rho, max(0.0, divergence))


def _means(wrong: np.ndarray, counted: np.ndarray, rho: np.ndarray, divergence: float) -> dict[str, float]:
    seen, bad = counted.astype(np.float64), (wrong & counted).astype(np.float64)
    each, both = seen.sum(axis=0), seen.T @ seen
    if each.min() < 1 or both.min() < 1:
        return {"voters": -1.0}
    fine = seen - bad
    apart = (bad.T @ fine + fine.T @ bad) / both
    return {
        "gibbs": float(rho @ (bad.sum(axis=0) / each)),
        "tandem": float(rho @ (bad.T @ bad / both) @ rho),
        "disagreement": float(rho @ apart @ rho),
        "n": float(each.min()),
        "pairs": float(both.min()),
        "voters": float(rho.size),
        "divergence": divergence,
    }
