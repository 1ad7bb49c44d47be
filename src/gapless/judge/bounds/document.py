"""The form of the entry "bounds": every entry there, of its type, none beyond."""

from __future__ import annotations

from typing import Any

from ..document import (
    Table,
    flaw_of,
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
from ..schema import derived, recomputed, unchecked

ORDERS = ("first order", "tandem", "disagreement", "Chebyshev-Cantelli", "C-bound")


def _chance(value: Any) -> bool:
    return is_finite(value) and 0.0 < number(value) < 1.0


_N = recomputed(lambda v: is_count(v) and v > 0, "the rows")
_OF_VOTERS = "the voters on the rows that they have not seen"
#: Methods and the figures that their values follow from.
FIGURES: dict[str, Table] = {
    "held-out": {
        "errors": recomputed(is_count, "the model on the test rows, where these are given"),
        "n": recomputed(is_count, "the test rows, where these are given"),
        "rows": recomputed(is_digest, "the test rows, where these are given; others than those of the fit"),
        "labels": recomputed(is_digest, "the test rows, where these are given"),
    },
    "compression": {"k": recomputed(is_count, "the rows that determine the model"), "n": _N},
    "PAC-Bayes": {"mu": unchecked(is_size, "any number will do: it was chosen before the rows"), "n": _N},
    "VC": {
        "errors": recomputed(is_count, "the model on the rows"),
        "n": _N,
        "dimension": recomputed(is_count, "the columns"),
    },
    "votes": {
        "orders": derived(list_of(one_of(*ORDERS), 1), "the classes"),
        "gibbs": recomputed(is_finite, _OF_VOTERS),
        "tandem": recomputed(is_finite, _OF_VOTERS),
        "disagreement": recomputed(is_finite, _OF_VOTERS),
        "n": _N,
        "pairs": recomputed(is_count, _OF_VOTERS),
        "voters": recomputed(is_count, _OF_VOTERS),
        "divergence": recomputed(is_size, "the weights of the voters"),
        "pool": recomputed(
            or_none(list_of(lambda v: _is_cut(v))), "holds every stump; that no row chose it is not checked"
        ),
    },
    "leave-one-out": {"count": recomputed(is_count, "the support vectors, or the margins"), "n": _N},
}
_BLOCK: Table = {
    "delta": derived(_chance, "the shares of the rows together are no more"),
    "tried": derived(lambda v: is_count(v) and v > 0, "at least tuning.candidates"),
    "tested": derived(lambda v: is_count(v) and v > 0, "at least 1"),
    "shared": recomputed(or_none(is_size), "the test rows, where these are given; else it is not checked"),
    "rows": derived(list_of(is_dict), "entry by entry below"),
    "refused": unchecked(lambda v: is_dict(v) and all(map(is_text, v.values())), "words on why there is no bound"),
}
_ROW: Table = {
    "method": derived(one_of(*FIGURES), "the figures"),
    "value": recomputed(is_size, "the figures, by outward rounding"),
    "randomised": recomputed(or_none(is_number), "the figures, by outward rounding"),
    "delta": derived(or_none(_chance), "bounds.delta"),
    "what": unchecked(is_text, "words beside the value"),
    "assumes": unchecked(list_of(is_text), "words beside the value"),
    "figures": derived(is_dict, "entry by entry below"),
}
#: For the schema of every document.
TABLES: dict[str, Table] = {
    "bounds.": _BLOCK,
    "bounds.rows[].": _ROW,
    "bounds.rows[].figures.": {key: entry for table in FIGURES.values() for key, entry in table.items()},
}


def _is_cut(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and is_count(value[0]) and is_number(value[1])


def flaw(block: Any) -> str | None:
    """The first thing wrong with the form of the entry, in words; None where there is nothing."""
    if not is_dict(block):
        return "the entry bounds is no object"
    found = flaw_of(block, _BLOCK, "bounds.")
    for k, row in enumerate([] if found else block["rows"]):
        where = f"bounds.rows[{k}]."
        found = found or flaw_of(row, _ROW, where)
        found = found or flaw_of(row["figures"], FIGURES[row["method"]], where + "figures.")
    if found:
        return found
    methods = [row["method"] for row in block["rows"]]
    if len(set(methods)) < len(methods):
        return "a method of bounds stands twice"
    return None
