"""CSV and TSV: what is found, what is refused, and where."""

import time

import numpy as np
import pytest

from gapless.files import Expected, read_csv, read_data
from gapless.judge.errors import DataError


@pytest.fixture
def write(tmp_path):
    def write(text, name="data.csv", encoding="utf-8"):
        path = tmp_path / name
        path.write_bytes(text.encode(encoding) if isinstance(text, str) else text)
        return path

    return write


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a,b,y\n1,2,0\n3,4.5,1\n", "comma-separated"),
        ("a;b;y\n1;2;0\n3;4.5;1\n", "semicolon-separated"),
        ("a\tb\ty\n1\t2\t0\n3\t4.5\t1\n", "tab-separated"),
        ("a,b,y\r\n1,2,0\r\n3,4.5,1\r\n", "comma-separated"),
        ("a,b,y\r1,2,0\r3,4.5,1", "comma-separated"),
        ('"a","b","y"\n"1","2","0"\n"3","4.5","1"\n', "comma-separated"),
        ("\ufeffa,b,y\n1,2,0\n\n3,4.5,1\n   \n", "comma-separated"),
        ("a, b, y\n 1, 2, 0\n 3, 4.5, 1\n", "comma-separated"),
    ],
)
def test_separators_quotes_bom_and_blank_lines(write, text, says):
    data = read_csv(write(text))
    assert data.names == ["a", "b"]
    assert data.target == "y"
    np.testing.assert_array_equal(data.X, [[1, 2], [3, 4.5]])
    np.testing.assert_array_equal(data.y, [0, 1])
    assert data.y.dtype == np.int64
    assert says in data.notes
    assert "header found" in data.notes


def test_the_bits_of_every_number(write, rng):
    X = rng.normal(size=(200, 4)) * 10.0 ** rng.integers(-300, 300, size=(200, 4))
    rows = "\n".join(",".join(repr(float(v)) for v in row) + ",a" for row in X)
    data = read_csv(write(rows))
    assert "no header" in data.notes
    assert data.X.tobytes() == X.tobytes()
    assert data.y.tolist() == ["a"] * 200


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize(
    ("first", "header"),
    [
        ("a,b,y", True),
        ("5.1,3.5,setosa", False),
        ("5.1,3.5,y", False),  # a label may be called y: the numbers decide
        ("0,1,label", True),  # a data frame without names
        ("1,2,3", False),
        ("x1,x2,3", True),
    ],
)
def test_header_or_not(write, first, header):
    data = read_csv(write(f"{first}\n1,2,setosa\n3,4,setosa\n"))
    assert ("header found" in data.notes) is header
    assert len(data.X) == (2 if header else 3)


def test_a_missing_value_in_the_first_line_is_not_a_header(write):
    with pytest.raises(DataError, match=r"line 1, column 2: '\?' is not a number .*header") as found:
        read_csv(write("5.1,?,0\n1,2,1\n"))
    assert (found.value.line, found.value.column) == (1, 2)


def test_a_single_word_above_number_labels_is_asked_about(write):
    with pytest.raises(DataError, match="line 1, column 3: the label 'growth' is no number, .*header"):
        read_csv(write("2019,2020,growth\n1,2,0\n3,4,1\n"))
    data = read_csv(write("2019,2020,growth\n1,2,0\n3,4,1\n"), header=True)
    assert data.names == ["2019", "2020"]
    assert data.target == "growth"


@pytest.mark.parametrize(
    ("columns", "target", "found"),
    [
        ("a,y,b", None, "y"),
        ("y,a,Class", None, "Class"),
        ("a,b,outcome", None, "outcome"),
        ("a,b,c", "a", "a"),
        ("a,b,c", 0, "a"),
        ("a,b,c", -2, "b"),
    ],
)
def test_label_column(write, columns, target, found):
    data = read_csv(write(f"{columns}\n1,2,3\n4,5,6\n"), target=target)
    assert data.target == found
    assert data.names == [name for name in columns.split(",") if name != found]


