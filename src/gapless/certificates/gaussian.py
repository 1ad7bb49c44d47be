"""What a fit of Gaussian classes claims: that its means, covariances and priors are the moments of the data.

Nothing is optimised, so there is no gap, and none is made up: kind ``moments``.  The judge recomputes every moment and the
rule that follows from them, to what rounding allows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gapless._compile.backend import backend
from gapless._runtime.results import result
from gapless._runtime.written import written
from gapless.certificates.base import NO_KEY, WithoutGap


@result
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class MomentsCertificate(WithoutGap):
    """``rank`` and ``condition`` have one number for each covariance of the rule; features are scaled to unit variance.

    Attributes
    ----------
    rank : rank of each covariance of the rule, features scaled to unit variance
    condition : condition number of each covariance of the rule, features scaled to unit variance
    seconds : seconds of work, compiling left out
    fingerprint : what identifies the data: numbers of rows and features, and hashes of rows, labels and weights
    statement : the model document without its certificate: estimator, parameters, classes, problem
    arrays : name -> array of the model file: coefficients, offsets, dual point
    kind : "moments": the means, covariances and shares are those of the data
    status : how the fit ended: "converged", "max_iter", "time_limit", "stalled", "interrupted", ...
    backend : what computed it: "cpu", or the name of a device
    """

    kind: str = "moments"
    status: str = "converged"
    rank: Sequence[int]
    condition: Sequence[float]
    seconds: float
    compile_seconds: float = 0.0
    backend: str = field(default_factory=backend)
    fingerprint: Mapping[str, Any]
    statement: Mapping[str, Any] = field(default_factory=dict, metadata=NO_KEY)
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict, metadata=NO_KEY)

    def __str__(self) -> str:
        n, d = self.fingerprint["n_rows"], self.fingerprint["n_features"]
        return (
            f"{self.estimator}: means, covariances and priors are the moments of these {n} rows, but for rounding (rank "
            f"{min(self.rank)} of {d}, condition {max(self.condition):.1e}; closed form, {self._duration}). "
            "Nothing was optimised: there is no duality gap."
        )

    def __repr__(self) -> str:
        return f"MomentsCertificate({self.estimator}: rank={written(list(self.rank))}, condition={written(list(self.condition))})"
