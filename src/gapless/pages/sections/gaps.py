"""What was found, and the two gaps: to the best model for this objective, and to the error on new rows."""

from __future__ import annotations

import math
from typing import Any

from gapless.certificates.verify import verify
from gapless.errors import STATUSES, above_optimum
from gapless.pages.blocks import Block, Equation, Facts, Folded, Note, Table, Text, count, number, plural, said
from gapless.pages.limits import LIMITS
from gapless.pages.story import Story

__all__ = ["check", "first_gap", "found", "headline"]


def found(story: Story) -> list[Block]:
    certificate = story.certificate
    if certificate is None:
        return [Note("This model has no certificate: nothing of what follows can be checked by others.", "warn")]
    status = str(certificate.status)
    # "The relative gap is at most tol" is the sentence of a gap; other kinds have their own.
    meant = f": {STATUSES[status]}" if status in STATUSES and (story.kind == "gap" or status != "converged") else ""
    facts = [("status", status + meant)]
    facts += _size(story)
    for name, label in (
        ("n_iter", "passes over the rows"),
        ("seconds", "seconds"),
        ("compile_seconds", "seconds of compiling, not counted"),
        ("solver", "solver"),
        ("backend", "computed on"),
    ):
        value = getattr(certificate, name, None)
        if value not in (None, "") and not (name == "compile_seconds" and value == 0):
            facts.append((label, said(value) if isinstance(value, str) else number(value, 3)))
    sentence = [] if story.kind == "gap" else [Text(said(certificate, 2000))]  # a gap has a section of its own
    blocks: list[Block] = [*sentence, Facts(facts)]
    if status != "converged":
        blocks.insert(
            0,
            Note(
                "The fit did not converge. The model can be used, and what is said of it below is "
                "true; more time or passes may improve it.",
                "warn",
            ),
        )
    return blocks


def _size(story: Story) -> list[tuple[str, str]]:
    """How large the model is, in its own terms."""
    step, facts = story.step, []
    support = getattr(step, "support_", None)
    if support is not None:
        facts.append(("support vectors", f"{count(len(support))} of {plural(story.n_rows, 'row')}"))
    certificate = story.certificate
    if hasattr(certificate, "leaves"):
        facts.append(("tree", f"{plural(certificate.leaves, 'leaf', 'leaves')}, depth {certificate.depth}"))
    members = getattr(step, "estimators_", None)
    if members is not None:
        facts.append(("learners", count(len(members))))
    if getattr(certificate, "rank", None) is not None:
        rank = certificate.rank
        facts.append(
            ("rank", said(", ".join(map(str, rank[: LIMITS.parts])) if isinstance(rank, list | tuple) else rank))
        )
    condition = getattr(certificate, "condition", None)
    if isinstance(condition, float):
        facts.append(("condition", number(condition, 2)))
    return facts


def _in_place_of_gap(kind: str) -> str:
    """The sentence about the first gap of a certificate of a kind that has none."""
    return {
        "orthogonality": "Least squares without a penalty has no duality gap. In its place: at the solution "
        "the residuals are orthogonal to every column.",
        "gradient": "Logistic regression without a penalty has no duality gap. In its place the gradient "
        "proves how far the loss can be from its optimum.",
        "moments": "Nothing is optimised, so there is no gap. In its place: the estimates are the "
        "moments of the rows, which anybody can recompute.",
        "bound": "Nothing is optimised with a dual, so there is no gap. In its place stands a "
        "bound that theory gives, beside what happened.",
        "heuristic": "There is no gap: how far this model is from the best of its kind is not known. "
        "What is claimed can be checked all the same.",
    }.get(kind, "This model has no duality gap.")


def first_gap(story: Story) -> list[Block]:
    certificate = story.certificate
    if certificate is None:
        return [Note("Without a certificate there is no gap to state.")]
    values: list[Any] = [getattr(certificate, name, None) for name in ("primal", "dual", "gap", "relative_gap")]
    if certificate.kind != "gap" or any(v is None or math.isnan(v) for v in values):
        return [Note(_in_place_of_gap(certificate.kind)), *_in_place(certificate)]
    primal, dual, gap, relative = (float(v) for v in values)
    blocks: list[Block] = []
    if math.isfinite(primal) and math.isfinite(dual):
        most = above_optimum(dual + gap, dual, certificate.rounding)
        blocks.append(
            Text(
                f"The objective of this model is at most {most} above the smallest "
                "possible one, whatever the solver did: the dual value is below the objective of every model."
            )
        )
        blocks.append(
            Equation.of("P(w) - P_min <= P(w) - D(alpha) = gap", "The optimum lies between primal P and dual D:")
        )
    else:
        blocks.append(Note("Nothing is known about the distance to the optimum.", "warn"))
    holds = "at most" if relative <= certificate.tol else "above"
    blocks.append(
        Facts([
            ("primal P, reached", _digits(primal)),
            ("dual D, which no model goes below", _digits(dual)),
            ("gap", f"{number(gap, 3)}; rounding can add {number(certificate.rounding, 2)}"),
            ("relative gap", f"{number(relative, 3)}, {holds} tol = {number(certificate.tol, 3)}"),
        ])
    )  # fmt: skip
    parts = getattr(certificate, "subproblems", ()) or getattr(certificate, "targets", ())
    if len(parts) > 1:
        blocks.append(Folded(plural(len(parts), "problem") + " in one, worst first", [_parts(certificate, parts)]))
    return blocks


