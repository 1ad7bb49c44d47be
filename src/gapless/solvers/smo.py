"""Sequential minimal optimisation of `KernelDual`, in working sets.

    minimise 1/2 beta'Q beta - tau'beta,   Q_jk = s_j s_k K(x_j, x_k),   0 <= beta <= c,   s'beta = T0 (nu: and 1'beta = T1)

With v_j = s_j tau_j - f_j (f = sum s beta K) a pair (i, j) where beta_i can go up along s and beta_j down, and v_i > v_j,
moves by (v_i - v_j) / (K_ii + K_jj - 2 K_ij), cut at the box; the pair is the largest v_i and the j that gains most (Fan,
Chen, Lin 2005).  In the nu forms both are of one sign.  A working set of the worst pairs is solved to a part of its
violation, then all scores follow by one product.
"""

from __future__ import annotations

import numpy as np

from gapless._jit import compiled
from gapless.problems.kernel_dual import KernelDual, figures
from gapless.solvers.loop import Loop

#: Variables of a working set.
WORKING = 1024
#: Pairs between two looks at the clock.
STEPS = 20_000
#: Where the curvature of a pair is not above this, it is taken to be this.
FLAT = 1e-12


def smo(problem: KernelDual, loop: Loop, start: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """beta and the scores of all points. Records (scalars, beta, P, D) in ``loop``, which ends it."""
    beta = problem.start() if start is None else problem.repair(start)
    scores = problem.scores(beta, loop.tick)
    stalled = 0
    least = np.inf
    while True:
        scalars, primal, _, gap = figures(problem, beta, scores)
        loop.record(scalars, beta, primal, primal - gap)
        violation = problem.violation(beta, scores)
        stalled = 0 if gap < 0.9 * least else stalled + 1
        least = min(least, gap)
        if violation <= 1e-13 * max(1.0, float(np.abs(scores).max(initial=0.0))) or stalled > 50:
            return beta, scores
        work = _working_set(problem, beta, scores)
        at = work if problem.at is None else problem.at[work]
        K = problem.gram.block(at, at, tick=loop.tick)
        part, v = beta[work].copy(), problem.kinks(scores)[work]
        before = part.copy()
        wanted = 0.0 if work.size == problem.n else 0.1 * violation
        wanted = max(wanted, 1e-14 * max(1.0, float(np.abs(v).max())))
        if work.size == problem.n:  # in turns, so that the gap is looked at
            wanted = max(wanted, 0.03 * violation)
        for _ in range(200):
            steps = _pairs(K, problem.sign[work], v, part, problem.c[work], problem.nu_form, wanted, STEPS)
            loop.tick()
            if steps < STEPS:
                break
        moved = problem.sign[work] * (part - before)
        beta[work] = part
        loop.advance()
        changed = np.flatnonzero(moved)
        if changed.size == 0:
            return beta, scores
        scores += problem.gram.product(at[changed], moved[changed], tick=loop.tick)


def _working_set(problem: KernelDual, beta: np.ndarray, scores: np.ndarray) -> np.ndarray:
    if problem.n <= WORKING:
        return np.arange(problem.n)
    v = problem.kinks(scores)
    chosen = []
    each = WORKING // (2 * len(problem.sides))
    for side, _ in problem.sides:
        s, part, c = problem.sign[side], beta[side], problem.c[side]
        up = np.where(s > 0, part < c, part > 0.0)
        low = np.where(s > 0, part > 0.0, part < c)
        for allowed, order in ((up, -v[side]), (low, v[side])):
            index = np.flatnonzero(allowed)
            take = index if index.size <= each else index[np.argpartition(order[index], each)[:each]]
            chosen.append(side[take])
    return np.unique(np.concatenate(chosen))


@compiled
def _pairs(K, s, v, beta, c, by_sign, wanted, most):
    """Pairs until none is out of order by more than ``wanted``; how many."""
    q = v.size
    for step in range(most):
        i, worst, sign = -1, wanted, 0.0
        for which in (1.0, -1.0) if by_sign else (0.0, 0.0):
            top, at = -np.inf, -1
            low = np.inf
            for k in range(q):
                if which != 0.0 and s[k] != which:
                    continue
                if (beta[k] < c[k] if s[k] > 0 else beta[k] > 0.0) and v[k] > top:
                    top, at = v[k], k
                if (beta[k] > 0.0 if s[k] > 0 else beta[k] < c[k]) and v[k] < low:
                    low = v[k]
            if at >= 0 and top - low > worst:
                i, worst, sign = at, top - low, which
        if i < 0:
            return step
        j, gain = -1, 0.0
        for k in range(q):
            if sign != 0.0 and s[k] != sign:
                continue
            if (beta[k] > 0.0 if s[k] > 0 else beta[k] < c[k]) and v[k] < v[i]:
                off = v[i] - v[k]
                bend = max(K[i, i] + K[k, k] - 2.0 * K[i, k], FLAT)
                if off * off / bend > gain:
                    j, gain = k, off * off / bend
        if j < 0:
            return step
        move = (v[i] - v[j]) / max(K[i, i] + K[j, j] - 2.0 * K[i, j], FLAT)
        room_i = c[i] - beta[i] if s[i] > 0 else beta[i]
        room_j = beta[j] if s[j] > 0 else c[j] - beta[j]
        move = min(move, min(room_i, room_j))
        # At the end of its room a variable is exactly at its bound.
        if move == room_i:
            beta[i] = c[i] if s[i] > 0 else 0.0
        else:
            beta[i] += s[i] * move
        if move == room_j:
            beta[j] = 0.0 if s[j] > 0 else c[j]
        else:
            beta[j] -= s[j] * move
        for k in range(q):
            v[k] -= move * (K[i, k] - K[j, k])
    return most
