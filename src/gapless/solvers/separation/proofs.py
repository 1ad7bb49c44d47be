"""Proofs of separation, quasi-separation and overlap in exact arithmetic, from what float64 suggests.

    overlap    v = -sum over a basis B of c a, c random; v = sum over T of beta a, T independent and beta >= 0 by a linear
               program, then in fractions: alpha = c on B plus beta on T.  Vectors v with A v = 0 show that the rank is full
    quasi      a vertex of A'alpha = 0, sum alpha = 1: the rows of its support have one relation.  theta: the free coordinates are
               rounded, the others follow from a'theta = 0 on the rows that every theta has on its plane
    complete   theta as it stands.  Two classes: the largest margin (`hard_margin`), and multipliers that bound it from above

Every proof is checked before it is returned: relations as sums of integers, signs of theta row by row.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from scipy import sparse

from gapless.problems.separation import Separation
from gapless.solvers.exact.rational import Integers, echelon, solve
from gapless.solvers.exact.signs import Direction, exact_signs
from gapless.solvers.hard_margin.solve import hard_margin
from gapless.solvers.loop import Stop
from gapless.solvers.separation.frame import (
    Frame,
    Undecided,
    columns_of,
    fewest_columns,
    integers_of,
    lengths,
    linear_program,
)
from gapless.solvers.separation.thresholds import SEPARATION_THRESHOLDS


@dataclass(frozen=True, eq=False)
class Proof:
    """``theta``: entries (K - 1, width), floats or Fractions, with their signs; multipliers of pairs; vectors v with A v = 0.

    ``status`` is that of `separability`, or "inseparable" where no more was asked. ``narrow`` is a theta of few columns with the
    same kind of signs, where that is not theta itself.
    """

    status: str
    theta: np.ndarray | None
    signs: np.ndarray | None
    pairs: np.ndarray
    multipliers: list[Fraction]
    kernel: list[np.ndarray] = field(default_factory=list)
    narrow: np.ndarray | None = None


# ----------------------------------------------------------------------------------------------- overlap


def overlap(problem: Separation, frame: Frame, held: np.ndarray, random: np.random.Generator) -> Proof:
    """Positive multipliers of full rank among the pairs ``held``."""
    pairs, multipliers = _full_rank_relation(problem, frame, held, random)
    return Proof("overlap", None, None, pairs, multipliers, _kernel(problem, pairs))


def _full_rank_relation(
    problem: Separation, frame: Frame, held: np.ndarray, random: np.random.Generator
) -> tuple[np.ndarray, list[Fraction]]:
    order = random.permutation(held.size)
    rows, columns = echelon(integers_of(problem, held[order]).values)
    if rows.size == 0:  # rows of zeros only
        return held[:1], [Fraction(1)]
    basis = np.sort(order[rows])
    A, length = frame.gather(held), lengths(frame.plain(held))
    for _ in range(4):  # draws of random coefficients; the first nearly always does
        c = 1.0 + random.integers(0, 1 << 10, basis.size) / (1 << 10)
        v = np.asarray(-(A[basis].T @ c)).ravel()
        found = linear_program(1.0 + random.random(held.size), columns_of(A), v, (0, None))
        T = np.sort(held[np.argsort(-found.x, kind="stable")[: rows.size]])
        relation = _exact_relation(problem, held[basis], c / length[basis], T, columns)
        if relation is not None:
            return relation
    raise Undecided("no positive multipliers came out of the linear program")


def _exact_relation(
    problem: Separation, B: np.ndarray, c: np.ndarray, T: np.ndarray, columns: np.ndarray
) -> tuple[np.ndarray, list[Fraction]] | None:
    """c on B and beta on T with sum c a + sum beta a = 0, exactly; None where some beta is negative or none exist."""
    whole = integers_of(problem, np.concatenate([B, T])).values
    parts = [Fraction(float(v)) for v in c]
    denominator = max(v.denominator for v in parts)  # powers of two
    weights = np.array([int(v * denominator) for v in parts], dtype=object)
    right = -(weights @ whole[: B.size].astype(object))
    found = solve(np.ascontiguousarray(whole[B.size :][:, columns].T), right[columns])
    if found is None or any(v < 0 for v in found[0]):
        return None
    numerators, common = found
    if np.any(np.array(numerators, dtype=object) @ whole[B.size :].astype(object) != right * common):
        return None  # B and T span different spaces
    total: dict[int, Fraction] = {}
    for pair, value in zip(B.tolist(), parts):
        total[pair] = value
    for pair, numerator in zip(T.tolist(), numerators):
        if numerator:
            total[pair] = total.get(pair, Fraction(0)) + Fraction(numerator, common * denominator)
    pairs = np.array(sorted(total), dtype=np.int64)
    return pairs, [total[pair] for pair in pairs.tolist()]


def _kernel(problem: Separation, pairs: np.ndarray) -> list[np.ndarray]:
    """Integer vectors v that span {v: A v = 0}, from the rows of ``pairs`` and checked on all rows."""
    whole = integers_of(problem, pairs)
    rows, columns = echelon(whole.values)
    out = []
    square = np.ascontiguousarray(whole.values[rows][:, columns])
    for j in np.setdiff1d(np.arange(problem.size), columns).tolist():
        found = solve(square, -whole.values[rows][:, j])
        if found is None:
            raise Undecided("the rows of the relation have no inverse")
        v = [Fraction(0)] * problem.size
        v[j] = Fraction(1)
        for column, value in zip(columns.tolist(), found[0]):
            v[column] = Fraction(value, found[1])
        vector = Direction(_unscaled(v, whole, problem))
        if np.any(exact_signs(problem, vector)):
            raise Undecided("some rows lie outside the space of the relation")
        out.append(vector.whole)
    return out


def _unscaled(entries: list[Fraction], whole: Integers, problem: Separation) -> np.ndarray:
    """A vector of the integers' columns in the units of the rows."""
    out = np.empty(problem.size, dtype=object)
    out[:] = [v / Fraction(2) ** int(e) for v, e in zip(entries, whole.exponents.tolist())]
    return out.reshape(problem.K - 1, problem.width)


