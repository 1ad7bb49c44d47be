"""A forger that knows nothing but the schema: every entry and every array of a document set to something else.

``forgeries`` gives documents with one thing changed; ``is_false`` decides, with code of its own and from the data, whether what
the changed document says is still true. It says None where that cannot be told: entries that the schema lists as unchecked,
and changes smaller than the room that an entry has by its own table here (`ROOMS`).
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from judge_cases import Problem, exact_dual, exact_primal
from judge_zoo import Fit

from gapless.judge.forms import kind_of
from gapless.judge.schema import table_of

WORDS = ("converged", "stalled", "max_iter", "gap", "bound", "free", "none", "penalised", "hinge", "logistic", "rbf",
         "linear", "shared", "float32", "float64", "int", "float", "bool", "str", "gini", "l2", "other", "")  # fmt: skip
NON_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


class Forgery(NamedTuple):
    """One change: where, from what, to what, and the document and arrays that it makes."""

    place: str
    old: Any
    new: Any
    document: dict[str, Any]
    arrays: dict[str, np.ndarray]


def number(value: Any) -> float:
    return NON_FINITE[value] if isinstance(value, str) else float(value)


def is_number(value: Any) -> bool:
    return (isinstance(value, int | float) and not isinstance(value, bool)) or value in ("inf", "-inf", "nan")


def numbers_like(x: float, neighbour: float, rng: np.random.Generator) -> list[float]:
    return [0.0, -x, x * (1 + 1e-6), x * (1 - 1e-6), x * 1e3, x * 1e-3, math.inf, -math.inf, math.nan, 1e18, -1e18, 1e-18,
            neighbour, float(rng.normal()), x + 1.0]  # fmt: skip


def written(x: float, like: Any) -> Any:
    """A float as a document has it; whole numbers stay whole where they can."""
    if not math.isfinite(x):
        return "nan" if math.isnan(x) else ("inf" if x > 0 else "-inf")
    return int(x) if isinstance(like, int) and not isinstance(like, bool) and abs(x) < 2**60 else x


def leaves(value: Any, path: tuple = ()) -> Iterator[tuple[tuple, Any]]:
    """Every entry of a document that is no block, lists as a whole and entry by entry."""
    if isinstance(value, dict):
        for key, inside in value.items():
            yield from leaves(inside, (*path, key))
        return
    yield path, value
    if isinstance(value, list):
        for k, inside in enumerate(value[:3]):
            yield from leaves(inside, (*path, k))


def put(document: dict[str, Any], path: tuple, value: Any) -> dict[str, Any]:
    out = copy.deepcopy(document)
    block = out
    for key in path[:-1]:
        block = block[key]
    block[path[-1]] = value
    return out


def others_of(value: Any, neighbour: float, rng: np.random.Generator) -> list[Any]:
    """What an entry is set to."""
    if isinstance(value, bool):
        return [not value, None, 1, "true"]
    if value is None:
        return [0, 1.0, "text", [], True]
    if is_number(value):
        return [written(x, value) for x in numbers_like(number(value), neighbour, rng)] + [None, "text", True, []]
    if isinstance(value, str):
        return [word for word in WORDS if word != value] + [value + "x", None, 0]
    if isinstance(value, list):
        return [[], value[:-1], value + value[:1], value[::-1], None, 0, {}]
    return [None, 0, "text"]


def document_forgeries(fit: Fit, rng: np.random.Generator) -> Iterator[Forgery]:
    every = [number(value) for _, value in leaves(fit.document) if is_number(value)]
    for path, value in leaves(fit.document):
        neighbour = every[int(rng.integers(len(every)))]
        for new in others_of(value, neighbour, rng):
            if repr(new) != repr(value):
                name = ".".join(str(key) for key in path)
                yield Forgery(name, value, new, put(fit.document, path, new), fit.arrays)


def array_forgeries(fit: Fit, rng: np.random.Generator, entries: int = 2) -> Iterator[Forgery]:
    for name, array in fit.arrays.items():
        made: list[tuple[str, np.ndarray]] = []
        for _ in range(min(entries, array.size)):
            at = tuple(int(rng.integers(size)) for size in array.shape)
            neighbour = float(array.flat[int(rng.integers(array.size))])
            with np.errstate(all="ignore"):
                for x in numbers_like(float(array[at]), neighbour, rng):
                    other = array.copy()
                    try:
                        other[at] = x
                    except (ValueError, OverflowError):
                        continue
                    made.append((f"{name}{list(at)} = {x!r}", other))
        if array.size > 1:
            made.append((f"{name} permuted", array.reshape(-1)[rng.permutation(array.size)].reshape(array.shape)))
            made.append((f"{name} turned", np.ascontiguousarray(array[::-1])))
        if array.size:
            made += [(f"{name} truncated", array[:-1]), (f"{name} longer", np.concatenate([array, array[:1]]))]
            with np.errstate(all="ignore"):
                made.append((f"{name} shifted", (array + 1).astype(array.dtype)))
                made.append((f"{name} far", (array.astype(np.float64) + 1e15).astype(array.dtype)))
                made.append((f"{name} negative", (-array.astype(np.float64)).astype(array.dtype)))
        for place, other in made:
            if other.shape != array.shape or not np.array_equal(other, array, equal_nan=True):
                yield Forgery("arrays." + place, None, None, fit.document, {**fit.arrays, name: other})


def forgeries(fit: Fit, rng: np.random.Generator) -> Iterator[Forgery]:
    yield from document_forgeries(fit, rng)
    yield from array_forgeries(fit, rng)


# -- is it still true?

#: How far a figure may be from the truth and still be true, as a share of a scale of its own: `scale_of`.
ROOMS = {
    "primal": 1e-9, "dual": 1e-9, "gap": 1e-9, "rss": 4e-6, "r2": 1e-6, "orthogonality": 1e-6, "loss": 4e-6, "decrement": 1e-3,
    "reach": 0.3, "excess": 0.3, "violation": 1e-9, "error": 1e-5, "margin": 1e-6, "median_margin": 1e-6, "radius": 1e-6,
    "min_weight": 1e-5, "class_weight": 1e-5, "shrinkage": 2e-6, "in_bag_probability": 1e-9, "in_bag_share": 1e-9,
    "gamma": 2e-9,
}  # fmt: skip
#: Words of which more than one may be true, and numbers: bounds, limits that are not reached, counts between two numbers.
OPEN_WORDS = ("status", "kind")
OPEN_NUMBERS = (
    "rounding", "rank", "bound", "passes", "n_iter", "enough", "mistakes", "clean_round", "shift", "tol", "ccp_alpha",
    "min_impurity_decrease", "max_features", "max_samples", "min_samples_split", "max_depth", "max_leaf_nodes",
    "min_weight_fraction_leaf", "min_weight", "validation_fraction", "max_iter",
)  # fmt: skip


def entry_of(fit: Fit, place: str) -> Any:
    """The entry of the schema that a place of the document stands under."""
    schema = kind_of(fit.document).schema
    if place.startswith("arrays."):
        return schema["arrays."].get(place[7:].partition("[")[0].partition(" ")[0])
    parts, path = place.split("."), ""
    for depth, part in enumerate(parts):
        entry = table_of(schema, path, fit.document["estimator"]).get(part)
        inside = parts[depth + 1 :]
        path += part + ("[]." if inside and inside[0].isdigit() else ".")
        if entry is None and part.isdigit():
            continue
        if not inside or (inside[0].isdigit() and len(inside) == 1) or not _deeper(schema, path, fit, inside):
            return entry
        if inside[0].isdigit():
            parts[depth + 1] = ""
    return None


def _deeper(schema: Any, path: str, fit: Fit, inside: list[str]) -> bool:
    return path in schema or path == "parameters."


def scale_of(fit: Fit, key: str, old: float) -> float:
    """What a figure is small beside."""
    block = fit.document["certificate"]
    if key in ("primal", "dual", "gap", "violation"):
        sizes = [abs(number(block[name])) for name in ("primal", "dual") if is_number(block.get(name))]
        parts = (block.get("subproblems") or []) + (block.get("targets") or [])
        sizes += [abs(number(part[name])) for part in parts for name in ("primal", "dual") if is_number(part.get(name))]
        return max([1.0, *(size for size in sizes if math.isfinite(size))])
    if key == "rss":
        return float((np.asarray(fit.data.y, dtype=float) ** 2).sum()) * 4.0
    if key in ("reach", "r2", "orthogonality", "margin", "median_margin", "error", "shrinkage"):
        return 1.0 + abs(old)
    if key in ("loss", "decrement", "excess"):
        return float(np.size(fit.data.y))
    return abs(old)


def is_false(fit: Fit, forged: Forgery) -> bool | None:
    """Whether the changed document says something that is not true; None: not told here."""
    entry = entry_of(fit, forged.place)
    if entry is None or entry.kind == "unchecked":
        return None
    if forged.place.startswith("arrays."):
        return arrays_are_false(fit, forged)
    keys = [part for part in forged.place.split(".") if part and not part.isdigit()]
    key, new, old = keys[-1], forged.new, forged.old
    if key in OPEN_WORDS or forged.place in _unused(fit):
        return None
    if key in OPEN_NUMBERS and (is_number(old) or old is None) and is_number(new) and math.isfinite(number(new)):
        return None
    if any(repr(new) == repr(same) for same in _equal(fit, key, old)):
        return None
    if key in ("values", "type"):  # whole numbers may be written as floats
        return (
            None if is_number(new) and is_number(old) and number(new) == number(old) else not _same_type(fit, key, new)
        )
    if is_number(old) and is_number(new):
        a, b = number(old), number(new)
        if a == b:
            return None
        if not (math.isfinite(a) and math.isfinite(b)):
            return not (math.isnan(a) and math.isnan(b))
        room = ROOMS.get(key, 1e-12 if key.startswith("relative") else 0.0) * scale_of(fit, key, a)
        return True if abs(b - a) > room else None
    return True


def _equal(fit: Fit, key: str, old: Any) -> tuple[Any, ...]:
    """The same parameter by other words."""
    if key in ("l1_ratio", "shrinkage") and not old:
        return (None, 0, 0.0)
    if key == "class_weight":
        weights = np.ravel(fit.document["problem"].get("class_weight") or [1.0])
        return (None, [], "balanced") if (weights == 1.0).all() else ()
    if key in ("rank", "random_state"):  # of nothing nothing is claimed
        return (None,)
    if key == "solver" and old in ("lsqr", "eigen"):
        return ("lsqr", "eigen")
    if key == "max_features" and old is None:
        return (1.0, fit.document["n_features"])
    if key == "max_samples" and old is None:
        return (1.0, fit.document["certificate"]["fingerprint"]["n_rows"])
    return (float(old), int(old)) if is_number(old) and math.isfinite(number(old)) and float(old).is_integer() else ()


def _unused(fit: Fit) -> tuple[str, ...]:
    """Parameters that a fit of this kind has no use for: a kernel without a width, an offset without a penalty."""
    problem = fit.document["problem"]
    names: list[str] = []
    if "kernel" in problem:
        used = {"poly": (), "rbf": ("degree", "coef0"), "sigmoid": ("degree",)}
        names += used.get(problem["kernel"]["name"], ("degree", "coef0", "gamma"))
    if "offset_scale" in problem and problem["offset"] != "penalised":
        names += ["intercept_scaling"]
    if problem.get("offset") == "none" or fit.document["certificate"]["kind"] == "gradient":
        names += ["penalize_intercept"]
    if problem.get("rule") == "spherical":
        names += ["shrinkage"]
    return tuple(f"parameters.{key}" for key in names)


def _same_type(fit: Fit, key: str, new: Any) -> bool:
    return key == "type" and {new, fit.document["classes"]["type"]} <= {"int", "float"}


def arrays_are_false(fit: Fit, forged: Forgery) -> bool | None:
    """By shape and finiteness, and for linear classifiers by P and D in fractions."""
    for name, array in forged.arrays.items():
        if array.shape != fit.arrays[name].shape:
            return True
        if array.dtype.kind == "f" and not np.isfinite(array).all() and np.isfinite(fit.arrays[name]).all():
            return True
    if forged.place.startswith("arrays.training_rows"):  # the hashes of the rows, each once: no others are true
        return True
    document = fit.document
    if document["certificate"]["kind"] == "gap" and document["problem"].get("loss") in (
        "hinge",
        "squared_hinge",
        "logistic",
    ):
        return not _linear_holds(fit, forged.arrays)
    return None


def _linear_holds(fit: Fit, arrays: dict[str, np.ndarray]) -> bool:
    """P and D of each subproblem, in fractions, against what the certificate says, within the rounding that it admits."""
    document = fit.document
    problem, values = document["problem"], document["classes"]["values"]
    X = fit.data.X.toarray() if hasattr(fit.data.X, "toarray") else np.asarray(fit.data.X, dtype=np.float64)
    index = np.array([values.index(v) for v in np.asarray(fit.data.y).tolist()])
    weights = np.ones(len(X)) if fit.data.sample_weight is None else np.asarray(fit.data.sample_weight, dtype=float)
    C = number(problem["C"])
    hard = math.isinf(C)
    c = ((1.0 if hard else C) * weights) * np.array([number(w) for w in problem["class_weight"]])[index]
    for k, sub in enumerate(document["certificate"]["subproblems"]):
        y = np.where(index == sub["positive"], 1.0, -1.0)
        w, b, u = arrays["coef"][k].astype(float), float(arrays["intercept"][k]), arrays["dual"][k]
        if problem["offset"] == "none" and b != 0.0:
            return False
        p = Problem(X, y, c, problem["loss"], problem["offset"], number(problem["offset_scale"]))
        alpha = u * y
        inside = (alpha >= 0) & ((c > 0) | (u == 0))
        if not hard and problem["loss"] != "squared_hinge":
            inside &= alpha <= c
        if not inside.all():
            return False
        if hard:
            margins = [sum(Fraction(a) * Fraction(v) for a, v in zip(x, w.tolist(), strict=True)) + Fraction(b)
                       for x in X.tolist()]  # fmt: skip
            if any(m * int(s) < 1 for m, s in zip(margins, y.tolist(), strict=True)):
                return False
            primal: Any = sum(Fraction(v) ** 2 for v in w.tolist()) / 2
            dual, r = sum(map(Fraction, alpha.tolist())) - _square(X, u) / 2, sum(map(Fraction, u.tolist()))
        else:
            primal = exact_primal(p, w, b)
            dual, r = exact_dual(p, u)
        room = number(sub["rounding"]) + 1e-11 * max(
            abs(number(sub["primal"])), abs(number(sub["dual"])), 1e-3 * c.sum()
        )
        if abs(float(primal) - number(sub["primal"])) > room:
            return False
        # A sum of u that is not 0 lowers D by a price: then the claimed dual has to be at most this one.
        if r == 0 or problem["offset"] != "free":
            if abs(float(dual) - number(sub["dual"])) > room:
                return False
        elif number(sub["dual"]) > float(dual) + room:
            return False
    return True


def _square(X: np.ndarray, u: np.ndarray) -> Fraction:
    total = Fraction(0)
    for j in range(X.shape[1]):
        total += (
            sum((Fraction(a) * Fraction(v) for a, v in zip(X[:, j].tolist(), u.tolist(), strict=True)), Fraction(0))
            ** 2
        )
    return total
