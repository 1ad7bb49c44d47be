"""Every Display has a figure in the gallery."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from gapless import plots

ROOT = Path(__file__).parents[2]
SCRIPT, PAGE = ROOT / "examples" / "gallery.py", ROOT / "docs" / "gallery.md"

pytestmark = pytest.mark.skipif(not SCRIPT.is_file(), reason="not run from a checkout")


def functions() -> dict[str, str]:
    """Name of each function of the script that draws -> its source."""
    text = SCRIPT.read_text(encoding="utf-8")
    found = {
        node.name: ast.get_source_segment(text, node)
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef)
    }
    return {name: source for name, source in found.items() if "return plots." in source}


def test_every_display_is_drawn_and_every_figure_is_shown():
    drawn = {re.search(r"return plots\.(\w+)", source).group(1) for source in functions().values()}
    assert drawn == set(plots.__all__)
    page = PAGE.read_text(encoding="utf-8")
    assert set(re.findall(r"\(gallery/(\w+)\.png\)", page)) == set(functions())
    assert set(re.findall(r":pyobject: (\w+)", page)) == set(functions())
    for name in plots.__all__:
        assert f"### {name}\n" in page


def test_figures_are_small():
    files = {file.stem: file.stat().st_size for file in (ROOT / "docs" / "gallery").glob("*.png")}
    assert set(files) == set(functions())
    assert max(files.values()) <= 60_000
