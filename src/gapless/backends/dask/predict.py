"""Predictions of Dask collections: lazy, block by block, where the blocks are."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np


def lazily(model: Any, method: str, X: Any) -> Any:
    """What ``method`` of a fitted model says of the rows of a collection: an array of Dask, which nobody has computed."""
    import dask
    import dask.array as da

    light = _lighter(model)
    answer = np.asarray(getattr(light, method)(_one_row(model, X)))  # its type and columns
    if hasattr(X, "numblocks"):
        rows = X.rechunk({1: -1}) if X.numblocks[1] > 1 else X
        sizes, parts = rows.chunks[0], rows.to_delayed().ravel()
    else:
        parts = X.to_delayed()
        sizes = (np.nan,) * len(parts)
    ask = dask.delayed(_ask, pure=True)
    model_once = dask.delayed(light)
    found = [
        da.from_delayed(ask(model_once, method, part), (size, *answer.shape[1:]), dtype=answer.dtype)
        for part, size in zip(parts, sizes)
    ]
    return da.concatenate(found, axis=0)


def _ask(model: Any, method: str, rows: Any) -> Any:
    return np.asarray(getattr(model, method)(rows))


def _lighter(model: Any) -> Any:
    """A copy that predicts, without what it knows of its training rows."""
    found = copy.copy(model)
    for name in ("certificate_", "_scores", "_c", "_label_index", "history_"):
        found.__dict__.pop(name, None)
    return found


def _one_row(model: Any, X: Any) -> Any:
    """A row of zeros as the model knows its columns."""
    columns = getattr(X, "columns", None)
    zeros = np.zeros((1, model.n_features_in_))
    if columns is None:
        return zeros
    import pandas as pd

    return pd.DataFrame(zeros, columns=list(columns))
