"""What LinearSVC and LogisticRegression share: parameters, fit, scores, and the attributes of a certified fit."""

from __future__ import annotations

import copy
import math
import os
import warnings
from dataclasses import replace
from functools import lru_cache
from inspect import signature
from typing import Any, cast

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted

from gapless._runtime.lazy import load
from gapless._runtime.progress import with_progress
from gapless._runtime.written import written
from gapless.backends.choose import as_labels, classes_of_scores, kind_of_card, receive_from_card
from gapless.certificates.confirmation.odd_scales import confirmed
from gapless.certificates.likelihood import GradientCertificate
from gapless.certificates.linear import Certificate
from gapless.certificates.sparse.certificate import SparseCertificate
from gapless.encode.clean import ready
from gapless.encode.lazy_frames import read_rows, refuse_lazy
from gapless.encode.offset import encode_offset
from gapless.fits.blocks.given import answer_lazily, note_columns, walk_of
from gapless.fits.blocks.linear import fit_linear_blocks
from gapless.fits.frame import Keeper
from gapless.fits.linear import LinearFit, fit_linear
from gapless.fits.linear_encode import LinearRequest
from gapless.fits.sparse.fit import fit_sparse, request_of
from gapless.readings.slackness import Slackness, slackness
from gapless.solvers.descent.as_solver import check_schedule
from gapless.solvers.linear.solve import DESCENTS, SOLVERS
from gapless.solvers.loop import Stop, Watch, interruptible

from .certified_model import CoefficientModel, DualModel, history_of
from .constraints import booleans, integer, minus_one, nothing, number, path_of_file, shared
from .loading import blank_model


