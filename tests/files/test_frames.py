"""Data frames, Parquet and Arrow files, against the same table as CSV."""

import datetime
import sys

import numpy as np
import pytest

from gapless.files import from_frame, read_csv, read_data
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


def test_dates_in_frames_are_refused():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"when": [datetime.date(2020, 1, 1)] * 2, "a": [1, 2], "y": [0, 1]})
    with pytest.raises(DataError, match="column 'when': the column holds dates"):
        from_frame(frame)
    assert from_frame(frame, drop=["when"]).names == ["a"]


def test_categoricals_keep_their_texts():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"c": pandas.Categorical(["b", "a", None]), "y": [0, 1, 0]})
    data = from_frame(frame)
    assert data.levels == [["a", "b"]]
    np.testing.assert_array_equal(data.X[:, 0], [1, 0, np.nan])
