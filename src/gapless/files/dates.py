"""Dates and times as people write them, as days since 1970-01-01, and the parts that become features.

3/4/2020 can be read with the day or with the month first; a cell that only one order can read decides for its column. A time
zone that is written is taken off: such times are UTC.
"""

from __future__ import annotations

import re
from datetime import date

import numpy as np

DAY_FIRST, MONTH_FIRST = "dmy", "mdy"
OTHER_ORDER = {DAY_FIRST: MONTH_FIRST, MONTH_FIRST: DAY_FIRST}
PARTS = ("year", "month", "weekday", "hour", "days")
EPOCH = date(1970, 1, 1).toordinal()
SECONDS = 86400
CENTURY = 69  # two digits from here on are of the last century, as POSIX has it

_TIME = (
    r"([0-9]{1,2}):([0-9]{2})(?::([0-9]{2})(?:[.,]([0-9]{1,9}))?)?(?: ?([ap])\.?m\.?)?"
    r"(?: ?(z|utc|gmt|[-+][0-9]{2}(?::?[0-9]{2})?))?"
)
_BEHIND = rf"(?:(?:t|,? +){_TIME})?"
_WEEKDAY = r"(?:[^\W\d_]{2,10}\.?,? +)?"
_YEAR_FIRST = re.compile(rf"([0-9]{{4}})([-/.])([0-9]{{1,2}})\2([0-9]{{1,2}}){_BEHIND}")
_YEAR_LAST = re.compile(rf"{_WEEKDAY}([0-9]{{1,2}})([-/.]) ?([0-9]{{1,2}})\2 ?([0-9]{{4}}|[0-9]{{2}}){_BEHIND}")
_NAMED = re.compile(rf"{_WEEKDAY}([0-9]{{1,2}})\.?[- ]([^\W\d_]{{3,10}})\.?[- ,]+([0-9]{{4}}|[0-9]{{2}}){_BEHIND}")
_NAME_FIRST = re.compile(rf"{_WEEKDAY}([^\W\d_]{{3,10}})\.? ([0-9]{{1,2}})(?:st|nd|rd|th)?,? +([0-9]{{4}}){_BEHIND}")
_MONTH = re.compile(r"([0-9]{4})-([0-9]{2})")
_TIME_ALONE = re.compile(_TIME)
_MONTHS = {
    name: month
    for month, names in enumerate(
        (
            "jan janv ene gen", "feb fev fév febr févr", "mar mär mrz mars märz maer", "apr avr abr", "may mai mag maj", "jun juin giu",
            "jul juil lug", "aug août aou aoû ago", "sep sept set", "oct okt ott out", "nov", "dec dez déc dic",
        ),
        1,
    )
    for name in names.split()
}  # fmt: skip


def read_date(text: str, order: str) -> float | None:
    """Days since 1970-01-01 of a date or a time (whose day is the first one); None where the text is none."""
    if not any(sign in text for sign in "-/.: "):
        return None
    text = text.strip().lower()
    if found := _YEAR_FIRST.fullmatch(text):
        year, _, month, day, *time = found.groups()
    elif found := _YEAR_LAST.fullmatch(text):
        first, mark, second, year, *time = found.groups()
        day, month = (first, second) if order == DAY_FIRST or mark == "." else (second, first)
    elif found := _NAMED.fullmatch(text):
        day, name, year, *time = found.groups()
        month = _month(name)
    elif found := _NAME_FIRST.fullmatch(text):
        name, day, year, *time = found.groups()
        month = _month(name)
    elif found := _MONTH.fullmatch(text):
        (year, month), day, time = found.groups(), "1", []
    elif found := _TIME_ALONE.fullmatch(text):
        seconds = _seconds(*found.groups())
        return None if seconds is None else seconds / SECONDS
    else:
        return None
    seconds = _seconds(*time) if time and time[0] is not None else 0.0
    whole = int(year)
    if len(year) == 2:
        whole += 1900 if whole >= CENTURY else 2000
    try:
        days = date(whole, int(month), int(day)).toordinal() - EPOCH
    except ValueError:
        return None
    return None if seconds is None else (days * SECONDS + seconds) / SECONDS


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
    return read_date(text, DAY_FIRST) is not None or read_date(text, MONTH_FIRST) is not None


def order_of(text: str) -> str | None:
    """The only order in which a text is a date; None: both, or none."""
    day, month = read_date(text, DAY_FIRST), read_date(text, MONTH_FIRST)
    if (day is None) == (month is None):
        return None
    return DAY_FIRST if month is None else MONTH_FIRST


def has_zone(text: str) -> bool:
    return (
        re.search(r":[0-9]{2}(?:[.,][0-9]+)? ?(?:z|utc|gmt|[-+][0-9]{2}(?::?[0-9]{2})?)$", text.strip().lower())
        is not None
    )


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
