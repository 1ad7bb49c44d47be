"""The best cut of a node of a small tree: all columns without a common value at once, the others one by one.

As `tree.sorted_scan`, whose order of sums, of cuts and of ties this is.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gapless.solvers.tree.score import TIE


class Line(NamedTuple):
    """A column with a common value: the rows that have others, in order of their values, and their codes."""

    column: int
    rows: np.ndarray
    codes: np.ndarray


class Grid(NamedTuple):
    """Columns without a common value: a line of rows, in order of their values, and of codes for each."""

    columns: np.ndarray
    rows: np.ndarray
    codes: np.ndarray


class Cut(NamedTuple):
    """A cut: its score, its column, the codes on both sides, and which rows go left."""

    score: float
    column: int = -1
    left: int = -1
    right: int = -1
    there: Any = None  #: rows that go left
    bulk_left: bool = False  #: rows that are in no line go left, too


class Search(NamedTuple):
    """What the search for the cut of a node reads."""

    w: np.ndarray
    t: np.ndarray
    k: np.ndarray | None
    n: int
    W: float
    S: float
    T: np.ndarray
    stops: Any


def add_up(values: np.ndarray) -> float:
    return float(np.add.accumulate(values)[-1])


def find_cut(search: Search, grid: Grid, lines: list[Line], common: np.ndarray) -> Cut:
    """The best cut over all columns in their order; of equal ones the first."""
    best, at = Cut(-np.inf), 0
    scores = _scores_of_grid(search, grid) if grid.columns.size else np.empty((0, 0))
    for line in lines:
        following = int(np.searchsorted(grid.columns, line.column))
        best, at = _take_of_grid(search, grid, scores, at, following, best), following
        best = _take_of_line(search, line, int(common[line.column]), best)
    return _take_of_grid(search, grid, scores, at, grid.columns.size, best)


def _scale(search: Search) -> float:
    return 0.0 if search.k is None else search.W


def _follow(scores: np.ndarray, best: float, scale: float) -> tuple[float, int]:
    """The last of the scores, in their order, that was better than the best before it; -1: none was."""
    tops = np.maximum.accumulate(scores)
    records = np.flatnonzero((scores > best) & (tops > np.concatenate([[-np.inf], tops[:-1]])))
    at = -1
    for i in records.tolist():
        score = float(scores[i])
        if score > best + TIE * max(scale, best):
            best, at = score, i
    return best, at


def _allowed(search: Search, before: Any, WL: Any, WR: Any) -> Any:
    """Whether both sides are large enough; ``before`` rows lie left."""
    stops = search.stops
    enough = (before >= stops.min_leaf) & (search.n - before >= stops.min_leaf)
    return enough & (WL >= stops.min_weight) & (WR >= stops.min_weight) & (WL > 0.0) & (WR > 0.0)


def _one_score(search: Search, SL: Any, WL: Any) -> Any:
    gap = SL * search.W - search.S * WL
    return gap * gap / (WL * (search.W - WL))


def _class_score(search: Search, a: Any, b: Any, WL: Any) -> Any:
    WR = search.W - WL
    return (a * WR + b * WL) / (WL * WR)


def _scores_of_grid(search: Search, grid: Grid) -> np.ndarray:
    """The score of the cut after each place of each line, -inf where there is none."""
    rows, m = grid.rows, search.n
    w = search.w[rows]
    WL = np.add.accumulate(w, axis=1)[:, :-1]
    if search.k is None:
        score = _one_score(search, np.add.accumulate(search.t[rows], axis=1)[:, :-1], WL)
    else:
        a, b, _ = _class_sums(search, rows, w, np.zeros(search.T.size))
        score = _class_score(search, a[:, :-1], b[:, :-1], WL)
    possible = (grid.codes[:, 1:] != grid.codes[:, :-1]) & _allowed(search, np.arange(1, m), WL, search.W - WL)
    return np.where(possible, score, -np.inf)


def _class_sums(search: Search, rows: np.ndarray, w: np.ndarray, L: np.ndarray) -> tuple[Any, Any, np.ndarray]:
    """After each place the sums of the squares of the left and of the right side; the left sums after all. L lies left of all."""
    k, T = search.k[rows], search.T  # type: ignore[index]
    mine = k[..., None] == np.arange(T.size)
    sums = np.concatenate(
        [np.broadcast_to(L, (*rows.shape[:-1], 1, T.size)), np.where(mine, w[..., None], 0.0)], axis=-2
    )
    sums = np.add.accumulate(sums, axis=-2)
    lk = np.take_along_axis(sums[..., :-1, :], k[..., None], axis=-1)[..., 0]
    rk = T[k] - lk
    a0, b0 = add_up(L * L), add_up((T - L) * (T - L))
    start = np.ones((*rows.shape[:-1], 1))
    a = np.add.accumulate(np.concatenate([a0 * start, w * (2.0 * lk + w)], axis=-1), axis=-1)[..., 1:]
    b = np.add.accumulate(np.concatenate([b0 * start, w * (w - 2.0 * rk)], axis=-1), axis=-1)[..., 1:]
    return a, b, sums[..., -1, :]


def _take_of_grid(search: Search, grid: Grid, scores: np.ndarray, first: int, last: int, best: Cut) -> Cut:
    """The better of ``best`` and the cuts of some lines."""
    if first == last or scores.shape[1] == 0:
        return best
    score, found = _follow(scores[first:last].reshape(-1), best.score, _scale(search))
    if found < 0:
        return best
    q, p = divmod(found, scores.shape[1])
    codes = grid.codes[first + q]
    return Cut(score, int(grid.columns[first + q]), int(codes[p]), int(codes[p + 1]), grid.rows[first + q, : p + 1])


def _take_of_line(search: Search, line: Line, common: int, best: Cut) -> Cut:
    """The better of ``best`` and the cuts of a column with a common value."""
    rows, codes = line.rows, line.codes
    bulk = search.n - rows.size
    if rows.size == 0 or (bulk == 0 and codes[0] == codes[-1]):
        return best
    if bulk == 0:
        score, at, _ = _scan_up(
            search, line, slice(0, rows.size), _Left(0, 0.0, 0.0, np.zeros(search.T.size)), best.score
        )
        return best if at < 0 else Cut(score, line.column, int(codes[at]), int(codes[at + 1]), rows[: at + 1])
    if search.k is None and codes[0] > common:
        return _scan_down(search, line, common, best)
    return _around_bulk(search, line, common, best)


class _Left(NamedTuple):
    """What lies left of all places of a scan."""

    n: int
    W: float
    S: float
    L: np.ndarray


def _scan_up(search: Search, line: Line, part: slice, left: _Left, best: float) -> tuple[float, int, _Left]:
    """Cuts after each place of a part of a line, after the last only if rows lie right of it; and what lies left of the end."""
    rows, codes = line.rows[part], line.codes[part]
    if rows.size == 0:
        return best, -1, left
    w, before = search.w[rows], left.n + np.arange(1, rows.size + 1)
    WL = np.add.accumulate(np.concatenate([[left.W], w]))[1:]
    if search.k is None:
        SL = np.add.accumulate(np.concatenate([[left.S], search.t[rows]]))[1:]
        score, S, L = _one_score(search, SL, WL), float(SL[-1]), left.L
    else:
        a, b, L = _class_sums(search, rows, w, left.L)
        score, S = _class_score(search, a, b, WL), 0.0
    possible = _allowed(search, before, WL, search.W - WL)
    possible[:-1] &= codes[1:] != codes[:-1]
    possible[-1] &= left.n + rows.size < search.n
    best, at = _follow(np.where(possible, score, -np.inf), best, _scale(search))
    return best, at, _Left(int(before[-1]), float(WL[-1]), S, L)


def _scan_down(search: Search, line: Line, common: int, best: Cut) -> Cut:
    """One target, the common value below: cuts from the last place to the first. Of equal cuts the last is taken."""
    rows, codes = line.rows[::-1], line.codes[::-1]
    WR, SR = np.add.accumulate(search.w[rows]), np.add.accumulate(search.t[rows])
    gap, WL = SR * search.W - search.S * WR, search.W - WR
    possible = _allowed(search, np.arange(1, rows.size + 1), WR, WL)
    possible[:-1] &= codes[1:] != codes[:-1]
    score = np.where(possible, gap * gap / (WL * WR), -np.inf)
    good = score > best.score + TIE * max(0.0, best.score)
    if not good.any():
        return best
    score = np.where(good, score, -np.inf)
    tops = np.concatenate([[-np.inf], np.maximum.accumulate(score)[:-1]])
    taken = good & (np.isinf(tops) | (score >= tops - TIE * tops))
    p = int(np.flatnonzero(taken)[-1])  # so many rows lie right of the first that goes right
    stop = rows.size - 1 - p
    left = common if stop == 0 else int(line.codes[stop - 1])
    return Cut(float(score.max()), line.column, left, int(line.codes[stop]), line.rows[:stop], True)


def _around_bulk(search: Search, line: Line, common: int, best: Cut) -> Cut:
    """The values below the common one come first, then the common one, then the others."""
    rows, codes, n = line.rows, line.codes, search.n
    w, half = search.w[rows], int(np.count_nonzero(codes < common))
    bulk_W = float(np.subtract.accumulate(np.concatenate([[search.W], w]))[-1])
    nothing = _Left(0, 0.0, 0.0, np.zeros(search.T.size))
    score, at, low = _scan_up(search, line, slice(0, half), nothing, best.score)
    if at >= 0:
        right = int(codes[at + 1]) if at + 1 < half else common
        best = Cut(score, line.column, int(codes[at]), right, rows[: at + 1])
    if half == rows.size:
        return best
    left_n, WL = n - (rows.size - half), low.W + bulk_W
    if search.k is None:
        bulk_S = float(np.subtract.accumulate(np.concatenate([[search.S], search.t[rows]]))[-1])
        left = _Left(left_n, WL, low.S + bulk_S, low.L)
        score = float(_one_score(search, left.S, WL)) if _allowed(search, left_n, WL, search.W - WL) else -np.inf
    else:
        rest = search.T - np.bincount(search.k[rows], weights=w, minlength=search.T.size)
        left = _Left(left_n, WL, 0.0, low.L + rest)
        score = -np.inf
        if _allowed(search, left_n, WL, search.W - WL):
            a, b = add_up(left.L * left.L), add_up((search.T - left.L) * (search.T - left.L))
            score = float(_class_score(search, a, b, WL))
    if score > best.score + TIE * max(_scale(search), best.score):
        best = Cut(score, line.column, common, int(codes[half]), rows[:half], True)
    score, at, _ = _scan_up(search, line, slice(half, rows.size), left, best.score)
    if at >= 0:
        at += half
        best = Cut(score, line.column, int(codes[at]), int(codes[at + 1]), rows[: at + 1], True)
    return best
