"""What the cells of a column mean that are no plain numbers: numbers of another notation, dates, words for no value, texts."""

from __future__ import annotations

import math
from collections import Counter
from typing import Literal, NamedTuple

from gapless.files.cells.dates import DAY_FIRST, MONTH_FIRST, has_zone, is_time, read_both
from gapless.files.cells.labels import says_yes, strict_float
from gapless.files.cells.notation import COMMA, POINT, is_missing, read_both_marks, signs_and_groups, without_unit
from gapless.files.problems import listed


class How:
    """How a cell was read."""

    missing = "missing"  # as no value
    against = "against"  # against the column's choice alone
    sure = "sure"  # by the column's choice alone
    same = "same"  # by both choices, alike
    chosen = "chosen"  # by both, and the column's choice decided
    bad = "bad"  # not at all
    infinite = "infinite"
    flag = "flag"  # a word for yes or no: 1 or 0


class Style(NamedTuple):
    """How the cells of a column are written."""

    kind: Literal["number", "date"] = "number"
    choice: str = POINT  # the decimal mark, or the order of day and month
    unit: str | None = None  # behind numbers; "days|day": either
    missing: frozenset[str] = frozenset()  # words for no value besides the usual ones
    asked: bool = False  # by the user: no cell decides against it

    def other(self) -> Style:
        """The same column with the other mark, or the other order."""
        turned = {POINT: COMMA, COMMA: POINT, DAY_FIRST: MONTH_FIRST, MONTH_FIRST: DAY_FIRST}
        return self._replace(choice=turned[self.choice])

    def read(self, text: str) -> tuple[float, str]:
        """(the value, how it was read) of a cell."""
        if self.kind == "date":
            own, other = read_both(text)
            own, other = (own, other) if self.choice == DAY_FIRST else (other, own)
        else:
            own, other = self._numbers(text)
        if own is None and other is None:
            return self._no_number(text)
        if own is None:
            return float(other or 0.0), How.against
        return own, How.sure if other is None else How.same if own == other else How.chosen

    def _numbers(self, text: str) -> tuple[float | None, float | None]:
        point, comma = read_both_marks(without_unit(text, self.unit))
        return (point, comma) if self.choice == POINT else (comma, point)

    def _no_number(self, text: str) -> tuple[float, str]:
        if is_missing(text, self.missing):
            return math.nan, How.missing
        if self.kind == "number":
            if (said := says_yes(text)) is not None:
                return float(said), How.flag
            try:
                value = strict_float(text)
            except ValueError:
                return math.nan, How.bad
            return (math.nan, How.missing) if math.isnan(value) else (value, How.infinite)
        return math.nan, How.missing if text.startswith(("0000-00-00", "00.00.0000", "00/00/0000")) else How.bad


class Tally:
    """What was found in the odd cells of a column, by all cells so far."""

    def __init__(self) -> None:
        self.known: dict[str, tuple[float, str]] = {}
        self.times: Counter[str] = Counter()  # of the texts known
        self.counts: Counter[str] = Counter()  # of what was forgotten since
        self.examples: dict[str, Counter[str]] = {}
        self.signs: set[str] = set()
        self.groups: set[str] = set()
        self.zones = 0
        self.dated = False

    def read(self, text: str, style: Style) -> tuple[float, str]:
        most_known = 1 << 18  # different cells that are remembered
        found = self.known.get(text)
        if found is None:
            if len(self.known) >= most_known:
                self._fold()
            found = self.known[text] = style.read(text)
            self.dated = style.kind == "date"
        self.times[text] += 1
        return found

    def _fold(self) -> None:
        most_examples = 50  # texts
        zone_signs = frozenset("+-zZcCtT")
        for text, (value, how) in self.known.items():
            times = self.times[text]
            self.counts[how] += times
            shown = self.examples.get(how)
            if shown is None:
                shown = self.examples[how] = Counter()
            if len(shown) < most_examples or text in shown:
                shown[text] += times
            if how in (How.missing, How.bad, How.flag):
                continue
            if self.dated:
                self.zones += times * (not zone_signs.isdisjoint(text[-6:]) and has_zone(text))
            else:
                signs, groups = signs_and_groups(text, value)
                self.signs |= signs
                self.groups |= groups
        self.known.clear()
        self.times.clear()

    def add(self, other: Tally) -> None:
        """What another worker found."""
        self._fold()
        other._fold()
        self.counts += other.counts
        self.signs |= other.signs
        self.groups |= other.groups
        self.zones += other.zones
        for how, shown in other.examples.items():
            self.examples.setdefault(how, Counter()).update(shown)

    def shown(self, how: str) -> str:
        """Some texts that were read so, the commonest first."""
        texts = [text for text, _ in self.examples.get(how, Counter()).most_common()]
        return listed([text[:40] for text in texts], 3)


