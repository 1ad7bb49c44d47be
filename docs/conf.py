"""Sphinx: `make docs`. Nothing is fetched while building or reading."""

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
autodoc_default_options = {"members": True, "inherited-members": False}
napoleon_numpy_docstring = True

html_theme = "furo"
html_title = f"gapless {__version__}"
html_copy_source = False
