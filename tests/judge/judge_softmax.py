"""Small multinomial problems: a reference fit, figures by plain numpy, and by fractions and 60 digits."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import mpmath
import numpy as np

F = Fraction
UNIT = 2.0**-53


@dataclass
class Multi:
    """K classes; y holds their numbers."""

    X: np.ndarray
    y: np.ndarray
    c: np.ndarray
    K: int
    offset: str
    scale: float = 1.0

    @property
    def constant(self) -> float:
        return {"none": 0.0, "penalised": self.scale, "free": 1.0}[self.offset]


def random_multi(rng: np.random.Generator, offset: str, n: int = 14, d: int = 3) -> Multi:
    """Separable or not, weighted or not, float32 data, bad scales, zeros, rows of c = 0."""
    K = int(rng.integers(3, 6))
    n, d = int(rng.integers(K + 2, n + 1)), int(rng.integers(1, d + 1))
    y = np.concatenate([np.arange(K), rng.integers(K, size=n - K) * (rng.random(n - K) < 0.8)])
    X = rng.normal(size=(n, d)) + rng.choice([0.0, 0.5, 5.0]) * rng.normal(size=(K, d))[y]
    style = rng.integers(5)
    if style == 0:
        X = X.astype(np.float32).astype(np.float64)
    elif style == 1:
        X = X * 10.0 ** rng.integers(-6, 7, size=d)
    elif style == 2:
        X[rng.random(X.shape) < 0.5] = 0.0
    c = np.full(n, 10.0 ** rng.integers(-3, 4))
    if rng.random() < 0.5:
        c = c * rng.random(n) * 10.0 ** rng.integers(-2, 3, size=n)
    if rng.random() < 0.3:
        c[rng.integers(K, n)] = 0.0
    return Multi(X, y, c, K, offset, float(rng.choice([1.0, 0.3, 7.0])) if offset == "penalised" else 1.0)


def random_point(rng: np.random.Generator, p: Multi) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Some (W, b) and some feasible U, far from or close to the best ones, on the border of the domain or inside."""
    if rng.random() < 0.5:
        W, b, U = fit(p)
        if rng.random() < 0.5:
            t = 10.0 ** rng.integers(-8, 0)
            W, b, U = W * (1 + t * rng.normal(size=W.shape)), b * (1 + t), closed(U * (1 - t), p.y)
    else:
        W, b = rng.normal(size=(p.K, p.X.shape[1])), rng.normal(size=p.K)
        P = rng.dirichlet(np.full(p.K, rng.choice([0.01, 0.3, 1.0, 100.0])), size=p.y.size).T
        P[:, rng.random(p.y.size) < 0.2] = 0.0
        hard = rng.random(p.y.size) < 0.2  # everything on one other class: p_y is exactly 0
        P[:, hard] = 0.0
        P[(p.y[hard] + 1) % p.K, np.flatnonzero(hard)] = 1.0
        U = closed(np.where(hard, -p.c * P, -p.c * (1 - 4 * p.K * UNIT) * P), p.y)
    return W, b if p.offset != "none" else np.zeros(p.K), U


