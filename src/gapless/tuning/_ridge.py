"""The session of Ridge: one decomposition for all alpha.

    minimise sum_i s_i (y_i - <w, x_i> - b)^2 + alpha |w|^2

With the (weighted, centred) X = U S V' the solution is w = V diag(S / (S^2 + alpha)) U'y for every alpha.  So is that of any
alpha between two points, which is why nothing is interpolated there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from gapless.problems.between import Shape

from ._points import Point, Start


class RidgeSession:
    parameter = "alpha"

    def __init__(self, model: Any, X: Any, y: Any, sample_weight: Any) -> None:
        self.prototype, self.X, self.y, self.weight = clone(model), X, y, sample_weight
        if np.ndim(y) != 1:
            raise ValueError("path: Ridge with one target; its alpha can be an array, one for each of several.")

    @property
    def tol(self) -> float:
        return float(self.prototype.tol)

    def point(self, C: float, start: Start | None, asked: bool) -> Point:
        model = clone(self.prototype).set_params(alpha=C).fit(self.X, self.y, self.weight)
        certificate = model.certificate_
        shape = Shape(C, 0.0, 0.0, 1.0, 1.0, 0.0, np.zeros(1), np.zeros(1))
        arrays = {"coef": certificate.arrays["coef"], "intercept": certificate.arrays["intercept"]}
        return Point(C, certificate, arrays, [shape], model, asked)

    def model(self, point: Point) -> Any:
        return point.fitted
