"""read_blocks: every format gives the rows that are in it, as often as they are asked for."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from gapless import DataError, LinearSVC, read_blocks, verify
from gapless.backends.stream.source import Blocks
from tests.stream.data import labels, rows, weights

N = 1500


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(Blocks, "block_bytes", 1 << 14)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The same rows in every format."""
    place = tmp_path_factory.mktemp("formats")
    X, w = rows(N).round(3), weights(N)
    y = labels(X)
    np.save(place / "X.npy", X)
    np.save(place / "F.npy", np.asfortranarray(X))
    np.save(place / "I.npy", (10 * X).astype(np.int32))
    np.save(place / "y.npy", y)
    np.save(place / "Xy.npy", np.column_stack([X, y]))
    np.savez(place / "X.npz", X=X, y=y, sample_weight=w)
    np.savez_compressed(place / "short.npz", X=X.astype(np.float32), y=y)
    S = rows(N, 40, "csr")
    S.data = S.data.round(3)
    np.savez(place / "S.npz", X_data=S.data, X_indices=S.indices, X_indptr=S.indptr, X_shape=S.shape, y=y)
    dump_svmlight_file(S, y, str(place / "S.svm"), zero_based=False)
    names = [*(f"c{j}" for j in range(9)), "label", "weight"]
    X, y, w = (np.tile(a, (8, 1) if a.ndim == 2 else 8) for a in (X, y, w))  # a block of a table has 256 kB at least
    cells = [[*map(repr, map(float, x)), "yes" if k else "no", repr(float(v))] for x, k, v in zip(X, y, w)]
    text = "\n".join(",".join(line) for line in [names, *cells])
    (place / "t.csv").write_text(text + "\n")
    return place, X[:N], y[:N], w[:N], S


def joined(blocks):
    found = list(blocks)
    X = [block.X.toarray() if sparse.issparse(block.X) else np.asarray(block.X) for block in found]
    weight = None if found[0].weight is None else np.concatenate([block.weight for block in found])
    return len(found), np.concatenate(X), np.concatenate([block.y for block in found]), weight


def same(blocks, X, y, w=None):
    for _ in range(2):  # the second walk may come from what the first one kept
        many, found, answers, weight = joined(blocks)
        assert many > 1
        assert np.array_equal(found, X)
        assert np.array_equal(answers, y)
        assert (weight is None) == (w is None)
        assert w is None or np.array_equal(weight, w)


def test_npy(files, small_blocks):
    place, X, y, w, _ = files
    same(read_blocks(place / "X.npy", target=place / "y.npy"), X, y)
    same(read_blocks(place / "X.npy", target=y, weight=w), X, y, w)
    same(read_blocks(place / "F.npy", target=y), X, y)
    same(read_blocks(place / "I.npy", target=y), (10 * X).astype(np.int32).astype(float), y)
    same(read_blocks(place / "Xy.npy", target=-1), X, y)
    with pytest.raises(DataError, match="target= says where"):
        read_blocks(place / "X.npy")
    with pytest.raises(DataError, match="X has 1500 rows"):
        read_blocks(place / "X.npy", target=y[:5])


def test_npz(files, small_blocks):
    place, X, y, w, S = files
    same(read_blocks(place / "X.npz"), X, y, w)
    same(read_blocks(place / "short.npz"), X.astype(np.float32), y)
    same(read_blocks(place / "S.npz"), S.toarray(), y)
    with pytest.raises(DataError, match="no array 'z'"):
        read_blocks(place / "X.npz", target="z")


def test_svmlight(files, small_blocks):
    place, _, y, _, S = files
    same(read_blocks(place / "S.svm"), S.toarray(), y)


def table(files):
    place, X, y, w, _ = files
    blocks = read_blocks(place / "t.csv", target="label", weight="weight")
    same(blocks, np.tile(X, (8, 1)), np.array(["no", "yes"], dtype=object)[np.tile(y, 8)], np.tile(w, 8))
    return blocks


def test_csv(files, small_blocks):
    blocks = table(files)
    assert blocks.feature_names.tolist() == [f"c{j}" for j in range(9)]


def test_a_csv_whose_last_cells_are_no_numbers(files, small_blocks, tmp_path):
    text = (files[0] / "t.csv").read_text()
    (tmp_path / "bad.csv").write_text(text.rstrip() + "\n1,2,3,4,x,6,7,8,9,yes,1\n")
    with pytest.raises(DataError, match=r"bad.csv, line 12002, column 'c4'"):
        list(read_blocks(tmp_path / "bad.csv", target="label", weight="weight"))


@pytest.mark.parametrize("format", ["parquet", "feather"])
def test_arrow(files, small_blocks, tmp_path, format):
    pa = pytest.importorskip("pyarrow")
    _, X, y, w, _ = files
    table = pa.table({**{f"c{j}": X[:, j] for j in range(9)}, "y": y, "w": w})
    if format == "parquet":
        import pyarrow.parquet as pq

        pq.write_table(table, tmp_path / "t.parquet", row_group_size=200)
    else:
        import pyarrow.feather as feather

        feather.write_feather(table, str(tmp_path / "t.feather"), compression="uncompressed")
    blocks = read_blocks(tmp_path / f"t.{format}", weight="w")
    same(blocks, X, y, w)
    assert blocks.feature_names.tolist() == [f"c{j}" for j in range(9)]


def test_without_room_on_the_disk_texts_are_read_again(files, small_blocks, monkeypatch):
    import tempfile

    def full(*args, **more):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    table(files)


def test_a_file_is_fitted_and_verified(files, small_blocks):
    place, X, y, w, _ = files
    blocks = read_blocks(place / "t.csv", target="label", weight="weight")
    found = LinearSVC().fit(blocks)
    whole = LinearSVC().fit(np.tile(X, (8, 1)), np.tile(y, 8), np.tile(w, 8))
    assert found.certificate_.primal == pytest.approx(whole.certificate_.primal, rel=1e-6)
    assert found.feature_names_in_.tolist() == [f"c{j}" for j in range(9)]
    assert verify(found, blocks)
