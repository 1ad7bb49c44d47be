"""Pictures of `gapless.plots`, put into the page as images, which can neither run nor fetch anything."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from typing import Any

from gapless.pages.blocks import Block, Later, Note, Picture, said
from gapless.pages.limits import LIMITS
from gapless.pages.story import Story
from gapless.plots.drawing import drawn

__all__ = ["of_boosting", "of_boundary", "of_gap", "of_gaussians", "of_numbers", "of_reliability", "of_tree"]


def of_gap(story: Story) -> list[Block]:
    """Primal, dual and gap over the fit."""
    if story.kind != "gap" or len(getattr(story.step, "history_", ())) < 2:
        return []
    return _draw(story, "GapDisplay", "How primal and dual closed in on each other, pass by pass", story.step)


def of_boundary(story: Story) -> list[Block]:
    """The boundary, its margins, and the rows by their class of slackness."""
    if (
        story.task != "classes"
        or story.several
        or len(story.classes) != 2
        or not hasattr(story.step, "decision_function")
    ):
        return []
    most = LIMITS.drawn_rows if hasattr(story.step, "dual_coef_") else 10 * LIMITS.drawn_rows
    if story.n_rows > most or story.n_rows * story.n_features > LIMITS.drawn_numbers:
        return []
    return _draw(story, "MarginDisplay", "Boundary, margins and rows", story.step, story.Z, story.target)


def of_reliability(story: Story) -> list[Block]:
    if (
        story.task != "classes"
        or story.several
        or not story.has_test
        or len(story.classes) != 2
        or not hasattr(story.model, "predict_proba")
    ):
        return []
    return _draw(
        story,
        "ReliabilityDisplay",
        "How often what was called probable came true",
        story.model,
        story.X_test,
        story.target_test,
    )


def of_numbers(story: Story) -> list[Block]:
    if story.task != "numbers" or story.several:
        return []
    rows = (story.X_test, story.target_test) if story.has_test else (story.X, story.target)
    if len(rows[1]) > 20 * LIMITS.drawn_rows:
        return []
    return _draw(
        story,
        "RegressionDisplay",
        "Predictions and residuals, " + ("test rows" if story.has_test else "training rows"),
        story.model,
        *rows,
    )


def of_boosting(story: Story) -> list[Block]:
    if story.name != "AdaBoostClassifier":
        return []
    test = {"X_test": story.X_test, "y_test": story.target_test} if story.has_test else {}
    rows = (story.X, story.target) if len(story.classes) == 2 else ()
    return _draw(story, "BoostingDisplay", "Rounds: error, bound, edges, margins", story.model, *rows, **test)


def of_tree(story: Story) -> list[Block]:
    if "DecisionTree" not in story.name or story.several:
        return []
    return _draw(story, "TreeDisplay", "The tree", story.step, feature_names=story.feature_names)


def of_gaussians(story: Story) -> list[Block]:
    if "Discriminant" not in story.name or story.n_features != 2:
        return []
    return _draw(story, "GaussianDisplay", "The Gaussians and the boundary", story.step, story.Z, story.target)


def _draw(story: Story, name: str, title: str, *arguments: Any, **options: Any) -> list[Block]:
    """A picture, or nothing where it does not apply to this model; never an error of the page."""
    if not story.pictures:
        return []

    def guarded(step: Callable[[], list[Block]]) -> list[Block]:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return step()
        except ImportError as error:
            story.missing = said(error, 200) if "matplotlib" in str(error) else story.missing
            return []
        except Exception as error:  # a picture that cannot be drawn says why, and the page goes on
            return [Note(f"{title}: not drawn ({said(error, 200)}).")]

    def begun() -> list[Block]:
        make: Callable[..., Any] = getattr(importlib.import_module("gapless.plots"), name).from_estimator
        image = drawn(make(*arguments, **options))
        return [Later(lambda: guarded(lambda: _taken(story, title, image)))]

    return guarded(begun)


def _taken(story: Story, title: str, image: Callable[[], tuple[str, str]]) -> list[Block]:
    most_image_bytes = 2_000_000  # bytes of all images of a page
    if story.picture_bytes >= most_image_bytes:
        return []
    mime, data = image()
    if story.picture_bytes + len(data) > most_image_bytes:
        story.picture_bytes = most_image_bytes
        return [Note(f"{title}: left out, the page has enough pictures.")]
    story.picture_bytes += len(data)
    return [Picture(title, mime, data)]
