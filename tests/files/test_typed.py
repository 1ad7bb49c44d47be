"""Tables with texts and missing values, and every way a file can be bad."""

import csv as standard
import random
import re
import struct
import tracemalloc

import numpy as np
import pytest

from gapless.files import Dataset, memory, read_csv, read_data
from gapless.files import text_blocks as blocks
from gapless.judge.errors import DataError


@pytest.fixture
def write(tmp_path):
    def write(text, name="data.csv", encoding="utf-8"):
        path = tmp_path / name
        path.write_bytes(text.encode(encoding) if isinstance(text, str) else text)
        return path

    return write


def test_numbers_texts_and_missing_values(write):
    data = read_csv(
        write('age,job,paid,y\n30,"clerk, senior",yes,a\n,nurse,no,b\n41,?,yes,a\nNA,"say ""hi""",,b\n'), typed=True
    )
    np.testing.assert_array_equal(data.X[:, 0], [30, np.nan, 41, np.nan])
    assert data.levels == [None, ["clerk, senior", "nurse", 'say "hi"'], ["no", "yes"]]
    np.testing.assert_array_equal(data.X[:, 1], [0, 1, np.nan, 2])
    np.testing.assert_array_equal(data.X[:, 2], [1, 0, 1, np.nan])
    assert data.y.tolist() == ["a", "b", "a", "b"]


def test_a_text_among_numbers_is_told_and_both_ways_can_be_asked_for(write):
    text = "a,zip,y\n" + "".join(f"{k},{1000 + k},{k % 2}\n" for k in range(30)) + "31,10b,1\n"
    data = read_csv(write(text), typed=True)
    assert data.levels is None
    assert np.isnan(data.X[:, 1]).tolist() == [False] * 30 + [True]
    assert (
        "'zip': 1 of 31 cells is no number ('10b'), taken as missing (--category makes texts of the column)"
        in data.told
    )
    data = read_csv(write(text), typed=True, categories=["zip"])
    assert data.levels[1][-2:] == ["1029", "10b"]
    assert data.told == ()


def test_a_text_among_a_few_numbers_makes_texts_of_them(write):
    """Nothing is lost so: each of the values has a feature."""
    text = "a,children,y\n" + "".join(f"{k},{'0123'[k % 4]}{'+' * (k % 4 == 3)},{k % 2}\n" for k in range(40))
    data = read_csv(write(text), typed=True)
    assert data.levels == [None, ["0", "1", "2", "3+"]]
    assert (
        "'children': 3 of 4 different texts are numbers ('0', '1', '2'), read as texts (--number reads them as numbers)"
        in data.told
    )
    data = read_csv(write(text), typed=True, numbers=["children"])
    assert data.levels is None
    assert np.isnan(data.X[:, 1]).sum() == 10


def test_a_column_that_turns_out_to_be_texts(write):
    """Its first cells, which decide, are empty."""
    rows = "".join(f"{k},,{k % 2}\n" for k in range(500)) + "".join(f"{k},red,{k % 2}\n" for k in range(700))
    data = read_csv(write("a,colour,y\n" + rows), typed=True)
    assert data.levels == [None, ["red"]]
    assert np.isnan(data.X[:500, 1]).all()
    assert (data.X[500:, 1] == 0).all()


def test_random_tables_against_the_standard_library(tmp_path, monkeypatch):
    """Quotes, line ends in quotes, commas in quotes, blank lines, spaces; in blocks of a few bytes."""
    monkeypatch.setattr(blocks, "CELLS", 64)
    draw = random.Random(7)
    for trial in range(40):
        words = ["", "red", "blue", "a b", 'q"q', "x,y", "two\nlines", "é", "NA", "0x"]
        rows = [
            [
                repr(draw.gauss(0, 10 ** draw.randrange(-9, 9))),
                draw.choice(words[1:]),
                draw.choice(["", "1", "2.5"]),
                draw.choice("ab"),
            ]
            for _ in range(draw.randrange(25, 60))
        ]
        rows[0][1] = "red"
        path = tmp_path / f"{trial}.csv"
        with open(path, "w", encoding="utf-8", newline="") as stream:
            writer = standard.writer(stream, lineterminator=draw.choice(["\n", "\r\n"]))
            writer.writerow(["number", "word", "gaps", "y"])
            for row in rows:
                writer.writerow(row)
                if draw.random() < 0.1:
                    stream.write("\n")
        data = read_csv(path, typed=True)
        assert len(data.X) == len(rows)
        assert data.X[:, 0].tolist() == [float(row[0]) for row in rows]
        words_read = [None if np.isnan(code) else data.levels[1][int(code)] for code in data.X[:, 1]]
        assert words_read == [None if row[1] == "NA" else row[1] for row in rows]
        assert [None if np.isnan(v) else v for v in data.X[:, 2]] == [float(row[2]) if row[2] else None for row in rows]
        assert data.y.tolist() == [row[3] for row in rows]


