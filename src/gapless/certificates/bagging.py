"""What an ensemble claims that optimises nothing: which rows its learners saw, and an estimate of its error.

Kind ``heuristic``: there is no gap and no bound.  A row of n is in a bag of m draws with probability 1 - (1 - 1/n)^m; beside
it stands the share that was seen.  The out-of-bag error is the error of the learners that did not see a row, over such rows: an
*estimate* of the error on new data, of an ensemble about a third as large.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gapless._compile.backend import backend
from gapless._runtime.results import result
from gapless.certificates.base import NO_KEY, WithoutGap
from gapless.judge.fingerprint import digest
from gapless.rows.hashes import row_hashes


def mark_of_targets(X: Any, y: np.ndarray, weights: np.ndarray | None) -> dict[str, Any]:
    """A fingerprint for class indices or real targets, of one or several columns."""
    n = X.shape[0]
    return {
        "n_rows": n,
        "n_features": int(X.shape[1]),
        "rows": digest(row_hashes(X), "<u8"),
        "labels": digest(y, "<i8" if y.dtype.kind in "iu" else "<f8"),
        "weights": digest(np.ones(n) if weights is None else weights + 0.0, "<f8"),
    }


def bag_block(
    members: int,
    draws: int,
    features: int,
    labels: str,
    *,
    replacement: bool = True,
    features_replacement: bool = False,
    weighted: bool = False,
    seeds: int = 0,
) -> dict[str, Any]:
    """How the rows and features of the members were drawn."""
    return {
        "members": int(members),
        "draws": int(draws),
        "features": int(features),
        "replacement": bool(replacement),
        "features_replacement": bool(features_replacement),
        "weighted": bool(weighted),
        "seeds": int(seeds),
        "labels": labels,
    }


@result
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class EnsembleCertificate(WithoutGap):
    """``estimate`` is the out-of-bag score (accuracy, or R squared), over ``estimated`` rows; both None where it was not
    asked for.

    Attributes
    ----------
    in_bag_probability : probability that a row is in a bag, 1 - (1 - 1/n)^m for m draws; None with sample_weight
    in_bag_share : share of rows that a bag has, as seen
    estimate : out-of-bag score: accuracy, or R squared; None where it was not asked for
    estimated : rows that the estimate counts; None where it was not asked for
    seconds : seconds of work, compiling left out
    fingerprint : what identifies the data: numbers of rows and features, and hashes of rows, labels and weights
    statement : the model document without its certificate: estimator, parameters, classes, problem
    arrays : name -> array of the model file: coefficients, offsets, dual point
    kind : "heuristic": no optimum is claimed
    status : how the fit ended: "converged", "max_iter", "time_limit", "stalled", "interrupted", ...
    reason : why members are missing, where the fit was broken off
    backend : what computed it: "cpu", or the name of a device
    """

    kind: str = "heuristic"
    status: str = "converged"
    reason: str = ""
    in_bag_probability: float | None
    in_bag_share: float | None
    estimate: float | None
    estimated: int | None
    seconds: float
    compile_seconds: float = 0.0
    backend: str = field(default_factory=backend)
    fingerprint: Mapping[str, Any]
    statement: Mapping[str, Any] = field(default_factory=dict, metadata=NO_KEY)
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict, metadata=NO_KEY)

    def __str__(self) -> str:
        said = [
            f"{self.estimator}: {self.statement['problem']['members']} learners on {self.fingerprint['n_rows']} rows"
        ]
        if self.in_bag_share is not None:
            known = "" if self.in_bag_probability is None else f", probability {self.in_bag_probability:.4f}"
            said.append(f"a row is in a bag with share {self.in_bag_share:.4f}{known}")
        if self.estimate is not None:
            said.append(f"out of bag {self.estimate:.4f}, an estimate from {self.estimated} rows")
        said += [self.reason] if self.reason else []
        known = self._sentence_of_new_rows()
        unknown = "" if known else ", and nothing in it bounds the error on new data"
        said.append(f"nothing was optimised{unknown} ({self._duration})")
        return "; ".join(said) + "." + known

    def __repr__(self) -> str:
        return f"EnsembleCertificate({self.estimator}: members={self.statement['problem']['members']}, estimate={self.estimate})"
