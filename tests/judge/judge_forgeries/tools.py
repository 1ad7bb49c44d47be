"""What the changes of a document have in common."""

from __future__ import annotations

from typing import Any

import numpy as np

from gapless.judge import fingerprint

FIGURES = ("primal", "dual", "gap", "relative_gap", "rounding")


def class_index(case: Any) -> np.ndarray:
    values = case.document["classes"]["values"]
    return np.array([values.index(label) for label in case.y.tolist()])


def refingerprint(case: Any, index: np.ndarray | None = None) -> None:
    index = class_index(case) if index is None else index
    case.document["certificate"]["fingerprint"] = fingerprint(case.X, index, case.sample_weight)


def subproblems(case: Any) -> list[dict[str, Any]]:
    return case.document["certificate"]["subproblems"]


def some(case: Any, rng: np.random.Generator) -> dict[str, Any]:
    return subproblems(case)[rng.integers(len(subproblems(case)))]


def amount_beyond_rounding(block: dict[str, Any], rng: np.random.Generator) -> float:
    """Far beyond rounding, still a small share of the figures."""
    size = abs(block["primal"]) + abs(block["dual"])
    return float(10.0 ** rng.uniform(-6, -1)) * size + 1e4 * abs(block["rounding"]) + 1e-9


def restate(block: dict[str, Any]) -> None:
    size = max(abs(block["primal"]), abs(block["dual"]))
    block["relative_gap"] = block["gap"] / size if size else 0.0


def settle(case: Any) -> None:
    """Statuses and totals that fit the (false) figures."""
    block = case.document["certificate"]
    for sub in block["subproblems"]:
        reached = sub["relative_gap"] <= block["tol"]
        if reached != (sub["status"] == "converged"):
            sub["status"] = "converged" if reached else "max_iter"
    for name in ("primal", "dual", "gap", "rounding"):
        block[name] = sum(sub[name] for sub in block["subproblems"])
    restate(block)
    bad = [sub["status"] for sub in block["subproblems"] if sub["status"] != "converged"]
    block["status"] = bad[0] if bad else "converged"


def is_softmax(case: Any) -> bool:
    """K lines are one problem, and the entry of a row's true class is minus the sum of the others."""
    return case.document["problem"]["loss"] == "softmax"


def close(case: Any) -> None:
    """Entries of the true classes that fit the (changed) others; a line of another loss stands for itself."""
    if is_softmax(case):
        u, index = case.arrays["dual"], class_index(case)
        rows = np.arange(index.size)
        u[index, rows] = 0.0
        u[index, rows] = -u.sum(axis=0)


def heaviest_entry(case: Any, rng: np.random.Generator) -> tuple[int, int]:
    """A line of the dual and its row with the largest |u|; the row is not of the line's class for the softmax loss."""
    s = int(rng.integers(len(case.arrays["dual"])))
    size = np.abs(case.arrays["dual"][s])
    return s, int(np.argmax(np.where(class_index(case) == s, 0.0, size) if is_softmax(case) else size))


def row_weights(case: Any) -> np.ndarray:
    weights = np.ones(len(case.y)) if case.sample_weight is None else case.sample_weight
    problem = case.document["problem"]
    return (problem["C"] * weights) * np.array(problem["class_weight"])[class_index(case)]


def costliest_row(case: Any, rng: np.random.Generator) -> int:
    """The row with the largest loss: any change of it moves the primal. Without losses, the largest |u|."""
    s, heaviest = heaviest_entry(case, rng)
    coef, offset = case.arrays["coef"][s].astype(float), float(case.arrays["intercept"][s])
    weights = np.ones(len(case.y)) if case.sample_weight is None else case.sample_weight
    if is_softmax(case):
        coef, offsets = case.arrays["coef"].astype(float), case.arrays["intercept"].astype(float)
        scores = dense(case) @ coef.T + offsets
        own = scores[np.arange(len(scores)), class_index(case)]
        return int(np.argmax(weights * np.logaddexp.reduce(scores - own[:, None], axis=1)))
    signs = np.where(class_index(case) == subproblems(case)[s]["positive"], 1.0, -1.0)
    slack = weights * np.maximum(0.0, 1.0 - signs * (dense(case) @ coef + offset))
    return int(np.argmax(slack)) if slack.max() > 1e-3 else heaviest


def dense(case: Any) -> np.ndarray:
    return case.X.toarray() if hasattr(case.X, "toarray") else case.X


def put_dense(case: Any, X: np.ndarray) -> None:
    case.X = type(case.X)(X) if hasattr(case.X, "toarray") else X
