"""Where coordinate descent on the logistic loss starts: one share alpha/c for each class.

At the optimum of the logistic loss every alpha is strictly between 0 and c, and D has an infinite slope at both ends.  With the
same share s of all positive and t of all negative examples D is a function of two numbers; the start is its highest point.
"""

from __future__ import annotations

import math

import numpy as np

from gapless.problems.linear import LinearProblem

#: alpha/c of every example where no better start is known: most examples end near 0, and half of c is where w = 0 has them.
START_SHARE = 0.1


def start_with_class_shares(problem: LinearProblem) -> tuple[np.ndarray, np.ndarray]:
    """u and its theta: alpha = s c for one class, t c for the other, with the s and t of the highest D.

    With the sums p and m of c y x over the classes D(s, t) = C+ H(s) + C- H(t) - 1/2 |s p + t m|^2, H the entropy: Newton's
    steps, halved until they stay inside and D does not fall.  A few per cent near is near enough.
    """
    positive = problem.y > 0
    p = problem.combine(np.where(positive, problem.c, 0.0))
    m = problem.combine(np.where(positive, 0.0, -problem.c))
    (up, down), pp, pm, mm = problem.masses, float(p @ p), float(p @ m), float(m @ m)

    def value(s: float, t: float) -> float:
        square = 0.5 * (pp * s * s + 2.0 * pm * s * t + mm * t * t)
        return (
            -up * (s * math.log(s) + (1 - s) * math.log1p(-s))
            - down * (t * math.log(t) + (1 - t) * math.log1p(-t))
            - square
        )

    s = t = START_SHARE
    best = value(s, t)
    for _ in range(30):
        rise_s = up * math.log((1 - s) / s) - pp * s - pm * t
        rise_t = down * math.log((1 - t) / t) - pm * s - mm * t
        curvature_s, curvature_t = up / (s * (1 - s)) + pp, down / (t * (1 - t)) + mm
        area = curvature_s * curvature_t - pm * pm
        if not area > 0.0:  # lost to rounding
            break
        ds, dt = (curvature_t * rise_s - pm * rise_t) / area, (curvature_s * rise_t - pm * rise_s) / area
        for halved in range(12):
            near_s, near_t = s + 0.5**halved * ds, t + 0.5**halved * dt
            inside = 0.1 * s < near_s < 1 - 0.1 * (1 - s) and 0.1 * t < near_t < 1 - 0.1 * (1 - t)
            if inside and (found := value(near_s, near_t)) >= best:
                break
        else:
            break
        small = abs(near_s - s) < 0.03 * s and abs(near_t - t) < 0.03 * t
        s, t, best = near_s, near_t, found
        if small:
            break
    return np.where(positive, s * problem.c, -t * problem.c), s * p + t * m


def start_with_balanced_shares(problem: LinearProblem) -> tuple[np.ndarray, np.ndarray, float]:
    """The same with a free offset, where s C+ = t C- leaves one number to find, and the offset that goes with it.

    With M = s C+ = t C- and the difference of the means v = p/C+ + m/C-: D(M) = C+ H(s) + C- H(t) - 1/2 M^2 |v|^2.  Its slope
    log((1-s)/s) + log((1-t)/t) - M |v|^2 falls: its zero is found by halving.  The multiplier of s C+ = t C- is the offset at
    which both classes have, on the average, the margins that belong to their alpha: log((1-s)/s) = <p/C+, theta> + b.
    """
    positive = problem.y > 0
    up, down = problem.masses
    p = problem.combine(np.where(positive, problem.c / up, 0.0))
    v = p + problem.combine(np.where(positive, 0.0, -problem.c / down))
    square = float(v[:-1] @ v[:-1])
    low, high = 0.0, min(up, down)
    total = 0.5 * high
    for _ in range(60):
        s, t = total / up, total / down
        if math.log((1 - s) / s) + math.log((1 - t) / t) > total * square:
            low = total
        else:
            high = total
        total = 0.5 * (low + high)
        if high - low < 0.01 * high:
            break
    s, t = total / up, total / down
    theta = total * v
    theta[-1] = 0.0
    b = math.log((1 - s) / s) - float(p[:-1] @ theta[:-1])
    return np.where(positive, s * problem.c, -t * problem.c), theta, b
