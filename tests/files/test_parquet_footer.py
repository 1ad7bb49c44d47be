"""The rows and values that a Parquet footer declares, against pyarrow's own count; false footers end as ValueError."""

from __future__ import annotations

import numpy as np
import pytest

from gapless.files.parquet_footer import read_row_groups

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


def table(rng, rows: int, columns: int):
    kinds = (
        lambda: rng.normal(size=rows),
        lambda: rng.integers(-9, 9, rows),
        lambda: rng.choice(list("abc"), rows),
        lambda: pa.array([None if rng.random() < 0.3 else float(k) for k in range(rows)], pa.float64()),
        lambda: pa.array([[1, 2, 3][: rng.integers(4)] for _ in range(rows)], pa.list_(pa.int64())),
        lambda: rng.random(rows) < 0.5,
    )
    return pa.table({f"é{j}": kinds[rng.integers(len(kinds))]() for j in range(columns)})


@pytest.mark.parametrize("seed", range(20))
def test_the_counts_are_those_of_pyarrow(seed, tmp_path):
    rng = np.random.default_rng(seed)
    path = tmp_path / "table.parquet"
    pq.write_table(
        table(rng, int(rng.integers(0, 3000)), int(rng.integers(1, 40))), path, row_group_size=int(rng.integers(1, 2000)),
        compression=str(rng.choice(["none", "snappy", "zstd"])), write_page_index=bool(rng.integers(2)),
        write_statistics=bool(rng.integers(2)),
    )  # fmt: skip
    with pq.ParquetFile(path) as file:
        groups = [file.metadata.row_group(k) for k in range(file.metadata.num_row_groups)]
        told = [(each.num_rows, [each.column(j).num_values for j in range(each.num_columns)]) for each in groups]
    assert [tuple(group) for group in read_row_groups(path)] == told


@pytest.fixture
def honest(tmp_path) -> bytes:
    path = tmp_path / "honest.parquet"
    pq.write_table(pa.table({"a": np.arange(50.0), "b": ["x", "y"] * 25}), path, row_group_size=20)
    return path.read_bytes()


def with_footer(footer: bytes) -> bytes:
    return b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1"


FALSE = {
    "nothing": b"",
    "no footer": b"PAR1" + 40 * b"a",
    "longer than the file": b"PAR1" + (2**31).to_bytes(4, "little") + b"PAR1",
    "structs without end": with_footer(5000 * b"\x1c"),
    "a number without end": with_footer(b"\x36" + 40 * b"\xff"),
    "a list longer than the footer": with_footer(b"\x49\xfc" + 8 * b"\xff" + b"\x01"),
    "a map longer than the footer": with_footer(b"\x1b" + 8 * b"\xff" + b"\x01\x55"),
    "an unknown type": with_footer(b"\x1f"),
    "a text longer than the footer": with_footer(b"\x18\xff\xff\x03"),
}


@pytest.mark.parametrize("what", FALSE)
def test_what_is_no_footer_is_refused(what, tmp_path):
    path = tmp_path / "false.parquet"
    path.write_bytes(FALSE[what])
    with pytest.raises(ValueError, match="footer"):
        read_row_groups(path)


def test_changed_bytes_give_counts_or_an_error(honest, tmp_path):
    rng = np.random.default_rng(3)
    path, refused = tmp_path / "changed.parquet", 0
    for _ in range(3000):
        content = bytearray(honest)
        for place in rng.integers(len(content) - 600, len(content), int(rng.integers(1, 4))):
            content[place] = rng.integers(256)
        path.write_bytes(content)
        try:
            assert isinstance(read_row_groups(path), list)
        except ValueError:
            refused += 1
    assert 300 < refused < 2900
