"""The form of a proof of separation. Numbers are floats, taken as they are, or "numerator/denominator"."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from ..document import FINGERPRINT, Test, flaw_of, flaw_of_classes, is_count, is_dict, is_names, is_text, one_of

FORMAT, SCHEMA = "gapless separation", 1
_RATIO = re.compile(r"-?[0-9]{1,200000}/[0-9]{1,200000}")

_TOP: dict[str, Test] = {
    "format": one_of(FORMAT),
    "schema": is_count,
    "version": is_text,
    "classes": is_dict,
    "n_features": is_count,
    "feature_names": is_names,
    "certificate": is_dict,
}


def is_exact(value: Any) -> bool:
    """A finite float, or a ratio of integers."""
    if isinstance(value, str):
        return _RATIO.fullmatch(value) is not None and value.split("/")[1].strip("0") != ""
    return isinstance(value, float | int) and not isinstance(value, bool) and abs(value) < 1e309 and value == value


def is_lines(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(line, list) and all(map(is_exact, line)) for line in value)


def _counts(value: Any) -> bool:
    return isinstance(value, list) and all(map(is_count, value))


def _length(value: Any) -> bool:
    return value is None or (isinstance(value, float) and 0.0 <= value < 1e309)


_CERTIFICATE: dict[str, Test] = {
    "kind": one_of("separation"),
    "status": one_of("complete", "quasi", "overlap"),
    "offset": lambda value: isinstance(value, bool),
    "margin": _length,
    "margin_upper": _length,
    "direction": lambda value: value is None or is_lines(value),
    "rows": _counts,
    "rivals": _counts,
    "multipliers": lambda value: isinstance(value, list) and all(map(is_exact, value)),
    "kernel": lambda value: isinstance(value, list) and all(map(is_lines, value)),
    "columns": _counts,
    "narrow": lambda value: value is None or is_lines(value),
    "on_plane": is_count,
    "fingerprint": is_dict,
}


def speaks_of(document: Any) -> bool:
    """Whether a document is one of these."""
    return isinstance(document, Mapping) and document.get("format") == FORMAT


def flaw(document: Any) -> str | None:
    """The first thing wrong with the form of a proof, in words; None where there is nothing."""
    found = flaw_of(document, _TOP, "")
    if not found and document["schema"] != SCHEMA:
        return f"the schema {document['schema']!r} is unknown; this judge reads {SCHEMA}"
    found = found or flaw_of_classes(document["classes"])
    found = found or flaw_of(document["certificate"], _CERTIFICATE, "certificate.")
    found = found or flaw_of(document["certificate"]["fingerprint"], FINGERPRINT, "certificate.fingerprint.")
    if found:
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
