"""LogisticRegression: two classes, or more at once (multinomial)."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import expit, log_expit, log_softmax, softmax

from gapless._runtime.written import written
from gapless.certificates.likelihood import GradientCertificate
from gapless.errors import IllConditionedWarning, SeparationWarning
from gapless.estimators.shared.constraints import Constraint, nothing, number, options
from gapless.estimators.shared.linear_classifier import LinearClassifier
from gapless.fits.blocks.given import answer_lazily
from gapless.fits.likelihood import dependent_columns, fit_unpenalised, separation
from gapless.fits.linear import LinearFit
from gapless.fits.linear_encode import LinearRequest
from gapless.losses import Logistic
from gapless.readings.slackness import Slackness
from gapless.solvers.linear.solve import DESCENTS, SOLVERS, can_minimise


class LogisticRegression(LinearClassifier):
    """Logistic regression with an L2 penalty, an L1 or elastic net penalty (two classes), or (C = inf) without, certified.

    Minimises ``1/2 |w|^2 + C * sum_i weight_i * ln(1 + exp(-y_i (<w, x_i> + b)))`` and says how far the result can be
    from the optimum (``certificate_``). With K > 2 classes the loss is that of softmax, one row of coefficients a class:
    ``ln sum_k exp(<w_k, x_i> + b_k) - (<w_y, x_i> + b_y)``; the free offsets then sum to 0.

    Parameters
    ----------
    penalty : "l2" or None
        Deprecated, as in scikit-learn 1.8, and gives its FutureWarning: "l2" is what there is without it, None is
        ``C=numpy.inf``.
        "l1" and "elasticnet" are not offered; use ``sklearn.linear_model.LogisticRegression``.
    C : float
        Multiplies the sum of the losses. ``numpy.inf``: no penalty, maximum likelihood. Then there is no duality gap; the
        certificate (kind "gradient") bounds the distance to the optimum by the gradient and proves that there is an optimum.
        Where the classes are separated there is none: see ``on_separation``. Linearly dependent columns get the coefficients of
        least norm, with an IllConditionedWarning that names them.
    l1_ratio : float from 0 to 1
        rho of the penalty ``rho |w|_1 + (1 - rho)/2 |w|^2``. Above 0 coefficients are exactly 0, and the certificate proves which
        of them are 0 in every optimal model (``certificate_.proved_zeros``); two classes.
    dual : bool
        Without effect: the optimum is the same.
    tol : float
        The relative duality gap at which a fit may stop: ``(primal - dual) / max(|primal|, |dual|)``; without a penalty the
        proved bound on the distance to the optimum, over the loss.
    fit_intercept : bool
        Whether there is an offset b.
    intercept_scaling : float
        The value of the constant feature, where the offset is penalised; any value but 1 penalises it.
    class_weight : dict, "balanced" or None
        Weights of the classes; "balanced" uses the weighted counts.
    random_state : int, RandomState or None
        The order of visits of coordinate descent. The optimum does not depend on it.
    solver : {"auto", "newton", "coordinate_descent", "gd", "sgd", "minibatch", "momentum", "adam"} or a name of scikit-learn's
        Forces an algorithm; scikit-learn's names ("lbfgs", "newton-cg", ...) mean "auto". "liblinear" also penalises the offset
        and takes two classes, as there. The last five are the descents of `descend`, slower: to be watched and compared.
    schedule : float, Schedule, str or None
        The rates of a descent (``solver="sgd"`` and its like): a number is a constant rate, "inverse", "inverse_root" and
        "pegasos" are schedules with their default values, `Schedule` has all. None: rates that need no tuning.
    max_iter : int
        Newton steps or passes; -1 or None: a finite cap of ours.
    verbose : int
        1 prints the falling gap.
    checkpoint : str, path or None
        A file that holds the best model so far, at most once a minute and when the fit ends, with its true gap: a model file like
        any other. Where it is there already the fit starts from it, so that a program that was killed goes on.
    warm_start : bool
        Start from the previous fit of this object.
    n_jobs : int or None
        Threads. The bits do not depend on it; so far this model uses one.
    penalize_intercept : bool
        Put the offset into the penalty, as LIBLINEAR does. The offset is free otherwise, and where C = inf.
    on_separation : {"warn", "raise", "ignore"}
        C = inf and classes that a hyperplane separates, completely or but for rows on it: no finite coefficients are best, and
        those that come back are where the fit was left. "warn" gives a SeparationWarning that names margin, rows and columns,
        "raise" raises it, "ignore" keeps silent. ``certificate_.separation`` has the proof (``gapless.separability``).
    time_limit : float or None
        Seconds of work; compiling does not count. The model that comes back is usable (at worst the best constant) and its gap
        is true.
    init : fitted model, certificate or None
        Start from another fit.
    device : {"auto", "cpu", "cuda"}
        Where to compute: "cuda" is one GPU (the extra ``gpu``), an error where there is none; "auto" takes it where it wins.

    Attributes
    ----------
    coef_, intercept_ : arrays of shape (1 or n_classes, n_features) and (1 or n_classes,); float32 if X is
    classes_, n_features_in_, feature_names_in_, n_iter_ : as in scikit-learn
    certificate_ : what is claimed and can be checked: ``gapless.verify(model, X, y)``
    status_ : how the fit ended, as in ``certificate_``
    history_ : primal and dual value and seconds, as the fit went on
    objective_ : the formula that was minimised, with its numbers
    alpha_ : multiplier of each training row
    slack_, slackness_ : two classes, with a penalty
    rank_, condition_ : of the columns; without a penalty only
    """

    _keeps_float32 = True

    def __init__(
        self,
        penalty: Any = "deprecated",
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
        on_separation: str = "warn",
        schedule: Any = None,
        time_limit: float | None = None,
        init: Any = None,
        checkpoint: Any = None,
        device: str = "auto",
    ) -> None:
        self.penalty = penalty
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
        self.on_separation = on_separation
        self.schedule = schedule
        self.time_limit = time_limit
        self.init = init
        self.checkpoint = checkpoint
        self.device = device

    def _loss(self) -> str:
        return "logistic"

    _parameter_constraints = {
        **LinearClassifier._parameter_constraints,
        "dual": [options(True, False)],
        "on_separation": [options("warn", "raise", "ignore")],
        "penalty": [options("l1", "l2", "elasticnet", None), Constraint("", lambda value: value == "deprecated")],
        # scikit-learn's solvers: the optimum is the same, so the name has no effect here (liblinear's penalises the offset).
        "solver": [
            options(
                "auto", *(solver for solver in SOLVERS if can_minimise(solver, Logistic())), *DESCENTS,
                "lbfgs", "liblinear", "newton-cg", "newton-cholesky", "sag", "saga",
            )
        ],
        "l1_ratio": [number(0.0, 1.0, "both"), nothing()],
    }  # fmt: skip

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._check_penalty()
        if self._l1_share() > 0.0 and self.solver in (*SOLVERS, *DESCENTS):
            raise ValueError(f"solver={written(self.solver)} knows no L1 penalty: leave solver='auto'.")
        if self._strength() == math.inf and self.solver in (*SOLVERS, *DESCENTS) and self.solver != "newton":
            raise ValueError(
                f"solver={written(self.solver)} needs a penalty: with C=inf there is Newton's method alone."
            )

    def _check_penalty(self) -> None:
        """scikit-learn's deprecated ways to name the penalty: its warnings, and what is meant."""
        if self.l1_ratio is None:
            warnings.warn(
                "'l1_ratio=None' was deprecated in scikit-learn 1.8 and ends with its 1.10. Use l1_ratio=0 instead.",
                FutureWarning,
                stacklevel=5,
            )
        if self.penalty == "deprecated":
            return
        warnings.warn(
            "'penalty' was deprecated in scikit-learn 1.8 and ends with its 1.10. Leave it out for penalty='l2', and use "
            "C=np.inf for penalty=None.",
            FutureWarning,
            stacklevel=5,
        )
        if self.penalty is None and self.C != 1.0:
            warnings.warn("Setting penalty=None will ignore the C and l1_ratio parameters", UserWarning, stacklevel=5)

    def _l1_share(self) -> float:
        if self.penalty in ("l1", "l2"):
            return float(self.penalty == "l1")
        return float(self.l1_ratio or 0.0)

    def _strength(self) -> float:
        return math.inf if self.penalty is None else float(self.C)

    def _penalises_offset(self) -> bool:
        return super()._penalises_offset() or self.solver == "liblinear"

    def _fitted(self, task: LinearRequest, X: Any, y: Any, sample_weight: Any, **options: Any) -> LinearFit:
        for name in ("rank_", "condition_"):
            self.__dict__.pop(name, None)
        if self.solver == "liblinear" and np.unique(y).size > 2:
            raise ValueError(
                "The 'liblinear' solver does not support multiclass classification (n_classes >= 3). Use another solver, all "
                "classes at once, or wrap the estimator in a OneVsRestClassifier, one class against the rest."
            )
        if task.l1 > 0.0 and np.unique(y).size > 2:
            raise NotImplementedError(
                "an L1 penalty takes two classes so far; for more use "
                f'sklearn.linear_model.LogisticRegression(l1_ratio={task.l1:g}, solver="saga").'
            )
        if task.C < math.inf:
            return super()._fitted(task, X, y, sample_weight, **options)
        task = replace(task, on_separation=self.on_separation)
        fitted = fit_unpenalised(task, X, y, sample_weight, **options)
        self.rank_, self.condition_ = fitted.certificate.rank, fitted.certificate.condition
        return fitted

    def _warn(self, fitted: LinearFit, stacklevel: int = 4) -> None:
        certificate = fitted.certificate
        if not isinstance(certificate, GradientCertificate):
            return super()._warn(fitted, stacklevel + 1)
        # Separation first: its coefficients mean nothing, whatever the columns are.
        separated = separation(certificate, fitted.outcome)
        dependent = dependent_columns(certificate, fitted.outcome)
        if separated is not None and self.on_separation == "raise":
            raise SeparationWarning(separated)
        if separated is not None and self.on_separation == "ignore":
            return None
        if separated is not None:
            warnings.warn(separated, SeparationWarning, stacklevel=stacklevel - 1)
        elif dependent is not None:
            warnings.warn(dependent, IllConditionedWarning, stacklevel=stacklevel - 1)
        else:
            super()._warn(fitted, stacklevel + 1)

    def _words_of_scikit_learn(self, status: str) -> str:
        """What a program that looks for scikit-learn's warning of this solver looks for."""
        words = {
            "lbfgs": "lbfgs failed to converge",
            "liblinear": "Liblinear failed to converge, increase the number of iterations.",
            "newton-cg": "newton-cg failed to converge. Increase the number of iterations.",
            "newton-cholesky": f"Newton solver did not converge after {self.max_iter} iterations",
            "sag": "The max_iter was reached which means the coef_ did not converge",
        }
        words["saga"] = words["sag"]
        return (
            f" (In scikit-learn's words: {words[self.solver]})" if status == "max_iter" and self.solver in words else ""
        )

    def _set_n_iter(self) -> None:
        parts = getattr(self.certificate_, "subproblems", (self.certificate_,))
        self.n_iter_ = np.array([part.n_iter for part in parts], dtype=np.int32)

    @property
    def alpha_(self) -> np.ndarray:
        """The dual variable of each training row (two classes: n; more: a row of n for each class).

        Without a penalty it is |c dl/dz| at the fitted scores: c times one minus the probability of the row's own class (and c
        times those of the others); sum_i alpha_i y_i x_i = 0 up to the gradient.
        """
        certificate = self._certificate("alpha_")
        if certificate.kind != "gradient":
            return super().alpha_
        self._require_training_rows()
        c, index = self._c, self._label_index
        scores = np.where(c > 0, self._scores, 0.0)
        if len(scores) == 1:
            return c * expit(np.where(index == 1, -scores[0], scores[0]))
        P = softmax(scores, axis=0)
        own = np.arange(len(P))[:, None] == index
        return c * np.where(own, np.where(own, 0.0, P).sum(axis=0), P)

    @property
    def slack_(self) -> np.ndarray:
        """xi = max(0, 1 - yf) of each training row; NaN for rows of weight 0. Without a penalty there is no margin to miss."""
        self._needs_penalty("slack_")
        return super().slack_

    @property
    def slackness_(self) -> Slackness:
        """The complementary-slackness class of each training row; not without a penalty."""
        self._needs_penalty("slackness_")
        return super().slackness_

    def _needs_penalty(self, asked: str) -> None:
        if self._certificate(asked).kind == "gradient":
            raise AttributeError(
                f"{asked} speaks of a margin at 1, whose width is 1/|w|; without a penalty (C=inf) nothing ties |w| to it. "
                "alpha_ has the multipliers of the rows, certificate_ what is proved."
            )

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """ln of predict_proba, computed without forming it."""
        if hasattr(X, "__dask_graph__"):
            return answer_lazily(self, "predict_log_proba", X)
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.stack([log_expit(-scores), log_expit(scores)], axis=1)
        return log_softmax(scores, axis=1)

    def predict_proba(self, X: Any) -> np.ndarray:
        """P(class | x), one column a class in the order of classes_."""
        if hasattr(X, "__dask_graph__"):
            return answer_lazily(self, "predict_proba", X)
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.stack([expit(-scores), expit(scores)], axis=1)
        return softmax(scores, axis=1)
