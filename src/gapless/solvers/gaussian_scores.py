"""Scores of Gaussian classes: ln density + ln prior of each class, up to a term that all classes share.

    one covariance S = C'C for all classes    (m_k - o)' S^-1 (x - o) - 1/2 (m_k - o)' S^-1 (m_k - o) + ln p_k    for any origin o
    a covariance S_k for each class           -1/2 ((x - m_k)' S_k^-1 (x - m_k) + ln det S_k) + ln p_k

With W W' = S^-1 (`solvers/gaussian`) a score of the first kind is a product of whitened vectors. The directions in which the
whitened class means differ most are Fisher's: linear discriminant analysis projects on them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from .gaussian import Root, Whitening, quadratic_form


class LinearScores(NamedTuple):
    """``X @ coef.T + intercept``: a line for each class, or one for the log-odds of the second of two classes."""

    coef: np.ndarray
    intercept: np.ndarray

    def of_two(self) -> LinearScores:
        """The log-odds of the second class, where there are two; else the scores of all."""
        if len(self.intercept) != 2:
            return self
        return LinearScores((self.coef[1] - self.coef[0])[None, :], (self.intercept[1] - self.intercept[0])[None])


class Projection(NamedTuple):
    """The scores of linear discriminant analysis, and the directions in which the class means differ most."""

    scores: LinearScores
    scalings: np.ndarray | None = None  #: (d, directions); None where they were not asked for
    ratio: np.ndarray | None = None  #: the share of the variation between classes in each direction, falling
    centre: np.ndarray | None = None  #: the mean of the class means, from which the rows are projected


def log_priors(priors: np.ndarray) -> np.ndarray:
    """ln of priors; a prior of 0 gives -inf."""
    with np.errstate(divide="ignore"):
        return np.log(priors)


def scores_from_centre(
    scaled: np.ndarray, coef: np.ndarray, centre: np.ndarray, priors: np.ndarray
) -> LinearScores:  # fmt: skip
    """Scores with a shared covariance; ``scaled`` and ``coef`` are W'(m_k - centre) and S^-1 (m_k - centre) of each class."""
    log_prior = log_priors(priors)
    if len(scaled) == 2:
        # The difference of the two means keeps all its digits where the means are far from 0.
        half = 0.5 * (scaled[1] - scaled[0]) @ (scaled[1] + scaled[0])
        coef = (coef[1] - coef[0])[None, :]
        return LinearScores(coef, np.array([log_prior[1] - log_prior[0] - half]) - coef @ centre)
    return LinearScores(coef, log_prior - 0.5 * np.einsum("ij,ij->i", scaled, scaled) - coef @ centre)


def project_by_svd(whitening: Whitening, means: np.ndarray, priors: np.ndarray, n: int, tol: float) -> Projection:
    """Whiten the variation within classes, then turn the axes to the variation between them.

    Directions whose singular value is at most ``tol`` times the largest are left out."""
    K = means.shape[0]
    centre = priors @ means
    apart = means - centre
    between = np.sqrt(n * priors / (K - 1))[:, None] * (apart @ whitening.W)
    _, S, Vt = np.linalg.svd(between, full_matrices=False)
    power = float(np.sum(S**2))
    rank = int(np.count_nonzero(S > tol * S[0])) if power > 0.0 else 0
    scalings = whitening.W @ Vt[:rank].T
    scaled = apart @ scalings
    coef = scaled @ scalings.T
    intercept = -0.5 * np.einsum("ij,ij->i", scaled, scaled) + log_priors(priors) - coef @ centre
    ratio = S**2 / power if power > 0.0 else np.zeros_like(S)
    return Projection(LinearScores(coef, intercept), scalings, ratio, centre)


