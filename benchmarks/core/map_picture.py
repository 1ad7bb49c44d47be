"""The map as a heat map: a line for each estimator, a column for each size of data, how many times as fast as scikit-learn."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.core.map_run import LONG, ratio

#: Numbers in X at which columns part.
EDGES = (1e3, 1e4, 1e5, 1e6, 1e7)


def table(rows: list[dict[str, Any]]) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Estimators, log2 of the geometric mean of the ratios (estimator x size; NaN where there is no cell), and cells in each."""
    names = sorted({row["estimator"] for row in rows})
    total, count = np.zeros((len(names), len(EDGES) + 1)), np.zeros((len(names), len(EDGES) + 1), dtype=int)
    for row in rows:
        place = names.index(row["estimator"]), int(np.searchsorted(EDGES, row["n"] * row["d"], side="right"))
        total[place] += math.log2(max(ratio(row), 2.0**-10))
        count[place] += 1
    return names, np.where(count > 0, total / np.maximum(count, 1), np.nan), count


def draw(rows: list[dict[str, Any]], path: Path, title: str) -> None:
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "gapless"  # the same figures give the same file
    from matplotlib import pyplot

    names, values, count = table(rows)
    figure, (left, right) = pyplot.subplots(
        1, 2, figsize=(13.0, 1.6 + 0.36 * len(names)), layout="constrained", width_ratios=(1.0, 1.1)
    )
    image = left.imshow(values, cmap="RdBu", vmin=-4.0, vmax=4.0, aspect="auto")
    for place in zip(*np.nonzero(count)):
        text = f"{2.0 ** values[place]:.2g}×\n{count[place]}"
        left.text(place[1], place[0], text, ha="center", va="center", fontsize=6.5, color=_ink(values[place]))
    left.set_yticks(range(len(names)), names)
    left.set_xticks(range(len(EDGES) + 1), ["< 10³", "10³", "10⁴", "10⁵", "10⁶", "≥ 10⁷"])
    left.set_xlabel("numbers in X, from")
    left.set_title("geometric mean, and cells")
    figure.colorbar(image, ax=left, label="log₂ (scikit-learn's seconds / ours): blue is faster")
    seconds, ratios = [row["peer_s"] for row in rows], [max(ratio(row), 2.0**-10) for row in rows]
    right.scatter(
        seconds, ratios, c=np.log2(ratios), cmap="RdBu", vmin=-4, vmax=4, s=18, edgecolors="0.4", linewidths=0.4
    )
    right.set(xscale="log", yscale="log", xlabel="scikit-learn's seconds", ylabel="times as fast")
    right.axhline(1.0, color="0.3", lw=0.8)
    right.axvline(LONG, color="0.6", lw=0.8, ls=":")
    right.set_title("each cell; ratios count right of the dotted line")
    figure.suptitle(title)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    pyplot.close(figure)


def _ink(value: float) -> str:
    return "white" if abs(value) > 2.5 else "black"
