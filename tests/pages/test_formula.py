"""Formulas of the page: what is set is what was written, and what cannot be set stays text."""

import numpy as np
import pytest

import gapless
from gapless.pages.blocks import Equation, Text
from gapless.pages.formula import typeset
from tests.pages.reading import styled, tree, words
from tests.pages.test_every_estimator import rows

#: Elements of a formula.
TAGS = {
    "mrow", "mi", "mn", "mo", "mtext", "mspace", "msub", "msup", "msubsup", "mfrac", "msqrt", "munder", "munderover",
}  # fmt: skip


def flat(node):
    """The tree in one line: tag(children or text)."""
    inside = " ".join(map(flat, node.children)) if node.children else node.text
    return f"{node.tag}({inside})"


def one(notation):
    (part,) = typeset(notation).parts
    return flat(part)


@pytest.mark.parametrize(
    ("notation", "expected"),
    [
        ("1/2", "mfrac(mn(1) mn(2))"),
        ("w_k", "msub(mi(w) mi(k))"),
        ("e^(n - j)", "msup(mi(e) mrow(mi(n) mo(−) mi(j)))"),
        ("|w|^2", "msup(mrow(mo(‖) mi(w) mo(‖)) mn(2))"),
        ("|y - b|", "mrow(mo(|) mrow(mi(y) mo(−) mi(b)) mo(|))"),
        ("<w,x_i>", "mrow(mo(⟨) mrow(mi(w) mo(,) msub(mi(x) mi(i))) mo(⟩))"),
        ("sum_(j = 0)^k", "munderover(mo(∑) mrow(mi(j) mo(=) mn(0)) mi(k))"),
        ("binom(n, j)", "mrow(mo(() mfrac(mi(n) mi(j)) mo()))"),
        ("sqrt(2 n)", "msqrt(mrow(mn(2) mi(n)))"),
        ("1.0 * rho", "mrow(mn(1) mo(·) mi(ρ))"),
        ("1e-05", "msup(mn(10) mn(−5))"),
        ("2.5e+20", "mrow(mn(2.5) mo(·) msup(mn(10) mn(20)))"),
        ("(a)/(2 b)", "mfrac(mi(a) mrow(mn(2) mi(b)))"),
    ],
)
def test_the_notation_and_its_elements(notation, expected):
    assert one(notation) == expected


def test_a_long_formula_can_break_before_its_terms():
    parts = typeset("1/2|w|^2 + 3 * sum_i x_i - b").parts
    assert [flat(part)[:12] for part in parts] == ["mrow(mfrac(m", "mrow(mo(+) m", "mrow(mo(−) m"]
    assert all(part.children[0].attributes == (("form", "infix"),) for part in parts[1:])


@pytest.mark.parametrize(
    "notation", ["", "a (b", "a) b", "|w", "<w, x", "a _", "x ^ + 2", "binom(n)", "50 % of €", "x" * 2000, "()"]
)
def test_what_is_not_in_the_notation_stays_text(notation):
    assert typeset(notation) is None
    assert isinstance(Equation.of(notation), Text)


def test_no_text_becomes_an_element():
    """Names of classes reach objectives by class weights, and stay text; elements are MathML's alone."""
    X, y = rows()
    evil = np.where(y == "one", "<mi>1</mi><script>", "</math><img src=x>")
    weights = {evil[0]: 2.0, evil[1]: 1.0}
    root = tree(gapless.report(gapless.LinearSVC(class_weight=weights).fit(X, evil), X, evil, pictures=False))
    for math in root.iter("math"):
        assert {element.tag for element in math.iter()} <= TAGS | {"math"}
    assert not list(root.iter("script"))
    assert not list(root.iter("img"))
    told = words(next(each for each in root.iter("section") if each.get("id") == "asked"))
    assert "<mi>1</mi><script>" in told
    assert styled(root, "set")
