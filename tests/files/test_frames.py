"""Data frames, Parquet and Arrow files, against the same table as CSV."""

import datetime
import decimal
import sys

import numpy as np
import pytest

from gapless.files import Encoding, from_frame, read_csv, read_data
from gapless.judge.errors import DataError

TABLE = {
    "age": [30.5, None, 41.0, 22.0],
    "rooms": [1, 2, 3, 4],
    "job": ["clerk", "nurse", None, "clerk"],
    "paid": [True, False, True, True],
    "label": ["a", "b", "a", "b"],
}


@pytest.fixture
def plain(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("age,rooms,job,paid,label\n30.5,1,clerk,1,a\n,2,nurse,0,b\n41,3,,1,a\n22,4,clerk,1,b\n")
    return read_csv(path, typed=True)


def same(data, plain):
    assert data.names == plain.names
    assert data.target == "label"
    assert data.levels == plain.levels
    np.testing.assert_array_equal(data.X, plain.X)
    assert data.y.tolist() == plain.y.tolist()


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_frames(plain, library):
    frames = pytest.importorskip(library)
    frame = frames.table(TABLE) if library == "pyarrow" else frames.DataFrame(TABLE)
    same(from_frame(frame, target="label"), plain)
    with pytest.raises(DataError, match="no column 'lable'; did you mean 'label'?"):
        from_frame(frame, target="lable")
    with pytest.raises(DataError, match="column 'age'.*row 1: the value is nan|column 'age': row 1"):
        from_frame(frame, target="label", typed=False, drop=["job"])


@pytest.mark.parametrize("ending", ["parquet", "arrow", "feather", "table"])
def test_parquet_and_arrow(tmp_path, plain, ending):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import feather, parquet

    table, path = pa.table(TABLE), tmp_path / f"data.{ending}"
    if ending in ("parquet", "table"):  # by its first bytes, where the name says nothing
        parquet.write_table(table, path)
    elif ending == "feather":
        feather.write_feather(table, path, compression="uncompressed")
    else:
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
    same(read_data(path, target="label", typed=True), plain)


def test_a_broken_parquet_file(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "data.parquet"
    path.write_bytes(b"PAR1" + bytes(100))
    with pytest.raises(DataError, match="is not a readable parquet file"):
        read_data(path)


def test_without_pyarrow(tmp_path, monkeypatch):
    path = tmp_path / "data.parquet"
    path.write_bytes(b"PAR1" + bytes(100))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(DataError, match=r"pip install 'gapless\[data\]'"):
        read_data(path)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_typed_columns_and_texts_that_write_numbers(library):
    frames = pytest.importorskip(library)
    zone = datetime.timezone(datetime.timedelta(hours=2))
    columns = {
        "when": [datetime.date(2020, 1, 1), None, datetime.date(1969, 12, 31)],
        "at": [datetime.datetime(2020, 1, 1, 6), datetime.datetime(2020, 1, 1, 18), None],
        "zoned": [datetime.datetime(2020, 1, 1, 2, tzinfo=zone)] * 2 + [datetime.datetime(2020, 1, 1, 14, tzinfo=zone)],
        "took": [datetime.timedelta(hours=12), datetime.timedelta(days=2), datetime.timedelta(0)],
        "price": ["1.234,50 €", "-", "0,5 €"],
        "flag": [True, False, True],
        "cost": [decimal.Decimal("1.25"), decimal.Decimal("2.50"), None],
        "y": ["a", "b", "a"],
    }
    frame = frames.table(columns) if library == "pyarrow" else frames.DataFrame(columns)
    data = from_frame(frame, target="y")
    day = (datetime.date(2020, 1, 1) - datetime.date(1970, 1, 1)).days
    np.testing.assert_array_equal(data.X[:, 0], [day, np.nan, -1])
    np.testing.assert_array_equal(data.X[:, 1], [day + 0.25, day + 0.75, np.nan])
    np.testing.assert_array_equal(data.X[:, 2], [day, day, day + 0.5])
    np.testing.assert_array_equal(data.X[:, 3], [0.5, 2, 0])
    np.testing.assert_array_equal(data.X[:, 4], [1234.5, np.nan, 0.5])
    np.testing.assert_array_equal(data.X[:, 5], [1, 0, 1])
    np.testing.assert_array_equal(data.X[:, 6], [1.25, 2.5, np.nan])
    assert [data.reading.dated(k) for k in range(4)] == [True, True, True, False]
    assert "'price': decimal commas" in data.told
    names = Encoding.fit(data).names
    assert names[:4] == ["when year", "when month", "when days", "when is missing"]  # both days are Wednesdays
    assert from_frame(frame, target="y", drop=["when"]).names[0] == "at"


def test_categoricals_keep_their_texts():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"c": pandas.Categorical(["b", "a", None]), "y": [0, 1, 0]})
    data = from_frame(frame)
    assert data.levels == [["a", "b"]]
    np.testing.assert_array_equal(data.X[:, 0], [1, 0, np.nan])


# ------------------------------------------------------------------ files that name or hold what nobody can read


@pytest.mark.parametrize("kind", ["arrow", "parquet"])
def test_cells_and_names_that_python_has_no_value_for(tmp_path, kind):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")

    def written(columns, names):
        path = tmp_path / f"t.{kind}"
        table = pa.Table.from_arrays(columns, names=names)
        if kind == "parquet":
            pq.write_table(table, path)
        else:
            with pa.ipc.new_file(path, table.schema) as out:
                out.write_table(table)
        return path

    y, a = pa.array([0, 1]), pa.array([1.0, 2.0])
    with pytest.raises(DataError, match="'a': the name stands twice"):
        read_data(written([a, a, y], ["a", "a", "y"]))
    far = pa.array([2**40, 0], pa.timestamp("s"))
    with pytest.raises(DataError, match="'a': has cells that cannot be read"):
        read_data(written([far, y], ["a", "y"]), typed=True)
    large = pa.array([2**63 + 5, None], pa.uint64())
    assert read_data(written([large, a, y], ["b", "a", "y"]), typed=True).X[0, 0] == float(2**63 + 5)
    with pytest.raises(DataError, match="'y': a label is a whole number of more than 63 bits"):
        read_data(written([a, pa.array([2**63 + 5, 1], pa.uint64())], ["a", "y"]))
