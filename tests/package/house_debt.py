"""The list of exceptions: what was over a limit of `house_metrics` when the limits came, and still is.

A line of house_debt.jsonl is [kind, entry, value]. The list can only get shorter, and git merges it by taking the lines of both
sides: `python -m tests.package.house_metrics --shorten` then takes out what is paid.
"""

from __future__ import annotations

import json
from pathlib import Path

from tests.package.house_metrics import LIMITS, Found

DEBT = Path(__file__).with_name("house_debt.jsonl")
#: By how much an entry of the list may be over its old value: a line more in a long file is not worth a word.
SLACK = {"file": 20}


def read_debt(file: Path = DEBT) -> Found:
    """Lines of [kind, entry, value]; where two lines name an entry (a merge took both), the smaller value holds."""
    found: Found = {kind: {} for kind in LIMITS}
    for line in file.read_text("utf-8").splitlines():
        kind, name, value = json.loads(line)
        found[kind][name] = min(value, found[kind].get(name, value))
    return found


def write_debt(found: Found, file: Path = DEBT) -> None:
    lines = [json.dumps([kind, name, entries[name]]) for kind, entries in found.items() for name in sorted(entries)]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def grown(found: Found, debt: Found) -> list[str]:
    """What is over a limit and not in the debt, or by more than there."""
    return [
        f"{kind}: {name} is {value}, the limit is {LIMITS[kind][1]}"
        + (f", and it was {debt[kind][name]}" if name in debt[kind] else "")
        for kind, entries in found.items()
        for name, value in entries.items()
        if value > (debt[kind][name] + SLACK.get(kind, 0) if name in debt[kind] else LIMITS[kind][1])
    ]


def paid(found: Found, debt: Found) -> list[str]:
    """Entries of the debt that are no longer over."""
    return [f"{kind}: {name}" for kind, entries in debt.items() for name in entries if name not in found[kind]]


def shorten(found: Found, debt: Found) -> Found:
    """The debt without what is paid, and with smaller values. An entry that was renamed takes the place of one that is gone:
    no kind gets more entries, nor a greater worst one."""
    left: Found = {}
    for kind, entries in found.items():
        known = {name: min(value, debt[kind][name]) for name, value in entries.items() if name in debt[kind]}
        gone = sorted((value for name, value in debt[kind].items() if name not in entries), reverse=True)
        for name, value in sorted(entries.items(), key=lambda pair: -pair[1]):
            if name not in known and gone and value <= gone[0]:
                known[name] = value
                gone.pop(0)
        left[kind] = known
    return left
