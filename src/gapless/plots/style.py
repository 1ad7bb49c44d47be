"""The one quiet style: few colours that the colour-blind tell apart, and never colour alone.

Classes differ by marker and by lightness, lines by their dashes, bars by their hatches: a picture printed in grey says the
same.  Nothing here loads matplotlib before something is drawn.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numpy as np

__all__ = ["COLOURS", "DASHES", "HATCHES", "INK", "MARKERS", "Display", "plain", "say"]

#: Okabe and Ito's, in an order of falling contrast in grey: blue, orange, green, purple, sky, vermilion.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
MARKERS = ("o", "s", "^", "D", "v", "P")
DASHES: tuple[Any, ...] = ("-", "--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)))
HATCHES = ("", "////", "....", "xxxx", "\\\\\\\\", "++")
#: Lines that belong to the model; secondary ones; fills.
INK, GREY, PALE, WASH = "#222222", "#767676", "#C8C8C8", "#EEEEEE"

RC = {
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "font.size": 9.0,
    "hatch.linewidth": 0.6,
    "legend.fontsize": 8.0,
    "legend.frameon": False,
    "lines.linewidth": 1.6,
    "lines.markersize": 5.0,
    "xtick.color": GREY,
    "xtick.labelcolor": INK,
    "ytick.color": GREY,
    "ytick.labelcolor": INK,
}
#: Inches of a panel.
WIDTH, HEIGHT = 4.6, 3.7
TITLE = 9.5


def matplotlib() -> Any:
    """The library, or how to get it."""
    try:
        return import_module("matplotlib")
    except ImportError as error:
        raise ImportError('pictures need matplotlib: pip install "gapless[plots]"') from error


def plain(text: Any) -> str:
    """A name of the user's as it is: a dollar sign is no formula, a line break no line."""
    return " ".join(str(text).split()).replace("$", r"\$")


def short(text: Any, most: int = 28) -> str:
    """The same, cut where it is long."""
    text = " ".join(str(text).split())
    return plain(text if len(text) <= most else text[: most - 1] + "…")


def count(n: float, what: str, many: str | None = None) -> str:
    """3 rows, 1 row."""
    return f"{n:,} {what if n == 1 else many or what + 's'}"


def say(ax: Any, text: str) -> None:
    """What is seen, above it: at the left, in lines as long as the panel is wide."""
    inches = 1.1 * ax.get_position().width * ax.figure.get_figwidth()  # layouts make panels wider than they begin
    room = max(24, int(inches * 72.0 / (0.53 * TITLE)))
    for sign in "=<>≤≥":
        text = text.replace(f" {sign} ", f"\N{NO-BREAK SPACE}{sign}\N{NO-BREAK SPACE}")
    lines = [line for part in text.split("\n") for line in textwrap.wrap(part, room, break_long_words=False)]
    ax.set_title("\n".join(lines), loc="left", fontsize=TITLE, color=INK)


def beside(ax: Any, handles: Sequence[Any] | None = None, title: str | None = None) -> Any:
    """The legend to the right of the panel, where it hides nothing."""
    given = {} if handles is None else {"handles": list(handles)}
    return ax.legend(
        **given, loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0, handlelength=2.4, title=title,
        alignment="left", fontsize=8.0, frameon=False, labelcolor=INK,
    )  # fmt: skip


def below(ax: Any, columns: int = 2, handles: Sequence[Any] | None = None) -> Any:
    """The legend under the panel and the name of its axis, half an inch down."""
    from matplotlib.transforms import ScaledTranslation

    given = {} if handles is None else {"handles": list(handles)}
    under = ax.transAxes + ScaledTranslation(0.0, -0.5, ax.figure.dpi_scale_trans)
    return ax.legend(
        **given, loc="upper left", bbox_to_anchor=(0.0, 0.0), bbox_transform=under, borderaxespad=0.0, ncols=columns,
        handlelength=2.4, fontsize=8.0, frameon=False, columnspacing=1.2, labelcolor=INK,
    )  # fmt: skip


def quieten(ax: Any) -> None:
    """The style of an axes that somebody else made."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set(color=GREY, linewidth=0.8)
    ax.tick_params(labelsize=8.0, color=GREY, labelcolor=INK, width=0.8, which="both")
    ax.xaxis.label.set(fontsize=9.0, color=INK)
    ax.yaxis.label.set(fontsize=9.0, color=INK)


@contextmanager
def quiet() -> Iterator[None]:
    with matplotlib().rc_context(RC):
        yield


def panels(ax: Any, widths: Sequence[float], height: float) -> tuple[Any, list[Any]]:
    """A figure and one axes for each width (inches): new ones, those given, or the place of one given cut up."""
    n = len(widths)
    if ax is None:
        pyplot = import_module("matplotlib.pyplot")
        figure, made = pyplot.subplots(
            1, n, figsize=(sum(widths), height), width_ratios=list(widths), squeeze=False, layout="constrained"
        )
        figure.get_layout_engine().set(w_pad=0.1, h_pad=0.06, wspace=0.04)
        return figure, list(made[0])
    given = list(np.ravel(np.asarray(ax, dtype=object)))
    if len(given) == n:
        return given[0].figure, given
    if len(given) != 1:
        raise ValueError(f"this picture has {n} panels: give one axes to be divided, or {n}; got {len(given)}")
    whole = given[0]
    place = whole.get_subplotspec()
    if place is None:
        raise ValueError(f"this picture has {n} panels, and these axes stand in no grid to be divided: give {n} axes")
    whole.set_axis_off()
    parts = place.subgridspec(1, n, width_ratios=list(widths))
    return whole.figure, [whole.figure.add_subplot(parts[0, k]) for k in range(n)]


class Display:
    """Numbers now, a picture later.

    ``plot`` keeps ``figure_``, ``axes_`` (a list), ``ax_`` (the first of them) and its artists, whose names end in an underscore.
    """

    figure_: Any
    axes_: list[Any]
    ax_: Any

    def _widths(self) -> Sequence[float]:
        """Inches of the panels."""
        return (WIDTH,)

    def _height(self) -> float:
        return HEIGHT

    def _draw(self) -> None:
        """Draw on ``axes_``."""
        raise NotImplementedError

    def plot(self, ax: Any = None) -> Any:
        """Draw, and keep the artists.

        Parameters
        ----------
        ax : matplotlib axes, a list of as many as there are panels, or None for a new figure
        """
        matplotlib()
        with quiet():
            self.figure_, self.axes_ = panels(ax, self._widths(), self._height())
            self.ax_ = self.axes_[0]
            for axes in self.axes_:
                quieten(axes)
            self._draw()
        return self
