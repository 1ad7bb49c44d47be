"""A document with its arrays and the data that it speaks of, and the claims that several families make.

A family derives its case: ``read_data`` refuses other data than those of the fit, ``judge`` adds a claim for each figure.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from .arithmetic.compare import at_most, between, capped, equal
from .arithmetic.rounding import UNIT, Interval
from .classes import class_weights_agree, label_index, sorted_unique
from .form.entries import is_number, number
from .rows import Rows, as_rows
from .same_data import same_rows, same_targets
from .verdict import Claim

Rigour = bool | Literal["exact"]
Bounds = tuple[float, float, float]
#: A certificate may admit at most this many times the judge's own bound on the rounding of float64.
ROUNDING_FACTOR = 4.0
#: No room for P, D or a gap, and no enclosure of them, is wider than this share of the larger of |P| and |D|.
GAP_SHARE = 0.01


class Case:
    """``claims`` and ``unchecked`` grow while the document is judged, ``bounds`` are those of the rigorous tier."""

    #: How labels are called, "labels" or "targets"; and what the certificate is of, "fit" or "proof".
    answers, source = "labels", "fit"
    #: Whether rows that are not kept, but read again for each walk, are judged.
    in_blocks = False
    tiers: Mapping[Rigour, str] = {False: "float64", True: "float64", "exact": "float64"}

    def __init__(
        self, document: dict[str, Any], arrays: dict[str, np.ndarray], X: Any, y: Any, sample_weight: Any
    ) -> None:
        self.document, self.block, self.arrays = document, document["certificate"], arrays
        self.parameters, self.problem = document.get("parameters", {}), document.get("problem", {})
        #: The blocks of the certificate, one for each subproblem or target.
        self.parts: list[dict[str, Any]] = self.block.get("subproblems", self.block.get("targets", []))
        self.d = document["n_features"]
        self.K = 0 if document["classes"] is None else len(document["classes"]["values"])
        self.claims: list[Claim] = []
        self.unchecked: list[str] = []
        self.bounds: list[Bounds] = []
        self.rows: Rows
        self.index: Any  # class indices, None where there are no classes
        self.weights: np.ndarray
        self.read_data(X, y, sample_weight)
        note = f"rows, {self.answers} and weights are those of the {self.source}"
        self.claim("data", "fingerprint", "fingerprint", True, note)

    def read_data(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Rows, labels and weights; CertificateError unless they are those of the fit."""
        self.rows = as_rows(X)
        self.index = label_index(y, self.document["classes"], self.rows.shape[0])
        self.weights = same_rows(self.document, self.rows, sample_weight)
        same_targets(self.document, self.index, "<i8")

    def judge(self, rigorous: Rigour) -> None:
        """Add a claim for each figure."""
        raise NotImplementedError

    def claim(self, name: str, claimed: Any, found: Any, holds: Any, note: str = "") -> bool:
        """Add a claim; returns whether it holds."""
        self.claims.append(Claim(name, claimed, found, bool(holds), note))
        return bool(holds)

    def same_claim(self, name: str, claimed: Any, found: Any, note: str = "") -> bool:
        """That an entry is what follows from others, or from the data: to the letter."""
        return self.claim(name, claimed, found, claimed == found, note)

    def which(self, k: int) -> str:
        """How a claim about part k begins."""
        return f"[{k}] " if len(self.parts) > 1 else ""

    def all_hold(self) -> bool:
        return all(claim.holds for claim in self.claims)

    def number_claim(self, name: str, stated: Any, parameter: str | None = None, also: bool = True) -> bool:
        """That a number of the problem is the parameter, and whatever ``also`` says."""
        value, asked = number(stated), self.parameters.get(parameter or name)
        return self.claim(name, value, asked, also and is_number(asked) and number(asked) == value)

    def class_claims(self, resolved: Sequence[Any]) -> bool:
        """That the class weights are those of the parameter, and the classes those of the labels; returns the first."""
        agree, values = [number(w) for w in resolved], self.document["classes"]["values"]
        asked = self.parameters.get("class_weight", "")
        good, expected = class_weights_agree(asked, values, agree, self.index, self.weights)
        self.claim("class weights", agree, expected, good)
        self.classes_claim()
        return good

    def classes_claim(self) -> bool:
        """That the classes are the labels."""
        values, present = self.document["classes"]["values"], np.unique(self.index).size
        holds = sorted_unique(values) and present == len(values)
        return self.claim("classes", len(values), present, holds, "sorted, each once, each has a row")

    def finite_claim(self, what: str, *arrays: np.ndarray, note: str = "") -> bool:
        """That all numbers of some arrays are finite."""
        fine = all(bool(np.isfinite(array).all()) for array in arrays)
        return self.claim("finite", what, None, fine, "" if fine else note)

    def weights_claim(self, c: np.ndarray, *, some: bool = True, note: str = "") -> bool:
        """That the weights of the rows are finite, and not all 0 where ``some``."""
        fine = bool(np.isfinite(c).all()) and (not some or bool((c > 0).any()))
        return self.claim("row weights", "finite, not all 0" if some else "finite", None, fine, "" if fine else note)

    def no_offset_claim(self, *offsets: np.ndarray) -> bool:
        return self.claim("no offset", 0.0, None, not any(b.any() for b in offsets), "the intercept is 0")

    def ending_claim(self, which: str, status: str, reached: bool, unsolved: bool = False) -> bool:
        """Converged where it is, and infeasible only where there is no point with a finite objective."""
        wanted = "converged" if reached else "not converged"
        holds = (status == "converged") == reached and (status != "infeasible" or unsolved)
        return self.claim(which + "status", status, wanted, holds)

    def status_claim(self) -> bool:
        """The whole is converged where every part is, else it ends as one of the other parts does."""
        status, parts = self.block["status"], {part["status"] for part in self.parts}
        fitting = {"converged"} if parts == {"converged"} else parts - {"converged"}
        return self.claim("status", status, " or ".join(sorted(fitting)), status in fitting)


