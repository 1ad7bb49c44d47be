"""What the compiled scanners of text share with their callers: bytes, kinds of columns, ends of a scan, the arrays they fill."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

PAD = 64  # bytes that may be read before the first one and behind the last
WHOLE = 9007199254740992.0  # 2^53: whole numbers up to here are themselves as float64


class Bytes(NamedTuple):
    """The signs that scanners look for."""

    tab: int = 9
    lf: int = 10
    cr: int = 13
    space: int = 32
    quote: int = 34
    hash: int = 35
    plus: int = 43
    comma: int = 44
    minus: int = 45
    point: int = 46
    zero: int = 48
    colon: int = 58
    e: int = 101


class Kinds(NamedTuple):
    """Kinds of a column."""

    skip: int = 0
    number: int = 1
    text: int = 2
    label: int = 3  # a text, missing only where it is empty


class Ends(NamedTuple):
    """What a scan ends with. `full`: a table of texts has to be enlarged; `bad_line` and `too_large` (an index): in svmlight."""

    fine: int = 0
    ragged: int = 1
    bad_quote: int = 2
    full: int = 3
    too_many_texts: int = 4
    bad_line: int = 5
    too_large: int = 6


class Limits(NamedTuple):
    """Where a reader changes its mind. None of these sizes is measured: beyond each the other answer looks right."""

    most_texts: int = 1 << 16  # different texts of a column; with more it is a name of the row
    sample_bytes: int = 1 << 17  # of the beginning of a file, by which it is judged
    sample_rows: int = 100
    most_titles: int = 30  # records above a header
    few_values: int = 12  # numbers with a text among them are texts where there are no more values: nothing is lost
    looked_at: int = 2000  # texts of a column
    many_labels: int = 20  # different ones, nearly all of them numbers: the others are no labels
    few_groups: int = 3  # cells like 1.234 that make thousands of points, where others are whole numbers below 1000
    few_rows: int = 20  # of fewer nobody can say that a column counts them
    shown: int = 40  # characters of a cell in a message


BYTE, KIND, END, LIMIT = Bytes(), Kinds(), Ends(), Limits()


class Cells(NamedTuple):
    """Records of a buffer, as `cut` leaves them: where each cell ends and each record begins."""

    text: np.ndarray
    ends: np.ndarray
    begins: np.ndarray
    rows: int


class Columns(NamedTuple):
    """Of every column its kind and its place in X (negative: label and weights); how many hold texts."""

    kinds: np.ndarray
    place: np.ndarray
    n_texts: int


class Known(NamedTuple):
    """The texts that a worker knows: state = (texts, bytes of the pool), texts of each column, a table of hashes with the number
    of a text or 0, six words for each text (hash, first and second eight bytes, place in the pool, length and column, code), and
    the pool of their bytes."""

    state: np.ndarray
    counts: np.ndarray
    table: np.ndarray
    words: np.ndarray
    pool: np.ndarray

    @classmethod
    def of(cls, columns: int, texts: int = 1 << 8, size: int = 1 << 14) -> Known:
        """Room for so many texts, and for the bytes of all of them, before more is asked for."""
        return cls(
            np.zeros(2, dtype=np.int64), np.zeros(columns, dtype=np.int64), _hashes(texts), np.empty((texts, 6), dtype=np.uint64),
            np.empty(size, dtype=np.uint8),
        )  # fmt: skip

    def grow(self) -> Known:
        """Four times the room for what is full: the texts, whose places in the new table are to be found, or their bytes."""
        n, used = self.state.tolist()
        if n < len(self.words):
            pool = np.empty(4 * self.pool.size, dtype=np.uint8)
            pool[:used] = self.pool[:used]
            return self._replace(pool=pool)
        words = np.empty((4 * n, self.words.shape[1]), dtype=np.uint64)
        words[:n] = self.words
        return self._replace(words=words, table=_hashes(len(words)))


def _hashes(texts: int) -> np.ndarray:
    """Eight places for each text: few meet, and a guess is seldom wrong."""
    return np.zeros(8 * texts, dtype=np.int32)
