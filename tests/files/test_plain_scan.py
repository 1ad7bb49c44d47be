"""The scanner in Python says what the compiled one says, byte for byte and place for place."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from gapless import read_data
from gapless.files.csv import plain_scan
from gapless.files.csv.blocks import packed_words
from gapless.files.csv.codes import END, PAD, Cells, Columns, Known
from gapless.files.csv.plain_scan import Scanner
from gapless.files.csv.scan_number import powers_of_five, powers_of_two

NUMBERS = [
    "1", "-2.5", "+3", "1e5", "12345678", "123456789", "0.1234567890123456", "1234567890.123456789", "12345678901234567890",
    "0.000000000000000000000000123456", "1e400", "1e-400", "4.9e-324", "", "NA", "nan", "-", "?", ".", "5.", "-.5", "1e", "abc",
    "--5", " 7 ", "\t8", "9\r", '"3.5"', '" 4 "', "1_000", "0x1", "inf", "9007199254740993", "00000000000000000000012", "-0",
    "0e999", "1E-5", "１", "null", "N/A", "123456789012345678", "1.7976931348623157e308", "2.2250738585072011e-308", " ", '""',
]  # fmt: skip
TEXTS = [
    "a", "bb", "hello world, not", '"x,y"', '"he said ""no"""', "  padded ", "", '"two\nlines"', "ü" * 5, "a" * 40,
    "a" * 40 + "b", '"a"', "!bang", '""', "longtext16bytes!", "longtext16bytes!x", 'a "quote" inside',
    '"closed" and more', '"open',
]  # fmt: skip


def _said(scanner: Scanner, data: bytes, width: int, kinds: Any, place: Any, last: bool) -> list[Any]:
    text = np.zeros(len(data) + 2 * PAD + 8, np.uint8)
    text[PAD : PAD + len(data)] = np.frombuffer(data, np.uint8)
    ends, begins = np.zeros(text.size + 8, np.uint32), np.zeros(text.size + 8, np.uint32)
    rows, *rest = scanner.cut(text, PAD, PAD + len(data), width, ord(","), ord("\n"), last, ends, begins)
    said: list[Any] = [rows, rest, ends[: rows * width].tolist(), begins[:rows].tolist()]
    X, extra = np.full((rows, width), -7.0), np.full((rows, 2), -7.0)
    odd, facts = np.zeros((rows * width + 1, 4), np.uint32), np.zeros(5, np.int64)
    n_texts = int((kinds >= 2).sum())
    columns, known = Columns(kinds, place, n_texts), Known.of(n_texts, texts=8, size=512)
    while (
        status := scanner.scan_columns(
            Cells(text, ends, begins, rows), columns, X, extra, packed_words(), odd, facts, known,
            powers_of_five(), powers_of_two(),
        )
    ) == END.full:  # fmt: skip
        known = known.grow()
        known.table[:] = 0
        scanner.place_texts(known.table, known.words, int(known.state[0]))
    values = [array.view(np.int64).tolist() for array in (X, extra)]
    return [
        *said, status, *values, odd[: facts[0]].tolist(), facts[:3].tolist(), known.counts.tolist(),
        known.words[: known.state[0], 3:6].tolist(), known.pool[: known.state[1]].tolist(),
    ]  # fmt: skip


def test_both_scanners_say_the_same() -> None:
    draw = random.Random(0)
    wrong: set[int] = set()
    for _ in range(1500):
        width = draw.randint(1, 5)
        kinds = np.array([draw.choice([0, 1, 1, 1, 2, 3]) for _ in range(width)], np.int8)
        place = np.arange(width)
        if draw.random() < 0.5:
            place[draw.randrange(width)] = -1
        lines = []
        for _ in range(draw.randint(0, 12)):
            cells = width if draw.random() < 0.97 else draw.randint(1, 6)
            numbers = [j < width and kinds[j] == 1 and draw.random() < 0.9 for j in range(cells)]
            lines.append(",".join(draw.choice(NUMBERS if number else TEXTS) for number in numbers))
            if draw.random() < 0.1:
                lines.append(draw.choice(["", " ", "\r"]))
        data = "".join(f"{line}\n" for line in lines).encode()
        if draw.random() < 0.1:
            data = data[: draw.randint(0, len(data))]
        last = draw.random() < 0.5
        if last and data and not data.endswith(b"\n"):
            data += b"\n"
        compiled, plain = (
            _said(scanner, data, width, kinds, place, last) for scanner in (plain_scan._COMPILED, plain_scan._PLAIN)
        )
        assert plain == compiled, data
        wrong.add(plain[1][1])
    assert wrong == {0, 1, 2}  # fine, ragged, a bad quote: the cases have all of them


def test_a_small_file_is_read_without_compiling(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "rows.csv"
    colours = ["red", '"a ""dark"" blue"']
    lines = [f"{i / 7!r},{colours[i % 2]},{i % 2}" for i in range(700)]
    lines += [f"{i},name {i},1" for i in range(700)]  # more than the first table of texts holds
    file.write_text("x,colour,y\n" + "\n".join(lines) + "\n")
    found = []
    monkeypatch.setattr(plain_scan, "awake", lambda: False)
    assert plain_scan.scanner(file.stat().st_size) is plain_scan._PLAIN
    monkeypatch.setattr(plain_scan, "awake", lambda: True)
    for kept in (True, False):
        monkeypatch.setattr(plain_scan, "kept", lambda kernel, kept=kept: kept)
        assert plain_scan.scanner(file.stat().st_size) is (plain_scan._COMPILED if kept else plain_scan._PLAIN)
        assert plain_scan.scanner(plain_scan.SMALL + 1) is plain_scan._COMPILED
        found.append(read_data(str(file), target="y", typed=True))
    compiled, plain = found
    np.testing.assert_array_equal(plain.X.view(np.int64), compiled.X.view(np.int64))
    np.testing.assert_array_equal(plain.y, compiled.y)
    assert plain.levels == compiled.levels
    assert plain.X[1, 0] == 1 / 7
    assert {"red", 'a "dark" blue'} <= {*plain.levels[1]}
