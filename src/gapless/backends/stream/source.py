"""Where blocks of rows come from: files, or anything that can be walked again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import check_array


class Block(NamedTuple):
    """Some rows: an array or CSR matrix of float32 or float64, their labels or targets, and their weights or None."""

    X: Any
    y: Any
    weight: Any = None


class Blocks:
    """Rows that are walked block by block, as often as a fit needs: ``for block in blocks``.

    ``gapless.read_blocks`` makes them of a file; ``fit(blocks)`` takes them, and any list or object whose ``iter`` gives
    ``(X, y)`` or ``(X, y, weight)`` again and again.

    Attributes
    ----------
    name : what the blocks are of, as errors say it
    feature_names : names of the columns, or None
    block_bytes : bytes of X in a block, of files that are cut
    """

    name: str = "the blocks"
    feature_names: Any = None
    block_bytes: int = 1 << 25  #: some tenths of a second of work, and little beside any budget

    def __iter__(self) -> Iterator[Block]:
        raise NotImplementedError


class GivenBlocks(Blocks):
    """Blocks that a program makes."""

    def __init__(self, given: Iterable[Any]) -> None:
        self._given = given

    def __iter__(self) -> Iterator[Block]:
        walked = iter(self._given)
        if walked is self._given:
            raise one_shot()
        for k, block in enumerate(walked):
            if not isinstance(block, tuple) or len(block) not in (2, 3):
                raise TypeError(f"block {k} is a {type(block).__name__}: a block is (X, y) or (X, y, weight)")
            yield self._checked(k, *block)

    def _checked(self, k: int, X: Any, y: Any, weight: Any = None) -> Block:
        if k == 0 and hasattr(X, "columns"):
            names = list(X.columns)
            self.feature_names = np.array(names, dtype=object) if all(isinstance(n, str) for n in names) else None
        try:
            return Block(as_rows_of_block(X), y, weight)
        except ValueError as error:
            raise ValueError(f"block {k}: {error}") from error


def one_shot() -> TypeError:
    """What is said of a generator."""
    return TypeError(
        "blocks that can be walked only once (a generator, an open reader) cannot be fitted: a fit reads them many times. Give "
        "a list, or an object whose __iter__ starts anew each time"
    )


def as_rows_of_block(X: Any) -> Any:
    """X as scikit-learn reads it: finite, dense or CSR, float32 or float64."""
    if type(X) is np.ndarray and X.ndim == 2 and X.dtype in (np.float64, np.float32):
        return X  # the first walk looks at its values
    return check_array(
        X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_min_samples=0, ensure_all_finite=False
    )


def blocks_of(X: Any) -> Blocks | None:
    """The blocks that X is; None where it is something else. A generator is refused."""
    if isinstance(X, Blocks):
        return X
    table = hasattr(X, "shape") or hasattr(X, "__array__") or hasattr(X, "columns") or sparse.issparse(X)
    if table or isinstance(X, str | bytes | dict) or not hasattr(X, "__iter__"):
        return None
    if hasattr(X, "__next__"):
        raise one_shot()
    first: Any = next(iter(X), None)
    whole = isinstance(first, tuple) and len(first) in (2, 3) and not np.isscalar(first[0])
    return GivenBlocks(X) if whole and hasattr(first[0], "shape") else None
