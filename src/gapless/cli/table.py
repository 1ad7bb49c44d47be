"""From a table as it was read to rows to train on and rows to test on, as features. What is learned of the columns is learned
from the training rows, and goes into the model file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

from gapless._runtime.written import written
from gapless.cli import options

MOST_CLASSES = 30  # whole numbers with more values than that are no classes


class Rows(NamedTuple):
    """What is trained on, and tested on."""

    data: Any  # features
    tested: Any  # or None
    encoding: Any  # how they come from the columns; None: they are the columns
    split: dict[str, Any] | None  # which rows of the file were kept out
    left_out: list[str]


def prepared(
    whole: Any,
    path: Path,
    *,
    scale: bool | None,
    reading: dict[str, Any],
    test: Path | None = None,
    holdout: float | None = None,
    seed: int = 0,
) -> Rows:
    """Features of a table. ``scale`` standardises numbers; None: where texts or missing cells need features anyway.

    ``reading`` are the options that the table was read by; the test file is read by the same.
    """
    from gapless.files.encoding import Encoding
    from gapless.files.identifiers import EMPTY, in_words, useless

    table, left_out = whole, []
    dense = not hasattr(whole.X, "indptr")
    if dense:
        names = whole.names or [f"column {j + 1}" for j in range(whole.n_features)]
        found = useless(whole, options.kept(reading["keep"], names), constant=bool(scale) or not _plain(whole))
        left_out = in_words(found, names)
        if len(found) == whole.n_features:
            raise ValueError(f"{os.fspath(path)}: no column is left to learn from ({'; '.join(left_out)})")
        table = whole.columns([j for j in range(whole.n_features) if j not in found]) if found else whole
    rows, tested, split = table, None, None
    if holdout is not None:
        train, held = options.split(table.n_rows, holdout, seed)
        rows, tested = table.rows(train), table.rows(held)
        split = {"rows": whole.n_rows, "share": float(holdout), "seed": seed}
    plain = not dense or _plain(table)
    scale = not plain if scale is None else scale
    encoding = None
    if dense and (scale or left_out or reading["float32"] or not plain):
        if EMPTY in useless(rows).values():
            raise ValueError(
                f"{os.fspath(path)}: a column has values in the held-out rows alone; give another --seed, or drop it"
            )
        encoding = Encoding.fit(rows, scale=scale)
        rows = encoding.applied(rows)
    if test is not None:
        tested = _read_test(test, table, reading, encoding)
    elif tested is not None and encoding is not None:
        tested = encoding.applied(tested)
    return Rows(rows, tested, encoding, split, left_out)


def _plain(table: Any) -> bool:
    """Plain numbers, and all of them there."""
    import numpy as np

    return table.levels is None and table.reading is None and not np.isnan(table.X).any()


def _read_test(path: Path, table: Any, reading: dict[str, Any], encoding: Any) -> Any:
    """Test rows, their columns matched with the training file's. Weights are not used on test rows."""
    from gapless.files.dataset import Expected

    kind = {"U": "str", "i": "int", "f": "float", "b": "bool"}.get(table.y.dtype.kind)
    texts = frozenset(j for j, each in enumerate(table.levels or []) if each is not None)
    how = None if table.reading is None else table.reading
    expected = Expected(
        table.n_features, table.names, table.target, kind, texts, typed=encoding is not None, encoding=encoding,
        styles={} if how is None else {k: style for k, style in enumerate(how.styles) if style is not None},
        target_style=None if how is None else how.target,
        missing=frozenset() if how is None else how.missing,
        classes=tuple(sorted({*table.y.tolist()})) if kind == "str" else (),
    )  # fmt: skip
    drop = [*(reading["drop"] or []), *([reading["weights"]] if reading["weights"] is not None else [])]
    return options.read(path, **{**reading, "weights": None, "drop": drop, "number": None}, expected=expected)


def types(table: Any) -> list[str]:
    """What the columns hold, in words."""
    import numpy as np

    told = []
    levels = [each for each in table.levels or [] if each is not None]
    if levels:
        yes_no = sum(
            {text.lower() for text in each} <= {"true", "false", "yes", "no", "t", "f", "y", "n"} for each in levels
        )
        numbers = table.n_features - len(levels)
        told.append(
            f"{numbers} of numbers, {len(levels) - yes_no} of texts" + (f", {yes_no} of yes and no" if yes_no else "")
        )
    if not hasattr(table.X, "indptr"):
        gone = np.isnan(table.X)
        if gone.any():
            columns = int(gone.any(axis=0).sum())
            told.append(f"{int(gone.sum())} cells missing in {columns} column{'' if columns == 1 else 's'}")
    return told


def holds_classes(whole: Any) -> bool:
    """Whether the target holds classes, or numbers to be regressed; one value alone is neither."""
    import numpy as np

    values = np.unique(whole.y)
    if len(values) < 2:
        raise ValueError(
            f"{name_of(whole)} has one value in all rows ({str(values[0])[:40]!r}): one class, and nothing to learn; "
            "is it the right column?"
        )
    return not (fractions(whole) or (whole.y.dtype.kind in "fiu" and len(values) > MOST_CLASSES))


def fractions(whole: Any) -> bool:
    import numpy as np

    return whole.y.dtype.kind == "f" and bool((whole.y != np.trunc(whole.y)).any())


def name_of(whole: Any) -> str:
    return "the target" if whole.target is None else f"the target {written(whole.target)}"
