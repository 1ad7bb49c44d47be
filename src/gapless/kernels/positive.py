"""Is a symmetric matrix positive semidefinite?  A proof, or a vector that shows it is not.

Rump (2006): with c = gamma_(n+2) tr(A) / (1 - gamma_(n+2)), if the Cholesky factorisation of A - cI goes through in floating
point, then A is positive definite, whatever the rounding did.  A Gram matrix that was computed in floats is often a little
below that: then K + shift I is proved instead, with the smallest shift of a few that does.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gapless._runtime.written import written
from gapless.numbers import UNIT

#: The largest shift, against the largest diagonal value: what single precision loses.
MOST_SHIFT = 1e-6
#: Rows beyond which the factorisation would take longer than most fits.
MOST_ROWS = 8_000


class PositiveProof(NamedTuple):
    """K + ``shift`` I is positive semidefinite for certain; None where it is not: then witness'K witness = value < 0."""

    shift: float | None
    witness: np.ndarray | None = None
    value: float = 0.0


def prove_positive(K: np.ndarray, off: float = 0.0) -> PositiveProof:
    """Prove it for K, or for K + shift I with the smallest shift that does; or find v with v'Kv < 0.

    ``off``: what a value of K may be off by; a matrix of such errors has eigenvalues of up to n times as much.
    """
    n = K.shape[0]
    diagonal = np.diagonal(K)
    top, trace = float(diagonal.max(initial=0.0)), float(np.abs(diagonal).sum())
    margin = (n + 4) * UNIT * trace * 1.01 + 1e-300 + n * off
    shift = 0.0
    while shift <= MOST_SHIFT * top or shift == 0.0:
        if _factors(K, shift - margin - 4.0 * UNIT * (shift + top)):
            return PositiveProof(shift)
        shift = 4.0 * margin if shift == 0.0 else 8.0 * shift
    values, vectors = np.linalg.eigh(K)
    v = vectors[:, 0]
    product = float(v @ (K @ v))
    room = (2 * n + 8) * UNIT * float(np.abs(v) @ (np.abs(K) @ np.abs(v))) + n * off
    if product + room < 0.0:
        return PositiveProof(None, v, product)
    return PositiveProof(None, None, float(values[0]))


def _factors(K: np.ndarray, add: float) -> bool:
    try:
        np.linalg.cholesky(K + add * np.eye(K.shape[0]))
    except np.linalg.LinAlgError:
        return False
    return True


def symmetric_part(K: np.ndarray) -> np.ndarray:
    """K itself where it is symmetric; its symmetric part where it differs by rounding; ValueError where it differs by more."""
    off = np.abs(K - K.T)
    most = float(off.max(initial=0.0))
    if most == 0.0:
        return K
    if most > 1e-7 * float(np.abs(K).max(initial=0.0)):
        i, j = (int(k) for k in np.unravel_index(int(off.argmax()), off.shape))
        raise ValueError(
            f"Precomputed matrix must be symmetric: K[{i}, {j}] = {written(K[i, j])} and K[{j}, {i}] = {written(K[j, i])}. "
            "A kernel K(x, z) does not depend on the order of x and z."
        )
    return 0.5 * (K + K.T)
