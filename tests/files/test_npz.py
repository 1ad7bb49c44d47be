"""npz: dense and CSR, nothing pickled, nothing allocated on a false promise."""

import io
import zipfile

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from gapless.files import Expected, read_data
from gapless.judge.errors import DataError

X = np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]])
Y = np.array(["a", "b"])


def test_dense(tmp_path):
    np.savez_compressed(tmp_path / "d.npz", X=np.asfortranarray(X), y=Y, sample_weight=np.array([1, 2]))
    data = read_data(tmp_path / "d.npz")
    np.testing.assert_array_equal(data.X, X)
    assert data.y.tolist() == ["a", "b"]
    assert data.weights.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("dtype", ["float32", "int8", "bool"])
def test_types_are_kept(tmp_path, dtype):
    np.savez(tmp_path / "d.npz", X=X.astype(dtype), y=Y)
    assert read_data(tmp_path / "d.npz").X.dtype == dtype


def test_sparse(tmp_path):
    S = csr_matrix(X)
    np.savez(tmp_path / "d.npz", X_data=S.data, X_indices=S.indices, X_indptr=S.indptr, X_shape=S.shape, y=Y)
    np.testing.assert_array_equal(read_data(tmp_path / "d.npz").X.toarray(), X)
    np.savez(tmp_path / "e.npz", X_data=S.data, X_indices=S.indices + 5, X_indptr=S.indptr, X_shape=S.shape, y=Y)
    with pytest.raises(DataError, match="do not fit together"):
        read_data(tmp_path / "e.npz")


def test_names_are_matched(tmp_path):
    np.savez(tmp_path / "d.npz", X=X, y=Y, feature_names=np.array(["b", "a", "c"]))
    data = read_data(tmp_path / "d.npz", expected=Expected(3, ["a", "b", "c"], None, "str"))
    np.testing.assert_array_equal(data.X, X[:, [1, 0, 2]])
    with pytest.raises(DataError, match="missing column 'd'"):
        read_data(tmp_path / "d.npz", expected=Expected(3, ["a", "b", "d"], None, "str"))


@pytest.mark.parametrize(
    ("arrays", "says"),
    [
        ({"y": Y}, "no array X"),
        ({"X": X}, "no array y"),
        ({"X": X[0], "y": Y}, "1 dimensions"),
        ({"X": X, "y": Y[:1]}, r"y has shape \(1,\)"),
        ({"X": np.array([["a", "b"]]), "y": Y[:1]}, "not numbers"),
        ({"X": X * np.nan, "y": Y}, "not finite"),
        ({"X": X[:, :0], "y": Y}, "empty"),
        ({"X": X, "y": Y, "sample_weight": [-1.0, 1.0]}, "negative"),
        ({"X": X, "y": np.array([object(), 1])}, "pickled objects"),
    ],
)
def test_refusals(tmp_path, arrays, says):
    np.savez(tmp_path / "d.npz", **arrays)
    with pytest.raises(DataError, match=says):
        read_data(tmp_path / "d.npz")


def test_a_declared_shape_that_is_not_there(tmp_path):
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": "<f8", "fortran_order": False, "shape": (10**6, 10**6)})
    with zipfile.ZipFile(tmp_path / "d.npz", "w") as archive:
        archive.writestr("X.npy", stream.getvalue())
    with pytest.raises(DataError, match="truncated"):
        read_data(tmp_path / "d.npz")


def test_not_a_zip_and_a_truncated_one(tmp_path):
    (tmp_path / "d.npz").write_bytes(b"no zip at all")
    with pytest.raises(DataError, match="not a readable"):
        read_data(tmp_path / "d.npz")
    np.savez(tmp_path / "e.npz", X=X, y=Y)
    whole = (tmp_path / "e.npz").read_bytes()
    (tmp_path / "e.npz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match="not a readable"):
        read_data(tmp_path / "e.npz")
    for at in range(0, len(whole), 7):
        (tmp_path / "f.npz").write_bytes(whole[:at] + bytes([whole[at] ^ 255]) + whole[at + 1 :])
        try:
            read_data(tmp_path / "f.npz")
        except DataError:
            continue
