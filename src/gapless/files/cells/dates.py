"""Dates and times as people write them, as days since 1970-01-01, and the parts that become features.

3/4/2020 can be read with the day or with the month first; a cell that only one order can read decides for its column. A time
zone that is written is taken off: such times are UTC. A time alone is a part of the first day, and may be longer than a day.
"""

from __future__ import annotations

import re
from datetime import date
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from gapless.files.cells.notation import ALIKE

DAY_FIRST, MONTH_FIRST = "dmy", "mdy"
PARTS = ("year", "month", "weekday", "hour", "days")
EPOCH = date(1970, 1, 1).toordinal()
_ZONES = {
    **dict.fromkeys(("z", "utc", "gmt", "wet"), 0), **dict.fromkeys(("cet", "mez", "west"), 1),
    **dict.fromkeys(("cest", "mesz", "eet"), 2), **dict.fromkeys(("eest", "msk"), 3), "jst": 9,
    "edt": -4, **dict.fromkeys(("est", "cdt"), -5), **dict.fromkeys(("cst", "mdt"), -6), **dict.fromkeys(("mst", "pdt"), -7),
    "pst": -8,
}  # fmt: skip
_SIGNS = frozenset("-/.: \u00a0\u202f")  # one of them stands in nearly every date
_MONTHS = {
    name: month
    for month, names in enumerate(
        (
            "jan janv ene gen", "feb fev fév febr févr", "mar mär mrz mars märz maer mrt", "apr avr abr", "may mai mag maj mei",
            "jun juin giu",
            "jul juil lug", "aug août aou aoû ago", "sep sept set", "oct okt ott out", "nov", "dec dez déc dic",
        ),
        1,
    )
    for name in names.split()
}  # fmt: skip


class _Forms(NamedTuple):
    """What dates and times look like, in small letters. Dates have groups for day, month (or its name) and year."""

    time: re.Pattern[str]  # hour, minute, second, fraction, half, zone
    hour: re.Pattern[str]
    other_time: re.Pattern[str]
    compact: re.Pattern[str]
    year_behind: re.Pattern[str]  # the time
    duration: re.Pattern[str]
    dates: tuple[re.Pattern[str], ...]
    months: tuple[re.Pattern[str], ...]  # a year and a month alone
    named: tuple[re.Pattern[str], ...]


def _forms() -> _Forms:
    zone = rf"(?: ?({'|'.join(_ZONES)}|[-+][0-9]{{2}}(?::?[0-9]{{2}})?)(?:\[[\w/+-]+\])?)?"
    half = r"(?: ?([ap])\.? ?m\.?)"
    weekday = r"(?:[^\W\d_]{2,10}(?:-feira)?\.?,? +)?"
    day, digits, year = r"(?P<day>[0-9]{1,2})", r"(?P<month>[0-9]{1,2})", r"(?P<year>[0-9]{4})"
    name, century = r"(?P<month>[^\W\d_]{3,10})", r"(?P<year>(?:19|20)[0-9]{2})"
    return _Forms(
        re.compile(
            r"(?<![0-9])([0-9]{1,4}):([0-9]{2})(?::([0-9]{2})(?:[.,]([0-9]{1,9}))?)?"
            + half
            + "?(?: uhr| h)?"
            + zone
            + "$"
        ),
        re.compile(rf"(?<![0-9:.,])([0-9]{{1,2}}){half}$"),
        re.compile(r"(?<![0-9:.,])([0-9]{1,2})(?: ?h ?([0-9]{2})|\.([0-9]{2})(?:\.([0-9]{2}))?( uhr)?| ?h| uhr)$"),
        re.compile(r"([0-9]{4})([0-9]{2})([0-9]{2})t([0-9]{2})([0-9]{2})([0-9]{2})?(?:[.,][0-9]{1,9})?" + zone),
        re.compile(
            r"((?:[^\W\d_]{2,10}\.?,? )?[^\W\d_]{3,10} [0-9]{1,2}) ([0-9]{1,2}:[^ ]+(?: [a-z+-][^ ]*)?) ([0-9]{4})"
        ),
        re.compile(r"([0-9]{1,6}) ?(?:days?|d|tage?),?"),
        dates=(
            re.compile(rf"{year}(?P<mark>[-/. ]){digits}(?P=mark){day}"),
            re.compile(rf"{weekday}{day}(?P<either>[-/.]) ?{digits}(?P=either) ?(?P<year>[0-9]{{4}}|[0-9]{{2}})"),
        ),
        months=(
            re.compile(rf"{year}-(?P<month>[0-9]{{2}})"),
            re.compile(rf"{century}/{digits}"),
            re.compile(rf"{digits}[-/]{century}"),
            re.compile(rf"{name}(?:\. ?|,? | de |-|/)(?P<year>(?:19|20)[0-9]{{2}}|(?<=-)[0-9]{{2}})"),
            re.compile(rf"{century}[-/ ]{name}"),
        ),
        named=(
            re.compile(
                rf"{weekday}{day}(?:st|nd|rd|th|er|º)?\.?(?: of | de |[-/ ])?{name}\.?"
                r"(?: de | del |[-/, ]+)?(?P<year>[0-9]{4}|[0-9]{2})"
            ),
            re.compile(rf"{weekday}{name}\.?[- /]{day}(?:st|nd|rd|th)?(?:[-/]|,? +){year}"),
            re.compile(rf"{year}[-/ ]{name}[-/ ]{day}"),
        ),
    )


