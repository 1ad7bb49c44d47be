"""The lab in a notebook cell: the same module, over the notebook's own channel."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from .session import AskError, answered, read


class LabWidget(anywidget.AnyWidget):
    """One scene, or the start page. A cell has one visitor, so that questions are answered as they come."""

    _esm = Path(__file__).parent / "static" / "lab.js"
    _css = _esm.with_name("lab.css")
    scene = traitlets.Unicode("").tag(sync=True)

    def __init__(self, scene: str = "", **given: Any) -> None:
        super().__init__(scene=scene, **given)
        self.on_msg(self._answer)

    def _answer(self, _: Any, content: Any, __: Any) -> None:
        try:
            question = read(json.dumps(content))
        except AskError as error:
            self.send({"error": str(error)})
            return
        self.send(answered(question))
