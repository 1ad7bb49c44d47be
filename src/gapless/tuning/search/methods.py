"""Where to look: each method is a generator that yields candidates of a lattice and is sent back when they are scored.

    grid        all of them
    random      some, drawn without repetition
    bisection   one parameter after the other: five values spread over its axis, then halves of the distance around the best two
    bayes       a Gaussian process with expected improvement (`bayes`)

What they see are scores of candidates, and nothing else; the same scores and the same seed give the same way.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from typing import Any

import numpy as np

from gapless._runtime.written import written

from .gaussian_process import search
from .lattice import Lattice

#: A method: (lattice, score of a scored candidate, most candidates, seed) -> candidates to score next, until it ends.
Method = Generator[list[int], None, None]
Score = Callable[[int], float]


def budget(lattice: Lattice, n_iter: int | None) -> int:
    """The number of candidates that `random` and `bayes` may visit: ``n_iter``, or a quarter of all, at most 60."""
    if n_iter is None:
        return min(60, max(1, math.floor(0.25 * len(lattice))))
    if isinstance(n_iter, bool) or not isinstance(n_iter, int | np.integer) or n_iter < 1:
        raise ValueError(f"n_iter must be a whole number of at least 1; got {written(n_iter)}")
    return min(int(n_iter), len(lattice))


def grid(lattice: Lattice, score: Score, most: int, seed: int) -> Method:
    yield list(lattice)


def random(lattice: Lattice, score: Score, most: int, seed: int) -> Method:
    chosen = np.random.default_rng(seed).choice(len(lattice), size=most, replace=False)
    yield sorted(int(k) for k in chosen)


def bisection(lattice: Lattice, score: Score, most: int, seed: int) -> Method:
    """Axis by axis, from the middle, until a round changes nothing; equal scores go to the smaller number."""
    if len(lattice.parts) != 1 or not all(axis.ordered for axis in lattice.parts[0].axes):
        raise ValueError("method='bisection' needs one grid whose values are numbers; use 'grid' or 'bayes'")
    shape = lattice.parts[0].shape
    here = [n // 2 for n in shape]
    for _ in range(8):
        before = list(here)
        for axis, length in enumerate(shape):

            def at(i: int, axis: int = axis) -> int:
                return lattice.number(0, [*here[:axis], i, *here[axis + 1 :]])

            step = max(1, 2 ** math.floor(math.log2(max(1, (length - 1) / 4))))
            looked = {*range(0, length, step), length - 1, here[axis]}
            yield [at(i) for i in sorted(looked)]
            while step > 1:
                step //= 2
                best, second = _best_two(looked, lambda i: score(at(i)))
                around = (best - step, best + step, second - step, second + step)
                new = sorted({i for i in around if 0 <= i < length} - looked)
                looked.update(new)
                if new:
                    yield [at(i) for i in new]
            here[axis], _ = _best_two(looked, lambda i: score(at(i)))
        if here == before or len(shape) == 1:
            return


def _best_two(looked: set[int], score: Callable[[int], float]) -> tuple[int, int]:
    """The place with the highest score (the middle one of equal places), and the second best place, which on a coarse lattice may
    be the side of the higher hill."""
    places = sorted(looked)
    values = np.array([score(i) for i in places])
    values = np.where(np.isnan(values), -np.inf, values)
    top = np.flatnonzero(values == values.max())
    best = int(top[(top.size - 1) // 2])
    values[best] = -np.inf
    return places[best], places[int(np.argmax(values))]


METHODS: dict[str, Callable[[Lattice, Score, int, int], Any]] = {
    "grid": grid,
    "random": random,
    "bisection": bisection,
    "bayes": search,
}
