"""What was asked: the estimator, its objective with the user's numbers, and the rows."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from scipy import sparse

from gapless.pages.blocks import Block, Equation, Facts, Folded, Table, Text, count, number, percent, plural, said
from gapless.pages.limits import LIMITS
from gapless.pages.story import Story

__all__ = ["asked", "same"]


def asked(story: Story) -> list[Block]:
    blocks: list[Block] = [Text(_task(story))]
    objective = objective_of(story)
    blocks += [Text(instead_of(story))] if objective is None else _typeset(objective)
    if story.piped:
        steps = " → ".join(type(step).__name__ for _, step in story.model.steps)
        blocks.append(
            Text(
                f"The model is a pipeline, {steps}. What follows speaks of its last step, on "
                "the columns that the steps before it make."
            )
        )
    own, other = _parameters(story.step)
    if own:
        blocks.append(Table(["parameter", "value"], own, "Parameters that were set", names=2))
    else:
        blocks.append(Text("Every parameter has its default."))
    if other:
        blocks.append(
            Folded(plural(len(other), "parameter") + " at the default", [Table(["parameter", "value"], other, names=2)])
        )
    blocks += _rows(story)
    return blocks


def _task(story: Story) -> str:
    d = plural(story.n_features, "feature")
    n = plural(story.n_rows, "row")
    if story.task == "classes":
        if isinstance(story.step.classes_, list):
            return f"{story.name}: tell classes apart, {plural(len(story.step.classes_), 'output')}, from {n} with {d}."
        return f"{story.name}: tell {plural(len(story.classes), 'class', 'classes')} apart, from {n} with {d}."
    if story.task == "outliers":
        return f"{story.name}: find the region in which the rows lie, from {n} with {d}; there are no labels."
    outputs = f", {plural(story.target.shape[1], 'output')} at once," if story.several else ""
    return f"{story.name}: predict a number{outputs} from {n} with {d}."


def _typeset(objective: str) -> list[Block]:
    """The formula with the user's numbers, then the words that follow it."""
    # The formula ends where the words about its rows begin.
    found = re.search(r" over [\d,]+ rows(?=$|[,;])", objective)
    formula, words = (
        (objective, "") if found is None else (objective[: found.start()], objective[found.start() :].strip())
    )
    formula = formula.removeprefix("minimise ")
    parts = formula.split(",  ")  # a kernel stands behind the objective
    blocks = [Equation.of(part, "minimise" if k == 0 else "with") for k, part in enumerate(parts)]
    return [*blocks, Text(words[0].upper() + words[1:] + ".")] if words else blocks


def objective_of(story: Story) -> str | None:
    """``objective_`` as it prints; None where there is none."""
    try:
        formula = getattr(story.step, "objective_", None)
    except (AttributeError, KeyError, ValueError):
        return None
    return None if formula is None else said(formula, 600)


def instead_of(story: Story) -> str:
    """The sentence in the place of an objective, where nothing is minimised as a whole."""
    sentences = {
        "moments": "Nothing is minimised: the means, covariances and class shares of the rows are "
        "put into the Gaussian model, and a row goes "
        "to the class under which it is most probable.",
        "tree": "A tree is grown greedily: each node takes the split that is best for its own rows. "
        "No objective of the whole tree is minimised.",
        "bagging": "Each learner is trained on a bag of rows drawn with a seed, and their answers are "
        "averaged. Nothing is minimised as a whole.",
        "boosting": "Rounds: each learner is trained on rows reweighted by the mistakes so far, "
        "which lowers ∑ exp(−margin) step by step; "
        "there is no penalty, and no dual to bound it from below.",
        "perceptron": "No objective: rows are visited in turn, and each one on the wrong side moves "
        "the hyperplane by itself times the rate.",
    }
    name = story.name
    if name == "Perceptron":
        return sentences["perceptron"]
    if story.kind == "moments" or "Discriminant" in name:
        return sentences["moments"]
    if "Tree" in name:
        return sentences["tree"]
    if "Bagging" in name or "Forest" in name or "Trees" in name:
        return sentences["bagging"]
    if "Boost" in name:
        return sentences["boosting"]
    return "This estimator names no objective."


