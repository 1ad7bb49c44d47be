"""A text file in blocks of whole records, read by as many threads as there are cores, in order and within bounded memory."""

from __future__ import annotations

import codecs
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, BinaryIO, NamedTuple, TypeVar

import numpy as np

from gapless.files.csv.scan_bytes import count_of

CELLS = 1 << 18  # bytes of one that is read column by column: it stays in a core's cache

T = TypeVar("T")
R = TypeVar("R")


def open_text(path: str, encoding: str | None = None, end: int | None = None) -> tuple[Any, str]:
    """A stream of UTF-8 bytes and the encoding of the file: by its byte-order mark, else `encoding`, else UTF-8. `end`: only
    so many bytes of the file."""
    marks = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
    stream = open(path, "rb", buffering=0)  # noqa: SIM115 (the caller closes it)
    try:
        start = stream.read(3)
        mark = next((mark for mark in marks if start.startswith(mark)), b"")
        found = marks.get(mark) or encoding or "utf-8"
        stream.seek(len(mark))
        if end is not None:
            stream = _Beginning(stream, end - len(mark))  # type: ignore[assignment]
        if codecs.lookup(found).name in ("utf-8", "ascii"):
            return stream, "utf-8"
        return _Transcoded(stream, found), codecs.lookup(found).name
    except BaseException:
        stream.close()
        raise


class _Wrapped:
    """A stream that is read otherwise than it stands."""

    stream: Any

    def close(self) -> None:
        self.stream.close()

    def __enter__(self) -> _Wrapped:
        return self

    def __exit__(self, *_: object) -> None:
        self.stream.close()


class _Beginning(_Wrapped):
    """The first bytes of a stream."""

    def __init__(self, stream: Any, size: int) -> None:
        self.stream, self.left = stream, size

    def read(self, size: int) -> bytes:
        found = bytes(self.stream.read(min(size, self.left)))
        self.left -= len(found)
        return found

    def readinto(self, view: memoryview) -> int:
        found = int(self.stream.readinto(view[: self.left]))
        self.left -= found
        return found


class _Transcoded(_Wrapped):
    """Any encoding, read as UTF-8."""

    def __init__(self, stream: BinaryIO, encoding: str) -> None:
        self.stream = stream
        self.decoder = codecs.getincrementaldecoder(encoding)()
        self.rest = b""

    def read(self, size: int) -> bytes:
        while len(self.rest) < size:
            chunk = self.stream.read(size)
            self.rest += self.decoder.decode(chunk, final=not chunk).encode("utf-8")
            if not chunk:
                break
        found, self.rest = self.rest[:size], self.rest[size:]
        return found

    def readinto(self, view: memoryview) -> int:
        found = self.read(len(view))
        view[: len(found)] = found
        return len(found)


