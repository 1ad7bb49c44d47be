"""Who the support vectors are: the complementary-slackness class of each training row, and the rows that weigh most."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gapless.certificates.model_document import decode_float
from gapless.pages.blocks import Block, Facts, Folded, Note, Table, Text, count, number, percent, plural, said
from gapless.pages.limits import LIMITS
from gapless.pages.story import Story
from gapless.readings.slackness import DUAL, PRIMAL, Slackness, slackness

__all__ = ["slackness_of", "vectors"]


def vectors(story: Story) -> list[Block]:
    problem, step = story.problem, story.step
    arrays = getattr(story.certificate, "arrays", {}) or {}
    if story.name == "Perceptron":
        return _mistakes(story)
    if "dual" not in arrays:
        return []  # a tree, an ensemble, least squares, a discriminant: no row carries the model more than another
    if "epsilon" in str(problem.get("kind", "")) or problem.get("kind") in ("nu_svr", "one_class"):
        return _by_alpha(story)
    if problem.get("loss") in ("softmax", "squared"):
        return []  # every row has a part in the model
    found = slackness_of(story)
    if found is None:
        return _by_alpha(story)
    return _classes(story, found, step)


def slackness_of(story: Story) -> Slackness | None:
    """``slackness_`` of a model just fitted; of one from a file the same, recomputed from the rows."""
    try:
        return story.step.slackness_
    except AttributeError:
        pass
    certificate, problem = story.certificate, story.problem
    dual = np.abs(certificate.arrays["dual"])
    if "scalars" in certificate.arrays:
        return _of_kernel(story, dual)
    weights = (
        np.ones(story.n_rows) if story.sample_weight is None else np.asarray(story.sample_weight, dtype=np.float64)
    )
    index = story.index
    C = decode_float(problem["C"])
    c = C * weights * np.array([decode_float(w) for w in problem["class_weight"]])[index]
    scores = np.atleast_2d(np.asarray(story.step.decision_function(story.Z)).T)
    sign = np.stack([np.where(index == sub.positive, 1.0, -1.0) for sub in certificate.subproblems])
    loss = "hinge" if math.isinf(C) else problem["loss"]
    yf = np.where(c > 0, sign * scores, 0.0)
    return slackness(dual[0] if len(dual) == 1 else dual, c, yf[0] if len(dual) == 1 else yf, loss)


def _of_kernel(story: Story, dual: np.ndarray) -> Slackness | None:
    """One problem for each pair of classes, on the rows of the two; NuSVC is read as the SVC that it is."""
    problem, certificate, step = story.problem, story.certificate, story.step
    if problem.get("kind") not in ("c_svc", "nu_svc"):
        return None
    weights = (
        np.ones(story.n_rows) if story.sample_weight is None else np.asarray(story.sample_weight, dtype=np.float64)
    )
    index = story.index
    cost = decode_float(problem["C"]) if problem["kind"] == "c_svc" else 1.0
    c = cost * weights * np.asarray(step.class_weight_, dtype=np.float64)[index]
    scores = step._pair_scores(story.Z).T
    level = np.ones(len(dual)) if problem["kind"] == "c_svc" else -certificate.arrays["scalars"][:, 1]
    level = np.where(level > 0.0, level, 1.0)[:, None]
    ends = [(sub.positive, sub.negative) for sub in certificate.subproblems]
    inside = np.stack([np.isin(index, pair) for pair in ends])
    sign = np.stack([np.where(index == i, 1.0, -1.0) for i, _ in ends])
    # The scores of a NuSVC are divided by rho already.
    parts = [dual / level, np.where(inside, c, 0.0) / level, np.where(inside, sign * scores, 0.0)]
    alpha, c, yf = (part[0] if len(dual) == 1 else part for part in parts)
    return slackness(alpha, c, yf)


def _classes(story: Story, found: Slackness, step: Any) -> list[Block]:
    one = found.alpha.ndim == 1
    used = found.from_dual >= 0
    support = np.asarray(found.support)
    n = story.n_rows
    any_part = np.asarray(support if one else support.any(axis=0))
    blocks: list[Block] = []
    if found.loss == "logistic":
        return [
            Note(
                "The logistic loss gives every row a part in the model (α > 0 for all): none "
                "is a support vector more than another."
            ),
            *_largest(story, found, one),
        ]
    m = int(np.count_nonzero(any_part))
    blocks.append(
        Text(
            f"{plural(m, 'row')} of {count(n)} ({percent(m / n)}) carry the model; it would be the same without the others."
            if m < n
            else f"All {count(n)} rows carry the model."
        )
    )
    words = [
        ("α = 0", "beyond its margin: the model would be the same without it"),
        ("0 < α < c", "on its margin: it holds the boundary in place"),
        ("α = c", "inside its margin or on the wrong side: it pulls with all it has"),
    ]
    if found.loss != "hinge":  # α has no upper end
        words[1:] = [("α > 0", "inside its margin or on the wrong side: it pulls in proportion to its slack")]
    tallies = [int(np.count_nonzero(used & (found.from_dual == k))) for k in range(3)]
    if found.loss != "hinge":
        tallies = [tallies[0], tallies[1] + tallies[2]]
    total = max(int(np.count_nonzero(used)), 1)
    what = "" if one else f" (over {plural(found.alpha.shape[0], 'problem')})"
    rows = [[name, meaning, count(k), percent(k / total)] for (name, meaning), k in zip(words, tallies)]
    blocks.append(Table(["α", "what it means", "rows" + what, "share"], rows, names=2))
    if one and found.loss == "hinge":
        blocks.append(_cross(found))
        blocks.append(_by_label(story, found, any_part))
    facts = [("rows whose α and margin do not fit together", count(int((~found.consistent).sum())))]
    facts += [(f"largest |{name}|", number(value, 2)) for name, value in found.largest.items()]
    certified = getattr(found, "certified", None)
    if certified is not None:
        sure = int(np.count_nonzero(certified >= 0))
        facts.append(
            (
                "certified at every optimum",
                f"{count(sure)} of {count(total)}: the gap proves that no better model has them elsewhere",
            )
        )
    blocks += _largest(story, found, one)
    blocks.append(Folded("How well the conditions of the optimum hold", [Facts(facts)]))
    return blocks


def _cross(found: Slackness) -> Table:
    signs = {"alpha": "α", "y f": "yf", "<": "<", ">": ">"}

    def pretty(text: str) -> str:
        for old, new in signs.items():
            text = text.replace(old, new)
        return text

    rows = [[pretty(name), *(count(v) for v in row)] for name, row in zip(DUAL, found.counts)]
    return Table(
        ["from the dual \\ from the primal", *(pretty(p) for p in PRIMAL)],
        rows,
        "Each row read twice; at the optimum the readings agree",
    )


def _by_label(story: Story, found: Slackness, support: np.ndarray) -> Table:
    rows = []
    for label in story.classes[:12]:
        mine = np.asarray(story.target == label)
        rows.append([
            said(label), count(int((mine & support).sum())),
            count(int((mine & (found.from_dual == 2)).sum())), count(int((mine & (found.yf < 0)).sum())),
        ])  # fmt: skip
    return Table(["class", "support vectors", "at the bound α = c", "on the wrong side"], rows, "By class")


def _largest(story: Story, found: Slackness, one: bool) -> list[Block]:
    """The rows with the largest alpha; of several problems, summed over them."""
    total = found.alpha if one else found.alpha.sum(axis=0)
    order = np.argsort(-total, kind="stable")[: LIMITS.support_vectors]
    order = order[total[order] > 0]
    if not order.size:
        return []
    head = ["training row, from 0", "class", "α" if one else "∑ α", *(["y f"] if one else [])]
    rows = [
        [count(i), said(story.target[i]), number(total[i]), *([number(found.yf[i])] if one else [])]
        for i in order.tolist()
    ]
    return [Table(head, rows, "The rows that weigh most", names=2)]


def _by_alpha(story: Story) -> list[Block]:
    """Regression and one class: from the dual variables alone."""
    dual = np.abs(np.asarray(story.certificate.arrays["dual"]))
    alpha = dual[0] if dual.shape[0] == 1 else dual.sum(axis=0)
    most = float(alpha.max(initial=0.0))
    inside = alpha <= 1e-9 * most
    m = int((~inside).sum())
    one_class = story.task == "outliers"
    where = "outside the region or on its edge" if one_class else "outside the tube or on its edge"
    blocks: list[Block] = [
        Text(
            f"{plural(m, 'row')} of {count(story.n_rows)} ({percent(m / max(story.n_rows, 1))}) carry the model: "
            f"those {where}." + (" It would be the same without the others." if m < story.n_rows else "")
        )
    ]
    order = np.argsort(-alpha, kind="stable")[: LIMITS.support_vectors]
    order = order[alpha[order] > 0]
    if one_class or story.target is None or story.target.ndim == 2:
        rows = [[count(i), number(alpha[i])] for i in order.tolist()]
        return [*blocks, Table(["training row, from 0", "|α|"], rows, "The rows that weigh most")]
    rows = [[count(i), number(alpha[i]), number(story.target[i]), number(story.predicted[i])] for i in order.tolist()]
    return [*blocks, Table(["training row, from 0", "|α|", "target", "prediction"], rows, "The rows that weigh most")]


def _mistakes(story: Story) -> list[Block]:
    """The perceptron's alpha: how often a row corrected the hyperplane."""
    try:
        alpha = np.asarray(story.step.alpha_, dtype=np.float64)
    except AttributeError:
        return [
            Note(
                "A perceptron is the sum of the rows it was corrected by; how often "
                "each one did so is not kept in a file."
            )
        ]
    alpha = np.abs(alpha) if alpha.ndim == 1 else np.abs(alpha).sum(axis=0)
    if alpha.size != story.n_rows:
        return [Note("A perceptron is the sum of the rows it was corrected by.")]
    m = int((alpha > 0).sum())
    order = np.argsort(-alpha, kind="stable")[: LIMITS.support_vectors]
    rows = [[count(i), said(story.target[i]), number(alpha[i])] for i in order.tolist() if alpha[i] > 0]
    text = f"A perceptron is the sum of the rows that corrected it: {plural(m, 'row')} of {count(story.n_rows)} did."
    return [
        Text(text),
        Table(["training row, from 0", "class", "its part"], rows, "The rows that corrected it most", names=2),
    ]
