"""A code block that is run while the documentation is built, with what it printed and drew under it.

In a page, three backticks and ``{run}`` begin a block of Python. The blocks of a page share one namespace, like the cells of a
notebook, and run from top to bottom. What a block prints stands under it; a figure that it leaves open is saved and shown.
``:hide-code:`` shows the output alone, ``:silent:`` the code alone. A block that raises or warns ends the build, and
`tests/docs/test_pages.py` runs the blocks of every page without Sphinx.
"""

from __future__ import annotations

import contextlib
import io
import re
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

#: A block: its fence, its options, its lines.
FENCE = re.compile(
    r"^(?P<fence>`{3,})\{run\}[ \t]*\n(?P<options>(?::[\w-]+:[^\n]*\n)*)(?P<code>.*?)^(?P=fence)[ \t]*$", re.M | re.S
)


class Block(NamedTuple):
    """A block of a page and the line of the page on which its code begins."""

    code: str
    line: int


class Output(NamedTuple):
    """What one block left behind: text, and figures of matplotlib that it did not close."""

    text: str
    figures: list[Any]


def blocks(page: str) -> Iterator[Block]:
    """The blocks of a page, from top to bottom."""
    for found in FENCE.finditer(page):
        yield Block(found["code"], page.count("\n", 0, found.start("code")) + 1)


class Session:
    """The namespace of one page, in a temporary folder of its own."""

    def __init__(self, name: str):
        self.name = name
        self.namespace: dict[str, Any] = {"__name__": "__main__"}
        self.folder = tempfile.TemporaryDirectory(prefix="gapless-docs-")

    def run(self, block: Block) -> Output:
        """Run one block; an error names the page and the line."""
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot

        pyplot.close("all")
        printed = io.StringIO()
        # Empty lines in front give a traceback the page's own line numbers.
        code = compile("\n" * (block.line - 1) + block.code, self.name, "exec")
        with contextlib.chdir(self.folder.name), contextlib.redirect_stdout(printed), warnings.catch_warnings():
            warnings.simplefilter("error")
            exec(code, self.namespace)
        figures = [pyplot.figure(number) for number in pyplot.get_fignums()]
        return Output(printed.getvalue(), figures)

    def close(self) -> None:
        """Close the figures and remove the folder."""
        from matplotlib import pyplot

        pyplot.close("all")
        self.folder.cleanup()


def run_page(path: Path) -> list[Output]:
    """Run every block of a page and return what each printed and drew."""
    session = Session(path.name)
    try:
        return [session.run(block) for block in blocks(path.read_text("utf-8"))]
    finally:
        session.close()


def setup(app: Any) -> dict[str, Any]:
    from docutils import nodes
    from docutils.parsers.rst import Directive, directives

    sessions: dict[str, Session] = {}

    class Run(Directive):
        has_content = True
        option_spec = {"hide-code": directives.flag, "silent": directives.flag, "alt": directives.unchanged}

        def run(self) -> list[nodes.Node]:
            environment = self.state.document.settings.env
            session = sessions.setdefault(environment.docname, Session(environment.docname))
            output = session.run(Block("\n".join(self.content) + "\n", self.content_offset + 1))
            shown: list[nodes.Node] = []
            if "hide-code" not in self.options:
                code = nodes.literal_block("\n".join(self.content), "\n".join(self.content), classes=["run-code"])
                code["language"] = "python"
                shown.append(code)
            if "silent" not in self.options:
                if output.text:
                    text = nodes.literal_block(output.text, output.text.rstrip("\n"), classes=["run-output"])
                    text["language"] = "text"
                    shown.append(text)
                shown += [self.picture(figure, environment) for figure in output.figures]
            return shown

        def picture(self, figure: Any, environment: Any) -> nodes.Node:
            folder = Path(environment.app.outdir) / "_images"
            folder.mkdir(parents=True, exist_ok=True)
            name = f"run_{environment.docname.replace('/', '_')}_{environment.new_serialno('run')}.png"
            figure.savefig(folder / name, dpi=110, bbox_inches="tight")
            up = "../" * environment.docname.count("/")
            alt = self.options.get("alt") or "the figure that this code draws"
            return nodes.raw("", f'<img class="run-figure" src="{up}_images/{name}" alt="{alt}">', format="html")

    def finish(app: Any, error: Exception | None) -> None:
        for session in sessions.values():
            session.close()

    app.add_directive("run", Run)
    app.connect("build-finished", finish)
    return {"version": "1", "parallel_read_safe": False}
