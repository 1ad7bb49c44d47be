"""Which features push which way: weights where there are any, else how much the answers hang on a column."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from gapless.pages.blocks import Bars, Block, Folded, Note, Text, count, number, plural, said
from gapless.pages.story import Story

__all__ = ["features"]

TOP = 15
MOST_SCORES = 12
#: Rows and columns up to which columns are shuffled to see what hangs on them.
SHUFFLED_ROWS, SHUFFLED_COLUMNS, SHUFFLED_WORK = 1000, 200, 50_000_000


def features(story: Story) -> list[Block]:
    try:
        from gapless.certificates.explain import explain

        found = explain(story.step, feature_names=story.feature_names)
    except (TypeError, ValueError, AttributeError):
        found = None
    if found is not None:
        return _weights(story, found)
    importances = _importances(story.step)
    if importances is not None and importances.size == story.n_features:
        return _by_gain(story, importances)
    return _by_shuffling(story)


def _weights(story: Story, found: Any) -> list[Block]:
    spread = _spread(story.Z, found.weights.shape[1])
    blocks: list[Block] = [
        Text(
            "The score is w·x + b. A bar is w_j times the standard deviation of its column: how far the "
            "score moves when the feature moves by its own "
            "usual amount. The weight beside it is w_j itself, in the units of the column."
        )
    ]
    K = found.n_scores
    several: list[Block] = []
    for k in range(min(K, MOST_SCORES)):
        push = found.weights[k] * spread
        order = np.argsort(-np.abs(push), kind="stable")
        order = order[push[order] != 0][:TOP]
        toward = _toward(story, found, k)
        if not order.size:
            several.append(Note(f"{toward}: every weight is 0 (or its column constant); no feature pushes either way."))
            continue
        rows = [
            (said(found.feature_names[j], 60), float(push[j]), f"w = {number(found.weights[k, j])}")
            for j in order.tolist()
        ]
        left = int(np.count_nonzero(push)) - len(rows)
        more = f"; {plural(left, 'other feature')} with less" if left else ""
        several.append(
            Bars.signed(
                rows,
                f"{toward}; |w| = {number(float(found.norm[k]))}, b = {number(float(found.intercept[k]))}{more}",
                ("feature", "weight"),
            )
        )
    if len(several) > 3:
        blocks += several[:2]
        blocks.append(Folded(f"{plural(len(several) - 2, 'other score')}", several[2:]))
    else:
        blocks += several
    if K > MOST_SCORES:
        blocks.append(Text(f"{count(K - MOST_SCORES)} more scores are not shown; gapless.explain(model) has them."))
    return blocks


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
    order = order[importances[order] > 0][:TOP]
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
    return [lead, Bars.shares(rows, f"Share of the total gain in training{more}", ("feature", "share"))]


def _by_shuffling(story: Story) -> list[Block]:
    """How often the answer changes when a column is shuffled among the rows: no direction, but something for every model."""
    if getattr(story.step, "kernel", None) == "precomputed" or callable(getattr(story.step, "kernel", None)):
        return [Note("The model sees only kernel values between rows, no features: this does not apply.")]
    lead = Text("This model has no weight for each feature, so none pushes one way everywhere.")
    n, d = min(story.n_rows, SHUFFLED_ROWS), story.n_features
    cost = n * d * max(1, len(getattr(story.step, "support_", ())) or 1)
    if d > SHUFFLED_COLUMNS or cost > SHUFFLED_WORK * 20:
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
    top = np.argsort(-changed, kind="stable")[:TOP]
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
    return [lead, Bars.shares(rows, caption, ("feature", "share"))]
