"""Leave-one-out counts of support vector machines, which hold in expectation only: counted anew.

support vectors     alpha_i > 0, and up to two rows that fix a free offset where no multiplier is between its bounds
xi-alpha            2 alpha_i D + xi_i >= 1,  D the largest K(x, x) - K(x, z)      } without a free offset
Jaakkola-Haussler   y_i f(x_i) <= alpha_i K(x_i, x_i)                              }
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arithmetic.compare import between, equal
from ..document import number
from ..linear.recompute import row_weights
from ..rows import filled
from ..verdict import Claim
from .answers import scores

if TYPE_CHECKING:
    from .claims import Case

#: alpha within this share of c from 0 and from c is at its bound.
FREE = 1e-9
#: Rows of which a kernel matrix is made; there are no claims of more.
MOST = 4_000


def leave_one_out(case: Case, row: dict[str, Any]) -> list[Claim]:
    """The claims of the row; that they say nothing with high probability stands elsewhere."""
    count, n = row["figures"]["count"], row["figures"]["n"]
    name, linear = "bounds: leave-one-out", case.document["estimator"] == "LinearSVC"
    machine = (linear and case.problem["loss"] == "hinge") or case.document["estimator"] == "SVC"
    kept = machine and len(case.document["classes"]["values"]) == 2 and case.alike and n == case.n <= MOST
    kept = kept and row["randomised"] is None
    note = "a support vector machine, few rows that count alike; nothing is drawn"
    claims = [Claim(f"{name}, conditions", "kept", None, bool(kept), note)]
    if not kept:
        return claims
    alpha = np.abs(np.asarray(case.arrays["dual"])[0])
    C = number(case.problem["C"])
    weight = np.array([number(w) for w in case.problem["class_weight"]])
    c = row_weights(C if math.isfinite(C) else 1.0, np.ones(n), weight, case.index)
    c = c if math.isfinite(C) else np.full(n, 2.0 * float(alpha.max(initial=1.0)))  # the hard margin bounds none
    used = alpha > FREE * c
    least = most = int(np.count_nonzero(used))
    if linear and case.problem["offset"] != "free":
        least, most = _without_offset(case, alpha, used)
    elif not bool((used & (alpha < (1.0 - FREE) * c)).any()):
        most += 2
    claims.append(Claim(f"{name}, count", count, least, between(count, least, most), "counted anew"))
    value = number(row["value"])
    claims.append(Claim(name, value, count / n, equal(value, count / n, 1e-12), "in expectation only"))
    return claims


def _without_offset(case: Case, alpha: np.ndarray, used: np.ndarray) -> tuple[int, int]:
    """The smallest of the three counts; between two numbers where rounding leaves rows open."""
    w, b = np.asarray(case.arrays["coef"], float)[0], float(np.asarray(case.arrays["intercept"])[0])
    low, high = scores(case.rows, w, b)
    margin = np.where(case.index == 1, 1.0, -1.0) * 0.5 * (low + high)
    X = np.vstack([filled(block) for block in case.rows.blocks()])
    K = X @ X.T
    if case.problem["offset"] == "penalised":
        K += number(case.problem["offset_scale"]) ** 2
    diagonal = np.diag(K)
    apart = float((diagonal[:, None] - K).max())
    room = 1e-9 * (1.0 + np.abs(margin) + alpha * (diagonal + 2.0 * apart))
    counts = [(int(np.count_nonzero(used)),) * 2]
    for over in (alpha * diagonal - margin, 2.0 * alpha * apart + np.maximum(0.0, 1.0 - margin) - 1.0):
        counts.append((int(np.count_nonzero(used & (over >= room))), int(np.count_nonzero(used & (over >= -room)))))
    return min(a for a, _ in counts), min(b for _, b in counts)
