"""Certificates of decision trees: these are the rows, shares, means and impurities of every node, and every split is the best.

    impurity = 1 - sum p_k^2 (gini),  -sum p_k log2 p_k (entropy),  mean of (y - mean)^2 (squared error),
               mean of |y - median| (absolute error),  of y ln(y / mean) (poisson); of outputs the mean

A greedy tree is the best of nothing but of its own splits, and no gap is claimed. Rows are sent through the tree by the judge
itself; at every inner node all cuts of all features are tried again, by sorting, and none may lower the weighted impurity by
more than the tree's own split does, but for rounding. ``rigorous="exact"`` does that in fractions (gini and squared error).
"""

from __future__ import annotations

from ..case import Rigour
from ..form.entries import number
from .data import TreeData
from .splits import best_claims, reasons_known


class TreeCase(TreeData):
    """Nodes, the rows that each holds, and whether every split is the best."""

    def judge(self, rigorous: Rigour) -> None:
        plain = self.problem["criterion"] in ("gini", "squared_error") and self.parameters.get("monotonic_cst") is None
        exact = rigorous == "exact" and plain
        self.tiers = {rigorous: "exact" if exact else "float64"}
        if self.statement_claims() and self.form_claims():
            self.send_rows()
            self.node_claims()
            if self.all_hold():
                best_claims(self, exact)
        if not self.block["best"]:
            told = "whether splits are the best: not all were tried (bins, drawn features or thresholds)"
            self.unchecked.append(told)
            if not reasons_known(self):
                told = "whether leaves could have been split: a drawn split may fail a limit, or fall in a bin"
                self.unchecked.append(told)
        if number(self.parameters.get("ccp_alpha") or 0.0) > 0:
            self.unchecked.append("pruning, beyond that no leaf is worth more than its price")
        if rigorous and not exact:
            told = (
                "anything beyond float64: trees have fractions (rigorous='exact'; gini and squares, freely cut) or none"
            )
            self.unchecked.append(told)
