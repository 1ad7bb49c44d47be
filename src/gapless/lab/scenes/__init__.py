"""The scenes of the lab, in the order of the start page. A scene's module is imported when somebody opens it."""

from __future__ import annotations

import functools
import importlib
from typing import Any

from gapless.lab.scene import Scene

NAMES = (
    "perceptron", "margin", "kernels", "descent", "three_models", "ensembles", "bias_variance", "generalisation",
    "convexity", "your_data",
)  # fmt: skip


@functools.cache
def scene(name: str) -> Scene:
    """The scene of that name; KeyError where there is none."""
    if name not in NAMES:
        raise KeyError(name)
    found: Scene = importlib.import_module(f"{__name__}.{name}").make_scene()
    return found


def takes_files(name: Any) -> bool:
    """Whether the state of that scene can hold a file."""
    return name in NAMES and bool(scene(name).files)
