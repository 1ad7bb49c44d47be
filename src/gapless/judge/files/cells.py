"""What the cells of a table say, by code of the judge's own: numbers as people write them, dates, words for no value, yes and no.

A text is read with a decimal point and with a decimal comma (a date with the day and with the month first). A text that only one
of the two can read is read so; one that both can read is read as the model says, unless all texts of the column that only one of
the two can read are of the other kind.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from .dates import moment
from .numerals import ALIKE, money_sign, numeral

MISSING = ("", "NA", "N/A", "n/a", "NaN", "nan", "NAN", "NULL", "null", "None", "none", "?", "<NA>", "#N/A")
#: Words for no value among numbers and dates, in lower case.
WORDS = frozenset((
    "#div/0!", "#n/a", "#n/v", "#na", "#name?", "#null!", "#num!", "#nv", "#ref!", "#value!", "(blank)", "(empty)",
    "(missing)", "(null)", "-1.#ind", "-1.#qnan", "1.#ind", "1.#qnan", "<na>", "<null>", "[null]", "\\n", "k. a.", "k.a",
    "k.a.", "keine angabe", "keine daten", "missing", "n.a", "n.a.", "n.d.", "n/a", "n/d", "n/v", "na", "nan", "nat",
    "nd", "nil", "no answer", "no data", "no value", "none", "not applicable", "not available", "not known", "null",
    "undefined", "unk", "unknown",
))  # fmt: skip
#: Words for yes and for no, a language each.
FLAGS = (
    ({"yes", "y", "true", "t", "on", "1", "1.0"}, {"no", "n", "false", "f", "off", "0", "0.0"}),
    ({"ja", "j", "wahr", "an", "1"}, {"nein", "n", "falsch", "aus", "0"}),
    ({"oui", "o", "vrai", "1"}, {"non", "n", "faux", "0"}),
    ({"si", "sí", "s", "verdadero", "vero", "1"}, {"no", "n", "falso", "0"}),
    ({"sim", "s", "verdadeiro", "1"}, {"não", "nao", "n", "falso", "0"}),
    ({"sì", "vero", "1"}, {"no", "falso", "0"}),
    ({"ja", "waar", "aan", "1"}, {"nee", "onwaar", "uit", "0"}),
    ({"ja", "sant", "sand", "1"}, {"nej", "nei", "falskt", "falsk", "0"}),
    ({"tak", "prawda", "1"}, {"nie", "fałsz", "0"}),
    ({"ano", "pravda", "1"}, {"ne", "nepravda", "0"}),
    ({"да", "истина", "1"}, {"нет", "ложь", "0"}),
    ({"evet", "doğru", "1"}, {"hayır", "yanlış", "0"}),
)


def is_missing(text: str, words: Collection[str] = ()) -> bool:
    """Whether a cell among numbers or dates stands for no value."""
    bare = text.translate(ALIKE).strip()
    if not text or text in words or bare.lower() in WORDS:
        return True
    inside = " ".join(bare.split())
    for front in (True, False):  # $ -, - €, - %
        sign = inside[:1] if front else inside[-1:]
        inside = (inside[1:] if front else inside[:-1]) if sign == "%" else money_sign(inside, front)[0]
        inside = inside.strip(" ")
    return inside != "" and frozenset("-.*?_…·/\\").issuperset(inside)


def values(
    texts: Sequence[str],
    reader: Callable[[str, str], float | None],
    own: str,
    other: str,
    words: Collection[str],
    flags: bool,
) -> np.ndarray:
    """A column of numbers or of dates; NaN for what stands for no value, and for what is none."""
    found: dict[str, tuple[float | None, float | None]] = {}
    for text in texts:
        if text not in found:
            found[text] = (reader(text, own), reader(text, other))
    sure = any(mine is not None and its is None for mine, its in found.values())
    against = any(mine is None and its is not None for mine, its in found.values())
    turned = against and not sure
    read: dict[str, float] = {}
    for text, (mine, its) in found.items():
        first, last = (its, mine) if turned else (mine, its)
        value = first if first is not None else last
        if value is None and flags and len(text) > 1 and text.isalpha() and not is_missing(text, words):
            said = [text.lower() in yes for yes, no in FLAGS if text.lower() in yes | no]
            value = float(said[0]) if said else None
        read[text] = math.nan if value is None else value
    return np.array([read[text] for text in texts], dtype=np.float64)


def _without_unit(text: str, units: Sequence[str]) -> str:
    return next((text[: -len(unit)] for unit in units if unit and text.endswith(unit)), text)


def numbers(texts: Sequence[str], decimal: str, unit: str | None, words: Collection[str]) -> np.ndarray:
    """A column of numbers."""
    bare = [_without_unit(text, unit.split("|")) if unit else text for text in texts]
    kept = ["" if is_missing(text, words) and numeral(text, ".") is None else text for text in bare]
    found = values(kept, numeral, decimal, "." if decimal == "," else ",", words, True)
    gone = [value for word in words for value in (numeral(word, "."), numeral(word, ",")) if value is not None]
    return np.where(np.isin(found, gone), math.nan, found)


def weights_of(texts: Sequence[str], given: dict[str, Any] | None) -> np.ndarray:
    """Weights as the cells insist on their decimal mark, else as the columns of the table have theirs."""
    block = given or {}
    marks = [each["decimal"] for each in (block.get("target", {}), *block.get("columns", ())) if "decimal" in each]
    mark = max(marks, key=marks.count, default=".")
    return numbers(texts, mark, None, block.get("missing", []))


def days(texts: Sequence[str], order: str, words: Collection[str]) -> np.ndarray:
    """A column of dates."""
    return values(texts, moment, order, "mdy" if order == "dmy" else "dmy", words, False)


def as_levels(texts: Sequence[str | None], levels: Sequence[str]) -> list[str | None]:
    """Texts of a column by the spelling that the levels have. A word that differs from one level alone in capital letters and in
    spaces is that level. Where the levels are a word for yes and one for no, other such words become the level of their side;
    where a level is a letter, words of its language alone."""
    words = [level.lower() for level in levels]
    own = [
        pair
        for pair in FLAGS
        if len(words) == 2 and sum(word in pair[0] for word in words) == 1 == sum(word in pair[1] for word in words)
    ]
    spoken = [] if not own else own if min(map(len, words)) == 1 else [*FLAGS]
    sides = {words[0] in own[0][0]: levels[0], words[1] in own[0][0]: levels[1]} if own else {}
    plain = [_in_small_letters(level) for level in levels]
    known: dict[str | None, str | None] = {}
    for text in {*texts} - {None, *levels}:
        said = [str(text).lower() in yes for yes, no in spoken if str(text).lower() in yes | no]
        small = _in_small_letters(str(text))
        if said:
            known[text] = sides[said[0]]
        elif plain.count(small) == 1:
            known[text] = levels[plain.index(small)]
    return [known.get(text, text) for text in texts]


def _in_small_letters(text: str) -> str:
    """A text without signs that nobody sees; a word of three letters or more without its capitals, where all or the first ones of
    its letters are some."""
    bare = unicodedata.normalize(
        "NFC", "".join(sign for sign in text if sign not in "\u200b\u200c\u200d\u200e\u200f\u2060\ufeff\u00ad")
    )
    bare = " ".join(bare.split())
    letters = sum(1 for sign in bare if sign.isalpha())
    usual = bare in {bare.lower(), bare.upper(), bare.capitalize(), bare.title()}
    return bare.lower() if letters > 2 and usual else bare


def no_labels(texts: Collection[str], classes: Sequence[str], words: Collection[str]) -> set[str]:
    """Which texts of a label column are no labels, where classes are texts."""
    no_label = ("", "NA", "N/A", "n/a", "NULL", "null", "?", "<NA>", "#N/A")
    strokes = frozenset("-–—.*?_…/\\")
    signs = [
        text for text in texts if text and not any(sign.isalnum() for sign in text) and not strokes.issuperset(text)
    ]
    found = set()
    for text in {*texts} - {*classes}:
        stroke = not signs and text != "" and strokes.issuperset(text)
        if text in no_label or text.lower() == "nan" or text in words or stroke:
            found.add(text)
    return found