def facts(
    style: Style, tally: Tally, cells: int, sampled: bool, doubt: str | None = None, fixed: bool = False
) -> list[str]:
    """What is said of a column of numbers or dates. `sampled`: its first cells were seen to be of this style; `doubt`: a cell
    that could be read either way; `fixed`: a model says what the column holds. What was taken as missing without a doubt is said
    of all columns together (`sentences`)."""
    dated, bad = style.kind == "date", tally.counts[How.bad]
    said = _of_dates(style, tally, sampled) if dated else _of_numbers(style, tally, cells, sampled, doubt)
    if bad:
        what = "dates" if dated else "numbers"
        taken = "taken as missing" + ("" if fixed else " (--category makes texts of the column)")
        be = f"is no {what[:-1]}" if bad == 1 else f"are no {what}"
        said.append(f"{bad} of {cells} cells {be} ({tally.shown(How.bad)}), {taken}")
    return said


def _of_dates(style: Style, tally: Tally, sampled: bool) -> list[str]:
    counts = tally.counts
    texts = [text for how in (How.same, How.sure, How.chosen) for text in tally.examples.get(how, ())]
    times = bool(texts) and all(map(is_time, texts))
    said = [
        "times, as hour (and days, where they are longer)"
        if times
        else "dates, as year, month, weekday, hour and days (those that differ)"
    ]
    order = "day first" if style.choice == DAY_FIRST else "month first"
    if counts[How.chosen] and (counts[How.sure] or sampled or style.asked):
        said.append(f"dates with the {order}")
    elif counts[How.chosen]:
        leave = "leaves" if len(tally.examples[How.chosen]) == 1 else "leave"
        said.append(
            f"dates with the {order}, which {tally.shown(How.chosen)} {leave} open (--date-order says otherwise)"
        )
    if counts[How.against]:
        said.append(f"{counts[How.against]} dates the other way round ({tally.shown(How.against)})")
    if tally.zones:
        said.append("times with a zone, in UTC")
    return said


def _of_numbers(style: Style, tally: Tally, cells: int, sampled: bool, doubt: str | None) -> list[str]:
    said: list[str] = []
    counts = tally.counts
    mark, other = ("comma", "point") if style.choice == COMMA else ("point", "comma")
    if style.choice == COMMA and (sampled or counts[How.sure] or counts[How.against]):
        said.append("decimal commas")
    if (counts[How.chosen] or doubt) and not (sampled or style.asked):
        open_ = tally.shown(How.chosen) if counts[How.chosen] else repr(doubt)
        said.append(f"{open_} read with a decimal {mark} (--decimal says otherwise)")
    if tally.groups:
        names = {".": "points", ",": "commas", "'": "apostrophes", " ": "spaces"}
        said.append(f"thousands parted by {' and '.join(names[sign] for sign in sorted(tally.groups))}")
    if counts[How.against]:
        said.append(f"{counts[How.against]} of {cells} cells with a decimal {other} ({tally.shown(How.against)})")
    money = sorted(tally.signs - {"%"})
    if money:
        differ = ", though they differ" if len({sign.lower() for sign in money}) > 1 else ""
        said.append(f"{', '.join(money)} left out{differ}")
    if "%" in tally.signs:
        said.append("per cents (12 % is 12)")
    if counts[How.flag]:
        said.append(f"{counts[How.flag]} words for yes and no ({tally.shown(How.flag)}), as 1 and 0")
    if style.unit is not None:
        said.append(f"the unit {' or '.join(repr(each.strip()) for each in style.unit.split('|'))} left out")
    return said


def sentences(said: dict[str, list[str]], tallies: dict[str, Tally]) -> list[str]:
    """One sentence for each fact, with the columns that it is true of; and one for all cells that stand for no value."""
    columns: dict[str, list[str]] = {}
    for name, each in said.items():
        for fact in each:
            columns.setdefault(fact, []).append(name)
    found = [f"{listed(names, 4)}: {fact}" for fact, names in columns.items()]
    gone = {name: tally for name, tally in tallies.items() if tally.counts[How.missing]}
    if gone:
        words: Counter[str] = Counter()
        for tally in gone.values():
            words.update(tally.examples[How.missing])
        most = 6  # words that are shown
        shown = ", ".join(f"{word!r} {times} time{'s' * (times > 1)}" for word, times in words.most_common(most))
        more = "" if len(words) <= most else f" and {len(words) - most} others"
        total = sum(tally.counts[How.missing] for tally in gone.values())
        cells = "cell" if total == 1 else "cells"
        found.append(f"{listed([*gone], 4)}: {total} {cells} for no value ({shown}{more})")
    return found
