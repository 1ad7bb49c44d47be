"""One door to all data files: the format by the name's ending, else by the first line."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np

from gapless.files.arrow import read_arrow
from gapless.files.csv.columns import Column, Request
from gapless.files.csv.read import read_csv
from gapless.files.dataset import Dataset, Labels
from gapless.files.expected import Expected
from gapless.files.npz import read_npz
from gapless.files.problems import check_file, data_error
from gapless.files.svmlight import looks_like_svmlight, read_svmlight

Format = Literal["auto", "csv", "parquet", "arrow", "svmlight", "npz"]


def read_data(
    path: str | os.PathLike[str],
    *,
    format: Format = "auto",
    target: Column | None = None,
    weights: Column | None = None,
    drop: Sequence[Column] = (),
    header: bool | None = None,
    zero_based: bool | None = None,
    labels: Labels = "required",
    expected: Expected | None = None,
    typed: bool = False,
    categories: Sequence[Column] = (),
    numbers: Sequence[Column] = (),
    decimal: str | None = None,
    date_order: str | None = None,
    missing: Sequence[str] = (),
    separator: str | None = None,
    encoding: str | None = None,
    dtype: Any = np.float64,
) -> Dataset:
    """Read a CSV, TSV, Parquet, Arrow, svmlight or npz file. A DataError names the file, line and column.

    Parameters
    ----------
    path : the file
    format : {"auto", "csv", "parquet", "arrow", "svmlight", "npz"}; "auto" looks at name and content
    target, weights : column of the labels, of the weights: a name, or a number from 0
    drop : columns to leave out
    header : whether the first line holds names; None looks at it
    zero_based : whether svmlight columns count from 0; None looks at them
    labels : {"required", "optional"}: whether a label column must be there
    expected : columns that a model wants, in its order
    typed : True reads categories, dates and missing values too
    categories : columns that are read as categories, whatever they hold
    numbers : columns that must hold numbers
    decimal : "." or ",": the sign before decimals
    date_order : "dmy" or "mdy", where the cells do not say which comes first
    missing : words that stand for no value
    separator : sign between cells; None finds it
    encoding : encoding of the text; None finds it
    dtype : float64 or float32
    """
    place = check_file(path)
    kind = format_of(place) if format == "auto" else format
    asked = Request(target, weights, drop, labels, expected, typed, categories, numbers, decimal, date_order, missing)
    if kind == "csv":
        return read_csv(place, header=header, separator=separator, encoding=encoding, dtype=dtype, **asked._asdict())
    if kind in ("parquet", "arrow"):
        return read_arrow(place, format=kind, dtype=dtype, **asked._asdict())
    named = [name for name in ("target", "weights") if getattr(asked, name) is not None]
    named += [name for name in ("drop", "categories", "numbers") if getattr(asked, name)]
    if named:
        raise data_error(f"{named[0]}= names a column of a CSV file; this is {kind}", place)
    if kind == "svmlight":
        return read_svmlight(place, zero_based=zero_based, labels=labels, expected=expected, dtype=dtype)
    if kind == "npz":
        return read_npz(place, labels=labels, expected=expected)
    raise ValueError(f"format={format!r} is not one of {', '.join(map(repr, get_args(Format)))}")


def format_of(path: str) -> Format:
    """The format by the ending of the name, else by what the file starts with."""
    endings: dict[str, Format] = {
        ".csv": "csv", ".tsv": "csv", ".npz": "npz", ".parquet": "parquet", ".pq": "parquet", ".arrow": "arrow",
        ".feather": "arrow", ".ipc": "arrow", ".svm": "svmlight", ".svmlight": "svmlight", ".libsvm": "svmlight",
    }  # fmt: skip
    magics: dict[bytes, Format] = {b"PK\x03\x04": "npz", b"PAR1": "parquet", b"ARROW1": "arrow"}
    by_name = endings.get(os.path.splitext(path)[1].lower())
    with open(path, "rb") as stream:
        start = stream.read(1 << 16)
    if by_name == "csv" and start.startswith(b"PK\x03\x04"):
        raise data_error("is a zip archive or an Excel workbook; export the sheet as CSV", path)
    if by_name is not None:
        return by_name
    for magic, kind in magics.items():
        if start.startswith(magic):
            return kind
    for line in start.decode("utf-8-sig", errors="replace").splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            return "svmlight" if looks_like_svmlight(line) else "csv"
    return "csv"
