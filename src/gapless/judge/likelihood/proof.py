"""Bounds that hold in exact arithmetic: F from above, F* from below, F - F* from above.

Let E be any matrix of floats, s_ik = E_k'(x_i - shift, 1) the rows in its coordinates, taken exactly.  Every s is computed to
within Higham's bound.  Softmax probabilities p are enclosed; sum_i c_i (diag p - pp') = sum over pairs k < l of
c p_k p_l (e_k - e_l)(e_k - e_l)', which grows with every product p_k p_l, so that lower ends give a matrix below H.  If that
matrix is computed as G to within `off` in norm, and the Cholesky factorisation of G - cI goes through (Rump), then
E'HE >= sigma I with sigma = c - off - (what the factorisation can be off by), and

    lam^2 <= |E'g|^2 / sigma,      rho^2 <= max |s_ik - s_il|^2 / sigma.

E = (an approximate inverse of the factor of H) makes E'HE nearly I, which is why this loses next to nothing.  sigma > 0 shows
that E is regular; it covers the whole model where it has a column for each feature that is not constant.
"""

from __future__ import annotations

import math

import numpy as np

from ..arithmetic.elementary import exp_minus_bounds, logistic_bounds
from ..arithmetic.rounding import UNIT, down, gamma, middle_of, smallest_eigenvalue, up
from ..linear.recompute import score_bounds
from ..linear.softmax import loss_bounds as softmax_bounds
from ..rows import filled
from .figures import Columns, Found, Model, pairs


def shares_between(model: Model, z_low: np.ndarray, z_high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """p (K, rows) between two arrays."""
    if model.K == 2:
        p_low, p_high = logistic_bounds(-z_low[0])[0], logistic_bounds(-z_high[0])[1]
        q_low, q_high = logistic_bounds(z_high[0])[0], logistic_bounds(z_low[0])[1]
        return np.stack([q_low, p_low]), np.stack([q_high, p_high])
    lows, highs = [], []
    for k in range(model.K):
        own = np.zeros(z_low.shape, dtype=bool)
        own[k] = True
        least, most = softmax_bounds(own, z_low, z_high)  # -ln p_k
        lows.append(exp_minus_bounds(most)[0])
        highs.append(np.minimum(1.0, exp_minus_bounds(np.maximum(0.0, least))[1]))
    return np.stack(lows), np.stack(highs)


def prove(model: Model, columns: Columns, found: Found) -> tuple[float, float, float]:
    """(F from above, F* from below, F - F* from above)"""
    # Products up to which this is tried; beyond, F* >= 0 is all that is said.
    most_work = 2e11
    excess = found.loss.up
    S, m = model.S, columns.M.shape[1] + int(model.offset)
    N = S * m
    live = model.rows.shape[1] - int(columns.dead.sum())
    work = float(sum(block.n for block, _, _ in model.blocks())) * model.K**2 * N * N
    if found.inverse is not None and columns.M.shape[1] == live and work <= most_work:
        bound = _excess(model, columns, found.inverse, m)
        excess = min(excess, bound)
    return found.loss.up, max(0.0, float(down(found.loss.low - excess))), excess


def _slopes(low: np.ndarray, high: np.ndarray, i: int, c: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """c (p_i - [own class]) of the rows, as the middle and the radius of intervals; p lies between ``low`` and ``high``."""
    K, own = len(low), y == i
    others_low = np.delete(low, i, axis=0).sum(axis=0) * (1.0 - K * UNIT)
    others_high = np.delete(high, i, axis=0).sum(axis=0) * (1.0 + 2.0 * K * UNIT)
    u_low = down(c * np.where(own, -up(others_high), low[i]))
    return middle_of(u_low, up(c * np.where(own, -down(others_low), high[i])))


def _excess(model: Model, columns: Columns, inverse: np.ndarray, m: int) -> float:
    """F - F* from above; infinite where nothing is proved."""
    # Sums of terms >= 0 are computed to gamma_n < 1e-9; this makes up for it.
    more = 1.0 + 1e-8
    S, K, d = model.S, model.K, model.rows.shape[1]
    N, r = S * m, columns.M.shape[1]
    if N == 0:
        return 0.0
    P = inverse.T  # theta = P phi
    E = [columns.M @ P[k * m : k * m + r] for k in range(S)]
    constant = [columns.constant * P[k * m + r] if model.offset else np.zeros(N) for k in range(S)]
    for matrix in E:
        matrix[columns.dead] = 0.0
    G, ends = np.zeros((N, N)), np.zeros(N)
    reach, mass = np.zeros(N), np.zeros(N)  # bounds on the error of the entries of E'g; the sum of their terms' sizes
    sizes = 0.0  # sum w |s|^2
    off, widest, count, parts = 0.0, 0.0, 0, 0
    for block, c, y in model.blocks():
        x = filled(block) - columns.mean
        x[:, columns.dead] = 0.0
        rows = [x @ e + shift for e, shift in zip(E, constant, strict=True)]
        # d products and d additions, one rounding of x - mean, one of this sum itself
        reached = gamma(d + 6) * more
        errors = [reached * (np.abs(x) @ np.abs(e) + np.abs(shift)) for e, shift in zip(E, constant, strict=True)]
        low, high = shares_between(model, *score_bounds(block, block.absolute(), model.W, model.b))
        for k in range(S):
            middle, radius = _slopes(low, high, k + K - S, c, y)
            ends += middle @ rows[k]
            size = np.abs(rows[k])
            mass += np.abs(middle) @ size * more
            reach += radius @ size * more
            reach += (np.abs(middle) + radius) @ errors[k] * more
        for k, j in pairs(S, K):
            s = rows[k] if j is None else rows[k] - rows[j]
            e = errors[k] if j is None else errors[k] + errors[j]
            e = (e + 2.0 * UNIT * np.abs(s)) * more
            length = np.sqrt(np.einsum("ij,ij->i", s, s)) * more
            wrong = np.sqrt(np.einsum("ij,ij->i", e, e)) * more
            widest = max(widest, float((length + wrong).max()) * more)
            w = np.maximum(0.0, down(c * down(low[k + K - S] * low[0 if j is None else j + K - S])))
            G += s.T @ (s * w[:, None])
            sizes += float(w @ (length * length)) * more
            off += float(w @ (wrong * (2.0 * length + wrong))) * more
            parts += 1
        count = max(count, block.n)
    # Products in blocks, added up over parts: Higham's bound on every entry, hence on the Frobenius norm.
    off += gamma(count + parts + 16) * sizes * more
    reach += gamma(count + parts + 16) * mass * more
    sigma = smallest_eigenvalue(0.5 * (G + G.T), off)
    if not sigma > 0.0 or not np.isfinite(reach).all():
        return math.inf
    lam = float(np.sqrt(np.sum((np.abs(ends) + reach) ** 2) / sigma)) * more
    s = widest / math.sqrt(sigma) * lam * more
    if not s < 1.0:
        return math.inf
    return lam * lam * min(1.0, 0.5 + s / (6.0 * (1.0 - s)) * more) * more
