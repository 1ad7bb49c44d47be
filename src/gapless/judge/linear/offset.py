"""What is known about a free offset: B >= |b*|, and what a missed sum u = 0 or a slope in b costs.

Fenchel's inequality c l(y, z) >= -u z - c l*(y, -u/c), summed over the rows, gives for every (w, b) and every
u in the domain of the dual, with r = sum u and V = sum u x,

    P(w, b) >= 1/2 |w|^2 - <w, V> - b r - sum c l* = D(u) + 1/2 |w - V|^2 - b r                          (1)

so P* >= D(u) - B |r| for any B >= |b*|, b* one optimal offset.  Without B |r| that is false.

B.  Let T = max |<w*, x_i>| <= R |w*| <= R sqrt(2 P*) <= R sqrt(2 P), R = max |x_i| over the rows with c > 0.

- hinge, squared hinge: B = 1 + T.  For b > 1 + T every positive row has yz > 1 and slope 0, every negative
  row has yz < -1 and pushes b down; likewise below -(1 + T).  With one class only, w* = 0, b* = y is optimal.
- hard margin: B = 1 + T.  Where both classes have rows, some row of each has y f = 1 at the optimum (else b could move, and w
  shrink), so b* = y - <w*, x> there.  With one class only, w* = 0, b* = y is optimal.
- squared: B = max|y| + T, as b* is a weighted mean of the y_i - <w*, x_i>.
- logistic: B = |ln(C+/C-)| + T, C+ and C- the total weights of the classes.  The slopes balance,
  sum_+ c_i / (1 + e^z_i) = sum_- c_i / (1 + e^-z_i), where the left is at most C+ / (1 + e^(b-T)) and the
  right at least C- / (1 + e^-(b-T)); so C- e^(b-T) <= C+, and likewise for -b.  The hinge's 1 + T is false
  here.  Where one class has no weight no b is optimal, and B is infinite.
"""

from __future__ import annotations

import math

import numpy as np

from ..arithmetic.elementary import log_bounds
from ..arithmetic.rounding import UNIT, ZERO, Interval, exactly


def offset_bound(
    loss: str,
    primal: Interval,
    square: Interval,
    largest_target: float = 1.0,
    plus: Interval = ZERO,
    minus: Interval = ZERO,
) -> Interval:
    """B as the formula has it, enclosed; ``.up`` is B rounded up, a bound on |b*|.

    ``primal`` is P at the returned point (or any upper bound on P*), ``square`` the largest |x_i|^2, ``plus``
    and ``minus`` the total weights of the two classes (logistic only).
    """
    reach = (exactly(2.0) * primal.positive() * square.positive()).positive().sqrt()
    if loss in ("hinge", "squared_hinge", "hard_margin"):
        return exactly(1.0) + reach
    if loss == "squared":
        return exactly(largest_target) + reach
    if loss == "logistic":
        return abs(log_interval(plus) - log_interval(minus)) + reach
    raise ValueError(f"no bound on the offset is known for the loss {loss!r}")


def log_interval(weight: Interval) -> Interval:
    """The logarithm of a total weight."""
    if not (weight.up > 0.0 and math.isfinite(weight.up)):
        return Interval(-math.inf, -math.inf)  # no weight: a logarithm of minus infinity, and B is infinite
    low = -math.inf if weight.low <= 0.0 else float(log_bounds(np.array([weight.low]))[0][0])
    return Interval(low, float(log_bounds(np.array([weight.up]))[1][0]))


def strong_convexity_bound(gradient_square: Interval, slope: Interval, offset: str, b: float, bound: float) -> float:
    """An upper bound on P(w, b) - P* from the gradient of a differentiable P, rounded up.

    P is 1-strongly convex in w, so P* >= P + <g, w* - w> + 1/2 |w* - w|^2 + s (b* - b)
                                      >= P - 1/2 |g|^2 - |s| (|b| + B),        g = dP/dw, s = dP/db, |b*| <=
                                      B.
    A free offset needs the second term: P is flat along b, and 1/2 |g|^2 alone is false.  Without an offset,
    or with a penalised one (its weight is a coordinate of w, its slope belongs in g), the first term is all.
    """
    total = exactly(0.5) * gradient_square.positive()
    if offset == "free":
        total = total + abs(slope) * (exactly(abs(b)) + exactly(bound))
    return total.up


def best_between(low: np.ndarray, high: np.ndarray, c: np.ndarray, wanted: float) -> tuple[float, float]:
    """All v at which the weight c of the kinks below v passes ``wanted``, for kinks anywhere between low and high.

    The smallest is the first of the low kinks at which the weight, with its own, reaches ``wanted``; the largest is the last of
    the high ones before which it is at most that. Sums are compared with room for their rounding, on the safe side.
    """
    total = float(c.sum())
    slack = 8.0 * UNIT * (c.size + 8) * total
    ends = []
    for kinks, lower in ((low, True), (high, False)):
        order = np.argsort(kinks, kind="stable")
        passed = np.cumsum(c[order])
        if lower:
            k = int(np.searchsorted(passed, wanted - slack))
            ends.append(-np.inf if wanted <= slack else float(kinks[order[min(k, c.size - 1)]]))
        else:
            k = int(np.searchsorted(passed, wanted + slack, side="right"))
            ends.append(np.inf if wanted >= total - slack or k >= c.size else float(kinks[order[k]]))
    return ends[0], ends[1]
