"""One door to files that are too large for memory."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from gapless.files.blocks.arrow import ArrowBlocks
from gapless.files.blocks.npy import NpyBlocks
from gapless.files.blocks.npz import NpzBlocks
from gapless.files.blocks.text import CsvBlocks, SvmlightBlocks
from gapless.files.problems import check_file, data_error
from gapless.files.read import format_of


def read_blocks(path: str | os.PathLike[str], *, target: Any = None, weight: Any = None) -> Iterable[Any]:
    """The rows of a file in blocks, to be fitted without ever being in memory at once: ``LinearSVC().fit(read_blocks(...))``.

    The file is walked as often as a fit needs, its next block read while one is worked on. Features have to be numbers.

    Parameters
    ----------
    path : a .npy file of X (mapped, in C order), or an npz, Parquet, Arrow, CSV, TSV or svmlight file
    target : the labels or targets. npy: an array, a .npy file or the number of a column of X. npz: the name of an array ("y"
        where nothing is said). Tables: a column, by name or number; by default the one called y, label, target or class, else the
        last
    weight : the weights of the rows, in the same way; None: there are none
    """
    place = check_file(path)
    if place.lower().endswith(".npy"):
        return NpyBlocks(place, target, weight)
    kind = format_of(place)
    if kind == "npz":
        return NpzBlocks(place, target, weight)
    if kind in ("parquet", "arrow"):
        return ArrowBlocks(place, target, weight, kind)
    if kind == "svmlight":
        if target is not None or weight is not None:
            raise data_error("an svmlight file has its labels in front of each row, and no columns to name", place)
        return SvmlightBlocks(place)
    return CsvBlocks(place, target, weight)
