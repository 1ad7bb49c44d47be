"""Forgeries of several entries that agree with each other: what a clever stranger would write.

twins       entries of one name (a parameter and the problem that repeats it, a figure and its total) changed alike
scaled      all figures of a certificate times one factor
pairs       two changes that have nothing to do with each other
endings     another status everywhere, with a tolerance that would make it true
moved       another model, or dual, with figures that are its own, called converged
recast      the arrays as float32, with the dtype
swapped     two classes, or two subproblems, for each other, with all that belongs to them
cut         trees with a branch taken off, rounds with the last ones left out, and limits that would explain it
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from judge_forger import Forgery, arrays_like, is_number, leaves, number, others_of, put, written
from judge_restate import restated
from judge_zoo import Fit

FIGURES = ("primal", "dual", "gap", "rounding", "violation", "loss", "excess", "decrement", "rss")
FACTORS = (1 + 1e-6, 1 - 1e-6, 1 + 1e-3, 2.0, 0.5, 1e3, 1e-3, -1.0, 1e18, 1 + 1e-9)
SAME = {
    "eta0": "rate", "learning_rate": "rate", "n_estimators": "rounds", "members": "rounds", "min_samples_leaf": "min_leaf",
    "min_samples_split": "min_split", "n_features": "features", "max_samples": "draws", "max_features": "features",
    "bootstrap": "replacement", "bootstrap_features": "features_replacement", "name": "kernel", "n_iter": "passes",
    "covariance": "rule", "intercept_scaling": "offset_scale",
}  # fmt: skip
ENDINGS = ("converged", "max_iter", "time_limit", "stalled", "interrupted", "infeasible", "not_finite")


def joint_forgeries(fit: Fit, rng: np.random.Generator) -> Iterator[Forgery]:
    for make in (twins, scaled, pairs, endings, moved, recast, swapped, cut):
        for what, document, arrays in make(fit, rng):
            yield Forgery(f"{make.__name__}: {what}", document, arrays)


Made = Iterator[tuple[str, dict[str, Any], dict[str, np.ndarray]]]


def entries(fit: Fit) -> list[tuple[tuple, Any]]:
    return list(leaves(fit.document))


def twins(fit: Fit, rng: np.random.Generator) -> Made:
    groups: dict[str, list[tuple[tuple, Any]]] = {}
    for path, value in entries(fit):
        key = next(str(part) for part in reversed(path) if isinstance(part, str))
        groups.setdefault(SAME.get(key, key), []).append((path, value))
    for key, group in groups.items():
        if len(group) < 2:
            continue
        path, value = group[int(rng.integers(len(group)))]
        for new in others_of(value, 1.0, rng):
            document = fit.document
            for other, old in group:
                same_kind = isinstance(old, type(value)) or (is_number(old) and is_number(value))
                if same_kind and not isinstance(old, list):
                    document = put(document, other, _likewise(old, value, new))
            yield f"{key} {value!r:.40} -> {new!r:.40}", document, fit.arrays


def _likewise(old: Any, value: Any, new: Any) -> Any:
    """Of numbers the same factor, of other things the same thing."""
    if not (is_number(old) and is_number(value) and is_number(new)) or number(old) == number(value):
        return new
    if number(value) and all(map(math.isfinite, map(number, (old, value, new)))):
        return written(number(old) * (number(new) / number(value)), old)
    return new


def scaled(fit: Fit, rng: np.random.Generator) -> Made:
    for factor in FACTORS:
        for names in (FIGURES, ("primal", "dual"), ("gap", "relative_gap"), ("primal", "gap"), ("dual", "rounding")):
            document = fit.document
            for path, value in entries(fit):
                if path[-1] in names and path[0] == "certificate" and is_number(value):
                    document = put(document, path, written(number(value) * factor, value))
            if document is not fit.document:
                yield f"{'/'.join(names)} times {factor!r}", document, fit.arrays


def pairs(fit: Fit, rng: np.random.Generator, count: int = 60) -> Made:
    every, names = entries(fit), [name for name, array in fit.arrays.items() if array.size]
    for _ in range(count):
        document, arrays, what = fit.document, fit.arrays, []
        for _ in range(2):
            if names and rng.random() < 0.4:
                name = names[int(rng.integers(len(names)))]
                made = list(arrays_like(arrays[name], rng, 1)) or [("nothing", arrays[name])]
                told, array = made[int(rng.integers(len(made)))]
                arrays = {**arrays, name: array}
                what.append(f"{name} {told}")
                continue
            path, value = every[int(rng.integers(len(every)))]
            others = others_of(value, 1.0, rng)
            new = others[int(rng.integers(len(others)))]
            try:
                document = put(document, path, new)
            except (TypeError, KeyError, IndexError):  # the first change took the place away
                continue
            what.append(f"{'.'.join(map(str, path))} -> {new!r:.40}")
        yield " and ".join(what), document, arrays


def endings(fit: Fit, rng: np.random.Generator) -> Made:
    places = [path for path, _ in entries(fit) if path[-1] == "status"]
    for word in ENDINGS:
        for tol in (None, 0.0, 1e-300, 1e-12, 0.5, 1e18):
            document = fit.document
            for path in places:
                document = put(document, path, word)
            for block in ("parameters", "certificate"):
                if tol is not None and is_number(document.get(block, {}).get("tol")):
                    document = put(document, (block, "tol"), tol)
            yield f"status {word}, tol {tol}", document, fit.arrays


def moved(fit: Fit, rng: np.random.Generator) -> Made:
    """Another model with the figures of its own, and the certificate's claim that it is converged."""
    for name, array in fit.arrays.items():
        if array.dtype.kind != "f" or not array.size or "." in name:
            continue
        for factor in (1 + 1e-9, 1 + 1e-4, 0.5, -1.0, 0.0, 1e6, 1e14):
            for noise in (0.0, 1e-6, 1.0):
                other = (array * factor + noise * rng.normal(size=array.shape) * np.abs(array).mean()).astype(
                    array.dtype
                )
                other = np.where(array == 0.0, 0.0, other).astype(array.dtype) if rng.random() < 0.5 else other
                arrays = {**fit.arrays, name: other}
                for honest in (True, False):
                    document = restated(fit, fit.document, arrays, honest, float(rng.choice([0.0, 1.0, 3.9])))
                    if document is not None:
                        yield f"{name} times {factor!r}, noise {noise!r}, honest {honest}", document, arrays