# ------------------------------------------------------------------------------------------------- quasi


def quasi(
    problem: Separation,
    frame: Frame,
    theta: np.ndarray,
    held: np.ndarray,
    outside: np.ndarray,
    random: np.random.Generator,
) -> Proof:
    """theta > 0 on all pairs but those in the space of ``held``, which lie on its plane; ``outside``: pairs of the program."""
    pairs, multipliers = _gordan(problem, frame, held, random)
    whole = frame.whole(held)
    rows, columns = echelon(whole.values)
    narrow = None
    if not frame.mixed and _few_columns_pay(problem, outside.size + rows.size):
        narrow = fewest_columns(problem, frame.gather(outside), frame.gather(held[rows]))
    for direction in (theta,) if narrow is None else (narrow, theta):
        for bits in (8, 24, 53):
            entries = frame.home(_through(problem, frame.start(direction), whole, rows, columns, bits))
            signs = exact_signs(problem, Direction(entries))
            if np.all(signs >= 0) and np.any(signs > 0):
                return Proof("quasi", entries, signs, pairs, multipliers)
    raise Undecided("the direction of quasi-separation does not survive rounding")


def _gordan(
    problem: Separation, frame: Frame, held: np.ndarray, random: np.random.Generator
) -> tuple[np.ndarray, list[Fraction]]:
    """Multipliers > 0, of sum 1, of a smallest relation among ``held``."""
    A = frame.gather(held)
    zero = np.asarray(abs(A).sum(axis=1)).ravel() == 0
    if zero.any():
        return held[np.flatnonzero(zero)[:1]], [Fraction(1)]
    ones = np.ones((1, held.size))
    T = columns_of(A)
    matrix = sparse.vstack([T, ones], format="csc") if sparse.issparse(T) else np.vstack([T, ones])
    right = np.append(np.zeros(problem.size), 1.0)
    for _ in range(4):  # draws of random coefficients; the first nearly always does
        optimum = linear_program(1.0 + random.random(held.size), matrix, right, (0, None))
        support = held[np.flatnonzero(optimum.x > 1e-9)]
        whole = integers_of(problem, support).values
        rows, columns = echelon(whole)
        if rows.size != support.size - 1:
            continue
        last = int(np.setdiff1d(np.arange(support.size), rows)[0])
        found = solve(np.ascontiguousarray(whole[rows][:, columns].T), -whole[last][columns])
        if found is None or any(v <= 0 for v in found[0]):
            continue
        weights = np.zeros(support.size, dtype=object)
        weights[rows], weights[last] = found[0], found[1]
        if not np.any(weights @ whole.astype(object) != 0):
            total = int(weights.sum())
            return support, [Fraction(int(v), total) for v in weights.tolist()]
    raise Undecided("no relation came out of the linear program")


