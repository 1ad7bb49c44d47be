"""Parquet row groups and the batches of Arrow files, by pyarrow (the extra `data`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from gapless.backends.stream.source import Block, Blocks
from gapless.files.csv.columns import LABEL_NAMES, position
from gapless.files.problems import check_file, data_error, listed


class ArrowBlocks(Blocks):
    """The columns of a table: ``target`` and ``weight`` by name or number, all others features, which have to be numbers."""

    def __init__(self, path: Any, target: Any, weight: Any, format: str) -> None:
        self.name, self._format = check_file(path), format
        try:
            import pyarrow as pa
        except ImportError:
            raise data_error(
                f"{format} files are read by pyarrow, which is not installed: pip install 'gapless[data]'", self.name
            ) from None
        self._error = pa.ArrowException
        with self._open() as file:
            schema = file.schema_arrow if format == "parquet" else file.schema
        names, width = list(schema.names), len(schema.names)
        usual = [j for j, name in enumerate(names) if name.lower() in LABEL_NAMES]
        label = (
            (usual[-1] if usual else width - 1)
            if target is None
            else position(target, names, width, "target", self.name)
        )
        self._weight = None if weight is None else names[position(weight, names, width, "weight", self.name)]
        self._label = names[label]
        self._features = [name for name in names if name not in (self._label, self._weight)]
        odd = [name for name in self._features if not _is_number(schema.field(name).type)]
        if odd or not self._features:
            told = f"{listed(odd)} hold{'s' * (len(odd) == 1)} no numbers" if odd else "there is no feature"
            raise data_error(
                f"{told}: rows in blocks are numbers (read_data reads texts and dates in memory)", self.name
            )
        self.feature_names = np.array(self._features, dtype=object)
        single = all(str(schema.field(name).type) == "float" for name in self._features)
        self._dtype = np.float32 if single else np.float64
        self._rows = max(1, self.block_bytes // (np.dtype(self._dtype).itemsize * len(self._features)))

    def _open(self) -> Any:
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            return (
                pq.ParquetFile(self.name) if self._format == "parquet" else pa.ipc.open_file(pa.memory_map(self.name))
            )
        except (pa.ArrowException, OSError) as error:
            raise data_error(f"is not a readable {self._format} file ({str(error)[:200]})", self.name) from None

    def __iter__(self) -> Iterator[Block]:
        try:
            with self._open() as file:
                if self._format == "parquet":
                    batches = file.iter_batches(batch_size=self._rows, use_threads=False)
                else:
                    batches = (file.get_batch(k) for k in range(file.num_record_batches))
                for batch in batches:
                    for start in range(0, batch.num_rows, self._rows):
                        yield self._block(batch.slice(start, self._rows))
        except self._error as error:
            raise data_error(f"cannot be read ({str(error)[:200]})", self.name) from None

    def _block(self, batch: Any) -> Block:
        X = np.empty((batch.num_rows, len(self._features)), self._dtype)
        for k, name in enumerate(self._features):
            column = batch.column(name)
            if column.null_count:
                raise data_error(f"{name!r} has missing values, which rows in blocks may not have", self.name)
            X[:, k] = column.to_numpy(zero_copy_only=False)
        label = batch.column(self._label)
        if label.null_count:
            raise data_error(f"{self._label!r} has rows without a label", self.name)
        y = label.to_numpy(zero_copy_only=False)
        weight = None if self._weight is None else batch.column(self._weight).to_numpy(zero_copy_only=False)
        return Block(X, y, weight)


def _is_number(kind: Any) -> bool:
    import pyarrow.types as types

    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))
