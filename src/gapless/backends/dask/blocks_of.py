"""The blocks of Dask collections: which rows, labels and weights belong together, and how a task gets them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class BlockOf(NamedTuple):
    """Rows, labels and weights of a block: as `Lazy`, or as a task takes them."""

    X: Any
    y: Any
    weight: Any


class Made(NamedTuple):
    """A part of a graph that makes a block, inside the task that needs it; as bytes, in which no scheduler looks for tasks."""

    recipe: bytes

    def make(self) -> Any:
        import dask
        from distributed.protocol.pickle import loads

        return dask.get(*loads(self.recipe))


class Lazy(NamedTuple):
    """A block of a collection that nobody has computed."""

    delayed: Any
    persisted: bool

    def whole(self, client: Any, dask: Any) -> Any:
        """The block, here."""
        return dask.compute(self.delayed)[0] if client is None else client.compute(self.delayed).result()

    def for_tasks(self, client: Any) -> Any:
        """A future where the block is persisted, or can be made only from much that would travel; else how to make it."""
        most_bytes = 1 << 20  # of a graph: what is larger holds data, which belong to the workers once and for all
        if self.persisted:
            return client.compute(self.delayed)
        made = Made(_recipe(self.delayed))
        return made if len(made.recipe) <= most_bytes else client.compute(self.delayed)


class Given(NamedTuple):
    """A part of an array in memory."""

    values: Any

    def whole(self, client: Any, dask: Any) -> Any:
        return self.values

    def for_tasks(self, client: Any) -> Any:
        return client.scatter([self.values])[0] if self.values is not None else None


def blocks_of_collection(X: Any, y: Any, sample_weight: Any) -> list[BlockOf]:
    """The blocks of X with those of y and of the weights; ValueError where these are cut otherwise."""
    rows, held = _delayed_rows(X), _is_persisted(X)
    sizes = _sizes(X)
    found = []
    for name, given in (("y", y), ("sample_weight", sample_weight)):
        if given is None:
            if name == "y":
                raise ValueError("y is None: a Dask collection of labels or targets is asked for, cut as X is")
            found.append([None] * len(rows))
            continue
        found.append(_beside(given, name, sizes, len(rows)))
    return [BlockOf(Lazy(row, held), *parts) for row, *parts in zip(rows, *found, strict=True)]


def _is_persisted(collection: Any) -> bool:
    """Whether workers hold parts of it, which its graph names."""
    try:
        from distributed import futures_of
    except ImportError:
        return False
    return bool(futures_of(collection))


def _delayed_rows(X: Any) -> list[Any]:
    if hasattr(X, "numblocks"):  # an array
        if X.ndim != 2:
            raise ValueError(f"X has {X.ndim} dimensions; it needs 2 (rows, features)")
        if X.numblocks[1] > 1:
            X = X.rechunk({1: -1})
        return list(X.to_delayed().ravel())
    return list(X.to_delayed())


def _sizes(X: Any) -> list[int] | None:
    """The rows of each block; None where they are not known before the blocks are."""
    if not hasattr(X, "numblocks") or any(np.isnan(size) for size in X.chunks[0]):
        return None
    return [int(size) for size in X.chunks[0]]


def _beside(given: Any, name: str, sizes: list[int] | None, blocks: int) -> list[Any]:
    if not hasattr(given, "__dask_graph__"):
        values = given.to_numpy() if hasattr(given, "to_numpy") else np.asarray(given)
        if sizes is None or len(values) != sum(sizes):
            known = "the sizes of the blocks of X are not known" if sizes is None else f"X has {sum(sizes)} rows"
            raise ValueError(
                f"{name} is an array of {len(values)} in memory, and {known}: give a collection cut as X is"
            )
        return [Given(part) for part in np.split(values, np.cumsum(sizes)[:-1])]
    if hasattr(given, "numblocks"):
        own = _sizes(given)
        if given.ndim > 1 and given.numblocks[1] > 1:
            given = given.rechunk({1: -1})
        if sizes is not None and own is not None and sizes != own:
            given = given.rechunk({0: tuple(sizes)})
        parts = list(given.to_delayed().ravel())
    else:
        parts = list(given.to_delayed())
    if len(parts) != blocks:
        raise ValueError(f"X has {blocks} blocks and {name} has {len(parts)}: cut them alike (rechunk, repartition)")
    held = _is_persisted(given)
    return [Lazy(part, held) for part in parts]


def columns_of(X: Any) -> Any:
    """Names of the columns of a data frame; None of an array."""
    names = list(getattr(X, "columns", []))
    return np.array(names, dtype=object) if names and all(isinstance(name, str) for name in names) else None


def _recipe(delayed: Any) -> bytes:
    """What makes this block and nothing else: a graph and a key."""
    import dask
    from dask._task_spec import convert_legacy_graph
    from distributed.protocol.pickle import dumps

    (small,) = dask.optimize(delayed)
    tasks, key = convert_legacy_graph(dict(small.__dask_graph__())), small.__dask_keys__()[0]
    wanted: dict[Any, Any] = {}
    waiting = [key]
    while waiting:
        name = waiting.pop()
        if name not in wanted:
            wanted[name] = tasks[name]
            waiting += list(tasks[name].dependencies)
    found: bytes = dumps((wanted, key))
    return found
