"""The report as Markdown: the page's figures, nothing of the data as markup."""

import html
import re

import numpy as np
import pytest

import gapless
from gapless.pages.model_card import plain, rendered
from tests.pages.test_every_estimator import rows

EVIL = "<script>alert(1)</script>"
ODD = "| a | `b` *c* [d](e) # ~ \\"


def unescaped(text):
    return re.sub(r"\\([\\`*_{}\[\]<>|#~!&$])", r"\1", text)


def card_and_page(model, **options):
    X, y = rows()
    model.fit(X, y)
    given = {"X_test": X + 0.3, "y_test": y, "pictures": False, **options}
    return gapless.report(model, X, y, format="markdown", **given), gapless.report(model, X, y, **given)


@pytest.mark.parametrize(
    "model",
    [
        gapless.LinearSVC(loss="hinge"),
        gapless.SVC(),
        gapless.DecisionTreeClassifier(max_depth=2),
        gapless.LogisticRegression(),
    ],
    ids=lambda model: type(model).__name__,
)
def test_it_has_the_sections_and_figures_of_the_page(model):
    pytest.importorskip("jinja2")
    card, page = card_and_page(model)
    assert card.html == ""
    assert page.markdown == ""
    headings = [unescaped(title) for title in re.findall(r"^## (.+)$", card.markdown, re.M)]
    assert headings == [html.unescape(title) for title in re.findall(r"<h2>(.+?)</h2>", page.html)]
    figures = re.findall(r'<div class="card"><span>[^<]*</span><strong>([^<]*)</strong>', page.html)
    assert figures
    said = " ".join(unescaped(card.markdown).split())
    assert [figure for figure in figures if " ".join(html.unescape(figure).split()) not in said] == []


def test_names_of_the_data_are_text():
    X, y = rows()
    y = np.where(y == "one", EVIL, ODD)
    card = gapless.report(
        gapless.LinearSVC().fit(X, y), X, y, format="markdown", feature_names=[EVIL, ODD, "$x$"], title=EVIL
    )
    outside = re.sub(r"^(`{3,}).*?^\1$", "", card.markdown, flags=re.M | re.S)  # fenced text is shown as it is
    assert "<" not in re.sub(r"\\.", "", outside)
    assert plain(EVIL) in card.markdown
    for line in outside.splitlines():
        if line.startswith("|"):
            cells = re.sub(r"\\.", "", line).count("|")
            assert cells >= 3
    tables = re.findall(r"(?:^\|.*\n)+", outside, re.M)
    for table in tables:
        assert len({re.sub(r"\\.", "", line).count("|") for line in table.splitlines()}) == 1


def test_the_ending_of_the_file_chooses(tmp_path):
    pytest.importorskip("jinja2")
    X, y = rows()
    model = gapless.LinearSVC().fit(X, y)
    card = gapless.report(model, X, y, file=tmp_path / "card.md")
    assert (tmp_path / "card.md").read_text("utf-8") == card.markdown == card.text
    assert card.path == str(tmp_path / "card.md")
    page = gapless.report(model, X, y, file=tmp_path / "page.html", pictures=False)
    assert (tmp_path / "page.html").read_text("utf-8") == page.html
    with pytest.raises(ValueError, match="format is 'html' or 'markdown', not 'pdf'"):
        gapless.report(model, X, y, format="pdf")


def test_every_block_has_a_form():
    from gapless.pages import blocks

    kinds = {cls for cls in blocks.Block.__subclasses__() if cls is not blocks.Later}  # a section takes what is later
    made = [
        blocks.Text("t"), blocks.Note("n", "warn"), blocks.Facts([("a", "b")]), blocks.Table(["h"], [["1"]], left_out=2),
        blocks.Matrix.of_counts(["a", "b"], [[1, 2], [3, 4]], "c"), blocks.Bars.signed([("a", 1.0, ("1",))], "", ("x", "y", "z")),
        blocks.Equation.of("1/2|w|^2"), blocks.Code("a ``` b"), blocks.Picture("p", "image/png", ""), blocks.Folded("f", []),
    ]  # fmt: skip
    assert {type(block) for block in made} == kinds
    for block in made:
        assert all(isinstance(line, str) for line in rendered(block))
    assert rendered(blocks.Code("a ``` b"))[0] == "````"
    assert "2 more" in rendered(blocks.Table(["h"], [["1"]], left_out=2))[-1]
