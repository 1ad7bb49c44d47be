"""The figures of a document made true again after its model was changed, so that nothing is false but what is meant to be."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from judge_truth import facts_of, linear, squares
from judge_truth import kernel as kernels
from judge_truth import likelihood as gradients
from judge_truth import perceptron as perceptrons
from judge_truth.case import Case, number
from judge_zoo import Fit


def restated(fit: Fit, document: dict[str, Any], arrays: Any, honest: bool, room: float) -> dict[str, Any] | None:
    """A copy with the figures of these arrays; ``honest``: with the status that follows from them, else with "converged".

    ``room``: how far, in units of the rounding that it admits, a primal is moved from the truth. None where this is not
    known for the family, or the arrays have no figures.
    """
    if "problem" not in document:
        return None
    out = copy.deepcopy(document)
    case = Case(out, arrays, facts_of(fit), fit.document)
    name, kind = out["estimator"], out["certificate"]["kind"]
    try:
        with np.errstate(all="ignore"):
            if name in ("LinearSVC", "LogisticRegression") and kind == "gap":
                return _gaps(out, linear.figures(case)[1], out["certificate"]["subproblems"], honest, room)
            if kind == "gradient":
                return _gradient(case, out, honest)
            if name in ("Ridge", "LeastSquaresClassifier", "LinearRegression"):
                return _squares(case, out, honest, room)
            if name in kernels.KINDS and kind == "gap" and number(case.problem["C"]) < np.inf:
                return _gaps(out, kernels.figures(case), out["certificate"]["subproblems"], honest, room)
            if name == "Perceptron":
                return _perceptron(case, out, honest)
            if name.startswith("DecisionTree"):
                return _tree(out, arrays)
            if name == "AdaBoostClassifier":
                return _rounds(case, out)
    except (ArithmeticError, ValueError, LookupError, TypeError):
        return None
    return None


def _finite(*values: Any) -> bool:
    return all(value is not None and np.isfinite(float(value)) for value in values)


def _gaps(out: dict[str, Any], figures: Any, subs: list[Any], honest: bool, room: float) -> dict[str, Any] | None:
    """P, D and what follows from them, in the parts and in the whole."""
    block, tol = out["certificate"], number(out["certificate"]["tol"])
    for sub, (P, D, *_) in zip(subs, figures, strict=True):
        if not _finite(P, D):
            return None
        size = max(abs(float(P)), abs(float(D)))
        old = max(abs(number(sub["primal"])), abs(number(sub["dual"])), 1e-300)
        sub["rounding"] = number(sub["rounding"]) * max(1.0, 0.1 * size / old)
        sub["primal"], sub["dual"] = float(P) + room * sub["rounding"], float(D)
        sub["gap"] = sub["primal"] - sub["dual"]
        _shares(sub)
        reached = sub["relative_gap"] <= tol
        sub["status"] = "converged" if reached or not honest else "max_iter"
    if "primal" in block:
        for name in ("primal", "dual", "gap", "rounding"):
            block[name] = float(np.sum([sub[name] for sub in subs]))
        _shares(block)
    block["status"] = "converged" if all(sub["status"] == "converged" for sub in subs) else "max_iter"
    return out


def _shares(block: dict[str, Any]) -> None:
    size = max(abs(block["primal"]), abs(block["dual"]))
    block["relative_gap"] = block["gap"] / size if size else 0.0


def _gradient(case: Case, out: dict[str, Any], honest: bool) -> dict[str, Any] | None:
    block, index = out["certificate"], case.facts.index()
    weight = np.array([number(v) for v in case.problem["class_weight"]])[index]
    F, lam, rho, _, _ = gradients.figures(case, (1.0 * case.w) * weight, index)
    if not _finite(F, lam, rho):
        return None
    reach = float(rho * lam)
    excess = float(gradients.bound(lam, rho * lam, F)) if reach < 1 else float(F)
    block.update(loss=float(F), decrement=float(lam), reach=reach, excess=excess, rounding=0.0)
    block["relative_excess"] = excess / float(F) if F else 0.0
    reached = reach < 1 and block["relative_excess"] <= number(block["tol"])
    block["status"] = "converged" if reached or not honest else "max_iter"
    return out


def _squares(case: Case, out: dict[str, Any], honest: bool, room: float) -> dict[str, Any] | None:
    Y, weight = squares.targets_of(case)
    targets, tol = out["certificate"]["targets"], number(out["certificate"]["tol"])
    for k, target in enumerate(targets):
        rss, r2, cosine = squares.residuals(case, Y[k], weight, k)
        if not _finite(rss, r2, cosine):
            return None
        target.update(rss=float(rss), r2=float(r2))
        if out["certificate"]["kind"] == "orthogonality":
            target["orthogonality"] = float(cosine)
            reached = float(cosine) <= tol + number(target["rounding"])
            target["status"] = "converged" if reached or not honest else "max_iter"
    if out["certificate"]["kind"] == "gap":
        found = [squares.penalised(case, k, Y[k], weight) for k in range(len(targets))]
        return _gaps(out, found, targets, honest, room)
    done = all(target["status"] == "converged" for target in targets)
    out["certificate"]["status"] = "converged" if done else "max_iter"
    return out


def _perceptron(case: Case, out: dict[str, Any], honest: bool) -> dict[str, Any]:
    """Errors and mistakes; a run that is called converged though it errs, where that is asked for."""
    block, index = out["certificate"], case.facts.index()
    c = case.w * np.array([number(v) for v in case.problem["class_weight"]])[index]
    A = np.hstack([case.facts.floats, np.full((case.n, 1), float(case.problem["offset"] == "constant"))])
    for k, sub in enumerate(block["subproblems"]):
        part = perceptrons.Part(case, [], k, sub, c, np.where(index == sub["positive"], 1, -1), A)
        sub["mistakes"] = int(case.a["updates"][k].sum())
        if case.problem["variant"] != "voted":
            sub["errors"] = part.wrong(np.append(case.a["coef"][k], case.a["intercept"][k]))
        if not honest:
            sub.update(status="converged", witness=None)
    parts = {sub["status"] for sub in block["subproblems"]} - {"converged"}
    block["status"] = sorted(parts)[0] if parts else "converged"
    return out


def _tree(out: dict[str, Any], arrays: Any) -> dict[str, Any]:
    """Nodes, depth and the error of the leaves, by the arrays as they stand."""
    left, block = arrays["left"], out["certificate"]
    depth = np.zeros(left.size, dtype=int)
    for t in np.flatnonzero(left >= 0).tolist():
        depth[left[t]] = depth[arrays["right"][t]] = depth[t] + 1
    ends, weight = left < 0, arrays["weighted_n"] / arrays["weighted_n"][0]
    wrong = 1.0 - arrays["value"].max(axis=1) if out["classes"] is not None else arrays["impurity"]
    block.update(nodes=int(left.size), depth=int(depth.max()), error=max(0.0, float((weight * wrong)[ends].sum())))
    return out


def _rounds(case: Case, out: dict[str, Any]) -> dict[str, Any] | None:
    """Mistakes, margins, loss and the rounds that are enough, of the rounds that are left."""
    a, y, K = case.a, case.facts.index(), len(case.facts.labels)
    there = case.w > 0
    y, first = y[there], case.w[there] / case.w[there].sum()
    X, T = case.facts.floats[there].astype(np.float32), len(a["stage_weights"])
    s, votes, rows, clean = np.zeros(y.size), np.zeros((y.size, K)), np.arange(y.size), None
    for t in range(T):
        if "answers" in a:
            answer = a["answers"][t][there].astype(int)
        else:
            j, (low, high) = int(a["feature"][t]), a["classes"][t]
            answer = np.where(X[:, j] > a["threshold"][t], high, low) if j >= 0 else np.full(y.size, low)
        s += a["stage_weights"][t] * (answer != y)
        votes[rows, answer] += a["stage_weights"][t]
        wrong = np.argmax(votes, axis=1) != y
        clean = t + 1 if clean is None and not wrong.any() else clean
    total = a["stage_weights"].sum()
    rest = votes.copy()
    rest[rows, y] = -np.inf
    margins = 1 - 2 * s / total if K == 2 else (votes[rows, y] - rest.max(axis=1)) / total
    block = out["certificate"]
    block.update(mistakes=int(wrong.sum()), clean_round=clean, loss=float((first * np.exp(s - total / 2)).sum()))
    block.update(margin=float(margins.min()), median_margin=float(np.median(margins)))
    edge = 0.5 - float(a["errors"].max())
    if block["enough"] is not None and edge > 0:
        block["enough"] = int(np.ceil(np.log(2 * y.size) / (2 * edge * edge)))
    return out
