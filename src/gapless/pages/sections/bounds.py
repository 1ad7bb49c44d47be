"""Bounds on the error on new rows, on a scale that ends where a bound says nothing, each with its formula and assumptions."""

from __future__ import annotations

from typing import Any

from gapless.errors import CertificateError
from gapless.pages.blocks import Bars, Block, Equation, Folded, Note, Table, Text, number, percent, said
from gapless.pages.sections.errors import baseline_error, seen_error, test_error
from gapless.pages.story import Story
from gapless.theory.generalisation.bound_methods import BY_ROWS

__all__ = ["limits"]


def limits(story: Story) -> list[Block]:
    if story.task != "classes" or story.several or isinstance(story.step.classes_, list):
        return []  # these bounds count the errors of a classifier with one output
    try:
        found = story.bounds
    except (ValueError, TypeError, AttributeError, CertificateError) as error:
        return [Note(f"No bound can be given: {said(error, 500)}.")]
    if not found.rows:
        return []
    sure = [row for row in found.rows if row.delta is not None]
    blocks: list[Block] = [Text(_lead(found, sure)), _bars(story, found)]
    if any(row.method == "held-out" for row in found.rows):
        blocks.append(Text(_beside_the_interval(story, found)))
    if len(found.rows) > 1:
        rows = [
            [row.method, "vacuous" if row.vacuous else percent(row.value), said(row.what, 300),
             "in expectation" if row.delta is None else f"with probability {number(1 - row.delta, 4)}"]
            for row in found.rows
        ]  # fmt: skip
        blocks.append(Table(["bound", "at most", "what is bounded", "holds"], rows, "What each bound says", names=4))
    blocks.append(Folded("Formulas and assumptions", _formulas(found)))
    needing = [method for method, reason in found.refused.items() if BY_ROWS in reason and _fits(story, method)]
    if needing:
        blocks.append(
            Text(
                f"Bounds by {_listed(needing)} would need features that were fixed before the training rows were seen. Here the "
                "training rows scaled, filled or coded the columns, so no such bound holds, and none is shown."
            )
        )
    if found.tried == 1 and any(row.method == "compression" for row in found.rows):
        blocks.append(
            Text(
                "The compression bound holds for one setting fixed in advance. If these rows chose C, a kernel or a "
                "scaling among several, say among how many: report(..., tried=...)."
            )
        )
    return blocks


def _fits(story: Story, method: str) -> bool:
    """Whether a bound is one for models of this kind at all."""
    if method == "votes":
        return "Bagging" in story.name
    if method in ("PAC-Bayes", "VC"):
        return hasattr(story.step, "coef_") and len(story.classes) == 2
    return story.name in ("LinearSVC", "SVC")


def _lead(found: Any, sure: list[Any]) -> str:
    if not sure:
        return "The bound below holds in expectation over training sets, not with high probability."
    if sure[0].vacuous:
        return "None of the bounds that hold with high probability says anything here: all are vacuous (100 % or more)."
    together = (
        f"This holds but for a failure of probability {number(found.delta)}."
        if len(sure) == 1
        else f"All {len(sure)} bounds that hold with high probability hold together, but for a failure of probability "
        f"{number(found.delta)}."
    )
    return f"The error on new rows is at most {percent(sure[0].value)} ({sure[0].method}). {together}"


def _bars(story: Story, found: Any) -> Bars:
    """On a scale that holds every bound, the error that was seen, and the error of the trivial answer."""
    # Errors at which a scale can end.
    scale_ends = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
    bars: list[tuple[str, float, float | None, float | None, str]] = [
        (row.method, min(row.value, 1.0), None, None, "vacuous" if row.vacuous else f"≤ {percent(row.value)}")
        for row in found.rows
    ]
    marks = [seen_error(story)]
    meaning = ""
    baseline = baseline_error(story)
    if baseline is not None:
        marks.append((baseline[1], f"always “{baseline[0]}”: {percent(baseline[1])}", "dashed"))
        meaning = f" A bar that ends left of the dashed line says that the model is better than always answering “{baseline[0]}”."
    largest = max([value for _, value, *_ in bars] + [at for at, *_ in marks])
    most = next(end for end in scale_ends if end >= largest)
    vacuous = (
        " A bound of 100 % holds for every model: it is vacuous." if any(row.vacuous for row in found.rows) else ""
    )
    caption = f"Error on new rows, at most; the scale goes from 0 to {number(100 * most)} %.{meaning}{vacuous}"
    return Bars.shares(bars, caption, most=most, marks=marks)


