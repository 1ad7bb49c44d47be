"""The session of Ridge: one decomposition for all alpha.

    minimise sum_i s_i (y_i - <w, x_i> - b)^2 + alpha |w|^2

All alpha are targets of one least-squares problem: X'SX is summed once (or X decomposed once), each alpha adds to its diagonal,
and the residuals of all are computed together.  Between two points nothing is interpolated: the model there is a closed form too.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import validate_data

from gapless.certificates.least_squares import target_fingerprint, worst_status
from gapless.certificates.model_document import encode_parameters
from gapless.encode.weights import check_sample_weight

from .between_two_C import PathPoint
from .points import Point, Start


class RidgeSession:
    parameter = "alpha"

    def __init__(self, model: Any, X: Any, y: Any, sample_weight: Any) -> None:
        if np.ndim(y) != 1:
            raise ValueError("path: Ridge with one target; its alpha can be an array, one for each of several.")
        self.prototype = clone(model)
        self.X, self.y = validate_data(
            self.prototype, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", y_numeric=True
        )  # fmt: skip
        self.weight = sample_weight
        given = None if sample_weight is None else check_sample_weight(sample_weight, self.X.shape[0])
        self.named = target_fingerprint(self.X, np.asarray(self.y, np.float64)[:, None], given)
        self.known: dict[float, Any] = {}

    @property
    def tol(self) -> float:
        return float(self.prototype.tol)

    def prepare(self, alphas: np.ndarray) -> None:
        """The models of all these alpha, from one decomposition."""
        # Values of y, alpha by alpha, that are fitted together.
        values_together = 1 << 24
        many = max(1, values_together // self.X.shape[0])
        for first in range(0, alphas.size, many):
            part = alphas[first : first + many]
            Y = np.repeat(np.asarray(self.y, np.float64)[:, None], part.size, axis=1)
            whole = clone(self.prototype).set_params(alpha=part).fit(self.X, Y, self.weight).certificate_
            for k, alpha in enumerate(part.tolist()):
                self.known[alpha] = self._alone(whole, k, alpha)

    def _alone(self, whole: Any, k: int, alpha: float) -> Any:
        """The certificate of one of them."""
        stated = dict(whole.statement)
        stated["problem"] = {**stated["problem"], "alpha": [stated["problem"]["alpha"][k]], "columns_of_y": None}
        stated["parameters"] = {**stated["parameters"], **encode_parameters({"alpha": alpha})}
        targets = (whole.targets[k],)
        arrays = {name: value[k : k + 1] for name, value in whole.arrays.items()}
        return replace(
            whole,
            targets=targets,
            status=worst_status(targets),
            statement=stated,
            arrays=arrays,
            fingerprint=self.named,
        )

    def point(self, C: float, start: Start | None, asked: bool) -> Point:
        if C not in self.known:
            self.prepare(np.array([C]))
        certificate = self.known[C]
        shape = PathPoint(C, 0.0, 0.0, 1.0, 1.0, 0.0, np.zeros(1), np.zeros(1))
        arrays = {name: certificate.arrays[name] for name in ("coef", "intercept")}
        return Point(C, certificate, arrays, [shape], None, asked)

    def model(self, point: Point) -> Any:
        model = clone(self.prototype).set_params(alpha=point.C)
        model.n_features_in_ = self.X.shape[1]
        if hasattr(self.prototype, "feature_names_in_"):
            model.feature_names_in_ = self.prototype.feature_names_in_
        model.certificate_ = point.certificate
        model._take_model()
        return model
