"""`python -m gapless script.py ...`: a program as it stands, with our classes in the place of scikit-learn's."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Sequence
from pathlib import Path

import gapless
from gapless.cli.guard import Code, say


def is_program(arguments: Sequence[str]) -> bool:
    """A first argument that ends in .py is a program; any other is a command."""
    return bool(arguments) and arguments[0].endswith(".py")


def run_program(arguments: Sequence[str]) -> int:
    """Run it as `python script.py ...` would: its own arguments, its folder first on the path, its exit and its tracebacks."""
    path = Path(arguments[0])
    if not path.is_file():
        say(f"{path} is not there, or no file")
        return Code.bad_input
    say(f"in {path.name}, {gapless.patch()}")
    sys.argv = list(arguments)
    sys.path[0] = str(path.parent.resolve())
    runpy.run_path(str(path), run_name="__main__")
    return Code.ok
