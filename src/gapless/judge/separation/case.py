"""The claims of a proof of separation, one by one.

- complete: a'theta > 0 for every pair of a row and a rival of its class
- quasi: sum alpha a = 0 with alpha > 0 on some pairs, so that no theta is complete; a'theta >= 0 for all pairs, > 0 for one
- overlap: sum alpha a = 0 with alpha > 0 on pairs of rank r; every a is orthogonal to (size - r) independent vectors, so that r
  is the rank of all of them: a'theta >= 0 for all pairs only where all are 0

Two classes, complete: let alpha >= 0, sum alpha = 1 and, with an offset, sum alpha y = 0.  A unit w with all y f >= m has
m <= sum alpha y f = <w, sum alpha y x> <= |sum alpha y x|: no margin is larger.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from ..case import Case, Rigour
from ..errors import CertificateError
from ..form.document import refuse_unreadable
from ..verdict import Verdict
from .document import defect, exact
from .exact import (
    PRIME,
    Lines,
    chosen_rows,
    differences,
    exact_differences,
    rank_at_least,
    residues,
    squared_length,
    sums_to_zero,
)


class SeparationCase(Case):
    """The rows that count, and the classes that have rows among them."""

    source = "proof"

    def read_data(self, X: Any, y: Any, sample_weight: Any) -> None:
        super().read_data(X, y, sample_weight)
        self.keep = self.weights > 0
        present = np.bincount(self.index[self.keep], minlength=self.K) > 0
        #: Place among the classes that count, -1 for the others; K are those that count.
        self.place = np.where(present, np.cumsum(present) - 1, -1)
        self.offset = bool(self.block["offset"])
        self.width = self.rows.shape[1] + self.offset

    def judge(self, rigorous: Rigour) -> None:
        self.classes_claim()
        self.K, self.index = int(self.place.max()) + 1, self.place[self.index]
        self.size = (self.K - 1) * self.width
        {"complete": _complete, "quasi": _quasi, "overlap": _overlap}[self.block["status"]](self)

    def lines(self, entries: Any) -> Lines | None:
        """The lines of a direction, with that of the first class; None where there are not K - 1 of the right length."""
        if entries is None or len(entries) != self.K - 1 or any(len(line) != self.width for line in entries):
            return None
        first = [Fraction(0)] * self.width
        return Lines([first, *([exact(v) for v in line] for line in entries)])

    def signs(self, lines: Lines) -> tuple[int, int, int, set[int]]:
        """How many pairs are below 0, at 0 and above, and the rows at 0."""
        below = at = above = 0
        plane: set[int] = set()
        for number, _, _, sign, _ in differences(self.rows, self.index, self.keep, lines, self.offset):
            below += int((sign < 0).sum())
            above += int((sign > 0).sum())
            zero = number[sign == 0]
            at += zero.size
            plane.update(zero.tolist())
        return below, at, above, plane

    def annihilates(self, lines: Lines) -> bool:
        """Whether every pair is exactly at 0."""
        pairs = differences(self.rows, self.index, self.keep, lines, self.offset)
        return not any(sign.any() for _, _, _, sign, _ in pairs)


def check(document: dict[str, Any], X: Any, y: Any, sample_weight: Any = None) -> Verdict:
    """Judge a proof of separation. CertificateError for other data, or a proof that cannot be read."""
    refuse_unreadable(document, defect)
    case = SeparationCase(document, {}, X, y, sample_weight)
    if case.place.max() < 1:
        raise CertificateError("other data: fewer than two classes have rows of positive weight")
    case.judge("exact")
    unchecked = ["that no other hyperplane has fewer rows on it", "that no fewer columns would do", "version"]
    return Verdict(case.claims, [*unchecked, "names of features"], [], "exact arithmetic")


def _complete(case: SeparationCase) -> None:
    block = case.block
    lines = case.lines(block["direction"])
    case.claim("direction", f"{case.K - 1} x {case.width}", None, lines is not None)
    case.claim("no kernel", 0, len(block["kernel"]), not block["kernel"])
    _largest(case)
    if lines is None:
        return
    below, at, above, _ = case.signs(lines)
    case.claim("rows strictly on their sides", below + at + above, above, below == at == 0)
    case.same_claim("rows on the plane", block["on_plane"], at)
    margin = block["margin"]
    good, shown = (False, None) if margin is None else _kept_apart(case, lines, margin)
    case.claim("margin", margin, shown, good, "at most the smallest distance to the boundary")
    _narrow(case, lines, strict=True)


def _kept_apart(case: SeparationCase, lines: Lines, margin: float) -> tuple[bool, float]:
    """Whether every row is at least ``margin`` from the boundaries of its class; the smallest distance, by floats."""
    d, m2 = case.rows.shape[1], Fraction(margin) ** 2
    lengths: dict[tuple[int, int], int] = {}
    shown = math.inf
    for number, own, k, sign, low in differences(case.rows, case.index, case.keep, lines, case.offset):
        for c in np.unique(own).tolist():
            if (c, k) not in lengths:
                lengths[c, k] = sum((u - v) ** 2 for u, v in zip(lines.whole[c][:d], lines.whole[k][:d], strict=True))
            square = lengths[c, k]
            if not square:  # no boundary between these two: nothing to be away from
                continue
            length = _float_root(Fraction(square, 1 << (2 * lines.shift)))
            chosen = own == c
            if (sign[chosen] <= 0).any():
                return False, 0.0
            # A length that float64 cannot hold decides nothing: then every row is looked at exactly.
            usable = 1e-150 < length < 1e150
            distance = low[chosen] / length if usable else np.zeros(int(chosen.sum()))
            close = np.flatnonzero(~(distance > margin * (1.0 + 1e-9)))
            if usable:
                shown = min(shown, float(distance.min(initial=math.inf)))
            if close.size:
                rows = number[chosen][close]
                values = exact_differences(chosen_rows(case.rows, rows), c, k, lines, case.offset)
                if any(v * v < m2 * square for v in values):
                    return False, shown
                shown = min(shown, _float_root(min(v * v for v in values) / square))
    return True, shown


def _float_root(x: Fraction) -> float:
    """sqrt(x) as a float, for showing and for a first look; 0 or infinity where it is out of range."""
    try:
        return math.sqrt(x)
    except OverflowError:
        return math.inf


def _largest(case: SeparationCase) -> None:
    """The upper bound on all margins, by multipliers."""
    block = case.block
    upper = block["margin_upper"]
    if upper is None:
        case.claim("no multipliers", 0, len(block["rows"]), not block["rows"])
        return
    placed = _pairs(case)
    if placed is None or case.K != 2:
        case.claim("margin, from above", upper, None, False, "needs multipliers, and two classes")
        return
    rows, own, _, alpha = placed
    signed = [v if k == 1 else -v for v, k in zip(alpha, own.tolist(), strict=True)]
    balanced = sum(alpha) == 1 and (not case.offset or sum(signed) == 0)
    case.claim("sum of multipliers", 1, None, balanced, "and 0 with the signs of y, where there is an offset")
    square = squared_length(chosen_rows(case.rows, rows), signed)
    shown = _float_root(square)
    good = balanced and Fraction(upper) ** 2 >= square
    case.claim("margin, from above", upper, shown, good, "of any hyperplane")


def _narrow(case: SeparationCase, lines: Lines, strict: bool) -> None:
    """The columns named are those of a direction that does the same: the given one, or a narrow one beside it."""
    block = case.block
    narrow = lines if block["narrow"] is None else case.lines(block["narrow"])
    if narrow is None:
        case.claim("columns", block["columns"], None, False, "the narrow direction has another shape")
        return
    d = case.rows.shape[1]
    used = sorted({j for line in narrow.whole for j, v in enumerate(line[:d]) if v})
    good = used == block["columns"]
    if narrow is not lines:
        below, at, above, _ = case.signs(narrow)
        good = good and below == 0 and (at == 0 if strict else above > 0)
    case.claim("columns", block["columns"], used, good, "these alone separate so")


def _relation(case: SeparationCase) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Positive multipliers on distinct pairs whose sum is 0; the rows of the pairs, their own classes and rivals."""
    placed = _pairs(case)
    if placed is None:
        return None
    rows, own, rival, alpha = placed
    x = chosen_rows(case.rows, rows)
    if case.offset:
        x = np.hstack([x, np.ones((rows.size, 1))])
    zero = sums_to_zero(x, own, rival, alpha, case.K)
    case.claim("sum of multipliers times rows", 0, 0 if zero else "not 0", zero, "exactly")
    return (x, own, rival) if zero else None


