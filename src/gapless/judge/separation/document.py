"""The form of a proof of separation. Numbers are floats, taken as they are, or "numerator/denominator"."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from ..form.document import SHARED, defect_of_blocks, defect_of_classes
from ..form.entries import is_count, is_dict, is_flag, is_names, is_text, list_of, one_of, or_none, shown
from ..form.schema import Entry, Test


def is_exact(value: Any) -> bool:
    """A finite float, or a ratio of integers."""
    if isinstance(value, str):
        ratio = re.fullmatch(r"-?[0-9]{1,200000}/([0-9]{1,200000})", value)
        return ratio is not None and ratio[1].strip("0") != ""
    return isinstance(value, float | int) and not isinstance(value, bool) and abs(value) < 1e309 and value == value


is_lines = list_of(list_of(is_exact))
_is_length = or_none(lambda value: isinstance(value, float) and 0.0 <= value < 1e309)


TABLES: dict[str, Mapping[str, Test | Entry]] = {
    "": {
        "format": one_of("gapless separation"),
        "schema": is_count,
        "version": is_text,
        "classes": is_dict,
        "n_features": is_count,
        "feature_names": is_names,
        "certificate": is_dict,
    },
    "classes.": SHARED["classes."],
    "certificate.": {
        "kind": one_of("separation"),
        "status": one_of("complete", "quasi", "overlap"),
        "offset": is_flag,
        "margin": _is_length,
        "margin_upper": _is_length,
        "direction": or_none(is_lines),
        "rows": list_of(is_count),
        "rivals": list_of(is_count),
        "multipliers": list_of(is_exact),
        "kernel": list_of(is_lines),
        "columns": list_of(is_count),
        "narrow": or_none(is_lines),
        "on_plane": is_count,
        "fingerprint": is_dict,
    },
    "certificate.fingerprint.": SHARED["certificate.fingerprint."],
}


def handles(document: Any) -> bool:
    """Whether a document is a proof of separation."""
    return isinstance(document, Mapping) and document.get("format") == "gapless separation"


def defect(document: Any) -> str | None:
    """The first thing wrong with the form of a proof, in words; None where there is nothing."""
    schema = document.get("schema") if isinstance(document, dict) else None
    if schema != 1:
        return f"the schema {shown(schema)} is unknown; this judge reads 1"
    if found := defect_of_blocks(document, TABLES) or defect_of_classes(document["classes"]):
        return found
    block = document["certificate"]
    alike = len(block["rows"]) == len(block["rivals"]) == len(block["multipliers"])
    return None if alike else "rows, rivals and multipliers are not equally many"


def exact(value: Any) -> Fraction:
    """The number of an entry that passed ``is_exact``."""
    if isinstance(value, str):
        numerator, denominator = value.split("/")
        return Fraction(_integer(numerator), _integer(denominator))
    return Fraction(value)


def _integer(text: str) -> int:
    """int(text), in pieces: Python refuses to read long numbers at once."""
    negative, digits = text.startswith("-"), text.lstrip("-")
    if len(digits) <= 4000:
        return int(text)
    half = len(digits) // 2
    value = _integer(digits[:half]) * 10 ** (len(digits) - half) + _integer(digits[half:])
    return -value if negative else value
