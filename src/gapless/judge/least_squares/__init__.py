"""Least squares certificates: residuals, their orthogonality to the columns, and the gap where there is a penalty.

    F(w, b) = sum_i s_i (y_i - <w, x_i> - b)^2 + alpha |w|^2,      A = S^(1/2) [X, 1],   r the residuals, g = A'S^(1/2)r - alpha w

At the optimum g = 0, and F - F* = g'(A'A + alpha I)^-1 g: `proof` bounds it, `exact` computes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..linear.case import TIERS, Rigour
from ..schema import Kind
from ..verdict import Claim, Verdict
from .case import Case
from .document import ESTIMATORS, TABLES, array_forms, flaw
from .exact import exact_targets
from .figures import gap_claims, rank_claim, recompute, target_claims, total_claims
from .proof import Bounds, prove


def check(
    document: dict[str, Any], arrays: Mapping[str, Any], X: Any, y: Any, sample_weight: Any, rigorous: Rigour
) -> Verdict:
    """Judge a least squares certificate; the verdict and the errors are those of ``judge.check``."""
    case = Case(document, arrays, X, y, sample_weight)
    claims = [Claim("data", "fingerprint", "fingerprint", True, "rows, targets and weights are those of the fit")]
    bounds: list[Bounds] = []
    if case.statement_claims(claims):
        bounds = _figure_claims(claims, case, rigorous)
    total_claims(claims, case)
    return Verdict(claims, [], bounds if rigorous else [], TIERS[rigorous])


def _figure_claims(claims: list[Claim], case: Case, rigorous: Rigour) -> list[Bounds]:
    figures = recompute(case)
    exact = exact_targets(case) if rigorous == "exact" else None
    bounds: list[Bounds] = []
    if case.kind == "gap":
        bounds = gap_claims(claims, case, figures, rigorous == "exact")
    elif exact is not None and all(target.excess is not None for target in exact):
        bounds = [target.bounds for target in exact]
    elif rigorous:
        bounds = prove(case)
    target_claims(claims, case, figures, exact)
    rank_claim(claims, case, figures.rows)
    return bounds


KIND = Kind(
    "Least squares", ESTIMATORS, ("gap", "orthogonality"), TABLES, flaw, array_forms, check,
    ("which ending, if not converged", "whether y was a vector or one column"),
)  # fmt: skip
