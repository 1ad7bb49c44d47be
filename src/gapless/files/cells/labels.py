"""Labels as they stand in a text file, and back to the type a model was trained with."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from unicodedata import normalize

import numpy as np

from gapless.files.cells.notation import NOTHING
from gapless.files.problems import listed

PERHAPS = re.compile(r"\s*[-+]?(?:\.?[0-9]|inf|nan|Inf|NaN|NAN|INF)")


def strict_float(text: str) -> float:
    """float(), but for what is a number for Python only ("1_000")."""
    if "_" in text:
        raise ValueError(text)
    return float(text)


def is_number(text: str) -> bool:
    if not PERHAPS.match(text):  # an exception costs ten times as much
        return False
    try:
        strict_float(text)
    except ValueError:
        return False
    return True


UNSEEN = dict.fromkeys(map(ord, "\u200b\u200c\u200d\u200e\u200f\u2060\ufeff\u00ad"))


def as_labels(texts: Sequence[str], kind: str | None = None) -> np.ndarray:
    """Integers if all are, else numbers if all are, else strings. `kind` is a model's label type; it decides.

    A label that is not of the model's type (a new class in a test file) leaves them as they read: the caller
    then sees a label the model does not know, and can name it.
    """
    if kind == "str":
        return strings(texts)
    if kind == "bool":
        true, false = {"true", "1", "1.0", "yes"}, {"false", "0", "0.0", "no"}
        lower = [text.lower() for text in texts]
        if all(text in true or text in false for text in lower):
            return np.asarray([text in true for text in lower])
    readers: list[tuple[Callable[[str], float], type]] = [(int, np.int64), (float, np.float64)]
    if kind == "int":  # "1.0" in the file of a model whose label is 1
        readers.insert(1, (_whole, np.int64))
    distinct = set(texts)
    for number, dtype in readers[1:] if kind == "float" else readers:
        try:
            # "1_000" is a number for Python only
            values = {text: number(text.replace("_", "?")) for text in distinct}
            return np.asarray([values[text] for text in texts], dtype=dtype)
        except (ValueError, OverflowError):
            continue
    return strings(texts)


def strings(texts: Sequence[str]) -> np.ndarray:
    """Texts as an array; of objects where one long text would set the width of all the others."""
    # Bytes of an array of texts that are all as wide as the longest, however short the others are.
    most_wide = 1 << 26
    wide = 4 * max(map(len, texts), default=0) * len(texts)
    far = wide > most_wide and wide > 32 * sum(map(len, texts))
    return np.array([*texts], dtype=object) if far else np.asarray(texts, dtype=str)


def _whole(text: str) -> int:
    value = float(text)
    if value != int(value):
        raise ValueError(text)
    return int(value)


#: Words for yes and for no, in lower case, of one language each; a column, or a target, of such words has two values.
FLAGS = tuple(
    (frozenset(yes.split()), frozenset(no.split()))
    for yes, no in (
        ("yes y true t on 1 1.0", "no n false f off 0 0.0"),
        ("ja j wahr an 1", "nein n falsch aus 0"),
        ("oui o vrai 1", "non n faux 0"),
        ("si sí s verdadero vero 1", "no n falso 0"),
        ("sim s verdadeiro 1", "não nao n falso 0"),
        ("sì vero 1", "no falso 0"),
        ("ja waar aan 1", "nee onwaar uit 0"),
        ("ja sant sand 1", "nej falskt falsk nei 0"),
        ("tak prawda 1", "nie fałsz 0"),
        ("ano pravda 1", "ne nepravda 0"),
        ("да истина 1", "нет ложь 0"),
        ("evet doğru 1", "hayır yanlış 0"),
    )
)


def no_labels(texts: Sequence[str], missing: frozenset[str] = frozenset(), classes: Sequence[str] = ()) -> set[str]:
    """The texts of a label column that are no labels. Strokes are none either, unless signs are classes, as + and - are."""
    words = NOTHING - {"None", "none"}  # which may well be classes
    strokes = re.compile(r"[-–—.*?_…/\\]+")
    signs = any(text and not any(map(str.isalnum, text)) and not strokes.fullmatch(text) for text in texts)
    return {
        text
        for text in texts
        if text not in classes
        and (text in words or text.lower() == "nan" or text in missing or (not signs and strokes.fullmatch(text)))
    }


def _sides(texts: Sequence[str]) -> list[dict[str, bool]]:
    """Which of the texts say yes, in each language that has words for all of them, and for both yes and no."""
    found = []
    for yes, no in FLAGS:
        lower = {text: text.lower() for text in texts}
        if all(word in yes or word in no for word in lower.values()):
            sides = {text: word in yes for text, word in lower.items()}
            if len({*sides.values()}) == 2:
                found.append(sides)
    return found


def says_yes(text: str) -> bool | None:
    """Whether a word among numbers says yes or no; None: neither, or a letter alone."""
    lower = text.lower()
    if len(lower) > 1 and lower.isalpha():
        for yes, no in FLAGS:
            if lower in yes | no:
                return lower in yes
    return None


def merged_spellings(texts: Sequence[str], name: str | int) -> tuple[dict[str, str], str]:
    """Texts of a column that mean the same, with what stands in their place, and a sentence about them: words for yes and no in
    more than two ways (the longest of each side), and words that differ in capital letters or in the spaces within alone."""
    known = _sides(texts) if len(texts) > 2 else []
    if known:
        sides = known[0]
        longest = {side: max((len(text), text) for text in texts if sides[text] is side)[1] for side in (True, False)}
        flags = {text: longest[sides[text]] for text in texts}
        return flags, f"{name!r}: yes and no in {len(texts)} spellings ({listed(sorted(texts), 4)})"
    groups: dict[str, list[str]] = {}
    for text in texts:
        groups.setdefault(folded(text), []).append(text)
    cases = {
        text: max(group, key=lambda each: (_seen(each) == each, each))
        for group in groups.values()
        if len(group) > 1
        for text in group
    }
    if not cases:
        return {}, ""
    some = [text for text in sorted(cases) if cases[text] != text]
    shown = ", ".join(f"{text!r} is {cases[text]!r}" for text in some[:3]) + (
        "" if len(some) <= 3 else f", {len(some) - 3} more"
    )
    return cases, f"{name!r}: texts that differ in capital letters or spaces alone are one ({shown})"


def folded(text: str) -> str:
    """A text without double spaces and signs that nobody sees, and without its capital letters where these say nothing: in words
    of at least three letters that are small, or capitals, or capital initials. AA, Aa and AaBb are three texts."""
    bare = _seen(text)
    usual = bare in (bare.lower(), bare.upper(), bare.capitalize(), bare.title())
    return bare.lower() if usual and sum(map(str.isalpha, bare)) >= 3 else bare


def _seen(text: str) -> str:
    return " ".join((text if text.isascii() else normalize("NFC", text.translate(UNSEEN))).split())


def known_spellings(texts: Sequence[str], levels: Sequence[str]) -> dict[str, str]:
    """Texts that a model knows by another spelling: its own in their place."""
    own: dict[str, list[str]] = {}
    for level in levels:
        own.setdefault(folded(level), []).append(level)
    known = {*levels}
    cases = {text: own[key][0] for text in texts if text not in known and len(own.get(key := folded(text), ())) == 1}
    return cases | _known_flags(texts, levels)


def _known_flags(texts: Sequence[str], levels: Sequence[str]) -> dict[str, str]:
    """Words for yes and no that a model knows by other words: its own in their place. Where its own are letters, those of its
    language alone."""
    own = _sides(levels) if len(levels) == 2 else []
    if not own:
        return {}
    letters = min(map(len, levels)) < 2
    yes = next(level for level in levels if own[0][level])
    no = next(level for level in levels if not own[0][level])
    found: dict[str, str] = {}
    for text in texts:
        lower = text.lower()
        for affirming, denying in FLAGS:
            if letters and not all(level.lower() in affirming | denying for level in levels):
                continue
            if text not in levels and lower in affirming | denying:
                found.setdefault(text, yes if lower in affirming else no)
    return found
