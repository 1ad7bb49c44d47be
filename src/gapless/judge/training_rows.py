"""The hashes of the training rows, by which `predict` knows rows that a model was trained on: the entry ``training_rows`` of a
model document, with the array of that name.

    training_rows    uint64, ascending, each once: the first lane of the hash of each row (``fingerprint``) as the fit saw it
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .case import Case
from .fingerprint import row_hashes
from .form.entries import is_count, is_dict
from .form.schema import Arrays, Table, recomputed
from .tree.data import rows_in_float32

#: For the schema of every document.
TABLES: dict[str, Table] = {
    "training_rows.": {
        "distinct": recomputed(is_count, "the hashes of the rows of X, each once"),
        "twins": recomputed(is_count, "the rows of X that equal another"),
    }
}
ARRAYS: Table = {"training_rows": recomputed(is_dict, "the hashes of the rows of X, ascending")}


def array_shapes(document: Mapping[str, Any]) -> Arrays:
    return {"training_rows": ("<u8", [document["training_rows"]["distinct"]])} if "training_rows" in document else {}


def add_claim(case: Case, given: np.ndarray, X: Any) -> None:
    """Claim that the hashes are those of the rows of the fit, whose digest was checked before."""
    stated = case.document["training_rows"]
    rows = rows_in_float32(X) if "DecisionTree" in case.document["estimator"] else X
    found, times = np.unique(row_hashes(rows)[:, 0], return_counts=True)
    holds = np.array_equal(given, found) and stated["twins"] == int(times[times != 1].sum())
    note = "the hash of each row that was trained on, and rows with a twin"
    case.claim("training rows", stated["distinct"], found.size, holds, note)