def closed(U: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The same with the entries of the true classes put right."""
    rows = np.arange(y.size)
    U = U.copy()
    U[y, rows] = 0.0
    U[y, rows] = -U.sum(axis=0)
    return U


def probabilities(Z: np.ndarray) -> np.ndarray:
    E = np.exp(Z - Z.max(axis=0))
    return E / E.sum(axis=0)


def plain_losses(Z: np.ndarray, y: np.ndarray) -> np.ndarray:
    Z = Z - Z[y, np.arange(y.size)]
    return np.logaddexp.reduce(Z, axis=0)


def fit(p: Multi) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Newton's method on all K (d + 1) numbers, steps halved while they go uphill."""
    keep = p.c > 0
    X, y, c, K = p.X[keep], p.y[keep], p.c[keep], p.K
    A = np.hstack([X, np.full((y.size, 1), p.constant)])
    D = A.shape[1]
    penalty = np.ones((K, D))
    penalty[:, -1] = p.offset != "free"
    Y = (np.arange(K)[:, None] == y).astype(float)

    def value(theta: np.ndarray) -> float:
        return float(0.5 * (penalty * theta**2).sum() + c @ plain_losses(theta @ A.T, y))

    theta = np.zeros((K, D))
    for _ in range(200):
        P = probabilities(theta @ A.T)
        g = penalty * theta + ((P - Y) * c) @ A
        H = np.diag(penalty.ravel() + 1e-14)
        for j in range(K):
            for k in range(K):
                bend = c * (P[j] * (j == k) - P[j] * P[k])
                H[j * D : (j + 1) * D, k * D : (k + 1) * D] += (A.T * bend) @ A
        step = np.linalg.lstsq(H, g.ravel(), rcond=None)[0].reshape(K, D)
        t, now = 1.0, value(theta)
        while t > 1e-12 and not value(theta - t * step) < now:
            t *= 0.5
        if t <= 1e-12:
            break
        theta = theta - t * step
    U = np.zeros((K, p.y.size))
    U[:, keep] = -c * (1 - 4 * K * UNIT) * probabilities(theta @ A.T)
    b = p.constant * theta[:, -1]
    return theta[:, :-1], b, closed(U, p.y)


# --------------------------------------------------------- plain figures


def plain_primal(p: Multi, W: np.ndarray, b: np.ndarray) -> float:
    penalty = 0.5 * float(((b / p.scale) ** 2).sum()) if p.offset == "penalised" else 0.0
    return 0.5 * float((W * W).sum()) + penalty + float(p.c @ plain_losses(W @ p.X.T + b[:, None], p.y))


def plain_entropies(p: Multi, U: np.ndarray) -> np.ndarray:
    keep = p.c > 0
    y, c, U = p.y[keep], p.c[keep], U[:, keep]
    own = np.arange(p.K)[:, None] == y
    P = np.where(own, 0.0, -U / c)
    P = np.where(own, np.maximum(0.0, 1.0 - P.sum(axis=0)), P)
    with np.errstate(divide="ignore", invalid="ignore"):
        return -c * np.where(P > 0, P * np.log(P), 0.0).sum(axis=0)


def plain_offset_bound(p: Multi, primal: float) -> float:
    C = np.bincount(p.y, p.c, minlength=p.K)
    R2 = float((p.X[p.c > 0] ** 2).sum(axis=1).max())
    return 0.5 * float(np.log(C.max() / C.min())) + float(np.sqrt(R2 * primal))


def plain_dual(p: Multi, U: np.ndarray, primal: float, cost: float = 1.0) -> float:
    V, r = U @ p.X, U.sum(axis=1)
    value = float(plain_entropies(p, U).sum()) - 0.5 * float((V * V).sum())
    if p.offset == "penalised":
        value -= 0.5 * float(((p.scale * r) ** 2).sum())
    if p.offset == "free" and r.any():
        value -= cost * plain_offset_bound(p, primal) * float(np.abs(r).sum())
    return value


def plain_rounding(p: Multi, W: np.ndarray, b: np.ndarray, U: np.ndarray, primal: float) -> float:
    """Of the shape that real certificates have."""
    n, d = p.X.shape
    s = p.constant
    norms = np.sqrt((p.X**2).sum(axis=1) + s * s)
    longest = float(np.sqrt(((W * W).sum(axis=1) + ((b / s) ** 2 if s else 0.0)).max()))
    sums = (min(n, 512) + n / 512 + 64) * UNIT
    error = 2 * (d + 4) * UNIT * float(p.c @ norms) * longest + 64 * UNIT * p.K * float(p.c.sum())
    error += (sums + 16 * UNIT) * (primal + float(plain_entropies(p, U).sum()))
    length = float(np.sqrt(((U @ p.X) ** 2).sum() + (s * U.sum(axis=1) ** 2).sum()))
    missed = sums * float(np.linalg.norm(np.abs(U) @ norms))
    error += missed * (length + 0.5 * missed) + p.K * (d + 4) * UNIT * length**2
    if p.offset == "free":
        error += plain_offset_bound(p, primal) * 64 * UNIT * float(np.abs(U).sum())
    return error


def figures(p: Multi, W: np.ndarray, b: np.ndarray, U: np.ndarray) -> tuple[float, float, float]:
    """Primal, dual and rounding."""
    primal = plain_primal(p, W, b)
    return primal, plain_dual(p, U, primal), plain_rounding(p, W, b, U, primal)


# --------------------------------------------------------- 60 digits


def mpf(x: Fraction | float) -> mpmath.mpf:
    x = F(x)
    return mpmath.mpf(x.numerator) / mpmath.mpf(x.denominator)


def exact_primal(p: Multi, W: np.ndarray, b: np.ndarray) -> mpmath.mpf:
    with mpmath.workdps(60):
        total = mpf(sum(F(v) ** 2 for v in W.ravel().tolist()) / 2)
        if p.offset == "penalised":
            total += mpf(sum((F(v) / F(p.scale)) ** 2 for v in b.tolist()) / 2)
        for x, y, c in zip(p.X.tolist(), p.y.tolist(), p.c.tolist(), strict=True):
            if c > 0:
                z = [
                    sum((F(a) * F(v) for a, v in zip(x, w, strict=True)), F(o))
                    for w, o in zip(W.tolist(), b.tolist(), strict=True)
                ]
                top = max(z)
                rest = sum(mpmath.exp(mpf(v - top)) for v in z)
                total += mpf(c) * (mpmath.log(rest) + mpf(top - z[y]))
        return total


def exact_dual(p: Multi, U: np.ndarray) -> tuple[mpmath.mpf, Fraction]:
    """D(U) without the price of a free offset, and sum_k |r_k|; the entries of the true classes are not read."""
    V = [[F(0)] * p.X.shape[1] for _ in range(p.K)]
    r = [F(0)] * p.K
    with mpmath.workdps(60):
        total = mpmath.mpf(0)
        for i, (x, y, c) in enumerate(zip(p.X.tolist(), p.y.tolist(), p.c.tolist(), strict=True)):
            if c == 0:
                continue
            u = [F(v) for v in U[:, i].tolist()]
            u[y] = F(0)
            u[y] = -sum(u)
            for k, v in enumerate(u):
                r[k] += v
                V[k] = [a + v * F(f) for a, f in zip(V[k], x, strict=True)]
                share = 1 - u[y] / F(c) if k == y else -v / F(c)
                assert share >= 0
                if share > 0:
                    total -= mpf(c) * mpf(share) * mpmath.log(mpf(share))
        total -= mpf(sum(v * v for line in V for v in line) / 2)
        if p.offset == "penalised":
            total -= mpf(sum((F(p.scale) * v) ** 2 for v in r) / 2)
    return total, sum(map(abs, r), F(0))


def exact_offset_bound(p: Multi, primal: mpmath.mpf) -> mpmath.mpf:
    keep = np.flatnonzero(p.c > 0)
    with mpmath.workdps(60):
        C = [sum((F(p.c[i]) for i in keep if p.y[i] == k), F(0)) for k in range(p.K)]
        R2 = max(sum(F(v) ** 2 for v in p.X[i].tolist()) for i in keep)
        return mpmath.log(mpf(max(C) / min(C))) / 2 + mpmath.sqrt(mpf(R2) * primal)
