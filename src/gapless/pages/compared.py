"""What the model was chosen from: the table of `gapless train`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gapless.pages.blocks import Block, Table, Text, number, percent, said
from gapless.pages.story import Story

__all__ = ["compared"]


def compared(story: Story) -> list[Block]:
    """Every model that was tried, the chosen one marked."""
    if not story.compared:
        return []
    rates = story.task == "classes"
    head = ["model", "setting", "validation", "held out", "interval", "bound", "gap", "seconds"]
    rows = [_row(each, rates) for each in story.compared]
    empty = [k for k in range(len(head)) if not any(row[k] for row in rows)]
    shown = [[cell for k, cell in enumerate(row) if k not in empty] for row in rows]
    what = "share of wrong rows" if rates else "root mean square error"
    words = f"What was tried, ★ what was chosen: {what}"
    tells = (
        "The smallest error on the validation rows, which are training rows, chose; the others are fitted all the same."
    )
    if rates and story.has_test:
        tells += " The rows held out chose nothing: each interval holds at 95 %, and so do all bounds together."
    return [
        Table([name for k, name in enumerate(head) if k not in empty], shown, words, names=2),
        Text(tells),
    ]


def _row(each: Mapping[str, Any], rates: bool) -> list[str]:
    def figure(value: Any) -> str:
        return "" if value is None else percent(value) if rates else number(value, 5)

    test = each.get("test") or {}
    interval = test.get("interval") if rates else None
    gap = each.get("relative_gap") if each.get("kind") == "gap" else None
    return [
        said(each["model"]) + (" ★" if each.get("chosen") else ""),
        said(each["setting"]),
        figure(each["validation"]),
        figure(test.get("error" if rates else "root_mean_square")),
        "" if interval is None else f"{percent(interval[0])} to {percent(interval[1])}",
        figure(each.get("bound")),
        said(each.get("kind", "")) if gap is None else f"{gap:.0e}".replace("-", "−"),
        f"{each['seconds']:.1f}",
    ]
