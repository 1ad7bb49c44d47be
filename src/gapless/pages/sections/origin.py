"""Where the page comes from: the fingerprint of the rows, the versions, and the two commands that reproduce and verify it."""

from __future__ import annotations

from typing import Any

import numpy as np

from gapless._runtime.versions import versions as installed
from gapless.pages.blocks import Block, Code, Facts, Folded, Note, Table, Text, count, said
from gapless.pages.sections.question import same
from gapless.pages.story import Story

__all__ = ["call_of", "fingerprint", "repeat", "versions"]


def fingerprint(story: Story) -> list[Block]:
    named = getattr(story.certificate, "fingerprint", None)
    if not named:
        return [Note("Without a certificate the rows are not named.")]
    words = {
        "n_rows": "rows",
        "n_features": "features",
        "rows": "digest of the rows",
        "labels": "digest of the labels",
        "weights": "digest of the weights",
    }
    facts = [
        (words.get(key, said(key, 40)), count(value) if isinstance(value, int) else said(value, 80))
        for key, value in named.items()
    ]
    return [
        Text(
            "The rows are named by hashes of their float64 values, the same for dense and sparse, any order in "
            "memory and any kind of frame. The judge refuses other rows."
        ),
        Facts(facts),
    ]


def versions() -> list[Block]:
    facts = installed()
    own = facts["system"] | {
        name: facts["required"][name]
        for name in ("numpy", "scipy", "scikit-learn", "numba")
        if name in facts["required"]
    }
    others = [[name, value] for name, value in facts["required"].items() if name not in own]
    others += [[name, value] for name, value in facts["optional"].items() if value != "not installed"]
    others += [[name, value] for name, value in facts["threads"].items()]
    return [
        Facts([(name, said(value)) for name, value in own.items()]),
        Folded("Everything else that was installed", [Table(["", "version"], others, names=2)]),
    ]


def repeat(story: Story) -> list[Block]:
    """The commands for the shell, as given; of a model that was fitted in Python, the lines that do the same."""
    # Characters of a command: a shell takes longer ones, and half a command is none.
    longest_command = 100_000
    if story.commands is not None:
        captions = ("Make the model again", "Check the model", "Make this page again")
        return [
            Code(said(text, longest_command, lines=True), _where(text, caption))
            for text, caption in zip(story.commands, captions)
            if text
        ]
    fit = "X, y" if story.y is not None else "X"
    weight = ", sample_weight=sample_weight" if story.sample_weight is not None else ""
    first = f"import gapless\n\nmodel = {call_of(story.step)}.fit({fit}{weight})"
    if story.piped:
        steps = " → ".join(type(step).__name__ for _, step in story.model.steps[:-1])
        first = f"import gapless\n\n# Z is X after {steps}\nmodel = {call_of(story.step)}.fit(Z, y{weight})"
    judged = "X, y" if story.y is not None else "X, None"
    second = f"print(gapless.verify(model, {'Z, y' if story.piped else judged}{weight}))"
    return [
        Code(first, "Make the model again, in Python"),
        Code(second, "Check the model, in Python"),
        Code('gapless.save(model, "model.gapless")', "Save the model with its claims, in Python"),
        Code("gapless verify model.gapless data.csv", "Check the file, in a shell; data.csv holds the training rows"),
    ]


def _where(text: str, caption: str) -> str:
    return f"{caption}, in {'a shell' if text.startswith('gapless ') else 'Python'}"


def call_of(step: Any) -> str:
    """The estimator as Python writes it: the parameters that differ from their defaults."""
    name = type(step).__name__
    try:
        default = type(step)().get_params(deep=False)
    except TypeError:
        default = {}
    parts = []
    for key, value in step.get_params(deep=False).items():
        if key in default and same(value, default[key]):
            continue
        parts.append(f"{key}={_written(value)}")
    return said(f"gapless.{name}({', '.join(parts)})", 2000)


def _written(value: Any) -> str:
    if isinstance(value, float) and not np.isfinite(value):
        return f'float("{value}")'
    if type(value).__module__.startswith("gapless"):
        return call_of(value)
    if isinstance(value, np.ndarray) and value.size > 20:
        return "..."
    try:
        return repr(value)
    except Exception:  # what a user puts into a parameter need not print
        return "..."