def test_every_number_as_python_reads_it(write):
    """Random bits, random digits, halves between two floats, subnormal numbers, too many digits: one text, both readers."""
    draw = random.Random(3)
    texts = [
        "1e-400",
        "0.000",
        "-0",
        "+5",
        "5.",
        ".5",
        "1e308",
        "1.7976931348623157e308",
        "4.9e-324",
        "2.2250738585072011e-308",
    ]
    for k in range(20_000):
        kind = k % 5
        if kind == 0:
            texts.append(repr(struct.unpack("d", draw.randbytes(8))[0]))
        elif kind == 1:
            texts.append(f"{draw.randrange(10 ** draw.randrange(1, 25))}e{draw.randrange(-340, 285)}")
        elif kind == 2:
            texts.append(str((draw.randrange(2**52, 2**53) * 2 + 1) * 2 ** draw.randrange(0, 10)))
        elif kind == 3:
            texts.append(f"{draw.uniform(-1e6, 1e6):.{draw.randrange(0, 20)}f}")
        else:
            texts.append(f"{(2 * draw.randrange(2**52, 2**53) + 1) / 4:.2f}")
    texts = [text for text in texts if text not in ("nan", "inf", "-inf") and abs(float(text)) < float("inf")]
    data = read_csv(write("x,y\n" + "".join(f"{text},0\n" for text in texts)), target="y")
    assert data.X[:, 0].tobytes() == np.array([float(text) for text in texts]).tobytes()
    rows = "".join(f"1 1:{text}\n" for text in texts)
    assert read_data(write(rows, "data.svm")).X.data.tobytes() == data.X[:, 0].tobytes()


def test_float32_halves(write):
    data = read_csv(write("a,b,y\n0.1,2,0\n3,4,1\n"), dtype=np.float32)
    assert data.X.dtype == np.float32
    np.testing.assert_array_equal(data.X, np.array([[0.1, 2], [3, 4]], dtype=np.float32))


# ------------------------------------------------------------------ bad input
def test_near_names_are_proposed(write):
    path = write("Age,income,sex\n1,2,3\n4,5,6\n")
    with pytest.raises(DataError, match="no column 'imcome'; did you mean 'income'?"):
        read_csv(path, target="imcome")
    with pytest.raises(DataError, match="did you mean 'Age'?"):
        read_csv(path, target="age")


def test_binary_files_called_csv(write):
    draw = random.Random(0)
    with pytest.raises(DataError, match="binary"):
        read_data(write(draw.randbytes(10_000)))
    for start, says in (
        (b"PK\x03\x04" + bytes(60), "Excel"),
        (b"\x89PNG\r\n\x1a\n" + bytes(60), "picture"),
        (b"%PDF-1.7\n", "PDF"),
        (b"SQLite format 3\0", "SQLite"),
    ):
        with pytest.raises(DataError, match=says):
            read_data(write(start))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-8-sig"])
def test_a_byte_order_mark_says_the_encoding(write, encoding):
    mark = "\ufeff" if encoding == "utf-16-be" else ""
    data = read_csv(write(mark + "a,wörter,y\n1,grün,0\n2,blau,1\n", encoding=encoding), typed=True)
    assert data.names == ["a", "wörter"]
    assert data.levels[1] == ["blau", "grün"]
    assert any("utf-16" in note for note in data.notes) is encoding.startswith("utf-16")


def test_other_encodings_are_found_and_told(write):
    path = write("a,wort,y\n1,grün,0\n2,blau,1\n", encoding="cp1252")
    data = read_csv(path, typed=True)
    assert data.levels[1] == ["blau", "grün"]
    assert "cp1252" in data.notes
    assert "line 2: not UTF-8 text (byte 0xfc): read as cp1252 (--encoding says otherwise)" in data.told
    assert read_csv(path, typed=True, encoding="latin-1").told == ()
    with pytest.raises(DataError, match="unknown encoding"):
        read_csv(path, encoding="nonsense")
    with pytest.raises(DataError, match="is not utf-8 text"):
        read_csv(path, encoding="utf-8")
    data = read_csv(write(b"a,wort,y\n1,gr\x81n,0\n2,blau,1\n"), typed=True)  # a byte that cp1252 has not
    assert "latin-1" in data.told[0]


