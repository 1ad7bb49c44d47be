"""The form of the entry "bounds": every entry there, of its type, none beyond."""

from __future__ import annotations

from typing import Any

from ..document import Test, flaw_of, is_count, is_dict, is_digest, is_number, is_text, one_of

ORDERS = ("first order", "tandem", "disagreement", "Chebyshev-Cantelli", "C-bound")
#: Methods and the figures that their values follow from.
FIGURES: dict[str, dict[str, Test]] = {
    "held-out": {"errors": is_count, "n": is_count, "rows": is_digest, "labels": is_digest},
    "compression": {"k": is_count, "n": is_count},
    "PAC-Bayes": {"mu": is_number, "n": is_count},
    "VC": {"errors": is_count, "n": is_count, "dimension": is_count},
    "votes": {
        "orders": lambda v: isinstance(v, list) and len(v) > 0 and all(map(one_of(*ORDERS), v)),
        "gibbs": is_number,
        "tandem": is_number,
        "disagreement": is_number,
        "n": is_count,
        "pairs": is_count,
        "voters": is_count,
        "divergence": is_number,
        "pool": lambda v: v is None or (isinstance(v, list) and all(map(_is_cut, v))),
    },
    "leave-one-out": {"count": is_count, "n": is_count},
}
_BLOCK: dict[str, Test] = {
    "delta": is_number,
    "tried": is_count,
    "tested": is_count,
    "shared": lambda v: v is None or is_number(v),
    "rows": lambda v: isinstance(v, list) and all(map(is_dict, v)),
    "refused": lambda v: is_dict(v) and all(map(is_text, v.values())),
}
_ROW: dict[str, Test] = {
    "method": one_of(*FIGURES),
    "value": is_number,
    "randomised": lambda v: v is None or is_number(v),
    "delta": lambda v: v is None or is_number(v),
    "what": is_text,
    "assumes": lambda v: isinstance(v, list) and all(map(is_text, v)),
    "figures": is_dict,
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
        found = (
            found or flaw_of(row, _ROW, where) or flaw_of(row["figures"], FIGURES[row["method"]], where + "figures.")
        )
    if found:
        return found
    methods = [row["method"] for row in block["rows"]]
    if len(set(methods)) < len(methods):
        return "a method of bounds stands twice"
    return None
