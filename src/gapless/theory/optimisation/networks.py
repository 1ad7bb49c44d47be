"""Small networks with their Jacobians: the wide one, the deep one of width 1, and that one with skip connections.

    wide     h(x) = c' tanh(W x + b) + e                         m hidden units; with m >= n the rank n is easy to reach
    deep     z_0 = <w, x> + b,  z_l = relu(w_l z_(l-1) + b_l),  h = c z_L + e
             any number of parameters, but all that it sees of x is one number, cut off at both ends: few directions
    skip     z_l = tanh(<w_l, x> + v_l z_(l-1) + b_l),  h = <u, x> + sum_l c_l z_l + e
             still one unit a layer, but x reaches each of them, and each reaches the output: the directions are back

`fit` descends by Levenberg-Marquardt steps: (J J' + mu I)^-1 in the n outputs, which is small where the parameters are many.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gapless._runtime.results import result
from gapless.theory.inputs import as_finite, as_whole

__all__ = ["Network", "deep", "fit", "skip", "wide"]


@result
@dataclass(frozen=True, eq=False)
class Network:
    """theta -> outputs on fixed rows, with their Jacobian and a start.

    Attributes
    ----------
    name : which network
    n : rows
    d : parameters
    model : theta -> outputs
    jacobian : theta -> (n, d): derivatives of the outputs
    start : theta to begin with
    """

    name: str
    n: int
    d: int
    model: Callable[[np.ndarray], np.ndarray]
    jacobian: Callable[[np.ndarray], np.ndarray]
    start: np.ndarray

    def __str__(self) -> str:
        return f"{self.name}: {self.d} parameters on {self.n} rows"


def wide(X: Any, width: Any, seed: int = 0) -> Network:
    """One hidden layer of tanh units.

    Parameters
    ----------
    X : rows
    width : number of hidden units
    seed : number that all random draws follow from
    """
    X, n, k = _rows(X)
    m = as_whole(width, "width")
    d = m * (k + 2) + 1

    def hidden(theta: np.ndarray) -> np.ndarray:
        W, b = theta[: m * k].reshape(m, k), theta[m * k : m * (k + 1)]
        return np.tanh(X @ W.T + b)

    def model(theta: np.ndarray) -> np.ndarray:
        return hidden(theta) @ theta[m * (k + 1) : -1] + theta[-1]

    def jacobian(theta: np.ndarray) -> np.ndarray:
        t, c = hidden(theta), theta[m * (k + 1) : -1]
        back = (1.0 - t * t) * c
        return np.hstack([(back[:, :, None] * X[:, None, :]).reshape(n, m * k), back, t, np.ones((n, 1))])

    random = np.random.default_rng(seed)
    start = np.concatenate([random.normal(size=m * (k + 1)), random.normal(size=m) / np.sqrt(m), [0.0]])
    return Network(f"a network of width {m}", n, d, model, jacobian, start)


def deep(X: Any, depth: Any, seed: int = 0) -> Network:
    """Width 1: a chain of single relu units.

    Parameters
    ----------
    X : rows
    depth : number of units
    seed : number that all random draws follow from
    """
    X, n, k = _rows(X)
    L = as_whole(depth, "depth")
    inner = k + 1 + 2 * L  # w, b, then w_l, b_l; behind them c, e
    d = inner + 2

    def forward(theta: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
        z, alive = [X @ theta[:k] + theta[k]], []
        for i in range(k + 1, inner, 2):
            s = theta[i] * z[-1] + theta[i + 1]
            z.append(np.maximum(s, 0.0))
            alive.append(s > 0.0)
        return z, alive

    def model(theta: np.ndarray) -> np.ndarray:
        return theta[inner] * forward(theta)[0][-1] + theta[-1]

    def jacobian(theta: np.ndarray) -> np.ndarray:
        z, alive = forward(theta)
        J = np.empty((n, d))
        back = np.full(n, theta[inner])
        for i in reversed(range(L)):
            at = k + 1 + 2 * i
            back = back * alive[i]
            J[:, at], J[:, at + 1] = back * z[i], back
            back = back * theta[at]
        J[:, :k], J[:, k] = back[:, None] * X, back
        J[:, inner], J[:, -1] = z[-1], 1.0
        return J

    start = np.random.default_rng(seed).normal(size=d)
    start[k + 1 : inner : 2] = 1.0  # a chain that passes on what it gets, and does not die at once
    start[k + 2 : inner : 2] = 0.1
    return Network(f"a network of width 1 and depth {L}", n, d, model, jacobian, start)


def skip(X: Any, depth: Any, seed: int = 0) -> Network:
    """Width 1 with skip connections: every unit sees x, and the output sees every unit, and x.

    Parameters
    ----------
    X : rows
    depth : number of units
    seed : number that all random draws follow from
    """
    X, n, k = _rows(X)
    L = as_whole(depth, "depth")
    each = k + 2  # w_l, v_l, b_l
    d = L * each + k + L + 1

    def parts(theta: np.ndarray) -> tuple[np.ndarray, ...]:
        units = theta[: L * each].reshape(L, each)
        return units[:, :k], units[:, k], units[:, k + 1], theta[L * each : L * each + k], theta[L * each + k : -1]

    def forward(theta: np.ndarray) -> np.ndarray:
        W, v, b, _, _ = parts(theta)
        z = np.zeros((n, L + 1))  # z_0 = 0
        for i in range(L):
            z[:, i + 1] = np.tanh(X @ W[i] + v[i] * z[:, i] + b[i])
        return z

    def model(theta: np.ndarray) -> np.ndarray:
        _, _, _, u, c = parts(theta)
        return X @ u + forward(theta)[:, 1:] @ c + theta[-1]

    def jacobian(theta: np.ndarray) -> np.ndarray:
        _, v, _, _, c = parts(theta)
        z = forward(theta)
        J = np.empty((n, d))
        back = np.zeros(n)
        for i in reversed(range(L)):
            back = (back + c[i]) * (1.0 - z[:, i + 1] ** 2)
            J[:, i * each : i * each + k] = back[:, None] * X
            J[:, i * each + k], J[:, i * each + k + 1] = back * z[:, i], back
            back = back * v[i]
        J[:, L * each : L * each + k], J[:, L * each + k : -1], J[:, -1] = X, z[:, 1:], 1.0
        return J

    random = np.random.default_rng(seed)
    start = random.normal(size=d)
    start[L * each :] /= np.sqrt(L)
    return Network(f"a network of width 1 and depth {L} with skip connections", n, d, model, jacobian, start)


def fit(network: Network, y: Any, steps: Any = 500, theta: Any = None) -> np.ndarray:
    """Least squares by Levenberg-Marquardt steps from ``theta`` (or the network's start), until nothing is gained any more.

    Parameters
    ----------
    network : `Network`, as of `wide`
    y : target of each row
    steps : most steps
    theta : start; None: that of the network
    """
    y = as_finite(y, "y").ravel()
    if y.size != network.n:
        raise ValueError(f"the network has {network.n} rows, and there are {y.size} targets")
    point = as_finite(network.start if theta is None else theta, "theta").copy()
    if point.shape != (network.d,):
        raise ValueError(f"theta must have the {network.d} parameters of the network; its shape is {point.shape}")
    miss = network.model(point) - y
    value, mu = float(miss @ miss), 1e-2
    for _ in range(as_whole(steps, "steps")):
        J = network.jacobian(point)
        while True:
            step = -J.T @ np.linalg.solve(J @ J.T + mu * np.eye(network.n), miss)
            trial = network.model(point + step) - y
            if trial @ trial < value:
                break
            mu *= 4.0
            if mu > 1e12:
                return point
        point, miss, value, mu = point + step, trial, float(trial @ trial), max(mu / 3.0, 1e-15)
        if value < 1e-28 * float(y @ y):
            break
    return point


def _rows(X: Any) -> tuple[np.ndarray, int, int]:
    rows = as_finite(X, "X")
    if rows.ndim != 2 or rows.size == 0:
        raise ValueError(f"X must be a matrix of finite numbers; got an array of shape {rows.shape}")
    return rows, *rows.shape
