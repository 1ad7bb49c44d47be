"""Leave-one-out counts of support vector machines, which hold in expectation only: counted anew.

support vectors     alpha_i > 0, and up to two rows that fix a free offset where no multiplier is between its bounds
xi-alpha            2 alpha_i D + xi_i >= 1,  D the largest K(x, x) - K(x, z)      } without a free offset
Jaakkola-Haussler   y_i f(x_i) <= alpha_i K(x_i, x_i)                              }
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arithmetic.compare import between, equal
from ..form.entries import number
from ..rows import as_dense
from .answers import scores
from .case import BoundsCase


def leave_one_out(case: BoundsCase, row: dict[str, Any]) -> None:
    """The claims of the row; that they say nothing with high probability stands elsewhere."""
    count, n, most_rows = row["figures"]["count"], row["figures"]["n"], 4_000  # of which a kernel matrix is made
    linear = case.document["estimator"] == "LinearSVC"
    machine = (linear and case.problem["loss"] == "hinge") or case.document["estimator"] == "SVC"
    kept = machine and case.K == 2 and case.alike and n == case.n <= most_rows and row["randomised"] is None
    note = "a support vector machine, few rows that count alike; nothing is drawn"
    if not case.claim("leave-one-out, conditions", "kept", None, kept, note):
        return
    alpha, _, used, inner = case.multipliers()
    least = most = int(np.count_nonzero(used))
    if linear and case.problem["offset"] != "free":
        least, most = _without_offset(case, alpha, used)
    elif not inner:
        most += 2
    case.claim("leave-one-out, count", count, least, between(count, least, most), "counted anew")
    value = number(row["value"])
    case.claim("leave-one-out", value, count / n, equal(value, count / n, 1e-12), "in expectation only")


def _without_offset(case: BoundsCase, alpha: np.ndarray, used: np.ndarray) -> tuple[int, int]:
    """The smallest of the three counts; between two numbers where rounding leaves rows open."""
    w, b = case.arrays["coef"].astype(np.float64)[0], float(case.arrays["intercept"][0])
    low, high = scores(case.rows, w, b)
    margin = np.where(case.index == 1, 1.0, -1.0) * 0.5 * (low + high)
    X = as_dense(case.rows)
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
