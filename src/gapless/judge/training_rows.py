"""The hashes of the training rows, by which `predict` knows rows that a model was trained on: the entry ``training_rows`` of a
model document, with the array of that name.

    training_rows    uint64, ascending, each once: the first lane of the hash of each row (``fingerprint``) as the fit saw it
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from . import tree
from .document import is_count
from .errors import CertificateError
from .fingerprint import row_hashes
from .tree.case import rows_in_float32
from .verdict import Claim

ENTRY = "training_rows"


def flaw(document: Mapping[str, Any]) -> str | None:
    """What is wrong with the entry; None where nothing is, or there is no such entry."""
    if ENTRY not in document:
        return None
    block = document[ENTRY]
    if not isinstance(block, dict) or block.keys() != {"distinct", "twins"} or not all(map(is_count, block.values())):
        return "the entry training_rows is not the number of distinct rows and that of rows with a twin"
    return None


def without(document: Any) -> Any:
    """The document without the entry: what the other checks read."""
    if not isinstance(document, Mapping):
        return document
    return {key: value for key, value in document.items() if key != ENTRY}


def array_forms(document: Mapping[str, Any]) -> dict[str, tuple[str, list[int]]]:
    return {ENTRY: ("<u8", [document[ENTRY]["distinct"]])} if ENTRY in document else {}


def taken(document: Any) -> int | None:
    """How many distinct rows a document names; None without the entry."""
    if not isinstance(document, Mapping) or ENTRY not in document:
        return None
    wrong = flaw(document)
    if wrong:
        raise CertificateError(f"the certificate cannot be read: {wrong}")
    return int(document[ENTRY]["distinct"])


def claim(document: Mapping[str, Any], named: int, arrays: Mapping[str, Any], X: Any) -> Claim:
    """That the hashes are those of the rows of the fit, whose digest was checked before."""
    rows = rows_in_float32(X) if document["estimator"] in tree.document.ESTIMATORS else X
    found, times = np.unique(row_hashes(rows)[:, 0], return_counts=True)
    given = np.asarray(arrays.get(ENTRY))
    holds = given.dtype == np.uint64 and given.shape == (named,) and np.array_equal(given, found)
    holds &= document[ENTRY]["twins"] == int(times[times > 1].sum())
    return Claim(
        "training rows", named, found.size, holds, "the hash of each row that was trained on, and rows with a twin"
    )
