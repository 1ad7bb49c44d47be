"""Separability: whether a hyperplane tells the classes apart, with the proof that was found."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from gapless.certificates.separation import separability
from gapless.encode.equal_rows import find_distinct_rows
from gapless.judge.fingerprint import row_hashes
from gapless.pages.blocks import Block, Facts, Note, Text, count, number, plural, said
from gapless.pages.limits import LIMITS
from gapless.pages.sections.errors import wrong
from gapless.pages.story import Story

__all__ = ["separation"]


def separation(story: Story) -> list[Block]:
    if story.task != "classes" or story.several or isinstance(story.step.classes_, list):
        return []  # a question about the labels of one output
    if getattr(story.step, "kernel", "linear") != "linear":
        return _of_kernel(story)
    known = _known(story)
    if known is not None:
        return known
    most_numbers = 4_000_000  # numbers in X up to which the exact solver is asked while the page is made
    size = story.Z.nnz if story.sparse else story.n_rows * story.n_features
    if size > most_numbers:
        return [
            *_by_errors(story),
            Note(
                f"X holds {count(size)} numbers: the exact question was not asked here. "
                "gapless.separability(X, y) asks it."
            ),
        ]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = separability(story.Z, story.target, sample_weight=story.sample_weight)
    except (ValueError, ArithmeticError, MemoryError) as error:
        return [Note(f"It could not be decided: {said(error, 400)}"), *_by_errors(story)]
    return _told(story, found)


def _lead(status: str, two_classes: bool) -> str:
    """The answer in a sentence."""
    if status == "complete":
        if two_classes:
            return "Yes: a hyperplane has every training row strictly on its side."
        return "Yes: linear scores, one for each class, are highest for the right class on every training row."
    if status == "quasi":
        if two_classes:
            return "Nearly: a hyperplane has no training row on the wrong side, but some lie exactly on it, and none does better."
        return (
            "Nearly: linear scores, one for each class, are never below another for the right class of a training row, but "
            "some are equal, and none do better."
        )
    if two_classes:
        return "No: no hyperplane separates the training rows, not even with rows on it."
    return "No: whatever the linear scores, one for each class, a training row has a higher score for a wrong class."


def _told(story: Story, found: Any) -> list[Block]:
    lead = _lead(found.status, len(story.classes) == 2)
    facts = [("verdict", found.status)]
    if found.margin is not None:
        upper = "" if found.margin_upper is None else f", and none has more than {number(found.margin_upper, 6)}"
        facts.append(("margin", f"at least {number(found.margin, 6)}{upper}"))
    if found.status != "complete":
        rows = np.unique(found.rows)  # of many classes a row can have several rivals
        shown = ", ".join(count(row) for row in rows[: LIMITS.lines].tolist())
        more = f" … {count(rows.size - LIMITS.lines)} more" if rows.size > LIMITS.lines else ""
        facts.append(
            ("proof", f"exact multipliers on {plural(rows.size, 'training row')}, numbered from 0: {shown}{more}")
        )
    else:
        facts.append(("proof", "w and b, as they stand in float64"))
    if found.status != "overlap":
        names = story.feature_names
        columns = [said(names[j], 40) for j in found.columns[: LIMITS.lines].tolist()]
        more = f" … {count(found.columns.size - LIMITS.lines)} more" if found.columns.size > LIMITS.lines else ""
        facts.append(("columns that do it alone", ", ".join(columns) + more))
    return [Text(lead), Facts(facts)]


def _known(story: Story) -> list[Block] | None:
    """What the certificate already proves."""
    found = getattr(story.certificate, "separation", None)
    return None if found is None else _told(story, found)


def _by_errors(story: Story) -> list[Block]:
    """A linear model without a mistake is itself a separating hyperplane; one with mistakes proves nothing."""
    linear = hasattr(story.step, "coef_")
    k, n = wrong(story.target, story.predicted)
    if linear and k == 0:
        return [
            Text(
                f"This model has all {count(n)} training rows on their sides: it "
                "separates them itself, but for rounding."
            )
        ]
    return []


def _of_kernel(story: Story) -> list[Block]:
    k, n = wrong(story.target, story.predicted)
    kernel = said(getattr(story.step, "kernel", ""))
    if k == 0:
        return [
            Text(
                f"In the space of the {kernel} kernel this model has all {count(n)} training rows "
                "on their sides: they are separable there."
            )
        ]
    text = (
        f"In the space of the {kernel} kernel the model leaves {count(k)} of "
        f"{count(n)} training rows on the wrong side."
    )
    if kernel == "rbf" and _distinct(story):
        text += (
            " No two rows are equal, so the Gaussian kernel could separate them all with C large "
            "enough, which says nothing good of new rows."
        )
    return [Text(text)]


def _distinct(story: Story) -> bool:
    if story.kind == "" or not hasattr(story.Z, "shape"):
        return False
    return bool(find_distinct_rows(row_hashes(story.Z))[0].size == story.n_rows)