def _pairs(case: SeparationCase) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[Fraction]] | None:
    """Rows, own classes, rivals and multipliers, where these are positive and of distinct pairs."""
    block = case.block
    alpha = [exact(v) for v in block["multipliers"]]
    rows, rivals = np.array(block["rows"], dtype=np.int64), np.array(block["rivals"], dtype=np.int64)
    n = case.rows.shape[0]
    good = len(alpha) > 0 and all(v > 0 for v in alpha)
    case.claim("multipliers", f"{len(alpha)} positive", sum(v > 0 for v in alpha), good)
    placed = good and bool((rows < n).all() and (rivals < case.place.size).all() and case.keep[rows].all())
    own = rival = rows
    if placed:
        own, rival = case.index[rows], case.place[rivals]
        distinct = len(set(zip(rows.tolist(), rival.tolist(), strict=True))) == rows.size
        placed = bool((rival >= 0).all() and (own != rival).all()) and distinct
    case.claim("pairs", len(block["rows"]), None, placed, "rows that count, against other classes, each once")
    return (rows, own, rival, alpha) if placed else None


def _quasi(case: SeparationCase) -> None:
    block = case.block
    _relation(case)
    lines = case.lines(block["direction"])
    case.claim("direction", f"{case.K - 1} x {case.width}", None, lines is not None)
    none = block["margin"] is None and block["margin_upper"] is None and not block["kernel"]
    case.claim("no margin", None, block["margin"], none)
    if lines is None:
        return
    below, at, above, plane = case.signs(lines)
    case.claim("rows on the wrong side", 0, below, below == 0, f"of {below + at + above}")
    case.claim("rows strictly on their sides", "some", above, above > 0)
    case.same_claim("rows on the plane", block["on_plane"], len(plane))
    _narrow(case, lines, strict=False)


