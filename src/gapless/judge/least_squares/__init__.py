"""Least squares certificates: residuals, their orthogonality to the columns, and the gap where there is a penalty.

    F(w, b) = sum_i s_i (y_i - <w, x_i> - b)^2 + alpha |w|^2,      A = S^(1/2) [X, 1],   r the residuals, g = A'S^(1/2)r - alpha w

At the optimum g = 0, and F - F* = g'(A'A + alpha I)^-1 g: `proof` bounds it, `exact` computes it.
"""

from __future__ import annotations

from ..case import Rigour
from .data import SquaresData
from .exact import exact_targets
from .figures import ending_claims, gap_claims, rank_claim, recompute, target_claims
from .proof import prove


class SquaresCase(SquaresData):
    """Residuals, their orthogonality or the gap, and the rank."""

    def judge(self, rigorous: Rigour) -> None:
        if self.statement_claims():
            figures = recompute(self)
            exact = exact_targets(self) if rigorous == "exact" else None
            if self.kind == "gap":
                gap_claims(self, figures, rigorous == "exact")
            elif exact is not None and all(target.excess is not None for target in exact):
                self.bounds = [target.bounds for target in exact]
            elif rigorous:
                self.bounds = prove(self)
            target_claims(self, figures, exact)
            rank_claim(self, figures.rows, figures.varies)
        ending_claims(self)
