"""The lab: the theory of the notes in a browser, while the mouse button is down.

`gapless lab` serves it on this machine; ``gapless.lab("margin")`` shows a scene in a notebook cell. No mathematics stands here:
a scene asks the public names of gapless and draws what they answer.
"""

from __future__ import annotations

import sys
import types
from typing import Any

from gapless._runtime.written import written

from .scenes import NAMES

__all__ = ["NAMES", "show"]


def show(scene: str = "") -> Any:
    """A scene of the lab in a notebook cell (Jupyter, marimo); without a name the start page. ``gapless.lab(scene)`` is the same.

    Parameters
    ----------
    scene : str
        One of `NAMES`: "perceptron", "margin", "kernels", "descent", "three_models", "ensembles", "bias_variance",
        "generalisation", "convexity" or "your_data".

    Returns
    -------
    LabWidget
        A widget that draws itself. Needs the extra ``gapless[lab]``.
    """
    if scene and scene not in NAMES:
        raise ValueError(f"there is no scene {written(scene)}; there are {', '.join(NAMES)}")
    try:
        from .widget import LabWidget
    except ImportError as error:
        raise ImportError("the lab in a notebook needs anywidget: pip install 'gapless[lab]'") from error
    return LabWidget(scene)


class _Room(types.ModuleType):
    """The room is also its one function, as the contract names it."""

    def __call__(self, scene: str = "") -> Any:
        return show(scene)


sys.modules[__name__].__class__ = _Room