def project_by_covariance(
    whitening: Whitening, total: Root | None, means: np.ndarray, priors: np.ndarray, eps: float
) -> Projection:  # fmt: skip
    """Scores by least squares; with ``total``, the covariance of all rows, also the eigenvectors of between against within."""
    d = means.shape[1]
    # Two classes are seen from the middle of their means, so that no digit of the difference is lost. More classes are seen from
    # 0, as scikit-learn has it, but from the mean of the means where rounding could change a score (log-odds) by 1e-4.
    coef, half = _scores_from(whitening, means, means.mean(axis=0) if len(means) == 2 else np.zeros(d))
    if len(means) > 2 and not eps * float(np.abs(half).max()) <= 1e-4:
        coef, half = _scores_from(whitening, means, priors @ means)
    scores = LinearScores(coef, log_priors(priors) - half)
    if total is None:
        return Projection(scores)
    spread = total.C @ whitening.W
    values, vectors = np.linalg.eigh(spread.T @ spread - np.eye(d))  # between = total - within
    values, vectors = values[::-1], vectors[:, ::-1]
    power = float(values.sum())
    ratio = values / power if power != 0.0 else np.zeros_like(values)
    return Projection(scores, whitening.W @ vectors, np.sort(ratio)[::-1])


def _scores_from(whitening: Whitening, means: np.ndarray, origin: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The coefficients of the scores as seen from an origin, and the constants to subtract from them."""
    apart = means - origin
    if not whitening.full:  # the smallest coefficients, as scikit-learn has them
        coef = whitening.smallest(apart)
        return coef, 0.5 * np.einsum("ij,ij->i", apart, coef) + coef @ origin
    scaled = apart @ whitening.W
    coef = scaled @ whitening.W.T
    return coef, 0.5 * np.einsum("ij,ij->i", scaled, scaled) + coef @ origin


def quadratic_scores(
    X: np.ndarray, means: Iterable[np.ndarray], whitenings: Iterable[np.ndarray], log_dets: Iterable[float], priors: np.ndarray
) -> np.ndarray:  # fmt: skip
    """(n, K): the score of each class, which has a covariance of its own with W W' = S_k^-1; of two classes the log-odds (n,)."""
    columns = [-0.5 * (quadratic_form(X, mean, W) + log_det) for mean, W, log_det in zip(means, whitenings, log_dets)]
    scores = np.column_stack(columns) + log_priors(priors)
    return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores


def scores_along_axes(
    X: np.ndarray, means: np.ndarray, rotations: list[np.ndarray], variances: list[np.ndarray], priors: np.ndarray
) -> np.ndarray:
    """The same where the columns of R_k are the axes of S_k, and v_k its variances. A single row takes all classes at once."""
    if X.shape[0] > 1:
        wide = [v.astype(np.float64) for v in variances]
        whitenings = [R.astype(np.float64) / np.sqrt(v) for R, v in zip(rotations, wide)]
        middles = [mean.astype(np.float64) for mean in means]
        return quadratic_scores(X, middles, whitenings, [np.log(v).sum() for v in wide], priors)
    M, R, V = (np.array(each, dtype=np.float64) for each in (means, rotations, variances))
    with np.errstate(over="ignore", invalid="ignore"):
        turned = np.einsum("kji,kj->ki", R, X - M)
        form = (turned * turned / V).sum(axis=1)
    form = np.minimum(np.nan_to_num(form, nan=1e300, posinf=1e300), 1e300)  # as `quadratic_form` has it
    scores = log_priors(priors) - 0.5 * (form + np.log(V).sum(axis=1))
    return scores[1:] - scores[:1] if len(scores) == 2 else scores[None, :]


def quadratic_boundary(
    means: np.ndarray, whitenings: np.ndarray, log_dets: np.ndarray, log_odds: float
) -> tuple[np.ndarray, np.ndarray, float]:  # fmt: skip
    """Q, q and c of the log-odds x'Qx + q'x + c of the second of two classes; ``log_odds`` are those of the priors."""
    d = means.shape[1]
    Q, q, c = np.zeros((d, d)), np.zeros(d), log_odds
    for mean, W, log_det, sign in zip(means, whitenings, log_dets, (-1.0, 1.0)):
        precision = W @ W.T
        Q -= sign * 0.5 * precision
        q += sign * (precision @ mean)
        c -= sign * 0.5 * float(mean @ precision @ mean + log_det)
    return Q, q, c
