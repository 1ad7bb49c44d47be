"""Problems without a penalty, with references that share no code with the library: mpmath and plain numpy."""

from __future__ import annotations

import mpmath
import numpy as np


def problem_of(seed=0, n=80, d=3, K=2):
    """Overlapping classes, columns of different units and means, whole-number weights (some 0)."""
    random = np.random.default_rng(seed)
    Z = random.normal(size=(n, d))
    y = (Z @ random.normal(size=(d, K)) + 2.0 * random.gumbel(size=(n, K))).argmax(axis=1)
    X = Z * 10.0 ** random.uniform(-3, 3, size=d) + random.normal(size=d) * 10.0
    return X, y, random.integers(0, 4, n).astype(float)


def scores_of(W, b, X):
    z = X @ np.atleast_2d(W).T + b
    return np.hstack([np.zeros((len(X), 1)), z]) if z.shape[1] == 1 else z


def loss_of(W, b, X, y, c=None):
    z = scores_of(W, b, X)
    top = z.max(axis=1, keepdims=True)
    each = np.log(np.exp(z - top).sum(axis=1)) + top[:, 0] - z[np.arange(len(y)), y]
    return float(each.sum() if c is None else c @ each)


def optimum_of(X, y, c, K, offset=True, digits=50, start=None):
    """Newton in ``digits`` digits on the scores of the classes but the first: (F*, theta (K - 1, d + offset), H)."""
    with mpmath.workdps(digits):
        A = [[mpmath.mpf(float(v)) for v in row] + [mpmath.mpf(1)] * offset for row in X]
        m, S = len(A[0]), K - 1
        theta = mpmath.zeros(S * m, 1) if start is None else mpmath.matrix(start.ravel().tolist())
        for _ in range(60):
            F, g, H = mpmath.mpf(0), mpmath.zeros(S * m, 1), mpmath.zeros(S * m)
            for a, label, weight in zip(A, y.tolist(), c.tolist()):
                if weight == 0:
                    continue
                z = [mpmath.mpf(0)] + [mpmath.fsum(theta[k * m + j] * a[j] for j in range(m)) for k in range(S)]
                total = mpmath.fsum(mpmath.exp(v) for v in z)
                p = [mpmath.exp(v) / total for v in z]
                F += weight * (mpmath.log(total) - z[label])
                for k in range(S):
                    u = weight * (p[k + 1] - (label == k + 1))
                    for j in range(m):
                        g[k * m + j] += u * a[j]
                    for q in range(S):
                        w = weight * ((p[k + 1] if k == q else 0) - p[k + 1] * p[q + 1])
                        for i in range(m):
                            for j in range(m):
                                H[k * m + i, q * m + j] += w * a[i] * a[j]
            step = mpmath.lu_solve(H, g)
            if mpmath.fdot(g, step) < mpmath.mpf(10) ** (-digits):
                break
            theta = theta - step / max(1, mpmath.sqrt(mpmath.fdot(g, step)))  # damped far away
        return F, np.array([float(v) for v in theta]).reshape(S, m)
