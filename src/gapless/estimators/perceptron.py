"""Perceptron: the oldest linear classifier, with a proof of how long it takes or that it never ends."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.utils import check_random_state
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from gapless._runtime.progress import Progress, with_progress
from gapless._runtime.threads import map_threads, one_blas_thread
from gapless._runtime.written import written
from gapless.certificates.perceptron import BoundCertificate
from gapless.encode.labels import Labels, encode_labels, one_class_error
from gapless.encode.lazy_frames import refuse_lazy
from gapless.encode.weights import check_sample_weight, resolve_class_weight, weightless_classes
from gapless.errors import no_probabilities_message
from gapless.estimators.shared.certified_model import StatusModel
from gapless.estimators.shared.constraints import booleans, integer, minus_one, nothing, number, options, shared
from gapless.estimators.shared.linear_classifier import LinearClassifier, products_of
from gapless.estimators.shared.loading import blank_model
from gapless.fits.perceptron import PerceptronFit, fit_perceptron
from gapless.fits.perceptron_bound import EncodedRows, PerceptronRequest
from gapless.rows import as_rows
from gapless.solvers.loop import interruptible
from gapless.solvers.perceptron import Run


def _has_no_probabilities(self: Any) -> bool:
    raise AttributeError(no_probabilities_message("Perceptron"))


def _goes_on(self: Any) -> bool:
    if self.variant in ("pocket", "voted"):
        raise AttributeError(
            f"variant={written(self.variant)} has no partial_fit: it needs all rows at once; 'averaged' does not"
        )
    return True


class Perceptron(StatusModel, ClassifierMixin, BaseEstimator):
    """The perceptron: visit the rows, and where ``y (<w, x> + b) <= 0`` add ``eta0 * y * (x, 1)`` to ``(w, b)``.

    It stops after a pass without a mistake. ``certificate_`` then says how many mistakes there can be at most on these rows,
    from this start and at this rate, and ``gapless.verify`` checks it. Where no hyperplane separates the classes it would go on
    for ever: that is found out, by a state that comes back or by ``separability``, and the fit ends with exact multipliers that
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
        scikit-learn's: stop where the mean loss of ``n_iter_no_change`` passes in a row is not below the best less ``tol``. On
        data of up to 400,000 values the fit then asks whether the classes can be separated, and goes on until they are if so.
        None: only a clean pass, a proof that there is none, or a limit ends the fit; a limit is said, by a ConvergenceWarning.
    shuffle : bool
        A new order of visits for each pass, or always that of the rows. In the order of the rows a state that comes back is
        found, which on integers and dyadic numbers it must.
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
        fit does not end by itself. "auto" does where that is cheap, or where nothing else (``tol``) would end it; True also where
        ``max_iter`` ended it.
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
    certificate_ : kind "bound": what is claimed and can be checked
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
            refuse_lazy(X)
            X, y = validate_data(
                self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", accept_large_sparse=True
            )
            labels = encode_labels(y)
            weights = check_sample_weight(sample_weight, X.shape[0])
            class_weight = resolve_class_weight(self.class_weight, labels, weights)
            weightless_classes(labels, weights, class_weight)
            start = self._start(labels, X.shape[1], coef_init, intercept_init)
            random = check_random_state(self.random_state)
            seeds = random.randint(2**31 - 1, size=len(labels.positives))
            with with_progress(self) as progress:
                note = _note(progress)
                held_out = self._held_out(labels, weights * class_weight[labels.index])
                names = getattr(self, "feature_names_in_", None)
                rows = EncodedRows(X, labels, weights, class_weight, held_out, sample_weight is not None, names)
                fitted = fit_perceptron(self._task(), rows, start, seeds, interruption=interruption, note=note)
            self._keep(fitted, labels)
            self.t_ = 1.0 + self.n_iter_ * X.shape[0]
        self._raise_interruption(interruption)
        self._warn(fitted)
        return self

    def _keep(self, fitted: PerceptronFit, labels: Labels) -> None:
        certificate = fitted.certificate
        self.classes_ = labels.classes
        self.coef_, self.intercept_ = fitted.coef, fitted.intercept
        self.certificate_ = certificate
        self.history_ = fitted.history
        self._from_certificate()
        self._last, self._lag, self._visits = certificate.arrays["last"], fitted.lag, fitted.visits
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
            estimator="Perceptron",
            parameters=parameters,
            fit_intercept=bool(self.fit_intercept),
            rate=float(self.eta0),
            penalty=self.penalty,
            alpha=float(self.alpha),
            l1_ratio=float(self.l1_ratio),
            tol=None if self.tol is None else float(self.tol),
            patience=int(self.n_iter_no_change),
            passes=self._pass_limit(),
            seconds=None if self.time_limit is None else float(self.time_limit),
            shuffle=bool(self.shuffle),
            variant=self.variant,
            certify=self.certify,
            traced=bool(self.trace),
            n_jobs=self.n_jobs,
        )

    def _start(self, labels: Labels, d: int, coef: Any, intercept: Any) -> np.ndarray:
        """The start values (S, d + 1): given to fit, else ``init``, else those of the previous fit, else 0."""
        S = len(labels.positives)
        given = self.init
        if given is None and self.warm_start and hasattr(self, "coef_"):
            given = self
        if given is not None:
            c, b = _start_values(given)
            coef = c if coef is None else coef
            intercept = b if intercept is None else intercept
        start = np.zeros((S, d + 1))
        if coef is not None:
            coef = coef.toarray() if sparse.issparse(coef) else np.asarray(coef, dtype=np.float64)
            coef = coef.reshape(1, -1) if S == 1 else coef
            if coef.shape != (S, d):
                raise ValueError(f"Provided coef_init does not match dataset: shape {coef.shape}, expected {(S, d)}.")
            start[:, :d] = coef
        if intercept is not None and self.fit_intercept:
            intercept = np.asarray(intercept, dtype=np.float64)
            intercept = intercept.reshape(1) if S == 1 and intercept.size == 1 else intercept
            if intercept.shape != (S,):
                raise ValueError(
                    f"Provided intercept_init does not match dataset: shape {intercept.shape}, expected {(S,)}."
                )
            start[:, d] = intercept
        if not np.isfinite(start).all():
            raise ValueError("the start values are not finite")
        return start

    def _held_out(self, labels: Labels, c: np.ndarray) -> np.ndarray:
        """The rows of the validation set, as scikit-learn draws them."""
        held_out = np.zeros(c.size, dtype=bool)
        if not self.early_stopping:
            return held_out
        split = StratifiedShuffleSplit(test_size=self.validation_fraction, random_state=self.random_state)
        learns, validation = next(split.split(np.zeros((c.size, 1)), labels.index))
        if not (c[validation] > 0.0).any():
            raise ValueError(
                "The sample weights for validation set are all zero, consider using a different random state."
            )
        if not (c[learns] > 0.0).any():
            raise ValueError("The sample weights for the rows to learn from are all zero.")
        held_out[validation] = True
        return held_out

    @available_if(_goes_on)
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
        refuse_lazy(X)
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", reset=first
        )  # fmt: skip
        labels = encode_labels(y, np.unique(classes) if first else self.classes_)
        weights = check_sample_weight(sample_weight, X.shape[0])
        c = weights * resolve_class_weight(self.class_weight, labels, weights)[labels.index]
        S, d = len(labels.positives), X.shape[1]
        if first:
            self.classes_, self.t_ = labels.classes, 1.0
            self.mistakes_, self.passes_ = (0, 0) if S == 1 else (np.zeros(S, np.int64), np.zeros(S, np.int64))
            self._last, self._visits = self._start(labels, d, None, None), 0
            self._lag = np.zeros((S, d + 1 if self.variant == "averaged" else 0))
        elif self.variant == "plain":
            self._last = np.column_stack([self._dense_coef(), self.intercept_])
        seeds = check_random_state(self.random_state).randint(2**31 - 1, size=S)
        task, rows = self._task(), as_rows(X, 1.0 if self.fit_intercept else 0.0)
        weighted = bool((c != 1.0).any())

        def one(k: int) -> Run:
            run = Run(
                rows, np.where(labels.index == labels.positives[k], np.int8(1), np.int8(-1)), np.flatnonzero(c > 0.0),
                self._last[k].copy(), task.rate, c if weighted else np.empty(0), task.shuffle, int(seeds[k]),
                self.variant, task.shrinks,
            )  # fmt: skip
            run.lag, run.visits = self._lag[k].copy(), self._visits
            run.advance(lambda: None)
            return run

        with one_blas_thread(), np.errstate(all="ignore"):
            runs = map_threads(one, range(S), self.n_jobs)
        model = np.array([run.weights() for run in runs])
        if not np.isfinite(model).all():
            raise ValueError(
                "Floating-point under-/overflow occurred at epoch #1. Scaling input data with StandardScaler or "
                "MinMaxScaler might help."
            )
        self._last, self._lag = np.array([run.theta for run in runs]), np.array([run.lag for run in runs])
        self._visits = runs[0].visits
        made = np.array([run.mistakes for run in runs])
        self.mistakes_ = self.mistakes_ + (int(made[0]) if S == 1 else made)
        self.passes_, self.n_iter_ = self.passes_ + 1, 1
        self.t_ += X.shape[0]
        self.coef_, self.intercept_ = np.ascontiguousarray(model[:, :-1]), model[:, -1].copy()
        for name in ("certificate_", "history_", "trace_"):
            self.__dict__.pop(name, None)
        return self

    # -- prediction ------------------------------------------------------------------------------------------

    def _dense_coef(self) -> np.ndarray:
        return self.coef_.toarray() if sparse.issparse(self.coef_) else self.coef_

    def decision_function(self, X: Any) -> np.ndarray:
        """<w, x> + b, for variant="voted" the share of votes for less that against: (n_samples,), or one column a class."""
        check_is_fitted(self)
        refuse_lazy(X)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        voted = self._voted(X)
        if voted is None:
            voted = products_of(X, self.coef_) + self.intercept_
        return voted.ravel() if voted.shape[1] == 1 else voted

    def _voted(self, X: Any) -> np.ndarray | None:
        certificate = getattr(self, "certificate_", None)
        if certificate is None or "voters" not in certificate.arrays:
            return None
        voters, votes = certificate.arrays["voters"], certificate.arrays["votes"]
        counts = certificate.statement["problem"]["voters"]
        out = np.zeros((X.shape[0], len(counts)))
        for k, end in enumerate(np.cumsum(counts).tolist()):
            first = end - counts[k]
            for at in range(first, end, 256):
                part = slice(at, min(at + 256, end))
                z = safe_sparse_dot(X, voters[part, :-1].T, dense_output=True) + voters[part, -1]
                out[:, k] += np.sign(z) @ votes[part]
            out[:, k] /= max(1, votes[first:end].sum())
        return out

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

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coef_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @classmethod
    def _from_document(cls, document: dict[str, Any], arrays: dict[str, np.ndarray]) -> Any:
        """A fitted model from a document that the reader has checked."""
        model = blank_model(cls, document)
        model.coef_, model.intercept_ = np.array(arrays["coef"]), np.array(arrays["intercept"])
        model.certificate_ = BoundCertificate.from_document(document, arrays)
        model.history_ = []
        model._from_certificate()
        model.t_ = 1.0 + model.n_iter_ * document["certificate"]["fingerprint"]["n_rows"]
        model._last, model._visits = np.array(arrays["last"]), 0
        model._lag = np.zeros((len(model.coef_), 0))
        return model


def _start_values(given: Any) -> tuple[Any, Any]:
    """coef and intercept of a model, a certificate or a pair."""
    if hasattr(given, "coef_"):
        return given.coef_, getattr(given, "intercept_", None)
    if hasattr(given, "arrays"):
        return given.arrays["coef"], given.arrays["intercept"]
    if isinstance(given, tuple | list) and len(given) == 2:
        return given[0], given[1]
    raise ValueError(
        "The 'init' parameter of Perceptron must be a fitted linear model, a certificate, a pair (coef, intercept) or None. "
        f"Got {written(given)} instead."
    )


def _note(progress: Any) -> Any:
    """What a pass tells the bar; what a command put there is told as it stands."""
    if not isinstance(progress, Progress):
        return progress
    return lambda run, made: progress.tell(run.passes, f"mistakes {made}  mean loss {run.loss:.6g}", None)
