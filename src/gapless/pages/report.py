"""`report`: the whole story of a fit on one page, which needs no network, no script and no other file; or as a model card."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import gapless
from gapless._runtime.written import written
from gapless.errors import CertificateError
from gapless.files.atomic_write import write_whole
from gapless.pages import pictures
from gapless.pages.blocks import Block, Later, Note, Section, number, percent, said
from gapless.pages.model_card import model_card
from gapless.pages.sections import (
    bounds,
    compared,
    errors,
    features,
    gaps,
    origin,
    question,
    separation,
    support_vectors,
)
from gapless.pages.sections.costs import cost_matrix
from gapless.pages.story import Story
from gapless.plots.drawing import with_company
from gapless.solvers.loop import audible
from gapless.theory.inputs import as_probability, as_whole

__all__ = ["Page", "report"]


@dataclass(frozen=True, eq=False, repr=False)
class Page:
    """One page, of HTML or of Markdown. ``save`` writes it whole or not at all; a notebook shows it.

    Attributes
    ----------
    title : title of the page
    html : the whole page; empty where Markdown was asked for
    path : where it was written
    markdown : the model card; empty where HTML was asked for
    """

    title: str
    html: str
    path: str | None = None
    markdown: str = ""

    @property
    def text(self) -> str:
        """What ``save`` writes."""
        return self.html or self.markdown

    def save(self, file: str | os.PathLike[str]) -> Page:
        """Write it beside ``file`` and move it into place when it is whole: a full disk leaves what was there."""
        return replace(self, path=write_whole(file, self.text.encode("utf-8")))

    def __repr__(self) -> str:
        where = "" if self.path is None else f", {self.path}"
        return f"<Page: {self.title}, {len(self.text.encode()):,} bytes{where}>"

    def _repr_markdown_(self) -> str | None:
        return self.markdown or None

    def _repr_html_(self) -> str | None:
        from html import escape

        if not self.html:
            return None

        # In a frame of its own: the page's style stays in it, and what runs in a notebook cannot run there.
        style = "width:100%;height:40em;border:1px solid #ccc"
        return f'<iframe sandbox srcdoc="{escape(self.html, quote=True)}" style="{style}"></iframe>'


@audible()
def report(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    X_test: Any = None,
    y_test: Any = None,
    sample_weight: Any = None,
    file: str | os.PathLike[str] | None = None,
    format: str | None = None,
    title: str | None = None,
    feature_names: Sequence[str] | None = None,
    costs: Any = None,
    delta: float = 0.05,
    tried: int = 1,
    tested: int = 1,
    check: bool | None = None,
    pictures: bool = True,
    data_name: str | None = None,
    test_name: str | None = None,
    commands: Sequence[str] | None = None,
    compared: Sequence[Mapping[str, Any]] | None = None,
) -> Page:
    """One self-contained page: what was asked and found, both gaps, errors, bounds, features, rows, and how to check it.

    Parameters
    ----------
    model : a fitted gapless estimator, or a pipeline that ends in one
    X, y, sample_weight : what it was trained on; other data raise CertificateError
    X_test, y_test : rows that it was not trained on, for errors with intervals
    file : where the page goes; None only makes it (``Page.save`` writes it)
    format : "html", or "markdown" for a model card without pictures; None: "markdown" where ``file`` ends in .md
    title : of the page
    feature_names : names of the columns that the estimator saw, where it has none
    costs : what an error costs: a dictionary {(true class, predicted class): cost}, or an array with a row for each true class
    delta : the probability that an interval, or any of the bounds, fails
    tried : settings among which the training rows may have chosen this model
    tested : models that were compared on the test rows
    check : whether the judge recomputes the claims; None: where that costs little
    pictures : whether there are any (they need matplotlib)
    data_name, test_name : names of the files that X and X_test came from
    commands : command lines: one that makes this model, one that verifies it, and, if there is one, one that makes this page
    compared : the models that this one was chosen from, as ``gapless train --json`` lists them

    Returns
    -------
    Page : its ``html`` or ``markdown``, ``path`` and ``save``
    """
    from sklearn.utils.validation import check_is_fitted

    if (X_test is None) != (y_test is None):
        raise ValueError("X_test and y_test come together")
    as_card = _is_markdown(format, file)
    template = None if as_card else _template()  # before any work: says which extra is missing
    check_is_fitted(model)
    story = Story(
        model, X, y, X_test, y_test, sample_weight, as_probability(delta), as_whole(tried, "tried"), as_whole(tested, "tested"),
        costs, data_name, test_name, feature_names, commands, check, pictures and not as_card, compared,
    )  # fmt: skip
    if story.certificate is None and not type(story.step).__module__.startswith("gapless"):
        raise TypeError(f"{story.name} is not a gapless model: a report tells what a certificate claims")
    _check(story)
    sections = _sections(story)
    name = title or (f"{story.name} on {said(data_name)}" if data_name else f"{story.name}, {story.n_rows:,} rows")
    title, cards, head = said(name, 200), _cards(story), _head(story)
    if template is None:
        page = Page(title, "", markdown=model_card(title, cards, sections, head["version"]))
    else:
        page = Page(title, template.render(title=title, cards=cards, sections=sections, story=head).lstrip())
    return page if file is None else page.save(file)


def _is_markdown(format: str | None, file: str | os.PathLike[str] | None) -> bool:
    """Whether a model card was asked for, by name or by the ending of the file."""
    if format not in (None, "html", "markdown"):
        raise ValueError(f"format is 'html' or 'markdown', not {written(format)}")
    if format is None:
        return file is not None and os.fspath(file).lower().endswith((".md", ".markdown"))
    return format == "markdown"


def _check(story: Story) -> None:
    """What would make the page a lie, before anything is computed."""
    story.check_rows()
    story.leave_out_known()
    if story.target is not None and len(story.target) != story.n_rows:
        raise ValueError(f"X has {story.n_rows} rows, y {len(story.target)}")
    if story.has_test and len(story.target_test) != len(story.predicted_test):
        raise ValueError(f"X_test has {len(story.predicted_test)} rows, y_test {len(story.target_test)}")
    if story.costs is not None:
        if story.task != "classes" or story.several:
            raise ValueError("costs are those of errors of a classifier with one output")
        cost_matrix(story.costs, story.classes)
    if story.task == "classes" and story.target is None:
        raise ValueError("a classifier's report needs its labels y")


#: The sections in order: anchor, name in the contents, title, and what makes its blocks; one without blocks is left out.
PLAN: tuple[tuple[str, str, str, tuple[Callable[[Story], list[Block]], ...]], ...] = (
    ("asked", "What was asked", "What was asked", (question.asked,)),
    (
        "found",
        "What was found",
        "What was found",
        (gaps.found, compared.compared, pictures.of_tree, pictures.of_boosting, pictures.of_gaussians),
    ),
    (
        "optimum",
        "Gap to the optimum",
        "The first gap: to the best model for this objective",
        (gaps.first_gap, pictures.of_gap),
    ),
    (
        "new-rows",
        "Error on new rows",
        "The second gap: to the error on new rows",
        (errors.generalisation, pictures.of_numbers),
    ),
    ("errors", "Errors by class", "Errors by class", (errors.errors, pictures.of_reliability)),
    ("bounds", "Bounds", "Bounds on new rows, and what they assume", (bounds.limits,)),
    ("features", "Features", "Which features push which way", (features.features,)),
    ("rows", "Rows and boundary", "Rows and boundary", (support_vectors.vectors, pictures.of_boundary)),
    ("separability", "Separability", "Can linear scores tell the classes apart?", (separation.separation,)),
    ("judge", "The judge", "The judge", (gaps.check,)),
    ("data", "Fingerprint", "The fingerprint of the rows", (origin.fingerprint,)),
    ("repeat", "Commands", "Reproduce and verify", (origin.repeat,)),
    ("versions", "Versions", "Versions", (lambda story: origin.versions(),)),
)


def _sections(story: Story) -> list[Section]:
    drawing = pictures.__name__
    parts = sorted((part for *_, each in PLAN for part in each), key=lambda part: part.__module__ != drawing)
    with with_company(), warnings.catch_warnings():  # pictures first: they can be drawn beside the rest
        # Parts ask the estimator about bare arrays; the rows are known to be those of the fit.
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        blocks = {part: _made(partial(part, story)) for part in parts}
    made = []
    for name, short, heading, each in PLAN:
        told = [block for part in each for block in blocks[part]]
        taken = [more for block in told for more in (block.take() if isinstance(block, Later) else [block])]
        if taken:
            made.append(Section(name, short, heading, taken))
    if story.missing:
        made[1].blocks.append(Note(f"There are no pictures: {story.missing}"))
    return made


def _made(part: Callable[[], list[Block]]) -> list[Block]:
    """A section that fails says so in its place; the others stand."""
    try:
        return part()
    except (
        MemoryError,
        CertificateError,
        ArithmeticError,
        ValueError,
        TypeError,
        AttributeError,
        LookupError,
        NotImplementedError,
    ) as error:
        return [Note(f"This part could not be made: {type(error).__name__}: {said(error, 400)}", "warn")]


def _cards(story: Story) -> list[tuple[str, str, str]]:
    """The figures at the head of the page: (what, figure, beside it)."""
    cards = gaps.headline(story)
    found = errors.headline(story)
    if found is not None:
        cards.append(found)
    baseline = errors.baseline_error(story)
    mean = errors.baseline_numbers(story)
    if mean is not None:
        cards.append(("without a model", number(mean), "error of always predicting the training mean"))
    if baseline is not None and story.has_test:
        cards.append(("without a model", percent(baseline[1]), f"error of always answering “{baseline[0]}”"))
    elif baseline is not None:
        try:
            best = story.bounds.best
        except (ValueError, TypeError, AttributeError, CertificateError):
            return cards
        figure = "vacuous" if best.vacuous else f"≤ {percent(best.value)}"
        cards.append(("bound on new rows", figure, f"{best.method}, δ = {story.delta:g} for all bounds"))
    return cards


def _head(story: Story) -> dict[str, str]:
    return {"version": gapless.__version__, "estimator": story.name}


def _template() -> Any:
    try:
        import jinja2  # noqa: F401
    except ImportError as error:
        raise ImportError('a report needs jinja2: pip install "gapless[report]"') from error
    return _compiled()


@cache
def _compiled() -> Any:
    """The template, once for all pages of a process."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("gapless.pages", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("page.html")
