"""Sphinx: `make docs`. Nothing is fetched while building or reading."""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

from gapless import __version__

project = "gapless"
author = "the gapless developers"
copyright = author
version = release = __version__
language = "en"

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
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

html_theme = "furo"
html_title = f"gapless {__version__}"
html_copy_source = False


def _fitted_names(app, what, name, obj, options, lines):  # type: ignore[no-untyped-def]
    """In reStructuredText a bare coef_ is a link and |w| a substitution: our docstrings mean the attribute, and the length."""
    for k, line in enumerate(lines):
        if not line.lstrip().startswith(".. "):
            line = re.sub(r"(?<![`\w])([A-Za-z]\w*_)(?![`\w])", r"``\1``", line)
            parts = re.split(r"(``.*?``)", line)  # every second one is a literal
            lines[k] = "".join(part if j % 2 else part.replace("|", r"\|") for j, part in enumerate(parts))


def setup(app):  # type: ignore[no-untyped-def]
    app.connect("autodoc-process-docstring", _fitted_names, priority=900)