class GapCase(Case):
    """A case with a gap: primal, dual, gap and rounding of each subproblem, and their totals."""

    tiers = {False: "float64", True: "proved bounds, float64", "exact": "proved bounds, exact arithmetic"}

    def rounding_claim(self, which: str, stated: float, most: float, known: bool = True) -> float:
        """That the stated rounding is at most ``most``; returns it, 0 where it is not."""
        honest = known and between(stated, 0.0, most)
        self.claim(which + "rounding", stated, most, honest, "is at most what float64 can need")
        return stated if honest else 0.0

    def feasible_claim(self, which: str, feasible: bool) -> bool:
        note = "exactly in its domain" if feasible else "outside its domain: there is no dual value"
        return self.claim(which + "dual feasible", True, feasible, feasible, note)

    def figure_claim(
        self, name: str, claimed: float, found: Interval, room: float, size: float, known: bool = True
    ) -> bool:
        """That a figure lies in its enclosure, widened by ``room``; both are no wider than a share of ``size``."""
        middle = 0.5 * found.low + 0.5 * found.up
        holds = known and inside(claimed, found, room, size)
        return self.claim(name, claimed, middle, holds, "" if known else "overflows")

    def difference_claims(self, which: str, block: dict[str, Any], parts: int = 1) -> bool:
        """gap = primal - dual, relative_gap and converged follow from the block's own figures; returns whether relative_gap <=
        tol. What the figures differ by is what the block admits as its rounding, which is judged elsewhere; an infinite P,
        too."""
        if unbounded(block):
            return False
        primal, dual, gap, relative = (number(block[key]) for key in ("primal", "dual", "gap", "relative_gap"))
        difference, size = primal - dual, max(abs(primal), abs(dual))
        room = number(block["rounding"]) + (12.0 + 4.0 * parts) * UNIT * size
        self.claim(which + "gap = primal - dual", gap, difference, equal(gap, difference, room))
        self.relative_claim(which, relative, gap, size)
        return at_most(relative, number(self.block["tol"]))

    def relative_claim(self, which: str, relative: float, gap: float, size: float) -> bool:
        expected = gap / size if size != 0.0 else 0.0
        near = equal(relative, expected, 8.0 * UNIT * abs(expected))
        return self.claim(which + "relative gap", relative, expected, near)

    def total_claims(self, gap: bool = True) -> None:
        """Status of each subproblem; totals are sums, and the whole is converged where every part is."""
        for k, sub in enumerate(self.parts):
            self.ending_claim(self.which(k), sub["status"], self.reached(k, sub), gap and unbounded(sub))
        self.sum_claims(*(("primal", "dual", "gap", "rounding") if gap else ("primal", "rounding")))
        if gap:
            self.difference_claims("total ", self.block, len(self.parts))
        self.status_claim()

    def reached(self, k: int, sub: dict[str, Any]) -> bool:
        """Whether the figures of a subproblem, which are compared with each other, reach the tolerance."""
        return self.difference_claims(self.which(k), sub)

    def sum_claims(self, *names: str) -> None:
        """Figures of the whole are the sums of those of its subproblems."""
        for name in names:
            parts = [number(sub[name]) for sub in self.parts]
            total = sum(parts)
            total = math.fsum(parts) if math.isfinite(total) else total
            room = (len(parts) + 2) * UNIT * sum(map(abs, parts)) if len(parts) > 1 else 0.0
            claimed = number(self.block[name])
            holds = claimed == total if total == math.inf else equal(claimed, total, room)
            self.claim(f"total {name}", claimed, total, holds, "the sum")

    def unproved_margins_claim(self, which: str, sub: dict[str, Any], silent: bool = True) -> bool:
        """A hard margin whose margins are not proved kept has an infinite P; of the optimum it may say no more than P* >= 0,
        which holds whether or not they are kept."""
        plain = silent and number(sub["dual"]) == number(sub["rounding"]) == 0.0 and sub["status"] != "converged"
        note = "P is infinite, and P* >= 0 is all it says"
        return self.claim(which + "margins proved kept", False, None, plain, note)


def inside(claimed: float, found: Interval, room: float, size: float) -> bool:
    """Whether a figure lies in its enclosure, which is no wider than a share of ``size``."""
    size = size + 1e-300  # a figure that underflows is off by more than any share of itself
    narrow = at_most(found.up, found.low, GAP_SHARE * size)
    return narrow and between(claimed, found.low, found.up, capped(room, size, GAP_SHARE))


def size_of(primal: Interval, dual: Interval) -> float:
    """The larger of |P| and |D|, as the judge has them."""
    return max(abs(primal.low), abs(primal.up), abs(dual.low), abs(dual.up))


def unbounded(block: dict[str, Any]) -> bool:
    """Whether figures say that nothing is known: P and the gap are infinite, and there is no relative gap."""
    infinite = number(block["primal"]) == number(block["gap"]) == math.inf
    return infinite and math.isnan(number(block["relative_gap"]))
