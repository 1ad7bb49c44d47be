"""svmlight against scikit-learn's reader, and its refusals."""

import numpy as np
import pytest
from scipy.sparse import random as random_sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from gapless.files import Expected, read_data, read_svmlight
from gapless.judge.errors import DataError


@pytest.fixture
def write(tmp_path):
    def write(text, name="data.svm"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.mark.parametrize("zero_based", [True, False])
@pytest.mark.parametrize("comment", [None, "a line\nanother, 1:2"])
@pytest.mark.parametrize("qid", [False, True])
def test_the_same_as_scikit_learn(tmp_path, zero_based, comment, qid):
    rng = np.random.default_rng(3)
    X = random_sparse(60, 17, density=0.3, random_state=4, format="lil")
    X[0, 0], X[1, 16] = 1.5, -2.5e-300  # the smallest and the largest index occur
    y = rng.integers(-1, 2, size=60)
    path = str(tmp_path / "data.txt")
    query = rng.integers(1, 5, size=60) if qid else None
    dump_svmlight_file(X.tocsr(), y, path, zero_based=zero_based, comment=comment, query_id=query)
    theirs, labels = load_svmlight_file(path)
    data = read_data(path)
    assert data.X.shape == theirs.shape
    np.testing.assert_array_equal(data.X.toarray(), theirs.toarray())
    np.testing.assert_array_equal(data.y, labels)
    assert data.y.dtype == np.int64
    assert f"indices count from {0 if zero_based else 1}" in data.notes
    assert data.X.has_sorted_indices
    assert data.X.indices.dtype == np.int32


def test_comments_blank_lines_and_empty_rows(write):
    data = read_svmlight(write("# head\n+1 1:2 3:4 # note\n\n-1\n  2.5\t2:1e3\n"))
    np.testing.assert_array_equal(data.X.toarray(), [[2, 0, 4], [0, 0, 0], [0, 1000, 0]])
    assert data.y.tolist() == [1.0, -1.0, 2.5]


def test_unsorted_rows_are_sorted(write):
    data = read_svmlight(write("1 3:4 1:2\n0 2:1\n"))
    np.testing.assert_array_equal(data.X.toarray(), [[2, 0, 4], [0, 1, 0]])


def test_the_base_can_be_said(write):
    path = write("1 1:2\n0 2:1\n")
    assert read_svmlight(path).X.shape == (2, 2)
    assert read_svmlight(path, zero_based=True).X.shape == (2, 3)
    with pytest.raises(DataError, match="line 2: index 0 in a file said to count from 1"):
        read_svmlight(write("1 1:2\n0 0:1\n"), zero_based=False)


def test_string_labels_and_no_labels(write):
    assert read_svmlight(write("class_a 1:2\nclass_b 2:1\n")).y.tolist() == ["class_a", "class_b"]
    path = write("1:2\n2:1 3:1\n")
    assert read_svmlight(path, labels="optional").y is None
    with pytest.raises(DataError, match="line 1: there is no label"):
        read_svmlight(path)
    with pytest.raises(DataError, match="line 2: there is no label"):
        read_svmlight(write("1 1:2\n2:1 3:1\n"), labels="optional")


def test_the_width_of_the_model(write):
    model = Expected(4, None, None, "int")
    assert read_svmlight(write("1 1:2\n0 2:1\n"), expected=model).X.shape == (2, 4)
    with pytest.raises(DataError, match="line 2: the index 5 is beyond the model's 4 features"):
        read_svmlight(write("1 1:2\n0 5:1\n"), expected=model)


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("1 1:2\n0 2:x\n", 2, "'2:x': 'x' is not a number"),
        ("1 1:2\n0 a:1\n", 2, "the index 'a' is not a whole number"),
        ("1 1:2\n0 -1:1\n", 2, "the index '-1' is not a whole number"),
        ("1 1:2\n0 2\n", 2, "'2' is not index:value"),
        ("1 1:2\n0 2: 3\n", 2, "'' is not a number"),
        ("1 1:2\n0 2:3:4\n", 2, "'3:4' is not a number"),
        ("1 1:2\n0 2:1_0\n", 2, "'1_0' is not a number"),
        ("1 1:2\n0 2:1 2:3\n", 2, "the index 2 stands twice"),
        ("1 1:2\n\n0 2:nan\n", 3, "index 2: the value is nan; it must be finite"),
        ("1 1:2\n0 99999999999:1\n", 2, "too large"),
        ("1 1:2\nnan 2:1\n", 2, "the label is 'nan'"),
        ("# nothing\n", None, "only blank lines and comments"),
        ("1\n0\n", None, "no feature"),
        ("", None, "empty"),
    ],
)
def test_refusals_name_the_line(write, text, line, says):
    with pytest.raises(DataError) as found:
        read_svmlight(write(text))
    assert says in str(found.value)
    assert found.value.line == line
    if line is not None:
        assert f"line {line}" in str(found.value)


def test_column_options_are_of_csv_only(write):
    with pytest.raises(DataError, match="target= names a column of a CSV file; this is svmlight"):
        read_data(write("1 1:2\n"), target="y")


@pytest.mark.parametrize(
    "content", [b"\xef\xbb\xbf", b"\xff\xfe", b"\xef\xbb\xbf\n\n", b"\xef\xbb\xbf# only a comment\n"]
)
def test_only_a_byte_order_mark(tmp_path, content):
    path = tmp_path / "empty.svm"
    path.write_bytes(content)
    with pytest.raises(DataError, match="only blank lines and comments|is empty"):
        read_svmlight(path)


def test_long_rows_in_reversed_order(tmp_path):
    """200,000 indices that fall are sorted in n log n steps, values with them; an index that stands twice is named."""
    path = tmp_path / "reversed.svm"
    indices = np.arange(200_000, 0, -1)
    path.write_text("1 " + " ".join(f"{k}:{k / 7!r}" for k in indices.tolist()) + "\n-1 3:1 2:1e0 1:5\n")
    data = read_svmlight(path)
    np.testing.assert_array_equal(data.X.indices[:200_000], np.arange(200_000))
    np.testing.assert_array_equal(data.X.data[:200_000], np.arange(1, 200_001) / 7)
    np.testing.assert_array_equal(data.X[1].toarray()[0, :3], [5.0, 1.0, 1.0])
    path.write_text("1 3:1 2:1\n1 5:1 2:1 5:2\n1 x\n")
    with pytest.raises(DataError, match="line 2: the index 5 stands twice"):
        read_svmlight(path)


def test_one_long_label_does_not_widen_all_others(tmp_path):
    """An array of texts is as wide as the longest: 530 kB of such a file took 3.1 GB."""
    place = tmp_path / "m.svm"
    place.write_text("a 1:1\n" * 20_000 + "x" * 5000 + " 1:2\n")
    data = read_data(place)
    assert data.y.nbytes < 1 << 20
    assert data.y[-1] == "x" * 5000
    assert np.unique(data.y).tolist() == ["a", "x" * 5000]
