"""What a walk over blocks of rows is, and the vectors that stay with the blocks.

A problem over blocks asks its walk to run a function on each block. The function gets the block as a problem of its own and the
block's parts of some vectors, and returns a small result and perhaps new parts. It changes nothing that it is given: a block that
is lost is computed again from what it was made of, and a round is never half applied. Results come in the order of the blocks,
so that sums do not depend on who computed them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

Tick = Callable[[], None] | None


class Low(float):
    """A number of which the sum over blocks is the least."""


class High(float):
    """A number of which the sum over blocks is the largest."""


class Total:
    """The sum of what blocks answer, put in in their order: numbers (without further rounding), arrays, tuples of these."""

    def __init__(self) -> None:
        self._kind: type = type(None)
        self._found: Any = None

    def put(self, result: Any) -> None:
        if self._kind is type(None):
            self._kind = type(result)
            self._found = [Total() for _ in result] if isinstance(result, tuple) else None
        if self._kind is tuple:
            for total, each in zip(self._found, result, strict=True):
                total.put(each)
        elif isinstance(result, np.ndarray):
            if self._found is None:
                self._found = np.array(result, dtype=float)
            else:
                self._found += result
        elif result is not None:
            self._found = [result] if self._found is None else [*self._found, result]

    def join(self, other: Total) -> None:
        """Put in what another has, as a whole."""
        if self._kind is type(None):
            self._kind, self._found = other._kind, other._found
        elif self._kind is tuple:
            for mine, theirs in zip(self._found, other._found, strict=True):
                mine.join(theirs)
        elif isinstance(other._found, np.ndarray):
            self._found = self._found + other._found
        elif other._found is not None:
            self._found = [*(self._found or []), *other._found]

    def get(self) -> Any:
        if self._kind is tuple:
            return tuple(total.get() for total in self._found)
        if self._kind in (Low, High):
            return float((min if self._kind is Low else max)(self._found))
        if self._kind is float:
            return math.fsum(self._found) if all(map(math.isfinite, self._found)) else float(sum(self._found))
        return sum(self._found) if self._kind in (int, bool) else self._found


class InBlocks:
    """A vector with an entry for each example: a part for each block, which nobody writes to and which is no array here.

    ``known`` has sums over all examples that were computed along with it.
    """

    __slots__ = ("known", "parts")

    def __init__(self, parts: Sequence[Any], **known: Any) -> None:
        self.parts, self.known = parts, known

    def copy(self) -> InBlocks:
        """The same: no part is ever written to."""
        return self

    def __array__(self, *args: Any, **more: Any) -> np.ndarray:
        raise TypeError("a vector that lies in blocks is no array: `fetch` brings it here")

    def __len__(self) -> int:
        raise TypeError("a vector that lies in blocks has no length here")


class Shape(NamedTuple):
    """What solvers choose by: values kept, costs of a pass and of a matrix in ns of a core, and how long sums are."""

    sparse: bool
    stored: int
    curve_cost: float
    gram_cost: float
    sum_length: float
    base_length: float


class Job(NamedTuple):
    """``work(part, *args, *parts of vectors)`` returns a result and ``makes`` new parts.

    ``spec`` builds the part of its block. ``rows``: the work reads rows. ``wants``: "each" result, their "sum", or "nothing",
    so that nobody waits for it.
    """

    work: Callable[..., tuple[Any, ...]]
    spec: Spec
    args: tuple[Any, ...] = ()
    makes: int = 0
    rows: bool = False
    wants: str = "each"


class Spec(Protocol):
    """How the rows of a block and its vectors become a problem; small, and the same for all blocks."""

    def build(self, rows: Any, *parts: Any) -> Any: ...


class Walk(Protocol):
    """Blocks somewhere, and how to run a job on each."""

    feature_names: Any
    takes_labels: bool  #: labels are given beside X
    sizes: Sequence[int]  #: rows of each block
    d: int
    steps_at_once: int
    most_sampled: float  #: rows that may come to the solver for a start
    backend: str  #: as the certificate names it
    rounds: int  #: jobs that somebody waited for
    passes: int  #: of them and the others, those that read rows

    def each(self, job: Job, base: Sequence[InBlocks], vectors: Sequence[InBlocks | None], tick: Tick) -> list[Any]:
        """The results, in the order of the blocks, or what else is wanted, and behind it the new vectors.

        ``base`` are the vectors that ``spec.build`` takes; None among the ``vectors`` is None for each block.
        """

    def survey(self, classify: bool, tick: Tick) -> Any:
        """The first walk: see `survey.Surveyed`."""

    def count_only(self, kept: InBlocks, sizes: Sequence[int]) -> None:
        """From now on only these rows of each block count (None: all)."""

    def with_dual(self, arrays: dict[str, np.ndarray], duals: Sequence[InBlocks], sizes: Sequence[int]) -> Any:
        """The arrays of a certificate: these, and the dual points of all rows, a line each."""

    def place(self, parts: Sequence[np.ndarray]) -> InBlocks:
        """A vector of parts that were made here."""

    def fetch(self, vector: InBlocks) -> np.ndarray:
        """The whole vector, here."""
