"""A document with the data that it speaks of, and the head that all documents share: names, classes, fingerprint, weights.

Figures are in numpy's long double (64 bits of mantissa or more), decisions on which nothing may be rounded in fractions. No
mathematics of the judge is used here.
"""

from __future__ import annotations

import hashlib
import math
from fractions import Fraction
from typing import Any

import numpy as np

L = np.longdouble
assert np.finfo(L).eps < 2e-19, "the long double of this machine has no more digits than float64"

NAMES = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
ENDINGS = ("converged", "max_iter", "time_limit", "stalled", "interrupted", "infeasible", "not_finite")
MASK = 2**64 - 1


def number(value: Any) -> float:
    """The float of an entry; what is no number raises."""
    if isinstance(value, str):
        return NAMES[value]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{value!r} is no number")
    return float(value)


def absent(value: Any) -> bool:
    """Whether an entry claims nothing: none, or not a number."""
    return value is None or math.isnan(number(value))


def is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def near(claimed: Any, true: Any, room: Any) -> bool:
    """Every entry within its room; nothing that is not finite is near."""
    a, b, r = (np.asarray(each, dtype=L) for each in (claimed, true, room))
    with np.errstate(all="ignore"):
        return bool(np.all(np.isfinite(a) & np.isfinite(b) & np.isfinite(r) & (np.abs(a - b) <= r)))


class Lies(list[str]):
    """What is not true of a document, by name."""

    def unless(self, holds: Any, name: str) -> None:
        if not holds:
            self.append(name)

    def unless_near(self, name: str, claimed: Any, true: Any, room: Any) -> None:
        self.unless(near(claimed, true, room), name)


class Facts:
    """What the data say by themselves; made once for each fit."""

    def __init__(self, data: Any, estimator: str) -> None:
        X = data.X.toarray() if hasattr(data.X, "toarray") else np.asarray(data.X)
        self.tree = estimator.startswith("DecisionTree")
        self.floats = X.astype(np.float32).astype(np.float64) if self.tree else X.astype(np.float64)
        self.X = self.floats.astype(L)
        self.n, self.d = X.shape
        self.w = np.ones(self.n) if data.sample_weight is None else np.asarray(data.sample_weight, dtype=np.float64)
        self.y = np.asarray(data.y)
        self.labels = sorted(set(self.y.ravel().tolist())) if estimator != "OneClassSVM" else []
        self.hashes = [row_hash(line) for line in self.floats.tolist()]

    def index(self, rows: Any = None) -> np.ndarray:
        """The number of each row's class."""
        y = self.y if rows is None else self.y[rows]
        return np.array([self.labels.index(v) for v in y.tolist()])


def row_hash(values: list[float]) -> tuple[int, int]:
    """Two lanes of 64 bits, as the format of model files describes them."""
    out = []
    for seed, mixer in ((0x243F6A8885A308D3, 0xD6E8FEB86659FD93), (0x13198A2E03707344, 0xCA9B0C7EBA1DA115)):
        lane = 0
        for j, value in enumerate(values):
            bits = int(np.float64(value + 0.0).view(np.uint64))
            bits ^= bits >> 44
            z = (seed + j + 0x9E3779B97F4A7C15) & MASK
            z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
            z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
            t = (bits * ((z ^ (z >> 31)) | 1)) & MASK
            t = ((t ^ (t >> 32)) * mixer) & MASK
            lane = (lane + (t ^ (t >> 29))) & MASK
        out.append(lane)
    return out[0], out[1]


def digest(values: Any, dtype: str) -> str:
    return hashlib.blake2b(np.ascontiguousarray(values, dtype=dtype).tobytes(), digest_size=16).hexdigest()


