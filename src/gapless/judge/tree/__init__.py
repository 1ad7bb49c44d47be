"""Certificates of decision trees: these are the rows, shares, means and impurities of every node, and every split is the best.

    impurity = 1 - sum p_k^2 (gini),  -sum p_k log2 p_k (entropy),  mean of (y - mean)^2 (squared error); of outputs the mean

A greedy tree is the best of nothing but of its own splits, and no gap is claimed. Rows are sent through the tree by the judge
itself; at every inner node all cuts of all features are tried again, by sorting, and none may lower the weighted impurity by
more than the tree's own split does, but for rounding. ``rigorous="exact"`` does that in fractions (gini and squared error).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..document import number
from ..schema import Kind
from ..verdict import Claim, Verdict
from .case import Case
from .document import ESTIMATORS, TABLES, array_forms, flaw, flaw_of_arrays
from .splits import best_claims, reasons_known

__all__ = ["KIND", "check"]


def check(
    document: dict[str, Any], arrays: Mapping[str, Any], X: Any, y: Any, sample_weight: Any, rigorous: Any = False
) -> Verdict:
    """Judge a tree; the verdict and the errors are those of ``judge.check``."""
    case = Case(document, arrays, X, y, sample_weight)
    claims = [Claim("data", "fingerprint", "fingerprint", True, "rows, labels and weights are those of the fit")]
    exact = rigorous == "exact" and case.problem["criterion"] != "entropy"
    if case.statement_claims(claims) and case.form_claims(claims):
        case.send_rows()
        case.node_claims(claims)
        if all(claim.holds for claim in claims):
            best_claims(case, claims, exact)
    unchecked = []
    if not document["certificate"]["best"]:
        unchecked.append("whether splits are the best: not all were tried (bins, drawn features or thresholds)")
        if not reasons_known(case):
            unchecked.append("whether leaves could have been split: a drawn split may fail a limit, or fall in a bin")
    if number(document["parameters"].get("ccp_alpha") or 0.0) > 0:
        unchecked.append("pruning, beyond that no leaf is worth more than its price")
    if rigorous and not exact:
        unchecked.append("anything beyond float64: trees have fractions (rigorous='exact', not of entropies) or none")
    return Verdict(claims, unchecked, [], "exact" if exact else "float64")


KIND = Kind(
    "Trees", ESTIMATORS, ("heuristic",), TABLES, flaw, array_forms, check,
    ("which of equally good splits, and where between two values a threshold lies",), flaw_of_arrays,
)  # fmt: skip
