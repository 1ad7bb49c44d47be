"""What a fit of Gaussian classes claims: that its means, covariances and priors are the moments of the data.

Nothing is optimised, so there is no gap, and none is made up: kind ``moments``.  The judge recomputes every moment and the
rule that follows from them, to what rounding allows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gapless._compile.kernel_store import backend
from gapless._runtime.results import result
from gapless._runtime.written import written
from gapless.certificates.base import WithoutGap, statement_of, times_of
from gapless.certificates.model_document import decode_float, encode_float

__all__ = ["MomentsCertificate"]


@result
@dataclass(frozen=True, eq=False, repr=False)
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

    rank: Sequence[int]
    condition: Sequence[float]
    seconds: float
    fingerprint: Mapping[str, Any]
    statement: Mapping[str, Any] = field(default_factory=dict)
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)
    kind: str = "moments"
    status: str = "converged"
    backend: str = field(default_factory=backend)

    def document(self) -> dict[str, Any]:
        """The model document without its arrays: JSON values only."""
        certificate = {
            "kind": self.kind,
            "status": self.status,
            "rank": [int(r) for r in self.rank],
            "condition": [encode_float(c) for c in self.condition],
            **self._times(),
            "backend": self.backend,
            "fingerprint": dict(self.fingerprint),
        }
        return self._stated(certificate)

    @classmethod
    def from_document(
        cls, document: Mapping[str, Any], arrays: Mapping[str, np.ndarray] | None = None
    ) -> MomentsCertificate:
        """The inverse of ``document``. ``arrays`` are those of the model file."""
        block = document["certificate"]
        return cls(
            rank=[int(r) for r in block["rank"]],
            condition=[decode_float(c) for c in block["condition"]],
            **times_of(block),
            fingerprint=dict(block["fingerprint"]),
            statement=statement_of(document),
            arrays=dict(arrays or {}),
            kind=str(block["kind"]),
            status=str(block["status"]),
            backend=str(block["backend"]),
        )

    def __str__(self) -> str:
        n, d = self.fingerprint["n_rows"], self.fingerprint["n_features"]
        return (
            f"{self.estimator}: means, covariances and priors are the moments of these {n} rows, but for rounding (rank "
            f"{min(self.rank)} of {d}, condition {max(self.condition):.1e}; closed form, {self._took}). "
            "Nothing was optimised: there is no duality gap."
        )

    def __repr__(self) -> str:
        return f"MomentsCertificate({self.estimator}: rank={written(list(self.rank))}, condition={written(list(self.condition))})"
