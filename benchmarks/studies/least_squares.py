"""LinearRegression and Ridge on a generated 1,000,000 x 50, against the peers and against the bare arithmetic.

    S(w) = |y - X w|^2 + alpha |w|^2       (with an offset b, on X and y less their means)

All are judged by S in float64; the optimum is that of the normal equations, refined once.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import linalg

from benchmarks.core import datasets, limits, objective

ALPHA = {"LinearRegression": 0.0, "Ridge": 1.0}


def bare(X: np.ndarray, y: np.ndarray, alpha: float) -> np.ndarray:
    """The least that any exact method does: X'X on two threads and a Cholesky factor."""
    gram = X.T @ X
    gram[np.diag_indices_from(gram)] += alpha
    return linalg.cho_solve(linalg.cho_factor(gram), X.T @ y)


def _models(kind: str, fit_intercept: bool) -> dict[str, Callable[[np.ndarray, np.ndarray], Any]]:
    from sklearn import linear_model

    import gapless

    def use(module: Any, **options: Any) -> Callable[[np.ndarray, np.ndarray], Any]:
        model = getattr(module, kind)
        strength = {"alpha": ALPHA[kind]} if kind == "Ridge" else {}
        return lambda X, y: model(fit_intercept=fit_intercept, **strength, **options).fit(X, y).coef_

    found = {"gapless": use(gapless, n_jobs=limits.THREADS), "sklearn": use(linear_model)}
    try:
        from sklearnex import linear_model as fast
    except ImportError:
        pass
    else:
        found["sklearnex"] = use(fast)
    if not fit_intercept:
        found["bare Gram and Cholesky"] = lambda X, y: bare(X, y, ALPHA[kind])
    return found


def run(say: Callable[[str], None], shape: tuple[int, int] = datasets.GENERATED) -> None:
    X, y = datasets.generated_regression(shape)
    say(f"least squares, {shape[0]} x {shape[1]} float64")
    for kind, alpha in ALPHA.items():
        for fit_intercept in (False, True):
            models = _models(kind, fit_intercept)
            distance = _judge(X, y, alpha, fit_intercept)
            seconds: dict[str, list[float]] = {name: [] for name in models}
            worst = dict.fromkeys(models, 0.0)
            for fit in models.values():
                fit(X[:1000], y[:1000])  # loads, compiles, starts threads
            models["gapless"](X, y)
            for _ in range(limits.REPEATS):
                for name, fit in models.items():
                    start = time.perf_counter()
                    coef = fit(X, y)
                    seconds[name].append(time.perf_counter() - start)
                    worst[name] = max(worst[name], distance(coef))
            medians = {name: statistics.median(taken) for name, taken in seconds.items()}
            say(
                f"  {kind}, offset {fit_intercept}: "
                + ", ".join(f"{name} {took:.3f} s" for name, took in medians.items())
            )
            row = {"kind": kind, "fit_intercept": fit_intercept, "seconds": medians, "distance": worst}
            objective.keep("least_squares.json", f"{kind} {fit_intercept}", row | {"shape": list(shape)})


def _judge(X: np.ndarray, y: np.ndarray, alpha: float, fit_intercept: bool) -> Callable[[Any], float]:
    """Relative excess of S. S is quadratic: S(w) - S(w*) = (w - w*)' H (w - w*), without cancellation."""
    if fit_intercept:
        X, y = X - X.mean(axis=0), y - y.mean()
    H = X.T @ X + alpha * np.eye(X.shape[1])
    best = linalg.solve(H, X.T @ y, assume_a="pos")
    best += linalg.solve(H, X.T @ (y - X @ best) - alpha * best, assume_a="pos")
    residual = y - X @ best
    value = float(residual @ residual + alpha * best @ best)

    def distance(coef: Any) -> float:
        step = np.asarray(coef, dtype=np.float64).ravel() - best
        return float(step @ H @ step) / value

    return distance
