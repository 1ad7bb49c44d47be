"""docs/formulas.md leads from each formula of the notes to the line that computes it, and is true."""

from __future__ import annotations

import re

import pytest

from tests.package import formulas

PAGE = formulas.ROOT / "docs" / "formulas.md"
pytestmark = pytest.mark.skipif(not PAGE.is_file(), reason="not run from a checkout")


def test_the_page_is_the_one_that_the_table_makes():
    assert PAGE.read_text(encoding="utf-8") == formulas.as_markdown(), (
        "python -m tests.package.formulas > docs/formulas.md"
    )


def test_every_row_of_the_notes_but_the_studies_has_a_formula():
    named = {row for entries in formulas.TOPICS.values() for entry in entries for row in entry.rows.split()}
    studies = {
        "S02",  # start values: of the perceptron, whose update has an entry
        "S04",  # pocket, averaged, voted: rules for what is kept of the updates
        "S16",  # least squares on labels: the closed form's entry
        "S28",  # over- and underfitting: a study
        "S35",  # pictures
    }
    assert named == {f"S{k:02d}" for k in range(1, 36)} - studies


def test_a_formula_that_leads_nowhere_is_found():
    with pytest.raises(KeyError):
        formulas.line_of("losses/hinge.py Hinge.gone")
    with pytest.raises(FileNotFoundError):
        formulas.line_of("losses/gone.py")
    file, line = re.search(r"src/gapless/(\S+):(\d+)", formulas.as_markdown()).groups()
    assert "Hinge" in (formulas.PACKAGE / file).read_text(encoding="utf-8").splitlines()[int(line) - 1]
