"""Sessions of the linear classifiers: LinearSVC and LogisticRegression."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from gapless.encode.lazy_frames import read_rows
from gapless.fits.frame import Frame
from gapless.fits.linear import decode, fit_parts
from gapless.fits.linear_encode import encode_linear

from .between_two_C import PathPoint
from .points import Point, Start


class LinearSession:
    """Rows, labels and fingerprint once; a problem for each C."""

    parameter = "C"

    def __init__(self, model: Any, X: Any, y: Any, sample_weight: Any) -> None:
        self.prototype = clone(model)
        self.prototype._check_parameters()
        X, y = read_rows(self.prototype, X, y, order="C", accept_large_sparse=True)
        self.X, self.names = X, getattr(self.prototype, "feature_names_in_", None)
        self.task = replace(self.prototype._task(X.dtype), C=1.0)
        with Frame(self.task.stop, self.task.n_jobs).running():
            data = encode_linear(self.task, X, y, sample_weight)
            self.shared: dict[Any, Any] = {}
            self.data = replace(data, shared=self.shared)
            self.named = data.fingerprint()
        if self.task.loss == "logistic" and data.labels.n_classes > 2:
            self.task = replace(self.task, loss="softmax")

    @property
    def tol(self) -> float:
        return self.task.stop.relative_gap

    def prepare(self, Cs: np.ndarray) -> None:
        """Nothing is common to all C but the data."""

    def point(self, C: float, start: Start | None, asked: bool) -> Point:
        task = replace(self.task, C=C, parameters={**self.task.parameters, "C": C})
        frame = Frame(task.stop, task.n_jobs, together=False)
        with frame.running():
            data = self.data.change_C(C, start)
            parts = fit_parts(task, data, frame)
            if start is not None and start.ready and not all(part.claim.converged for part in parts):
                parts = fit_parts(task, self.data.change_C(C, Start(start.arrays)), frame)
        fitted = decode(task, data, parts, self.named, self.X.shape[1], self.names, frame.stopwatch)
        kind, scale = task.offset
        shapes = []
        for line, part in enumerate(parts):
            claim, w, p = part.claim, np.asarray(part.coef, float), np.atleast_2d(np.asarray(part.combined))
            price = 0.0
            if kind == "free":
                problem = self.shared["all" if task.loss == "softmax" else (line, "all")]
                price = problem.offset_bound(claim.primal) * float(np.abs(p[:, -1]).sum())
            if kind == "penalised":
                w = np.concatenate([w, np.asarray(part.intercept, float)[:, None] / scale], axis=1)
            else:
                p = p[:, :-1]
            penalty = 0.5 * float((w * w).sum())
            gap = max(0.0, claim.gap) + claim.rounding
            below = claim.dual - claim.rounding
            shapes.append(PathPoint(C, (claim.primal - penalty) / C, gap, below, claim.primal, price, w, p))
        arrays = {name: fitted.certificate.arrays[name] for name in ("coef", "intercept", "dual")}
        return Point(C, fitted.certificate, arrays, shapes, fitted, asked)

    def model(self, point: Point) -> Any:
        model = clone(self.prototype).set_params(C=point.C)
        model.n_features_in_ = self.X.shape[1]
        if self.names is not None:
            model.feature_names_in_ = self.names
        model._take(point.fitted)
        return model
