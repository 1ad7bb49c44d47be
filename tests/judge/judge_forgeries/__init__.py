"""Changes that make a claim of a valid model document false, with every checksum made right again.

`forgeries(case, rng)` yields (name, forged case).  It needs nothing but a document, its arrays and its data,
so it also serves for documents of real fits.  Every change is really false: it moves a figure by far more
than rounding, or contradicts the document or the data outright.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from . import figures, points, rows, words


def forgeries(case: Any, rng: np.random.Generator) -> Iterator[tuple[str, Any]]:
    """Forged copies of a valid case."""
    for change in CHANGES:
        forged = case.copy()
        if change(forged, rng) is not False:
            yield change.__name__, forged
    for key in ("C", "tol", "fit_intercept", "class_weight"):
        forged = case.copy()
        del forged.document["parameters"][key]
        yield f"without the parameter {key}", forged
    for path in list(_paths(case.document)):
        if path[0] != "parameters" and rng.random() < 0.1:
            forged = case.copy()
            _parent(forged.document, path).pop(path[-1])
            yield f"without {path}", forged
    for path in list(_paths(case.document)):
        if path[0] != "parameters" and rng.random() < 0.1:
            forged = case.copy()
            _parent(forged.document, path)[path[-1]] = {"an": "object"}
            yield f"an object for {path}", forged


def _paths(block: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every entry of a document; lists of numbers or labels count as one."""
    if isinstance(block, dict):
        for key, value in block.items():
            yield (*path, key)
            yield from _paths(value, (*path, key))
    elif isinstance(block, list) and block and isinstance(block[0], dict):
        for k, value in enumerate(block):
            yield from _paths(value, (*path, k))


def _parent(document: Any, path: tuple[Any, ...]) -> Any:
    for key in path[:-1]:
        document = document[key]
    return document


#: All changes, in the order in which they are made.
CHANGES: list[Callable[[Any, np.random.Generator], Any]] = [
    value
    for module in (rows, points, figures, words)
    for value in vars(module).values()
    if callable(value) and getattr(value, "__module__", "") == module.__name__
]
