"""Parquet, and Arrow's own files and streams (Feather), by pyarrow: the extra `data`."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from gapless.files.csv.columns import Request
from gapless.files.dataset import Dataset
from gapless.files.frames import from_frame
from gapless.files.memory import too_large
from gapless.files.parquet_footer import read_row_groups
from gapless.files.problems import check_file, data_error
from gapless.judge.errors import DataError


def read_arrow(
    path: str | os.PathLike[str], *, format: str = "parquet", dtype: Any = np.float64, **asked: Any
) -> Dataset:
    """Read a Parquet file (`format="parquet"`) or an Arrow file or stream (`"arrow"`); `asked` are the fields of `Request`."""
    place = check_file(path)
    try:
        import pyarrow as pa
    except ImportError:
        raise data_error(
            f"{format} files are read by pyarrow, which is not installed: pip install 'gapless[data]' (or save it as CSV)",
            place,
        ) from None
    try:
        table = _parquet(place, dtype) if format == "parquet" else _arrow(place)
        # Arrow trusts the offsets, lengths and codes of a file; a false one would be read outside its buffer.
        table.validate(full=True)
    except (pa.ArrowException, SystemError, ValueError, IndexError) as error:
        if isinstance(error, DataError):
            raise
        raise data_error(f"is not a readable {format} file ({_first_line(error)})", place) from None
    except MemoryError as error:
        raise data_error(f"declares more than memory can hold ({_first_line(error)})", place) from None
    except OSError as error:
        raise data_error(f"cannot be read ({_first_line(error)})", place) from None
    from narwhals.exceptions import NarwhalsError

    try:
        return from_frame(table, dtype=dtype, path=place, notes=(format,), **Request(**asked)._asdict())
    except (
        pa.ArrowException,
        NarwhalsError,
    ) as error:  # a type that has no meaning: a decimal of more places than digits
        raise data_error(f"holds what cannot be read as numbers and texts ({_first_line(error)})", place) from None


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]


def _parquet(place: str, dtype: Any) -> Any:
    import pyarrow.parquet as pq

    with pq.ParquetFile(place) as file:
        facts = file.metadata
        large = too_large(facts.num_rows, 2 * facts.num_columns, np.dtype(dtype).itemsize)  # the table and the matrix
        if large:
            raise data_error(large, place)
        groups = read_row_groups(place)
        short = any(values < group.rows for group in groups for values in group.values)
        if short or sum(group.rows for group in groups) != facts.num_rows:  # pyarrow would look for them for ever
            raise data_error("its parts do not have the rows that it declares", place)
        return file.read()


def _arrow(place: str) -> Any:
    import pyarrow as pa

    with pa.memory_map(place) as source:
        try:
            return pa.ipc.open_file(source).read_all()
        except pa.ArrowInvalid:
            source.seek(0)
            return pa.ipc.open_stream(source).read_all()
