"""The weights of rows against which stumps do worst: the other side of the margin.

    minimise v    subject to    |sum_i w_i y_i h(x_i)| <= v for every stump h and the constant,    w >= 0,    sum w = 1

By the minimax theorem v is the largest smallest margin that a vote of stumps and their negations can have, and the edge of any w
bounds it from above.  The linear program (HiGHS) is solved for the stumps of a run; the stump that does best against its w joins
them, until that is hardly better than those that are there, or enough was done.
"""

from __future__ import annotations

import numpy as np

from gapless.encode.equal_rows import find_distinct_rows

from .thresholds import BOOSTING_THRESHOLDS


def find_hardest_weights(X: np.ndarray, y: np.ndarray, right: np.ndarray) -> np.ndarray | None:
    """The weights w of the rows X with signs y; None where the program is large or fails.

    ``right``: (rounds, rows) of booleans, whether the stump of each round of a run has each row right."""
    n, rounds = len(y), len(right)
    first, _ = find_distinct_rows(np.packbits(right, axis=1))
    limits = BOOSTING_THRESHOLDS
    most_cells = max(
        limits.margin_game_cells,
        limits.margin_game_cells_per_round * rounds if rounds >= limits.margin_game_long_run else 0,
    )
    if first.size * n > most_cells:
        return None
    signs = np.where(right[first], 1.0, -1.0)
    columns = np.asarray(X, dtype=np.float32)
    order = np.argsort(columns, axis=0, kind="stable")
    ranked = np.take_along_axis(columns, order, axis=0)
    # A threshold can lie behind the last of equal values.
    ends = np.vstack([ranked[1:] > ranked[:-1], np.ones((1, columns.shape[1]), dtype=bool)])
    best: np.ndarray | None = None
    least = np.inf
    for _ in range(limits.margin_game_programs):
        w, value = _solve_program(signs)
        if w is None:
            return best
        # Of a threshold behind row k the rows up to k count against, the others for: total less twice the sum so far.
        signed = y * w
        edges = np.where(ends, signed.sum() - 2.0 * np.cumsum(signed[order], axis=0), 0.0)
        k, j = np.unravel_index(np.argmax(np.abs(edges)), edges.shape)
        edge = abs(float(edges[k, j]))
        if edge < least:
            best, least = w, edge
        # The best stump does at most 1 % better than the program knows: adding it would change little.
        if edge <= 1.01 * max(value, 0.0) + 1e-9 or len(signs) * n > most_cells:
            return best
        added = y * np.where(columns[:, j] > ranked[k, j], 1.0, -1.0)
        signs = np.vstack([signs, added if edges[k, j] > 0.0 else -added])
    return best


def _solve_program(signs: np.ndarray) -> tuple[np.ndarray | None, float]:
    """Solve the linear program for the stumps whose y h(x) are the lines of ``signs``; w and v."""
    from scipy.optimize import linprog

    m, n = signs.shape
    found = linprog(
        np.append(np.zeros(n), 1.0), A_ub=np.column_stack([signs, -np.ones(m)]), b_ub=np.zeros(m),
        A_eq=np.append(np.ones(n), 0.0)[None, :], b_eq=[1.0], bounds=[(0.0, None)] * n + [(None, None)], method="highs",
    )  # fmt: skip
    w = np.zeros(n) if found.x is None else np.maximum(found.x[:n], 0.0)
    return (w / w.sum(), float(found.fun)) if w.sum() > 0.0 else (None, np.nan)
