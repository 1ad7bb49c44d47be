"""Which features push which way: weights where there are any, else how much the answers hang on a column."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import sparse

from gapless.pages.blocks import Bars, Block, Equation, Folded, Matrix, Note, Table, Text, count, number, plural, said
from gapless.pages.limits import LIMITS
from gapless.pages.story import Story
from gapless.readings.explain import explain

__all__ = ["features"]


def features(story: Story) -> list[Block]:
    try:
        found = explain(story.model, feature_names=story.feature_names)
    except (TypeError, ValueError, AttributeError):
        found = None
    if found is not None:
        return _weights(story, found)
    importances = _importances(story.step)
    if importances is not None and importances.size == story.n_features:
        return _by_gain(story, importances)
    return _by_shuffling(story)


def _weights(story: Story, found: Any) -> list[Block]:
    """Each weight twice: per standard deviation of its column, which compares columns, and per unit of it, which is applied."""
    spread = _spread(story.Z, found.weights.shape[1])
    score = "prediction" if story.task == "numbers" else "score"
    scaled = found.scale is not None and bool(np.any(found.scale != 1.0))
    seen = "the bar" if found.n_scores <= LIMITS.charts else "the shade"
    before = ", before the scaling that the model applies" if scaled else ""
    texts = (
        " A column “name=text” is 1 where that text stands, else 0."
        if any("=" in n for n in found.feature_names)
        else ""
    )
    blocks: list[Block] = [
        Equation.of("f(x) = b + sum_j w_j x_j", f"The {score} is a sum over the columns:"),
        Text(
            f"Each weight stands here twice. Per standard deviation ({seen}): how far the {score} moves when the column "
            "grows by one standard deviation of the training rows; this compares columns. Per unit: how far it moves when "
            f"the column grows by 1 in the units of the data{before}; this is w_j above.{texts}"
        ),
    ]
    mixed = story.piped and found.scale is None
    if mixed:
        blocks[-1] = Text(
            "The steps before the model mix or change the columns, so that weights have no units of the data. Per standard "
            f"deviation ({seen}): how far the {score} moves when what the last step sees grows by one standard deviation. "
            "Per unit: when it grows by 1."
        )
    where = "" if mixed else " in the units of the data"
    push = found.weights * spread
    own, offsets = found.weights_per_unit, found.intercept_in_units
    K = found.n_scores
    if K > LIMITS.charts:
        return blocks + _weight_tables(story, found, push, own, offsets)
    for k in range(K):
        order = np.argsort(-np.abs(push[k]), kind="stable")
        order = order[push[k][order] != 0][: LIMITS.features]
        toward = _toward(story, found, k)
        if not order.size:
            blocks.append(Note(f"{toward}: every weight is 0 (or its column constant); no feature pushes either way."))
            continue
        rows = [
            (said(found.feature_names[j], 60), float(push[k, j]), (number(push[k, j]), number(own[k, j])))
            for j in order.tolist()
        ]
        blocks.append(
            Bars.signed(
                rows,
                f"{toward}; offset b = {number(offsets[k])}{where}{_less(push[[k]], len(rows))}",
                ("feature", "", "per standard deviation", "per unit"),
            )
        )
    return blocks


def _less(push: np.ndarray, shown: int) -> str:
    left = int(np.count_nonzero(push.any(axis=0))) - shown
    return f"; {plural(left, 'other feature')} with less" if left else ""


def _weight_tables(story: Story, found: Any, push: np.ndarray, own: np.ndarray, offsets: np.ndarray) -> list[Block]:
    """Many scores: a line for each feature and a column for each score, once per standard deviation and once per unit."""
    K = min(found.n_scores, LIMITS.classes)
    largest = np.abs(push[:K]).max(axis=0)
    order = np.argsort(-largest, kind="stable")
    order = order[largest[order] > 0][: LIMITS.features]
    if not order.size:
        return [Note("Every weight is 0 (or its column constant); no feature pushes either way.")]
    labels = [said(story.classes[k], 24) if story.task == "classes" else f"output {k + 1}" for k in range(K)]
    names = [said(found.feature_names[j], 40) for j in order.tolist()]
    shares = (push[:K, order] / float(largest.max())).T.tolist()
    places = max(0, 2 - math.floor(math.log10(float(largest.max()))))
    rounded = np.round(push[:K, order].T, places) + 0.0  # no minus before a 0
    deviation = [[f"{v:.{places}f}".replace("-", "−") for v in line] for line in rounded.tolist()]
    what = "the score of each class" if story.task == "classes" else "each output"
    tail = f"; {count(found.n_scores - K)} more scores: gapless.explain(model)" if found.n_scores > K else ""
    more = f"{_less(push[:K], len(names))}{tail}"
    caption = f"Per standard deviation: how far {what} moves; blue up, orange down{more}"
    rows = [
        [label, number(offsets[k]), *(number(own[k, j], 3) for j in order.tolist())] for k, label in enumerate(labels)
    ]
    head = ["class" if story.task == "classes" else "output", "offset b", *names]
    return [
        Matrix.of_weights(labels, names, shares, deviation, caption),
        Folded("The same per unit of the column", [Table(head, rows, f"Per unit: how far {what} moves")]),
    ]


def _toward(story: Story, found: Any, k: int) -> str:
    if story.task != "classes":
        return "Right: a larger prediction" if found.n_scores == 1 else f"Output {k + 1}; right: a larger prediction"
    if found.n_scores == 1:
        low, high = (said(label, 40) for label in story.classes[:2])
        return f"Left: towards “{low}”. Right: towards “{high}”"
    return f"Right: towards “{said(story.classes[k], 40)}”"


def _spread(Z: Any, d: int) -> np.ndarray:
    """The standard deviation of each column, in blocks of rows."""
    if not hasattr(Z, "shape") or Z.shape[1] != d:
        return np.ones(d)
    n = max(Z.shape[0], 1)
    if sparse.issparse(Z):
        Z = Z.tocsc().astype(np.float64)
        mean = np.asarray(Z.sum(axis=0)).ravel() / n
        square = np.asarray(Z.multiply(Z).sum(axis=0)).ravel() / n
        return np.sqrt(np.maximum(square - mean**2, 0.0))
    mean = np.zeros(d)
    step = max(1, (1 << 20) // max(d, 1))
    for at in range(0, n, step):
        mean += np.asarray(Z[at : at + step], dtype=np.float64).sum(axis=0)
    mean /= n
    square = np.zeros(d)
    for at in range(0, n, step):
        square += ((np.asarray(Z[at : at + step], dtype=np.float64) - mean) ** 2).sum(axis=0)
    return np.sqrt(square / n)


def _importances(step: Any) -> np.ndarray | None:
    """``feature_importances_``, or the mean of those of the learners of a bag."""
    try:
        found = getattr(step, "feature_importances_", None)
        if found is not None:
            return np.asarray(found, dtype=np.float64)
        members = getattr(step, "estimators_", None)
        columns = getattr(step, "estimators_features_", None)
        if not members or columns is None:
            return None
        total = np.zeros(step.n_features_in_)
        for member, of in zip(members, columns):
            np.add.at(total, np.asarray(of), np.asarray(member.feature_importances_, dtype=np.float64))
        return total / len(members)
    except (AttributeError, TypeError, ValueError):
        return None


def _by_gain(story: Story, importances: np.ndarray) -> list[Block]:
    order = np.argsort(-importances, kind="stable")
    order = order[importances[order] > 0][: LIMITS.features]
    lead = Text(
        "Splits have no direction: a feature can push either way, by where a row falls. What can "
        "be said is which features the splits gain by."
    )
    if not order.size:
        return [lead, Note("No feature is used: the model gives every row the same answer.")]
    rows = [
        (said(story.feature_names[j], 60), float(importances[j]), None, None, f"{100 * importances[j]:.1f} %")
        for j in order.tolist()
    ]
    left = int(np.count_nonzero(importances)) - len(rows)
    more = f"; {plural(left, 'other feature')} with less" if left else ""
    return [lead, Bars.shares(rows, f"Share of the total gain in training{more}")]


def _by_shuffling(story: Story) -> list[Block]:
    """How often the answer changes when a column is shuffled among the rows: no direction, but something for every model."""
    # Rows and columns up to which columns are shuffled to see what hangs on them.
    shuffled_rows, shuffled_columns, shuffled_work = 1000, 200, 50_000_000
    if getattr(story.step, "kernel", None) == "precomputed" or callable(getattr(story.step, "kernel", None)):
        return [Note("The model sees only kernel values between rows, no features.")]
    lead = Text("This model has no weight for each feature, so none pushes one way everywhere.")
    n, d = min(story.n_rows, shuffled_rows), story.n_features
    cost = n * d * max(1, len(getattr(story.step, "support_", ())) or 1)
    if d > shuffled_columns or cost > shuffled_work * 20:
        return [lead, Note(f"What hangs on each of {count(d)} features was not tried: it would take long.")]
    random = np.random.RandomState(0)  # the same page for the same model
    chosen = np.sort(random.choice(story.n_rows, n, replace=False))
    Z = story.Z[chosen]
    before = np.asarray(story.step.predict(Z))
    classes = story.task != "numbers"
    scale = 1.0 if classes else float(np.std(before)) or 1.0
    changed = np.zeros(d)
    order = random.permutation(n)
    dense = Z.toarray() if sparse.issparse(Z) else np.array(Z)
    for j in range(d):
        column = dense[:, j].copy()
        dense[:, j] = column[order]
        after = np.asarray(story.step.predict(sparse.csr_matrix(dense) if sparse.issparse(Z) else dense))
        dense[:, j] = column
        changed[j] = np.mean(before != after) if classes else np.sqrt(np.mean((after - before) ** 2)) / scale
    top = np.argsort(-changed, kind="stable")[: LIMITS.features]
    top = top[changed[top] > 0]
    if not top.size:
        return [lead, Note("Shuffling any one column changes no answer.")]
    rows = [
        (said(story.feature_names[j], 60), float(changed[j]), None, None, f"{100 * changed[j]:.1f} %")
        for j in top.tolist()
    ]
    what = "rows whose answer changes" if classes else "change of the prediction, in standard deviations of it,"
    caption = (
        f"Share of {what} when the column is shuffled among {count(n)} training "
        "rows: what the model uses, not which way"
    )
    return [lead, Bars.shares(rows, caption)]