def _overlap(case: SeparationCase) -> None:
    block = case.block
    bare = block["direction"] is None and block["narrow"] is None and not block["columns"]
    bare = bare and block["margin"] is None and block["margin_upper"] is None
    case.claim("no direction", None, None, bare and block["on_plane"] == 0)
    held = _relation(case)
    if held is None:
        return
    x, own, rival = held
    base = residues(x)
    parts = []
    for k in range(1, case.K):
        sign = (own == k).astype(np.int64) - (rival == k).astype(np.int64)
        parts.append(base * sign[:, None] % PRIME)
    rank = rank_at_least(np.hstack(parts)) if parts[0].shape[1] else 0
    vectors = [case.lines(vector) for vector in block["kernel"]]
    shaped = all(vector is not None for vector in vectors)
    case.claim("kernel", f"{len(vectors)} vectors", None, shaped, "of the shape of a direction")
    if not shaped:
        return
    flat = [[v % PRIME for line in vector.whole[1:] for v in line] for vector in vectors if vector is not None]
    free = rank_at_least(np.array(flat, dtype=np.int64).reshape(len(flat), case.size)) if flat else 0
    orthogonal = all(case.annihilates(v) for v in vectors if v is not None)
    apart = orthogonal and free == len(vectors)
    case.claim("kernel vectors orthogonal to every row", len(vectors), free, apart)
    full = rank + free == case.size and orthogonal
    case.claim("rank of the rows with multipliers", case.size - len(vectors), rank, full, "that of all rows")
