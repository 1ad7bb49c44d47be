"""What errors cost: the mean cost of a row, where the true one lies, and what no model at all would cost."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gapless._runtime.written import written
from gapless.pages.blocks import Block, Folded, Note, Table, Text, number, said
from gapless.pages.story import Story
from gapless.theory.samples.hoeffding import clopper_pearson

__all__ = ["confidence", "cost_interval", "cost_matrix", "costs_of"]


def confidence(story: Story) -> str:
    """Of each interval of the page."""
    return f"{number(100 * (1 - story.delta / story.tested), 6)}\u00a0%"


def cost_matrix(costs: Any, classes: Any) -> np.ndarray:
    """(K, K): what calling a row of class i class j costs. From such an array, or from a dict {(is, called): cost}."""
    K = len(classes)
    if isinstance(costs, dict):
        place = {label: k for k, label in enumerate(np.asarray(classes).tolist())}
        matrix = np.zeros((K, K))
        for pair, value in costs.items():
            if not (isinstance(pair, tuple) and len(pair) == 2 and all(label in place for label in pair)):
                raise ValueError(f"costs: {written(pair)} is no pair (true class, predicted class) of {list(place)}")
            matrix[place[pair[0]], place[pair[1]]] = float(value)
    else:
        matrix = np.asarray(costs, dtype=np.float64)
        if matrix.shape != (K, K):
            raise ValueError(f"costs has shape {matrix.shape}; it needs a row and a column for each of the {K} classes")
    if not np.isfinite(matrix).all():
        raise ValueError("costs must be finite numbers")
    return matrix


def costs_of(story: Story, table: Any) -> list[Block]:
    cost_ratios = (1.0, 2.0, 5.0, 10.0)
    if story.costs is not None:
        place = {label: k for k, label in enumerate(story.classes.tolist())}
        known = [label for label in table.classes.tolist() if label in place]
        matrix = np.zeros(table.counts.shape)
        given = cost_matrix(story.costs, story.classes)
        for i, true in enumerate(table.classes.tolist()):
            for j, called in enumerate(table.classes.tolist()):
                if true in place and called in place:
                    matrix[i, j] = given[place[true], place[called]]
        head, rows = _cost_table(story, table.counts, [("as given", matrix)], "costs")
        note = (
            []
            if len(known) == len(table.classes)
            else [Note("Rows of a class that the model does not know cost nothing here.", "warn")]
        )
        return [Table(head, rows, "What the errors cost, a row"), *note]
    if len(table.classes) != 2:
        return []
    low, high = (said(label, 30) for label in table.classes)
    priced = [(number(ratio), np.array([[0.0, 1.0], [ratio, 0.0]])) for ratio in cost_ratios]
    head, rows = _cost_table(story, table.counts, priced, f"“{high}” called “{low}” costs")
    caption = f"The mean cost of a row if “{low}” called “{high}” costs 1" + (
        "" if story.has_test else ", training rows"
    )
    words = (
        "The last column is the cost of always giving the same answer: a model must beat it. Where both errors cost 1, the "
        "mean cost is the error. Other prices: report(..., costs={(is, called): cost})."
    )
    return [Folded("What the errors would cost", [Table(head, rows, caption, names=0), Text(words)])]


def _cost_table(
    story: Story, counts: np.ndarray, priced: list[tuple[str, np.ndarray]], first: str
) -> tuple[list[str], list[list[str]]]:
    """Head and rows; the interval only where the rows are new."""
    n = int(counts.sum())
    rows = []
    for name, matrix in priced:
        mean = float((counts * matrix).sum()) / n
        alone = float(((counts.sum(axis=1)[:, None] * matrix).sum(axis=0) / n).min())
        between = []
        if story.has_test:
            low, high = cost_interval(counts, matrix, story.delta / story.tested)
            between = [f"{number(low)} to {number(high)}"]
        rows.append([name, number(mean), *between, number(alone)])
    interval = [f"{confidence(story)} interval"] if story.has_test else []
    return [first, "mean cost", *interval, "best single answer"], rows


def cost_interval(counts: np.ndarray, matrix: np.ndarray, delta: float) -> tuple[float, float]:
    """Where the mean cost of a new row lies.

    With few different costs, each cost v has an exact interval of the share of rows that cost v, with an equal part of delta;
    equal costs give the interval of the error itself. With many, Hoeffding's interval of a mean between the least cost and the
    largest.
    """
    # Different costs up to which each has an exact interval of its own.
    exact_costs = 4
    n = int(counts.sum())
    values = [value for value in np.unique(matrix).tolist() if value != 0.0]
    least, most = float(min(matrix.min(), 0.0)), float(max(matrix.max(), 0.0))
    if len(values) > exact_costs:
        mean = float((counts * matrix).sum()) / n
        width = (most - least) * math.sqrt(math.log(2.0 / delta) / (2.0 * n))
        return max(mean - width, least), min(mean + width, most)
    low = high = 0.0
    for value in values:
        share = clopper_pearson(int(counts[matrix == value].sum()), n, delta / len(values))
        ends = (value * share.low, value * share.high)
        low, high = low + min(ends), high + max(ends)
    return max(low, least), min(high, most)