@pytest.mark.parametrize(
    ("labels", "kind", "expected"),
    [
        (["1", "-1"], "i", [1, -1]),
        (["+1", "0"], "i", [1, 0]),
        (["1.0", "2"], "f", [1.0, 2.0]),
        (["a", "1"], "U", ["a", "1"]),
        (["1_0", "2"], "U", ["1_0", "2"]),
        (["9" * 30, "1"], "f", [1e30, 1.0]),
        (["é", "ü"], "U", ["é", "ü"]),
    ],
)
def test_label_types(write, labels, kind, expected):
    y = read_csv(write("a,y\n" + "".join(f"1,{label}\n" for label in labels))).y
    assert y.dtype.kind == kind
    assert y.tolist() == expected


def test_labels_take_the_type_of_the_model(write):
    path = write("a,y\n1,1\n2,1\n")
    assert read_csv(path, expected=Expected(1, ["a"], "y", "str")).y.tolist() == ["1", "1"]
    path = write("a,y\n1,True\n2,false\n")
    assert read_csv(path, expected=Expected(1, ["a"], "y", "bool")).y.tolist() == [True, False]
    path = write("a,y\n1,1.0\n2,-1\n")
    y = read_csv(path, expected=Expected(1, ["a"], "y", "int")).y
    assert (y.dtype, y.tolist()) == (np.int64, [1, -1])
    path = write("a,y\n1,1\n2,-1\n")
    y = read_csv(path, expected=Expected(1, ["a"], "y", "float")).y
    assert (y.dtype, y.tolist()) == (np.float64, [1.0, -1.0])
    path = write("a,y\n1,new\n2,-1\n")
    assert read_csv(path, expected=Expected(1, ["a"], "y", "int")).y.tolist() == ["new", "-1"]


def test_weights(write):
    data = read_csv(write("a,w,y\n1,2,0\n3,0.5,1\n"), weights="w")
    assert data.weights.tolist() == [2.0, 0.5]
    assert data.names == ["a"]
    with pytest.raises(DataError, match="line 3, column 'w': the weight -1 is negative"):
        read_csv(write("a,w,y\n1,2,0\n3,-1,1\n"), weights="w")
    with pytest.raises(DataError, match="line 3, column 'w': 'x' is not a number"):
        read_csv(write("a,w,y\n1,2,0\n3,x,1\n"), weights="w")


BAD = [
    ("a,b,y\n1,2,0\n3,,1\n", 3, "b", "the cell is empty"),
    ("a,b,y\n1,2,0\n3,NA,1\n", 3, "b", "'NA' is not a number"),
    ("a,b,y\n1,2,0\n\n3,1_0,1\n", 4, "b", "'1_0' is not a number"),
    ("a;b;y\n1;2;0\n3;1,5,2;1\n", 3, "b", "'1,5,2' is not a number"),
    ("a,b,y\n1,2,0\n3,-,1\n", 3, "b", "'-' is not a number"),
    ("a,b,y\n1,2,0\n3,nan,1\n", 3, "b", "the value is nan; it must be finite"),
    ("a,b,y\n1,2,0\n-inf,1,1\n", 3, "a", "the value is -inf"),
    ("a,b,y\n1,2,0\n3,4\n", 3, None, "expected 3 columns, found 2"),
    ("a,b,y\n1,2,0\n3,4,1,5\n", 3, None, "expected 3 columns, found 4"),
    ("1,2,0\n3,4,1\n5,6\n", 3, None, "expected 3 columns, found 2"),
    ("a,b,y\n1,2,\n3,4,nan\n", None, "y", "no row has a label"),
    ("a,b,y\n1,2,\n3,4,NA\n", None, "y", "no row has a label"),
    ('a,b,y\n1,2,0\n3,"4\n5",1\n7,x,1\n', 3, "b", "is not a number"),  # the record starts on line 3
    ('a,b,y\n1,"2\n",0\n3,x,1\n', 4, "b", "'x' is not a number"),
    ('a,b,y\n1,2,0\n3,"4,1\n', 3, None, "cannot be read as CSV"),
    ("a,b,y\n", 1, None, "a header and no row"),
    ("\n\n", None, None, "only blank lines"),
    ("", None, None, "empty"),
    ("y\n1\n0\n", None, None, "no feature column"),
    (b"a,b,y\n1,2,0\n1,\xff,0\n", 3, "b", "'\xff' is not a number"),
    (b"\x1f\x8b\x08\x00", None, None, "gzip"),
    (b"a,b,y\n1,2,0\n\x00,2,1\n", 3, "a", "is not a number"),
]


