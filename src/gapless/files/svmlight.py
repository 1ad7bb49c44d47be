"""svmlight / LIBSVM text: `label index:value index:value # comment`, one row a line; the result is CSR."""

from __future__ import annotations

import os
import re
from collections import deque
from typing import Any, NamedTuple

import numpy as np

from gapless._runtime.threads import available_cores
from gapless.files.cells.labels import as_labels, strict_float
from gapless.files.csv.codes import BYTE, END
from gapless.files.csv.scan_number import powers_of_five, powers_of_two
from gapless.files.csv.words import not_finite
from gapless.files.dataset import Dataset, Labels
from gapless.files.expected import Expected
from gapless.files.problems import check_file, data_error, undecodable
from gapless.files.scan_svmlight import Facts, scan_svmlight
from gapless.files.text_blocks import Text, block_size, in_order, joined, open_text, records


def read_svmlight(
    path: str | os.PathLike[str],
    *,
    zero_based: bool | None = None,
    labels: Labels = "required",
    expected: Expected | None = None,
    dtype: Any = np.float64,
) -> Dataset:
    """Read an svmlight file. `zero_based=None`: indices count from 0 if a 0 occurs, else from 1.

    `qid:` and comments are passed over. With `expected` (of a model) the matrix has the model's columns.
    """
    place = check_file(path)
    try:
        return _read(place, zero_based, labels, expected, dtype)
    except UnicodeDecodeError:
        raise undecodable(place) from None
    except OSError as error:
        raise data_error(f"cannot be read ({error.strerror or error})", place) from None


def looks_like_svmlight(line: str) -> bool:
    """Whether a line is a label and at least one index:value."""
    form = r"(?:\s+(?P<label>[^\s:]+))?(?P<rest>(?:\s+(?:[0-9]+|qid):[^\s:]+)*)"
    found = re.fullmatch(form, " " + line.split("#", 1)[0].strip())
    return found is not None and ":" in found["rest"]


class _Block(NamedTuple):
    values: np.ndarray
    indices: np.ndarray
    ends: np.ndarray
    labels: np.ndarray
    texts: list[str | None] | None
    lines: np.ndarray
    facts: Facts
    problem: tuple[int, str] | None  # line of the block, and what is wrong with it


def _read(path: str, zero_based: bool | None, labels: Labels, expected: Expected | None, dtype: Any) -> Dataset:
    for textual in (True,) if expected is not None and expected.label_kind == "str" else (False, True):
        blocks, encoding = _blocks(path, textual)
        if not any(block.facts.no_number for block in blocks):
            break  # each label is a number; one that is not makes texts of all of them
    if not any(block.facts.rows for block in blocks):
        raise data_error("the file has only blank lines and comments", path)
    y = _labels(blocks, textual, labels, expected, path)
    base, width = _columns(blocks, zero_based, expected, path)
    X = _matrix(blocks, base, width, dtype)
    said = ("svmlight", f"indices count from {base}", *(() if encoding == "utf-8" else (encoding,)))
    return Dataset(X=X, y=y, notes=said, path=path)


def _blocks(path: str, textual: bool) -> tuple[list[_Block], str]:
    """All blocks of a file, scanned side by side, and its encoding. `textual`: labels are texts."""
    blocks: list[_Block] = []
    stream, encoding = open_text(path)
    newline, threads = newline_of(path), available_cores()
    spare: deque[bytearray] = deque()
    line = 0

    def work(text: Text) -> _Block:
        block = scan_block(text, textual)
        spare.append(text.buffer)
        return block

    with stream:
        for block in in_order(work, records(stream, block_size(path, threads), spare, newline), threads):
            if block.problem is not None:
                raise data_error(block.problem[1], path, line + block.problem[0] + 1)
            line += block.facts.lines
            blocks.append(block)
    return blocks, encoding


def _columns(blocks: list[_Block], zero_based: bool | None, expected: Expected | None, path: str) -> tuple[int, int]:
    """The index of the first column, and how many columns there are."""
    smallest, largest = min(block.facts.smallest for block in blocks), max(block.facts.largest for block in blocks)
    smallest = smallest if largest >= 0 else (0 if zero_based else 1)
    base = (0 if smallest == 0 else 1) if zero_based is None else (0 if zero_based else 1)
    if base == 1 and smallest == 0:
        first = next(k for k, block in enumerate(blocks) if block.facts.smallest == 0)
        row = int(np.searchsorted(blocks[first].ends, int(np.argmax(blocks[first].indices == 0)), side="right"))
        raise data_error("index 0 in a file said to count from 1", path, _line(blocks, first, row))
    width = largest + 1 - base
    if expected is not None:
        if width > expected.n_features:
            k = next(k for k, block in enumerate(blocks) if block.facts.largest == largest)
            raise data_error(
                f"the index {largest} is beyond the model's {expected.n_features} features (indices count from {base})",
                path,
                sum(block.facts.lines for block in blocks[:k]) + blocks[k].facts.largest_line + 1,
            )
        width = expected.n_features
    if width < 1:
        raise data_error("there is no feature in the file", path)
    return base, width


def _matrix(blocks: list[_Block], base: int, width: int, dtype: Any) -> Any:
    """All rows, as CSR. The blocks are emptied on the way, so that memory holds little more than one copy."""
    from scipy.sparse import csr_matrix

    rows = sum(block.facts.rows for block in blocks)
    total = sum(block.facts.entries for block in blocks)
    index_type = np.int64 if total > np.iinfo(np.int32).max else np.int32
    starts = np.zeros(rows + 1, dtype=index_type)
    at, before = 1, 0
    for block in blocks:
        starts[at : at + len(block.ends)] = block.ends + before
        at, before = at + len(block.ends), before + len(block.values)
    values, indices = [block.values for block in blocks], [block.indices for block in blocks]
    blocks.clear()
    data = joined(values, dtype)
    column = joined(indices, index_type)
    if base:
        column -= 1
    return csr_matrix((data, column, starts), shape=(rows, width))


