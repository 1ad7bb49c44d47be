"""Complete, quasi or overlap, with exact proofs: linear programs on growing subsets of rows, then integers.

    given  the rows a of `problems/separation`
    find   theta and alpha >= 0 with A theta >= 0, A'alpha = 0 and, in each row, a'theta > 0 or alpha > 0 (Goldman, Tucker)

One linear program on a subset R tells which rows are which (Konis, 2007, has its dual):

    minimise sum mu   subject to   A'alpha = 0,  alpha + mu >= 1,  alpha, mu >= 0

At every optimum mu is 0 or 1: mu = 0 and alpha >= 1 on the rows that every such theta has on its plane, mu = 1 on those that
the theta found, the multiplier of A'alpha = 0, has at a'theta >= 1.  Rows that theta gets wrong join R.  Where the rows of the
first kind have full rank, a subset's overlap is the whole's: there is no need to look at the others.

Nothing that HiGHS says is believed.  Its answers say only which small system to solve in fractions:

    overlap    v = -sum over a basis B of c a, c random; v = sum over T of beta a, T independent.  alpha = c on B plus beta on T
    quasi      a vertex of A'alpha = 0, sum alpha = 1: the rows of its support have one relation; theta: the free coordinates are
               rounded, the others follow from a'theta = 0 on the rows of the first kind
    complete   the floats of theta, taken as they are
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from scipy import linalg, sparse
from scipy.optimize import linprog

from gapless.problems.separation import Separation
from gapless.solvers.exact_signs import Direction, exact_signs
from gapless.solvers.rational import Integers, echelon, solve

#: A row of length 1 counts as on the plane below this, as in a space if no further from it.
NEAR = 1e-7
#: Numbers of the linear program's matrix that a first subset may have, and rows that may join at a time.
FIRST, JOIN = 400_000, 400
#: Rounds, and draws of random coefficients, before giving up.
ROUNDS, DRAWS = 60, 3


class Undecided(ArithmeticError):
    """float64 could not lead the way to an exact proof."""


@dataclass(frozen=True, eq=False)
class Verdict:
    """``theta``: entries (K - 1, width), floats or Fractions, or None; multipliers of the pairs; vectors v with A v = 0."""

    status: str
    theta: np.ndarray | None
    signs: np.ndarray | None
    pairs: np.ndarray
    multipliers: list[Fraction]
    kernel: list[np.ndarray] = field(default_factory=list)


class _Coordinates:
    """Columns shifted (where the rows are dense and there is an offset) and scaled by powers of two: for float64 only."""

    def __init__(self, problem: Separation, pair: np.ndarray) -> None:
        self.problem = problem
        row = np.unique(problem.split(pair)[0])
        x = problem._floats(problem.X[row])
        self.shift = np.zeros(problem.d)
        if not problem.is_sparse and problem.offset:
            self.shift = 0.5 * x.max(axis=0, initial=-np.inf) + 0.5 * x.min(axis=0, initial=np.inf)
            x = x - self.shift
        size = abs(x).max(axis=0)
        size = np.asarray(size.toarray() if sparse.issparse(size) else size, dtype=np.float64).ravel()
        self.scale = np.where(size > 0, np.exp2(-np.frexp(np.where(size > 0, size, 1.0))[1]), 1.0)

    def gather(self, pair: np.ndarray) -> Any:
        """Rows of length about 1 in these coordinates: a power of two is taken out of each."""
        A = self.plain(pair)
        length = _lengths(A)
        return sparse.diags_array(1.0 / length) @ A if self.problem.is_sparse else A / length[:, None]

    def plain(self, pair: np.ndarray) -> Any:
        p = self.problem
        row = p.split(pair)[0]
        moved = Separation(self._moved(p._floats(p.X[row])), p.index[row], p.K, p.offset)
        return moved.gather(np.arange(pair.size) * (p.K - 1) + pair % (p.K - 1))

    def _moved(self, x: Any) -> Any:
        if self.problem.is_sparse:
            return x @ sparse.diags_array(self.scale)
        return (x - self.shift) * self.scale

    def values(self, theta: np.ndarray) -> np.ndarray:
        """a'theta over |a| of every pair."""
        p = self.problem
        out = np.empty((p.n, p.K - 1))
        for start, x in p.blocks():
            moved = Separation(self._moved(x), p.index[start : start + x.shape[0]], p.K, p.offset)
            value = moved.values(theta)
            out[start : start + x.shape[0]] = value / (_lengths(moved.X) + p.offset)[:, None]
        return out

    def back(self, theta: np.ndarray) -> np.ndarray:
        """theta in the user's units."""
        out = theta.copy()
        d = self.problem.d
        out[:, :d] *= self.scale
        if self.problem.offset:
            out[:, d] -= out[:, :d] @ self.shift
        return out


