"""What is said of a data file that cannot be read, and of many names at once."""

from __future__ import annotations

import os
import stat

from gapless.judge.errors import DataError


def data_error(
    problem: str, path: str | os.PathLike[str], line: int | None = None, column: str | int | None = None
) -> DataError:
    """A DataError whose text starts with the place: file, line, column."""
    place = os.fspath(path)
    if line is not None:
        place += f", line {line}"
    if column is not None:
        place += f", column {column}" if isinstance(column, int) else f", column {column!r}"
    return DataError(f"{place}: {problem}", file=os.fspath(path), line=line, column=column)


def check_file(path: str | os.PathLike[str]) -> str:
    """The path as text, if it is a file that has something in it."""
    # How files begin that are no data files, and what to do with them.
    magics = {
        b"\x1f\x8b": "is gzip-compressed; unpack it first",
        b"BZh": "is bzip2-compressed; unpack it first",
        b"\xfd7zXZ": "is xz-compressed; unpack it first",
        b"\x28\xb5\x2f\xfd": "is zstd-compressed; unpack it first",
        b"%PDF": "is a PDF, not a table; export the table as CSV",
        b"\x89PNG": "is a picture (PNG), not a table",
        b"\xff\xd8\xff": "is a picture (JPEG), not a table",
        b"\xd0\xcf\x11\xe0": "is an old Excel workbook; export the sheet as CSV",
        b"SQLite format 3": "is an SQLite database; export the table as CSV",
    }
    text = os.fspath(path)
    try:
        mode = os.stat(text).st_mode
        if stat.S_ISDIR(mode):
            raise data_error("is a directory; give the name of a data file in it", text)
        if not stat.S_ISREG(mode):
            raise data_error("is not a regular file", text)
        with open(text, "rb") as stream:
            start = stream.read(16)
    except ValueError as error:  # a path with a NUL byte
        if isinstance(error, DataError):
            raise
        raise data_error(f"not a usable path ({error})", text) from None
    except (FileNotFoundError, NotADirectoryError):
        raise data_error("no such file", text) from None
    except OSError as error:
        raise data_error(f"cannot be read ({error.strerror or error})", text) from None
    if not start:
        raise data_error("the file is empty", text)
    for magic, what in magics.items():
        if start.startswith(magic):
            raise data_error(what, text)
    return text


def undecodable(path: str, encoding: str | None = None) -> DataError:
    """The error for a file that is not in its encoding, with the first line that is not."""
    if encoding is not None:
        return data_error(f"is not {encoding} text", path)
    with open(path, "rb") as stream:
        for number, line in enumerate(stream, 1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                told = f"not UTF-8 text (byte 0x{line[error.start]:02x}); save the file as UTF-8, or say its encoding"
                return data_error(f"{told} (--encoding cp1252 is the usual one)", path, number)
    return data_error("not UTF-8 text", path)


def listed(names: list[str], most: int = 8) -> str:
    """'a', 'b', 'c' and 4 more."""
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