class LinearClassifier(CoefficientModel, DualModel, ClassifierMixin, BaseEstimator):
    """The fit and the attributes; a subclass gives its parameters and its loss."""

    _progress: Any = None
    _keeps_float32 = False
    _on_cards = True

    classes_: np.ndarray
    coef_: Any  # an array, or a CSR matrix after sparsify()
    intercept_: np.ndarray
    n_iter_: Any
    _scores: Any
    _c: Any
    certificate_: Any  # a Certificate, or a GradientCertificate where there is no penalty

    def _loss(self) -> str:
        raise NotImplementedError

    _parameter_constraints = {
        **shared("C"),
        "tol": [number(0.0)],
        "max_iter": [integer(0), minus_one(), nothing()],
        **shared("time_limit", "n_jobs", "verbose"),
        **booleans("fit_intercept", "penalize_intercept", "warm_start"),
        **shared("device", "init"),
        "checkpoint": [nothing(), path_of_file()],
    }

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_schedule(self.solver, self.schedule)

    def _strength(self) -> float:
        """The C of the problem."""
        return float(self.C)

    def _penalises_offset(self) -> bool:
        """An ``intercept_scaling`` other than 1 asks for the problem of scikit-learn, which penalises the offset."""
        return bool(self.penalize_intercept) or self.intercept_scaling != 1

    def _l1_share(self) -> float:
        """rho of the penalty rho |w|_1 + (1 - rho)/2 |w|^2."""
        return 0.0

    def _solver(self) -> str:
        """ "auto", or the one that was forced."""
        return self.solver if self.solver in (*SOLVERS, *DESCENTS) else "auto"

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit, certify what is returned, and warn only where the certified gap is above ``tol``.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            float32 and float64 are read as they are. Or rows in blocks, with their labels and weights: what
            ``gapless.read_blocks`` gives, a list of ``(X, y)`` or ``(X, y, weight)``, anything that can be walked again.
        y : array of n_samples labels of any type; not with blocks
        sample_weight : array of n_samples weights, optional
            A weight counts how often a row stands: 2 is the row twice, 0 is no row.
        """
        with interruptible(self) as interruption:
            self._check_parameters()
            refuse_lazy(X)
            held = receive_from_card(X)
            walk = walk_of(X, y, sample_weight) if held is None else None
            if held is not None:
                self.n_features_in_, X, y = held.shape[1], held, as_labels(y)
            elif walk is None and not ready(self, X, y):
                X, y = read_rows(self, X, y, order="C", accept_large_sparse=True)
            task = self._task(np.float64 if walk else X.dtype)
            _refuse_sparse(task, walk, held)
            start = self.init
            if start is None and self.warm_start and hasattr(self, "certificate_"):
                start = self.certificate_
            keeper, start = self._keeper(start)
            with with_progress(self) as callback:
                options = {"start": start, "watch": Watch(callback, interruption)}
                options |= {} if keeper is None else {"keeper": keeper}
                if walk is not None:
                    fitted = fit_linear_blocks(task, walk, **options)
                    note_columns(self, walk)
                else:
                    options["feature_names"] = getattr(self, "feature_names_in_", None)
                    fitted = self._fitted(task, X, y, sample_weight, **options)
                    if held is None:
                        fitted = replace(fitted, certificate=confirmed(fitted.certificate, X, y, sample_weight))
            self._take(fitted)
            if keeper is not None:
                self._write_checkpoint(fitted)
        self._raise_interruption(interruption)
        self._warn(fitted)
        return self

    # -- the checkpoint --------------------------------------------------------------------------------------

    _checkpoint_seconds = 60.0  #: between two; writing one costs passes over the data

    def _keeper(self, start: Any) -> tuple[Keeper | None, Any]:
        """What writes checkpoints of this fit, if it is asked for; and the start: what the last one left, if it is there."""
        place = self.checkpoint
        if place is None:
            return None, start
        if self._strength() == math.inf:
            raise ValueError("checkpoint= is for fits with a penalty: with C=inf leave it out")
        if start is None and os.path.exists(place):
            earlier = load("gapless.files.model_file", "load")(place)  # type: ignore[operator]
            name = type(earlier).__name__
            if name != type(self).__name__:
                raise ValueError(f"checkpoint={written(str(place))} holds a {name}: name another file, or remove it")
            start = earlier
        self.__dict__.pop("_checkpoint_failed", None)
        return Keeper(self._write_checkpoint, self._checkpoint_seconds), start

    def _write_checkpoint(self, fitted: LinearFit) -> None:
        """A model file of a fit that is not done; where it cannot be written that is said once, and the fit goes on."""
        model = copy.copy(self)
        model._take(fitted)
        names = fitted.certificate.statement["feature_names"]
        if names is None:
            model.__dict__.pop("feature_names_in_", None)
        try:
            load("gapless.files.model_file", "save")(model, self.checkpoint)  # type: ignore[operator]
        except (OSError, MemoryError) as error:
            if not hasattr(self, "_checkpoint_failed"):
                self._checkpoint_failed = True
                why = getattr(error, "strerror", None) or error
                warnings.warn(
                    f"checkpoint={written(str(self.checkpoint))} could not be written ({why}): the fit goes on, and what "
                    "the file held before is as it was",
                    UserWarning,
                    stacklevel=2,
                )

    def _take(self, fitted: LinearFit) -> None:
        """The attributes of a fitted model."""
        self.classes_ = fitted.labels.classes
        self.coef_ = fitted.coef
        self.intercept_ = fitted.intercept if self.fit_intercept else np.zeros_like(fitted.intercept)
        self.certificate_ = fitted.certificate
        self.history_ = history_of(fitted.history)
        if fitted.scores is None:  # of rows in blocks
            for name in ("_scores", "_c", "_label_index"):
                self.__dict__.pop(name, None)
        else:
            self._scores, self._c = fitted.scores, fitted.c
            self._label_index = fitted.labels.index
        self._set_n_iter()

    def _fitted(self, task: LinearRequest, X: Any, y: Any, sample_weight: Any, **options: Any) -> LinearFit:
        if task.l1 > 0.0 and task.C < math.inf:
            if task.device == "cuda":
                raise NotImplementedError(
                    f"{task.estimator}: an L1 penalty has no GPU solver yet; use device='auto' or 'cpu'."
                )
            return cast(LinearFit, fit_sparse(request_of(task), X, y, sample_weight, **options))
        return fit_linear(task, X, y, sample_weight, **options)

    def _task(self, dtype: Any) -> LinearRequest:
        parameters = {name: getattr(self, name) for name in _parameter_names(type(self))}  # type: ignore[arg-type]
        parameters["init"] = parameters["checkpoint"] = None  # where a fit starts from is not part of what was fitted
        # What deprecated names and scikit-learn's meanings come to.
        penalised = self._penalises_offset()
        parameters |= {"C": self._strength(), "penalize_intercept": penalised}
        if parameters.get("penalty") in ("deprecated", None):
            parameters.pop("penalty", None)
        rho = self._l1_share() if self._strength() < math.inf else 0.0
        if "l1_ratio" in parameters:
            parameters["l1_ratio"] = rho
        if rho > 0.0 and "l1_ratio" in parameters:
            parameters.pop("penalty", None)
        seed = 0
        if type(self.random_state) is int:
            seed = _drawn(self.random_state)
        elif self.random_state is not None:
            seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        return LinearRequest(
            estimator=type(self).__name__,
            parameters=parameters,
            loss=self._loss(),
            C=self._strength(),
            offset=encode_offset(self.fit_intercept, penalised, self.intercept_scaling),
            class_weight=self.class_weight,
            stop=Stop(float(self.tol), self._pass_limit(), None if self.time_limit is None else float(self.time_limit)),
            solver=self._solver(),
            n_jobs=self.n_jobs,
            dtype=np.dtype(dtype if self._keeps_float32 else np.float64),
            seed=seed,
            schedule=self.schedule,
            l1=rho,
            l2=1.0 - rho,
            device=self.device,
        )

    def _set_n_iter(self) -> None:
        self.n_iter_ = self.certificate_.n_iter

    # -- prediction ------------------------------------------------------------------------------------------

    def decision_function(self, X: Any) -> np.ndarray:
        """<w, x> + b: (n_samples,) for two classes, else one column a class. Of a Dask collection it is lazy."""
        check_is_fitted(self)
        if hasattr(X, "__dask_graph__"):
            return answer_lazily(self, "decision_function", X)
        held = receive_from_card(X)
        if held is not None:
            found = held.products(self.coef_, self.intercept_)
            return kind_of_card(X, found[:, 0] if found.shape[1] == 1 else found)
        X = read_rows(self, X, reset=False)
        scores = products_of(X, self.coef_) + self.intercept_
        return scores.ravel() if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> np.ndarray:
        """The class with the largest score."""
        if hasattr(X, "__dask_graph__"):
            return answer_lazily(self, "predict", X)
        scores = self.decision_function(X)
        if not isinstance(scores, np.ndarray):
            return classes_of_scores(self.classes_, scores)
        index = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[index]

    def densify(self) -> Any:
        """coef_ as an array."""
        check_is_fitted(self)
        if sparse.issparse(self.coef_):
            self.coef_ = self.coef_.toarray()
        return self

    def sparsify(self) -> Any:
        """coef_ as a CSR matrix: smaller where most coefficients are 0."""
        check_is_fitted(self)
        self.coef_ = sparse.csr_matrix(self.coef_)
        return self

    # -- what a certified fit knows --------------------------------------------------------------------------

    @property
    def slack_(self) -> np.ndarray:
        """xi = max(0, 1 - yf) of each training row; NaN for rows of weight 0."""
        margins = self._margins()
        xi = np.maximum(0.0, 1.0 - margins)
        return xi[0] if xi.shape[0] == 1 else xi

    @property
    def slackness_(self) -> Slackness:
        """The complementary-slackness class of each training row, read from the dual and from the primal."""
        certificate = self._certificate("slackness_")
        margins, dual = self._margins(), np.abs(certificate.arrays["dual"])
        one = dual.shape[0] == 1
        c = np.broadcast_to(self._c, dual.shape)
        margins = np.where(c > 0, margins, 0.0)
        # With C = inf the loss is 0 or infinite, whichever it is.
        loss = "hinge" if self._strength() == math.inf else certificate.statement["problem"]["loss"]
        return slackness(
            dual[0] if one else dual, c[0] if one else c, margins[0] if one else margins, loss
        )  # fmt: skip

    def _margins(self) -> np.ndarray:
        if self.certificate_.statement["problem"]["loss"] == "softmax":
            raise AttributeError("softmax compares K scores: there is no margin at 1, hence no slack")
        self._require_training_rows()
        positives = [sub.positive for sub in self.certificate_.subproblems]
        y = np.where(self._label_index[None, :] == np.array(positives)[:, None], 1.0, -1.0)
        return y * self._scores

    @classmethod
    def _from_document(cls, document: dict[str, Any], arrays: dict[str, np.ndarray]) -> Any:
        """A fitted model from a document that the reader has checked."""
        model = blank_model(cls, document)
        dtype = np.dtype(document["dtype"])
        model.coef_ = np.array(arrays["coef"], dtype=dtype)
        model.intercept_ = np.array(arrays["intercept"], dtype=dtype)
        kind = GradientCertificate if document["certificate"]["kind"] == "gradient" else Certificate
        kind = SparseCertificate if "l1" in document["problem"] else kind
        model.certificate_ = kind.from_document(document, arrays)
        model.history_ = []
        for name in ("rank", "condition"):
            if kind is GradientCertificate:
                setattr(model, f"{name}_", getattr(model.certificate_, name))
        model._set_n_iter()
        return model


def _refuse_sparse(task: LinearRequest, walk: Any, held: Any) -> None:
    """An L1 penalty is fitted on rows in memory, without checkpoints."""
    if task.l1 > 0.0 and (walk is not None or held is not None or task.parameters.get("checkpoint") is not None):
        raise NotImplementedError(f"{task.estimator} with an L1 penalty takes rows in memory, and keeps no checkpoint.")


def products_of(X: Any, coef: Any) -> np.ndarray:
    """X coef', dense. Rows and coefficients that are both sparse must be of one precision."""
    if sparse.issparse(X) and sparse.issparse(coef):
        X = X.astype(coef.dtype, copy=False)
    return safe_sparse_dot(X, coef.T, dense_output=True)


@lru_cache(maxsize=64)
def _drawn(random_state: int) -> int:
    """What a generator of this seed draws first: making one takes longer than a small part of a fit."""
    return int(check_random_state(random_state).randint(2**31 - 1))


@lru_cache(maxsize=64)
def _parameter_names(estimator: type) -> tuple[str, ...]:
    """As `get_params` finds them, once for each class."""
    return tuple(sorted(name for name in signature(estimator).parameters))
