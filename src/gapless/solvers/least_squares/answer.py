"""The answer of a least-squares solver, and its refinement from the true residuals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from gapless.problems.examples.protocol_targets import TargetExamples
from gapless.problems.least_squares import LeastSquares
from gapless.rows.second_moments import Columns, dense_tiles, typical_row
from gapless.solvers.loop import Loop


@dataclass(frozen=True, eq=False)
class Answer:
    """W (d, K) and b (K,), and the figures that the solver found on the way.

    ``condition`` belongs to the equilibrated columns, as far as their rank goes; NaN where it is not known. ``weak`` has
    the right singular vectors of the singular values below the largest one / ``trusted``. ``dependent`` has the columns that
    are combinations of each other to rounding, where a target without a penalty leaves its coefficients open.
    ``singular`` computes the singular values of the centred columns when they are asked for.
    ``note`` says why a descent diverged.
    """

    W: np.ndarray
    b: np.ndarray
    method: str
    status: str
    n_iter: int
    rank: int | None
    condition: float
    singular: Callable[[], np.ndarray] | None = None
    weak: np.ndarray | None = None
    dependent: np.ndarray | None = None
    note: str = ""


class Clock(Loop):
    """The clock and interruption of a loop, and the best answer so far."""

    reached: Answer | None = None


def refine(
    problem: TargetExamples,
    loop: Clock,
    W: np.ndarray,
    b: np.ndarray,
    correct: Any,
    steps: int,
    tol: float,
    condition: float,
    *,
    centred: bool = False,
) -> tuple[np.ndarray, np.ndarray, bool]:
    """Take Newton's step from the true residuals while it helps. Returns W, b, and whether they reached orthogonality to ``tol``.

    ``centred`` residuals have less rounding; plain ones are certified, and need no second pass.
    """

    def best_offset(W: np.ndarray) -> np.ndarray:
        return problem.mean_y - problem.columns.mean @ W if problem.offset else np.zeros(problem.K)

    def measure(W: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        if centred:
            left, gradient, error = problem.centred_residuals(W, loop.tick)
        else:
            left, gradient = problem.residuals(W, b, loop.tick)
            error = problem.residual_error(W, b)
        return problem.orthogonality(left, gradient), problem.orthogonality_error(left, error), gradient

    found, noise, gradient = measure(W, b)
    for _ in range(steps):
        if (found <= np.maximum(0.01 * noise, 1e-12 / condition)).all():
            break
        step = correct(gradient[:-1])
        shift = gradient[-1] / problem.mass - problem.columns.mean @ step if problem.offset else 0.0
        moved = best_offset(W + step) if centred else b + shift
        new = measure(W + step, moved)
        better = new[0] < found
        if not better.any():
            break
        W, b = np.where(better, W + step, W), np.where(better, moved, b)
        found, noise = np.where(better, new[0], found), np.where(better, new[1], noise)
        gradient = np.where(better, new[2], gradient)
    return W, b, bool((found <= min(tol, 1e-9) + noise).all())


def write_centred(problem: LeastSquares) -> tuple[np.ndarray, np.ndarray]:
    """Write out S^(1/2) (X - mean) and S^(1/2) (Y - mean), and tell the problem the sizes of its columns."""
    A = next((t for _, t in dense_tiles(problem.rows, max(1, problem.n))), np.zeros((0, problem.d)))
    B = problem.Y.astype(np.float64, copy=True)
    centre = np.zeros(problem.d)
    if problem.offset:
        centre = typical_row(A)
        A -= centre  # exact for constant columns
        moved = A.mean(axis=0) if problem.s is None else problem.s @ A / problem.mass
        A -= moved
        centre += moved
        B -= problem.mean_y
    if problem.s is not None:
        root = np.sqrt(problem.s)[:, None]
        A *= root
        B *= root
    if problem.offset and "columns" not in problem.__dict__:
        squares = np.einsum("ij,ij->j", A, A)
        raw = np.sqrt(squares + problem.mass * centre * centre)
        problem.__dict__["columns"] = Columns(centre, raw, np.sqrt(squares))
    return A, B


def later(values: Callable[[np.ndarray], np.ndarray], matrix: np.ndarray) -> Callable[[], np.ndarray]:
    """The singular values that a small matrix tells, when they are asked for; those of a large one at once, which need not be
    kept with the model."""
    kept = 500  # columns: 2 MB
    if max(matrix.shape) <= kept:
        return partial(values, matrix)
    return partial(np.asarray, values(matrix))


def roots_of_eigenvalues(G: np.ndarray) -> np.ndarray:
    """The singular values of A, for G = A'A or AA'."""
    found: np.ndarray = np.sqrt(np.maximum(np.linalg.eigvalsh(G)[::-1], 0.0))
    return found
