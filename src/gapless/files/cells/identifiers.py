"""Columns that no model can learn from: without a value, with one value, names and numbers of the rows."""

from __future__ import annotations

import re
from collections.abc import Collection

import numpy as np

from gapless.files.csv.codes import LIMIT
from gapless.files.dataset import Dataset
from gapless.files.problems import listed

EMPTY, CONSTANT = "no row has a value", "one value in all rows"


def useless(data: Dataset, keep: Collection[int] = (), constant: bool = False) -> dict[int, str]:
    """Columns that no model can use, and why: without any value, texts that are nearly all different, numbers of the rows.
    `constant`: those of one value too. `keep` are columns that stay, unless they are empty."""
    most_levels = 1000
    found: dict[int, str] = {}
    levels = data.levels or [None] * data.n_features
    for j in range(data.n_features):
        x, known = data.X[:, j], levels[j]
        present = data.n_rows - int(np.isnan(x).sum())
        if not present:
            found[j] = EMPTY
        elif j in keep:
            continue
        elif (
            known is not None and len(known) > LIMIT.few_rows and (2 * len(known) > present or len(known) > most_levels)
        ):
            texts = len(np.unique(x[~np.isnan(x)]))  # rows without a label are gone
            if texts > most_levels or (texts > LIMIT.few_rows and 2 * texts > present):
                found[j] = f"{texts} different texts in {present} rows"
        elif known is None and not (data.reading is not None and data.reading.dated(j)):
            name = None if data.names is None else data.names[j]
            if present == data.n_rows and (reason := _row_number(x, name)):
                found[j] = reason
        if constant and j not in found and present == data.n_rows and (x == x[0]).all():
            found[j] = CONSTANT
    return found


def _row_number(x: np.ndarray, name: str | None) -> str | None:
    """Why a column of numbers is a number of the row: it counts the rows, or is called so and has no value twice."""
    n = len(x)
    if n < LIMIT.few_rows or x[0] != np.trunc(x[0]) or x[0] == x[1]:
        return None
    if x[-1] - x[0] == n - 1 and (np.diff(x) == 1).all():
        return "it counts the rows"
    names = (
        r"(.*[_\-. ])?(id|ids|uuid|guid|key|index|idx|rowid|row|rownum|rownames|recordid|nr|no|lfd)"
        r"([_\-. ]?(nr|no|number|num))?\.?"
        r"|\w*(nummer|number|kennung|identifier|identifiant|matricule|numero|número|numéro)|\w{3,}nr"
        r"|unnamed: ?\d+|column \d+|\w*[a-z](Id|ID)|#"
    )
    named = name is not None and re.fullmatch(names, name if re.search("[a-z](Id|ID)$", name) else name.lower())
    if named and (x == np.trunc(x)).all() and len(np.unique(x)) == n:
        return "a number of the row, by its name and without a value that occurs twice"
    return None


def in_words(found: dict[int, str], names: list[str]) -> list[str]:
    """One sentence for each column, or for those of one value together."""
    told = [f"{names[j]!r}: {reason}" for j, reason in found.items() if reason != CONSTANT]
    alike = [names[j] for j, reason in found.items() if reason == CONSTANT]
    if alike:
        told.append(f"{listed(alike)}: {CONSTANT}")
    return told
