"""Random problems with a hard margin, of all shapes and offsets, and Clarabel's answer to them."""

from __future__ import annotations

from typing import Any, NamedTuple

import clarabel
import numpy as np
from scipy import sparse


class Problem(NamedTuple):
    X: Any
    y: np.ndarray
    offset: str
    scale: float

    @property
    def parameters(self) -> dict[str, Any]:
        """Of LinearSVC."""
        return {
            "fit_intercept": self.offset != "none",
            "penalize_intercept": self.offset == "penalised",
            "intercept_scaling": self.scale,
        }


def separable(seed: int, largest: int = 150) -> Problem:
    """Labels by a hidden plane, the rows near it left out; plain, integer, repeated or sparse rows."""
    rng = np.random.default_rng(seed)
    offset = ("none", "free", "penalised")[seed % 3]
    while True:
        n, d = int(rng.integers(2, largest)), int(rng.integers(1, 50))
        w, b = rng.normal(size=d), rng.normal() if offset != "none" else 0.0
        X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-2, 2)
        kind = seed // 3 % 4
        if kind == 1:
            X = np.round(X / np.abs(X).max() * 20.0)
        if kind == 2:
            X = X[rng.integers(0, n, n)]
        if kind == 3:
            X = X * (rng.random(X.shape) < 0.4)
        f = X @ w + b * np.abs(X).mean()
        keep = np.abs(f) > 10.0 ** rng.uniform(-3, -1) * np.abs(f).max()
        X, y = X[keep], np.where(f[keep] > 0, 1, -1)
        if len(set(y.tolist())) == 2:
            break
    scale = float(rng.choice([1.0, 10.0])) if offset == "penalised" else 1.0
    return Problem(sparse.csr_matrix(X) if kind == 3 else X, y.astype(np.int8), offset, scale)


def by_clarabel(problem: Problem, length: float) -> tuple[np.ndarray, float, bool]:
    """w, b and whether Clarabel is content. ``length`` is about |w|: in units where it is 1 its tolerances mean digits."""
    X = problem.X.toarray() if sparse.issparse(problem.X) else problem.X
    X, y, offset = X * length, problem.y.astype(float), problem.offset
    n, d = X.shape
    penalty, columns = [1.0] * d, [X * y[:, None]]
    if offset != "none":
        # The offset is 1 / factor of the last variable, which is of the order of w as well.
        factor = problem.scale * length if offset == "penalised" else max(1.0, float(np.abs(X).mean()))
        columns.append((y * factor)[:, None])
        penalty.append(1.0 if offset == "penalised" else 0.0)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-13
    solver = clarabel.DefaultSolver(
        sparse.csc_matrix(sparse.diags(penalty)),
        np.zeros(len(penalty)),
        sparse.csc_matrix(-np.column_stack(columns)),
        -np.ones(n),
        [clarabel.NonnegativeConeT(n)],
        settings,
    )
    solution = solver.solve()
    x = np.array(solution.x)
    b = 0.0 if offset == "none" else float(x[d]) * factor
    return x[:d] * length, b, str(solution.status) == "Solved"