def _through(
    problem: Separation, theta: np.ndarray, whole: Integers, rows: np.ndarray, columns: np.ndarray, bits: int
) -> np.ndarray:
    """Make a'theta = 0 exact on all rows of ``whole``: round the free coordinates to ``bits``, and solve for the others."""
    free = np.setdiff1d(np.arange(problem.size), columns)
    flat = _rounded(theta.ravel(), bits)
    # In integers: sum over columns V_j 2^e_j theta_j = 0
    scaled = [Fraction(float(flat[j])) * Fraction(2) ** int(whole.exponents[j]) for j in free.tolist()]
    denominator = max((v.denominator for v in scaled), default=1)
    known = np.array([int(v * denominator) for v in scaled], dtype=object)
    V = whole.values[rows]
    right = -(V[:, free].astype(object) @ known) if free.size else np.zeros(rows.size, dtype=object)
    found = solve(np.ascontiguousarray(V[:, columns]), right)
    if found is None:
        raise Undecided("the rows on the plane have no inverse")
    entries = [Fraction(0)] * problem.size
    for j, v in zip(free.tolist(), scaled):
        entries[j] = v
    for j, numerator in zip(columns.tolist(), found[0]):
        entries[j] = Fraction(numerator, found[1] * denominator)
    return _unscaled(entries, whole, problem)


def _rounded(values: np.ndarray, bits: int) -> np.ndarray:
    """Round values to multiples of 2^-bits times the largest of them."""
    top = float(np.abs(values).max(initial=0.0))
    if top == 0.0 or bits >= 53:
        return values
    unit = float(np.exp2(np.frexp(top)[1] - bits))
    return np.asarray(np.rint(values / unit) * unit)


# ---------------------------------------------------------------------------------------------- complete


def inseparable(problem: Separation, frame: Frame, held: np.ndarray, random: np.random.Generator) -> Proof:
    """A smallest relation among pairs ``held``: no theta has all of them > 0. More is not asked: it may be quasi or overlap."""
    return Proof("inseparable", None, None, *_gordan(problem, frame, held, random))


def separated(problem: Separation, theta: np.ndarray) -> Proof:
    """The floats ``theta`` separate, and nothing is said of their margin."""
    signs = np.ones((problem.n, problem.K - 1), dtype=np.int8)
    return Proof("complete", theta, signs, np.zeros(0, dtype=np.int64), [])


def complete(problem: Separation, frame: Frame, theta: np.ndarray, R: np.ndarray, brief: bool = False) -> Proof:
    """theta > 0 on all pairs, in the coordinates of the frame."""
    floats = _best_offset(problem, frame.back(theta))
    if np.all(exact_signs(problem, Direction(floats)) > 0):
        if brief:
            return separated(problem, floats)
        return complete_by(problem, floats, _few_columns(problem, frame, R))
    exact = frame.exact(theta)  # perhaps no float has this offset
    signs = exact_signs(problem, Direction(exact))
    if not np.all(signs > 0):
        raise Undecided("the separating direction does not survive rounding")
    return Proof("complete", exact, signs, np.zeros(0, dtype=np.int64), [])


def complete_by(problem: Separation, theta: np.ndarray, narrow: np.ndarray | None = None) -> Proof:
    """The floats ``theta`` separate. For two classes the direction of the largest margin replaces them where it is found."""
    widest = _widest(problem) if problem.K == 2 else None
    pairs = np.zeros(0, dtype=np.int64)
    multipliers: list[Fraction] = []
    fewest = theta if narrow is None else narrow
    if widest is not None:
        theta, pairs, multipliers = widest
    used, least = (int((v[:, : problem.d] != 0).any(axis=0).sum()) for v in (theta, fewest))
    signs = np.ones((problem.n, problem.K - 1), dtype=np.int8)
    return Proof("complete", theta, signs, pairs, multipliers, narrow=fewest if least < used else None)