class Case:
    """One document; ``honest`` is the one that it was made of."""

    def __init__(self, document: dict[str, Any], arrays: dict[str, Any], facts: Facts, honest: dict[str, Any]) -> None:
        self.document, self.a, self.facts, self.honest = document, arrays, facts, honest
        self.p, self.problem, self.block = document["parameters"], document["problem"], document["certificate"]
        self.n, self.d, self.w = facts.n, facts.d, facts.w

    def shapes(self, lies: Lies, **wanted: tuple[str, tuple[int, ...]]) -> None:
        """Type and shape of every array; those of learners have a dot in their name."""
        own = {name: array for name, array in self.a.items() if "." not in name and name != "training_rows"}
        lies.unless(own.keys() == wanted.keys(), "arrays")
        for name, (kind, shape) in wanted.items():
            array = own[name]
            lies.unless(array.dtype == np.dtype(kind) and array.shape == tuple(shape), f"form of {name}")
            if array.dtype.kind == "f":
                lies.unless(np.isfinite(array).all() or name in ("intercept", "threshold"), f"{name} is finite")

    @property
    def real(self) -> str:
        return {"float64": "f8", "float32": "f4"}[self.document["dtype"]]

    # -- what all documents say

    def head(self, lies: Lies, marks: tuple[Any, str]) -> None:
        """``marks``: the labels as the fingerprint has them, and their type."""
        document, facts, mark = self.document, self.facts, self.block["fingerprint"]
        lies.unless(document["format"] == "gapless model", "format")
        lies.unless(document["schema"] == 1 and is_count(document["schema"]), "schema")
        lies.unless(document["estimator"] == self.honest["estimator"], "estimator")
        single = any(name in self.a for name in ("coef", "means")) and document["estimator"] != "Perceptron"
        lies.unless(document["dtype"] in ("float64", *(("float32",) if single or facts.tree else ())), "dtype")
        lies.unless(document["n_features"] == facts.d and is_count(document["n_features"]), "n_features")
        lies.unless(_keys(document) == _keys(self.honest), "keys")
        hashes = np.array(facts.hashes, dtype=np.uint64)
        wanted = {
            "n_rows": facts.n, "n_features": facts.d, "rows": digest(hashes, "<u8"),
            "labels": digest(*marks), "weights": digest(facts.w + 0.0, "<f8"),
        }  # fmt: skip
        lies.unless(mark == wanted and is_count(mark["n_rows"]) and is_count(mark["n_features"]), "fingerprint")
        if "training_rows" in document:
            first = sorted({a for a, _ in facts.hashes})
            times = [sum(a == b for b, _ in facts.hashes) for a, _ in facts.hashes]
            block, given = document["training_rows"], self.a["training_rows"]
            lies.unless(given.dtype == np.uint64 and given.tolist() == first, "training rows")
            lies.unless(block == {"distinct": len(first), "twins": sum(t > 1 for t in times)}, "training rows")
            lies.unless(all(map(is_count, block.values())), "training rows")
        if document["classes"] is not None and self.honest["classes"] is not None:
            self.classes(lies, document["classes"])
        else:
            lies.unless(document["classes"] is None and self.honest["classes"] is None, "classes")

    def classes(self, lies: Lies, block: dict[str, Any]) -> None:
        """The labels, sorted, each once; whole numbers may be written as floats."""
        kinds = {"int": int, "float": (int, float), "bool": bool, "str": str}
        values, truth = block["values"], self.facts.labels
        lies.unless(isinstance(values, list) and values == truth, "classes")
        flags = isinstance(truth[0], bool | np.bool_)
        lies.unless(
            all(isinstance(v, bool) == flags and isinstance(v, kinds[block["type"]]) for v in values), "classes"
        )

    def class_weights(self, lies: Lies, claimed: Any, parameter: Any, index: np.ndarray, values: list[Any]) -> None:
        K, stated = len(values), [number(v) for v in claimed]
        wanted = np.ones(K)
        room = np.zeros(K)
        if parameter == "balanced":
            mass = np.array([self.w[index == k].astype(L).sum() for k in range(K)])
            wanted = np.where(mass > 0, self.w.astype(L).sum() / (K * np.where(mass > 0, mass, 1)), stated)
            room = 1e-9 * np.abs(wanted)
        elif parameter is not None:
            given = [(key, number(value)) for key, value in parameter]
            keys = [key for key, _ in given]
            lies.unless(len(set(keys)) == len(keys), "class_weight")
            lies.unless(set(keys) <= set(values) or set(values) <= set(keys), "class_weight")
            wanted = np.array([next((v for key, v in given if key == value), 1.0) for value in values])
        lies.unless(len(stated) == K and min(stated) >= 0, "class_weight")
        lies.unless_near("class_weight", stated, wanted, room)

    def same(self, lies: Lies, name: str, parameter: Any, claimed: Any) -> None:
        """A parameter and the entry of the problem that repeats it."""
        lies.unless(number(parameter) == number(claimed), name)


def _keys(value: Any) -> Any:
    """The keys of a document, block by block; the blocks of parameters that hold data of their own are left as they are."""
    if isinstance(value, dict):
        own = {key: _keys(inside) for key, inside in value.items() if key not in ("learners", "witness", "bounds")}
        return {**own, "parameters": sorted(value["parameters"])} if "parameters" in value else own
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return [_keys(inside) for inside in value]
    return None


def status_of_parts(lies: Lies, whole: Any, parts: list[Any]) -> None:
    """The whole is converged where every part is; else it ends as one of the others."""
    rest = set(parts) - {"converged"}
    lies.unless(set(parts) <= set(ENDINGS) and whole in (rest or {"converged"}), "status")


def exact(values: Any) -> list[Fraction]:
    return [Fraction(v) for v in np.asarray(values, dtype=np.float64).ravel().tolist()]


def dot(a: list[Fraction], b: list[Fraction]) -> Fraction:
    return sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0))


def solve(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A^-1 B by elimination with pivots, in long double."""
    m = len(A)
    T = np.hstack([np.asarray(A, dtype=L), np.asarray(B, dtype=L).reshape(m, -1)])
    for k in range(m):
        at = k + int(np.argmax(np.abs(T[k:, k])))
        T[[k, at]] = T[[at, k]]
        T[k] /= T[k, k]
        rest = np.arange(m) != k
        T[rest] -= np.outer(T[rest, k], T[k])
    return T[:, m:]
