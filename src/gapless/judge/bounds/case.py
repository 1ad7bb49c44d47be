"""A document with its data, the test rows if there are any, and what bounds ask of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from ..arithmetic.compare import at_most, between
from ..classes import label_index, weights_of_rows
from ..form.entries import number
from ..linear.recompute import row_weights
from ..rows import as_rows
from ..verdict import Claim


class BoundsCase:
    """``check`` judges the documents of members, ``test`` is (X, y) of the test rows; ``claims`` and ``unchecked`` grow."""

    #: A value may be this share above the one that its figures give: it was rounded up, and not made larger.
    loose = 1e-6

    def __init__(
        self,
        document: dict[str, Any],
        arrays: dict[str, np.ndarray],
        data: tuple[Any, Any, Any],
        test: tuple[Any, Any] | None,
        check: Callable[..., Any],
    ) -> None:
        X, y, sample_weight = data
        self.document, self.arrays, self.test, self.check = document, arrays, test, check
        self.parameters, self.problem, self.block = document["parameters"], document["problem"], document["bounds"]
        self.rows = as_rows(X)
        self.n = self.rows.shape[0]
        self.index = label_index(y, document["classes"], self.n)
        self.K = len(document["classes"]["values"])
        self.claims: list[Claim] = []
        self.unchecked: list[str] = []
        self.alike = bool((weights_of_rows(sample_weight, self.n) == 1.0).all())

    def delta(self, row: dict[str, Any], parts: int) -> Fraction:
        """The share of a row's delta that each of so many parts has."""
        return Fraction(number(row["delta"])) / max(1, parts)

    def claim(self, name: str, claimed: Any, found: Any, holds: Any, note: str = "") -> bool:
        self.claims.append(Claim(f"bounds: {name}", claimed, found, bool(holds), note))
        return bool(holds)

    def count_claim(self, row: dict[str, Any], name: str, found: Any, holds: Any, note: str = "") -> bool:
        """A figure that a value follows from."""
        return self.claim(f"{row['method']}, {name}", row["figures"][name], found, holds, note)

    def value_claim(self, row: dict[str, Any], found: float, proved: bool | None = None, note: str = "") -> bool:
        """A value is no less than what is proved, and at most ``loose`` above what its figures give."""
        claimed = number(row["value"])
        enough = proved is True or at_most(found, claimed)
        close = at_most(claimed, found, self.loose * found) or (claimed == 1.0 and at_most(1.0, found, self.loose))
        return self.claim(row["method"], claimed, min(1.0, found), at_most(claimed, 1.0) and enough and close, note)

    def drawn_claim(self, row: dict[str, Any], found: float | None = None) -> None:
        """The bound for a hypothesis that is drawn; None where none is drawn."""
        claimed = row["randomised"]
        if found is not None:
            holds = claimed is not None and between(number(claimed), found, found * (1.0 + self.loose))
            self.claim(f"{row['method']}, randomised", claimed, found, holds, "for one that is drawn")
        elif claimed is not None:
            self.claim(f"{row['method']}, randomised", claimed, None, False)

    def multipliers(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, bool]:
        """alpha and c of a support vector machine of two classes, which alpha are above 0 beyond rounding, and whether one of
        these is inside its bounds."""
        alpha, C = np.abs(self.arrays["dual"][0]), number(self.problem["C"])
        weight, near = np.array([number(w) for w in self.problem["class_weight"]]), 1e-9
        c = row_weights(C if math.isfinite(C) else 1.0, np.ones(self.n), weight, self.index)
        if not math.isfinite(C):  # the hard margin bounds none
            c = np.full(self.n, 2.0 * float(alpha.max(initial=1.0)))
        used = alpha > near * c
        return alpha, c, used, bool((used & (alpha < (1.0 - near) * c)).any())
