"""The rows of a fit: whether given rows are these, and which new rows are among them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from gapless.certificates.verify import as_matrix, names_rows
from gapless.errors import CertificateError
from gapless.judge.fingerprint import digest
from gapless.rows.hashes import row_hashes

__all__ = ["check_fitted_rows", "is_pipeline", "share_of_known_rows"]


def is_pipeline(model: Any) -> bool:
    """Whether the model looks like a pipeline of scikit-learn, whose module need not be loaded to ask."""
    return hasattr(model, "steps") and hasattr(model, "__getitem__")


def check_fitted_rows(model: Any, X: Any, y: Any) -> None:
    """Raises CertificateError for other rows or labels than those of the fit."""
    named = model.certificate_.fingerprint
    if not names_rows(model.certificate_, X):
        raise CertificateError("other data: bounds needs exactly the rows that fit was given")
    index = np.searchsorted(model.classes_, np.asarray(y).ravel())
    if index.size != named["n_rows"] or digest(index, "<i8") != named["labels"]:
        raise CertificateError("other labels: bounds needs exactly what fit was given")


def share_of_known_rows(
    X: Any,
    X_test: Any,
    refusal: str = "the test rows are training rows, all of them or a part: they say nothing of new rows",
) -> float:
    """The share of test rows that occur in training; a test set that is the training set, or taken from it, is refused."""
    known, new = (np.ascontiguousarray(row_hashes(as_matrix(part))).view("V16").ravel() for part in (X, X_test))
    n, m = len(known), len(new)
    if m == 0:
        raise ValueError("there are no test rows")
    starts = np.flatnonzero(known[: max(0, n - m + 1)] == new[0]).tolist() if m <= n else []
    block = any(np.array_equal(known[s : s + m], new) for s in starts)
    share = float(np.isin(new, known).mean())
    if (block and m > 1) or (m == n and np.array_equal(np.sort(known), np.sort(new))) or _taken_from(known, new, share):
        raise ValueError(refusal)
    if share > 0.0:
        warnings.warn(
            f"{100 * share:.1f} % of the test rows also occur among the training rows; independent rows may coincide, copied "
            "ones void the held-out bound",
            UserWarning,
            stacklevel=4,
        )
    return share


def _taken_from(known: np.ndarray, new: np.ndarray, share: float) -> bool:
    """Whether ten or more rows were taken out of others: all are there, each once in both; independent rows may coincide, but
    then some of them do so twice.
    """
    if share < 1.0 or new.size < 10 or np.unique(new).size < new.size:
        return False
    values, times = np.unique(known, return_counts=True)
    return bool(np.isin(new, values[times == 1]).all())
