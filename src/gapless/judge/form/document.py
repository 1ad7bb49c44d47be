"""The form of a model document: every entry there, of its type, none beyond. What the entries claim is for `check`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..errors import CertificateError
from .entries import (
    is_block,
    is_count,
    is_dict,
    is_digest,
    is_finite,
    is_names,
    is_number,
    is_parameter,
    is_size,
    is_text,
    list_of,
    one_of,
    or_none,
    shown,
)
from .schema import Arrays, Choice, Entry, Schema, Table, Test, derived, optional, recomputed, unchecked

FORMAT = "gapless model"
SCHEMA = 1
STATUSES = ("converged", "max_iter", "time_limit", "stalled", "interrupted", "infeasible", "not_finite")
CLASS_TYPES: dict[str, tuple[type, ...]] = {"int": (int,), "float": (int, float), "bool": (bool,), "str": (str,)}

#: The tables of the blocks that any document has, or may have.
SHARED: dict[str, Table] = {
    "": {
        "format": derived(one_of(FORMAT), "the only one"),
        "schema": derived(is_count, "the one that this judge reads"),
        "version": unchecked(is_text, "which release wrote the file"),
        "estimator": derived(is_text, "the parameters, the problem and the kind of certificate"),
        "parameters": derived(is_dict, "entry by entry below"),
        "classes": derived(is_dict, "entry by entry below"),
        "n_features": recomputed(is_count, "the columns of X"),
        "feature_names": unchecked(is_names, "compared with the names of the columns, where the data have any"),
        "target": unchecked(or_none(is_text), "the judge compares numbers, not names"),
        "dtype": derived(one_of("float64", "float32"), "the arrays are of this type"),
        "problem": derived(is_dict, "entry by entry below"),
        "certificate": derived(is_dict, "entry by entry below"),
        "arrays": optional(derived(is_dict, "type and size of each array")),
        "training_rows": optional(derived(is_dict, "entry by entry below; in files of the command line")),
        "bounds": optional(recomputed(is_dict, "the data: see the page on bounds")),
        "input": optional(
            unchecked(is_dict, "the judge is given features; reading a file it makes them by this entry")
        ),
        "origin": optional(unchecked(is_dict, "by which command a model was made, and why of these rows")),
        "tuning": optional(unchecked(is_dict, "nobody can see in a model how its settings were found")),
    },
    "classes.": {
        "type": derived(one_of(*CLASS_TYPES), "the values, and the labels; but whole numbers may be floats"),
        "values": recomputed(lambda value: isinstance(value, list), "the labels: sorted, each once"),
    },
    "certificate.fingerprint.": {
        "n_rows": recomputed(is_count, "the rows of X"),
        "n_features": recomputed(is_count, "the columns of X"),
        "rows": recomputed(is_digest, "hashes of the rows of X"),
        "labels": recomputed(is_digest, "the labels or targets"),
        "weights": recomputed(is_digest, "the sample weights"),
        "blocks": optional(recomputed(list_of(is_block, 1), "of rows in blocks: rows, and their digests, of each")),
    },
    "tuning.": {
        "method": unchecked(is_text, "how settings were searched leaves no trace in the model"),
        "candidates": unchecked(lambda value: is_count(value) and value >= 1, "bounds count at least as many as tried"),
        "visited": unchecked(is_count, "settings that were fitted leave no trace in the model"),
        "folds": unchecked(is_count, "the folds leave no trace in the model"),
        "held_out": unchecked(or_none(is_digest), "the held-out rows are not in the file"),
    },
}
#: Entries that certificates of several families have: the clock (nobody can measure it again), the way, and the gap.
PARTS: dict[str, Table] = {
    "clock": {
        "seconds": unchecked(is_size, "a time that has passed"),
        "compile_seconds": optional(unchecked(is_size, "a time that has passed; files of before have none")),
        "backend": unchecked(is_text, "no trace of the machine is in the model"),
    },
    "way": {
        "n_iter": unchecked(is_count, "steps leave no trace in the model"),
        "solver": unchecked(is_text, "the way to a model leaves no trace in it"),
    },
    "gap": {
        "primal": recomputed(is_number, "model and data"),
        "dual": recomputed(is_number, "dual point and data"),
        "gap": recomputed(is_number, "model, dual point and data"),
        "relative_gap": derived(is_number, "gap, primal and dual"),
        "rounding": recomputed(is_number, "at most what float64 sums of this size can need"),
    },
}
STATUS = derived(one_of(*STATUSES), "converged or not follows from the figures; which other ending is not checked")


def free(*names: str, why: str = "it does not change what is optimal") -> Table:
    """Parameters that decide nothing of what is claimed, and that nobody checks; those that answers read have their types."""
    read_by_answers: dict[str, Test] = {
        "n_jobs": or_none(lambda value: isinstance(value, int) and is_count(abs(value))),
        "decision_function_shape": one_of("ovr", "ovo"),
        "break_ties": lambda value: isinstance(value, bool) or is_count(value),
    }
    return {name: optional(unchecked(read_by_answers.get(name, is_parameter), why)) for name in names}


def agree(*names: str, how: str = "has to agree with the problem") -> Table:
    """Parameters that are compared with the problem."""
    return {name: optional(derived(is_parameter, how)) for name in names}


def real_of(document: Any) -> str:
    """How the numbers of a document's dtype are stored."""
    return "<f4" if document["dtype"] == "float32" else "<f8"


