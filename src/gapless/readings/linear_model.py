"""Reading w, b and the classes off a fitted linear model, ours or anybody's that keeps scikit-learn's
names.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from gapless._runtime.results import result
from gapless.numbers import gamma


@result
@dataclass(frozen=True, eq=False)
class LinearModel:
    """Scores f = X wᵀ + b: one for two classes and for regression, else one a class.

    Attributes
    ----------
    name : name of the estimator
    coef : (S, d) float64
    intercept : (S,) float64
    classes : classes in the order of the scores; None for regression
    feature_names : name of each column of X
    model : the estimator that was read
    """

    name: str
    coef: np.ndarray
    intercept: np.ndarray
    classes: np.ndarray | None
    feature_names: list[str]
    model: Any

    @property
    def n_features(self) -> int:
        """Columns of X."""
        return int(self.coef.shape[1])

    @property
    def norms(self) -> np.ndarray:
        """|w| of each score."""
        return np.linalg.norm(self.coef, axis=1)

    def read(self, X: Any) -> Any:
        """X as float64, dense or CSR, with as many columns (and the same names) as the model was trained
        on.
        """
        if sparse.issparse(X):
            X = sparse.csr_array(X) if isinstance(X, sparse.sparray) else X.tocsr()
        if hasattr(self.model, "n_features_in_") and hasattr(self.model, "__sklearn_tags__"):
            X = validate_data(self.model, X, reset=False, accept_sparse="csr", dtype=np.float64)
        else:
            X = check_array(X, accept_sparse="csr", dtype=np.float64)
        if X.shape[1] != self.n_features:
            raise ValueError(
                f"X has {X.shape[1]} features, but {self.name} is expecting {self.n_features} features as input."
            )
        return X

    def scores(self, X: Any) -> np.ndarray:
        """(n, S) scores of an X that ``read`` gave."""
        return np.asarray(X @ self.coef.T) + self.intercept

    def __str__(self) -> str:
        return f"{self.name}: {len(self.coef)} linear score{'s' * (len(self.coef) > 1)} of {self.n_features:,} features"


def score_error(linear: LinearModel, norms: np.ndarray) -> np.ndarray:
    """(n, S): how far a computed score can be from the exact one; ``norms`` are |x|."""
    m = linear.n_features + 4
    return gamma(m) * (np.outer(norms, linear.norms) * (1.0 + gamma(m)) + np.abs(linear.intercept))


def read_linear(model: Any) -> LinearModel:
    """w and b of a fitted linear model; an error says what is missing."""
    name = type(model).__name__
    coef = getattr(model, "coef_", None)
    if coef is None:
        if hasattr(model, "fit") and not hasattr(model, "n_features_in_"):
            raise NotFittedError(
                f"This {name} instance is not fitted yet. Call 'fit' with appropriate arguments before using it."
            )
        raise TypeError(f"{name} has no coef_: this needs a linear model, with scores <w, x> + b")
    if sparse.issparse(coef):
        coef = coef.toarray()
    coef = np.atleast_2d(np.asarray(coef, dtype=np.float64))
    intercept = np.atleast_1d(np.asarray(getattr(model, "intercept_", 0.0), dtype=np.float64)).ravel()
    intercept = np.broadcast_to(intercept, (coef.shape[0],)) if intercept.size == 1 else intercept
    if coef.ndim != 2 or intercept.shape != (coef.shape[0],):
        raise TypeError(f"{name} has coef_ of shape {coef.shape} and intercept_ of shape {intercept.shape}")
    if not (np.isfinite(coef).all() and np.isfinite(intercept).all()):
        raise ValueError(f"{name} has coefficients that are not finite: {model!r} cannot be read")
    classes = getattr(model, "classes_", None)
    if classes is not None:
        classes = np.asarray(classes)
        K = classes.size
        if K > 2 and hasattr(model, "decision_function_shape"):
            raise TypeError(f"{name} compares classes in pairs; this needs one score a class, or two classes")
        if coef.shape[0] != (1 if K == 2 else K):
            raise TypeError(f"{name} has {coef.shape[0]} rows of coef_ for {K} classes")
    names = getattr(model, "feature_names_in_", None)
    feature_names = [f"x{j}" for j in range(coef.shape[1])] if names is None else [str(n) for n in names]
    if len(feature_names) != coef.shape[1]:  # a model that was refitted by hand
        feature_names = [f"x{j}" for j in range(coef.shape[1])]
    return LinearModel(name, coef, np.array(intercept), classes, feature_names, model)
