"""Whether rows, labels and weights are those of the fit: their digests are compared with the fingerprint of the document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .classes import weights_of_rows
from .errors import CertificateError
from .fingerprint import digest, row_hashes
from .rows import Rows, first_non_finite


def same_rows(document: Mapping[str, Any], rows: Rows, sample_weight: Any, gaps: bool = False) -> np.ndarray:
    """The weights of the rows; CertificateError unless both are those of the fit. ``gaps``: values may be missing."""
    mark, (n, d) = document["certificate"]["fingerprint"], rows.shape
    if (n, d) != (mark["n_rows"], mark["n_features"]) or d != document["n_features"]:
        fit = f"{mark['n_rows']} rows and {mark['n_features']} features"
        raise CertificateError(f"other data: X has {n} rows and {d} features, the certificate speaks of {fit}")
    bad = None if gaps else first_non_finite(rows)
    if bad is not None:
        raise CertificateError(f"other data: row {bad} of X has a value that is not finite; no fit was made on it")
    if digest(row_hashes(rows), "<u8") != mark["rows"]:
        raise _other("data: the rows of X are not those of the fit")
    weights = weights_of_rows(sample_weight, n)
    if digest(weights, "<f8") != mark["weights"]:
        missing = "no sample_weight was given" if sample_weight is None else "sample_weight is not that of the fit"
        raise _other(f"weights: {missing}")
    return weights


def same_targets(document: Mapping[str, Any], targets: np.ndarray, kind: str, name: str = "labels") -> None:
    """CertificateError unless the labels, or targets, are those of the fit."""
    if digest(targets, kind) != document["certificate"]["fingerprint"]["labels"]:
        raise _other(f"{name}: y is not that of the fit")


def _other(what: str) -> CertificateError:
    return CertificateError(f"other {what} (give the judge exactly what fit was given)")
