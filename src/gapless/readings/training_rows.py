"""Which rows a model was trained on: rates on those say nothing of new rows, and have no interval.

A certificate names its training rows by one digest. That tells whether given rows are the training rows, and, with the split that
`gapless train` kept, which rows of the whole file are. A model file made from a file holds besides the 64-bit hash of each
training row (the first lane of ``gapless.judge.fingerprint``, sorted, each once): that tells of any row whether it equals a
training row. Two different rows have the same hash with probability 2^-64.

New rows may equal training rows by chance, where columns have few values. The share of training rows that equal another training
row estimates the probability of that: rows that equal training rows count as new where a binomial test finds no more of them than
that probability gives.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gapless.certificates.verify import as_matrix, last_step, names_rows, rows_as_named
from gapless.judge.files.inputs import training_rows as split_of
from gapless.rows.hashes import row_hashes


@dataclass(frozen=True, eq=False)
class RowHashes:
    """The hashes of the training rows of the fit that a digest names."""

    rows: str  # the digest in the certificate's fingerprint: after another fit these hashes are of no use
    hashes: np.ndarray  # uint64, ascending, each once
    n_rows: int
    twins: int  # training rows that equal another training row

    @classmethod
    def of(cls, rows: str, X: Any) -> RowHashes:
        hashes, times = np.unique(row_hashes(X)[:, 0], return_counts=True)
        return cls(rows, hashes, int(times.sum()), int(times[times > 1].sum()))


class Trained(NamedTuple):
    """Which of some rows were trained on."""

    mask: np.ndarray
    certain: (
        bool  # these are the training rows, or the whole table they were drawn from; else rows that equal training rows
    )
    alike: int = 0  # rows that equal training rows, no more than chance explains, and count as new
    twins: float = 0.0  # the share of training rows that equal another


def keep_row_hashes(model: Any, X: Any) -> None:
    """Give a fitted model the hashes of its training rows, for its file: 8 bytes a row. Other rows are a ValueError."""
    certificate = model.certificate_
    if not names_rows(certificate, X):
        raise ValueError("these are not the rows that the model was trained on")
    model.training_rows_ = RowHashes.of(certificate.fingerprint["rows"], rows_as_named(certificate, X))


def row_hashes_of(model: Any) -> RowHashes | None:
    """The kept hashes; None without any, or where they are of an earlier fit."""
    kept = getattr(model, "training_rows_", None)
    named = getattr(getattr(model, "certificate_", None), "fingerprint", None) or {}
    return kept if isinstance(kept, RowHashes) and kept.rows == named.get("rows") else None


def is_training_data(model: Any, X: Any) -> bool | None:
    """Whether X are the rows of the model's certificate; None where it names none."""
    model, X = last_step(getattr(model, "model_", model), X)
    certificate = getattr(model, "certificate_", None)
    named = getattr(certificate, "fingerprint", None)
    if named is None or "rows" not in named:
        return None
    return names_rows(certificate, X)


def trained_on(model: Any, X: Any) -> Trained | None:
    """Which rows of X the model was trained on; None where the model does not say."""
    known = is_training_data(model, X)
    if known is None:
        return None
    model, X = last_step(getattr(model, "model_", model), X)
    rows, certificate = as_matrix(X), model.certificate_
    if known:
        return Trained(np.ones(rows.shape[0], dtype=bool), True)
    kept = split_of(certificate.statement.get("origin"), rows.shape[0])
    if kept is not None and names_rows(certificate, rows[kept]):
        mask = np.zeros(rows.shape[0], dtype=bool)
        mask[kept] = True
        return Trained(mask, True)
    hashes = row_hashes_of(model)
    return None if hashes is None else copies(hashes, rows_as_named(certificate, X))


def copies(known: RowHashes, X: Any) -> Trained:
    """The rows of X that equal rows of a fit, unless chance explains them."""
    from scipy.stats import binom

    mask = np.isin(row_hashes(X)[:, 0], known.hashes)
    k, share = int(mask.sum()), known.twins / known.n_rows
    # Rows that equal training rows are copies where chance gives as many with a probability below 5 %.
    if k and share > 0.0 and binom.sf(k - 1, mask.size, share) > 0.05:
        return Trained(np.zeros_like(mask), False, k, share)
    return Trained(mask, False, 0, share)
