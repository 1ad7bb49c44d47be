"""Rows of two classes as markers, and lines in the plane: what the pictures of data share."""

from __future__ import annotations

from typing import Any

import numpy as np

from gapless.plots.plane import dense, segment
from gapless.plots.style import COLOURS, INK, MARKERS

__all__ = ["angle_between", "draw_line", "draw_rows", "in_plane", "number_classes", "signs_of"]


def number_classes(y: Any, classes: Any = None) -> Any:
    """The labels as numbers of classes."""
    # Late: it loads scikit-learn, 0.8 s, and the process that draws the pictures of a page needs nothing of it.
    from gapless.encode.labels import encode_labels

    return encode_labels(y, classes)


def signs_of(y: Any) -> tuple[np.ndarray, np.ndarray]:
    """The two classes of y, and ±1 for each row."""
    labels = number_classes(y)
    if labels.n_classes != 2:
        raise ValueError(f"this picture is of two classes; y has {labels.n_classes}")
    return labels.classes, np.where(labels.index == 1, 1.0, -1.0)


def draw_rows(ax: Any, points: np.ndarray, positive: np.ndarray, names: Any = None, size: float = 20.0) -> list[Any]:
    """Both classes, in the first two colours: hollow discs and filled squares. The artists in the order of the classes."""
    found = []
    for which in (0, 1):
        here = np.asarray(positive, bool) == bool(which)
        look = {"facecolors": "white" if which == 0 else COLOURS[1], "edgecolors": COLOURS[which], "linewidths": 1.0}
        label = None if names is None else names[which]
        found.append(ax.scatter(*points[here].T, marker=MARKERS[which], s=size, zorder=2.5, label=label, **look))
    return found


def draw_line(ax: Any, w: np.ndarray, b: float, low: np.ndarray, high: np.ndarray, **look: Any) -> Any:
    """<w, p> + b = 0 within the window; not a number where it does not cross it."""
    look = {"color": INK, **look}
    (line,) = ax.plot(*segment(np.asarray(w, float), float(b), low, high).T, **look)
    return line


def angle_between(v: np.ndarray, w: np.ndarray) -> float:
    """Degrees between two directions."""
    v, w = np.asarray(v, float), np.asarray(w, float)
    return float(np.degrees(np.arctan2(abs(v[0] * w[1] - v[1] * w[0]), v @ w)))


def in_plane(X: Any) -> np.ndarray:
    """X as (n, 2) numbers, or an error that says what is drawn."""
    rows = dense(X)
    if rows.shape[1] != 2:
        raise ValueError(f"this picture is of two features; X has {rows.shape[1]}")
    return rows
