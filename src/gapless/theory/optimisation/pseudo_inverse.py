"""What w = X^+ y costs, beside the other ways to the same w: in floating-point operations, seconds and digits.

X has n rows, d columns (n >= d) and full rank; y has K targets.  Operations are additions and multiplications, the terms of
third order in n and d and those of K (Golub and Van Loan, Matrix Computations, 4th edition, 5.3, 5.5 and 8.6):

    inverse           (X'X)^-1 X' y, as the formula stands      3 n d^2 + d^3               + 2 n d K
    pseudo-inverse    X^+ = V S^-1 U' from the SVD, X^+ y        8 n d^2 + 20 d^3            + 2 n d K
    svd               V S^-1 (U' y), X^+ is never made           6 n d^2 + 20 d^3            + (2 n d + 2 d^2) K
    qr                R w = Q' y, Householder                    2 n d^2 - 2/3 d^3           + (4 n d - d^2) K
    cholesky          L L' w = X'y, L L' = X'X                   n d^2 + 1/3 d^3             + (2 n d + 2 d^2) K
    gradient          one step of conjugate gradients, CGLS      4 n d K a step

The normal equations (inverse, cholesky, gradient) square the condition of X: they lose twice the digits of an SVD or a QR.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from gapless._runtime.clock import now
from gapless._runtime.results import result
from gapless._runtime.threads import one_blas_thread
from gapless.theory.inputs import as_positive, as_whole

__all__ = ["Costs", "Way", "cost"]


@result
class Way(NamedTuple):
    """One way to the least squares coefficients.

    Attributes
    ----------
    name : its name
    formula : of the operations
    operations : for this n, d and K
    seconds : measured on one core; None where it was not measured
    error : largest error of a coefficient against the largest true one
    numbers : float64 numbers kept beside X
    """

    name: str
    formula: str
    operations: float
    seconds: float | None
    error: float | None
    numbers: float

    def __str__(self) -> str:
        took = "" if self.seconds is None else f", {self.seconds:.3g} s"
        return f"{self.name}: {self.formula} = {self.operations:.3g} operations{took}"


@result
@dataclass(frozen=True, eq=False)
class Costs:
    """The ways for one size.

    Attributes
    ----------
    rows, columns, targets : int
        n, d and K.
    condition : float
        Of the X that was timed.
    ways : tuple of Way
        The pseudo-inverse first.
    """

    rows: int
    columns: int
    targets: int
    condition: float
    ways: tuple[Way, ...]

    def __iter__(self) -> Iterator[Way]:
        return iter(self.ways)

    def __getitem__(self, name: str) -> Way:
        for way in self.ways:
            if way.name == name:
                return way
        raise KeyError(f"no way is called {name!r}; there are {', '.join(way.name for way in self.ways)}")

    def __str__(self) -> str:
        head = f"least squares, {self.rows:,} rows x {self.columns:,} columns, condition {self.condition:.3g}, one core"
        lines = [head, "", f"{'way':<16} {'operations':>11} {'seconds':>9} {'error':>9}  formula"]
        for way in self.ways:
            seconds = "-" if way.seconds is None else f"{way.seconds:.3g}"
            error = "-" if way.error is None else f"{way.error:.1e}"
            lines.append(f"{way.name:<16} {way.operations:>11.3g} {seconds:>9} {error:>9}  {way.formula}")
        return "\n".join(lines)

    def _table(self) -> tuple[tuple[str, ...], list[list[Any]]]:
        """What a notebook shows: a line for each way."""
        names = ("name", "operations", "seconds", "error", "formula")
        return names, [[getattr(way, name) for name in names] for way in self.ways]


def cost(
    n: int, d: int, targets: int = 1, *, measure: bool = True, condition: float = 10.0, steps: int = 1, seed: int = 0
) -> Costs:
    """The pseudo-inverse beside its alternatives: operations by formula, seconds and error by trial.

    Parameters
    ----------
    n, d : rows and columns, n >= d
    targets : columns of y
    measure : time each way on random rows; not a way of more than 1e11 operations, and none beyond 400 MB of rows
    condition : largest singular value of these rows over the smallest, at least 1
    steps : steps of conjugate gradients that are counted and timed
    seed : of the rows

    Returns
    -------
    Costs
        Prints as a table; ``costs["qr"].seconds`` is one of its numbers.
    """
    # Operations beyond which a way is not timed (some 10 seconds on one core), and numbers in X beyond which none is (400 MB).
    most_operations, most_numbers = 1e11, 5e7
    n, d, K, steps = (
        as_whole(n, "n", 1),
        as_whole(d, "d", 1),
        as_whole(targets, "targets", 1),
        as_whole(steps, "steps", 1),
    )
    if n < d:
        raise ValueError(f"n must be at least d: got n = {n} and d = {d}; transposed, the ways cost the same")
    condition = as_positive(condition, "condition")
    if condition < 1.0:
        raise ValueError(f"condition must be at least 1; got {condition:g}")
    squares, cubes, line = float(n) * d * d, float(d) ** 3, float(n) * d * K
    few = float(d) * d * K
    table: list[tuple[str, str, float, float, Callable[[np.ndarray, np.ndarray], np.ndarray]]] = [
        ("pseudo-inverse", "8nd² + 20d³ + 2ndK", 8 * squares + 20 * cubes + 2 * line, 2.0 * n * d + d * d, _pseudo_inverse),
        ("inverse", "3nd² + d³ + 2ndK", 3 * squares + cubes + 2 * line, float(n) * d + d * d, _inverse),
        ("svd", "6nd² + 20d³ + (2nd + 2d²)K", 6 * squares + 20 * cubes + 2 * line + 2 * few, float(n) * d + d * d, _svd),
        ("qr", "2nd² - ⅔d³ + (4nd - d²)K", 2 * squares - 2 / 3 * cubes + 4 * line - few, float(n) * d, _qr),
        ("cholesky", "nd² + ⅓d³ + (2nd + 2d²)K", squares + cubes / 3 + 2 * line + 2 * few, float(d) * d, _cholesky),
        (
            "gradient", f"4ndK a step, {steps}", 4.0 * line * steps, (2.0 * d + n) * K,
            lambda X, y: _conjugate_gradients(X, y, steps),
        ),
    ]  # fmt: skip
    timed = measure and n * d <= most_numbers
    X, W = _rows(n, d, K, condition, seed) if timed else (np.empty((0, 0)), np.empty(0))
    ways = []
    for name, formula, operations, numbers, solve in table:
        seconds = error = None
        if timed and operations <= most_operations:
            seconds, found = _timed(solve, X, X @ W)
            error = float(np.abs(found - W).max() / np.abs(W).max())
        ways.append(Way(name, formula, operations, seconds, error, numbers))
    return Costs(n, d, K, condition, tuple(ways))


def _rows(n: int, d: int, K: int, condition: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows with the singular values condition^(-j / (d - 1)), times the root of n, and coefficients."""
    random = np.random.default_rng(seed)
    left = np.linalg.qr(random.standard_normal((n, d)))[0]
    right = np.linalg.qr(random.standard_normal((d, d)))[0]
    values = np.sqrt(n) * condition ** -np.linspace(0.0, 1.0, d)
    return (left * values) @ right, random.standard_normal((d, K))