def _digits(value: float) -> str:
    return f"{value:.12g}".replace("-", "−") if math.isfinite(value) else number(value)


def _parts(certificate: Any, parts: Any) -> Table:
    order = sorted(range(len(parts)), key=lambda k: (parts[k].status == "converged", -(parts[k].relative_gap or 0.0)))
    rows = []
    for k in order[: LIMITS.parts]:
        part = parts[k]
        if hasattr(part, "negative"):
            name = certificate.pair_name(part)
        elif hasattr(part, "positive"):
            name = f"{certificate.class_name(part.positive)} against the rest"
        else:
            name = f"target {k + 1}"
        rows.append(
            [
                said(name),
                part.status,
                *(number(v, 6) for v in (part.primal, part.dual)),
                number(part.gap, 3),
                number(part.relative_gap, 3),
            ]
        )
    return Table(
        ["problem", "status", "primal", "dual", "gap", "relative gap"], rows, names=2, left_out=len(parts) - len(rows)
    )


def _in_place(certificate: Any) -> list[Block]:
    """The figures that stand where a gap would."""
    names = {
        "orthogonality": "largest cosine of a column and the residuals",
        "rss": "residual sum of squares",
        "r2": "R²",
        "loss": "loss",
        "deviance": "deviance",
        "decrement": "Newton decrement",
        "excess": "loss above its optimum, at most",
        "relative_excess": "the same, relative",
        "mistakes": "mistakes" if hasattr(type(certificate), "bound") else "wrong on training rows",
        "bound": "bound",
        "margin": "smallest margin",
        "error": "error on the training rows",
        "best": "each split is the best of its node",
        "estimate": "out-of-bag score (an estimate)",
    }
    facts = []
    for name, label in names.items():
        try:
            value = getattr(certificate, name, None)
        except AttributeError:
            continue
        if value is None or not isinstance(value, bool | int | float):
            continue
        facts.append((label, number(value, 6)))
    return [Facts(facts)] if facts else []


def check(story: Story) -> list[Block]:
    """The judge's verdict, where it costs little or was asked for."""
    if story.certificate is None:
        return [Note("There is no certificate to check.")]
    if callable(getattr(story.step, "kernel", None)) and story.check is None:
        return [Note("The kernel is a function: the judge would need the matrix of all its values, and was not asked.")]
    if not _wanted(story):
        why = "as asked" if story.check is False else "which would take long on this many rows"
        return [Note(f"The judge was not asked while this page was made, {why}; the command at the end does it.")]
    verdict = verify(story.step, story.Z, story.y, story.sample_weight)
    claims = plural(len(verdict.claims), "claim")
    if verdict:
        head: Block = Text(
            f"The judge, which shares no code with the solver, recomputed {claims} from the rows: all hold."
        )
    else:
        wrong = ", ".join(claim.name for claim in verdict.failed)
        head = Note(f"The judge does not confirm this model: {wrong}.", "warn")
    rows = [
        ["holds" if claim.holds else "FALSE", said(claim.name), _cell(claim.claimed), _cell(claim.recomputed)]
        for claim in verdict.claims[:60]
    ]
    table = Table(["", "claim", "claimed", "recomputed"], rows, names=2, left_out=max(0, len(verdict.claims) - 60))
    return [head, Folded(claims, [table, Text("Not checked: " + said("; ".join(verdict.unchecked), 1000))])]


def _wanted(story: Story) -> bool:
    # Numbers up to which the judge is asked while the page is made (kernel machines: rows).
    most_numbers, most_kernel_rows = 30_000_000, 4_000
    if story.check is not None:
        return bool(story.check)
    if hasattr(story.step, "dual_coef_"):
        return story.n_rows <= most_kernel_rows
    members = len(getattr(story.step, "estimators_", ())) or 1
    size = story.Z.nnz if story.sparse else story.n_rows * story.n_features
    return size * members <= most_numbers


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:.12g}".replace("-", "−") if isinstance(value, float) else said(value, 40)


def headline(story: Story) -> list[tuple[str, str, str]]:
    """(what, figure, beside it) for the head of the page."""
    cards: list[tuple[str, str, str]] = []
    certificate = story.certificate
    relative = getattr(certificate, "relative_gap", None)
    if story.kind == "gap" and relative is not None and math.isfinite(relative):
        most = above_optimum(certificate.dual + certificate.gap, certificate.dual, certificate.rounding)
        cards.append(
            (
                "above the best objective",
                f"≤ {most}",
                f"relative gap {relative:.1e}, {certificate.status}".replace("-", "−"),
            )
        )
    elif certificate is not None:
        cards.append(("certificate", story.kind, f"no duality gap, {certificate.status}"))
    return cards
