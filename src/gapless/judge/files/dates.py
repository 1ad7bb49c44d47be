"""Dates and times of the day as people write them in tables: 2020-12-31, 31.12.20, Dec 31, 2020 10:20 pm, 20201231T102030Z."""

from __future__ import annotations

import re
from datetime import date
from typing import Any, NamedTuple

import numpy as np

from .numerals import ALIKE, is_digits

#: Hours that clocks are ahead of UTC.
ZONES = {
    "z": 0, "utc": 0, "gmt": 0, "wet": 0, "west": 1, "cet": 1, "mez": 1, "cest": 2, "mesz": 2, "eet": 2, "eest": 3, "msk": 3,
    "jst": 9, "est": -5, "edt": -4, "cst": -6, "cdt": -5, "mst": -7, "mdt": -6, "pst": -8, "pdt": -7,
}  # fmt: skip


def moment(text: str, order: str) -> float | None:
    """Days since 1970-01-01 of a date or a time of the day, or of how long something took; `order` is dmy or mdy."""
    if len(text) < 7 and not any(sign in text for sign in "-/.: \u00a0\u202f"):
        return None
    if all(sign.isalnum() for sign in text) and (text.isdigit() or not is_digits(text[:1])):
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
        r"(?P<year>[0-9]{4})-(?P<month>[0-9]{2})",
        r"(?P<year>(?:19|20)[0-9]{2})/(?P<month>[0-9]{1,2})",
        r"(?P<month>[0-9]{1,2})[/-](?P<year>(?:19|20)[0-9]{2})",
        r"(?P<name>[^\W\d_]{3,10})(?:\. ?|,? | de |[-/])(?P<year>(?:19|20)[0-9]{2})",
        r"(?P<name>[^\W\d_]{3,10})-(?P<year>[0-9]{2})",
        r"(?P<year>(?:19|20)[0-9]{2})[-/ ](?P<name>[^\W\d_]{3,10})",
    ):
        found = re.fullmatch(pattern, text)
        if found is not None:
            told = found.groupdict()
            return told["year"], told.get("month") or _month(told["name"]), "1"
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
    """The number of a month, by its first letters in seven languages; 0 of what is none."""
    months = (
        "jan janv ene gen", "feb fev fév febr févr", "mar mär mrz mars märz maer mrt", "apr avr abr", "may mai mag maj mei",
        "jun juin giu", "jul juil lug", "aug août aou aoû ago", "sep sept set", "oct okt ott out", "nov", "dec dez déc dic",
    )  # fmt: skip
    for length in (4, 3):
        for number, known in enumerate(months, 1):
            if name[:length] in known.split():
                return str(number)
    return "0"


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