def test_a_line_of_ten_megabytes(write):
    long = b"9" * 10_000_000
    with pytest.raises(DataError, match="line 3") as found:
        read_csv(write(b"a,b,y\n1,2,0\n" + long + b"\n3,4,1\n"))
    assert len(str(found.value)) < 500
    rows = b",".join([b"1"] * 2_000_000)
    data = read_csv(write(rows + b"\n" + rows + b"\n"), header=False)
    assert data.X.shape == (2, 1_999_999)


def test_a_file_that_does_not_fit_is_refused_with_the_numbers(write, monkeypatch):
    path = write("a,b,y\n" + "1.5,2.5,0\n" * 20_000)
    monkeypatch.setattr(memory, "free_memory", lambda: 300_000)
    with pytest.raises(
        DataError, match=r"about 20,\d+ rows of 3 columns need .* GB as float64, .* are free; as float32"
    ):
        read_csv(path)
    monkeypatch.undo()
    assert len(read_csv(path).X) == 20_000


def test_memory_holds_little_more_than_the_arrays(write, monkeypatch):
    """The buffers of some hundred blocks are a few, used again: as many as there are threads, so two of these."""
    monkeypatch.setattr("gapless._runtime.threads.available_cores", lambda: 2)
    path = write("a,b,c,y\n" + "1.25,2.5,-3.125,0\n" * 600_000)
    monkeypatch.setattr(blocks, "CELLS", 1 << 15)
    read_csv(path)
    tracemalloc.start()
    data = read_csv(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.5 * (data.X.nbytes + data.y.nbytes)


def test_datasets_are_cut_by_rows_and_columns():
    data = Dataset(np.arange(6.0).reshape(2, 3), np.array([0, 1]), ["a", "b", "c"], levels=[None, ["x"], None])
    assert data.columns([1, 2]).names == ["b", "c"]
    assert data.columns([1, 2]).levels == [["x"], None]
    assert data.rows(np.array([1])).X.tolist() == [[3, 4, 5]]


def test_texts_of_any_length_across_blocks_are_told_apart(tmp_path, monkeypatch):
    """Against the csv module: the first sixteen bytes, the length and the rest of a text each have to matter."""
    from gapless.files import text_blocks as blocks

    monkeypatch.setattr(blocks, "CELLS", 1 << 12)
    random = np.random.default_rng(3)
    stem = "abcdefghijklmnopqrstuvwxyz0123456789"
    pool = [stem[:k] for k in range(1, 36)] + [stem[: k - 1] + "!" for k in range(1, 36)]
    pool += [stem[:k] + "é" + stem[k + 1 : 30] for k in range(30)] + [
        "NA",
        "NAN.",
        "n/a",
        "?",
        "",
        ' "q"" r" ',
        "  x ",
        "12a",
    ]
    rows = [
        [*(pool[k] for k in random.integers(0, len(pool), size=3)), str(number), "ab"[number % 2]]
        for number in random.integers(0, 10_000_000, size=3000).tolist()
    ]
    path = tmp_path / "texts.csv"
    path.write_text("s,t,u,x,y\n" + "".join(",".join(row) + "\n" for row in rows), encoding="utf-8")
    data = read_csv(path, typed=True, categories=["s", "t", "u"])
    for j in range(3):
        told = [row[j].strip() for row in rows]
        told = [text[1:-1].replace('""', '"') if text.startswith('"') else text for text in told]
        told = [None if text in ("", "NA", "n/a", "?") else text for text in told]
        assert data.levels[j] == sorted({text for text in told if text is not None})
        codes = data.X[:, j]
        assert [None if np.isnan(c) else data.levels[j][int(c)] for c in codes] == told
    assert data.X[:, 3].tolist() == [float(row[3]) for row in rows]
    assert data.y.tolist() == [row[4] for row in rows]


def test_any_table_reads_alike_in_blocks_of_any_size(tmp_path, monkeypatch):
    """One block, and some hundred by several threads: the same rows, levels and labels; line ends of every kind."""
    from gapless._runtime import threads as _threads

    monkeypatch.setattr(_threads, "available_cores", lambda: 4)
    draw = random.Random(11)
    cells = [
        *("red", "a b", '"q""q"', '"x,y"', '"two\nlines"', "é" * 9, "NA", ' "sp" ', "  pad ", '""', "a" * 70, "!", "?"),
        *("abcdefghijklmnopqrstuvwx", "abcdefghijklmnopqrstuvwy", '"' + "z," * 90 + '"', 'a""b', '"a""b"', "it's"),
    ]
    for newline in ("\n", "\r\n", "\r"):
        lines = ["number,word,other,y"]
        for k in range(400):
            words = [draw.choice(cells).replace("\n", "\n" if newline == "\r\n" else newline) for _ in range(2)]
            lines.append(",".join([repr(draw.gauss(0, 1000)), *words, str(k % 3)]) + newline * (k % 17 == 0))
        path = tmp_path / "table.csv"
        path.write_bytes(newline.join(lines).encode())
        monkeypatch.undo()
        one = read_csv(path, typed=True)
        assert one.X.shape == (400, 3)
        assert one.y.tolist() == [k % 3 for k in range(400)]
        with path.open(
            encoding="utf-8", newline=""
        ) as stream:  # bare line ends are the only ones that it reads by itself
            rows = [row for row in standard.reader(stream) if row]
        words = [row[1].strip() for row in rows[1:]]
        words = [None if word in ("", "NA", "?") else word for word in words]
        told = [None if np.isnan(code) else one.levels[1][int(code)] for code in one.X[:, 1]]
        quoted = ' "sp" '.strip()
        assert told == [word.strip('"') if word == quoted else word for word in words]
        for size in (64, 100, 1000):
            monkeypatch.setattr(blocks, "CELLS", size)
            monkeypatch.setattr(_threads, "available_cores", lambda: 4)
            many = read_csv(path, typed=True)
            assert many.X.tobytes() == one.X.tobytes()
            assert many.levels == one.levels
            assert many.y.tolist() == one.y.tolist()


def test_numbers_of_every_length_with_the_point_anywhere(write):
    """Sixteen digits are read at once: each place of the point, each number of digits, signs and line ends."""
    digits = "1234567890123456789012345"
    texts = [digits[:n] for n in range(1, 26)] + ["0" * n + "7" for n in range(25)]
    texts += [text[:k] + "." + text[k:] for text in texts for k in range(len(text) + 1)]
    texts += ["-" + text for text in texts]
    for newline in ("\n", "\r\n"):
        data = read_csv(write("x,y,z\n" + "".join(f"{t},0,{t}{newline}" for t in texts)), target="y")
        assert data.X[:, 0].tobytes() == np.array([float(text) for text in texts]).tobytes()
        assert data.X[:, 1].tobytes() == data.X[:, 0].tobytes()


@pytest.mark.parametrize(
    "cell", [".", "-", "-.", "1.2.3", "1-2", "--1", "..", "12345678.1234567.1", "1/2", "12:30", "1;"]
)
def test_what_only_looks_like_a_number(write, cell):
    for text in (cell, cell + "0" * 12, "1" * 9 + cell):
        if (
            re.fullmatch(r"-?\d*\.?\d+|\d+[.-]", text) is None
        ):  # a minus behind a number is one, as some programs write it
            with pytest.raises(DataError, match="line 3, column 'a': .* is not a number"):
                read_csv(write(f"a,b,y\n1,2,0\n{text},2,1\n"))


def test_a_cell_in_the_last_line_does_not_decide_for_its_column(write, monkeypatch):
    """Also where that line is a block by itself."""
    text = "a,b,y\n" + "".join(f"{k},{k},{k % 2}\n" for k in range(400)) + "40,x,1"
    for size in (1 << 18, 20):
        monkeypatch.setattr(blocks, "CELLS", size)
        data = read_csv(write(text), typed=True)
        assert data.X[:400, 1].tolist() == [float(k) for k in range(400)]
        assert np.isnan(data.X[400, 1])
        assert any("'b': 1 of 401 cells is no number ('x')" in told for told in data.told)


def test_too_many_texts_are_left_out_and_too_long_records_refused(write, monkeypatch):
    from gapless.files.csv import blocks as csv_blocks

    names = "".join(f"{k},n{k},{k % 2}\n" for k in range(70_000))
    data = read_csv(write("a,who,y\n" + names), typed=True)
    assert data.names == ["a"]
    assert data.told == ("'who': more than 65536 different texts, a name of the row: left out",)
    with pytest.raises(DataError, match="column 'who': more than 65536 different texts; .*--drop"):
        read_csv(write("a,who,y\n" + names), typed=True, categories=["who"])
    some = "".join(f"{k},n{k % 60_000},{k % 2}\n" for k in range(70_000))
    data = read_csv(write("a,who,y\n" + some), typed=True)
    assert [data.levels[1][int(code)] for code in data.X[:, 1]] == [f"n{k % 60_000}" for k in range(70_000)]
    monkeypatch.setattr(csv_blocks, "LONGEST_RECORD_BYTES", 1 << 20)
    with pytest.raises(DataError, match="line 2: a record of more than 1 MB; is a quote opened"):
        read_csv(write('a,b,y\n1,"2,0\n' + "3,4,1\n" * 600_000))
