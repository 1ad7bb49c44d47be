"""SVC and NuSVC: support vector classification with kernels."""

from __future__ import annotations

import warnings
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from gapless.encode.pairs import confidences_of_pairs, count_votes, pairs_of_classes, sides_of_pairs
from gapless.errors import no_probabilities_message
from gapless.estimators.shared.constraints import Constraint, booleans, options, shared
from gapless.estimators.shared.kernel_machine import KernelMachine
from gapless.estimators.shared.probabilities import (
    fit_probabilities,
    map_document,
    map_from_document,
    probabilities,
)
from gapless.readings.slackness import KernelSlackness, kernel_slackness


def _has_probabilities(self: Any) -> bool:
    if self.probability in ("deprecated", False):
        raise AttributeError(no_probabilities_message(type(self).__name__))
    return True


class KernelClassifier(ClassifierMixin, KernelMachine):
    """Pairs of classes, votes, scores."""

    classes_: np.ndarray
    _parameter_constraints = {
        **KernelMachine._parameter_constraints,
        **booleans("break_ties"),
        "decision_function_shape": [options("ovr", "ovo")],
        "probability": [Constraint("an instance of 'bool'", options("deprecated", True, False).admits)],
    }

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.random_state is not None:
            check_random_state(self.random_state)

    def _pairs(self) -> list[tuple[int, int]]:
        return pairs_of_classes(len(self.classes_))

    def _scales(self, scalars: np.ndarray) -> np.ndarray:
        """What the dual point and the offset of each pair are multiplied by."""
        return np.ones(len(scalars))

    def _set_coefficients(self, u: np.ndarray, scalars: np.ndarray) -> None:
        K, rows = len(self.classes_), self.support_
        scale = self._scales(scalars)
        # 0.0 is added so that no coefficient is -0.
        self.intercept_ = scalars[:, 0] * scale + 0.0
        lines = u[:, rows]
        lines *= scale[:, None]
        lines += 0.0
        if K > 2:
            dual = np.zeros((K - 1, rows.size))
            ends = np.concatenate(([0], np.cumsum(self._n_support)))
            runs = [slice(a, b) for a, b in pairwise(ends)]  # the support vectors of each class
            for line, (i, j) in zip(lines, self._pairs()):
                dual[j - 1, runs[i]], dual[i, runs[j]] = line[runs[i]], line[runs[j]]
            lines = dual
        self.dual_coef_ = sparse.csr_matrix(lines) if self._sparse else lines

    def _coefficients_of_features(self) -> Any:
        if len(self.classes_) == 2:
            return self.dual_coef_ @ self.support_vectors_
        dual, own = self._plain_dual(), np.repeat(np.arange(len(self.classes_)), self._n_support)
        lines = np.zeros((len(self._pairs()), own.size))
        for line, (i, j) in zip(lines, self._pairs()):
            line[own == i], line[own == j] = dual[j - 1, own == i], dual[i, own == j]
        return (sparse.csr_matrix(lines) if self._sparse else lines) @ self.support_vectors_

    # -- prediction ------------------------------------------------------------------------------------------

    def _pair_scores(self, X: Any) -> np.ndarray:
        """(rows, pairs): above 0 for the first class of the pair, for two classes above 0 for the second of them."""
        K = len(self.classes_) if hasattr(self, "classes_") else 2
        if K == 2:
            return self._sums(X)[0] + self.intercept_
        ends = [0, *np.cumsum(self._n_support).tolist()]
        sums = self._sums(X, [slice(*run) for run in pairwise(ends)])
        i, j = sides_of_pairs(K)
        return (sums[i, :, j - 1] + sums[j, :, i]).T + self.intercept_

    def decision_function(self, X: Any) -> np.ndarray:
        """Two classes: (n_samples,). More: a column a class ("ovr": votes and confidences), or a pair ("ovo")."""
        scores = self._pair_scores(X)
        if scores.shape[1] == 1:
            return scores.ravel()
        return scores if self.decision_function_shape == "ovo" else self._by_class(scores)

    def _by_class(self, scores: np.ndarray) -> np.ndarray:
        """Votes of the pairs and their confidences: a column a class."""
        K = len(self.classes_)
        return count_votes(scores, K, ties_to_first=True) + confidences_of_pairs(scores, K)

    def predict(self, X: Any) -> np.ndarray:
        """The class with most votes; with ``break_ties`` the one with the largest decision_function."""
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")
        scores = self._pair_scores(X)
        if scores.shape[1] == 1:
            return self.classes_[(scores.ravel() > 0.0).astype(np.intp)]
        if self.break_ties:
            return self.classes_[self._by_class(scores).argmax(axis=1)]
        return self.classes_[count_votes(scores, len(self.classes_)).argmax(axis=1)]

    def _after_fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        self._probability_map: Any = None
        if self.probability not in ("deprecated", False):
            assert self._label_index is not None
            self._probability_map = fit_probabilities(self, X, self._label_index, sample_weight)
            told = {**self.certificate_.statement, "probabilities": map_document(self._probability_map)}
            self.certificate_ = replace(self.certificate_, statement=told)

    @classmethod
    def _from_document(cls, document: dict[str, Any], arrays: dict[str, np.ndarray]) -> Any:
        model = super()._from_document(document, arrays)
        model._probability_map = map_from_document(document.get("probabilities"))
        return model

    @property
    def probA_(self) -> np.ndarray:
        """Deprecated as in scikit-learn: A of P(first class) = 1 / (1 + exp(B - A f)), ``probability=True``; else empty."""
        return -self._platt("probA_", "slope")

    @property
    def probB_(self) -> np.ndarray:
        """Deprecated, as in scikit-learn: B of the same."""
        return self._platt("probB_", "offset")

    def _platt(self, name: str, field: str) -> np.ndarray:
        if not hasattr(self, "classes_"):
            raise AttributeError(f"{type(self).__name__} has no {name} before fit")
        warnings.warn(
            f"Attribute `{name}` was deprecated in scikit-learn 1.8 and ends with its 1.10.",
            FutureWarning,
            stacklevel=3,
        )
        found = getattr(getattr(self, "_probability_map", None), field, None)
        return np.empty(0) if found is None else np.array([found])

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> np.ndarray:
        """P(class | x), a column a class; there with ``probability=True``, as in scikit-learn before its 1.11.

        The scores of rows that five fits left out are mapped to probabilities, as `calibrate` does with ``cv=5``. The certificate
        says nothing of them.
        """
        check_is_fitted(self)
        if getattr(self, "_probability_map", None) is None:
            raise NotFittedError(
                "predict_proba is not available when fitted with probability=False. Fit it with probability=True, or use "
                "gapless.calibrate(model, X, y)."
            )
        scores = self._pair_scores(X)
        two = scores.shape[1] == 1
        return probabilities(self._probability_map, scores.ravel() if two else self._by_class(scores))

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """ln of predict_proba."""
        with np.errstate(divide="ignore"):  # a probability of 0 is as good as it gets
            return np.log(self.predict_proba(X))

    # -- what a certified fit knows --------------------------------------------------------------------------

    def _signs(self) -> np.ndarray:
        assert self._label_index is not None
        return np.stack([np.where(self._label_index == i, 1.0, -1.0) for i, _ in self._pairs()])

    @property
    def slack_(self) -> np.ndarray:
        """xi of each training row: max(0, 1 - yf) (NuSVC: rho - yf); NaN for rows that are not in the problem."""
        levels = np.ones(len(self._pairs())) if self._kind == "c_svc" else -self.certificate_.arrays["scalars"][:, 1]
        xi = np.maximum(0.0, levels[:, None] - self._signs() * self._training_scores())
        return xi[0] if len(xi) == 1 else xi

    @property
    def slackness_(self) -> KernelSlackness:
        """The complementary-slackness class of each training row, read twice, and certified where the gap proves it."""
        return kernel_slackness(self)


