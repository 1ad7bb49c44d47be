"""One page for each entry of docs/api.md, and an index of them by section.

`docs/api.md` lists what is public, and `tests/package/test_findable.py` compares it with the library. One page of all is hard to
search, so a build splits it: `reference/NAME.md` for each entry, and `reference/index.md` with a table for each section.
"""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from typing import Any, NamedTuple

HEADING = re.compile(r"^## (.+)$", re.M)
ENTRY = re.compile(r"^(?=\.\. auto(?:class|function|exception):: )", re.M)


class Entry(NamedTuple):
    """A public name, the directive that documents it, and the section it stands in."""

    name: str
    directive: str
    section: str


def entries(text: str) -> list[Entry]:
    """The entries of docs/api.md in their order."""
    found = []
    parts = HEADING.split(text)
    for section, body in zip(parts[1::2], parts[2::2]):
        inside = "".join(re.findall(r"```\{eval-rst\}\n(.*?)^```", body, re.M | re.S))
        for piece in ENTRY.split(inside):
            if head := re.match(r"\.\. auto\w+:: ([\w.]+)", piece):
                found.append(Entry(head[1], piece.rstrip() + "\n", section))
    return found


def summary(name: str) -> str:
    """The first sentence of what a name says of itself, on one line."""
    home, _, last = name.rpartition(".")
    text = inspect.getdoc(getattr(importlib.import_module(home), last)) or ""
    first = re.split(r"\n\s*\n", text, maxsplit=1)[0].replace("\n", " ")
    first = re.split(r"(?<=[.!?])\s+(?=[A-Z])", first, maxsplit=1)[0]
    return first.replace("|", "\\|").replace("``", "`")


def short(name: str) -> str:
    """The name as a user writes it: without the rooms behind a public module."""
    return name.removeprefix("gapless.")


def page(entry: Entry) -> str:
    """The page of one entry."""
    return f"# {short(entry.name)}\n\n```{{eval-rst}}\n{entry.directive}```\n"


def index(found: list[Entry]) -> str:
    """The index: a table for each section."""
    lines = [
        "# Reference",
        "",
        "Everything public, a page a name. Names without a dot are importable from `gapless`.",
        "",
    ]
    for section in dict.fromkeys(entry.section for entry in found):
        lines += [f"## {section}", "", "| name | what it is |", "|---|---|"]
        lines += [f"| [{short(e.name)}]({e.name}.md) | {summary(e.name)} |" for e in found if e.section == section]
        lines.append("")
    lines += ["```{toctree}", ":hidden:", ""] + [f"{short(e.name)} <{e.name}>" for e in found] + ["```", ""]
    return "\n".join(lines)


def write(app: Any) -> None:
    """Write the pages; one that is as it was keeps its time, so that a second build is short."""
    source = Path(app.srcdir)
    folder = source / "reference"
    folder.mkdir(exist_ok=True)
    found = entries((source / "api.md").read_text("utf-8"))
    pages = {f"{entry.name}.md": page(entry) for entry in found} | {"index.md": index(found)}
    for old in folder.glob("*.md"):
        if old.name not in pages:
            old.unlink()
    for name, text in pages.items():
        place = folder / name
        if not place.is_file() or place.read_text("utf-8") != text:
            place.write_text(text, "utf-8")


def setup(app: Any) -> dict[str, Any]:
    app.connect("builder-inited", write)
    return {"version": "1", "parallel_read_safe": True}
