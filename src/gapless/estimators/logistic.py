"""LogisticRegression: two classes, or more at once (multinomial)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, log_expit, log_softmax, softmax

from gapless.solvers.choose import SOLVERS

from ._linear_classifier import LinearClassifier

#: scikit-learn's solvers: the optimum is the same, so the name has no effect here.
PEERS = ("lbfgs", "liblinear", "newton-cg", "newton-cholesky", "sag", "saga")


class LogisticRegression(LinearClassifier):
    """L2-penalised logistic regression, certified.

    Minimises ``1/2 |w|^2 + C * sum_i weight_i * ln(1 + exp(-y_i (<w, x_i> + b)))`` and says how far the result can be
    from the optimum (``certificate_``). With K > 2 classes the loss is that of softmax, one row of coefficients a class:
    ``ln sum_k exp(<w_k, x_i> + b_k) - (<w_y, x_i> + b_y)``; the free offsets then sum to 0.

    Parameters
    ----------
    C : float
        Multiplies the sum of the losses.
    l1_ratio : 0.0
        Other values are not offered; use ``sklearn.linear_model.LogisticRegression(l1_ratio=..., solver="saga")``.
    dual : bool
        Without effect: the optimum is the same.
    tol : float
        The relative duality gap at which a fit may stop: ``(primal - dual) / max(|primal|, |dual|)``.
    fit_intercept : bool
        Whether there is an offset b.
    intercept_scaling : float
        The value of the constant feature, where the offset is penalised.
    class_weight : dict, "balanced" or None
        Weights of the classes; "balanced" uses the weighted counts.
    random_state : int, RandomState or None
        The order of visits of coordinate descent. The optimum does not depend on it.
    solver : {"auto", "newton", "coordinate_descent"} or a name of scikit-learn's
        Forces an algorithm; scikit-learn's names ("lbfgs", "liblinear", ...) mean "auto".
    max_iter : int
        Newton steps or passes; -1 or None: a finite cap of ours.
    verbose : int
        1 prints the falling gap.
    warm_start : bool
        Start from the previous fit of this object.
    n_jobs : int or None
        Threads. The bits do not depend on it; so far this model uses one.
    penalize_intercept : bool
        Put the offset into the penalty, as LIBLINEAR does. The offset is free otherwise.
    time_limit : float or None
        Seconds. The model that comes back is usable and its gap is true.
    init : fitted model, certificate or None
        Start from another fit.
    device : {"auto", "cpu"}
        Where to compute.

    Attributes
    ----------
    coef_, intercept_ : arrays of shape (1 or n_classes, n_features) and (1 or n_classes,); float32 if X is
    classes_, n_features_in_, feature_names_in_, n_iter_
    certificate_ : what is claimed and can be checked: ``gapless.verify(model, X, y)``
    status_, history_, objective_, alpha_, slack_, slackness_
    """

    _keeps_float32 = True

    def __init__(
        self,
        *,
        C: float = 1.0,
        l1_ratio: float = 0.0,
        dual: bool = False,
        tol: float = 1e-4,
        fit_intercept: bool = True,
        intercept_scaling: float = 1,
        class_weight: Any = None,
        random_state: Any = None,
        solver: str = "lbfgs",
        max_iter: int | None = 100,
        verbose: int = 0,
        warm_start: bool = False,
        n_jobs: int | None = None,
        penalize_intercept: bool = False,
        time_limit: float | None = None,
        init: Any = None,
        device: str = "auto",
    ) -> None:
        self.C = C
        self.l1_ratio = l1_ratio
        self.dual = dual
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.random_state = random_state
        self.solver = solver
        self.max_iter = max_iter
        self.verbose = verbose
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.penalize_intercept = penalize_intercept
        self.time_limit = time_limit
        self.init = init
        self.device = device

    def _loss(self) -> str:
        return "logistic"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._one_of("dual", (True, False))
        self._one_of("solver", ("auto", "newton", "coordinate_descent", *PEERS))
        self._require("l1_ratio", (int, float), "a float in the range [0.0, 1.0]", lambda v: 0.0 <= v <= 1.0)
        if self.l1_ratio != 0.0:
            raise NotImplementedError(
                f"l1_ratio={self.l1_ratio!r}: L1 and elastic net are not offered; use "
                'sklearn.linear_model.LogisticRegression(l1_ratio=..., solver="saga").'
            )
        if self.C == float("inf"):
            raise NotImplementedError("C=inf, no penalty, is not offered yet; use a large finite C.")

    def _solver(self) -> str:
        return self.solver if self.solver in SOLVERS else "auto"

    def _set_n_iter(self) -> None:
        self.n_iter_ = np.array([sub.n_iter for sub in self.certificate_.subproblems], dtype=np.int32)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """ln of predict_proba, computed without forming it."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.stack([log_expit(-scores), log_expit(scores)], axis=1)
        return log_softmax(scores, axis=1)

    def predict_proba(self, X: Any) -> np.ndarray:
        """P(class | x), one column a class in the order of classes_."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.stack([expit(-scores), expit(scores)], axis=1)
        return softmax(scores, axis=1)