_FORMS = _forms()


def read_both(text: str) -> tuple[float | None, float | None]:
    """Days since 1970-01-01 of a date or a time (whose day is the first one), read with the day first and with the month first;
    None where the text is none."""
    day_seconds = 86400
    if _SIGNS.isdisjoint(text) and (len(text) < 7 or text.isdigit() or not text[:1].isdigit()):
        return None, None
    text, clock = _parted(text)
    seconds = 0.0
    if clock is not None:
        taken = _seconds(clock, alone=not text)
        if taken is None or not text:
            alone = None if taken is None else taken / day_seconds
            return alone, alone
        seconds = taken
        if (found := _FORMS.duration.fullmatch(text)) and clock[4:] == (None, None):
            days = None if seconds >= day_seconds else int(found[1]) + seconds / day_seconds
            return days, days
    first, second = _days(text, clock is None)
    return (
        None if first is None else (first * day_seconds + seconds) / day_seconds,
        None if second is None else (second * day_seconds + seconds) / day_seconds,
    )


def _parted(text: str) -> tuple[str, tuple[str | None, ...] | None]:
    """A text without the time of day behind it, in small letters, and the time's parts: hour, minute, second, fraction, half,
    zone."""
    between_date_and_time = ("t", ",", " -", " at", " um", " à", " às", " a las")  # a date and its time
    if not text.isascii():
        text = text.translate(ALIKE)
    text = " ".join(text.lower().split())
    if found := _FORMS.year_behind.fullmatch(text):
        text = f"{found[1]} {found[3]} {found[2]}"
    clock: tuple[str | None, ...]
    if found := _FORMS.time.search(text) if ":" in text else None:
        clock = found.groups()
    elif found := _FORMS.compact.fullmatch(text):
        year, month, day, hour, minute, second, zone = found.groups()
        return f"{year}-{month}-{day}", (hour, minute, second, None, None, zone)
    elif found := _FORMS.hour.search(text):
        clock = (found[1], "00", None, None, found[2], None)
    elif (found := _FORMS.other_time.search(text)) and (found.start() or found[2] or found[5]):
        clock = (found[1], found[2] or found[3] or "00", found[4], None, None, None)
    else:
        return text, None
    rest = text[: found.start()]
    if rest.endswith(":") and not rest.endswith(" :"):
        return rest[:-1], clock
    if rest[-1:] == "t":
        return rest[:-1], clock
    if not rest:
        return rest, clock
    if rest[-1] != " ":
        return text, None
    rest = rest.rstrip(" ")
    return next((rest.removesuffix(each) for each in between_date_and_time[1:] if rest.endswith(each)), rest), clock


