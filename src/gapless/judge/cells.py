"""What the cells of a table say, by code of the judge's own: numbers as people write them, dates, words for no value, yes and no.

A text is read with a decimal point and with a decimal comma (a date with the day and with the month first). A text that only one
of the two can read is read so; one that both can read is read as the model says, unless all texts of the column that only one of
the two can read are of the other kind.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Sequence
from datetime import date
from typing import Any

import numpy as np

MISSING = ("", "NA", "N/A", "n/a", "NaN", "nan", "NAN", "NULL", "null", "None", "none", "?", "<NA>", "#N/A")
NO_LABEL = ("", "NA", "N/A", "n/a", "NULL", "null", "?", "<NA>", "#N/A")
#: Words for no value among numbers and dates, in lower case.
WORDS = frozenset((
    "#div/0!", "#n/a", "#n/v", "#na", "#name?", "#null!", "#num!", "#nv", "#ref!", "#value!", "(blank)", "(empty)",
    "(missing)", "(null)", "-1.#ind", "-1.#qnan", "1.#ind", "1.#qnan", "<na>", "<null>", "[null]", "\\n", "k. a.", "k.a",
    "k.a.", "keine angabe", "keine daten", "missing", "n.a", "n.a.", "n.d.", "n/a", "n/d", "n/v", "na", "nan", "nat",
    "nd", "nil", "no answer", "no data", "no value", "none", "not applicable", "not available", "not known", "null",
    "undefined", "unk", "unknown",
))  # fmt: skip
STROKES = frozenset("-.*?_…·/\\")
STROKED = frozenset("-–—.*?_…/\\")  # among labels
ALIKE = {ord(sign): " " for sign in "\u00a0\u202f\u2009\u2007\u2002\u2003\u200a"}
ALIKE |= {ord(sign): "-" for sign in "\u2212\u2012\u2013\u2014\ufe63\uff0d"}
ALIKE |= {ord(sign): "'" for sign in "\u2019\u2018\u00b4`\u02bc"}
ALIKE |= {0xFF05: "%", 0x200B: None, 0xFEFF: None}  # type: ignore[dict-item]
#: Signs of currencies, the longest first.
MONEY = (
    "sfr.", "usd", "eur", "gbp", "chf", "jpy", "inr", "cad", "aud", "nzd", "sek", "nok", "dkk", "pln", "czk", "huf",
    "brl", "zar", "cny", "rmb", "mxn", "try", "rub", "sgd", "hkd", "krw", "ils", "ron", "bgn", "us$", "sfr", "fr.",
    "kr.", "rs.", "r$", "a$", "c$", "fr", "kr", "zł", "kč", "ft", "rs", "dm",
    *"€$£¥₹₽₺₩₪₫฿₦₴₱¢",
)  # fmt: skip
DIGITS = frozenset("0123456789")
FLAGS = (
    ({"yes", "y", "true", "t", "on", "1", "1.0"}, {"no", "n", "false", "f", "off", "0", "0.0"}),
    ({"ja", "j", "wahr", "1"}, {"nein", "n", "falsch", "0"}),
    ({"oui", "o", "vrai", "1"}, {"non", "n", "faux", "0"}),
    ({"si", "sí", "s", "verdadero", "vero", "1"}, {"no", "n", "falso", "0"}),
    ({"sim", "s", "verdadeiro", "1"}, {"não", "nao", "n", "falso", "0"}),
)
MONTHS = (
    "jan janv ene gen", "feb fev fév febr févr", "mar mär mrz mars märz maer", "apr avr abr", "may mai mag maj", "jun juin giu",
    "jul juil lug", "aug août aou aoû ago", "sep sept set", "oct okt ott out", "nov", "dec dez déc dic",
)  # fmt: skip

Reader = Callable[[str, str], float | None]


def is_missing(text: str, words: Collection[str] = ()) -> bool:
    """Whether a cell among numbers or dates stands for no value."""
    bare = text.translate(ALIKE).strip()
    return not text or text in words or bare.lower() in WORDS or (bare != "" and STROKES.issuperset(bare))


# -- numbers


def numeral(text: str, mark: str) -> float | None:
    """The number that a text writes with this decimal mark."""
    rest = " ".join(text.translate(ALIKE).split())
    if rest.startswith('="') and rest.endswith('"') and len(rest) > 2:
        rest = rest[2:-1].strip()
    brackets = rest[:1] == "(" and rest[-1:] == ")"
    if brackets:
        rest = rest[1:-1].strip()
    minus = 0
    signed, rest = _sign(rest)
    minus += signed == "-"
    rest, before = _money(rest, front=True)
    if before or rest[:1] == " ":
        rest = rest.removeprefix(" ")
    second, rest = _sign(rest)
    minus += second == "-"
    if signed and second:
        return None
    rest, after = (rest[:-1], "%") if rest.endswith("%") else _money(rest, front=False)
    if before and after not in ("", "%"):
        return None
    rest = rest.removesuffix(" ") if after else rest
    strokes = len(rest) - len(rest.rstrip("-"))
    if strokes > 2:
        return None
    if strokes:
        rest = rest[:-strokes]
        whole_price = rest.rstrip(" ")[-1:] in (".", ",")
        if not whole_price and (strokes == 2 or signed or second or brackets):
            return None
        minus += not whole_price
    if brackets and minus:
        return None
    if strokes and "e" in rest.lower():
        return None
    value = _value(rest, mark)
    return None if value is None else -value if brackets or minus else value


def _sign(text: str) -> tuple[str, str]:
    return (text[0], text[1:].removeprefix(" ")) if text[:1] in ("-", "+") else ("", text)


def _money(text: str, front: bool) -> tuple[str, str]:
    """A text without the sign of a currency in front or behind, and the sign."""
    lower = text.lower()
    if len(lower) != len(text):
        return text, ""
    for sign in MONEY:
        if lower.startswith(sign) if front else lower.endswith(sign):
            return (text[len(sign) :], sign) if front else (text[: -len(sign)], sign)
    return text, ""


def _value(body: str, mark: str) -> float | None:
    """Digits with marks, and perhaps an exponent."""
    mantissa, e, power = body.lower().partition("e")
    if e:
        digits = power[1:] if power[:1] in ("-", "+") else power
        if not digits.rstrip(" ") or not DIGITS.issuperset(digits.rstrip(" ")) or mantissa.endswith(" "):
            return None
    mantissa = mantissa.rstrip(" ")
    if not mantissa or (mantissa[0] not in DIGITS and not (mantissa[0] in ".," and len(mantissa) > 1)):
        return None
    if mantissa[0] in ".," and not DIGITS.issuperset(mantissa[1:]):
        return None
    whole, _, rest = mantissa.partition(mark)
    if not DIGITS.issuperset(rest):
        return None
    if not DIGITS.issuperset(whole):
        joined = _joined(whole, mark)
        if joined is None:
            return None
        whole = joined
    if not whole and not rest:
        return None
    value = float(f"{whole or '0'}.{rest or '0'}e{power.strip() if e else '0'}")
    return value if math.isfinite(value) else None


def _joined(whole: str, mark: str) -> str | None:
    """The digits of 1,234,567, of 1'234'567, of 1 234 567 or of 12,34,567."""
    between = {sign for sign in whole if sign not in DIGITS}
    if len(between) != 1:
        return None
    (sign,) = between
    if sign == mark or sign not in ".,' ":
        return None
    first, *others = whole.split(sign)
    if not first or first[0] == "0" or len(first) > 3 or len(others[-1]) != 3:
        return None
    inner = {len(part) for part in others[:-1]}
    western = inner <= {3}
    indian = inner == {2} and len(first) <= 2 and sign != "'"
    return "".join((first, *others)) if western or indian else None


# -- dates


def moment(text: str, order: str) -> float | None:
    """Days since 1970-01-01 of a date or a time of the day; `order` is dmy or mdy."""
    rest, seconds = text.strip().lower(), 0.0
    clock = re.search(
        r"(\d{1,2}):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?(?: ?(a|p)\.?m\.?)?(?: ?(z|utc|gmt|[+-]\d\d:?\d\d|[+-]\d\d))?$",
        rest,
        re.ASCII,
    )
    if clock is not None:
        taken = _seconds(*clock.groups())
        if taken is None:
            return None
        seconds, rest = taken, rest[: clock.start()]
        if not rest:
            return seconds / 86400
        if rest.endswith("t"):
            rest = rest[:-1]
        elif rest.endswith(" "):
            rest = rest.rstrip(" ").removesuffix(",")
        else:
            return None
    parts = _numbered(rest, order, clock is None) or _named(rest)
    if parts is None:
        return None
    year, month, day = parts
    number = int(year) + (0 if len(year) == 4 else 1900 if int(year) >= 69 else 2000)
    try:
        days = date(number, int(month), int(day)).toordinal() - date(1970, 1, 1).toordinal()
    except ValueError:
        return None
    return (days * 86400 + seconds) / 86400


def _seconds(
    hour: str, minute: str, second: str | None, fraction: str | None, half: str | None, zone: str | None
) -> float | None:
    h, m, s = int(hour), int(minute), int(second or "0")
    if half and not 0 < h < 13:
        return None
    h = h if not half else h % 12 + 12 * (half == "p")
    if h >= 24 or m >= 60 or s > 60:
        return None
    total = 3600 * h + 60 * m + s
    if zone and zone[0] in "+-":
        bare = zone[1:].replace(":", "")
        off = 3600 * int(bare[:2]) + 60 * int(bare[2:] or "0")
        total -= off if zone[0] == "+" else -off
    return total + float("0." + fraction) if fraction else float(total)


def _numbered(text: str, order: str, alone: bool) -> tuple[str, str, str] | None:
    """Year, month and day of 2020-12-31, of 2020-12 where no time follows, and of 31.12.2020, 31/12/20 or 12/31/20."""
    iso = re.fullmatch(r"(\d{4})([-/.])(\d{1,2})\2(\d{1,2})", text, re.ASCII)
    if iso is not None:
        return iso[1], iso[3], iso[4]
    month = re.fullmatch(r"(\d{4})-(\d\d)", text, re.ASCII) if alone else None
    if month is not None:
        return month[1], month[2], "1"
    found = re.fullmatch(r"(\d{1,2})([-/.]) ?(\d{1,2})\2 ?(\d\d|\d{4})", _without_weekday(text), re.ASCII)
    if found is None:
        return None
    first, sign, second, year = found.groups()
    return (year, second, first) if order == "dmy" or sign == "." else (year, first, second)


def _named(text: str) -> tuple[str, str, str] | None:
    """31 Dec 2020, 31-Dec-20, Dec 31, 2020."""
    for bare in dict.fromkeys((_without_weekday(text), text)):
        words = re.fullmatch(r"(\d{1,2})\.?[ -]([^\W\d_]{3,10})\.?[ ,-]+(\d\d|\d{4})", bare, re.UNICODE)
        if words is not None and all(each.isascii() for each in (words[1], words[3])):
            return words[3], _month(words[2]), words[1]
        words = re.fullmatch(r"([^\W\d_]{3,10})\.? (\d{1,2})(?:st|nd|rd|th)?,? +(\d{4})", bare, re.UNICODE)
        if words is not None and all(each.isascii() for each in (words[2], words[3])):
            return words[3], _month(words[1]), words[2]
    return None


def _without_weekday(text: str) -> str:
    found = re.match(r"[^\W\d_]{2,10}\.?,? +", text)
    return text if found is None else text[found.end() :]


def _month(name: str) -> str:
    for length in (4, 3):
        for number, known in enumerate(MONTHS, 1):
            if name[:length] in known.split():
                return str(number)
    return "0"


# -- columns


def values(
    texts: Sequence[str], reader: Reader, own: str, other: str, words: Collection[str], flags: bool
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


def numbers(texts: Sequence[str], decimal: str, unit: str | None, words: Collection[str]) -> np.ndarray:
    """A column of numbers."""
    bare = [text[: -len(unit)] if unit and text.endswith(unit) else text for text in texts]
    kept = ["" if is_missing(text, words) and numeral(text, ".") is None else text for text in bare]
    found = values(kept, numeral, decimal, "." if decimal == "," else ",", words, True)
    gone = [value for word in words for value in (numeral(word, "."), numeral(word, ",")) if value is not None]
    return np.where(np.isin(found, gone), math.nan, found)


def days(texts: Sequence[str], order: str, words: Collection[str]) -> np.ndarray:
    """A column of dates."""
    return values(texts, moment, order, "mdy" if order == "dmy" else "dmy", words, False)


def parts_of(x: np.ndarray) -> dict[str, np.ndarray]:
    """Year, month, weekday (Monday is 0), hour and days of days since 1970-01-01, none of which is NaN."""
    found: dict[str, list[Any]] = {"year": [], "month": [], "weekday": []}
    known: dict[float, tuple[int, int, int]] = {}
    for day in np.floor(x).tolist():
        if day not in known:
            when = date.fromordinal(int(day) + date(1970, 1, 1).toordinal())
            known[day] = (when.year, when.month, when.weekday())
        for part, value in zip(found, known[day]):
            found[part].append(float(value))
    told = {part: np.array(each, dtype=np.float64) for part, each in found.items()}
    return {**told, "hour": (x - np.floor(x)) * 24.0, "days": x.copy()}


def as_levels(texts: Sequence[str | None], levels: Sequence[str]) -> list[str | None]:
    """Texts of a column whose levels are a word for yes and one for no: other such words become the level of their side. Where a
    level is a letter, words of its language alone."""
    words = [level.lower() for level in levels]
    own = [
        pair
        for pair in FLAGS
        if len(words) == 2 and sum(word in pair[0] for word in words) == 1 == sum(word in pair[1] for word in words)
    ]
    if not own:
        return list(texts)
    sides = {words[0] in own[0][0]: levels[0], words[1] in own[0][0]: levels[1]}
    spoken = own if min(map(len, words)) == 1 else FLAGS
    known: dict[str | None, str | None] = {}
    for text in {*texts} - {None, *levels}:
        said = [str(text).lower() in yes for yes, no in spoken if str(text).lower() in yes | no]
        if said:
            known[text] = sides[said[0]]
    return [known.get(text, text) for text in texts]


def no_labels(texts: Collection[str], classes: Sequence[str], words: Collection[str]) -> set[str]:
    """Which texts of a label column are no labels, where classes are texts."""
    signs = [
        text for text in texts if text and not any(sign.isalnum() for sign in text) and not STROKED.issuperset(text)
    ]
    found = set()
    for text in {*texts} - {*classes}:
        stroke = not signs and text != "" and STROKED.issuperset(text)
        if text in NO_LABEL or text.lower() == "nan" or text in words or stroke:
            found.add(text)
    return found
