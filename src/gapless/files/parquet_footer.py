"""How many rows and values a Parquet file declares, read from its footer without pyarrow.

The footer is a Thrift struct in the compact protocol; of it only these fields are looked at:

    FileMetaData.4 row_groups -> RowGroup.1 columns -> ColumnChunk.3 meta_data -> ColumnMetaData.5 num_values
                                 RowGroup.3 num_rows

pyarrow tells them too, but ends the process where the level histograms of a chunk do not fit its column.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple


class RowGroup(NamedTuple):
    """What a row group declares: its rows, and the values of each of its column chunks (0 where a chunk does not say)."""

    rows: int
    values: list[int]


def read_row_groups(path: str | os.PathLike[str]) -> list[RowGroup]:
    """The row groups that the footer lists. Raises ValueError where it is no footer; a longer one than the file is none."""
    with open(path, "rb") as stream:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(0, size - 8))
        end = stream.read(8)
        length = int.from_bytes(end[:4], "little")
        if len(end) < 8 or end[4:] != b"PAR1" or length > size - 8:
            raise ValueError("the file does not end with a Parquet footer")
        stream.seek(size - 8 - length)
        footer = _Thrift(stream.read(length))
    chunk: _Kept = {3: (_Type.struct, {5: (_Type.i64, None)})}
    try:
        groups = footer.struct({4: (_Type.list, {1: (_Type.list, chunk), 3: (_Type.i64, None)})}).get(4, [])
    except (IndexError, RecursionError):
        raise ValueError("the footer of the Parquet file ends within a field") from None
    return [RowGroup(group.get(3, 0), [chunk.get(3, {}).get(5, 0) for chunk in group.get(1, [])]) for group in groups]


class _Type:
    """Types of the compact protocol: a field of type 1 or 2 is true or false and has no bytes."""

    true, false, byte, i64, double, binary, list, set, map, struct = 1, 2, 3, 6, 7, 8, 9, 10, 11, 12


#: Field -> its type, and the fields of the structs in it that are kept.
_Kept = dict[int, tuple[int, Any]]


class _Thrift:
    """A reader of the compact protocol. Each method takes one value off the front; IndexError where the bytes end before it."""

    def __init__(self, content: bytes) -> None:
        self.content, self.at = content, 0

    def byte(self) -> int:
        self.at += 1
        return self.content[self.at - 1]

    def varint(self) -> int:
        value = self.byte()
        if value < 0x80:
            return value
        value, shift = value & 0x7F, 7
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value
            if shift > 63:
                raise ValueError("the footer of the Parquet file has a number of more than 64 bits")

    def skip(self, length: int) -> None:
        self.at += length
        if self.at > len(self.content):
            raise IndexError

    def struct(self, kept: _Kept) -> dict[int, Any]:
        found, field = {}, 0
        while header := self.byte():
            kind = header & 0x0F
            field = field + (header >> 4) if header >> 4 else _signed(self.varint())
            wanted = kept.get(field)
            if wanted is not None and wanted[0] == kind:
                found[field] = self.value(kind, wanted[1])
            elif kind not in (_Type.true, _Type.false):
                self.value(kind, None)
        return found

    def value(self, kind: int, kept: Any) -> Any:
        """One value. Structs keep the fields named in ``kept``; a value that nobody asked for is passed over."""
        if _Type.byte < kind < _Type.double:
            return _signed(self.varint())
        if kind <= _Type.byte:  # a truth value in a list has a byte of its own
            return self.byte()
        if kind == _Type.binary:
            return self.skip(self.varint())
        if kind == _Type.double:
            return self.skip(8)
        if kind in (_Type.list, _Type.set):
            header = self.byte()
            size = self.varint() if header >> 4 == 15 else header >> 4
            if kept is not None and header & 0x0F != _Type.struct:
                raise ValueError("the footer of the Parquet file lists row groups or columns of another type")
            return [self.value(header & 0x0F, kept) for _ in range(size)]
        if kind == _Type.map:
            size = self.varint()
            kinds = self.byte() if size else 0
            return [(self.value(kinds >> 4, None), self.value(kinds & 0x0F, None)) for _ in range(size)]
        if kind == _Type.struct:
            return self.struct(kept or {})
        raise ValueError(f"the footer of the Parquet file has a value of the unknown type {kind}")


def _signed(zigzag: int) -> int:
    return (zigzag >> 1) ^ -(zigzag & 1)
