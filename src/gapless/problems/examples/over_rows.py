"""The verbs that every problem over rows in memory has in common; here a handle is an array. See `protocol`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gapless import rows as R
from gapless._runtime.cached import lazy
from gapless.rows.copies.choose import best_copy
from gapless.rows.products import curved_cost, sums_like_combine
from gapless.rows.shape import base_length
from gapless.rows.weighted_gram import gram_cost

Tick = Callable[[], None] | None


class Taken(NamedTuple):
    """Some examples, at hand: their rows, the weights that were asked for, and their numbers."""

    rows: R.Rows
    weights: np.ndarray
    numbers: np.ndarray


class OverRows:
    """n examples of d features with an offset, and the sums over them that need the rows and a weight for each."""

    one_by_one = True  #: a solver may visit the rows one by one, in an order of its own
    slice_rows = 1 << 20  #: rows that are numbered at a time: 8 MB

    rows: R.Rows
    y: np.ndarray
    c: np.ndarray
    offset: str

    # -- the shape -----------------------------------------------------------------------------------------------

    @property
    def n(self) -> int:
        return self.y.size

    @property
    def d(self) -> int:
        return R.n_features(self.rows)

    @property
    def free(self) -> bool:
        return self.offset == "free"

    @property
    def constant(self) -> float:
        """The value of the constant feature; 0 without an offset."""
        return self.rows.constant

    @property
    def sparse(self) -> bool:
        return R.is_sparse(self.rows)

    @property
    def stored(self) -> int:
        """The values that the rows keep."""
        return R.n_stored(self.rows)

    @property
    def pass_stored(self) -> int:
        """The values that a full pass reads."""
        return R.n_stored(self.pass_rows)

    def gram_cost(self, m: int) -> float:
        """What `gram` of m examples costs, in ns of one core: by shape."""
        return gram_cost(self.rows, m)

    @property
    def curve_cost(self) -> float:
        """What `curve` costs, in ns of one core: by shape."""
        return curved_cost(self.rows)

    @lazy
    def norms2(self) -> np.ndarray:
        return R.norms2(self.rows)

    # -- a copy for full passes ----------------------------------------------------------------------------------

    def use_fast_copy(self, large: int | None = None, many: bool = True) -> None:
        """From now on read a smaller copy of the rows in full passes, if one repays its making.

        ``many``: dozens of passes are expected.
        """
        if "_fast_copy" not in self.__dict__:
            copy = best_copy(self.rows, "passes", times=np.inf if many else 1, least_values=large)
            if many or copy is not self.rows:
                self.__dict__["_fast_copy"] = copy

    @property
    def pass_rows(self) -> Any:
        """The rows as full passes read them."""
        return self.__dict__.get("_fast_copy", self.rows)

    @property
    def sum_length(self) -> float:
        """The most terms that `combine` adds one after the other."""
        return R.sum_length(self.rows)

    @property
    def base_length(self) -> float:
        """By how much the rows that passes read are longer than the rows, in the terms of a product."""
        return base_length(self.pass_rows)

    @property
    def sums_like_combine(self) -> bool:
        """Whether X'g of `loss_and_gradient` is as near to the exact sum as `combine` is."""
        return sums_like_combine(self.pass_rows)

    # -- vectors with an entry for each example ------------------------------------------------------------------

    def new_vector(self) -> np.ndarray:
        """A vector to be filled."""
        return np.empty(self.n)

    def equal_scores(self, z: float) -> np.ndarray:
        """The same score for each example."""
        return np.full(self.n, z)

    def sum(self, vector: np.ndarray) -> float:
        return float(vector.sum())

    def count(self, vector: np.ndarray) -> int:
        """The entries that are not 0."""
        return int(np.count_nonzero(vector))

    def above(self, vector: np.ndarray, share: float) -> np.ndarray:
        """The examples whose entry is above this share of the largest."""
        return vector > share * vector.max(initial=0.0)

    def masked(self, weights: np.ndarray, inside: np.ndarray | None, scale: float) -> np.ndarray:
        """scale x weights of the examples inside, 0 for the others."""
        if inside is None:
            return scale * weights
        found, numbers = np.zeros(self.n), np.flatnonzero(inside)
        found[numbers] = scale * weights[numbers]
        return found

    def weigh_norms2(self, weights: np.ndarray) -> float:
        """sum_i weights_i |x_i|^2"""
        return float(weights @ self.norms2)

    # -- matrices ------------------------------------------------------------------------------------------------

    def gram(
        self, weights: np.ndarray, inside: np.ndarray | None = None, tick: Tick = None, *, single: bool = False
    ) -> np.ndarray:
        """sum over the examples inside (None: all) of weights_i x_i x_i', the constant feature included.

        ``single``: the matrix may be summed in float32.
        """
        if inside is None:
            return R.gram(self.rows, weights, range(self.n), tick, single)
        m, step, few = int(np.count_nonzero(inside)), self.slice_rows, 3000  # examples that are numbered at once anyway
        every = m == inside.size  # no list of all, which would be fresh memory
        if inside.size <= step or m < few:
            return R.gram(self.rows, weights, range(m) if every else np.flatnonzero(inside), tick, single)
        matrix = np.zeros((self.d + 1, self.d + 1))
        for start in range(0, inside.size, step):
            numbers: np.ndarray | range = range(start, min(m, start + step))
            if not every:
                numbers = np.flatnonzero(inside[start : start + step]) + start
            matrix += R.gram(self.rows, weights, numbers, tick, single)
        return matrix

    def gram_of_sample(
        self, weights: np.ndarray, size: int, tick: Tick = None, *, single: bool = False
    ) -> tuple[np.ndarray, float]:
        """`gram` of ``size`` examples drawn at random, always the same ones, and the sum of their weights."""
        part = R.sample(self.n, size).copy()  # kernels are compiled for arrays that may be written to
        return R.gram(self.rows, weights, part, tick, single), float(weights[part].sum())

    def curve(self, weights: np.ndarray, p: np.ndarray, tick: Tick = None) -> np.ndarray:
        """X' diag(weights) X p"""
        return R.curved(self.pass_rows, weights, p, tick)

    def squares(self, weights: np.ndarray, tick: Tick = None) -> np.ndarray:
        """The diagonal of `gram` of all examples."""
        return R.squares(self.rows, weights, tick)

    # -- few examples, at hand -----------------------------------------------------------------------------------

    def take(self, weights: np.ndarray, inside: np.ndarray | None) -> Taken:
        """The examples inside, which are fewer than the features (None: all)."""
        numbers = np.arange(self.n) if inside is None else np.flatnonzero(inside)
        return Taken(R.take_rows(self.rows, numbers), weights[numbers], numbers)

    def products(self, tick: Tick = None) -> np.ndarray:
        """X X' of all examples, which are fewer than the features; the constant feature included."""
        return R.row_products(self.rows, np.arange(self.n), tick)