def _beside_the_interval(story: Story, found: Any) -> str:
    """The same errors give an interval and a bound: why their upper ends differ."""
    row, interval = found["held-out"], test_error(story)
    doubt = (
        f"all of the {number(100 * found.delta)}\u00a0% of doubt"
        if row.delta is None or row.delta >= found.delta
        else f"{number(100 * row.delta, 3)}\u00a0% of doubt, its part of the {number(100 * found.delta)}\u00a0% of all bounds"
    )
    return (
        f"The held-out bound counts the same errors as the interval above, {percent(interval.low)} to "
        f"{percent(interval.high)}. An interval has two ends and a bound one, which has {doubt}: so their upper ends "
        "differ. The interval is the figure to quote for this model."
    )


#: Each bound in the notation of `formula`, with what its signs are; numbers of the model are put in.
FORMULAS: dict[str, tuple[str, str]] = {
    "held-out": (
        "sum_(j = 0)^{errors} binom({n}, j) e^j (1 - e)^({n} - j) = {delta}",
        "e solves it: so few errors on {n} test rows have just the probability {delta} (exact binomial)",
    ),
    "compression": (
        "{delta} * P(N >= {k} + 1) = {n} e * P(N = {k})",
        "e solves it, N binomial with {n} draws of probability e: {k} of {n} rows determine the model (Campi, Garatti 2023)",
    ),
    "PAC-Bayes": (
        "kl(r, e/2) = ({mu}^2/2 + ln((2 sqrt({n}))/{delta}))/{n}",
        "r is the training error of a hyperplane drawn around w at distance μ = {mu}; kl is the divergence of two coins",
    ),
    "VC": (
        "e = {errors}/{n} + eps, eps = sqrt((4 eps (1 + eps) + ln((4 m({n}^2))/{delta}))/(2 * {n}))",
        "m counts the ways in which hyperplanes of d_VC = {dimension} can label so many rows (Devroye)",
    ),
    "votes": (
        "vote <= min(2 g, 4 t)",
        "g is the error of one drawn member, t the probability that two are wrong on the same row, each on rows out of their "
        "bags and raised to what the PAC-Bayes inequality allows; with two classes also 4 g − 2 d, d the disagreement",
    ),
    "leave-one-out": (
        "e <= {count}/{n}",
        "In expectation: at most {count} of {n} rows are wrong when they are left out of training",
    ),
}


def _formulas(found: Any) -> list[Block]:
    blocks: list[Block] = []
    for row in found.rows:
        notation, words = FORMULAS[row.method]
        parts = {"held-out": found.tested, "compression": found.tried, "votes": found.tried}.get(row.method, 1)
        delta = "" if row.delta is None else f"{row.delta / parts:.3g}"
        figures = {
            name: f"{value:.4g}" if isinstance(value, float) else value
            for name, value in row.figures.items()
            if isinstance(value, int | float)
        }
        blocks.append(Equation.of(_filled(notation, figures, delta), f"{row.method}:"))
        blocks.append(Text(f"{_filled(words, figures, delta)}. It holds if {said('; '.join(row.assumes), 500)}."))
    return blocks


def _filled(text: str, figures: dict[str, Any], delta: str) -> str:
    for name, value in {**figures, "delta": delta}.items():
        text = text.replace("{" + name + "}", str(value))
    return text


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]
