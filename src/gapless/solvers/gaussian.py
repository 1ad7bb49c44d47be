"""Gaussian classes: weighted moments, covariance roots, whitening and the posterior, in closed form.

The estimates of maximum likelihood of a class with rows x_i and weights w_i (repetitions) are

    mass = sum_i w_i,    mean = sum_i w_i x_i / mass,    covariance = sum_i w_i (x_i - mean)(x_i - mean)' / mass.

A covariance S is kept as a *root* C with S = C'C. C comes from the rows, centred, block after block, in float64, so
that memory is one block and d x d at most: by Cholesky of the Gram matrix where S, its columns scaled to unit variance,
is far from singular, else by QR, which finds small singular values to eps instead of sqrt(eps). Shrinkage,
(1 - s) S + s diag(a), appends the rows diag(sqrt(s a)) to sqrt(1 - s) C. Classes are pooled by stacking their roots.

Ledoit and Wolf, "A well-conditioned estimator for large-dimensional covariance matrices", J. Multivariate Analysis 88
(2004), gives shrinkage="auto", on columns of unit variance as in scikit-learn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy import linalg
from scipy.special import logsumexp

#: Condition (of columns of unit variance) above which rounding can show in six digits.
ILL_CONDITIONED = 1e10


class Moments(NamedTuple):
    """What is known of the rows of one class."""

    n_rows: int  #: rows of positive weight
    mass: float  #: the sum of their weights
    mean: np.ndarray
    root: np.ndarray  #: R with R'R = covariance, at most min(n_rows, d) rows
    largest: np.ndarray  #: max |x_j|, which is what rounding is relative to


class Root(NamedTuple):
    """C with covariance = C'C, the largest |x_j| behind it, and the shrinkage that was applied."""

    C: np.ndarray
    largest: np.ndarray
    shrinkage: float = 0.0


class Whitening(NamedTuple):
    """W (d x rank) with W' S W = 1, and what is known of S. Rank and condition are those of S with its columns scaled
    to unit variance: they do not depend on the units of the features.
    """

    W: np.ndarray
    rank: int
    condition: float  #: inf where rank < d
    log_det: float  #: of S, where W sees all of it
    basis: np.ndarray  #: (d, rank), orthonormal: the directions that count, features scaled
    scale: np.ndarray  #: the scale of each feature: its deviation, 1 where it is constant
    threshold: np.ndarray  #: how far apart, in each scaled feature, means must be for the difference to count
    sigma: np.ndarray  #: (rank,), singular values of the scaled root

    @property
    def full(self) -> bool:
        return self.rank == self.W.shape[0]

    def smallest(self, vectors: np.ndarray) -> np.ndarray:
        """The shortest c with the least |S c - v|, for each v; S = B diag(sigma^2) B' with B = scale basis.

        Rows of B go by size and its columns by pivots, so that a small feature keeps its digits beside a large one.
        """
        B = self.scale[:, None] * self.basis
        order = np.argsort(-np.abs(B).max(axis=1), kind="stable")
        Q, R, pivots = linalg.qr(B[order], mode="economic", pivoting=True)
        spread = self.sigma[pivots, None] ** 2
        inner = linalg.solve_triangular(R, Q.T @ vectors.T[order]) / spread
        out = np.empty_like(vectors)
        out[:, order] = (Q @ linalg.solve_triangular(R, inner, trans="T")).T
        return out

    def misses(self, differences: np.ndarray) -> bool:
        """Whether any of these vectors has a part in the directions that do not count."""
        if self.full:
            return False
        scaled = differences / self.scale
        return bool(np.any(np.abs(scaled - scaled @ self.basis @ self.basis.T) > self.threshold))


def _rows_per_block(d: int) -> int:
    """Rows in a block: enough for LAPACK to be at speed, little beside any X."""
    return max(4096, 2 * d)


