"""Support vectors as compression: how likely a new row violates the margin, by how many of the training rows the model needs.

A row with y f < 1 would be a support vector if it had been there, and change the model's compression: so epsilon_k of
`theory.compression` bounds P(y f < 1), and with it the probability of an error.  k counts the support vectors and the rows
that fix the offset where no support vector is free: without them the support vectors alone would give another offset.

Rows that alone give the same optimum, all rows with y f < 1 among them, will do.  Take, of the smallest such sets, the first
in some order of the rows: the rows outside have no loss, so that every set between it and all rows has the same optimum and
the same choice, and the compression is preferent; it has at most as many rows as were counted; and a new row with y f < 1
changes it.  At a gap of rounding size the support vectors are counted as they stand; before that, every row counts that is
not certified to be none (``proved``), or that lies next to its margin (LinearSVC).

It holds if nothing about the problem was chosen by the training rows: C in the sum form, the width of the kernel, class
weights and scaling.  What the model itself betrays is checked: gamma="scale", class_weight="balanced" and a pipeline with
fitted steps are refused.  What it cannot betray (a C that was tuned on these rows) is among the assumptions; `tried` divides
delta by the number of settings among which these rows chose.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gapless.errors import CertificateError
from gapless.theory._inputs import probability, whole
from gapless.theory.compression import Compression, one_sided

__all__ = ["MarginViolation", "margin_violation"]

#: A relative gap up to this is that of the optimum to rounding: its support vectors are counted as they stand.
EXACT = 1e-9
#: Before that, rows with y f up to 1 plus this count too.
NEAR = 1e-2
ASSUMPTIONS = (
    "the rows are independent draws from one distribution, and new rows come from it too",
    "C (in the sum form), kernel, weights and scaling were fixed without these rows, or are among the `tried`",
)


@dataclass(frozen=True)
class MarginViolation:
    """P(y f(x) < 1), and so P(error), is at most ``high`` on new rows, but for a failure of probability delta."""

    high: float
    k: int
    n: int
    delta: float
    tried: int
    support: int
    offset_rows: int  #: rows that fix the offset where no support vector is free
    proved: bool  #: whether k is certified, or counted from the dual point as it stands
    compression: Compression
    assumes: tuple[str, ...] = ASSUMPTIONS

    @property
    def vacuous(self) -> bool:
        return self.high >= 1.0

    def __str__(self) -> str:
        extra = f" and {self.offset_rows} that fix the offset" if self.offset_rows else ""
        return (
            f"a new row violates the margin with probability at most {self.high:.6g}: {self.support:,} of {self.n:,} rows are "
            f"support vectors{extra}; but for a failure of probability {self.delta:g} (Campi-Garatti)"
            + (" (vacuous)" if self.vacuous else "")
        )


def margin_violation(model: Any, X: Any, y: Any, delta: Any = 0.05, tried: Any = 1) -> MarginViolation:
    """The bound for a fitted LinearSVC or SVC of two classes and the rows that it was trained on.

    Raises ValueError where a condition is seen to be broken, and CertificateError for other data.
    """
    from sklearn.pipeline import Pipeline

    delta, tried = probability(delta), whole(tried, "tried")
    if isinstance(model, Pipeline):
        if len(model.steps) > 1:
            raise ValueError(
                "the steps before the model were fitted on the training rows, which voids the bound: scale with numbers that "
                "were fixed beforehand"
            )
        model = model[-1]
    name = type(model).__name__
    if name not in ("LinearSVC", "SVC") or getattr(model, "certificate_", None) is None:
        raise ValueError(f"the bound is for a fitted LinearSVC or SVC of gapless; got {name}")
    if len(model.classes_) != 2:
        raise ValueError(f"the bound is for two classes; this model has {len(model.classes_)}")
    if isinstance(model.class_weight, str):
        raise ValueError('class_weight="balanced" is computed from the training labels, which voids the bound')
    if name == "SVC":
        if model.kernel in ("rbf", "poly", "sigmoid") and model.gamma == "scale":
            raise ValueError(
                'gamma="scale" is computed from the training rows, which voids the bound: a number, or "auto"'
            )
        if model.kernel == "precomputed" or callable(model.kernel):
            raise ValueError("a kernel of unknown origin may have been made from the training rows")
    _same_rows(model, X, y)
    if model.status_ not in ("converged", "stalled"):
        raise ValueError(
            f"the fit has not converged ({model.status_}): its support vectors are not those of the optimum"
        )
    support, proved, ends = _counted(model, X, y)
    n = len(model.alpha_)
    k = min(n, support + ends)
    found = one_sided(k, n, delta / tried)
    return MarginViolation(found.high, k, n, delta, tried, support, ends, proved, found)


def _counted(model: Any, X: Any, y: Any) -> tuple[int, bool, int]:
    """Support vectors, whether their number is proved, and the rows that fix the offset."""
    seen = model.slackness_
    free = bool(((seen.alpha > 1e-9 * seen.c) & (seen.alpha < (1.0 - 1e-9) * seen.c)).any())
    exact = float(model.certificate_.relative_gap) <= EXACT
    if type(model).__name__ == "LinearSVC":
        from gapless.certificates.reduce import reduce

        reduced = reduce(model, X, y)
        # Short of the optimum a row next to its margin may be a support vector that has no dual value yet.
        near = (seen.alpha > 0.0) | (seen.yf <= 1.0 + (0.0 if exact else NEAR))
        support = len(reduced.support) if exact else int(np.count_nonzero(near))
        return support, False, len(reduced.rows) - len(reduced.support)
    if seen.certified is None:
        raise ValueError("the kernel is not positive semidefinite: there is no gap, and no bound")
    proved = int(np.count_nonzero(seen.certified != 0))
    support = int(np.count_nonzero(seen.alpha > 0.0)) if exact else proved
    return min(support, proved), support >= proved, 0 if free else 2


def _same_rows(model: Any, X: Any, y: Any) -> None:
    from gapless.certificates.verify import as_matrix
    from gapless.judge.fingerprint import digest, row_hashes

    named = model.certificate_.fingerprint
    rows = as_matrix(X)
    index = np.searchsorted(model.classes_, np.asarray(y).ravel())
    if rows.shape[0] != named["n_rows"] or digest(row_hashes(rows), "<u8") != named["rows"]:
        raise CertificateError("other data: the bound needs exactly the rows that fit was given")
    if index.size != rows.shape[0] or digest(index, "<i8") != named["labels"]:
        raise CertificateError("other labels: the bound needs exactly what fit was given")
    if named["weights"] != digest(np.ones(rows.shape[0]), "<f8"):
        raise ValueError("the model was trained with sample weights: the bound is for rows that count alike")
