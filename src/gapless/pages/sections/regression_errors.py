"""The errors of a regression in numbers: residuals, quantiles, R2."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gapless.pages.blocks import (
    Block,
    Note,
    Table,
    Text,
    count,
    number,
)  # fmt: skip
from gapless.pages.limits import LIMITS
from gapless.pages.story import Story
from gapless.theory.samples.order_statistics import quantile_interval

NO_TEST = (
    "No rows were kept aside. The error on the training rows is too low an estimate of the error on new ones and has no "
    "interval."
)


def errors_in_numbers(story: Story) -> list[Block]:
    head = ["rows", "root mean square", "mean |error|", "R²"]
    rows = _residuals("training", story.target, story.predicted)
    if story.has_test:
        mean = np.mean(np.asarray(story.target, dtype=np.float64), axis=0)
        rows += _residuals("test", story.target_test, story.predicted_test)
        rows += _residuals(
            "test, always the training mean", story.target_test, np.broadcast_to(mean, story.target_test.shape)
        )
    blocks: list[Block] = [
        Table(
            head,
            rows[: 3 * LIMITS.lines],
            "Residuals: target less prediction",
            left_out=max(0, len(rows) - 3 * LIMITS.lines),
        )
    ]
    if not story.has_test:
        if not story.left_out:
            blocks.append(Note(NO_TEST))
    elif not story.several:
        blocks.append(_quantiles(story))
        blocks.append(
            Text(
                "The intervals hold for any distribution of the errors (order statistics), where the "
                "test rows are independent draws that chose "
                "nothing. A mean square has no such interval: a rare error without bound could always be missed."
            )
        )
    return blocks


def _residuals(name: str, truth: Any, found: Any) -> list[list[str]]:
    truth, found = np.asarray(truth, dtype=np.float64), np.asarray(found, dtype=np.float64)
    several = truth.ndim == 2
    columns = zip(truth.T, found.T) if several else [(truth, found)]
    rows = []
    for k, (y, f) in enumerate(columns):
        e = y - f
        total = float(((y - y.mean()) ** 2).sum())
        r2 = 1.0 - float((e**2).sum()) / total if total > 0 else math.nan
        label = f"{name}, {count(y.size)}" + (f", output {k + 1}" if several else "")
        rows.append(
            [label, number(math.sqrt(float((e**2).mean())), 5), number(float(np.abs(e).mean()), 5), number(r2, 5)]
        )
    return rows


def _quantiles(story: Story) -> Table:
    off = np.abs(np.asarray(story.target_test, dtype=np.float64) - story.predicted_test)
    rows = []
    for share in (0.5, 0.8, 0.9, 0.95):
        found = quantile_interval(off, share, story.delta)
        rows.append(
            [f"{100 * share:g} %", number(found.value, 4), number(max(found.low, 0.0), 4), number(found.high, 4)]
        )
    head = [
        "share of new rows",
        "|error| at most (test rows)",
        f"true figure, {number(100 * (1 - story.delta))} %: from",
        "to",
    ]
    return Table(head, rows, "How far predictions are off")
