"""The pages of docs: their code runs, the answers of their exercises hold, and nothing that should have a page lacks one."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

pytest.importorskip("matplotlib").use("Agg")

DOCS = Path(__file__).parents[2] / "docs"
pytestmark = pytest.mark.skipif(not DOCS.is_dir(), reason="not run from a checkout")


def extension(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, DOCS / "extensions" / f"{name}.py")
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)  # type: ignore[union-attr]
    return module


run_blocks = extension("run_blocks")
reference_pages = extension("reference_pages")
notebooks = extension("notebooks")
PAGES = sorted(
    path
    for path in DOCS.rglob("*.md")
    if "_build" not in path.parts and "reference" not in path.relative_to(DOCS).parts
)
RUN = [page for page in PAGES if "{run}" in page.read_text("utf-8")]
NOTES = sorted((DOCS / "learn").glob("s[0-9][0-9]_*.md"))


@pytest.mark.parametrize("page", RUN, ids=lambda page: page.stem)
def test_the_code_of_a_page_runs(page):
    assert run_blocks.run_page(page)


def test_a_block_that_fails_names_its_page_and_line(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Title\n\n```{run}\nx = 1\n```\n\ntext\n\n```{run}\n:silent:\nassert x == 2\n```\n", "utf-8")
    with pytest.raises(AssertionError) as raised:
        run_blocks.run_page(page)
    last = raised.traceback[-1]
    assert (Path(str(last.path)).name, last.lineno + 1) == ("page.md", 11)


def test_a_block_that_warns_fails(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```{run}\nimport warnings\nwarnings.warn('look')\n```\n", "utf-8")
    with pytest.raises(UserWarning):
        run_blocks.run_page(page)


def test_code_that_is_shown_is_run():
    """A block of Python that is not run could be wrong. That of the lab needs a notebook, that of gpu.md a card."""
    assert {page.name for page in PAGES if "```python" in page.read_text("utf-8")} <= {"lab.md", "gpu.md"}


def test_every_row_of_the_notes_has_its_page():
    programs = sorted((Path(__file__).parents[1] / "notes").glob("s[0-9][0-9]_*.py"))
    assert len(programs) == 35
    assert [page.stem for page in NOTES] == [program.stem for program in programs]


@pytest.mark.parametrize("page", NOTES, ids=lambda page: page.stem)
def test_a_row_has_code_and_an_exercise_with_a_checked_answer(page):
    text = page.read_text("utf-8")
    _, exercise = text.split("\n## Exercise\n")
    assert "```{run}" in text
    assert "assert " in exercise
    assert ":::{dropdown} Answer" in exercise


@pytest.mark.parametrize("name", notebooks.LESSONS)
def test_a_notebook_is_made_of_its_pages(name):
    found = notebooks.lesson(name, DOCS / "learn")
    code = ["".join(cell["source"]) for cell in found["cells"] if cell["cell_type"] == "code"]
    text = "\n".join("".join(cell["source"]) for cell in found["cells"] if cell["cell_type"] == "markdown")
    assert sum(each.startswith("# the check of the answer") for each in code) == len(notebooks.LESSONS[name].rows)
    assert text.count("<details>") == text.count("</details>") == len(notebooks.LESSONS[name].rows)
    assert ":::" not in text
    assert "{run}" not in text
    assert ".md)" not in text


@pytest.mark.slow
@pytest.mark.parametrize("name", notebooks.LESSONS)
def test_a_notebook_runs_from_top_to_bottom(name):
    session = run_blocks.Session(name)
    try:
        for cell in notebooks.lesson(name, DOCS / "learn")["cells"]:
            if cell["cell_type"] == "code":
                session.run(run_blocks.Block("".join(cell["source"]) + "\n", 1))
    finally:
        session.close()


def test_every_page_is_in_the_table_of_contents():
    listed = set()
    for page in PAGES:
        for tree in re.findall(r"```\{toctree\}\n(.*?)```", page.read_text("utf-8"), re.S):
            for line in tree.splitlines():
                if line and not line.startswith(":"):
                    name = re.sub(r".*<(.+)>", r"\1", line.strip())
                    listed.add((page.parent / f"{name}.md").resolve())
    missing = {page for page in PAGES if page.resolve() not in listed}
    assert {page.name for page in missing} == {"index.md", "api.md"}


def test_every_entry_of_the_reference_has_a_page_and_a_summary():
    found = reference_pages.entries((DOCS / "api.md").read_text("utf-8"))
    text = (DOCS / "api.md").read_text("utf-8")
    assert len(found) == len(re.findall(r"^\.\. auto(?:class|function|exception):: ", text, re.M))
    assert len({entry.name for entry in found}) == len(found)
    bare = [entry.name for entry in found if not reference_pages.summary(entry.name)]
    assert bare == []
    index = reference_pages.index(found)
    assert all(f"({entry.name}.md)" in index for entry in found)
