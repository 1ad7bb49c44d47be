"""Numbers as people write them: decimal commas, thousands separators, currency and per cent signs, parentheses, trailing minus.

A text can be read with a decimal point and with a decimal comma. Most texts are a number for one of the two marks alone ("1,5",
"1.234,5", "0.25"): such a cell decides for itself, and for the cells of its column that are a number for both ("1,234").
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

POINT, COMMA = ".", ","
#: Texts that stand for no value (and the empty cell).
MISSING = ("NA", "N/A", "n/a", "NaN", "nan", "NAN", "NULL", "null", "None", "none", "?", "<NA>", "#N/A")
NOTHING = frozenset(("", *MISSING))
#: Words that stand for no value among numbers, in lower case; in a column of texts they are texts.
NO_VALUE = frozenset((
    "na", "nan", "null", "none", "nil", "unknown", "unk", "missing", "undefined", "nd", "n/d", "n.d.", "n.a.", "n.a", "n/a",
    "n/v", "k.a.", "k.a", "k. a.", "#n/a", "#na", "#null!", "#div/0!", "#value!", "#ref!", "#name?", "#num!", "#n/v", "#nv",
    "<na>", "<null>", "(null)", "[null]", "(blank)", "(empty)", "(missing)", "\\n", "nat", "1.#ind", "-1.#ind", "1.#qnan",
    "-1.#qnan", "not available", "not applicable", "not known", "no data", "no answer", "no value", "keine angabe",
    "keine daten",
))  # fmt: skip
#: Signs that look alike: spaces, minus signs, apostrophes.
ALIKE = str.maketrans(
    {
        **dict.fromkeys("\u00a0\u202f\u2009\u2007\u2002\u2003\u200a", " "),
        **dict.fromkeys("\u2212\u2012\u2013\u2014\ufe63\uff0d", "-"),
        **dict.fromkeys("\u2019\u2018\u00b4`\u02bc", "'"),
        "\uff05": "%",
        "\u200b": None,
        "\ufeff": None,
    }
)


class _Forms(NamedTuple):
    """What numbers and the signs around them look like."""

    number: re.Pattern[str]
    brackets: re.Pattern[str]
    no_money: re.Pattern[str]  # strokes and points in the place of a sum
    power: re.Pattern[str]
    unit: re.Pattern[str]
    parted: re.Pattern[str]
    groups: re.Pattern[str]
    indian: re.Pattern[str]


def _forms() -> _Forms:
    signs = r"[€$£¤¥₹₽₺₩₪₫฿₦₴₱¢]"
    codes = (
        r"USD|EUR|GBP|CHF|JPY|INR|CAD|AUD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|BRL|ZAR|CNY|RMB|MXN|TRY|RUB|SGD|HKD|KRW|ILS|RON|BGN"
        r"|R\$|US\$|A\$|C\$|SFr\.?|Fr\.?|kr\.?|zł|Kč|Ft|Rs\.?|DM"
    )
    money = f"(?:{signs}|{codes})"
    return _Forms(
        number=re.compile(
            rf"([-+]?) ?({money})? ?([-+]?) ?"
            rf"([0-9][0-9.,' ]*|[.,][0-9]+)(e[-+]?[0-9]+)? ?(-{{0,2}}) ?(%|{money})?",
            re.IGNORECASE,
        ),
        brackets=re.compile(rf"({money})? ?\((.+)\) ?({money}|%)?", re.IGNORECASE),
        no_money=re.compile(rf"(?>{money}|%)? ?([-.*?_…·/\\]+) ?(?:{money}|%)?", re.IGNORECASE),
        power=re.compile(r" ?[x×·*] ?10 ?(?:\^|\*\*) ?([-+]?[0-9]{1,3})"),
        unit=re.compile(r"(.*?[0-9][.,]?) ?((?:[^\W\d_]|[°µ‰\"″′$€£]|/ ?[^\W\d_])[^|;]{0,19})"),
        parted=re.compile(r"[0-9]{1,3}([.,' ])[0-9]{2,3}"),
        groups=re.compile(r"[1-9][0-9]{0,2}(?:([.,' ])[0-9]{3})(?:\1[0-9]{3})*"),
        indian=re.compile(r"[1-9][0-9]?(?:([., ])[0-9]{2})(?:\1[0-9]{2})*\1[0-9]{3}"),
    )


_FORMS = _forms()


def is_missing(text: str, more: frozenset[str] = frozenset()) -> bool:
    """Whether a cell among numbers stands for no value: empty, strokes and points, a word of the list, or one that was given."""
    if not text or text in more:
        return True
    bare = text.translate(ALIKE).strip()
    return bare.lower() in NO_VALUE or _FORMS.no_money.fullmatch(" ".join(bare.split())) is not None


def numbers_among(words: Iterable[str]) -> list[float]:
    """The words for no value that are numbers, as -999: numbers of that value stand for none."""
    found = (read_both_marks(word) for word in words)
    return [value for pair in found for value in {*pair} if value is not None]


def read_both_marks(text: str) -> tuple[float | None, float | None]:
    """The number that a text writes with a decimal point, and with a decimal comma; None where it writes none.

    Signs of currencies and of per cents are left out (12 % is 12), parentheses and a minus behind the number are negative.
    """
    parts = _parts(text)
    if parts is None:
        return None, None
    body, exponent, negative, _ = parts
    return _value(body, POINT, exponent, negative), _value(body, COMMA, exponent, negative)


def _value(body: str, mark: str, exponent: str, negative: bool) -> float | None:
    digits = _digits(body, mark)
    if digits is None:
        return None
    value = float(digits + exponent)
    if value == float("inf"):
        return None
    return -value if negative else value


def signs_and_groups(text: str, value: float) -> tuple[frozenset[str], frozenset[str]]:
    """The signs around a number (of a currency, of per cents), and those that part its thousands; `value` is how it was read."""
    parts = _parts(text)
    if parts is None:
        return frozenset(), frozenset()
    groups: frozenset[str] = frozenset()
    if (
        abs(value) >= 1000.0
        and (found := _FORMS.parted.match(parts[0]))
        and not parts[0].startswith(str(int(abs(value))))
    ):
        groups = frozenset(found.group(1))
    return parts[3], groups


def _parts(text: str) -> tuple[str, str, bool, frozenset[str]] | None:
    """(digits with marks, exponent, negative, signs left out)."""
    text = " ".join(text.translate(ALIKE).split())
    if text[:2] == '="' and text[-1:] == '"':  # how spreadsheets are told to leave a cell as it is
        text = text[2:-1].strip()
    if "10" in text:
        text = _FORMS.power.sub(r"e\1", text)
    negative = False
    if text[-2:] == "/-":  # 5,000/- are whole rupees
        text = text[:-2].rstrip(" ")
    if "(" in text and (inside := _FORMS.brackets.fullmatch(text)):  # (5.00), $ (5.00), (5.00) €
        negative = True
        text = "".join((inside[1] or "", inside[2].strip(), inside[3] or ""))
    found = _FORMS.number.fullmatch(text)
    if found is None:
        return None
    first, before, second, body, exponent, behind, after = found.groups()
    if (first and second) or (before and after and after != "%") or (exponent and (behind or body[-1] == " ")):
        return None
    body = body.strip()
    minus = [sign == "-" for sign in (first, second)]
    if behind:
        price = body[-1:] in (".", ",")  # 5,- and 5.-- are whole prices
        if not price and (behind == "--" or any((first, second)) or negative):
            return None
        minus.append(not price)
    if negative and any(minus):
        return None
    signs = frozenset(sign for sign in (before, after) if sign)
    return body, exponent or "", negative or any(minus), signs


def _digits(body: str, mark: str) -> str | None:
    """The same number as Python writes it."""
    whole, point, rest = body.partition(mark)
    if not (rest.isdigit() and rest.isascii()) and rest:
        return None
    if not (whole.isdigit() and whole.isascii()) and whole:
        groups = _FORMS.groups.fullmatch(whole) or _FORMS.indian.fullmatch(whole)
        if groups is None or groups.group(1) == mark:
            return None
        whole = whole.replace(groups.group(1), "")
    if not whole and not rest:
        return None
    return f"{whole}{'.' if point else ''}{rest}"


def is_any_number(text: str) -> bool:
    """Whether a text is a number for either mark."""
    return read_both_marks(text) != (None, None)


def is_bare_number(text: str) -> bool:
    """Whether a text is a number without signs around it: no name of a column looks so."""
    parts = _parts(text)
    return parts is not None and not parts[3] and is_any_number(text)


def mark_of(text: str) -> str | None:
    """The only mark for which a text is a number; None: both, or none."""
    point, comma = read_both_marks(text)
    if (point is None) == (comma is None):
        return None
    return POINT if comma is None else COMMA


def is_ambiguous(text: str) -> bool:
    """Whether the two marks read two different numbers."""
    point, comma = read_both_marks(text)
    return point is not None and comma is not None and point != comma


def swapped(text: str) -> str:
    """Points for commas and commas for points."""
    return text.translate({44: ".", 46: ","})


def unit_of(text: str) -> str | None:
    """What stands behind a number and is none: kg, °C, kg/m³; None where there is nothing, or no number stands before it."""
    found = _FORMS.unit.fullmatch(text.strip())
    if found is None or not is_any_number(found[1]):
        return None
    return found[2]


def unit_among(cells: Iterable[str]) -> str | None:
    """The unit that stands behind numbers, or one unit in its singular and its plural, as "days|day"; a number may lack it. None:
    there is none, or they differ, or most of what is no number has none."""
    plurals = ("s", "e", "n", "en")
    units: Counter[str | None] = Counter()
    bare = 0
    for cell in cells:
        if is_any_number(cell):
            bare += 1
        else:
            units[unit_of(cell)] += 1
    others = units.pop(None, 0)
    found = sorted(filter(None, units), key=len)
    if not found or units.total() + bare < 2 or others > units.total() + bare:
        return None
    first, last = found[0], found[-1]
    if len(found) > 2 or (len(found) == 2 and last[len(first) :] not in plurals) or not last.startswith(first):
        return None
    times = (
        "k", "m", "b", "t", "g", "l", "tsd", "tsd.", "td", "mio", "mio.", "mrd", "mrd.", "bn", "mn", "mln", "mld", "lakh",
        "lakhs", "crore", "crores", "cr", "thousand", "million", "billion",
    )  # fmt: skip
    if bare and first.lower() in times:  # how many times more: beside numbers without one they are no units
        return None
    return "|".join(found[::-1])


def without_unit(text: str, unit: str | None) -> str:
    """A cell without the unit of its column."""
    for each in () if unit is None else unit.split("|"):
        if text.endswith(each):
            return text[: -len(each)]
    return text
