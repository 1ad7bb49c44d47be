"""First points of all pairs of classes at once, where each pair is small: one program of the card's a pair, on one matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from gapless._runtime.lazy import load
from gapless.backends.gpu.kernel_gram import CardGram
from gapless.gram.blocks import Gram


def start_pairs_on_card(
    gram: Gram, index: np.ndarray, c: np.ndarray, pairs: list[tuple[int, int]], gap: float
) -> np.ndarray | None:
    """u of each pair on all rows, (pairs, rows), near a relative gap of ``gap``; None where pairs go one after the other."""
    most_rows, most_all = 16_384, 120_000  # of a pair: what a program holds; of all pairs: 58 GB of float32
    counts = np.bincount(index)
    pieces = getattr(getattr(gram, "tiles_on_card", None), "pieces", None)
    largest = int(np.sort(counts)[-2:].sum())
    if not isinstance(gram, CardGram) or pieces is None or largest > most_rows or index.size > most_all:
        return None
    kernels: Any = load("gapless.backends.gpu.loops.triton_pairs")
    order = np.argsort(index, kind="stable")
    device, n = gram.tiles_on_card.device, index.size
    place = torch.from_numpy(order).to(device)
    own = pieces.each(lambda part: part[place].contiguous())
    K = torch.empty((n, n), dtype=torch.float32, device=device)
    side = 128 if device.type == "cuda" else 32
    blocks = -(-n // side)
    width = own.hi.shape[1]
    lo = own.hi if own.lo is None else own.lo
    kernels.fill[(blocks, blocks)](
        own.hi, lo, own.half, K, n, own.after, WIDTH=width, DEEP=min(64, width), SIDE=side, SPLIT=own.lo is not None,
        num_warps=8, num_stages=3,
    )  # fmt: skip
    ends = np.cumsum(counts)

    def numbers(values: Any) -> Any:
        return torch.tensor(np.asarray(values), dtype=torch.int32, device=device)

    U = torch.zeros((len(pairs), n), dtype=torch.float32, device=device)
    steps = torch.zeros(len(pairs), dtype=torch.int32, device=device)
    lanes = max(64, 1 << (largest - 1).bit_length())
    cost = torch.from_numpy(c[order].astype(np.float32)).to(device)
    most = 200 * largest
    kernels.solve_pairs[(len(pairs),)](
        K, n, numbers(ends - counts), numbers(counts), numbers([a for a, _ in pairs]), numbers([b for _, b in pairs]),
        cost, U, 0.5 * gap, most, steps, LANES=lanes, num_warps=32 if lanes >= 8192 else 8,
    )  # fmt: skip
    found = np.zeros((len(pairs), n))
    found[:, order] = U.cpu().numpy()
    return found
