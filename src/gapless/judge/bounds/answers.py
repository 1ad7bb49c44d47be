"""What a model of a document answers to rows: its own arithmetic for linear models, kernel machines and trees."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..form.learners import arrays_of_learner
from ..kernel.values import Values
from ..linear.recompute import score_bounds
from ..rows import Rows, as_dense, as_rows, place
from ..tree.data import goes_left, levels_of


class Answers(NamedTuple):
    """Class numbers, and where rounding leaves them open."""

    classes: np.ndarray
    open: np.ndarray


def answers(document: Mapping[str, Any], arrays: Mapping[str, Any], X: Any) -> Answers | None:
    """None where the judge cannot run the model."""
    name, rows = document["estimator"], as_rows(X)
    if name == "DecisionTreeClassifier" and document["classes"] is not None:
        found = np.argmax(np.asarray(arrays["value"])[leaves(document, arrays, rows)], axis=1)
        return Answers(found, np.zeros(found.size, dtype=bool))
    if name in ("SVC", "NuSVC") and len(document["classes"]["values"]) == 2:
        return _kernel(document, arrays, rows)
    if name == "BaggingClassifier":
        return _mean_of_trees(document, arrays, rows)
    if name == "AdaBoostClassifier" and document["problem"]["learner"] == "stump":
        return _vote_of_stumps(document, arrays, rows)
    plane = hyperplane(document, arrays)
    if plane is None:
        return _highest(document, arrays, rows)
    low, high = scores(rows, *plane)
    return Answers((low + high > 0.0).astype(np.int64), (low <= 0.0) & (high >= 0.0))


def hyperplane(document: Mapping[str, Any], arrays: Mapping[str, Any]) -> tuple[np.ndarray, float] | None:
    """(w, b) of a linear classifier of two classes."""
    classes = document["classes"]
    if classes is None or len(classes["values"]) != 2 or not {"coef", "intercept"} <= set(arrays):
        return None
    if document["parameters"].get("variant") == "voted":  # its answer is a vote of hyperplanes
        return None
    w, b = (np.asarray(arrays[key], dtype=np.float64).reshape(-1) for key in ("coef", "intercept"))
    fits = w.size == document["n_features"] and b.size == 1 and np.isfinite(w).all() and np.isfinite(b).all()
    return (w, float(b[0])) if fits else None


def _highest(document: Mapping[str, Any], arrays: Mapping[str, Any], rows: Rows) -> Answers | None:
    """The class of the highest score of several."""
    K = len((document["classes"] or {"values": ()})["values"])
    if document["estimator"] not in ("LinearSVC", "LogisticRegression") or len(arrays["coef"]) != K:
        return None
    lines = zip(arrays["coef"], arrays["intercept"], strict=True)
    pairs = [scores(rows, np.asarray(w, float), float(b)) for w, b in lines]
    low, high = np.column_stack([a for a, _ in pairs]), np.column_stack([b for _, b in pairs])
    best = np.argmax(low + high, axis=1)
    others = high.copy()
    others[np.arange(len(best)), best] = -np.inf
    return Answers(best, others.max(axis=1) >= low[np.arange(len(best)), best])


def _mean_of_trees(document: Mapping[str, Any], arrays: Mapping[str, Any], rows: Rows) -> Answers | None:
    """The class with the largest mean share in the leaves of the members."""
    learners, K = document.get("learners"), len(document["classes"]["values"])
    if not learners or any(each["estimator"] != "DecisionTreeClassifier" for each in learners):
        return None
    X = as_dense(rows)
    total = np.zeros((X.shape[0], K))
    for j, learner in enumerate(learners):
        own = arrays_of_learner(dict(arrays), j)
        known = [int(value) for value in learner["classes"]["values"]]
        part = as_rows(X[:, np.asarray(arrays["feature_lists"][j], dtype=np.int64)])
        total[:, known] += np.asarray(own["value"])[leaves(learner, own, part)]
    return _first_of(total)


def _vote_of_stumps(document: Mapping[str, Any], arrays: Mapping[str, Any], rows: Rows) -> Answers:
    X = as_dense(rows).astype(np.float32)
    total, every = np.zeros((X.shape[0], len(document["classes"]["values"]))), np.arange(X.shape[0])
    stumps = zip(arrays["feature"], arrays["threshold"], arrays["classes"], arrays["stage_weights"], strict=True)
    for j, t, (left, right), a in stumps:
        total[every, np.where(X[:, j] > t, right, left) if j >= 0 else np.full(X.shape[0], left)] += a
    return _first_of(total)


def _first_of(total: np.ndarray) -> Answers:
    """The largest of sums, open where two are equal but for rounding."""
    top = np.sort(total, axis=1)
    return Answers(np.argmax(total, axis=1), top[:, -1] - top[:, -2] <= 1e-9 * np.abs(top[:, -1]))


def scores(rows: Rows, w: np.ndarray, b: float) -> tuple[np.ndarray, np.ndarray]:
    """<w, x> + b of every row between two arrays."""
    low, high = np.empty(rows.shape[0]), np.empty(rows.shape[0])
    for block in rows.blocks():
        below, above = score_bounds(block, block.absolute(), w[None, :], np.array([b]))
        low[place(block)], high[place(block)] = below[0], above[0]
    return low, high


def _kernel(document: Mapping[str, Any], arrays: Mapping[str, Any], rows: Rows) -> Answers | None:
    """The scores of the support vectors that stand in the file, on rows below which they are put."""
    if document["problem"]["support"]["stored"] == "none":
        return None
    d, u = rows.shape[1], np.asarray(arrays["dual"])[0]
    vectors = _vectors(document, arrays, d)
    X = np.vstack([as_dense(rows), vectors])
    n, m = rows.shape[0], vectors.shape[0]
    weights = np.concatenate((np.zeros(n), u[u != 0.0]))
    if weights.size != n + m:
        return None
    f, off = Values(as_rows(X), document["problem"]["kernel"], np.arange(n + m), False).sums(weights)
    f = f[:n] + float(np.asarray(arrays["scalars"])[0, 0])
    return Answers((f > 0.0).astype(np.int64), np.abs(f) <= off[:n] + 1e-12 * np.abs(f))


def _vectors(document: Mapping[str, Any], arrays: Mapping[str, Any], d: int) -> np.ndarray:
    if document["problem"]["support"]["stored"] == "dense":
        return np.asarray(arrays["vectors"])
    values, columns, starts = (np.asarray(arrays[f"vector_{key}"]) for key in ("values", "columns", "starts"))
    out = np.zeros((starts.size - 1, d))
    out[np.repeat(np.arange(starts.size - 1), np.diff(starts)), columns] = values
    return out


def leaves(document: Mapping[str, Any], arrays: Mapping[str, Any], rows: Rows) -> np.ndarray:
    """The leaf of every row, read as float32 as trees do."""
    X, known = as_dense(rows).astype(np.float32), levels_of(document, arrays)
    left, right, feature = (np.asarray(arrays[key], dtype=np.int64) for key in ("left", "right", "feature"))
    where = np.zeros(X.shape[0], dtype=np.int64)
    at = [np.arange(X.shape[0])] + [np.empty(0, np.int64)] * (left.size - 1)
    for t in np.flatnonzero(left >= 0).tolist():  # children stand behind their parents
        goes = goes_left(arrays, known[feature[t]], t, X[at[t], feature[t]])
        at[left[t]], at[right[t]] = at[t][goes], at[t][~goes]
        where[at[left[t]]], where[at[right[t]]] = left[t], right[t]
        at[t] = at[t][:0]
    return where
