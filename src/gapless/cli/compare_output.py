"""The comparison of `gapless train` in words: a table of at most 100 columns, what its columns are, and what was chosen."""

from __future__ import annotations

from typing import Any

from gapless.cli.commands.compare import Comparison, Tried
from gapless.cli.interval import CONFIDENCE
from gapless.cli.output import print_line
from gapless.cli.scoring import CHANCE


def show(comparison: Comparison) -> None:
    """Print the comparison."""
    print()
    for text in table(comparison):
        print(text)
    print()
    best = comparison.best
    what = f"{comparison.scoring.words} on the validation rows ({comparison.validation} of the training rows)"
    print_line("chosen", f"{best.name} {best.words}: {what}")
    for label, told in sentences(comparison):
        print_line(label, told)
    for name, reason in comparison.left_out.items():
        print_line("not tried", f"{name}: {reason}")
    for k, told in enumerate(columns(comparison)):
        print_line("columns" if k == 0 else "", told)


def table(comparison: Comparison) -> list[str]:
    """A line for each model; a star marks the chosen one, the baseline is the last."""
    heads = ("", "model", "setting", "valid.", *_heads(comparison), "gap", "s")
    rows = [heads]
    for each in (*comparison.tried, comparison.baseline):
        mark = "*" if each is comparison.best else ""
        seconds = "" if each is comparison.baseline else f"{each.seconds:.1f}"
        valid = comparison.scoring.shown(each.validation)
        rows.append((mark, each.name, each.words[:20], valid, *_held_out(comparison, each), each.gap, seconds))
    widths = [max(len(row[k]) for row in rows) for k in range(len(heads))]
    return [
        "  ".join(f"{cell:<{w}}" if k < 3 else f"{cell:>{w}}" for k, (cell, w) in enumerate(zip(row, widths))).rstrip()
        for row in rows
    ]


def _heads(comparison: Comparison) -> tuple[str, ...]:
    if comparison.baseline.test is None:
        return ()
    if comparison.classes is None:
        return ("held out", "absolute", "R2")
    return ("held out", "bound", "balanced", "recall", "AUC")


def _held_out(comparison: Comparison, each: Tried) -> tuple[str, ...]:
    """The figures on the held-out rows."""
    if each.test is None:
        return ()
    if comparison.classes is None:
        r2 = each.test.r2
        return (
            f"{each.test.root_mean_square:.5g}",
            f"{each.test.mean_absolute:.5g}",
            "none" if r2 != r2 else f"{r2:.4f}",
        )
    shown = each.recalls or {}
    found, rows = shown[recalled(comparison, each)]
    return (
        f"{100 * each.test.rate:.2f} %",
        "" if each.bound is None else f"{100 * each.bound:.2f} %",
        f"{100 * each.balanced_error:.2f} %" if each.balanced_error is not None else "",
        f"{100 * found / rows:.1f} %" if rows else "none",
        "none" if each.auc is None else f"{each.auc:.3f}",
    )


def recalled(comparison: Comparison, each: Tried) -> Any:
    """The class whose recall a line shows: the rarer of two, of more the one that is found least among the held-out rows."""
    assert each.recalls is not None
    assert comparison.baseline.model is not None
    shares = dict(zip(comparison.baseline.model.classes_.tolist(), comparison.baseline.model.class_prior_.tolist()))
    if len(shares) == 2:
        first, second = shares
        return first if shares[first] < shares[second] else second
    there = {label: (k / n, -n) for label, (k, n) in each.recalls.items() if n}
    return min(there, key=lambda label: there[label])


def columns(comparison: Comparison) -> list[str]:
    """What the columns of the table are."""
    name = comparison.scoring.name
    told = [
        f"s: seconds; gap: certified relative gap, or what stands in its place; valid.: {name} on the validation rows"
    ]
    held = comparison.baseline.test
    if held is None:
        return told
    if comparison.classes is None:
        figures = "held out: root mean square error, absolute: mean absolute error, R2"
        return [f"{told[0]}; on the {count(held.rows, 'held-out row')}: {figures}"]
    told[0] += f"; held out: error on the {count(held.rows, 'held-out row')}"
    told[0] += (
        f"; bound: with {100 * CONFIDENCE:g} % confidence all of the true errors are below theirs (exact binomial, "
        f"{count(len(comparison.tried), 'model')} at once; the interval below is of the chosen model alone)"
    )
    if len(comparison.classes) == 2:
        label = recalled(comparison, comparison.best)
        rows = (comparison.best.recalls or {})[label][1]
        recall = f"recall: none, as no held-out row is of {_name(label)}, the rarer class"
        if rows:
            recall = f"recall: share of the {count(rows, 'held-out row')} of {_name(label)}, the rarer class, that is called so"
    else:
        recall = "recall: share of a class's rows that is called so, of the class where that is least"
    told.append(
        f"balanced: mean error of the classes; {recall}; AUC: chance that a row of a class scores above a row of another"
    )
    return told


def sentences(comparison: Comparison) -> list[tuple[str, str]]:
    """(label, sentence): rare classes, and the baseline."""
    told: list[tuple[str, str]] = []
    best, scoring = comparison.best, comparison.scoring
    if comparison.rarest is not None:
        label, rows = comparison.rarest
        share = f"{rows} of the {comparison.rows} training rows ({100 * rows / comparison.rows:.2g} %)"
        text = f"{_name(label)} has {share}: weights that balance the classes were tried too"
        if rows == 1:
            text += "; one row cannot be learned from and validated on, so that no validation score shows this class"
        if scoring.name == "error":
            text += "; --scoring balanced_error chooses by the mean error of the classes, --scoring auc by the order of scores"
        told.append(("rare class", text))
    chance = comparison.chance
    if best.answers is None or comparison.baseline.answers is None:
        return told
    ours, theirs = scoring.of([best.answers]), scoring.of([comparison.baseline.answers])
    which = "the mean of the training targets"
    if comparison.classes is not None:
        which = f"always {_name(comparison.baseline.model.predict([[0]])[0])}"
    both = f"{scoring.name} {scoring.shown(theirs)} on the held-out rows, {best.name} {scoring.shown(ours)}"
    text = f"{which}, whatever the features: {both}"
    if chance is None:
        told.append(("baseline", text))
    elif chance.beaten:
        told.append(("baseline", f"{text}: better by more than chance (p = {chance.p_value:.2g}; {chance.how})"))
    else:
        text += ": NOT better"
        if chance.better:
            text += f" by more than chance (p = {chance.p_value:.2g}, above {CHANCE:g}; {chance.how})"
        rarest = None if comparison.rarest is None else comparison.rarest[0]
        if rarest is not None and not (best.recalls or {}).get(rarest, (0, 1))[1]:
            text += (
                f"; no held-out row is of {_name(rarest)}, so that none of the figures says what a model knows of it"
            )
        elif scoring.name == "error" and comparison.rarest is not None:
            text += "; the error cannot show what a model knows of a rare class: see balanced, recall and AUC"
        told.append(("baseline", text))
    return told


def count(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def _name(label: Any) -> str:
    longest_label = 40  # characters of a label in a sentence
    return repr(label.item() if hasattr(label, "item") else label)[:longest_label]
