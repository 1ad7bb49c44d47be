"""The losses of linear classifiers on tensors: value, slope and curvature in z, and the conjugate in alpha = uy/c."""

from __future__ import annotations

from typing import Any

import torch

Tensor = Any


def differentiate(loss: Any, z: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """l, l' and l'' at the scores z."""
    m = y * z
    if loss.entropic:
        e = torch.exp(-z.abs())
        r = 1.0 / (1.0 + e)
        rest = e * r
        return (-m).clamp(min=0.0) + torch.log1p(e), -y * torch.where(m >= 0.0, rest, r), rest * r
    xi = (1.0 - m).clamp(min=0.0)
    if loss.smooth:
        return xi * xi, -2.0 * y * xi, 2.0 * (xi > 0.0).to(torch.float64)
    return xi, torch.where(xi > 0.0, -y, torch.zeros_like(y)), torch.zeros_like(xi)


def conjugate(loss: Any, alpha: Tensor) -> Tensor:
    """l*(y, -u/c) for the shares alpha; infinite outside its domain."""
    far = torch.full_like(alpha, torch.inf)
    if loss.smooth and not loss.entropic:
        return torch.where(alpha >= 0.0, alpha * (0.25 * alpha - 1.0), far)
    inside = (alpha >= 0.0) & (alpha <= 1.0)
    if loss.entropic:
        share = torch.where(inside, alpha, torch.zeros_like(alpha))
        return torch.where(inside, torch.xlogy(share, share) + torch.special.xlog1py(1.0 - share, -share), far)
    return torch.where(inside, -alpha, far)
