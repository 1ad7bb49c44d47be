"""Errors: on the rows seen, on rows not seen with exact intervals, which class is taken for which, and what that costs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gapless.pages.blocks import Bars, Block, Facts, Folded, Note, Table, Text, count, number, percent, plural, said
from gapless.pages.story import Story

__all__ = ["errors", "generalisation"]

MOST_CLASSES = 12
RATIOS = (1.0, 2.0, 5.0, 10.0)
NO_TEST = (
    "No rows were kept aside. The error on the training rows is too low an estimate of the error "
    "on new ones, and has no interval; what can be "
    "said of new rows without a test set stands under the bounds."
)


def wrong(truth: Any, found: Any) -> tuple[int, int]:
    """(rows that are wrong, rows); with several outputs a row is wrong where any of them is."""
    differ = np.asarray(truth != found)
    differ = np.asarray(differ.any(axis=1)) if differ.ndim == 2 else differ
    return int(np.count_nonzero(differ)), int(differ.size)


def test_error(story: Story) -> Any:
    """The exact interval of the error on new rows; None without test rows that are new."""
    from gapless.theory.hoeffding import clopper_pearson

    if not story.has_test or story.task != "classes" or story.copied:
        return None
    return clopper_pearson(*wrong(story.target_test, story.predicted_test), story.delta / story.tested)


# The second gap


def generalisation(story: Story) -> list[Block]:
    if story.task == "outliers":
        inside = float(np.mean(story.predicted == 1))
        return [
            Note(
                f"There are no labels, hence no error. {percent(1.0 - inside)} of the "
                "training rows lie outside the region."
            )
        ]
    if story.task == "numbers":
        return _of_numbers(story)
    k, n = wrong(story.target, story.predicted)
    blocks: list[Block] = []
    bars: list[tuple[str, float, float | None, float | None, str]] = [
        ("training rows", k / n, None, None, f"{percent(k / n)} ({count(k)} of {count(n)})")
    ]
    found = test_error(story)
    if found is None:
        blocks.append(Note(_why_none(story), "warn" if story.has_test else "plain"))
    else:
        text = (
            f"{percent(found.rate)} ({count(found.errors)} of {count(found.n)}); "
            f"{percent(found.low)} to {percent(found.high)}"
        )
        bars.append(("test rows", found.rate, found.low, found.high, text))
        apart = found.rate - k / n
        blocks.append(
            Text(
                f"On new rows the error lies between {percent(found.low)} and "
                f"{percent(found.high)}, but for a failure of probability "
                f"{number(story.delta)}; so the generalisation gap, new rows less training rows, lies between "
                f"{_points(found.low - k / n)} and {_points(found.high - k / n)} (seen: {_points(apart)})."
            )
        )
    blocks.append(
        Bars.shares(bars, "Error, with its exact interval (Clopper-Pearson) where the rows are new", ("rows", "wrong"))
    )
    if found is not None:
        width = math.sqrt(math.log(2.0 * story.tested / story.delta) / (2.0 * found.n))
        blocks.append(
            Text(
                "Hoeffding's inequality, which holds for every loss between 0 and 1, would say "
                f"{percent(found.rate)} ±\u00a0{percent(width)}. Both hold "
                "where the test rows are independent draws, as the new ones are, and "
                + (
                    "chose nothing."
                    if story.tested == 1
                    else f"compared {story.tested} models, by which δ was divided."
                )
            )
        )
    if story.shared > 0 and not story.copied:
        blocks.append(_overlap(story))
    estimate = getattr(story.certificate, "estimate", None)
    if estimate is not None:
        blocks.append(
            Text(
                f"Out of bag: accuracy {percent(estimate)} on {count(story.certificate.estimated)} "
                "training rows, an estimate without an interval."
            )
        )
    return blocks


def _points(value: float) -> str:
    return f"{100 * value:+.2f}".replace("-", "−") + " points"


def _why_none(story: Story) -> str:
    if not story.has_test:
        return NO_TEST
    return (
        "Every test row also occurs among the training rows: they say nothing of new "
        "rows, and no interval follows from them."
    )


def _overlap(story: Story) -> Note:
    share = percent(story.shared)
    return Note(
        f"{share} of the test rows also occur among the training rows. Independent rows may "
        "coincide; copied ones void the intervals.",
        "warn",
    )


# Numbers


def _of_numbers(story: Story) -> list[Block]:
    head = ["rows", "root mean square", "mean |error|", "R²"]
    rows = _residuals("training", story.target, story.predicted)
    if story.has_test:
        rows += _residuals("test", story.target_test, story.predicted_test)
    blocks: list[Block] = [
        Table(
            head,
            rows[: 2 * MOST_CLASSES],
            "Residuals: target less prediction",
            left_out=max(0, len(rows) - 2 * MOST_CLASSES),
        )
    ]
    if not story.has_test:
        blocks.append(Note(NO_TEST))
    elif story.copied:
        blocks.append(Note(_why_none(story), "warn"))
    elif not story.several:
        blocks.append(_quantiles(story))
        blocks.append(
            Text(
                "The intervals hold for any distribution of the errors (order statistics), where the "
                "test rows are independent draws that chose "
                "nothing. A mean square has no such interval: a rare error without bound could always be missed."
            )
        )
    if story.shared > 0 and not story.copied:
        blocks.append(_overlap(story))
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
    from gapless.theory.order_statistics import quantile_interval

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


# Classes


def errors(story: Story) -> list[Block]:
    """Which class is taken for which, with rates and costs."""
    if story.task == "outliers":
        return [Note("There are no labels: nothing can be counted as an error.")]
    if story.task == "numbers":
        return [
            Note(
                "Numbers are predicted, not classes: there is no confusion and no count of errors. "
                "How far the predictions are off stands above."
            )
        ]
    if story.several or isinstance(story.step.classes_, list):
        return [_several(story)]
    fresh = story.has_test and not story.copied
    truth, found = (story.target_test, story.predicted_test) if fresh else (story.target, story.predicted)
    table = _confusion(story, truth, found)
    blocks: list[Block] = []
    if not fresh:
        blocks.append(Note("Counted on the training rows: this says nothing of new rows, and has no intervals."))
    blocks.append(_matrix(table, "test" if fresh else "training"))
    if fresh:
        blocks += _rates(story, table)
    blocks += _costs(story, table, fresh)
    return blocks


def _several(story: Story) -> Table:
    fresh = story.has_test and not story.copied
    truth, found = (story.target_test, story.predicted_test) if fresh else (story.target, story.predicted)
    truth, found = np.atleast_2d(truth.T).T, np.atleast_2d(found.T).T
    rows = []
    for k in range(min(truth.shape[1], MOST_CLASSES)):
        bad, n = wrong(truth[:, k], found[:, k])
        rows.append([f"output {k + 1}", count(bad), percent(bad / n)])
    return Table(
        ["", "wrong", "error"],
        rows,
        f"Errors on the {'test' if fresh else 'training'} rows",
        left_out=truth.shape[1] - len(rows),
    )


def _confusion(story: Story, truth: Any, found: Any) -> Any:
    from gapless.theory.confusion import confusion

    return confusion(None, y=truth, predicted=found, delta=story.delta / story.tested)


def _matrix(table: Any, which: str) -> Block:
    labels, counts = table.classes, table.counts
    K = len(labels)
    if K <= MOST_CLASSES:
        head = ["is \\ called", *(said(label, 24) for label in labels), "all"]
        rows = [[said(labels[i], 40), *(count(v) for v in counts[i]), count(counts[i].sum())] for i in range(K)]
        return Table(head, rows, f"Which class is taken for which, {which} rows")
    off = counts.copy()
    np.fill_diagonal(off, 0)
    order = np.argsort(-off, axis=None, kind="stable")[:MOST_CLASSES]
    pairs = [np.unravel_index(int(k), off.shape) for k in order if off.flat[int(k)] > 0]
    rows = [
        [said(labels[i]), said(labels[j]), count(off[i, j]), percent(off[i, j] / max(counts[i].sum(), 1))]
        for i, j in pairs
    ]
    if not rows:
        return Text(f"{K} classes, and no mistake on the {which} rows.")
    left = int(np.count_nonzero(off)) - len(rows)
    return Table(
        ["is", "called", "rows", "of its class"],
        rows,
        f"{K} classes: the most frequent mistakes, {which} rows",
        names=2,
        left_out=left,
    )


def _rates(story: Story, table: Any) -> list[Block]:
    labels = list(table.classes)
    sizes = table.counts.sum(axis=1)
    recalls = {k: table.recall(label) for k, label in enumerate(labels)}
    order = list(range(len(labels)))
    if len(labels) > MOST_CLASSES:
        order = sorted((k for k in order if recalls[k] is not None), key=lambda k: (recalls[k].rate, -sizes[k]))[
            :MOST_CLASSES
        ]
    rows = []
    for k in order:
        precision = table.precision(labels[k])
        rows.append([said(labels[k]), *_rate(recalls[k]), *_rate(precision)])
    head = ["class", "found (recall)", "interval", "right when called (precision)", "interval"]
    caption = f"Rates on new rows, exact intervals at confidence {number(100 * (1 - table.delta))} % each"
    if len(labels) > MOST_CLASSES:
        caption += ", the classes found least first"
    blocks: list[Block] = [Table(head, rows, caption, left_out=len(labels) - len(rows))]
    if len(labels) == 2:
        low, high = (said(label, 40) for label in labels)
        facts = []
        for name, found in (
            (f"“{low}” called “{high}”", table.false_positive_rate),
            (f"“{high}” called “{low}”", table.false_negative_rate),
        ):
            if found is not None:
                facts.append(
                    (name, f"{percent(found.rate)} of its rows; {percent(found.low)} to {percent(found.high)}")
                )
        blocks.append(Facts(facts))
    return blocks


def _rate(found: Any) -> tuple[str, str]:
    return (
        ("no rows", "–") if found is None else (percent(found.rate), f"{percent(found.low)} to {percent(found.high)}")
    )


# Costs


def cost_matrix(costs: Any, classes: Any) -> np.ndarray:
    """(K, K): what calling a row of class i class j costs. From such an array, or from a dict {(is, called): cost}."""
    K = len(classes)
    if isinstance(costs, dict):
        place = {label: k for k, label in enumerate(np.asarray(classes).tolist())}
        matrix = np.zeros((K, K))
        for pair, value in costs.items():
            if not (isinstance(pair, tuple) and len(pair) == 2 and all(label in place for label in pair)):
                raise ValueError(f"costs: {pair!r} is no pair (true class, predicted class) of {list(place)}")
            matrix[place[pair[0]], place[pair[1]]] = float(value)
    else:
        matrix = np.asarray(costs, dtype=np.float64)
        if matrix.shape != (K, K):
            raise ValueError(f"costs has shape {matrix.shape}; it needs a row and a column for each of the {K} classes")
    if not np.isfinite(matrix).all():
        raise ValueError("costs must be finite numbers")
    return matrix


def _costs(story: Story, table: Any, fresh: bool) -> list[Block]:
    if story.costs is not None:
        place = {label: k for k, label in enumerate(story.classes.tolist())}
        known = [label for label in table.classes.tolist() if label in place]
        matrix = np.zeros(table.counts.shape)
        given = cost_matrix(story.costs, story.classes)
        for i, true in enumerate(table.classes.tolist()):
            for j, called in enumerate(table.classes.tolist()):
                if true in place and called in place:
                    matrix[i, j] = given[place[true], place[called]]
        rows = [["as given", *_cost(story, table.counts, matrix, fresh)]]
        note = (
            []
            if len(known) == len(table.classes)
            else [Note("Rows of a class that the model does not know cost nothing here.", "warn")]
        )
        return [Table(["costs", "a row", "between", "best single answer"], rows, "What the errors cost"), *note]
    if len(table.classes) != 2:
        return [
            Folded(
                "What errors cost",
                [Text("Every error counts 1 here. With costs={(is, called): cost} the page prices them.")],
            )
        ]
    low, high = (said(label, 30) for label in table.classes)
    rows = []
    for ratio in RATIOS:
        matrix = np.array([[0.0, 1.0], [ratio, 0.0]])
        rows.append([number(ratio), *_cost(story, table.counts, matrix, fresh)])
    head = [f"“{high}” called “{low}” costs", "a row", "between", "best single answer"]
    caption = f"What the errors cost, if “{low}” called “{high}” costs 1" + ("" if fresh else " (training rows)")
    return [
        Table(head, rows, caption, names=0),
        Text(
            "The last column is the cost of always giving the same answer: a model must beat "
            "it. Other prices: costs={(is, called): cost}."
        ),
    ]


def _cost(story: Story, counts: np.ndarray, matrix: np.ndarray, fresh: bool) -> tuple[str, str, str]:
    """The mean cost of a row; Hoeffding's interval for a mean of numbers between the least and the largest cost."""
    n = int(counts.sum())
    mean = float((counts * matrix).sum()) / n
    least, most = float(matrix.min()), float(matrix.max())
    width = (most - least) * math.sqrt(math.log(2.0 * story.tested / story.delta) / (2.0 * n))
    between = f"{number(max(mean - width, least))} to {number(min(mean + width, most))}" if fresh else "–"
    alone = (counts.sum(axis=1)[:, None] * matrix).sum(axis=0) / n
    return number(mean), between, number(float(alone.min()))


def headline(story: Story) -> tuple[str, str, str] | None:
    """(what, figure, beside it)."""
    if story.task == "outliers":
        return None
    if story.task == "numbers":
        which = (story.target_test, story.predicted_test) if story.has_test else (story.target, story.predicted)
        off = np.asarray(which[0], dtype=np.float64) - which[1]
        figure = math.sqrt(float((off**2).mean()))
        return (
            "root mean square error",
            number(figure),
            plural(len(off), "test row" if story.has_test else "training row"),
        )
    found = test_error(story)
    if found is None:
        k, n = wrong(story.target, story.predicted)
        return ("training error", percent(k / n), "no new rows were given")
    return ("error on new rows", percent(found.rate), f"{percent(found.low)} to {percent(found.high)}")
