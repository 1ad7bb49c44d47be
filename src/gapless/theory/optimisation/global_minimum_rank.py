"""When a critical point is a global minimum although the problem is not convex: the model has more directions than data.

    f(theta) = 1/n sum_i l(h_i(theta), y_i)         l convex in h, h anything with a derivative
    grad f   = A v,    A = (grad h_1 ... grad h_n), d x n,     v_i = l'(h_i, y_i)/n

If A has rank n, then A v = 0 only for v = 0: every l has slope 0 in h_i, and being convex is at its minimum over *all* values
that any model could give.  So a critical point with rank(A) = n is a global minimum.  d >= n is necessary for that rank, not
sufficient: a network of width 1 has any number of parameters and few directions.

In numbers: |v| <= |A v|/s with s the smallest singular value of A, and a small v means a small loss: for the squared loss
f = n/4 |v|^2.  Where s is not above its own rounding error the rank is not known to be n, and nothing follows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gapless._runtime.results import result
from gapless._runtime.written import written
from gapless.theory.inputs import as_finite, as_positive

__all__ = ["AtPoint", "at_point", "of_torch"]


def _squared(h: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return (h - y) ** 2, 2.0 * (h - y)


def _logistic(h: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    z = y * h
    return np.logaddexp(0.0, -z), -y * np.exp(-np.logaddexp(0.0, z))


#: Losses by name: (h, y) -> values, slopes; convex in h, with infimum 0.
LOSSES: dict[str, Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]] = {
    "squared": _squared,
    "logistic": _logistic,
}


@result
@dataclass(frozen=True, eq=False)
class AtPoint:
    """A, its rank with the bound that decides it, v, |A v|, and the verdict.

    Attributes
    ----------
    verdict : "global minimum", "not critical" or "rank deficient: nothing follows"
    value : f(theta)
    within : f(theta) - inf f is at most this, by |A v|/s; only for a global minimum
    n : values of the model: rows times outputs
    d : parameters
    rank : singular values that are certainly not 0
    singular_values : of A, falling
    rounding : each singular value is within this of the true one
    A : (d, n): gradients of the outputs, a column each
    v : (n,): derivative of the loss by each output, over n
    gradient : |A v|
    critical : up to which |A v| counts as critical
    """

    verdict: str
    value: float
    within: float | None
    n: int
    d: int
    rank: int
    singular_values: np.ndarray
    rounding: float
    A: np.ndarray
    v: np.ndarray
    gradient: float
    critical: float

    def __str__(self) -> str:
        rank = f"{self.rank}" if self.rank == self.n else f"at least {self.rank}"
        size = f"A is {self.d} x {self.n} of rank {rank}, |Av| = {self.gradient:.3g}"
        if self.verdict == "global minimum":
            return f"global minimum to within {self.within:.3g}: {size}, value {self.value:.6g}"
        if self.verdict == "not critical":
            return f"not critical: {size}, above {self.critical:.3g}; value {self.value:.6g}"
        return f"rank deficient: nothing follows; {size}, value {self.value:.6g}"


def at_point(
    model: Callable[[np.ndarray], Any],
    jacobian: Callable[[np.ndarray], Any] | None,
    theta: Any,
    y: Any,
    loss: str = "squared",
    critical: Any = 1e-6,
    jacobian_error: float = 0.0,
) -> AtPoint:
    """Judge a point of a model that need not be convex.

    Parameters
    ----------
    model : theta -> the n outputs on the training rows (or n x k of them: each counts as a row of its own)
    jacobian : theta -> n x d, the derivative of each output; None: by central differences, whose error enters the rank
    theta : the point
    y : targets; labels -1 and 1 for the logistic loss
    loss : "squared" or "logistic"
    critical : how small ``|A v|`` must be, relative to ``|A| |v|`` at outputs of 0
    jacobian_error : a bound on the error of the Jacobian (spectral norm) where it is not exact to rounding
    """
    if loss not in LOSSES:
        raise ValueError(f"loss must be one of {', '.join(LOSSES)}; got {written(loss)}")
    critical = as_positive(critical, "critical")
    theta, y = as_finite(theta, "theta").ravel(), as_finite(y, "y").ravel()
    h = np.asarray(model(theta), float).ravel()
    if h.shape != y.shape or h.size == 0:
        raise ValueError(f"the model has {h.size} outputs, and there are {y.size} targets")
    if loss == "logistic" and not np.isin(y, (-1.0, 1.0)).all():
        raise ValueError("the logistic loss needs labels -1 and 1")
    if jacobian is None:
        J, numeric = _differences(model, theta, h.size)
        jacobian_error += numeric
    else:
        J = np.asarray(jacobian(theta), float).reshape(-1, theta.size)
    if J.shape != (h.size, theta.size):
        raise ValueError(
            f"the Jacobian must have a row for each of {h.size} outputs and {theta.size} columns; got {J.shape}"
        )
    if not (np.isfinite(J).all() and np.isfinite(h).all()):
        raise ValueError("the model or its Jacobian is not finite at theta")
    return _judged(J, h, y, loss, critical, jacobian_error)


def _judged(J: np.ndarray, h: np.ndarray, y: np.ndarray, loss: str, critical: float, error: float) -> AtPoint:
    n, d = J.shape
    values, slopes = LOSSES[loss](h, y)
    v = slopes / n
    s = np.linalg.svd(J, compute_uv=False)
    # LAPACK's backward error, generously; Weyl: every singular value moves by at most the norm of the error.
    rounding = 8.0 * max(n, d) * np.finfo(float).eps * float(s[0]) + error
    rank = int((s > rounding).sum())
    gradient = float(np.linalg.norm(J.T @ v))
    nothing = float(np.linalg.norm(LOSSES[loss](np.zeros(n), y)[1] / n))
    limit = critical * float(s[0]) * nothing
    value, within, verdict = float(values.mean()), None, "rank deficient: nothing follows"
    if gradient > limit:
        verdict = "not critical"
    elif rank == n:
        reach = (gradient + rounding * float(np.linalg.norm(v))) / (float(s[-1]) - rounding)  # bounds |v|
        within = _above(loss, n, reach)
        # A rank of n that is all but lost bounds nothing: the value alone would say as much.
        if within < 0.5 * float(LOSSES[loss](np.zeros(n), y)[0].mean()):
            verdict = "global minimum"
        else:
            within = None
    return AtPoint(verdict, value, within, n, d, rank, s, rounding, J.T, v, gradient, limit)


def _above(loss: str, n: int, reach: float) -> float:
    """The most that f can be above its infimum if |v| <= reach."""
    if loss == "squared":
        return 0.25 * n * reach**2  # f = 1/n sum (h - y)^2 and v = 2 (h - y)/n
    # v_i = -y_i p_i/n with p_i = 1/(1 + e^(y h)), and the loss is -ln(1 - p_i), convex in p_i.
    most = n * reach
    return -math.log1p(-most) if most < 1.0 else math.inf


def _differences(model: Callable[[np.ndarray], Any], theta: np.ndarray, n: int) -> tuple[np.ndarray, float]:
    """Central differences with two steps: the better one, and how far apart they are as its error."""
    J = [np.empty((n, theta.size)) for _ in range(2)]
    for which, step in enumerate((1e-4, 2e-4)):
        for j in range(theta.size):
            e = np.zeros(theta.size)
            e[j] = step * max(1.0, abs(theta[j]))
            up, down = (np.asarray(model(theta + t * e), float).ravel() for t in (1.0, -1.0))
            J[which][:, j] = (up - down) / (2.0 * e[j])
    # The error of a step is of its second order: the difference of the two is three times that of the first.
    better = J[0] + (J[0] - J[1]) / 3.0
    return better, float(np.linalg.norm(J[0] - J[1])) + 1e-11 * float(np.abs(better).max(initial=0.0)) * math.sqrt(
        better.size
    )


def of_torch(
    module: Any, X: Any
) -> tuple[Callable[[np.ndarray], np.ndarray], Callable[[np.ndarray], np.ndarray], np.ndarray]:
    """(model, jacobian, theta) of a torch module on the rows X, all in float64, for `at_point`.

    Parameters
    ----------
    module : a torch.nn.Module
    X : rows
    """
    try:
        import torch
    except ImportError:
        raise ImportError('a torch module needs torch: pip install "gapless[gpu]"') from None
    from torch.func import functional_call, jacrev

    rows = torch.as_tensor(np.asarray(X), dtype=torch.float64)
    named = {name: p.detach().to(device="cpu", dtype=torch.float64) for name, p in module.named_parameters()}
    others = {
        name: b.detach().to(device="cpu", dtype=torch.float64 if b.is_floating_point() else None)
        for name, b in module.named_buffers()
    }

    def parts(theta: Any) -> dict[str, Any]:
        out, at = {}, 0
        for name, p in named.items():
            out[name] = theta[at : at + p.numel()].reshape(p.shape)
            at += p.numel()
        return out

    def output(theta: Any) -> Any:
        return functional_call(module, {**others, **parts(theta)}, (rows,)).reshape(-1)

    def model(theta: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return output(torch.as_tensor(theta, dtype=torch.float64)).numpy()

    def jacobian(theta: np.ndarray) -> np.ndarray:
        return jacrev(output)(torch.as_tensor(theta, dtype=torch.float64)).detach().numpy()

    start = torch.cat([p.reshape(-1) for p in named.values()]) if named else torch.zeros(0, dtype=torch.float64)
    return model, jacobian, start.numpy().copy()
