"""Errors: on the rows seen, on rows not seen with one exact interval, which class is taken for which, and what that costs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gapless.pages.blocks import (
    Bars,
    Block,
    Equation,
    Facts,
    Folded,
    Matrix,
    Note,
    Table,
    Text,
    count,
    number,
    percent,
    plural,
    said,
)  # fmt: skip
from gapless.pages.limits import LIMITS
from gapless.pages.sections.costs import confidence, costs_of
from gapless.pages.sections.regression_errors import NO_TEST, errors_in_numbers
from gapless.pages.story import Story
from gapless.theory.samples.confusion import confusion
from gapless.theory.samples.hoeffding import clopper_pearson

__all__ = ["baseline_error", "baseline_numbers", "errors", "generalisation", "seen_error", "test_error"]


def wrong(truth: Any, found: Any) -> tuple[int, int]:
    """(rows that are wrong, rows); with several outputs a row is wrong where any of them is."""
    differ = np.asarray(truth != found)
    differ = np.asarray(differ.any(axis=1)) if differ.ndim == 2 else differ
    return int(np.count_nonzero(differ)), int(differ.size)


def test_error(story: Story) -> Any:
    """The exact interval of the error on new rows, the only one of a page; None without new rows."""
    if not story.has_test or story.task != "classes":
        return None
    return clopper_pearson(*wrong(story.target_test, story.predicted_test), story.delta / story.tested)


def seen_error(story: Story) -> tuple[float, str, str]:
    """(value, text, style) of the mark that bars have: the error on the test rows, else on the training rows."""
    truth, found = (story.target_test, story.predicted_test) if story.has_test else (story.target, story.predicted)
    k, n = wrong(truth, found)
    return k / n, f"seen on the {'test' if story.has_test else 'training'} rows: {percent(k / n)}", "solid"


def baseline_error(story: Story) -> tuple[str, float] | None:
    """(class, error) of always giving the commonest class of the training rows, on the rows that `seen_error` counts."""
    if story.task != "classes" or story.several or isinstance(story.step.classes_, list):
        return None
    labels, counts = np.unique(story.target, return_counts=True)
    common = labels[int(np.argmax(counts))]
    truth = story.target_test if story.has_test else story.target
    return said(common, 40), float(np.mean(np.asarray(truth != common)))


def baseline_numbers(story: Story) -> float | None:
    """The root mean square error of always predicting the mean of the training targets, on the test rows."""
    if story.task != "numbers" or story.several or not story.has_test:
        return None
    off = np.asarray(story.target_test, dtype=np.float64) - float(np.mean(np.asarray(story.target, dtype=np.float64)))
    return math.sqrt(float((off**2).mean()))


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
    blocks = _known_rows(story)
    if story.task == "numbers":
        return blocks + errors_in_numbers(story)
    k, n = wrong(story.target, story.predicted)
    bars: list[tuple[str, float, float | None, float | None, str]] = [
        ("training rows", k / n, None, None, f"{percent(k / n)} ({count(k)} of {count(n)})")
    ]
    interval = test_error(story)
    if interval is None:
        if not story.left_out:
            blocks.append(Note(NO_TEST))
    else:
        blocks.append(Text(_interval_in_words(story, interval, k / n)))
        text = f"{percent(interval.rate)} ({count(interval.errors)} of {count(interval.n)})"
        bars.append(("test rows", interval.rate, interval.low, interval.high, text))
    baseline = baseline_error(story)
    if baseline is not None:
        which = "test" if story.has_test else "training"
        bars.append((f"always “{baseline[0]}”", baseline[1], None, None, f"{percent(baseline[1])} of the {which} rows"))
    caption = "Share of wrong rows" + (
        "" if interval is None else f"; the black line is the {confidence(story)} interval of the true error"
    )
    blocks.append(Bars.shares(bars, caption))
    blocks += _other_figures(story)
    if interval is not None:
        blocks.append(Folded("How the interval is computed", _clopper_pearson(story, interval)))
    estimate = getattr(story.certificate, "estimate", None)
    if estimate is not None:
        blocks.append(
            Text(
                f"Out of bag: accuracy {percent(estimate)} on {count(story.certificate.estimated)} "
                "training rows, an estimate without an interval."
            )
        )
    return blocks


def _interval_in_words(story: Story, interval: Any, training: float) -> str:
    shared = (
        ""
        if story.tested == 1
        else f" The test rows compared {story.tested} models, so each interval has a {story.tested}th of δ = "
        f"{number(story.delta)}."
    )
    apart = interval.rate - training
    return (
        f"On new rows the error lies between {percent(interval.low)} and {percent(interval.high)}: the exact "
        f"{confidence(story)} interval from {count(interval.errors)} errors on {count(interval.n)} test rows.{shared} The "
        f"training error, {percent(training)}, has no interval: these rows made the model. The second gap is the "
        f"difference of the two, {_points(apart)} as seen.{_against_baseline(story, interval)}"
    )


def _against_baseline(story: Story, interval: Any) -> str:
    """Whether the interval tells the model from the answer that is always the same."""
    baseline = baseline_error(story)
    if baseline is None or interval.high < baseline[1]:
        return ""
    unseen = (
        [] if story.several else [label for label in story.classes.tolist() if not np.any(story.target_test == label)]
    )
    if unseen:
        more = "" if len(unseen) == 1 else f" and {len(unseen) - 1} more classes"
        return (
            f" Always answering “{baseline[0]}” has an error of {percent(baseline[1])}. No test row is of “{said(unseen[0], 40)}”"
            f"{more}: nothing here says what the model knows of such rows."
        )
    where = "lies in the interval" if interval.low <= baseline[1] else "is below the interval"
    return (
        f" Always answering “{baseline[0]}” has an error of {percent(baseline[1])}, which {where}: by the share of wrong rows "
        "these test rows do not show that the model is better. The balanced error and the classes below say what it finds."
    )


def _clopper_pearson(story: Story, interval: Any) -> list[Block]:
    k, n, tail = int(interval.errors), int(interval.n), f"{interval.delta / 2:.4g}"
    blocks: list[Block] = [
        Text(
            "Clopper and Pearson: the ends are the rates p at which so many errors, or more, and so many, or fewer, have "
            f"a probability of {tail}. The interval holds where the test rows are independent draws, as the new rows are, "
            "and chose nothing."
        )
    ]
    if k > 0:
        blocks.append(Equation.of(f"sum_(j = {k})^{n} binom({n}, j) p^j (1 - p)^({n} - j) = {tail}", "lower end:"))
    if k < n:
        blocks.append(Equation.of(f"sum_(j = 0)^{k} binom({n}, j) p^j (1 - p)^({n} - j) = {tail}", "upper end:"))
    return blocks


def _other_figures(story: Story) -> list[Block]:
    """Figures in which a rare class counts as much as a common one."""
    if story.several or isinstance(story.step.classes_, list):
        return []
    truth, found = (story.target_test, story.predicted_test) if story.has_test else (story.target, story.predicted)
    labels = [label for label in story.classes.tolist() if np.any(truth == label)]
    if len(labels) < 2:
        return []
    missed = [float(np.mean(np.asarray(found[truth == label] != label))) for label in labels]
    facts = [("balanced error", f"{percent(float(np.mean(missed)))}: the mean over the classes of the share not found")]
    area = _area(story)
    if area is not None:
        low, high = (said(label, 40) for label in story.classes)
        facts.append(
            ("AUC", f"{number(area, 4)}: how often a row of “{high}” has a higher score than a row of “{low}”")
        )
    return [Facts(facts)]


def _area(story: Story) -> float | None:
    """The area under the ROC curve of a two-class model with scores."""
    from sklearn.metrics import roc_auc_score

    X, truth = (story.X_test, story.target_test) if story.has_test else (story.X, story.target)
    if len(story.classes) != 2 or not np.isin(truth, story.classes).all():
        return None
    for method in ("decision_function", "predict_proba"):
        if hasattr(story.model, method):
            scores = np.asarray(getattr(story.model, method)(X))
            scores = scores[:, 1] if scores.ndim == 2 else scores
            return float(roc_auc_score(truth == story.classes[1], scores))
    return None


def _points(value: float) -> str:
    return f"{100 * value:+.2f}".replace("-", "−") + " points"


def _known_rows(story: Story) -> list[Block]:
    """Test rows that occur among the training rows, and what was done about them."""
    if story.left_out and not story.has_test:
        return [
            Note(
                f"Every one of the {count(story.given_rows)} test rows also occurs among the training rows: they say "
                "nothing of new rows, and no interval follows from them.",
                "warn",
            )
        ]
    if story.left_out:
        others = story.given_rows - story.left_out
        return [
            Note(
                f"{count(story.left_out)} of the {count(story.given_rows)} test rows also occur among the training rows and "
                f"are left out: every figure on test rows is of the other {count(others)}.",
                "warn",
            )
        ]
    if story.coinciding:
        return [
            Note(
                f"{count(story.coinciding)} of the {count(story.given_rows)} test rows have the same values as a training "
                "row. Independent rows may coincide; if the file holds rows twice, the error below is too low.",
                "warn",
            )
        ]
    return []


# Numbers


# Classes


def errors(story: Story) -> list[Block]:
    """Which class is taken for which, with rates and costs; nothing where there are no classes."""
    if story.task != "classes":
        return []
    if story.several or isinstance(story.step.classes_, list):
        return [_several(story)]
    truth, found = (story.target_test, story.predicted_test) if story.has_test else (story.target, story.predicted)
    table = _confusion(story, truth, found)
    blocks: list[Block] = []
    if not story.has_test:
        blocks.append(Note("Counted on the training rows: this says nothing of new rows, and has no intervals."))
    blocks.append(_matrix(table, "test" if story.has_test else "training"))
    if story.has_test:
        blocks.append(_rates(story, table))
    return blocks + costs_of(story, table)


def _several(story: Story) -> Table:
    truth, found = (story.target_test, story.predicted_test) if story.has_test else (story.target, story.predicted)
    truth, found = np.atleast_2d(truth.T).T, np.atleast_2d(found.T).T
    rows = []
    for k in range(min(truth.shape[1], LIMITS.lines)):
        bad, n = wrong(truth[:, k], found[:, k])
        rows.append([f"output {k + 1}", count(bad), percent(bad / n)])
    return Table(
        ["", "wrong", "error"],
        rows,
        f"Errors on the {'test' if story.has_test else 'training'} rows",
        left_out=truth.shape[1] - len(rows),
    )


def _confusion(story: Story, truth: Any, found: Any) -> Any:
    return confusion(None, y=truth, predicted=found, delta=story.delta / story.tested)


def _matrix(table: Any, which: str) -> Block:
    """The one confusion table; of very many classes the most frequent mistakes."""
    labels, counts = table.classes, table.counts
    K = len(labels)
    if K <= LIMITS.classes:
        longest = 40 if K <= 6 else 24
        return Matrix.of_counts(
            [said(label, longest) for label in labels.tolist()],
            counts.tolist(),
            f"{plural(int(counts.sum()), which + ' row')}: a line for each true class, a column for each answer; right "
            "answers on the diagonal",
        )
    off = counts.copy()
    np.fill_diagonal(off, 0)
    order = np.argsort(-off, axis=None, kind="stable")[: LIMITS.classes]
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


def _rates(story: Story, table: Any) -> Table:
    labels = list(table.classes)
    sizes = table.counts.sum(axis=1)
    recalls = {k: table.recall(label) for k, label in enumerate(labels)}
    order = list(range(len(labels)))
    caption = f"Each class on new rows, with exact {number(100 * (1 - table.delta), 6)} % intervals, each for itself"
    if len(labels) > LIMITS.classes:
        known = (k for k in order if recalls[k] is not None)
        order = sorted(known, key=lambda k: (recalls[k].rate, -sizes[k]))[: LIMITS.classes]
        caption += "; the classes found least"
    rows = [[said(labels[k]), *_rate(recalls[k]), *_rate(table.precision(labels[k]))] for k in order]
    head = ["class", "found (recall)", "interval", "right when called (precision)", "interval"]
    return Table(head, rows, caption, left_out=len(labels) - len(rows))


def _rate(found: Any) -> tuple[str, str]:
    return (
        ("no rows", "–") if found is None else (percent(found.rate), f"{percent(found.low)} to {percent(found.high)}")
    )


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
    interval = test_error(story)
    if interval is None:
        k, n = wrong(story.target, story.predicted)
        return ("training error", percent(k / n), "there were no new rows")
    between = f"{percent(interval.low)} to {percent(interval.high)}, {confidence(story)} interval"
    return ("error on new rows", percent(interval.rate), between)
