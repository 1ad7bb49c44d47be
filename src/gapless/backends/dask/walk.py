"""The walk over blocks that the workers of a Dask cluster hold or make: X stays there, sums come here.

A job is one task for each block, beside the block's own vectors, which are futures. Its results are added by groups of eight
blocks where they lie, and the groups in their order here: any number of workers gives the same bits. Nothing that a task is given
is written to, so that the scheduler may compute again what a lost worker held.

Blocks that are persisted are used where they are. Others are made anew in each task that reads rows, from their own part of the
graph: workers need memory for the blocks that they work on, not for X.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from gapless._runtime.threads import one_blas_thread, thread_team
from gapless.backends.blocks.survey import BlockFacts, Surveyed, refuse_unequal, survey
from gapless.backends.blocks.walk import InBlocks, Job, Tick, Total
from gapless.backends.dask.blocks_of import BlockOf, Made, blocks_of_collection, columns_of
from gapless.backends.stream.source import Block, Blocks, as_rows_of_block
from gapless.backends.stream.walk import StreamWalk


class Part(NamedTuple):
    """One entry of what a task returned; without a task an object that was made here."""

    task: Any
    place: Any


def walk_of_collections(X: Any, y: Any, sample_weight: Any) -> Any:
    """The walk over collections: by the workers of the client in reach, else by this process, block after block."""
    client = client_in_reach()
    if client is None:
        walk = StreamWalk(blocks_of_collections(X, y, sample_weight))
        walk.takes_labels = True
        return walk
    return DaskWalk(client, X, y, sample_weight)


def client_in_reach() -> Any:
    """The client of this process, or of the task that runs here; None where there is none."""
    try:
        from distributed import get_client
    except ImportError:
        return None
    try:
        return get_client()
    except ValueError:
        return None


def blocks_of_collections(X: Any, y: Any, sample_weight: Any) -> Blocks:
    return CollectedBlocks(X, y, sample_weight)


class CollectedBlocks(Blocks):
    """The blocks of collections, one after the other here."""

    def __init__(self, X: Any, y: Any, sample_weight: Any) -> None:
        self.feature_names = columns_of(X)
        self._blocks = blocks_of_collection(X, y, sample_weight)

    def __iter__(self) -> Iterator[Block]:
        import dask

        client = client_in_reach()
        for block in self._blocks:
            parts = [None if part is None else part.whole(client, dask) for part in block]
            yield Block(as_rows_of_block(parts[0]), parts[1], parts[2])


class DaskWalk:
    """See `backends/blocks/walk.Walk`."""

    takes_labels = True
    steps_at_once = 33  # lengths: an answer costs a round
    backend = "dask"
    group = 8  #: blocks whose results are added by the workers

    def __init__(self, client: Any, X: Any, y: Any, sample_weight: Any) -> None:
        self.client, self.feature_names = client, columns_of(X)
        self._blocks = [
            BlockOf(*(None if part is None else part.for_tasks(client) for part in block))
            for block in blocks_of_collection(X, y, sample_weight)
        ]
        self.sizes: Sequence[int] = ()
        self.d = 0
        self.most_sampled = 0.0
        self._kept: InBlocks | None = None
        self.rounds = self.passes = 0
        self._number = itertools.count()
        self._name = f"gapless-{id(self):x}-{np.random.SeedSequence().entropy:x}"

    def _submit(self, function: Any, *args: Any, at: Any = None, **more: Any) -> Any:
        key = f"{function.__name__}-{self._name}-{next(self._number)}"
        if at is not None:
            more |= {"workers": at, "allow_other_workers": True}
        return self.client.submit(function, *args, key=key, pure=False, **more)

    # -- the first walk ------------------------------------------------------------------------------------------

    def survey(self, classify: bool, tick: Tick) -> Surveyed:
        """The first walk: what the blocks are. Neighbours go to the same worker where they are not anywhere yet."""
        workers = sorted(self.client.scheduler_info(n_workers=-1)["workers"])
        groups = -(-len(self._blocks) // self.group)
        tasks = []
        for k, block in enumerate(self._blocks):
            at = workers[(k // self.group) * len(workers) // groups] if workers else None
            made = isinstance(block.X, Made)
            tasks.append(self._submit(survey_task, k, *block, classify, at=[at] if made and at else None))
        facts: list[BlockFacts] = self._results([self._submit(first_of, task) for task in tasks], tick)
        self._unwanted_empty(facts)
        refuse_unequal(facts)
        self.sizes, self.d = [f.rows for f in facts], facts[0].columns
        many, size = sum(f.rows for f in facts), sum(f.bytes for f in facts)
        # A start from some rows brings them here: 16 MB, or four thousandths of X.
        self.most_sampled = max(1 << 24, 0.004 * size) / max(1.0, size / many)
        return Surveyed(facts, *(InBlocks([Part(task, place) for task in tasks]) for place in (1, 2, 3)))

    def _unwanted_empty(self, facts: list[BlockFacts]) -> None:
        """Blocks without rows (partitions that a filter has emptied) need not agree with the others."""
        for k, f in enumerate(facts):
            whole = next((other for other in facts if other.rows), None)
            if not f.rows and whole is not None and f.columns == whole.columns:
                facts[k] = f._replace(single=whole.single, sparse=whole.sparse, targets=whole.targets)

    def count_only(self, kept: InBlocks, sizes: Sequence[int]) -> None:
        self._kept, self.sizes = kept, sizes

    # -- jobs ----------------------------------------------------------------------------------------------------

    def each(self, job: Job, base: Sequence[InBlocks], vectors: Sequence[InBlocks | None], tick: Tick) -> list[Any]:
        self.rounds += job.wants != "nothing"
        self.passes += job.rows
        tasks = []
        for k, block in enumerate(self._blocks):
            parts = [v.parts[k] for v in base] + [None if v is None else v.parts[k] for v in vectors]
            kept = self._kept.parts[k] if job.rows and self._kept is not None else None
            which = [None if part is None else part.task for part in (kept, *parts)]
            places = [None if part is None else part.place for part in (kept, *parts)]
            X = block.X if job.rows else None
            tasks.append(self._submit(run_task, job, len(base), X, places, *which))
        made = [InBlocks([Part(task, place) for task in tasks]) for place in range(1, job.makes + 1)]
        if job.wants == "nothing":
            return [None, *made]
        found = [self._submit(first_of, task) for task in tasks]
        if job.wants == "each":
            return [self._results(found, tick), *made]
        total = Total()
        few = 32  # blocks whose results may come here one by one: a round less
        if len(found) <= few:
            for result in self._results(found, tick):
                total.put(result)
            return [total.get(), *made]
        cut = [found[k : k + self.group] for k in range(0, len(found), self.group)]
        for part in self._results([self._submit(added, *group) for group in cut], tick):
            total.join(part)
        return [total.get(), *made]

    def _results(self, futures: list[Any], tick: Tick) -> list[Any]:
        """What tasks return; while they run the clock and Ctrl-C are looked at."""
        from distributed import wait

        while True:
            try:
                wait(futures, timeout=0.1)
                break
            except TimeoutError:
                if tick is not None:
                    tick()
        found: list[Any] = self.client.gather(futures)
        return found

    # -- vectors -------------------------------------------------------------------------------------------------

    def place(self, parts: Sequence[np.ndarray]) -> InBlocks:
        return InBlocks([Part(None, part) for part in parts])

    def fetch(self, vector: InBlocks) -> np.ndarray:
        tasks = [self._submit(entry_of, part.task, part.place) for part in vector.parts]
        return np.concatenate(self._results(tasks, None))

    def with_dual(self, arrays: dict[str, np.ndarray], duals: Sequence[InBlocks], sizes: Sequence[int]) -> Any:
        """The dual points stay with the workers until somebody asks for them."""
        return RemoteArrays(arrays, self, list(duals), list(sizes), self._kept)


class RemoteArrays(Mapping[str, np.ndarray]):
    """The arrays of a certificate, of which ``dual`` comes from the workers when it is asked for."""

    stays = True  #: a certificate keeps this mapping, and no copy

    def __init__(
        self, arrays: dict[str, np.ndarray], walk: Any, duals: list[InBlocks], sizes: list[int], kept: InBlocks | None
    ) -> None:
        self._arrays, self._remote = arrays, (walk, duals, sizes, kept)

    def __getitem__(self, name: str) -> np.ndarray:
        if name == "dual" and name not in self._arrays:
            walk, duals, sizes, kept = self._remote
            wanted = None if kept is None else kept.parts
            tasks = [
                walk._submit(
                    line_task, [u.parts[k].place for u in duals], size, None if wanted is None else wanted[k].place,
                    None if wanted is None else wanted[k].task, *(u.parts[k].task for u in duals),
                )
                for k, size in enumerate(sizes)
            ]  # fmt: skip
            self._arrays[name] = np.concatenate(walk._results(tasks, None), axis=1)
        return self._arrays[name]

    def __iter__(self) -> Iterator[str]:
        return iter([*(name for name in self._arrays if name != "dual"), "dual"])

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __reduce__(self) -> Any:
        return dict, ({name: self[name] for name in self},)


# -- what runs on a worker ---------------------------------------------------------------------------------------------


def _rows(X: Any) -> Any:
    return as_rows_of_block(X.make() if isinstance(X, Made) else X)


def survey_task(number: int, X: Any, y: Any, weight: Any, classify: bool) -> tuple[Any, ...]:
    rows = _rows(X)
    y, weight = (part.make() if isinstance(part, Made) else part for part in (y, weight))
    with one_blas_thread(), thread_team(1), np.errstate(all="ignore"):
        return survey(number, rows, y, weight, classify)


def run_task(job: Job, n_base: int, X: Any, places: list[Any], *tasks: Any) -> tuple[Any, ...]:
    """The job of one block. ``places`` says where in what tasks returned the parts of vectors are."""
    kept, *parts = (place if task is None else task[place] for task, place in zip(tasks, places, strict=True))
    rows = None
    if X is not None:
        rows = _rows(X)
        rows = rows if kept is None else rows[kept]
    with one_blas_thread(), thread_team(1), np.errstate(all="ignore"):
        return job.work(job.spec.build(rows, *parts[:n_base]), *job.args, *parts[n_base:])


def first_of(found: tuple[Any, ...]) -> Any:
    return found[0]


def entry_of(found: tuple[Any, ...], place: int) -> Any:
    return found[place]


def added(*results: Any) -> Total:
    total = Total()
    for each in results:
        total.put(each)
    return total


def line_task(places: list[int], size: int, kept_place: Any, kept: Any, *tasks: Any) -> np.ndarray:
    """The dual points of a block, a line each, with 0 for the rows that do not count."""
    lines = []
    for task, place in zip(tasks, places, strict=True):
        u = task[place]
        lines += [u] if u.ndim == 1 else list(u.T)
    whole = np.zeros((len(lines), size))
    counted = None if kept is None else kept[kept_place]
    whole[:, slice(None) if counted is None else counted] = np.array(lines)
    return whole
