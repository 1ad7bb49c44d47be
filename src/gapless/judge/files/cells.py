"""What the cells of a table say, by code of the judge's own: numbers as people write them, dates, words for no value, yes and no.

A text is read with a decimal point and with a decimal comma (a date with the day and with the month first). A text that only one
of the two can read is read so; one that both can read is read as the model says, unless all texts of the column that only one of
the two can read are of the other kind.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Collection, Sequence
from datetime import date
from typing import Any, NamedTuple

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
    *"€$£¤¥₹₽₺₩₪₫฿₦₴₱¢",
)  # fmt: skip
DIGITS = frozenset("0123456789")
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
MONTHS = (
    "jan janv ene gen", "feb fev fév febr févr", "mar mär mrz mars märz maer mrt", "apr avr abr", "may mai mag maj mei",
    "jun juin giu",
    "jul juil lug", "aug août aou aoû ago", "sep sept set", "oct okt ott out", "nov", "dec dez déc dic",
)  # fmt: skip
UNSEEN = frozenset("\u200b\u200c\u200d\u200e\u200f\u2060\ufeff\u00ad")
#: Hours that clocks are ahead of UTC.
ZONES = {
    "z": 0, "utc": 0, "gmt": 0, "wet": 0, "west": 1, "cet": 1, "mez": 1, "cest": 2, "mesz": 2, "eet": 2, "eest": 3, "msk": 3,
    "jst": 9, "est": -5, "edt": -4, "cst": -6, "cdt": -5, "mst": -7, "mdt": -6, "pst": -8, "pdt": -7,
}  # fmt: skip

Reader = Callable[[str, str], float | None]


def is_missing(text: str, words: Collection[str] = ()) -> bool:
    """Whether a cell among numbers or dates stands for no value."""
    bare = text.translate(ALIKE).strip()
    if not text or text in words or bare.lower() in WORDS:
        return True
    inside = " ".join(bare.split())
    for front in (True, False):  # $ -, - €, - %
        sign = inside[:1] if front else inside[-1:]
        inside = (inside[1:] if front else inside[:-1]) if sign == "%" else _money(inside, front)[0]
        inside = inside.strip(" ")
    return inside != "" and STROKES.issuperset(inside)


# -- numbers


def numeral(text: str, mark: str) -> float | None:
    """The number that a text writes with this decimal mark."""
    rest = " ".join(text.translate(ALIKE).split())
    if rest.startswith('="') and rest.endswith('"') and len(rest) > 2:
        rest = rest[2:-1].strip()
    rest = re.sub(r" ?[x×·*] ?10 ?(?:\^|\*\*) ?([-+]?[0-9]{1,3})", r"e\1", rest)
    rest = rest[:-2].rstrip(" ") if rest.endswith("/-") else rest
    around = _brackets(rest)
    brackets = around is not None
    if around is not None:
        rest = around
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


def _brackets(text: str) -> str | None:
    """(5.00), $ (5.00) and (5.00) € without their brackets; None where there are none."""
    opened, closed = text.find("("), text.rfind(")")
    if opened < 0 or closed < opened:
        return None
    before, inside, after = (
        text[:opened].removesuffix(" "),
        text[opened + 1 : closed].strip(),
        text[closed + 1 :].removeprefix(" "),
    )
    if not inside or any(
        sign and _money(sign, True) != ("", sign.lower()) for sign in (before, after.removesuffix("%"))
    ):
        return None
    return before + inside + after


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
    """Days since 1970-01-01 of a date or a time of the day, or of how long something took; `order` is dmy or mdy."""
    if len(text) < 7 and not any(sign in text for sign in "-/.: \u00a0\u202f"):
        return None
    if all(sign.isalnum() for sign in text) and (text.isdigit() or text[:1] not in DIGITS):
        return None
    rest = " ".join(text.translate(ALIKE).lower().split())
    # Tue Dec 31 10:20:30 2020, and the same with a zone before the year
    split = re.fullmatch(r"((?:\w{2,10}\.?,? )?\w{3,10} \d{1,2}) (\d{1,2}:\S+(?: [a-z+-]\S*)?) (\d{4})", rest, re.ASCII)
    if split is not None:
        rest = f"{split[1]} {split[3]} {split[2]}"
    rest, clock = _clock(rest)
    seconds = 0.0
    if clock is not None:
        taken = _seconds(clock, rest == "")
        if taken is None or not rest:
            return None if taken is None else taken / 86400
        seconds = taken
        whole_days = re.fullmatch(r"(\d{1,6}) ?(?:days|day|d|tage|tag),?", rest, re.ASCII)
        if whole_days is not None and not clock.half and not clock.zone:
            return None if taken >= 86400 else int(whole_days[1]) + taken / 86400
    parts = (_months(rest) if clock is None else None) or _numbered(rest, order) or _named(rest)
    if parts is None:
        return None
    year, month, day = parts
    number = int(year) + (0 if len(year) == 4 else 1900 if int(year) >= 69 else 2000)
    try:
        days = date(number, int(month), int(day)).toordinal() - date(1970, 1, 1).toordinal()
    except ValueError:
        return None
    return (days * 86400 + seconds) / 86400


class Clock(NamedTuple):
    """The parts of a time of the day, as they stand."""

    hour: str
    minute: str
    second: str = ""
    fraction: str = ""
    half: str = ""
    zone: str = ""


def _clock(text: str) -> tuple[str, Clock | None]:
    """A text in small letters without the time at its end, and the time."""
    names = "|".join(sorted(ZONES, key=len, reverse=True))
    zone = rf"(?: ?(?P<zone>{names}|[+-]\d\d:?\d\d|[+-]\d\d)(?:\[[\w/+-]+\])?)?"
    half = r" ?(?P<half>a|p)\.? ?m\.?"
    compact = re.fullmatch(
        r"(?P<date>\d{8})t(?P<hour>\d\d)(?P<minute>\d\d)(?P<second>\d\d)?(?:[.,]\d{1,9})?" + zone, text, re.ASCII
    )
    ways = (
        r"(?<!\d)(?P<hour>\d{1,4}):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:[.,](?P<fraction>\d{1,9}))?)?"
        rf"(?:{half})?(?: uhr| h)?{zone}$",
        rf"(?<![\d:.,])(?P<hour>\d{{1,2}}){half}$",
        r"(?<![\d:.,])(?P<hour>\d{1,2}) ?h ?(?P<minute>\d\d)$",
        r"(?<![\d:.,])(?P<hour>\d{1,2})\.(?P<minute>\d\d)(?:\.(?P<second>\d\d))?(?P<sure> uhr)?$",
        r"(?<![\d:.,])(?P<hour>\d{1,2})(?: h|h| uhr)$",
    )
    if compact is not None:
        day = compact["date"]
        return f"{day[:4]}-{day[4:6]}-{day[6:]}", _as_clock(compact)
    tries = [re.search(pattern, text, re.ASCII) for pattern in ways]
    way = next((k for k, each in enumerate(tries) if each is not None), 0)
    found = tries[way]
    if found is None:
        return text, None
    rest = text[: found.start()]
    if not rest and (way == 4 or (way == 3 and not found["sure"])):  # 5 h and 12.30 alone are numbers
        return text, None
    if rest.endswith(":") and not rest.endswith(" :"):
        return rest[:-1], _as_clock(found)
    if rest.endswith("t"):
        return rest[:-1], _as_clock(found)
    if rest and not rest.endswith(" "):
        return text, None
    rest = rest.rstrip(" ")
    for between in (",", " -", " at", " um", " à", " às", " a las"):
        if rest.endswith(between):
            return rest[: -len(between)], _as_clock(found)
    return rest, _as_clock(found)


def _as_clock(found: re.Match[str]) -> Clock:
    told = found.groupdict()
    return Clock(*(told.get(part) or ("00" if part == "minute" else "") for part in Clock._fields))


def _seconds(clock: Clock, alone: bool) -> float | None:
    h, m, s = int(clock.hour), int(clock.minute), int(clock.second or "0")
    if clock.half and not 0 < h < 13:
        return None
    h = h if not clock.half else h % 12 + 12 * (clock.half == "p")
    if m >= 60 or s > 60 or (h >= 24 and not alone and (h > 24 or m or s)):
        return None
    total = 3600 * h + 60 * m + s
    if clock.zone[:1] in ("+", "-"):
        bare = clock.zone[1:].replace(":", "")
        off = 3600 * int(bare[:2]) + 60 * int(bare[2:] or "0")
        total -= off if clock.zone[0] == "+" else -off
    elif clock.zone:
        total -= 3600 * ZONES[clock.zone]
    return total + float("0." + clock.fraction) if clock.fraction else float(total)


def _months(text: str) -> tuple[str, str, str] | None:
    """A year and a month: 2020-12, 2020/12, 12/2020, Dec 2020, Dec-20, 2020 Dec."""
    for pattern in (
        r"(?P<year>\d{4})-(?P<month>\d\d)",
        r"(?P<year>(?:19|20)\d\d)/(?P<month>\d\d?)",
        r"(?P<month>\d\d?)[/-](?P<year>(?:19|20)\d\d)",
    ):
        found = re.fullmatch(pattern, text, re.ASCII)
        if found is not None:
            return found["year"], found["month"], "1"
    for pattern in (
        r"(?P<name>[^\W\d_]{3,10})(?:\. ?|,? | de |[-/])(?P<year>(?:19|20)[0-9]{2})",
        r"(?P<name>[^\W\d_]{3,10})-(?P<year>[0-9]{2})",
        r"(?P<year>(?:19|20)[0-9]{2})[-/ ](?P<name>[^\W\d_]{3,10})",
    ):
        found = re.fullmatch(pattern, text)
        if found is not None:
            return found["year"], _month(found["name"]), "1"
    return None


def _numbered(text: str, order: str) -> tuple[str, str, str] | None:
    """Year, month and day of 2020-12-31, and of 31.12.2020, 31/12/20 or 12/31/20."""
    iso = re.fullmatch(r"(\d{4})([-/. ])(\d{1,2})\2(\d{1,2})", text, re.ASCII)
    if iso is not None:
        return iso[1], iso[3], iso[4]
    found = re.fullmatch(r"(\d{1,2})([-/.]) ?(\d{1,2})\2 ?(\d\d|\d{4})", _without_weekday(text), re.ASCII)
    if found is None:
        return None
    first, sign, second, year = found.groups()
    return (year, second, first) if order == "dmy" or sign == "." else (year, first, second)


def _named(text: str) -> tuple[str, str, str] | None:
    """31 Dec 2020, 31-Dec-20, 31dec2020, 31 de dezembro de 2020, Dec 31, 2020, 2020-Dec-31."""
    tries = [*dict.fromkeys((_without_weekday(text), text))]
    for bare in tries:
        words = re.fullmatch(
            r"([0-9]{1,2})(?:st|nd|rd|th|er|º)?\.?(?: of | de |[ /-])?([^\W\d_]{3,10})"
            r"\.?(?: del | de |[-/, ]+)?([0-9]{4}|[0-9]{2})",
            bare,
        )
        if words is not None:
            return words[3], _month(words[2]), words[1]
    for bare in tries:
        words = re.fullmatch(r"([^\W\d_]{3,10})\.?[ /-]([0-9]{1,2})(?:st|nd|rd|th)?(?:[/-]|,? +)([0-9]{4})", bare)
        if words is not None:
            return words[3], _month(words[1]), words[2]
    words = re.fullmatch(r"([0-9]{4})[-/ ]([^\W\d_]{3,10})[-/ ]([0-9]{1,2})", text)
    return None if words is None else (words[1], _month(words[2]), words[3])


def _without_weekday(text: str) -> str:
    found = re.match(r"[^\W\d_]{2,10}(?:-feira)?\.?,? +", text)
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
    bare = unicodedata.normalize("NFC", "".join(sign for sign in text if sign not in UNSEEN))
    bare = " ".join(bare.split())
    letters = sum(1 for sign in bare if sign.isalpha())
    return (
        bare.lower() if letters > 2 and bare in {bare.lower(), bare.upper(), bare.capitalize(), bare.title()} else bare
    )


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
