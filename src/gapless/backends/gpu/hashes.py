"""Hashes of rows on the card: the bits of `rows.hashes`, which the judge computes too.

int64 products and sums wrap as uint64's do; a shift to the right is followed by a mask that takes the copies of the sign away.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from gapless.judge.fingerprint import MIXERS, SHIFT_0, SHIFT_1, SHIFT_2, lane_multipliers

Tensor = Any


def row_hashes_on_card(X: Tensor) -> np.ndarray:
    """The (n, 2) uint64 hashes of rows of float32 or float64 on the card."""
    n, d = X.shape
    out = torch.empty((n, 2), dtype=torch.int64, device=X.device)
    values = 1 << 24 if X.device.type == "cuda" else 1 << 17  # at a time
    rows = max(1, values // max(d, 1))
    lanes = [torch.from_numpy(lane_multipliers(lane, d).view(np.int64)).to(X.device) for lane in range(2)]
    mixers = [int(np.uint64(mixer).view(np.int64)) for mixer in MIXERS]
    for start in range(0, n, rows):
        bits = (X[start : start + rows].to(torch.float64) + 0.0).contiguous().view(torch.int64)  # + 0.0: -0 becomes 0
        bits = bits ^ _shift(bits, SHIFT_0)
        for lane in range(2):
            t = bits * lanes[lane]
            t ^= _shift(t, SHIFT_1)
            t *= mixers[lane]
            t ^= _shift(t, SHIFT_2)
            out[start : start + rows, lane] = t.sum(1)
    return out.cpu().numpy().view(np.uint64)


def _shift(bits: Tensor, by: int) -> Tensor:
    return (bits >> by) & ((1 << (64 - by)) - 1)
