"""The form of the entry "bounds": every entry there, of its type, none beyond."""

from __future__ import annotations

from typing import Any

from ..form.entries import (
    is_count,
    is_dict,
    is_digest,
    is_finite,
    is_number,
    is_size,
    is_text,
    list_of,
    number,
    one_of,
    or_none,
)
from ..form.schema import Choice, Table, derived, recomputed, unchecked


def _chance(value: Any) -> bool:
    return is_finite(value) and 0.0 < number(value) < 1.0


def _is_cut(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and is_count(value[0]) and is_number(value[1])


_ROWS = recomputed(lambda v: is_count(v) and v > 0, "the rows")
_OF_VOTERS = "the voters on the rows that they have not seen"
#: For the schema of every document.
TABLES: dict[str, Table | Choice] = {
    "bounds.": {
        "delta": derived(_chance, "the shares of the rows together are no more"),
        "tried": derived(lambda v: is_count(v) and v > 0, "at least tuning.candidates"),
        "tested": derived(lambda v: is_count(v) and v > 0, "at least 1"),
        "shared": recomputed(or_none(is_size), "the test rows, where these are given; else it is not checked"),
        "rows": derived(list_of(is_dict), "entry by entry below"),
        "refused": unchecked(lambda v: is_dict(v) and all(map(is_text, v.values())), "words on why there is no bound"),
    },
    "bounds.rows[].": {
        "method": derived(
            one_of("held-out", "compression", "PAC-Bayes", "VC", "votes", "leave-one-out"), "the figures"
        ),
        "value": recomputed(is_size, "the figures, by outward rounding"),
        "randomised": recomputed(or_none(is_number), "the figures, by outward rounding"),
        "delta": derived(or_none(_chance), "bounds.delta"),
        "what": unchecked(is_text, "words beside the value"),
        "assumes": unchecked(list_of(is_text), "words beside the value"),
        "figures": derived(is_dict, "entry by entry below"),
    },
    "bounds.rows[].figures.": Choice(
        lambda row, figures: row["method"],
        {
            "held-out": {
                "errors": recomputed(is_count, "the model on the test rows, where these are given"),
                "n": recomputed(is_count, "the test rows, where these are given"),
                "rows": recomputed(is_digest, "the test rows, where these are given; others than those of the fit"),
                "labels": recomputed(is_digest, "the test rows, where these are given"),
            },
            "compression": {"k": recomputed(is_count, "the rows that determine the model"), "n": _ROWS},
            "PAC-Bayes": {"mu": unchecked(is_size, "any number will do: it was chosen before the rows"), "n": _ROWS},
            "VC": {
                "errors": recomputed(is_count, "the model on the rows"),
                "n": _ROWS,
                "dimension": recomputed(is_count, "the columns"),
            },
            "votes": {
                "orders": derived(
                    list_of(one_of("first order", "tandem", "disagreement", "Chebyshev-Cantelli", "C-bound"), 1),
                    "the classes",
                ),
                "gibbs": recomputed(is_finite, _OF_VOTERS),
                "tandem": recomputed(is_finite, _OF_VOTERS),
                "disagreement": recomputed(is_finite, _OF_VOTERS),
                "n": _ROWS,
                "pairs": recomputed(is_count, _OF_VOTERS),
                "voters": recomputed(is_count, _OF_VOTERS),
                "divergence": recomputed(is_size, "the weights of the voters"),
                "pool": recomputed(or_none(list_of(_is_cut)), "holds every stump; that no row chose it is not checked"),
            },
            "leave-one-out": {"count": recomputed(is_count, "the support vectors, or the margins"), "n": _ROWS},
        },
    ),
}


def defect(document: Any) -> str | None:
    """The first thing wrong with the entries of the bounds taken together, in words; None where there is nothing."""
    methods = [row["method"] for row in document.get("bounds", {}).get("rows", [])]
    return "a method of bounds stands twice" if len(set(methods)) < len(methods) else None
