"""Random problems with a sparse penalty, and a bound from above on their optimum that owes nothing to our solvers."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize, minimize_scalar

from gapless.losses import BY_NAME


class Case(NamedTuple):
    """One problem: P(w, b) = l1 |w|_1 + l2/2 |w|^2 + sum c l(y, Xw + b)."""

    X: np.ndarray
    y: np.ndarray
    c: np.ndarray
    kind: str
    offset: str
    l1: float
    l2: float
    positive: bool

    def value(self, w: np.ndarray, b: float) -> float:
        z = self.X @ w + b
        loss = float((self.c * BY_NAME[self.kind].value(z, self.y)).sum())
        return loss + self.l1 * float(np.abs(w).sum()) + 0.5 * self.l2 * float(w @ w)


def draw(seed: int) -> Case:
    """Collinear columns, columns far from 0, weights over decades, a penalty from 1e-3 to 1.3 of the largest that matters."""
    r = np.random.default_rng(seed)
    n, d = int(r.integers(3, 25)), int(r.integers(1, 30))
    X = r.normal(size=(n, d))
    if r.random() < 0.3:
        X = X[:, r.integers(0, d, d)] + 1e-6 * r.normal(size=(n, d))
    if r.random() < 0.3:
        X = X + 5.0 * r.normal(size=d)
    kind = ("squared", "logistic", "squared_hinge")[int(r.integers(3))]
    y = r.normal(size=n) if kind == "squared" else np.where(r.random(n) < 0.5, 1.0, -1.0)
    if kind != "squared":
        y[:2] = 1.0, -1.0
    if kind == "squared" and r.random() < 0.5:  # an exact fit: then l1 |w*|_1 is nearly all of P*
        y = X[:, 0] * 3.0
    c = np.exp(r.normal(size=n))
    offset = "free" if r.random() < 0.6 else "none"
    loss, b = BY_NAME[kind], 0.0
    if offset == "free":
        b = float(minimize_scalar(lambda t: float((c * loss.value(np.full(n, t), y)).sum()), tol=1e-12).x)
    lam = float(np.abs(X.T @ (c * loss.slope(np.full(n, b), y))).max()) * 10.0 ** r.uniform(-3, 0.1)
    ratio = (1.0, 1.0 - 1e-6, float(r.uniform(0.05, 1.0)))[int(r.integers(3))]
    return Case(X, y, c, kind, offset, lam * ratio, lam * (1.0 - ratio), bool(r.random() < 0.3))


@lru_cache(maxsize=128)
def upper_bound(seed: int) -> tuple[np.ndarray, float, float]:
    """(w, b, P) of ``draw(seed)`` by scipy's L-BFGS-B on w = p - q, p and q >= 0: P is at least the optimum, and near it."""
    case = draw(seed)
    d = case.X.shape[1]
    loss = BY_NAME[case.kind]

    def split(t: np.ndarray) -> tuple[np.ndarray, float]:
        return t[:d] - t[d : 2 * d], float(t[-1]) if case.offset == "free" else 0.0

    def both(t: np.ndarray) -> tuple[float, np.ndarray]:
        w, b = split(t)
        slope = case.c * loss.slope(case.X @ w + b, case.y)
        g = case.X.T @ slope + case.l2 * w
        value = case.value(w, b) + case.l1 * float(2.0 * np.minimum(t[:d], t[d : 2 * d]).sum())
        return value, np.concatenate((g + case.l1, case.l1 - g, [slope.sum() if case.offset == "free" else 0.0]))

    bounds: Any = [(0, None)] * d + [(0, 0 if case.positive else None)] * d + [(None, None)]
    found = minimize(both, np.zeros(2 * d + 1), jac=True, method="L-BFGS-B", bounds=bounds,
                     options={"maxiter": 1500, "maxfun": 2000, "ftol": 1e-15, "gtol": 1e-10})  # fmt: skip
    w, b = split(found.x)
    return w, b, case.value(w, b)
