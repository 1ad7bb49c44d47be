"""Rows that lie on the card: a user's tensor where it is, or a host's array that was sent there once."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import torch
from scipy import sparse

from gapless.backends.gpu.device import device_name
from gapless.backends.gpu.hashes import row_hashes_on_card

Tensor = Any


class CardRows:
    """Dense rows on the card, in their own precision, with the little that fits ask of an array."""

    ndim = 2

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor

    @property
    def shape(self) -> tuple[int, int]:
        return int(self.tensor.shape[0]), int(self.tensor.shape[1])

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(np.float32 if self.tensor.dtype == torch.float32 else np.float64)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> CardRows:
        return CardRows(self.tensor[torch.from_numpy(np.array(rows)).to(self.tensor.device)])

    def row_hashes(self) -> np.ndarray:
        return row_hashes_on_card(self.tensor)

    def products(self, coef: np.ndarray, intercept: np.ndarray) -> Tensor:
        """Scores in the rows' precision, on the card: a column for each line of ``coef``."""
        w = torch.from_numpy(np.array(coef.T)).to(self.tensor)
        return self.tensor @ w + torch.from_numpy(np.array(intercept)).to(self.tensor)


def send(X: Any) -> CardRows:
    """Rows on the card, in their precision."""
    if isinstance(X, CardRows):
        return X
    values = X.toarray() if sparse.issparse(X) else np.ascontiguousarray(X)
    values = values if values.flags.writeable else values.copy()
    return CardRows(torch.from_numpy(values).to(device_name()))


def receive(X: Any) -> CardRows:
    """The rows of an array that lies on the card already, by DLPack: checked, and not copied where its type is ours."""
    tensor = torch.from_dlpack(X).detach()
    if tensor.ndim != 2:
        raise ValueError(f"Expected 2D array, got {tensor.ndim}D array instead. Reshape your data.")
    if 0 in tensor.shape:
        raise ValueError(f"Found array with shape {tuple(tensor.shape)} while a minimum of 1 is required.")
    if tensor.dtype not in (torch.float32, torch.float64):
        tensor = tensor.to(torch.float64)
    tensor = tensor.contiguous()
    if not bool(torch.isfinite(tensor.sum())) and not bool(torch.isfinite(tensor).all()):
        name = "NaN" if bool(torch.isnan(tensor).any()) else "infinity"
        raise ValueError(f"Input X contains {name}.")
    return CardRows(tensor)


def like(given: Any, found: Tensor) -> Any:
    """``found`` as the kind of array that ``given`` is."""
    if isinstance(given, torch.Tensor):
        return found
    return importlib.import_module(type(given).__module__.split(".")[0]).from_dlpack(found)


def take_like(given: Any, values: np.ndarray, index: Any) -> Any:
    """values[index] as the kind of array that ``given`` is."""
    places = torch.from_dlpack(index)
    return like(given, torch.from_numpy(np.array(values)).to(places.device)[places])