class SVC(KernelClassifier):
    """Support vector classification with kernels, certified.

    Minimises ``1/2 |w|^2 + C * sum_i weight_i * max(0, 1 - y_i (<w, phi(x_i)> + b))`` and says how far the result can be from
    the optimum (``certificate_``). More than two classes are fitted one against one, on one kernel matrix.

    Parameters
    ----------
    C : float
        Multiplies the sum of the losses.
    kernel : {"linear", "poly", "rbf", "sigmoid", "precomputed"} or callable
        "linear" is solved by the linear solver where few pairs of rows do not do. The sigmoid is no kernel in Mercer's sense: it
        is fitted, without a gap. A matrix or a function is tested; where it is not positive semidefinite a vector shows it, and
        there is no gap.
    degree, gamma, coef0 : of the kernel; gamma="scale" is 1 / (n_features * variance of X), with weights, "auto" 1 / n_features
    shrinking : bool
        Without effect: the optimum is the same.
    probability : bool
        Deprecated, as in scikit-learn 1.9, and gives its FutureWarning. True: five more fits, each without a fold, for
        ``predict_proba``. `calibrate` does the same with rows and a method of your choice.
    tol : float
        The relative duality gap at which a fit may stop: ``(primal - dual) / max(|primal|, |dual|)``.
    cache_size : float
        Megabytes that the kernel matrix may take.
    class_weight : dict, "balanced" or None
        Weights of the classes; "balanced" uses the weighted counts.
    verbose : int
        1 prints the falling gap.
    max_iter : int
        Working sets; -1 or None: a finite cap of ours.
    decision_function_shape : {"ovr", "ovo"}
        How scores of more than two classes are shaped.
    break_ties : bool
        Predict by the largest decision_function where votes are equal.
    random_state : int, RandomState or None
        Of the folds of ``probability=True``; the fit itself draws nothing.
    time_limit : float or None
        Seconds of work; compiling does not count. The model that comes back is usable (at worst the best constant) and its gap
        is true.
    warm_start : bool
        Start from the previous fit of this object.
    init : fitted model, certificate or None
        Start from another fit.
    n_jobs : int or None
        Threads. The bits do not depend on it.
    device : {"auto", "cpu", "cuda"}
        Where to compute: "cuda" is one GPU (the extra ``gpu``), an error where there is none; "auto" takes it where it wins.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, classes_, class_weight_, fit_status_, shape_fit_, n_iter_ :
        as in scikit-learn
    n_features_in_, feature_names_in_ : as in scikit-learn
    coef_ : where the kernel is linear
    certificate_ : what is claimed and can be checked: ``gapless.verify(model, X, y)``
    status_ : how the fit ended, as in ``certificate_``
    history_ : primal and dual value and seconds, as the fit went on
    objective_ : the formula that was minimised, with its numbers
    alpha_ : multiplier of each training row
    slack_ : slack xi of each training row
    slackness_ : `Slackness` of the training rows: their class read from alpha and from the margin
    probA_, probB_ : deprecated, as in scikit-learn: Platt's A and B of two classes; empty without ``probability=True``
    """

    _kind = "c_svc"
    _parameter_constraints = {**KernelClassifier._parameter_constraints, **shared("C")}

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        probability: Any = "deprecated",
        tol: float = 1e-4,
        cache_size: float = 200,
        class_weight: Any = None,
        verbose: int = False,
        max_iter: int | None = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: Any = None,
        time_limit: float | None = None,
        warm_start: bool = False,
        init: Any = None,
        n_jobs: int | None = None,
        device: str = "auto",
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.time_limit = time_limit
        self.warm_start = warm_start
        self.init = init
        self.n_jobs = n_jobs
        self.device = device


