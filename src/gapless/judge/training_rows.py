"""The hashes of the training rows, by which `predict` knows rows that a model was trained on: the entry ``training_rows`` of a
model document, with the array of that name.

    training_rows    uint64, ascending, each once: the first lane of the hash of each row (``fingerprint``) as the fit saw it
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from . import tree
from .document import flaw_of, is_count, is_dict, read_arrays
from .fingerprint import row_hashes
from .schema import Arrays, Table, recomputed
from .tree.case import rows_in_float32
from .verdict import Claim

ENTRY = "training_rows"


#: For the schema of every document.
TABLES: dict[str, Table] = {
    "training_rows.": {
        "distinct": recomputed(is_count, "the hashes of the rows of X, each once"),
        "twins": recomputed(is_count, "the rows of X that equal another"),
    }
}
ARRAYS: Table = {ENTRY: recomputed(is_dict, "the hashes of the rows of X, ascending")}


def flaw(document: Mapping[str, Any]) -> str | None:
    """What is wrong with the entry; None where nothing is, or there is no such entry."""
    if ENTRY not in document:
        return None
    block = document[ENTRY]
    if not is_dict(block):
        return f"the entry {ENTRY} is no object"
    return flaw_of(block, TABLES["training_rows."], "training_rows.")


def without(block: Mapping[str, Any]) -> dict[str, Any]:
    """A document without the entry, or arrays without the array: what the other checks read."""
    return {key: value for key, value in block.items() if key != ENTRY}


def array_forms(document: Mapping[str, Any]) -> Arrays:
    return {ENTRY: ("<u8", [document[ENTRY]["distinct"]])} if ENTRY in document else {}


def claim(document: dict[str, Any], arrays: Mapping[str, Any], X: Any) -> Claim:
    """That the hashes are those of the rows of the fit, whose digest was checked before."""
    given = read_arrays(document, {ENTRY: arrays[ENTRY]} if ENTRY in arrays else {}, array_forms(document))[ENTRY]
    rows = rows_in_float32(X) if document["estimator"] in tree.document.ESTIMATORS else X
    found, times = np.unique(row_hashes(rows)[:, 0], return_counts=True)
    holds = np.array_equal(given, found) and document[ENTRY]["twins"] == int(times[times != 1].sum())
    note = "the hash of each row that was trained on, and rows with a twin"
    return Claim("training rows", document[ENTRY]["distinct"], found.size, holds, note)
