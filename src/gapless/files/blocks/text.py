"""CSV tables of numbers and svmlight files, block by block, by the readers of whole files.

Texts take longer to read than to fit: the first walk puts the numbers into a file without a name, and later walks map that. Where
the disk has no room, each walk reads the texts again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from gapless._runtime.threads import available_cores
from gapless.backends.stream.source import Block, Blocks
from gapless.files.blocks.spool import Spool
from gapless.files.csv.blocks import walk_tables
from gapless.files.csv.columns import Request
from gapless.files.csv.levels import label_of, merge_texts
from gapless.files.csv.plan import Change, Problem
from gapless.files.csv.read import first_records, start_of
from gapless.files.csv.words import line_at
from gapless.files.problems import check_file, data_error
from gapless.files.svmlight import newline_of, scan_block
from gapless.files.text_blocks import open_text, records


class CsvBlocks(Blocks):
    """A CSV or TSV file whose features are numbers; labels are numbers or texts."""

    def __init__(self, path: Any, target: Any, weight: Any) -> None:
        self.name = check_file(path)
        asked = Request(target=target, weights=weight)
        found = first_records(self.name, None, None)
        self._plan = start_of(self.name, found, None, asked).plan
        names, roles = self._plan.names, self._plan.roles
        if names is not None:
            self.feature_names = np.array([names[j] for j in roles.features], dtype=object)
        self._spool = Spool()

    def __iter__(self) -> Iterator[Block]:
        return self._spool.walk(self._read)

    def _read(self) -> Iterator[Block]:
        plan, threads = self._plan, max(1, available_cores() - 1)
        for table in walk_tables(plan, threads, np.float64, self.block_bytes):
            if isinstance(table, Problem):
                whose = None if table.column < 0 else plan.name(table.column)
                raise data_error(table.words, plan.path, line_at(plan, table.offset), whose)
            if isinstance(table, Change):
                which = ", ".join(repr(plan.name(j)) for j in table.kinds)
                raise data_error(
                    f"the column {which} holds other than its first cells say, which a table in blocks may not: read_data reads "
                    "it in memory", plan.path,
                )  # fmt: skip
            y, kept, _ = label_of(plan, table, merge_texts(plan, table), 1, None, "required")
            if kept is not None:
                raise data_error("a row has no label", plan.path, column=plan.name(plan.roles.label or 0))
            weight = table.extra[:, 1].copy() if plan.roles.weights is not None else None
            yield Block(table.X, y, weight)


class SvmlightBlocks(Blocks):
    """An svmlight file: CSR blocks. The first walk reads all of it once more, to know how many columns there are."""

    def __init__(self, path: Any) -> None:
        self.name = check_file(path)
        self._known: tuple[bool, bool, int, int] | None = None
        self._spool = Spool()

    def __iter__(self) -> Iterator[Block]:
        return self._spool.walk(self._read)

    def _scanned(self, textual: bool) -> Iterator[Any]:
        line, newline = 0, newline_of(self.name)
        stream, _ = open_text(self.name)
        spare: deque[bytearray] = deque()
        with stream:
            for text in records(stream, self.block_bytes, spare, newline):
                block = scan_block(text, textual)
                if block.problem is not None:
                    raise data_error(block.problem[1], self.name, line + block.problem[0] + 1)
                if block.facts.unlabelled:
                    raise data_error("a row has no label", self.name)
                line += block.facts.lines
                spare.append(text.buffer)
                yield block

    def _columns(self) -> tuple[bool, bool, int, int]:
        """Whether labels are texts, or whole numbers, the first index, and the number of columns."""
        smallest, largest, textual, whole = 1, -1, False, True
        for block in self._scanned(False):
            if block.facts.entries:
                smallest, largest = min(smallest, block.facts.smallest), max(largest, block.facts.largest)
            textual = textual or bool(block.facts.no_number)
            whole = whole and not block.facts.not_whole
        base = 0 if smallest == 0 else 1
        if largest < base:
            raise data_error("there is no feature in the file", self.name)
        return textual, whole, base, largest + 1 - base

    def _read(self) -> Iterator[Block]:
        self._known = self._known or self._columns()
        textual, whole, base, width = self._known
        for block in self._scanned(textual):
            if not block.facts.rows:
                continue
            starts = np.concatenate(([0], block.ends)).astype(np.int32)
            indices = block.indices.astype(np.int32) - base
            X = sparse.csr_matrix((block.values.astype(np.float64), indices, starts), shape=(len(starts) - 1, width))
            labels: Any = np.array(block.texts, dtype=object) if textual else block.labels.copy()
            labels = labels.astype(np.int64) if whole and not textual else labels
            yield Block(X, labels)
