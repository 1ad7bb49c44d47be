"""From a table as it was read to rows to train on and rows to test on, as features. What is learned of the columns is learned
from the training rows, and goes into the model file."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import gapless
from gapless._runtime.written import written
from gapless.cli import options
from gapless.cli.copies import without_copies
from gapless.cli.holdout import draw_split
from gapless.cli.output import print_line

MOST_CLASSES = 30  # whole numbers with more values than that are no classes


class Rows(NamedTuple):
    """What is trained on, and tested on."""

    data: Any  # features
    tested: Any  # or None
    encoding: Any  # how they come from the columns; None: they are the columns
    split: dict[str, Any] | None  # which rows of the file were kept out
    left_out: list[str]


def prepare(
    whole: Any,
    path: Path,
    *,
    scale: bool | None,
    reading: options.Reading,
    test: Path | None = None,
    holdout: float | None = None,
    seed: int = 0,
) -> Rows:
    """Make features of a table. ``scale`` standardises numbers; None: where texts or missing cells need features anyway.

    The test file is read by the same options as the table.
    """
    from gapless.files.cells.identifiers import EMPTY, useless  # with numpy, which the help does without

    table, left_out = _without_useless(whole, path, reading, bool(scale))
    rows, tested, split = table, None, None
    if holdout is not None:
        train, held = draw_split(table.n_rows, holdout, seed)
        rows, tested = table.rows(train), table.rows(held)
        split = {"rows": whole.n_rows, "share": float(holdout), "seed": seed}
    dense = not hasattr(whole.X, "indptr")
    plain = not dense or _is_plain(table)
    scale = not plain if scale is None else scale
    encoding = None
    if dense and (scale or left_out or reading.float32 or not plain):
        if EMPTY in useless(rows).values():
            raise ValueError(
                f"{os.fspath(path)}: a column has values in the held-out rows alone; give another --seed, or drop it"
            )
        encoding = gapless.Encoding.fit(rows, scale=scale)
        rows = encoding.applied(rows)
    if test is not None:
        tested = without_copies(rows, _read_test(test, table, reading, encoding), os.fspath(test))
    elif tested is not None and encoding is not None:
        tested = encoding.applied(tested)
    return Rows(rows, tested, encoding, split, left_out)


def _without_useless(whole: Any, path: Path, reading: options.Reading, scale: bool) -> tuple[Any, list[str]]:
    """The table without the columns that no model can use, and a sentence for each of these."""
    from gapless.files.cells.identifiers import in_words, useless  # as above

    if hasattr(whole.X, "indptr"):
        return whole, []
    names = whole.names or [f"column {j + 1}" for j in range(whole.n_features)]
    found = useless(whole, options.kept_columns(reading.keep, names), constant=scale or not _is_plain(whole))
    left_out = in_words(found, names)
    if len(found) == whole.n_features:
        raise ValueError(f"{os.fspath(path)}: no column is left to learn from ({'; '.join(left_out)})")
    return (whole.columns([j for j in range(whole.n_features) if j not in found]) if found else whole), left_out


def _is_plain(table: Any) -> bool:
    """Plain numbers, and all of them there."""
    import numpy as np

    return table.levels is None and table.reading is None and not np.isnan(table.X).any()


def _read_test(path: Path, table: Any, reading: options.Reading, encoding: Any) -> Any:
    """Test rows, their columns matched with the training file's. Weights are not used on test rows."""
    kind = {"U": "str", "i": "int", "f": "float", "b": "bool"}.get(table.y.dtype.kind)
    texts = frozenset(j for j, each in enumerate(table.levels or []) if each is not None)
    how = None if table.reading is None else table.reading
    expected = gapless.files.Expected(
        table.n_features, table.names, table.target, kind, texts, typed=encoding is not None, encoding=encoding,
        styles={} if how is None else {k: style for k, style in enumerate(how.styles) if style is not None},
        target_style=None if how is None else how.target,
        missing=frozenset() if how is None else how.missing,
        classes=tuple(sorted({*table.y.tolist()})) if kind == "str" else (),
    )  # fmt: skip
    same = replace(reading.without_weights(), target=None, category=(), number=())
    return options.read(path, same, expected=expected)


def tell_table(data: Path, whole: Any, rows: Rows, what: str, purpose: str) -> None:
    """Print what was read, how it was split, and what was left out. ``what`` counts columns, ``purpose`` names the rows' use."""
    said = ", ".join([*whole.notes, *column_kinds(whole)])
    print_line("data", f"{data}: {whole.n_rows} rows, {whole.n_features} {what} ({said})")
    if rows.split is not None:
        held = f"{rows.tested.n_rows} held out (seed {rows.split['seed']})"
        print_line("split", f"{rows.data.n_rows} rows to {purpose}, {held}")
        for told in unshared_classes(rows.data, rows.tested) if purpose == "train" else ():
            print_line("", told)
    for told in whole.told:
        print_line("read", told)
    for told in rows.left_out:
        print_line("left out", told)


def unshared_classes(rows: Any, tested: Any) -> list[str]:
    """Sentences about the classes that only the held-out rows have, and about those that only the training rows have."""
    import numpy as np

    if rows.y.dtype.kind == "f":
        return []
    if rows.y.dtype.kind in "iu" and len(np.unique(rows.y)) > MOST_CLASSES:
        return []
    told = []
    for here, there, what in (
        (tested.y, rows.y, "among the held-out rows alone, and wrong there whatever is learned; --seed draws others"),
        (rows.y, tested.y, "in no held-out row, whose errors say nothing of such rows; --seed draws others"),
    ):
        labels, counts = np.unique(here[~np.isin(here, there)], return_counts=True)
        if not len(labels):
            continue
        named = ", ".join(f"{written(label)} ({n})" for label, n in zip(labels.tolist()[:5], counts.tolist()))
        more = f" and {len(labels) - 5} more classes" if len(labels) > 5 else ""
        told.append(f"{named}{more}: {what}")
    return told


def column_kinds(table: Any) -> list[str]:
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
            f"{target_name(whole)} has one value in all rows ({str(values[0])[:40]!r}): one class, and nothing to learn; "
            "is it the right column?"
        )
    return not (has_fractions(whole) or (whole.y.dtype.kind in "fiu" and len(values) > MOST_CLASSES))


def has_fractions(whole: Any) -> bool:
    import numpy as np

    return whole.y.dtype.kind == "f" and bool((whole.y != np.trunc(whole.y)).any())


def target_name(whole: Any) -> str:
    return "the target" if whole.target is None else f"the target {written(whole.target)}"