def _best_offset(problem: Separation, theta: np.ndarray) -> np.ndarray:
    """Two classes: the offset in the middle, for the other coefficients as they have been rounded."""
    if problem.K != 2 or not problem.offset:
        return theta
    plain = theta.copy()
    plain[0, -1] = 0.0
    value = problem.values(plain)[:, 0]
    low, high = float(value[problem.index == 1].min()), float(value[problem.index == 0].min())
    plain[0, -1] = 0.5 * high - 0.5 * low  # y f > 0: b > -low and b < high
    return plain


def _widest(problem: Separation) -> tuple[np.ndarray, np.ndarray, list[Fraction]] | None:
    """theta of the largest margin, and multipliers of sum 1 (0 when signed) that bound it; None where it was not found."""
    X = problem.X
    if not problem.is_sparse and X.size > SEPARATION_THRESHOLDS.margin_numbers:
        return None
    X = X.astype(np.float64) if X.dtype not in (np.float32, np.float64) else X
    X = X if problem.is_sparse else np.ascontiguousarray(X)
    y = np.where(problem.index == 1, np.int8(1), np.int8(-1))
    stop = Stop(1e-8, 10_000, SEPARATION_THRESHOLDS.margin_seconds)
    with np.errstate(all="ignore"):
        found = hard_margin(X, y, offset="free" if problem.offset else "none", stop=stop)
    if found.status == "infeasible" or not np.isfinite(found.w).all() or not found.w.any():
        return None
    theta = np.append(found.w, found.b)[None, : problem.width].astype(np.float64)
    if not np.all(exact_signs(problem, Direction(theta)) > 0):
        return None
    held = np.flatnonzero(found.alpha > 1e-12 * float(found.alpha.max(initial=0.0)))
    alpha = [Fraction(float(v)) for v in found.alpha[held]]
    if problem.offset:
        mass = [2 * sum((v for v, s in zip(alpha, y[held]) if s == sign), Fraction(0)) for sign in (1, -1)]
        if not all(mass):
            return theta, np.zeros(0, dtype=np.int64), []
        return theta, held, [v / mass[int(s < 0)] for v, s in zip(alpha, y[held].tolist())]
    total = sum(alpha, Fraction(0))
    return theta, held, [v / total for v in alpha]


def _few_columns_pay(problem: Separation, pairs: int) -> bool:
    """Whether the program for few columns is small enough."""
    limits = SEPARATION_THRESHOLDS
    small = pairs * problem.size <= limits.few_columns_numbers
    return problem.size <= limits.few_columns_coefficients and small


def _few_columns(problem: Separation, frame: Frame, R: np.ndarray) -> np.ndarray | None:
    """Find few columns that separate alone, on R and on the pairs that they get wrong; None where that is too much work."""
    for _ in range(10):
        if frame.mixed or not _few_columns_pay(problem, R.size):
            return None
        theta = fewest_columns(problem, frame.gather(R))
        if theta is None:
            return None
        floats = _best_offset(problem, frame.back(theta))
        wrong = np.flatnonzero(exact_signs(problem, Direction(floats)).ravel() <= 0)
        if wrong.size == 0:
            return floats
        fresh = np.setdiff1d(wrong, R)
        if fresh.size == 0:
            return None
        R = np.concatenate([R, fresh[: max(400, problem.size)]])
    return None


# ------------------------------------------------------------------------------------------------- exact


def exactly(problem: Separation, whole: Integers, theta: list[Fraction], alpha: list[Fraction]) -> Proof:
    """The proof that the program gives which was solved in fractions on all rows."""
    entries = _unscaled(theta, whole, problem)
    direction = Direction(entries)
    signs = exact_signs(problem, direction)
    held = np.flatnonzero([v > 0 for v in alpha])
    multipliers = [alpha[i] for i in held.tolist()]
    weights = np.array(multipliers, dtype=object)
    if np.any(signs < 0) or (held.size and np.any(weights @ whole.values[held].astype(object) != 0)):
        raise Undecided("the program in fractions is wrong")  # it is not, by its construction
    if held.size == 0:
        return (
            complete_by(problem, entries.astype(float))
            if _are_floats(entries)
            else Proof("complete", entries, signs, held, [])
        )
    if np.any(signs > 0):
        return Proof("quasi", entries, signs, held, multipliers)
    return Proof("overlap", None, None, held, multipliers, _kernel(problem, held))


def _are_floats(entries: Any) -> bool:
    return all(abs(v) < 10**300 and Fraction(float(v)) == v for v in entries.ravel().tolist())
