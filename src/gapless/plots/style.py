"""The one quiet style: few colours that the colour-blind tell apart, and never colour alone.

Classes differ by marker and by lightness, lines by their dashes, bars by their hatches: a picture printed in grey says the
same.  Nothing here loads matplotlib before something is drawn.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any
from weakref import WeakSet

import numpy as np

__all__ = ["COLOURS", "DASHES", "HATCHES", "INK", "MARKERS", "Display", "plain", "say"]

#: Okabe and Ito's, in an order of falling contrast in grey: blue, orange, green, purple, sky, vermilion.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
MARKERS = ("o", "s", "^", "D", "v", "P")
DASHES: tuple[Any, ...] = ("-", "--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)))
HATCHES = ("", "////", "....", "xxxx", "\\\\\\\\", "++")
#: Lines that belong to the model; secondary ones; fills.
INK, GREY, PALE, WASH = "#222222", "#767676", "#C8C8C8", "#EEEEEE"

#: Axes that somebody else made.
GUESTS: WeakSet[Any] = WeakSet()


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


def say(ax: Any, text: str) -> None:
    """What is seen, above it: at the left, in lines as long as the panel is wide."""
    title_points = 9.5
    inches = 1.1 * ax.get_position().width * ax.figure.get_figwidth()  # layouts make panels wider than they begin
    room = max(24, int(inches * 72.0 / (0.53 * title_points)))
    for sign in "=<>≤≥":
        text = text.replace(f" {sign} ", f"\N{NO-BREAK SPACE}{sign}\N{NO-BREAK SPACE}")
    lines = [line for part in text.split("\n") for line in textwrap.wrap(part, room, break_long_words=False)]
    ax.set_title("\n".join(lines), loc="left", fontsize=title_points, color=INK)


def make_room(figure: Any) -> None:
    """Let a figure that lies as ``plt.subplots()`` left it move its panels apart for titles of several lines and legends beside
    them: else these lie on the next panel, or beyond the edge. One that has a layout, or was laid out by hand, stays as it is."""
    top = figure.figure if figure.get_layout_engine() is None else None
    if top is None or any(axes.get_subplotspec() is None for axes in top.axes):
        return
    names = ("left", "right", "bottom", "top", "wspace", "hspace")
    rc = matplotlib().rcParams
    if all(getattr(top.subplotpars, name) == rc[f"figure.subplot.{name}"] for name in names):
        top.set_layout_engine("constrained")


def makes_room(ax: Any) -> bool:
    """Whether the figure has a layout that makes room for a legend outside of the panel."""
    return ax.figure.get_layout_engine() is not None


def within(ax: Any, handles: Sequence[Any] | None = None, title: str | None = None) -> Any:
    """The legend in the panel, where it hides least, and what is behind it shines through."""
    given = {} if handles is None else {"handles": list(handles)}
    return ax.legend(
        **given, loc="best", handlelength=2.0, title=title, alignment="left", fontsize=7.0, frameon=True, framealpha=0.8,
        edgecolor=PALE, labelcolor=INK,
    )  # fmt: skip


def beside(ax: Any, handles: Sequence[Any] | None = None, title: str | None = None) -> Any:
    """The legend to the right of the panel, where it hides nothing; in it, where the figure makes no room."""
    if not makes_room(ax):
        return within(ax, handles, title)
    given = {} if handles is None else {"handles": list(handles)}
    legend = ax.legend(
        **given, loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0, handlelength=2.4, title=title,
        alignment="left", fontsize=8.0, frameon=False, labelcolor=INK,
    )  # fmt: skip
    return within(ax, handles, title) if too_wide(legend, ax, share=0.6) else legend


def below(ax: Any, columns: int = 2, handles: Sequence[Any] | None = None) -> Any:
    """The legend under the panel and the name of its axis, half an inch down; in it, where the figure makes no room."""
    if not makes_room(ax):
        return within(ax, handles)
    from matplotlib.transforms import ScaledTranslation

    given = {} if handles is None else {"handles": list(handles)}
    under = ax.transAxes + ScaledTranslation(0.0, -0.5, ax.figure.dpi_scale_trans)
    for ncols in range(columns, 0, -1):
        legend = ax.legend(
            **given, loc="upper left", bbox_to_anchor=(0.0, 0.0), bbox_transform=under, borderaxespad=0.0, ncols=ncols,
            handlelength=2.4, fontsize=8.0, frameon=False, columnspacing=1.2, labelcolor=INK,
        )  # fmt: skip
        if not too_wide(legend, ax, share=1.1):
            return legend
    return within(ax, handles)


def too_wide(legend: Any, ax: Any, share: float) -> bool:
    """Whether a legend takes more than that share of a panel that somebody else made: a layout would make room by pressing
    the panels together. Our own figures are as wide as their legends need."""
    if ax not in GUESTS:
        return False
    panel = ax.get_position().width * ax.figure.bbox.width
    return bool(legend.get_window_extent().width > share * panel)


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
    """Everything drawn inside has this style."""
    look = {
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
    with matplotlib().rc_context(look):
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

    @property
    def _widths(self) -> Sequence[float]:
        """Inches of the panels."""
        return (4.6,)

    @property
    def _height(self) -> float:
        """Inches of a panel."""
        return 3.7

    def _draw(self) -> None:
        """Draw on ``axes_``."""
        raise NotImplementedError

    def _sentence(self) -> str:
        """What the picture says, without one."""
        said = self.title  # type: ignore[attr-defined]
        return str(said() if callable(said) else said)

    def __str__(self) -> str:
        in_brackets = str.maketrans("{}", "()")  # a formula of a title, as it is printed: e^{-N} is e^(-N)
        said = re.sub(r"(?<!\\)\$([^$]*)\$", lambda formula: formula[1].translate(in_brackets), self._sentence())
        return f"{type(self).__name__}: {said}".replace(r"\$", "$")

    def __repr__(self) -> str:
        return str(self)

    def plot(self, ax: Any = None) -> Any:
        """Draw, and keep the artists.

        Parameters
        ----------
        ax : matplotlib axes, a list of as many as there are panels, or None for a new figure. A figure as ``plt.subplots()`` left
            it gets the constrained layout, so that legends find room; one with a layout of its own stays as it is.
        """
        matplotlib()
        with quiet():
            self.figure_, self.axes_ = panels(ax, self._widths, self._height)
            if ax is not None:
                GUESTS.update(self.axes_)
            make_room(self.figure_)
            self.ax_ = self.axes_[0]
            for axes in self.axes_:
                quieten(axes)
            self._draw()
        return self
