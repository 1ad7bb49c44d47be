"""The scanners of data files."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gapless._warmup.samples import Samples
from gapless._warmup.step import Step
from gapless.files import scan_svmlight
from gapless.files.csv import scan_bytes, scan_cells, scan_columns
from gapless.files.csv.codes import PAD, Cells, Columns, Known
from gapless.files.csv.scan_number import powers_of_five, powers_of_two


def steps(samples: Samples) -> Iterator[Step]:
    """One step: each scanner reads a line."""
    commands_that_read = ("train", "tune", "predict", "verify", "bounds", "report", "demo")
    yield Step("readers of files", commands_that_read, _scan_text)


def _scan_text() -> None:
    powers = powers_of_five(), powers_of_two()
    lines = np.frombuffer(bytearray(b"1 1:2.5\n"), dtype=np.uint8)
    scan_svmlight.scan_svmlight(lines, *powers)
    scan_bytes.count_of(lines, 10)
    line = np.full(2 * PAD + 2, 10, dtype=np.uint8)
    line[PAD] = 49  # the digit 1
    ends, begins, odd = (np.empty(shape, dtype=np.uint32) for shape in (8, 8, (1, 4)))
    where = np.zeros(1, dtype=np.int64)
    scan_cells.cut(line, PAD, PAD + 2, 1, 44, 10, True, ends, begins)
    facts, X, known = np.zeros(5, dtype=np.int64), np.empty((1, 1)), Known.of(0)
    cells, columns = Cells(line, ends, begins, 1), Columns(np.ones(1, dtype=np.int8), where, 0)
    scan_columns.scan_columns(cells, columns, X, X, np.zeros(1, dtype=np.uint64), odd, facts, known, *powers)
    scan_columns.place_texts(known.table, known.words, 0)
    for dtype in (np.float64, np.float32):
        scan_columns.recode(np.zeros((1, 1), dtype=dtype), where, np.zeros(2), where + 1)
