"""Bounds on the error on new rows, each with what it assumes; those that say nothing are called vacuous."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from gapless.certificates.linear_model import last_step
from gapless.certificates.tree import TreeCertificate
from gapless.certificates.verify import as_matrix
from gapless.errors import CertificateError
from gapless.pages.blocks import Bars, Block, Note, Table, Text, number, percent, said
from gapless.pages.story import Story

__all__ = ["bounds_of", "limits"]


def bounds_of(story: Story) -> Any:
    """What ``gapless.bounds`` gives, or the reason why it gives nothing."""
    from gapless.theory.bounds import bounds, candidates

    model, X, X_test, y_test = story.model, story.X, story.X_test, story.y_test
    if isinstance(story.certificate, TreeCertificate):  # trees see float32, and their rows are named so
        model, X = story.step, story.Z.astype(np.float32)
        X_test = None if X_test is None else as_matrix(last_step(story.model, X_test)[1]).astype(np.float32)
    if not story.has_test or story.copied:
        X_test = y_test = None
    kept = story.certificate
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # rows that occur twice are named where the errors stand
            tried, tested = max(story.tried, candidates(story.step)), None if story.tested == 1 else story.tested
            return bounds(model, X, story.y, story.delta, X_test, y_test, tried=tried, tested=tested)
    finally:
        if kept is not None:  # a page changes nothing of the model it tells of
            story.step.certificate_ = kept


def limits(story: Story) -> list[Block]:
    if story.task != "classes":
        return [
            Note(
                "These bounds count errors of a classifier. For numbers and for regions "
                "without labels none of them applies."
            )
        ]
    if story.several or isinstance(story.step.classes_, list):
        return [Note("These bounds speak of one output; there are several here.")]
    try:
        found = story.bounds
    except (ValueError, TypeError, AttributeError, CertificateError) as error:
        return [Note(f"No bound can be given: {said(error, 500)}.")]
    blocks: list[Block] = []
    if found.rows:
        sure = [row for row in found.rows if row.delta is not None]
        if sure and not sure[0].vacuous:
            head = f"The tightest: the error on new rows is at most {percent(sure[0].value)} ({sure[0].method})."
        else:
            head = "None of the bounds that hold with high probability says anything here: all are vacuous."
        blocks.append(
            Text(
                f"{head} All that hold with high probability hold together, but for a "
                f"failure of probability {number(found.delta)}."
            )
        )
        bars = [
            (row.method, min(row.value, 1.0), None, None, "vacuous" if row.vacuous else f"≤ {percent(row.value)}")
            for row in found.rows
        ]
        blocks.append(Bars.shares([*bars], "Error on new rows, at most", ("bound", "")))
        rows = [
            [row.method, "vacuous" if row.vacuous else percent(row.value), said(row.what, 300),
             "in expectation" if row.delta is None else f"δ = {number(row.delta, 3)}", said("; ".join(row.assumes), 500)]
            for row in found.rows
        ]  # fmt: skip
        blocks.append(
            Table(
                ["bound", "at most", "what is bounded", "holds", "if"], rows, "What each one says and assumes", names=5
            )
        )
    if found.refused:
        rows = [[method, said(reason, 500)] for method, reason in found.refused.items()]
        blocks.append(Table(["bound", "why not"], rows, "Not given here", names=2))
    if found.tried == 1 and any(row.method == "compression" for row in found.rows):
        blocks.append(
            Text(
                "If C, a kernel or the scaling were chosen by these rows, say among how many: report(..., "
                "tried=...); compression bounds hold for one setting fixed in advance."
            )
        )
    return blocks
