"""f(x) = sum_j v_j K(x, x_j) of new rows on the card: float32 rows roughly where few lines are asked for, float64 rows exactly.

Rough scores of rows with gamma |x|^2 <= 50 are off by at most 2^-19 (1 + gamma |x|^2) sum |v| K; all others are float64's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from gapless.backends.gpu.kernel_gram import to_card
from gapless.backends.gpu.tiles import lay_out


def predict_on_card(kernel: Any, X: Any, vectors: Any, coefficients: np.ndarray, parts: list[slice]) -> np.ndarray:
    """What `gram.predict.predict_scores_by_part` gives: (parts, rows of X, lines of coefficients)."""
    values, few_lines, near = 1 << 28, 2, 50.0  # of X at a time: 2 GB
    columns = np.ascontiguousarray(coefficients.T, dtype=np.float64)
    out = np.zeros((len(parts), X.shape[0], columns.shape[1]))
    q, d = columns.shape[0], max(X.shape[1], 1)
    if not q:
        return out
    right = to_card(vectors)
    V = torch.from_numpy(columns).to(right.device)
    rows = max(1, values // d)
    for start in range(0, X.shape[0], rows):
        own = to_card(X[start : start + rows])
        tiles, norms2 = lay_out(kernel, torch.cat([right, own]))
        at = torch.arange(q, q + own.shape[0], device=right.device)
        few = len(parts) * columns.shape[1] <= few_lines
        rough = X.dtype == np.float32 and tiles.rough and few and kernel.gamma * float(norms2.max()) <= near
        for k, part in enumerate(parts):
            own_columns = torch.arange(q, device=right.device)[part]
            for line in range(columns.shape[1]) if few else [slice(None)]:
                found = tiles.add(own_columns, V[part, line], at, exact=not rough)
                out[k, start : start + rows, line] = found.cpu().numpy()
    return out
