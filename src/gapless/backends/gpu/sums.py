"""Sums over rows on the card, in float64 whatever the rows are, and in an order that the shape decides."""

from __future__ import annotations

from typing import Any

import torch

from gapless._runtime.lazy import load
from gapless.backends.gpu.device import uses_triton

Tensor = Any


def total(vector: Tensor) -> Tensor:
    """The sum of a vector in float64, by levels of 128 terms: no order of fewer than 512 additions for 10^8 terms."""
    side = 128
    found = vector.reshape(-1).to(torch.float64)
    while found.numel() > side:
        missing = -found.numel() % side
        if missing:
            found = torch.cat([found, torch.zeros(missing, dtype=torch.float64, device=found.device)])
        found = found.view(-1, side).sum(1)
    return found.sum()


def scores(X: Tensor, w: Tensor) -> Tensor:
    """X w in float64."""
    if X.dtype == torch.float64:
        return X @ w
    if _by_triton(X):
        passes: Any = load("gapless.backends.gpu.loops.linear_passes")
        return passes.scores(X, w)
    return torch.cat([X[a : a + _rows(X)].to(torch.float64) @ w for a in range(0, X.shape[0], _rows(X))])


def combine(X: Tensor, u: Tensor) -> Tensor:
    """X'u in float64."""
    if X.dtype == torch.float64:
        return X.T @ u
    if _by_triton(X):
        passes: Any = load("gapless.backends.gpu.loops.linear_passes")
        return passes.combine(X, u)
    found = torch.zeros(X.shape[1], dtype=torch.float64, device=X.device)
    for a in range(0, X.shape[0], _rows(X)):
        found += X[a : a + _rows(X)].to(torch.float64).T @ u[a : a + _rows(X)]
    return found


def gram(X: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    """X' diag(weights) X and X'weights in float64."""
    d = X.shape[1]
    found = torch.zeros((d, d), dtype=torch.float64, device=X.device)
    border = torch.zeros(d, dtype=torch.float64, device=X.device)
    for a in range(0, X.shape[0], _rows(X)):
        part = X[a : a + _rows(X)].to(torch.float64)
        heavy = part * weights[a : a + _rows(X), None]
        found += heavy.T @ part
        border += heavy.sum(0)
    return found, border


def squares(X: Tensor) -> Tensor:
    """|x|^2 of each row in float64."""
    parts = [(X[a : a + _rows(X)].to(torch.float64) ** 2).sum(1) for a in range(0, X.shape[0], _rows(X))]
    return torch.cat(parts)


def _rows(X: Tensor) -> int:
    """Rows that are written out in float64 at a time: some hundred MB."""
    values = 1 << 26 if X.device.type == "cuda" else 1 << 18
    return max(1, values // max(int(X.shape[1]), 1))


def _by_triton(X: Tensor) -> bool:
    widest = 1024
    return X.shape[1] <= widest and X.is_contiguous() and uses_triton(X.device.type)
