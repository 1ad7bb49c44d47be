"""Sphinx: `make docs`. Nothing is fetched while building or reading."""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "extensions"))
sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

from gapless import __version__

project = "gapless"
author = "the gapless developers"
copyright = author
version = release = __version__
language = "en"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_design",
    "sphinx_copybutton",
    "run_blocks",
    "reference_pages",
    "notebooks",
]
exclude_patterns = ["_build", "api.md", "extensions", "notebooks"]  # api.md becomes the pages of reference/
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
autodoc_typehints = "none"
autodoc_default_options = {
    "members": True,
    # scikit-learn writes these, with references into its own documentation
    "exclude-members": "set_fit_request, set_score_request, set_predict_request",
}
napoleon_numpy_docstring = True
napoleon_use_ivar = True  # fields stand in the table of their class alone, and many classes have a field "rows"
suppress_warnings = ["ref.python"]
copybutton_selector = "div.highlight-python pre, div.run-code pre"

html_theme = "pydata_sphinx_theme"
html_title = f"gapless {__version__}"
html_copy_source = False
html_show_sourcelink = False
html_static_path = ["static"]
html_css_files = ["gapless.css"]
html_theme_options = {
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "header_links_before_dropdown": 7,
    "navbar_align": "left",
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": True,
}
html_sidebars = {"index": []}


def _fitted_names(app, what, name, obj, options, lines):  # type: ignore[no-untyped-def]
    """In reStructuredText a bare coef_ is a link and |w| a substitution: our docstrings mean the attribute, and the length."""
    for k, line in enumerate(lines):
        if not line.lstrip().startswith(".. "):
            line = re.sub(r"(?<![`\w])([A-Za-z]\w*_)(?![`\w])", r"``\1``", line)
            parts = re.split(r"(``.*?``)", line)  # every second one is a literal
            lines[k] = "".join(part if j % 2 else part.replace("|", r"\|") for j, part in enumerate(parts))


def setup(app):  # type: ignore[no-untyped-def]
    app.connect("autodoc-process-docstring", _fitted_names, priority=900)