def newline_of(path: str) -> bytes:
    stream, _ = open_text(path)
    with stream:
        start = stream.read(1 << 16)
    return b"\r" if b"\n" not in start and b"\r" in start else b"\n"


def scan_block(text: Text, textual: bool) -> _Block:
    """One block; what is wrong with it is kept until its turn, because lines before it are not counted yet."""
    array = text.array
    if text.count(b"\r") and not text.count(b"\n"):
        array[array == BYTE.cr] = BYTE.lf
    found = scan_svmlight(array, powers_of_five(), powers_of_two())
    facts = Facts(*found.facts.tolist())
    values, indices, ends, lines = found.values, found.indices, found.ends[: facts.rows], found.lines[: facts.rows]
    problem = None
    for k, begin, end in found.odd[: facts.odd].tolist():
        row = int(np.searchsorted(ends, k, side="right"))
        where = int(lines[row]) if row < facts.rows else facts.wrong_line
        token = text.decoded(begin, end)
        try:
            values[k] = strict_float(token)
        except ValueError:
            problem = (where, _bad_line(text.line(begin)))
            break
        if not np.isfinite(values[k]):
            problem = (where, f"index {indices[k]}: {not_finite(token)}")
            break
    if facts.wrong and (problem is None or facts.wrong_line < problem[0]):
        told = text.line(facts.wrong_at)
        problem = (facts.wrong_line, _bad_line(told))
        if facts.wrong == END.too_large:
            large = [index.lstrip("0") for index in re.findall(r"\b([0-9]+):", told)]
            problem = (
                facts.wrong_line,
                f"the index {max(large, key=lambda index: (len(index), index))[:40]} is too large",
            )
    if facts.unsorted and facts.rows:
        double = _sort_rows(values, indices, ends)
        if double is not None and (problem is None or lines[double] < problem[0]):
            inside = indices[int(ends[double - 1]) if double else 0 : int(ends[double])]
            twice = int(inside[:-1][np.diff(inside) == 0][0])
            problem = (int(lines[double]), f"the index {twice} stands twice")
    texts: list[str | None] | None = None
    if textual and problem is None:
        texts = [None if a < 0 else text.decoded(a, b) for a, b in found.spans[: facts.rows].tolist()]
    labels = found.labels[: facts.rows]
    return _Block(values[: facts.entries], indices[: facts.entries], ends, labels, texts, lines, facts, problem)


def _sort_rows(values: np.ndarray, indices: np.ndarray, ends: np.ndarray) -> int | None:
    """Sort the entries of each row by their indices, in place; the first row in which an index stands twice, if any."""
    starts = np.concatenate(([0], ends[:-1]))
    n = int(ends[-1])
    inside = np.ones(n, dtype=bool)  # entries with a predecessor in their row
    inside[starts[starts < n]] = False
    falls = np.flatnonzero(inside[1:] & (np.diff(indices[:n]) <= 0)) + 1
    for row in np.unique(np.searchsorted(ends, falls, side="right")).tolist():
        begin, end = int(starts[row]), int(ends[row])
        order = np.argsort(indices[begin:end], kind="stable")
        indices[begin:end] = indices[begin:end][order]
        values[begin:end] = values[begin:end][order]
        if (np.diff(indices[begin:end]) == 0).any():
            return row
    return None


def _line(blocks: list[_Block], k: int, row: int) -> int:
    """The line of a row of a block, from 1, in the file."""
    return sum(block.facts.lines for block in blocks[:k]) + int(blocks[k].lines[row]) + 1


def _labels(
    blocks: list[_Block], textual: bool, labels: Labels, expected: Expected | None, path: str
) -> np.ndarray | None:
    rows, without = sum(len(block.ends) for block in blocks), sum(block.facts.unlabelled for block in blocks)
    if without == rows and labels == "optional":
        return None
    if without:
        for k, block in enumerate(blocks):
            if block.facts.unlabelled:
                empty = np.isnan(block.labels) if block.texts is None else [text is None for text in block.texts]
                raise data_error("there is no label", path, _line(blocks, k, int(np.argmax(empty))))
    if not textual:
        y = joined([block.labels for block in blocks])
        kind = expected.label_kind if expected else None
        if kind == "bool" or (kind == "int" and (y == np.trunc(y)).all()):
            return y.astype(np.int64) != 0 if kind == "bool" and np.isin(y, (0, 1)).all() else y.astype(np.int64)
        whole = not any(block.facts.not_whole for block in blocks)
        return y.astype(np.int64) if whole and kind != "float" else y
    for k, block in enumerate(blocks):
        for row, text in enumerate(block.texts or []):
            if text is not None and text.lower() == "nan":
                raise data_error(f"the label is {text!r}", path, _line(blocks, k, row))
    texts = [text for block in blocks for text in block.texts or [] if text is not None]
    return as_labels(texts, expected.label_kind if expected else None)


def _bad_line(line: str) -> str:
    """Name the first token that is not index:value."""
    for k, token in enumerate(line.split("#", 1)[0].split()):
        index, colon, value = token.partition(":")
        if not colon:
            if k == 0:
                continue
            return f"{token[:40]!r} is not index:value"
        if index == "qid":
            continue
        if not (index.isascii() and index.isdigit()):
            return f"{token[:40]!r}: the index {index[:40]!r} is not a whole number"
        try:
            strict_float(value)
        except ValueError:
            return f"{token[:40]!r}: {value[:40]!r} is not a number"
    return "the line is not 'label index:value index:value ...'"
