"""Tiles of the Gram matrix on the card: products and blocks, in float64 or roughly, never whole.

    add(columns, v, at)     sum_j v_j K[at, columns_j]
    block(index)            K[index, index]

A Gaussian's rows are x sqrt(2 gamma) with two more numbers, [x, -|x|^2/2, 1], so that one product of x with [z, 1, -|z|^2/2] is
the exponent.  ``exact`` values are float64's; rough ones come from float16 pieces by Triton (`gaussian_pieces`), or from float32
where there is no Triton, and steer a search whose result is looked at in float64.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch

from gapless._runtime.lazy import load
from gapless.backends.gpu.device import uses_triton

Tensor = Any
Tick = Callable[[], None] | None


@dataclass(frozen=True, eq=False)
class Tiles:
    """Rows on the card, in some order. ``exponent``: a product of two rows is the exponent of a Gaussian."""

    kernel: Any
    rows: Tensor  #: float64
    diagonal: Tensor
    exponent: bool
    pieces: Any = None
    single: Tensor | None = None  #: the rows in float32, where rough values come from torch

    @property
    def n(self) -> int:
        return int(self.rows.shape[0])

    @property
    def device(self) -> Any:
        return self.rows.device

    @property
    def rough(self) -> bool:
        """Whether rough values are there, and cost less than exact ones."""
        return self.pieces is not None or self.single is not None

    def first(self, n: int) -> Tiles:
        """The first n rows."""
        return self._each(lambda part: part[:n])

    def reorder(self, index: Tensor) -> Tiles:
        """The rows ``index``, in this order."""
        return self._each(lambda part: part[index].contiguous())

    def _each(self, change: Callable[[Tensor], Tensor]) -> Tiles:
        pieces = None if self.pieces is None else self.pieces.each(change)
        single = None if self.single is None else change(self.single)
        return replace(self, rows=change(self.rows), diagonal=change(self.diagonal), pieces=pieces, single=single)

    def add(
        self, columns: Tensor, v: Tensor, at: Tensor | None = None, *, exact: bool = True, sizes: bool = False,
        tick: Tick = None,
    ) -> Tensor:  # fmt: skip
        """sum_j v_j K[i, columns_j] in float64 for the rows ``at``, all by default; a column for each of v's.

        ``sizes``: a second column has the sums of |v_j| K.
        """
        height = self.n if at is None else int(at.numel())
        by_triton = self.exponent and exact and v.ndim == 1 and self.rows.shape[1] <= 130
        by_triton = by_triton and uses_triton(self.device.type)
        v = torch.stack([v, v.abs()], 1) if sizes else v
        if columns.numel() == 0:
            return torch.zeros((height, *v.shape[1:]), dtype=torch.float64, device=self.device)
        if not exact and self.pieces is not None:
            return self.pieces.add(columns, v, at)
        rows = self.single if not exact and self.single is not None else self.rows
        own, other = rows if at is None else rows[at], rows[columns]
        if self.kernel.name == "linear":
            return own @ (other.T @ v.to(rows.dtype))
        if by_triton:
            sums: Any = load("gapless.backends.gpu.loops.gaussian_sums")
            return sums.add_float64(own, other, v)
        return self._add_by_chunks(own, other, v.to(rows.dtype), tick)

    def _add_by_chunks(self, own: Tensor, other: Tensor, v: Tensor, tick: Tick) -> Tensor:
        """The same by matrices of torch's, a chunk of rows and columns at a time."""
        height, width = (8192, 4096) if self.device.type == "cuda" else (512, 1024)
        out = torch.zeros((own.shape[0], *v.shape[1:]), dtype=torch.float64, device=self.device)
        turned = self._turn(other)
        for a in range(0, own.shape[0], height):
            for b in range(0, other.shape[0], width):
                if tick is not None:
                    tick()
                values = self._map(own[a : a + height] @ turned[b : b + width].T)
                out[a : a + height] += (values @ v[b : b + width]).to(torch.float64)
        return out

    def values(self, left: Tensor, right: Tensor) -> Tensor:
        """K[left, right] in float64."""
        return self._map(self.rows[left] @ self._turn(self.rows[right]).T)

    def block(self, index: Tensor) -> Tensor:
        """K[index, index] in float64."""
        found = self.values(index, index)
        found.diagonal().copy_(self.diagonal[index])
        return found

    def _turn(self, rows: Tensor) -> Tensor:
        """Rows as the right factor: the two last numbers change places."""
        if not self.exponent:
            return rows
        return torch.cat([rows[:, :-2], rows[:, -1:], rows[:, -2:-1]], 1)

    def _map(self, inner: Tensor) -> Tensor:
        """Kernel values from products, in place."""
        if self.exponent:
            return inner.exp_()
        if self.kernel.name == "linear":
            return inner
        inner.mul_(self.kernel.gamma).add_(self.kernel.coef0)
        return _power(inner, int(self.kernel.degree))


def lay_out(kernel: Any, X: Tensor) -> tuple[Tiles, Tensor]:
    """Rows of X, float64 on the card, as tiles; and |x|^2 of each row, less the rows' centre where distances count."""
    if not kernel.of_distances:
        norms2 = (X * X).sum(1)
        diagonal = norms2 if kernel.name == "linear" else _power(kernel.gamma * norms2 + kernel.coef0, kernel.degree)
        return Tiles(kernel, X, diagonal, exponent=False), norms2
    given, X = X, X - X.mean(0)
    norms2 = (X * X).sum(1)
    scaled = X * math.sqrt(2.0 * kernel.gamma)
    half = -0.5 * (scaled * scaled).sum(1, keepdim=True)
    rows = torch.cat([scaled, half, torch.ones_like(half)], 1)
    one = torch.ones(X.shape[0], dtype=torch.float64, device=X.device)
    far = 300.0  # gamma |x|^2 beyond which rough exponents have no digit that counts
    near = bool(torch.isfinite(half).all()) and float(-half.min()) <= far if len(half) else False
    made = Tiles(kernel, rows, one, exponent=True)
    if near and uses_triton(X.device.type):
        cut: Any = load("gapless.backends.gpu.loops.gaussian_pieces")
        return replace(made, pieces=cut.cut_into_pieces(given, kernel.gamma)), norms2
    return replace(made, single=rows.float() if near else None), norms2


def _power(base: Tensor, degree: int) -> Tensor:
    """base^degree by repeated squaring: at most 2 log2(degree) roundings."""
    if degree == 0:
        return torch.ones_like(base)
    found = base
    for bit in bin(degree)[3:]:
        found = found * found
        if bit == "1":
            found = found * base
    return found
