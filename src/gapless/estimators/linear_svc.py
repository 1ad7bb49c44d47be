"""LinearSVC: the linear support vector machine, hinge or squared hinge."""

from __future__ import annotations

from typing import Any

from sklearn.utils.metaestimators import available_if

from gapless._runtime.written import written
from gapless.errors import no_probabilities_message
from gapless.estimators.shared.constraints import check_parameter, options
from gapless.estimators.shared.linear_classifier import LinearClassifier
from gapless.losses import BY_NAME
from gapless.solvers.linear.solve import DESCENTS, SOLVERS, can_minimise


def _has_no_probabilities(self: Any) -> bool:
    raise AttributeError(no_probabilities_message("LinearSVC"))


class LinearSVC(LinearClassifier):
    """Linear support vector classification, certified. The offset is free; scikit-learn's LinearSVC penalises it.

    ``LinearSVC(penalize_intercept=True)`` solves its problem. On columns far from 0 the two models can differ visibly.

    Minimises ``1/2 |w|^2 + C * sum_i weight_i * loss(y_i (<w, x_i> + b))`` and says how far the result can be from the
    optimum (``certificate_``). More than two classes are fitted one against the rest.

    Parameters
    ----------
    penalty : {"l2", "l1"}
        "l1" (squared hinge) minimises ``|w|_1 + C * sum_i weight_i * loss``: coefficients are exactly 0, and the certificate
        proves which of them are 0 in every optimal model (``certificate_.proved_zeros``).
    loss : {"squared_hinge", "hinge"}
        ``max(0, 1 - m)^2`` or ``max(0, 1 - m)``.
    dual : {"auto", True, False}
        Without effect: the optimum is the same.
    tol : float
        The relative duality gap at which a fit may stop: ``(primal - dual) / max(|primal|, |dual|)``.
    C : float
        Multiplies the sum of the losses. ``inf`` is the hard margin, whatever the loss: minimise ``1/2 |w|^2`` with
        ``y_i (<w, x_i> + b) >= 1`` for every row of positive weight; weights have no other effect. Where no hyperplane
        separates the classes, ``NotSeparable`` carries the proof.
    multi_class : "ovr"
        "crammer_singer" is not offered; use ``sklearn.svm.LinearSVC(multi_class="crammer_singer")``.
    fit_intercept : bool
        Whether there is an offset b.
    intercept_scaling : float
        The value of the constant feature, where the offset is penalised; any value but 1 penalises it, as scikit-learn does.
    class_weight : dict, "balanced" or None
        Weights of the classes; "balanced" uses the weighted counts.
    verbose : int
        1 prints the falling gap.
    random_state : int, RandomState or None
        The order of visits of coordinate descent. The optimum does not depend on it.
    max_iter : int
        Passes over the data (C=inf: rounds of the working set); -1 or None: a finite cap of ours.
    penalize_intercept : bool
        Put the offset into the penalty, as LIBLINEAR does. The offset is free otherwise.
    solver : {"auto", "coordinate_descent", "semismooth", "interior_point", "newton"} or a descent
        Forces an algorithm; "newton" is for the squared hinge, the two before it for the hinge. "gd", "sgd",
        "minibatch", "momentum" and "adam" are the descents of `descend`, slower: to be compared.
    schedule : float, Schedule, str or None
        The rates of a descent (``solver="sgd"`` and its like): a number is a constant rate, "inverse", "inverse_root" and
        "pegasos" are schedules with their default values, `Schedule` has all. None: rates that need no tuning.
    time_limit : float or None
        Seconds of work; compiling does not count. The model that comes back is usable (at worst the best constant) and its gap
        is true.
    checkpoint : str, path or None
        A file that holds the best model so far, at most once a minute and when the fit ends, with its true gap: a model file like
        any other. Where it is there already the fit starts from it, so that a program that was killed goes on.
    warm_start : bool
        Start from the previous fit of this object; without effect where C=inf.
    init : fitted model, certificate or None
        Start from another fit; without effect where C=inf.
    n_jobs : int or None
        Threads for one-against-rest problems. The bits do not depend on it.
    device : {"auto", "cpu", "cuda"}
        Where to compute: "cuda" is one GPU (the extra ``gpu``), an error where there is none; "auto" takes it where it wins.

    Attributes
    ----------
    coef_, intercept_ : arrays of shape (1 or n_classes, n_features) and (1 or n_classes,)
    classes_, n_features_in_, feature_names_in_, n_iter_ : as in scikit-learn
    certificate_ : what is claimed and can be checked: ``gapless.verify(model, X, y)``
    status_ : how the fit ended, as in ``certificate_``
    history_ : primal and dual value and seconds, as the fit went on
    objective_ : the formula that was minimised, with its numbers
    alpha_ : multiplier of each training row
    slack_ : slack xi of each training row
    slackness_ : `Slackness` of the training rows: their class read from alpha and from the margin
    """

    def __init__(
        self,
        penalty: str = "l2",
        loss: str = "squared_hinge",
        *,
        dual: Any = "auto",
        tol: float = 1e-4,
        C: float = 1.0,
        multi_class: str = "ovr",
        fit_intercept: bool = True,
        intercept_scaling: float = 1,
        class_weight: Any = None,
        verbose: int = 0,
        random_state: Any = None,
        max_iter: int | None = 1000,
        penalize_intercept: bool = False,
        solver: str = "auto",
        schedule: Any = None,
        time_limit: float | None = None,
        warm_start: bool = False,
        init: Any = None,
        checkpoint: Any = None,
        n_jobs: int | None = None,
        device: str = "auto",
    ) -> None:
        self.penalty = penalty
        self.loss = loss
        self.dual = dual
        self.tol = tol
        self.C = C
        self.multi_class = multi_class
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter
        self.penalize_intercept = penalize_intercept
        self.solver = solver
        self.schedule = schedule
        self.time_limit = time_limit
        self.warm_start = warm_start
        self.init = init
        self.checkpoint = checkpoint
        self.n_jobs = n_jobs
        self.device = device

    def _loss(self) -> str:
        return self.loss

    def _l1_share(self) -> float:
        return float(self.penalty == "l1")

    _parameter_constraints = {
        **LinearClassifier._parameter_constraints,
        "penalty": [options("l1", "l2")],
        "loss": [options("hinge", "squared_hinge")],
        "dual": [options("auto", True, False)],
        "multi_class": [options("ovr", "crammer_singer")],
    }

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.penalty == "l1" and self.loss == "hinge":
            raise ValueError(
                "Unsupported set of arguments: the combination of penalty='l1' and loss='hinge' is not supported"
            )
        if self.penalty == "l1" and (self.C == float("inf") or self.solver != "auto"):
            raise ValueError("penalty='l1' goes with a finite C and solver='auto'.")
        if self.multi_class == "crammer_singer":
            raise NotImplementedError(
                'multi_class="crammer_singer" is not offered; use sklearn.svm.LinearSVC(multi_class="crammer_singer").'
            )
        solvers = (solver for solver in SOLVERS if can_minimise(solver, BY_NAME[self.loss]))
        check_parameter(self, "solver", [options("auto", *solvers, *DESCENTS)])
        if self.C == float("inf") and self.solver != "auto":
            raise ValueError(f"solver={written(self.solver)} finds no hard margin: with C=inf leave solver='auto'.")

    @available_if(_has_no_probabilities)
    def predict_proba(self, X: Any) -> Any:
        """Never there: an SVM's scores are no probabilities. The error says what gives them."""
