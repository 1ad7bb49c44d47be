"""SplitDisplay: dichotomies sorted into S1, S2+ and S2-, and the table of B(N, k) that the step fills."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gapless._runtime.written import counted
from gapless.plots.style import COLOURS, GREY, INK, PALE, WASH, Display, say
from gapless.theory.samples.split import Split, recursion, split

__all__ = ["SplitDisplay"]


@dataclass(eq=False, repr=False)
class SplitDisplay(Display):
    """Left, a line for each dichotomy and a column for each point: S1, whose other labels occur once, and the pairs S2+ and
    S2-, which differ in the last point alone. Right, the table of B: an entry is the sum of the one above it and the left
    neighbour of that one.

    Attributes
    ----------
    found : what `theory.growth.split` returned
    table : `theory.growth.recursion` up to the number of points and the break point
    cells_, braces_, entries_ : artists
    """

    found: Split
    table: np.ndarray

    @classmethod
    def from_points(cls, X: Any, offset: bool = True) -> SplitDisplay:
        """The dichotomies that hyperplanes give the rows of X; without ``offset`` they go through 0."""
        return cls.from_split(split(X, offset=offset))

    @classmethod
    def from_split(cls, found: Split) -> SplitDisplay:
        """Of what ``theory.growth.split`` returned. ``found`` is a `Split`."""
        return cls(found, recursion(max(found.n, 2), max(found.k, 2)))

    @property
    def title(self) -> str:
        """What the picture says, in one sentence."""
        f = self.found
        return f"{counted(f.total, 'dichotomy', 'dichotomies')} = α + 2β with α = {f.alpha:,} and β = {f.beta:,}"

    def _groups(self) -> tuple[tuple[str, np.ndarray, int], ...]:
        f = self.found
        return (("S₁: α", f.s1, f.alpha), ("S₂⁺: β", f.s2_plus, f.beta), ("S₂⁻: β", f.s2_minus, f.beta))

    def _shown(self) -> int:
        return sum(min(size, self._most_rows) + (size > self._most_rows) for _, _, size in self._groups())

    _most_rows = 14  #: of a group that are drawn

    @property
    def _widths(self) -> tuple[float, ...]:
        return (max(4.4, 2.4 + 0.34 * self.found.n), max(4.4, 1.2 + 0.62 * self.table.shape[1]))

    @property
    def _height(self) -> float:
        return max(3.6, 1.3 + 0.2 * self._shown(), 1.6 + 0.34 * len(self.table))

    def _draw(self) -> None:
        left, right = self.axes_
        self._draw_groups(left)
        self._draw_table(right)

    def _draw_groups(self, ax: Any) -> None:
        f, top = self.found, 0.0
        self.cells_, self.braces_ = [], []
        for k, (name, rows, size) in enumerate(self._groups()):
            shown = rows[: self._most_rows]
            for i, row in enumerate(shown):
                for j, label in enumerate(row):
                    last = j == f.n - 1
                    self.cells_.append(
                        ax.text(
                            j, top + i, "+" if label > 0 else "−", ha="center", va="center", fontsize=10,
                            color=COLOURS[5] if last and k else INK, fontweight="bold" if last and k else "normal",
                        )
                    )  # fmt: skip
            height = len(shown)
            if size > self._most_rows:
                more = f"… {size - self._most_rows:,} more"
                ax.text(0.5 * (f.n - 1), top + height, more, ha="center", va="center", color=GREY)
                height += 1
            if height:
                ax.axhspan(top - 0.5, top + height - 0.5, color=(WASH, "white", WASH)[k], zorder=0)
                self.braces_ += ax.plot(
                    [f.n - 0.25] * 2,
                    [top - 0.35, top + height - 0.65],
                    color=(GREY, COLOURS[0], COLOURS[1])[k],
                    linewidth=2.5,
                )
            middle = top + 0.5 * max(height - 1, 0)
            ax.text(f.n + 0.05, middle, f"{name} = {size:,}", ha="left", va="center", fontsize=10, color=INK)
            top += max(height, 1) + 0.5
        ax.axvline(f.n - 1.5, color=PALE, linewidth=1.0, linestyle="--")
        ax.set(xlim=(-0.7, f.n + 2.4), ylim=(top - 0.4, -0.8), yticks=[])
        ax.set_xticks(range(f.n), labels=[f"$x_{{{j + 1}}}$" for j in range(f.n)])
        ax.xaxis.tick_top()
        ax.tick_params(length=0)
        for side in ("left", "bottom", "top"):
            ax.spines[side].set_visible(False)
        sums = f"α + β = {f.alpha + f.beta:,} ≤ B({f.n - 1}, {f.k}) = {f.bound_without_last:,}"
        say(ax, f"{self.title}\n{sums}, β ≤ B({f.n - 1}, {f.k - 1}) = {f.bound_of_pairs:,}")

    def _draw_table(self, ax: Any) -> None:
        f = self.found
        n, k = self.table.shape
        marked = {(f.n - 1, f.k - 1): COLOURS[0], (f.n - 2, f.k - 1): GREY, (f.n - 2, f.k - 2): COLOURS[1]}
        self.entries_ = {}
        for (i, j), value in np.ndenumerate(self.table):
            edge = marked.get((i, j))
            box = (
                {"boxstyle": "round,pad=0.25", "facecolor": "white", "edgecolor": edge, "linewidth": 1.8}
                if edge
                else None
            )
            self.entries_[i + 1, j + 1] = ax.text(
                j, i, f"{value:,}", ha="center", va="center", fontsize=9, color=INK, bbox=box
            )
        if f.k > 1:
            for j in (f.k - 1, f.k - 2):
                arrow = {"arrowstyle": "->", "color": GREY, "shrinkA": 11, "shrinkB": 11, "linewidth": 1.2}
                ax.annotate("", xy=(f.k - 1, f.n - 1), xytext=(j, f.n - 2), arrowprops=arrow)
        ax.set(xlim=(-0.6, k - 0.4), ylim=(n - 0.4, -0.6), xlabel="k", ylabel="N")
        ax.set_xticks(range(k), labels=range(1, k + 1))
        ax.set_yticks(range(n), labels=range(1, n + 1))
        ax.xaxis.tick_top()
        ax.xaxis.set_label_position("top")
        ax.tick_params(length=0)
        for side in ("left", "bottom", "top"):
            ax.spines[side].set_visible(False)
        sums = f"{f.bound_without_last:,} + {f.bound_of_pairs:,} = {f.bound:,}, and {f.total:,} ≤ {f.bound:,}"
        say(ax, f"B({f.n}, {f.k}) = B({f.n - 1}, {f.k}) + B({f.n - 1}, {f.k - 1}) = {sums}")
