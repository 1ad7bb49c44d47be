"""Certificates of ensembles that optimise nothing: the data are those of the fit, and the bags are as claimed.

A row of n is in a bag of m draws with probability 1 - (1 - 1/n)^m (m/n without replacement).  Where rows were drawn with
replacement and
equal chances, the judge draws the bags again from their seeds and counts the share of rows that they hold.  The out-of-bag
score is an estimate that needs the learners: it is not checked.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..arithmetic.compare import at_most, between, equal
from ..classes import floats_of, label_index
from ..document import is_count, is_finite, is_positive, number, read_arrays
from ..errors import CertificateError
from ..rows import as_rows
from ..schema import Kind
from ..statement import classes_claim, same_rows, same_targets
from ..verdict import Claim, Verdict
from .document import ESTIMATORS, TABLES, array_forms, flaw, flaw_of_arrays

#: Bags whose rows are counted, as many as a fit counts.
COUNTED = 200
#: Draws of a bag that are made again, and how many at a time.
MOST_DRAWS, PART = 1e9, 1 << 20


def check(
    document: dict[str, Any], arrays: Mapping[str, Any], X: Any, y: Any, sample_weight: Any, rigorous: Any = False
) -> Verdict:
    """Judge what can be judged; the verdict and the errors are those of ``judge.check``."""
    weights, targets = _same_data(document, X, y, sample_weight)
    claims = [Claim("data", "fingerprint", "fingerprint", True, "rows, targets and weights are those of the fit")]
    read = read_arrays(document, arrays, array_forms(document))
    problem, most = document["problem"], document["parameters"].get("n_estimators")
    there = math.isfinite(float(weights.sum())) and bool(weights.any())
    claims.append(Claim("row weights", "finite, not all 0", None, there))
    fewer = document["estimator"] == "AdaBoostRegressor" and (
        document["certificate"]["status"] != "converged" or bool(read["errors"][-1] == 0.0)
    )
    known = is_count(most) and (problem["members"] == most or (fewer and at_most(problem["members"], most)))
    claims.append(Claim("members", problem["members"], most, known, "as many as asked for, or no more"))
    if document["classes"] is not None:
        claims.append(classes_claim(document["classes"]["values"], targets))
    if document["estimator"] != "AdaBoostRegressor" and there:
        _problem_claims(claims, document, weights)
        _bag_claims(claims, document, read, weights)
    elif there:
        _round_claims(claims, document, read["errors"], read["stage_weights"])
    drawn = problem["features"] == document["n_features"] or problem["features_replacement"]
    unchecked = [] if drawn else ["array feature_lists: how some features are drawn is another library's"]
    if unchecked and problem["replacement"]:
        unchecked.append("in_bag_share: bags of some features are not drawn again")
    return Verdict(claims, unchecked, [], "float64")


def _round_claims(claims: list[Claim], document: dict[str, Any], errors: np.ndarray, alphas: np.ndarray) -> None:
    problem, block, rate = document["problem"], document["certificate"], document["parameters"].get("learning_rate")
    mark = block["fingerprint"]
    plain = {**problem, "draws": mark["n_rows"], "features": mark["n_features"], "replacement": True, "seeds": 0}
    plain |= {"features_replacement": False, "weighted": False}
    claims.append(Claim("draws", "of all rows, by weight", None, problem == plain))
    none = all(block[key] is None for key in ("in_bag_probability", "in_bag_share", "estimate", "estimated"))
    claims.append(Claim("no bags", None, None, none, "rounds draw rows by weight"))
    inside = between(errors, 0.0, 1.0)
    claims.append(Claim("mean losses", "in [0, 1]", None, inside))
    usual = (errors > 0.0) & (errors < 0.5)
    rated = is_finite(rate) and number(rate) > 0.0
    wanted = np.ones(errors.size)  # of a round without an error, or of the only one
    with np.errstate(all="ignore"):
        wanted[usual] = (number(rate) if rated else 1.0) * (np.log1p(-errors[usual]) - np.log(errors[usual]))
    last = bool(usual[:-1].all()) and (bool(errors[-1] < 0.5) or errors.size == 1)
    room = 1e-9 * (np.abs(wanted) + (number(rate) if rated else 0.0))
    holds = rated and last and equal(alphas, wanted, room)
    claims.append(Claim("stage weights", "as the losses ask", float(wanted[-1]), holds))


def _problem_claims(claims: list[Claim], document: dict[str, Any], weights: np.ndarray) -> None:
    """Draws and features are what the parameters ask for."""
    p, problem, block = document["parameters"], document["problem"], document["certificate"]
    n, d = block["fingerprint"]["n_rows"], document["n_features"]
    for key, name in (("replacement", "bootstrap"), ("features_replacement", "bootstrap_features")):
        claims.append(Claim(name, problem[key], p.get(name), p.get(name) is problem[key]))
    share, room, draws = p.get("max_samples"), 0.0, math.nan
    if share is None or is_count(share):
        draws = n if share is None else share
    elif is_positive(share) and problem["weighted"]:  # a share of the weights, whose sum may round to either side
        draws, room = max(1.0, number(share) * float(weights.sum()) - 0.5), 0.5 + 1e-9 * float(weights.sum())
    elif is_positive(share):
        draws = max(1.0, float(np.trunc(number(share) * n)))
    claims.append(Claim("max_samples", problem["draws"], share, equal(problem["draws"], draws, room)))
    share = p.get("max_features")
    part = is_positive(share) and number(share) <= 1.0
    features = share if is_count(share) else max(1, int(number(share) * d)) if part else math.nan
    fits = equal(problem["features"], features) and at_most(problem["features"], d)
    claims.append(Claim("max_features", problem["features"], share, fits))
    weighed = problem["weighted"] or bool((weights == 1.0).all())
    claims.append(Claim("weighted", problem["weighted"], None, weighed, "true where weights are not all 1"))
    asked = {p.get("oob_score") is True, block["estimate"] is not None, block["estimated"] is not None} != {True, False}
    asked = asked and (block["estimated"] is None or at_most(block["estimated"], n))
    claims.append(Claim("out-of-bag score", block["estimate"], None, asked, "only where it was asked for"))


def _bag_claims(
    claims: list[Claim], document: dict[str, Any], read: dict[str, np.ndarray], weights: np.ndarray
) -> None:
    problem, block, seeds, lists = document["problem"], document["certificate"], read["seeds"], read["feature_lists"]
    n, d, m = block["fingerprint"]["n_rows"], document["n_features"], problem["draws"]
    claimed, found = block["in_bag_probability"], None
    if not problem["weighted"]:
        found = m / n if not problem["replacement"] else 1.0 if n == 1 else -math.expm1(m * math.log1p(-1.0 / n))
    good = claimed is None if found is None else claimed is not None and equal(number(claimed), found, 1e-12)
    claims.append(Claim("in-bag probability", claimed, found, good, "1 - (1 - 1/n)^m, or m/n without replacement"))
    one = seeds.size == problem["members"] and between(seeds, 0, 2**32 - 1)
    first = document["parameters"].get("random_state")
    if is_count(first):  # then seeds are the first numbers of its stream
        drawn = np.random.RandomState(first).randint(2**31 - 1, size=seeds.size) if one and first < 2**32 else None
        one = drawn is not None and np.array_equal(drawn, seeds)
    claims.append(Claim("seeds", seeds.size, problem["members"], one, "one a bag"))
    every = problem["features"] == d
    inside = between(lists, 0, d - 1)
    if every and not problem["features_replacement"]:
        inside = inside and bool((lists == np.arange(d)).all())
    elif not problem["features_replacement"]:
        inside = inside and all(np.unique(line).size == line.size for line in lists)
    claims.append(Claim("features of bags", "columns of X", None, inside))
    claimed = block["in_bag_share"]
    if not (all(claim.holds for claim in claims) and at_most(m, MOST_DRAWS)) or claimed is None:
        claims.append(Claim("in-bag share", claimed, None, False, "a share of the rows"))
        return
    if not problem["replacement"] or not (every or problem["features_replacement"]):
        # How those are drawn is another library's; but a bag holds no more rows than draws.
        least, most = (1.0 / n, min(1.0, m / n)) if problem["replacement"] else (m / n, m / n)
        note = "not drawn again: between these"
        claims.append(Claim("in-bag share", claimed, [least, most], between(number(claimed), least, most, 1e-12), note))
        return
    seen, same = [], True
    for seed, line in zip(seeds[:COUNTED].tolist(), lists, strict=False):
        random = np.random.RandomState(seed)
        if problem["features_replacement"]:  # all features, once each, need no draw
            same = same and bool((random.randint(0, d, problem["features"]) == line).all())
        chances, there = weights / np.sum(weights), np.zeros(n, dtype=bool)
        for start in range(0, m, PART):  # the stream is the same in parts
            size = min(PART, m - start)
            there[random.choice(n, size, p=chances) if problem["weighted"] else random.randint(0, n, size)] = True
        seen.append(np.count_nonzero(there))
    share = float(np.mean(seen)) / n
    claims.append(Claim("features drawn", "as the seeds say", None, same))
    claims.append(Claim("in-bag share", claimed, share, equal(number(claimed), share, 1e-12)))


def _same_data(document: dict[str, Any], X: Any, y: Any, sample_weight: Any) -> tuple[np.ndarray, np.ndarray]:
    """The sample weights and targets; CertificateError unless the data are those of the fit."""
    rows = as_rows(X)
    weights = same_rows(document, rows, sample_weight, gaps=True)
    if document["classes"] is not None:
        targets, kind = label_index(y, document["classes"], rows.shape[0]), "<i8"
    else:
        kind = "<i8" if document["problem"]["labels"] == "i" else "<f8"
        values, given = floats_of(y), np.asarray(y)
        targets = (given if given.dtype.kind in "iu" else values).astype(np.dtype(kind))
        if not (targets == values).all():
            raise CertificateError("other targets: y has values that are no whole numbers, those of the fit are")
        targets = targets[:, 0] if targets.ndim == 2 and targets.shape[1] == 1 else targets
    same_targets(document, targets, kind, "targets")
    return weights, targets


KIND = Kind(
    "Ensembles that optimise nothing", ESTIMATORS, ("heuristic",), TABLES, flaw, array_forms, check, (), flaw_of_arrays
)