def newer_schema(document: Any) -> str | None:
    """What to say of a document of a later schema; None for the others."""
    schema: Any = document.get("schema") if isinstance(document, Mapping) else None
    if is_count(schema) and schema > SCHEMA:
        return f"written by a newer gapless (schema {schema}; this one reads {SCHEMA}): upgrade gapless"
    return None


def defect_of_head(document: Any) -> str | None:
    """What is wrong with the kind of document and its schema."""
    if not isinstance(document, dict):
        return "the document is no JSON object"
    if document.get("format") != FORMAT:
        return f"the entry format is {shown(document.get('format'))}, not {FORMAT!r}"
    if document.get("schema") != SCHEMA:
        return newer_schema(document) or f"the schema {shown(document.get('schema'))} is unknown"
    return None


def refuse_unreadable(document: Any, defect: Callable[[Any], str | None]) -> None:
    """CertificateError for a document of a later schema, or with a defect."""
    newer = newer_schema(document)
    found = f"was {newer}" if newer else defect(document)
    if found:
        raise CertificateError(f"the certificate {found}" if newer else f"the certificate cannot be read: {found}")


def defect_of_parts(document: Any, schema: Schema) -> str | None:
    """What is wrong with the head, the blocks entry by entry, the names or the classes."""
    if found := defect_of_head(document) or defect_of_blocks(document, schema):
        return found
    names, d, classes = document["feature_names"], document["n_features"], document["classes"]
    if names is not None and len(names) != d:
        return f"there are {len(names)} feature_names for {d} features"
    if document["certificate"]["fingerprint"]["n_features"] != d:
        return "certificate.fingerprint.n_features is not n_features"
    least = 1 if "DecisionTree" in document["estimator"] or "Bagging" in document["estimator"] else 2
    return None if classes is None else defect_of_classes(classes, least)


def defect_of_blocks(
    document: Mapping[str, Any],
    schema: Mapping[str, Any],
    path: str = "",
    block: Any = None,
    around: Any = None,
    at: str = "",
) -> str | None:
    """The first entry of a block, or of the blocks inside it, that is missing, not of its type, or unknown.

    ``path`` is that of the block's table, ``at`` the same with the places in lists, for the error.
    """
    block, table = (document if path == "" else block), schema.get(path)
    if path == "parameters." and table is None:
        table = schema.get(f"{document['estimator']}.{path}")
        if table is None:
            names = ", ".join(key.partition(".")[0] for key in schema if key.endswith(".parameters."))
            return f"the estimator is {shown(document['estimator'])}; with this certificate there are {names}"
    if isinstance(table, Choice):
        table = table.tables.get(str(table.by(around, block)), next(iter(table.tables.values())))
    if found := defect_of_entries(block, table or {}, at):
        return found
    for key, value in block.items():
        name, several = f"{path}{key}.", isinstance(value, list)
        name = f"{path}{key}[]." if several else name
        if name == "arrays." or not (name in schema or name == "parameters."):
            continue
        for k, part in enumerate(value if several else [value]):
            where = f"{at}{key}[{k}]" if several else f"{at}{key}"
            if is_dict(part):
                found = defect_of_blocks(document, schema, name, part, block, where + ".")
            elif several:
                found = f"the entry {where} is no object"
            if found:
                return found
    return None


