"""A short program for each row of the notes, S01 to S35: calls that a user would write, and the truth from elsewhere."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

pytest.importorskip("matplotlib").use("Agg")

FOLDER = Path(__file__).parent
PROGRAMS = sorted(FOLDER.glob("s[0-9][0-9]_*.py"))


def test_every_row_has_its_program():
    assert [program.name[1:3] for program in PROGRAMS] == [f"{k:02d}" for k in range(1, 36)]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.stem)
def test_program(program, tmp_path, monkeypatch):
    text = program.read_text(encoding="utf-8")
    assert re.match(rf'"""{program.name[:3].upper()}\. .+"""\n', text), (
        "the first line says the row and what it is about"
    )
    assert "assert " in text
    monkeypatch.chdir(tmp_path)  # nothing is read from the repository, and what is written goes away
    runpy.run_path(str(program))