def recast(fit: Fit, rng: np.random.Generator) -> Made:
    for kind, dtype in (("float32", np.float32), ("float64", np.float64)):
        for names in (("coef", "intercept"), tuple(fit.arrays)):
            arrays = {
                name: array.astype(dtype) if name in names and array.dtype.kind == "f" else array
                for name, array in fit.arrays.items()
            }
            document = {**fit.document, "dtype": kind}
            if document != fit.document:
                yield f"{kind} of {len(names)}", document, arrays
                document = restated(fit, document, arrays, True, 1.0)
                if document is not None:
                    yield f"{kind} of {len(names)}, restated", document, arrays


def swapped(fit: Fit, rng: np.random.Generator) -> Made:
    document, arrays = copy.deepcopy(fit.document), dict(fit.arrays)
    block = document.get("classes")
    if not block:
        return
    for turn in (("coef", "intercept"), ("coef", "intercept", "dual"), ("dual", "scalars"), ()):
        other = {name: -array if name in turn else array for name, array in arrays.items()}
        yield f"classes, {turn} turned", put(document, ("classes", "values"), block["values"][::-1]), other
        yield f"{turn} turned", document, other
    subs = document["certificate"].get("subproblems", ())
    if len(subs) > 1:
        order = [1, 0, *range(2, len(subs))]
        other = {
            name: array[order] if array.ndim and len(array) == len(subs) else array for name, array in arrays.items()
        }
        for names in (True, False):  # with the names of their classes, and without
            mixed = [{**subs[i], **({} if names else {"positive": subs[k]["positive"]})} for k, i in enumerate(order)]
            yield f"subproblems, names {names}", put(document, ("certificate", "subproblems"), mixed), other


def cut(fit: Fit, rng: np.random.Generator) -> Made:
    if fit.document.get("estimator", "").startswith("DecisionTree"):
        yield from _branches(fit, rng)
    if "rounds" in fit.document.get("problem", {}):
        yield from _rounds(fit)


def _branches(fit: Fit, rng: np.random.Generator) -> Made:
    """A tree without a branch, with its counts right and one limit that may be the reason."""
    left, right = fit.arrays["left"], fit.arrays["right"]
    inner = np.flatnonzero(left >= 0)
    for t in inner.tolist():
        gone, todo = set(), [int(left[t]), int(right[t])]
        while todo:
            k = todo.pop()
            gone.add(k)
            todo += [int(left[k]), int(right[k])] if left[k] >= 0 else []
        kept = np.array([k for k in range(left.size) if k not in gone])
        place = np.full(left.size + 1, -1)
        place[kept] = np.arange(kept.size)
        arrays = {k: a[kept].copy() if k != "levels" else a for k, a in fit.arrays.items() if k != "training_rows"}
        at = int(place[t])
        for name in ("left", "right"):
            arrays[name] = place[arrays[name]].astype(left.dtype)
            arrays[name][at] = -1
        arrays["feature"][at], arrays["threshold"][at], arrays["missing_left"][at] = -2, -2.0, 0
        arrays["categories"][at] = 0
        if "training_rows" in fit.arrays:
            arrays["training_rows"] = fit.arrays["training_rows"]
        ends = int((arrays["left"] < 0).sum())
        document = restated(fit, copy.deepcopy(fit.document), arrays, True, 1.0)
        if document is None:
            continue
        document["certificate"]["leaves"] = ends
        limits = [
            {},
            {"max_leaf_nodes": ends},
            {"max_leaf_nodes": ends + 1},
            {"max_depth": document["certificate"]["depth"]},
        ]
        limits += [
            {"min_impurity_decrease": 10.0 ** float(rng.uniform(-6, 0))},
            {"ccp_alpha": 10.0 ** float(rng.uniform(-6, 0))},
        ]
        limits += [{"min_samples_leaf": int(rng.integers(2, 9))}, {"min_samples_split": int(rng.integers(3, 12))}]
        for limit in limits:
            other = put(document, ("parameters",), {**document["parameters"], **limit})
            leaf, split = other["parameters"]["min_samples_leaf"], other["parameters"]["min_samples_split"]
            problem = {**other["problem"], "min_leaf": leaf, "min_split": max(2, 2 * leaf, split)}
            yield f"branch {t}, {limit}", {**other, "problem": problem}, arrays


def _rounds(fit: Fit) -> Made:
    T = fit.document["problem"]["rounds"]
    for t in range(1, T):
        arrays = {name: array[:t] if len(array) == T else array for name, array in fit.arrays.items()}
        arrays = {name: array for name, array in arrays.items() if "." not in name or int(name.partition(".")[0]) < t}
        for asked in (t, T):
            for status in ("converged", "time_limit"):
                document = restated(fit, copy.deepcopy(fit.document), arrays, True, 1.0)
                if document is None:
                    continue
                document["problem"]["rounds"] = t
                document["parameters"]["n_estimators"] = asked
                document["certificate"]["status"] = status
                if document.get("learners"):
                    document["learners"] = document["learners"][:t]
                yield f"{t} rounds, asked {asked}, {status}", document, arrays