@pytest.mark.parametrize(("text", "line", "column", "says"), BAD)
def test_refusals_name_file_line_column_and_text(write, text, line, column, says):
    path = write(text)
    with pytest.raises(DataError) as found:
        read_data(path)
    error = found.value
    assert says in str(error)
    assert str(path) in str(error)
    assert (error.file, error.line, error.column) == (str(path), line, column)
    if line is not None:
        assert f"line {line}" in str(error)
    assert "\n" not in str(error)


def test_missing_file_and_directory(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        read_data(tmp_path / "none.csv")
    with pytest.raises(DataError, match="is a directory"):
        read_data(tmp_path)
    with pytest.raises(DataError):
        read_data("a\0b")


MODEL = Expected(2, ["a", "b"], "y", "int")


def test_columns_are_matched_by_the_names_of_the_model(write):
    path = write("y,b,a\n0,2,1\n1,4,3\n")
    data = read_csv(path, expected=MODEL)
    np.testing.assert_array_equal(data.X, [[1, 2], [3, 4]])
    np.testing.assert_array_equal(data.y, [0, 1])
    assert data.names == ["a", "b"]
    data = read_csv(write("b,a\n2,1\n"), expected=MODEL, labels="optional")
    np.testing.assert_array_equal(data.X, [[1, 2]])
    assert data.y is None
    with pytest.raises(DataError, match="no label column .*'y'"):
        read_csv(write("b,a\n2,1\n"), expected=MODEL)


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ("a,c,y", r"missing column 'b'; extra column 'c'"),
        ("a,b,c,y", r"extra column 'c'"),
        ("a,y", r"missing column 'b'"),
        ("a,b,c,d,y", r"extra columns 'c', 'd'"),
    ],
)
def test_missing_and_extra_columns_are_named(write, columns, says):
    width = columns.count(",")
    path = write(columns + "\n" + "1," * width + "0\n")
    with pytest.raises(DataError, match=says):
        read_csv(path, expected=MODEL)
    if "extra" in says and "missing" not in says:
        extra = [name for name in columns.split(",") if name not in ("a", "b", "y")]
        assert read_csv(path, expected=MODEL, drop=extra).names == ["a", "b"]


def test_columns_by_position_where_there_are_no_names(write):
    unnamed = Expected(2, None, None, "int")
    assert read_csv(write("1,2\n3,4\n"), expected=unnamed, labels="optional").y is None
    assert read_csv(write("1,2,1\n3,4,0\n"), expected=unnamed).y.tolist() == [1, 0]
    assert read_csv(write("1,2,1\n3,4,0\n"), expected=MODEL).y.tolist() == [1, 0]
    with pytest.raises(DataError, match="2 features, the file 3 feature columns"):
        read_csv(write("1,2,1,5\n3,4,0,5\n"), expected=unnamed, target=0)


def test_a_label_column_is_found_for_a_model_without_target(write):
    model = Expected(2, ["a", "b"], None, "int")
    assert read_csv(write("a,b,outcome\n1,2,0\n"), expected=model).target == "outcome"
    assert read_csv(write("a,b,label\n1,2,0\n"), expected=model).target == "label"


def test_unknown_target(write):
    with pytest.raises(DataError, match="no column 'z'; there are 'a', 'b', 'y'"):
        read_csv(write("a,b,y\n1,2,0\n"), target="z")
    with pytest.raises(DataError, match="column number is outside the 3 columns: 'a', 'b', 'y'"):
        read_csv(write("a,b,y\n1,2,0\n"), target=7)
    with pytest.raises(DataError, match="no header"):
        read_csv(write("1,2,0\n2,3,1\n"), target="z")


def test_drop(write):
    data = read_csv(write("id,a,y\nr1,2,0\nr2,3,1\n"), drop=["id"])
    assert data.names == ["a"]
    with pytest.raises(DataError, match="dropped and is the label"):
        read_csv(write("id,a,y\n1,2,0\n"), drop=["y"], target="y")


def test_fast_enough(write, rng):
    """20,000 x 50 within a second or so: a million numbers; the time is the loose bound of a busy machine."""
    X = rng.normal(size=(20_000, 50)).round(6)
    text = "\n".join(",".join(map(str, row)) + f",{k % 2}" for k, row in enumerate(X.tolist()))
    path = write(text)
    start = time.perf_counter()
    data = read_csv(path)
    assert time.perf_counter() - start < 5.0
    np.testing.assert_array_equal(data.X, X)
