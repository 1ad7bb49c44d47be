"""The form of a model document: every entry there, of its type, none beyond. What the entries claim is for
`check`."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from .errors import CertificateError
from .losses import LOSSES
from .recompute import OFFSETS

FORMAT = "gapless model"
SCHEMA = 1
STATUSES = ("converged", "max_iter", "time_limit", "stalled", "interrupted", "infeasible", "not_finite")
CLASS_TYPES: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "float": (int, float),
    "bool": (bool,),
    "str": (str,),
}
#: How a float that JSON cannot write stands in a document.
NON_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}

#: How the numbers of a document's dtype are stored.
REALS = {"float64": "<f8", "float32": "<f4"}

#: Entries that a document may have or not.
OPTIONAL = ("arrays", "bounds", "origin", "tuning")

Test = Callable[[Any], bool]
Arrays = dict[str, tuple[str, list[int]]]


def is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def is_number(value: Any) -> bool:
    """A JSON number a float can hold, or the name of a non-finite one."""
    if isinstance(value, str):
        return value in NON_FINITE
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return math.isfinite(value) if isinstance(value, float) else abs(value) < 2**1023


def number(value: Any) -> float:
    """The float of an entry that passed ``is_number``."""
    return NON_FINITE[value] if isinstance(value, str) else float(value)


def is_text(value: Any) -> bool:
    return isinstance(value, str)


def is_digest(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(r"[0-9a-f]{32}", value) is not None


def one_of(*words: str) -> Test:
    return lambda value: isinstance(value, str) and value in words


def is_names(value: Any) -> bool:
    return value is None or (isinstance(value, list) and all(map(is_text, value)))


def is_dict(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(key, str) for key in value)


_NUMBERS = ("primal", "dual", "gap", "relative_gap", "rounding", "seconds")

TOP: dict[str, Test] = {
    "format": is_text,
    "schema": is_count,
    "version": is_text,
    "estimator": is_text,
    "parameters": is_dict,
    "classes": is_dict,
    "n_features": is_count,
    "feature_names": is_names,
    "target": lambda value: value is None or isinstance(value, str),
    "dtype": one_of("float64", "float32"),
    "problem": is_dict,
    "certificate": is_dict,
}
_PROBLEM: dict[str, Test] = {
    "loss": one_of(*LOSSES, "softmax"),
    "offset": one_of(*OFFSETS),
    "offset_scale": is_number,
    "C": is_number,
    "class_weight": lambda value: isinstance(value, list) and all(map(is_number, value)),
}
_CERTIFICATE: dict[str, Test] = {
    "kind": is_text,
    "tol": is_number,
    "status": one_of(*STATUSES),
    **dict.fromkeys(_NUMBERS, is_number),
    "n_iter": is_count,
    "backend": is_text,
    "solver": is_text,
    "fingerprint": is_dict,
    "subproblems": lambda value: isinstance(value, list) and len(value) > 0 and all(map(is_dict, value)),
}
#: What took how long: no claim.
TIMES = ("seconds", "compile_seconds")
#: Entries of a certificate that files of earlier versions do not have.
_LATER: dict[str, Test] = {"compile_seconds": is_number}
FINGERPRINT: dict[str, Test] = {
    "n_rows": is_count,
    "n_features": is_count,
    "rows": is_digest,
    "labels": is_digest,
    "weights": is_digest,
}
_SUBPROBLEM: dict[str, Test] = {
    "positive": lambda value: value is None or is_count(value),
    "status": one_of(*STATUSES),
    **dict.fromkeys(_NUMBERS, is_number),
    "n_iter": is_count,
    "solver": is_text,
}


_TUNING: dict[str, Test] = {
    "method": is_text,
    "candidates": lambda value: is_count(value) and value >= 1,
    "visited": is_count,
    "folds": is_count,
    "held_out": lambda value: value is None or is_digest(value),
}


def flaw_of_tuning(document: Any) -> str | None:
    """What is wrong with the entry that says among how many settings the rows may have chosen."""
    if not isinstance(document, dict) or "tuning" not in document:
        return None
    block = document["tuning"]
    return flaw_of(block, _TUNING, "tuning.") if is_dict(block) else "the entry tuning is no object"


def newer_schema(document: Any) -> str | None:
    """What to say of a document of a later schema; None for the others."""
    schema: Any = document.get("schema") if isinstance(document, Mapping) else None
    if is_count(schema) and schema > SCHEMA:
        return f"written by a newer gapless (schema {schema}; this one reads {SCHEMA}): upgrade gapless"
    return None


def flaw_of_head(document: Any) -> str | None:
    """What is wrong with the kind of document and its schema."""
    if not isinstance(document, dict):
        return "the document is no JSON object"
    if document.get("format") != FORMAT:
        return f"the entry format is {shown(document.get('format'))}, not {FORMAT!r}"
    if document.get("schema") != SCHEMA:
        return newer_schema(document) or f"the schema {shown(document.get('schema'))} is unknown"
    return None


def flaw(document: Any) -> str | None:
    """The first thing wrong with the form of a document, in words; None where there is nothing."""
    found = flaw_of_head(document) or flaw_of(document, TOP, "", optional=OPTIONAL)
    if found:
        return found
    found = flaw_of(document["problem"], _PROBLEM, "problem.") or flaw_of_classes(document["classes"])
    if found:
        return found
    certificate = document["certificate"]
    found = flaw_of_certificate(certificate, _CERTIFICATE)
    found = found or flaw_of(certificate["fingerprint"], FINGERPRINT, "certificate.fingerprint.")
    if found:
        return found
    for k, sub in enumerate(certificate["subproblems"]):
        found = flaw_of(sub, _SUBPROBLEM, f"certificate.subproblems[{k}].")
        if found:
            return found
        if sub["positive"] is None and document["problem"]["loss"] != "softmax":
            return f"the entry certificate.subproblems[{k}].positive is None, which only the softmax loss has"
    found = flaw_of_names(document)
    if found:
        return found
    if len(document["problem"]["class_weight"]) != len(document["classes"]["values"]):
        return "problem.class_weight has not one number for each class"
    return None


def flaw_of_parts(
    document: Any, top: dict[str, Test], problem: dict[str, Test], certificate: dict[str, Test]
) -> str | None:
    """What is wrong with the head, the blocks problem and certificate, the fingerprint or the names."""
    found = flaw_of_head(document) or flaw_of(document, top, "", optional=OPTIONAL)
    found = found or flaw_of(document["problem"], problem, "problem.")
    found = found or flaw_of_certificate(document["certificate"], certificate) or flaw_of_names(document)
    return found or flaw_of(document["certificate"]["fingerprint"], FINGERPRINT, "certificate.fingerprint.")


def refuse_unreadable(document: Any, flaw: Callable[[Any], str | None]) -> None:
    """CertificateError for a document of a later schema, or with a flaw."""
    newer = newer_schema(document)
    found = f"was {newer}" if newer else flaw(document)
    if found:
        raise CertificateError(f"the certificate {found}" if newer else f"the certificate cannot be read: {found}")


def flaw_of_certificate(block: dict[str, Any], tests: dict[str, Test]) -> str | None:
    later = {key: test for key, test in _LATER.items() if key in block}
    return flaw_of(block, {**tests, **later}, "certificate.")


def flaw_of_names(document: dict[str, Any]) -> str | None:
    names, d = document["feature_names"], document["n_features"]
    if names is not None and len(names) != d:
        return f"there are {len(names)} feature_names for {d} features"
    return None


def n_lines(document: dict[str, Any]) -> int:
    """The lines of coef, intercept and dual: one for each subproblem, for the one of the softmax loss one for each
    class."""
    softmax = document["problem"]["loss"] == "softmax"
    return len(document["classes"]["values"] if softmax else document["certificate"]["subproblems"])


def array_forms(document: dict[str, Any]) -> Arrays:
    """Type and shape of the arrays that go with a document."""
    S, d, n = n_lines(document), document["n_features"], document["certificate"]["fingerprint"]["n_rows"]
    real = REALS[document["dtype"]]
    return {"coef": (real, [S, d]), "intercept": (real, [S]), "dual": ("<f8", [S, n])}


def flaw_of(block: dict[str, Any], tests: dict[str, Test], where: str, optional: tuple[str, ...] = ()) -> str | None:
    for key, test in tests.items():
        if key not in block:
            return f"the entry {where}{key} is missing"
        if not test(block[key]):
            return f"the entry {where}{key} is {shown(block[key])}"
    beyond = [key for key in block if key not in tests and key not in optional]
    return f"the entry {where}{shown(beyond[0])} is unknown" if beyond else None


def flaw_of_classes(classes: dict[str, Any]) -> str | None:
    found = flaw_of(
        classes, {"type": one_of(*CLASS_TYPES), "values": lambda value: isinstance(value, list)}, "classes."
    )
    if found:
        return found
    kind, values = classes["type"], classes["values"]
    for value in values:
        if not isinstance(value, CLASS_TYPES[kind]) or (kind != "bool" and isinstance(value, bool)):
            return f"the class {shown(value)} is no {kind}"
        if kind in ("int", "float") and not is_number(value):
            return f"the class {shown(value)} is not finite"
    return None if len(values) >= 2 else f"there are {len(values)} classes; a classifier has at least 2"


def shown(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 10**40:
        return "a number too large"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
