"""A CSV file in blocks of whole records: one thread at a time reads a block and cuts it into cells; what the cells say is scanned
side by side.

A block is small enough to stay in a core's cache, its memory is used for the next one, and each worker keeps the texts it knows:
memory that is touched for the first time costs as much as scanning it.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from gapless._runtime.threads import run_in_parts, thread_team
from gapless.files import text_blocks as blocks
from gapless.files.cells.cells import How, Tally
from gapless.files.cells.notation import MISSING, NOTHING, swapped
from gapless.files.csv import words as csv_words
from gapless.files.csv.codes import BYTE, END, KIND, PAD, WHOLE, Cells, Columns, Known
from gapless.files.csv.plain_scan import scanner
from gapless.files.csv.plan import Change, Plan, Problem, Table, column_of
from gapless.files.csv.scan_number import powers_of_five, powers_of_two
from gapless.files.problems import data_error
from gapless.files.text_blocks import Room, open_text

#: Bytes of one record: a longer one is a file that is no table.
LONGEST_RECORD_BYTES = 1 << 28


@lru_cache(maxsize=1)
def packed_words() -> np.ndarray:
    """The texts that stand for no value, each in a word of eight bytes."""
    return np.array([int.from_bytes(text.encode("ascii"), "little") for text in MISSING], dtype=np.uint64)


class _Block(NamedTuple):
    """What a block gave. What is wrong with it waits until all blocks before it are known to have nothing wrong."""

    number: int
    rows: int
    worker: int
    whole: bool  # labels are plain whole numbers
    problems: list[Problem]
    change: dict[int, int]

    @property
    def fine(self) -> bool:
        return not (self.problems or self.change)


def scan_blocks(plan: Plan, threads: int, rows: int, dtype: Any) -> Table | Change | Problem:
    """All blocks, by so many threads; or what is wrong with the first one that is not fine. `rows` is an estimate."""
    stream, _ = open_text(plan.path, plan.encoding, plan.end)
    with stream:
        source = _Source(stream, plan, rows, dtype)
        return _scan(source, max(1, min(threads, math.ceil(os.path.getsize(plan.path) / source.size))))


def walk_tables(plan: Plan, threads: int, dtype: Any, most_bytes: int) -> Iterator[Table | Change | Problem]:
    """The same for some rows after the other, of so many bytes of the file."""
    stream, _ = open_text(plan.path, plan.encoding, plan.end)
    rows = int(1.03 * most_bytes / max(plan.record, 1.0)) + 1000
    with stream:
        source = _Source(stream, plan, rows, dtype)
        while not source.ended:
            source.pause = source.offset + most_bytes
            found = _scan(source, threads)
            if not isinstance(found, Table) or len(found.X):
                yield found
            if not isinstance(found, Table):
                return
            source.make_rooms(rows)


def _scan(source: _Source, threads: int) -> Table | Change | Problem:
    """What a source gives until it ends, or pauses."""
    workers = [_Worker(k, source.plan, source) for k in range(threads)]
    if threads == 1:
        workers[0].run()
    else:
        with thread_team(threads):
            run_in_parts(lambda k: workers[k].run(), threads)
    for worker in workers:
        worker.leave()
    done = sorted(block for worker in workers for block in worker.done)
    for block in done:
        if not block.fine:
            return min(block.problems) if block.problems else Change(block.change)
    tallies: dict[int, Tally] = {}
    bad: dict[int, Problem] = {}
    for worker in workers:
        for column, tally in worker.tallies.items():
            tallies.setdefault(column, Tally()).add(tally)
        for column, first in worker.bad.items():
            bad[column] = min(first, bad.get(column, first))
    X = source.X.whole()
    return Table(
        X,
        source.extra.whole(),
        all(block.whole for block in done),
        [(block.rows, block.worker) for block in done],
        [_texts_of(worker.texts, source.plan) for worker in workers],
        tallies,
        bad,
    )


class _Task(NamedTuple):
    """A block that is cut into cells, and the room for its rows."""

    number: int
    offset: int  # what to add to a place in the buffer: bytes of the file before it
    begin: int
    end: int
    rows: int
    X: np.ndarray
    extra: np.ndarray
    wrong: int  # with the record behind the last row
    cells: int


class _Source:
    """Hands out the blocks in order, to one thread at a time."""

    def __init__(self, stream: Any, plan: Plan, rows: int, dtype: Any) -> None:
        few_rows = 128  # where records are long there are more bytes in a block: a column is worth beginning with for some rows
        self.stream, self.plan = stream, plan
        self.size = max(blocks.CELLS, min(int(few_rows * plan.record), 16 * blocks.CELLS))
        self.scanner = scanner(os.path.getsize(plan.path))
        self.dtype = dtype
        self.make_rooms(rows)
        self.pause: float = math.inf  # the place in the file from which on no block begins
        self.direct = np.dtype(dtype) == np.float64
        self.lock = threading.Lock()
        self.rest = b""
        self.number, self.offset = 0, 0
        self.ended = self.stopped = False  # by the end of the file, by a worker

    def make_rooms(self, rows: int) -> None:
        """Room for about so many rows."""
        self.X = Room(rows, len(self.plan.roles.features), self.dtype)
        self.extra = Room(rows, 1 if self.plan.roles.weights is None else 2, np.float64)

    def next(self, worker: _Worker) -> _Task | None:
        with self.lock:
            while not self.ended and not self.stopped and self.offset < self.pause:
                task = self._cut(worker)
                if task is not None:
                    return task
        return None

    def _cut(self, worker: _Worker) -> _Task | None:
        """The next block, into the worker's memory; None where it has no record."""
        plan, rest = self.plan, self.rest
        want = len(rest) + max(self.size, len(rest))  # after one long line: look for its end in larger steps
        if want > 2 * LONGEST_RECORD_BYTES:
            line = csv_words.line_at(plan, self.offset or plan.head)
            raise data_error(
                f"a record of more than {LONGEST_RECORD_BYTES >> 20} MB; is a quote opened and not closed?",
                plan.path,
                line,
            )
        worker.make_room(want)
        buffer = worker.buffer
        buffer[PAD : PAD + len(rest)] = np.frombuffer(rest, dtype=np.uint8)
        end = PAD + len(rest)
        with buffer.data as view:
            while end < PAD + want and (got := self.stream.readinto(view[end : PAD + want])):
                end += got
        last = self.ended = end < PAD + want
        begin = PAD
        mark = ord(plan.newline)
        if last and end > begin and buffer[end - 1] != mark:
            buffer[end] = mark
            end += 1
        if self.offset == 0:
            begin = min(begin + plan.head, end)
        rows, stop, wrong, cells = self.scanner.cut(
            buffer, begin, end, plan.kinds.size, ord(plan.separator), mark, last, worker.ends, worker.begins
        )
        self.rest = buffer[stop:end].tobytes()
        offset = self.offset - PAD
        if wrong != END.fine:
            self.ended = True
        elif rows == 0 and not last and stop == begin:  # no line end in it
            self.rest = buffer[PAD:end].tobytes()
            return None
        self.offset += stop - PAD
        if rows == 0 and wrong == END.fine:
            return None
        self.number += 1
        return _Task(self.number, offset, begin, stop, rows, self.X.take(rows), self.extra.take(rows), wrong, cells)