def defect_of_entries(block: Mapping[str, Any], table: Mapping[str, Any], at: str) -> str | None:
    """The first entry of a block that is missing, not of its type, or unknown; the table has entries or bare tests."""
    for key, entry in table.items():
        known = isinstance(entry, Entry)
        if key not in block:
            if known and entry.optional:
                continue
            return f"the entry {at}{key} is missing"
        test = entry.test if known else entry
        if not test(block[key]):
            return f"the entry {at}{key} is {'no object' if test is is_dict and block[key] is not None else shown(block[key])}"
    beyond = [key for key in block if key not in table]
    return f"the entry {at}{shown(beyond[0])} is unknown" if beyond else None


def defect_of_classes(classes: dict[str, Any], least: int = 2) -> str | None:
    """What is wrong with the type of the classes, or with how many there are."""
    kind, values = classes["type"], classes["values"]
    for value in values:
        if not isinstance(value, CLASS_TYPES[kind]) or (kind != "bool" and isinstance(value, bool)):
            return f"the class {shown(value)} is no {kind}"
        if kind in ("int", "float") and not is_finite(value):
            return f"the class {shown(value)} is not finite"
    return None if len(values) >= least else f"there are {len(values)} classes; there have to be {least}"


def is_shallow(value: Any, most: int = 64) -> bool:
    """Whether blocks and lists stand inside each other no deeper than ``most``, and are at most 10 million; each key a text."""
    layer, seen = {id(value): (value, 1)}, 0
    for _ in range(most):
        inside: dict[int, tuple[Any, int]] = {}  # each block once, with the number of places where it stands
        for each, times in layer.values():
            if isinstance(each, Mapping) and not all(isinstance(key, str) for key in each):
                return False
            for part in each.values() if isinstance(each, Mapping) else each if isinstance(each, list | tuple) else ():
                if isinstance(part, Mapping | list | tuple):
                    inside[id(part)] = part, inside.get(id(part), (part, 0))[1] + times
                    seen += times
        if not inside:
            return True
        if seen > 10_000_000:
            return False
        layer = inside
    return False


def as_plain(value: Any) -> Any:
    """A document without numpy's scalars: those are floats and texts that do not behave like Python's."""
    if isinstance(value, dict):
        return {key: as_plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [as_plain(each) for each in value]
    return value.item() if isinstance(value, np.generic) else value


def read_arrays(arrays: Any, shapes: Arrays) -> dict[str, np.ndarray]:
    """The arrays of a document, of the type and shape that it implies, none beyond; CertificateError for others."""
    names = {str(name) for name in arrays} if isinstance(arrays, Mapping) else set()
    if names != set(shapes):
        odd = sorted(names ^ set(shapes))[0]
        what = f"there is no array {odd}" if odd in shapes else f"the array {shown(odd)} is unknown"
        raise CertificateError(f"the certificate cannot be read: {what}")
    out = {}
    for name, (dtype, shape) in shapes.items():
        try:
            array = np.asarray(arrays[name])
        except (TypeError, ValueError):
            raise CertificateError(f"the certificate cannot be read: {name} is no array") from None
        wanted = np.dtype(dtype).newbyteorder("=")
        if array.dtype != wanted or array.shape != tuple(shape):
            given = f"{name} is {array.dtype} {array.shape}, it should be {wanted} {tuple(shape)}"
            raise CertificateError(f"the certificate cannot be read: {given}")
        out[name] = array
    return out