class NuSVC(KernelClassifier):
    """nu-support vector classification, certified.

    Minimises ``1/2 |w|^2 - nu rho sum_i weight_i + sum_i weight_i max(0, rho - y_i (<w, phi(x_i)> + b))`` over w, b and rho.
    At most a share nu of the weight lies inside the margin, at least a share nu belongs to support vectors. dual_coef_ and
    intercept_ are divided by rho, as scikit-learn does, so that the margin is at 1: it is the SVC with C = 1 / rho.

    Parameters
    ----------
    nu : float in (0, 1]
        Infeasible values, which the classes have not enough weight for, raise a ValueError that says which are feasible.
    kernel, degree, gamma, coef0, shrinking, probability, tol, cache_size : as for SVC
    class_weight, verbose, max_iter, decision_function_shape, break_ties, random_state : as for SVC
    time_limit, warm_start, init, n_jobs, device : as for SVC

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, classes_, class_weight_, fit_status_, shape_fit_, n_iter_ :
        as in scikit-learn
    n_features_in_, feature_names_in_ : as in scikit-learn
    coef_ : where the kernel is linear
    certificate_ : of the problem above, before the division by rho
    status_ : how the fit ended, as in ``certificate_``
    history_ : primal and dual value and seconds, as the fit went on
    objective_ : the formula that was minimised, with its numbers
    alpha_ : multiplier of each training row
    slack_ : slack xi of each training row
    slackness_ : `Slackness` of the training rows: their class read from alpha and from the margin
    probA_, probB_ : deprecated, as in scikit-learn: Platt's A and B of two classes; empty without ``probability=True``
    """

    _kind = "nu_svc"
    _parameter_constraints = {**KernelClassifier._parameter_constraints, **shared("nu")}

    def __init__(
        self,
        *,
        nu: float = 0.5,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        probability: Any = "deprecated",
        tol: float = 1e-4,
        cache_size: float = 200,
        class_weight: Any = None,
        verbose: int = False,
        max_iter: int | None = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: Any = None,
        time_limit: float | None = None,
        warm_start: bool = False,
        init: Any = None,
        n_jobs: int | None = None,
        device: str = "auto",
    ) -> None:
        self.nu = nu
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.time_limit = time_limit
        self.warm_start = warm_start
        self.init = init
        self.n_jobs = n_jobs
        self.device = device

    def _scales(self, scalars: np.ndarray) -> np.ndarray:
        rho = -scalars[:, 1]
        return 1.0 / np.where(rho > 0.0, rho, 1.0)
