"""Five notebooks for teaching, made of the pages of docs/learn while the documentation is built.

A notebook is some pages after another: text becomes cells of text, a ``{run}`` block a cell of code, an answer a part that is
folded away, and the check of an exercise a cell that fails if its answer is wrong. What the pages state is written once, and
tested once.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

from run_blocks import FENCE


class Lesson(NamedTuple):
    """A notebook: its title, and the rows of the notes that it holds, in order."""

    title: str
    rows: tuple[int, ...]


LESSONS = {
    "perceptron_to_svm": Lesson("From the perceptron to the support vector machine", (1, 2, 3, 5, 6, 7, 9, 10)),
    "duality_by_hand": Lesson("Duality by hand", (10, 11, 12, 13)),
    "boosting": Lesson("Trees, bagging and boosting", (25, 26, 27, 28)),
    "generalisation": Lesson("What can be said of new rows", (29, 30, 31, 32, 33)),
    "optimisation": Lesson("Optimisation", (15, 21, 8, 23, 24, 22, 34)),
}


def cell(kind: str, text: str, number: int) -> dict[str, Any]:
    """A cell of a notebook, in Jupyter's format 4.5."""
    found: dict[str, Any] = {
        "cell_type": kind, "id": f"cell-{number}", "metadata": {}, "source": text.strip("\n").splitlines(keepends=True)
    }  # fmt: skip
    return found | ({"execution_count": None, "outputs": []} if kind == "code" else {})


def plain(text: str) -> str:
    """Markdown that Jupyter shows: no links into these pages, and answers that unfold."""
    text = re.sub(
        r":::\{dropdown\} (.*)\n(.*?)^:::$",
        r"<details><summary>\1</summary>\n\n\2\n</details>",
        text,
        flags=re.M | re.S,
    )
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)\n?", "", text)
    return re.sub(r"\[([^\]]+)\]\([^)]*\.md[^)]*\)", r"\1", text)


def notebook(title: str, pages: list[str]) -> dict[str, Any]:
    """The notebook of these pages."""
    parts = [("markdown", f"# {title}\n\nIt needs `pip install 'gapless[plots]'`. Run the cells from top to bottom.")]
    for page in pages:
        end = 0
        for found in FENCE.finditer(page):
            parts.append(("markdown", plain(page[end : found.start()])))
            silent = ":silent:" in found["options"]
            parts.append(("code", ("# the check of the answer\n" if silent else "") + found["code"]))
            end = found.end()
        parts.append(("markdown", plain(page[end:])))
    cells = [cell(kind, text, number) for number, (kind, text) in enumerate(parts) if text.strip()]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def lesson(name: str, folder: Path) -> dict[str, Any]:
    """The notebook of a name, from the folder of the pages."""
    title, rows = LESSONS[name]
    return notebook(title, [next(folder.glob(f"s{row:02d}_*.md")).read_text("utf-8") for row in rows])


def write(app: Any) -> None:
    folder = Path(app.srcdir) / "notebooks"
    folder.mkdir(exist_ok=True)
    for name in LESSONS:
        text = json.dumps(lesson(name, Path(app.srcdir) / "learn"), indent=1, ensure_ascii=False) + "\n"
        (folder / f"{name}.ipynb").write_text(text, "utf-8")


def setup(app: Any) -> dict[str, Any]:
    app.connect("builder-inited", write)
    return {"version": "1", "parallel_read_safe": True}