def _blocks(X: np.ndarray, rows: np.ndarray, weight: np.ndarray | None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    size = _rows_per_block(X.shape[1])
    for begin in range(0, rows.size, size):
        of = rows[begin : begin + size]
        yield X[of].astype(np.float64, copy=False), np.ones(of.size) if weight is None else weight[of]


def moments(X: np.ndarray, rows: np.ndarray, weight: np.ndarray | None = None) -> Moments:
    """Mean and covariance root of some rows of X; all of them have positive weight."""
    d = X.shape[1]
    mass, total = 0.0, np.zeros(d)
    low, high = np.full(d, np.inf), np.full(d, -np.inf)
    for Z, w in _blocks(X, rows, weight):
        mass += float(w.sum())
        total += w @ Z
        np.minimum(low, Z.min(axis=0), out=low)
        np.maximum(high, Z.max(axis=0), out=high)
    constant = low == high
    mean = np.where(constant, low, total / mass)  # a constant column has no variance, not that of its rounding
    mean, root = _factor(X, rows, weight, mass, mean)
    with np.errstate(over="ignore"):
        overflow = ~np.isfinite(np.sum(root**2, axis=0) * d)
    if overflow.any():
        column = int(np.argmax(overflow))
        raise ValueError(
            f"the variance of column {column} of X overflows (values to {max(-low[column], high[column]):.1e}): "
            "scale it"
        )
    return Moments(rows.size, mass, mean, root, np.maximum(np.abs(low), np.abs(high)))


def _factor(
    X: np.ndarray, rows: np.ndarray, weight: np.ndarray | None, mass: float, mean: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The mean without the rounding of its first sum, and the root: from the Gram matrix where that is good to 1e-11 in
    every direction, else by QR of the rows.
    """
    d = mean.size
    by_gram = rows.size > 2 * d
    gram, off = np.zeros((d, d)), np.zeros(d)
    with np.errstate(over="ignore", invalid="ignore"):
        for Z, w in _blocks(X, rows, weight):
            Z -= mean
            off += w @ Z
            if by_gram:
                if weight is not None:
                    Z *= np.sqrt(w)[:, None]
                gram += Z.T @ Z
    off /= mass
    mean = mean + off
    if by_gram and np.isfinite(gram).all():
        gram = gram / mass - np.outer(off, off)
        scale = np.sqrt(np.maximum(np.diag(gram), 0.0))
        if scale.all():
            unit = gram / scale / scale[:, None]
            if np.linalg.eigvalsh(unit)[0] > 1e-4:  # so far from singular that forming the correlations loses nothing
                return mean, np.linalg.cholesky(unit).T * scale
    root = np.empty((0, d))
    for Z, w in _blocks(X, rows, weight):
        Z -= mean
        Z *= np.sqrt(w / mass)[:, None]
        root = _reduced(np.vstack((root, Z)))
    return mean, root


def _norms(C: np.ndarray) -> np.ndarray:
    """The norm of each column, without underflow."""
    top = np.abs(C).max(axis=0, initial=0.0)
    unit = np.where(top > 0.0, top, 1.0)
    return top * np.sqrt(np.einsum("ij,ij->j", C / unit, C / unit))


def _reduced(C: np.ndarray) -> np.ndarray:
    """A root of the same matrix with at most d rows."""
    return np.asarray(np.linalg.qr(C, mode="r")) if C.shape[0] > C.shape[1] else C


def shrinkage_of(X: np.ndarray, rows: np.ndarray, weight: np.ndarray | None, m: Moments) -> tuple[float, np.ndarray]:
    """Ledoit and Wolf's s and the target's diagonal, s * target = s * mean(diagonal of the scaled S) * scale^2."""
    d = m.mean.size
    scale = _norms(m.root)
    constant = scale <= 10.0 * np.finfo(np.float64).eps * m.largest
    scale = np.where(constant, 1.0, scale)
    mu = float(np.count_nonzero(~constant)) / d
    target = mu * scale**2
    if d == 1 or mu == 0.0 or rows.size < 2:
        return 0.0, target
    fourth = 0.0
    for Z, w in _blocks(X, rows, weight):
        Z -= m.mean
        Z /= scale
        Z[:, constant] = 0.0
        fourth += float(w @ np.einsum("ij,ij->i", Z, Z) ** 2)
    sigma = np.linalg.svd(np.where(constant, 0.0, m.root / scale), compute_uv=False)
    squares = float(np.sum(sigma**4))  # |S|_F^2
    beta = (fourth / m.mass - squares) / (d * m.mass)
    delta = (squares - d * mu**2) / d
    # What is left of two equal sums is rounding, and no shrinkage.
    rounding = 1e-12 * squares / (d * m.mass)
    return (0.0 if beta <= rounding else min(beta, delta) / delta), target


def class_root(
    X: np.ndarray, rows: np.ndarray, weight: np.ndarray | None, m: Moments, shrinkage: float | str | None
) -> Root:
    """The root of one class's covariance, shrunk as asked: None, "auto", or s for (1 - s) S + s mean(diag S) 1."""
    if shrinkage is None or (not isinstance(shrinkage, str) and shrinkage == 0.0):
        return Root(m.root, m.largest)
    if isinstance(shrinkage, str):
        s, target = shrinkage_of(X, rows, weight, m)
    else:
        s, target = float(shrinkage), np.full(m.mean.size, np.sum(m.root**2) / m.mean.size)
    return Root(_with_diagonal(np.sqrt(1.0 - s) * m.root, s * target), m.largest, float(s))


def _with_diagonal(C: np.ndarray, diagonal: np.ndarray) -> np.ndarray:
    """A root of C'C + diag(diagonal)."""
    return _reduced(np.vstack((C, np.diag(np.sqrt(diagonal))))) if diagonal.any() else C


def regularised(root: Root, keep: float, diagonal: float) -> Root:
    """The root of keep * S + diagonal * 1."""
    d = root.C.shape[1]
    return root._replace(C=_with_diagonal(np.sqrt(keep) * root.C, np.full(d, diagonal)))


def pooled(roots: Sequence[Root], share: np.ndarray) -> Root:
    """The root of sum_k share_k S_k."""
    d = roots[0].C.shape[1]
    largest, waiting, n_rows = np.zeros(d), [np.empty((0, d))], 0
    for root, part in zip(roots, share):
        waiting.append(np.sqrt(part) * root.C)
        n_rows += root.C.shape[0]
        if n_rows > _rows_per_block(d):  # few large factorisations cost less than many small ones
            waiting = [_reduced(np.vstack(waiting))]
            n_rows = waiting[0].shape[0]
        np.maximum(largest, root.largest, out=largest)
    return Root(_reduced(np.vstack(waiting)), largest)


def root_of_matrix(S: np.ndarray, name: str) -> Root:
    """The root of a covariance matrix that somebody else estimated."""
    S = np.atleast_2d(np.asarray(S, dtype=np.float64))
    if not np.isfinite(S).all():
        raise ValueError(f"{name} gave a covariance_ with entries that are not finite")
    values, vectors = np.linalg.eigh((S + S.T) / 2.0)
    if values[0] < -1e-8 * max(values[-1], 0.0) or values[-1] < 0.0:
        raise ValueError(
            f"{name} gave a covariance_ that is not positive semidefinite: its smallest eigenvalue is {values[0]:.3g}"
        )
    values = np.where(values > S.shape[0] * np.finfo(np.float64).eps * values[-1], values, 0.0)
    return Root((vectors * np.sqrt(values)).T[::-1], np.zeros(S.shape[0]))


def _scaled(root: Root, eps: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The root with its columns scaled to unit variance, their scale, and which of them are constant."""
    deviation = _norms(root.C)
    flat = deviation <= 4.0 * eps * root.largest
    scale = np.where(flat, 1.0, deviation)
    return np.where(flat, 0.0, root.C / scale), scale, flat


def _least_that_counts(
    root: Root, sigma: np.ndarray, scale: np.ndarray, flat: np.ndarray, eps: float, tol: float = 0.0
) -> float:
    """The singular value of the scaled root up to which it is rounding."""
    d, largest = root.C.shape[1], sigma[0] if sigma.size else 0.0
    ratio = float(np.max(root.largest / scale, where=~flat, initial=0.0))
    # A float64 covariance does not show a variance below 2^-41 of the largest one, for each feature.
    noise = max(min(eps * (d + ratio), 1e-5), np.sqrt(d * 2.0**-41)) * largest
    return float(max(noise, tol))


def rank_and_condition(root: Root, eps: float) -> tuple[int, float]:
    """Those of `whiten`, without its directions: singular values alone take a quarter of the time."""
    scaled, scale, flat = _scaled(root, eps)
    sigma = np.linalg.svd(scaled, compute_uv=False)
    rank = int(np.count_nonzero(sigma > _least_that_counts(root, sigma, scale, flat, eps)))
    return rank, float((sigma[0] / sigma[-1]) ** 2) if rank == root.C.shape[1] else np.inf


def whiten(root: Root, eps: float, tol: float = 0.0) -> Whitening:
    """W with W' (C'C) W = 1 on the directions whose singular value, after scaling columns to unit variance, counts.

    A singular value counts above ``tol``, above what the rounding of the data (``eps``, of its dtype) can make, and where its
    square can be told from rounding in the covariance, which is what anybody else gets to see.
    """
    d = root.C.shape[1]
    scaled, scale, flat = _scaled(root, eps)
    _, sigma, Vt = np.linalg.svd(scaled, full_matrices=False)
    Vt[:, flat] = 0.0  # exactly, not by rounding
    least = _least_that_counts(root, sigma, scale, flat, eps, tol)
    rank = int(np.count_nonzero(sigma > least))
    W = (Vt[:rank] / scale).T / sigma[:rank]
    condition = float((sigma[0] / sigma[-1]) ** 2) if rank == d else np.inf
    log_det = 2.0 * float(np.log(sigma[:rank]).sum() + np.log(scale).sum())
    threshold = np.where(flat, 10.0 * d * eps * root.largest, max(least, 10.0 * d * eps))
    return Whitening(W, rank, condition, log_det, Vt[:rank].T, scale, threshold, sigma[:rank])


def quadratic_form(X: np.ndarray, mean: np.ndarray, W: np.ndarray) -> np.ndarray:
    """|W'(x - mean)|^2 of each row, at most 1e300, so that differences of two are never NaN."""
    out = np.empty(X.shape[0])
    size = _rows_per_block(X.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):
        for begin in range(0, X.shape[0], size):
            Z = (X[begin : begin + size] - mean) @ W  # float64, as the mean is
            out[begin : begin + size] = np.einsum("ij,ij->i", Z, Z)
    return np.minimum(np.nan_to_num(out, nan=1e300, posinf=1e300), 1e300)


def log_posterior(log_joint: np.ndarray) -> np.ndarray:
    """ln P(class | x) from ln density + ln prior, (n, K); -inf is allowed, but not in all columns of a row."""
    below = log_joint - log_joint.max(axis=1, keepdims=True)  # first, or ln K would be lost beside 1e300
    return below - logsumexp(below, axis=1, keepdims=True)
