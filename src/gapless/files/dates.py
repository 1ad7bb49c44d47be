"""Dates and times as people write them, as days since 1970-01-01, and the parts that become features.

3/4/2020 can be read with the day or with the month first; a cell that only one order can read decides for its column. A time
zone that is written is taken off: such times are UTC.
"""

from __future__ import annotations

import re
from datetime import date
from functools import lru_cache

import numpy as np

DAY_FIRST, MONTH_FIRST = "dmy", "mdy"
OTHER_ORDER = {DAY_FIRST: MONTH_FIRST, MONTH_FIRST: DAY_FIRST}
PARTS = ("year", "month", "weekday", "hour", "days")
EPOCH = date(1970, 1, 1).toordinal()
SECONDS = 86400
CENTURY = 69  # two digits from here on are of the last century, as POSIX has it

_TIME = re.compile(
    r"([0-9]{1,2}):([0-9]{2})(?::([0-9]{2})(?:[.,]([0-9]{1,9}))?)?(?: ?([ap])\.?m\.?)?"
    r"(?: ?(z|utc|gmt|[-+][0-9]{2}(?::?[0-9]{2})?))?$"
)
_WEEKDAY = r"(?:[^\W\d_]{2,10}\.?,? +)?"
_YEAR_FIRST = re.compile(r"([0-9]{4})([-/.])([0-9]{1,2})\2([0-9]{1,2})")
_YEAR_LAST = re.compile(rf"{_WEEKDAY}([0-9]{{1,2}})([-/.]) ?([0-9]{{1,2}})\2 ?([0-9]{{4}}|[0-9]{{2}})")
_NAMED = re.compile(rf"{_WEEKDAY}([0-9]{{1,2}})\.?[- ]([^\W\d_]{{3,10}})\.?[- ,]+([0-9]{{4}}|[0-9]{{2}})")
_NAME_FIRST = re.compile(rf"{_WEEKDAY}([^\W\d_]{{3,10}})\.? ([0-9]{{1,2}})(?:st|nd|rd|th)?,? +([0-9]{{4}})")
_MONTH = re.compile(r"([0-9]{4})-([0-9]{2})")
_MONTHS = {
    name: month
    for month, names in enumerate(
        (
            "jan janv ene gen", "feb fev fév febr févr", "mar mär mrz mars märz maer", "apr avr abr", "may mai mag maj",
            "jun juin giu",
            "jul juil lug", "aug août aou aoû ago", "sep sept set", "oct okt ott out", "nov", "dec dez déc dic",
        ),
        1,
    )
    for name in names.split()
}  # fmt: skip


def read_date(text: str, order: str) -> float | None:
    """Days since 1970-01-01 of a date or a time (whose day is the first one); None where the text is none."""
    return read_both(text)[order != DAY_FIRST]


def read_both(text: str) -> tuple[float | None, float | None]:
    """The same for the day first, and for the month first."""
    if not any(sign in text for sign in "-/.: "):
        return None, None
    text, seconds = text.strip().lower(), 0.0
    if time := _TIME.search(text) if ":" in text else None:
        taken = _seconds(*time.groups())
        text = text[: time.start()]
        if taken is None or not text:
            alone = None if taken is None else taken / SECONDS
            return alone, alone
        seconds = taken
        if text[-1] == "t":
            text = text[:-1]
        elif text[-1] == " ":
            text = text.rstrip(" ").removesuffix(",")
        else:
            return None, None
    first, second = _days(text, time is None)
    return (
        None if first is None else (first * SECONDS + seconds) / SECONDS,
        None if second is None else (second * SECONDS + seconds) / SECONDS,
    )


@lru_cache(maxsize=1 << 16)
def _days(text: str, alone: bool) -> tuple[int | None, int | None]:
    """Days of a date without its time, with the day and with the month first. A year and a month are a date where they stand
    `alone`."""
    if found := _YEAR_FIRST.fullmatch(text):
        year, _, month, day = found.groups()
    elif found := _YEAR_LAST.fullmatch(text):
        day, mark, month, year = found.groups()
        if mark != ".":
            return _day(year, month, day), _day(year, day, month)
    elif found := _NAMED.fullmatch(text):
        day, name, year = found.groups()
        month = _month(name)
    elif found := _NAME_FIRST.fullmatch(text):
        name, day, year = found.groups()
        month = _month(name)
    elif alone and (found := _MONTH.fullmatch(text)):
        (year, month), day = found.groups(), "1"
    else:
        return None, None
    either = _day(year, month, day)
    return either, either


def _day(year: str, month: str, day: str) -> int | None:
    whole = int(year)
    if len(year) == 2:
        whole += 1900 if whole >= CENTURY else 2000
    try:
        return date(whole, int(month), int(day)).toordinal() - EPOCH
    except ValueError:
        return None


def _month(name: str) -> str:
    """The month of a name, by its first letters; 0: it is none."""
    return str(next((_MONTHS[name[:k]] for k in (4, 3) if name[:k] in _MONTHS), 0))


def _seconds(
    hour: str, minute: str, second: str | None, fraction: str | None, half: str | None, zone: str | None
) -> float | None:
    """Seconds of a day, less those of the zone."""
    hours, minutes, seconds = int(hour), int(minute), int(second or 0)
    if half is not None:
        if not 1 <= hours <= 12:
            return None
        hours = hours % 12 + (12 if half == "p" else 0)
    if hours > 23 or minutes > 59 or seconds > 60:
        return None
    whole = hours * 3600 + minutes * 60 + seconds
    if zone is not None and zone[0] in "+-":
        digits = zone[1:].replace(":", "").ljust(4, "0")
        away = int(digits[:2]) * 3600 + int(digits[2:]) * 60
        whole += away if zone[0] == "-" else -away
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


def has_zone(text: str) -> bool:
    """Whether a time zone is written behind a time."""
    time = _TIME.search(text.strip().lower())
    return time is not None and time.group(6) is not None


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