@lru_cache(maxsize=1 << 16)
def _days(text: str, alone: bool) -> tuple[int | None, int | None]:
    """Days of a date without its time, with the day and with the month first. A year and a month are a date where they stand
    `alone`."""
    forms = (*_FORMS.dates, *(_FORMS.months if alone else ()), *_FORMS.named)
    found = next(filter(None, (form.fullmatch(text) for form in forms)), None)
    if found is None:
        return None, None
    told = found.groupdict()
    year, month, day = told["year"], told["month"], told.get("day", "1")
    if told.get("either") in ("-", "/"):
        return _day(year, month, day), _day(year, day, month)
    either = _day(year, month if month.isdigit() else _month(month), day)
    return either, either


def _day(year: str, month: str, day: str) -> int | None:
    first_year_of_last_century = 69  # two digits from here on are of the last century, as POSIX has it
    whole = int(year)
    if len(year) == 2:
        whole += 1900 if whole >= first_year_of_last_century else 2000
    try:
        return date(whole, int(month), int(day)).toordinal() - EPOCH
    except ValueError:
        return None


def _month(name: str) -> str:
    """The month of a name, by its first letters; 0: it is none."""
    return str(next((_MONTHS[name[:k]] for k in (4, 3) if name[:k] in _MONTHS), 0))


def _seconds(clock: tuple[str | None, ...], alone: bool) -> float | None:
    """Seconds of a day, less those of the zone. More than 24 hours stand `alone`: they are a duration; 24:00 ends a day."""
    hour, minute, second, fraction, half, zone = clock
    hours, minutes, seconds = int(hour or 0), int(minute or 0), int(second or 0)
    if half is not None:
        if not 1 <= hours <= 12:
            return None
        hours = hours % 12 + (12 if half == "p" else 0)
    if minutes > 59 or seconds > 60 or (hours > 23 and not alone and (hours, minutes, seconds) != (24, 0, 0)):
        return None
    whole = hours * 3600 + minutes * 60 + seconds
    if zone is not None and zone[0] in "+-":
        digits = zone[1:].replace(":", "").ljust(4, "0")
        away = int(digits[:2]) * 3600 + int(digits[2:]) * 60
        whole += away if zone[0] == "-" else -away
    elif zone is not None:
        whole -= _ZONES[zone] * 3600
    return whole + (float(f"0.{fraction}") if fraction else 0.0)


def is_date(text: str) -> bool:
    """Whether a text is a date or a time for either order."""
    return read_both(text) != (None, None)


def order_of(text: str) -> str | None:
    """The only order in which a text is a date; None: both, or none."""
    day, month = read_both(text)
    if (day is None) == (month is None):
        return None
    return DAY_FIRST if month is None else MONTH_FIRST


def is_time(text: str) -> bool:
    """Whether a text is a time of day or a duration: no date stands before it."""
    rest, clock = _parted(text)
    return clock is not None and (not rest or _FORMS.duration.fullmatch(rest) is not None)


def has_zone(text: str) -> bool:
    """Whether a time zone is written behind a time."""
    clock = _parted(text)[1]
    return clock is not None and clock[5] is not None


def parts_of(days: np.ndarray) -> dict[str, np.ndarray]:
    """Year, month, weekday (Monday is 0), hour with its fraction, and days since 1970-01-01; NaN stays NaN."""
    gone = np.isnan(days)
    known = np.where(gone, 0.0, days)
    whole = np.floor(known)
    when = whole.astype(np.int64).astype("datetime64[D]")
    year, month = when.astype("datetime64[Y]"), when.astype("datetime64[M]")
    found = {
        "year": year.astype(np.int64) + 1970.0,
        "month": (month - year).astype(np.int64) + 1.0,
        "weekday": (whole + 3.0) % 7.0,
        "hour": (known - whole) * 24.0,
        "days": known,
    }
    return {part: np.where(gone, np.nan, values) for part, values in found.items()}
