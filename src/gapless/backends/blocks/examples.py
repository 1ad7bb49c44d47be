"""The verbs that problems of one and of several scores over blocks have in common. See `problems/examples/protocol`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gapless import rows as R
from gapless.backends.blocks import work_linear as work
from gapless.backends.blocks.walk import InBlocks, Job, Shape, Spec, Tick, Walk
from gapless.problems.examples.over_rows import Taken


class OverBlocks:
    """n examples in the blocks of a walk. ``base`` are the vectors of which ``spec`` makes the problem of a block; one is c."""

    one_by_one = False
    sums_like_combine = False

    def __init__(self, walk: Walk, spec: Spec, base: tuple[InBlocks, ...], *, offset: str, shape: Shape) -> None:
        self.walk, self.spec, self.base, self.offset, self.shape = walk, spec, base, offset, shape
        self.n, self.d = sum(walk.sizes), walk.d
        self.free = offset == "free"
        self.steps_at_once = walk.steps_at_once

    # -- jobs ----------------------------------------------------------------------------------------------------

    def ask(self, wants: str, do: Callable[..., Any], args: tuple[Any, ...], more: dict[str, Any]) -> list[Any]:
        """What is wanted of a function on each block, and the new vectors. ``more``: over, makes, rows, tick."""
        job = Job(do, self.spec, args, more.get("makes", 0), more.get("rows", False), wants)
        return self.walk.each(job, self.base, more.get("over", ()), more.get("tick"))

    def each(self, do: Callable[..., Any], *args: Any, **more: Any) -> Any:
        """The results in the order of the blocks; before new vectors, where it ``makes`` some."""
        found = self.ask("each", do, args, more)
        return found if more.get("makes") else found[0]

    def add(self, do: Callable[..., Any], *args: Any, **more: Any) -> Any:
        """The sum of the results in the order of the blocks; before new vectors."""
        found = self.ask("sum", do, args, more)
        return found if more.get("makes") else found[0]

    def make(self, do: Callable[..., Any], *args: Any, **more: Any) -> Any:
        """A new vector, which nobody waits for."""
        return self.ask("nothing", do, args, {**more, "makes": 1})[1]

    # -- shape ---------------------------------------------------------------------------------------------------

    # Each pass also reads the rows: 1 GB/s of float32 values.
    read_cost = 4.0  #: ns a value

    @property
    def sparse(self) -> bool:
        return self.shape.sparse

    @property
    def stored(self) -> int:
        return self.shape.stored

    @property
    def pass_stored(self) -> int:
        return self.shape.stored

    @property
    def curve_cost(self) -> float:
        return self.shape.curve_cost + self.read_cost * self.stored

    @property
    def sum_length(self) -> float:
        return self.shape.sum_length

    @property
    def base_length(self) -> float:
        return self.shape.base_length

    def gram_cost(self, m: int) -> float:
        return self.shape.gram_cost * m / max(1, self.n) + self.read_cost * self.stored

    def use_fast_copy(self, large: int | None = None, many: bool = True) -> None:
        """Blocks are read as they are."""

    # -- vectors -------------------------------------------------------------------------------------------------

    def new_vector(self) -> None:
        """Nothing: a vector is made when it is known."""

    def equal_scores(self, z: float) -> InBlocks:
        return self.make(work.equal_scores, z)

    def zero_dual(self) -> InBlocks:
        found = self.make(work.zero_dual)
        found.known.update(sum=0.0)
        return found

    def _knows(self, v: InBlocks, name: str, found: Callable[[], Any]) -> Any:
        if name not in v.known:
            v.known[name] = found()
        return v.known[name]

    def sum(self, v: InBlocks) -> float:
        return self._knows(v, "sum", lambda: self.add(work.total, over=(v,)))

    def count(self, v: InBlocks) -> int:
        return self._knows(v, "count", lambda: self.add(work.count, over=(v,)))

    def above(self, v: InBlocks, share: float) -> InBlocks | None:
        """None where all are."""

        low, high = self._knows(v, "ends", lambda: self.add(work.ends_of, over=(v,)))
        threshold = share * max(0.0, high)
        if low > threshold:
            return None
        count, found = self.add(work.above, threshold, over=(v,), makes=1)
        found.known["count"] = count
        return found

    def masked(self, weights: InBlocks, inside: InBlocks | None, scale: float) -> InBlocks:
        return self.make(work.masked, scale, over=(weights, inside))

    def weigh_norms2(self, weights: InBlocks) -> float:
        return self.add(work.weigh_norms2, over=(weights,))

    # -- sums over rows ------------------------------------------------------------------------------------------

    def combine(self, u: InBlocks, tick: Tick = None) -> np.ndarray:
        return self._knows(u, "combined", lambda: self.add(work.combine, over=(u,), rows=True, tick=tick)).copy()

    def curve(self, weights: InBlocks, p: np.ndarray, tick: Tick = None) -> np.ndarray:
        return self.add(work.curve, p, over=(weights,), rows=True, tick=tick)

    def squares(self, weights: InBlocks, tick: Tick = None) -> np.ndarray:
        return self.add(work.squares, over=(weights,), rows=True, tick=tick)

    def gram(
        self, weights: InBlocks, inside: InBlocks | None = None, tick: Tick = None, *, single: bool = False
    ) -> np.ndarray:
        if inside is not None and weights is self.c and inside.known.get("gram") is not None:
            return inside.known.pop("gram")
        return self.add(work.gram, single, over=(weights, inside), rows=True, tick=tick)

    def gram_of_sample(
        self, weights: InBlocks, size: int, tick: Tick = None, *, single: bool = False
    ) -> tuple[np.ndarray, float]:
        share = size / self.n * 1e9
        return self.add(work.gram_of_sample, share, single, over=(weights,), rows=True, tick=tick)

    def take(self, weights: InBlocks, inside: InBlocks | None) -> Taken:
        found = self.each(work.products_of_take, over=(weights, inside), rows=True)
        starts = np.cumsum([0, *self.walk.sizes])
        numbers = np.concatenate([f[2] + start for f, start in zip(found, starts)])
        return Taken(stack([f[0] for f in found]), np.concatenate([f[1] for f in found]), numbers)

    def products(self, tick: Tick = None) -> np.ndarray:
        """X X' of all examples, which are fewer than the features."""
        part = self.take(self.c, None).rows
        return R.row_products(part, np.arange(self.n), tick)

    def scores(self, theta: np.ndarray, tick: Tick = None, out: Any = None) -> InBlocks:
        found = self.make(work.scores, theta, rows=True, tick=tick)
        if not isinstance(out, InBlocks):
            return found
        out.parts, out.known = (
            found.parts,
            {},
        )  # whoever has it sees the new scores, as of an array that is written over
        return out

    def fetch(self, v: InBlocks) -> np.ndarray:
        """The whole vector, here."""
        return self.walk.fetch(v)

    @property
    def c(self) -> InBlocks:
        return self.base[1]


def stack(parts: list[Any]) -> R.Rows:
    """Rows of several blocks in one."""
    first = parts[0]
    if not R.is_sparse(first):
        return R.DenseRows(np.concatenate([part.values for part in parts]), first.constant)
    lengths = np.concatenate([np.diff(part.indptr) for part in parts])
    kind = np.int32 if lengths.sum(dtype=np.int64) < 2**31 else np.int64
    indptr = np.zeros(lengths.size + 1, kind)
    np.cumsum(lengths, out=indptr[1:])
    used = [slice(int(part.indptr[0]), int(part.indptr[-1])) for part in parts]
    values = np.concatenate([part.values[s] for part, s in zip(parts, used)])
    indices = np.concatenate([part.indices[s] for part, s in zip(parts, used)]).astype(kind, copy=False)
    return R.CsrRows(values, indices, indptr, first.n_features, first.constant)
