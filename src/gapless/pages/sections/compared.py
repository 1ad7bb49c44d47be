"""What the model was chosen from: the table of `gapless train`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gapless.pages.blocks import Block, Table, Text, number, percent, said
from gapless.pages.story import Story

__all__ = ["compared"]


def compared(story: Story) -> list[Block]:
    """Every model that was tried, the chosen one marked; columns without a value in any line are left out."""
    if not story.compared:
        return []
    rates = story.task == "classes"
    heads = [head for head, _ in COLUMNS]
    rows = [[cell(each, rates) for _, cell in COLUMNS] for each in story.compared]
    named = {label for label, _ in map(_recalled, story.compared) if label}
    if len(named) == 1:  # the class goes into the head
        place = heads.index("recall")
        heads[place] = f"recall of “{named.pop()}”"
        for row, each in zip(rows, story.compared):
            row[place] = _recalled(each)[1]
    shown = [k for k in range(len(heads)) if any(row[k] for row in rows)]
    what = "share of wrong rows" if rates else "root mean square error"
    caption = f"What was compared: {what}" + (
        "; ★ the chosen model" if any(each.get("chosen") for each in story.compared) else ""
    )
    table = Table([heads[k] for k in shown], [[row[k] for k in shown] for row in rows], caption, names=2)
    return [table, Text(_in_words(story, rates, [heads[k] for k in shown]))]


def _in_words(story: Story, rates: bool, heads: list[str]) -> str:
    """What each column is, for the columns that are there."""
    models = [each for each in story.compared or () if not is_baseline(each)]
    told = []
    scoring = models[0].get("scoring") if models else None
    if "validation" in heads and len(models) > 1:
        best = f"best {str(scoring).replace('_', ' ')}" if scoring not in (None, "error", "rmse") else "smallest error"
        told.append(f"The {best} on the validation rows, a part of the training rows, chose the model.")
    if "held out" in heads:
        told.append("The rows held out chose nothing.")
    if "interval" in heads:
        told.append("Each interval is the exact 95 % interval of that model's error.")
    if "all below" in heads and len(models) > 1:
        told.append(
            "“All below” is another figure: with 95 % confidence the errors of all models are below theirs at once, "
            "whichever a reader picks."
        )
    if "balanced error" in heads:
        told.append("The balanced error is the mean over the classes of the share of their rows that is not found.")
    if any(head.startswith("recall") for head in heads):
        few = "rarer class" if len(story.classes) == 2 else "class that is found least"
        told.append(f"Recall is the share that is found of the rows of the {few}.")
    if any(each.get("balanced") for each in models):
        told.append("“Balanced” models weigh every class the same, so that a rare class counts.")
    if "AUC" in heads:
        told.append("AUC is how often a row of a class has a higher score for it than a row of another class.")
    if len(models) < len(story.compared or ()):
        always = "gives the commonest class" if rates else "predicts the mean"
        told.append(f"The baseline looks at no column: it always {always}.")
    return " ".join(told)


def is_baseline(each: Mapping[str, Any]) -> bool:
    return each.get("kind") == "constant" or each.get("model") == "baseline"


def _figure(value: Any, rates: bool) -> str:
    return "" if value is None or value != value else percent(value) if rates else number(value, 5)


def _validation(each: Mapping[str, Any], rates: bool) -> str:
    share = each.get("scoring") in ("error", "balanced_error") if each.get("scoring") else rates
    return _figure(each.get("validation"), share)


def _of_test(*names: str) -> Callable[[Mapping[str, Any], bool], str]:
    """The first of these figures that the rows held out have."""

    def cell(each: Mapping[str, Any], rates: bool) -> str:
        test = each.get("test") or {}
        return next((_figure(test[name], rates) for name in names if test.get(name) is not None), "")

    return cell


def _interval(each: Mapping[str, Any], rates: bool) -> str:
    found = (each.get("test") or {}).get("interval") if rates else None
    return "" if found is None else f"{percent(found[0])} to {percent(found[1])}"


def _recalled(each: Mapping[str, Any]) -> tuple[str, str]:
    """(class, share found): of two classes the rarer one, of more the one that is found least."""
    both = list(each.get("recall") or ())
    classes = [entry for entry in both if entry["rows"]]
    if not classes:
        return "", ""
    if len(both) == 2 and len(classes) == 1:  # nobody knows how many would be found
        return said(next(entry["class"] for entry in both if not entry["rows"]), 24), "none"
    least = (
        min(classes, key=lambda entry: entry["rows"])
        if len(classes) <= 2
        else min(classes, key=lambda entry: (entry["found"] / entry["rows"], -entry["rows"]))
    )
    return said(least["class"], 24), percent(least["found"] / least["rows"])


def _recall(each: Mapping[str, Any], rates: bool) -> str:
    return ": ".join(part for part in _recalled(each) if part)


def _class_weight(each: Mapping[str, Any], rates: bool) -> str:
    """Where the setting does not name it."""
    weight = "balanced" if each.get("balanced") else said(each.get("class_weight") or "")
    return "" if weight in str(each.get("setting") or "") else weight


def _gap(each: Mapping[str, Any], rates: bool) -> str:
    if is_baseline(each):
        return ""
    gap = each.get("relative_gap") if each.get("kind") == "gap" else None
    if gap is None:
        return said(each.get("kind") or "")
    return f"{gap:.0e}".replace("-", "−") if gap > 0 else "0"


#: Head and cell of each column; a cell is empty where the document has no such figure.
COLUMNS: tuple[tuple[str, Callable[[Mapping[str, Any], bool], str]], ...] = (
    ("model", lambda each, rates: said(each["model"]) + (" ★" if each.get("chosen") else "")),
    ("setting", lambda each, rates: said(each.get("setting") or "")),
    ("class weight", _class_weight),
    ("validation", _validation),
    ("held out", _of_test("error", "root_mean_square")),
    ("interval", _interval),
    ("all below", lambda each, rates: _figure(each.get("bound"), rates)),
    ("balanced error", lambda each, rates: _figure(each.get("balanced_error"), True)),
    ("recall", _recall),
    ("AUC", lambda each, rates: "" if each.get("auc") is None else number(each["auc"], 4)),
    ("mean |error|", _of_test("mean_absolute")),
    ("R²", _of_test("r2")),
    ("gap", _gap),
    (
        "seconds",
        lambda each, rates: "" if is_baseline(each) or each.get("seconds") is None else f"{each['seconds']:.1f}",
    ),
)