def _texts_of(known: Known, plan: Plan) -> list[list[str | None]]:
    """For each column of texts, what its codes stand for."""
    columns = plan.texts
    told: list[list[str | None]] = [[] for _ in columns]
    n, used = known.state.tolist()
    raw = known.pool[:used].tobytes()
    plain = raw.decode("ascii") if raw.isascii() else None
    missing = [NOTHING | plan.missing if plan.kinds[j] == KIND.text else () for j in columns]
    for begin, tag in known.words[:n, 3:5].tolist():
        rest, slot = divmod(tag, len(columns))
        end = begin + (rest >> 1)
        text = (plain[begin:end] if plain is not None else raw[begin:end].decode("utf-8")).strip()
        if rest & 1:
            text = text.replace('""', '"')
        told[slot].append(None if text in missing[slot] else text)
    return told


def _memory(size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For so many bytes, and where their cells end and their records begin: no more of them than bytes."""
    return np.empty(size, dtype=np.uint8), np.empty(size, dtype=np.uint32), np.empty(size, dtype=np.uint32)


_spare: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []


class _Worker:
    """Scans one block after the other."""

    def __init__(self, number: int, plan: Plan, source: _Source) -> None:
        self.number, self.plan, self.source = number, plan, source
        self.columns = Columns(plan.kinds, plan.place, len(plan.texts))
        self.texts = Known.of(self.columns.n_texts)
        self.done: list[_Block] = []
        self.tallies: dict[int, Tally] = {}
        self.bad: dict[int, Problem] = {}
        self.commas = plan.commas
        self.dated = [j for j, style in plan.styles.items() if style.kind == "date" and plan.kinds[j] == KIND.number]
        try:
            self.buffer, self.ends, self.begins = _spare.pop()
        except IndexError:  # others may read too: asking first would not do
            self.buffer, self.ends, self.begins = _memory(0)
        self.odd = np.empty((0, 4), dtype=np.uint32)

    def make_room(self, size: int) -> None:
        """For a block of so many bytes, a line end that is added and what is read for nothing."""
        if self.buffer.size < size + 2 * PAD + 1:
            usual_rest = size // 4  # bytes of a record that is not whole
            self.buffer, self.ends, self.begins = _memory(size + usual_rest + 2 * PAD + 1)

    def leave(self) -> None:
        """What was touched once is kept for the next file."""
        most_spare = 4
        if self.buffer.size <= 2 * blocks.CELLS and len(_spare) < most_spare:
            _spare.append((self.buffer, self.ends, self.begins))

    def run(self) -> None:
        try:
            while (task := self.source.next(self)) is not None:
                block = self._scan(task)
                self.done.append(block)
                if not block.fine:
                    self.source.stopped = True
        except BaseException:
            self.source.stopped = True  # the others need not go on
            raise

    def _scan(self, task: _Task) -> _Block:
        """One block by the compiled scanner; what it leaves open is read here."""
        plan, roles = self.plan, self.plan.roles
        X = task.X if self.source.direct else np.empty(task.X.shape)
        cells = task.rows * len(plan.numbers)
        if len(self.odd) < cells:
            self.odd = np.empty((cells + cells // 4, 4), dtype=np.uint32)
        facts = np.zeros(5, dtype=np.int64)
        if self.commas.any():
            self._swap(task)
        status = self._scan_columns(task, X, facts)
        problems: list[Problem] = []
        change: dict[int, int] = {}
        if status == END.too_many_texts:
            column = int(facts[3])
            if column == roles.label or column in plan.all_texts:
                problems.append(self._problem(task, int(facts[4]), column, csv_words.too_many(plan, column)))
            else:
                change[column] = KIND.skip
        whole = not facts[2]
        if facts[0] or self.dated:
            whole = self._odd_cells(task, X, int(facts[0]), problems, change) and whole
        label = task.extra[:, 0]
        if roles.label is not None and plan.kinds[roles.label] == KIND.number:
            huge = not whole and bool((np.abs(label) > WHOLE).any())
            if huge and not (self.buffer[task.begin : task.end] == BYTE.point).any():
                change[roles.label] = KIND.label  # what stands there is told by the text
        if facts[1] and not change:
            problems += self._absent(task, X)
        if roles.weights is not None and (task.extra[:, 1] < 0).any():
            i = int(np.argmax(task.extra[:, 1] < 0))
            problems.append(self._problem(task, i, roles.weights, f"the weight {task.extra[i, 1]:g} is negative"))
        if task.wrong:
            words = csv_words.wrong(plan, task.wrong, task.cells)
            problems.append(Problem(task.offset + task.end, -1, words))
        if not self.source.direct:
            task.X[:] = X
        return _Block(task.number, task.rows, self.number, whole, problems, change)

    def _scan_columns(self, task: _Task, X: np.ndarray, facts: np.ndarray) -> int:
        """The scanner's answer, after the texts that it knows got the room that they need."""
        cells, scan = Cells(self.buffer, self.ends, self.begins, task.rows), self.source.scanner
        packed = packed_words()
        while True:
            status = scan.scan_columns(
                cells, self.columns, X, task.extra, packed, self.odd, facts, self.texts, powers_of_five(), powers_of_two()
            )  # fmt: skip
            if status != END.full:
                return status
            n_words = len(self.texts.words)
            self.texts = self.texts.grow()
            if len(self.texts.words) > n_words:
                scan.place_texts(self.texts.table, self.texts.words, n_words)

    def _swap(self, task: _Task) -> None:
        """Points for commas and commas for points, where a column has decimal commas: the scanner knows points."""
        width = self.plan.kinds.size
        text = self.buffer[task.begin : task.end]
        places = np.flatnonzero((text == BYTE.comma) | (text == BYTE.point)) + task.begin
        ends = self.ends[: task.rows * width]
        cells = np.searchsorted(ends, places)
        inside = (cells < ends.size) & self.commas[cells % width]
        places, cells = places[inside], cells[inside]
        self.buffer[places[ends[cells] != places]] ^= BYTE.comma ^ BYTE.point

    def _problem(self, task: _Task, row: int, column: int, words: str) -> Problem:
        return Problem(task.offset + int(self.begins[row]), column, words)

    def _no_number(self, task: _Task, row: int, column: int, cell: str) -> Problem:
        first = task.offset + int(self.begins[row]) == 0
        return self._problem(task, row, column, csv_words.no_number(cell, self.plan, first))

    def _decoded(self, begin: int, end: int) -> str:
        return self.buffer[begin:end].tobytes().decode("utf-8")

    def _odd_cells(self, task: _Task, X: np.ndarray, n: int, problems: list[Problem], change: dict[int, int]) -> bool:
        """Number cells that Python has to read: each into its place, or what is wrong with it; whether labels are whole."""
        plan, roles = self.plan, self.plan.roles
        whole = True
        last, style, tally, into = -1, plan.style, Tally(), X[:, 0]
        odd = self.odd[:n]
        for row, column, begin, end in odd.tolist():
            if column != last:
                last, style, into = column, plan.style_of(column), column_of(plan, column, X, task.extra)
                tally = self.tallies.setdefault(column, Tally())
            token = self._decoded(begin, end).strip()
            token = swapped(token) if self.commas[column] else token
            value, how = tally.read(token, style)
            into[row] = value
            whole = whole and column != roles.label
            if how == How.infinite:
                problems.append(self._problem(task, row, column, csv_words.not_finite(token)))
            elif how == How.bad and column == roles.label:
                if not plan.regression:
                    change[column] = KIND.label
            elif how == How.bad or (
                how == How.missing and column != roles.label and (not plan.typed or column == roles.weights)
            ):
                problem = self._no_number(task, row, column, token)
                if plan.typed and column != roles.weights:
                    self.bad[column] = min(problem, self.bad.get(column, problem))
                else:
                    problems.append(problem)
        for column in self.dated:
            self._undated(column, column_of(plan, column, X, task.extra), odd)
        return whole

    def _undated(self, column: int, values: np.ndarray, odd: np.ndarray) -> None:
        """A plain number is no date."""
        plain = ~np.isnan(values)
        plain[odd[odd[:, 1] == column, 0]] = False
        tally = self.tallies.setdefault(column, Tally())
        for value in values[plain].tolist():
            tally.read(f"{value:g}", self.plan.style_of(column))
        values[plain] = np.nan

    def _absent(self, task: _Task, X: np.ndarray) -> list[Problem]:
        """The first missing value where there may be none: any feature of a table that is not typed, any weight."""
        plan, weights = self.plan, self.plan.roles.weights
        found: list[tuple[int, int]] = []
        if not plan.typed and np.isnan(X).any():
            i, k = (int(each[0]) for each in np.nonzero(np.isnan(X)))
            found.append((i, plan.roles.features[k]))
        if weights is not None and np.isnan(task.extra[:, 1]).any():
            found.append((int(np.argmax(np.isnan(task.extra[:, 1]))), weights))
        if not found:
            return []
        i, j = min(found)
        k = i * plan.kinds.size + j
        begin = int(self.begins[i] if j == 0 else self.ends[k - 1] + 1)
        cell = self._decoded(begin, int(self.ends[k])).strip()
        cell = cell[1:-1].strip() if cell[:1] == '"' else cell
        cell = swapped(cell) if self.commas[j] else cell
        return [self._no_number(task, i, j, cell)]
