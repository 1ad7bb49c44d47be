"""Perceptron: the oldest linear classifier, with a proof of how long it takes or that it never ends."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from gapless._runtime.progress import Progress, with_progress
from gapless._runtime.written import written
from gapless.certificates.confirmation.odd_scales import confirmed
from gapless.certificates.perceptron import BoundCertificate
from gapless.encode.labels import Labels, encode_labels, one_class_error
from gapless.encode.lazy_frames import read_rows
from gapless.encode.weights import check_sample_weight, resolve_class_weight, weightless_classes
from gapless.errors import no_probabilities_message
from gapless.estimators.shared.certified_model import CoefficientModel, StatusModel
from gapless.estimators.shared.constraints import booleans, integer, minus_one, nothing, number, options, shared
from gapless.estimators.shared.linear_classifier import LinearClassifier, products_of
from gapless.estimators.shared.loading import blank_model
from gapless.fits.perceptron import PerceptronFit, fit_perceptron
from gapless.fits.perceptron_pass import PassState, hold_out_rows, make_pass, read_start, start_values_of, visit_seeds
from gapless.fits.perceptron_proofs import EncodedRows, PerceptronRequest
from gapless.solvers.loop import interruptible
from gapless.solvers.perceptron_votes import share_votes


def _has_no_probabilities(self: Any) -> bool:
    raise AttributeError(no_probabilities_message("Perceptron"))


def _has_partial_fit(self: Any) -> bool:
    if self.variant in ("pocket", "voted"):
        raise AttributeError(
            f"variant={written(self.variant)} has no partial_fit: it needs all rows at once; 'averaged' does not"
        )
    return True


class Perceptron(CoefficientModel, StatusModel, ClassifierMixin, BaseEstimator):
    """The perceptron: visit the rows, and where ``y (<w, x> + b) <= 0`` add ``eta0 * y * (x, 1)`` to ``(w, b)``.

    It stops after a pass without a mistake: ``certificate_`` then says how many mistakes there can be at most on these rows,
    from this start and at this rate, and ``gapless.verify`` checks it. By default it also stops where scikit-learn's does, with
    the same weights. Where no hyperplane separates the classes it would go on for ever without ``tol``: ``certify=True`` or
    ``tol=None`` finds that out, by a state that comes back or by ``separability``, and the fit ends with exact multipliers that
    prove it, and with the best weights met (the pocket). More than two classes are fitted one against the rest.

    Parameters
    ----------
    penalty : {None, "l2", "l1", "elasticnet"}
        Shrinks the weights at each visit, as in scikit-learn. Then there is no clean pass to stop at, and no bound.
    alpha, l1_ratio : float
        Strength of the penalty, and the share of l1 in "elasticnet".
    fit_intercept : bool
        Whether there is an offset b. Sparse rows get the whole step on it, as dense ones (scikit-learn: 0.01 of it).
    max_iter : int
        Passes over the data; -1 or None: a finite cap of ours. A fit that this limit ends keeps the weights of its last visit, as
        scikit-learn's does: they can err on more rows than the best constant.
    tol : float or None
        scikit-learn's: stop where the mean loss of ``n_iter_no_change`` passes in a row is not below the best less ``tol``.
        None: only a clean pass, a proof that there is none, or a limit ends the fit; a limit is said, by a ConvergenceWarning.
    shuffle : bool
        A new order of visits for each pass, scikit-learn's, or always that of the rows. In the order of the rows a state that
        comes back, as it must on integers and dyadic numbers, is found with ``tol=None`` or ``certify=True``.
    verbose : int
        1 prints the mistakes of the passes.
    eta0 : float
        The rate. From a start of 0 it does not change what is predicted, from another it does.
    n_jobs : int or None
        Threads for one-against-rest problems. The bits do not depend on it.
    random_state : int, RandomState or None
        The order of visits.
    early_stopping : bool
        Hold out ``validation_fraction`` of the rows and stop where their accuracy does not rise.
    validation_fraction : float
    n_iter_no_change : int
    class_weight : dict, "balanced" or None
        Weights multiply the step of a row, as in scikit-learn; by the class of the row in every subproblem.
    warm_start : bool
        Start from the previous fit of this object.
    variant : {"plain", "pocket", "averaged", "voted"}
        The last weights; those with the fewest errors; their mean over all visits; or a vote of all of them, each with as many
        votes as it survived visits (``coef_`` is the mean then, ``predict`` votes).
    init : fitted linear model, certificate, pair (coef, intercept) or None
        Start values. ``fit(coef_init=, intercept_init=)`` goes before.
    certify : {"auto", True, False}
        Whether to look for the direction that proves the best bound, and whether the classes can be separated at all where the
        fit does not end by itself. True does, whatever ``tol`` says, and also where ``max_iter`` ended it: where they can be
        separated the fit goes on until they are. "auto" does with ``tol=None``; with a ``tol`` only where the proof costs at most
        a fifth of the fit, and it then changes no weights.
    trace : bool
        Keep every update in ``trace_``. Costs two passes for each.
    time_limit : float or None
        Seconds of work; compiling does not count. A fit that this limit or Ctrl-C ends is at worst the best constant.
    device : {"auto", "cpu"}

    Attributes
    ----------
    coef_, intercept_ : arrays of shape (1 or n_classes, n_features) and (1 or n_classes,)
    classes_, n_features_in_, feature_names_in_, n_iter_ : as in scikit-learn
    t_ : rows that were visited
    mistakes_, passes_ : int, or an array with one for each class
    certificate_ : what is claimed and can be checked. Kind "bound": the mistakes are bounded, or nothing separates the classes;
        kind "heuristic": mistakes and errors, nothing about what is possible
    status_ : "converged" after a clean pass, "infeasible" where nothing separates, "stalled" where ``tol`` ended it
    history_ : (pass, seconds, mistakes, mean loss)
    alpha_ : mistakes on each training row: coef_ = start + eta0 * sum_i alpha_i * y_i * x_i
    trace_ : with ``trace=True``, the updates (for more classes one list a class)
    """

    _progress: Any = None

    classes_: np.ndarray
    coef_: Any
    intercept_: np.ndarray
    certificate_: BoundCertificate

    def __init__(
        self,
        *,
        penalty: str | None = None,
        alpha: float = 0.0001,
        l1_ratio: float = 0.15,
        fit_intercept: bool = True,
        max_iter: int | None = 1000,
        tol: float | None = 1e-3,
        shuffle: bool = True,
        verbose: int = 0,
        eta0: float = 1.0,
        n_jobs: int | None = None,
        random_state: Any = 0,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        class_weight: Any = None,
        warm_start: bool = False,
        variant: str = "plain",
        init: Any = None,
        certify: bool | str = "auto",
        trace: bool = False,
        time_limit: float | None = None,
        device: str = "auto",
    ) -> None:
        self.penalty = penalty
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.verbose = verbose
        self.eta0 = eta0
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.variant = variant
        self.init = init
        self.certify = certify
        self.trace = trace
        self.time_limit = time_limit
        self.device = device

    _parameter_constraints = {
        "penalty": [options("l2", "l1", "elasticnet", None)],
        "alpha": [number(0.0, closed="left")],
        "l1_ratio": [number(0.0, 1.0, "both")],
        "eta0": [number(0.0)],
        "tol": [number(0.0, closed="left", with_inf=True), nothing()],
        "max_iter": [integer(1), minus_one(), nothing()],
        "n_iter_no_change": [integer(1)],
        "validation_fraction": [number(0.0, 1.0)],
        **shared("time_limit", "n_jobs", "verbose"),
        **booleans("fit_intercept", "shuffle", "early_stopping", "warm_start", "trace"),
        "variant": [options("plain", "pocket", "averaged", "voted")],
        "certify": [options("auto", True, False)],
        **shared("device"),
    }

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.penalty is not None and (self.variant != "plain" or self.trace):
            what = f"variant={written(self.variant)}" if self.variant != "plain" else "trace=True"
            raise ValueError(f"{what} is for penalty=None: a penalty changes the weights at every visit.")

    # -- fit -------------------------------------------------------------------------------------------------

    def fit(
        self, X: Any, y: Any, coef_init: Any = None, intercept_init: Any = None, sample_weight: Any = None
    ) -> Perceptron:
        """Fit, certify, and warn only where the classes cannot be separated or a limit came first.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            float32 and float64 are read as they are.
        y : array of n_samples labels of any type
        coef_init, intercept_init : arrays in the shapes of ``coef_`` and ``intercept_``, optional
            Where to start.
        sample_weight : array of n_samples weights, optional
            Multiplies the step of a row. A row of weight 0 is no row.
        """
        with interruptible(self) as interruption:
            self._check_parameters()
            X, y = read_rows(self, X, y, order="C", accept_large_sparse=True)
            labels = encode_labels(y)
            weights = check_sample_weight(sample_weight, X.shape[0])
            class_weight = resolve_class_weight(self.class_weight, labels, weights)
            weightless_classes(labels, weights, class_weight)
            start = self._start(labels, X.shape[1], coef_init, intercept_init)
            seeds = visit_seeds(self.random_state, len(labels.positives))
            with with_progress(self) as progress:
                held_out = self._hold_out(labels, weights * class_weight[labels.index])
                names = getattr(self, "feature_names_in_", None)
                rows = EncodedRows(X, labels, weights, class_weight, held_out, sample_weight is not None, names)
                fitted = fit_perceptron(
                    self._task(), rows, start, seeds, interruption=interruption, note=_note_of(progress)
                )  # fmt: skip
            fitted = replace(fitted, certificate=confirmed(fitted.certificate, X, y, sample_weight))
            self._store(fitted, labels)
            self.t_ = 1.0 + self.n_iter_ * X.shape[0]
        self._raise_interruption(interruption)
        self._warn(fitted)
        return self

    def _store(self, fitted: PerceptronFit, labels: Labels) -> None:
        certificate = fitted.certificate
        self.classes_ = labels.classes
        self.coef_, self.intercept_ = fitted.coef, fitted.intercept
        self.certificate_ = certificate
        self.history_ = fitted.history
        self._from_certificate()
        self._state = PassState(certificate.arrays["last"], fitted.lag, fitted.visits)
        if self.trace:
            self.trace_ = fitted.traces[0] if len(fitted.traces) == 1 else fitted.traces

    def _from_certificate(self) -> None:
        subs = self.certificate_.subproblems
        one = len(subs) == 1
        self.mistakes_ = subs[0].mistakes if one else np.array([sub.mistakes for sub in subs])
        self.passes_ = subs[0].passes if one else np.array([sub.passes for sub in subs])
        self.n_iter_ = self.certificate_.n_iter

    def _task(self) -> PerceptronRequest:
        parameters = self.get_params(deep=False)
        parameters["init"] = None  # a model to start from is not part of what was fitted
        return PerceptronRequest(
            estimator="Perceptron", parameters=parameters, fit_intercept=bool(self.fit_intercept), rate=float(self.eta0),
            penalty=self.penalty, alpha=float(self.alpha), l1_ratio=float(self.l1_ratio),
            tol=None if self.tol is None else float(self.tol), patience=int(self.n_iter_no_change), passes=self._pass_limit(),
            seconds=None if self.time_limit is None else float(self.time_limit), shuffle=bool(self.shuffle),
            variant=self.variant, certify=self.certify, traced=bool(self.trace), n_jobs=self.n_jobs,
        )  # fmt: skip

    def _start(self, labels: Labels, d: int, coef: Any, intercept: Any) -> np.ndarray:
        """The start values (S, d + 1): those given to fit, else ``init``, else those of the previous fit, else 0."""
        given = self.init
        if given is None and self.warm_start and hasattr(self, "coef_"):
            given = self
        if given is not None:
            c, b = start_values_of(given)
            coef = c if coef is None else coef
            intercept = b if intercept is None else intercept
        return read_start(coef, intercept, (len(labels.positives), d), self.fit_intercept)

    def _hold_out(self, labels: Labels, c: np.ndarray) -> np.ndarray:
        """Whether each row is held out by ``early_stopping``."""
        if not self.early_stopping:
            return np.zeros(c.size, dtype=bool)
        return hold_out_rows(labels, c, self.validation_fraction, self.random_state)

    @available_if(_has_partial_fit)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Perceptron:
        """One pass over some rows, from the weights reached so far.

        Rows that are gone cannot be judged: there is no ``certificate_`` after this. ``mistakes_`` and ``passes_`` go on
        counting.

        Parameters
        ----------
        X, y, sample_weight : as in ``fit``
        classes : all labels that will ever come; needed at the first call
        """
        self._check_parameters()
        first = self._check_partial_fit(classes)
        X, y = read_rows(self, X, y, order="C", reset=first)
        labels = encode_labels(y, np.unique(classes) if first else self.classes_)
        weights = check_sample_weight(sample_weight, X.shape[0])
        c = weights * resolve_class_weight(self.class_weight, labels, weights)[labels.index]
        S, d = len(labels.positives), X.shape[1]
        if first:
            self.classes_, self.t_ = labels.classes, 1.0
            self.mistakes_, self.passes_ = (0, 0) if S == 1 else (np.zeros(S, np.int64), np.zeros(S, np.int64))
            lag = np.zeros((S, d + 1 if self.variant == "averaged" else 0))
            self._state = PassState(self._start(labels, d, None, None), lag, 0)
        elif self.variant == "plain":  # the user may have changed the coefficients
            coef = self.coef_.toarray() if sparse.issparse(self.coef_) else self.coef_
            self._state = self._state._replace(last=np.column_stack([coef, self.intercept_]))
        seeds = visit_seeds(self.random_state, S)
        self._state, model, made = make_pass(self._task(), X, labels, c, self._state, seeds)
        self.mistakes_ = self.mistakes_ + (int(made[0]) if S == 1 else made)
        self.passes_, self.n_iter_ = self.passes_ + 1, 1
        self.t_ += X.shape[0]
        self.coef_, self.intercept_ = np.ascontiguousarray(model[:, :-1]), model[:, -1].copy()
        for name in ("certificate_", "history_", "trace_"):
            self.__dict__.pop(name, None)
        return self

    def _check_partial_fit(self, classes: Any) -> bool:
        """Refuse parameters and classes that ``partial_fit`` cannot have; whether this is its first call."""
        if self.early_stopping:
            raise ValueError("early_stopping should be False with partial_fit")
        if isinstance(self.class_weight, str):
            raise ValueError(
                f"class_weight {written(self.class_weight)} is not supported for partial_fit. Compute the weights from a large "
                "enough sample with compute_class_weight, and give them as a dict."
            )
        first = not hasattr(self, "classes_")
        if first and classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        if classes is not None:
            known = np.unique(classes)
            if not first and not np.array_equal(known, self.classes_):
                raise ValueError(
                    f"`classes={written(classes)}` is not the same as on last call to partial_fit, was: {written(self.classes_)}"
                )
            if known.size < 2:
                raise one_class_error(known)
        return first

    # -- prediction ------------------------------------------------------------------------------------------

    def decision_function(self, X: Any) -> np.ndarray:
        """<w, x> + b, for variant="voted" the share of votes for less that against: (n_samples,), or one column a class."""
        check_is_fitted(self)
        X = read_rows(self, X, reset=False)
        arrays = self.certificate_.arrays if hasattr(self, "certificate_") else {}
        if "voters" in arrays:
            counts = self.certificate_.statement["problem"]["voters"]
            scores = share_votes(X, arrays["voters"], arrays["votes"], counts)
        else:
            scores = products_of(X, self.coef_) + self.intercept_
        return scores.ravel() if scores.shape[1] == 1 else scores

    predict = LinearClassifier.predict
    densify = LinearClassifier.densify
    sparsify = LinearClassifier.sparsify

    @available_if(_has_no_probabilities)
    def predict_proba(self, X: Any) -> Any:
        """Never there: scores are no probabilities. The error says what gives them."""

    # -- what a certified fit knows --------------------------------------------------------------------------

    @property
    def alpha_(self) -> np.ndarray:
        """The mistakes made on each training row (two classes: n; more: a row of n for each class)."""
        updates = self._certificate("alpha_").arrays["updates"]
        return updates[0] if updates.shape[0] == 1 else updates

    def _certificate(self, attribute: str) -> BoundCertificate:
        if not hasattr(self, "certificate_"):
            after = "after partial_fit, whose rows are gone" if hasattr(self, "coef_") else "before fit"
            raise AttributeError(f"Perceptron has no {attribute} {after}")
        return self.certificate_

    @classmethod
    def _from_document(cls, document: dict[str, Any], arrays: dict[str, np.ndarray]) -> Any:
        """A fitted model from a document that the reader has checked."""
        model = blank_model(cls, document)
        model.coef_, model.intercept_ = np.array(arrays["coef"]), np.array(arrays["intercept"])
        model.certificate_ = BoundCertificate.from_document(document, arrays)
        model.history_ = []
        model._from_certificate()
        model.t_ = 1.0 + model.n_iter_ * document["certificate"]["fingerprint"]["n_rows"]
        model._state = PassState(np.array(arrays["last"]), np.zeros((len(model.coef_), 0)), 0)
        return model


def _note_of(progress: Any) -> Any:
    """The function that is called after each pass: it moves the bar, or is the function that a command put in its place."""
    if not isinstance(progress, Progress):
        return progress
    return lambda run, made: progress.tell(run.passes, f"mistakes {made}  mean loss {run.loss:.6g}", None)
