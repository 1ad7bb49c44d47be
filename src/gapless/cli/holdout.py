"""Which rows are kept out of training: drawn by a seed, the same on every machine."""

from __future__ import annotations

from typing import Any

from gapless.cli.guard import say


def split_rows(rows: Any, expected: Any, holdout: float | None, seed: int) -> tuple[Any, Any]:
    """Training rows and held-out ones (or None): by --holdout, else as the model's file says of the whole table."""
    known = expected.split
    if holdout is None and known is not None and known["rows"] == rows.n_rows:
        holdout, seed = known["share"], known["seed"]
        say(f"{holdout:g} of the rows were held out of training (seed {seed}), as the model says")
    if holdout is None:
        return rows, None
    kept, held = draw_split(rows.n_rows, holdout, seed)
    return rows.rows(kept), rows.rows(held)


def draw_split(n: int, share: float, seed: int) -> tuple[Any, Any]:
    """Draw row numbers (training, held out) without looking at the labels."""
    import numpy as np

    held = round(n * share)
    if not 0.0 < share < 1.0 or not 0 < held < n:
        raise ValueError(f"--holdout {share:g} of {n} rows leaves an empty part")
    # RandomState, because its stream is frozen: `verify` must find the same rows again with any numpy.
    order = np.random.RandomState(seed).permutation(n)
    return np.sort(order[held:]), np.sort(order[:held])
