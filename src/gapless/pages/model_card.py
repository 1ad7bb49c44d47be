"""The sections of a report as Markdown: a model card, for repositories and registries that show no HTML.

It says what the page says, without pictures and colours. Labels and names come from the user's data: every sign that Markdown or
HTML could read as markup is escaped, so that a class called ``<script>`` or ``| a |`` is shown and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gapless.pages.blocks import Bars, Block, Code, Equation, Facts, Folded, Matrix, Note, Picture, Section, Table, Text

__all__ = ["model_card"]


def model_card(title: str, cards: Sequence[tuple[str, str, str]], sections: Sequence[Section], version: str) -> str:
    """The whole card: front matter that registries read, the figures at the head, and the sections."""
    lines = [
        "---",
        "library_name: gapless",
        "tags: [tabular, scikit-learn, certified]",
        "---",
        "",
        f"# {plain(title)}",
        "",
    ]
    lead = (
        "What this model is, how far it can be from the best one, how wrong it can be on new rows, and how to check it."
    )
    lines += [lead, "", *grid(["", "figure", ""], [list(card) for card in cards]), ""]
    for section in sections:
        lines += [f"## {plain(section.title)}", ""]
        for block in section.blocks:
            lines += [*rendered(block), ""]
    return "\n".join([*lines, f"Made by gapless {plain(version)}.", ""])


def plain(text: object) -> str:
    """Text on one line in which nothing is markup."""
    line = " ".join(str(text).split())
    return re.sub(r"([\\`*_{}\[\]<>|#~!&$])", r"\\\1", line)


def grid(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A table."""
    lines = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(cell if line is lines[1] else plain(cell) for cell in line) + " |" for line in lines]


def fenced(text: str) -> list[str]:
    """Text as it is: its fence is longer than any run of backticks in it."""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return [fence, *text.splitlines(), fence]


def rendered(block: Block) -> list[str]:
    """The lines of a block; a picture is its title, since a card holds no images."""
    match block:
        case Text(text):
            return [plain(text)]
        case Note(text, tone):
            return [f"> {'**Warning.** ' if tone == 'warn' else ''}{plain(text)}"]
        case Facts(rows):
            return [f"- **{plain(name)}**: {plain(value)}" for name, value in rows]
        case Table():
            more = [f"… {block.left_out} more"] if block.left_out > 0 else []
            return captioned(block.caption, [*grid(block.head, block.rows), *([""] if more else []), *more])
        case Matrix():
            end = ["all"] if block.summed else []
            lines = [
                [label, *(cell.text for cell in cells), *([total] if end else [])] for label, cells, total in block.rows
            ]
            return captioned(block.caption, grid([block.corner, *block.labels, *end], lines))
        case Bars():
            width = max((len(bar.figures) for bar in block.rows), default=1)
            names = [*block.head[2:], *[""] * width][:width]
            head = [block.head[0] if block.head else "", *names]
            return captioned(block.caption, grid(head, [[bar.label, *bar.figures] for bar in block.rows]))
        case Equation(formula, lead):
            return [*([plain(lead), ""] if lead else []), *fenced(formula.plain)]
        case Code(text, caption):
            return captioned(caption, fenced(text))
        case Folded(title, blocks):
            inside = [line for part in blocks for line in ("", *rendered(part))]
            return [f"### {plain(title)}", *inside]
        case Picture():
            return []
    raise TypeError(f"a model card has no form for {type(block).__name__}")


def captioned(caption: str, lines: list[str]) -> list[str]:
    """Lines under what they show."""
    return [plain(caption), "", *lines] if caption else lines
