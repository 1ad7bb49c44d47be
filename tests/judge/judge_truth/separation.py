"""Proofs that classes are separated, quasi-separated or overlap: every pair of a row and a rival class, in fractions."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from .case import Facts, Lies, digest, dot, exact, is_count

Line = list[Fraction]


def find(document: dict[str, Any], honest: dict[str, Any], facts: Facts, lies: Lies) -> None:
    block = document["certificate"]
    lies.unless(document.keys() == honest.keys() and block.keys() == honest["certificate"].keys(), "keys")
    lies.unless(document["format"] == "gapless separation" and block["kind"] == "separation", "format")
    lies.unless(is_count(document["schema"]) and document["schema"] == 1, "schema")
    lies.unless(is_count(document["n_features"]) and document["n_features"] == facts.d, "n_features")
    kinds = {"int": int, "float": (int, float), "bool": bool, "str": str}
    values = document["classes"]["values"]
    flags = isinstance(facts.labels[0], bool | np.bool_)
    lies.unless(values == facts.labels and all(isinstance(v, bool) == flags for v in values), "classes")
    lies.unless(all(isinstance(v, kinds[document["classes"]["type"]]) for v in values), "classes")
    index = facts.index()
    hashes = np.array(facts.hashes, dtype=np.uint64)
    wanted = {
        "n_rows": facts.n, "n_features": facts.d, "rows": digest(hashes, "<u8"), "labels": digest(index, "<i8"),
        "weights": digest(facts.w + 0.0, "<f8"),
    }  # fmt: skip
    lies.unless(block["fingerprint"] == wanted, "fingerprint")
    lies.unless(isinstance(block["offset"], bool), "offset")
    lies.unless(len(block["rows"]) == len(block["rivals"]) == len(block["multipliers"]), "rows")
    if not lies:
        _Proof(block, facts, index, lies).find()


def number(value: Any) -> Fraction:
    if isinstance(value, bool):
        raise TypeError("a flag is no number")
    return Fraction(value)


class _Proof:
    """All pairs (row, own class, rival) of the rows that count."""

    def __init__(self, block: dict[str, Any], facts: Facts, index: np.ndarray, lies: Lies) -> None:
        self.block, self.lies, self.offset = block, lies, block["offset"]
        self.rows = [exact(line) + [Fraction(1)] * self.offset for line in facts.floats]
        self.K, self.d, self.width = len(facts.labels), facts.d, facts.d + self.offset
        self.index, self.counted = index, facts.w > 0
        self.pairs = [
            (i, int(index[i]), k) for i in range(facts.n) if self.counted[i] for k in range(self.K) if k != index[i]
        ]

    def lines(self, entries: Any) -> list[Line]:
        """The lines of a direction, that of the first class 0."""
        out = [[number(v) for v in line] for line in entries]
        if len(out) != self.K - 1 or any(len(line) != self.width for line in out):
            raise ValueError("a direction of another shape")
        return [[Fraction(0)] * self.width, *out]

    def values(self, lines: list[Line]) -> list[Fraction]:
        scores = [[dot(row, line) for line in lines] for row in self.rows]
        return [scores[i][own] - scores[i][rival] for i, own, rival in self.pairs]

    def find(self) -> None:
        {"complete": self.complete, "quasi": self.quasi, "overlap": self.overlap}[self.block["status"]]()

    def narrow(self, lines: list[Line], strict: bool) -> None:
        block = self.block
        narrow = lines if block["narrow"] is None else self.lines(block["narrow"])
        used = sorted({j for line in narrow for j in range(self.d) if line[j]})
        self.lies.unless(block["columns"] == used and all(map(is_count, block["columns"])), "columns")
        values = self.values(narrow)
        self.lies.unless(min(values) > 0 if strict else min(values) >= 0 and max(values) > 0, "narrow")

    def complete(self) -> None:
        block, lies = self.block, self.lies
        lines = self.lines(block["direction"])
        values = self.values(lines)
        lies.unless(min(values) > 0 and not block["kernel"], "direction")
        lies.unless(is_count(block["on_plane"]) and block["on_plane"] == 0, "on_plane")
        lies.unless(isinstance(block["margin"], float) and block["margin"] >= 0, "margin")
        margin = Fraction(block["margin"])
        for value, (_, own, rival) in zip(values, self.pairs, strict=True):
            length = sum(
                ((a - b) ** 2 for a, b in zip(lines[own][: self.d], lines[rival][: self.d], strict=True)), Fraction(0)
            )
            lies.unless(not length or value * value >= margin * margin * length, "margin")
        upper = block["margin_upper"]
        if upper is None:
            lies.unless(not block["rows"], "rows")
        else:
            lies.unless(
                isinstance(upper, float) and upper >= 0 and self.K == 2 and math.isfinite(upper), "margin_upper"
            )
            chosen = self.multipliers()
            lies.unless(sum(alpha for *_, alpha in chosen) == 1, "multipliers")
            signed = [(i, alpha if own == 1 else -alpha) for i, own, _, alpha in chosen]
            lies.unless(not self.offset or sum(alpha for _, alpha in signed) == 0, "multipliers")
            total = [sum((alpha * self.rows[i][j] for i, alpha in signed), Fraction(0)) for j in range(self.d)]
            lies.unless(Fraction(upper) ** 2 >= dot(total, total), "margin_upper")
        self.narrow(lines, strict=True)

    def multipliers(self) -> list[tuple[int, int, int, Fraction]]:
        """(row, own class, rival, multiplier), each pair once, all above 0."""
        block, lies = self.block, self.lies
        rows, rivals, alphas = block["rows"], block["rivals"], [number(v) for v in block["multipliers"]]
        lies.unless(len(rows) == len(rivals) == len(alphas) == len(set(zip(rows, rivals, strict=True))) > 0, "rows")
        lies.unless(all(is_count(i) and self.counted[i] for i in rows) and all(map(is_count, rivals)), "rows")
        lies.unless(all(k < self.K and k != self.index[i] for i, k in zip(rows, rivals, strict=True)), "rivals")
        lies.unless(min(alphas) > 0, "multipliers")
        return [(i, int(self.index[i]), k, a) for i, k, a in zip(rows, rivals, alphas, strict=True)]

    def vector(self, i: int, own: int, rival: int) -> Line:
        out = [Fraction(0)] * (self.K * self.width)
        for k, sign in ((own, 1), (rival, -1)):
            for j, v in enumerate(self.rows[i]):
                out[k * self.width + j] += sign * v
        return out[self.width :]

    def relation(self) -> list[Line]:
        chosen = self.multipliers()
        vectors = [self.vector(i, own, rival) for i, own, rival, _ in chosen]
        alphas = [alpha for *_, alpha in chosen]
        zero = not any(dot(alphas, [v[j] for v in vectors]) for j in range(len(vectors[0])))
        self.lies.unless(zero, "sum of multipliers times rows")
        return vectors

    def quasi(self) -> None:
        block, lies = self.block, self.lies
        self.relation()
        lines = self.lines(block["direction"])
        values = self.values(lines)
        lies.unless(min(values) >= 0 and max(values) > 0, "direction")
        plane = {i for v, (i, _, _) in zip(values, self.pairs, strict=True) if v == 0}
        lies.unless(is_count(block["on_plane"]) and block["on_plane"] == len(plane), "on_plane")
        lies.unless(block["margin"] is None and block["margin_upper"] is None and not block["kernel"], "margin")
        self.narrow(lines, strict=False)

    def overlap(self) -> None:
        block, lies = self.block, self.lies
        none = all(block[key] is None for key in ("direction", "narrow", "margin", "margin_upper"))
        lies.unless(
            none and block["columns"] == [] and is_count(block["on_plane"]) and block["on_plane"] == 0, "direction"
        )
        size = (self.K - 1) * self.width
        kernel = [[v for line in self.lines(each)[1:] for v in line] for each in block["kernel"]]
        lies.unless(_rank(self.relation()) + len(kernel) == size and _rank(kernel) == len(kernel), "rank")
        for each in kernel:
            lies.unless(not any(dot(each, self.vector(*pair)) for pair in self.pairs), "kernel")


def _rank(vectors: list[Line]) -> int:
    rest, rank = [list(v) for v in vectors], 0
    for j in range(len(rest[0]) if rest else 0):
        at = next((i for i in range(rank, len(rest)) if rest[i][j]), None)
        if at is None:
            continue
        rest[rank], rest[at] = rest[at], rest[rank]
        for i in range(rank + 1, len(rest)):
            share = rest[i][j] / rest[rank][j]
            rest[i] = [a - share * b for a, b in zip(rest[i], rest[rank], strict=True)]
        rank += 1
    return rank
