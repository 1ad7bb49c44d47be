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

from ..classes import label_index, weights_of_rows
from ..document import TIMES, number, refuse_unreadable
from ..errors import CertificateError
from ..fingerprint import digest, row_hashes
from ..rows import as_rows
from ..verdict import Claim, Verdict
from .document import ESTIMATORS, array_forms, flaw

#: Bags whose rows are counted, as many as a fit counts.
COUNTED = 200


def speaks_of(document: Any) -> bool:
    """Whether a document is one of these."""
    return isinstance(document, Mapping) and document.get("estimator") in ESTIMATORS


def check(document: Mapping[str, Any], arrays: Mapping[str, Any], X: Any, y: Any, sample_weight: Any = None) -> Verdict:
    """Judge what can be judged; the verdict and the errors are those of ``judge.check``."""
    refuse_unreadable(document, flaw)
    document = dict(document)
    _same_data(document, X, y, sample_weight)
    claims = [Claim("data", "fingerprint", "fingerprint", True, "rows, targets and weights are those of the fit")]
    problem, block = document["problem"], document["certificate"]
    for name, (dtype, shape) in array_forms({**document, "learners": None}).items():
        array = np.asarray(arrays.get(name))
        if array.dtype != np.dtype(dtype).newbyteorder("=") or array.shape != tuple(shape):
            raise CertificateError(f"the certificate cannot be read: {name} is {array.dtype} {array.shape}")
    n, m = block["fingerprint"]["n_rows"], problem["draws"]
    if document["estimator"] != "AdaBoostRegressor":
        _bag_claims(claims, document, np.asarray(arrays["seeds"]), n, m)
    else:
        errors, alphas = np.asarray(arrays["errors"]), np.asarray(arrays["stage_weights"])
        rate = document["parameters"].get("learning_rate")
        inside = bool(((errors >= 0.0) & (errors <= 1.0)).all() and np.isfinite(alphas).all())
        claims.append(Claim("mean losses", "in [0, 1]", None, inside))
        usual = (errors > 0.0) & (errors < 0.5)
        if isinstance(rate, int | float) and inside:
            wanted = rate * (np.log1p(-errors[usual]) - np.log(errors[usual]))
            off = float(np.abs(alphas[usual] - wanted).max(initial=0.0))
            claims.append(Claim("stage weights", "as the losses ask", off, off <= 1e-9 * (1.0 + abs(rate) * 50.0)))
    claims = [claim._replace(holds=bool(claim.holds)) for claim in claims]
    unchecked = [
        *TIMES,
        "backend",
        "version",
        "the learners",
        "out-of-bag score (an estimate)",
        "which ending, and its reason",
    ]
    return Verdict(
        claims,
        [*unchecked, *(f"parameter {str(name)[:40]}" for name in list(document["parameters"])[:40])],
        [],
        "float64",
    )


def _bag_claims(claims: list[Claim], document: dict[str, Any], seeds: np.ndarray, n: int, m: int) -> None:
    problem, block = document["problem"], document["certificate"]
    claimed = block["in_bag_probability"]
    wanted: float | None = None
    if not problem["weighted"]:
        wanted = m / n if not problem["replacement"] else 1.0 if n == 1 else -math.expm1(m * math.log1p(-1.0 / n))
    good = (claimed is None) == (wanted is None) and (wanted is None or abs(number(claimed) - wanted) <= 1e-12)
    claims.append(Claim("in-bag probability", claimed, wanted, good, "1 - (1 - 1/n)^m, or m/n without replacement"))
    claims.append(Claim("seeds", seeds.size, problem["members"], seeds.size == problem["members"], "one a bag"))
    every = problem["features"] == document["n_features"]
    if problem["weighted"] or not problem["replacement"] or not (every or problem["features_replacement"]):
        return  # how those are drawn is another library's
    seen = []
    for seed in seeds[:COUNTED].tolist():
        random = np.random.RandomState(seed)
        if problem["features_replacement"]:  # all features, once each, need no draw
            random.randint(0, document["n_features"], problem["features"])
        seen.append(np.unique(random.randint(0, n, m)).size)
    share = float(np.mean(seen)) / n
    claims.append(
        Claim("in-bag share", block["in_bag_share"], share, abs(number(block["in_bag_share"]) - share) <= 1e-12)
    )


def _same_data(document: dict[str, Any], X: Any, y: Any, sample_weight: Any) -> None:
    mark, rows = document["certificate"]["fingerprint"], as_rows(X)
    n, d = rows.shape
    if (n, d) != (mark["n_rows"], mark["n_features"]) or d != document["n_features"]:
        fit = f"{mark['n_rows']} rows and {mark['n_features']} features"
        raise CertificateError(f"other data: X has {n} rows and {d} features, the certificate speaks of {fit}")
    advice = "give the judge exactly what fit was given"
    if digest(row_hashes(rows), "<u8") != mark["rows"]:
        raise CertificateError(f"other data: the rows of X are not those of the fit ({advice})")
    if digest(weights_of_rows(sample_weight, n), "<f8") != mark["weights"]:
        raise CertificateError(f"other weights: sample_weight is not that of the fit ({advice})")
    if document["classes"] is not None:
        targets, kind = label_index(y, document["classes"], n), "<i8"
    else:
        kind = "<i8" if document["problem"]["labels"] == "i" else "<f8"
        targets = np.asarray(y)
        targets = targets[:, 0] if targets.ndim == 2 and targets.shape[1] == 1 else targets
    if len(targets) != n or digest(targets, kind) != mark["labels"]:
        raise CertificateError(f"other targets: y is not that of the fit ({advice})")