def block_size(path: str, threads: int) -> int:
    """Of a small file each thread gets one block, a little more than its share, so that no rest makes another."""
    least, most, more = 1 << 19, 1 << 22, 1 << 16  # bytes
    return min(most, max(least, os.path.getsize(path) // threads + more))


class Text(NamedTuple):
    """Whole records: the bytes begin ... end of a buffer, which is used again when they are read."""

    buffer: bytearray
    begin: int
    end: int

    @property
    def array(self) -> np.ndarray:
        return np.frombuffer(self.buffer, dtype=np.uint8)[self.begin : self.end]

    def decoded(self, begin: int, end: int) -> str:
        return self.buffer[self.begin + begin : min(self.begin + end, self.end)].decode("utf-8")

    def count(self, mark: bytes) -> int:
        return int(count_of(self.array, mark[0]))

    def ends(self, mark: bytes) -> bool:
        return self.buffer.endswith(mark, self.begin, self.end)

    def line(self, at: int, mark: bytes = b"\n") -> str:
        """The line around a place."""
        at += self.begin
        begin = self.buffer.rfind(mark, self.begin, at) + 1 or self.begin
        end = self.buffer.find(mark, at, self.end)
        return self.buffer[begin : self.end if end < 0 else end].decode("utf-8")


def records(
    stream: Any,
    size: int,
    spare: deque[bytearray],
    newline: bytes = b"\n",
    end: Callable[[np.ndarray], int] | None = None,
) -> Iterator[Text]:
    """Blocks that end with a whole record, in buffers taken from `spare` if there are any. `end` says how many bytes are
    whole records where quotes occur."""
    rest: bytes | bytearray = b""
    while True:
        want = len(rest) + max(size, len(rest))  # after one long line: look for its end in larger steps
        buffer = spare.popleft() if spare else bytearray()
        if len(buffer) < want:  # room for the usual rest of a record, so that the next one fits again
            buffer = bytearray(max(want, size + size // 4))
        buffer[: len(rest)] = rest
        with memoryview(buffer) as view:
            got = stream.readinto(view[len(rest) : want])
        filled = len(rest) + got
        if not got:
            if filled:
                yield Text(buffer, 0, filled)
            return
        if end is not None and buffer.find(b'"', 0, filled) >= 0:
            cut = end(np.frombuffer(buffer, dtype=np.uint8)[:filled])
        else:
            cut = buffer.rfind(newline, 0, filled) + 1
        rest = bytes(memoryview(buffer)[cut:filled])
        if cut:
            yield Text(buffer, 0, cut)


def in_order(function: Callable[[T], R], items: Iterable[T], threads: int) -> Iterator[R]:
    """function(item) for each, side by side, in order; at most a few are under way."""
    waiting: deque[Future[R]] = deque()
    pool: ThreadPoolExecutor | None = None
    try:
        each = iter(items)
        first = next(each, None)
        second = next(each, None) if first is not None else None
        if first is None:
            return
        if second is None or threads < 2:
            yield function(first)
            del first
            if second is not None:
                yield function(second)
                del second
                yield from map(function, each)
            return
        pool = ThreadPoolExecutor(threads)
        waiting.extend((pool.submit(function, first), pool.submit(function, second)))
        del first, second
        for item in each:
            waiting.append(pool.submit(function, item))
            del item
            if len(waiting) > threads + 1:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        if pool is not None:
            pool.shutdown(cancel_futures=True)


def joined(parts: list[np.ndarray], dtype: Any = None) -> np.ndarray:
    """The parts in one array; each is let go as soon as it is copied, so that memory holds little more than one copy."""
    if len(parts) == 1 and (dtype is None or parts[0].dtype == dtype):
        whole = parts.pop()
        return whole if whole.base is None or whole.base.nbytes <= 1.25 * whole.nbytes else whole.copy()
    rows = sum(len(part) for part in parts)
    whole = np.empty((rows, *parts[0].shape[1:]), dtype=dtype or parts[0].dtype)
    at = 0
    parts.reverse()
    while parts:
        part = parts.pop()
        whole[at : at + len(part)] = part
        at += len(part)
    return whole


def _empty(rows: int, width: int, dtype: np.dtype) -> np.ndarray:
    """np.empty, on a boundary of huge pages where it is as large: the first touch of a page costs the same for any size, and for
    small ones it takes as long as all that is written there. numpy asks for huge ones from 4 MB on."""
    huge_page_bytes = 1 << 21  # bytes of a huge page
    size = rows * width * dtype.itemsize
    if size < huge_page_bytes:
        return np.empty((rows, width), dtype=dtype)
    raw = np.empty(size + huge_page_bytes, dtype=np.uint8)
    begin = -raw.__array_interface__["data"][0] % huge_page_bytes
    return raw[begin : begin + size].view(dtype).reshape(rows, width)


class Room:
    """One array for rows that come in blocks, in order: taken whole by an estimate, touched only where it is filled."""

    def __init__(self, rows: int, width: int, dtype: Any) -> None:
        self.arrays = [_empty(rows, width, np.dtype(dtype))]
        self.used = [0]  # rows of each array

    def take(self, rows: int) -> np.ndarray:
        """Room for the next rows."""
        last, used = self.arrays[-1], self.used[-1]
        if used + rows > len(last):
            last, used = _empty(max(rows, len(last) // 8), last.shape[1], last.dtype), 0
            self.arrays.append(last)
            self.used.append(0)
        self.used[-1] += rows
        return last[used : used + rows]

    def whole(self) -> np.ndarray:
        """All rows."""
        parts = [array[:used] for array, used in zip(self.arrays, self.used, strict=True)]
        self.arrays = []
        return parts[0] if len(parts) == 1 else joined(parts)
