"""Whether rows, labels and weights are those of the fit: their digests are compared with the fingerprint of the document."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from .classes import weights_of_rows
from .errors import CertificateError
from .fingerprint import digest, digest_of_blocks, row_digests
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
    blocks = mark.get("blocks")
    if blocks is None:
        if row_digests(rows, [n])[0] != mark["rows"]:
            raise _other("data: the rows of X are not those of the fit")
    else:
        if sum(block[0] for block in blocks) != n:
            raise CertificateError(
                "the certificate cannot be read: the rows of certificate.fingerprint.blocks are not n_rows"
            )
        _same_blocks(blocks, mark, row_digests(rows, [block[0] for block in blocks]), "rows", "data: the rows of X")
    weights = weights_of_rows(sample_weight, n)
    missing = "no sample_weight was given" if sample_weight is None else "sample_weight is not that of the fit"
    _same_values(mark, weights, "<f8", "weights", f"weights: {missing}", "weights: sample_weight")
    return weights


def same_targets(document: Mapping[str, Any], targets: np.ndarray, kind: str, name: str = "labels") -> None:
    """CertificateError unless the labels, or targets, are those of the fit."""
    mark = document["certificate"]["fingerprint"]
    _same_values(mark, targets, kind, "labels", f"{name}: y is not that of the fit", f"{name}: y")


def _same_values(mark: Mapping[str, Any], values: np.ndarray, kind: str, entry: str, other: str, what: str) -> None:
    """CertificateError unless a value for each row is that of the fit, whose data may have lain in blocks."""
    blocks = mark.get("blocks")
    if blocks is None:
        if digest(values, kind) != mark[entry]:
            raise _other(other)
        return
    ends = np.cumsum([0, *(block[0] for block in blocks)])
    found = [digest(values[start:stop], kind) for start, stop in pairwise(ends)]
    _same_blocks(blocks, mark, found, entry, what)


def _same_blocks(blocks: list[Any], mark: Mapping[str, Any], found: list[str], entry: str, what: str) -> None:
    """CertificateError, which names the block, unless digests are those of a fit whose data lay in blocks."""
    place = ("rows", "labels", "weights").index(entry) + 1
    for k, (block, mine) in enumerate(zip(blocks, found, strict=True)):
        if block[place] != mine:
            raise _other(f"{what} of block {k} of {len(blocks)}, of {block[0]} rows, are not those of the fit")
    if digest_of_blocks(found) != mark[entry]:
        raise CertificateError(
            f"the certificate cannot be read: certificate.fingerprint.{entry} is not that of its blocks"
        )


def _other(what: str) -> CertificateError:
    return CertificateError(f"other {what} (give the judge exactly what fit was given)")