def _parameters(step: Any) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """(name, value): those that differ from the default, and the others."""
    try:
        default = type(step)().get_params(deep=False)
    except TypeError:  # a parameter without a default
        default = {}
    own: list[tuple[str, str]] = []
    other: list[tuple[str, str]] = []
    for name, value in sorted(step.get_params(deep=False).items()):
        cells = (name, said(_shown(value)))
        (other if name in default and same(value, default[name]) else own).append(cells)
    return own, other


def _shown(value: Any) -> str:
    try:
        if sparse.issparse(value) or (isinstance(value, np.ndarray) and value.size > 20):
            return f"array of shape {value.shape}"
        return repr(value)
    except Exception:  # what a user puts into a parameter need not print
        return f"<{type(value).__name__}>"


def same(a: Any, b: Any) -> bool:
    """Whether a parameter has this value."""
    if a is b:
        return True
    try:
        return type(a) is type(b) and bool(a == b)
    except Exception:  # arrays, frames and what else compares to no single truth
        return False


def _rows(story: Story) -> list[Block]:
    Z = story.Z
    facts = [("rows", count(story.n_rows)), ("features", count(story.n_features))]
    if sparse.issparse(Z):
        full = Z.shape[0] * Z.shape[1]
        facts.append(
            (
                "stored as",
                f"sparse, {count(Z.nnz)} numbers other than 0 ({number(100 * Z.nnz / max(full, 1), 3)} % of all)",
            )
        )
    elif hasattr(Z, "dtype"):
        facts.append(("stored as", f"dense, {Z.dtype}"))
    if story.sample_weight is not None:
        weights = np.asarray(story.sample_weight, dtype=np.float64)
        zero = int((weights == 0).sum())
        facts.append(
            (
                "weights",
                f"{number(weights.min())} to {number(weights.max())}, sum {number(weights.sum(), 6)}"
                + (f"; {count(zero)} are 0" if zero else ""),
            )
        )
    if story.has_test:
        n = story.X_test.shape[0] if hasattr(story.X_test, "shape") else len(story.X_test)
        facts.append(("test rows", count(n)))
    if story.data_name:
        facts.append(("file", said(story.data_name)))
    if story.test_name:
        facts.append(("test file", said(story.test_name)))
    blocks: list[Block] = [Facts(facts)]
    if story.task == "classes" and not story.several and story.target is not None:
        blocks.append(_class_table(story))
    elif story.task == "numbers" and story.target is not None:
        y = np.asarray(story.target, dtype=np.float64)
        y = y[:, None] if y.ndim == 1 else y
        rows = [
            [
                f"output {k + 1}" if y.shape[1] > 1 else "target",
                *(number(v) for v in (c.mean(), c.std(), c.min(), float(np.median(c)), c.max())),
            ]
            for k, c in enumerate(y.T[: LIMITS.classes])
        ]
        blocks.append(
            Table(
                ["", "mean", "standard deviation", "least", "median", "largest"],
                rows,
                "What is predicted",
                left_out=max(0, y.shape[1] - LIMITS.classes),
            )
        )
    return blocks


def _class_table(story: Story) -> Block:
    labels = story.classes
    counts = [int((story.target == label).sum()) for label in labels]
    tests = [int((story.target_test == label).sum()) for label in labels] if story.has_test else None
    order = (
        np.argsort(np.negative(counts), kind="stable")[: LIMITS.classes]
        if len(labels) > LIMITS.classes
        else range(len(labels))
    )
    head = ["class", "training rows", "share", *(["test rows"] if tests else [])]
    rows = [
        [
            said(labels[k]),
            count(counts[k]),
            percent(counts[k] / max(story.n_rows, 1)),
            *([count(tests[k])] if tests else []),
        ]
        for k in order
    ]
    table = Table(head, rows, "The classes", left_out=len(labels) - len(rows))
    if len(labels) <= LIMITS.unfolded_classes:
        return table
    return Folded(
        f"{count(len(labels))} classes, {count(min(counts))} to {count(max(counts))} training rows each", [table]
    )