def _timed(
    solve: Callable[[np.ndarray, np.ndarray], np.ndarray], X: np.ndarray, y: np.ndarray
) -> tuple[float, np.ndarray]:
    # A way is repeated until this many seconds have been measured; the quickest run counts.
    seconds_a_way = 0.05
    best, spent = np.inf, 0.0
    with one_blas_thread():
        while spent < seconds_a_way:
            begun = now()
            found = solve(X, y)
            took = now() - begun
            best, spent = min(best, took), spent + max(took, 1e-6)
    return best, found


def _pseudo_inverse(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    U, values, Vt = linalg.svd(X, full_matrices=False)
    return ((Vt.T / values) @ U.T) @ y


def _inverse(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    return (linalg.inv(X.T @ X) @ X.T) @ y


def _svd(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    U, values, Vt = linalg.svd(X, full_matrices=False)
    return Vt.T @ ((U.T @ y) / values[:, None])


def _qr(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    # Q'y without Q: the reflections are applied to y.
    Qty, R = linalg.qr_multiply(X, y.T, mode="right")
    return linalg.solve_triangular(R, Qty.T)


def _cholesky(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    return linalg.cho_solve(linalg.cho_factor(X.T @ X, lower=True), X.T @ y)


def _conjugate_gradients(X: np.ndarray, y: np.ndarray, steps: int) -> np.ndarray:
    W, r = np.zeros((X.shape[1], y.shape[1])), y.copy()
    g = X.T @ r
    p, square = g.copy(), np.square(g).sum(axis=0)
    for _ in range(steps):
        q = X @ p
        length = square / np.maximum(np.square(q).sum(axis=0), 1e-300)
        W += length * p
        r -= length * q
        g = X.T @ r
        before, square = square, np.square(g).sum(axis=0)
        p = g + square / np.maximum(before, 1e-300) * p
    return W