def separate(problem: Separation, seed: int = 0) -> Verdict:
    """Decide, and prove. Undecided where rounding leaves no way to a proof."""
    random = np.random.default_rng(seed)
    R = _first(problem, random)
    for _ in range(ROUNDS):
        frame = _Coordinates(problem, R)
        A = frame.gather(R)
        theta, alpha = _classify(A)
        theta = theta.reshape(problem.K - 1, problem.width)
        held = alpha > 0.5
        space = _Space(A[held])
        if space.rank == problem.size:
            return _overlap(problem, frame, R[held], random)
        wrong = _wrong(problem, frame, theta, space, R)
        if wrong.size == 0 and held.all():  # no row leaves the space
            return _overlap(problem, frame, R, random)
        if wrong.size == 0:
            return _outside(problem, frame, theta, R[held], random)
        R = np.concatenate([R, wrong])
    raise Undecided(f"the rows did not settle in {ROUNDS} rounds")


def _first(problem: Separation, random: np.random.Generator) -> np.ndarray:
    """All pairs where they are few, else a sample."""
    most = max(4 * problem.size, FIRST // max(1, problem.size), 50)
    if problem.n_pairs <= 2 * most:
        return np.arange(problem.n_pairs)
    rows = np.sort(random.choice(problem.n, max(1, most // (problem.K - 1)), replace=False))
    return problem.pairs(rows)


def _columns(A: Any) -> Any:
    return sparse.csc_matrix(A.T) if sparse.issparse(A) else np.ascontiguousarray(A.T)


def _classify(A: Any) -> tuple[np.ndarray, np.ndarray]:
    """(theta, alpha) of the program above."""
    m = A.shape[0]
    T = _columns(A)
    stacked = sparse.hstack([T, -T], format="csc") if sparse.issparse(T) else np.hstack([T, -T])
    bounds = np.zeros((2 * m, 2))
    bounds[:m, 1], bounds[m:, 1] = np.inf, 1.0
    cost = np.concatenate([np.zeros(m), np.ones(m)])
    found = _linprog(cost, stacked, -np.asarray(A.sum(axis=0)).ravel(), bounds)
    return -found.eqlin.marginals, 1.0 + found.x[:m] - found.x[m:]


def _linprog(cost: np.ndarray, matrix: Any, right: np.ndarray, bounds: Any) -> Any:
    found = linprog(cost, A_eq=matrix, b_eq=right, bounds=bounds, method="highs")
    if found.status != 0:
        raise Undecided(f"HiGHS: {found.message}")
    return found


class _Space:
    """The span of some rows, and which rows lie in it (up to NEAR)."""

    def __init__(self, A: Any) -> None:
        self.rank, self.Q = 0, np.zeros((A.shape[1], 0))
        if A.shape[0] == 0:
            return
        dense = A.toarray() if sparse.issparse(A) else A
        gram = dense.shape[0] > 2 * dense.shape[1]
        if gram:  # the same space, from a factor of fewer rows
            dense = np.linalg.qr(dense, mode="r")
        _, sigma, Vt = linalg.svd(dense, full_matrices=False)
        self.rank = int((sigma > NEAR * max(1.0, float(sigma.max(initial=0.0)))).sum())
        self.Q = Vt[: self.rank].T

    def has(self, A: Any) -> np.ndarray:
        """Whether each row lies in the space."""
        if sparse.issparse(A):
            A = A.toarray()
        left = A - (A @ self.Q) @ self.Q.T
        return np.sqrt(np.einsum("ij,ij->i", left, left)) <= NEAR


def _wrong(problem: Separation, frame: _Coordinates, theta: np.ndarray, space: _Space, R: np.ndarray) -> np.ndarray:
    """Pairs that join: the worst of those with a'theta < 0, and those at 0 that the space does not explain."""
    value = frame.values(theta / max(1e-300, float(np.abs(theta).max()))).ravel()
    new = np.ones(value.size, dtype=bool)
    new[R] = False
    below = np.flatnonzero(new & (value < -NEAR))
    near = np.flatnonzero(new & (np.abs(value) <= NEAR))
    joined = below[np.argsort(value[below], kind="stable")[:JOIN]]
    unexplained = []
    step = max(1, (1 << 21) // problem.size)
    for start in range(0, near.size, step):
        part = near[start : start + step]
        unexplained.append(part[~space.has(frame.gather(part))])
        if sum(map(len, unexplained)) >= JOIN:
            break
    return np.concatenate([joined, *unexplained])[: 2 * JOIN].astype(np.int64)


# ------------------------------------------------------------------------------------------------ exact


def _overlap(problem: Separation, frame: _Coordinates, held: np.ndarray, random: np.random.Generator) -> Verdict:
    pairs, multipliers = _full_rank_relation(problem, frame, held, random)
    kernel = _kernel(problem, pairs)
    return Verdict("overlap", None, None, pairs, multipliers, kernel)


def _integers(problem: Separation, pairs: np.ndarray) -> np.ndarray:
    """The rows as integers; columns have powers of two as factors of their own, which no relation between rows minds."""
    A = problem.gather(pairs)
    return Integers(A.toarray() if sparse.issparse(A) else A).values


def _full_rank_relation(
    problem: Separation, frame: _Coordinates, held: np.ndarray, random: np.random.Generator
) -> tuple[np.ndarray, list[Fraction]]:
    """Positive multipliers on at most 2 rank rows of full rank among ``held``."""
    order = random.permutation(held.size)
    whole = _integers(problem, held[order])
    rows, columns = echelon(whole)
    if rows.size == 0:  # rows of zeros only
        return held[:1], [Fraction(1)]
    B = held[order][rows]
    A = frame.gather(held)
    lengths = _lengths(frame.plain(held))
    basis = np.flatnonzero(np.isin(held, B))
    for _ in range(DRAWS):
        c = 1.0 + random.integers(0, 1 << 10, basis.size) / (1 << 10)
        v = -(A[basis].T @ c)
        cost = 1.0 + random.random(held.size)
        found = _linprog(cost, _columns(A), np.asarray(v).ravel(), (0, None))
        T = held[np.argsort(-found.x, kind="stable")[: rows.size]]
        T.sort()
        result = _exact_relation(problem, held[basis], c / lengths[basis], T, columns)
        if result is not None:
            return result
    raise Undecided("no positive multipliers came out of the linear program")


def _lengths(A: Any) -> np.ndarray:
    """|a| to a power of two; 1 for a row of zeros."""
    square = np.asarray((A.multiply(A) if sparse.issparse(A) else A * A).sum(axis=1)).ravel()
    return np.where(square > 0, np.exp2(np.rint(0.5 * np.log2(np.where(square > 0, square, 1.0)))), 1.0)


def _exact_relation(
    problem: Separation, B: np.ndarray, c: np.ndarray, T: np.ndarray, columns: np.ndarray
) -> tuple[np.ndarray, list[Fraction]] | None:
    """c on B and beta on T with sum c a + sum beta a = 0, exactly; None where some beta is negative or none exist."""
    both = np.concatenate([B, T])
    whole = _integers(problem, both)
    # c = n / 2^k: the right-hand side in integers.
    parts = [Fraction(float(v)) for v in c]
    denominator = max((v.denominator for v in parts), default=1)
    weights = np.array([int(v * denominator) for v in parts], dtype=object)
    right = -(weights @ whole[: B.size].astype(object))
    found = solve(np.ascontiguousarray(whole[B.size :][:, columns].T), right[columns])
    if found is None:
        return None
    numerators, common = found
    if any(v < 0 for v in numerators):
        return None
    if np.any(np.array(numerators, dtype=object) @ whole[B.size :].astype(object) != right * common):
        return None  # B and T span different spaces
    total: dict[int, Fraction] = {}
    for pair, value in zip(B.tolist(), parts):
        total[pair] = total.get(pair, Fraction(0)) + value
    for pair, numerator in zip(T.tolist(), numerators):
        if numerator:
            total[pair] = total.get(pair, Fraction(0)) + Fraction(numerator, common * denominator)
    pairs = np.array(sorted(total), dtype=np.int64)
    return pairs, [total[pair] for pair in pairs.tolist()]


def _kernel(problem: Separation, pairs: np.ndarray) -> list[np.ndarray]:
    """Integer vectors v that span {v: A v = 0}, from the rows of ``pairs`` and checked on all rows."""
    A = problem.gather(pairs)
    whole = Integers(A.toarray() if sparse.issparse(A) else A)
    rows, columns = echelon(whole.values)
    free = np.setdiff1d(np.arange(problem.size), columns)
    out = []
    square = np.ascontiguousarray(whole.values[rows][:, columns])
    for j in free.tolist():
        found = solve(square, -whole.values[rows][:, j])
        if found is None:
            raise Undecided("the rows of the relation have no inverse")
        numerators, common = found
        v = [Fraction(0)] * problem.size
        v[j] = Fraction(1)
        for column, value in zip(columns.tolist(), numerators):
            v[column] = Fraction(value, common)
        # Columns were integers times 2^e: undo it.
        entries = [x / Fraction(2) ** int(e) for x, e in zip(v, whole.exponents.tolist())]
        vector = Direction(np.array(entries, dtype=object).reshape(problem.K - 1, problem.width))
        if np.any(exact_signs(problem, vector)):
            raise Undecided("some rows lie outside the space of the relation")
        out.append(vector.whole)
    return out


def _outside(
    problem: Separation, frame: _Coordinates, theta: np.ndarray, held: np.ndarray, random: np.random.Generator
) -> Verdict:
    """theta > 0 on all rows but those of the space of ``held``: complete where these are none."""
    if held.size == 0:
        floats = _best_offset(problem, frame.back(theta))
        signs = exact_signs(problem, Direction(floats))
        if not np.all(signs > 0):
            raise Undecided("the separating direction does not survive rounding")
        return Verdict("complete", floats, signs, np.zeros(0, dtype=np.int64), [])
    pairs, multipliers = _gordan(problem, frame, held, random)
    for bits in (8, 24, 53):
        entries = _through(problem, frame.back(theta), held, bits)
        signs = exact_signs(problem, Direction(entries))
        if np.all(signs >= 0) and np.any(signs > 0):
            return Verdict("quasi", entries, signs, pairs, multipliers)
    raise Undecided("the direction of quasi-separation does not survive rounding")


def _best_offset(problem: Separation, theta: np.ndarray) -> np.ndarray:
    """Two classes: the offset in the middle, for the other coefficients as they have been rounded."""
    if problem.K != 2 or not problem.offset:
        return theta
    plain = theta.copy()
    plain[0, -1] = 0.0
    value = problem.values(plain)[:, 0]
    low, high = float(value[problem.index == 1].min()), float(value[problem.index == 0].min())
    # y f > 0: b > -low and b < high
    plain[0, -1] = 0.5 * high - 0.5 * low
    return plain


def _gordan(
    problem: Separation, frame: _Coordinates, held: np.ndarray, random: np.random.Generator
) -> tuple[np.ndarray, list[Fraction]]:
    """Multipliers > 0 of a smallest relation among ``held``."""
    A = frame.gather(held)
    zero = np.asarray(abs(A).sum(axis=1)).ravel() == 0
    if zero.any():
        return held[np.flatnonzero(zero)[:1]], [Fraction(1)]
    T = _columns(A)
    ones = np.ones((1, held.size))
    matrix = sparse.vstack([T, ones], format="csc") if sparse.issparse(T) else np.vstack([T, ones])
    right = np.zeros(problem.size + 1)
    right[-1] = 1.0
    for _ in range(DRAWS):
        optimum = _linprog(1.0 + random.random(held.size), matrix, right, (0, None))
        support = held[np.flatnonzero(optimum.x > 1e-9)]
        whole = _integers(problem, support)
        rows, columns = echelon(whole)
        if rows.size != support.size - 1:
            continue
        last = np.setdiff1d(np.arange(support.size), rows)
        solved = solve(np.ascontiguousarray(whole[rows][:, columns].T), -whole[last[0]][columns])
        if solved is None or any(v <= 0 for v in solved[0]):
            continue
        weights = np.zeros(support.size, dtype=object)
        weights[rows], weights[last[0]] = solved[0], solved[1]
        if np.any(weights @ whole.astype(object) != 0):
            continue
        whole_sum = int(weights.sum())
        return support, [Fraction(int(v), whole_sum) for v in weights.tolist()]
    raise Undecided("no relation came out of the linear program")


def _through(problem: Separation, theta: np.ndarray, held: np.ndarray, bits: int) -> np.ndarray:
    """theta with a'theta = 0 exactly on ``held``: free coordinates rounded to ``bits``, the others solved for."""
    A = problem.gather(held)
    whole = Integers(A.toarray() if sparse.issparse(A) else A)
    rows, columns = echelon(whole.values)
    free = np.setdiff1d(np.arange(problem.size), columns)
    flat = theta.ravel()
    flat = _rounded(flat, bits)
    entries = np.array([Fraction(0)] * problem.size, dtype=object)
    for j in free.tolist():
        entries[j] = Fraction(float(flat[j]))
    # In integers: sum over columns V_j 2^e_j theta_j = 0
    scaled = [entries[j] * Fraction(2) ** int(whole.exponents[j]) for j in free.tolist()]
    denominator = max((v.denominator for v in scaled), default=1)
    known = np.array([int(v * denominator) for v in scaled], dtype=object)
    sub = whole.values[rows].astype(object)
    right = -(sub[:, free] @ known) if free.size else np.zeros(rows.size, dtype=object)
    found = solve(np.ascontiguousarray(whole.values[rows][:, columns]), right)
    if found is None:
        raise Undecided("the rows on the plane have no inverse")
    for j, value in zip(columns.tolist(), found[0]):
        entries[j] = Fraction(value, found[1] * denominator) / Fraction(2) ** int(whole.exponents[j])
    return entries.reshape(theta.shape)


def _rounded(values: np.ndarray, bits: int) -> np.ndarray:
    """To multiples of the largest one's 2^-bits."""
    top = float(np.abs(values).max(initial=0.0))
    if top == 0.0 or bits >= 53:
        return values
    unit = float(np.exp2(np.frexp(top)[1] - bits))
    return np.asarray(np.rint(values / unit) * unit)
