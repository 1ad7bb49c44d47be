"""Leaving one row out, without doing it: what the multipliers of a support vector machine say of its leave-one-out errors.

    row i is wrong when it is left out only if                                      (f its score, K the kernel matrix)
    support vectors     alpha_i > 0
    xi-alpha            2 alpha_i D + xi_i >= 1,  D >= K(x, x) - K(x, z) for all x, z            (Joachims 2000): with a free
                        offset if every one of these models has a support vector with 0 < alpha < c, which is not checked
    Jaakkola-Haussler   y_i f(x_i) <= alpha_i K_ii, without a free offset                        (Jaakkola, Haussler 1999)
    span                y_i f(x_i) <= alpha_i S_i^2, S_i the distance of phi(x_i) from the span of the other support vectors
                        (Vapnik, Chapelle 2000): if no row changes its class of slackness, so an estimate

The first and the third count at least the leave-one-out errors of the exact solution, and so does the second where there is
no free offset; the last is close to their number.  (Where all multipliers are at their bounds, leaving one row out can move
the offset so far that every row is wrong.)  And the leave-one-out error of n rows is, *in expectation over samples*, the
error of a model trained on n - 1: none of this holds with high probability.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gapless._runtime.results import result
from gapless._runtime.written import written
from gapless.certificates.fingerprint import digest_of_ones
from gapless.certificates.model_document import decode_float
from gapless.readings.reduce import has_free_row, interval_ends
from gapless.theory.fitted_rows import check_fitted_rows

__all__ = ["LeaveOneOut", "from_gram", "least_squares", "leave_one_out"]


@result
@dataclass(frozen=True)
class LeaveOneOut:
    """Counts of rows that may be wrong when left out; each an upper bound of the errors, or an estimate of them.

    Attributes
    ----------
    n : number of rows
    support : with the rows that fix the offset where no support vector is free
    xi_alpha : a bound without a free offset; with one, if every left-out model has a free support vector
    jaakkola_haussler : None with a free offset
    span : an estimate, not a bound
    free_offset : whether the offset is free
    errors : counted, by training without each row that matters
    """

    n: int
    support: int
    xi_alpha: int | None
    jaakkola_haussler: int | None
    span: int
    free_offset: bool = True
    errors: int | None = None

    @property
    def bound(self) -> int:
        """The smallest of the counts that are bounds without further conditions."""
        if self.free_offset:
            return self.support
        return min(c for c in (self.support, self.xi_alpha, self.jaakkola_haussler) if c is not None)

    def __str__(self) -> str:
        parts = [f"{self.support} support vectors"]
        if self.xi_alpha is not None:
            parts.append(f"{self.xi_alpha} by xi-alpha" + (", if all are stable" if self.free_offset else ""))
        if self.jaakkola_haussler is not None:
            parts.append(f"{self.jaakkola_haussler} by Jaakkola-Haussler")
        said = f"of {self.n} rows at most {self.bound} are wrong when left out ({', '.join(parts)}), by the span {self.span}"
        if self.errors is not None:
            said += f", and {self.errors} are"
        return said + ". In expectation that is the error on new rows, not with high probability"


def from_gram(K: Any, y: Any, alpha: Any, f: Any, c: Any, free_offset: bool = True) -> LeaveOneOut:
    """From the kernel matrix, labels -1 and 1, multipliers, scores and costs of all rows.

    Parameters
    ----------
    K : kernel matrix
    y : labels, -1 and 1
    alpha : multiplier of each row
    f : score of each row
    c : upper end of alpha, C times the weights
    free_offset : whether the offset is free
    """
    K, y, alpha, f = (np.asarray(a, float) for a in (K, y, alpha, f))
    n = len(y)
    if K.shape != (n, n) or alpha.shape != (n,) or f.shape != (n,) or not np.isin(y, (-1.0, 1.0)).all():
        raise ValueError(f"K must be {n} x {n}, and y (of -1 and 1), alpha and f must have {n} entries")
    c = np.broadcast_to(np.asarray(c, float), (n,))
    used = alpha > 1e-9 * c
    diagonal = np.diag(K)
    spread = float((diagonal[:, None] - K).max())
    xi = np.maximum(0.0, 1.0 - y * f)
    squares = spans(K, alpha, c, free_offset)
    # A row with alpha = 0 is right, and nothing depends on it - unless it fixes an end of the offset's interval.
    ends = len(offset_rows(y, f, alpha, c)) if free_offset else 0
    stable = not free_offset or bool((used & (alpha < (1.0 - 1e-9) * c)).any())
    return LeaveOneOut(
        n,
        int(used.sum()) + ends,
        int((used & (2.0 * alpha * spread + xi >= 1.0)).sum()) if stable else None,
        None if free_offset else int((used & (y * f <= alpha * diagonal)).sum()),
        int((used & (y * f <= alpha * squares)).sum()),
        free_offset,
    )


def offset_rows(y: np.ndarray, f: np.ndarray, alpha: np.ndarray, c: np.ndarray) -> list[int]:
    """Rows with alpha = 0 without which the offset would be another: up to two, where no support vector is free."""
    if has_free_row(alpha, c):
        return []
    return interval_ends(y - f, y, alpha, c, np.arange(len(y)))[0].tolist()


def spans(K: np.ndarray, alpha: np.ndarray, c: np.ndarray, free_offset: bool = True) -> np.ndarray:
    """S^2 of each row: its squared distance from the affine (without offset: linear) span of the free support vectors.

    With the bordered matrix M of the free ones, 1/(M^-1)_ii for a free row and K_ii - v' M^-1 v for another.
    """
    free = np.flatnonzero((alpha > 1e-9 * c) & (alpha < (1.0 - 1e-9) * c))
    diagonal = np.diag(K).copy()
    if free.size == 0:
        return diagonal
    m = free.size
    M = K[np.ix_(free, free)]
    V = K[free]
    if free_offset:
        M = np.block([[M, np.ones((m, 1))], [np.ones((1, m)), np.zeros((1, 1))]])
        V = np.vstack([V, np.ones((1, len(alpha)))])
    inverse = np.linalg.pinv(M, hermitian=True)
    squares = diagonal - np.einsum("ij,ij->j", V, inverse @ V)
    own = np.diag(inverse)[:m]
    squares[free] = np.where(own > 0.0, 1.0 / np.where(own > 0.0, own, 1.0), 0.0)
    return np.maximum(squares, 0.0)


def leave_one_out(model: Any, X: Any, y: Any, count: bool = False) -> LeaveOneOut:
    """Of a fitted LinearSVC (hinge) or SVC of two classes, with the rows it was trained on.

    ``count``: also train without each row that matters and count the errors; the others are right when left out.

    Parameters
    ----------
    model : fitted LinearSVC (hinge) or SVC of two classes
    X, y : rows that it was trained on
    count : whether to train without each row that matters, and count the errors
    """
    name = type(model).__name__
    if name not in ("LinearSVC", "SVC") or getattr(model, "certificate_", None) is None:
        raise ValueError(f"this is for a fitted LinearSVC or SVC of gapless; got {name}")
    if len(model.classes_) != 2:
        raise ValueError(f"this is for two classes; the model has {len(model.classes_)}")
    if name == "LinearSVC" and model.loss != "hinge":
        raise ValueError('this is for loss="hinge"')
    check_fitted_rows(model, X, y)
    if model.certificate_.fingerprint["weights"] != digest_of_ones(int(model.certificate_.fingerprint["n_rows"])):
        raise ValueError("the model was trained with sample weights: this is for rows that count alike")
    rows = np.asarray(X.toarray() if hasattr(X, "toarray") else X, float)
    signs = np.where(np.asarray(y).ravel() == model.classes_[1], 1.0, -1.0)
    K, free_offset = _gram(model, rows)
    alpha, f = np.abs(model.certificate_.arrays["dual"][0]), np.asarray(model.decision_function(X), float)
    problem = model.certificate_.statement["problem"]
    c = (
        decode_float(problem["C"])
        * np.array([decode_float(w) for w in problem["class_weight"]])[(signs > 0).astype(int)]
    )
    if not np.isfinite(c).all():
        c = np.full(len(rows), 2.0 * float(alpha.max(initial=1.0)))  # the hard margin bounds no multiplier
    found = from_gram(K, signs, alpha, f, c, free_offset)
    if not count:
        return found
    from sklearn.base import clone

    errors = 0
    ends = offset_rows(signs, f, alpha, c) if free_offset else []
    for i in [*np.flatnonzero(alpha > 1e-9 * c).tolist(), *ends]:
        keep = np.arange(len(rows)) != i
        left = signs[keep]
        if (left == left[0]).all():
            errors += int(left[0] != signs[i])
            continue
        score = clone(model).fit(rows[keep], left).decision_function(rows[i : i + 1])[0]
        errors += int(signs[i] * score <= 0.0)
    return replace(found, errors=errors)


def _gram(model: Any, rows: np.ndarray) -> tuple[np.ndarray, bool]:
    if type(model).__name__ == "SVC":
        from sklearn.metrics.pairwise import pairwise_kernels

        if model.kernel == "linear":
            return rows @ rows.T, True
        if model.kernel not in ("rbf", "poly", "sigmoid"):
            raise ValueError("this needs one of the built-in kernels; from_gram takes any matrix")
        width = {"gamma": model._gamma}
        rest = {"degree": model.degree, "coef0": model.coef0} if model.kernel == "poly" else {"coef0": model.coef0}
        return pairwise_kernels(rows, metric=model.kernel, **width, **({} if model.kernel == "rbf" else rest)), True
    K = rows @ rows.T
    problem = model.certificate_.statement["problem"]
    if problem["offset"] == "penalised":
        K = K + float(problem["offset_scale"]) ** 2
    return K, problem["offset"] == "free"


def least_squares(X: Any, y: Any, penalty: float = 0.0, offset: bool = True) -> np.ndarray:
    """Leave-one-out residuals of least squares (or ridge, offset unpenalised), exactly, from one fit: r_i/(1 - h_i).

    h is the diagonal of the matrix that maps y to the fitted values.

    Parameters
    ----------
    X : rows
    y : targets
    penalty : factor of |w|^2 beside the sum of squares
    offset : whether there is an unpenalised offset
    """
    X, y = np.asarray(X, float), np.asarray(y, float).ravel()
    if X.ndim != 2 or len(X) != len(y):
        raise ValueError(f"X must be a matrix with a row for each of {len(y)} targets; got shape {X.shape}")
    if not penalty >= 0.0:
        raise ValueError(f"penalty must not be negative; got {written(penalty)}")
    mean = X.mean(axis=0) if offset else np.zeros(X.shape[1])
    target = y - (y.mean() if offset else 0.0)
    U, s, _ = np.linalg.svd(X - mean, full_matrices=False)
    keep = s > s.max(initial=0.0) * max(X.shape) * np.finfo(float).eps
    shrink = s[keep] ** 2 / (s[keep] ** 2 + penalty)
    U = U[:, keep]
    h = (U**2) @ shrink + (1.0 / len(y) if offset else 0.0)
    residual = target - U @ (shrink * (U.T @ target))
    if (1.0 - h < 1e-10).any():
        raise ValueError("some row has leverage 1: without it the fit is not determined")
    return residual / (1.0 - h)
